"""Handles that were opened before another process changed, replaced or deleted their node."""

from __future__ import annotations

import asyncio
import os
import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import omnizarr
from omnizarr.errors import (
    BoundsCheckError,
    MetadataError,
    NodeNotFoundError,
    SelectionError,
    StaleHandleError,
)
from omnizarr.nodes import freshness
from omnizarr.stores import (
    CacheStore,
    LMDBStore,
    LocalStore,
    MappingStore,
    MemoryStore,
    ObjectStore,
    OverlayStore,
    PrefixStore,
    SQLiteStore,
    Store,
    ZipStore,
)
from omnizarr.stores.local import files
from omnizarr.testing import CountingStore, LatencyStore


def objects(_: Path) -> Store:
    from obstore.store import MemoryStore as Objects

    return ObjectStore(Objects())


STORES: dict[str, Callable[[Path], Store]] = {
    "memory": lambda folder: MemoryStore(),
    "mapping": lambda folder: MappingStore({}),
    "local": lambda folder: LocalStore(folder / "a.zarr"),
    "zip": lambda folder: ZipStore(folder / "a.zip", mode="a"),
    "sqlite": lambda folder: SQLiteStore(folder / "a.sqlite"),
    "lmdb": lambda folder: LMDBStore(folder / "a.lmdb"),
    "objects": objects,
    "prefix": lambda folder: PrefixStore(LocalStore(folder / "a"), "below"),
    "cache": lambda folder: CacheStore(LocalStore(folder / "a.zarr")),
    "old cache": lambda folder: CacheStore(
        LocalStore(folder / "a.zarr"), validate="age", max_age=1e6
    ),
    "overlay": lambda folder: OverlayStore(MemoryStore(), LocalStore(folder / "a.zarr")),
}
FORMATS = [0, 1, 2, 3, "3-draft2019", "3-draft2020-09", "3-draft2020-10", "n5"]


@pytest.fixture(params=STORES)
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Any:
    with STORES[request.param](tmp_path) as made:
        yield made


@pytest.fixture(params=["settled", "just now"], autouse=True)
def grain(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Files whose times tell versions apart, and such that were changed just now."""
    if request.param == "settled":
        monkeypatch.setattr(
            files,
            "version_of",
            lambda status: (status.st_ino, status.st_mtime_ns, status.st_ctime_ns, status.st_size),
        )


def opened(store: Any, **more: Any) -> tuple[Any, Any]:
    """Two handles on one new array of ones; the second has written before."""
    first = omnizarr.create_array(
        store, **{"shape": (20,), "chunks": (6,), "dtype": "i4", "fill_value": -1} | more
    )
    first[...] = 1
    second = omnizarr.open_array(store, mode="r+")
    second[0] = 1
    return first, second


@pytest.mark.slow
@pytest.mark.parametrize("zarr_format", FORMATS)
def test_what_was_cut_off_is_not_written(store: Store, zarr_format: Any) -> None:
    fill = 0 if zarr_format == "n5" else -1
    first, stale = opened(store, zarr_format=zarr_format, fill_value=fill)
    first.resize(9)
    with pytest.raises(IndexError):
        stale[15] = 5
    stale[...] = 7
    assert stale.shape == (9,)
    first.resize(20)
    np.testing.assert_array_equal(first[...], [7] * 9 + [fill] * 11)
    stale[15] = 5
    assert stale.shape == (20,)
    assert first[15] == 5


def test_a_shape_that_is_changed_and_changed_back(store: Store) -> None:
    first, stale = opened(store)
    stale.resize(30)
    first.resize(20)  # the document is the one that the stale handle had seen
    with pytest.raises(IndexError):
        stale[25] = 5
    stale.resize(30)
    assert stale[25] == -1


@pytest.mark.slow
@pytest.mark.parametrize("zarr_format", FORMATS)
def test_another_type_is_refused(store: Store, zarr_format: Any) -> None:
    _, stale = opened(store, zarr_format=zarr_format, fill_value=0)
    new = omnizarr.create_array(
        store, shape=(20,), chunks=(6,), dtype="f4", fill_value=0, zarr_format=zarr_format,
        overwrite=True,
    )  # fmt: skip
    new[...] = 0.5
    for change in (
        lambda: stale.__setitem__(slice(None), 7),
        lambda: stale.append([7]),
        lambda: stale.resize(30),
        lambda: stale.attrs.update(a=1),
        lambda: stale.attrs.__delitem__("a"),
    ):
        with pytest.raises(StaleHandleError, match=r"data type.*open it again"):
            change()
    again = omnizarr.open_array(store)
    np.testing.assert_array_equal(again[...], np.full(20, 0.5, "f4"))
    assert dict(again.attrs) == {}
    stale.refresh()
    stale[3] = 2.5
    assert again[3] == 2.5


@pytest.mark.slow
@pytest.mark.parametrize(
    ("zarr_format", "changed", "named"),
    [
        (3, {"chunks": (5,)}, "chunk grid"),
        (3, {"shape": (20, 2), "chunks": (6, 2)}, "chunk grid"),
        (3, {"compressors": "gzip"}, "codecs"),
        (3, {"shards": (12,)}, "chunk grid"),
        (3, {"chunk_key_encoding": {"name": "v2"}}, "chunk keys"),
        (2, {"compressor": None}, "codecs"),
        (2, {"shape": (20, 2), "chunks": (6, 2)}, "chunk grid"),
        (2, {"dimension_separator": "/"}, "chunk keys"),
    ],
)
def test_another_layout_is_refused(
    store: Store, zarr_format: int, changed: dict[str, Any], named: str
) -> None:
    _, stale = opened(store, zarr_format=zarr_format)
    same = {"shape": (20,), "chunks": (6,), "dtype": "i4", "fill_value": -1}
    new = omnizarr.create_array(
        store, **{**same, **changed}, zarr_format=zarr_format, overwrite=True
    )
    if named == "chunk keys" and new._stored.keys == stale._stored.keys:
        pytest.skip("this store chooses the separator itself")
    with pytest.raises(StaleHandleError, match=f"{named}.*open it again"):
        stale[...] = 7
    np.testing.assert_array_equal(new[...], np.full(new.shape, -1))


@pytest.mark.slow
@pytest.mark.parametrize("zarr_format", FORMATS)
def test_a_deleted_array_stays_deleted(store: Store, zarr_format: Any) -> None:
    _, stale = opened(store, zarr_format=zarr_format, fill_value=0)
    omnizarr.stores.as_store(store).delete_prefix("")
    for change in (
        lambda: stale.__setitem__(slice(None), 7),
        lambda: stale.append([7]),
        lambda: stale.resize(30),
        lambda: stale.attrs.update(a=1),
    ):
        with pytest.raises(NodeNotFoundError, match="deleted"):
            change()
    assert list(store.list()) == []


def test_a_group_instead_of_the_array(store: Store) -> None:
    _, stale = opened(store)
    omnizarr.create_group(store, overwrite=True)
    with pytest.raises((StaleHandleError, NodeNotFoundError)):
        stale[...] = 7
    with pytest.raises((StaleHandleError, NodeNotFoundError)):
        stale.attrs["a"] = 1
    assert list(store.list()) == ["zarr.json"]
    assert dict(omnizarr.open_group(store).attrs) == {}


def test_attributes_and_fill_value_are_taken_over(store: Store) -> None:
    first, stale = opened(store)
    first.attrs["unit"] = "K"
    stale[1] = 5
    assert stale.attrs["unit"] == "K"
    assert first[1] == 5
    omnizarr.create_array(store, shape=(20,), chunks=(6,), dtype="i4", fill_value=9, overwrite=True)
    stale[...] = -1  # it was the fill value, and is none now
    np.testing.assert_array_equal(omnizarr.open_array(store)[...], np.full(20, -1))


WAYS: dict[str, Callable[[Any], None]] = {
    "[]": lambda a: a.__setitem__(slice(None), 7),
    "basic": lambda a: a.set_basic_selection(slice(None), 7),
    "oindex": lambda a: a.oindex.__setitem__(slice(None), 7),
    "mask": lambda a: a.set_mask_selection(np.ones(a.shape, bool), 7),
    "blocks": lambda a: a.blocks.__setitem__(slice(None), 7),
    "lazy": lambda a: a.lazy.__setitem__(slice(None), 7),
    "aio": lambda a: asyncio.run(_awaited(a)),
}


async def _awaited(array: Any) -> None:
    from omnizarr.aio.nodes import AsyncArray

    await AsyncArray(array).write(..., 7)


@pytest.mark.slow
@pytest.mark.parametrize("way", WAYS)
def test_every_way_to_write(way: str, store: Store) -> None:
    first, stale = opened(store)
    first.resize(9)
    if way == "mask":
        with pytest.raises(IndexError):
            WAYS[way](stale)
    WAYS[way](stale)
    first.resize(20)
    np.testing.assert_array_equal(first[...], [7] * 9 + [-1] * 11)


def test_points_and_fields_and_blocks_outside(store: Store) -> None:
    first, stale = opened(store, dtype=[("x", "i4"), ("y", "i2")], fill_value=None)
    first.resize(9)
    with pytest.raises(IndexError):
        stale.vindex[[1, 15]] = np.zeros(2, stale.dtype)
    with pytest.raises(IndexError):
        stale.blocks[3] = 0
    with pytest.raises(IndexError):
        stale.fields["x"][12] = 5
    first.resize(20)
    assert not first["x"][9:].any()


def test_views_of_a_larger_array(store: Store) -> None:
    first, stale = opened(store)
    inside, outside, whole = stale.lazy[2:5], stale.lazy[::-3], stale.lazy[...]
    first.resize(9)
    inside[...] = 7
    for view in (outside, whole):
        with pytest.raises(BoundsCheckError, match="view"):
            view[...] = 8
    first.resize(20)
    np.testing.assert_array_equal(first[...], [1, 1, 7, 7, 7, 1, 1, 1, 1] + [-1] * 11)
    outside[...] = 8
    np.testing.assert_array_equal(first[::-3], [8] * 7)


def test_a_view_is_not_read_beyond_the_array() -> None:
    array = omnizarr.zeros((20,), chunks=(6,), dtype="i4")
    view = array.lazy[4:]
    array.resize(9)
    with pytest.raises(SelectionError, match="view"):
        view.read()
    assert view[:3].read().shape == (3,)


def test_resize_keeps_the_stored_length_where_none_is_named(store: Store) -> None:
    first, stale = opened(store, shape=(20, 4), chunks=(6, 4))
    first.resize((9, 4))
    stale.resize((None, 6))
    assert omnizarr.open_array(store).shape == (9, 6)


def test_append_where_another_dimension_has_changed(store: Store) -> None:
    first, stale = opened(store, shape=(20, 4), chunks=(6, 4))
    first.resize((20, 2))
    with pytest.raises(MetadataError):
        stale.append(np.ones((1, 4)))
    stale.append(np.full((1, 2), 5))
    np.testing.assert_array_equal(first[...].shape, (20, 2))
    first.refresh()
    np.testing.assert_array_equal(first[20], [5, 5])


def test_cache_metadata_false_follows_everything(store: Store) -> None:
    opened(store)
    following = omnizarr.open_array(store, mode="r+", cache_metadata=False)
    omnizarr.create_array(store, shape=(4,), chunks=(2,), dtype="f4", overwrite=True)
    following[...] = 0.5
    np.testing.assert_array_equal(omnizarr.open_array(store)[...], [0.5] * 4)


def test_members_of_a_consolidated_group(store: Store) -> None:
    root = omnizarr.create_group(store)
    first = root.create_array("a", shape=(20,), chunks=(6,), dtype="i4", fill_value=-1)
    first[...] = 1
    omnizarr.consolidate_metadata(store)
    stale = omnizarr.open_consolidated(store, mode="r+")["a"]
    first.resize(9)
    with pytest.raises(IndexError):
        stale[15] = 5
    root.create_array("a", shape=(20,), chunks=(6,), dtype="f4", overwrite=True)
    with pytest.raises(StaleHandleError):
        stale[0] = 5


@pytest.mark.slow
@pytest.mark.parametrize("zarr_format", [2, 3, "3-draft2020-10", "n5"])
def test_a_deleted_group_is_not_made_again(store: Store, zarr_format: Any) -> None:
    root = omnizarr.create_group(store, zarr_format=zarr_format)
    stale = root.create_group("g", attributes={"title": "t"})
    same = root.create_group("same")
    del root["g"]
    for change in (
        lambda: stale.create_array("a", shape=(2,), dtype="i4"),
        lambda: stale.create_group("b"),
        lambda: stale.require_group("b/c"),
        lambda: stale.__setitem__("a", np.arange(3)),
        lambda: stale.attrs.update(a=1),
        lambda: dict(stale.create_hierarchy({"x": same._stored})),
    ):
        with pytest.raises(NodeNotFoundError, match="deleted"):
            change()
    assert list(root) == ["same"]
    same.create_group("b/c")
    assert list(same) == ["b"]


def test_a_group_that_became_an_array(store: Store) -> None:
    root = omnizarr.create_group(store)
    stale = root.create_group("g")
    root.create_array("g", shape=(2,), dtype="i4", overwrite=True)
    with pytest.raises(omnizarr.errors.ZarrError):
        stale.create_group("b")
    with pytest.raises(omnizarr.errors.ZarrError):
        stale.attrs["a"] = 1
    assert dict(root["g"].attrs) == {}


def test_chunks_elsewhere() -> None:
    store, chunks = MemoryStore(), MemoryStore()
    first = omnizarr.create_array(store, shape=(20,), chunks=(6,), dtype="i4", fill_value=-1)
    stale = omnizarr.open_array(store, mode="r+", chunk_store=chunks)
    stale[...] = 1
    first.resize(9)
    with pytest.raises(IndexError):
        stale[15] = 5
    store.delete("zarr.json")
    before = sorted(chunks.list())
    with pytest.raises(NodeNotFoundError):
        stale[...] = 5
    assert sorted(chunks.list()) == before


def test_a_pickled_handle_is_opened_anew(tmp_path: Path) -> None:
    first, stale = opened(LocalStore(tmp_path / "a.zarr"))
    first.resize(9)
    copy = pickle.loads(pickle.dumps(stale))
    assert copy.shape == (9,)
    copy[...] = 7
    first.resize(20)
    np.testing.assert_array_equal(first[...], [7] * 9 + [-1] * 11)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork on this system")
def test_a_handle_in_a_forked_child(tmp_path: Path) -> None:
    first, stale = opened(LocalStore(tmp_path / "a.zarr"))
    first.resize(9)
    child = os.fork()
    if child == 0:
        try:
            stale[15] = 5
        except IndexError:
            os._exit(0)
        os._exit(1)
    assert os.waitpid(child, 0)[1] == 0


# -- what it costs ----------------------------------------------------------------------------


def test_one_look_a_call_on_a_local_store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store = CountingStore(LocalStore(tmp_path / "a.zarr"))
    array = omnizarr.create_array(store, shape=(100,), chunks=(1,), dtype="i4")
    monkeypatch.setattr(files, "version_of", lambda status: (status.st_ino, status.st_ctime_ns))
    array[0] = 1
    store.counts.clear()
    array[...] = 7
    assert store.counts["version"] <= 2
    assert store.counts["get"] == 0


@pytest.mark.parametrize("requests", [4])
def test_at_most_one_look_a_second_where_a_look_is_a_request(
    requests: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = [1000.0]
    monkeypatch.setattr(freshness, "monotonic", lambda: now[0])
    store = CountingStore(LatencyStore(MemoryStore(), seconds=0, requests=requests))
    first = omnizarr.create_array(store, shape=(20,), chunks=(6,), dtype="i4", fill_value=-1)
    stale = omnizarr.open_array(store, mode="r+")
    store.counts.clear()
    for index in range(4):
        stale[6 * index : 6 * index + 6] = 7
    assert store.counts["get"] == 1  # the edge chunk
    first.resize(9)
    now[0] += 2
    with pytest.raises(IndexError):
        stale[15] = 5
    store.counts.clear()
    stale[0:6] = 5
    assert store.counts["get"] == 0


# -- between the look and the write -----------------------------------------------------------


class Interrupting(CountingStore):
    """Does something once, just before a chunk is stored."""

    action: Callable[[], None] | None = None

    def before(self, operation: str, key: str) -> None:
        super().before(operation, key)
        if operation in ("set", "set_if_version") and "zarr.json" not in key and self.action:
            action, self.action = self.action, None
            action()


@pytest.mark.parametrize("shards", [None, (12,)])
def test_a_shrink_between_the_look_and_the_write(store: Store, shards: Any) -> None:
    watched = Interrupting(store)
    omnizarr.create_array(store, shape=(24,), chunks=(6,), shards=shards, dtype="i4", fill_value=-1)
    stale = omnizarr.open_array(watched, mode="r+")
    stale[0:12] = 1
    other = omnizarr.open_array(store, mode="r+")
    watched.action = lambda: other.resize(9)
    stale[...] = np.arange(24)
    assert stale.shape == (9,)
    other.resize(24)
    np.testing.assert_array_equal(other[...], [*range(9)] + [-1] * 15)


def test_a_deletion_between_the_look_and_the_write(store: Store) -> None:
    watched = Interrupting(store)
    root = omnizarr.create_group(store)
    root.create_array("a", shape=(24,), chunks=(6,), dtype="i4", fill_value=-1)
    stale = omnizarr.open_array(watched, path="a", mode="r+")
    watched.action = lambda: root.__delitem__("a")
    with pytest.raises(NodeNotFoundError, match="deleted"):
        stale[...] = np.arange(24)
    assert list(store.list()) == ["zarr.json"]


def test_a_replacement_between_the_look_and_the_write(store: Store) -> None:
    watched = Interrupting(store)
    omnizarr.create_array(store, shape=(24,), chunks=(6,), dtype="i4", fill_value=-1)
    stale = omnizarr.open_array(watched, mode="r+")
    watched.action = lambda: omnizarr.create_array(
        store, shape=(24,), chunks=(6,), dtype="f4", overwrite=True
    )
    with pytest.raises(StaleHandleError, match="while"):
        stale[...] = np.arange(24)


def test_require_group_of_the_group_itself_stores_it_again(tmp_path: Path) -> None:
    group = omnizarr.open_group(tmp_path / "g.zarr", mode="w", attributes={"a": 1})
    group.store.delete_prefix("")
    group.require_group("/").create_group("below")
    again = omnizarr.open_group(tmp_path / "g.zarr")
    assert (dict(again.attrs), list(again)) == ({}, ["below"])
