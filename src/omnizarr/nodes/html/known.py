"""What a display asks a store for.

The rule: a display asks only stores that answer at once, on this machine, and only for a bounded
number of keys. From every other store it shows what is known already: the facts of an open node,
and members that consolidated metadata names.

    stored chunks   where sizes cost nothing (files, memory, archives) and the grid has at most 256
                    chunks or shards; given up if there are many more keys than that
    members         one listing of the group, and the documents of those that are shown, unless
                    reading these takes longer than a moment

A store that fails is not the display's to report: it shows less.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import islice
from time import monotonic
from typing import TYPE_CHECKING

from omnizarr.errors import ZarrError
from omnizarr.model.array import ArrayModel, GroupModel
from omnizarr.model.store import Store
from omnizarr.nodes import member_lookup
from omnizarr.nodes.data import stored_chunks

if TYPE_CHECKING:
    from omnizarr.nodes.array import Array
    from omnizarr.nodes.group import Group

COUNTED = 256
"""Chunks or shards of a grid that are counted."""
SHOWN = 20
"""Members of a group that are shown."""
PATIENCE = 0.25
"""Seconds after which no further member is read: its name has to do."""
_FAILURES = (ZarrError, OSError, ValueError, RuntimeError)


@dataclass(frozen=True)
class Stored:
    """The chunks, or shards, of an array that are stored, and their bytes."""

    units: frozenset[tuple[int, ...]]
    nbytes: int


@dataclass(frozen=True)
class Members:
    """Some members of a group by name, with what is known of them, and how many there are."""

    shown: dict[str, ArrayModel | GroupModel | None]
    count: int


def is_near(store: Store) -> bool:
    """Whether a store answers at once and can be listed."""
    can = store.capabilities
    return can.listable and not can.remote and can.requests == 1


def stored(array: Array) -> Stored | None:
    """What is stored of an array; None where that is not known cheaply."""
    store, grid = array.chunk_store, array._stored.grid
    if not (is_near(store) and store.capabilities.known_sizes and grid.nchunks <= COUNTED):
        return None
    try:
        found = list(islice(array._stored_chunks(), 2 * COUNTED))
        if len(found) == 2 * COUNTED:
            return None
        nbytes = stored_chunks.total(store, {key for key, _ in found})
    except _FAILURES:
        return None
    return Stored(frozenset(stored_chunks.within(grid.shape, found)), nbytes)


def members(group: Group) -> Members | None:
    """Some members of a group; None where that is not known cheaply."""
    place, model = group._place, group._stored
    if model.consolidated is None and not is_near(place.store):
        return None
    try:
        found = member_lookup.some_names(place, model, SHOWN)
    except _FAILURES:
        return None
    if found is None:
        return None
    names, count = found
    end = monotonic() + PATIENCE
    return Members(
        {name: _member(group, name) if monotonic() < end else None for name in names}, count
    )


def _member(group: Group, name: str) -> ArrayModel | GroupModel | None:
    try:
        found = member_lookup.locate(group._place, group._stored, name)
    except _FAILURES:
        return None
    return None if found is None else found[1]
