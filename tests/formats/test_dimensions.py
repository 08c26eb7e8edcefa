"""Dimension names of arrays without dimensions: an empty list is something else than no list."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import omnizarr
from omnizarr import formats

ZERO_D = [known.name for known in formats.every_format() if known.name not in (0, 1)]


@pytest.mark.parametrize("zarr_format", ZERO_D)
def test_no_dimensions_have_no_names(zarr_format: Any) -> None:
    store: dict[str, bytes] = {}
    made = omnizarr.create_array(
        store, shape=(), dtype="i4", dimension_names=[], zarr_format=zarr_format
    )
    assert made.dims == ()
    assert omnizarr.open_array(store, mode="r").dims == ()
    unnamed = omnizarr.create_array({}, shape=(), dtype="i4", zarr_format=zarr_format)
    assert unnamed.dims is None


def test_where_they_are_stored() -> None:
    store: dict[str, bytes] = {}
    omnizarr.create_array(store, shape=(), dtype="i4", dimension_names=[], zarr_format=2)
    assert json.loads(store[".zattrs"]) == {"_ARRAY_DIMENSIONS": []}
    store = {}
    omnizarr.create_array(store, shape=(), dtype="i4", dimension_names=[], zarr_format=3)
    assert json.loads(store["zarr.json"])["dimension_names"] == []


@pytest.mark.parametrize("target", ZERO_D)
@pytest.mark.parametrize("source", ZERO_D)
def test_conversion(source: Any, target: Any) -> None:
    before, after = omnizarr.MemoryStore(), omnizarr.MemoryStore()
    omnizarr.create_array(
        before, data=np.array(5, "i4"), dimension_names=[], zarr_format=source, attributes={"a": 1},
        compressors=None,
    )  # fmt: skip
    omnizarr.convert(before, after, zarr_format=target)
    array = omnizarr.open_array(after, mode="r")
    assert array.dims == () and array[()] == 5
    assert array.attrs["a"] == 1


@pytest.mark.parametrize("zarr_format", [2, 3])
def test_xarray_opens_what_is_written(zarr_format: int, tmp_path: Path) -> None:
    xarray = pytest.importorskip("xarray")
    root = omnizarr.create_group(tmp_path / "a.zarr", zarr_format=zarr_format)
    root.create_array("time", data=np.arange(3), dimension_names=["time"])
    root.create_array("spatial_ref", data=np.array(0), dimension_names=[])
    with xarray.open_zarr(tmp_path / "a.zarr", consolidated=False, mask_and_scale=False) as found:
        assert found["spatial_ref"].dims == () and found["spatial_ref"].item() == 0


@pytest.mark.parametrize(("source", "target"), [(2, 3), (3, 2)])
def test_xarray_opens_what_is_converted(source: int, target: int, tmp_path: Path) -> None:
    xarray = pytest.importorskip("xarray")
    dataset = xarray.Dataset({"t": ("x", np.arange(4.0)), "crs": ((), np.int32(7))})
    dataset.to_zarr(tmp_path / "a.zarr", zarr_format=source, consolidated=False)
    omnizarr.convert(tmp_path / "a.zarr", tmp_path / "b.zarr", zarr_format=target)
    with xarray.open_zarr(tmp_path / "b.zarr", consolidated=False, mask_and_scale=False) as found:
        assert found["crs"].dims == () and found["crs"].item() == 7
