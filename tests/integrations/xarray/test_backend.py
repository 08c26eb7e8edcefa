"""`engine="omnizarr"`: what can be opened, how, and that nothing is read too early."""

from __future__ import annotations

import asyncio
import json
import os
import pickle
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import omnizarr
from omnizarr.errors import MetadataError

xr: Any = pytest.importorskip("xarray")
from omnizarr.integrations.xarray import OmnizarrBackend, to_zarr  # noqa: E402


def example() -> Any:
    return xr.Dataset(
        {"t": (("time", "x"), np.arange(12.0).reshape(3, 4), {"units": "K"})},
        coords={"time": np.arange(3), "x": ("x", np.arange(4) * 10)},
        attrs={"title": "example"},
    )


def opened(target: Any, **arguments: Any) -> Any:
    return xr.open_dataset(target, engine="omnizarr", **arguments)


@pytest.mark.parametrize("zarr_format", [2, 3, "n5", "3-draft2020-10"])
@pytest.mark.parametrize("consolidated", [None, False])
def test_every_format_is_read_back(
    zarr_format: int | str, consolidated: bool | None, tmp_path: Path
) -> None:
    path = tmp_path / "a.zarr"
    to_zarr(example(), path, zarr_format=zarr_format, consolidated=consolidated)
    with opened(path, consolidated=consolidated) as found:
        xr.testing.assert_identical(found.load(), example())


@pytest.mark.parametrize("name", ["a.zarr", "a.zip", "a.sqlite", "a.zarr.zip"])
def test_every_store_that_a_path_names(name: str, tmp_path: Path) -> None:
    to_zarr(example(), str(tmp_path / name))
    with opened(str(tmp_path / name)) as found:
        xr.testing.assert_identical(found.load(), example())


@pytest.mark.parametrize("kind", ["store", "mapping", "group", "subgroup"])
def test_objects(kind: str) -> None:
    keys: dict[str, bytes] = {}
    target: Any = {
        "store": omnizarr.MemoryStore(),
        "mapping": keys,
        "group": omnizarr.group(),
        "subgroup": omnizarr.group().create_group("a/b"),
    }[kind]
    to_zarr(example(), target, mode="a")
    xr.testing.assert_identical(opened(target).load(), example())
    assert (kind == "mapping") == bool(keys)


def test_values_are_read_when_they_are_asked_for(tmp_path: Path) -> None:
    to_zarr(example(), tmp_path, mode="w", encoding={"t": {"chunks": (1, 4)}})
    found = opened(tmp_path)
    for chunk in (tmp_path / "t" / "c").rglob("*"):
        if chunk.is_file() and chunk.parent.name != "2":
            chunk.write_bytes(b"damaged")
    np.testing.assert_array_equal(found.t[2], [8, 9, 10, 11])
    with pytest.raises(omnizarr.errors.DecodeError):
        found.t.load()


@pytest.mark.parametrize(
    "key",
    [
        {"time": 1},
        {"x": slice(None, None, -2)},
        {"time": [2, 0], "x": [3, 3, 1]},
        {"time": ("p", [0, 2]), "x": ("p", [1, 3])},
        {"time": 0, "x": 0},
    ],
    ids=str,
)
def test_selections_read_and_awaited(key: dict[str, Any]) -> None:
    store = omnizarr.MemoryStore()
    to_zarr(example(), store)
    key = {
        name: xr.Variable(*item) if isinstance(item, tuple) else item for name, item in key.items()
    }
    expected = example().t.isel(key)
    xr.testing.assert_identical(opened(store).t.isel(key).load(), expected)
    awaited = asyncio.run(opened(store).t.isel(key).load_async())
    xr.testing.assert_identical(awaited, expected)


def test_pickled(tmp_path: Path) -> None:
    to_zarr(example(), tmp_path / "a.zarr")
    for chunks in (None, {}):
        found = pickle.loads(pickle.dumps(opened(tmp_path / "a.zarr", chunks=chunks)))
        xr.testing.assert_identical(found.compute(), example())


def test_chunks_follow_shards() -> None:
    store = omnizarr.MemoryStore()
    how = {"t": {"chunks": (1, 2), "shards": (2, 4)}}
    to_zarr(example(), store, encoding=how)
    found = opened(store, chunks={})
    assert found.t.chunks == ((2, 1), (4,))
    assert found.t.encoding["chunks"] == (1, 2)
    assert found.t.encoding["shards"] == (2, 4)
    to_zarr(found, copy := omnizarr.MemoryStore())  # would be refused if tasks shared a shard
    assert omnizarr.open_group(copy)["t"].shards == (2, 4)


def test_groups(tmp_path: Path) -> None:
    tree = xr.DataTree.from_dict({"/": xr.Dataset(), "/a": example(), "/a/b": example()})
    to_zarr(tree, tmp_path / "tree.zarr")
    for consolidated in (None, False):
        how = {"engine": "omnizarr", "consolidated": consolidated}
        found = xr.open_datatree(tmp_path / "tree.zarr", **how)
        xr.testing.assert_identical(found.load(), tree)
        assert sorted(xr.open_groups(tmp_path / "tree.zarr", **how)) == ["/", "/a", "/a/b"]
        below = xr.open_groups(tmp_path / "tree.zarr", group="a", **how)
        assert sorted(below) == ["/", "/b"]
        xr.testing.assert_identical(below["/"].load(), example())


def test_many_files(tmp_path: Path) -> None:
    for i in range(3):
        to_zarr(example().assign_coords(time=np.arange(3) + 3 * i), tmp_path / f"{i}.zarr")
    paths = [str(tmp_path / f"{i}.zarr") for i in range(3)]
    found = xr.open_mfdataset(paths, engine="omnizarr", combine="by_coords")
    assert found.sizes == {"time": 9, "x": 4}
    assert float(found.t.sum()) == 198


def test_an_array_by_itself() -> None:
    for dims, expected in ((("y", "x"), ("y", "x")), (None, ("dim_0", "dim_1"))):
        array = omnizarr.array(np.eye(3), dimension_names=dims)
        found = xr.open_dataarray(array, engine="omnizarr")
        assert (found.name, found.dims) == (None, expected)
    old = omnizarr.create_array({}, data=np.eye(3), zarr_format=1)
    assert float(xr.open_dataarray(old.store, engine="omnizarr").sum()) == 3


def test_an_array_without_names_is_refused_by_name() -> None:
    root = omnizarr.group()
    root.create_array("data", shape=(2, 3), dtype="i4")
    with pytest.raises(KeyError, match=r"'data'.*dimension_names"):
        opened(root)


def test_names_of_netcdf() -> None:
    """netCDF-C 4.9.0 kept references to dimensions in `.zarray`."""
    store = omnizarr.MemoryStore()
    omnizarr.create_group(store, zarr_format=2).create_array("v", data=np.arange(6).reshape(2, 3))
    document = json.loads(store.get("v/.zarray"))
    document["_NCZARR_ARRAY"] = {"dimrefs": ["/lat", "/lon"], "storage": "chunked"}
    store.set("v/.zarray", json.dumps(document).encode())
    assert opened(store).v.dims == ("lat", "lon")
    assert not [name for name in opened(store).v.attrs if name.lower().startswith("_nc")]


def test_fill_values_mask_where_the_convention_says_so() -> None:
    values = xr.Dataset({"v": ("x", [1, 2, 3])})
    for zarr_format, masked in ((2, True), (3, False)):
        root = omnizarr.create_group({}, zarr_format=zarr_format)
        root.create_array("v", data=values.v.to_numpy(), fill_value=2, dimension_names=["x"])
        assert bool(opened(root).v.isnull()[1]) is masked
        assert bool(opened(root, use_zarr_fill_value_as_mask=not masked).v.isnull()[1]) != masked


def test_a_plain_fill_value_of_other_software() -> None:
    root = omnizarr.group()
    array = root.create_array("v", data=[1.0, 2.0], dimension_names=["x"])
    array.attrs["_FillValue"] = 2.0
    assert opened(root).v.isnull().to_numpy().tolist() == [False, True]


def test_missing(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match=r"nothing\.zarr"):
        opened(tmp_path / "nothing.zarr")
    to_zarr(example(), tmp_path / "a.zarr", consolidated=False)
    with pytest.raises(ValueError, match="no consolidated metadata"):
        opened(tmp_path / "a.zarr", consolidated=True)
    with pytest.raises(FileNotFoundError, match="other"):
        opened(tmp_path / "a.zarr", group="other")


def test_stale_consolidated_metadata_do_not_hide_a_group(tmp_path: Path) -> None:
    to_zarr(example(), tmp_path / "a.zarr")
    to_zarr(example(), tmp_path / "a.zarr", group="late", mode="a", consolidated=False)
    xr.testing.assert_identical(opened(tmp_path / "a.zarr", group="late").load(), example())


def test_attributes_that_xarray_does_not_expect() -> None:
    def opened(attributes: dict[str, Any], **options: Any) -> Any:
        group = omnizarr.group()
        group.create_array("v", data=np.zeros(3), dimension_names=["x"], attributes=attributes)
        return group.netcdf.to_xarray(**options)

    with pytest.raises(MetadataError, match="path '/v': _FillValue must be a number, found 'AAAA'"):
        opened({"_FillValue": "AAAA"})
    assert opened({"_FillValue": "Infinity"})["v"].encoding["_FillValue"] == np.inf
    with pytest.raises(MetadataError, match="v: the attribute coordinates must be names"):
        opened({"coordinates": 5})
    assert opened({"coordinates": 5}, decode_coords=False)["v"].attrs["coordinates"] == 5


def test_what_is_claimed(monkeypatch: pytest.MonkeyPatch) -> None:
    guess = OmnizarrBackend().guess_can_open
    own = ("a.n5", "a.sqlite", "redis://localhost/0", omnizarr.MemoryStore(), omnizarr.group())
    assert all(map(guess, own))
    assert not any(map(guess, ("a.nc", "a.h5", b"bytes", "https://example.org/a.nc")))
    shared = ("a.zarr", "a.zarr/", "a.zarr.zip", "a.ozx", Path("a.zarr"))
    assert not any(map(guess, shared))
    monkeypatch.setitem(sys.modules, "zarr", None)
    assert all(map(guess, shared))


def test_the_engine_as_a_class() -> None:
    to_zarr(example(), store := omnizarr.MemoryStore())
    found = xr.open_dataset(store, engine=OmnizarrBackend, decode_cf=False)
    assert found.t.shape == (3, 4)


def test_zarr_python_is_not_needed(tmp_path: Path) -> None:
    script = """if True:
        import sys
        sys.modules["zarr"] = None
        import numpy, xarray
        import omnizarr.integrations.xarray
        dataset = xarray.Dataset({"v": ("x", numpy.arange(4.0))}, coords={"x": [1, 2, 3, 4]})
        dataset.chunk(x=2).omnizarr.to_zarr("a.zarr")
        dataset.assign_coords(x=dataset.x + 4).omnizarr.to_zarr("a.zarr", append_dim="x")
        (dataset * 2).isel(x=[1, 2]).omnizarr.to_zarr("a.zarr", region="auto")
        found = xarray.open_dataset("a.zarr", chunks={})  # the engine is guessed
        assert found.v.values.tolist() == [0, 2, 4, 3, 0, 1, 2, 3], found.v.values
        tree = xarray.DataTree.from_dict({"/a": dataset})
        tree.omnizarr.to_zarr("tree.zarr")
        assert xarray.open_datatree("tree.zarr", engine="omnizarr").identical(tree)
    """
    done = subprocess.run(
        [sys.executable, "-c", script], cwd=tmp_path, capture_output=True, text=True,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr


def test_importing_omnizarr_does_not_import_xarray() -> None:
    script = "import omnizarr, sys; assert 'xarray' not in sys.modules"
    path = os.pathsep.join(filter(None, sys.path))
    subprocess.run(
        [sys.executable, "-c", script], check=True, env={**os.environ, "PYTHONPATH": path}
    )


def test_shards_are_not_listed_to_tell_their_shape() -> None:
    root = omnizarr.group()
    many = {"shape": 2**62, "dtype": "i4", "chunks": 1, "shards": 2}
    with omnizarr.limits.override(max_requested_chunks=1000):
        root.create_array("a", dimension_names=["x"], **many)
        encoding = opened(root)["a"].encoding
    assert encoding["shards"] == (2,)
    assert encoding["preferred_chunks"] == {"x": 2}
