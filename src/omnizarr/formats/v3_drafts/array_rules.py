"""Rules for the array document of the v3 drafts (document 002, "Array metadata")."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from omnizarr.errors import MetadataError
from omnizarr.formats.members import BOOLEAN, LIST, OBJECT, ORDER, SEPARATOR, integer, one_of
from omnizarr.formats.rules.base import (
    At,
    Finding,
    constraints,
    lengths,
    required,
    same_dimensions,
    text_options,
    unknown,
)
from omnizarr.formats.rules.numpy_types import strict_float
from omnizarr.formats.rules.strict_json import attribute_values, no_tokens, read_object
from omnizarr.formats.v3_drafts import data_types
from omnizarr.model.codec import Json
from omnizarr.model.dtypes import Boolean, Float, Integer
from omnizarr.model.dtypes.numeric import bounds
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
    document, found = read_object(at, ARRAY, data)
    yield from found
    if document is None:
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
    yield from constraints(at, ARRAY, document, {"chunk_grid": OBJECT})
    if "chunk_grid" in document:
        yield from _grid(at, document["chunk_grid"], shape)
    if "chunk_memory_layout" in document:
        yield from _layout(at, document["chunk_memory_layout"])
    yield from _compressor(at, document)
    if "fill_value" in document:
        yield from _fill(at, document["fill_value"], document.get("data_type"))
    yield from extensions_and_attributes(at, ARRAY, document)
    yield from no_tokens(at, ARRAY, document, "attributes")


def extensions_and_attributes(
    at: At, section: str, document: Mapping[str, Json]
) -> Iterator[Finding]:
    """The two members that arrays and groups share."""
    if "extensions" not in document:
        yield at.dialect(section, "the member 'extensions' is missing; zarr-python 2 left it out")
    yield from constraints(at, section, document, {"extensions": LIST})
    if "attributes" not in document:
        yield at.error(section, "the member 'attributes' is missing")
        return
    attributes = document["attributes"]
    if attributes is None:
        yield at.dialect(
            section, "attributes is null instead of absent; zarrita of 2020 wrote it so"
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
            yield at.dialect(
                ARRAY, "data_type: fallback is null instead of absent; zarr-python 2 wrote it so"
            )
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
        return  # a constraint says so
    if "extension" in value:
        yield from _extended(at, ARRAY, "chunk_grid", value)
        return
    yield from required(at, ARRAY, value, ("type", "chunk_shape"))
    yield from constraints(at, ARRAY, value, {"type": one_of("regular")}, "chunk_grid: ")
    if "chunk_shape" in value:
        yield from lengths(at, ARRAY, "chunk_shape", value["chunk_shape"], 1)
        yield from same_dimensions(at, ARRAY, "chunk_shape", shape, value["chunk_shape"])
    yield from constraints(at, GRIDS, value, {"separator": SEPARATOR}, "chunk_grid: ")
    known = ("type", "chunk_shape", "separator")
    yield from unknown(at, ARRAY, value, known, "chunk_grid: the name {} is not defined")


def _layout(at: At, value: Json) -> Iterator[Finding]:
    if isinstance(value, dict):
        yield from _extended(at, ARRAY, "chunk_memory_layout", value)
    else:
        yield from constraints(
            at, ARRAY, {"chunk_memory_layout": value}, {"chunk_memory_layout": ORDER}
        )


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
        known = ("codec", "configuration")
        yield from unknown(at, ARRAY, value, known, "compressor: the name {} is not defined")


def _fill(at: At, value: Json, data_type: Json) -> Iterator[Finding]:
    """Booleans and integers are defined; for floats the document has but an example, "NaN"."""
    try:
        found = data_types.decode(data_type) if isinstance(data_type, str) else None
    except MetadataError:
        return
    message = ""
    match found:
        case None:
            return
        case _ if value is None:
            return
        case Boolean():
            message = BOOLEAN.fault("fill_value", value)
        case Integer():
            message = integer(*bounds(found.dtype)).fault("fill_value", value)
        case Float() if (strict := strict_float(value)) is not None:
            message = f"fill_value {show(value)}: {strict[1]}"
    if message:
        yield at.error(ARRAY, message)
