"""Rules for the array document of the v3 drafts (document 002, "Array metadata")."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping

from omnizarr.formats.rules.base import (
    At,
    Finding,
    is_integer,
    is_number,
    lengths,
    one_of,
    required,
    same_dimensions,
    text_options,
)
from omnizarr.formats.rules.strict_json import (
    Unreadable,
    attribute_values,
    encoding,
    read_object,
    token_list,
)
from omnizarr.model.codec import Json
from omnizarr.model.json import show
from omnizarr.model.store import Buffer

ARRAY, TYPES, GRIDS = "Array metadata", "Core data types", "Regular grids"

_URI = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:[^\s]+\Z")
_IDENTIFIERS = frozenset(
    {
        *("bool", "i1", "u1", "<u2", "<u4", "<u8"),
        *(f"{order}i{size}" for order in "<>" for size in (2, 4, 8)),
        *(f"{order}f{size}" for order in "<>" for size in (2, 4, 8)),
    }
)
_LATER = frozenset({">u2", ">u4", ">u8"})
_OLD_SPELLINGS = {"|b1": "bool", "|i1": "i1", "|u1": "u1"}
_MEMBERS = (
    *("shape", "data_type", "chunk_grid", "chunk_memory_layout", "compressor", "fill_value"),
    *("extensions", "attributes"),
)
_OF_ZARR_PYTHON = ("dimension_separator", "storage_transformers")


def is_uri(value: Json) -> bool:
    return isinstance(value, str) and _URI.match(value) is not None


def check(at: At, data: Buffer) -> Iterator[Finding]:
    yield from encoding(at, ARRAY, data)
    try:
        document = read_object(at, ARRAY, data)
    except Unreadable as error:
        yield from error.findings
        return
    optional = ("compressor", "extensions", "attributes")
    yield from required(at, ARRAY, document, [name for name in _MEMBERS if name not in optional])
    for name in sorted(document.keys() - set(_MEMBERS)):
        if name in _OF_ZARR_PYTHON:
            yield at.dialect(ARRAY, f"the name {name!r} is reserved; zarr-python 2 wrote it")
        else:
            yield at.error(ARRAY, f"the name {show(name)} is reserved")
    shape = document.get("shape")
    if "shape" in document:
        yield from lengths(at, ARRAY, "shape", shape, 0)
    if "data_type" in document:
        yield from _data_type(at, document["data_type"])
    if "chunk_grid" in document:
        yield from _grid(at, document["chunk_grid"], shape)
    if "chunk_memory_layout" in document:
        yield from _layout(at, document["chunk_memory_layout"])
    yield from _compressor(at, document)
    if "fill_value" in document:
        yield from _fill(at, document["fill_value"], document.get("data_type"))
    yield from extensions_and_attributes(at, ARRAY, document)
    elsewhere = {name: value for name, value in document.items() if name != "attributes"}
    if tokens := token_list(elsewhere):
        yield at.error(ARRAY, f"bare NaN or Infinity tokens, which are no JSON, in {tokens}")


def extensions_and_attributes(
    at: At, section: str, document: Mapping[str, Json]
) -> Iterator[Finding]:
    """The two members that arrays and groups share."""
    if "extensions" not in document:
        yield at.dialect(section, "the member 'extensions' is missing; zarr-python 2 left it out")
    elif not isinstance(document["extensions"], list):
        yield at.error(section, f"extensions must be a list, found {show(document['extensions'])}")
    if "attributes" not in document:
        yield at.error(section, "the member 'attributes' is missing")
        return
    attributes = document["attributes"]
    if attributes is None:
        yield at.dialect(
            section, "attributes is null, no object; zarrita of 2020 wrote it for none"
        )
        return
    yield from attribute_values(at, section, attributes)
    filters = attributes.get("filters") if isinstance(attributes, dict) else None
    if (
        isinstance(filters, list)
        and filters
        and all(isinstance(f, dict) and "id" in f for f in filters)
    ):
        yield at.dialect(
            section,
            "the attribute 'filters' holds codecs, which the draft has no place for; zarr-python 2"
            " hid them there",
        )


def _extended(at: At, section: str, where: str, value: Mapping[str, Json]) -> Iterator[Finding]:
    """A value that a protocol extension defines."""
    yield from required(at, section, value, ("extension", "type"))
    uri = value.get("extension", "x:y")
    if isinstance(uri, str) and uri.startswith("TODO"):
        yield at.dialect(section, f"{where}: the extension is {show(uri)}; zarr-python 2 wrote it")
    elif not is_uri(uri):
        yield at.error(section, f"{where}: extension must be a URI, found {show(uri)}")


def _data_type(at: At, value: Json) -> Iterator[Finding]:
    if isinstance(value, dict):
        yield from _extended(at, ARRAY, "data_type", value)
        if value.get("fallback", "u1") is None:
            yield at.dialect(ARRAY, "data_type: fallback is null; zarr-python 2 wrote it for none")
        elif (fallback := value.get("fallback", "u1")) not in [*_IDENTIFIERS, *_LATER]:
            yield at.error(
                ARRAY, f"data_type: fallback must be a core data type, found {show(fallback)}"
            )
    elif not isinstance(value, str):
        yield at.error(ARRAY, f"data_type must be a string or an object, found {show(value)}")
    elif value in _LATER:
        yield at.dialect(
            TYPES, f"data_type {value!r} was added in October 2020; zarrita knew it before"
        )
    elif value in _OLD_SPELLINGS:
        yield at.dialect(
            TYPES,
            f"data_type {value!r} is spelled {_OLD_SPELLINGS[value]!r}; zarrita of 2020 wrote it",
        )
    elif value not in _IDENTIFIERS:
        yield at.error(TYPES, f"data_type {show(value)} is no core data type")


def _grid(at: At, value: Json, shape: Json) -> Iterator[Finding]:
    if not isinstance(value, dict):
        yield at.error(ARRAY, f"chunk_grid must be an object, found {show(value)}")
        return
    if "extension" in value:
        yield from _extended(at, ARRAY, "chunk_grid", value)
        return
    yield from required(at, ARRAY, value, ("type", "chunk_shape"))
    if "type" in value:
        yield from one_of(at, ARRAY, "chunk_grid: type", value["type"], ("regular",))
    if "chunk_shape" in value:
        yield from lengths(at, ARRAY, "chunk_shape", value["chunk_shape"], 1)
        yield from same_dimensions(at, ARRAY, "chunk_shape", shape, value["chunk_shape"])
    if "separator" in value:
        yield from one_of(at, GRIDS, "chunk_grid: separator", value["separator"], (".", "/"))
    for name in sorted(value.keys() - {"type", "chunk_shape", "separator"}):
        yield at.warning(ARRAY, f"chunk_grid: the name {show(name)} is not defined")


def _layout(at: At, value: Json) -> Iterator[Finding]:
    if isinstance(value, dict):
        yield from _extended(at, ARRAY, "chunk_memory_layout", value)
    else:
        yield from one_of(at, ARRAY, "chunk_memory_layout", value, ("C", "F"))


def _compressor(at: At, document: Mapping[str, Json]) -> Iterator[Finding]:
    if "compressor" not in document:
        yield at.dialect(
            ARRAY, "compressor is missing; the writers of layout C left it out for none"
        )
        return
    value = document["compressor"]
    if isinstance(value, dict) and isinstance(value.get("configuration"), dict):
        yield from text_options(at, ARRAY, "compressor", value["configuration"])
    if value is None:
        yield at.dialect(
            ARRAY, "compressor is null, no object; the author's own software wrote it for none"
        )
    elif not isinstance(value, dict):
        yield at.error(ARRAY, f"compressor must be an object, found {show(value)}")
    else:
        yield from required(at, ARRAY, value, ("codec",))
        if not is_uri(value.get("codec", "x:y")):
            yield at.error(ARRAY, f"compressor: codec must be a URI, found {show(value['codec'])}")
        for name in sorted(value.keys() - {"codec", "configuration"}):
            yield at.warning(ARRAY, f"compressor: the name {show(name)} is not defined")


def _fill(at: At, value: Json, data_type: Json) -> Iterator[Finding]:
    """Booleans and integers are defined; for floats the document has but an example, "NaN"."""
    if value is None or not isinstance(data_type, str):
        return
    name = _OLD_SPELLINGS.get(data_type, data_type).lstrip("<>")
    if name == "bool":
        if not isinstance(value, bool):
            yield at.error(ARRAY, f"fill_value must be true or false, found {show(value)}")
    elif name[:1] in ("i", "u") and name[1:].isdigit():
        bits = 8 * int(name[1:2])
        low = -(1 << bits - 1) if name[0] == "i" else 0
        high = (1 << bits - 1) - 1 if name[0] == "i" else (1 << bits) - 1
        if not is_integer(value) or not low <= value <= high:
            yield at.error(
                ARRAY, f"fill_value must be an integer from {low} to {high}, found {show(value)}"
            )
    elif name[:1] == "f":
        finite = is_number(value) and (is_integer(value) or math.isfinite(value))
        if not finite and value not in ("NaN", "Infinity", "-Infinity"):
            yield at.error(
                ARRAY,
                "fill_value must be a number, 'NaN', 'Infinity' or '-Infinity', found"
                f" {show(value)}",
            )
