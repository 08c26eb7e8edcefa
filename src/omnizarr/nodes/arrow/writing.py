"""Data of pyarrow as something that can be written: a column, or a NumPy array.

    string, binary, large and view types      a column over the same buffers (views are copied)
    dictionary, run_end_encoded               what they stand for
    bool, integers, floats                    the same
    date, timestamp, duration                 datetime64, timedelta64; a timestamp with a time zone
                                              is its moment in UTC
    fixed_size_binary                         raw bits
    struct                                    records
    fixed_size_list                           one more dimension
    list                                      objects: an array for each element
    an extension type                         its storage

Everything is validated first (`soundness`). A null anywhere, however deep, is refused with its
place.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from omnizarr.errors import UnsupportedError
from omnizarr.model.column import Column
from omnizarr.nodes.arrow.common import (
    NDArray,
    Values,
    Where,
    chosen,
    field_of,
    item_of,
    joined,
    ragged,
    record,
)
from omnizarr.nodes.arrow.missing import missing
from omnizarr.nodes.arrow.soundness import BYTES, LISTS, TEXT, check, check_type, first_null, is_of
from omnizarr.runtime.optional_packages import package

_EXAMPLE = "pyarrow.compute.fill_null(values, …)"


def from_arrow(value: Any) -> Any:
    """An Array, a ChunkedArray, a Scalar, or a table as an array of records; anything else as it
    is."""
    pa = package("pyarrow", "arrow", "Arrow data")
    try:
        return _taken(pa, value)
    except (pa.ArrowMemoryError, UnsupportedError):
        raise
    except pa.ArrowException as error:
        kind = getattr(value, "type", type(value).__name__)
        raise UnsupportedError(
            f"pyarrow does not convert its {kind} ({error}); cast it to a simpler type",
            what="data_type",
        ) from error


def _taken(pa: Any, value: Any) -> Any:
    if isinstance(value, pa.Scalar):
        return _scalar(pa, value)
    if isinstance(value, pa.Table | pa.RecordBatch):
        value = value.to_struct_array()
    if isinstance(value, pa.Tensor):
        return value.to_numpy()
    if isinstance(value, pa.Array):
        pieces = [value]
    elif isinstance(value, pa.ChunkedArray):
        pieces = [chunk for chunk in value.chunks if len(chunk)] or value.chunks[:1]
        if not pieces:
            check_type(pa, value.type)
            pieces = [pa.array([], value.type)]
    else:
        return value
    parts: list[Values] = []
    begin = 0
    for piece in pieces:
        check(pa, piece)
        parts.append(_values(pa, piece, _element(begin)))
        begin += len(piece)
    return joined(parts)


def _scalar(pa: Any, value: Any) -> Any:
    if not value.is_valid:
        raise missing("the value", "null")
    check_type(pa, value.type)
    try:
        single = pa.array([value], value.type)
    except (pa.ArrowException, TypeError, ValueError):  # not every type has this way
        single = pa.repeat(value, 1)
    check(pa, single)
    found = _values(pa, single, lambda _: "the value")
    return found.numpy()[0] if isinstance(found, Column) else found[0]


def _values(pa: Any, array: Any, where: Where) -> Values:
    """One Arrow array; `where` names its elements."""
    if isinstance(array, pa.ExtensionArray):
        return _extension(pa, array, where)
    absent = first_null(array)
    if absent is not None:
        raise missing(where(absent), "null", _EXAMPLE)
    kind, types = array.type, pa.types
    if types.is_dictionary(kind):
        return _dictionary(pa, array, where)
    if types.is_struct(kind):
        return _struct(pa, array, where)
    if types.is_fixed_size_list(kind):
        inner = _values(pa, array.flatten(), _inside(where, kind.list_size))
        return inner.reshape((len(array), kind.list_size, *inner.shape[1:]))
    if types.is_fixed_size_binary(kind):
        return _raw(array)
    if types.is_null(kind):
        return np.zeros(0)
    if is_of(pa, kind, (*TEXT, *BYTES)):
        return _strings(pa, array, is_of(pa, kind, TEXT))
    if types.is_run_end_encoded(kind):
        return _runs(pa, array, where)
    if is_of(pa, kind, LISTS):
        return _lists(pa, array, where)
    values: NDArray = array.to_numpy(zero_copy_only=False)
    return values


def _strings(pa: Any, array: Any, text: bool) -> Column:
    types, kind = pa.types, array.type
    if types.is_string_view(kind) or types.is_binary_view(kind):
        array = _cast(pa, array, pa.large_string() if text else pa.large_binary())
        return _column(array, np.int64, text)
    narrow = types.is_string(kind) or types.is_binary(kind)
    return _column(array, np.int32 if narrow else np.int64, text)


def _runs(pa: Any, array: Any, where: Where) -> Values:
    """Run ends and a value for each; only those that this slice has are looked at."""
    start, size = array.offset, len(array)
    ends = array.run_ends.to_numpy(zero_copy_only=False).astype(np.int64)
    elements = np.arange(start, start + size)
    runs = np.searchsorted(ends, elements, side="right")
    first = int(runs[0]) if size else 0
    last = int(runs[-1]) + 1 if size else 0
    begins = np.maximum(np.concatenate([[0], ends])[first:last] - start, 0).tolist()
    entries = _values(pa, array.values[first:last], lambda run: where(begins[run]))
    return chosen(entries, runs - first)


def _cast(pa: Any, array: Any, kind: Any) -> Any:
    try:
        return array.cast(kind)
    except pa.ArrowNotImplementedError:  # before pyarrow 18
        return pa.array(array.to_pylist(), kind)


def _extension(pa: Any, array: Any, where: Where) -> Values:
    found = _values(pa, array.storage, where)
    if isinstance(array.type, pa.FixedShapeTensorType) and isinstance(found, np.ndarray):
        shaped: NDArray = array.to_numpy_ndarray()
        return shaped
    return found


def _dictionary(pa: Any, array: Any, where: Where) -> Values:
    if first_null(array.dictionary) is not None:
        return _values(pa, array.dictionary_decode(), where)
    entries = _values(pa, array.dictionary, lambda index: f"entry {index} of the dictionary")
    indices: NDArray = array.indices.to_numpy(zero_copy_only=False)
    return chosen(entries, indices.astype(np.int64))


def _struct(pa: Any, array: Any, where: Where) -> Values:
    fields = [
        (field.name, _values(pa, array.field(index), field_of(where, field.name)))
        for index, field in enumerate(array.type)
    ]
    return record(fields, len(array))


def _element(begin: int) -> Where:
    return lambda index: f"element {begin + index}"


def _inside(where: Where, size: int) -> Where:
    return lambda index: f"{where(index // size)}, item {index % size},"


def _lists(pa: Any, array: Any, where: Where) -> NDArray:
    bounds = np.zeros(len(array) + 1, np.int64)
    lengths = array.sizes if hasattr(array, "sizes") else array.value_lengths()
    np.cumsum(lengths.to_numpy(zero_copy_only=False), out=bounds[1:])
    inner = _values(pa, array.flatten(), item_of(where, bounds))
    return ragged(inner, bounds, array.to_pylist)


def _raw(array: Any) -> Values:
    size, width = len(array), array.type.byte_width
    if not width or not size:
        return np.zeros(size, f"V{max(1, width)}") if width else _column_of_nothing(size)
    data = np.frombuffer(array.buffers()[1], np.uint8)
    start = array.offset * width
    values: NDArray = data[start : start + size * width].view(f"V{width}")
    return values


def _column_of_nothing(size: int) -> Column:
    return Column(np.zeros(size + 1, np.int64), np.zeros(0, np.uint8), (size,), False)


def _column(array: Any, width: Any, text: bool) -> Column:
    _, offsets, data = array.buffers()
    size, start = len(array), array.offset
    if offsets is None or not offsets.size:
        bounds = np.zeros(size + 1, np.int64)
    else:
        bounds = np.frombuffer(offsets, width)[start : start + size + 1]
    octets = np.zeros(0, np.uint8) if data is None else np.frombuffer(data, np.uint8)
    return Column(bounds, octets, (size,), text)
