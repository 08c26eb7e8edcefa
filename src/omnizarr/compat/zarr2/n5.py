"""zarr-python 2's `zarr.n5`: stores whose nodes are N5.

A store has the keys and values of N5 here, where zarr-python shows a translation of them: the
documents of a node are read through `zarr.open`, not as ``store[".zarray"]``.
"""

from omnizarr.stores import N5FSStore, N5Store

__all__ = ["N5_FORMAT", "N5FSStore", "N5Store", "n5_attrs_key", "n5_keywords"]

N5_FORMAT = "2.0.0"
n5_attrs_key = "attributes.json"
n5_keywords = ["n5", "dataType", "dimensions", "blockSize", "compression"]
