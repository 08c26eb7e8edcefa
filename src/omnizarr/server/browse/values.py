"""Values as a page gets them: numbers as little-endian bytes, everything else as text.

The answer is the length of a header (4 bytes), the header (JSON, padded to 8 bytes), and the
numbers. This module knows arrays and selections. It must not know HTTP.
"""

from __future__ import annotations

import json
import struct
from typing import Any

import numpy as np
import numpy.typing as npt

from omnizarr.server.browse.facts import PACKED, value_type
from omnizarr.server.browse.plain import plain
from omnizarr.server.browse.selections import (
    MOST_VALUES,
    BadRequest,
    Selection,
    TooMuch,
    check,
    coarsened,
    count,
    lengths,
    parse,
    shape_of,
    shown,
)

_TEXTS = 20_000
"""Most values that are sent as text."""
_LONGEST = 300
"""Characters of one value."""


def chosen(array: Any, text: str, wanted: str = "") -> Selection:
    """The selection that is read: no more than `wanted` values along each dimension, and no more
    than may be decoded at once."""
    selection = parse(text, array.shape)
    try:
        sizes = [int(size) for size in wanted.split(",")] if wanted else []
    except ValueError as error:
        raise BadRequest(f"expected sizes such as 300,400, found {wanted!r}") from error
    sizes += [MOST_VALUES] * (len(shape_of(selection)) - len(sizes))
    return coarsened(selection, sizes, lengths(array), itemsize(array))


def itemsize(array: Any) -> int:
    """Bytes of a decoded value; a guess for those that have no fixed length."""
    return 64 if array.dtype.kind in "OT" else int(array.dtype.itemsize)


def exact(array: Any, text: str) -> Selection:
    """The selection as it was asked for, refused if it is too large."""
    selection = parse(text, array.shape)
    check(selection, lengths(array), itemsize(array))
    return selection


def read(array: Any, group: Any, selection: Selection, decode: bool) -> npt.NDArray[Any]:
    """The values, as they are meant (scale, offset, missing values) or as they are stored."""
    values = decoded(array, group, selection) if decode else None
    return np.asarray(array[selection]) if values is None else values


def decoded(array: Any, group: Any, selection: Selection) -> npt.NDArray[Any] | None:
    """The values as they are meant; None if the attributes do not say that they are packed."""
    if group is None or not any(name in array.attrs for name in PACKED):
        return None
    try:
        return np.asarray(group.netcdf[array.basename].read(selection))
    except (TypeError, ValueError):  # attributes that cannot be meant so
        return None


def answer(array: Any, group: Any, text: str, wanted: str, decode: bool) -> bytes:
    """The values of a selection, with a header that says what they are."""
    selection = chosen(array, text, wanted)
    is_text = value_type(array.dtype) in ("text", "record")
    if is_text and int(np.prod(shape_of(selection), dtype=np.int64)) > _TEXTS:
        raise TooMuch(f"at most {_TEXTS:,} values are shown as text; choose fewer")
    values = read(array, group, selection, decode)
    header: dict[str, Any] = {
        "shape": list(shape_of(selection)),
        "selection": shown(selection),
        "parts": [
            part if isinstance(part, int) else [part.start, count(part), part.step]
            for part in selection
        ],
    }
    found, body = wire(values)
    return framed(header | found, body)


def framed(header: dict[str, Any], body: bytes) -> bytes:
    text = json.dumps(header, allow_nan=False).encode()
    text += b" " * (-(len(text) + 4) % 8)
    return struct.pack("<I", len(text)) + text + body


def wire(values: npt.NDArray[Any]) -> tuple[dict[str, Any], bytes]:
    """What a header says of values, and their bytes."""
    kind = value_type(values.dtype)
    if kind in ("number", "bool", "complex"):
        sent = _native(values, kind)
        return {"type": kind, "dtype": sent.dtype.str[1:]}, sent.tobytes()
    if kind in ("time", "duration"):
        # NaT is the least integer, which the page knows.
        unit = np.datetime_data(values.dtype)[0]
        sent = values.astype(f"<{values.dtype.kind}8[{unit}]").view("<i8")
        texts = [_text(value) for value in values.ravel()[:_TEXTS]]
        return {"type": kind, "dtype": "i8", "texts": texts}, sent.tobytes()
    if kind == "record":
        names = list(values.dtype.names or ())
        rows = [[_text(row[name]) for name in names] for row in values.ravel()]
        return {"type": kind, "fields": names, "rows": rows}, b""
    return {"type": "text", "texts": [_text(value) for value in values.ravel()]}, b""


def _native(values: npt.NDArray[Any], kind: str) -> npt.NDArray[Any]:
    """Numbers of a type that JavaScript has: 8 to 64 bits, two floats for a complex one."""
    if kind == "bool":
        return np.ascontiguousarray(values).view("u1")
    if kind == "complex":
        part = "f4" if values.dtype.itemsize <= 8 else "f8"
        return np.ascontiguousarray(values, f"<c{2 * int(part[1])}").reshape(-1).view(f"<{part}")
    own = values.dtype.kind in "iuf" and values.dtype.itemsize in (1, 2, 4, 8)
    if not own or values.dtype == np.float16:
        target = "f8" if values.dtype.itemsize > 4 else "f4"
        return np.ascontiguousarray(values.astype(f"<{target}"))
    return np.ascontiguousarray(values, values.dtype.newbyteorder("<"))


def _text(value: Any) -> str:
    """One value, cut where it is long."""
    if isinstance(value, bytes | bytearray | memoryview):
        text = repr(bytes(value[:_LONGEST]))[1:]
    elif isinstance(value, str):
        text = value[: _LONGEST + 1]
    elif isinstance(value, np.void) and value.dtype.names is None:
        text = "0x" + value.tobytes()[:_LONGEST].hex()
    else:
        text = _shortly(value)
    return text if len(text) <= _LONGEST else text[:_LONGEST] + "…"


def _shortly(value: Any) -> str:
    if isinstance(value, dict | list | tuple):
        return json.dumps(plain(value), ensure_ascii=False)
    if isinstance(value, np.ndarray):
        return np.array2string(value, threshold=20, max_line_width=_LONGEST)
    return str(value)
