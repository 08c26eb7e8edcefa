"""`rechunk`: NumPy is the oracle, for any chunks, shards, formats and types."""

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
    ArrayNotFoundError,
    MetadataError,
    NodeExistsError,
    ObstaclesError,
    UnsupportedError,
)
from omnizarr.testing import CountingStore

pytestmark = pytest.mark.usefixtures("free_requests")

FORMATS = [2, 3, 1, "n5"]


def passes(done: Any, number: int = 0) -> int:
    plan = done.nodes[number].rechunking
    return 0 if plan is None else len(plan.passes)


@given(st.data())
@settings(
    max_examples=60,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
def test_any_chunks_to_any_other(data: st.DataObject) -> None:
    shape = tuple(data.draw(st.lists(st.integers(0, 15), min_size=1, max_size=3)))
    before, after = (
        tuple(data.draw(st.integers(1, max(1, n) + 2)) for n in shape) for _ in range(2)
    )
    formats = [data.draw(st.sampled_from(FORMATS)) for _ in range(2)]
    dtype = data.draw(st.sampled_from(["<i2", ">f8", "u1"]))
    values = np.arange(1, np.prod(shape, dtype=int) + 1).reshape(shape).astype(dtype)
    options: list[dict[str, Any]] = []
    for name, chunks in zip(formats, (before, after), strict=True):
        shards = None
        if name == 3 and data.draw(st.booleans()):
            shards = tuple(n * data.draw(st.integers(1, 3)) for n in chunks)
        options.append({"chunks": chunks, "shards": shards})
    plain = {} if formats[0] == 3 else {"compressor": None}
    if options[0]["shards"] is None:
        del options[0]["shards"]
    source, out = zarr.MemoryStore(), zarr.MemoryStore()
    array = zarr.create_array(
        source,
        shape=shape,
        dtype=dtype,
        zarr_format=formats[0],
        fill_value=0,
        **options[0],
        **plain,
    )
    for _ in range(data.draw(st.integers(0, 3))):
        part = tuple(slice(*sorted(data.draw(st.tuples(*[st.integers(0, n)] * 2)))) for n in shape)
        array[part] = values[part]
    expected = array[...]
    shards = options[1]["shards"] or False
    memory = data.draw(st.sampled_from([None, 20_000, 60_000]))
    wanted: dict[str, Any] = {
        "chunks": after, "shards": shards, "zarr_format": formats[1], "reencode": True,
        "compressors": None if formats[1] == 3 else "keep",
    }  # fmt: skip
    try:
        done = zarr.rechunk(source, out, max_memory=memory, **wanted)
    except UnsupportedError as error:  # a shard may be larger; what the error names suffices
        memory = dict(error.options)["max_memory"]
        done = zarr.rechunk(source, out, max_memory=memory, **wanted)
    found = zarr.open_array(out)
    assert found.zarr_format == formats[1]
    assert found.chunks == after
    assert np.array_equal(found[...], expected)
    assert not [key for key in out if "omnizarr" in key]
    if memory is not None and done.nodes[0].rechunking is not None:
        assert done.nodes[0].rechunking.memory <= memory


def maps(store: Any, **options: Any) -> Any:
    data = np.arange(1, 30 * 20 * 10 + 1, dtype="f4").reshape(30, 20, 10)
    names = ("time", "lat", "lon")
    zarr.create_array(store, data=data, chunks=(1, 20, 10), dimension_names=names, **options)
    return data


def test_two_passes() -> None:
    source, out = zarr.MemoryStore(), zarr.MemoryStore()
    data = maps(source)
    done = zarr.rechunk(source, out, chunks=(30, 1, 1), max_memory=24_000)
    assert passes(done) == 2
    assert np.array_equal(zarr.open_array(out)[...], data)
    assert json.loads(done.to_json())["nodes"][0]["rechunking"]["passes"][1]["write_unit"]


def test_missing_chunks_stay_missing() -> None:
    source, out = CountingStore(zarr.MemoryStore()), CountingStore(zarr.MemoryStore())
    array = zarr.create_array(source, shape=(64, 64), chunks=(64, 2), dtype="f4", fill_value=7)
    array[:, :16] = 3
    source.reset()
    done = zarr.rechunk(source, out, chunks=(2, 64), max_memory=8_000)
    assert passes(done) == 2
    assert zarr.open_array(out)[:].tolist() == array[:].tolist()
    array[:, :16] = 7
    array[:8] = 1
    zarr.rechunk(source, out, chunks=(2, 16), max_memory=8_000, overwrite=True)
    assert sum(key.startswith("c/") for key in out) == 4 * 4


def test_regions_without_stored_chunks_are_not_touched() -> None:
    source, out = CountingStore(zarr.MemoryStore()), CountingStore(zarr.MemoryStore())
    array = zarr.create_array(source, shape=(1000, 8), chunks=(10, 8), dtype="i4")
    array[:200] = 1
    source.reset()
    zarr.rechunk(source, out, chunks=(5, 8))
    assert sum(key.startswith("c/") for key in source.asked["get"]) == 20
    assert sum(key.startswith("c/") for key in out.asked["set"]) == 40


def test_fill_values_keep_their_bits_in_two_passes() -> None:
    source, out = zarr.MemoryStore(), zarr.MemoryStore()
    array = zarr.create_array(source, shape=(40, 40), chunks=(40, 2), dtype="f8", fill_value=-0.0)
    values = np.zeros((40, 40))
    values[::3] = np.uint64(0x7FF8_0000_0000_1234).view("f8")
    array[:, 4:] = values[:, 4:]
    done = zarr.rechunk(source, out, chunks=(2, 40), max_memory=10_000)
    assert passes(done) == 2
    assert zarr.open_array(out)[...].tobytes() == array[...].tobytes()


@pytest.mark.parametrize(
    "dtype", ["?", "<c8", ">i4", "M8[ns]", "S3", "U2", [("a", ">i2"), ("b", "f8")]]
)
def test_types_in_two_passes(dtype: Any) -> None:
    source, out = zarr.MemoryStore(), zarr.MemoryStore()
    values = np.random.default_rng(3).integers(0, 99, (24, 24)).astype("i4")
    data = np.zeros((24, 24), dtype)
    if data.dtype.names:
        data["a"], data["b"] = values, values / 7
    else:
        data[...] = values.astype("i8").astype(dtype) if data.dtype.kind == "M" else values
    zarr.create_array(source, data=data, chunks=(24, 1), zarr_format=2)
    done = zarr.rechunk(source, out, chunks=(1, 24), max_memory=400 * data.itemsize)
    assert passes(done) >= 2
    assert zarr.open_array(out)[...].tobytes() == data.tobytes()


def test_text_and_objects() -> None:
    source, out = zarr.MemoryStore(), zarr.MemoryStore()
    root = zarr.open_group(source, mode="w", zarr_format=2)
    text = [f"number {n}" * (n % 5) for n in range(50)]
    root.create_array("text", data=text, dtype=str, chunks=3)
    ragged = np.empty(4, object)
    ragged[:] = [np.arange(n) for n in range(4)]
    root.create_array("ragged", data=ragged, dtype="array:i8", chunks=2)
    zarr.rechunk(source, out, chunks=7)
    found = zarr.open_group(out)
    assert found["text"][...].tolist() == text
    assert [each.tolist() for each in found["ragged"][...]] == [list(range(n)) for n in range(4)]


def test_rectilinear_grids() -> None:
    source, out, back = (zarr.MemoryStore() for _ in range(3))
    data = np.arange(60).reshape(10, 6)
    zarr.create_array(source, data=data, chunks=((1, 4, 5), (2, 4)))
    zarr.rechunk(source, out, chunks=(3, 3))
    assert np.array_equal(zarr.open_array(out)[...], data)
    zarr.rechunk(out, back, chunks=((2, 2, 6), (5, 1)))
    assert np.array_equal(zarr.open_array(back)[...], data)


# -- whose chunks ---------------------------------------------------------------------------------


def dataset(store: Any) -> None:
    root = zarr.open_group(store, mode="w")
    names = ("time", "lat", "lon")
    data = np.arange(30 * 20 * 10, dtype="f4").reshape(30, 20, 10)
    for name in ("temperature", "wind/u"):
        root.create_array(name, data=data, chunks=(1, 20, 10), dimension_names=names)
    for name, length in zip(names, data.shape, strict=True):
        root.create_array(name, data=np.arange(length), chunks=5, dimension_names=(name,))
    root.create_array("other", data=np.arange(12).reshape(3, 4), chunks=(3, 2))


def chunks(store: Any) -> dict[str, Any]:
    return {
        path: node.chunks
        for path, node in zarr.open_group(store, mode="r").members(max_depth=None)
        if isinstance(node, zarr.Array)
    }


def test_chunks_by_the_names_of_dimensions() -> None:
    source, out = zarr.MemoryStore(), zarr.MemoryStore()
    dataset(source)
    zarr.rechunk(source, out, chunks={"time": -1, "lat": 4})
    assert chunks(out) == {
        **dict.fromkeys(("temperature", "wind/u"), (30, 4, 10)),
        "time": (30,),
        "lat": (4,),
        "lon": (5,),
        "other": (3, 2),
    }
    given = {"time": "auto", "wind/u": {"lon": 1, "lat": [8, 12]}, "/other": (1, 4)}
    zarr.rechunk(source, out, chunks=given, overwrite=True)
    assert zarr.open_group(out)["wind/u"]._model.grid.edges == (1, (8, 12), 1)
    found = chunks(out)
    assert (found["temperature"], found["other"]) == ((30, 20, 10), (1, 4))
    zarr.rechunk(
        source, out, chunks={"time": 5}, shards={"time": -1, "temperature": False},
        exclude="other", overwrite=True,
    )  # fmt: skip
    assert zarr.open_group(out)["wind/u"].shards == (30, 20, 10)
    assert zarr.open_group(out)["temperature"].shards is None


def test_some_lengths_by_position_are_automatic() -> None:
    source = zarr.create_array({}, data=np.arange(600).reshape(20, 30), chunks=(2, 3))
    out = zarr.MemoryStore()
    zarr.rechunk(source, out, chunks=("auto", 10))
    assert zarr.open_array(out).chunks == (20, 10)


@pytest.mark.parametrize("job", [zarr.rechunk, zarr.convert, zarr.pyramid])
def test_a_wrong_number_of_workers_is_told_before_anything_is_written(job: Any) -> None:
    source = zarr.create_array({}, data=np.arange(600).reshape(20, 30), chunks=(2, 3))
    out = zarr.MemoryStore()
    with pytest.raises(ValueError, match="workers must be"):
        job(source, out, workers=0)
    assert list(out.list()) == []


def test_names_of_nothing() -> None:
    source = zarr.MemoryStore()
    dataset(source)
    for wrong in ({"tiem": 1}, {"wind": 1}, {"time": {"x": 1}}):
        with pytest.raises((ArrayNotFoundError, MetadataError), match="dimension"):
            zarr.rechunk(source, {}, chunks=wrong)


# -- refusals -------------------------------------------------------------------------------------


def test_every_obstacle_at_once() -> None:
    source, out = zarr.MemoryStore(), zarr.MemoryStore()
    dataset(source)
    with pytest.raises(UnsupportedError, match="max_memory") as refusal:
        zarr.rechunk(source, out, chunks={"time": -1}, max_memory=1000)
    assert "temperature" in str(refusal.value) and "wind/u" in str(refusal.value)
    assert isinstance(refusal.value, ObstaclesError)
    least = max(dict(error.options)["max_memory"] for error in refusal.value.errors)
    zarr.rechunk(source, out, chunks={"time": -1}, max_memory=least)
    assert chunks(out)["wind/u"] == (30, 20, 10)
    with pytest.raises(ObstaclesError, match=r"(?s)lat.*lon.*other.*time"):
        zarr.rechunk(source, out, chunks=(1, 5, 5), overwrite=True)
    assert chunks(out)["wind/u"] == (30, 20, 10)


def test_one_obstacle_is_the_error_itself() -> None:
    source = zarr.MemoryStore()
    maps(source)
    with pytest.raises(UnsupportedError, match=r"^node '/': .* reencode=True uses") as refusal:
        zarr.rechunk(source, {}, chunks=5, zarr_format=0)
    assert refusal.value.what == "codecs"


def test_arguments() -> None:
    source = zarr.MemoryStore()
    maps(source)
    for message, options in (
        ("max_memory must be", {"max_memory": "much"}),
        ("fill_values takes", {"fill_values": "none"}),
    ):
        with pytest.raises(ValueError, match=message):
            zarr.rechunk(source, {}, chunks=5, **options)
    with pytest.raises(TypeError, match="max_memory"):
        zarr.rechunk(source, {}, chunks=5, max_mem="1 GB")  # type: ignore[call-arg]
    with pytest.raises(NodeExistsError):
        zarr.rechunk(source, {**dict(source.items())}, chunks=5)


def test_a_dry_run_prints_the_plan(capsys: pytest.CaptureFixture[str]) -> None:
    source, out = zarr.MemoryStore(), zarr.MemoryStore()
    maps(source)
    zarr.rechunk(source, out, chunks=(30, 1, 1), max_memory=24_000, dry_run=True)
    text = capsys.readouterr().out
    assert "2 passes: " in text and "nothing was written" in text
    assert len(out) == 0


def test_an_archive_holds_no_intermediate_arrays(tmp_path: Path) -> None:
    source = zarr.MemoryStore()
    data = maps(source)
    options = {"chunks": (30, 1, 1), "max_memory": 24_000}
    done = zarr.rechunk(source, tmp_path / "a.zip", **options)
    assert passes(done) == 1
    done = zarr.rechunk(source, tmp_path / "b.zip", temporary=tmp_path / "between", **options)
    assert passes(done) == 2
    for name in ("a.zip", "b.zip"):
        assert np.array_equal(zarr.open_array(tmp_path / name, mode="r")[...], data)
    assert not [path for path in (tmp_path / "between").rglob("*") if path.is_file()]


@pytest.mark.slow
@pytest.mark.parametrize("executor", ["processes", "threads"])
def test_executors(tmp_path: Path, executor: str) -> None:
    data = maps(tmp_path / "in")
    done = zarr.rechunk(
        tmp_path / "in", tmp_path / "out", chunks=(30, 1, 1), max_memory=24_000,
        executor=executor, workers=2,
    )  # fmt: skip
    assert passes(done) == 2
    assert np.array_equal(zarr.open_array(tmp_path / "out")[...], data)


def test_the_plan_is_told_before_the_work(caplog: pytest.LogCaptureFixture) -> None:
    maps = zarr.create_array({}, data=np.arange(4000.0).reshape(40, 100), chunks=(1, 100))
    out = zarr.MemoryStore()
    with caplog.at_level("INFO", "omnizarr"):
        done = zarr.rechunk(maps, out, chunks=(40, 10), progress=True)
    lines = [record.getMessage() for record in caplog.records]
    assert lines[:2] == f"/: {done.nodes[0].rechunking}".splitlines()
    assert len(lines) == 3  # the last one is about progress


def test_a_report_counts_chunks_and_not_regions() -> None:
    data = np.arange(1, 20 * 40 * 40 + 1, dtype="u4").reshape(20, 40, 40)
    source = zarr.create_array({}, data=data, chunks=(1, 40, 40))
    for options, expected in (({}, 25), ({"shards": (20, 16, 40)}, 3)):
        out = zarr.MemoryStore()
        plan = zarr.rechunk(source, out, chunks=(20, 8, 8), dry_run=True, **options)
        done = zarr.rechunk(source, out, chunks=(20, 8, 8), **options)
        assert plan.nodes[0].chunks == done.nodes[0].chunks == expected
        assert sum(key.startswith("c/") for key in out) == expected
        rechunking = done.nodes[0].rechunking
        assert rechunking is not None and sum(each.tasks for each in rechunking.passes) != expected
    half = zarr.zeros((20, 40), chunks=(1, 40), dtype="u4")
    half[:10] = 1
    assert zarr.rechunk(half, {}, chunks=(5, 8)).nodes[0].chunks == 10


@pytest.mark.parametrize("reencode", [False, True])
def test_shards_that_do_not_fit_new_chunks_are_named_with_what_helps(reencode: bool) -> None:
    source = zarr.create_array({}, data=np.arange(36), chunks=12, shards=36)
    with pytest.raises(UnsupportedError, match=r"shards \(36,\).*chunks \(5,\)") as refusal:
        zarr.rechunk(source, {}, chunks=5, reencode=reencode)
    assert refusal.value.options == (("shards", False),)
    out = zarr.MemoryStore()
    zarr.rechunk(source, out, chunks=5, **dict(refusal.value.options))
    assert zarr.open_array(out).chunks == (5,)


@pytest.mark.parametrize("option", ["chunks", "shards"])
def test_a_number_is_no_name_of_a_dimension(option: str) -> None:
    with pytest.raises(TypeError, match=f"{option} maps names of dimensions.* found 0"):
        zarr.rechunk(zarr.zeros(9), {}, **{option: {0: 3}})
