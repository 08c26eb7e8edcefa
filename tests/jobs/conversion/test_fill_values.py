"""Between formats 2 and 3, xarray sees the same dataset and Zarr the same values."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import omnizarr as zarr
from omnizarr.errors import UnsupportedError

xr = pytest.importorskip("xarray")

pytestmark = [
    pytest.mark.filterwarnings("ignore::UserWarning"),
    pytest.mark.filterwarnings("ignore::FutureWarning"),
    pytest.mark.filterwarnings("ignore:.*multiple fill values.*"),
]


def opened(path: Path, decode: bool = True) -> Any:
    # Both groups may be without consolidated metadata.
    with xr.open_zarr(path, consolidated=False, mask_and_scale=decode) as found:
        return found.load()


def same(one: Any, other: Any) -> None:
    xr.testing.assert_identical(one, other)
    for name in one.variables:
        assert one[name].dtype == other[name].dtype, name


def made(path: Path, zarr_format: int, arrays: dict[str, tuple[Any, Any, dict[str, Any]]]) -> None:
    root = zarr.open_group(path, mode="w", zarr_format=zarr_format)
    for name, (values, fill, attributes) in arrays.items():
        array = root.create_array(
            name, shape=(6,), dtype=values.dtype, chunks=3, fill_value=fill,
            dimension_names=("x",), attributes=attributes,
        )  # fmt: skip
        array[:3] = values  # the second chunk is missing


TIME = {"units": "seconds since 1970-01-01", "calendar": "proleptic_gregorian"}
CASES: dict[str, tuple[Any, Any, dict[str, Any]]] = {
    "int_zero": (np.array([0, 1, 2]), 0, {}),
    "int_other": (np.array([0, 1, 2], "i2"), 2, {"units": "m"}),
    "unsigned": (np.array([0, 1, 255], "u1"), 255, {}),
    "float_zero": (np.array([0.0, 1.0, np.nan]), 0.0, {}),
    "float_nan": (np.array([0.0, 1.0, np.nan], "f4"), np.nan, {}),
    "float_big": (np.array([0.0, 9.96921e36, 1.0], "f4"), 9.96921e36, {}),
    "time_zero": (np.array([0, 60, 120]), 0, TIME),
    "time_late": (np.array([0, 60, 120]), 60, TIME),
    "packed": (np.array([0, 1, 2], "i2"), 0, {"scale_factor": 0.5, "add_offset": 10.0}),
    "boolean": (np.array([False, True, False]), False, {}),
    "complex": (np.array([0, 1j, 2]), 0j, {}),
    "missing_value": (np.array([0, 1, 2]), 0, {"missing_value": 1}),
    "unsigned_as_signed": (np.array([0, 1, 255], "u1"), 255, {"_Unsigned": "false"}),
    "unsigned_big_endian": (np.array([0, 1, 65535], ">u2"), 65535, {"_Unsigned": "false"}),
    "signed_as_unsigned": (np.array([0, 1, -1], "i1"), -1, {"_Unsigned": "true"}),
    "scaled_nan": (np.array([1, 2, np.nan], "f4"), np.nan, {"scale_factor": 0.1}),
    "offset_nan": (np.array([1, 2, np.nan], "f4"), np.nan, {"add_offset": 273.15}),
    "complex_nan": (np.array([0, 1j, 2], "c8"), complex("nan"), {}),
}


def test_from_2_to_3_and_back(tmp_path: Path) -> None:
    arrays = {
        **CASES,
        "none": (np.array([0, 1, 2]), None, {}),
        "none_float": (np.array([0.0, 1.0, np.nan]), None, {}),
        "none_but_attribute": (np.array([0, 1, 2]), None, {"_FillValue": 1}),
        "none_but_float": (np.array([0.0, 1.5, 2.0]), None, {"_FillValue": 1.5}),
        "attribute_too": (np.array([0, 1, 2]), 1, {"_FillValue": 1}),
    }
    made(tmp_path / "two", 2, arrays)
    zarr.convert(tmp_path / "two", tmp_path / "three", zarr_format=3)
    zarr.convert(tmp_path / "three", tmp_path / "again", zarr_format=2)
    before = opened(tmp_path / "two")
    same(before, opened(tmp_path / "three"))
    same(before, opened(tmp_path / "again"))
    for name in arrays:
        old = zarr.open_array(tmp_path / "two", path=name)
        new = zarr.open_array(tmp_path / "three", path=name)
        back = zarr.open_array(tmp_path / "again", path=name)
        np.testing.assert_array_equal(old[...], new[...])
        np.testing.assert_array_equal(old[...], back[...])
        if name not in ("none_but_attribute", "none_but_float"):  # where both say the same
            assert repr(old.fill_value) == repr(back.fill_value), name


def test_from_3_to_2_and_back(tmp_path: Path) -> None:
    nothing_masked = {name: value for name, value in CASES.items() if name != "missing_value"}
    masked = {
        "other": (np.array([0, 1, 2]), 0, {"_FillValue": 1}),
        "equal": (np.array([0, 1, 2]), 1, {"_FillValue": 1}),
        "outside": (np.array([0, 1, 2], "u1"), 0, {"_FillValue": 300}),
        "float": (np.array([0.0, 1.5, 2.0]), 0.0, {"_FillValue": "AAAAAAAA+D8="}),
        "nan": (np.array([0.0, 1.5, np.nan]), 0.0, {"_FillValue": "AAAAAAAA+H8="}),
        "truth": (np.array([True, False, True]), False, {"_FillValue": True}),
        # The double -999.9, which no float32 equals.
        "narrow": (np.array([0, -999.9, 2], "f4"), -999.9, {"_FillValue": "MzMzMzM/j8A="}),
        "narrow_complex": (
            np.array([0, -999.9, 2], "c8"), -999.9,
            {"_FillValue": ["MzMzMzM/j8A=", "AAAAAAAAAAA="]},
        ),
        "beyond": (np.array([0, 1, np.inf], "f4"), 0.0, {"_FillValue": "oMjrhfPM4X8="}),
        "bits": (np.array([0, 1, 255], "u1"), 255, {"_FillValue": -1, "_Unsigned": "false"}),
        "other_bits": (np.array([0, 1, 255], "u1"), 0, {"_FillValue": -1, "_Unsigned": "false"}),
        "native_time": (np.array([0, 1, 2], "M8[s]"), np.datetime64("NaT"), {}),
        "native_span": (np.array([0, 1, 2], "m8[s]"), np.timedelta64(1, "s"), {}),
    }  # fmt: skip
    made(tmp_path / "three", 3, {**nothing_masked, **masked})
    done = zarr.convert(tmp_path / "three", tmp_path / "two", zarr_format=2)
    zarr.convert(tmp_path / "two", tmp_path / "again", zarr_format=3)
    before = opened(tmp_path / "three")
    assert before["float_zero"].values[0] == 0 and before["int_zero"].dtype.kind == "i"
    same(before, opened(tmp_path / "two"))
    same(before, opened(tmp_path / "again"))
    for name in {**nothing_masked, **masked}:
        old = zarr.open_array(tmp_path / "three", path=name)
        new = zarr.open_array(tmp_path / "two", path=name)
        np.testing.assert_array_equal(old[...], new[...])
        bare = new.fill_value is None
        assert new.nchunks_initialized == 2 or not bare, name
    notes = {row.path: row.notes for row in done.nodes}
    assert "left out: xarray masks it in format 2" in notes["int_zero"][0]
    assert zarr.open_array(tmp_path / "two", path="bits").fill_value == 255
    assert notes["equal"] == () and "masks _FillValue 1" in notes["other"][0]


def test_datasets_that_xarray_wrote(tmp_path: Path) -> None:
    dataset = xr.Dataset(
        {
            "text": ("x", np.array(["a", "", "b"], object)),
            "scalar": ((), 0),
            "float": ("x", [1.0, np.nan, 0.0]),
            "truth": ("x", [True, False, True]),
            "packed": ("x", [1.0, np.nan, 0.5]),
        },
        coords={"x": [0, 1, 2], "time": ("x", np.array([0, 1, 2], "M8[ns]"))},
    )
    dataset["packed"].encoding = {"dtype": "i2", "scale_factor": 0.5, "_FillValue": -1}
    for first, second in ((2, 3), (3, 2)):
        here, there = tmp_path / f"from{first}", tmp_path / f"to{second}"
        back = tmp_path / f"back{first}"
        dataset.to_zarr(here, zarr_format=first, consolidated=False)
        zarr.convert(here, there, zarr_format=second)
        zarr.convert(there, back, zarr_format=first)
        same(opened(here), opened(there))
        same(opened(here), opened(back))


def test_zarrs_meaning(tmp_path: Path) -> None:
    made(tmp_path / "two", 2, {"a": CASES["int_zero"], "nan": CASES["float_nan"]})
    done = zarr.convert(tmp_path / "two", tmp_path / "three", zarr_format=3, fill_values="zarr")
    array = zarr.open_group(tmp_path / "three")["a"]
    assert array.fill_value == 0 and "_FillValue" not in array.attrs
    notes = {row.path: row.notes for row in done.nodes}
    assert notes["a"] == ("fill value 0: xarray masks it in format 2, not in format 3",)
    assert notes["nan"] == ()


def test_arrays_without_dimension_names_keep_zarrs_meaning() -> None:
    for first, second in ((2, 3), (3, 2)):
        store, out, other = zarr.MemoryStore(), zarr.MemoryStore(), zarr.MemoryStore()
        zarr.create_array(store, name="a", shape=4, dtype="i4", chunks=2, zarr_format=first)
        done = zarr.convert(store, out, zarr_format=second)
        array = zarr.open_group(out)["a"]
        assert array.fill_value == 0 and not array.attrs and array.nchunks_initialized == 0
        assert any("xarray masks it in format 2" in note for note in done.nodes[-1].notes)
        zarr.convert(store, other, zarr_format=second, fill_values="xarray")
        array = zarr.open_group(other)["a"]
        if second == 3:
            assert array.attrs["_FillValue"] == 0
        else:
            assert array.fill_value is None and array.nchunks_initialized == 2
    with pytest.raises(ValueError, match="fill_values"):
        zarr.convert(store, zarr.MemoryStore(), zarr_format=2, fill_values="both")  # type: ignore[arg-type]


def test_text_cannot_be_masked_in_3(tmp_path: Path) -> None:
    """xarray refuses the attribute for text there, and with it the whole dataset."""
    root = zarr.open_group(tmp_path / "two", mode="w", zarr_format=2)
    root.create_array(
        "text", data=["a", ""], dtype=str, chunks=2, fill_value="", dimension_names=("x",)
    )
    done = zarr.convert(tmp_path / "two", tmp_path / "three", zarr_format=3)
    assert opened(tmp_path / "three")["text"].values.tolist() == ["a", ""]
    assert "cannot in format 3" in done.nodes[-1].notes[0]


def test_in_place(tmp_path: Path) -> None:
    """New documents alone: the attribute can be added, missing chunks cannot."""
    made(tmp_path / "two", 2, CASES)
    before = opened(tmp_path / "two")
    zarr.convert(tmp_path / "two", zarr_format=3, remove_source=True)
    same(before, opened(tmp_path / "two"))
    root = zarr.open_group(tmp_path / "three", mode="w")
    options = {"chunks": 2, "dimension_names": ("x",), "chunk_key_encoding": {"name": "v2"}}
    options["compressors"] = None
    root.create_array("full", data=np.arange(4), **options)
    root["full"][:2] = [7, 0]
    root.create_array("gaps", shape=4, dtype="i4", **options)
    zarr.convert(tmp_path / "three", zarr_format=2, remove_source=True)
    found = zarr.open_group(tmp_path / "three")
    assert found["full"].fill_value is None and found["gaps"].fill_value == 0


def test_native_times_cannot_have_the_attribute_in_3(tmp_path: Path) -> None:
    made(tmp_path / "two", 2, {"time": (np.array([0, 1, 2], "M8[s]"), np.datetime64("NaT"), {})})
    done = zarr.convert(tmp_path / "two", tmp_path / "three", zarr_format=3)
    before, after = opened(tmp_path / "two"), opened(tmp_path / "three")
    xr.testing.assert_equal(before, after)
    (note,) = done.nodes[-1].notes
    assert "as an attribute in format 2, and cannot in format 3" in note


def test_a_nearly_empty_array_is_not_filled_unasked() -> None:
    store = zarr.MemoryStore()
    root = zarr.open_group(store, mode="w")
    options: Any = {"dtype": "i4", "chunks": (1, 1), "dimension_names": ("y", "x")}
    array = root.create_array("a", shape=(10**6, 10**6), **options)
    array[0, 0] = 1
    out = zarr.MemoryStore()
    with pytest.raises(UnsupportedError, match="999,999,999,999 missing chunks") as caught:
        zarr.convert(store, out, zarr_format=2)
    assert caught.value.what == "fill_value" and not list(out.list_prefix(""))
    assert "'/a'" in str(caught.value) and "drop=" not in str(caught.value)
    assert "fill_values='zarr'" in str(caught.value)
    assert "fill_values='xarray'" in str(caught.value)
    zarr.convert(store, out, zarr_format=2, fill_values="zarr")
    assert zarr.open_group(out)["a"][:2, :2].tolist() == [[1, 0], [0, 0]]
    plan = zarr.convert(
        store, zarr.MemoryStore(), zarr_format=2, fill_values="xarray", dry_run=True
    )
    assert plan.nodes[-1].chunks == 10**12


def test_what_counts_as_nearly_empty(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("omnizarr.jobs.conversion.planning.MOST_WRITTEN", 20)
    for length, refused in ((20, False), (30, True)):
        store = zarr.MemoryStore()
        root = zarr.open_group(store, mode="w")
        options: Any = {"dtype": "i4", "chunks": 1, "dimension_names": ("x",)}
        root.create_array("sparse", shape=length, **options)[:1] = 1
        root.create_array("half", shape=100, **options)[:50] = 1
        # Chunks within stored shards are not missing.
        root.create_array("shards", shape=1000, shards=100, **options)[:] = 1
        if refused:
            with pytest.raises(UnsupportedError, match="'/sparse'"):
                zarr.convert(store, zarr.MemoryStore(), zarr_format=2, reencode=True)
        else:
            zarr.convert(store, zarr.MemoryStore(), zarr_format=2, reencode=True)
