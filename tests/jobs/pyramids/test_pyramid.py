"""The job against the kernels applied to the whole array, for chunks, shards and stages of any
size; conventions, names and refusals."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import omnizarr as zarr
from omnizarr.errors import (
    MetadataError,
    NodeExistsError,
    NodeNotFoundError,
    OverlapError,
    UnsupportedError,
)
from omnizarr.jobs.pyramids import stages
from omnizarr.jobs.pyramids.kernels import METHODS
from omnizarr.jobs.pyramids.plan import JOURNAL
from omnizarr.testing import CountingStore, FaultStore
from tests.jobs.pyramids.support import image, stored, values_of, whole


@pytest.fixture
def tiny(monkeypatch: pytest.MonkeyPatch) -> None:
    """Stages and pieces so small that small arrays have many."""
    monkeypatch.setattr(stages, "MANY", 4)
    monkeypatch.setattr(stages, "SMALL", 0)
    monkeypatch.setattr(stages, "READ", 64)


@st.composite
def layouts(draw: Any) -> Any:
    """A shape, factors, and chunks and shards of the source and of the levels."""
    ndim = draw(st.integers(1, 3))
    shape = tuple(draw(st.integers(1, 40 if ndim < 3 else 14)) for _ in range(ndim))
    factors = tuple(draw(st.integers(1, 3)) for _ in range(ndim))
    if all(factor == 1 for factor in factors):
        factors = (2, *factors[1:])
    chunks = tuple(draw(st.integers(1, 9)) for _ in range(ndim))
    shards = None
    if draw(st.booleans()):
        shards = tuple(chunk * draw(st.integers(1, 3)) for chunk in chunks)
    return shape, factors, chunks, shards


@pytest.mark.usefixtures("tiny")
@settings(
    max_examples=80, deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)  # fmt: skip
@given(
    layouts(), st.sampled_from(METHODS), st.sampled_from(["u1", "i8", "f4"]), st.booleans(),
    st.sampled_from([0, 7]), st.data(),
)  # fmt: skip
def test_any_chunks_give_the_same(
    layout: Any, method: Any, dtype: str, missing: bool, fill: int, data: Any
) -> None:
    shape, factors, chunks, shards = layout
    rng = np.random.default_rng(data.draw(st.integers(0, 99)))
    source = zarr.create_array(
        {}, shape=shape, dtype=dtype, chunks=chunks, shards=shards, fill_value=fill
    )
    written = rng.integers(0, 9, shape).astype(dtype)
    if dtype == "f4" and data.draw(st.booleans()):
        written[rng.random(shape) < 0.3] = np.nan
    if missing:  # some chunks are not stored
        part = tuple(slice(0, data.draw(st.integers(0, n))) for n in shape)
        source[part] = written[part]
    else:
        source[...] = written
    nodata = data.draw(st.sampled_from([None, 3, 7]))
    levels = data.draw(st.integers(1, 4))
    store = zarr.MemoryStore()
    try:
        done = zarr.pyramid(
            source, store, method=method, factors=factors, levels=levels, nodata=nodata,
            chunks=data.draw(st.sampled_from([None, 3, 5])), shards=False, workers=1,
        )  # fmt: skip
    except ValueError as error:
        assert "at most" in str(error)  # shapes that have fewer levels
        return
    group = zarr.open_group(store, mode="r")
    names = [str(level) for level in range(levels)]
    assert [row.path for row in done.levels] == names
    expected = whole(source[...], factors, levels, method, nodata)
    for found, wanted in zip(stored(group, names), expected, strict=True):
        np.testing.assert_array_equal(found, wanted)
    assert sorted(dict(group.members())) == names
    assert not [key for key in store.list() if "omnizarr" in key]


def test_shards_and_one_pass() -> None:
    """A dense image: every source chunk is read once, whatever number of levels there is."""
    values = image((512, 512))
    inner = zarr.MemoryStore()
    zarr.create_array(inner, name="a", data=values, chunks=(32, 32), shards=(128, 128))
    counting = CountingStore(inner)
    group = zarr.open_group(counting)
    done = zarr.pyramid(group["a"], levels=4, workers=1)
    assert done.passes == 1
    group = zarr.open_group(counting)
    names = ["a", "a_1", "a_2", "a_3"]
    assert [row.path for row in done.levels] == names
    for found, wanted in zip(
        stored(group, names), whole(values, (2, 2), 4, "mean", None), strict=True
    ):
        np.testing.assert_array_equal(found, wanted)
    assert group["a_1"].shards == (128, 128)
    assert group["a_3"].shards == (64, 64)
    assert group.attrs["multiscales"][0]["datasets"][3] == {"path": "a_3"}


def test_missing_chunks_are_not_read() -> None:
    inner = zarr.MemoryStore()
    array = zarr.create_array(inner, name="0", shape=(4096, 4096), dtype="u1", chunks=(64, 64))
    array[2000:2100, 1000:1010] = 9
    counting = CountingStore(inner)
    done = zarr.pyramid(counting, path="0", levels=3)
    asked = [key for key in counting.asked["get"] if key.startswith("0/c/")]
    asked += [key for key in counting.asked.get("get_many", []) if str(key).startswith("0/c/")]
    assert len(asked) == 2  # of 4096
    assert done.tasks < 4
    group = zarr.open_group(inner)
    stored_chunks = [key for key in inner.list() if key.startswith("1/c/")]
    assert 0 < len(stored_chunks) < 4
    for found, wanted in zip(
        stored(group, ["1", "2"]), whole(array[...], (2, 2), 3, "mean", None)[1:], strict=True
    ):
        np.testing.assert_array_equal(found, wanted)


@pytest.mark.parametrize("executor", ["threads", "processes"])
@pytest.mark.parametrize("method", ["mean", "gaussian"])
@pytest.mark.slow
def test_executors(tmp_path: Any, executor: str, method: Any, monkeypatch: Any) -> None:
    monkeypatch.setattr(stages, "SMALL", 0)
    monkeypatch.setattr(stages, "READ", 1 << 12)
    values = image((700, 500))
    zarr.save_array(tmp_path / "a.zarr", values, chunks=(64, 64))
    done = zarr.pyramid(
        tmp_path / "a.zarr", tmp_path / "b.zarr", levels=4, method=method, executor=executor,
        workers=2,
    )  # fmt: skip
    assert done.tasks_done == done.tasks > 4
    group = zarr.open_group(tmp_path / "b.zarr")
    expected = whole(values, (2, 2), 4, method, None)
    for found, wanted in zip(stored(group, ["0", "1", "2", "3"]), expected, strict=True):
        np.testing.assert_array_equal(found, wanted)


@pytest.mark.slow
@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("dtype", ["u2", "f4", "i8"])
def test_memory(tmp_path: Any, method: Any, dtype: str) -> None:
    """A task takes no more than the plan says."""
    import tracemalloc

    values = image((2048, 2048), dtype)
    if dtype == "f4":
        values[::3] = np.nan
    array = zarr.array(values, chunks=128, compressors=None)
    for budget in (None, "8 MiB"):
        tracemalloc.start()
        done = zarr.pyramid(
            array, tmp_path / "a", method=method, workers=1, levels=4, max_memory=budget,
            overwrite=True,
        )  # fmt: skip
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        assert peak < done.task_bytes + (1 << 20)


@pytest.mark.slow
def test_dask(tmp_path: Any) -> None:
    distributed = pytest.importorskip("distributed")
    values = image((700, 500))
    zarr.save_array(tmp_path / "a.zarr", values, chunks=(64, 64))
    with (
        distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, dashboard_address="127.0.0.1:0", host="127.0.0.1"
        ) as cluster,
        distributed.Client(cluster) as client,
    ):
        zarr.pyramid(tmp_path / "a.zarr", tmp_path / "b.zarr", levels=3, executor=client)
    group = zarr.open_group(tmp_path / "b.zarr")
    expected = whole(values, (2, 2), 3, "mean", None)
    for found, wanted in zip(stored(group, ["0", "1", "2"]), expected, strict=True):
        np.testing.assert_array_equal(found, wanted)


def test_another_process_cannot_write_into_memory() -> None:
    from concurrent.futures import ProcessPoolExecutor
    from multiprocessing import get_context

    out: dict[str, Any] = {}
    with (
        ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool,
        pytest.raises(UnsupportedError, match="use threads"),
    ):
        zarr.pyramid(zarr.array(image((8, 8)), chunks=4), out, levels=2, executor=pool)
    assert not out


# -- what is written --------------------------------------------------------------------------


@pytest.mark.parametrize(("zarr_format", "version"), [(2, "0.4"), (3, "0.5")])
def test_ome(zarr_format: int, version: str) -> None:
    values = image((2, 3, 64, 80))
    array = zarr.create_array({}, data=values, chunks=(1, 1, 32, 32), zarr_format=zarr_format)
    store = zarr.MemoryStore()
    axes = [{"name": "t", "unit": "second"}, "c", {"name": "y", "unit": "micrometer"}, "x"]
    zarr.pyramid(
        array, store, axes=axes, scale={"y": 0.5, "x": 0.25}, levels=3, convention="ome"
    )  # fmt: skip
    group = zarr.open_group(store)
    found: Any = group.attrs["ome"] if version == "0.5" else group.attrs.asdict()
    entry = found["multiscales"][0]
    assert (found if version == "0.5" else entry)["version"] == version
    assert entry["axes"] == [
        {"name": "t", "type": "time", "unit": "second"},
        {"name": "c", "type": "channel"},
        {"name": "y", "type": "space", "unit": "micrometer"},
        {"name": "x", "type": "space"},
    ]
    assert entry["datasets"][2] == {
        "path": "2",
        "coordinateTransformations": [
            {"type": "scale", "scale": [1.0, 1.0, 2.0, 1.0]},
            {"type": "translation", "translation": [0.0, 0.0, 0.75, 0.375]},
        ],
    }
    assert group["2"].shape == (2, 3, 16, 20)
    if version == "0.5":
        assert group["0"].dims == group["2"].dims == ("t", "c", "y", "x")
    np.testing.assert_array_equal(group["0"][...], values)


def test_levels_are_added_to_an_ome_image() -> None:
    """The largest level stays where it is, with the axes and scales that it had."""
    store = zarr.MemoryStore()
    zarr.pyramid(
        zarr.array(image(), chunks=64), store, axes="yx", scale=(0.5, 0.5), levels=1,
        convention="ome",
    )  # fmt: skip
    group = zarr.open_group(store)
    group.attrs["omero"] = {"channels": []}
    before = values_of(store)
    done = zarr.pyramid(group, convention="ome", levels=3)
    assert [row.action for row in done.levels] == ["in place", "compute", "compute"]
    assert {key: store[key] for key in before if key.startswith("0/")} == {
        key: value for key, value in before.items() if key.startswith("0/")
    }
    group = zarr.open_group(store)
    entry = group.attrs["ome"]["multiscales"][0]
    assert entry["datasets"][1]["coordinateTransformations"][0]["scale"] == [1.0, 1.0]
    assert group.attrs["omero"] == {"channels": []}
    with pytest.raises(NodeExistsError, match="overwrite"):
        zarr.pyramid(group, convention="ome", levels=3, method="max")
    zarr.pyramid(group, convention="ome", levels=3, method="max", overwrite=True)
    np.testing.assert_array_equal(group["2"][...], whole(image(), (2, 2), 3, "max", None)[2])
    np.testing.assert_array_equal(group["0"][...], image())


@pytest.mark.parametrize("zarr_format", [2, 3])
def test_an_ome_image_stays_one(zarr_format: int) -> None:
    """Without `convention`; axes, units and scales are kept, and so are other images."""
    root = zarr.group(zarr_format=zarr_format)
    root.create_array("0", data=image((8, 8), "u1"), dimension_names=("y", "x"))
    zarr.Multiscale.describe(root, ["0"], axes="yx", scale=0.5, unit="micrometer", name="a")
    copy = zarr.MemoryStore()
    zarr.pyramid(root, copy, levels=2)
    zarr.pyramid(root["0"], levels=2)
    for found in (root.multiscale, zarr.open_group(copy).multiscale):
        assert found.convention == ("ome-0.4" if zarr_format == 2 else "ome-0.5")
        assert found.scales == ((0.5, 0.5), (1.0, 1.0)) and found.axes[0].unit == "micrometer"
    place = root.attrs["ome"] if zarr_format == 3 else root.attrs.asdict()
    several = {**place, "multiscales": [*place["multiscales"], *place["multiscales"]]}
    root.attrs.put({"ome": several} if zarr_format == 3 else several)
    with pytest.raises(UnsupportedError, match="describes several images"):
        zarr.pyramid(root["0"], levels=2, overwrite=True)


def test_nearest_stays_where_it_was() -> None:
    store = zarr.MemoryStore()
    array = zarr.array(np.arange(81).reshape(9, 9), chunks=3)
    zarr.pyramid(array, store, method="nearest", factors=3, levels=3, axes="yx", convention="ome")
    placed = zarr.open_group(store).attrs["ome"]["multiscales"][0]["datasets"]
    assert placed[1]["coordinateTransformations"][1]["translation"] == [1.0, 1.0]
    assert zarr.open_group(store)["1"][0, 0] == array[1, 1]
    assert placed[2]["coordinateTransformations"][1]["translation"] == [4.0, 4.0]
    assert zarr.open_group(store)["2"][0, 0] == array[4, 4]


def test_a_map_with_coordinates() -> None:
    """Levels are groups of all variables, each with coordinates and a transform of its own."""
    root = zarr.open_group({}, mode="w", attributes={"title": "scene"})
    values = image((3, 40, 51), "f4")
    values[:, :8, :8] = np.nan
    root.create_array(
        "red", data=values, chunks=(1, 16, 16), dimension_names=("time", "y", "x"),
        attributes={"grid_mapping": "spatial_ref", "spatial:transform": [10, 0, 500, 0, -10, 900],
                    "spatial:bbox": [500, 500, 1010, 900]},
    )  # fmt: skip
    root.create_array("y", data=895 - 10.0 * np.arange(40), dimension_names=("y",))
    root.create_array("x", data=505 + 10.0 * np.arange(51), dimension_names=("x",))
    root.create_array("time", data=np.arange(3), dimension_names=("time",))
    root.create_array(
        "spatial_ref", data=np.int64(0), attributes={"GeoTransform": "500 10 0 900 0 -10"}
    )
    out = zarr.MemoryStore()
    zarr.pyramid(root, out, levels=3)
    found = zarr.open_group(out)
    assert sorted(dict(found.groups())) == ["0", "1", "2"]
    assert found.attrs["title"] == "scene"
    layout = found.attrs["multiscales"]["layout"]
    assert [item["asset"] for item in layout] == ["0", "1", "2"]
    assert layout[2]["spatial:transform"] == [40, 0, 500, 0, -40, 900]
    second = found["2"]
    np.testing.assert_array_equal(second["red"][...], whole(values, (1, 2, 2), 3, "mean", None)[2])
    assert second["red"].attrs["spatial:transform"] == [40, 0, 500, 0, -40, 900]
    assert second["spatial_ref"].attrs["GeoTransform"] == "500.0 40.0 0.0 900.0 0.0 -40.0"
    assert second["red"].attrs["spatial:bbox"] == [500, 500, 1020, 900]
    np.testing.assert_allclose(second["x"][:], 520 + 40.0 * np.arange(13))
    np.testing.assert_array_equal(second["time"][...], np.arange(3))


def test_ndpyramid() -> None:
    root = zarr.open_group({}, mode="w")
    array = root.create_array("tavg", data=image((32, 32)), dimension_names=("y", "x"))
    out = zarr.MemoryStore()
    zarr.pyramid(array, out, levels=2, convention="ndpyramid")
    found = zarr.open_group(out)
    assert found["1/tavg"].shape == (16, 16)
    assert "version" not in found.attrs["multiscales"][0]


def test_nodata_of_a_fill_value() -> None:
    """As xarray has it: in format 2, of arrays with dimension names, but not of coordinates."""
    values = np.array([[-9, 7], [7, 7]], "i2")
    found = {}
    for zarr_format in (2, 3):
        root = zarr.group(zarr_format=zarr_format)
        names = ("y", "x")
        root.create_array("a", data=values, fill_value=-9, dimension_names=names)
        root.create_array("b", data=values, fill_value=-9, attributes={"_FillValue": 7},
                          dimension_names=names)  # fmt: skip
        root.create_array("x", data=[0, 1], dimension_names=("x",), attributes={"bounds": []})
        store = zarr.MemoryStore()
        zarr.pyramid(root, store, levels=2, method="max")
        assert zarr.open(store)["1/b"][0, 0] == -9
        zarr.pyramid(root, store, levels=2, nodata=0, overwrite=True)
        assert zarr.open(store)["1/x"][0] == 0  # the mean of 0 and 1, half to even
        zarr.pyramid(root, store, levels=2, overwrite=True)
        found[zarr_format] = zarr.open(store)["1/a"][0, 0], zarr.open(store)["1/x"][0]
        image = zarr.MemoryStore()
        zarr.pyramid(root["a"], image, levels=2, convention="ome")
        assert zarr.open(image)["1"][0, 0] == 3
    assert found == {2: (7, 0), 3: (3, 0)}


def test_nodata_of_an_attribute() -> None:
    values = np.array([[1, 3, 255, 255], [1, 255, 255, 255]], "u1")
    store = zarr.MemoryStore()
    array = zarr.create_array(
        store, name="0", data=values, chunks=(2, 2), attributes={"_FillValue": 255}
    )
    zarr.pyramid(array, levels=2)
    assert zarr.open_group(store)["1"][...].tolist() == [[2, 255]]
    zarr.pyramid(array, levels=2, nodata=None, overwrite=True)
    assert zarr.open_group(store)["1"][...].tolist() == [[65, 255]]


@pytest.mark.parametrize("dtype", ["i1", ">i2", "u1", "f4"])
@pytest.mark.parametrize("method", ["mean", "max", "gaussian", "mode"])
@pytest.mark.parametrize("unsigned", ["true", "false"])
def test_missing_values_and_signs_are_those_of_netcdf(
    dtype: str, method: Any, unsigned: str
) -> None:
    """A pyramid of packed values is the packed pyramid of values."""
    values = np.random.default_rng(3).integers(-128, 128, (12, 16)).astype("i1")
    packed = values.astype(dtype) if dtype != "u1" else values.view("u1")
    attributes = {"missing_value": [3, 7], "_FillValue": 120, "_Unsigned": unsigned}
    root = zarr.group()
    root.create_array("a", data=packed, chunks=4, dimension_names=("y", "x"),
                      fill_value=packed[0, 0].item(), attributes=attributes)  # fmt: skip
    root["a"][6:, :4], root["a"][:2, 12:14] = 7, 3
    plain, stores = zarr.group(), (zarr.MemoryStore(), zarr.MemoryStore())
    read = root.netcdf.variables["a"].read().astype("f8")
    assert 10 < np.isnan(read).sum() < 100
    plain.create_array("a", data=read, chunks=4, dimension_names=("y", "x"))
    found = []
    for each, store in zip((root, plain), stores, strict=True):
        zarr.pyramid(each["a"], store, levels=2, method=method)
        made = zarr.open_group(store).netcdf
        found.append(made.variables["1"].read())
    assert np.isnan(found[0][3:, :2]).all() and np.isnan(found[0][0, 6])
    np.testing.assert_allclose(*found, atol=1e-4 if dtype == "f4" else 1.501)


@pytest.mark.parametrize("method", ["mean", "gaussian"])
@pytest.mark.parametrize(
    ("dtype", "marks", "values", "expected"),
    [
        ("i2", [0, 1], [-1, 3], 2),  # 1 is a mark, and so is 0
        ("i2", [-1, 0, 1], [-2, 2], 2),
        ("u1", [5, 4], [3, 7], 6),
        ("u1", [0, 1, 2], [0, 2], None),
        ("f4", [2.0], [1, 3], np.nextafter(np.float32(2), np.float32(0))),
    ],
)
def test_what_is_computed_is_no_mark(
    dtype: str, marks: list[Any], values: list[Any], expected: Any, method: Any
) -> None:
    """Beside a mark there may be another one, and no smaller number."""
    attributes = {"_FillValue": marks[0], "missing_value": marks}
    array = zarr.array(np.array(values, dtype), chunks=2, attributes=attributes)
    store = zarr.MemoryStore()
    zarr.pyramid(array, store, levels=2, method=method)
    found = zarr.open_group(store)["1"][0]
    assert found == (marks[0] if expected is None else expected)


def test_a_fill_value_that_is_one_of_several_marks() -> None:
    """Chunks that are stored and chunks that are not come to the same."""
    found = []
    for whole_array in (True, False):
        array = zarr.create_array(
            {}, shape=(64, 64), chunks=8, dtype="i2", fill_value=5,
            attributes={"_FillValue": 7, "missing_value": [7, 5]},
            config={"write_empty_chunks": True},
        )  # fmt: skip
        array[:32] = 7
        if whole_array:
            array[32:] = 5
        store = zarr.MemoryStore()
        zarr.pyramid(array, store, levels=3, max_memory="4 KiB")
        found.append([zarr.open_group(store)[level][...] for level in "12"])
    for one, other in zip(*found, strict=True):
        np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("told", ["x", [], {}, "AAAAAAAA+H8=", 10**400, True, float("inf"), 300])
def test_hostile_attributes(told: Any) -> None:
    """Attributes that make no sense are no reason to fail, nor to crash."""
    array = zarr.create_array(
        {}, name="0", data=image((8, 8), "u1"), chunks=4,
        attributes={"_FillValue": told, "missing_value": told, "_Unsigned": told,
                    "spatial:dimensions": told, "spatial:transform": told, "GeoTransform": told},
    )  # fmt: skip
    zarr.pyramid(array, levels=2)


@pytest.mark.parametrize("told", ["x", [1], [{"datasets": [{"path": "../a"}]}], {"layout": 3}])
def test_hostile_descriptions(told: Any) -> None:
    root = zarr.open_group({}, mode="w", attributes={"multiscales": told})
    array = root.create_array("0", data=image((8, 8)), chunks=4)
    with pytest.raises(MetadataError, match="multiscales"):
        zarr.pyramid(array, levels=2)


# -- refusals ---------------------------------------------------------------------------------


@pytest.mark.parametrize("given", ["path", "text", "relative"])
def test_a_path_to_an_array_in_a_group(
    tmp_path: Path, given: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = zarr.open_group(tmp_path / "labels.zarr")
    root.create_array("0", data=image((8, 8)), chunks=(4, 4))
    monkeypatch.chdir(tmp_path / "labels.zarr")
    place = tmp_path / "labels.zarr" / "0"
    source = {"path": place, "text": f"{place}/", "relative": "0"}[given]
    zarr.pyramid(source, levels=2)  # type: ignore[arg-type]
    assert root["1"].shape == (4, 4)
    zarr.save_array(tmp_path / "alone.zarr", image((8, 8)))
    with pytest.raises(UnsupportedError, match="the array is the root of its store"):
        zarr.pyramid(tmp_path / "alone.zarr", levels=2)


def test_refusals() -> None:
    array = zarr.array(image((16, 16)), chunks=8)
    with pytest.raises(UnsupportedError, match="give a destination"):
        zarr.pyramid(array)
    with pytest.raises(NodeNotFoundError):
        zarr.pyramid({}, {})
    with pytest.raises(ValueError, match="at most 5 levels"):
        zarr.pyramid(array, {}, levels=9)
    with pytest.raises(ValueError, match="method takes"):
        zarr.pyramid(array, {}, method="median")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="convention takes"):
        zarr.pyramid(array, {}, convention="ngff")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="no axis 'z'"):
        zarr.pyramid(array, {}, axes="yx", factors={"z": 2})
    with pytest.raises(MetadataError, match="nodata"):
        zarr.pyramid(array, {}, nodata=1e9)
    with pytest.raises(ValueError, match="no axis shrinks"):
        zarr.pyramid(array, {}, axes="tc")
    with pytest.raises(ValueError, match="axes of space"):
        zarr.pyramid(zarr.array(image((4, 8, 8)), chunks=4), {}, convention="ome")
    with pytest.raises(ValueError, match="max_memory"):
        zarr.pyramid(array, {}, levels=2, max_memory=100)
    with pytest.raises(TypeError, match="method"):
        zarr.pyramid(array, {}, metod="mean")  # type: ignore[call-arg]
    with pytest.raises(MetadataError, match="an array is there"):
        zarr.pyramid(array, array.store)
    beside = zarr.create_array({}, name="0", data=image((16, 16)))
    with pytest.raises(OverlapError, match="destination=None"):
        zarr.pyramid(beside, beside.store)
    with pytest.raises(UnsupportedError, match="nearest"):
        zarr.pyramid(zarr.array(["a", "b"], chunks=1), {}, levels=2)
    for nodata in (1j, np.complex64(0), 1 + 0j):
        with pytest.raises(MetadataError, match="nodata"):
            zarr.pyramid(array, {}, levels=2, nodata=nodata)
    for scale in ([10**400, 1], "ab", [1], [0, 1], 0, [1, float("inf")], {"y": None}):
        with pytest.raises(ValueError, match="scale: expected a number"):
            zarr.pyramid(array, {}, levels=2, axes="yx", scale=scale)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="axes takes names"):
        zarr.pyramid(array, {}, levels=2, axes=["y", {"name": "x", "unit": 5}])  # type: ignore[dict-item, list-item]
    for factors in ("ab", 2.5):
        with pytest.raises(TypeError, match="factors takes"):
            zarr.pyramid(array, {}, levels=2, factors=factors)  # type: ignore[arg-type]


def test_factors_and_scale_in_every_form() -> None:
    array = zarr.array(image((4, 8, 8)), chunks=4)
    shapes = {}
    for factors in (2, np.int64(2), [1, 2, 2], np.array([1, 2, 2]), {"y": np.int8(2), "x": 2}):
        done = zarr.pyramid(array, {}, levels=2, axes="cyx", factors=factors)  # type: ignore[arg-type]
        shapes[str(factors)] = done.levels[1].shape
    assert set(shapes.values()) == {(4, 4, 4)}
    for scale, expected in ((0.5, (1, 0.5, 0.5)), ({"y": 3}, (1, 3, 1)), ([2, 3, 4], (2, 3, 4))):
        store = zarr.MemoryStore()
        zarr.pyramid(array, store, levels=2, axes="cyx", scale=scale, convention="ome")  # type: ignore[arg-type]
        assert zarr.Multiscale(zarr.open_group(store)).scales[0] == expected


def test_what_is_written_as_ome_passes_the_check() -> None:
    store = zarr.MemoryStore()
    named = zarr.create_array(
        {}, name="a", data=image((16, 16)), chunks=8, dimension_names=("y", "x")
    )
    with pytest.raises(MetadataError, match="wants the dimension names"):
        zarr.pyramid(named, store, levels=2, axes="xy", convention="ome")
    assert list(store.list()) == []
    zarr.pyramid(named, store, levels=2, axes="yx", scale=[-1, 2], convention="ome")
    assert zarr.check(store).counts["error"] == 0
    group = zarr.group()
    for name in ("a", "b"):
        group.create_array(name, data=image((16, 16)), dimension_names=("y", "x"))
    with pytest.raises(UnsupportedError, match="one array"):
        zarr.pyramid(group, {}, levels=2, convention="ome")


def test_text_and_times() -> None:
    store = zarr.MemoryStore()
    zarr.pyramid(zarr.array(["a", "b", "c"], chunks=1), store, levels=2, method="nearest")
    assert zarr.open_group(store)["1"][...].tolist() == ["a", "c"]


def test_dry_run(capsys: pytest.CaptureFixture[str]) -> None:
    store = zarr.MemoryStore()
    done = zarr.pyramid(zarr.array(image(), chunks=64), store, dry_run=True)
    assert done.dry_run
    assert not list(store.list())
    assert "1 pass read" in capsys.readouterr().out
    assert done.to_dict()["levels"][1]["shape"] == [150, 205]


def test_something_is_there() -> None:
    store = zarr.MemoryStore()
    zarr.create_array(store, name="p/1", data=[1, 2])
    array = zarr.array(image((16, 16)), chunks=8)
    with pytest.raises(NodeExistsError):
        zarr.pyramid(array, store, levels=2, destination_path="p")
    store = zarr.MemoryStore()
    store["p/1/c/0/0"] = b"foreign"
    with pytest.raises(NodeExistsError, match="chunk of a level"):
        zarr.pyramid(array, store, levels=2, destination_path="p")
    store = zarr.MemoryStore()
    store[JOURNAL] = b"{}"
    with pytest.raises(NodeExistsError, match="no journal of a pyramid"):
        zarr.pyramid(array, store, levels=2)


@pytest.mark.parametrize("resume", [True, False])
@pytest.mark.parametrize(
    "journal",
    [
        b"{",
        b'{"omnizarr_journal": 999, "job": "pyramid"}',
        b'{"omnizarr_journal": 1, "job": "pyramid", "facts": 3}',
        b'{"omnizarr_journal": 1, "job": "pyramid", "facts": {"writes": ["../x"]}}',
    ],
)
def test_overwrite_replaces_a_journal_that_cannot_be_read(journal: bytes, resume: bool) -> None:
    array, store = zarr.array(image((64, 64)), chunks=8), zarr.MemoryStore()
    out = FaultStore(store)
    out.fail("set", OSError("disk full"), at=20)
    with pytest.raises(OSError, match="disk full"):
        zarr.pyramid(array, out, levels=3, workers=1)
    mended = json.loads(store[JOURNAL]) | {"done": 3}
    for damage in (journal, json.dumps(mended).encode()):
        store[JOURNAL] = damage
        if resume or damage is journal:  # what was done does not matter when it begins anew
            with pytest.raises((NodeExistsError, MetadataError), match="overwrite=True"):
                zarr.pyramid(array, store, levels=3, resume=resume)
        zarr.pyramid(array, store, levels=3, overwrite=True, resume=resume)
        assert JOURNAL not in list(store.list())
        expected = whole(image((64, 64)), (2, 2), 3, "mean", None)
        for name, values in enumerate(expected):
            np.testing.assert_array_equal(zarr.open_array(store, path=str(name))[...], values)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("shape", [(0, 7), (7, 0), (0, 0)])
def test_an_array_without_elements(shape: tuple[int, int], method: Any) -> None:
    array, store = zarr.array(np.zeros(shape), chunks=(2, 2)), zarr.MemoryStore()
    if shape == (0, 0):
        with pytest.raises(ValueError, match="levels=3"):
            zarr.pyramid(array, store, levels=3, method=method)
        return
    done = zarr.pyramid(array, store, levels=3, method=method)
    small = tuple(min(one, 2) for one in shape)
    assert done.levels[-1].shape == zarr.open_array(store, path="2").shape == small


def test_consolidated_metadata_know_the_levels(tmp_path: Any) -> None:
    root = zarr.open_group(tmp_path / "a.zarr", mode="w", zarr_format=2)
    root.create_array("0", data=image((16, 16)), chunks=8)
    zarr.consolidate_metadata(tmp_path / "a.zarr")
    zarr.pyramid(tmp_path / "a.zarr", levels=2)
    assert "1" in zarr.open_consolidated(tmp_path / "a.zarr")


# -- maps -----------------------------------------------------------------------------------------


def map_group() -> zarr.Group:
    root = zarr.group()
    data = np.arange(100, dtype="f4").reshape(10, 10)
    # The first name in the group is not that of the image.
    root.create_array("a_note", data=np.zeros(3), dimension_names=("n",))
    band = root.create_array("red", data=data, chunks=(5, 5), dimension_names=("y", "x"))
    band.geo.set(crs="EPSG:32631", transform=(10, 0, 0, 0, -10, 100))
    edges = np.stack([np.arange(0, 100, 10.0), np.arange(10, 110, 10.0)], axis=1)
    root.create_array("x_bnds", data=edges, dimension_names=("x", "edge"))
    root["x"].attrs["bounds"] = "x_bnds"
    return root


def test_a_map_is_declared_on_the_group_and_consolidated() -> None:
    store = zarr.MemoryStore()
    zarr.pyramid(map_group(), store, levels=2, chunks=(4, 4))
    made = zarr.open_consolidated(store)
    names = [entry["name"] for entry in made.attrs["zarr_conventions"]]
    assert names == ["multiscales", "proj:", "spatial:"]
    assert made.attrs["proj:code"] == "EPSG:32631"
    assert "spatial:transform" not in made.attrs
    assert [made[f"{level}/red"].chunks for level in (0, 1)] == [(4, 4), (4, 4)]
    assert made["0/x"].chunks == (10,)
    assert made["1/red"].geo.transform == (20, 0, 0, 0, -20, 100)
    assert zarr.check(store).findings == ()


@pytest.mark.parametrize("factor", [2, 3])
def test_bounds_are_those_of_blocks(factor: int) -> None:
    store = zarr.MemoryStore()
    zarr.pyramid(map_group(), store, levels=2, factors=factor)
    count = -(-10 // factor)
    first = np.arange(count) * 10.0 * factor
    expected = np.stack([first, first + 10 * factor], axis=1)
    np.testing.assert_array_equal(zarr.open(store)["1/x_bnds"][:], expected)


def scene(**stated: Any) -> zarr.Group:
    root = zarr.group()
    root.create_array("red", data=image((9, 8), "f4"), chunks=(4, 4), dimension_names=("y", "x"))
    root.geo.set(crs="EPSG:32631", transform=(10, 0, 500000, 0, -10, 4600000), **stated)
    return root


@pytest.mark.parametrize("convention", [None, "cf", "gdal", "spatial"])
@pytest.mark.parametrize("method", ["mean", "nearest"])
@pytest.mark.parametrize("registration", ["pixel", "node"])
def test_levels_of_a_group_are_where_its_arrays_are(
    convention: str | None, method: Any, registration: str
) -> None:
    """Transforms and coordinates of a level place the same blocks."""
    store = zarr.MemoryStore()
    root = scene(convention=convention, registration=registration)
    zarr.pyramid(root, store, levels=3, method=method)
    made = zarr.open(store)
    for level in (0, 1, 2):
        geo, size = made[f"{level}/red"].geo, 10 * 2**level
        assert geo.conflicts == ()
        if (convention, method, level > 0) == ("gdal", "nearest", True):
            continue  # coordinates alone: they are those of the elements that were taken
        assert geo.transform == (size, 0, 500000, 0, -size, 4600000), level
        first = made.multiscale.translations[level]
        assert first == (4600000 - size / 2, 500000 + size / 2)
    assert [each for each in zarr.check(store) if each.level != "dialect"] == []


def test_the_only_element_of_a_level_is_in_the_middle_of_its_block() -> None:
    """An axis that has one element sooner than the others stays so."""
    store = zarr.MemoryStore()
    zarr.pyramid(scene(), store, levels=5)  # 9 x 8 elements become one of 16 x 8
    made = zarr.open(store)["4"]
    assert made["red"].geo.transform == (80, 0, 500000, 0, -160, 4600000)
    assert (made["y"][0], made["x"][0]) == (4600000 - 80, 500000 + 40)
    for method in METHODS:
        whole_group, alone = zarr.MemoryStore(), zarr.MemoryStore()
        zarr.pyramid(scene(), whole_group, levels=5, method=method)
        zarr.pyramid(scene()["red"], alone, levels=5, method=method)
        for level in range(5):
            expected = zarr.open(alone)[str(level)][...]
            np.testing.assert_array_equal(zarr.open(whole_group)[f"{level}/red"][...], expected)


@pytest.mark.parametrize("convention", [None, "cf", "gdal", "spatial"])
@pytest.mark.parametrize("beside", [True, False])
def test_levels_of_one_array_are_where_it_is(convention: str | None, beside: bool) -> None:
    """Without the grid mapping, and without coordinates: those of the group have other lengths."""
    root = scene(convention=convention)
    store = root.store if beside else zarr.MemoryStore()
    zarr.pyramid(root["red"], None if beside else store, levels=3)
    made = zarr.open(store)
    for level, path in enumerate(("red", "red_1", "red_2") if beside else "012"):
        geo, size = made[path].geo, 10 * 2**level
        assert geo.transform == (size, 0, 500000, 0, -size, 4600000), path
        assert geo.epsg == 32631
    assert made.multiscale.convention == "multiscales"
    assert [each for each in zarr.check(store) if each.level != "dialect"] == []


@pytest.mark.parametrize("dims", ["yxc", "xy", "ycx"])
@pytest.mark.parametrize("convention", [None, "cf", "gdal"])
@pytest.mark.parametrize("kind", ["group", "array", "beside"])
def test_rows_and_columns_need_not_be_the_last_dimensions(
    dims: str, convention: Any, kind: str
) -> None:
    root = zarr.group()
    shape = tuple({"y": 12, "x": 20, "c": 3}[name] for name in dims)
    root.create_array("red", data=image(shape, "f4"), chunks=4, dimension_names=tuple(dims))
    root.geo.set(
        crs="EPSG:32631", transform=(10, 0, 500000, 0, -10, 4600000), convention=convention
    )
    if kind == "group" and convention == "cf":
        del root["x"], root["y"]  # so that the transform of the grid mapping counts
        turned = " ".join(map(str, (500000, 10, 2, 4600000, 3, -10)))
        root["spatial_ref"].attrs["GeoTransform"] = turned
    store = root.store if kind == "beside" else zarr.MemoryStore()
    zarr.pyramid(root if kind == "group" else root["red"], None if kind == "beside" else store,
                 levels=3, path="")  # fmt: skip
    made = zarr.open(store)
    found = zarr.Multiscale(made, variable="red") if kind == "group" else made.multiscale
    for level, factor in enumerate((1, 2, 4)):
        names = {"group": f"{level}/red", "array": str(level)}
        geo = made[names.get(kind, f"red_{level}" if level else "red")].geo
        assert geo.dims == ("y", "x") and geo.shape == (12 // factor, 20 // factor)
        turn = (2.0, 3.0) if (kind, convention) == ("group", "cf") else (0, 0)
        assert geo.transform == (
            10 * factor, turn[0] * factor, 500000, turn[1] * factor, -10 * factor, 4600000
        )  # fmt: skip
        if not any(turn):
            assert found.coordinates("x", level)[0] == 500000 + 5 * factor
            assert found.coordinates("y", level)[0] == 4600000 - 5 * factor


@pytest.mark.parametrize("told", [[500, 10, 0, 900, 0, -10], "500, 10, 0, 900, 0, -10"])
def test_a_transform_as_others_write_it(told: Any) -> None:
    root = zarr.group()
    root.create_array("red", data=image((8, 8)), dimension_names=("y", "x"),
                      attributes={"grid_mapping": "crs"})  # fmt: skip
    root.create_array("crs", data=0, attributes={"GeoTransform": told})
    store = zarr.MemoryStore()
    zarr.pyramid(root, store, levels=2)
    assert zarr.open(store)["1/red"].geo.transform == (20, 0, 500, 0, -20, 900)


def test_a_map_that_is_not_understood_stays() -> None:
    root = zarr.group()
    attributes = {"grid_mapping": "somewhere"}
    names = ("y", "x")
    root.create_array("a", data=image((8, 8), "u1"), dimension_names=names, attributes=attributes)
    store = zarr.MemoryStore()
    zarr.pyramid(root["a"], store, levels=2)
    assert zarr.open(store)["1"].attrs["grid_mapping"] == "somewhere"


def test_a_group_that_is_open_shows_the_pyramid() -> None:
    root = zarr.group()
    root.create_array("0", data=image((8, 8), "u1"), dimension_names=("y", "x"))
    zarr.pyramid(root["0"], levels=2)
    assert [level.shape for level in root.multiscale.levels] == [(8, 8), (4, 4)]
