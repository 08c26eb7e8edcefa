"""Rules of format 3: the core specification 3.1 with its registered extensions.

What changed while the specification was accepted, and was written before that, is a dialect and
named with who wrote it. Codecs have their own file, `codec_rules`; data types and fill values
`type_rules`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from omnizarr.formats.members import LIST, SEPARATOR
from omnizarr.formats.rules import chunks, consolidated
from omnizarr.formats.rules.base import (
    At,
    Finding,
    Look,
    Rules,
    Standard,
    chunk_shape,
    constraints,
    lengths,
    required,
    same_dimensions,
    unknown,
)
from omnizarr.formats.rules.strict_json import attribute_values, no_tokens, read_object
from omnizarr.formats.v3 import codec_rules, repairs, type_rules
from omnizarr.formats.v3.document import (
    ARRAY_MEMBERS,
    CONSOLIDATED,
    CONSTRAINTS,
    DOCUMENT,
    GROUP_MEMBERS,
)
from omnizarr.formats.v3.registered_names import ENCODINGS, configuration_of, extension
from omnizarr.formats.v3.registered_names import name_of as name_of_extension
from omnizarr.model.codec import Json
from omnizarr.model.json import show
from omnizarr.model.paths import join, name_of

CORE = "core specification 3.1"
ARRAY, GROUP, NAMES = "Array metadata", "Group metadata", "Node names"

MANDATORY = ("shape", "data_type", "chunk_grid", "chunk_key_encoding", "fill_value")
FORMAT_2 = (".zarray", ".zgroup", ".zattrs", ".zmetadata")
"""Documents of a node that exists at the same path in format 2 too, as after a migration."""
_GRIDS = {"regular": ("chunk_shape",), "rectilinear": ("kind", "chunk_shapes")}
"""The members of the configuration of each grid; the last one has an item for each dimension."""
_NO_MEMBER = "{}: the configuration has no member {{}}"
_PORTABLE = re.compile(r"[A-Za-z0-9._-]+\Z")


def check(look: Look) -> Iterator[Finding]:
    at = At(look.path, look.key(DOCUMENT), CORE)
    found = look.fetch(DOCUMENT)
    if DOCUMENT not in found:
        return
    yield from _name(at, name_of(look.path))
    document, faults = read_object(at, "Metadata", found[DOCUMENT])
    yield from faults
    if document is None:
        return
    kind = document.get("node_type")
    section = GROUP if kind == "group" else ARRAY
    yield from required(at, section, document, CONSTRAINTS)
    yield from constraints(at, section, document, CONSTRAINTS)
    if "attributes" in document:
        yield from attribute_values(at, section, document["attributes"])
    if kind == "group":
        yield from _group(look, at, document)
    elif kind == "array":
        yield from _array(at, document)
        yield from chunks.check(look, _LAYOUT)


_LAYOUT = chunks.ChunkLayout(
    document=CORE,
    section="Chunk key encoding",
    own=frozenset({DOCUMENT, *FORMAT_2}),
    nodes=frozenset({DOCUMENT}),
    nodes_section="Concepts and terminology (an array has no child nodes)",
)


def _name(at: At, name: str) -> Iterator[Finding]:
    if not name:
        return
    if name.startswith("__"):
        yield at.error(NAMES, f"the name {name!r} begins with the reserved prefix '__'")
    elif set(name) == {"."}:
        yield at.error(NAMES, f"the name {name!r} is composed of periods only")
    elif name == DOCUMENT:
        yield at.error(NAMES, f"a node must not be named {DOCUMENT!r}")
    elif _PORTABLE.match(name) is None:
        yield at.warning(NAMES, f"the name {name!r} has characters other than a-z A-Z 0-9 - _ .")


# -- groups ---------------------------------------------------------------------------------------
def _group(look: Look, at: At, document: Mapping[str, Json]) -> Iterator[Finding]:
    yield from _unknown(at, GROUP, document, GROUP_MEMBERS)
    if CONSOLIDATED in document:
        yield from consolidated.check_v3(look, at, document[CONSOLIDATED])


def _unknown(
    at: At, section: str, document: Mapping[str, Json], known: frozenset[str]
) -> Iterator[Finding]:
    for name in sorted(document.keys() - known):
        value = document[name]
        if isinstance(value, dict) and value.get("must_understand") is False:
            yield at.warning(
                "Extension definition",
                f"the member {show(name)}: members of their own are discouraged",
            )
        else:
            yield at.error(
                "Extension definition",
                f"the member {show(name)} is none of the {section.lower()} and does not say"
                " must_understand: false",
            )


# -- arrays ---------------------------------------------------------------------------------------
def _array(at: At, document: Mapping[str, Json]) -> Iterator[Finding]:
    yield from _unknown(at, ARRAY, document, ARRAY_MEMBERS)
    yield from required(at, ARRAY, document, MANDATORY)
    shape = document.get("shape")
    if "shape" in document:
        yield from lengths(at, ARRAY, "shape", shape, 0)
    ndim = len(shape) if isinstance(shape, list) else None
    spans = tuple(shape) if isinstance(shape, list) else ()
    document, departures, _ = repairs.repaired(document, spans)
    for departure in departures:
        yield at.dialect("Chunk grids", departure)
    data_type = document.get("data_type")
    if "data_type" in document:
        yield from type_rules.data_type(at, data_type, document.get("codecs"))
    if "chunk_grid" in document:
        yield from _grid(at, document["chunk_grid"], shape)
    if "chunk_key_encoding" in document:
        yield from _key_encoding(at, document["chunk_key_encoding"])
    if "fill_value" in document:
        yield from type_rules.fill_value(at, document["fill_value"], data_type)
    if "codecs" not in document:
        yield at.dialect(ARRAY, "codecs is missing; GDAL 3.8 to 3.10 wrote that for no compression")
    else:
        shape_of_chunks = configuration_of(document.get("chunk_grid")).get("chunk_shape")
        given = codec_rules.Input(ndim, data_type, chunk_shape(shape_of_chunks))
        yield from codec_rules.pipeline(at, ARRAY, "codecs", document["codecs"], given)
    if "dimension_names" in document:
        yield from _dimension_names(at, document["dimension_names"], ndim)
    if "storage_transformers" in document:
        yield from _transformers(at, document["storage_transformers"])
    yield from no_tokens(at, "Metadata", document, "fill_value", "attributes")


def _grid(at: At, value: Json, shape: Json) -> Iterator[Finding]:
    section = "Chunk grids"
    yield from extension(at, section, "chunk_grid", value, _GRIDS.keys(), essential=True)
    name = name_of_extension(value)
    member = _GRIDS.get(name or "", ())
    if not member:
        return
    configuration = configuration_of(value)
    yield from required(at, section, configuration, member)
    yield from unknown(at, section, configuration, member, _NO_MEMBER.format("chunk_grid"))
    lengths_given = configuration.get(member[-1])
    if name == "regular" and "chunk_shape" in configuration:
        yield from lengths(at, section, "chunk_shape", lengths_given, 1)
    yield from same_dimensions(at, section, member[-1], shape, lengths_given)


def _key_encoding(at: At, value: Json) -> Iterator[Finding]:
    section = "Chunk key encoding"
    yield from extension(at, section, "chunk_key_encoding", value, ENCODINGS, essential=True)
    configuration = configuration_of(value)
    wanted = {"separator": SEPARATOR}
    message = _NO_MEMBER.format("chunk_key_encoding")
    yield from unknown(at, section, configuration, wanted, message)
    yield from constraints(at, section, configuration, wanted)


def _dimension_names(at: At, value: Json, ndim: int | None) -> Iterator[Finding]:
    if value is None:
        yield at.dialect(ARRAY, "dimension_names is null; zarrita before 0.2 wrote it for none")
    elif not isinstance(value, list) or not all(n is None or isinstance(n, str) for n in value):
        yield at.error(
            ARRAY, f"dimension_names must be a list of strings or nulls, found {show(value)}"
        )
    elif ndim is not None and len(value) != ndim:
        yield at.error(ARRAY, f"dimension_names has {len(value)} names for {ndim} dimensions")
    else:
        given = [name for name in value if name]
        if len(set(given)) != len(given):
            yield at.warning(ARRAY, f"dimension_names should be distinct, found {show(value)}")


def _transformers(at: At, value: Json) -> Iterator[Finding]:
    section = "Storage transformers"
    yield from constraints(
        at, section, {"storage_transformers": value}, {"storage_transformers": LIST}
    )
    for position, item in enumerate(value if isinstance(value, list) else ()):
        yield from extension(at, section, f"storage_transformers[{position}]", item, frozenset())


# -- hierarchies ----------------------------------------------------------------------------------
def missing_group(path: str, standard: Standard | None) -> Iterator[Finding]:
    yield At(path, join(path, DOCUMENT), CORE).dialect(
        "Group metadata",
        "nodes exist below this path, but no group document at it: implicit groups were removed in"
        " August 2024; zarr-python up to 3.0.2 left them",
    )


def _stored(look: Look) -> Mapping[str, Json]:
    data = look.fetch(DOCUMENT).get(DOCUMENT)
    return {} if data is None else read_object(At("", "", ""), "", data)[0] or {}


def listed(look: Look) -> frozenset[str] | None:
    return consolidated.listed_v3(_stored(look))


def is_array(look: Look) -> bool:
    return _stored(look).get("node_type") == "array"


RULES = Rules(check, is_array=is_array, missing_group=missing_group, listed=listed)
