"""Groups as users of both generations know them: mappings, visits, copies, trees."""

from __future__ import annotations

import io
import zipfile
from collections.abc import MutableMapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import omnizarr as zarr
from tests.acceptance.counting import CountingMapping

VERSIONS = pytest.mark.parametrize("version", [2, 3])


@VERSIONS
def test_datasets_as_in_h5py(version: int) -> None:
    root = zarr.group({}, zarr_format=version)
    made = root.create_dataset("a/b", shape=(4, 4), chunks=(2, 2), dtype="i4")
    made[...] = 3
    assert root["a/b"][0, 0] == 3
    filled = root.create_dataset("c", data=np.arange(3))
    assert filled[:].tolist() == [0, 1, 2]
    again = root.require_dataset("c", shape=(3,), dtype=filled.dtype)
    assert again[:].tolist() == [0, 1, 2]
    assert root.require_dataset("d", shape=(2,), dtype="f4").shape == (2,)
    with pytest.raises(TypeError):
        root.require_dataset("c", shape=(5,), dtype="i8")
    with pytest.raises(TypeError):
        root.require_dataset("d", shape=(2,), dtype="f8", exact=True)
    assert root.require_array("c", shape=(3,), dtype="i8").shape == (3,)
    assert root.require_group("a").path == "a"
    assert root.array("e", np.arange(2))[:].tolist() == [0, 1]
    assert root.create("f", shape=(3,), dtype="i2").dtype == np.dtype("i2")
    for make in ("zeros", "ones", "empty"):
        assert getattr(root, make)(f"m-{make}", shape=(3,)).shape == (3,)
        assert getattr(root, f"{make}_like")(f"l-{make}", made).shape == (4, 4)
    assert root.full("g", shape=(2,), fill_value=6)[:].tolist() == [6, 6]


def climate(store: Any, version: int) -> Any:
    root = zarr.group(store, zarr_format=version)
    root.create_array("x", shape=(3,), dtype="i4")[:] = [1, 2, 3]
    root.create_array("sub/y", shape=(2,), dtype="f4")[:] = [4, 5]
    root.create_group("sub/deep")
    root.attrs["title"] = "t"
    root["x"].attrs["units"] = "K"
    return root


@VERSIONS
def test_groups_are_mappings(version: int) -> None:
    root = climate({}, version)
    assert isinstance(root, MutableMapping)
    assert sorted(root) == ["sub", "x"]
    assert sorted(root.keys()) == ["sub", "x"]
    assert len(root) == 2
    assert "x" in root and "sub/y" in root and "nosuch" not in root
    assert {type(value).__name__ for value in root.values()} == {"Array", "Group"}
    assert dict(root.items())["x"].shape == (3,)
    assert root.get("nosuch") is None
    assert root.get("x").shape == (3,)
    assert sorted(root.array_keys()) == ["x"]
    assert sorted(root.group_keys()) == ["sub"]
    assert [name for name, _ in root.arrays()] == ["x"]
    assert [name for name, _ in root.groups()] == ["sub"]
    assert {name for name, _ in root.members(max_depth=None)} == {"x", "sub", "sub/y", "sub/deep"}
    assert root.nmembers(max_depth=None) == 4
    assert root.x[:].tolist() == [1, 2, 3]
    assert root.sub.y.shape == (2,)
    assert {"x", "sub"} <= set(dir(root))
    with pytest.raises(AttributeError):
        _ = root.nosuch
    root["new"] = np.arange(4)
    assert root["new"][:].tolist() == [0, 1, 2, 3]
    del root["new"]
    assert "new" not in root
    assert root.setdefault("x", np.zeros(1)).shape == (3,)
    root.update({"u": np.zeros(2), "v": np.ones(2)})
    assert root["v"][:].tolist() == [1.0, 1.0]
    root.pop("u")
    assert "u" not in root
    with root as inside:
        assert inside["x"].shape == (3,)
    with pytest.raises(KeyError):
        root["nosuch"]
    name, _ = root.popitem()
    assert name not in root
    root.clear()
    assert len(root) == 0


@VERSIONS
def test_visits(version: int) -> None:
    root = climate({}, version)
    seen: list[str] = []
    root.visit(seen.append)
    assert sorted(seen) == ["sub", "sub/deep", "sub/y", "x"]
    kinds: dict[str, str] = {}
    root.visititems(lambda name, node: kinds.__setitem__(name, type(node).__name__))
    assert kinds == {"sub": "Group", "sub/deep": "Group", "sub/y": "Array", "x": "Array"}
    keys: list[str] = []
    root.visitkeys(keys.append)
    assert sorted(keys) == sorted(seen)
    values: list[Any] = []
    root.visitvalues(values.append)
    assert len(values) == 4
    assert root.visit(lambda name: name if name.endswith("y") else None) == "sub/y"


@VERSIONS
def test_move(version: int, tmp_path: Path) -> None:
    for store in ({}, str(tmp_path / "a.zarr")):
        root = climate(store, version)
        root.move("sub/y", "other/z")
        assert "sub/y" not in root
        assert root["other/z"][:].tolist() == [4.0, 5.0]
        root.move("sub", "moved")
        assert "moved/deep" in root
        with pytest.raises(zarr.errors.ZarrError):
            root.move("moved", "x")
        with pytest.raises((KeyError, zarr.errors.ZarrError)):
            root.move("nosuch", "w")
        assert root["x"][:].tolist() == [1, 2, 3]


@VERSIONS
def test_copy_functions(version: int) -> None:
    source = climate({}, version)
    target = zarr.group({}, zarr_format=5 - version)
    copied = zarr.copy(source["x"], target, name="renamed")
    assert copied[0] >= 1
    assert target["renamed"][:].tolist() == [1, 2, 3]
    assert target["renamed"].attrs["units"] == "K"
    zarr.copy(source["sub"], target)
    assert target["sub/y"][:].tolist() == [4.0, 5.0]
    with pytest.raises(zarr.errors.ZarrError):
        zarr.copy(source["sub"], target)
    assert zarr.copy(source["sub"], target, if_exists="skip")[1] >= 0
    zarr.copy(source["sub"], target, if_exists="replace")
    everything = zarr.group({}, zarr_format=version)
    log = io.StringIO()
    zarr.copy_all(source, everything, log=log, without_attrs=True)
    assert sorted(everything) == ["sub", "x"]
    assert "units" not in everything["x"].attrs
    assert "x" in log.getvalue()
    before = list(everything.store.list())
    zarr.copy_all(source, everything, dry_run=True, if_exists="replace")
    assert list(everything.store.list()) == before
    one: dict[str, Any] = {}
    climate(one, version)
    two: dict[str, Any] = {}
    count, skipped, size = zarr.copy_store(one, two)
    assert (count, skipped) == (len(one), 0)
    assert size == sum(len(value) for value in one.values())
    assert {key: bytes(value) for key, value in two.items()} == {
        key: bytes(value) for key, value in one.items()
    }
    with pytest.raises(zarr.errors.ZarrError):
        zarr.copy_store(one, two)
    assert zarr.copy_store(one, two, if_exists="skip")[1] == len(one)
    three: dict[str, Any] = {}
    zarr.copy_store(one, three, source_path="sub", dest_path="elsewhere", excludes="deep")
    assert all(key.startswith("elsewhere/") for key in three)
    assert not any("deep" in key for key in three)


@VERSIONS
@pytest.mark.parametrize("kind", ["folder", "zip", "dict"])
def test_save_and_load(version: int, kind: str, tmp_path: Path) -> None:
    store: Any = {"folder": str(tmp_path / "a.zarr"), "zip": str(tmp_path / "a.zip"), "dict": {}}[
        kind
    ]
    zarr.save(store, np.arange(4), zarr_format=version)
    assert zarr.load(store).tolist() == [0, 1, 2, 3]
    other: Any = {"folder": str(tmp_path / "b.zarr"), "zip": str(tmp_path / "b.zip"), "dict": {}}[
        kind
    ]
    zarr.save(other, one=np.arange(2), two=np.ones((2, 2)), zarr_format=version)
    loaded = zarr.load(other)
    assert sorted(loaded) == ["one", "two"]
    assert loaded["two"].tolist() == [[1, 1], [1, 1]]
    assert isinstance(loaded["one"], np.ndarray)
    third: Any = {"folder": str(tmp_path / "c.zarr"), "zip": str(tmp_path / "c.zip"), "dict": {}}[
        kind
    ]
    zarr.save_group(third, np.arange(3), x=np.arange(5), zarr_format=version)
    assert zarr.load(third)["arr_0"].tolist() == [0, 1, 2]
    assert zarr.load(third, path="x").tolist() == [0, 1, 2, 3, 4]
    fourth: Any = {"folder": str(tmp_path / "d.zarr"), "zip": str(tmp_path / "d.zip"), "dict": {}}[
        kind
    ]
    zarr.save_array(fourth, np.arange(6).reshape(2, 3), zarr_format=version)
    assert zarr.load(fourth).shape == (2, 3)
    if kind == "zip":
        with zipfile.ZipFile(other) as archive:
            assert archive.testzip() is None
            assert len(archive.namelist()) == len(set(archive.namelist()))


@VERSIONS
def test_tree(version: int) -> None:
    root = climate({}, version)
    text = str(root.tree())
    assert text.splitlines()[0].strip() == "/"
    for word in ("sub", "deep", "y (2,) float32", "x (3,) int32"):
        assert word in text
    assert str(zarr.tree(root)) == text
    assert "deep" not in str(root.tree(level=1))
    html = root.tree()._repr_html_()
    assert "<" in html and "sub" in html
    assert "<script" not in html
    assert str(root.info)
    root.create_group("<b>bold</b>")
    assert "<b>bold" not in root.tree()._repr_html_(), "names are escaped"


@VERSIONS
def test_consolidated_metadata(version: int) -> None:
    store = CountingMapping()
    root = climate(store, version)
    for number in range(20):
        root.create_array(f"many/a{number}", shape=(2,), dtype="i4")
    consolidated = zarr.consolidate_metadata(store)
    assert "x" in consolidated
    store.reset()
    opened = zarr.open_consolidated(store, mode="r")
    assert {name for name, _ in opened["many"].arrays()} == {f"a{n}" for n in range(20)}
    assert opened["x"].attrs["units"] == "K"
    assert store.counts["get"] <= 10, "as many as there are documents to look for, not nodes"
    assert store.counts["list"] == 0
    assert opened["x"][:].tolist() == [1, 2, 3]
    assert zarr.open_group(store, mode="r", use_consolidated=True)["sub/y"].shape == (2,)
    late = zarr.open_group(store, mode="r+", use_consolidated=False)
    late.create_array("late", shape=(2,), dtype="i4")
    assert "late" in zarr.open_group(store, mode="r", use_consolidated=False)


def test_hierarchies_at_once() -> None:
    store: dict[str, Any] = {}
    source = climate({}, 3)
    made = dict(
        zarr.create_hierarchy(
            store=store, nodes={"a": source.metadata, "a/x": source["x"].metadata}
        )
    )
    assert {"a", "a/x"} <= set(made)
    assert zarr.open(store, mode="r")["a/x"].shape == (3,)
    copied = zarr.from_array(store, data=source["x"], name="y")
    assert copied[:].tolist() == [1, 2, 3]
    assert zarr.from_array({}, data=np.arange(3))[:].tolist() == [0, 1, 2]
