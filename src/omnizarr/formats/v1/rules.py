"""Rules of format 1: the storage specification version 1, and the releases 1.0 and 1.1."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from omnizarr.formats.members import ORDER, one_of
from omnizarr.formats.rules import chunks, numpy_types
from omnizarr.formats.rules.base import (
    At,
    Finding,
    Level,
    Look,
    Rules,
    constraints,
    refused,
    required,
    shape_and_chunks,
)
from omnizarr.formats.rules.strict_json import attributes, no_tokens, read_object
from omnizarr.formats.v1 import codecs
from omnizarr.formats.v1.document import ATTRIBUTES, META
from omnizarr.model.codec import Json
from omnizarr.model.json import show
from omnizarr.model.store import Buffer

DOCUMENT = "storage specification version 1"
SECTION = "Metadata"
MEMBERS = (
    *("zarr_format", "shape", "chunks", "dtype", "compression", "compression_opts"),
    *("fill_value", "order"),
)
_LIBRARIES = ("blosc", "zlib", "bz2", "lzma", "none")


def check(look: Look) -> Iterator[Finding]:
    found = look.fetch(META, ATTRIBUTES)
    if META in found:
        yield from _array(At(look.path, look.key(META), DOCUMENT), found[META])
    at = At(look.path, look.key(ATTRIBUTES), DOCUMENT)
    if ATTRIBUTES in found:
        yield from attributes(at, "Attributes", found[ATTRIBUTES])
    else:
        yield at.error("Attributes", "the key 'attrs' must be present, even if it holds nothing")
    yield from chunks.check(look, _LAYOUT)


def _known(name: str) -> tuple[Level, str] | None:
    if name.endswith(".partial"):
        return "warning", "parts of values that an interrupted writer left behind"
    if name.endswith(".lock") or "__lock__" in name:
        return "dialect", "lock files of zarr 1's synchronizer"
    return None


_LAYOUT = chunks.ChunkLayout(
    DOCUMENT,
    "Chunks",
    own=frozenset({META, ATTRIBUTES}),
    nodes=frozenset({META}),
    nodes_section="Storage (one store holds one array)",
    known=_known,
)


def _array(at: At, data: Buffer) -> Iterator[Finding]:
    document, found = read_object(at, SECTION, data)
    yield from found
    if document is None:
        return
    # Other members may be present, as long as they change no meaning.
    yield from required(at, SECTION, document, MEMBERS)
    yield from constraints(at, SECTION, document, {"zarr_format": one_of(1), "order": ORDER})
    yield from shape_and_chunks(at, SECTION, document)
    if "dtype" in document:
        yield from numpy_types.dtype(at, document["dtype"], most=2)
    yield from _compression(at, document)
    if "fill_value" in document:
        data_type = numpy_types.type_of(document.get("dtype"))
        yield from numpy_types.scalar_fill(at, SECTION, document["fill_value"], data_type)
    yield from no_tokens(at, SECTION, document, "fill_value")


def _compression(at: At, document: Mapping[str, Json]) -> Iterator[Finding]:
    if "compression" not in document:
        return
    library = document["compression"]
    if not isinstance(library, str):
        yield at.error(SECTION, f"compression must be a string, found {show(library)}")
        return
    if library not in _LIBRARIES:
        yield at.warning(
            SECTION,
            f"compression {show(library)} is none that zarr 1 wrote ({', '.join(_LIBRARIES)})",
        )
    shape = document.get("shape")
    several = not isinstance(shape, list) or len(shape) > 1
    if document.get("order") == "F" and library != "blosc" and several:
        yield at.warning(
            "Chunks",
            f"order 'F' with compression {show(library)}: zarr 1 applied it with blosc only, so"
            " chunks have C order all the same",
        )
    if library == "none" and document.get("compression_opts", 0) is None:
        yield at.dialect(
            SECTION,
            "compression_opts is null; zarr 1 wrote it for no compression; the specification"
            " wants an integer, a string or an object",
        )
    elif "compression_opts" in document and library in _LIBRARIES:
        yield from refused(at, SECTION, lambda: codecs.decode(document))


RULES = Rules(check, is_array=lambda look: True)
