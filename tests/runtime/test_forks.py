"""Forks in the worst moment: while another thread holds a lock, opens a lock file or imports."""

from __future__ import annotations

import dbm.dumb
import gc
import os
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from threading import get_ident
from typing import Any

import pytest

from omnizarr.engine import locks
from omnizarr.errors import StoreError
from omnizarr.nodes.synchronizers import ThreadSynchronizer
from omnizarr.runtime import forks, optional_packages
from omnizarr.stores import LocalStore, MemoryStore, memory
from omnizarr.stores.databases.dbm import DBMStore
from omnizarr.stores.local import file_lock
from omnizarr.stores.local.containment import Beneath
from omnizarr.stores.wrappers import cache_entries
from omnizarr.stores.wrappers.cache import CacheStore
from omnizarr.stores.wrappers.overlay import OverlayStore
from omnizarr.stores.zip.store import ZipStore
from omnizarr.testing.faults import FaultStore
from omnizarr.testing.latency import LatencyStore
from tests.stores.databases.forking import in_child, needs_fork

pytestmark = needs_fork
fcntl = pytest.importorskip("fcntl")


@contextmanager
def held_elsewhere(lock: AbstractContextManager[Any]) -> Iterator[None]:
    """Another thread holds the lock during the block."""
    held, done = threading.Event(), threading.Event()

    def hold() -> None:
        with lock:
            held.set()
            done.wait(60)

    thread = threading.Thread(target=hold)
    thread.start()
    held.wait(60)
    try:
        yield
    finally:
        done.set()
        thread.join()


def is_free(lock: Any) -> int:
    return 0 if lock.acquire(blocking=False) else 2


LOCKS: dict[str, Callable[[Path], tuple[Any, str]]] = {
    "memory": lambda path: (memory, "_guard"),
    "engine": lambda path: (locks, "_guard"),
    "cache entries": lambda path: (cache_entries, "_guard"),
    "CacheStore": lambda path: (CacheStore(LocalStore(path)), "_guard"),
    "DBMStore": lambda path: (DBMStore(path / "db"), "_guard"),
    "ZipStore": lambda path: (ZipStore(path / "a.zip", mode="w"), "_guard"),
    "ThreadSynchronizer": lambda path: (ThreadSynchronizer(), "_guard"),
    "FaultStore": lambda path: (FaultStore(MemoryStore()), "_guard"),
    "LatencyStore": lambda path: (LatencyStore(MemoryStore(), seconds=0.0), "_wire"),
}


@pytest.mark.parametrize("kind", LOCKS)
def test_a_lock_that_another_thread_holds_is_free_in_the_child(
    kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(forks, "PATIENCE", 0.05)
    owner, name = LOCKS[kind](tmp_path)
    with held_elsewhere(getattr(owner, name)):
        assert in_child(lambda: is_free(getattr(owner, name))) == 0
    assert in_child(lambda: is_free(getattr(owner, name))) == 0
    assert is_free(getattr(owner, name)) == 0, "the parent's own is released after the fork"
    getattr(owner, name).release()


def test_an_environment_of_lmdb_begins_anew(tmp_path: Path) -> None:
    pytest.importorskip("lmdb")
    from omnizarr.stores.databases.lmdb import LMDBStore
    from omnizarr.stores.databases.lmdb_environment import acquire, release

    store = LMDBStore(tmp_path / "a")
    store.set("k", b"1")
    environment = acquire(os.path.realpath(tmp_path / "a"), writable=False, map_size=0, fsync=False)
    try:
        assert in_child(lambda: is_free(environment._changed)) == 0
        assert in_child(lambda: 0 if store.get("k") == b"1" else 2) == 0
    finally:
        release(environment, False)
        store.close()


def test_a_synchronizer_that_another_thread_holds(tmp_path: Path) -> None:
    synchronizer = ThreadSynchronizer()

    def take() -> int:
        with synchronizer["a"]:
            return 0

    with held_elsewhere(synchronizer["a"]):
        assert in_child(take) == 0


# -- lock files -------------------------------------------------------------------------------


def test_a_fork_waits_for_the_open_of_a_lock_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = LocalStore(tmp_path)
    store.set("a", b"1")
    opened = threading.Event()
    files: list[int] = []
    real = os.open

    def slow(*args: Any, **options: Any) -> int:
        files.append(real(*args, **options))
        opened.set()
        time.sleep(0.2)  # as long as a file server may take; nothing else depends on it
        return files[-1]

    class Slow:
        open = staticmethod(slow)

        def __getattr__(self, name: str) -> Any:
            return getattr(os, name)

    monkeypatch.setattr(file_lock, "os", Slow())
    go_on = threading.Event()

    def work() -> None:
        with store.lock("a"):
            go_on.wait(60)

    thread = threading.Thread(target=work)
    thread.start()
    opened.wait(60)

    def is_closed() -> int:
        try:
            os.fstat(files[0])
        except OSError:
            return 0
        return 2

    try:
        assert in_child(is_closed) == 0
    finally:
        go_on.set()
        thread.join()


def test_a_waiter_that_gives_up_unlocks_what_a_child_may_have(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The file that lost its name stays locked by every copy of its descriptor."""
    copies: list[int] = []
    real = file_lock._named

    def named(name: str, file: int) -> os.stat_result | None:
        if not copies:
            copies.append(os.dup(file))
            os.unlink(name)
        return real(name, file)

    monkeypatch.setattr(file_lock, "_named", named)
    with file_lock.FileLock(Beneath(str(tmp_path), True), "", "lock"):
        file = os.open(f"/proc/self/fd/{copies[0]}", os.O_RDWR)
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        finally:
            os.close(file)
            os.close(copies[0])


def test_a_child_of_a_thread_that_holds_a_lock_waits_for_its_parent(tmp_path: Path) -> None:
    """The lock is the parent's: the child neither has it nor ends it."""
    for store in (
        LocalStore(tmp_path / "a"),
        OverlayStore(LocalStore(tmp_path / "b"), LocalStore(tmp_path / "c")),
    ):
        store.set("k", b"1")
        reading, writing = os.pipe()
        with store.lock("k"):
            child = os.fork()
            if child == 0:
                try:
                    os.close(writing)
                    os.read(reading, 1)  # the parent has let go
                    with store.lock("k"):
                        store.set("k", b"2")
                    store.delete("k")
                    store.set("k", b"3")
                    os._exit(0)
                finally:
                    os._exit(1)
            store.set("k", b"parent")
        os.close(writing)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
        os.close(reading)
        assert store.get("k") == b"3"


# -- databases and archives -------------------------------------------------------------------


def test_a_fork_waits_for_a_call_of_dbm(tmp_path: Path) -> None:
    begun = threading.Event()

    def slow(*args: Any) -> Any:
        begun.set()
        time.sleep(0.1)
        return dbm.dumb.open(*args)

    store = DBMStore(tmp_path / "db", open=slow)
    thread = threading.Thread(target=lambda: store.set("k", b"1"))
    thread.start()
    begun.wait(60)
    try:
        assert in_child(lambda: 0 if store.get("k") == b"1" else 2) == 0
    finally:
        thread.join()


def test_an_archive_that_is_being_changed_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(forks, "PATIENCE", 0.05)
    store = ZipStore(tmp_path / "a.zip", mode="w")
    store.set("k", b"1")

    def refused() -> int:
        try:
            store.get("k")
        except StoreError as error:
            return 0 if "forked" in str(error) else 3
        return 2

    with held_elsewhere(store._guard):
        assert in_child(refused) == 0
    assert in_child(lambda: 0 if store.get("k") == b"1" else 2) == 0
    store.close()


def test_a_child_does_not_prolong_the_lock_of_an_archive(tmp_path: Path) -> None:
    path = tmp_path / "a.zip"
    ZipStore(path, mode="w").close()
    store = ZipStore(path, mode="a")
    store.set("k", b"1")
    store.flush()
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(writing)
        os.read(reading, 1)
        os._exit(0)
    store.close()
    with ZipStore(path, mode="a") as again:
        again.set("k", b"2")
    os.close(writing)
    os.close(reading)
    os.waitpid(child, 0)
    with ZipStore(path, mode="r") as closed:
        assert closed.get("k") == b"2"


def test_a_child_that_closes_an_archive_leaves_it_locked(tmp_path: Path) -> None:
    path = tmp_path / "a.zip"
    ZipStore(path, mode="w").close()
    store = ZipStore(path, mode="a")
    store.set("k", b"1")
    store.flush()
    store.set("k", b"2")

    def close() -> int:
        store.close()
        return 0

    assert in_child(close) == 0
    with pytest.raises(StoreError), ZipStore(path, mode="a") as other:
        other.set("k", b"3")
    store.close()


# -- imports ----------------------------------------------------------------------------------


def test_a_fork_waits_for_an_import(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Python never releases the lock of a module that was being imported by another thread."""
    (tmp_path / "imported_while_forking.py").write_text(
        "import sys, time\nsys.flags_of_test.set()\ntime.sleep(0.2)\nvalue = 7\n"
    )
    begun = threading.Event()
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setattr(sys, "flags_of_test", begun, raising=False)

    def load() -> Any:
        return optional_packages.package("imported_while_forking", "all", "a test")

    thread = threading.Thread(target=load)
    thread.start()
    begun.wait(60)
    try:
        assert in_child(lambda: 0 if load().value == 7 else 2) == 0
    finally:
        thread.join()
        sys.modules.pop("imported_while_forking", None)


# -- the helper itself ------------------------------------------------------------------------


def test_names_that_are_first_used_in_an_import_do_not_wait_for_the_fork(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It waits for the import."""
    (tmp_path / "imported_with_names.py").write_text(
        "import sys, time\n"
        "from omnizarr.runtime import forks\n"
        "sys.flags_of_test.set()\n"
        "time.sleep(0.1)\n"  # until the other thread waits to fork
        "with forks.postponed:\n"
        "    value = 7\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    begun = threading.Event()
    monkeypatch.setattr(sys, "flags_of_test", begun, raising=False)
    monkeypatch.setattr(forks, "PATIENCE", 60.0)

    def use() -> Any:
        return optional_packages.package("imported_with_names", "all", "a test")

    thread = threading.Thread(target=use)
    thread.start()
    begun.wait(60)
    start = time.monotonic()
    try:
        assert in_child(lambda: 0 if use().value == 7 else 2) == 0
    finally:
        thread.join()
        sys.modules.pop("imported_with_names", None)
    assert time.monotonic() - start < 50


def test_postponed_blocks_are_nested() -> None:
    with forks.postponed:
        with forks.postponed:
            pass
        assert get_ident() in forks._busy
        assert in_child(lambda: 0 if not forks._busy else 2) == 0
        assert get_ident() in forks._busy
    assert get_ident() not in forks._busy


def test_a_fork_inside_of_postponed_does_not_wait_for_itself() -> None:
    with forks.postponed:
        assert in_child(lambda: 0) == 0
    with forks.postponed:
        pass


def test_a_fork_does_not_wait_for_ever(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(forks, "PATIENCE", 0.05)

    def enter() -> int:
        with forks.postponed:
            return 0

    with held_elsewhere(forks.postponed):
        assert in_child(enter) == 0
    assert enter() == 0


def test_what_is_collected_is_forgotten() -> None:
    class Owner:
        def __init__(self) -> None:
            self.guard = threading.RLock()
            forks.in_child(self.begin)
            forks.wait_for(self, "guard")

        def begin(self) -> None:
            os._exit(3)

    gc.collect()
    before = len(forks._functions), len(forks._locks)
    owner = Owner()
    assert (len(forks._functions), len(forks._locks)) == (before[0] + 1, before[1] + 1)
    assert in_child(lambda: 0) == 3
    del owner
    gc.collect()
    assert (len(forks._functions), len(forks._locks)) == before
    assert in_child(lambda: 0) == 0


def test_forks_of_two_threads() -> None:
    codes: list[int] = []

    def work() -> None:
        codes.extend(in_child(lambda: 0) for _ in range(5))

    threads = [threading.Thread(target=work) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert codes == [0] * 10
