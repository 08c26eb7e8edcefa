"""Close database files before a fork, so that parent and child open them anew.

SQLite and LMDB forbid that a child uses what its parent opened, or even closes it: the locks that
they believe to hold would be wrong. So every use is announced here. A fork waits for the uses of
other threads, then everything idle is closed. A file that is still in use, because the forking
thread itself is reading it, or another thread does not finish in time, is refused in the child.

This module knows forks. It must not know any database.
"""

from __future__ import annotations

import os
import threading
import time
from collections import Counter
from typing import Protocol

from omnizarr.errors import StoreError

# Hooks before a fork run in reverse order: these below first, while those of `forks` hold no lock.
from omnizarr.runtime import forks

PATIENCE = forks.PATIENCE
"""Seconds that a fork waits for other threads."""


class Closing(Protocol):
    def before_fork(self) -> None:
        """Close everything that is idle."""


_changed = threading.Condition()
_forking: set[int] = set()
"""The threads that are about to fork."""
_closing: dict[forks.Reference, None] = {}
_used: Counter[str] = Counter()
"""How often each file is in use."""
_users: Counter[int] = Counter()
"""How many uses each thread has."""
_inherited: set[str] = set()
"""Files that were in use when this process was forked."""


def watch(closing: Closing) -> None:
    """Call `before_fork` before every fork, as long as the object lives."""
    # Without `_changed`: a thread that holds it may wait for a lock of the caller.
    _closing[forks.Reference(closing, _closing.__delitem__)] = None


def was_inherited(path: str) -> bool:
    """Whether the file was in use when this process was forked: it must be left alone."""
    return path in _inherited


class Using:
    """Inside the block no fork takes place in another thread."""

    __slots__ = ("_name", "_process", "_thread")

    def __init__(self, path: str) -> None:
        self._name = path

    def __enter__(self) -> Using:
        self._process = os.getpid()
        self._thread = threading.get_ident()
        with _changed:
            # A thread that is inside already must not wait: the fork waits for it. Nor must the
            # thread that forks, where garbage collection may close a store.
            while _forking and not (_users[self._thread] or self._thread in _forking):
                _changed.wait(PATIENCE)
            if self._name in _inherited:
                raise StoreError(
                    f"{self._name!r} was in use when this process was forked, and cannot be used"
                    " here; fork while nothing reads or writes it, or start processes with 'spawn'"
                )
            _used[self._name] += 1
            _users[self._thread] += 1
        return self

    def __exit__(self, *exc_info: object) -> None:
        if self._process != os.getpid():
            return
        with _changed:
            _used[self._name] -= 1
            _users[self._thread] -= 1
            if not _used[self._name]:
                del _used[self._name]
            if not _users[self._thread]:
                del _users[self._thread]
            if _forking:
                _changed.notify_all()


def _before() -> None:
    own = threading.get_ident()
    deadline = time.monotonic() + PATIENCE
    with _changed:
        _forking.add(own)
        while sum(_used.values()) > _users[own]:
            left = deadline - time.monotonic()
            if left <= 0 or not _changed.wait(left):
                break
        for reference in list(_closing):
            closing = reference()
            if closing is not None:
                closing.before_fork()


def _after_in_parent() -> None:
    with _changed:
        _forking.discard(threading.get_ident())
        _changed.notify_all()


def _after_in_child() -> None:
    global _changed
    _changed = threading.Condition()
    _forking.clear()
    _inherited.update(_used)
    _used.clear()
    _users.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(
        before=_before, after_in_parent=_after_in_parent, after_in_child=_after_in_child
    )
