"""zarr-python 2's synchronizers, for code that brings one.

omnizarr locks every read-modify-write by itself, in the process always and between processes on
local stores. A synchronizer given with `synchronizer=` is held as well.
"""

from __future__ import annotations

import os
import threading
from collections import defaultdict
from contextlib import AbstractContextManager
from typing import Any

from omnizarr.runtime import forks
from omnizarr.stores import LocalStore


class ThreadSynchronizer:
    """A lock per key for the threads of one process."""

    def __init__(self) -> None:
        self._begin()
        forks.in_child(self._begin)

    def _begin(self) -> None:
        self._guard = threading.Lock()
        self._locks: defaultdict[str, threading.RLock] = defaultdict(threading.RLock)

    def __getitem__(self, key: str) -> AbstractContextManager[Any]:
        with self._guard:
            return self._locks[key]

    def __getstate__(self) -> dict[str, Any]:
        return {}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__init__()  # type: ignore[misc]  # locks do not travel


class ProcessSynchronizer:
    """A lock file per key in a directory that all processes share."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = os.fspath(path)
        self._store = LocalStore(self.path)

    def __getitem__(self, key: str) -> AbstractContextManager[Any]:
        os.makedirs(self.path, exist_ok=True)
        return self._store.lock(key)
