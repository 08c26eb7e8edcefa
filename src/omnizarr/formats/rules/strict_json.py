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


class Unreadable(Exception):
    """The document is no JSON object; the findings say why."""

    def __init__(self, *findings: Finding) -> None:
        super().__init__(findings)
        self.findings = findings


def read(at: At, section: str, data: Buffer) -> Json:
    """The value of a document, bare tokens as `Bare`; `Unreadable` if there is none."""
    try:
        value = json.loads(data)
    except MetadataError as error:
        raise Unreadable(at.error(section, str(error))) from error
    raw = bytes(data)
    if b"NaN" not in raw and b"Infinity" not in raw:
        return value
    return text_json.loads(raw.decode("utf-8-sig"), parse_constant=Bare)


def read_object(at: At, section: str, data: Buffer) -> dict[str, Json]:
    """The same for a document that must be an object."""
    value = read(at, section, data)
    if not isinstance(value, dict):
        raise Unreadable(
            at.error(section, f"the document must be a JSON object, found {show(value)}")
        )
    return value


def encoding(at: At, section: str, data: Buffer) -> Iterator[Finding]:
    """How the bytes are encoded."""
    if bytes(data[:3]) == b"\xef\xbb\xbf":
        yield at.error(
            section,
            f"the document begins with a byte order mark, which {GRAMMAR} (section 8.1) forbids",
        )


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


def attributes(at: At, section: str, data: Buffer) -> Iterator[Finding]:
    """A document that holds attributes and nothing else."""
    yield from encoding(at, section, data)
    try:
        value = read(at, section, data)
    except Unreadable as error:
        yield from error.findings
        return
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
