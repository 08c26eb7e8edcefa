"""What a job has done already, kept in the store that it writes to.

One key holds the fingerprint of the job and, for every part of it, the numbers of the tasks that
are finished. It is written before the job begins, about once a second while it runs and when it is
interrupted, and removed at the end: as long as it is there, the result is not complete. A task
that was finished but not yet written down is done again, so tasks must bear that.

Its size does not depend on the number of tasks. Tasks are handed out in order, so between two
ranges of finished tasks there is one that is under way: a part has no more ranges than tasks in
flight, and one. With 10,000 workers, 20,000 tasks in flight and 10⁹ tasks in all that is 0.5 MB at
the most (`benchmarks/scheduler_simulation.py` measures 0.1 MB). Where writing takes long, the
journal is written less often: that takes a twentieth of the time at the most.

This module knows numbers and one key. It must not know what the numbers stand for.
"""

from __future__ import annotations

import json as standard
import time
from bisect import bisect_right
from collections.abc import Mapping
from typing import Any

from omnizarr.errors import ErrorLocation, MetadataError
from omnizarr.model import json
from omnizarr.model.codec import Json
from omnizarr.model.store import ByteRange, Store

VERSION = 1
SECONDS = 1.0
"""A journal is written no more often than this, except at the beginning and the end."""
SPARING = 20
"""Nor more often than so many times what writing it takes."""
MAX_BYTES = 64 << 20
MAX_TASKS = 1 << 53
"""No task has a larger number."""


class Done:
    """A set of task numbers, kept as ranges: tasks finish nearly in order."""

    def __init__(self, ranges: list[list[int]] | None = None) -> None:
        self._starts = [start for start, _ in ranges or ()]
        self._stops = [stop for _, stop in ranges or ()]

    def __contains__(self, number: int) -> bool:
        place = bisect_right(self._starts, number) - 1
        return place >= 0 and number < self._stops[place]

    def __len__(self) -> int:
        return sum(stop - start for start, stop in self.ranges())

    def add(self, number: int) -> None:
        if number in self:
            return
        place = bisect_right(self._starts, number)
        joins_before = place > 0 and self._stops[place - 1] == number
        joins_behind = place < len(self._starts) and self._starts[place] == number + 1
        if joins_before and joins_behind:
            self._stops[place - 1] = self._stops.pop(place)
            self._starts.pop(place)
        elif joins_before:
            self._stops[place - 1] += 1
        elif joins_behind:
            self._starts[place] -= 1
        else:
            self._starts.insert(place, number)
            self._stops.insert(place, number + 1)

    def ranges(self) -> list[list[int]]:
        return [list(pair) for pair in zip(self._starts, self._stops, strict=True)]


class Journal:
    """The journal of one job. `begin` or `load` first."""

    def __init__(self, store: Store, key: str, job: str, fingerprint: str) -> None:
        self._store, self._key = store, key
        self._job, self._fingerprint = job, fingerprint
        self._done: dict[str, Done] = {}
        self.facts: dict[str, Json] = {}
        """What else the job wants to find again."""
        self._next = 0.0
        self._changed = False

    @property
    def store(self) -> Store:
        return self._store

    @property
    def key(self) -> str:
        return self._key

    def load(self) -> bool:
        """Take over what an earlier run of this very job has done; False if it is another job."""
        found = read(self._store, self._key)
        if found is None:
            return False
        if found.get("job") != self._job or found.get("fingerprint") != self._fingerprint:
            return False
        try:
            self._done = {part: Done(_ranges(value)) for part, value in found["done"].items()}
            self.facts = dict(found["facts"])
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise damaged(self._store, self._key, error) from error
        return True

    def begin(self) -> None:
        """Store the journal before anything else is stored."""
        self._changed = True
        self.flush()

    def begin_alone(self) -> bool:
        """The same where there is no journal yet; False if there is one by now."""
        return self._store.set_if_absent(self._key, self._document())

    def done(self, part: str) -> Done:
        return self._done.setdefault(part, Done())

    def mark(self, part: str, number: int) -> None:
        """A task is finished. It is written down soon."""
        self.done(part).add(number)
        self._changed = True
        if time.monotonic() >= self._next:
            self.flush()

    def note(self, name: str, value: Json) -> None:
        """Write a fact down at once."""
        self.facts[name] = value
        self._changed = True
        self.flush()

    def flush(self) -> None:
        if not self._changed:
            return
        begin = time.monotonic()
        self._store.set(self._key, self._document())
        end = time.monotonic()
        self._next = end + max(SECONDS, SPARING * (end - begin))
        self._changed = False

    def _document(self) -> bytes:
        document = {
            "omnizarr_journal": VERSION,
            "job": self._job,
            "fingerprint": self._fingerprint,
            "facts": json.plain(self.facts),
            "done": {part: done.ranges() for part, done in self._done.items()},
        }
        # Python's own, since thousands of ranges need no look at each number.
        return standard.dumps(document, separators=(",", ":")).encode("ascii")

    def remove(self) -> None:
        """The job is complete."""
        self._store.delete(self._key)


def read(store: Store, key: str) -> Mapping[str, Any] | None:
    """The journal that is stored there, of whatever job; None if there is none. One that cannot be
    read is that of no job."""
    data = store.get(key, ByteRange(0, MAX_BYTES + 1))
    if data is None:
        return None
    try:
        found = json.loads(data, ErrorLocation(key=key))
    except MetadataError:
        return {}
    version = found.get("omnizarr_journal") if isinstance(found, dict) else None
    if not isinstance(found, dict) or type(version) is not int or version != VERSION:
        return {}
    return found


def damaged(store: Store, key: str, problem: object) -> MetadataError:
    """The error for a journal that says what no job has written."""
    found = MetadataError(f"the journal is damaged ({problem})").at(store, key=key)
    return found.advise("{} replaces it and begins anew", ("overwrite", True))


def _ranges(value: Any) -> list[list[int]]:
    last = -1
    for start, stop in value:
        if type(start) is not int or type(stop) is not int or not last < start < stop <= MAX_TASKS:
            raise ValueError(f"no range of tasks: {start!r} to {stop!r}")
        last = stop
    return [[start, stop] for start, stop in value]
