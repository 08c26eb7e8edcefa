"""What zarr-python calls experimental: `cache_store`, and chunk grids."""

from omnizarr.compat.zarr3.core.chunk_grids import ChunkGrid

__all__ = ["ChunkGrid"]
