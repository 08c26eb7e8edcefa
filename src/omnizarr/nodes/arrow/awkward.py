"""To and from awkward arrays.

Strings and byte strings share their buffers with awkward's lists of characters. Dimensions of an
array are regular dimensions there; awkward's lists of equal length become a dimension here, lists
of several lengths an array of objects.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

import numpy as np

from omnizarr.errors import UnsupportedError
from omnizarr.model.column import Column, concatenated
from omnizarr.nodes.arrow.common import (
    NDArray,
    Values,
    Where,
    field_of,
    item_of,
    numeric,
    ragged,
    record,
)
from omnizarr.nodes.arrow.missing import missing
from omnizarr.runtime.optional_packages import package

_EXAMPLE = "awkward.fill_none(values, …)"


# -- reading ------------------------------------------------------------------------------------


def to_awkward(values: Sequence[Column] | NDArray, shape: tuple[int, ...]) -> Any:
    """An awkward array of what was read, in its shape; a single element for an array without
    dimensions."""
    ak = package("awkward", "awkward", "to_awkward")
    if isinstance(values, np.ndarray):
        content = _content(ak, values.reshape(-1))
    else:
        column = values[0] if len(values) == 1 else concatenated(values, values[0].text)
        content = _strings(ak, column)
    content = _regular(ak, content, shape)
    return ak.Array(content) if shape else ak.Array(content)[0]


def _regular(ak: Any, content: Any, shape: tuple[int, ...]) -> Any:
    """Flat content in regular dimensions."""
    for axis in range(len(shape) - 1, 0, -1):
        content = ak.contents.RegularArray(content, shape[axis], prod(shape[:axis]))
    return content


def _strings(ak: Any, column: Column) -> Any:
    kinds = ("char", "string") if column.text else ("byte", "bytestring")
    octets = np.ascontiguousarray(column.data)
    characters = ak.contents.NumpyArray(octets, parameters={"__array__": kinds[0]})
    offsets = np.require(column.offsets, requirements=["C", "A"])
    index = getattr(ak.index, f"Index{8 * offsets.itemsize}")(offsets)
    return ak.contents.ListOffsetArray(index, characters, parameters={"__array__": kinds[1]})


def _are_ragged(values: NDArray) -> bool:
    """Whether the objects are flat arrays of one type."""
    kinds = {item.dtype for item in values if isinstance(item, np.ndarray) and item.ndim == 1}
    whole = all(isinstance(item, np.ndarray) and item.ndim == 1 for item in values)
    return len(kinds) == 1 and whole


def _content(ak: Any, values: NDArray) -> Any:
    dtype = values.dtype
    if values.ndim > 1:
        return _regular(ak, _content(ak, values.reshape(-1)), values.shape)
    if dtype.names is not None:
        fields = [_content(ak, np.ascontiguousarray(values[name])) for name in dtype.names]
        return ak.contents.RecordArray(fields, list(dtype.names), length=values.size)
    if dtype.type is np.void:
        octets = np.ascontiguousarray(values).view(np.uint8)
        offsets = np.arange(values.size + 1) * dtype.itemsize
        return _strings(ak, Column(offsets, octets, (values.size,), False))
    if dtype.kind in "TUS":
        return _strings(ak, Column.of(values, dtype.kind != "S"))
    try:
        if dtype.kind == "O" and _are_ragged(values):
            bounds = np.zeros(values.size + 1, np.int64)
            np.cumsum([item.size for item in values], out=bounds[1:])
            content = _content(ak, np.concatenate(list(values)))
            return ak.contents.ListOffsetArray(ak.index.Index64(bounds), content)
        if dtype.kind == "O":
            items = [item.tolist() if isinstance(item, np.ndarray) else item for item in values]
            return ak.to_layout(ak.from_iter(items)) if items else ak.contents.EmptyArray()
        return ak.contents.NumpyArray(np.ascontiguousarray(numeric(values)))
    except (TypeError, ValueError, OverflowError) as error:
        kind = "Python's objects" if dtype.kind == "O" else dtype
        raise UnsupportedError(
            f"awkward has no type for elements of {kind} ({error}); read them with array[...]",
            what="data_type",
        ) from error


# -- writing ------------------------------------------------------------------------------------


def from_awkward(value: Any) -> Any:
    """An awkward array or record; anything else of that package as it is."""
    ak = package("awkward", "awkward", "awkward data")
    if isinstance(value, ak.Record):
        layout = value.layout
        return _values(layout.array[layout.at : layout.at + 1], lambda _: "the record")[0]
    if not isinstance(value, ak.Array):
        return value
    layout = ak.to_layout(ak.to_backend(value, "cpu"))
    return _values(layout, lambda index: f"element {index}")


def _values(layout: Any, where: Where) -> Values:
    if layout.is_option:
        absent = np.asarray(layout.mask_as_bool(valid_when=False))
        if absent.any():
            raise missing(where(int(np.argmax(absent))), "None", _EXAMPLE)
        return _values(layout.project(), where)
    if layout.is_indexed:
        return _values(layout.project(), where)
    kind = layout.parameter("__array__")
    if kind in ("string", "bytestring"):
        return _column(layout, kind == "string")
    if layout.is_unknown:
        return np.zeros(0)
    if layout.is_numpy:
        values: NDArray = np.asarray(layout.data)
        return values
    if layout.is_record:
        return _record(layout, where)
    if layout.is_list:
        return _lists(layout, where)
    raise UnsupportedError(
        f"awkward data of the type {layout.form.type} hold several types in one array; write each"
        " to an array of its own",
        what="data_type",
    )


def _column(layout: Any, text: bool) -> Column:
    layout = layout.to_ListOffsetArray64(True)
    octets = np.ascontiguousarray(np.asarray(layout.content.to_packed().data)).view(np.uint8)
    offsets = np.asarray(layout.offsets.data)
    column = Column(offsets, octets, (offsets.size - 1,), text)
    try:
        column.check()
    except ValueError as error:
        raise ValueError(f"the awkward data are broken: {error}") from error
    return column


def _record(layout: Any, where: Where) -> Values:
    fields = [
        (name, _values(layout.content(name)[: layout.length], field_of(where, name)))
        for name in layout.fields
    ]
    return record(fields, layout.length)


def _lists(layout: Any, where: Where) -> Values:
    size = layout.length
    regular = layout.is_regular
    packed = layout.to_ListOffsetArray64(True)
    bounds = np.asarray(packed.offsets.data)
    inner = _values(packed.content[: int(bounds[-1])], item_of(where, bounds))
    lengths = np.diff(bounds)
    if regular or (size and (lengths == lengths[0]).all()):
        length = layout.size if regular else int(lengths[0])
        return inner.reshape((size, length, *inner.shape[1:]))
    return ragged(inner, bounds, packed.to_list)
