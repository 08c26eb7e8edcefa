"""Strict, bounded JSON: the only way in and out of a metadata document.

Reading refuses what other readers pass over in silence: duplicate names, text that is not UTF-8,
nesting or size beyond `omnizarr.limits`. It accepts the bare tokens NaN, Infinity and -Infinity,
which real stores hold, and keeps integers exact. Writing gives the text that document 000 shows.

This module knows JSON only. It must not know what any member means.
"""

from __future__ import annotations

import json
import re
from codecs import BOM_UTF8
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from omnizarr import limits
from omnizarr.config import config
from omnizarr.errors import ErrorLocation, MetadataError
from omnizarr.model.codec import Json
from omnizarr.model.store import Buffer

_STRING = re.compile(rb'"[^"\\]*(?:\\.[^"\\]*)*"', re.DOTALL)
_BRACKETS = b"[]{}"
_NOT_BRACKETS = bytes(byte for byte in range(256) if byte not in _BRACKETS)
_STEP = np.zeros(256, dtype=np.int8)
_STEP[list(b"[{")] = 1
_STEP[list(b"]}")] = -1


def loads(data: Buffer | str, where: ErrorLocation | str = "") -> Json:
    """The value that a document holds; MetadataError, located by `where`, if it is not valid."""
    try:
        return _loads(data)
    except MetadataError as error:
        if where:
            raise error.at(where) from error
        raise


def _loads(data: Buffer | str) -> Json:
    found = text(data)
    try:
        return _decoder.decode(found)
    except RecursionError as error:
        raise MetadataError("invalid JSON: nested too deeply") from error
    except MetadataError:
        raise
    except ValueError as error:
        # JSONDecodeError, and Python's own cap on the digits of an integer.
        start = f"; it starts with {show(found[:40])}" if found else "; it is empty"
        raise MetadataError(f"invalid JSON: {error}{start}") from error


def text(data: Buffer | str) -> str:
    """The text of a document that is neither too large nor nested too deeply; else MetadataError.
    Whether it is JSON remains to be seen."""
    cap = limits.current.max_document_bytes
    if len(data) > cap:
        raise MetadataError(
            f"a document of {len(data)} bytes; limits.max_document_bytes allows {cap}"
        )
    if isinstance(data, str):
        found = data
        data = data.encode("utf-8", "surrogatepass")
    else:
        data = bytes(data)
        try:
            found = data.removeprefix(BOM_UTF8).decode()
        except UnicodeDecodeError as error:
            raise MetadataError(
                f"invalid JSON: not UTF-8 (byte {error.object[error.start]:#04x} at position"
                f" {error.start})"
            ) from error
    _check_depth(data)
    return found


def _check_depth(data: bytes) -> None:
    """Refuse deep nesting before the parser recurses into it."""
    cap = limits.current.max_json_depth
    if data.count(b"[") + data.count(b"{") <= cap:
        return
    brackets = _STRING.sub(b"", data).translate(None, _NOT_BRACKETS)
    if not brackets:
        return
    steps = _STEP[np.frombuffer(brackets, dtype=np.uint8)]
    depth = int(np.cumsum(steps, dtype=np.int64).max())
    if depth > cap:
        raise MetadataError(
            f"invalid JSON: nested {depth} levels deep; limits.max_json_depth allows {cap}"
        )


def _object(pairs: list[tuple[str, Json]]) -> dict[str, Json]:
    members = dict(pairs)
    if len(members) != len(pairs):
        seen: set[str] = set()
        for name, _ in pairs:
            if name in seen:
                raise MetadataError(f"invalid JSON: an object has the name {show(name)} twice")
            seen.add(name)
    return members


_decoder = json.JSONDecoder(object_pairs_hook=_object)
scan: Callable[[str, int], tuple[Json, int]] = _decoder.scan_once  # type: ignore[attr-defined]  # typeshed has no such
"""(text, position): the value that begins there, and where it ends. StopIteration, ValueError or
RecursionError if there is none; MetadataError if a name in it occurs twice."""


def dumps(value: Any, indent: int | None = 4, sort_keys: bool = True) -> str:
    """The text of a value, ASCII only; TypeError if it is not expressible in JSON.

    The configuration value `json_indent` replaces any indent but None."""
    if indent is not None and (wanted := config.get("json_indent")) != "auto":
        indent = wanted
    return json.dumps(
        plain(value), indent=indent, sort_keys=sort_keys, separators=(",", ": "), ensure_ascii=True
    )


def plain(value: Any, where: str = "") -> Json:
    """A copy of nothing but dict, list, str, int, float, bool and None.

    NumPy scalars and 0-d arrays become Python numbers, tuples become lists, integer names
    become text. Everything else raises TypeError, naming the place.
    """
    return _plain(value, where, limits.current.max_json_depth)


def _plain(value: Any, where: str, depth: int) -> Json:
    kind = type(value)
    if value is None or kind is str or kind is int or kind is float or kind is bool:
        return value
    if depth <= 0:
        raise TypeError(f"{_at(where)}nested too deeply (or inside itself) for a JSON document")
    if isinstance(value, Mapping):
        members: dict[str, Json] = {}
        for name, item in value.items():
            if isinstance(name, str):
                text = str(name)
            elif isinstance(name, int | np.integer) and not isinstance(name, bool):
                text = str(int(name))
            else:
                raise TypeError(
                    f"{_at(where)}a name in a JSON object must be a str, found"
                    f" {type(name).__name__}: {show(name)}"
                )
            if text in members:
                raise TypeError(f"{_at(where)}the name {show(text)} would occur twice")
            members[text] = _plain(item, f"{where}.{text}" if where else text, depth - 1)
        return members
    if isinstance(value, list | tuple):
        return [_plain(item, f"{where}[{i}]", depth - 1) for i, item in enumerate(value)]
    if isinstance(value, np.generic) or (isinstance(value, np.ndarray) and value.ndim == 0):
        item = value.item()
        if isinstance(item, bool | int | float | str):
            return item
        raise TypeError(f"{_at(where)}{type(value).__name__} {show(value)} has no JSON form")
    if isinstance(value, str):
        return str(value)
    if isinstance(value, int):
        return int(value)
    if isinstance(value, float):
        return float(value)
    hint = "; use .tolist()" if isinstance(value, np.ndarray) else ""
    raise TypeError(f"{_at(where)}{type(value).__name__} is not expressible in JSON{hint}")


def copy(value: Json) -> Json:
    """A deep copy of a JSON value, for callers who may change it."""
    if isinstance(value, Mapping):
        return {name: copy(item) for name, item in value.items()}
    if isinstance(value, list | tuple):
        return [copy(item) for item in value]
    return value


def _at(where: str) -> str:
    return f"{where}: " if where else ""


def show(value: Any, width: int = 80) -> str:
    """A short `repr` for messages; never fails, whatever a document holds."""
    try:
        text = repr(value)
    except (ValueError, RecursionError):  # an integer of more digits than Python prints
        text = f"<{type(value).__name__}>"
    return text if len(text) <= width else f"{text[: width - 1]}…"
