"""Data are never deleted by the call that is to write them.

Every function that replaces a node is given an array that it would delete, by every known route to
the same place; it raises before anything is changed. Data that cannot be followed are read first.
"""

from __future__ import annotations

import functools
import os
from collections import ChainMap, UserDict
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import omnizarr
from omnizarr.errors import OverlapError
from omnizarr.model.store import Store
from omnizarr.nodes.creation import overlaps, source_data
from omnizarr.nodes.creation.overlaps import Location, contains, overlap
from omnizarr.nodes.group import Group
from omnizarr.stores import (
    FsspecStore,
    LocalStore,
    MemoryStore,
    OverlayStore,
    PrefixStore,
    SQLiteStore,
    ZipStore,
    as_store,
)

VALUES = np.arange(1000).reshape(50, 20)
RECORDS = np.array([(1, 2.0), (3, 4.0)], [("x", "i4"), ("y", "f4")])


def local(folder: Path) -> Store:
    return LocalStore(folder / "x.zarr")


def zipped(folder: Path) -> Store:
    return ZipStore(folder / "x.zip")


def sqlite(folder: Path) -> Store:
    return SQLiteStore(folder / "x.sqlite")


def memory(folder: Path) -> Store:
    return MemoryStore()


def fsspec_memory(folder: Path) -> Store:
    return FsspecStore(f"memory://{folder.name}/x")


STORES = [local, zipped, sqlite, memory, fsspec_memory]


@pytest.fixture(params=STORES, ids=lambda make: make.__name__)
def group(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Group]:
    store = request.param(tmp_path)
    made = omnizarr.open_group(store)
    made.create_array("g/a", data=VALUES, chunks=(10, 20))
    made.create_array("g/r", data=RECORDS)
    made.create_array("b", data=VALUES)
    yield made
    store.close()


ROUTES: dict[str, Callable[[Any, Group, Any], Any]] = {
    "create_array": lambda s, g, a: omnizarr.create_array(s, name="g/a", data=a, overwrite=True),
    "create_array above": lambda s, g, a: omnizarr.create_array(
        s, name="g", data=a, overwrite=True
    ),
    "group[name]": lambda s, g, a: g.__setitem__("g/a", a),
    "group.create_dataset": lambda s, g, a: g.create_dataset("g", data=a, overwrite=True),
    "array": lambda s, g, a: omnizarr.array(a, store=s, path="g/a", overwrite=True),
    "create": lambda s, g, a: omnizarr.create(data=a, store=s, path="g", overwrite=True),
    "save": lambda s, g, a: omnizarr.save(s, a),
    "save path": lambda s, g, a: omnizarr.save(s, a, path="g/a"),
    "save_array": lambda s, g, a: omnizarr.save_array(s, a, path="g/a"),
    "save_group": lambda s, g, a: omnizarr.save_group(s, np.ones(3), other=a),
    "open": lambda s, g, a: omnizarr.open(s, "w", path="g/a", data=a),
    "open_array": lambda s, g, a: omnizarr.open_array(s, "w", path="g/a", data=a),
    "open_array overwrite": lambda s, g, a: omnizarr.open_array(
        s, "a", path="g/a", data=a, overwrite=True
    ),
    "create_hierarchy": lambda s, g, a: omnizarr.create_hierarchy(
        store=s, nodes={"g/a": {"data": a}}, overwrite=True
    ),
    "create_hierarchy above": lambda s, g, a: g.create_hierarchy(
        {"g": {}, "g/new": {"data": a}}, overwrite=True
    ),
    "from_array": lambda s, g, a: omnizarr.from_array(s, name="g/a", data=a, overwrite=True),
    "from_array above": lambda s, g, a: omnizarr.from_array(s, name="g", data=a, overwrite=True),
}


@pytest.mark.slow
@pytest.mark.parametrize("route", ROUTES)
def test_data_are_not_replaced_by_themselves(group: Group, route: str) -> None:
    sources = [group["g/a"], group.get_array("g/a").lazy[::2], group.get_array("g/a").astype("f4")]
    for source in sources:
        with pytest.raises(OverlapError, match=r"data=array\[\.\.\.\]"):
            ROUTES[route](group.store, group, source)
    assert sorted(name for name, _ in group.members(None)) == ["b", "g", "g/a", "g/r"]
    assert np.array_equal(group["g/a"][...], VALUES)


def test_a_field_is_data_of_its_array(group: Group) -> None:
    with pytest.raises(OverlapError):
        group["g/r"] = group.get_array("g/r").fields["x"]
    assert (group["g/r"][...] == RECORDS).all()


def test_values_in_memory_replace_what_they_were_read_from(group: Group) -> None:
    group["g/a"] = group["g/a"][...] * 2
    assert np.array_equal(group["g/a"][...], VALUES * 2)
    group["g/a"] = group["b"]  # a sibling
    assert np.array_equal(group["g/a"][...], VALUES)
    omnizarr.zeros_like(group["g/a"], store=group.store, path="g/a", overwrite=True)
    assert not group["g/a"][...].any()


@pytest.mark.parametrize("if_exists", ["replace", "skip"])
def test_copies_onto_themselves(group: Group, if_exists: Any) -> None:
    for copy in (
        lambda: omnizarr.copy(group["g/a"], group["g"], if_exists=if_exists),
        lambda: omnizarr.copy(group["g"], group, if_exists=if_exists),
        lambda: omnizarr.copy_all(group, group, if_exists=if_exists),
        lambda: omnizarr.copy_store(group.store, group.store, if_exists=if_exists),
        lambda: omnizarr.copy_store(group.store, group.store, "g/a", "g", if_exists=if_exists),
    ):
        if if_exists == "replace":
            with pytest.raises(OverlapError):
                copy()
        else:
            copy()
    assert np.array_equal(group["g/a"][...], VALUES)


def test_a_group_is_not_copied_into_itself(group: Group) -> None:
    with pytest.raises(OverlapError, match="inside the group"):
        omnizarr.copy(group, group["g"], name="again")
    with pytest.raises(OverlapError, match="inside the group"):
        omnizarr.copy_all(group, group["g"])
    assert sorted(group["g"]) == ["a", "r"]


def test_other_ways_to_the_same_place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "x.zarr"
    array = omnizarr.open_group(path).create_array("g/a", data=VALUES)
    link = tmp_path / "link"
    link.symlink_to(path)
    monkeypatch.chdir(tmp_path)
    outer = LocalStore(tmp_path)
    ways: list[tuple[Any, str]] = [
        (path, "g/a"),
        ("x.zarr", "g/a"),
        (f"file://{path}", "g"),
        (path / "g" / "a", ""),
        (tmp_path, "x.zarr/g"),
        (tmp_path, ""),
        (link, "g/a"),
        (link / "g", "a"),
        (PrefixStore(outer, "x.zarr/g"), "a"),
        (FsspecStore(f"file://{path}"), "g/a"),
        (FsspecStore(f"file://{path}/g"), ""),
        (OverlayStore(LocalStore(path), MemoryStore()), "g/a"),
    ]
    for store, name in ways:
        with pytest.raises(OverlapError):
            omnizarr.create_array(store, name=name, data=array, overwrite=True)
        if name.endswith("a"):  # and the other way round
            other = omnizarr.open_array(store, path=name)
            with pytest.raises(OverlapError):
                omnizarr.create_array(path, name="g", data=other, overwrite=True)
    below = omnizarr.open_array(OverlayStore(MemoryStore(), LocalStore(path)), path="g/a")
    with pytest.raises(OverlapError):
        omnizarr.create_array(path, name="g/a", data=below, overwrite=True)
    assert np.array_equal(array[...], VALUES)


def test_an_archive_or_database_inside_the_replaced_folder(tmp_path: Path) -> None:
    for name in ("x.zip", "x.sqlite"):
        with as_store(tmp_path / name, mode="w") as store:
            omnizarr.save_array(store, VALUES)
        array = omnizarr.open_array(tmp_path / name, "r")
        with pytest.raises(OverlapError):
            omnizarr.save_array(tmp_path, array)
        array.store.close()
        assert np.array_equal(omnizarr.load(tmp_path / name), VALUES)


def test_two_tables_of_one_database_are_apart(tmp_path: Path) -> None:
    one = SQLiteStore(tmp_path / "x.sqlite", table="one")
    other = SQLiteStore(tmp_path / "x.sqlite", table="other")
    array = omnizarr.create_array(one, data=VALUES)
    made = omnizarr.create_array(other, data=array, overwrite=True)
    assert np.array_equal(made[...], VALUES)
    one.close()
    other.close()


def test_an_archive_outlives_a_refused_argument(tmp_path: Path) -> None:
    path = tmp_path / "x.zip"
    omnizarr.save_array(path, VALUES)
    with pytest.raises(ValueError, match="data type"):
        omnizarr.open_array(path, "w", shape=3, dtype="nonsense")
    with pytest.raises(OverlapError):
        omnizarr.save_group(path, omnizarr.open_array(path, "r"))
    assert np.array_equal(omnizarr.load(path), VALUES)
    path.write_bytes(b"no archive")
    omnizarr.save_array(path, VALUES)
    assert np.array_equal(omnizarr.load(path), VALUES)


def test_chunks_apart_from_documents() -> None:
    chunks = MemoryStore()
    array = omnizarr.create_array({}, data=VALUES, chunk_store=chunks)
    with pytest.raises(OverlapError):
        omnizarr.create_array(chunks, data=array, overwrite=True)
    with pytest.raises(OverlapError):
        omnizarr.create_array({}, data=array, chunk_store=chunks, chunks=(7, 7))
    assert np.array_equal(array[...], VALUES)


def test_arrays_of_zarr_python(tmp_path: Path) -> None:
    zarr = pytest.importorskip("zarr")
    folder = tmp_path / "x.zarr"
    inside = zarr.storage.MemoryStore()
    for store in (str(folder), inside):
        made = zarr.open_group(store, mode="w").create_array("a", data=VALUES)
        for array in (made, zarr.open_array(store, path="a", mode="r")):
            with pytest.raises(OverlapError):
                omnizarr.create_array(store, name="a", data=array, overwrite=True)
            with pytest.raises(OverlapError):
                omnizarr.copy(array, omnizarr.open_group(store), if_exists="replace")
        assert np.array_equal(made[...], VALUES)


def test_dask_arrays_that_read_what_is_replaced(group: Group) -> None:
    dask = pytest.importorskip("dask.array")
    for source in (group["g/a"], group.get_array("g/a").lazy[:, ::-1]):
        for options in ({}, {"inline_array": True}):
            data = dask.from_array(source, chunks=(20, 20), **options)
            for one in (data, data.sum(axis=0) + 1, dask.concatenate([data, data])):
                with pytest.raises(OverlapError):
                    group["g/a"] = one
    assert np.array_equal(group["g/a"][...], VALUES)
    group["b"] = dask.from_array(group["g/a"], chunks=(20, 20)) + 1
    assert np.array_equal(group["b"][...], VALUES + 1)


def test_datasets_of_xarray(tmp_path: Path) -> None:
    xarray = pytest.importorskip("xarray")
    pytest.importorskip("zarr")
    pytest.importorskip("dask")
    path = tmp_path / "x.zarr"
    xarray.Dataset({"t": (("y", "x"), VALUES)}).to_zarr(path, zarr_format=2, consolidated=False)
    group = omnizarr.open_group(path)
    lazy = xarray.open_zarr(path, chunks={}, consolidated=False)
    with pytest.raises(OverlapError):
        group["t"] = lazy.t * 2
    group["u"] = VALUES
    group["u"] = lazy.t * 2  # beside it
    assert np.array_equal(group["u"][...], VALUES * 2)
    with xarray.open_zarr(path, chunks=None, consolidated=False) as whole:
        group["t"] = whole.t  # read before anything is deleted
    assert np.array_equal(group["t"][...], VALUES)


def test_convert_onto_itself(tmp_path: Path) -> None:
    path = tmp_path / "x.zarr"
    omnizarr.save_group(path, a=VALUES)
    os.symlink(path, tmp_path / "link")
    for target in (path, path / "a", tmp_path / "link", tmp_path):
        with pytest.raises(OverlapError):
            omnizarr.convert(path, target, zarr_format=2, overwrite=True)
    assert np.array_equal(omnizarr.load(path)["a"], VALUES)


class Sliced:
    """An array of an unknown library, around another one."""

    def __init__(self, array: Any) -> None:
        self.array = array
        self.shape, self.dtype, self.ndim = array.shape, array.dtype, array.ndim

    def __getitem__(self, selection: Any) -> Any:
        return self.array[selection]


class Converted:
    def __init__(self, array: Any) -> None:
        self.array = array
        self.shape, self.dtype = array.shape, array.dtype

    def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
        return self.array[...]


@pytest.mark.parametrize("wrapped", [Sliced, Converted])
@pytest.mark.parametrize("route", ROUTES)
def test_data_of_unknown_classes_are_read_first(tmp_path: Path, route: str, wrapped: Any) -> None:
    group = omnizarr.open_group(tmp_path / "x.zarr")
    group.create_array("g/a", data=VALUES, chunks=(10, 20))
    ROUTES[route](group.store, group, wrapped(group["g/a"]))
    found = omnizarr.open(group.store)
    nodes = [found] if route == "save" else [node for _, node in found.members(None)]
    assert any(
        node.shape == VALUES.shape and np.array_equal(node[...], VALUES)
        for node in nodes
        if isinstance(node, omnizarr.Array)
    )


def test_copies_of_unknown_classes_are_read_first(tmp_path: Path) -> None:
    group = omnizarr.open_group(tmp_path / "x.zarr")
    source = Sliced(group.create_array("a", data=VALUES, chunks=(10, 20)))
    omnizarr.copy(source, group, "a", without_attrs=True, if_exists="replace")
    assert np.array_equal(group["a"][...], VALUES)


def test_data_of_unknown_classes_are_not_kept_in_memory_where_nothing_is_replaced() -> None:
    array = omnizarr.create_array({}, data=VALUES)
    source = Sliced(array)
    empty = Location(MemoryStore(), "a")
    assert source_data.secured(source, [empty]) is source
    assert source_data.secured(source, []) is source
    omnizarr.save_array(empty.store, VALUES, path="a")
    assert isinstance(source_data.secured(source, [empty]), np.ndarray)
    assert source_data.secured(array, [empty]) is array


def _first(array: Any) -> Any:
    return array[...]


HELD: Any = None


def _held() -> Any:
    return (lambda: HELD[...])()


DASK: dict[str, Callable[[Any, Any, Any], Any]] = {
    "closure": lambda delayed, a, g: delayed(lambda: a[...])(),
    "default": lambda delayed, a, g: delayed(lambda x=a: x[...])(),
    "keyword": lambda delayed, a, g: delayed(functools.partial(_first, array=a))(),
    "bound method": lambda delayed, a, g: delayed(a.__getitem__)(...),
    "partial": lambda delayed, a, g: delayed(functools.partial(_first, a))(),
    "group": lambda delayed, a, g: delayed(lambda group: group["a"][...])(g),
    "store": lambda delayed, a, g: delayed(lambda s: omnizarr.open_array(s, path="a")[...])(
        g.store
    ),
    "object": lambda delayed, a, g: delayed(lambda s: s.array[...])(Sliced(a)),
    "global": lambda delayed, a, g: delayed(_held)(),
    "objects": lambda delayed, a, g: delayed(lambda x: x[0][...])(np.array([a, None], object)),
}


@pytest.mark.parametrize("way", DASK)
def test_functions_of_dask_that_hold_what_is_replaced(
    tmp_path: Path, way: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    dask = pytest.importorskip("dask")
    from_delayed = pytest.importorskip("dask.array").from_delayed
    group = omnizarr.open_group(tmp_path / "x.zarr")
    array = group.create_array("a", data=VALUES, chunks=(10, 20))
    monkeypatch.setitem(globals(), "HELD", array)
    data = from_delayed(DASK[way](dask.delayed, array, group), VALUES.shape, VALUES.dtype)
    with pytest.raises(OverlapError):
        group["a"] = data
    assert np.array_equal(array[...], VALUES)
    other = omnizarr.create_array({}, data=VALUES * 0)
    assert np.array_equal(
        omnizarr.create_array(other.store, data=data, overwrite=True)[...], VALUES
    )


@pytest.mark.parametrize("doubt", ["objects", "class"])
def test_dask_arrays_that_cannot_be_followed(
    tmp_path: Path, doubt: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    dask = pytest.importorskip("dask.array")
    group = omnizarr.open_group(tmp_path / "x.zarr")
    array = group.create_array("a", data=VALUES, chunks=(10, 20))

    class Hidden:  # nothing leads from it to the array
        shape, dtype, ndim = VALUES.shape, VALUES.dtype, 2

        def __getitem__(self, selection: Any) -> Any:
            return omnizarr.open_array(tmp_path / "x.zarr", path="a")[selection]

    if doubt == "objects":
        monkeypatch.setattr(overlaps, "_MOST_OBJECTS", 3)
        data = dask.from_array(array, chunks=(20, 20))
    else:
        data = dask.from_array(Hidden(), chunks=(20, 20))
    monkeypatch.setattr(source_data, "REGION_BYTES", 10)
    with pytest.raises(OverlapError, match=f"cannot be told.*{doubt}.*another place, or delete"):
        group["a"] = data + 1
    assert np.array_equal(array[...], VALUES)
    monkeypatch.undo()
    if doubt == "objects":
        monkeypatch.setattr(overlaps, "_MOST_OBJECTS", 3)
    group["a"] = data + 1  # small: computed first
    assert np.array_equal(group["a"][...], VALUES + 1)


def test_stores_of_obstore_in_a_folder(tmp_path: Path) -> None:
    obstore = pytest.importorskip("obstore.store")
    path = tmp_path / "x.zarr"
    array = omnizarr.open_group(path).create_array("g/a", data=VALUES)
    for folder, name in ((path, "g/a"), (path / "g", "a"), (tmp_path, "x.zarr/g/a")):
        other = omnizarr.open_array(obstore.LocalStore(str(folder)), path=name)
        with pytest.raises(OverlapError):
            omnizarr.create_array(path, name="g/a", data=other, overwrite=True)
        with pytest.raises(OverlapError):
            omnizarr.create_array(
                obstore.LocalStore(str(folder)), name=name, data=array, overwrite=True
            )
    with pytest.raises(OverlapError):
        omnizarr.convert(obstore.LocalStore(str(path)), path, zarr_format=2, overwrite=True)
    with pytest.raises(OverlapError):
        omnizarr.copy_store(obstore.LocalStore(str(path)), path, if_exists="replace")
    zarr = pytest.importorskip("zarr")
    foreign = zarr.open_array(
        zarr.storage.ObjectStore(obstore.LocalStore(str(path))), path="g/a", mode="r"
    )
    with pytest.raises(OverlapError):
        omnizarr.create_array(path, name="g/a", data=foreign, overwrite=True)
    assert np.array_equal(array[...], VALUES)


def test_wrappers_of_zarr_python(tmp_path: Path) -> None:
    storage = pytest.importorskip("zarr").storage
    zarr = pytest.importorskip("zarr")
    cached = pytest.importorskip("zarr.experimental.cache_store").CacheStore
    path = tmp_path / "x.zarr"
    array = omnizarr.open_group(path).create_array("a", data=VALUES)
    inner = storage.LocalStore(path)
    for store in (
        storage.WrapperStore(inner),
        storage.LoggingStore(inner, log_level="ERROR"),
        storage.WrapperStore(storage.WrapperStore(inner)),
        cached(inner, cache_store=storage.MemoryStore()),
    ):
        foreign = zarr.open_array(store, path="a", mode="r")
        with pytest.raises(OverlapError):
            omnizarr.create_array(path, name="a", data=foreign, overwrite=True)
        with pytest.raises(OverlapError):
            omnizarr.create_array(store, name="a", data=array, overwrite=True)
    assert np.array_equal(array[...], VALUES)
    with storage.ZipStore(tmp_path / "x.zip", mode="w") as archive:
        made = zarr.create_array(archive, data=VALUES)
        with pytest.raises(OverlapError):
            omnizarr.save_array(tmp_path / "x.zip", made)
        assert np.array_equal(made[...], VALUES)


def test_mappings_around_mappings() -> None:
    base: dict[str, bytes] = {}
    array = omnizarr.create_array(base, name="a", data=VALUES)
    for store in (ChainMap(base), UserDict(), ChainMap({}, base), ChainMap(ChainMap(base))):
        if isinstance(store, UserDict):
            store.data = base
        other = omnizarr.open_array(store, path="a")
        with pytest.raises(OverlapError):
            omnizarr.create_array(base, name="a", data=other, overwrite=True)
        with pytest.raises(OverlapError):
            omnizarr.create_array(store, name="a", data=other, overwrite=True)
        if not isinstance(store, ChainMap) or base not in store.maps[1:]:
            with pytest.raises(OverlapError):
                omnizarr.create_array(store, name="a", data=array, overwrite=True)
    assert np.array_equal(array[...], VALUES)


def test_urls_of_one_server() -> None:
    def at(url: str, path: str = "") -> Location:
        return Location(as_store(url), path)

    assert overlap(at("http://127.0.0.1:1/x/a"), at("http://127.0.0.1:1/x", "a"))
    assert overlap(at("http://127.0.0.1:1/x%20y/a"), at("http://127.0.0.1:1/x%20y"))
    assert not overlap(at("http://127.0.0.1:1/x/a"), at("http://127.0.0.1:1/x/ab"))
    assert not overlap(at("http://127.0.0.1:1/x"), at("http://127.0.0.1:2/x"))


@pytest.mark.parametrize("source", [None, "x.zarr", {}])
def test_what_is_no_node_is_not_copied(source: Any) -> None:
    group = omnizarr.group()
    with pytest.raises(TypeError, match="an array or a group"):
        omnizarr.copy(source, group, name="q")
    assert not list(group)


def test_contains() -> None:
    store = MemoryStore()
    root, here, beside = (Location(store, path) for path in ("", "a", "ab"))
    assert contains(root, here) and contains(here, here) and not contains(here, root)
    assert overlap(here, root) and not overlap(here, beside)
    assert not overlap(root, Location(MemoryStore(), ""))
