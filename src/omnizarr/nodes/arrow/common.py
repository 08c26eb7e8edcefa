"""What all of this folder needs: an extra's package, numbers that others know, records."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from omnizarr.errors import UnsupportedError
from omnizarr.model.column import OBJECT, Column

NDArray = npt.NDArray[Any]
Values = NDArray | Column
Where = Callable[[int], str]
"""The words for an element, given its number."""

WIDER = {"int2": "int8", "int4": "int8", "uint2": "uint8", "uint4": "uint8"}
"""For an integer of less than a byte the type that others have; a small float becomes float32."""


def numeric(values: NDArray) -> NDArray:
    """Numbers as other libraries know them: in this machine's byte order, and no smaller than a
    byte or a float16. No value changes."""
    dtype = values.dtype
    if dtype.isbuiltin == 2:  # ml_dtypes
        return values.astype(WIDER.get(dtype.name, "float32"))
    return values.astype(dtype.newbyteorder("="), copy=False)


def record(fields: list[tuple[str, Values]], size: int) -> NDArray:
    """Fields side by side as NumPy's records; text and byte strings get the width they need."""
    parts = [
        (name, _fixed(name, part) if isinstance(part, Column) else part) for name, part in fields
    ]
    try:
        result = np.empty(size, [(name, part.dtype, part.shape[1:]) for name, part in parts])
    except (TypeError, ValueError) as error:
        raise UnsupportedError(f"no record has these fields: {error}", what="data_type") from error
    for name, part in parts:
        result[name] = part
    return result


def _fixed(name: str, column: Column) -> NDArray:
    items = column.numpy(OBJECT)
    fixed: NDArray = items.astype("U" if column.text else "S")
    if (column.data == 0).any() and fixed.reshape(-1).tolist() != items.reshape(-1).tolist():
        raise ValueError(
            f"the field {name!r} has an element that ends in NUL, which a record cannot keep; write"
            " the field to an array of its own"
        )
    return fixed


def joined(parts: list[Values]) -> Values:
    """Parts of one kind, one after the other."""
    from omnizarr.model.column import concatenated

    if len(parts) == 1:
        return parts[0]
    columns = [part for part in parts if isinstance(part, Column)]
    if len(columns) < len(parts):
        return np.concatenate([np.asarray(part) for part in parts])
    inner = columns[0].shape[1:]
    flat = concatenated(columns, columns[0].text)
    return flat.reshape((sum(column.shape[0] for column in columns), *inner))


def chosen(values: Values, indices: NDArray) -> Values:
    """The elements at these places."""
    return values.chosen(indices) if isinstance(values, Column) else values[indices]


def item_of(where: Where, bounds: NDArray) -> Where:
    """The words for an item of a list, given its number among the items of all lists."""

    def item(index: int) -> str:
        element = int(np.searchsorted(bounds, index, side="right")) - 1
        return f"{where(element)}, item {index - int(bounds[element])},"

    return item


def field_of(where: Where, name: str) -> Where:
    """The words for a field of a record."""
    return lambda index: f"{where(index)}, field {name!r},"


def ragged(items: Values, bounds: NDArray, lists: Callable[[], list[Any]]) -> NDArray:
    """Lists of several lengths as objects: arrays, or `lists` where NumPy lacks their type."""
    result = np.empty(len(bounds) - 1, object)
    if isinstance(items, Column) or items.dtype == object:
        result[:] = lists()
    else:
        result[:] = [items[start:stop] for start, stop in pairwise(bounds.tolist())]
    return result
