"""`ConsolidatedStore`: documents from the one document that repeats them, the rest from a store.

Such a document has one of two forms. In one, the member `metadata` maps keys to documents. In the
other, `consolidated_metadata` holds a member `metadata` that maps paths of nodes to documents; the
key of each is its path and the name of the consolidated document. The document of a group in there
may hold such a member too.

A metadata document that is not in there does not exist. A document with a member `shape` is that of
an array, whose chunks only the store can list.

This module knows the keys of the documents. It must not know what they mean.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Hashable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from typing import TYPE_CHECKING

from omnizarr.errors import (
    ErrorLocation,
    MetadataError,
    NodeNotFoundError,
    NotListableError,
    ReadOnlyError,
)
from omnizarr.keywords import suggests
from omnizarr.model import json
from omnizarr.model.codec import Json
from omnizarr.model.paths import check_key, check_prefix, is_key, join, name_of, parent
from omnizarr.model.store import (
    Buffer,
    ByteRange,
    Listing,
    Read,
    Store,
    Versioned,
    listing_of,
    read_range,
)
from omnizarr.stores.wrappers.base import WrapperStore, read_rest

if TYPE_CHECKING:
    from omnizarr.stores.resolve import StoreLike

FLAT = ".zmetadata"
INLINE = "zarr.json"
DOCUMENTS = frozenset({".zarray", ".zattrs", ".zgroup", FLAT, INLINE})
"""The names of metadata documents in formats with consolidated metadata."""


def _is_document(key: str) -> bool:
    return name_of(key) in DOCUMENTS


class ConsolidatedStore(WrapperStore):
    """A store whose metadata documents come from one consolidated document, which is read once.

    Chunks can be changed through this store, metadata cannot. A store that cannot list is browsed
    with the help of the document; where that does not suffice (the chunks of an array), listing
    raises `NotListableError`.

    Parameters
    ----------
    store
        A store, or what `as_store` takes: a URL, a path, …
    key
        Key of the consolidated document; None: ".zmetadata" or, if there is none, "zarr.json".

    Raises
    ------
    NodeNotFoundError
        If there is no consolidated document.

    Examples
    --------
    >>> inner = omnizarr.MemoryStore()
    >>> root = omnizarr.create_group(inner, zarr_format=2, attributes={"title": "x"})
    >>> root = omnizarr.consolidate_metadata(inner)
    >>> store = omnizarr.stores.ConsolidatedStore(inner)
    >>> omnizarr.open_group(store, "r").attrs["title"]
    'x'
    """

    @suggests
    def __init__(self, store: StoreLike, key: str | None = None) -> None:
        if not isinstance(store, Store):
            from omnizarr.stores.resolve import as_store

            store = as_store(store)
        super().__init__(store)
        self.key, document = _read(store, key)
        self._folder = parent(self.key) + "/" if "/" in self.key else ""
        found = _documents(document, self.key)
        self._documents = {name: json.dumps(value).encode() for name, value in found.items()}
        self._with_chunks = frozenset(
            parent(name) for name, value in found.items() if _has_shape(value)
        )
        self._listable = store.capabilities.listable
        self.capabilities = replace(store.capabilities, listable=True)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.store!r}, {self.key!r})"

    def _covers(self, key: str) -> bool:
        """Whether the consolidated document decides what this key holds."""
        if not _is_document(check_key(key)) or not key.startswith(self._folder):
            return False
        return key != self.key or key in self._documents

    # -- readable -----------------------------------------------------------------------------
    def get(self, key: str, byte_range: ByteRange | None = None) -> Buffer | None:
        return self.get_many([(key, byte_range)])[0]

    def get_many(self, requests: Sequence[tuple[str, ByteRange | None]]) -> list[Buffer | None]:
        others = [index for index, (key, _) in enumerate(requests) if not self._covers(key)]
        answers = [self._document(*request) for request in requests]
        read_rest(self.store, requests, answers, others)
        return answers

    def _document(self, key: str, byte_range: ByteRange | None) -> Buffer | None:
        value = self._documents.get(key)
        return None if value is None else read_range(value, byte_range)

    def snapshot(self, key: str) -> AbstractContextManager[Read]:
        if self._covers(key):
            return nullcontext(lambda byte_range: self._document(key, byte_range))
        return self.store.snapshot(key)

    def get_versioned(self, key: str, byte_range: ByteRange | None = None) -> Versioned | None:
        if not self._covers(key):
            return self.store.get_versioned(key, byte_range)
        value = self._documents.get(key)
        return None if value is None else Versioned(read_range(value, byte_range), value)

    def version(self, key: str) -> Hashable | None:
        return self._documents.get(key) if self._covers(key) else self.store.version(key)

    def exists(self, key: str) -> bool:
        return key in self._documents if self._covers(key) else self.store.exists(key)

    def size(self, key: str) -> int | None:
        if not self._covers(key):
            return self.store.size(key)
        value = self._documents.get(key)
        return None if value is None else len(value)

    # -- writeable ----------------------------------------------------------------------------
    def _to_change(self, key: str) -> str:
        self.check_writable()
        if key == self.key or self._covers(key):
            raise self._refusal(key)
        return key

    def _prefix_to_change(self, prefix: str) -> str:
        self.check_writable()
        if any(key.startswith(check_prefix(prefix)) for key in (self.key, *self._documents)):
            raise self._refusal(prefix)
        return prefix

    def _refusal(self, what: str) -> ReadOnlyError:
        return ReadOnlyError(
            f"{what!r} is given by the consolidated metadata, which this change would"
            " make wrong: change the store inside, and consolidate again"
        ).at(self)

    # -- listable -----------------------------------------------------------------------------
    def list_prefix(self, prefix: str) -> Iterator[str]:
        check_prefix(prefix)
        if not self._listable:
            raise NotListableError(
                f"the chunks below {prefix!r} cannot be listed; what the consolidated"
                " metadata describe can be, with list_dir"
            ).at(self)
        others = (key for key in self.store.list_prefix(prefix) if not self._replaced(key))
        own = (key for key in self._documents if key.startswith(prefix))
        return iter(sorted({*own, *others}))

    def list_dir(self, prefix: str) -> Listing:
        check_prefix(prefix)
        own = listing_of(self._documents, prefix)
        if not self._listable:
            if prefix[:-1] in self._with_chunks or not (own.keys or own.prefixes):
                raise NotListableError(
                    f"the keys below {prefix!r} cannot be listed: the store cannot list, and the"
                    " consolidated metadata do not name them"
                ).at(self)
            return own
        keys, prefixes = self.store.list_dir(prefix)
        others = [key for key in keys if not self._replaced(key)]
        besides = [name for name in prefixes if name not in own.prefixes and self._remains(name)]
        return Listing(sorted({*own.keys, *others}), sorted([*own.prefixes, *besides]))

    def _replaced(self, key: str) -> bool:
        # The document itself is no part of the hierarchy unless it describes its root.
        return self._covers(key) or key == self.key

    def _remains(self, prefix: str) -> bool:
        """Whether the store has a key below `prefix` that the document does not replace."""
        if not prefix.startswith(self._folder):
            return True
        return any(not self._replaced(key) for key in self.store.list_prefix(prefix))

    @property
    def identity(self) -> Hashable:
        return "consolidated", self.store.identity, self.key


class ConsolidatedMetadataStore(ConsolidatedStore):
    """`ConsolidatedStore` with the name and arguments of zarr-python 2.

    Parameters
    ----------
    store
        A store, or a mapping from str to bytes.
    metadata_key
        Key of the consolidated document.

    Examples
    --------
    >>> group = omnizarr.group({}, zarr_format=2)
    >>> _ = group.create_array("a", shape=3, dtype="i4")
    >>> _ = omnizarr.consolidate_metadata(group.store)
    >>> store = omnizarr.stores.ConsolidatedMetadataStore(group.store)
    >>> store.list_dir("").prefixes
    ['a/']
    """

    @suggests
    def __init__(self, store: Store | Mapping[str, bytes], metadata_key: str = FLAT) -> None:
        super().__init__(store, metadata_key)


def _read(store: Store, key: str | None) -> tuple[str, Mapping[str, Json]]:
    candidates = (FLAT, INLINE) if key is None else (check_key(key),)
    for name, value in zip(
        candidates, store.get_many([(name, None) for name in candidates]), strict=True
    ):
        if value is None:
            continue
        document = json.loads(value, ErrorLocation.of(store, key=name))
        if isinstance(document, dict) and _metadata(document) is not None:
            return name, document
        if key is not None:
            raise MetadataError(
                "expected consolidated metadata, an object with the"
                " member 'metadata' or 'consolidated_metadata'"
            ).at(store, key=name)
    raise NodeNotFoundError(
        f"there is no consolidated metadata at {' or '.join(map(repr, candidates))};"
        " omnizarr.consolidate_metadata(store) writes it"
    ).at(store)


def _metadata(document: Mapping[str, Json]) -> Mapping[str, Json] | None:
    holder = document.get("consolidated_metadata", document)
    found = holder.get("metadata") if isinstance(holder, dict) else None
    return found if isinstance(found, dict) else None


def _documents(document: Mapping[str, Json], key: str) -> dict[str, Json]:
    """Every document, by its key; names that could not be keys are left out."""
    folder, name = parent(key), name_of(key)
    found: dict[str, Json] = {}
    if "consolidated_metadata" not in document:
        for below, value in (_metadata(document) or {}).items():
            if is_key(join(folder, below)):
                found[join(folder, below)] = value
        return dict(sorted(found.items()))
    pending: deque[tuple[str, Json]] = deque([(folder, dict(document))])
    while pending:
        path, value = pending.popleft()
        place = join(path, name)
        if place in found or not is_key(place):
            continue
        found[place] = value
        if isinstance(value, dict):
            inner = _metadata(value) if "consolidated_metadata" in value else None
            pending += ((join(path, below), child) for below, child in (inner or {}).items())
    return dict(sorted(found.items()))


def _has_shape(document: Json) -> bool:
    return isinstance(document, dict) and "shape" in document
