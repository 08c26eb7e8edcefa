"""`to_zarr` and the accessor: modes, appending, regions, chunks, encodings, trees."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import omnizarr
from omnizarr import MemoryStore

xr: Any = pytest.importorskip("xarray")
from omnizarr.integrations.xarray import OmnizarrDataStore, to_zarr  # noqa: E402


def series(start: int, stop: int, offset: float = 0) -> Any:
    """Values along a dimension with a coordinate."""
    times = np.arange(start, stop)
    return xr.Dataset(
        {"v": ("time", times + float(offset)), "constant": ("k", [1.0, 2.0])},
        coords={"time": times},
    )


def opened(target: Any, **arguments: Any) -> Any:
    return xr.open_dataset(target, engine="omnizarr", **arguments).load()


def values(target: Any) -> list[float]:
    return [float(value) for value in opened(target).v]


@pytest.fixture
def store() -> MemoryStore:
    return MemoryStore()


def test_modes(store: MemoryStore) -> None:
    to_zarr(series(0, 2), store)
    with pytest.raises(FileExistsError):
        to_zarr(series(0, 2), store)
    other = xr.Dataset({"w": ("time", [5, 6])})
    to_zarr(other, store, mode="a")
    assert set(opened(store).variables) == {"v", "w", "constant", "time"}
    to_zarr(series(0, 2, 10), store, mode="r+")
    assert values(store) == [10, 11]
    with pytest.raises(ValueError, match=r"non-pre-existing variables \['z'\]"):
        to_zarr(xr.Dataset({"z": 1}), store, mode="r+")
    to_zarr(other, store, mode="w")
    assert set(opened(store).variables) == {"w"}


def test_appending(store: MemoryStore) -> None:
    to_zarr(series(0, 2), store)
    to_zarr(series(2, 4), store, append_dim="time")
    more = series(4, 5)
    more["constant"] = more.constant + 100
    to_zarr(more, store, mode="a-", append_dim="time")
    assert values(store) == [0, 1, 2, 3, 4]
    assert opened(store).constant.to_numpy().tolist() == [1, 2]
    to_zarr(more, store, mode="a", append_dim="time")
    assert opened(store).constant.to_numpy().tolist() == [101, 102]
    with pytest.raises(ValueError, match="append_dim='z' does not match"):
        to_zarr(more, store, append_dim="z")


def test_appended_values_get_the_stored_encoding(store: MemoryStore) -> None:
    packed = {"v": {"dtype": "i2", "scale_factor": 0.5, "_FillValue": -1}}
    to_zarr(series(0, 2), store, encoding=packed)
    to_zarr(series(2, 4), store, append_dim="time")
    assert omnizarr.open_group(store)["v"][:].tolist() == [0, 2, 4, 6]
    assert values(store) == [0, 1, 2, 3]


@pytest.mark.parametrize("region", ["auto", {"time": "auto"}, {"time": slice(2, 4)}])
def test_regions(store: MemoryStore, region: Any) -> None:
    to_zarr(series(0, 6), store)
    part = series(2, 4, 0.5).drop_vars("constant")
    to_zarr(part, store, region=region)
    assert values(store) == [0, 1, 2.5, 3.5, 4, 5]


def test_a_region_that_is_not_there(store: MemoryStore) -> None:
    to_zarr(series(0, 6), store)
    with pytest.raises(KeyError, match="time"):
        to_zarr(series(5, 7).drop_vars("constant"), store, region="auto")
    assert values(store) == [0, 1, 2, 3, 4, 5]


def test_metadata_first_values_later(store: MemoryStore) -> None:
    lazy = series(0, 6).chunk(time=2)
    later = to_zarr(lazy, store, compute=False)
    assert np.isnan(opened(store).v).all()
    later.compute()
    assert values(store) == [0, 1, 2, 3, 4, 5]


def test_chunks_that_share_a_shard(store: MemoryStore) -> None:
    lazy = series(0, 12).chunk(time=3)
    how: dict[str, Any] = {"encoding": {"v": {"chunks": (2,), "shards": (4,)}}}
    with pytest.raises(ValueError, match="would overlap multiple Dask chunks"):
        to_zarr(lazy, store, mode="w", **how)
    for safe in ({"align_chunks": True}, {"safe_chunks": False}):
        to_zarr(lazy, store, mode="w", **how, **safe)
        assert values(store) == list(range(12))
        assert omnizarr.open_group(store)["v"].shards == (4,)


@pytest.mark.parametrize("zarr_format", [2, 3])
def test_encoding_reaches_the_array(zarr_format: int, store: MemoryStore) -> None:
    how: dict[str, Any] = {"chunks": (5,), "compressors": [{"name": "gzip", "level": 2}]}
    if zarr_format == 3:
        how["compressors"] = [{"name": "gzip", "configuration": {"level": 2}}]
        how["serializer"] = {"name": "bytes", "configuration": {"endian": "big"}}
        how |= {"fill_value": 9, "chunk_key_encoding": {"name": "v2"}}
    else:
        how = {"chunks": (5,), "compressors": [omnizarr.GZip(2)], "_FillValue": 9}
    to_zarr(series(0, 12), store, encoding={"v": how}, zarr_format=zarr_format)
    array = omnizarr.open_group(store)["v"]
    assert array.chunks == (5,)
    assert array.fill_value == 9
    assert array.compressors[0].level == 2
    if zarr_format == 3:
        assert array.serializer.endian == "big"
        assert "v/0" in store.list()
    # What was read is what can be written again, here and to the other format.
    found = opened(store)
    to_zarr(found, again := MemoryStore(), zarr_format=zarr_format)
    assert omnizarr.open_group(again)["v"].compressors == array.compressors


@pytest.mark.parametrize(("old", "new"), [(2, 3), (3, 2)])
def test_from_one_format_to_the_other(old: int, new: int, store: MemoryStore) -> None:
    text = series(0, 4).assign(name=("time", np.array(["a", "ü", "", "d"], dtype=object)))
    to_zarr(text, store, zarr_format=old)
    found = opened(store)
    to_zarr(found, copy := MemoryStore(), zarr_format=new)
    xr.testing.assert_equal(opened(copy), found)


def test_an_encoding_that_is_unknown_is_refused_before_values_are_written() -> None:
    store = MemoryStore()
    with pytest.raises(ValueError, match="compression"):
        to_zarr(series(0, 2), store, encoding={"v": {"compression": "gzip"}})


@pytest.mark.parametrize(("write_empty", "stored"), [(True, 3), (False, 1), (None, 1)])
def test_empty_chunks(write_empty: bool | None, stored: int, store: MemoryStore) -> None:
    data = xr.Dataset({"v": ("time", [np.nan, 1.0, np.nan])})
    how: dict[str, Any] = {"write_empty_chunks": write_empty}
    to_zarr(data, store, encoding={"v": {"chunks": (1,)}}, **how)
    assert omnizarr.open_group(store)["v"].nchunks_initialized == stored
    to_zarr(data, store, append_dim="time", **how)
    assert omnizarr.open_group(store)["v"].nchunks_initialized == 2 * stored


def test_consolidated_metadata(store: MemoryStore) -> None:
    to_zarr(series(0, 2), store, consolidated=False)
    with pytest.raises(ValueError, match="consolidated"):
        opened(store, consolidated=True)
    to_zarr(series(2, 4), store, append_dim="time")
    assert opened(store, consolidated=True).sizes["time"] == 4


def test_no_data(store: MemoryStore) -> None:
    empty = xr.Dataset({"v": (("x", "y"), np.empty((0, 3)))}).chunk()
    to_zarr(empty, store)
    assert opened(store).v.shape == (0, 3)


@pytest.mark.parametrize("name", [None, "v", "x"])
def test_data_arrays(name: str | None, store: MemoryStore) -> None:
    array = xr.DataArray([1, 2], dims="x", coords={"x": [3, 4]}, name=name)
    array.omnizarr.to_zarr(store)
    xr.testing.assert_identical(xr.open_dataarray(store, engine="omnizarr").load(), array)


def test_trees(tmp_path: Path) -> None:
    tree = xr.DataTree.from_dict({"/": series(0, 2), "/a/b": series(0, 2, 7)})
    path = tmp_path / "tree.zarr"
    returned = tree.omnizarr.to_zarr(path, encoding={"/a/b": {"v": {"chunks": (1,)}}})
    assert isinstance(returned, OmnizarrDataStore)
    assert omnizarr.open_group(path)["a/b/v"].chunks == (1,)
    found = xr.open_datatree(path, engine="omnizarr", consolidated=True)
    assert found["a/b/v"].to_numpy().tolist() == [7, 8]
    with pytest.raises(ValueError, match="unexpected encoding group"):
        tree.omnizarr.to_zarr(path, mode="w", encoding={"/c": {}})
    assert omnizarr.open_group(path)["a/b/v"].chunks == (1,)  # the check came before the deletion


def test_a_group_of_a_store(store: MemoryStore) -> None:
    to_zarr(series(0, 2), store, group="a/b")
    assert values_of_group(store, "a/b") == [0, 1]
    assert opened(store, group="/a/b", consolidated=True).v.shape == (2,)


def values_of_group(store: Any, group: str) -> list[float]:
    return [float(value) for value in opened(store, group=group).v]


def test_attributes_that_json_cannot_hold(store: MemoryStore) -> None:
    with pytest.raises(TypeError, match="bad"):
        to_zarr(xr.Dataset({"v": ("x", [1], {"bad": object()})}), store)
    with pytest.raises(TypeError, match="attribute"):
        to_zarr(xr.Dataset(attrs={"bad": object()}), store, mode="w")


def test_a_misspelt_keyword(store: MemoryStore) -> None:
    with pytest.raises(TypeError, match="safe_chunks"):
        to_zarr(series(0, 2), store, safe_chunk=False)  # type: ignore[call-arg]


@pytest.mark.slow
def test_other_threads_and_processes_write_parts(tmp_path: Path) -> None:
    dask: Any = pytest.importorskip("dask")
    lazy = series(0, 40).chunk(time=4)
    to_zarr(lazy, tmp_path / "threads.zarr")
    with dask.config.set(scheduler="processes", num_workers=2):
        to_zarr(lazy, tmp_path / "processes.zarr")
        found = xr.open_dataset(tmp_path / "processes.zarr", engine="omnizarr", chunks={})
        assert float(found.v.sum().compute()) == 780
    assert values(tmp_path / "threads.zarr") == values(tmp_path / "processes.zarr")


@pytest.mark.parametrize("chunks", [None, {}])
@pytest.mark.parametrize("name", ["data.zarr", "data.zarr.zip"])
def test_a_dataset_does_not_replace_what_it_is_read_from(
    tmp_path: Path, chunks: Any, name: str
) -> None:
    path = str(tmp_path / name)
    made = xr.Dataset({"t": (("y", "x"), np.arange(6.0).reshape(2, 3))})
    to_zarr(made, path)
    with xr.open_dataset(path, engine="omnizarr", chunks=chunks) as found:
        with pytest.raises(omnizarr.errors.OverlapError, match=r"variable 't'.*load"):
            to_zarr(found, path, mode="w")
        xr.testing.assert_identical(found.compute(), made)
        loaded = found.load()
    to_zarr(loaded, path, mode="w")
    xr.testing.assert_identical(xr.open_dataset(path, engine="omnizarr").load(), made)


def test_chunks_of_the_whole_axis_and_of_no_length() -> None:
    made = xr.Dataset({"t": (("y", "x"), np.zeros((50, 40)))})
    group: dict[str, Any] = {}
    to_zarr(made, group, encoding={"t": {"chunks": (-1, 20)}})
    assert omnizarr.open_group(group)["t"].chunks == (50, 20)
    with pytest.raises(ValueError, match="chunk"):
        to_zarr(made, {}, encoding={"t": {"chunks": (0, 20)}})
