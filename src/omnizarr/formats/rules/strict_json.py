"""JSON as RFC 8259 has it, and what the lenient reader lets pass.

`model.json` refuses what cannot be read safely; this reports that, and on top of it what it
tolerates: a byte order mark and the bare tokens NaN, Infinity and -Infinity.
"""

from __future__ import annotations

import json as text_json
from collections.abc import Iterator, Mapping
from typing import Any

from omnizarr.errors import MetadataError
from omnizarr.formats.rules.base import At, Finding
from omnizarr.model import json
from omnizarr.model.codec import Json
from omnizarr.model.json import show
from omnizarr.model.store import Buffer

GRAMMAR = "RFC 8259"


class Bare(float):
    """A number that stands as a token which JSON does not have."""


def read(at: At, section: str, data: Buffer) -> tuple[Json, list[Finding]]:
    """The value of a document, bare tokens as `Bare`, and what its bytes have that JSON has not.
    The value is None where there is none."""
    try:
        value = json.loads(data)
    except MetadataError as error:
        return None, [at.error(section, str(error))]
    raw = bytes(data)
    if b"NaN" in raw or b"Infinity" in raw:
        value = text_json.loads(raw.decode("utf-8-sig"), parse_constant=Bare)
    if raw[:3] != b"\xef\xbb\xbf":
        return value, []
    mark = f"the document begins with a byte order mark, which {GRAMMAR} (section 8.1) forbids"
    return value, [at.error(section, mark)]


def read_object(at: At, section: str, data: Buffer) -> tuple[dict[str, Json] | None, list[Finding]]:
    """The same for a document that must be an object."""
    value, found = read(at, section, data)
    if isinstance(value, dict):
        return value, found
    if value is not None or not found:
        message = f"the document must be a JSON object, found {show(value)}"
        found.append(at.error(section, message))
    return None, found


def bare_tokens(value: Json) -> Iterator[str]:
    """Where a value holds tokens that are no JSON, as `name` or `name[0].other`."""
    pending: list[tuple[str, Any]] = [("", value)]
    while pending:
        where, item = pending.pop()
        if isinstance(item, Bare):
            yield where
        elif isinstance(item, Mapping):
            pending.extend((f"{where}.{name}" if where else name, v) for name, v in item.items())
        elif isinstance(item, list):
            pending.extend((f"{where}[{number}]", v) for number, v in enumerate(item))


def token_list(value: Json, most: int = 3) -> str:
    """The first such places, for a message; "" if there are none."""
    places = sorted(bare_tokens(value))
    if not places:
        return ""
    more = f" and {len(places) - most} more" if len(places) > most else ""
    return ", ".join(place or "the whole value" for place in places[:most]) + more


def no_tokens(at: At, section: str, document: Mapping[str, Json], *but: str) -> Iterator[Finding]:
    """Bare tokens anywhere but in members that have a rule of their own."""
    if places := token_list({name: v for name, v in document.items() if name not in but}):
        yield at.error(section, f"bare NaN or Infinity tokens, which are no JSON, in {places}")


def attributes(at: At, section: str, data: Buffer) -> Iterator[Finding]:
    """A document that holds attributes and nothing else."""
    value, found = read(at, section, data)
    yield from found
    if value is not None or not found:
        yield from attribute_values(at, section, value)


def attribute_values(at: At, section: str, value: Json) -> Iterator[Finding]:
    if not isinstance(value, dict):
        yield at.error(section, f"the attributes must be a JSON object, found {show(value)}")
        return
    places = token_list(value)
    if places:
        yield at.dialect(
            section,
            f"bare NaN or Infinity tokens in {places}: {GRAMMAR} has no such numbers; Python"
            " writers (zarr-python, xarray) store them",
        )
