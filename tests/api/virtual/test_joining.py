"""Many files as one array: what fits is joined as NumPy joins it, what does not is an error."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import omnizarr
from omnizarr.errors import MetadataError, UnsupportedError

RANDOM = np.random.default_rng(7)


def write(
    path: Path, data: Any, time: Any = None, *, units: str = "days since 2000-01-01",
    attributes: dict[str, Any] | None = None, x: Any = None, **storage: Any,
) -> None:  # fmt: skip
    """A file with `rain` over time and x, as netCDF would write it."""
    with h5py.File(path, "w") as file:
        rain = file.create_dataset("rain", data=data, **storage)
        rain.attrs.update(attributes or {})
        names = {"time": time, "x": np.arange(data.shape[1]) if x is None else x}
        for axis, (name, values) in enumerate(names.items()):
            if values is not None:
                scale = file.create_dataset(name, data=values)
                scale.make_scale(name)
                rain.dims[axis].attach_scale(scale)
        if time is not None:
            file["time"].attrs["units"] = units


def years(folder: Path, lengths: list[int], **storage: Any) -> tuple[list[Path], Any, Any]:
    paths, parts, start = [], [], 0
    for number, length in enumerate(lengths):
        paths.append(folder / f"{number:03}.h5")
        parts.append(RANDOM.random((length, 6)).astype("f4"))
        own = {**storage}
        if storage.get("chunks") == "all":
            own["chunks"] = (max(1, length), 6)
        write(paths[-1], parts[-1], start + np.arange(length), **own)
        start += length
    return paths, np.concatenate(parts), np.arange(start)


@settings(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.lists(st.integers(1, 12), min_size=2, max_size=5),
    st.integers(1, 12),
    st.sampled_from([None, "gzip"]),
)
def test_chunks_that_fit_are_joined(
    tmp_path: Path, lengths: list[int], chunk: int, compression: str | None
) -> None:
    """NumPy is the oracle; what does not fit is an error that names the file."""
    chunks = (min(chunk, *lengths), 3)
    paths, values, time = years(tmp_path, lengths, chunks=chunks, compression=compression)
    fits = all(length % chunks[0] == 0 for length in lengths[:-1])
    if not fits and compression:
        with pytest.raises(UnsupportedError, match="its last chunk is not full"):
            omnizarr.virtualize(paths, join="time")
        return
    root = omnizarr.virtualize(paths, join="time")
    np.testing.assert_array_equal(root["rain"][...], values)
    np.testing.assert_array_equal(root["time"][...], time)
    if fits:
        assert root["rain"].chunks == chunks


@pytest.mark.parametrize("last", [366, 365, 364, 400])
def test_years_of_different_length(last: int, tmp_path: Path) -> None:
    """A chunk for each year: chunks differ in their length."""
    lengths = [365, 366, 365, last]
    paths, values, _ = years(tmp_path, lengths, chunks="all", compression="gzip")
    root = omnizarr.virtualize(paths, join="time", output=tmp_path / "refs.json")
    np.testing.assert_array_equal(root["rain"][...], values)
    np.testing.assert_array_equal(root["rain"][360:740:7, 2], values[360:740:7, 2])
    assert root["rain"].chunks == (tuple(lengths), 6)
    again = omnizarr.open(tmp_path / "refs.json", mode="r")
    np.testing.assert_array_equal(again["rain"][...], values)
    with pytest.raises(UnsupportedError, match="parquet references"):
        omnizarr.virtualize(paths, join="time", output=tmp_path / "refs.parquet")


@pytest.mark.parametrize("lengths", [[0, 4, 4], [4, 0, 4], [4, 4, 0], [0, 0]])
def test_files_without_records(lengths: list[int], tmp_path: Path) -> None:
    storage = {"chunks": (2, 6), "maxshape": (None, 6), "compression": "gzip"}
    paths, values, time = years(tmp_path, lengths, **storage)
    root = omnizarr.virtualize(paths, join="time")
    np.testing.assert_array_equal(root["rain"][...], values)
    np.testing.assert_array_equal(root["time"][...], time)


def test_years_without_compression_are_cut_alike(tmp_path: Path) -> None:
    paths, values, _ = years(tmp_path, [365, 366, 365])
    root = omnizarr.virtualize(paths, join="time")
    np.testing.assert_array_equal(root["rain"][...], values)
    assert root["rain"].chunks == (1, 6)
    paths, values, _ = years(tmp_path, [360, 300, 90])
    root = omnizarr.virtualize(paths, join="time")
    np.testing.assert_array_equal(root["rain"][...], values)
    assert root["rain"].chunks == (30, 6)


def test_along_other_axes_and_by_number(tmp_path: Path) -> None:
    paths, values, _ = years(tmp_path, [4, 4, 2], chunks=(2, 3))
    np.testing.assert_array_equal(omnizarr.virtualize(paths, join=0)["rain"][...], values)
    np.testing.assert_array_equal(omnizarr.virtualize(paths, join=-2)["rain"][...], values)
    for number, path in enumerate(paths[:2]):
        write(path, values[:4], np.arange(4), x=np.arange(6) + 6 * number, chunks=(4, 2))
    root = omnizarr.virtualize(paths[:2], join="x")
    np.testing.assert_array_equal(root["rain"][...], np.tile(values[:4], 2))
    with pytest.raises(MetadataError, match="no axis 2"):
        omnizarr.virtualize(paths, join=2)


def test_new_dimensions(tmp_path: Path) -> None:
    members = [RANDOM.random((4, 6)) for _ in range(3)]
    for number, data in enumerate(members):
        write(tmp_path / f"{number}.h5", data, np.arange(4), chunks=(2, 6))
        with h5py.File(tmp_path / f"{number}.h5", "a") as file:
            file["member"], file["shared"], file["own"] = 10 * number, "same", 1.5 * number
    root = omnizarr.virtualize(tmp_path / "*.h5", new_dim="member")
    np.testing.assert_array_equal(root["rain"][...], np.stack(members))
    assert root["rain"].dimension_names == ("member", "time", "x")
    assert root["member"][...].tolist() == [0, 10, 20] and root["own"][...].tolist() == [0, 1.5, 3]
    assert root["shared"].shape == () and root["time"].shape == (4,)
    named = omnizarr.virtualize(
        tmp_path / "*.h5", new_dim={"model": ["a", "b", "c"]}, skip=["member"]
    )
    assert named["model"][...].tolist() == ["a", "b", "c"]
    with pytest.raises(ValueError, match="3 files need as many values"):
        omnizarr.virtualize(tmp_path / "*.h5", new_dim={"model": [1, 2]})
    with pytest.raises(MetadataError, match="has a dimension 'time' already"):
        omnizarr.virtualize(tmp_path / "*.h5", new_dim="time")


def pair(folder: Path, **second: Any) -> list[Path]:
    """Two files, the second one with a difference."""
    usual: dict[str, Any] = {
        "data": RANDOM.integers(0, 9, (4, 6)).astype("i2"), "time": np.arange(4), "chunks": (2, 3),
        "compression": "gzip", "shuffle": True,
        "attributes": {"scale_factor": 0.5, "units": "mm", "_FillValue": np.int16(-1)},
    }  # fmt: skip
    write(folder / "a.h5", **usual)
    changed = {**usual, "time": np.arange(4, 8), **second}
    changed["attributes"] = {**usual["attributes"], **second.get("attributes", {})}
    write(folder / "b.h5", **changed)
    return [folder / "a.h5", folder / "b.h5"]


DATA = np.ones((4, 6), "i2")


@pytest.mark.parametrize(
    ("second", "found"),
    [
        ({"data": DATA.astype("i4")}, "the data type"),
        ({"data": DATA[:, :5]}, "the shape"),
        ({"chunks": (2, 2)}, "chunks"),
        ({"shuffle": False}, "codecs"),
        ({"attributes": {"scale_factor": 0.25}}, "'scale_factor'"),
        ({"attributes": {"add_offset": 1.0}}, "'add_offset'"),
        ({"attributes": {"units": "cm"}}, "'units'"),
        ({"attributes": {"_FillValue": np.int16(-2)}}, "fill value"),
        ({"time": np.arange(3, 7)}, "overlap"),
        ({"time": np.arange(-4, 0)}, "wrong order"),
        ({"time": [4, 6, 5, 7]}, "not in one order"),
        ({"x": np.arange(6) + 1}, "must have the same values"),
        ({"units": "months since 2000-01-01"}, "cannot be converted"),
        ({"units": "fortnights"}, "cannot be converted"),
    ],
)
def test_differences_are_errors(second: dict[str, Any], found: str, tmp_path: Path) -> None:
    paths = pair(tmp_path, **second)
    with pytest.raises(MetadataError, match=found) as caught:
        omnizarr.virtualize(paths, join="time")
    text = str(caught.value)
    assert "array '" in text and ("b.h5" in text or "cannot be converted" in text)


def test_levels_of_compression_do_not_matter(tmp_path: Path) -> None:
    paths = pair(tmp_path, compression=9)
    assert omnizarr.virtualize(paths, join="time")["rain"].shape == (8, 6)


def test_members_that_are_missing(tmp_path: Path) -> None:
    paths = pair(tmp_path)
    with h5py.File(paths[1], "a") as file:
        file["more"] = 1
    with pytest.raises(MetadataError, match=r"a\.h5' has no array 'more'"):
        omnizarr.virtualize(paths, join="time")
    with pytest.raises(MetadataError, match=r"a\.h5' has no array 'more'"):
        omnizarr.virtualize(paths[::-1], join="time")
    assert sorted(omnizarr.virtualize(paths, join="time", skip=["more"])) == ["rain", "time", "x"]
    with pytest.raises(MetadataError, match="has the dimension 'level'; there are 'time', 'x'"):
        omnizarr.virtualize(paths, join="level", skip=["more"])
    with pytest.raises(TypeError, match=r"2 files need join= or new_dim=.*'time', 'x'"):
        omnizarr.virtualize(paths)
    with pytest.raises(TypeError, match="exclude each other"):
        omnizarr.virtualize(paths, join="time", new_dim="b")


def test_times_that_count_from_other_dates(tmp_path: Path) -> None:
    paths = pair(tmp_path, time=np.arange(4) * 24, units="hours since 2000-01-05 00:00:00")
    root = omnizarr.virtualize(paths, join="time")
    assert root["time"][...].tolist() == list(range(8))
    assert root["time"].attrs["units"] == "days since 2000-01-01"
    paths = pair(tmp_path, time=np.arange(4) * 24 + 6, units="hours since 2000-01-05")
    assert omnizarr.virtualize(paths, join="time")["time"][4] == 4.25


def test_chunks_that_are_longer_than_their_array(tmp_path: Path) -> None:
    """As netCDF makes them along unlimited dimensions."""
    paths = [tmp_path / "a.h5", tmp_path / "b.h5"]
    for number, path in enumerate(paths):
        write(path, np.full((3, 6), number, "f4"), number * 3 + np.arange(3), chunks=(1, 6))
        with h5py.File(path, "a") as file:
            own = file.create_dataset(
                "own", data=np.arange(3) + 3 * number, chunks=(512,), maxshape=(None,)
            )
            own.dims[0].attach_scale(file["time"])
    root = omnizarr.virtualize(paths, join="time")
    assert root["own"][...].tolist() == list(range(6))
    write(
        paths[0], RANDOM.random((3, 20000)), np.arange(3), chunks=(4, 5000), maxshape=(None, None)
    )
    write(paths[1], RANDOM.random((3, 20000)), 3 + np.arange(3), chunks=(4, 5000),
          maxshape=(None, None), compression=None)  # fmt: skip
    assert omnizarr.virtualize(paths, join="time")["rain"].chunks == (1, 5000)


def test_unwritten_chunks_of_some_files(tmp_path: Path) -> None:
    paths = pair(tmp_path, attributes={})
    for path, written in zip(paths, (True, False), strict=True):
        with h5py.File(path, "w") as file:
            rain = file.create_dataset("rain", (4, 6), "f4", chunks=(2, 6), fillvalue=7)
            if written:
                rain[...] = 1
    root = omnizarr.virtualize(paths, join=0)
    np.testing.assert_array_equal(root["rain"][...], np.repeat([1, 7], 4)[:, None] * np.ones(6))
    with h5py.File(paths[0], "w") as file:
        file.create_dataset("rain", (4, 6), "f4", chunks=(2, 6), fillvalue=8)
    with pytest.raises(MetadataError, match="never written hold 8"):
        omnizarr.virtualize(paths, join=0)
