"""Visit every node of a hierarchy except those that the caller excludes.

An excluded node is not read, so one that cannot be opened does not stop the conversion of the
others.

This module knows paths and formats. It must not know what is done to a node.
"""

from __future__ import annotations

from collections.abc import Iterator
from fnmatch import fnmatchcase

from omnizarr import formats
from omnizarr.errors import NodeNotFoundError, UnsupportedError, ZarrError
from omnizarr.formats import FormatName, Node
from omnizarr.jobs.conversion.report import Kind, Row
from omnizarr.model import paths
from omnizarr.model.array import ArrayModel, GroupModel
from omnizarr.nodes.node import NodeAddress


class ExcludedNodes:
    """Paths and patterns (`stations/*`) of nodes to leave out, and what they have met."""

    def __init__(self, patterns: tuple[str, ...] = ()) -> None:
        self.patterns = tuple(pattern.strip("/") for pattern in patterns)
        self._met: set[str] = set()

    def covers(self, path: str) -> bool:
        for pattern in self.patterns:
            if path == pattern or fnmatchcase(path, pattern):
                self._met.add(path)
                return True
        return False

    def left_out(self, source: NodeAddress, target: FormatName) -> tuple[Row, ...]:
        """What a report says of the nodes that were left out. A pattern that met none is refused:
        it is misspelled."""
        kinds = {path: _kind(source.child(path)) for path in sorted(self._met)}
        for pattern in self.patterns:
            if not any(
                kind is not None and (path == pattern or fnmatchcase(path, pattern))
                for path, kind in kinds.items()
            ):
                raise NodeNotFoundError(
                    f"no node matches the excluded pattern {pattern!r}; expected a path from the"
                    " node that is converted, such as 'a/b', or a pattern such as 'a/*'"
                )
        return tuple(
            Row(path, kind, source.format.name, target, "left out", notes=("excluded",))
            for path, kind in kinds.items()
            if kind is not None
        )


def _kind(place: NodeAddress) -> Kind | None:
    """What is stored there, as far as it can be told."""
    try:
        found = formats.read(place.format, place.store, place.path)
    except ZarrError:
        return "unknown"
    if found is None:
        return None
    return "array" if isinstance(found, ArrayModel) else "group"


def walk(
    place: NodeAddress, model: Node, exclusion: ExcludedNodes | None = None
) -> Iterator[tuple[str, NodeAddress, Node]]:
    """Every node of one format from here down, parents first, by its path from here."""
    pending: list[tuple[str, Node]] = [("", model)]
    while pending:
        path, found = pending.pop(0)
        here = place.child(path) if path else place
        yield path, here, found
        if isinstance(found, GroupModel):
            members = _members(here, path, exclusion)
            pending += [(paths.join(path, name), member) for name, member in members.items()]
        else:
            _check_below(here, path, exclusion)


def _check_below(here: NodeAddress, path: str, exclusion: ExcludedNodes | None) -> None:
    """Refuse an array with nodes below it: they would be lost without a word."""
    hidden = formats.hidden_members(here.format, here.store, here.path)
    names = [paths.join(path, name) for name in hidden]
    kept = [name for name in names if exclusion is None or not exclusion.covers(name)]
    if kept:
        raise UnsupportedError(
            f"{here}: nodes are below this array ({', '.join(kept)}), which no other format allows",
            what="groups",
        ).advise(
            "convert each of them by its path, and this array with {}", ("exclude", tuple(kept))
        )


def _members(here: NodeAddress, path: str, exclusion: ExcludedNodes | None) -> dict[str, Node]:
    """The members of a group by name. With an exclusion they are read one by one, so that a
    damaged member can be excluded."""
    if exclusion is None or not exclusion.patterns:
        return here.format.children(here.store, here.path)
    members: dict[str, Node] = {}
    for name in sorted(here.format.names(here.store, here.path)):
        if not exclusion.covers(paths.join(path, name)):
            found = formats.read(here.format, here.store, paths.join(here.path, name))
            if found is not None:
                members[name] = found
    return members
