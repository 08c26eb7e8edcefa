"""Rules of the v3 drafts: document 002, and what followed it without a document of its own.

Layout A is document 002's. Layouts B and C (September and October 2020) are dialects of it as a
whole: that is said once, of the bootstrap document, and not of every key that follows from it.
Where the document contradicts itself, its examples and the software of its author decide.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from omnizarr.formats.hierarchy import fetch
from omnizarr.formats.members import BOOLEAN, LIST, one_of
from omnizarr.formats.rules import chunks
from omnizarr.formats.rules.base import At, Finding, Look, Rules, constraints, required, unknown
from omnizarr.formats.rules.strict_json import read_object
from omnizarr.formats.v3_drafts import array_rules
from omnizarr.formats.v3_drafts.document import Draft
from omnizarr.formats.v3_drafts.layouts import CONSOLIDATED_KEY, CORE, META, list_members
from omnizarr.model.array import ArrayModel
from omnizarr.model.codec import Json
from omnizarr.model.json import show
from omnizarr.model.paths import join, name_of
from omnizarr.model.store import Buffer

DOCUMENT = "document 002"
BOOTSTRAP, NAMES, GROUP, KEYS = "Bootstrap metadata", "Node names", "Group metadata", "Storage keys"
_NAME = re.compile(r"[A-Za-z0-9._-]+\Z")


def check(look: Look) -> Iterator[Finding]:
    bootstrap, findings = _bootstrap(look)
    if look.start:
        yield from findings
    suffix = _suffix(bootstrap)
    base = join(META, look.path)
    array_key, group_key = f"{base}.array{suffix}", f"{base}.group{suffix}"
    stored = fetch(look.store, [array_key, group_key])
    names = _names(look, suffix)
    # Keys below a path imply a group without a document.
    at = At(look.path, next(iter(stored), f"{base}/" if names else "zarr.json"), DOCUMENT)
    yield from _name(at, name_of(look.path))
    if array_key in stored and group_key in stored:
        message = "the path has an array document and a group document"
        if look.path:
            yield at.error("Concepts and terminology", message)
        else:
            yield at.dialect("Concepts and terminology", f"{message}; zarrita and GDAL left such")
    elif array_key in stored and names:
        yield at.error(
            "Concepts and terminology",
            f"an array may not have child nodes, found {', '.join(map(repr, names[:3]))}",
        )
    if array_key in stored:
        array_at = At(look.path, array_key, DOCUMENT)
        yield from array_rules.check(array_at, stored[array_key])
        if not names and isinstance(look.node, ArrayModel):
            yield from chunks.check(look, _LAYOUT)
    if group_key in stored:
        yield from _group(At(look.path, group_key, DOCUMENT), stored[group_key])
    yield from _siblings(at, names)
    yield from _strays(look, base, suffix)


_LAYOUT = chunks.ChunkLayout(DOCUMENT, KEYS)


# -- the bootstrap document -----------------------------------------------------------------------
def _bootstrap(look: Look) -> tuple[Mapping[str, Json], list[Finding]]:
    at = At("", "zarr.json", DOCUMENT)
    data = fetch(look.store, ["zarr.json"]).get("zarr.json")
    if data is None:
        return {}, [at.error(BOOTSTRAP, "the bootstrap document is missing")]
    document, found = read_object(at, BOOTSTRAP, data)
    return document or {}, [*found, *(() if document is None else _entry_point(at, document))]


def _entry_point(at: At, document: Mapping[str, Json]) -> Iterator[Finding]:
    yield from required(at, BOOTSTRAP, document, ("zarr_format", "metadata_encoding", "extensions"))
    yield from constraints(at, BOOTSTRAP, document, {"zarr_format": one_of(CORE)})
    mime = document.get("metadata_encoding", "application/json")
    if mime == CORE:
        layout = "C of October" if "metadata_key_suffix" in document else "B of September"
        yield at.dialect(
            BOOTSTRAP,
            f"metadata_encoding is a protocol URI, not a MIME type: this is layout {layout} 2020",
        )
    elif mime != "application/json":
        yield at.error(
            BOOTSTRAP, f"metadata_encoding must be 'application/json', found {show(mime)}"
        )
    for name in sorted(document.keys() - {"zarr_format", "metadata_encoding", "extensions"}):
        if name == "metadata_key_suffix":
            yield at.dialect(BOOTSTRAP, "metadata_key_suffix was added in October 2020 (layout C)")
        else:
            yield at.warning(BOOTSTRAP, f"the name {show(name)} is not defined and is ignored")
    if "extensions" in document:
        yield from _extensions(at, document["extensions"])


def _extensions(at: At, value: Json) -> Iterator[Finding]:
    yield from constraints(at, BOOTSTRAP, {"extensions": value}, {"extensions": LIST})
    for position, item in enumerate(value if isinstance(value, list) else ()):
        where = f"extensions[{position}]"
        if not isinstance(item, dict):
            yield at.error(BOOTSTRAP, f"{where} must be an object, found {show(item)}")
            continue
        yield from required(at, BOOTSTRAP, item, ("extension", "must_understand"))
        if not array_rules.is_uri(item.get("extension", "x:y")):
            yield at.error(
                BOOTSTRAP, f"{where}: extension must be a URI, found {show(item['extension'])}"
            )
        yield from constraints(at, BOOTSTRAP, item, {"must_understand": BOOLEAN}, f"{where}: ")


def _suffix(bootstrap: Mapping[str, Json]) -> str:
    suffix = bootstrap.get("metadata_key_suffix", "")
    return suffix if isinstance(suffix, str) and "/" not in suffix and len(suffix) < 64 else ""


# -- names and hierarchy --------------------------------------------------------------------------
def _name(at: At, name: str) -> Iterator[Finding]:
    if not name:
        return
    if _NAME.match(name) is None:
        yield at.error(NAMES, f"the name {name!r} has characters other than a-z A-Z 0-9 - _ .")
    if set(name) == {"."}:
        yield at.error(NAMES, f"the name {name!r} is composed of periods only")
    if len(name) > 255:
        yield at.error(NAMES, f"the name has {len(name)} characters; at most 255 are allowed")


def _siblings(at: At, names: list[str]) -> Iterator[Finding]:
    seen: dict[str, str] = {}
    for name in names:
        other = seen.setdefault(name.lower(), name)
        if other != name:
            yield at.error(
                NAMES, f"the siblings {other!r} and {name!r} have one name but for their case"
            )


def _names(look: Look, suffix: str) -> list[str]:
    """The names below a group; consolidated metadata of zarr-python 2 are none."""
    if not look.store.capabilities.listable or not isinstance(look.format, Draft):
        return []
    return sorted(list_members(look.store, look.format.layout, look.path, suffix).all - {""})


def _strays(look: Look, base: str, suffix: str) -> Iterator[Finding]:
    if not look.store.capabilities.listable:
        return
    for key in look.store.list_dir(f"{base}/").keys:
        if not key.endswith((f".array{suffix}", f".group{suffix}")):
            yield At(look.path, key, DOCUMENT).warning(
                KEYS, f"the key {show(key)} below 'meta' is of no node"
            )
    if not look.path and look.store.exists(CONSOLIDATED_KEY):
        yield At("", CONSOLIDATED_KEY, DOCUMENT).dialect(
            KEYS, "consolidated metadata are of zarr-python 2 only"
        )


def _group(at: At, data: Buffer) -> Iterator[Finding]:
    document, found = read_object(at, GROUP, data)
    yield from found
    if document is None:
        return
    yield from array_rules.extensions_and_attributes(at, GROUP, document)
    known = ("extensions", "attributes")
    yield from unknown(at, GROUP, document, known, "the name {} is reserved", "error")


# -- for the walk ---------------------------------------------------------------------------------
def children(look: Look) -> list[str]:
    return _names(look, _suffix(_bootstrap(look)[0]))


def is_array(look: Look) -> bool:
    base = join(META, look.path)
    suffix = _suffix(_bootstrap(look)[0])
    key = f"{base}.array{suffix}"
    return look.store.exists(key) and not _names(look, suffix)


RULES = Rules(check, is_array=is_array, children=children)
