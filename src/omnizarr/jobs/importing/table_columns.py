"""The columns of a table as arrays of one dimension: their types, their values, what is missing.

    numbers, booleans             the same; decimals as text or floats, if that is asked for
    text, byte strings            of any length; of a fixed length raw bits
    dictionaries, run ends        what they stand for
    dates, timestamps, durations  datetime64, timedelta64; a null is NaT. Times of day are durations
    structs                       a column for each field, `struct.field`
    null                          text

Where a column has nulls, these places hold 0, False or "", and a second array of booleans says
which values are valid.

This module knows types. It must not know files or stores.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np

from omnizarr import limits
from omnizarr.errors import LimitError, UnsupportedError
from omnizarr.model.paths import is_key
from omnizarr.runtime.optional_packages import package

Decimals = Literal["text", "float"]
TYPE, VALID, NAME = "arrow_type", "valid", "column"
"""Attributes of an array: the type that Arrow had, the array that says which values are valid, and
the name of the column, where no array can have it."""
_TEXT_BYTES = 32
"""What an element of text is thought to take, before any is known."""
_DEEPEST = 16


@dataclass
class Column:
    """A column, and the array that it becomes."""

    name: str
    """Of the array."""
    dtype: Any
    """As `create_array` takes it."""
    arrow: Any
    """The type in the file."""
    decimals: Decimals | None = None
    attributes: dict[str, Any] = field(default_factory=dict)

    @property
    def itemsize(self) -> int:
        """Bytes of an element, or what is thought of text."""
        return _TEXT_BYTES if self.dtype in (str, bytes) else np.dtype(self.dtype).itemsize

    def values(self, array: Any) -> tuple[Any, np.ndarray[Any, np.dtype[np.bool_]] | None]:
        """What is written, and which of it is valid; None if all of it is."""
        pa = package("pyarrow", "arrow", "reading tables")
        if self.dtype is str:
            array.validate(full=True)  # a reader of Parquet does not look whether text is UTF-8
        array = _plain(pa, array)
        kind, types = array.type, pa.types
        if types.is_decimal(kind):
            array = array.cast(pa.string() if self.decimals == "text" else pa.float64())
            kind = array.type
        if types.is_time(kind):
            width = pa.int32() if types.is_time32(kind) else pa.int64()
            return _times(array.view(width).cast(pa.int64()), np.dtype(self.dtype)), None
        if types.is_temporal(kind):
            return array.to_numpy(zero_copy_only=False).astype(self.dtype, copy=False), None
        if types.is_null(kind):
            return pa.array([""] * len(array), pa.string()), np.zeros(len(array), bool)
        valid = None
        if array.null_count:
            valid = array.is_valid().to_numpy(zero_copy_only=False)
            array = _filled(pa, array)
        if types.is_float16(kind):
            return array.to_numpy(zero_copy_only=False).view("f2"), valid
        if self.dtype in (str, bytes) or types.is_fixed_size_binary(kind):
            return array, valid
        return array.to_numpy(zero_copy_only=False), valid


def columns_of(schema: Any, decimals: Decimals | None) -> list[Column]:
    """The columns of a schema without structs; UnsupportedError names all that have no form."""
    pa = package("pyarrow", "arrow", "reading tables")
    columns: list[Column] = []
    refused: list[str] = []
    taken: set[str] = set()
    for each in schema:
        try:
            dtype = _dtype(pa, each.type, decimals)
        except UnsupportedError as error:
            refused.append(f"{each.name!r} ({each.type}): {error}")
            continue
        name = array_name(each.name, taken)
        attributes: dict[str, Any] = {TYPE: str(each.type)}
        if name != each.name:
            attributes[NAME] = each.name
        columns.append(Column(name, dtype, each.type, decimals, attributes))
    if refused:
        found = UnsupportedError(
            f"columns that have no form as an array of one dimension: {'; '.join(refused)}"
        )
        others = [str(each.attributes.get(NAME, each.name)) for each in columns]
        if not others:
            raise found
        raise found.advise("{} reads the others", ("options", {"columns": others}))
    return columns


def array_name(name: str, taken: set[str]) -> str:
    """A name for an array that no other has, which is that of the column wherever it can be."""
    plain = re.sub(r"[/\\\x00-\x1f\x7f]", "_", name).strip() if name else ""
    if not is_key(plain) or plain.startswith(("__", ".")) or len(plain) > 200:
        plain = "column_" + re.sub(r"\W", "_", plain)[:100]
    found, number = plain, 2
    while found in taken or found in ("zarr.json", "attributes.json"):
        found, number = f"{plain}_{number}", number + 1
    taken.add(found)
    return found


def flat(table: Any) -> Any:
    """A table with the fields of structs as columns of their own. A null struct has null fields."""
    pa = package("pyarrow", "arrow", "reading tables")
    for _ in range(_DEEPEST):
        if not any(pa.types.is_struct(each.type) for each in table.schema):
            return table
        table = table.flatten()
    raise UnsupportedError(f"structs in more than {_DEEPEST} levels")


def pieces(columns: Iterable[Any]) -> list[Any]:
    """The one Arrow array of each chunked column."""
    return [each.chunk(0) if each.num_chunks == 1 else each.combine_chunks() for each in columns]


def _dtype(pa: Any, kind: Any, decimals: Decimals | None) -> Any:
    types = pa.types
    if isinstance(kind, pa.BaseExtensionType):
        return _dtype(pa, kind.storage_type, decimals)
    if types.is_dictionary(kind) or types.is_run_end_encoded(kind):
        return _dtype(pa, kind.value_type, decimals)
    if types.is_null(kind) or types.is_string(kind) or types.is_large_string(kind):
        return str
    if types.is_binary(kind) or types.is_large_binary(kind):
        return bytes
    if types.is_fixed_size_binary(kind) and kind.byte_width:
        return f"V{kind.byte_width}"
    if types.is_decimal(kind) and decimals is not None:
        return str if decimals == "text" else "f8"
    if types.is_decimal(kind):
        raise UnsupportedError("the option decimals=text keeps all digits, decimals=float rounds")
    if types.is_boolean(kind) or types.is_integer(kind) or types.is_floating(kind):
        return np.dtype(kind.to_pandas_dtype())
    if types.is_date(kind):
        return "M8[D]" if types.is_date32(kind) else "M8[ms]"
    if types.is_timestamp(kind):
        return f"M8[{kind.unit}]"
    if types.is_duration(kind) or types.is_time(kind):
        return f"m8[{kind.unit}]"
    if getattr(types, "is_string_view", lambda _: False)(kind):
        return str
    if getattr(types, "is_binary_view", lambda _: False)(kind):
        return bytes
    raise UnsupportedError("it holds more than one value in a row, or none of Zarr's types")


def _plain(pa: Any, array: Any) -> Any:
    """An array without extension, dictionary, runs or views."""
    types = pa.types
    while True:
        kind = array.type
        if isinstance(array, pa.ExtensionArray):
            array = array.storage
        elif types.is_dictionary(kind):
            _check_growth(pa, array)
            array = array.dictionary_decode()
        elif types.is_run_end_encoded(kind):
            array = _as_dictionary(pa, array)
        elif getattr(types, "is_string_view", lambda _: False)(kind):
            return array.cast(pa.large_string())
        elif getattr(types, "is_binary_view", lambda _: False)(kind):
            return array.cast(pa.large_binary())
        else:
            return array


def _check_growth(pa: Any, array: Any) -> None:
    """Refuse a dictionary of which so few bytes stand for more than a chunk may take."""
    pc = package("pyarrow.compute", "arrow", "reading tables")
    types, kind = pa.types, array.type.value_type
    if not (types.is_string(kind) or types.is_binary(kind) or types.is_large_string(kind)
            or types.is_large_binary(kind)) or not len(array.dictionary):  # fmt: skip
        return
    # Nulls count as the first entry; they are the smallest part of any real table.
    lengths = pc.fill_null(pc.binary_length(array.dictionary), 0).to_numpy(zero_copy_only=False)
    indices = pc.fill_null(array.indices, 0).to_numpy(zero_copy_only=False)
    _check_bytes(int(lengths[indices].sum(dtype=np.int64)))


def _as_dictionary(pa: Any, array: Any) -> Any:
    """Run ends as a dictionary of the runs' values, whose growth is checked."""
    ends = array.run_ends.to_numpy(zero_copy_only=False).astype(np.int64)
    elements = np.arange(array.offset, array.offset + len(array))
    runs = np.searchsorted(ends, elements, side="right")
    return pa.DictionaryArray.from_arrays(pa.array(runs, pa.int64()), array.values)


def _check_bytes(nbytes: int) -> None:
    if nbytes > limits.current.max_expansion:
        raise LimitError(
            f"a part of a column grows to {nbytes} bytes; the cap is"
            f" {limits.current.max_expansion} (limits.set(max_expansion=...))"
        )


def _filled(pa: Any, array: Any) -> Any:
    """The array with a value in place of nulls."""
    pc = package("pyarrow.compute", "arrow", "reading tables")
    kind, types = array.type, pa.types
    if types.is_float16(kind):
        return pc.fill_null(array.view(pa.uint16()), 0)
    if types.is_fixed_size_binary(kind):
        return pc.fill_null(array, pa.scalar(bytes(kind.byte_width), kind))
    empty: Any = 0
    if types.is_boolean(kind):
        empty = False
    elif types.is_string(kind) or types.is_large_string(kind):
        empty = ""
    elif types.is_binary(kind) or types.is_large_binary(kind):
        empty = b""
    return pc.fill_null(array, pa.scalar(empty, kind))


def _times(array: Any, dtype: np.dtype[Any]) -> Any:
    pc = package("pyarrow.compute", "arrow", "reading tables")
    return pc.fill_null(array, np.iinfo("i8").min).to_numpy(zero_copy_only=False).view(dtype)
