"""Forks of this process: what they wait for, and what a forked child makes anew.

A forked child has one thread, the one that forked. What another thread was doing is half done there
for ever, and a lock that it held is never released. Hence:

* `in_child(function)` calls a function in every forked child, which makes locks anew and forgets
  what belonged to the threads that are gone;
* `wait_for(owner, name)` lets forks wait for a lock, so that the child finds what it protects
  complete;
* `postponed` is a block that no fork of another thread interrupts;
* a fork waits while another thread imports a module for omnizarr, because Python's lock of that
  module would stay locked in the child.

No fork waits longer than `PATIENCE`. Forks that run no Python hooks (`subprocess`) replace the
process at once and need none of this.

This module knows forks. It must not know what is locked.
"""

from __future__ import annotations

import contextlib
import gc
import os
import sys
import threading
import time
import weakref
from collections.abc import Callable
from threading import get_ident
from types import FrameType, MethodType
from typing import Any

PATIENCE = 5.0
"""Seconds that a fork waits for other threads."""
_PAUSE = 0.0002

_gate = threading.RLock()
"""Held by the thread that forks, so that forks come one after the other."""
_forking = 0
"""The thread that is about to fork and waits for nothing but blocks that have begun."""
_busy: dict[int, int] = {}
"""The threads that are inside `postponed`, and how many times."""
_functions: dict[Reference | Callable[[], None], Callable[..., None]] = {}
_locks: dict[Reference, str] = {}
# Both are copied to be iterated over: a garbage collection in between removes entries.
_taken: list[tuple[Any, str]] = []
"""The locks that the forking thread has taken."""


def in_child(function: Callable[[], None]) -> None:
    """Call `function` in every forked child; a bound method, as long as its object lives."""
    if isinstance(function, MethodType):
        _functions[Reference(function.__self__, _functions.__delitem__)] = function.__func__
    else:
        _functions[function] = function


def wait_for(owner: Any, name: str) -> None:
    """Let forks wait for the `RLock` that is the attribute `name` of an object or a module. The
    child gets a new one."""
    _locks[Reference(owner, _locks.__delitem__)] = name


class Reference(weakref.ref[Any]):
    """A weak reference that equals itself alone. As a key of a dict it goes away with its object,
    and no Python code runs then, in which Ctrl-C would be lost: `Reference(x, d.__delitem__)`."""

    __slots__ = ()
    __eq__ = object.__eq__
    __hash__ = object.__hash__


class _Postponed:
    __slots__ = ()

    def __enter__(self) -> None:
        own = get_ident()
        if own in _busy:
            _busy[own] += 1
            return
        _busy[own] = 1
        # Either this thread sees that another one forks, or that one sees this thread; and it waits
        # for the end of an import in which this thread is.
        while _forking not in (0, own) and not _is_importing(sys._getframe()):
            del _busy[own]
            with _gate:
                pass
            _busy[own] = 1

    def __exit__(self, *exc_info: object) -> None:
        own = get_ident()
        depth = _busy.pop(own, 1) - 1  # a child that was forked inside has forgotten it
        if depth:
            _busy[own] = depth


postponed = _Postponed()
"""`with postponed:` is for a few instructions, or an import: a fork in another thread waits for the
end of it."""


def _is_importing(frame: FrameType | None) -> bool:
    """Whether a thread, whose innermost frame this is, imports something that omnizarr needs."""
    importing = False
    while frame is not None:
        name = str(frame.f_globals.get("__name__"))
        if name.startswith("importlib._bootstrap"):
            importing = True
        elif importing and name.partition(".")[0] == "omnizarr":
            return True
        frame = frame.f_back
    return False


def _must_wait(own: int) -> bool:
    return any(thread != own for thread in tuple(_busy)) or any(
        thread != own and _is_importing(frame) for thread, frame in _frames().items()
    )


def _frames() -> dict[int, FrameType]:
    # A garbage collection in the middle of this call locks up Python 3.11.
    enabled = gc.isenabled()
    gc.disable()
    try:
        return sys._current_frames()
    finally:
        if enabled:
            gc.enable()


def _before() -> None:
    global _forking
    deadline = time.monotonic() + PATIENCE
    own = get_ident()
    _gate.acquire()
    for reference, name in _locks.copy().items():
        owner = reference()
        if owner is not None:
            left = max(deadline - time.monotonic(), 0.0)
            if getattr(owner, name).acquire(timeout=left):
                _taken.append((owner, name))
    _forking = own
    while _must_wait(own) and time.monotonic() < deadline:
        time.sleep(_PAUSE)


def _after_in_parent() -> None:
    global _forking
    _forking = 0
    while _taken:
        owner, name = _taken.pop()
        getattr(owner, name).release()
    with contextlib.suppress(RuntimeError):  # Ctrl-C may have come before it was acquired
        _gate.release()


def _after_in_child() -> None:
    global _forking, _gate
    _forking, _gate = 0, threading.RLock()
    _busy.clear()
    for key, function in _functions.copy().items():
        if not isinstance(key, Reference):
            function()
        elif (owner := key()) is not None:
            function(owner)
    for reference, name in _locks.copy().items():
        owner = reference()
        if owner is not None:
            setattr(owner, name, threading.RLock())
    _taken.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(
        before=_before, after_in_parent=_after_in_parent, after_in_child=_after_in_child
    )
