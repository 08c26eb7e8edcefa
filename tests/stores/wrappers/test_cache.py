"""The cache around a store, in memory and in a folder."""

from __future__ import annotations

import os
import pickle
import stat
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import omnizarr
from omnizarr.errors import StoreError, ValueChangedError
from omnizarr.model.store import Capabilities, Versioned, read_range
from omnizarr.stores import (
    ByteRange,
    CacheStore,
    LocalStore,
    LRUStoreCache,
    MemoryStore,
    OverlayStore,
    PrefixStore,
    Store,
    as_store,
)
from omnizarr.stores.local import files
from omnizarr.stores.wrappers.cache_entries import CacheEntry, FolderEntries, MemoryEntries
from omnizarr.testing import CountingStore, FaultStore, StoreSuite
from omnizarr.testing.store_cases import in_threads, some

pytestmark = pytest.mark.slow

_guard = threading.Lock()


class Versions(MemoryStore):
    """A store with versions, as a service with ETags has them."""

    capabilities = Capabilities(versions=True, conditional=True, requests=4)

    def __init__(self, mapping: dict[str, bytes] | None = None) -> None:
        super().__init__()
        self._revisions: dict[str, int] = {}
        for key, value in (mapping or {}).items():
            self.set(key, value)

    def set(self, key: str, value: Any) -> None:
        with _guard:
            super().set(key, value)
            self._revisions[key] = self._revisions.get(key, 0) + 1

    def set_if_absent(self, key: str, value: Any) -> bool:
        return self.set_if_version(key, value, None)

    def get_versioned(self, key: str, byte_range: ByteRange | None = None) -> Versioned | None:
        with _guard:
            value, revision = self.get(key), self._revisions.get(key, 0)
        if value is None:
            return None
        return Versioned(read_range(value, byte_range), f'"{revision}"')

    def set_if_version(self, key: str, value: Any, version: object) -> bool:
        self.get(key)  # a key is looked at before anything else
        with _guard:
            there = key in self._values
            now = f'"{self._revisions.get(key, 0)}"' if there else None
            if now != version:
                return False
            self._values[key] = bytes(value)
            self._revisions[key] = self._revisions.get(key, 0) + 1
            return True


@pytest.fixture
def settled(monkeypatch: pytest.MonkeyPatch) -> None:
    """Files are trusted a moment after they were written; tests need not wait longer."""
    monkeypatch.setattr(files, "SETTLED", 0.05)


def local(folder: Path, values: dict[str, bytes] | None = None) -> LocalStore:
    store = LocalStore(folder)
    for key, value in (values or {}).items():
        store.set(key, value)
    time.sleep(0.1)
    return store


# -- the suite ------------------------------------------------------------------------------------
class TestOverVersions(StoreSuite):
    many_keys = 2000

    def make_store(self, folder: Path) -> Store:
        return CacheStore(Versions())


class TestOverVersionsOnDisk(StoreSuite):
    many_keys = 1000
    large_bytes = 1 << 21

    def make_store(self, folder: Path) -> Store:
        return CacheStore(Versions(), folder=folder / "cache")


class TestOverLocal(StoreSuite):
    many_keys = 1000

    @pytest.fixture(autouse=True)
    def at_once(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(files, "SETTLED", 0.0)

    def make_store(self, folder: Path) -> Store:
        return CacheStore(LocalStore(folder / "values"))

    def reopen(self, store: Store) -> Store:
        assert isinstance(store, CacheStore) and isinstance(store.store, LocalStore)
        return CacheStore(LocalStore(store.store.path))


class TestNeverValidatedOnDisk(StoreSuite):
    many_keys = 500
    large_bytes = 1 << 21

    def make_store(self, folder: Path) -> Store:
        return CacheStore(LocalStore(folder / "values"), validate="never", folder=folder / "cache")


class TestAged(StoreSuite):
    many_keys = 1000

    def make_store(self, folder: Path) -> Store:
        return CacheStore(MemoryStore(), validate="age", max_age=60)


class TestLRUStoreCache(StoreSuite):
    many_keys = 500

    def make_store(self, folder: Path) -> Store:
        return LRUStoreCache(MemoryStore(), max_size=1 << 20)


# -- requests to the store ------------------------------------------------------------------------
@pytest.fixture(params=["memory", "folder"])
def cached(request: pytest.FixtureRequest, tmp_path: Path) -> Callable[..., CacheStore]:
    def make(store: Store, **options: Any) -> CacheStore:
        folder = tmp_path / "cache" if request.param == "folder" else None
        return CacheStore(store, folder=folder, **options)

    return make


def test_a_value_is_read_once_and_confirmed(cached: Callable[..., CacheStore]) -> None:
    inner = CountingStore(Versions({"a": b"0123456789"}))
    store = cached(inner)
    for _ in range(3):
        assert some(store.get("a")) == b"0123456789"
    assert inner.counts == {"get": 1, "version": 2}
    assert (store.hits, store.misses) == (2, 1)
    assert some(store.get("a", ByteRange(-3))) == b"789", "cut from what is there"
    assert inner.counts == {"get": 1, "version": 3}


def test_what_the_engine_asks_for_is_kept_whole(cached: Callable[..., CacheStore]) -> None:
    inner = CountingStore(Versions({"a": b"0123456789"}))
    store = cached(inner)
    assert some(store.get("a", ByteRange(0, 11))) == b"0123456789"
    for part in (None, ByteRange(0, 100), ByteRange(3, 5), ByteRange(-4), ByteRange(20, 30)):
        start, stop = part or (0, None)
        assert some(store.get("a", part)) == b"0123456789"[start:stop]
    assert inner.counts["get"] == 1


def test_ranges_are_entries_of_their_own(cached: Callable[..., CacheStore]) -> None:
    inner = CountingStore(Versions({"a": b"0123456789"}))
    store = cached(inner)
    for _ in range(2):
        assert some(store.get("a", ByteRange(2, 5))) == b"234"
        assert some(store.get("a", ByteRange(-2))) == b"89"
        assert some(store.get("a", ByteRange(0, 10))) == b"0123456789"
    assert inner.counts["get"] == 3


def test_a_change_by_another_program_is_seen_at_once(cached: Callable[..., CacheStore]) -> None:
    inner = Versions({"a": b"old"})
    store = cached(inner)
    for value in (b"old", b"new", b"", b"newer"):
        inner.set("a", value)
        assert some(store.get("a")) == value
        assert some(store.get("a", ByteRange(0, 2))) == value[:2]
        assert [bytes(v or b"") for v in store.get_many([("a", None), ("b", None)])] == [value, b""]
    inner.delete("a")
    assert store.get("a") is None
    assert store.get("a", ByteRange(0, 2)) is None
    inner.set("a", b"back")
    assert some(store.get("a")) == b"back"


def test_local_files(tmp_path: Path, cached: Callable[..., CacheStore], settled: None) -> None:
    inner = CountingStore(local(tmp_path / "values", {"a": b"old", "b": b"x"}))
    store = cached(inner)
    for _ in range(3):
        assert some(store.get("a")) == b"old"
    assert inner.counts["get"] == 1
    path = tmp_path / "values" / "a"
    for value in (b"new", b"abc", b"xyz"):  # of the same length, in place, at once
        path.write_bytes(value)
        assert some(store.get("a")) == value
    times = path.stat().st_atime_ns, path.stat().st_mtime_ns
    time.sleep(0.1)
    assert some(store.get("a")) == b"xyz"
    path.write_bytes(b"XYZ")
    os.utime(path, ns=times)
    assert some(store.get("a")) == b"XYZ", "a time that was set back is seen too"
    path.unlink()
    assert store.get("a") is None


def test_a_file_that_was_just_written_is_not_trusted(tmp_path: Path) -> None:
    store = LocalStore(tmp_path)
    store.set("a", b"1")
    assert store.version("a") != store.version("a")
    cache = CacheStore(CountingStore(store))
    assert some(cache.get("a")) == some(cache.get("a")) == b"1"
    assert (cache.hits, cache.misses) == (0, 2)
    assert store.version("none") is None


def test_age(cached: Callable[..., CacheStore], monkeypatch: pytest.MonkeyPatch) -> None:
    now = [1000.0]
    monkeypatch.setattr("omnizarr.stores.wrappers.cache.time.time", lambda: now[0])
    for plain in (Versions({"a": b"old"}), MemoryStore({"a": b"old"})):
        inner = CountingStore(plain)
        store = cached(inner, validate="age", max_age=10)
        assert some(store.get("a")) == b"old"
        assert store.get("b") is None
        plain.set("a", b"new")
        plain.set("b", b"new")
        now[0] += 9
        assert some(store.get("a")) == b"old", "as old as was allowed"
        assert store.get("b") is None
        assert inner.counts == {"get": 2}
        assert store.size("a") == 3 and store.size("b") is None
        now[0] += 2
        assert some(store.get("a")) == b"new"
        assert some(store.get("b")) == b"new"
        now[0] -= 500  # a clock that goes back makes nothing young
        plain.set("a", b"last")
        assert some(store.get("a")) == b"last"
        now[0] += 1000


def test_age_is_renewed_by_asking(
    cached: Callable[..., CacheStore], monkeypatch: pytest.MonkeyPatch
) -> None:
    now = [1000.0]
    monkeypatch.setattr("omnizarr.stores.wrappers.cache.time.time", lambda: now[0])
    inner = CountingStore(Versions({"a": b"value"}))
    store = cached(inner, validate="age", max_age=10)
    for _ in range(4):
        assert some(store.get("a")) == b"value"
        now[0] += 6
    assert inner.counts == {"get": 1, "version": 1}


def test_never(cached: Callable[..., CacheStore]) -> None:
    plain = MemoryStore({"a": b"old"})
    inner = CountingStore(plain)
    store = cached(inner, validate="never")
    assert store.get_many([("a", None), ("b", None)]) == [b"old", None]
    plain.set("a", b"new")
    assert some(store.get("a")) == b"old"
    assert store.get("b") is None
    assert inner.counts == {"get": 2}
    store.set("b", b"mine")
    assert some(store.get("b")) == b"mine", "what goes through the cache is seen"
    store.set("a", b"mine")
    store.get("a", ByteRange(0, 2))
    store.delete("a")
    assert store.get("a") is None and store.get("a", ByteRange(0, 2)) is None
    store.set("p/a", b"1")
    assert some(store.get("p/a")) == b"1"
    store.delete_prefix("p/")
    assert store.get("p/a") is None
    store.invalidate()
    assert some(store.get("b")) == b"mine"


def test_a_store_without_versions_must_be_told() -> None:
    with pytest.raises(StoreError, match="validate='age'"):
        CacheStore(MemoryStore())
    for wrong in ({"validate": "age"}, {"max_age": 3}, {"validate": "often"}, {"max_bytes": -1}):
        with pytest.raises(ValueError):
            CacheStore(Versions(), **wrong)  # type: ignore[arg-type]


# -- faults and changes meanwhile -----------------------------------------------------------------
def test_faults_are_not_kept(cached: Callable[..., CacheStore]) -> None:
    for validate, options in (("always", {}), ("age", {"max_age": 60}), ("never", {})):
        faulty = FaultStore(Versions({"a": b"value"}))
        store = cached(faulty, validate=validate, **options)
        for operation in ("get", "version"):
            faulty.fail(operation, StoreError("down"), times=2)
        for _ in range(2):
            with pytest.raises(StoreError, match="down"):
                store.get_many([("a", None)])
        assert some(store.get("a")) == b"value"
        faulty.heal()
        if validate == "always":
            faulty.fail("version", StoreError("down"))
            with pytest.raises(StoreError, match="down"):
                store.get("a")
        assert some(store.get("a")) == b"value"
        store.invalidate()


@pytest.mark.parametrize("options", [{"validate": "never"}, {"validate": "age", "max_age": 60}])
def test_a_read_that_a_write_overtakes_is_not_kept(
    cached: Callable[..., CacheStore], options: dict[str, Any]
) -> None:
    class Slow(MemoryStore):
        def get(self, key: str, byte_range: ByteRange | None = None) -> Any:
            value = super().get(key, byte_range)
            if key == "a" and not began.is_set():
                began.set()
                overtaken.wait(10)
            return value

    began, overtaken = threading.Event(), threading.Event()
    for read in (lambda store: store.get("a"), lambda store: store.get_many([("a", None)])[0]):
        began.clear()
        overtaken.clear()
        store = cached(Slow({"a": b"old"}), **options)
        found: list[object] = []
        reader = threading.Thread(target=lambda: found.append(read(store)))  # noqa: B023
        reader.start()
        began.wait(10)
        store.set("a", b"new")
        overtaken.set()
        reader.join()
        assert found == [b"old"], "it was the value when the read began"
        assert some(store.get("a")) == b"new"


@pytest.mark.parametrize("change", ["set", "delete_prefix"])
def test_an_outdated_entry_is_never_seen_after_a_write(change: str) -> None:
    """Not even for the moment between keeping it and finding that it is outdated."""
    store = CacheStore(MemoryStore({"a/b": b"old"}), validate="never")
    entries = store._entries
    keeping, changed, kept = threading.Event(), threading.Event(), threading.Event()

    class Slow(MemoryEntries):
        def put(self, key: str, part: str, entry: CacheEntry) -> None:
            if threading.current_thread() is reader:
                keeping.set()
                changed.wait(0.3)
            entries.put(key, part, entry)
            kept.set()

        def drop(self, key: str) -> None:
            if threading.current_thread() is reader:
                time.sleep(0.3)
            entries.drop(key)

        def get(self, key: str, part: str) -> CacheEntry | None:
            return entries.get(key, part)

        def clear(self) -> None:
            entries.clear()

    store._entries = Slow(store.max_bytes)
    reader = threading.Thread(target=lambda: store.get("a/b"))
    reader.start()
    keeping.wait(10)
    if change == "set":
        store.set("a/b", b"new")
    else:
        store.delete_prefix("a/")
    changed.set()
    kept.wait(10)
    assert store.get("a/b") == (b"new" if change == "set" else None)
    reader.join()


def test_a_failed_write_is_forgotten(cached: Callable[..., CacheStore]) -> None:
    faulty = FaultStore(MemoryStore({"a": b"old"}))
    store = cached(faulty, validate="never")
    assert some(store.get("a")) == b"old"

    class Lost(StoreError):
        pass

    faulty.store.set("a", b"new")  # the write went through, its answer was lost
    faulty.fail("set", Lost("no answer"))
    with pytest.raises(Lost):
        store.set("a", b"new")
    assert some(store.get("a")) == b"new"


# -- snapshots ------------------------------------------------------------------------------------
def test_a_snapshot_asks_once_and_is_of_one_version(cached: Callable[..., CacheStore]) -> None:
    plain = Versions({"a": bytes(range(100))})
    inner = CountingStore(plain)
    store = cached(inner)
    parts = (ByteRange(-10), ByteRange(0, 10), ByteRange(40, 50))
    for _ in range(2):
        with store.snapshot("a") as read:
            assert [some(read(part)) for part in parts] == [
                bytes(range(90, 100)),
                bytes(range(10)),
                bytes(range(40, 50)),
            ]
    assert inner.counts == {"get": 3, "version": 1}
    with store.snapshot("a") as read:
        read(parts[0])
        plain.set("a", bytes(100))
        assert some(read(parts[1])) == bytes(range(10)), "kept, and of the version begun with"
        with pytest.raises(ValueChangedError):
            read(ByteRange(60, 70))
    with store.snapshot("none") as read:
        assert read(parts[0]) is None
        assert read(parts[1]) is None


def test_a_snapshot_of_local_files(
    tmp_path: Path, cached: Callable[..., CacheStore], settled: None
) -> None:
    inner = CountingStore(local(tmp_path / "values", {"a": bytes(range(100))}))
    store = cached(inner)
    for _ in range(2):
        with store.snapshot("a") as read:
            assert some(read(ByteRange(-10))) == bytes(range(90, 100))
            assert some(read(ByteRange(5, 7))) == bytes((5, 6))
    assert inner.counts["get"] == 2
    with store.snapshot("a") as read:
        first = some(read(ByteRange(-10)))
        inner.set("a", bytes(100))
        assert some(read(ByteRange(5, 7))) == bytes((5, 6))
        assert some(read(ByteRange(20, 22))) == bytes((20, 21)), "the file that was opened"
    assert first == bytes(range(90, 100))
    with store.snapshot("a") as read:
        assert some(read(ByteRange(5, 7))) == bytes(2)


def test_a_snapshot_without_versions() -> None:
    plain = MemoryStore({"a": bytes(range(100))})
    store = CacheStore(plain, validate="age", max_age=60)
    assert some(store.get("a", ByteRange(-10))) == bytes(range(90, 100))
    plain.set("a", bytes(100))
    with store.snapshot("a") as read:
        assert some(read(ByteRange(-10))) == bytes(10), "kept ranges may be of several versions"
    assert some(store.get("a")) == bytes(100)
    plain.set("a", b"x")
    with store.snapshot("a") as read:
        assert some(read(ByteRange(-10))) == bytes(10)


@settings(max_examples=40, deadline=None)
@given(
    st.lists(
        st.tuples(
            st.sampled_from(["write", "other", "delete", "get", "snapshot", "pass"]),
            st.sampled_from(["a", "b"]),
            st.integers(0, 255),
            st.sampled_from([None, ByteRange(0, 4), ByteRange(-3), ByteRange(0, 99)]),
        ),
        max_size=25,
    ),
    st.integers(0, 2000),
)
def test_a_confirmed_cache_is_never_wrong(steps: list[Any], room: int) -> None:
    plain = Versions()
    store = CacheStore(plain, max_bytes=room)
    model: dict[str, bytes] = {}
    for step, key, number, part in steps:
        value = bytes([number]) * (number % 12)
        if step in ("write", "other"):
            (store if step == "write" else plain).set(key, value)
            model[key] = value
        elif step == "delete":
            plain.delete(key)
            model.pop(key, None)
        elif step == "snapshot":
            with store.snapshot(key) as read:
                found = [read(part), read(ByteRange(0, 2)), read(None)]
            wanted = model.get(key)
            assert [None if f is None else bytes(f) for f in found] == [
                None if wanted is None else bytes(read_range(wanted, r))
                for r in (part, ByteRange(0, 2), None)
            ]
        found_now = store.get(key, part)
        wanted = model.get(key)
        assert (None if found_now is None else bytes(found_now)) == (
            None if wanted is None else bytes(read_range(wanted, part))
        )


# -- safe updates ---------------------------------------------------------------------------------
def test_what_is_changed_under_a_lock_is_read_afresh(tmp_path: Path) -> None:
    plain = LocalStore(tmp_path)
    store = CacheStore(plain, validate="age", max_age=1000)
    plain.set("n", b"1")
    assert some(store.get("n")) == b"1"
    plain.set("n", b"2")
    assert some(store.get("n")) == b"1", "an age was chosen"
    with store.lock("n"):
        assert some(store.get("n")) == b"2"
        store.set("n", b"3")
    assert some(plain.get("n")) == b"3"
    assert some(store.get("n")) == b"3"


def test_two_caches_update_one_array(tmp_path: Path) -> None:
    for make in (lambda: LocalStore(tmp_path), lambda plain=Versions(): plain):  # noqa: B008
        omnizarr.create_array(make(), shape=8, chunks=8, dtype="i8", fill_value=0, overwrite=True)
        arrays = [omnizarr.open_array(CacheStore(make()), mode="r+") for _ in range(2)]

        def work(worker: int, arrays: list[Any] = arrays) -> None:
            for turn in range(10):
                arrays[worker % 2][worker] = turn

        in_threads(work, 4)
        for array in arrays:
            assert array[...].tolist() == [9] * 4 + [0] * 4


# -- bounds, threads, processes -------------------------------------------------------------------
def test_the_bound_is_kept() -> None:
    entries = MemoryEntries(10_000)
    for i in range(1000):
        entries.put(f"k{i}", "", CacheEntry(bytes(100), b"", 0.0))
        assert entries.nbytes <= 10_000
        entries.get("k0", "")
    assert entries.get("k0", "") is not None, "used all the time"
    assert entries.get("k1", "") is None
    entries.put("large", "", CacheEntry(bytes(20_000), b"", 0.0))
    assert entries.get("large", "") is None
    entries.clear()
    assert entries.nbytes == 0


def test_the_bound_of_a_folder_is_kept(tmp_path: Path) -> None:
    entries = FolderEntries(str(tmp_path), 50_000)

    def size() -> int:
        return sum(path.stat().st_size for path in tmp_path.rglob("*") if path.is_file())

    for i in range(200):
        entries.put(f"k{i}", "", CacheEntry(bytes(1000), b"", 0.0))
        assert size() <= 50_000 + 1200
    assert size() > 30_000
    assert entries.get("k199", "") is not None
    assert entries.get("k0", "") is None
    entries.clear()
    assert size() == 0


def test_only_the_user_can_look_into_the_folder(tmp_path: Path) -> None:
    folder = tmp_path / "new" / "cache"
    secret = "bucket/secret-name"
    store = CacheStore(Versions({secret: b"value"}), folder=folder)
    assert some(store.get(secret)) == b"value"
    (made,) = folder.iterdir()
    assert stat.S_IMODE(made.stat().st_mode) == 0o700
    assert not [path for path in folder.rglob("*") if "secret" in path.name]
    made.chmod(0o777)
    CacheStore(Versions(), folder=folder)
    assert stat.S_IMODE(made.stat().st_mode) == 0o700
    os.rename(made, tmp_path / "elsewhere")
    made.symlink_to(tmp_path / "elsewhere")
    with pytest.raises(StoreError, match="another user"):
        CacheStore(Versions(), folder=folder)


def damaged(data: bytes) -> Iterator[bytes]:
    yield b""
    yield data[:-1]
    yield data[: len(data) // 2]
    yield data + b"x"
    for position in range(0, len(data), 7):
        yield data[:position] + bytes([data[position] ^ 1]) + data[position + 1 :]


def test_a_damaged_entry_is_no_entry(tmp_path: Path) -> None:
    inner = CountingStore(Versions({"a": b"the value", "b": b"another"}))
    store = CacheStore(inner, folder=tmp_path)
    store.get("a")
    (path,) = [path for path in tmp_path.rglob("*") if path.is_file()]
    data = path.read_bytes()
    for wrong in damaged(data):
        path.write_bytes(wrong)
        inner.reset()
        assert some(store.get("a")) == b"the value"
        assert inner.counts == {"get": 1}
    store.get("b")
    (other,) = [p for p in tmp_path.rglob("*") if p.is_file() and p != path]
    other.write_bytes(data)  # a whole entry, under the name of another
    assert some(store.get("b")) == b"another"


def test_two_stores_share_a_folder(tmp_path: Path) -> None:
    first, second = local(tmp_path / "1", {"a": b"1"}), local(tmp_path / "2", {"a": b"2"})
    stores = [
        CacheStore(store, folder=tmp_path / "cache", validate="never")
        for store in (first, second, MemoryStore({"a": b"3"}), MemoryStore({"a": b"4"}))
    ]
    stores.append(CacheStore(PrefixStore(first, "p"), folder=tmp_path / "cache", validate="never"))
    over = OverlayStore(MemoryStore({"a": b"5"}), first)
    stores.append(CacheStore(over, folder=tmp_path / "cache", validate="never"))
    for _ in range(2):
        assert [store.get("a") for store in stores] == [b"1", b"2", b"3", b"4", None, b"5"]


PROGRAM = """
import pickle, sys
store = pickle.load(sys.stdin.buffer)
values = [bytes(store.get(f"k{i}")) for i in range(50)]
assert values == [bytes([i]) * 1000 for i in range(50)]
print(store.hits, store.misses)
"""


def in_another_process(store: Store) -> str:
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(p for p in sys.path if p)}
    result = subprocess.run(
        [sys.executable, "-c", PROGRAM],
        input=pickle.dumps(store),
        capture_output=True,
        env=environment,
    )
    assert result.stderr == b""
    return result.stdout.decode().strip()


def test_processes_share_a_folder(tmp_path: Path) -> None:
    inner = LocalStore(tmp_path / "values")
    for i in range(50):
        inner.set(f"k{i}", bytes([i]) * 1000)
    time.sleep(files.SETTLED + 0.2)
    store = CacheStore(inner, folder=tmp_path / "cache")
    assert in_another_process(store) == "0 50"
    assert in_another_process(store) == "50 0"
    assert some(store.get("k7")) == bytes([7]) * 1000
    assert (store.hits, store.misses) == (1, 0)
    in_memory = CacheStore(inner)
    in_memory.get("k7")
    assert in_another_process(in_memory) == "0 51", "the content does not travel; the counts do"


CROWD = """
import sys
from omnizarr.stores.wrappers.cache_entries import CacheEntry, FolderEntries
entries = FolderEntries(sys.argv[1], 60_000)
for turn in range(1500):
    number = turn * 7 % 100
    value = bytes([number]) * 2000
    found = entries.get(f"k{number}", "")
    assert found is None or bytes(found.value) == value, "wrong data"
    if found is None or turn % 3 == 0:
        entries.put(f"k{number}", "", CacheEntry(value, b"v" * 20, 0.0))
    if turn % 11 == 0:
        entries.drop(f"k{number}")
"""


def test_processes_crowd_a_folder(tmp_path: Path) -> None:
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(p for p in sys.path if p)}
    command = [sys.executable, "-c", CROWD, str(tmp_path)]
    crowd = [subprocess.Popen(command, env=environment, stderr=subprocess.PIPE) for _ in range(3)]
    assert [(process.communicate()[1], process.returncode) for process in crowd] == [(b"", 0)] * 3
    left = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert sum(path.stat().st_size for path in left) <= 60_000 * (1 + 3 / 8) + 3 * 2200
    assert not [path for path in left if path.name.startswith(".~")]


def test_threads_read_one_cache() -> None:
    values = {f"k{i}": bytes([i]) * 500 for i in range(50)}
    store = CacheStore(Versions(values), max_bytes=12_000)

    def work(worker: int) -> None:
        for turn in range(200):
            key = f"k{(turn * (worker + 3)) % 50}"
            assert some(store.get(key)) == values[key]
            with store.snapshot(key) as read:
                assert some(read(ByteRange(-3))) == values[key][-3:]

    in_threads(work, 6)
    assert store.hits + store.misses == 6 * 200 * 2
    assert isinstance(store._entries, MemoryEntries) and store._entries.nbytes <= 12_000


def test_nothing_is_given_after_closing() -> None:
    store = CacheStore(MemoryStore({"a": b"1"}), validate="never")
    store.get("a")
    store.close()
    store.store.set("a", b"2")
    assert some(store.get("a")) == b"2"


def test_the_old_name() -> None:
    plain = {"a": b"12345"}
    store = LRUStoreCache(plain, max_size=None)
    assert store["a"] == store["a"] == b"12345"
    assert (store.hits, store.misses) == (1, 1)
    plain["a"] = b"x"
    store.invalidate_keys()
    assert store["a"] == b"12345"
    store.invalidate_values()
    assert store["a"] == b"x"
    assert "a" in store and list(store) == ["a"]


@pytest.mark.parametrize("shards", [None, (20, 20)])
def test_arrays_are_read_once(tmp_path: Path, shards: tuple[int, int] | None) -> None:
    data = np.arange(1600).reshape(40, 40)
    plain = Versions()
    omnizarr.create_array(plain, shape=(40, 40), chunks=(10, 10), shards=shards, dtype=data.dtype)[
        ...
    ] = data
    inner = CountingStore(plain)
    store = CacheStore(inner, folder=tmp_path)
    array = omnizarr.open_array(store, mode="r")
    np.testing.assert_array_equal(array[5:25, 5:25], data[5:25, 5:25])
    inner.reset()
    np.testing.assert_array_equal(array[5:25, 5:25], data[5:25, 5:25])
    assert inner.counts["get"] == 0
    assert inner.counts["version"] <= (4 if shards else 9)
    plain_array = omnizarr.open_array(plain, mode="r+")
    plain_array[5:25, 5:25] = -1
    assert (array[5:25, 5:25] == -1).all()


# -- real servers ---------------------------------------------------------------------------------
def test_a_web_server_is_asked_for_what_changed(
    server: Callable[[str], Any], tmp_path: Path
) -> None:
    from omnizarr.stores import HTTPStore

    nginx = server("nginx")
    folder = nginx.root / f"cache-{tmp_path.name}"
    folder.mkdir()
    (folder / "a").write_bytes(bytes(range(200)))
    os.utime(folder / "a", (10**9, 10**9))  # what was just written has no version yet
    inner = CountingStore(HTTPStore(f"{nginx.urls['plain']}/{folder.name}"))
    with CacheStore(inner, folder=tmp_path) as store:
        for _ in range(3):
            assert some(store.get("a", ByteRange(0, 1000))) == bytes(range(200))
            assert store.get("none") is None
        assert inner.counts == {"get": 4, "version": 2}
        (folder / "a").write_bytes(b"changed")
        assert some(store.get("a")) == b"changed"
        with store.snapshot("a") as read:
            assert some(read(ByteRange(-3))) == b"ged"
            (folder / "a").write_bytes(b"longer than before")
            with pytest.raises(ValueChangedError):
                store._entries.clear()
                read(ByteRange(0, 2))
        (folder / "a").unlink()
        assert store.get("a") is None


def test_an_object_store_is_asked_for_what_changed(
    server: Callable[[str], Any], tmp_path: Path
) -> None:
    s3 = server("s3")
    url = f"s3://{s3.bucket}/cache-{tmp_path.name}"
    data = np.arange(1600).reshape(40, 40)
    options = {"storage_options": s3.options}
    array = omnizarr.create_array(
        url, shape=(40, 40), chunks=(10, 10), shards=(20, 20), dtype="i8", **options
    )
    array[...] = data
    inner = CountingStore(as_store(url, **options))
    with CacheStore(inner) as store:
        cached = omnizarr.open_array(store, mode="r+")
        np.testing.assert_array_equal(cached[5:25, 5:25], data[5:25, 5:25])
        inner.reset()
        np.testing.assert_array_equal(cached[5:25, 5:25], data[5:25, 5:25])
        assert inner.counts == {"version": 4}, "one look at each of four shards"
        array[7, 7] = -1
        assert cached[7, 7] == -1
        cached[8, 8] = -2
        assert array[8, 8] == cached[8, 8] == -2


# -- what versions do not tell ------------------------------------------------------------------


class NeverEqual:
    """A version that is equal to nothing, not even to itself; its repr says nothing of that."""

    __hash__ = object.__hash__

    def __eq__(self, other: object) -> bool:
        return False

    def __repr__(self) -> str:
        return "never"


class Untold(Versions):
    """A server without ETags: only whole values have a version, their content."""

    def get_versioned(self, key: str, byte_range: ByteRange | None = None) -> Versioned | None:
        value = self.get(key)
        if value is None:
            return None
        if byte_range is None:
            return Versioned(value, value)
        return Versioned(read_range(value, byte_range), (NeverEqual(), 1))


@pytest.mark.parametrize("part", [None, ByteRange(0, 2)], ids=["whole", "part"])
def test_what_has_no_version_is_read_as_without_a_cache(part: ByteRange | None) -> None:
    inner = CountingStore(Untold({"k": b"value"}))
    store = CacheStore(inner)
    for number in range(10):
        value = b"value%d" % number
        inner.store.set("k", value)
        assert some(store.get("k", part)) == some(inner.store.get("k", part))
    assert store.hits == 0
    assert sum(inner.counts.values()) <= 11  # one question shows that asking is in vain


def test_parts_of_what_has_no_version_are_read_through_the_store() -> None:
    inner = Untold({"k": b"value"})
    store = CacheStore(inner)
    for _ in range(2):
        with store.snapshot("k") as read:
            assert some(read(ByteRange(0, 2))) == b"va"
            assert some(read(ByteRange(2, 5))) == b"lue"


def test_a_replaced_value_is_met_once_whatever_its_age() -> None:
    inner = Versions({"k": b"old old"})
    store = CacheStore(inner, validate="age", max_age=1000)
    with store.snapshot("k") as read:
        assert some(read(ByteRange(0, 3))) == b"old"
    inner.set("k", b"new new")
    with store.snapshot("k") as read, pytest.raises(ValueChangedError):
        assert some(read(ByteRange(0, 3))) == b"old"
        read(ByteRange(4, 7))
    with store.snapshot("k") as read:
        assert [some(read(ByteRange(*part))) for part in ((0, 3), (4, 7))] == [b"new", b"new"]


def test_a_shard_that_was_replaced_is_read_whatever_its_age() -> None:
    inner = Versions()
    array = omnizarr.create_array(inner, shape=64, chunks=8, shards=64, dtype="i4")
    array[:] = 1
    cached = omnizarr.open_array(CacheStore(inner, validate="age", max_age=1000), mode="r")
    assert set(cached[0:8].tolist()) == {1}
    array[:] = 2
    assert set(cached[8:16].tolist()) == {2}
    assert set(cached[:].tolist()) == {2}


def test_inside_a_lock_no_key_is_read_from_the_cache() -> None:
    inner = MemoryStore({"a": b"old", "b": b"old"})
    store = CacheStore(inner, validate="never")
    assert [some(store.get(key)) for key in "ab"] == [b"old", b"old"]
    inner.set("b", b"newer")
    with store.lock("a"), store.lock("c"):
        assert some(store.get("b")) == b"newer"
        assert store.get_many([("b", None)]) == [b"newer"]
        assert store.size("b") == 5
        with store.snapshot("b") as read:
            assert some(read(None)) == b"newer"
        inner.delete("a")
        assert not store.exists("a")
        found: list[Any] = []
        thread = threading.Thread(target=lambda: found.append(store.get("b")))
        thread.start()
        thread.join()
        assert found == [b"old"]  # another thread holds nothing
    assert some(store.get("b")) == b"old"  # what was read inside was not kept


def test_updates_through_an_aged_cache_are_not_lost() -> None:
    inner = MemoryStore()
    plain = omnizarr.create_array(inner, shape=4, chunks=4, dtype="i4")
    plain[:] = 1
    cached = omnizarr.open_array(CacheStore(inner, validate="age", max_age=1000), mode="r+")
    assert cached[:].tolist() == [1] * 4
    plain[1] = 50
    cached[0] = 7
    assert plain[:].tolist() == [7, 50, 1, 1]
    cached.attrs["x"] = 1
    dict(cached.attrs)
    omnizarr.open_array(inner, mode="r+").attrs["y"] = 2
    cached.attrs["z"] = 3
    assert dict(omnizarr.open_array(inner, mode="r").attrs) == {"x": 1, "y": 2, "z": 3}
    omnizarr.open_array(inner, mode="r+").append(np.array([5], "i4"))
    cached.append(np.array([6], "i4"))
    assert omnizarr.open_array(inner, mode="r")[:].tolist() == [7, 50, 1, 1, 5, 6]


def test_a_path_is_a_store(tmp_path: Path) -> None:
    (tmp_path / "k").write_bytes(b"value")
    assert some(CacheStore(str(tmp_path)).get("k")) == b"value"
    assert some(LRUStoreCache({"k": b"value"}, None).get("k")) == b"value"
