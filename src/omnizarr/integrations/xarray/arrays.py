"""Values that xarray reads when they are asked for, awaited or not.

This module knows xarray's indexers. It must not know files or conventions.
"""

# xarray's functions have no annotations here.
# mypy: disable-error-code="no-untyped-call"

from __future__ import annotations

from typing import Any

import numpy as np

# Not public in xarray: the indexers and adapters that its guide for backends tells to use, and the
# mark of a NumPy object dtype that holds str.
from xarray.backends import BackendArray
from xarray.coding.strings import create_vlen_dtype
from xarray.core import indexing

from omnizarr import Array
from omnizarr.aio import AsyncArray


class LazyArray(BackendArray):
    """An array for `indexing.LazilyIndexedArray`: picklable, and safe for threads."""

    __slots__ = ("_array", "dtype", "shape")

    def __init__(self, array: Array) -> None:
        self._array = array
        self.shape = array.shape
        self.dtype = array.dtype
        if self.dtype.kind == "O" and array.data_type.name == "string":
            self.dtype = create_vlen_dtype(str)

    def __getitem__(self, key: indexing.ExplicitIndexer) -> Any:
        array = self._array

        def read(selection: tuple[Any, ...]) -> Any:
            match key:
                case indexing.VectorizedIndexer():
                    return self._typed(array.vindex[selection])
                case indexing.OuterIndexer():
                    return self._typed(array.oindex[selection])
            return self._typed(array[selection])

        return indexing.explicit_indexing_adapter(
            key, self.shape, indexing.IndexingSupport.VECTORIZED, read
        )

    async def async_getitem(self, key: indexing.ExplicitIndexer) -> Any:
        array = AsyncArray(self._array)

        async def read(selection: tuple[Any, ...]) -> Any:
            match key:
                case indexing.VectorizedIndexer():
                    return self._typed(await array.vindex.read(selection))
                case indexing.OuterIndexer():
                    return self._typed(await array.oindex.read(selection))
            return self._typed(await array.getitem(selection))

        return await indexing.async_explicit_indexing_adapter(
            key, self.shape, indexing.IndexingSupport.VECTORIZED, read
        )

    def _typed(self, value: Any) -> Any:
        """One text as an array: NumPy would make a fixed-length text of a str."""
        return np.asarray(value, dtype=self.dtype) if isinstance(value, str) else value
