"""Rules of format 2: documents 000 (Zarr) and 003 (OGC), told apart where they differ.

They differ in three places: 003 has no `dimension_separator`, forbids members of `.zarray` that it
does not name (000 discourages them), and speaks of "simple" attributes where 000 allows any. 003
also excludes NCZarr. Without a standard, 000 judges, and what 003 sees otherwise is mentioned.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from omnizarr.errors import MetadataError
from omnizarr.formats import chunk_lengths
from omnizarr.formats.core_codecs import OBJECT_CODECS, PREFIX
from omnizarr.formats.nczarr import document as nczarr
from omnizarr.formats.rules import chunks, consolidated, numpy_types
from omnizarr.formats.rules.base import (
    At,
    Finding,
    Look,
    Rules,
    Standard,
    constraints,
    refused,
    required,
    shape_and_chunks,
    text_options,
)
from omnizarr.formats.rules.strict_json import attributes, no_tokens, read_object
from omnizarr.formats.v2 import codecs
from omnizarr.formats.v2.data_types import OBJECT
from omnizarr.formats.v2.document import (
    ARRAY,
    ATTRIBUTES,
    CONSOLIDATED,
    CONSTRAINTS,
    GROUP,
    VERSION,
)
from omnizarr.model.array import ArrayModel
from omnizarr.model.codec import Json
from omnizarr.model.dtypes import DataType
from omnizarr.model.json import show
from omnizarr.model.paths import join, name_of
from omnizarr.model.store import Buffer

META, GROUPS, PATHS = "Metadata", "Groups", "Logical storage paths"

MEMBERS = (
    *("zarr_format", "shape", "chunks", "dtype", "compressor", "fill_value", "order"),
    "filters",
)
_NCZARR_DOCUMENTS = (".nczarr", ".nczgroup", ".nczvar", ".nczattr", ".nczarray", ".nczattrs")
_NCZARR = "NCZarr (netcdf-c)"


def _document(standard: Standard | None) -> str:
    return f"document {standard or '000'}"


def check(look: Look) -> Iterator[Finding]:
    found = look.fetch(ARRAY, GROUP, ATTRIBUTES, CONSOLIDATED, *_NCZARR_DOCUMENTS)

    def at(name: str) -> At:
        return At(look.path, look.key(name), _document(look.standard))

    yield from _name(look, at(ARRAY if ARRAY in found else GROUP))
    if ARRAY in found and GROUP in found:
        yield at(GROUP).error(
            GROUPS, f"{ARRAY} and {GROUP} are at one path: a node is an array or a group"
        )
    if ARRAY in found:
        yield from _array(look, at(ARRAY), found[ARRAY])
    if GROUP in found:
        yield from _group(look, at(GROUP), found[GROUP])
    if ATTRIBUTES in found:
        yield from attributes(at(ATTRIBUTES), "Attributes", found[ATTRIBUTES])
        yield from _conventions(look, at(ATTRIBUTES), found[ATTRIBUTES])
    yield from _nczarr_documents(look, found)
    if CONSOLIDATED in found:
        yield from consolidated.check_v2(look, at(CONSOLIDATED), found[CONSOLIDATED])
    yield from chunks.check(look, _LAYOUTS[look.standard])


def _layout(standard: Standard | None) -> chunks.ChunkLayout:
    return chunks.ChunkLayout(
        document=_document(standard),
        section="Chunks",
        own=frozenset({ARRAY, GROUP, ATTRIBUTES, CONSOLIDATED, "zarr.json", *_NCZARR_DOCUMENTS}),
        nodes=frozenset({ARRAY, GROUP, ATTRIBUTES}),
        nodes_section=GROUPS,
    )


_LAYOUTS: dict[Standard | None, chunks.ChunkLayout] = {
    standard: _layout(standard) for standard in (None, "000", "003")
}


def _name(look: Look, at: At) -> Iterator[Finding]:
    name = name_of(look.path)
    if not name.isascii():
        yield at.dialect(PATHS, f"the name {name!r} is not ASCII; zarr-python and others allow it")
    if name in (ARRAY, GROUP, ATTRIBUTES):
        yield at.error(PATHS, f"a node named {name!r}: that is the key of a document")


# -- .zarray --------------------------------------------------------------------------------------
def _array(look: Look, at: At, data: Buffer) -> Iterator[Finding]:
    document, found = read_object(at, META, data)
    yield from found
    if document is None:
        return
    yield from required(at, META, document, MEMBERS)
    yield from _members(look.standard, at, document)
    yield from constraints(at, META, document, CONSTRAINTS)
    listed = dict(document)
    for name in ("shape", "chunks"):
        if type(document.get(name)) is int:
            yield at.dialect(
                META, f"{name} is the number {document[name]}, not a list; Rarr wrote vectors so"
            )
            del listed[name]
    yield from _chunk_lengths(at, listed)
    yield from shape_and_chunks(at, META, listed)
    if nczarr.is_char(document):
        yield at.dialect(
            META, f"dtype {show(document['dtype'])} with one byte an element, not four;"
            f" {_NCZARR} 4.9.0 stored char so"
        )  # fmt: skip
    if "dtype" in document:
        yield from numpy_types.dtype(at, document["dtype"])
    yield from _codecs(at, document)
    if "fill_value" in document:
        yield from numpy_types.fill_value(at, document["fill_value"], _element_type(document))
    yield from no_tokens(at, META, document, "fill_value")


def _chunk_lengths(at: At, document: dict[str, Json]) -> Iterator[Finding]:
    """Report chunk lengths of 0 and true, and put what they are read as into the document."""
    chunks, shape = document.get("chunks"), document.get("shape")
    if isinstance(chunks, list) and isinstance(shape, list):
        found = chunk_lengths.chunk_shape(chunks, "chunks", tuple(shape))
        document["chunks"] = found.value
        for departure in found.departures:
            yield at.dialect(META, departure)


def _element_type(document: Mapping[str, Json]) -> DataType | None:
    found = numpy_types.type_of(document.get("dtype"))
    try:
        return None if found is None else codecs.object_type(found, codecs.decode(document).filters)
    except MetadataError:
        return found


def _members(standard: Standard | None, at: At, document: Mapping[str, Json]) -> Iterator[Finding]:
    if "dimension_separator" in document:
        if standard == "003":
            yield at.error(
                META, "dimension_separator is not in document 003: it must not be present"
            )
        elif standard is None:
            yield At(at.path, at.key, "document 003").dialect(
                META,
                "dimension_separator, which document 000 allows and document 003 does not know;"
                " zarr-python 2.8 and later write it",
            )
    for name in sorted(document.keys() - {*MEMBERS, "dimension_separator"}):
        if standard == "003":
            yield at.error(META, f"the member {show(name)} must not be present")
        elif name in ("_NCZARR_ARRAY", "_nczarr_array"):
            yield at.dialect(META, f"the member {name!r} is of {_NCZARR}{_also_003(standard)}")
        elif name == "node_type":
            yield at.dialect(
                META,
                f"the member 'node_type' is of zarr-python 3 betas and zarrs{_also_003(standard)}",
            )
        else:
            yield at.warning(
                META, f"the member {show(name)} should not be present{_also_003(standard)}"
            )


def _also_003(standard: Standard | None) -> str:
    return "; under document 003 an error" if standard is None else ""


def _codecs(at: At, document: Mapping[str, Json]) -> Iterator[Finding]:
    if document.get("compressor") is not None:
        yield from _codec(at, "compressor", document["compressor"])
    filters = document.get("filters") or []
    if not isinstance(filters, list):
        return  # a constraint says so
    objects = document.get("dtype") in OBJECT
    if objects and not filters:
        yield at.error("Filters", "dtype holds objects, but no filter turns them into bytes")
    for position, codec in enumerate(filters):
        yield from _codec(at, f"filters[{position}]", codec)
        identifier = codec.get("id") if isinstance(codec, dict) else None
        if position and f"{PREFIX}{identifier}" in OBJECT_CODECS:
            yield at.error(
                "Filters", f"filters[{position}]: the object codec {identifier!r} must come first"
            )
        elif identifier in ("vlen-utf8", "vlen-bytes") and not objects:
            yield at.dialect(
                "Filters",
                f"filters[{position}]: {identifier!r} over the fixed-size dtype"
                f" {show(document.get('dtype'))}; zarr-python 3.0 wrote it",
            )


def _codec(at: At, where: str, value: Json) -> Iterator[Finding]:
    yield from refused(at, META, lambda: codecs.decode_codec(value, where))
    if not isinstance(value, dict):
        return
    identifier = value.get("id")
    if identifier == "shuffle" and value.get("elementsize") in (None, 0, "0"):
        yield at.dialect(
            "Filters",
            f"{where}: shuffle with elementsize {show(value.get('elementsize'))}; netcdf-c writes"
            " it and means the size of the dtype",
        )
    elif identifier == "lzma" and "delta" in value:
        yield at.dialect(
            "Filters", f"{where}: lzma has no parameter 'delta'; GDAL writes it beside filters"
        )
    yield from text_options(at, META, where, value)


# -- .zgroup and .zattrs --------------------------------------------------------------------------
def _group(look: Look, at: At, data: Buffer) -> Iterator[Finding]:
    document, found = read_object(at, GROUPS, data)
    yield from found
    if document is None:
        return
    yield from required(at, GROUPS, document, ("zarr_format",))
    yield from constraints(at, GROUPS, document, {"zarr_format": VERSION})
    for name in sorted(document.keys() - {"zarr_format"}):
        forbidden = f"the member {show(name)} must not be present"
        if look.standard == "003":
            yield at.error(GROUPS, forbidden)
        elif name.startswith(("_NCZARR_", "_nczarr_")):
            yield at.dialect(GROUPS, f"{forbidden}; {_NCZARR} 4.8.1 to 4.9.2 wrote it")
        elif name == "node_type":
            yield at.dialect(GROUPS, f"{forbidden}; zarr-python 3 betas and zarrs wrote it")
        else:
            yield at.error(GROUPS, forbidden)


def _conventions(look: Look, at: At, data: Buffer) -> Iterator[Finding]:
    document = read_object(at, "Attributes", data)[0] or {}
    nested = sorted(name for name, value in document.items() if isinstance(value, dict))
    if look.standard == "003" and nested:
        yield at.warning(
            "Attributes",
            f"attributes are simple key/value items, found objects in {', '.join(nested[:3])}",
        )
    names = document.get("_ARRAY_DIMENSIONS")
    if names is None or not isinstance(look.node, ArrayModel):
        return
    ndim = look.node.ndim
    sound = isinstance(names, list) and all(isinstance(name, str) for name in names)
    if not sound or (len(names) != ndim and names != ["_scalar_"]):
        yield At(at.path, at.key, "document 003").warning(
            "4.1 Named Dimensions",
            f"_ARRAY_DIMENSIONS should name {ndim} dimensions, found {show(names)}",
        )


def _nczarr_documents(look: Look, found: Mapping[str, Buffer]) -> Iterator[Finding]:
    for name in _NCZARR_DOCUMENTS:
        if name in found:
            at = At(look.path, look.key(name), "document 003")
            section = "4.3 NCZarr"
            message = f"{name} is a document of {_NCZARR} 4.8.0, in no part of format 2"
            yield (at.error if look.standard == "003" else at.dialect)(section, message)


# -- hierarchies ----------------------------------------------------------------------------------
def missing_group(path: str, standard: Standard | None) -> Iterator[Finding]:
    yield At(path, join(path, GROUP), _document(standard)).error(
        GROUPS, "nodes exist below this path, but there is no group: every ancestor must be one"
    )


def orphans(look: Look) -> Iterator[Finding]:
    for name in look.fetch(ATTRIBUTES, CONSOLIDATED):
        yield At(look.path, look.key(name), _document(look.standard)).warning(
            "Attributes" if name == ATTRIBUTES else GROUPS,
            f"{name} belongs to no node: there is neither {ARRAY} nor {GROUP} beside it",
        )


def listed(look: Look) -> frozenset[str] | None:
    found = look.fetch(CONSOLIDATED)
    return consolidated.listed_v2(found[CONSOLIDATED]) if found else None


def is_array(look: Look) -> bool:
    return bool(look.fetch(ARRAY))


RULES = Rules(check, is_array=is_array, missing_group=missing_group, orphans=orphans, listed=listed)
