"""Reading and writing by selections of every kind: zarr-python's methods for them.

This module knows how selections become transforms. It must not know how those are executed: that
is `Array`'s, which stands on it.
"""

from __future__ import annotations

from typing import Any

import numpy.typing as npt

from omnizarr import indexing
from omnizarr.indexing import Transform
from omnizarr.keywords import suggests
from omnizarr.nodes.array_facts import ArrayFacts

NDArray = npt.NDArray[Any]
_REQUIRED = object()


class Selections(ArrayFacts):
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

    def _read(
        self,
        transform: Transform,
        out: NDArray | None = None,
        fields: Any = None,
        *,
        scalar: bool = False,
    ) -> Any:
        raise NotImplementedError

    def _write(self, transform: Transform, value: Any, fields: Any = None) -> None:
        raise NotImplementedError

    # -- reading ------------------------------------------------------------------------------
    @suggests
    def get_basic_selection(
        self, selection: Any = Ellipsis, *, out: NDArray | None = None, fields: Any = None,
        prototype: Any = None,
    ) -> Any:  # fmt: skip
        """Read what `array[selection]` gives.

        Parameters
        ----------
        selection
            As between the brackets of `array[…]`, without names of fields.
        out
            Array of the selection's shape that the values are written into, and that is returned.
        fields
            Name, or list of names, of fields of a structured type.
        prototype
            Buffers of zarr-python; values are NumPy arrays here, so only its CPU buffers are taken.

        Raises
        ------
        SelectionError
            If the selection or a field does not fit the array, or `out` not the selection.

        Examples
        --------
        >>> a = omnizarr.array([10, 20, 30])
        >>> a.get_basic_selection(slice(1, 3))
        array([20, 30])
        """
        _check_prototype(prototype)
        transform = indexing.basic_and_advanced(self._whole, selection)
        return self._read(transform, out, fields, scalar=not has_ellipsis(selection))

    @suggests
    def get_orthogonal_selection(
        self, selection: Any, *, out: NDArray | None = None, fields: Any = None,
        prototype: Any = None,
    ) -> Any:  # fmt: skip
        """Read `array.oindex[selection]`; the keywords are those of `get_basic_selection`."""
        _check_prototype(prototype)
        return self._read(indexing.orthogonal(self._whole, selection), out, fields, scalar=True)

    @suggests
    def get_coordinate_selection(
        self, selection: Any, *, out: NDArray | None = None, fields: Any = None,
        prototype: Any = None,
    ) -> Any:  # fmt: skip
        """Read `array.vindex[selection]`; the keywords are those of `get_basic_selection`."""
        _check_prototype(prototype)
        return self._read(indexing.coordinates(self._whole, selection), out, fields, scalar=True)

    @suggests
    def get_mask_selection(
        self, mask: Any = None, *, out: NDArray | None = None, fields: Any = None,
        prototype: Any = None, selection: Any = None,
    ) -> Any:  # fmt: skip
        """Read the elements where `mask`, an array of booleans of the array's shape, is True.

        `selection=` is zarr-python 2's name for it; the other keywords are those of
        `get_basic_selection`."""
        _check_prototype(prototype)
        return self._read(indexing.mask(self._whole, _mask(mask, selection)), out, fields)

    @suggests
    def get_block_selection(
        self, selection: Any, *, out: NDArray | None = None, fields: Any = None,
        prototype: Any = None,
    ) -> Any:  # fmt: skip
        """Read `array.blocks[selection]`; the keywords are those of `get_basic_selection`."""
        _check_prototype(prototype)
        return self._read(indexing.blocks(self._whole, selection, self._block_grid), out, fields)

    # -- writing ------------------------------------------------------------------------------
    @suggests
    def set_basic_selection(
        self, selection: Any, value: Any, *, fields: Any = None, prototype: Any = None
    ) -> None:
        """Write what `array[selection] = value` writes.

        Parameters
        ----------
        selection
            As between the brackets of `array[…]`, without names of fields.
        value
            A scalar, or values that broadcast to the selection.
        fields
            Name of a field of a structured type; the others keep their values.
        prototype
            Buffers of zarr-python; values are NumPy arrays here, so only its CPU buffers are taken.

        Raises
        ------
        SelectionError
            If the selection does not fit the array.
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
        self, selection: Any, value: Any, *, fields: Any = None, prototype: Any = None
    ) -> None:
        """Do `array.oindex[selection] = value`; the keywords are those of `set_basic_selection`."""
        _check_prototype(prototype)
        self._write(indexing.orthogonal(self._target, selection), value, fields)

    @suggests
    def set_coordinate_selection(
        self, selection: Any, value: Any, *, fields: Any = None, prototype: Any = None
    ) -> None:
        """Do `array.vindex[selection] = value`; the keywords are those of `set_basic_selection`."""
        _check_prototype(prototype)
        self._write(indexing.coordinates(self._target, selection), value, fields)

    @suggests
    def set_mask_selection(
        self, mask: Any = None, value: Any = _REQUIRED, *, fields: Any = None,
        prototype: Any = None, selection: Any = None,
    ) -> None:  # fmt: skip
        """Write the elements where `mask`, an array of booleans of the array's shape, is True.

        `selection=` is zarr-python 2's name for it; the other keywords are those of
        `set_basic_selection`."""
        _check_prototype(prototype)
        if value is _REQUIRED:
            raise TypeError("set_mask_selection() needs a value")
        self._write(indexing.mask(self._target, _mask(mask, selection)), value, fields)

    @suggests
    def set_block_selection(
        self, selection: Any, value: Any, *, fields: Any = None, prototype: Any = None
    ) -> None:
        """Do `array.blocks[selection] = value`; the keywords are those of `set_basic_selection`."""
        _check_prototype(prototype)
        self._write(indexing.blocks(self._target, selection, self._block_grid), value, fields)


def _mask(mask: Any, selection: Any) -> Any:
    """The mask, by the name of either generation of zarr-python."""
    if (mask is None) == (selection is None):
        raise TypeError("a mask selection needs mask= (or selection=, but not both)")
    return selection if mask is None else mask


def _check_prototype(prototype: Any) -> None:
    if prototype is not None:
        made = getattr(getattr(prototype, "nd_buffer", None), "__module__", "")
        if made != "zarr.core.buffer.cpu":
            raise TypeError(
                f"prototype: values are NumPy arrays here, found {prototype!r}; leave it out and"
                " move what was read to another device yourself"
            )


def has_ellipsis(key: Any) -> bool:
    return key is Ellipsis or (isinstance(key, tuple) and any(item is Ellipsis for item in key))
