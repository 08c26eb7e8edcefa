"""Other ways to index an array, and lazy views of it.

Each class holds an array and turns `[]` into another kind of selection. A `View` holds a
transform as well: indexing it composes transforms, and nothing is read before the values are
asked for (`view.read()`, `np.asarray(view)`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from omnizarr import indexing
from omnizarr.errors import SelectionError
from omnizarr.indexing import Transform
from omnizarr.keywords import suggests
from omnizarr.model.casting import cast
from omnizarr.nodes.array_selections import Selection
from omnizarr.nodes.data.foreign_memory import Target
from omnizarr.nodes.data.reading import read
from omnizarr.nodes.data.writing import write_view

if TYPE_CHECKING:
    from omnizarr.nodes.array import Array

NDArray = npt.NDArray[Any]


def _check_copy(copy: bool | None) -> None:
    if copy is False:
        raise ValueError("a view of an array in a store cannot become a NumPy array without a copy")


class OrthogonalIndex:
    """Orthogonal indexing, `array.oindex[…]`: every dimension is selected on its own.

    Examples
    --------
    >>> a = omnizarr.array(np.arange(12).reshape(3, 4))
    >>> a.oindex[[0, 2], [1, 3]]
    array([[ 1,  3],
           [ 9, 11]])
    """

    def __init__(self, array: Array) -> None:
        self._array = array

    def __getitem__(self, key: Selection) -> Any:
        fields, key = indexing.pop_fields(key)
        return self._array.get_orthogonal_selection(key, fields=fields)

    def __setitem__(self, key: Selection, value: npt.ArrayLike) -> None:
        fields, key = indexing.pop_fields(key)
        self._array.set_orthogonal_selection(key, value, fields=fields)


class VectorizedIndex:
    """Vectorized indexing, `array.vindex[…]`: elements at points.

    Examples
    --------
    >>> a = omnizarr.array(np.arange(12).reshape(3, 4))
    >>> a.vindex[[0, 2], [1, 3]]
    array([ 1, 11])
    """

    def __init__(self, array: Array) -> None:
        self._array = array

    def __getitem__(self, key: Selection) -> Any:
        fields, key = indexing.pop_fields(key)
        return self._array.get_coordinate_selection(key, fields=fields)

    def __setitem__(self, key: Selection, value: npt.ArrayLike) -> None:
        fields, key = indexing.pop_fields(key)
        self._array.set_coordinate_selection(key, value, fields=fields)


class BlockIndex:
    """Indexing by whole chunks, `array.blocks[…]`.

    Examples
    --------
    >>> a = omnizarr.array(np.arange(6), chunks=2)
    >>> a.blocks[1:]
    array([2, 3, 4, 5])
    """

    def __init__(self, array: Array) -> None:
        self._array = array

    @property
    def shape(self) -> tuple[int, ...]:
        """Number of blocks along every dimension."""
        return self._array.cdata_shape

    def __getitem__(self, key: Selection) -> Any:
        fields, key = indexing.pop_fields(key)
        return self._array.get_block_selection(key, fields=fields)

    def __setitem__(self, key: Selection, value: npt.ArrayLike) -> None:
        fields, key = indexing.pop_fields(key)
        self._array.set_block_selection(key, value, fields=fields)


class Field:
    """One field, or several, of a structured array; it is indexed like the array.

    Examples
    --------
    >>> field = omnizarr.zeros(3, dtype=[("x", "i4"), ("y", "f4")]).fields["y"]
    >>> field[:2]
    array([0., 0.], dtype=float32)
    """

    def __init__(self, array: Array, fields: str | list[str]) -> None:
        self._array = array
        self._fields = fields

    @property
    def shape(self) -> tuple[int, ...]:
        """Shape of the array."""
        return self._array.shape

    @property
    def dtype(self) -> np.dtype[Any]:
        """Type of the field; a structured type for several fields."""
        return self._array.dtype[self._fields]

    def __getitem__(self, key: Selection) -> Any:
        return self._array.get_basic_selection(key, fields=self._fields)

    def __setitem__(self, key: Selection, value: npt.ArrayLike) -> None:
        self._array.set_basic_selection(key, value, fields=self._fields)

    def __array__(self, dtype: npt.DTypeLike | None = None, copy: bool | None = None) -> NDArray:
        _check_copy(copy)
        values: NDArray = np.asarray(self[...])
        return values if dtype is None else cast(values, np.dtype(dtype))

    def __repr__(self) -> str:
        return f"<omnizarr.Field {self._fields!r} of {self._array!r}>"


class Fields(Mapping[str, Field]):
    """The fields of a structured array, by name: `array.fields`.

    A list of names gives several fields at once.

    Examples
    --------
    >>> a = omnizarr.zeros(3, dtype=[("x", "i4"), ("y", "f4")])
    >>> list(a.fields)
    ['x', 'y']
    >>> a.fields["x"].dtype
    dtype('int32')
    """

    def __init__(self, array: Array) -> None:
        self._array = array

    def __getitem__(self, name: str | list[str]) -> Field:
        names = [name] if isinstance(name, str) else list(name)
        for one in names:
            if one not in (self._array.dtype.names or ()):
                raise SelectionError(f"no field {one!r} in data type {self._array.dtype}")
        return Field(self._array, name if isinstance(name, str) else names)

    def __iter__(self) -> Iterator[str]:
        return iter(self._array.dtype.names or ())

    def __len__(self) -> int:
        return len(self._array.dtype.names or ())

    def __repr__(self) -> str:
        return f"<omnizarr.Fields {list(self)} of {self._array!r}>"

    def _ipython_key_completions_(self) -> list[str]:
        return list(self)


class Converted:
    """An array whose values are converted to `dtype` when they are read: `array.astype(dtype)`.

    Examples
    --------
    >>> omnizarr.array([1, 2, 3]).astype("f4")[1:]
    array([2., 3.], dtype=float32)
    """

    def __init__(self, array: Array, dtype: np.dtype[Any]) -> None:
        self._array = array
        self.dtype = dtype

    @property
    def shape(self) -> tuple[int, ...]:
        """Shape of the array."""
        return self._array.shape

    @property
    def ndim(self) -> int:
        """Number of dimensions."""
        return self._array.ndim

    @property
    def size(self) -> int:
        """Number of elements."""
        return self._array.size

    @property
    def chunks(self) -> tuple[int, ...] | tuple[int | tuple[int, ...], ...]:
        """Shape of a chunk of the array."""
        return self._array.chunks

    @property
    def read_only(self) -> bool:
        """Whether writing is refused: always."""
        return True

    def __len__(self) -> int:
        return len(self._array)

    def __getitem__(self, key: Selection) -> Any:
        values = self._array[key]
        if isinstance(values, np.ndarray):
            return cast(values, self.dtype)
        single = np.empty((), self._array.dtype)
        single[()] = values
        return cast(single, self.dtype)[()]

    def __array__(self, dtype: npt.DTypeLike | None = None, copy: bool | None = None) -> NDArray:
        _check_copy(copy)
        return cast(np.asarray(self._array[...]), np.dtype(self.dtype if dtype is None else dtype))

    def __repr__(self) -> str:
        return f"<omnizarr.Converted to {self.dtype}: {self._array!r}>"


class LazyIndex:
    """Indexing that gives a `View` instead of values: `array.lazy[…]`.

    Examples
    --------
    >>> a = omnizarr.array(np.arange(10))
    >>> a.lazy[2:].shape
    (8,)
    """

    def __init__(self, array: Array) -> None:
        self._array = array

    def __getitem__(self, key: Selection) -> View:
        return View(self._array, self._array._whole)[key]

    def __setitem__(self, key: Selection, value: npt.ArrayLike) -> None:
        self._array[key] = value

    @property
    def oindex(self) -> ViewIndex:
        """Orthogonal indexing that gives a view."""
        return View(self._array, self._array._whole).oindex

    @property
    def vindex(self) -> ViewIndex:
        """Vectorized indexing that gives a view."""
        return View(self._array, self._array._whole).vindex


class View:
    """A selection of an array that has not been read.

    Indexing a view gives a view. Assigning to it writes to the array. `read`, `np.asarray` and
    iteration read it.

    Examples
    --------
    >>> a = omnizarr.array(np.arange(10))
    >>> view = a.lazy[2:][::-3]
    >>> view.read()
    array([9, 6, 3])
    >>> view[0] = -1
    >>> int(a[9])
    -1
    """

    def __init__(self, array: Array, transform: Transform) -> None:
        self._array = array
        self._transform = transform

    @property
    def shape(self) -> tuple[int, ...]:
        """Length of every dimension of the selection."""
        return self._transform.shape

    @property
    def ndim(self) -> int:
        """Number of dimensions."""
        return len(self.shape)

    @property
    def size(self) -> int:
        """Number of elements."""
        return prod(self.shape)

    @property
    def dtype(self) -> np.dtype[Any]:
        """NumPy dtype of the values that are read."""
        return self._array.dtype

    @property
    def nbytes(self) -> int:
        """Bytes of the selection in memory."""
        return self.size * self.dtype.itemsize

    def __len__(self) -> int:
        if not self.shape:
            raise TypeError("len() of a 0-d view")
        return self.shape[0]

    def __iter__(self) -> Iterator[Any]:
        return iter(self.read())

    def __getitem__(self, key: Selection) -> View:
        return View(self._array, indexing.basic_and_advanced(self._transform, key))

    def __setitem__(self, key: Selection, value: npt.ArrayLike) -> None:
        write_view(self._array, indexing.basic_and_advanced(self._transform, key), value)

    @property
    def oindex(self) -> ViewIndex:
        """Orthogonal indexing that gives a view."""
        return ViewIndex(self, indexing.orthogonal)

    @property
    def vindex(self) -> ViewIndex:
        """Vectorized indexing that gives a view."""
        return ViewIndex(self, indexing.coordinates)

    @suggests
    def read(self, selection: Selection = Ellipsis, *, out: Target | None = None) -> NDArray:
        """Read the values.

        Parameters
        ----------
        selection
            A selection of the view; everything if it is left out.
        out
            Array of that shape to write the values into; it is returned.

        Returns
        -------
        ndarray
            The values.

        Examples
        --------
        >>> omnizarr.array(np.arange(10)).lazy[5:].read(slice(0, 2))
        array([5, 6])
        """
        transform = self._transform
        if selection is not Ellipsis:
            transform = indexing.basic_and_advanced(transform, selection)
        values: NDArray = read(self._array, transform, out)
        return values

    @suggests
    def write(self, value: npt.ArrayLike) -> None:
        """Write values to the part of the array that the view selects.

        Parameters
        ----------
        value
            A scalar, or values that broadcast to the view's shape.

        Examples
        --------
        >>> a = omnizarr.zeros(3)
        >>> a.lazy[1:].write(5)
        >>> a[:]
        array([0., 5., 5.])
        """
        write_view(self._array, self._transform, value)

    def __array__(self, dtype: npt.DTypeLike | None = None, copy: bool | None = None) -> NDArray:
        _check_copy(copy)
        values: NDArray = np.asarray(self.read())
        return values if dtype is None else cast(values, np.dtype(dtype))

    def __repr__(self) -> str:
        array = self._array
        return f"<omnizarr.View of {array.name!r} {self.shape} {self.dtype} in {array.store!r}>"


class ViewIndex:
    """Another way to index a view: `view.oindex[…]` and `view.vindex[…]`.

    Examples
    --------
    >>> a = omnizarr.array(np.arange(12).reshape(3, 4))
    >>> a.lazy[1:].oindex[[0, 1], [1, 3]].read()
    array([[ 5,  7],
           [ 9, 11]])
    """

    def __init__(self, view: View, select: Callable[[Transform, Any], Transform]) -> None:
        self._view = view
        self._select = select

    def __getitem__(self, key: Selection) -> View:
        return View(self._view._array, self._select(self._view._transform, key))

    def __setitem__(self, key: Selection, value: npt.ArrayLike) -> None:
        write_view(self._view._array, self._select(self._view._transform, key), value)
