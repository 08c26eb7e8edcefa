"""Groups that name their members: what else is stored when a node is created, resized, moved or
deleted in a format that has such (`formats.base.Registering`).

The format knows what changes; here the groups above are read, and changed under their locks.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import Any

from omnizarr import formats
from omnizarr.formats.base import Change, Format, Node, Placement, Registering
from omnizarr.model import paths
from omnizarr.model.array import ArrayModel
from omnizarr.model.store import Store
from omnizarr.nodes import node
from omnizarr.nodes.node import NodeAddress, Options


def above(store: Store, path: str) -> dict[str, Node]:
    """The nodes above a path, by their own paths."""
    found = ((each, formats.find(store, each)) for each in paths.ancestors(path))
    return {each: one[1] for each, one in found if one is not None}


def placed(chosen: Format, path: str, made: Node, groups: Mapping[str, Node]) -> Placement:
    """A new node as its format stores it at `path`."""
    if isinstance(chosen, Registering):
        return chosen.placed(path, made, groups)
    return Placement(made)


def apply(store: Store, chosen: Format, changes: Iterable[tuple[str, Change]]) -> None:
    """Change the attributes of groups."""
    for path, change in changes:
        node.change_attributes(NodeAddress(store, path, chosen), Options(), change)


def forget(store: Store, path: str, owners: Iterable[Format]) -> None:
    """Before a node is deleted: the group above forgets it."""
    chosen = formats.registrar(store, path, owners)
    if chosen is not None:
        apply(store, chosen, chosen.removed(path, above(store, path)).items())


def resized(place: NodeAddress, stored: ArrayModel, before: tuple[int, ...]) -> None:
    """After an array was resized: groups above it know its new lengths."""
    chosen = place.format
    if isinstance(chosen, Registering) and stored.shape != before:
        groups = above(place.store, place.path)
        apply(place.store, chosen, chosen.resized(place.path, stored, before, groups).items())


class Move:
    """The nodes at and below a path as they are stored at another one."""

    def __init__(
        self, place: NodeAddress, target: str, nodes: Callable[[], Mapping[str, Node]]
    ) -> None:
        self._store, self._format, self._source = place.store, place.format, place.path
        self._placements: dict[str, Placement] = {}
        if not isinstance(self._format, Registering):
            return
        groups = above(place.store, target)
        for path, found in nodes().items():
            new = target + path[len(place.path) :]
            self._placements[new] = placed(self._format, new, found, groups)
            if not isinstance(found, ArrayModel):
                groups[new] = found

    def begin(self) -> None:
        """Before the keys move."""
        if self._placements:
            forget(self._store, self._source, [self._format])

    def finish(self) -> None:
        """Once all keys are at their new places."""
        for path, placement in self._placements.items():
            apply(self._store, self._format, placement.before.items())
            attributes = dict(placement.node.attributes)
            apply(self._store, self._format, [(path, partial(_replaced, attributes))])
            apply(self._store, self._format, placement.after.items())


def _replaced(new: Mapping[str, Any], _: Mapping[str, Any]) -> Mapping[str, Any]:
    return new
