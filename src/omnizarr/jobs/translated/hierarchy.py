"""The nodes of a hierarchy in another format, found on the way to what is asked for, and kept a
while.

This module knows paths and keys. It must not know chunks.
"""

from __future__ import annotations

import threading
import time
from collections import OrderedDict
from collections.abc import Iterator
from contextlib import suppress
from typing import Any, Generic, NamedTuple, TypeVar

from omnizarr import formats
from omnizarr.errors import MetadataError, NotAFileError, UnsupportedError
from omnizarr.formats import Node
from omnizarr.formats.base import Format
from omnizarr.jobs.translated.nodes import TranslatedArray, TranslatedNode, translated_node
from omnizarr.model import json, paths
from omnizarr.model.array import GroupModel
from omnizarr.model.grids import Shape
from omnizarr.model.store import Store
from omnizarr.nodes.node import NodeAddress, Options
from omnizarr.runtime import forks
from omnizarr.stores import MemoryStore

MOST_NODES = 4096
"""So many nodes are remembered, found and missing ones."""
MOST_CONSOLIDATED = 10_000
"""A hierarchy of more nodes has no consolidated metadata."""
_QUICK = 0.1
_PATIENCE = 20
"""Consolidated metadata that took longer than `_QUICK` seconds to make are believed for so many
times as long."""

T = TypeVar("T")


class Found(NamedTuple):
    """A node of the source."""

    place: NodeAddress
    node: Node


class Hierarchy:
    """The nodes below a path of a store, as they are and in the target format."""

    def __init__(
        self, store: Store, path: str, target: Format, options: Options, seconds: float
    ) -> None:
        self._store, self._path, self._target = store, path, target
        self._options, self._seconds = options, seconds
        self._found: _Kept[Found | None] = _Kept(MOST_NODES)
        self._translated: _Kept[tuple[list[Found], TranslatedNode]] = _Kept(MOST_NODES)
        self._consolidated: _Kept[dict[str, bytes]] = _Kept(16)
        self._names = frozenset(target.keys(""))
        self._consolidated_names = frozenset(formats.consolidated_keys(target, ""))

    # -- nodes --------------------------------------------------------------------------------

    def look(self, path: str) -> Found | None:
        """The node at a path; what was found less than a second ago is believed."""
        kept = self._found.get(path)
        if kept is not None and time.monotonic() < kept.until:
            return kept.value
        inside = paths.join(self._path, path)
        found = None
        if paths.is_key(inside) or not inside:
            read = formats.find(self._store, inside)
            if read is not None:
                found = Found(NodeAddress(self._store, inside, read[0]), read[1])
        if kept is not None and found is not None and _same(kept.value, found):
            found = kept.value  # with all that was made of it
        self._found.put(path, found, time.monotonic() + self._seconds)
        return found

    def _way(self, path: str) -> list[tuple[str, Found]]:
        """The nodes from the root to a path, as far as there are any."""
        steps = [*paths.ancestors(path), path]
        return [(step, found) for step in steps if (found := self.look(step)) is not None]

    def translated(self, path: str) -> TranslatedNode | None:
        """The node at a path in the target format; None if there is none."""
        way = self._way(path)
        if not way or way[-1][0] != path:
            return None
        chain = [found for _, found in way]
        kept = self._translated.get(path)
        if kept is not None and _identical(kept.value[0], chain):
            return kept.value[1]
        walked = [(step, found.place, found.node) for step, found in way]
        made = translated_node(walked, self._target, self._options)
        moved = _under(made, self._path, path)
        self._translated.put(path, (chain, moved), 0)
        return moved

    def members(self, path: str) -> tuple[list[str], list[str]]:
        """The paths of the direct members of a group, and of damaged ones."""
        found = self.look(path)
        sound: list[str] = []
        damaged: list[str] = []
        if found is None or not isinstance(found.node, GroupModel):
            return sound, damaged
        place = found.place
        for name in sorted(place.format.names(place.store, place.path)):
            inside = paths.join(path, name)
            with suppress(NotAFileError):  # a link that is not followed
                try:
                    if self.look(inside) is not None:
                        sound.append(inside)
                except MetadataError:
                    if not name.startswith("."):  # which need not be meant as a node
                        damaged.append(inside)
        return sound, damaged

    # -- keys ---------------------------------------------------------------------------------

    def document(self, key: str) -> bytes | None:
        """The document under a key, if it is called like one."""
        path, _, name = key.rpartition("/")
        if name in self._consolidated_names:
            found = self.consolidated(path)
            if key in found:
                return found[key]
        if name not in self._names:
            return None
        node = self.translated(path)
        return None if node is None else node.documents.get(key)

    def chunk(self, key: str) -> tuple[str, TranslatedArray, Shape] | None:
        """The array and the coordinates that a key stands for."""
        for path in (*paths.ancestors(key), key):
            found = self.look(path)
            if found is None or isinstance(found.node, GroupModel):
                continue
            node = self.translated(path)
            if node is None or node.array is None:
                return None
            model = node.array.model
            prefix = self._target.chunk_prefix(path, model)
            if not key.startswith(prefix):
                return None
            coordinates = model.keys.decode(key[len(prefix) :], model.ndim)
            if coordinates is None:
                return None
            inside = all(c < n for c, n in zip(coordinates, model.grid.shape, strict=True))
            return (path, node.array, coordinates) if inside else None
        return None

    # -- consolidated metadata ----------------------------------------------------------------

    def consolidated(self, path: str) -> dict[str, bytes]:
        """The documents that describe all nodes below a group; none if it is no group, if there are
        too many nodes to tell, or if one of them is damaged."""
        kept = self._consolidated.get(path)
        if kept is not None and time.monotonic() < kept.until:
            return kept.value
        begin = time.monotonic()
        found = self._consolidate(path)
        took = time.monotonic() - begin
        believed = max(self._seconds, _PATIENCE * took if took > _QUICK else 0)
        until = time.monotonic() + believed
        self._consolidated.put(path, found, until)
        return found

    def _consolidate(self, path: str) -> dict[str, bytes]:
        found = self.look(path)
        if found is None or not isinstance(found.node, GroupModel):
            return {}
        try:
            return self._describe(path, found)
        except MetadataError:
            return {}  # without a damaged node they would look complete

    def _describe(self, path: str, found: Found) -> dict[str, bytes]:
        preview = MemoryStore()
        for number, here in enumerate(self._below(path, found)):
            if number >= MOST_CONSOLIDATED:
                return {}
            with suppress(UnsupportedError, NotAFileError):  # the format cannot express it
                node = self.translated(here)
                for key, document in ({} if node is None else node.documents).items():
                    preview.set(key, document)
        try:
            return formats.consolidate(self._target, preview, path)
        except UnsupportedError:
            return {}

    def _below(self, path: str, found: Found) -> Iterator[str]:
        """A group and every node below it that can be known; MetadataError if one is damaged."""
        yield path
        if not self._store.capabilities.listable:
            place = found.place
            told = formats.consolidated(place.format, place.store, place.path)
            if told is not None and told.consolidated is not None:
                yield from (paths.join(path, each) for each in sorted(told.consolidated))
            return
        pending = [path]
        while pending:
            here = pending.pop()
            if here != path:
                yield here
            sound, damaged = self.members(here)
            if damaged:
                raise MetadataError(f"the node {damaged[0]!r} is damaged")
            pending += sound


def _same(one: Found | None, other: Found) -> bool:
    return (
        one is not None
        and one.place == other.place
        and type(one.node) is type(other.node)
        and json.dumps(one.node.document) == json.dumps(other.node.document)
        and json.dumps(one.node.attributes) == json.dumps(other.node.attributes)
    )


def _identical(one: list[Found], other: list[Found]) -> bool:
    return len(one) == len(other) and all(a is b for a, b in zip(one, other, strict=True))


def _under(made: TranslatedNode, root: str, path: str) -> TranslatedNode:
    """With keys as they are called from the root that is shown."""
    if not root:
        return made
    return TranslatedNode(
        {key.removeprefix(f"{root}/"): document for key, document in made.documents.items()},
        made.array,
    )


class _KeptValue(NamedTuple, Generic[T]):
    value: T
    until: float


class _Kept(Generic[T]):
    """The last values by path, the oldest going first."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._values: OrderedDict[str, _KeptValue[T]] = OrderedDict()
        self._guard: Any = threading.Lock()
        forks.in_child(self._renew)

    def _renew(self) -> None:
        self._guard = threading.Lock()

    def get(self, path: str) -> _KeptValue[T] | None:
        with self._guard:
            return self._values.get(path)

    def put(self, path: str, value: T, until: float) -> None:
        with self._guard:
            self._values[path] = _KeptValue(value, until)
            self._values.move_to_end(path)
            while len(self._values) > self._most:
                self._values.popitem(last=False)
