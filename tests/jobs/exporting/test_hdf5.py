"""HDF5 files that `export` writes, as h5py reads them, and the way back."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any
from unittest.mock import patch

import h5py
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings

import omnizarr
from omnizarr.errors import ObstaclesError, UnsupportedError, ValueChangedError
from omnizarr.jobs.exporting import hdf5, hdf5_datasets
from tests.jobs.exporting.sources import NUMBERS, TEXTS, arrays, attributes, plain

FEW = settings(
    max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
OTHERS = ["<f2", "bool", "<c8", ">c16"]


@pytest.fixture
def numbered(tmp_path: Path) -> Iterator[Path]:
    def names() -> Iterator[Path]:
        number = 0
        while True:
            number += 1
            yield tmp_path / str(number)

    return names()  # type: ignore[return-value]


@FEW
@given(source=arrays(NUMBERS + TEXTS + OTHERS))
def test_h5py_reads_what_is_written_and_it_comes_back(
    source: tuple[Any, np.ndarray[Any, Any]], numbered: Any
) -> None:
    root, values = source
    folder = next(numbered)
    folder.mkdir()
    omnizarr.export(root, folder / "x.h5", verify=True)
    array = root["a"]
    with h5py.File(folder / "x.h5") as file:
        found = file["a"]
        if values.dtype.kind == "T":
            assert found.asstr()[...].tolist() == values.tolist()
        else:
            np.testing.assert_array_equal(found[...], values)
            assert found.dtype == values.dtype or array.metadata.zarr_format == 3
        own = {name: plain(found.attrs[name]) for name in found.attrs}
        own.pop("DIMENSION_LABELS", None)
        assert own == attributes(array)
        assert [each.label for each in found.dims] == [name or "" for name in array.dims or
                                                       ("",) * array.ndim]  # fmt: skip
    omnizarr.convert(folder / "x.h5", folder / "x.zarr")
    back = omnizarr.open(folder / "x.zarr", mode="r")["a"]
    np.testing.assert_array_equal(back[...], values)
    assert attributes(back) == attributes(array)
    assert array.dims is None or back.dims == array.dims


def test_chunks_that_fit_are_copied_as_they_are(tmp_path: Path) -> None:
    with h5py.File(tmp_path / "a.h5", "w") as file:
        for name, more in {"a": {}, "b": {"fletcher32": True, "shuffle": True}}.items():
            made = file.create_dataset(name, (70, 50), "<i4", chunks=(20, 30), maxshape=(None, 50),
                                       compression=7, fillvalue=3, **more)  # fmt: skip
            made[:30] = np.arange(1500).reshape(30, 50)
        before = {name: [(c.chunk_offset, file[name].id.read_direct_chunk(c.chunk_offset))
                         for c in map(file[name].id.get_chunk_info, range(4))]
                  for name in file}  # fmt: skip
    omnizarr.convert(tmp_path / "a.h5", tmp_path / "a.zarr")
    with patch.object(hdf5_datasets, "_write", side_effect=AssertionError):
        omnizarr.export(tmp_path / "a.zarr", tmp_path / "b.h5", verify=True)
        omnizarr.export(tmp_path / "a.h5", tmp_path / "c.h5", verify=True)
    for copy in ("b.h5", "c.h5"):
        with h5py.File(tmp_path / copy) as file:
            for name in file:
                found = file[name]
                assert found.chunks == (20, 30) and found.compression_opts == 7
                assert found.fletcher32 == found.shuffle == (name == "b")
                assert found.fillvalue == 3 and found[69, 0] == 3
                assert [(c.chunk_offset, found.id.read_direct_chunk(c.chunk_offset))
                        for c in map(found.id.get_chunk_info, range(found.id.get_num_chunks()))
                        ] == before[name]  # fmt: skip


ZLIB = {"id": "zlib"}
CODECS: list[tuple[dict[str, Any], tuple[str | None, bool, bool], bool]] = [
    # codecs, filters of the dataset, whether chunks are copied
    ({"compressors": [ZLIB]}, ("gzip", False, False), True),
    ({"filters": [{"id": "shuffle", "elementsize": 4}], "compressors": [ZLIB]},
     ("gzip", True, False), True),
    ({"filters": [ZLIB, {"id": "fletcher32"}], "compressors": None}, ("gzip", False, True), True),
    ({"filters": [{"id": "shuffle", "elementsize": 2}], "compressors": [ZLIB]},
     ("gzip", True, False), False),
    ({"filters": [ZLIB, {"id": "shuffle", "elementsize": 4}], "compressors": None},
     ("gzip", True, False), False),
    ({"filters": [{"id": "fletcher32"}], "compressors": [ZLIB]}, ("gzip", True, False), False),
    ({"filters": [ZLIB, ZLIB], "compressors": None}, ("gzip", True, False), False),
    ({"filters": [{"id": "delta", "dtype": "<i4"}], "compressors": [ZLIB]},
     ("gzip", True, False), False),
    ({"compressors": [ZLIB], "order": "F"}, ("gzip", True, False), False),
    ({"compressors": [{"id": "gzip"}]}, ("gzip", True, False), False),
    ({"compressors": [{"id": "blosc"}]}, ("gzip", True, False), False),
    ({"filters": None, "compressors": None}, (None, False, False), True),
]  # fmt: skip


@pytest.mark.parametrize("dtype", ["<i4", ">f4"])
@pytest.mark.parametrize(("codecs", "filters", "copied"), CODECS)
def test_filters_are_those_of_the_codecs(
    codecs: dict[str, Any], filters: tuple[Any, ...], copied: bool, dtype: str, tmp_path: Path
) -> None:
    """And chunks are copied only if they would be the same bytes."""
    values = np.arange(70 * 45).reshape(70, 45).astype(dtype)
    array = omnizarr.create_array({}, data=values, chunks=(20, 10), zarr_format=2, **codecs)
    with patch.object(hdf5_datasets, "_write", wraps=hdf5_datasets._write) as write:
        omnizarr.export(array, tmp_path / "x.h5", verify=True)
    assert write.called is not copied
    with h5py.File(tmp_path / "x.h5") as file:
        found = file["data"]
        np.testing.assert_array_equal(found[...], values)
        assert (found.compression, found.shuffle, found.fletcher32) == filters
        assert found.chunks == (20, 10)


def test_what_has_no_equal_is_told_at_once(tmp_path: Path) -> None:
    root = omnizarr.group(attributes={"a": {"b": None}, "NAME": "x"})
    root.create_array("t", data=np.array(["2000-01"], "M8[M]"))
    with pytest.raises(ObstaclesError, match="3 obstacles") as info:
        omnizarr.export(root, tmp_path / "x.h5")
    text = str(info.value)
    assert "json_attributes=True" in text and "rename it" in text and "datetime64[M]" in text
    with pytest.raises(UnsupportedError, match="no array has the dimension 'z'"):
        omnizarr.export(omnizarr.array([1]), tmp_path / "x.h5", unlimited=["z"])
    del root.attrs["NAME"], root["t"]
    omnizarr.export(root, tmp_path / "x.h5", json_attributes=True)
    with h5py.File(tmp_path / "x.h5") as file:
        assert file.attrs["a"] == '{"b": null}'


def test_text_that_the_file_would_cut_off(tmp_path: Path) -> None:
    """The error names the array, and no file is left."""
    root = omnizarr.group()
    root["deep/s"] = np.array(["a\0b"], np.dtypes.StringDType())
    with pytest.raises(UnsupportedError, match=r"deep/s.*NUL.*remove them"):
        omnizarr.export(root, tmp_path / "x.h5")
    assert not [*tmp_path.iterdir()]


def test_special_values(tmp_path: Path) -> None:
    root = omnizarr.group(zarr_format=2)
    times = np.array(["2020-01-01T01", "NaT"], "M8[ms]")
    root["times"] = times
    root["scalar"] = np.array(3 + 4j)
    root["pairs"] = np.array([(1, b"ab", [1, 2])], [("a", ">i4"), ("b", "S2"), ("c", "f4", 2)])
    root["text"] = np.array("ä")
    root["opaque"] = np.array([b"\0\1", b"\2\0"], "V2")
    omnizarr.export(root, tmp_path / "x.h5", verify=True)
    with h5py.File(tmp_path / "x.h5") as file:
        assert file["times"].attrs["units"] == "milliseconds since 1970-01-01 00:00:00"
        np.testing.assert_array_equal(file["times"][...], times.view("i8"))
        assert file["scalar"][()] == 3 + 4j and file["text"].asstr()[()] == "ä"
        assert file["pairs"][0].tolist()[:2] == (1, b"ab")
        assert file["pairs"][0]["c"].tolist() == [1, 2]
        assert file["opaque"][...].tobytes() == b"\0\1\2\0"


def test_coordinates_are_scales_of_the_groups_below(tmp_path: Path) -> None:
    root = omnizarr.group()
    root.create_array("x", data=np.arange(3.0), dimension_names=["x"])
    root.create_array("g/a", data=np.zeros((3, 2)), dimension_names=["x", "y"])
    root.create_array("g/b", data=np.zeros(4), dimension_names=["x"])
    omnizarr.export(root, tmp_path / "x.h5", unlimited=["y"])
    with h5py.File(tmp_path / "x.h5") as file:
        assert file["g/a"].dims[0][0] == file["x"] and file["g/a"].maxshape == (3, None)
        assert len(file["g/b"].dims[0]) == 0 and file["g/b"].dims[0].label == "x"


def test_nothing_but_fill_values_takes_no_room(tmp_path: Path) -> None:
    array = omnizarr.full((4000, 4000), 7.0, chunks=(500, 500))
    array[:10, :10] = 1
    report = omnizarr.export(array, tmp_path / "x.h5", verify=True)
    with h5py.File(tmp_path / "x.h5") as file:
        assert file["data"].id.get_num_chunks() == 1 and file["data"][3999, 0] == 7
    assert report.file_size < 100_000


def test_verify_finds_another_value(tmp_path: Path) -> None:
    write = hdf5_datasets._write

    def wrong(dataset: Any, region: Any, values: Any, stored: Any) -> None:
        write(dataset, region, values + 1, stored)

    with (
        patch.object(hdf5_datasets, "_write", wrong),
        pytest.raises(ValueChangedError, match=r"data\[0:2, 0:2\]: other values"),
    ):
        omnizarr.export(omnizarr.array([[1, 2], [3, 4]]), tmp_path / "x.h5", verify=True)
    assert not (tmp_path / "x.h5").exists()


def test_progress_counts_regions(tmp_path: Path) -> None:
    told: list[Any] = []
    root = omnizarr.group()
    root.create_array("a", data=np.arange(10), chunks=2)
    root.create_array("b", data=np.arange(9), chunks=2, shards=4)
    root.create_array("c", data=np.array(1))
    omnizarr.export(root, tmp_path / "x.h5", progress=told.append, verify=True)
    assert (told[-1].done, told[-1].total) == (18, 18)
    assert hdf5.units(root, {}) == 9
