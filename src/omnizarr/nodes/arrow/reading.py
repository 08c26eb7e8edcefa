"""What was read, as pyarrow has it.

The columns of a selection become a ChunkedArray, one chunk for each, over the same memory. Other
types become the Arrow type that holds every value of theirs:

    complex             struct of real and imag
    struct              struct; a sub-array is a fixed_size_list
    raw bits            fixed_size_binary
    U, S                string, binary
    bfloat16, float8 …  float; int4, int2: int8 (and unsigned)
    NaT                 null
    ragged arrays       list
    other objects       whatever pyarrow makes of them

What Arrow has no type for is refused by name.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from omnizarr.errors import UnsupportedError
from omnizarr.model.column import Column
from omnizarr.model.packing import Offsets
from omnizarr.nodes.arrow.common import NDArray, numeric
from omnizarr.runtime.optional_packages import package

FAR = np.iinfo(np.int32).max
"""What an offset of 32 bits reaches."""
_UNITS = ("s", "ms", "us", "ns")
"""The units of time that Arrow has."""


def to_arrow(values: Sequence[Column] | NDArray, large: bool) -> Any:
    """A pyarrow ChunkedArray of what was read, flat, in C order."""
    pa = package("pyarrow", "arrow", "to_arrow")
    if not isinstance(values, np.ndarray):
        large = large or any(column.nbytes > FAR for column in values)
        return pa.chunked_array([strings(pa, column, large) for column in values])
    found = _array(pa, values.reshape(-1))
    return found if isinstance(found, pa.ChunkedArray) else pa.chunked_array([found])


def rows(values: Sequence[Column] | NDArray, large: bool, shape: tuple[int, ...]) -> Any:
    """The same, with every dimension after the first as lists of one length."""
    pa = package("pyarrow", "arrow", "Arrow's interface")
    found = to_arrow(values, large)
    for length in shape[:0:-1]:
        if not length:
            raise UnsupportedError(f"Arrow has no lists of length 0, as shape {shape} needs them")
        found = pa.chunked_array(
            [pa.FixedSizeListArray.from_arrays(found.combine_chunks(), length)]
        )
    return found


def strings(pa: Any, column: Column, large: bool) -> Any:
    """An Arrow array over the buffers of a column."""
    if large:
        kind = pa.large_string() if column.text else pa.large_binary()
    else:
        kind = pa.string() if column.text else pa.binary()
    if column.offsets.dtype != (np.int64 if large else np.int32):
        column = column.compact()  # an offset may exceed 32 bits although the data do not
    offsets = _offsets(column.offsets, large)
    buffers = [None, pa.py_buffer(offsets), pa.py_buffer(np.ascontiguousarray(column.data))]
    return pa.Array.from_buffers(kind, column.size, buffers)


def _offsets(offsets: Offsets, large: bool) -> Offsets:
    """The same in Arrow's width; copied only if their address is not aligned, as in a shard."""
    return np.require(offsets, np.int64 if large else np.int32, ["C", "A"])


def _array(pa: Any, values: NDArray) -> Any:
    """An array as Arrow has it; dimensions beyond the first are those of sub-arrays."""
    dtype = values.dtype
    if values.ndim > 1:
        inner = _array(pa, values.reshape(-1))
        for length in values.shape[:0:-1]:
            inner = pa.FixedSizeListArray.from_arrays(inner, length)
        return inner
    if dtype.names is not None:
        fields = [_array(pa, np.ascontiguousarray(values[name])) for name in dtype.names]
        return pa.StructArray.from_arrays(fields, names=list(dtype.names))
    if dtype.type is np.void:
        data = pa.py_buffer(np.ascontiguousarray(values).view(np.uint8))
        return pa.Array.from_buffers(pa.binary(dtype.itemsize), values.size, [None, data])
    match dtype.kind:
        case "O":
            return _objects(pa, values)
        case "T" | "U" | "S":
            # pyarrow itself would end an element of fixed width at its first NUL.
            column = Column.of(values, dtype.kind != "S")
            return strings(pa, column, column.nbytes > FAR)
        case "c":
            return _complex(pa, numeric(values))
        case "m" | "M":
            return _times(pa, numeric(values))
    try:
        return pa.array(np.ascontiguousarray(numeric(values)))
    except (pa.ArrowException, TypeError, ValueError) as error:
        raise _unsupported(dtype, str(error)) from error


def _unsupported(dtype: Any, reason: str) -> UnsupportedError:
    return UnsupportedError(
        f"Arrow has no type for elements of {dtype} ({reason}); read them with array[...]",
        what="data_type",
    )


def _complex(pa: Any, values: NDArray) -> Any:
    fields = [pa.array(np.ascontiguousarray(part)) for part in (values.real, values.imag)]
    return pa.StructArray.from_arrays(fields, names=["real", "imag"])


def _times(pa: Any, values: NDArray) -> Any:
    dtype = values.dtype
    unit, multiple = np.datetime_data(dtype)
    dates = dtype.kind == "M" and unit == "D"
    if multiple != 1 or (unit not in _UNITS and not dates):
        raise _unsupported(dtype, f"its units are {', '.join(_UNITS)}, and D for dates")
    if dates:
        days = values.view(np.int64)
        beyond = ((days > FAR) | (days < -FAR - 1)) & ~np.isnat(values)
        if beyond.any():
            first = int(np.argmax(beyond))
            raise _unsupported(dtype, f"element {first} is further than 2**31 days from 1970")
    return pa.array(values)


def _objects(pa: Any, values: NDArray) -> Any:
    items = values.tolist()
    arrays = [item for item in items if isinstance(item, np.ndarray)]
    if arrays and all(isinstance(item, np.ndarray | None) for item in items):
        kinds = {item.dtype for item in arrays}
        if len(kinds) == 1 and all(item.ndim == 1 for item in arrays):
            return _lists(pa, items, arrays)
    try:
        return pa.array(items)
    except (pa.ArrowException, TypeError, ValueError, OverflowError) as error:
        raise _unsupported("Python's objects", str(error)) from error


def _lists(pa: Any, items: list[NDArray | None], arrays: list[NDArray]) -> Any:
    """Arrays of one type as lists; an element that was never written is null."""
    lengths = [0 if item is None else item.size for item in items]
    offsets = np.zeros(len(items) + 1, np.int64)
    np.cumsum(lengths, out=offsets[1:])
    content = _array(pa, np.concatenate(arrays))
    large = int(offsets[-1]) > FAR
    kind = pa.LargeListArray if large else pa.ListArray
    bounds = pa.array(_offsets(offsets, large))
    empty = pa.array([item is None for item in items])
    return kind.from_arrays(bounds, content, mask=empty if empty.true_count else None)
