"""A variable of NetCDF: an array with named dimensions, whose values may be packed.

This module knows arrays and their attributes. What attributes mean, `conventions.netcdf` knows.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from omnizarr.conventions.netcdf import packing as packed
from omnizarr.conventions.netcdf.dimensions import dimension_names
from omnizarr.conventions.netcdf.packing import Packing
from omnizarr.errors import MetadataError
from omnizarr.formats.base import Format, Registering
from omnizarr.formats.nczarr import markers
from omnizarr.formats.nczarr.attribute_types import typed, types_of, value_in_json
from omnizarr.formats.nczarr.dialect import FILL_VALUES
from omnizarr.formats.translation.fill_values import fill_masks
from omnizarr.keywords import suggests
from omnizarr.nodes.array import Array


class Variable:
    """A variable of NetCDF; `group.netcdf.variables` has them.

    Parameters
    ----------
    name
        Name of the variable.
    array
        The array that holds its values.

    Examples
    --------
    >>> root = omnizarr.group()
    >>> t = root.netcdf.create_variable(
    ...     "t", "i2", {"x": 3}, fill_value=-1, attributes={"scale_factor": 0.5}
    ... )
    >>> t.write([1.5, np.nan, 2.0])
    >>> t.read()
    array([1.5, nan, 2. ])
    >>> t.array[:]
    array([ 3, -1,  4], dtype=int16)
    """

    def __init__(self, name: str, array: Array) -> None:
        self.name = name
        self.array = array

    @property
    def dimensions(self) -> tuple[str, ...]:
        """Names of the dimensions; none for a scalar.

        Examples
        --------
        >>> omnizarr.group().netcdf.create_variable("a", "f4", {"y": 2, "x": 3}).dimensions
        ('y', 'x')
        """
        return dimension_names(self.array.dims, self.array.shape)

    @property
    def shape(self) -> tuple[int, ...]:
        """Length of every dimension.

        Examples
        --------
        >>> omnizarr.group().netcdf.create_variable("a", "f4", {"y": 2, "x": 3}).shape
        (2, 3)
        """
        return self.array.shape if self.dimensions else ()

    @property
    def dtype(self) -> np.dtype[Any]:
        """Type of the stored values.

        Examples
        --------
        >>> omnizarr.group().netcdf.create_variable("a", "f4").dtype
        dtype('float32')
        """
        return self.array.dtype

    @property
    def attributes(self) -> dict[str, Any]:
        """Attributes, without those that belong to the format. Numbers are NumPy's where NCZarr
        keeps their type.

        Examples
        --------
        >>> root = omnizarr.group()
        >>> root.netcdf.create_variable("a", "f4", attributes={"units": "K"}).attributes
        {'units': 'K'}
        """
        return typed(self.array.attrs)

    @property
    def packing(self) -> Packing:
        """How the values are stored: scale, offset, and what marks missing values.

        Examples
        --------
        >>> root = omnizarr.group()
        >>> t = root.netcdf.create_variable("t", "i2", attributes={"scale_factor": 0.5})
        >>> t.packing.scale, t.packing.unpacked
        (np.float64(0.5), dtype('float64'))
        """
        attributes = self.attributes
        fill = None if "_FillValue" in attributes else self._default_fill()
        try:
            return packed.packing(attributes, self.dtype, fill)
        except MetadataError as error:
            raise error.at(self.array.store, path=self.array.path) from error

    def _default_fill(self) -> Any:
        """The fill value of the array, if it marks missing values without an attribute: to xarray
        in some formats, to netCDF-C where it is the library's own."""
        array, fill = self.array, self.array.fill_value
        if isinstance(array._place.format, Registering):
            own = FILL_VALUES.get(self.dtype.str[1:])
            return fill if self.dtype.itemsize > 1 and fill == own else None
        return fill if fill_masks(array._place.format) else None

    @suggests
    def read(
        self, selection: Any = ..., *, decode: bool = True, masked: bool = False
    ) -> npt.NDArray[Any]:
        """Read values, as they are meant.

        Parameters
        ----------
        selection
            What to read, as in ``array[selection]``.
        decode
            Apply `scale_factor`, `add_offset`, `_FillValue`, `missing_value`, `valid_range`,
            `valid_min`, `valid_max` and `_Unsigned`. False gives values as they are stored.
        masked
            Give a masked array, whose mask marks missing values; otherwise they are NaN.

        Returns
        -------
        ndarray
            The values.

        Raises
        ------
        MetadataError
            If an attribute cannot be meant so.

        Examples
        --------
        >>> root = omnizarr.group()
        >>> t = root.netcdf.create_variable("t", "i4", {"x": 3}, fill_value=-1)
        >>> t.array[:] = [1, -1, 3]
        >>> t.read()
        array([ 1., nan,  3.])
        >>> t.read(masked=True)
        masked_array(data=[1, --, 3],
                     mask=[False,  True, False],
               fill_value=...)
        """
        values = np.asarray(self._selected()[selection])
        return packed.unpack(values, self.packing, masked=masked) if decode else values

    @suggests
    def write(self, values: Any, selection: Any = ..., *, decode: bool = True) -> None:
        """Write values, as they are meant. What is missing (NaN, or masked) is stored as the
        `_FillValue`.

        Parameters
        ----------
        values
            The values, of a shape that fits the selection.
        selection
            Where to write, as in ``array[selection] = values``.
        decode
            Pack them: the reverse of what `read` does. False writes them as they are.

        Raises
        ------
        MetadataError
            If a value does not fit the stored type, would be packed into what marks missing values,
            or is missing and there is no `_FillValue`.

        Examples
        --------
        >>> root = omnizarr.group()
        >>> t = root.netcdf.create_variable("t", "i2", {"x": 3}, attributes={"add_offset": 100.0})
        >>> t.write([101, 102], slice(0, 2))
        >>> t.array[:2]
        array([1, 2], dtype=int16)
        """
        if decode:
            values = packed.pack(np.ma.asanyarray(values), self.packing, self.dtype)
        if self._is_stored_scalar:
            selection = ...
        self.array[selection] = values

    @property
    def _is_stored_scalar(self) -> bool:
        return not self.dimensions and self.array.ndim == 1

    def _selected(self) -> Any:
        """What a selection is taken from: a scalar has no dimension, though it may be stored so."""
        return np.asarray(self.array[0]) if self._is_stored_scalar else self.array

    def __repr__(self) -> str:
        sizes = ", ".join(
            f"{name}: {length}" for name, length in zip(self.dimensions, self.shape, strict=True)
        )
        return f"<omnizarr.netcdf.Variable {self.name!r} ({sizes}) {self.dtype}>"


def in_json(attributes: Mapping[str, Any], chosen: Format) -> dict[str, Any]:
    """Attributes as JSON can have them, arrays of NumPy as lists; and their types, where the format
    keeps those."""
    plain = {
        name: value.tolist() if hasattr(value, "tolist") else value
        for name, value in attributes.items()
    }
    if isinstance(chosen, Registering):
        plain = {name: value_in_json(value) for name, value in plain.items()}
        plain[markers.TYPES] = {"types": types_of(attributes)}
    return plain
