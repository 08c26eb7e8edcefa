"""Showing a node asks the store for nothing; counting and listing are asked for."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import omnizarr as zarr
from omnizarr.testing import CountingStore

LISTINGS = ("list_prefix", "list_dir", "size", "exists")


def _counting() -> tuple[CountingStore, zarr.Group]:
    inner = zarr.MemoryStore()
    root = zarr.create_group(inner)
    root.create_array("a", data=np.arange(100) + 1, chunks=1)
    for index in range(50):
        root.create_group(f"g{index:02}")
    counting = CountingStore(inner)
    return counting, zarr.open_group(counting, mode="r")


SHOWS: dict[str, Callable[[Any], Any]] = {
    "repr": repr,
    "str": str,
    "info": lambda node: repr(node.info),
    "info in HTML": lambda node: node.info._repr_html_(),
    "info_items": lambda node: node.info_items(),
}


@pytest.mark.parametrize("way", SHOWS)
def test_showing_asks_for_nothing(way: str) -> None:
    counting, root = _counting()
    for node in (root, root["a"]):
        counting.reset()
        assert "MemoryStore" in str(SHOWS[way](node))
        assert not counting.counts


def test_in_html_a_near_store_is_asked_for_what_is_shown() -> None:
    counting, root = _counting()
    array = root["a"]
    counting.reset()
    assert "MemoryStore" in array._repr_html_()
    assert counting.counts["list_prefix"] == 1 and counting.counts["size"] == 100
    assert not set(counting.counts) - {"list_prefix", "size"}
    counting.reset()
    html = root._repr_html_()
    assert "MemoryStore" in html and "g00" in html and "and 31 more" in html
    assert counting.counts["list_dir"] == 1
    assert counting.counts["get"] + counting.counts["get_many"] <= 4 * 20


def test_what_is_asked_for_is_counted() -> None:
    _, root = _counting()
    array = root["a"]
    assert "not counted; info_complete()" in str(array.info)
    assert "100/100" in str(array.info_complete())
    assert array.nchunks_initialized == 100
    assert "info_complete()" in str(root.info)
    assert "50" in str(root.info_complete())


def test_every_repr_shows_its_store() -> None:
    root = zarr.group(zarr.MemoryStore())
    array = root.create_array("a", data=np.arange(4))
    shown = (root, array, array.lazy[1:], zarr.load(root.store))
    assert all(repr(root.store) in repr(node) for node in shown)


# -- a member that is not there -------------------------------------------------------------------
@pytest.mark.parametrize("version", [2, 3, "3-draft2020-10", "n5"])
def test_a_missing_member_names_its_siblings(version: Any) -> None:
    root = zarr.create_group({}, zarr_format=version)
    for name in ("temperature", "pressure", "deep/inner"):
        root.create_array(name, shape=3, dtype="i4")
    near = "did you mean 'temperature'"
    for call in (
        lambda: root["temprature"],
        lambda: root.get_array("temprature"),
        lambda: root.__delitem__("temprature"),
        lambda: root.move("temprature", "x"),
        lambda: zarr.open(root.store, mode="r", path="temprature"),
        lambda: zarr.open_array(root.store, mode="r", path="temprature"),
    ):
        with pytest.raises(KeyError, match=f"{near}.*'/' holds deep, pressure, temperature"):
            call()
    with pytest.raises(KeyError, match="'/deep' holds inner"):
        root["deep/iner/x"]
    with pytest.raises(KeyError, match="'/pressure' is an array"):
        root["pressure/x"]


@pytest.mark.parametrize("version", [2, 3])
def test_a_missing_member_opened_by_its_path_names_its_siblings(
    tmp_path: Path, version: Any
) -> None:
    for place in ("w.zarr", "w.zip"):
        where = str(tmp_path / place)
        with zarr.ZipStore(where, mode="w") if place == "w.zip" else nullcontext(where) as store:
            root = zarr.open_group(store, mode="w", zarr_format=version)
            root.create_array("temperature", data=[1])
            root.create_array("ocean/salt", data=[1])
        for function in (zarr.open_array, zarr.open_group, zarr.open):
            with pytest.raises(KeyError, match=r"did you mean 'temperature'\?.*ocean, temperature"):
                function(f"{where}/temprature", mode="r")
        with pytest.raises(KeyError, match=r"did you mean 'ocean'\?"):
            zarr.open_array(f"{where}/ocaen/salt", mode="r")
        with pytest.raises(KeyError, match="ocean' holds salt"):
            zarr.open_array(f"{where}/ocean/x", mode="r")
        with pytest.raises(KeyError) as told:
            zarr.open_array(where, path="temprature", mode="r")
        assert "describe no node" not in str(told.value)
    with pytest.raises(KeyError, match=r"no such key, nor any other at this path$"):
        zarr.open_array(tmp_path / "none.zarr" / "x", mode="r")


def test_a_missing_attribute_of_a_group_names_the_nearest_member() -> None:
    root = zarr.group()
    root.create_array("temperature", data=[1])
    with pytest.raises(AttributeError, match="did you mean 'temperature'"):
        _ = root.temprature
    assert not hasattr(root, "pressure")


def test_siblings_are_bounded_and_known_to_consolidated_metadata() -> None:
    root = zarr.group()
    with pytest.raises(KeyError, match="'/' is empty"):
        root["a"]
    for index in range(30):
        root.create_group(f"g{index:02}")
    consolidated = zarr.consolidate_metadata(root.store)
    for group in (root, consolidated):
        with pytest.raises(KeyError, match=r"'/' holds g00, .*, g09 and 20 more$"):
            group["nothing"]


def test_asking_whether_there_is_a_member_lists_nothing() -> None:
    counting, root = _counting()
    counting.reset()
    assert "x" not in root
    assert root.get("x") is None
    assert not hasattr(root, "x")
    assert not set(counting.counts) & set(LISTINGS)


def test_a_tree_names_data_types_as_the_command_line_does() -> None:
    root = zarr.group()
    root.create_array("s", shape=2, dtype=[("a", "i4"), ("b", "f8")])
    root.create_array("t", shape=3, dtype=str)
    assert str(root.tree()).splitlines()[1:] == [
        " ├── s (2,) struct(a int32, b float64)",
        " └── t (3,) string",
    ]
