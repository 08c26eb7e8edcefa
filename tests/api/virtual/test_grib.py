"""GRIB files as groups: what eccodes writes, of both editions."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import eccodes
import numpy as np
import pytest

import omnizarr
from omnizarr.api.virtual.files import Place
from omnizarr.api.virtual.grib import scan
from omnizarr.errors import MetadataError, UnsupportedError, ZarrError

RANDOM = np.random.default_rng(6)


def message(sample: str, values: Any = None, **keys: Any) -> bytes:
    handle = eccodes.codes_grib_new_from_samples(sample)
    try:
        for name, value in keys.items():
            eccodes.codes_set(handle, name, value)
        if values is not None:
            eccodes.codes_set_values(handle, values)
        return bytes(eccodes.codes_get_message(handle))
    finally:
        eccodes.codes_release(handle)


def decoded(data: bytes, key: str = "values") -> Any:
    handle = eccodes.codes_new_from_message(data)
    try:
        return eccodes.codes_get_array(handle, key)
    finally:
        eccodes.codes_release(handle)


def pressure(edition: int, name: str, date: int, step: int, level: int) -> bytes:
    return message(
        f"regular_ll_pl_grib{edition}", RANDOM.normal(280, 5, 496),
        dataDate=date, dataTime=600, step=step, level=level, shortName=name,
    )  # fmt: skip


@pytest.mark.parametrize("edition", [1, 2])
def test_a_cube_of_messages(edition: int, tmp_path: Path) -> None:
    dates, steps, levels = (20240101, 20240102), (0, 6), (850, 500, 300)
    found: dict[tuple[int, int, int], bytes] = {}
    with open(tmp_path / "data.grib", "wb") as file:
        for date in dates:
            for step in steps:
                for level in levels:
                    if (date, step, level) != (20240102, 6, 300):  # one is missing
                        data = pressure(edition, "t", date, step, level)
                        found[date, step, level] = data
                        file.write(data + b"\0\0junk")
            file.write(message(f"regular_ll_sfc_grib{edition}", RANDOM.random(496),
                               dataDate=date, shortName="sp", level=0))  # fmt: skip
    root = omnizarr.virtualize(tmp_path / "data.grib")
    group = root["isobaricInhPa_instant"]
    array = group["t"]
    assert array.shape == (2, 2, 3, 31, 16)
    assert array.dimension_names == ("time", "step", "isobaricInhPa", "latitude", "longitude")
    assert group["isobaricInhPa"][...].tolist() == [300, 500, 850]
    assert group["step"][...].tolist() == [0, 6] and group["step"].attrs["units"] == "hours"
    moments = group["time"][...].astype("M8[s]")
    assert moments.tolist() == np.array(["2024-01-01T06", "2024-01-02T06"], "M8[s]").tolist()
    for (date, step, level), data in found.items():
        place = dates.index(date), steps.index(step), sorted(levels).index(level)
        np.testing.assert_array_equal(array[place].ravel(), decoded(data))
    assert np.isnan(array[1, 1, 0]).all()
    data = next(iter(found.values()))
    np.testing.assert_array_equal(np.repeat(group["latitude"][...], 16), decoded(data, "latitudes"))
    np.testing.assert_array_equal(np.tile(group["longitude"][...], 31), decoded(data, "longitudes"))
    assert array.attrs["units"] == "K"
    surface = next(name for name in root if name != "isobaricInhPa_instant")
    assert root[f"{surface}/sp"].shape == (2, 31, 16)


def test_files_are_joined(tmp_path: Path) -> None:
    for day in (1, 2, 3):
        (tmp_path / f"{day}.grib").write_bytes(pressure(2, "t", 20240100 + day, 0, 500))
    root = omnizarr.virtualize(tmp_path / "*.grib", join="time", group="isobaricInhPa_instant")
    assert root["t"].shape == (3, 31, 16)
    for day in (1, 2, 3):
        expected = decoded((tmp_path / f"{day}.grib").read_bytes())
        np.testing.assert_array_equal(root["t"][day - 1].ravel(), expected)


def test_other_grids(tmp_path: Path) -> None:
    data = message("reduced_gg_pl_32_grib2")
    (tmp_path / "data.grib").write_bytes(data)
    group = omnizarr.virtualize(tmp_path / "data.grib")["isobaricInhPa_instant"]
    np.testing.assert_array_equal(group["t"][0], decoded(data))
    np.testing.assert_array_equal(group["latitude"][...], decoded(data, "latitudes"))
    (tmp_path / "data.grib").write_bytes(message("sh_ml_grib2"))
    with pytest.raises(UnsupportedError, match="'sh'"):
        omnizarr.virtualize(tmp_path / "data.grib")


def test_what_does_not_fit(tmp_path: Path) -> None:
    path = tmp_path / "data.grib"
    path.write_bytes(2 * pressure(2, "t", 20240101, 0, 500))
    with pytest.raises(UnsupportedError, match="two messages for the same time"):
        omnizarr.virtualize(path)
    whole = pressure(2, "t", 20240101, 0, 500)
    path.write_bytes(whole[:-10])
    with pytest.raises(MetadataError, match="truncated"):
        omnizarr.virtualize(path)
    refused = 0
    for attempt in range(60):
        data = bytearray(whole)
        for _ in range(1 + attempt % 3):
            data[int(RANDOM.integers(4, 200))] = int(RANDOM.integers(256))
        path.write_bytes(data)
        try:
            scan(Place(str(path), {}), frozenset(), frozenset())
        except ZarrError:
            refused += 1
    assert refused > 5


def test_further_grids_have_their_own_groups(tmp_path: Path) -> None:
    small = message("regular_ll_pl_grib2", RANDOM.random(16), Ni=4, Nj=4, dataDate=20240101,
                    shortName="t", level=500)  # fmt: skip
    large = pressure(2, "t", 20240101, 0, 500)
    (tmp_path / "a.grib").write_bytes(large + small)
    root = omnizarr.virtualize(tmp_path / "a.grib")
    for group, data, shape in (
        ("isobaricInhPa_instant", large, (1, 31, 16)),
        ("isobaricInhPa_instant_grid2", small, (1, 4, 4)),
    ):
        assert root[f"{group}/t"].shape == shape
        np.testing.assert_array_equal(root[f"{group}/t"][...].ravel(), decoded(data))
        latitudes = np.repeat(root[f"{group}/latitude"][...], shape[2])
        np.testing.assert_array_equal(latitudes, decoded(data, "latitudes"))


def accumulated(interval: str) -> bytes:
    return message("regular_ll_sfc_grib1", RANDOM.random(496), dataDate=20240101, shortName="tp",
                   stepType="accum", stepRange=interval)  # fmt: skip


def test_intervals_that_end_at_the_same_time(tmp_path: Path) -> None:
    path = tmp_path / "a.grib"
    path.write_bytes(b"".join(map(accumulated, ("0-6", "0-12"))))
    assert omnizarr.virtualize(path)["surface_accum/tp"].shape == (1, 2, 31, 16)
    found = {interval: accumulated(interval) for interval in ("0-6", "0-12", "6-12")}
    path.write_bytes(b"".join(found.values()))
    group = omnizarr.virtualize(path)["surface_accum"]
    np.testing.assert_array_equal(group["tp_12h"][0].ravel(), decoded(found["0-12"]))
    for step, interval in enumerate(("0-6", "6-12")):
        np.testing.assert_array_equal(group["tp_6h"][0, step].ravel(), decoded(found[interval]))


@pytest.mark.parametrize("zarr_format", [2, 3])
def test_converted(zarr_format: Any, tmp_path: Path) -> None:
    found = {level: pressure(2, "t", 20240101, 0, level) for level in (500, 850)}
    (tmp_path / "a.grib").write_bytes(b"".join(found.values()))
    root = omnizarr.virtualize(tmp_path / "a.grib")
    omnizarr.convert(root, tmp_path / "a.zarr", zarr_format=zarr_format, compressors="auto",
                     reencode=True)  # fmt: skip
    group = omnizarr.open_group(tmp_path / "a.zarr", mode="r")["isobaricInhPa_instant"]
    array = group["t"]
    assert array.dims == ("time", "isobaricInhPa", "latitude", "longitude")
    assert "grib" not in str(array.info)
    for at, data in enumerate(found.values()):
        np.testing.assert_array_equal(array[0, at].ravel(), decoded(data))
    assert group["isobaricInhPa"][...].tolist() == [500, 850]
    assert array.attrs["units"] == "K" and group["time"].attrs["units"].startswith("seconds")


def test_damage_is_told_with_its_place(tmp_path: Path) -> None:
    one, other = pressure(2, "t", 20240101, 0, 500), bytearray(pressure(2, "t", 20240101, 6, 500))
    other[16 + 5 + 7] = 255  # the year of section 1
    other[16 + 5 + 8] = 255
    (tmp_path / "a.grib").write_bytes(one + other)
    with pytest.raises(ZarrError, match=f"the message at {len(one)}"):
        omnizarr.virtualize(tmp_path / "a.grib")
    (tmp_path / "a.grib").write_bytes(one + one[:100])
    with pytest.raises(MetadataError, match=f"the message at {len(one)} is truncated"):
        omnizarr.virtualize(tmp_path / "a.grib")
    huge = bytearray(one)
    huge[8:16] = (1 << 62).to_bytes(8, "big")
    (tmp_path / "a.grib").write_bytes(one + huge)
    with pytest.raises(MetadataError, match=f"the message at {len(one)}"):
        omnizarr.virtualize(tmp_path / "a.grib")
