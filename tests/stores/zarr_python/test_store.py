"""`ZarrPythonStore`: the suite over stores of zarr-python, and what is made of those of others."""

from __future__ import annotations

import asyncio
import os
import pickle
import time
from collections.abc import AsyncIterator, Iterable
from importlib import import_module
from pathlib import Path
from typing import Any

import fsspec
import numpy as np
import pytest
import zarr
from zarr.abc.store import OffsetByteRequest, RangeByteRequest, SuffixByteRequest
from zarr.abc.store import Store as ZarrStore
from zarr.core.buffer import Buffer, BufferPrototype
from zarr.storage import StorePath, WrapperStore

import omnizarr
from omnizarr.errors import (
    NotListableError,
    ReadOnlyError,
    StoreAccessError,
    StoreError,
    StoreTimeoutError,
)
from omnizarr.stores import (
    ByteRange,
    FsspecStore,
    LocalStore,
    Store,
    ZarrPythonStore,
    ZipStore,
    as_store,
)
from omnizarr.testing import StoreSuite

pytestmark = pytest.mark.slow


class Plain(ZarrStore):
    """A store with the least that zarr-python asks for, and with its careless ways: what is
    beyond the end of a value is an error, or other bytes than those asked for."""

    supports_writes = True  # type: ignore[assignment]
    supports_deletes = True  # type: ignore[assignment]
    supports_listing = True  # type: ignore[assignment]
    supports_partial_writes = False  # type: ignore[assignment]

    def __init__(self, seconds: float = 0.0, read_only: bool = False) -> None:
        super().__init__(read_only=read_only)
        self.values: dict[str, bytes] = {}
        self.faults: dict[str, Exception] = {}
        self.seconds = seconds
        self.flying = self.most = 0

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Plain) and self.values == other.values

    async def get(
        self, key: str, prototype: BufferPrototype, byte_range: Any = None
    ) -> Buffer | None:
        self.flying += 1
        self.most = max(self.most, self.flying)
        await asyncio.sleep(self.seconds)
        self.flying -= 1
        if key in self.faults:
            raise self.faults[key]
        if key not in self.values:
            return None
        value = self.values[key]
        match byte_range:
            case RangeByteRequest(start, end):
                if start >= len(value):
                    raise ValueError("the range is outside")
                value = value[start:end]
            case OffsetByteRequest(offset):
                value = value[offset:] or b"?"
            case SuffixByteRequest(suffix):
                value = value[len(value) - suffix :]  # wrong for one that is too long
        return prototype.buffer.from_bytes(value)

    async def get_partial_values(
        self, prototype: BufferPrototype, key_ranges: Iterable[tuple[str, Any]]
    ) -> list[Buffer | None]:
        return [await self.get(key, prototype, part) for key, part in key_ranges]

    async def exists(self, key: str) -> bool:
        return key in self.values

    async def set(self, key: str, value: Buffer) -> None:
        self._check_writable()
        if key in self.faults:
            raise self.faults[key]
        self.values[key] = value.to_bytes()

    async def delete(self, key: str) -> None:
        self._check_writable()
        del self.values[key]

    async def list(self) -> AsyncIterator[str]:
        for key in list(self.values):
            yield key

    async def list_prefix(self, prefix: str) -> AsyncIterator[str]:
        for key in list(self.values):
            if key.startswith(prefix):
                yield key

    async def list_dir(self, prefix: str) -> AsyncIterator[str]:
        start = prefix.rstrip("/") + "/" if prefix else ""
        below = {
            key[len(start) :].partition("/")[0] for key in self.values if key.startswith(start)
        }
        for name in below:
            yield name


class TestPlain(StoreSuite):
    many_keys = 2000

    def make_store(self, folder: Path) -> Store:
        return ZarrPythonStore(Plain())


class TestMemory(StoreSuite):
    """One that zarr-python can call without awaiting it."""

    many_keys = 2000

    def make_store(self, folder: Path) -> Store:
        return ZarrPythonStore(zarr.storage.MemoryStore())


def test_a_folder_is_not_deleted_for_a_key(tmp_path: Path) -> None:
    store = ZarrPythonStore(WrapperStore(zarr.storage.LocalStore(tmp_path)))
    store.set("a/b", b"1")
    store.delete("a")
    assert list(store.list()) == ["a/b"]
    store.delete("a/b")
    store.delete("a/b")
    assert list(store.list()) == []


# -- who is taken for whom ------------------------------------------------------------------------


def test_our_own_store_of_the_same_place(tmp_path: Path) -> None:
    local = zarr.storage.LocalStore(tmp_path / "x", read_only=True)
    store = as_store(local)
    assert isinstance(store, LocalStore)
    assert store.read_only and store.root == tmp_path / "x"
    with ZipStore(tmp_path / "x.zip", mode="w") as archive:
        archive.set("a", b"1")
    opened = as_store(zarr.storage.ZipStore(tmp_path / "x.zip", read_only=True))
    assert isinstance(opened, ZipStore)
    assert opened.get("a") == b"1"
    opened.close()
    fs = fsspec.filesystem("memory", asynchronous=True)
    wrapped = zarr.storage.FsspecStore.from_mapper(fs.get_mapper("/zarr_python"))
    through = as_store(wrapped)
    assert isinstance(through, FsspecStore)
    through.set("k", b"2")
    assert fsspec.filesystem("memory").cat_file("/zarr_python/k") == b"2"


def test_an_object_store(tmp_path: Path) -> None:
    obstore = import_module("obstore.store")
    inner = obstore.MemoryStore()
    theirs = zarr.storage.ObjectStore(inner)
    group = zarr.open_group(theirs, mode="w")
    group.create_array("a", data=np.arange(5))
    np.testing.assert_array_equal(omnizarr.open_group(theirs)["a"][...], np.arange(5))
    assert type(as_store(theirs)).__name__ == "ObjectStore"


def test_a_path_in_a_store() -> None:
    memory = zarr.storage.MemoryStore()
    group = zarr.open_group(memory, mode="w")
    group.create_array("a/b", data=np.arange(4))
    np.testing.assert_array_equal(omnizarr.open_array(group["a/b"].store_path)[...], np.arange(4))
    path = StorePath(memory, "a")
    omnizarr.open_group(path)["b"][0] = 9
    assert group["a/b"][0] == 9
    with pytest.raises(TypeError, match="store of zarr-python"):
        ZarrPythonStore({})


def test_zarr_python_sees_what_is_written() -> None:
    theirs = Plain()
    data = np.arange(100.0).reshape(10, 10)
    array = omnizarr.create_array(theirs, shape=data.shape, chunks=(3, 4), dtype=data.dtype)
    array[...] = data
    array[2:5, 1] = -1
    data[2:5, 1] = -1
    np.testing.assert_array_equal(zarr.open_array(theirs)[...], data)


# -- many at once, from everywhere ----------------------------------------------------------------


def test_many_requests_are_under_way_at_once() -> None:
    theirs = Plain(seconds=0.02)
    store = ZarrPythonStore(theirs)
    data = np.arange(200 * 10).reshape(200, 10)
    array = omnizarr.create_array(store, shape=data.shape, chunks=(1, 10), dtype=data.dtype)
    array[...] = data
    for read in (
        lambda: array[...],
        lambda: store.get_many([(f"c/{i}/0", None) for i in range(200)]),
    ):
        theirs.most = 0
        begin = time.perf_counter()
        read()
        assert time.perf_counter() - begin < 2.0, "200 waits one after the other take 4 s"
        assert 16 < theirs.most <= 64


def test_all_of_an_empty_value() -> None:
    store = ZarrPythonStore(Plain())
    store.set("empty", b"")
    for part in (None, ByteRange(0), ByteRange(0, 5), ByteRange(-5), ByteRange(3)):
        assert store.get("empty", part) == b""
        assert store.get_many([("empty", part), ("none", part)]) == [b"", None]


def test_inside_a_running_loop() -> None:
    async def work() -> None:
        store = as_store(Plain())
        store.set("a", b"1")
        assert bytes(store.get("a") or b"") == b"1"

    asyncio.run(work())


# -- faults ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("fault", "expected"),
    [
        (FileNotFoundError("the file that was referred to"), StoreError),
        (KeyError("x"), StoreError),
        (PermissionError("no"), StoreAccessError),
        (TimeoutError(), StoreTimeoutError),
        (ConnectionResetError("reset"), StoreError),
        (RuntimeError("panic"), StoreError),
    ],
)
def test_a_fault_is_no_missing_key(fault: Exception, expected: type[Exception]) -> None:
    theirs = Plain()
    array = omnizarr.create_array(theirs, shape=(4,), chunks=(2,), dtype="i4", fill_value=7)
    array[...] = 1
    theirs.faults["c/0"] = fault
    store = array.store
    with pytest.raises(expected, match="c/0"):
        array[...]
    with pytest.raises(expected):
        store.get_many([("c/1", None), ("c/0", None)])
    with pytest.raises(expected):
        store.set("c/0", b"")


def test_the_deadline() -> None:
    store = ZarrPythonStore(Plain(seconds=30), deadline=0.2)
    for call in (lambda: store.get("a"), lambda: store.get_many([("a", None), ("b", None)])):
        begin = time.monotonic()
        with pytest.raises(StoreTimeoutError):
            call()
        assert time.monotonic() - begin < 3


def test_refusals() -> None:
    frozen = as_store(Plain(read_only=True))
    with pytest.raises(ReadOnlyError):
        frozen.set("a", b"1")

    class Silent(Plain):
        supports_listing = False
        supports_deletes = False

    silent = as_store(Silent())
    silent.set("a", b"1")
    for call in (lambda: silent.list_dir(""), lambda: list(silent.list())):
        with pytest.raises(NotListableError):
            call()
    with pytest.raises(StoreError, match="delete"):
        silent.delete("a")
    late = Plain()
    store = as_store(late)
    late._read_only = True
    with pytest.raises(ReadOnlyError):
        store.set("a", b"1")


# -- Icechunk -------------------------------------------------------------------------------------


@pytest.fixture
def session() -> Any:
    icechunk = import_module("icechunk")
    repository = icechunk.Repository.create(icechunk.in_memory_storage())
    return repository.writable_session("main")


def test_ranges_in_icechunk(session: Any) -> None:
    store = as_store(session)
    array = omnizarr.create_array(
        store, name="a", shape=(6000,), chunks=(2000,), dtype="u1", compressors=None
    )
    value = bytes(range(250)) * 8
    store.set("a/c/0", value)
    short = b"x"
    store.set("a/c/1", short)
    parts = [
        None,
        *(ByteRange(-n) for n in (1, 2, 1999, 2000, 2001, 9000)),
        *(ByteRange(n) for n in (0, 1, 1999, 2000, 9000)),
        *(ByteRange(a, b) for a in (0, 1, 1990, 2000, 3000) for b in (1, 2, 2000, 3001, 5000)),
    ]
    document = bytes(store.get("a/zarr.json") or b"")
    for committed in (False, True):
        if committed:
            session.commit("values")
        for part in parts:
            start, stop = part or (0, None)
            assert bytes(store.get("a/c/0", part)) == value[start:stop], part
            assert bytes(store.get("a/c/1", part)) == short[start:stop], part
            assert store.get("a/c/2", part) is None
            assert store.get("b/c/2", part) is None
            assert bytes(store.get("a/zarr.json", part)) == document[start:stop], part
        requests = [(key, part) for part in parts for key in ("a/c/0", "a/c/1", "a/c/2", "x")]
        alone = [store.get(*request) for request in requests]
        assert [v and bytes(v) for v in store.get_many(requests)] == [v and bytes(v) for v in alone]
    assert store.size("a/c/0") == 2000
    assert store.size("a/c/1") == 1
    assert store.size("a/c/2") is None
    assert array.shape == (6000,)


def test_keys_that_icechunk_does_not_have(session: Any) -> None:
    store = as_store(session)
    omnizarr.create_group(store, path="g")
    for key in (".zgroup", "g/.zarray", "attributes.json", "x", "g/c/0.0", "meta/root.json"):
        assert store.get(key) is None
        assert not store.exists(key)
        assert store.size(key) is None
        store.delete(key)
        with pytest.raises(StoreError, match="format 3"):
            store.set(key, b"{}")
    with pytest.raises(StoreError):
        omnizarr.create_group(store, path="two", zarr_format=2)
    assert list(store.list()) == ["g/zarr.json", "zarr.json"]
    assert store.list_dir("") == (["zarr.json"], ["g/"])


def test_nodes_are_replaced_and_moved_in_icechunk(session: Any) -> None:
    root = omnizarr.open_group(session, mode="a")
    assert root.store.capabilities.hierarchies_only
    first = np.arange(10.0)
    for name in ("f", "deep/in/h"):
        root.create_array(name, shape=10, chunks=5, dtype="f8")[:] = first
    replaced = root.create_array("f", shape=4, chunks=2, dtype="i4", overwrite=True)
    assert replaced[:].tolist() == [0] * 4
    for value in (7, 8):
        omnizarr.save_array(session, np.full(3, value), path="twice")
    assert root["twice"][:].tolist() == [8] * 3
    root.move("deep", "other")
    root.move("twice", "once")
    assert sorted(root) == ["f", "once", "other"]
    np.testing.assert_array_equal(root["other/in/h"][:], first)
    session.commit("replaced and moved")
    again = omnizarr.open_group(session, mode="r")
    np.testing.assert_array_equal(again["other/in/h"][:], first)
    assert again["once"][:].tolist() == [8] * 3


def test_everything_in_icechunk_is_replaced(session: Any) -> None:
    omnizarr.save_group(session, a=np.arange(3), b=np.arange(3))
    root = omnizarr.open_group(session, mode="w")
    assert list(as_store(session).list()) == ["zarr.json"]
    root.create_array("a", shape=3, chunks=2, dtype="i4")
    assert root["a"][:].tolist() == [0] * 3


def test_whole_stores_are_copied_into_icechunk(session: Any) -> None:
    source = omnizarr.stores.MemoryStore()
    root = omnizarr.create_group(source)
    root.create_array("a/b", shape=10, chunks=5, dtype="f8")[:] = 3
    root.create_array("s", shape=10, chunks=5, shards=10, dtype="i4")[:] = 4
    omnizarr.copy_store(source, session)
    store = as_store(session)
    assert list(store.list()) == list(source.list())
    assert all(store[key] == source[key] for key in source)
    root.create_array("a/b", shape=10, chunks=5, dtype="i2", overwrite=True)[:] = 5
    omnizarr.copy_store(source, session, if_exists="replace")
    omnizarr.copy_store(source, session, dest_path="below/here")
    for path in ("a/b", "below/here/a/b"):
        array = omnizarr.open_array(session, path=path, mode="r")
        assert array.dtype == "i2" and array[:].tolist() == [5] * 10


def test_what_icechunk_cannot_take_is_refused_first(session: Any) -> None:
    source, dotted = omnizarr.stores.MemoryStore(), omnizarr.stores.MemoryStore()
    group = omnizarr.create_group(source, zarr_format=2)
    group.create_array("a", data=np.arange(3))
    omnizarr.convert(source, dotted, zarr_format=3)
    assert "a/c.0" in dotted
    store = as_store(session)
    for dry_run in (True, False):
        with pytest.raises(StoreError, match=r"journal.*copy_all"):
            omnizarr.convert(source, session, zarr_format=3, dry_run=dry_run)
    for given in (source, dotted):
        for place in (session, omnizarr.stores.PrefixStore(store, "below")):
            with pytest.raises(StoreError, match=r"nothing but the documents \(zarr.json\)"):
                omnizarr.copy_store(given, place)
    assert list(store.list()) == []
    with pytest.raises(StoreError, match=r"no array; write its zarr.json first"):
        store.set("a/c/0", b"1")
    omnizarr.create_group(session)
    with pytest.raises(StoreError, match=r"journal.*give a destination"):
        omnizarr.convert(session, zarr_format=2)
    assert list(store.list()) == ["zarr.json"]
    omnizarr.copy_all(group, omnizarr.open_group(session))
    assert omnizarr.open_array(session, path="a", mode="r")[:].tolist() == [0, 1, 2]


def test_handles_on_one_session(session: Any) -> None:
    first, second = as_store(session), as_store(session.store)
    assert first == second and hash(first) == hash(second)
    assert first.locate("a") == second.locate("a")
    with pytest.raises(TypeError, match="fork"):
        pickle.dumps(first)


def test_icechunk_in_other_processes(tmp_path: Path) -> None:
    icechunk = import_module("icechunk")
    repository = icechunk.Repository.create(icechunk.local_filesystem_storage(str(tmp_path)))
    with pytest.raises(TypeError, match="session"):
        as_store(repository)
    session = repository.writable_session("main")
    omnizarr.create_array(session, name="a", shape=(4,), chunks=(2,), dtype="i4")
    session.commit("an array")
    session = repository.writable_session("main")
    fork = session.fork()
    theirs = pickle.loads(pickle.dumps(as_store(fork)))  # as another process gets it
    omnizarr.open_array(theirs, path="a", mode="r+")[:2] = 5
    session.merge(theirs.store.session)
    assert omnizarr.open_array(session, path="a")[...].tolist() == [5, 5, 0, 0]
    reader = as_store(repository.readonly_session("main"))
    assert pickle.loads(pickle.dumps(reader)).read_only


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this platform has no fork")
def test_a_forked_child_is_told_that_icechunk_does_not_work_there(session: Any) -> None:
    store = as_store(session)
    omnizarr.create_group(store)
    child = os.fork()
    if child == 0:
        code = 1
        try:
            store.get("zarr.json")
        except StoreError as error:
            code = 0 if "forked" in str(error) else 2
        finally:
            os._exit(code)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert store.exists("zarr.json")


class Awaited(WrapperStore[zarr.storage.MemoryStore]):
    """Without the methods that answer at once."""

    _supports_sync_io = False


@pytest.mark.parametrize("kind", [lambda store: store, Awaited], ids=["direct", "awaited"])
def test_a_key_may_be_the_beginning_of_others(kind: Any) -> None:
    store = ZarrPythonStore(kind(zarr.storage.MemoryStore()))
    for key in ("a", "a/b", "c/d", "e"):
        store.set(key, b"1")
    assert store.list_dir("") == (["a", "e"], ["a/", "c/"])
    assert store.list_dir("a/") == (["a/b"], [])


def test_a_name_is_given_to_zarr_python_once() -> None:
    from omnizarr.integrations.zarr_python import as_zarr_store

    ours = omnizarr.stores.MemoryStore({"a": b"1", "a/b": b"1", "c": b"1"})

    async def names() -> list[str]:
        return [name async for name in as_zarr_store(ours).list_dir("")]

    assert sorted(asyncio.run(names())) == ["a", "c"]
