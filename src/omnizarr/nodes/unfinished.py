"""Appends that are under way, or that were killed: the mark that they leave in an array.

An append (`jobs.appending`) stores values behind the end of an array before the array grows. While
they are there, the array has a mark: a key beside its document, the journal of the append where it
goes to one array alone. It names the process that owns it. Who changes the shape looks at the mark
under the lock of the document: a living owner is left alone, and what a dead one wrote is deleted
before the array grows, so that it never shows as data.

Whether an owner lives is known on its own machine. Of an owner on another machine it is not.

This module knows marks and processes. It must not know what an append writes.
"""

from __future__ import annotations

import os
import platform
import uuid
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from typing import Any

from omnizarr.engine import update
from omnizarr.errors import ConflictError, ErrorLocation, MetadataError
from omnizarr.model import json, paths
from omnizarr.model.store import Buffer, ByteRange, Store
from omnizarr.nodes.node import NodeAddress
from omnizarr.runtime import forks

KEY = ".omnizarr-append.json"
VERSION = 1
OWNER = "owner"
MAX_BYTES = 64 << 20
_living: set[str] = set()
"""The tokens of what this process owns."""
forks.in_child(_living.clear)


class Unfinished(Exception):
    """There is a mark in the way. It is raised under a lock, where a `ConflictError` would have the
    update repeated; `conflict` gives the error for users."""


@contextmanager
def owning() -> Iterator[str]:
    """A token for marks, which are alive inside the block."""
    token = uuid.uuid4().hex
    _living.add(token)
    try:
        yield token
    finally:
        _living.discard(token)


def is_living(token: str) -> bool:
    """Whether this very process owns a token."""
    return token in _living


def document(facts: Mapping[str, Any]) -> bytes:
    """A mark that is not the journal itself."""
    found = {"omnizarr_journal": VERSION, "job": "append", "fingerprint": "", "facts": dict(facts)}
    return json.dumps({**found, "done": {}}).encode("ascii")


def owner(token: str) -> dict[str, Any]:
    """This process, as a mark names it."""
    pid = os.getpid()
    return {"machine": _machine(), "pid": pid, "started": _started(pid), "token": token}


def owner_of(data: Buffer | None) -> Any:
    return facts_of(data).get(OWNER)


def facts_of(data: Buffer | None) -> dict[str, Any]:
    """The facts of a mark or journal; none if it cannot be read."""
    facts = _parsed(data).get("facts")
    return facts if isinstance(facts, dict) else {}


def owned(data: Buffer | None, by: Mapping[str, Any] | None) -> bytes:
    """The same mark with another owner."""
    found = _parsed(data)
    if not isinstance(found.get("facts"), dict):
        return bytes(data) if data else document({OWNER: by})
    return json.dumps({**found, "facts": {**found["facts"], OWNER: by}}).encode("utf-8")


def _parsed(data: Buffer | None) -> dict[str, Any]:
    try:
        found = json.loads(data or b"", ErrorLocation(key=KEY))
    except MetadataError:
        return {}
    return found if isinstance(found, dict) else {}


def alive(owner: Any) -> bool | None:
    """Whether the owner of a mark still runs; None if that cannot be told here."""
    if not isinstance(owner, Mapping):
        return False
    pid = owner.get("pid")
    if owner.get("machine") != _machine():
        return None
    if type(pid) is not int or not 0 < pid < 1 << 31:
        return False
    if pid == os.getpid():
        return owner.get("token") in _living
    if os.name == "nt":
        return None  # os.kill would end it
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        pass
    return _started(pid) == owner.get("started")


def _machine() -> str:
    """The machine since it was booted, and which processes can be seen from here."""
    parts = [platform.node()]
    with suppress(OSError), open("/proc/sys/kernel/random/boot_id", encoding="ascii") as file:
        parts.append(file.read().strip())
    with suppress(OSError):
        parts.append(os.readlink("/proc/self/ns/pid"))
    return " ".join(parts)


def _started(pid: int) -> str:
    """When a process began, where that is known: another one may have its number later."""
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:
            fields = file.read().rpartition(b")")[2].split()
    except OSError:
        return ""
    return "" if fields[0] in (b"Z", b"X") else fields[19].decode("ascii")


def conflict(place: NodeAddress, data: Buffer | None) -> ConflictError:
    """The error for a mark whose owner lives, or may live."""
    found = owner_of(data)
    who = f"process {found.get('pid')} on {str(found.get('machine'))[:40].partition(' ')[0]}"
    if alive(found) is not None:  # it may have finished since the caller looked
        text = f"{place}: an append is under way ({who}); wait until it has finished"
    else:
        text = (
            f"{place}: an append was begun and is not finished ({who}), and whether it still runs"
            " cannot be told here. The same append finishes it; if it runs no more, a resize of"
            " each of its arrays to its own shape, or omnizarr.sweep with unfinished=True, deletes"
            " what it has written"
        )
    return ConflictError(text).at(place.store, key=key_of(place))


def key_of(place: NodeAddress) -> str:
    return paths.join(place.path, KEY)


def mark_of(place: NodeAddress) -> Buffer | None:
    if place.store.capabilities.hierarchies_only:  # it has no other keys
        return None
    return _read(place.store, key_of(place))


def _read(store: Store, key: str) -> Buffer | None:
    return store.get(key, ByteRange(0, MAX_BYTES + 1))


def check(place: NodeAddress, grows: bool) -> None:
    """Raise `Unfinished` if this array must not change its shape now, or not grow yet."""
    mark = mark_of(place)
    if mark is not None and (grows or alive(owner_of(mark))):
        raise Unfinished


def take(store: Store, lock: str, key: str, by: Mapping[str, Any]) -> Buffer | None:
    """Make a mark one's own under a lock; gives what was there. If its owner lives, nothing is
    changed: `alive` of what was there is True."""

    def taken(held: Store) -> Buffer | None:
        found = _read(held, key)
        if found is None:
            if held.set_if_absent(key, owned(None, by)):
                return None
            found = _read(held, key)  # another process was faster
        if not alive(owner_of(found)):
            held.set(key, owned(found, by))
        return found

    return update(store, lock, taken)


def clear(place: NodeAddress, by: Mapping[str, Any]) -> bool:
    """Take over a mark to delete what its dead owner wrote; the append cannot go on then. Gives
    whether there was a mark. Call it under the lock of the document."""
    mark = mark_of(place)
    if mark is None:
        return False
    if alive(owner_of(mark)) and owner_of(mark).get("token") != by["token"]:
        raise Unfinished
    place.store.set(key_of(place), document({OWNER: by}))
    return True


def is_owned(place: NodeAddress, token: str) -> bool:
    """Whether the mark of an array has this token."""
    found = owner_of(mark_of(place))
    return isinstance(found, Mapping) and found.get("token") == token
