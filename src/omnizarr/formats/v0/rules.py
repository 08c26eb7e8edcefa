"""Rules of format 0: document 001, "Persistence", and the releases 0.3 and 0.4 that wrote it."""

from __future__ import annotations

from collections.abc import Iterator

from omnizarr.formats.arrays_only import blosc_constraints
from omnizarr.formats.rules import chunks, numpy_types
from omnizarr.formats.rules.base import (
    At,
    Finding,
    Level,
    Look,
    Rules,
    constraints,
    required,
    shape_and_chunks,
    unknown,
)
from omnizarr.formats.rules.strict_json import attributes, no_tokens, read_object
from omnizarr.formats.v0.document import ATTRIBUTES, COMPRESSORS, META
from omnizarr.formats.v0.document import DATA as FOLDER
from omnizarr.model.codec import Json
from omnizarr.model.store import Buffer

DOCUMENT = "document 001"
CONFIGURATION, DATA, USER = "Configuration metadata", "Array data", "User metadata (attributes)"
MEMBERS = ("shape", "chunks", "dtype", "fill_value", "cname", "clevel", "shuffle")


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
    document, found = read_object(at, CONFIGURATION, data)
    yield from found
    if document is None:
        return
    yield from required(at, CONFIGURATION, document, MEMBERS)
    yield from unknown(at, CONFIGURATION, document, MEMBERS, "the member {} is not in the document")
    yield from shape_and_chunks(at, CONFIGURATION, document)
    if "dtype" in document:
        yield from _dtype(at, document["dtype"])
    yield from constraints(at, CONFIGURATION, document, blosc_constraints(COMPRESSORS))
    if "fill_value" in document:
        fill = document["fill_value"]
        if fill is None:
            yield at.dialect(
                CONFIGURATION, "fill_value is null, no scalar; zarr 0.4 wrote it for no fill value"
            )
        data_type = numpy_types.type_of(document.get("dtype"))
        yield from numpy_types.scalar_fill(at, CONFIGURATION, fill, data_type)
    yield from no_tokens(at, CONFIGURATION, document, "fill_value")


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
