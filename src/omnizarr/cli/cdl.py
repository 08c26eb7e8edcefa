"""Values as ncdump prints them, in CDL, from one part of an array after another.

Numbers have as many digits as make them exact; ncdump itself rounds to 7 or 15 of them. This module
knows values and lines. It must not know what a group is.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from math import prod
from typing import Any

import numpy as np

from omnizarr.cli.stored import itemsize, parts

_WIDTH = 80
_WORDS = {"nan": "NaN", "inf": "Infinity", "-inf": "-Infinity"}


def batches(array: Any) -> Iterator[Any]:
    """All values of an array in C order, some megabytes at a time."""
    whole = tuple(slice(0, length) for length in array.shape)
    for part in parts(whole, itemsize(array), array.chunks):
        yield np.asarray(array.read(part)).reshape(-1)


def lines(variable: Any) -> Iterator[str]:
    """The values of a variable behind its name; a line for every row, broken where it is long."""
    array, shape = variable.array, variable.shape
    if 0 in shape:
        return
    missing = _fill(variable)
    if array.dtype.str[1:] == "S1" and shape:  # characters along the last dimension are text
        found: Iterable[str] = _joined(batches(array), shape[-1])
        shape = shape[:-1]
    else:
        found = (text for batch in batches(array) for text in texts(batch, missing))
    row, total = (shape[-1] if len(shape) > 1 else 0), prod(shape)
    before = len(variable.name) + 2  # which the caller writes
    begin = "= "
    if row:
        yield "="
        before, begin = 0, "  "
    for number, text in enumerate(found, start=1):
        end = " ;" if number == total else ","
        if len(begin) > 4 and before + len(begin) + len(text) + len(end) > _WIDTH:
            yield begin.rstrip()
            before, begin = 0, "    "
        begin += f"{text}{end}"
        if number == total or (row and number % row == 0):
            yield begin
            begin = "  "
        else:
            begin += " "


def _fill(variable: Any) -> tuple[Any, ...]:
    """The stored value that the attribute `_FillValue` means, as ncdump asks for it alone: without
    the attribute, a reader of the text would take `_` for another value."""
    attribute = variable.attributes.get("_FillValue")
    found = () if attribute is None else variable.packing.missing[:1]
    if not found or isinstance(attribute, str):  # which holds the bytes of a number
        return tuple(found)
    [stored] = found
    as_stored = np.asarray(attribute).reshape(-1)[:1]
    if stored.dtype.kind == "f":
        as_stored = as_stored.astype(stored.dtype)
    return found if (as_stored == stored).all() or stored != stored else ()


def texts(batch: Any, missing: tuple[Any, ...] = ()) -> list[str]:
    """Every value of a batch as CDL has it; `_` for those that mark missing ones."""
    kind = batch.dtype.kind
    if kind in "iub":
        found = [str(int(value)) for value in batch.tolist()]
    elif kind == "f":
        found = [_number(text, batch.dtype) for text in batch.astype("U").tolist()]
    else:
        return [_other(value) for value in batch]
    for value in missing:
        same = np.isnan(batch) if value != value else batch.view(value.dtype) == value
        for place in np.flatnonzero(same):
            found[place] = "_"
    return found


def _number(text: str, dtype: Any) -> str:
    word = _WORDS.get(text)
    if word is not None:
        return f"{word}f" if dtype.itemsize == 4 else word
    return text.removesuffix(".0")


def _other(value: Any) -> str:
    if value is None:
        return "NIL"
    if isinstance(value, np.void) and value.dtype.names:
        fields = (texts(np.asarray(value[name]).reshape(-1)) for name in value.dtype.names)
        return _braced(each[0] if len(each) == 1 else _braced(each) for each in fields)
    if isinstance(value, bytes):
        value = value.decode("utf-8", "backslashreplace")
    return quoted(str(value))


def _braced(items: Iterable[str]) -> str:
    return f"{{{', '.join(items)}}}"


def quoted(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)


def _joined(found: Iterable[Any], length: int) -> Iterator[str]:
    """Characters as one text for every row, without what fills it up."""
    rest = b""
    for batch in found:
        rest += batch.tobytes()
        whole = len(rest) - len(rest) % length
        for start in range(0, whole, length):
            text = rest[start : start + length].rstrip(b"\0")
            yield quoted(text.decode("utf-8", "backslashreplace"))
        rest = rest[whole:]
