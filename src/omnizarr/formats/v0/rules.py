"""Rules of format 0: document 001, "Persistence", and the releases 0.3 and 0.4 that wrote it."""

from __future__ import annotations

from collections.abc import Iterator

from omnizarr.formats.rules import chunks, numpy_types
from omnizarr.formats.rules.base import (
    At,
    Finding,
    Level,
    Look,
    Rules,
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
from omnizarr.formats.v0.document import ATTRIBUTES, META
from omnizarr.formats.v0.document import DATA as FOLDER
from omnizarr.model.codec import Json
from omnizarr.model.json import show
from omnizarr.model.store import Buffer

DOCUMENT = "document 001"
CONFIGURATION, DATA, USER = "Configuration metadata", "Array data", "User metadata (attributes)"
MEMBERS = ("shape", "chunks", "dtype", "fill_value", "cname", "clevel", "shuffle")
_LIBRARIES = ("blosclz", "lz4", "lz4hc", "snappy", "zlib")


def check(look: Look) -> Iterator[Finding]:
    found = look.fetch(META, ATTRIBUTES)
    if META in found:
        yield from _configuration(At(look.path, look.key(META), DOCUMENT), found[META])
    if ATTRIBUTES in found:
        at = At(look.path, look.key(ATTRIBUTES), DOCUMENT)
        yield from attributes(at, USER, found[ATTRIBUTES])
    yield from chunks.check(look, _LAYOUT)
    yield from _beside(look)


def _known(name: str) -> tuple[Level, str] | None:
    if name.endswith(".lock"):
        return "dialect", "lock files that zarr 0.3 and 0.4 left behind"
    if name.endswith(".partial"):
        return "warning", "parts of chunks that an interrupted writer left behind"
    return None


_LAYOUT = chunks.ChunkLayout(DOCUMENT, DATA, known=_known, sizes=False)


def _configuration(at: At, data: Buffer) -> Iterator[Finding]:
    if bytes(data[:1]) in (b"(", b"\x80"):
        yield at.dialect(CONFIGURATION, f"{META} is a pickle, not JSON; zarr 0.3 wrote it")
        return
    yield from encoding(at, CONFIGURATION, data)
    try:
        document = read_object(at, CONFIGURATION, data)
    except Unreadable as error:
        yield from error.findings
        return
    yield from required(at, CONFIGURATION, document, MEMBERS)
    for name in sorted(document.keys() - set(MEMBERS)):
        yield at.warning(CONFIGURATION, f"the member {show(name)} is not in the document")
    for name, least in (("shape", 0), ("chunks", 1)):
        if name in document:
            yield from lengths(at, CONFIGURATION, name, document[name], least)
    shape = document.get("shape")
    yield from same_dimensions(at, CONFIGURATION, "chunks", shape, document.get("chunks"))
    if "dtype" in document:
        yield from _dtype(at, document["dtype"])
    if "cname" in document:
        yield from one_of(at, CONFIGURATION, "cname", document["cname"], _LIBRARIES)
    if "clevel" in document:
        yield from one_of(at, CONFIGURATION, "clevel", document["clevel"], tuple(range(10)))
    if "shuffle" in document:
        yield from one_of(at, CONFIGURATION, "shuffle", document["shuffle"], (0, 1, 2))
    if "fill_value" in document:
        kind = numpy_types.kind_of(document.get("dtype"))
        if document["fill_value"] is None:
            yield at.dialect(
                CONFIGURATION, "fill_value is null, no scalar; zarr 0.4 wrote it for no fill value"
            )
        yield from numpy_types.scalar_fill(at, CONFIGURATION, document["fill_value"], kind)
    elsewhere = {name: value for name, value in document.items() if name != "fill_value"}
    if tokens := token_list(elsewhere):
        yield at.error(
            CONFIGURATION, f"bare NaN or Infinity tokens, which are no JSON, in {tokens}"
        )


def _dtype(at: At, value: Json) -> Iterator[Finding]:
    yield from numpy_types.dtype(at, value, most=2, section=CONFIGURATION)
    if isinstance(value, list):
        yield at.dialect(
            CONFIGURATION, "dtype is a list of fields, not a string; zarr 0.4 wrote records so"
        )


def _beside(look: Look) -> Iterator[Finding]:
    """Keys in the root directory that the document does not name."""
    if not look.store.capabilities.listable:
        return
    prefix = f"{look.path}/" if look.path else ""
    listing = look.store.list_dir(prefix)
    for key in listing.keys:
        name = key[len(prefix) :]
        at = At(look.path, key, DOCUMENT)
        if (known := _known(name)) is not None:
            yield at.found(known[0], USER, f"{known[1]}: {name!r}")
        elif name not in (META, ATTRIBUTES):
            yield at.warning(CONFIGURATION, f"the file {name!r} is not in the document")
    for key in listing.prefixes:
        name = key[len(prefix) : -1]
        if name != FOLDER:
            yield At(look.path, key, DOCUMENT).warning(
                CONFIGURATION, f"the directory {name!r} is not in the document"
            )


RULES = Rules(check, is_array=lambda look: True)
