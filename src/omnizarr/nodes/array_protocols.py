"""Python's and NumPy's protocols: an array as a sequence, as a number, as a NumPy array.

Each of them reads values, by the methods of `Selections`. This module must not know how those are
executed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import numpy.typing as npt

from omnizarr.keywords import suggests
from omnizarr.model.casting import cast
from omnizarr.nodes.array_selections import Selections

NDArray = npt.NDArray[Any]


class Protocols(Selections):
    """The base of `Array`; not of use by itself.

    There is no `__array_namespace__`: an array in a store does not compute. `np.asarray(array)`
    reads it into an array that does.
    """

    def __len__(self) -> int:
        if not self.shape:
            raise TypeError("len() of a 0-d array")
        return self.shape[0]

    def __bool__(self) -> bool:
        return True  # `if array:` asks whether there is an array, not about its values

    def __contains__(self, value: object) -> bool:
        """Whether any element equals the value, as in NumPy; reads until one does."""
        single = isinstance(value, str | bytes) or np.ndim(value) == 0  # type: ignore[arg-type]
        if not single:  # it broadcasts against the whole array
            return value in self.__array__()
        from omnizarr.nodes.data.regions import regions

        whole = (self.get_basic_selection(region) for region in regions(self))
        return any(value in np.asarray(part, self.dtype) for part in whole)

    def __iter__(self) -> Iterator[Any]:
        return self.islice()

    @suggests
    def islice(self, start: int | None = None, end: int | None = None) -> Iterator[Any]:
        """Iterate along the first dimension; every chunk is decoded once.

        Parameters
        ----------
        start
            First index; 0 if it is left out.
        end
            Index after the last one; the length if it is left out.

        Returns
        -------
        iterator
            Scalars of a 1-d array, else arrays with one dimension less.

        Examples
        --------
        >>> [int(value) for value in omnizarr.array([1, 2, 3]).islice(1)]
        [2, 3]
        """
        if not self.shape:
            raise TypeError("iteration over a 0-d array")
        return self._slices(*slice(start, end).indices(self.shape[0])[:2])

    def _slices(self, first: int, last: int) -> Iterator[Any]:
        axis = self._block_grid.axes[0]
        while first < last:
            chunk = axis.chunk_of(first)
            stop = min(last, axis.start(chunk) + axis.size(chunk))
            yield from self.get_basic_selection(slice(first, stop))
            first = stop

    def _ipython_key_completions_(self) -> list[str]:
        return list(self.dtype.names or ())

    def __array__(self, dtype: npt.DTypeLike | None = None, copy: bool | None = None) -> NDArray:
        if copy is False:
            raise ValueError("an array in a store cannot become a NumPy array without a copy")
        values: NDArray = self.get_basic_selection(Ellipsis)
        return values if dtype is None else cast(values, np.dtype(dtype))

    def __dlpack__(self, **options: Any) -> Any:
        """Give the values to any library that speaks DLPack: `torch.from_dlpack(array)`."""
        return np.asarray(self).__dlpack__(**options)

    def __dlpack_device__(self) -> tuple[int, int]:
        return np.empty(0).__dlpack_device__()

    def _scalar(self, convert: Callable[[NDArray], Any]) -> Any:
        """The one element as a Python number, or the error that NumPy raises."""
        # NumPy judges the shape alone: a large array is not read to be refused.
        return convert(np.asarray(self) if self.size == 1 else np.empty((2,)))

    def __int__(self) -> int:
        return int(self._scalar(int))

    def __float__(self) -> float:
        return float(self._scalar(float))

    def __complex__(self) -> complex:
        return complex(self._scalar(complex))

    def __index__(self) -> int:
        return int(self._scalar(np.ndarray.__index__))
