"""A store with values of every kind that the page shows."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

import omnizarr as zarr


def write(path: Path | str | dict[str, Any], zarr_format: Any = 3, scale: int = 1) -> zarr.Group:
    """A small atmosphere, an image with a pyramid, and an array of every other kind."""
    root = zarr.create_group(path, zarr_format=zarr_format, attributes={"title": "A sample"})
    air = root.create_group("air", attributes={"Conventions": "CF-1.10"})
    times, rows, columns = 24, 90 * scale, 180 * scale
    dims = {"time": times, "lat": rows, "lon": columns}
    lat, lon = np.linspace(89, -89, rows), np.linspace(0, 358, columns)
    place(air, "time", np.arange(times) * 6.0, ["time"], {"units": "hours since 2024-02-28"})
    place(air, "lat", lat, ["lat"], {"units": "degrees_north"})
    place(air, "lon", lon, ["lon"], {"units": "degrees_east"})
    wave = np.sin(np.deg2rad(3 * lon)) * 8 * np.cos(np.deg2rad(lat))[:, None] ** 2
    kelvin = np.empty((times, rows, columns), "f4")
    for step in range(times):
        kelvin[step] = 288 - 45 * np.sin(np.deg2rad(lat))[:, None] ** 2 + np.roll(wave, step * 3, 1)
    kelvin[:, : rows // 12, : columns // 8] = np.nan
    about = {"units": "K", "long_name": "air temperature"}
    place(air, "temperature", kelvin, list(dims), about, chunks=(4, rows // 3, columns // 4))
    packed = np.where(np.isnan(kelvin), -999, (kelvin - 273.15) * 10).astype("i2")
    place(
        air, "packed", packed, list(dims),
        {"units": "celsius", "scale_factor": 0.1, "_FillValue": -999, **about},
        chunks=(4, rows // 3, columns // 4),
    )  # fmt: skip
    y, x = np.mgrid[0:64, 0:96]
    rgb = np.stack([x * 2, y * 3, (x + y)], axis=-1).astype("u1")
    place(root, "rgb", rgb, ["y", "x", "c"])
    place(root, "counts", np.arange(40, dtype="i8") ** 5, ["bin"])
    if zarr_format in ("n5", "nczarr"):  # which have neither truth values nor complex numbers
        return root
    place(root, "mask", (x - 48) ** 2 + (y - 32) ** 2 < 400, ["y", "x"])
    place(root, "wave", np.exp(1j * (x + y) / 9).astype("c8"), ["y", "x"])
    place(root, "answer", np.array(42, dtype="i4"), [])
    return root


def place(
    group: zarr.Group, name: str, data: Any, dims: list[str], attributes: Any = None, **more: Any
) -> None:
    """An array with named dimensions, in the way of its format."""
    group.create_array(
        name, data=np.asarray(data), dimension_names=dims, attributes=attributes, **more
    )


def write_more(root: zarr.Group) -> None:
    """Kinds that few formats have: text, records, times; a pyramid; sharded arrays; no elements."""
    words = np.array(["one", "<script>alert(1)</script>", "ü"], dtype=np.dtypes.StringDType())
    root.create_array("words", data=words)
    people = np.array([(1, 2.5), (2, 3.5)], dtype=[("number", "i4"), ("height", "f8")])
    root.create_array("people", data=people)
    root.create_array("days", data=np.arange("2024-01-01", "2024-01-20", dtype="M8[D]"))
    image = root.create_group("image")
    y, x = np.mgrid[0:512, 0:768]
    dice = np.random.default_rng(7)
    cells = np.zeros((512, 768))
    for row, column, size in zip(*(dice.uniform(0, n, 60) for n in (512, 768, 18)), strict=True):
        far = np.hypot((y - row) / (size + 8), (x - column) / (size + 12))
        cells += 2600 * np.exp(-(far**4)) * (1 - 0.4 * np.exp(-((far * 2) ** 2)))
    full = np.minimum(cells + dice.poisson(60, cells.shape), 65535).astype("u2")
    levels = []
    for level in range(3):
        step = 2**level
        data = full[::step, ::step]
        image.create_array(str(level), data=data, chunks=(128, 128), dimension_names=["y", "x"])
        scale = {"type": "scale", "scale": [0.5 * step, 0.5 * step]}
        levels.append({"path": str(level), "coordinateTransformations": [scale]})
    axes = [{"name": n, "type": "space", "unit": "micrometer"} for n in "yx"]
    image.attrs["ome"] = {
        "version": "0.5",
        "multiscales": [{"axes": axes, "datasets": levels, "name": "cells"}],
    }
    sharded = root.create_array(
        "sharded", shape=(400, 600), chunks=(20, 30), shards=(100, 150), dtype="f4",
        fill_value=0, dimension_names=["y", "x"],
    )  # fmt: skip
    sharded[:220, :310] = np.random.default_rng(1).normal(size=(220, 310))
    sharded[300:400, 450:600] = 1.0
    labels = (np.indices((120, 160)).sum(0) // 20).astype("u1")
    root.create_array("labels", data=labels, chunks=(20, 20), shards=(60, 80))
    root.create_array("empty", shape=0, dtype="f4")
    hours = np.array([1, 2, "NaT"], dtype="m8[h]")
    root.create_array("hours", data=hours)
    uneven = np.arange(6 * 10 * 12).reshape(6, 10, 12)
    root.create_array("uneven", data=uneven, chunks=((1, 2, 3), (2, 8), (5, 5, 2)))
