"""Other ways to index an array, and lazy views of it.

Each class holds an array and turns `[]` into another kind of selection. A `View` holds a
transform as well: indexing it composes transforms, and nothing is read before the values are
asked for (`view.read()`, `np.asarray(view)`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from omnizarr import indexing
from omnizarr.errors import SelectionError
from omnizarr.indexing import Transform
from omnizarr.model.casting import cast

if TYPE_CHECKING:
    from omnizarr.nodes.array import Array

NDArray = npt.NDArray[Any]


class OrthogonalIndex:
    def __init__(self, array: Array) -> None:
        self._array = array

    def __getitem__(self, key: Any) -> Any:
        fields, key = indexing.pop_fields(key)
        return self._array.get_orthogonal_selection(key, fields=fields)

    def __setitem__(self, key: Any, value: Any) -> None:
        fields, key = indexing.pop_fields(key)
        self._array.set_orthogonal_selection(key, value, fields=fields)


class VectorizedIndex:
    def __init__(self, array: Array) -> None:
        self._array = array

    def __getitem__(self, key: Any) -> Any:
        fields, key = indexing.pop_fields(key)
        return self._array.get_coordinate_selection(key, fields=fields)

    def __setitem__(self, key: Any, value: Any) -> None:
        fields, key = indexing.pop_fields(key)
        self._array.set_coordinate_selection(key, value, fields=fields)


class BlockIndex:
    def __init__(self, array: Array) -> None:
        self._array = array

    @property
    def shape(self) -> tuple[int, ...]:
        """How many blocks there are along every dimension."""
        return self._array.cdata_shape

    def __getitem__(self, key: Any) -> Any:
        fields, key = indexing.pop_fields(key)
        return self._array.get_block_selection(key, fields=fields)

    def __setitem__(self, key: Any, value: Any) -> None:
        fields, key = indexing.pop_fields(key)
        self._array.set_block_selection(key, value, fields=fields)


class Field:
    """One field, or some, of a structured array: indexed like the array, field first."""

    def __init__(self, array: Array, fields: str | list[str]) -> None:
        self._array = array
        self._fields = fields

    @property
    def shape(self) -> tuple[int, ...]:
        return self._array.shape

    @property
    def dtype(self) -> np.dtype[Any]:
        return self._array.dtype[self._fields]

    def __getitem__(self, key: Any) -> Any:
        return self._array.get_basic_selection(key, fields=self._fields)

    def __setitem__(self, key: Any, value: Any) -> None:
        self._array.set_basic_selection(key, value, fields=self._fields)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray:
        values: NDArray = np.asarray(self[...])
        return values if dtype is None else cast(values, np.dtype(dtype))


class Fields(Mapping[str, Field]):
    """The fields of a structured array, by name."""

    def __init__(self, array: Array) -> None:
        self._array = array

    def __getitem__(self, name: Any) -> Field:
        names = [name] if isinstance(name, str) else list(name)
        for one in names:
            if one not in (self._array.dtype.names or ()):
                raise SelectionError(f"no field {one!r} in data type {self._array.dtype}")
        return Field(self._array, name if isinstance(name, str) else names)

    def __iter__(self) -> Iterator[str]:
        return iter(self._array.dtype.names or ())

    def __len__(self) -> int:
        return len(self._array.dtype.names or ())


class Converted:
    """An array whose values are converted to another type as they are read."""

    def __init__(self, array: Array, dtype: np.dtype[Any]) -> None:
        self._array = array
        self.dtype = dtype

    @property
    def shape(self) -> tuple[int, ...]:
        return self._array.shape

    def __len__(self) -> int:
        return len(self._array)

    def __getitem__(self, key: Any) -> Any:
        values = self._array[key]
        if isinstance(values, np.ndarray):
            return cast(values, self.dtype)
        single = np.empty((), self._array.dtype)
        single[()] = values
        return cast(single, self.dtype)[()]

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray:
        return cast(np.asarray(self._array[...]), np.dtype(self.dtype if dtype is None else dtype))


class LazyIndex:
    """`array.lazy`: the way into views."""

    def __init__(self, array: Array) -> None:
        self._array = array

    def __getitem__(self, key: Any) -> View:
        return View(self._array, self._array._whole)[key]

    def __setitem__(self, key: Any, value: Any) -> None:
        self._array[key] = value

    @property
    def oindex(self) -> _LazyKind:
        return View(self._array, self._array._whole).oindex

    @property
    def vindex(self) -> _LazyKind:
        return View(self._array, self._array._whole).vindex


class View:
    """A selection of an array that has not been read. Indexing composes; writing writes through."""

    def __init__(self, array: Array, transform: Transform) -> None:
        self._array = array
        self._transform = transform

    @property
    def shape(self) -> tuple[int, ...]:
        return self._transform.shape

    @property
    def ndim(self) -> int:
        return len(self.shape)

    @property
    def size(self) -> int:
        return prod(self.shape)

    @property
    def dtype(self) -> np.dtype[Any]:
        return self._array.dtype

    @property
    def nbytes(self) -> int:
        return self.size * self.dtype.itemsize

    def __len__(self) -> int:
        if not self.shape:
            raise TypeError("len() of a 0-d view")
        return self.shape[0]

    def __iter__(self) -> Iterator[Any]:
        return iter(self.read())

    def __getitem__(self, key: Any) -> View:
        return View(self._array, indexing.basic_and_advanced(self._transform, key))

    def __setitem__(self, key: Any, value: Any) -> None:
        self._array._write_view(indexing.basic_and_advanced(self._transform, key), value)

    @property
    def oindex(self) -> _LazyKind:
        return _LazyKind(self, indexing.orthogonal)

    @property
    def vindex(self) -> _LazyKind:
        return _LazyKind(self, indexing.coordinates)

    def read(self, selection: Any = Ellipsis, *, out: NDArray | None = None) -> Any:
        """The values, now."""
        transform = self._transform
        if selection is not Ellipsis:
            transform = indexing.basic_and_advanced(transform, selection)
        return self._array._read(transform, out)

    def write(self, value: Any) -> None:
        """Write through to the array."""
        self._array._write_view(self._transform, value)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray:
        if copy is False:
            raise ValueError(
                "a view of an array in a store cannot become a NumPy array without a copy"
            )
        values: NDArray = np.asarray(self.read())
        return values if dtype is None else cast(values, np.dtype(dtype))

    def __repr__(self) -> str:
        array = self._array
        return f"<omnizarr.View of {array.name!r} {self.shape} {self.dtype} in {array.store!r}>"


class _LazyKind:
    """`view.oindex` and `view.vindex`."""

    def __init__(self, view: View, select: Any) -> None:
        self._view = view
        self._select = select

    def __getitem__(self, key: Any) -> View:
        return View(self._view._array, self._select(self._view._transform, key))

    def __setitem__(self, key: Any, value: Any) -> None:
        self._view._array._write_view(self._select(self._view._transform, key), value)
