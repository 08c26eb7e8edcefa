"""zarr-python 2's synchronizers, for code that has one.

omnizarr locks every read-modify-write itself: between threads always, between processes where the
store can. A synchronizer given with `synchronizer=` is locked as well.
"""

from __future__ import annotations

import os
import threading
from collections import defaultdict
from contextlib import AbstractContextManager
from typing import Any

from omnizarr.keywords import suggests
from omnizarr.runtime import forks
from omnizarr.stores import LocalStore


class ThreadSynchronizer:
    """A lock per key for the threads of one process.

    Examples
    --------
    >>> a = omnizarr.zeros(10, synchronizer=omnizarr.ThreadSynchronizer())
    >>> a[:5] = 1
    """

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
    """A lock file per key in a folder that all processes share.

    Parameters
    ----------
    path
        The folder; it is created with the first lock.

    Examples
    --------
    >>> import tempfile
    >>> folder = tempfile.mkdtemp()
    >>> a = omnizarr.zeros(10, synchronizer=omnizarr.ProcessSynchronizer(folder))
    >>> a[:5] = 1
    """

    @suggests
    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = os.fspath(path)
        self._store: LocalStore = LocalStore(self.path)

    def __getitem__(self, key: str) -> AbstractContextManager[Any]:
        os.makedirs(self.path, exist_ok=True)
        return self._store.lock(key)
