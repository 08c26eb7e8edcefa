"""Whether a node is still the one that a handle was opened with.

A handle keeps the facts of its node: shape, type, codecs. Another process may change or replace the
node, so every write looks at the stored document first. On a local store the look is one `stat`; in
memory and in databases on the same machine the document is compared byte by byte; where it costs a
request there is at most one look a second.

This module knows documents and what must agree. It must not know chunks.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from math import inf
from time import monotonic

from omnizarr import limits
from omnizarr.errors import StaleHandleError
from omnizarr.formats import Node
from omnizarr.model.array import ArrayModel
from omnizarr.model.grids import same_cuts
from omnizarr.model.store import Buffer, ByteRange, Store
from omnizarr.nodes import node
from omnizarr.nodes.node import NodeAddress
from omnizarr.stores.wrappers.base import WrapperStore

INTERVAL = 1.0
"""Seconds between two looks of one handle, where a look is a request."""


class Freshness:
    """The version of its node's document that a handle has seen."""

    __slots__ = ("_asked", "_data", "_node", "_version")

    def __init__(self) -> None:
        self._asked = monotonic()
        self._data: bytes | None = None
        self._version: Hashable | None = None
        self._node: Node | None = None
        """What was made of the document."""

    def forget(self) -> None:
        """Make the next look read the document, even within the interval."""
        self._asked, self._data, self._version, self._node = -inf, None, None, None

    def look(self, place: NodeAddress, held: Node) -> Node | None:
        """The stored node, if it may differ from the one that the handle holds; None if it is the
        same. NodeNotFoundError if it was deleted."""
        store, key = place.store, place.format.keys(place.path)[0]
        known = store.capabilities
        if known.remote or known.requests > 1:
            now = monotonic()
            if now - self._asked < INTERVAL:
                return None
            self._asked = now
        version = store.version(key) if known.validators else None
        # A handle that changed its node since the last look holds another model.
        same = held is self._node
        if same and version is not None and version == self._version:
            return None
        data = _read(store, key)
        found = None
        if not same or data is None or data != self._data:
            # Parse the document that was just read, not a cached one.
            documents = {} if data is None else {key: data}
            found = node.reread(place._replace(store=_Holding(store, documents)))
            self._node = found
        self._data = data
        # A file that was changed a moment ago has another version at every look.
        settled = version is not None and store.version(key) == version
        self._version = version if settled else None
        return found


def _read(store: Store, key: str) -> bytes | None:
    """The document as it is stored; stale caches are bypassed."""
    whole = ByteRange(0, limits.current.max_document_bytes + 1)
    if store.capabilities.validators:
        with store.snapshot(key) as read:
            data = read(whole)
    else:
        with store.fresh_reads():
            data = store.get(key, whole)
    return None if data is None else bytes(data)


class _Holding(WrapperStore):
    """A store in which some documents are known already."""

    def __init__(self, store: Store, documents: Mapping[str, bytes]) -> None:
        super().__init__(store)
        self._documents = documents

    def __repr__(self) -> str:
        return repr(self.store)

    def get(self, key: str, byte_range: ByteRange | None = None) -> Buffer | None:
        return self.get_many([(key, byte_range)])[0]

    def get_many(self, requests: Sequence[tuple[str, ByteRange | None]]) -> list[Buffer | None]:
        others = [request for request in requests if request[0] not in self._documents]
        found = iter(self.store.get_many(others) if others else ())
        return [self._documents[key] if key in self._documents else next(found)
                for key, _ in requests]  # fmt: skip


def difference(before: ArrayModel, now: Node) -> str | None:
    """The fact that differs, so that chunks of one array are not chunks of the other; None if all
    agree."""
    if not isinstance(now, ArrayModel):
        return "node type (it is a group now)"
    if before.data_type != now.data_type:
        return f"data type ({before.data_type.name}, now {now.data_type.name})"
    if not same_cuts(before.grid, now.grid):
        return "chunk grid"
    if before.codecs != now.codecs:
        return "codecs"
    return "chunk keys" if before.keys != now.keys else None


def require_same(place: NodeAddress, before: ArrayModel, now: Node, when: str = "") -> ArrayModel:
    """`now`; StaleHandleError unless chunks of the array `before` are chunks of it."""
    found = difference(before, now)
    if found is not None:
        # A new array holds its facts as requested. The stored document may spell them differently.
        documents = place.format.documents(place.path, before)
        stored = node.reread(place._replace(store=_Holding(place.store, documents)))
        if isinstance(stored, ArrayModel):
            found = difference(stored, now)
    if found is not None or not isinstance(now, ArrayModel):
        raise StaleHandleError(
            f"{place}: the array was replaced {when or 'after it was opened'}: its {found} is not"
            " what this handle was opened with; open it again (or call refresh())"
        )
    return now
