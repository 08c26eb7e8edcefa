"""Consolidated metadata against the documents that they repeat.

Format 2's `.zmetadata` is a convention, format 3's inline member a historical part of the core
text. Either goes stale when a node is changed and they are not written again.
"""

from __future__ import annotations

import json as text_json
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress

from omnizarr.errors import InvalidKeyError, MetadataError
from omnizarr.formats.hierarchy import fetch
from omnizarr.formats.members import OBJECT, one_of
from omnizarr.formats.rules.base import At, Finding, Look, constraints, plural
from omnizarr.formats.rules.strict_json import read_object
from omnizarr.formats.v2.document import ARRAY, ATTRIBUTES, GROUP
from omnizarr.formats.v3.document import CONSOLIDATED as MEMBER
from omnizarr.formats.v3.document import DOCUMENT
from omnizarr.formats.v3.grids import decode_keys
from omnizarr.model import json
from omnizarr.model.codec import Json
from omnizarr.model.json import show
from omnizarr.model.paths import join, normalize_path
from omnizarr.model.store import Buffer

SECTION_2 = "Metadata (consolidated metadata are a convention of zarr-python)"
SECTION_3 = "Consolidated metadata"
BATCH = 256
CONSOLIDATED_MEMBERS = {"zarr_consolidated_format": one_of(1), "metadata": OBJECT}
INLINE = {"must_understand": one_of(False), "kind": one_of("inline"), "metadata": OBJECT}


# -- format 2 -------------------------------------------------------------------------------------
def check_v2(look: Look, at: At, data: Buffer) -> Iterator[Finding]:
    document, found = read_object(at, SECTION_2, data)
    yield from found
    if document is None:
        return
    document = {**dict.fromkeys(CONSOLIDATED_MEMBERS), **document}
    yield from constraints(at, SECTION_2, document, CONSOLIDATED_MEMBERS)
    metadata = document["metadata"]
    if not isinstance(metadata, dict):
        return
    wanted: dict[str, Json] = {}
    for key, value in metadata.items():
        if key.rpartition("/")[2] in (ARRAY, GROUP, ATTRIBUTES):
            wanted[key] = value
        else:
            yield at.warning(SECTION_2, f"the entry {show(key)} names no document of format 2")
    yield from _stale(look, at, SECTION_2, wanted, _essence_v2)


def _essence_v2(value: Json) -> Json:
    """A document without the member that zarr-python 3 adds to copies of groups, not of arrays."""
    if isinstance(value, dict) and MEMBER in value:
        return {name: item for name, item in value.items() if name != MEMBER}
    return value


def listed_v2(data: Buffer) -> frozenset[str] | None:
    try:
        document = json.loads(data)
    except MetadataError:
        return None
    metadata = document.get("metadata") if isinstance(document, dict) else None
    if not isinstance(metadata, dict):
        return None
    return frozenset(
        key.rpartition("/")[0] for key in metadata if key.rpartition("/")[2] in (ARRAY, GROUP)
    )


# -- format 3 -------------------------------------------------------------------------------------
def check_v3(look: Look, at: At, value: Json) -> Iterator[Finding]:
    if value is None:
        yield at.dialect(
            SECTION_3, f"{MEMBER} is null instead of absent; zarr-python 3.0 wrote it so"
        )
        return
    yield from constraints(at, SECTION_3, {MEMBER: value}, {MEMBER: OBJECT})
    if not isinstance(value, dict):
        return
    value = {**dict.fromkeys(INLINE), **value}
    yield from constraints(at, SECTION_3, value, INLINE, f"{MEMBER}: ")
    metadata = value["metadata"]
    if not isinstance(metadata, dict):
        return
    wanted = {join(path, DOCUMENT): document for path, document in metadata.items()}
    yield from _stale(look, at, SECTION_3, wanted, _essence)


def listed_v3(document: Mapping[str, Json]) -> frozenset[str] | None:
    value = document.get(MEMBER)
    metadata = value.get("metadata") if isinstance(value, dict) else None
    return _paths(metadata, "", 32) if isinstance(metadata, dict) and metadata else None


def _paths(metadata: Mapping[str, Json], above: str, depth: int) -> frozenset[str]:
    """What is listed here, and in the documents of the groups that are listed here."""
    found: set[str] = set()
    for name, document in metadata.items() if depth else ():
        path = join(above, name)
        found.add(path)
        inner = document.get(MEMBER) if isinstance(document, dict) else None
        below = inner.get("metadata") if isinstance(inner, dict) else None
        if isinstance(below, dict):
            found |= _paths(below, path, depth - 1)
    return frozenset(found)


def _essence(value: Json) -> Json:
    """A document without empty members, and without its copy of the documents below it."""
    if not isinstance(value, dict):
        return value
    silent: dict[str, Json] = {
        "attributes": {},
        "storage_transformers": [],
        "dimension_names": None,
    }
    essence = {
        name: item
        for name, item in value.items()
        if name != MEMBER and not (name in silent and item == silent[name])
    }
    with suppress(MetadataError):
        essence["chunk_key_encoding"] = repr(decode_keys(value.get("chunk_key_encoding")))
    if isinstance(codecs := value.get("codecs"), list):
        essence["codecs"] = [
            {"name": c} if isinstance(c, str) else _without_empty(c) for c in codecs
        ]
    return essence


def _without_empty(codec: Json) -> Json:
    if isinstance(codec, dict) and codec.get("configuration") == {}:
        return {name: item for name, item in codec.items() if name != "configuration"}
    return codec


# -- both -----------------------------------------------------------------------------------------
def _stale(
    look: Look,
    at: At,
    section: str,
    wanted: Mapping[str, Json],
    essence: Callable[[Json], Json],
) -> Iterator[Finding]:
    missing: list[str] = []
    changed: list[str] = []
    keys: list[str] = []
    for key in wanted:
        try:
            normal = normalize_path(key)
        except InvalidKeyError:
            normal = ""
        if normal == key:
            keys.append(key)
        else:
            yield at.error(section, f"the entry {show(key)} is no key")
    for begin in range(0, len(keys), BATCH):
        batch = keys[begin : begin + BATCH]
        stored = fetch(look.store, [look.key(key) for key in batch])
        for key in batch:
            data = stored.get(look.key(key))
            if data is None:
                if not (key.endswith(ATTRIBUTES) and wanted[key] == {}):
                    missing.append(key)  # attributes that are empty need no document
                continue
            try:
                value = json.loads(data)
            except MetadataError:
                continue  # said where the document itself is checked
            if _canonical(essence(value)) != _canonical(essence(wanted[key])):
                changed.append(key)
    if missing:
        yield at.warning(
            section,
            f"stale: {plural(len(missing), 'document')} listed but not stored: {_first(missing)}",
        )
    if changed:
        yield at.warning(
            section,
            f"stale: {plural(len(changed), 'document')} stored otherwise: {_first(changed)}",
        )


def _canonical(value: Json) -> str:
    """Text that is equal for equal documents; NaN equals NaN."""
    return text_json.dumps(value, sort_keys=True)


def _first(keys: list[str], most: int = 3) -> str:
    more = f" and {len(keys) - most} more" if len(keys) > most else ""
    return ", ".join(show(key) for key in keys[:most]) + more


def unlisted(at: At, section: str, group: str) -> Finding:
    """A node that the consolidated metadata of a group above it leave out."""
    return at.warning(
        section, f"stale: the consolidated metadata of {'/' + group!r} do not list this node"
    )
