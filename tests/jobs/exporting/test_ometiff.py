"""Images as OME-TIFF: what tifffile reads, and what `virtualize` finds."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tifffile

import omnizarr
from omnizarr.jobs.exporting import ometiff

RANDOM = np.random.default_rng(11)


def quiet(units: int, size: int, label: str) -> None:
    pass


def image(zarr_format: Any, dims: str = "tczyx", dtype: str = "u2", levels: int = 2) -> Any:
    lengths = {"t": 2, "c": 3, "z": 4, "y": 70, "x": 90}
    root = omnizarr.create_group({}, zarr_format=zarr_format)
    data = RANDOM.integers(0, 100, [lengths[name] for name in dims]).astype(dtype)
    steps = {"y": 2, "x": 2}
    for level in range(levels):
        key = tuple(slice(None, None, steps.get(name, 1) ** level) for name in dims)
        root.create_array(str(level), data=data[key], dimension_names=[*dims],
                          chunks=[min(32, n) for n in data[key].shape])  # fmt: skip
    known = {"z": 2.0, "y": 0.5, "x": 0.25, "t": 3.0}
    units = {"z": "millimeter", "y": "micrometer", "x": "nanometer", "t": "second"}
    omnizarr.Multiscale.describe(
        root, [str(level) for level in range(levels)], axes=dims,
        scale={name: value for name, value in known.items() if name in dims},
        unit={name: value for name, value in units.items() if name in dims}, name="cells & <more>",
    )  # fmt: skip
    window = {"start": 0, "end": 9, "min": 0, "max": 9}
    names = (("DAPI", "0000FF"), ("a<b>", "80FF00"), ("µ", "FFFFFF"))
    channels = [{"label": name, "color": color, "active": True, "window": window}
                for name, color in names]  # fmt: skip
    if "c" in dims:
        if zarr_format == 3:
            root.attrs["ome"] = {**root.attrs["ome"], "omero": {"channels": channels}}
        else:
            root.attrs["omero"] = {"channels": channels}
    return root


def exported(node: Any, file: Path, **options: Any) -> omnizarr.Group:
    assert ometiff.obstacles(node, options) == []
    told = 0

    def advance(units: int, size: int, label: str) -> None:
        nonlocal told
        told += units

    ometiff.write(node, str(file), advance, **options)
    assert told == ometiff.units(node, options)
    assert list(ometiff.differences(node, str(file), quiet, **options)) == []
    return omnizarr.virtualize(file)


@pytest.mark.parametrize("zarr_format", [2, 3])
@pytest.mark.parametrize("compression", ["zlib", "zstd", None])
def test_facts_come_back(zarr_format: Any, compression: str | None, tmp_path: Path) -> None:
    root, file = image(zarr_format), tmp_path / "a.ome.tif"
    found = exported(root, file, compression=compression, tile=32)
    before, after = omnizarr.Multiscale(root), omnizarr.Multiscale(found)
    assert after.axes == before.axes and after.scales == before.scales
    assert after.name == "cells & <more>"
    channels = found.attrs["omero"]["channels"]
    assert [(one["label"], one["color"]) for one in channels] == [
        ("DAPI", "0000FF"), ("a<b>", "80FF00"), ("µ", "FFFFFF"),
    ]  # fmt: skip
    with tifffile.TiffFile(file) as tiff:
        [series] = tiff.series
        assert series.kind == "ome" and series.axes == "TCZYX"
        assert len(tiff.pages) == 24 and len(tiff.pages.first.subifds) == 1
        for level, array in zip(series.levels, before.levels, strict=True):
            np.testing.assert_array_equal(level.asarray(), array[...])


@pytest.mark.parametrize("dims", ["yx", "zyx", "cyx", "tyx", "tzcyx", "yxc", "xy"])
def test_other_axes(dims: str, tmp_path: Path) -> None:
    if dims in ("yx", "zyx", "cyx", "tyx"):
        node = image(3, dims, "f4")
        data = node["0"][...]
    else:
        node = omnizarr.array(RANDOM.random((5, 4, 3, 20, 30)[-len(dims) :]).astype("f4"),
                              dimension_names=[*dims])  # fmt: skip
        order = sorted(range(len(dims)), key=lambda at: "tczyx".index(dims[at]))
        data = node[...].transpose(order)
    found = exported(node, tmp_path / "a.ome.tif")
    np.testing.assert_array_equal(found["0"][...], data)


@pytest.mark.parametrize("dtype", ["u1", "i1", "i2", "u4", "i4", "f4", "f8", "c8", "?"])
def test_types(dtype: str, tmp_path: Path) -> None:
    exported(image(3, "zyx", dtype), tmp_path / "a.ome.tif", tile=32)


def test_several_images(tmp_path: Path) -> None:
    root = omnizarr.create_group({}, zarr_format=2, attributes={"bioformats2raw.layout": 3})
    for name in ("0", "1", "10"):
        omnizarr.copy_all(image(2, "zyx"), root.create_group(name))
        root[name].attrs.put(image(2, "zyx").attrs.asdict())
    found = exported(root, tmp_path / "a.ome.tif", tile=32)
    assert sorted(found) == ["0", "1", "2"]
    np.testing.assert_array_equal(found["2/0"][...], root["10/0"][...])


def test_without_the_pyramid(tmp_path: Path) -> None:
    root = image(3, "zyx")
    del root["1"]
    root.create_array("1", data=np.zeros((2, 35, 45), "u2"), dimension_names=["z", "y", "x"])
    assert "pyramid=False" in ometiff.obstacles(root, {})[0]
    assert list(exported(root, tmp_path / "a.ome.tif", pyramid=False)) == ["0"]


def test_obstacles() -> None:
    def told(node: Any, **options: Any) -> str:
        return "; ".join(ometiff.obstacles(node, options))

    assert "axes" in told(omnizarr.zeros((3, 4), dimension_names=["lat", "y"]))
    assert "axes" in told(omnizarr.zeros((2,) * 6))
    assert "type" in told(omnizarr.zeros((3, 4), dtype="i8"))
    assert "without pixels" in told(omnizarr.zeros((0, 4)))
    assert "compression" in told(omnizarr.zeros((3, 4)), compression="lzw")
    assert "multiple of 16" in told(omnizarr.zeros((3, 4)), tile=8)
    group = omnizarr.group(zarr_format=2)
    assert "no image" in told(group)
    group["0"] = np.zeros((3, 4))
    omnizarr.Multiscale.describe(group, ["0"], axes="yx", unit="parsec")
    assert "parsec" in told(group)


def test_differences_are_found(tmp_path: Path) -> None:
    root = image(3, "zyx")
    exported(root, tmp_path / "a.ome.tif", tile=32)
    root["1"][3, 34, 44] += 1
    found = list(ometiff.differences(root, str(tmp_path / "a.ome.tif"), quiet, tile=32))
    assert len(found) == 1 and found[0].startswith("1:")
