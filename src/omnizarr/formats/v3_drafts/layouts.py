"""Where the drafts of v3 keep things, and how a store says which of them it follows.

Every draft has one bootstrap document at the root of the store (`zarr.json`), documents below
`meta/root`, and chunks below `data`. Three layouts left data behind:

====================  ===========================  =============================  =================
name                  an array                     its first chunk                bootstrap
====================  ===========================  =============================  =================
A, `3-draft2019`      `meta/root/P.array`          `data/P/0.0`                   `application/json`
B, `3-draft2020-09`   `meta/root/P.array`          `data/root/P/c0/0`             a protocol URI
C, `3-draft2020-10`   `meta/root/P.array.json`     `data/root/P/c0/0`             and a key suffix
====================  ===========================  =============================  =================

This module knows keys, the bootstrap document and lists of extensions. It must not know what the
document of an array or a group means.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Literal, NamedTuple

from omnizarr.errors import MetadataError, UnknownExtensionError, UnsupportedError
from omnizarr.formats import members
from omnizarr.formats.hierarchy import BOOTSTRAP
from omnizarr.model import json
from omnizarr.model.codec import Json
from omnizarr.model.json import show
from omnizarr.model.keys import ChunkKeys, Separator
from omnizarr.model.paths import is_key, join
from omnizarr.model.store import Buffer, Store

META = "meta/root"
ARRAY, GROUP = ".array", ".group"
CONSOLIDATED = "consolidated"
CONSOLIDATED_KEY = f"{META}/{CONSOLIDATED}/.zmetadata"

CORE = "https://purl.org/zarr/spec/protocol/core/3.0"
JSON_TYPE = "application/json"

# A final v3 document of any size is told from a bootstrap without being parsed.
_MARK = re.compile(rb'"zarr_format"\s*:\s*"')
_PROTOCOL = re.compile(r"https?://\S+/([0-9]{1,4})(?:\.[0-9]{1,4})?/?\Z")
_CORE = re.compile(r"https?://\S+/core/3(?:\.[0-9]{1,4})?/?\Z")
_SUFFIX = re.compile(r"[A-Za-z0-9._-]{0,32}\Z")


class Layout(NamedTuple):
    """What one draft decided."""

    name: str
    encoding: str
    """What the bootstrap of a new hierarchy gives as `metadata_encoding`."""
    suffix: str
    """What stands behind the keys of new documents."""
    data: str
    """The prefix of all chunks."""
    chunk_keys: Literal["v2", "draft"]
    separator: Separator
    """Between the coordinates of a chunk, where the grid does not say."""
    scalars: tuple[str, ...]
    """What the only chunk of a 0-d array is called, the name that is written first."""
    explicit: bool
    """The separator is always named, and a compressor that is not there is left out."""
    zarr_python: bool
    """What zarr-python 2 added: filters, objects, shards, consolidated metadata."""

    @property
    def bootstrap(self) -> bytes:
        """The bootstrap document of a new hierarchy."""
        document: dict[str, Json] = {"zarr_format": CORE, "metadata_encoding": self.encoding}
        if self.zarr_python:
            document["metadata_key_suffix"] = self.suffix
        return text({**document, "extensions": []})

    def document_keys(self, path: str, suffix: str) -> tuple[str, str]:
        """Where an array and where a group at `path` has its document."""
        base = join(META, path)
        return base + ARRAY + suffix, base + GROUP + suffix

    def data_prefix(self, path: str) -> str:
        """What stands before the chunk keys of an array."""
        return join(self.data, path) + "/"

    def keys(self, separator: Separator, ndim: int) -> ChunkKeys:
        if ndim:
            return ChunkKeys(self.chunk_keys, separator)
        return self.scalar_keys(separator, self.scalars[0])

    def scalar_keys(self, separator: Separator, first: str) -> ChunkKeys:
        """The keys of a 0-d array, one name preferred and the others looked up."""
        others = tuple(
            ChunkKeys(self.chunk_keys, separator, scalar=name)
            for name in self.scalars
            if name != first
        )
        return ChunkKeys(self.chunk_keys, separator, others, first)


A = Layout("3-draft2019", JSON_TYPE, "", "data", "v2", ".", ("",), False, False)
B = Layout("3-draft2020-09", CORE, "", "data/root", "draft", "/", ("c", "c0"), False, False)
C = Layout("3-draft2020-10", CORE, ".json", "data/root", "draft", "/", ("c0", "c"), True, True)


class Bootstrap(NamedTuple):
    """What a store says about its hierarchy."""

    layout: Layout
    suffix: str
    text: bytes
    """The document as it is stored, unknown members and ignored extensions included."""


def text(document: Mapping[str, Json]) -> bytes:
    """A document as the drafts' own author wrote them: indented, members in their order."""
    return json.dumps(document, indent=4, sort_keys=False).encode("ascii")


def read_bootstrap(data: Buffer) -> Bootstrap | None:
    """The bootstrap of a draft; None if the document is of another kind.

    MetadataError, located, if it is one that cannot be honoured."""
    if _MARK.search(data) is None:
        return None
    return members.parsed(BOOTSTRAP, data, lambda value: _bootstrap(value, bytes(data)))


def _bootstrap(document: Json, data: bytes) -> Bootstrap | None:
    if not isinstance(document, dict) or "node_type" in document:
        return None
    version = document.get("zarr_format")
    if not isinstance(version, str):
        return None
    protocol = _PROTOCOL.match(version)
    if protocol is None:
        return None  # no URI of a core protocol: another kind of document
    if int(protocol[1]) != 3:
        raise MetadataError(
            f"zarr_format {show(version)} names version {protocol[1]} of the protocol; version 3 is"
            " the only one that was published under a URI"
        )
    layout, suffix = _layout(document)
    check_extensions(document.get("extensions"))
    return Bootstrap(layout, suffix, data)


def _layout(document: Mapping[str, Json]) -> tuple[Layout, str]:
    encoding = members.required(document, "metadata_encoding")
    if encoding == JSON_TYPE:
        return A, ""
    if not isinstance(encoding, str) or _CORE.match(encoding) is None:
        raise UnsupportedError(
            f"metadata_encoding {show(encoding)} is not supported; documents are read as JSON only"
            f" ({JSON_TYPE!r}, or {CORE!r} in the later drafts)"
        )
    if "metadata_key_suffix" not in document:
        return B, ""
    suffix = document["metadata_key_suffix"]
    # Without "/" it stays inside the folder, and behind ".array" it cannot become "..".
    if not isinstance(suffix, str) or _SUFFIX.match(suffix) is None:
        raise MetadataError(
            "metadata_key_suffix must be a short string of letters, digits and '._-' such as"
            f" '.json', found {show(suffix)}"
        )
    return C, suffix


def check_extensions(value: Json) -> None:
    """Refuse what must be understood: no protocol extension is implemented as such.

    A missing list is none at all: zarr-python leaves it out of groups."""
    if value is None:
        return
    if not isinstance(value, list):
        raise MetadataError(f"extensions must be a list of objects, found {show(value)}")
    for item in value:
        name = item.get("extension") if isinstance(item, dict) else None
        if not isinstance(name, str):
            raise MetadataError(
                f"extensions must hold objects with an 'extension' URI, found {show(item)}"
            )
        must_understand = item.get("must_understand", True)
        if not isinstance(must_understand, bool):
            raise MetadataError(
                f"extension {show(name)}: must_understand must be true or false, found"
                f" {show(must_understand)}"
            )
        if must_understand:
            raise UnknownExtensionError(
                f"the extension {show(name)} must be understood and is not known here"
            )


class Members(NamedTuple):
    """The names below a group, by what the listing shows of them."""

    arrays: frozenset[str]
    groups: frozenset[str]
    implied: frozenset[str]
    """Names that are prefixes of stored keys."""

    @property
    def all(self) -> frozenset[str]:
        return self.arrays | self.groups | self.implied


def list_members(store: Store, layout: Layout, path: str, suffix: str) -> Members:
    """Document 002, "Discover children of a group": one `list_dir`."""
    prefix = join(META, path) + "/"
    listing = store.list_dir(prefix)

    def named(ending: str) -> frozenset[str]:
        found = (key[len(prefix) :] for key in listing.keys if key.endswith(ending))
        return frozenset(name[: -len(ending)] for name in found if is_key(name[: -len(ending)]))

    implied = frozenset(found[len(prefix) : -1] for found in listing.prefixes)
    found = Members(named(ARRAY + suffix), named(GROUP + suffix), implied)
    if layout.zarr_python and not path and CONSOLIDATED in implied and _only_consolidated(store):
        return Members(*(names - {CONSOLIDATED} for names in found))
    return found


def _only_consolidated(store: Store) -> bool:
    """Whether the group of that name is nothing but the home of consolidated metadata."""
    listing = store.list_dir(f"{META}/{CONSOLIDATED}/")
    return listing.keys == [CONSOLIDATED_KEY] and not listing.prefixes
