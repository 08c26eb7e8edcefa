"""What zarr-python calls experimental: `cache_store`, and the chunks of an array."""

from omnizarr.compat.zarr3.core.chunk_grids import ChunkGrid, ChunkSpec

__all__ = ["ChunkGrid", "ChunkSpec"]
