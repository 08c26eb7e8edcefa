"""Whatever is removed, replaced or moved, by whatever route: only keys of that node are touched.

Which keys belong to a node is observed while the hierarchy is built, not asked of the formats.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from copy import copy
from functools import cache
from itertools import product
from typing import Any

import numpy as np
import pytest

import omnizarr
from omnizarr import formats
from omnizarr.errors import MetadataError, NodeExistsError, UnsupportedError
from omnizarr.model.store import Store
from omnizarr.stores import LocalStore, MemoryStore

NAMES = [known.name for known in formats.every_format()]
DRAFTS = [name for name in NAMES if str(name).startswith("3-draft")]
WITH_GROUPS = [name for name in NAMES if name not in (0, 1)]

# Names under which a draft, or another format, keeps chunks and documents of its own.
ARRAYS = [
    "x", "data/a", "data/root/b", "data/0", "meta/a", "meta/root/b", "meta/root/data", "root/x",
    "root/c0", "c/0", "c0/0", "0/0", "zarr.json", "zarr.json.array/y", ".zgroup", ".zarray",
    "attributes.json.d", "__zmeta__", "__zdata__", "attrs", "consolidated_", "x.array", "x.group",
    "x.array.json", "root.array",
]  # fmt: skip
NODES = ["x", "data", "meta", "data/root", "meta/root", "root", "zarr.json", "c0", "x.array",
         "0", "c", ".zgroup", "data/0", "__zdata__", "attrs"]  # fmt: skip


@cache
def _built(zarr_format: Any) -> Built:
    return Built(zarr_format, MemoryStore())


def built_as(zarr_format: Any) -> Built:
    """A hierarchy of one's own."""
    found = copy(_built(zarr_format))
    found.store = MemoryStore()
    for key, value in _built(zarr_format).snapshot().items():
        found.store.set(key, value)
    return found


class Built:
    """A hierarchy, with what each of its arrays and groups brought along."""

    def __init__(self, zarr_format: Any, store: Store) -> None:
        self.format, self.store = zarr_format, store
        self.owned: dict[str, set[str]] = {}
        self.values: dict[str, Any] = {}
        if zarr_format not in (0, 1):
            omnizarr.create_group(store, zarr_format=zarr_format)
            store.set("elsewhere.txt", b"of no node")
        for number, path in enumerate(ARRAYS):
            for above in self.above(path):
                if above not in self.owned and zarr_format not in (0, 1):
                    with self.noting(above):
                        omnizarr.create_group(store, path=above, zarr_format=zarr_format)
            shape = () if number % 3 == 2 and zarr_format not in (0, 1) else (7, 5)
            with self.noting(path):
                array = omnizarr.create_array(
                    store, name=path, shape=shape, chunks=(3, 5)[: len(shape)], dtype="i4",
                    zarr_format=zarr_format, fill_value=0, attributes={"number": number},
                )  # fmt: skip
                array[...] = self.values[path] = np.full(shape, 100 + number, "i4")

    @staticmethod
    def above(path: str) -> list[str]:
        names = path.split("/")
        return ["/".join(names[:depth]) for depth in range(1, len(names))]

    @contextmanager
    def noting(self, path: str) -> Iterator[None]:
        before = set(self.store.list_prefix(""))
        yield
        self.owned[path] = set(self.store.list_prefix("")) - before
        assert self.owned[path]

    def subtree(self, path: str) -> set[str]:
        """The keys of a node and of those below it."""
        below = [p for p in self.owned if p == path or p.startswith(path + "/")]
        return set().union(*(self.owned[p] for p in below))

    def snapshot(self) -> dict[str, bytes]:
        return {key: bytes(self.store.get(key) or b"") for key in self.store.list_prefix("")}

    def check_others(self, path: str) -> None:
        for name, values in self.values.items():
            if name != path and not name.startswith(path + "/"):
                array = omnizarr.open_array(
                    self.store, path=name, mode="r", zarr_format=self.format, on_missing="raise"
                )
                assert np.array_equal(array[...], values), name


def nodes(built: Built) -> list[str]:
    return [path for path in NODES if path in built.owned]


Route = Callable[[Built, str], None]


def _delete(built: Built, path: str) -> None:
    del omnizarr.open_group(built.store, zarr_format=built.format)[path]


def _delete_in_parent(built: Built, path: str) -> None:
    parent, _, name = path.rpartition("/")
    del omnizarr.open_group(built.store, path=parent, zarr_format=built.format)[name]


def _overwrite(built: Built, path: str) -> None:
    omnizarr.create_array(
        built.store, name=path, shape=(2,), dtype="u1", zarr_format=built.format, overwrite=True
    )[:] = 1


def _overwrite_with_group(built: Built, path: str) -> None:
    omnizarr.create_group(built.store, path=path, zarr_format=built.format, overwrite=True)


def _open_w(built: Built, path: str) -> None:
    omnizarr.open_array(
        built.store, path=path, mode="w", shape=(2,), dtype="u1", zarr_format=built.format
    )


def _open_group_w(built: Built, path: str) -> None:
    omnizarr.open_group(built.store, path=path, mode="w", zarr_format=built.format)


def _assign(built: Built, path: str) -> None:
    omnizarr.open_group(built.store, zarr_format=built.format)[path] = np.ones(3, "u1")


def _save(built: Built, path: str) -> None:
    omnizarr.save_array(built.store, np.ones(3, "u1"), path=path, zarr_format=built.format)


def _copy(built: Built, path: str) -> None:
    source = omnizarr.create_array({}, data=np.ones(3, "u1"), zarr_format=2)
    root = omnizarr.open_group(built.store, zarr_format=built.format)
    omnizarr.copy(source, root, name=path, if_exists="replace")


def _convert(built: Built, path: str) -> None:
    source: dict[str, bytes] = {}
    omnizarr.create_array(source, data=np.ones(3, "u1"), zarr_format=2)
    omnizarr.convert(
        source, built.store, destination_path=path, zarr_format=built.format, overwrite=True,
        reencode=True,
    )  # fmt: skip


def _hierarchy(built: Built, path: str) -> None:
    root = omnizarr.open_group(built.store, zarr_format=built.format)
    model = omnizarr.create_group({}, zarr_format=built.format).metadata
    list(root.create_hierarchy({path: model}, overwrite=True))


REMOVING: tuple[Route, ...] = (_delete, _delete_in_parent)
FOR_ARRAYS: tuple[Route, ...] = (_overwrite, _open_w, _save, _convert)
REPLACING: tuple[Route, ...] = (
    *FOR_ARRAYS, _overwrite_with_group, _open_group_w, _assign, _copy, _hierarchy
)  # fmt: skip


def _check(built: Built, path: str, route: Route, *, removes: bool) -> None:
    before = built.snapshot()
    route(built, path)
    after = built.snapshot()
    gone = set(before) - set(after)
    changed = {key for key in set(before) & set(after) if before[key] != after[key]}
    assert gone | changed <= built.subtree(path)
    if removes:
        assert gone == built.subtree(path)
        assert not changed
        assert set(after) <= set(before)
    built.check_others(path)


@pytest.mark.slow
@pytest.mark.parametrize("route", REMOVING, ids=lambda route: route.__name__)
@pytest.mark.parametrize("zarr_format", WITH_GROUPS)
def test_removing(zarr_format: Any, route: Route) -> None:
    for path in nodes(_built(zarr_format)):
        _check(built_as(zarr_format), path, route, removes=True)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("zarr_format", "route"),
    [(name, r) for name in WITH_GROUPS for r in REPLACING] + list(product((0, 1), FOR_ARRAYS)),
    ids=lambda value: getattr(value, "__name__", str(value)),
)
def test_replacing(zarr_format: Any, route: Route) -> None:
    for path in nodes(_built(zarr_format)):
        _check(built_as(zarr_format), path, route, removes=False)


@pytest.mark.slow
@pytest.mark.parametrize("zarr_format", WITH_GROUPS)
def test_moving(zarr_format: Any) -> None:
    for path in nodes(_built(zarr_format)):
        built = built_as(zarr_format)
        before = built.snapshot()
        root = omnizarr.open_group(built.store, zarr_format=zarr_format)
        root.move(path, "moved")
        after = built.snapshot()
        assert set(before) - set(after) == built.subtree(path)
        assert all(after[key] == value for key, value in before.items() if key in after)
        built.check_others(path)
        for name, values in built.values.items():
            if name == path or name.startswith(path + "/"):
                array = root["moved" + name[len(path) :]]
                assert isinstance(array, omnizarr.Array)
                assert np.array_equal(array[...], values)
        root.move("moved", path)
        assert built.snapshot() == before


@pytest.mark.parametrize("zarr_format", WITH_GROUPS)
def test_clearing_a_group(zarr_format: Any) -> None:
    for path in ("data", "meta", "root"):
        built = built_as(zarr_format)
        group = omnizarr.open_group(built.store, path=path, zarr_format=zarr_format)
        group.clear()
        gone = set().union(*built.owned.values()) - set(built.snapshot())
        assert gone == built.subtree(path) - built.owned[path]
        built.check_others(path)


@pytest.mark.parametrize("zarr_format", DRAFTS)
@pytest.mark.parametrize("path", ["data", "meta", "data/root", "meta/root"])
def test_directories(zarr_format: str, path: str, tmp_path: Any) -> None:
    """The same where a key is a file: the first reproduction of this fault."""
    store = LocalStore(tmp_path)
    root = omnizarr.create_group(store, zarr_format=zarr_format)
    root.create_array("kept", data=np.arange(6))
    root.create_group(path)
    root.create_array(path + "/gone", data=np.arange(4))
    del root[path]
    assert path not in root
    assert root["kept"][:].tolist() == list(range(6))
    assert not [key for key in store.list_prefix("") if "gone" in key]


@pytest.mark.parametrize("zarr_format", DRAFTS)
def test_a_broken_draft_node(zarr_format: str) -> None:
    built = built_as(zarr_format)
    (document,) = [key for key in built.owned["data"] if ".group" in key]
    built.store.set(document, b"{")
    _check(built, "data", _overwrite, removes=False)
    built = built_as(zarr_format)
    document = next(key for key in built.owned["x"] if ".array" in key)
    built.store.set(document, b"{")
    _check(built, "x", _overwrite, removes=False)


@pytest.mark.parametrize("zarr_format", DRAFTS)
def test_the_root_of_a_draft(zarr_format: str) -> None:
    built = built_as(zarr_format)
    omnizarr.create_group(built.store, zarr_format=3, overwrite=True)
    assert list(built.store.list_prefix("")) == ["elsewhere.txt", "zarr.json"]


@pytest.mark.parametrize("zarr_format", DRAFTS)
@pytest.mark.parametrize("other", [0, 1, 2, 3, "n5"])
@pytest.mark.parametrize("path", ["data", "meta/root", "data/root/x"])
def test_other_formats_stay_out_of_a_draft(zarr_format: str, other: Any, path: str) -> None:
    built = built_as(zarr_format)
    before = built.snapshot()
    for overwrite in (False, True):
        with pytest.raises(UnsupportedError, match="its chunks and documents"):
            omnizarr.create_array(
                built.store, name=path, shape=(3,), dtype="i4", zarr_format=other,
                overwrite=overwrite,
            )  # fmt: skip
    assert built.snapshot() == before


@pytest.mark.parametrize("zarr_format", DRAFTS)
@pytest.mark.parametrize("path", ["", "x", "other"])
@pytest.mark.parametrize("overwrite", [False, True])
def test_a_draft_stays_out_of_other_formats(zarr_format: str, path: str, overwrite: bool) -> None:
    store = MemoryStore()
    array = omnizarr.create_array(store, name="data/x", data=np.arange(4), chunks=2, zarr_format=1)
    omnizarr.create_array(store, name="data", data=np.arange(4), chunks=2, zarr_format=1)
    with pytest.raises((UnsupportedError, NodeExistsError, MetadataError)):
        omnizarr.create_array(
            store, name=path, shape=(4,), chunks=2, dtype="i4", zarr_format=zarr_format,
            overwrite=overwrite,
        )  # fmt: skip
    assert array[:].tolist() == [0, 1, 2, 3]


@pytest.mark.parametrize("zarr_format", DRAFTS)
def test_chunks_that_are_called_like_documents(zarr_format: str) -> None:
    """The 2019 draft keeps a 0-d array's chunk under the array's own name, below `data`."""
    store = MemoryStore()
    root = omnizarr.create_group(store, zarr_format=zarr_format)
    for name in ("zarr.json", ".zarray", "meta", "__zmeta__", "attributes.json"):
        root.create_array(name, data=np.array(7))
    root.create_group("data")
    root.create_array("data", shape=(3,), dtype="i4", overwrite=True)
    del root["data"]
    for name in ("zarr.json", ".zarray", "meta", "__zmeta__", "attributes.json"):
        assert root[name][()] == 7
