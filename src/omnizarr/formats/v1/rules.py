"""Rules of format 1: the storage specification version 1, and the releases 1.0 and 1.1."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from omnizarr.formats.rules import chunks, numpy_types
from omnizarr.formats.rules.base import (
    At,
    Finding,
    Level,
    Look,
    Rules,
    is_integer,
    lengths,
    one_of,
    required,
    same_dimensions,
)
from omnizarr.formats.rules.strict_json import (
    Unreadable,
    attributes,
    encoding,
    read_object,
    token_list,
)
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
    yield from encoding(at, SECTION, data)
    try:
        document = read_object(at, SECTION, data)
    except Unreadable as error:
        yield from error.findings
        return
    # Other members may be present, as long as they change no meaning.
    yield from required(at, SECTION, document, MEMBERS)
    if "zarr_format" in document:
        yield from one_of(at, SECTION, "zarr_format", document["zarr_format"], (1,))
    for name, least in (("shape", 0), ("chunks", 1)):
        if name in document:
            yield from lengths(at, SECTION, name, document[name], least)
    shape = document.get("shape")
    yield from same_dimensions(at, SECTION, "chunks", shape, document.get("chunks"))
    if "dtype" in document:
        yield from numpy_types.dtype(at, document["dtype"], most=2)
    if "order" in document:
        yield from one_of(at, SECTION, "order", document["order"], ("C", "F"))
    yield from _compression(at, document)
    if "fill_value" in document:
        kind = numpy_types.kind_of(document.get("dtype"))
        yield from numpy_types.scalar_fill(at, SECTION, document["fill_value"], kind)
    elsewhere = {name: value for name, value in document.items() if name != "fill_value"}
    if tokens := token_list(elsewhere):
        yield at.error(SECTION, f"bare NaN or Infinity tokens, which are no JSON, in {tokens}")


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
            " chunks lie in C order all the same",
        )
    if "compression_opts" in document:
        yield from _options(at, library, document["compression_opts"])


def _options(at: At, library: str, value: Json) -> Iterator[Finding]:
    name = f"compression_opts of {library}"
    if value is None:
        if library == "none":
            yield at.dialect(
                SECTION,
                "compression_opts is null; zarr 1 wrote it for none, where the document has an"
                " integer, a string or an object",
            )
        else:
            yield at.error(SECTION, f"{name} must not be null")
    elif isinstance(value, list | bool | float):
        yield at.error(
            SECTION, f"{name} must be an integer, a string or an object, found {show(value)}"
        )
    elif library in ("zlib", "bz2"):
        if not is_integer(value) or not 0 <= value <= 9:
            yield at.error(SECTION, f"{name} must be a level from 0 to 9, found {show(value)}")
    elif library == "blosc" and isinstance(value, dict):
        yield from required(at, SECTION, value, ("cname", "clevel", "shuffle"))
    elif library in ("blosc", "lzma") and not isinstance(value, dict):
        yield at.error(SECTION, f"{name} must be an object, found {show(value)}")


RULES = Rules(check, is_array=lambda look: True)
