"""Checks of Arrow data before anything reads their buffers: first the types, then the values.

A file that pyarrow reads may be damaged, so every array is validated in full.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from omnizarr.errors import UnsupportedError

DEEPEST = 64
"""How deep types may be nested: NumPy has no more dimensions."""


def check(pa: Any, array: Any) -> None:
    """UnsupportedError for a type that Zarr lacks, ValueError for an array that is broken."""
    check_type(pa, array.type)
    try:
        array.validate(full=True)
    except pa.ArrowException as error:
        raise ValueError(f"the Arrow data are broken: {error}") from error


# -- types --------------------------------------------------------------------------------------


LISTS = ("list", "large_list", "list_view", "large_list_view")
TEXT = ("string", "large_string", "string_view")
BYTES = ("binary", "large_binary", "binary_view")
PLAIN = ("boolean", "integer", "floating", "date", "timestamp", "duration")
"""Types whose elements NumPy has too."""


def is_of(pa: Any, kind: Any, names: Iterable[str]) -> bool:
    """Whether a type is one of those that pyarrow gives these names."""
    return any(getattr(pa.types, f"is_{name}")(kind) for name in names)


def check_type(pa: Any, kind: Any) -> None:
    """Refuse a type that has no counterpart, however deep it is nested, and one nested too deep."""
    level, depth = [kind], 0
    while level:
        if depth > DEEPEST:
            raise UnsupportedError(
                f"the Arrow data are nested more than {DEEPEST} types deep; write the parts of them"
                " to arrays of their own",
                what="data_type",
            )
        level = [inner for outer in level for inner in _inner(pa, outer)]
        depth += 1


def _inner(pa: Any, kind: Any) -> list[Any]:
    if isinstance(kind, pa.BaseExtensionType):
        return [kind.storage_type]
    if pa.types.is_struct(kind):
        return [kind.field(number).type for number in range(kind.num_fields)]
    if is_of(pa, kind, ("dictionary", "run_end_encoded", "fixed_size_list", *LISTS)):
        return [kind.value_type]
    if is_of(pa, kind, ("null", "fixed_size_binary", *PLAIN, *TEXT, *BYTES)):
        return []
    raise UnsupportedError(
        f"Zarr has no data type for Arrow's {kind}; cast it to one that it has, such as"
        " values.cast('float64') or values.cast('string')",
        what="data_type",
    )


# -- nulls --------------------------------------------------------------------------------------


def first_null(array: Any) -> int | None:
    """The first element that is null; None if no element is."""
    if not array.null_count:
        return None
    return int(np.argmax(array.is_null().to_numpy(zero_copy_only=False)))
