"""zarr-python's stores over omnizarr's."""

from __future__ import annotations

import asyncio
import io
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import omnizarr
from omnizarr.compat import zarr3
from omnizarr.compat.zarr3.abc.store import RangeByteRequest, SuffixByteRequest
from omnizarr.compat.zarr3.buffer import cpu, default_buffer_prototype
from omnizarr.compat.zarr3.storage import (
    LocalStore,
    LoggingStore,
    ManagedMemoryStore,
    MemoryStore,
    StorePath,
    ZipStore,
)

VALUE = b"0123456789"


def stores(folder: Path) -> list[Any]:
    return [
        MemoryStore(),
        MemoryStore({}),
        LocalStore(folder / "local"),
        ManagedMemoryStore(),
        ManagedMemoryStore(path="below"),
        LoggingStore(MemoryStore(), log_level="WARNING"),
    ]


@pytest.mark.parametrize("number", range(6))
def test_a_store_is_awaited(number: int, tmp_path: Path) -> None:
    store = stores(tmp_path)[number]
    prototype = default_buffer_prototype()

    async def use() -> None:
        await store.set("a/b", cpu.Buffer.from_bytes(VALUE))
        await store.set_if_not_exists("a/b", cpu.Buffer.from_bytes(b"other"))
        assert (await store.get("a/b", prototype)).to_bytes() == VALUE
        part = await store.get("a/b", prototype, RangeByteRequest(2, 4))
        assert part.to_bytes() == b"23"
        assert (await store.get("a/b", prototype, SuffixByteRequest(3))).to_bytes() == b"789"
        assert await store.get("missing", prototype) is None
        assert await store.exists("a/b")
        assert await store.getsize("a/b") == len(VALUE)
        assert [key async for key in store.list()] == ["a/b"]
        assert [name async for name in store.list_dir("")] == ["a"]
        assert [key async for key in store.list_prefix("a/")] == ["a/b"]
        locked = store.with_read_only(True)
        with pytest.raises(ValueError, match="read-only mode"):
            await locked.set("c", cpu.Buffer.from_bytes(VALUE))
        await store.delete_dir("a")
        assert await store.is_empty("")

    asyncio.run(use())


def test_nodes_show_the_store_that_they_were_given(tmp_path: Path) -> None:
    for store in (MemoryStore(), LocalStore(tmp_path / "x")):
        root = zarr3.create_group(store, attributes={"a": 1})
        array = root.create_array("x", shape=(4,), chunks=(2,), dtype="i4")
        array[:] = [1, 2, 3, 4]
        assert array.store is store
        assert array.store_path == StorePath(store, "x")
        again = zarr3.open_array(array.store_path, mode="r")
        assert again.path == "x"
        assert again.read_only
        np.testing.assert_array_equal(again[:], [1, 2, 3, 4])


def test_a_given_dict_gets_buffers() -> None:
    values: dict[str, Any] = {}
    zarr3.create_group(values)
    assert isinstance(values["zarr.json"], cpu.Buffer)
    assert zarr3.open_group(values, mode="r").store == MemoryStore(values, read_only=True)


def test_an_archive_keeps_what_was_written_when_it_is_opened_again(tmp_path: Path) -> None:
    store = ZipStore(tmp_path / "x.zip", mode="w")
    zarr3.create_array(store, shape=3, dtype="i4", fill_value=7)
    store.close()
    assert zarr3.open_array(store)[:].tolist() == [7, 7, 7]
    store.close()
    with pytest.raises(NotImplementedError):
        store.with_read_only(True)


def test_managed_values_are_found_by_name_while_a_store_has_them() -> None:
    store = ManagedMemoryStore("a-name")
    zarr3.create_group(store)
    assert ManagedMemoryStore.from_url("memory://a-name") == store
    assert zarr3.open_group("memory://a-name", mode="r").read_only
    with pytest.raises(ValueError, match="not found"):
        ManagedMemoryStore.from_url("memory://another-name")


def test_a_store_that_is_read_only_refuses_a_mode_that_writes() -> None:
    with pytest.raises(ValueError, match="read-only but mode is 'w'"):
        zarr3.open_group(MemoryStore(read_only=True), mode="w")


def test_storage_options_are_for_urls_alone() -> None:
    with pytest.raises(TypeError, match="was provided but unused"):
        zarr3.open_group(MemoryStore(), storage_options={"anon": True})


def test_awaited_nodes() -> None:
    async def use() -> None:
        group = await zarr3.AsyncGroup.from_store(MemoryStore(), attributes={"a": 1})
        array = await group.create_array("x", shape=(4,), dtype="i4")
        assert isinstance(array, zarr3.AsyncArray)
        await array.setitem(slice(1, 3), 5)
        assert (await array.getitem(slice(None))).tolist() == [0, 5, 5, 0]
        assert [name async for name, _ in group.members()] == ["x"]
        assert await group.contains("x")
        assert (await array.oindex.getitem(([1],))).tolist() == [5]
        opened = await zarr3.api.asynchronous.open(store=group.store, mode="r")
        assert isinstance(opened, zarr3.AsyncGroup)
        assert opened.attrs == {"a": 1}

    from omnizarr.compat.zarr3.api import asynchronous  # noqa: F401

    asyncio.run(use())


def test_omnizarr_takes_these_stores(tmp_path: Path) -> None:
    store = LocalStore(tmp_path)
    omnizarr.create_array(store, shape=2, dtype="i4", fill_value=3)
    assert omnizarr.open_array(store)[:].tolist() == [3, 3]
    assert omnizarr.open_array(tmp_path)[:].tolist() == [3, 3]


def test_open_arrays_go_with_a_directory_that_is_moved(tmp_path: Path) -> None:
    for read_only in (False, True):
        store = LocalStore(tmp_path / f"old{read_only}")
        array = zarr3.create_array(store, data=np.arange(10), chunks=(3,))
        handle = store.with_read_only(True) if read_only else store
        if read_only:
            array = zarr3.open_array(handle)
        target = tmp_path / f"new{read_only}"
        asyncio.run(handle.move(target))
        np.testing.assert_array_equal(array[:], np.arange(10))
        assert handle.root == target
        if not read_only:
            array[:3] = 7
            np.testing.assert_array_equal(zarr3.open_array(target)[:4], [7, 7, 7, 3])


def test_a_store_path_reads_json() -> None:
    async def read() -> tuple[Any, Any]:
        store = MemoryStore()
        await store.set("a/.zgroup", cpu.Buffer.from_bytes(b'{"zarr_format": 2}'))
        return await StorePath(store, "a/.zgroup").get_json(), await StorePath(
            store, "b"
        ).get_json()

    assert asyncio.run(read()) == ({"zarr_format": 2}, None)


def test_a_file_that_cannot_be_read_back_is_no_archive_again(tmp_path: Path) -> None:
    value = cpu.Buffer.from_bytes(b"1")
    with (tmp_path / "a.zip").open("wb") as file:
        store = ZipStore(file, mode="w")
        store.set_sync("a", value)
        store.close()
        with pytest.raises(io.UnsupportedOperation, match="readable and seekable"):
            store.set_sync("b", value)
        store.close()
    assert ZipStore(tmp_path / "a.zip").get_sync("a").to_bytes() == b"1"
    buffer = io.BytesIO()
    store = ZipStore(buffer, mode="w")
    store.set_sync("a", value)
    store.close()
    store.set_sync("b", value)
    store.close()
    assert sorted(zipfile.ZipFile(buffer).namelist()) == ["a", "b"]
