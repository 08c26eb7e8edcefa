"""Who appends: one process at a time to an array, and to a group.

An append first makes the journal its own, then the mark of every array that it grows
(`nodes.unfinished`), and only then looks at the lengths. Another one finds a living owner and is
refused. What a dead owner has begun goes on only if all of its marks are still there: who changes
the shape of an array removes its mark, and what was stored behind its end.

This module knows marks and the order in which they are taken. It must not know values.
"""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from contextlib import suppress
from typing import Any

from omnizarr.model.store import Buffer
from omnizarr.nodes import unfinished
from omnizarr.nodes.array import Array
from omnizarr.nodes.group import Group
from omnizarr.nodes.node import NodeAddress

IDENTITY = "id"
"""What the journal of an append to a group and the marks in its arrays have in common."""


class Claims:
    """What this append owns. `token` is alive while it runs."""

    def __init__(self, node: Array | Group, token: str) -> None:
        self.node, self.token = node, token
        self.owner = unfinished.owner(token)
        self._taken: list[tuple[NodeAddress, Buffer | None]] = []
        self._begun = False
        self.earlier = self._take(node)
        """The journal of a killed append; None if there is none."""

    def facts(self) -> dict[str, Any]:
        """What the journal of a new append says of it."""
        return {unfinished.OWNER: self.owner, IDENTITY: uuid.uuid4().hex}

    def refuse_uncertain(self) -> None:
        """Raise if a mark may belong to an append that is at work on another machine. A journal
        whose marks are gone cannot go on, so it does not count."""
        for place, before in self._taken:
            journal = place == self.node._place and isinstance(self.node, Group)
            if not journal and unfinished.alive(unfinished.owner_of(before)) is None:
                raise unfinished.conflict(place, before)

    def take(self, arrays: Mapping[str, Array]) -> bool:
        """Make the marks of arrays one's own. Gives whether all belong to the journal."""
        if isinstance(self.node, Array):
            return True
        ours = unfinished.facts_of(self.earlier).get(IDENTITY)
        taken = dict(self._taken)
        found = []
        for array in arrays.values():
            place = array._place
            before = taken[place] if place in taken else self._take(array)
            found.append(unfinished.facts_of(before).get(IDENTITY))
        return isinstance(ours, str) and all(one == ours for one in found)

    @property
    def any_before(self) -> bool:
        """Whether an append was killed here."""
        return any(before is not None for _, before in self._taken)

    def begin(self, arrays: Mapping[str, Array], facts: Mapping[str, Any]) -> None:
        """Let the marks say which append they belong to."""
        self._begun = True
        if not isinstance(self.node, Array):
            for array in arrays.values():
                place = array._place
                place.store.set(unfinished.key_of(place), unfinished.document(facts))

    def resume(self) -> None:
        self._begun = True

    def finish(self) -> None:
        """What was killed is complete. The journal is kept for what comes next."""
        journal, *marks = self._taken
        place = journal[0]
        alone = unfinished.document({unfinished.OWNER: self.owner})
        place.store.set(unfinished.key_of(place), alone)
        self._taken, self.earlier = [(place, None)], None
        for place, _ in marks:
            place.store.delete(unfinished.key_of(place))

    def remove(self) -> None:
        """The work is complete: the journal goes, then the marks."""
        for place, _ in self._taken:
            place.store.delete(unfinished.key_of(place))
        self._taken.clear()

    def release(self) -> None:
        """The work is not complete, and this process is done with it."""
        for place, before in self._taken:
            with suppress(Exception):  # what stopped the work is what the caller must hear of
                self._release(place, before)

    def _release(self, place: NodeAddress, before: Buffer | None) -> None:
        key = unfinished.key_of(place)
        if not unfinished.is_owned(place, self.token):
            return
        if self._begun:
            place.store.set(key, unfinished.owned(unfinished.mark_of(place), None))
        elif before is None:
            place.store.delete(key)
        else:
            place.store.set(key, before)

    def _take(self, node: Array | Group) -> Buffer | None:
        place, key = node._place, unfinished.key_of(node._place)
        lock = place.format.keys(place.path)[0] if isinstance(node, Array) else key
        before = unfinished.take(place.store, lock, key, self.owner)
        if unfinished.alive(unfinished.owner_of(before)):
            raise unfinished.conflict(place, before)
        self._taken.append((place, before))
        return before
