"""Reading and writing by selections of every kind: zarr-python's methods for them.

This module turns selections into transforms. It must not know how those are executed: `Array`,
which stands on it, does that.
"""

from __future__ import annotations

from types import EllipsisType
from typing import Any, SupportsIndex, TypeAlias

import numpy as np
import numpy.typing as npt

from omnizarr import indexing
from omnizarr.indexing import Transform
from omnizarr.indexing.fields import FieldNames
from omnizarr.keywords import suggests
from omnizarr.nodes.dask.array_methods import InDask
from omnizarr.nodes.data.foreign_memory import Target
from omnizarr.nodes.data.reading import read, read_plan, read_single

NDArray = npt.NDArray[Any]
Index: TypeAlias = SupportsIndex | slice | EllipsisType | npt.ArrayLike | None
"""What selects along a dimension: an int, a slice, `...`, `newaxis`, integers, a mask; or the name
of a field, or a list of names, of a structured type."""
Selection: TypeAlias = Index | tuple[Index, ...]
"""What may stand between the brackets of `array[…]`."""
_REQUIRED: Any = object()


class Selections(InDask):
    """The base of `Array`; not of use by itself."""

    @property
    def _whole(self) -> Transform:
        return indexing.identity(self._model.shape)

    @property
    def _target(self) -> Transform:
        """All of the array, for a selection that will be written to."""
        self._check_writable()
        self._look()
        return self._whole

    # -- reading ------------------------------------------------------------------------------
    def __getitem__(self, key: Selection) -> Any:
        grid = self._model.grid
        found = read_single(self, key, grid.array_shape)
        if found is not None:
            return found
        plan = indexing.box(key, grid)
        if plan is not None:
            return read_plan(self, plan, scalar=True)
        fields, key = indexing.pop_fields(key)
        return self._read(key, None, fields)

    def _write(self, transform: Transform, value: Any, fields: FieldNames) -> None:
        from omnizarr.nodes.data.writing import write

        write(self, transform, value, fields)

    def _read(self, key: Selection, out: Target | None, fields: FieldNames) -> Any:
        plan = indexing.box(key, self._model.grid)
        if plan is not None and (out is None or isinstance(out, np.ndarray)):
            return read_plan(self, plan, out, fields, scalar=True)
        transform = indexing.basic_and_advanced(indexing.identity(self._stored.shape), key)
        return read(self, transform, out, fields, scalar=not has_ellipsis(key))

    @suggests
    def get_basic_selection(
        self, selection: Selection = Ellipsis, *, out: Target | None = None,
        fields: FieldNames = None, prototype: object = None,
    ) -> Any:  # fmt: skip
        """Read what `array[selection]` gives.

        Parameters
        ----------
        selection
            As between the brackets of `array[…]`, without names of fields.
        out
            Array of the selection's shape to write the values into; it is returned.
        fields
            Name, or list of names, of fields of a structured type.
        prototype
            Buffers of zarr-python. Only its CPU buffers are taken, since values are NumPy arrays.

        Returns
        -------
        ndarray or scalar
            The values; a scalar if the selection names one element.

        Raises
        ------
        SelectionError
            If the selection or a field does not fit the array, or `out` does not fit the selection.

        Examples
        --------
        >>> a = omnizarr.array([10, 20, 30])
        >>> a.get_basic_selection(slice(1, 3))
        array([20, 30])
        """
        _check_prototype(prototype)
        return self._read(selection, out, fields)

    @suggests
    def get_orthogonal_selection(
        self, selection: Selection, *, out: Target | None = None,
        fields: FieldNames = None, prototype: object = None,
    ) -> Any:  # fmt: skip
        """Read `array.oindex[selection]`: every dimension is selected on its own.

        Parameters
        ----------
        selection
            For every dimension an int, a slice, a list of integers or a mask of its length.
        out
            Array of the selection's shape to write the values into; it is returned.
        fields
            Name, or list of names, of fields of a structured type.
        prototype
            Buffers of zarr-python. Only its CPU buffers are taken, since values are NumPy arrays.

        Returns
        -------
        ndarray or scalar
            The values; a scalar if the selection names one element.

        Raises
        ------
        SelectionError
            If the selection or a field does not fit the array, or `out` does not fit the selection.

        Examples
        --------
        >>> a = omnizarr.array(np.arange(12).reshape(3, 4))
        >>> a.get_orthogonal_selection(([0, 2], [1, 3]))
        array([[ 1,  3],
               [ 9, 11]])
        """
        _check_prototype(prototype)
        return read(self, indexing.orthogonal(self._whole, selection), out, fields, scalar=True)

    @suggests
    def get_coordinate_selection(
        self, selection: Selection, *, out: Target | None = None,
        fields: FieldNames = None, prototype: object = None,
    ) -> Any:  # fmt: skip
        """Read `array.vindex[selection]`: elements at points.

        Parameters
        ----------
        selection
            For every dimension the coordinates of the points, arrays that broadcast together; or
            one mask of the array's shape.
        out
            Array of the selection's shape to write the values into; it is returned.
        fields
            Name, or list of names, of fields of a structured type.
        prototype
            Buffers of zarr-python. Only its CPU buffers are taken, since values are NumPy arrays.

        Returns
        -------
        ndarray or scalar
            The values; a scalar if the selection names one element.

        Raises
        ------
        SelectionError
            If the selection or a field does not fit the array, or `out` does not fit the selection.

        Examples
        --------
        >>> a = omnizarr.array(np.arange(12).reshape(3, 4))
        >>> a.get_coordinate_selection(([0, 2], [1, 3]))
        array([ 1, 11])
        """
        _check_prototype(prototype)
        return read(self, indexing.coordinates(self._whole, selection), out, fields, scalar=True)

    @suggests
    def get_mask_selection(
        self, mask: npt.ArrayLike | None = None, *, out: Target | None = None,
        fields: FieldNames = None, prototype: object = None,
        selection: npt.ArrayLike | None = None,
    ) -> NDArray:  # fmt: skip
        """Read the elements where a mask is True.

        Parameters
        ----------
        mask
            Array of booleans of the array's shape.
        out
            Array of the selection's shape to write the values into; it is returned.
        fields
            Name, or list of names, of fields of a structured type.
        prototype
            Buffers of zarr-python. Only its CPU buffers are taken, since values are NumPy arrays.
        selection
            zarr-python 2's name for `mask`.

        Returns
        -------
        ndarray
            The values.

        Raises
        ------
        SelectionError
            If the selection or a field does not fit the array, or `out` does not fit the selection.

        Examples
        --------
        >>> a = omnizarr.array([10, 20, 30])
        >>> a.get_mask_selection([True, False, True])
        array([10, 30])
        """
        _check_prototype(prototype)
        transform = indexing.mask(self._whole, _mask(mask, selection))
        values: NDArray = read(self, transform, out, fields)
        return values

    @suggests
    def get_block_selection(
        self, selection: Selection, *, out: Target | None = None,
        fields: FieldNames = None, prototype: object = None,
    ) -> NDArray:  # fmt: skip
        """Read `array.blocks[selection]`: whole chunks.

        Parameters
        ----------
        selection
            For every dimension an int or a slice that counts chunks, not elements.
        out
            Array of the selection's shape to write the values into; it is returned.
        fields
            Name, or list of names, of fields of a structured type.
        prototype
            Buffers of zarr-python. Only its CPU buffers are taken, since values are NumPy arrays.

        Returns
        -------
        ndarray
            The values.

        Raises
        ------
        SelectionError
            If the selection or a field does not fit the array, or `out` does not fit the selection.

        Examples
        --------
        >>> a = omnizarr.array(np.arange(6), chunks=2)
        >>> a.get_block_selection(1)
        array([2, 3])
        """
        _check_prototype(prototype)
        transform = indexing.blocks(self._whole, selection, self._block_grid)
        values: NDArray = read(self, transform, out, fields)
        return values

    # -- writing ------------------------------------------------------------------------------
    @suggests
    def set_basic_selection(
        self, selection: Selection, value: npt.ArrayLike, *,
        fields: FieldNames = None, prototype: object = None,
    ) -> None:  # fmt: skip
        """Write what `array[selection] = value` writes.

        Parameters
        ----------
        selection
            As between the brackets of `array[…]`, without names of fields.
        value
            A scalar, or values that broadcast to the selection.
        fields
            Name, or list of names, of fields of a structured type; the others keep their values.
        prototype
            Buffers of zarr-python; only its CPU buffers are taken.

        Raises
        ------
        SelectionError
            If the selection or the field does not fit the array.
        ReadOnlyError
            If the array was opened with mode ``"r"``.

        Examples
        --------
        >>> a = omnizarr.zeros(3, dtype="i4")
        >>> a.set_basic_selection(slice(1, 3), 7)
        >>> a[:]
        array([0, 7, 7], dtype=int32)
        """
        _check_prototype(prototype)
        self._write(indexing.basic_and_advanced(self._target, selection), value, fields)

    @suggests
    def set_orthogonal_selection(
        self, selection: Selection, value: npt.ArrayLike, *,
        fields: FieldNames = None, prototype: object = None,
    ) -> None:  # fmt: skip
        """Write what `array.oindex[selection] = value` writes.

        Parameters
        ----------
        selection
            For every dimension an int, a slice, a list of integers or a mask of its length.
        value
            A scalar, or values that broadcast to the selection.
        fields
            Name, or list of names, of fields of a structured type; the others keep their values.
        prototype
            Buffers of zarr-python; only its CPU buffers are taken.

        Raises
        ------
        SelectionError
            If the selection or the field does not fit the array.
        ReadOnlyError
            If the array was opened with mode ``"r"``.

        Examples
        --------
        >>> a = omnizarr.zeros((2, 3), dtype="i4")
        >>> a.set_orthogonal_selection((0, [0, 2]), [1, 2])
        >>> a[:]
        array([[1, 0, 2],
               [0, 0, 0]], dtype=int32)
        """
        _check_prototype(prototype)
        self._write(indexing.orthogonal(self._target, selection), value, fields)

    @suggests
    def set_coordinate_selection(
        self, selection: Selection, value: npt.ArrayLike, *,
        fields: FieldNames = None, prototype: object = None,
    ) -> None:  # fmt: skip
        """Write what `array.vindex[selection] = value` writes.

        Parameters
        ----------
        selection
            For every dimension the coordinates of the points, arrays that broadcast together; or
            one mask of the array's shape.
        value
            A scalar, or values that broadcast to the selection.
        fields
            Name, or list of names, of fields of a structured type; the others keep their values.
        prototype
            Buffers of zarr-python; only its CPU buffers are taken.

        Raises
        ------
        SelectionError
            If the selection or the field does not fit the array.
        ReadOnlyError
            If the array was opened with mode ``"r"``.

        Examples
        --------
        >>> a = omnizarr.zeros((2, 3), dtype="i4")
        >>> a.set_coordinate_selection(([0, 1], [0, 2]), [1, 2])
        >>> a[:]
        array([[1, 0, 0],
               [0, 0, 2]], dtype=int32)
        """
        _check_prototype(prototype)
        self._write(indexing.coordinates(self._target, selection), value, fields)

    @suggests
    def set_mask_selection(
        self, mask: npt.ArrayLike | None = None, value: npt.ArrayLike = _REQUIRED, *,
        fields: FieldNames = None, prototype: object = None,
        selection: npt.ArrayLike | None = None,
    ) -> None:  # fmt: skip
        """Write the elements where a mask is True.

        Parameters
        ----------
        mask
            Array of booleans of the array's shape.
        value
            A scalar, or values that broadcast to the selection.
        fields
            Name, or list of names, of fields of a structured type; the others keep their values.
        prototype
            Buffers of zarr-python; only its CPU buffers are taken.
        selection
            zarr-python 2's name for `mask`.

        Raises
        ------
        SelectionError
            If the selection or the field does not fit the array.
        ReadOnlyError
            If the array was opened with mode ``"r"``.

        Examples
        --------
        >>> a = omnizarr.zeros(3, dtype="i4")
        >>> a.set_mask_selection([True, False, True], 7)
        >>> a[:]
        array([7, 0, 7], dtype=int32)
        """
        _check_prototype(prototype)
        if value is _REQUIRED:
            raise TypeError("set_mask_selection() needs a value")
        self._write(indexing.mask(self._target, _mask(mask, selection)), value, fields)

    @suggests
    def set_block_selection(
        self, selection: Selection, value: npt.ArrayLike, *,
        fields: FieldNames = None, prototype: object = None,
    ) -> None:  # fmt: skip
        """Write what `array.blocks[selection] = value` writes.

        Parameters
        ----------
        selection
            For every dimension an int or a slice that counts chunks, not elements.
        value
            A scalar, or values that broadcast to the selection.
        fields
            Name, or list of names, of fields of a structured type; the others keep their values.
        prototype
            Buffers of zarr-python; only its CPU buffers are taken.

        Raises
        ------
        SelectionError
            If the selection or the field does not fit the array.
        ReadOnlyError
            If the array was opened with mode ``"r"``.

        Examples
        --------
        >>> a = omnizarr.zeros(6, chunks=2, dtype="i4")
        >>> a.set_block_selection(1, [5, 6])
        >>> a[:]
        array([0, 0, 5, 6, 0, 0], dtype=int32)
        """
        _check_prototype(prototype)
        self._write(indexing.blocks(self._target, selection, self._block_grid), value, fields)


def _mask(mask: npt.ArrayLike | None, selection: npt.ArrayLike | None) -> npt.ArrayLike:
    """The mask, by the name of either generation of zarr-python."""
    if (mask is None) == (selection is None):
        raise TypeError("a mask selection needs mask= (or selection=, but not both)")
    return selection if mask is None else mask  # type: ignore[return-value]  # one is given


def _check_prototype(prototype: object) -> None:
    if prototype is not None:
        made = getattr(getattr(prototype, "nd_buffer", None), "__module__", "")
        if made != "zarr.core.buffer.cpu":
            raise TypeError(
                f"prototype: values are NumPy arrays here, found {prototype!r}; leave it out and"
                " move what was read to another device yourself"
            )


def has_ellipsis(key: Selection) -> bool:
    return key is Ellipsis or (isinstance(key, tuple) and any(item is Ellipsis for item in key))
