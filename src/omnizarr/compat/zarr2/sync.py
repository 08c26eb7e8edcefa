"""zarr-python 2's `zarr.sync`: locks of chunks."""

from omnizarr import ProcessSynchronizer, ThreadSynchronizer

__all__ = ["ProcessSynchronizer", "ThreadSynchronizer"]
