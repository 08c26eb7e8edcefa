"""Visiting every node of a hierarchy, but for those that the caller excludes.

An excluded node is not even read: one that cannot be opened does not keep the others from being
converted. For that its documents are hidden from the format that lists its group's members.

This module knows paths and formats. It must not know what is done to a node.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from fnmatch import fnmatchcase

from omnizarr import formats
from omnizarr.errors import NodeNotFoundError, UnsupportedError, ZarrError
from omnizarr.formats import Format, FormatName, Node
from omnizarr.jobs.conversion.report import Kind, Row
from omnizarr.model import paths
from omnizarr.model.array import ArrayModel, GroupModel
from omnizarr.model.store import Listing, Store
from omnizarr.nodes.node import NodeAddress
from omnizarr.stores import WrapperStore


class Exclusion:
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
                    f"exclude: no node matches {pattern!r}; expected a path from the node that is"
                    " converted, such as 'a/b', or a pattern such as 'a/*'"
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
    place: NodeAddress, model: Node, exclusion: Exclusion | None = None
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


def _check_below(here: NodeAddress, path: str, exclusion: Exclusion | None) -> None:
    """Refuse an array with nodes below it: they would be lost without a word."""
    names = [paths.join(path, name) for name in here.format.hidden_members(here.store, here.path)]
    kept = [name for name in names if exclusion is None or not exclusion.covers(name)]
    if kept:
        raise UnsupportedError(
            f"{here}: nodes lie below this array ({', '.join(kept)}), which no other format allows;"
            f" convert each of them by its path, and this array with exclude={tuple(kept)!r}",
            what="groups",
        )


def _members(here: NodeAddress, path: str, exclusion: Exclusion | None) -> dict[str, Node]:
    if exclusion is None or not exclusion.patterns:
        return here.format.children(here.store, here.path)

    def hidden(name: str) -> bool:
        return exclusion.covers(paths.join(path, name))

    store = _Without(here.store, here.format, here.path, hidden)
    members = here.format.children(store, here.path)
    return {name: member for name, member in members.items() if not hidden(name)}


class _Without(WrapperStore):
    """A store in which some members of one group cannot be seen."""

    def __init__(
        self, store: Store, chosen: Format, path: str, hidden: Callable[[str], bool]
    ) -> None:
        super().__init__(store)
        self._format, self._path, self._hidden = chosen, path, hidden

    def __repr__(self) -> str:
        return repr(self.store)

    def list_dir(self, prefix: str) -> Listing:
        found = super().list_dir(prefix)
        return Listing(
            [key for key in found.keys if not self._is_hidden(key, prefix)],
            [below for below in found.prefixes if not self._is_hidden(below, prefix)],
        )

    def _is_hidden(self, found: str, prefix: str) -> bool:
        """Whether a key is a document of a hidden member, or a prefix is below one."""
        name = found[len(prefix) :].rstrip("/")
        if found.endswith("/"):
            own = self._format.keys(paths.join(self._path, name))
            return any(key.startswith(prefix + name) for key in own) and self._hidden(name)
        # Beside a group, a document has the member's name before an ending of the format's.
        parts = name.split(".")
        names = [".".join(parts[:count]) for count in range(1, len(parts))]
        return any(
            found in self._format.keys(paths.join(self._path, one)) and self._hidden(one)
            for one in names
            if one
        )
