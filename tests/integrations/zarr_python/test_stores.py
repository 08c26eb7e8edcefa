"""Our stores inside zarr-python: its own suite for stores, and hierarchies through its own API."""

from __future__ import annotations

import asyncio
import os
import pickle
import subprocess
import sys
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import zarr
import zarr.testing.store
from zarr.abc.store import RangeByteRequest, SuffixByteRequest
from zarr.core.buffer import Buffer, cpu, default_buffer_prototype

import omnizarr
from omnizarr.integrations.zarr_python import OmnizarrStore, as_zarr_store
from omnizarr.stores import (
    LocalStore,
    MemoryStore,
    PrefixStore,
    ReadOnlyStore,
    SQLiteStore,
    ZipStore,
)
from omnizarr.testing import FaultStore

PROTOTYPE = default_buffer_prototype()


class Suite(zarr.testing.store.StoreTests[Any, Any]):
    store_cls = OmnizarrStore
    buffer_cls = cpu.Buffer

    def make(self, folder: Path) -> Any:
        raise AssertionError("each class below makes a store")

    @pytest.fixture
    def store_kwargs(self, tmp_path: Path) -> dict[str, Any]:
        return {"store": self.make(tmp_path)}

    @pytest.fixture
    def open_kwargs(self, store_kwargs: dict[str, Any]) -> dict[str, Any]:
        return store_kwargs

    @pytest.fixture
    def store(self, open_kwargs: dict[str, Any]) -> OmnizarrStore:
        return asyncio.run(OmnizarrStore.open(**open_kwargs))

    @pytest.fixture
    def store_not_open(self, store_kwargs: dict[str, Any]) -> OmnizarrStore:
        return OmnizarrStore(**store_kwargs)

    async def set(self, store: OmnizarrStore, key: str, value: Buffer) -> None:
        store.store.set(key, value.to_bytes())

    async def get(self, store: OmnizarrStore, key: str) -> Buffer:
        return self.buffer_cls.from_bytes(store.store[key])

    def test_store_repr(self, store: OmnizarrStore) -> None:
        assert repr(store) == str(store) == f"OmnizarrStore({store.store!r})"

    def test_store_supports_writes(self, store: OmnizarrStore) -> None:
        assert store.supports_writes

    def test_store_supports_listing(self, store: OmnizarrStore) -> None:
        assert store.supports_listing


class TestLocal(Suite):
    def make(self, folder: Path) -> Any:
        return LocalStore(folder / "x")


class TestSQLite(Suite):
    def make(self, folder: Path) -> Any:
        return SQLiteStore(folder / "x.sqlite")


class TestPrefix(Suite):
    def make(self, folder: Path) -> Any:
        return PrefixStore(LocalStore(folder / "x"), "a/b")


class TestMemory(Suite):
    def make(self, folder: Path) -> Any:
        return MemoryStore()

    async def test_serializable_store(self, store: OmnizarrStore) -> None:
        await store.set("foo", self.buffer_cls.from_bytes(b"1"))
        again = pickle.loads(pickle.dumps(store))
        assert again != store, "a copy of what is in memory is another store"
        assert (await again.get("foo", PROTOTYPE)).to_bytes() == b"1"


class TestZip(Suite):
    def make(self, folder: Path) -> Any:
        return ZipStore(folder / "x.zip", mode="a")

    async def test_serializable_store(self, store: OmnizarrStore) -> None:
        await store.set("foo", self.buffer_cls.from_bytes(b"1"))
        with pytest.raises(TypeError):
            pickle.dumps(store)  # an archive that is being written
        store.store.close()


# -- hierarchies ----------------------------------------------------------------------------------

PLACES: dict[str, Callable[[Path], Any]] = {
    "memory": lambda folder: MemoryStore(),
    "local": lambda folder: folder / "x.zarr",
    "sqlite": lambda folder: str(folder / "x.sqlite"),
    "zip": lambda folder: ZipStore(folder / "x.zip", mode="a"),
}


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("zarr_format", [2, 3])
def test_a_hierarchy_both_ways(place: str, zarr_format: Any, tmp_path: Path) -> None:
    ours = omnizarr.stores.as_store(PLACES[place](tmp_path))
    store = as_zarr_store(ours)
    data = np.random.default_rng(1).normal(size=(20, 30))
    theirs = zarr.open_group(store, mode="w", zarr_format=zarr_format)
    theirs.attrs["title"] = "theirs"
    array = theirs.create_array("a/b", shape=data.shape, chunks=(7, 8), dtype=data.dtype)
    array[...] = data
    array[3, :5] = 0
    group = omnizarr.open_group(ours, mode="r+")
    assert group.attrs["title"] == "theirs"
    expected = data.copy()
    expected[3, :5] = 0
    np.testing.assert_array_equal(group["a/b"][...], expected)
    group.create_array("c/d", data=data[:5])
    group["a/b"][0] = 1
    expected[0] = 1
    again = zarr.open_group(store, mode="r")
    np.testing.assert_array_equal(again["a/b"][...], expected)
    np.testing.assert_array_equal(again["c/d"][...], data[:5])
    assert sorted(name for name, _ in again.members()) == ["a", "c"]
    ours.close()


def test_shards(tmp_path: Path) -> None:
    data = np.arange(64 * 64).reshape(64, 64)
    store = as_zarr_store(tmp_path / "x.zarr")
    array = zarr.create_array(
        store, shape=data.shape, chunks=(4, 4), shards=(32, 32), dtype=data.dtype
    )
    array[...] = data
    array[5:9, 30:40] = -1
    expected = data.copy()
    expected[5:9, 30:40] = -1
    np.testing.assert_array_equal(zarr.open_array(store)[3:20, ::3], expected[3:20, ::3])
    np.testing.assert_array_equal(omnizarr.open_array(tmp_path / "x.zarr")[...], expected)


def test_xarray(tmp_path: Path) -> None:
    xarray = import_module("xarray")
    data = xarray.Dataset({"t": (("x", "y"), np.arange(6.0).reshape(2, 3))}, {"x": [1, 2]})
    store = as_zarr_store(str(tmp_path / "x.sqlite"))
    data.to_zarr(store, consolidated=False)
    with xarray.open_zarr(store, consolidated=False) as read:
        xarray.testing.assert_identical(read.load(), data)


def test_a_fault_is_no_missing_chunk(tmp_path: Path) -> None:
    faulty = FaultStore(MemoryStore())
    store = as_zarr_store(faulty)
    array = zarr.create_array(store, shape=(4,), chunks=(2,), dtype="i4", fill_value=7)
    array[...] = 1
    faulty.fail("get", omnizarr.errors.StoreError("reset"), key="c/0", times=None)
    with pytest.raises(OSError, match="reset"):
        array[...]


def test_read_only(tmp_path: Path) -> None:
    inner = MemoryStore()
    zarr.create_array(as_zarr_store(inner), shape=(4,), dtype="i4")
    for store in (as_zarr_store(inner, read_only=True), as_zarr_store(ReadOnlyStore(inner))):
        assert store.read_only
        with pytest.raises(ValueError, match="read-only"):
            zarr.open_array(store, mode="r+")
        with pytest.raises(ValueError, match="read-only"):
            store.set_sync("a", cpu.Buffer.from_bytes(b""))
        writer = store.with_read_only(False)
        assert not writer.read_only
        writer.set_sync("a", cpu.Buffer.from_bytes(b"1"))
        assert inner.get("a") == b"1"
        assert writer.with_read_only(True).read_only


def test_ranges_and_odd_questions() -> None:
    store = as_zarr_store({"a/b": b"0123456789", "a-c": b""})

    async def ask() -> None:
        wanted = [
            ("a/b", RangeByteRequest(8, 100)),
            ("a/b", SuffixByteRequest(100)),
            ("a/b", SuffixByteRequest(0)),
            ("none", None),
        ]
        found = await store.get_partial_values(PROTOTYPE, wanted)
        values = [None if value is None else value.to_bytes() for value in found]
        assert values == [b"89", b"0123456789", b"", None]
        assert await store.get("../x", PROTOTYPE) is None
        assert not await store.exists("")
        assert [key async for key in store.list_prefix("a")] == ["a-c", "a/b"]
        assert [key async for key in store.list_prefix("a/b")] == ["a/b"]
        with pytest.raises(TypeError, match="Buffer"):
            await store.set("a", b"bytes")  # type: ignore[arg-type]

    asyncio.run(ask())


def test_other_processes(tmp_path: Path) -> None:
    store = as_zarr_store(tmp_path / "x.zarr")
    array = zarr.create_array(store, shape=(4,), chunks=(2,), dtype="i4")
    array[...] = 5
    program = "import pickle, sys; print(pickle.load(sys.stdin.buffer)[...].sum())"
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(p for p in sys.path if p)}
    done = subprocess.run(
        [sys.executable, "-c", program],
        input=pickle.dumps(array),
        capture_output=True,
        env=environment,
    )
    assert done.stdout.strip() == b"20", done.stderr


def test_a_store_of_ours_comes_back_as_it_was(tmp_path: Path) -> None:
    inner = LocalStore(tmp_path)
    assert omnizarr.stores.as_store(as_zarr_store(inner)) is inner
    assert omnizarr.stores.as_store(as_zarr_store(inner, read_only=True)).read_only


def test_closing_closes_what_was_opened(tmp_path: Path) -> None:
    with as_zarr_store(str(tmp_path / "x.zip")) as store:
        zarr.create_array(store, shape=(4,), dtype="i4", fill_value=3)
    with pytest.raises(omnizarr.errors.StoreClosedError):
        store.store.get("zarr.json")
    with omnizarr.stores.as_store(tmp_path / "x.zip", mode="r") as inner:
        with as_zarr_store(inner) as other:
            assert zarr.open_array(other, mode="r")[...].tolist() == [3] * 4
        assert inner.exists("zarr.json")


def test_without_zarr_python() -> None:
    program = (
        "import sys; sys.modules['zarr'] = None\n"
        "try: import omnizarr.integrations.zarr_python\n"
        "except ImportError as error: print(type(error).__name__, error)"
    )
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(p for p in sys.path if p)}
    done = subprocess.run([sys.executable, "-c", program], env=environment, capture_output=True)
    assert b"MissingPackageError" in done.stdout, done.stderr
    assert b"pip install 'omnizarr[zarr]'" in done.stdout
