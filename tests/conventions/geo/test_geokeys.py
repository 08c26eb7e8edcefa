"""Reference systems as GeoTIFF's keys, and back."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyproj
import pytest

from omnizarr.conventions.geo import geokeys

CUSTOM = [
    "+proj=tmerc +lat_0=1 +lon_0=5 +k=0.99 +x_0=10 +y_0=20 +datum=WGS84",
    "+proj=lcc +lat_1=30 +lat_2=40 +lat_0=35 +lon_0=5 +x_0=1 +y_0=2 +datum=WGS84",
    "+proj=aea +lat_1=30 +lat_2=40 +lat_0=35 +lon_0=5 +x_0=1 +y_0=2 +ellps=GRS80",
    "+proj=laea +lat_0=12 +lon_0=5 +x_0=10 +y_0=20 +ellps=bessel",
    "+proj=aeqd +lat_0=35 +lon_0=5 +datum=WGS84",
    "+proj=sinu +lon_0=10 +R=6371007.181",
]
INEXPRESSIBLE = [
    "+proj=robin",
    "+proj=laea +lat_0=12 +lon_0=5 +units=us-ft",
    "+proj=laea +lat_0=12 +lon_0=5 +pm=paris +ellps=clrk80",
    "+proj=ob_tran +o_proj=longlat +o_lon_p=0 +o_lat_p=30 +lon_0=0",
]


def unpacked(keys: geokeys.Keys) -> dict[int, Any]:
    found: dict[int, Any] = {}
    for at in range(4, len(keys.directory), 4):
        key, tag, count, value = keys.directory[at : at + 4]
        if tag == 34736:
            found[key] = keys.doubles[value]
        else:
            found[key] = value if tag == 0 else keys.text[value : value + count - 1]
    return found


@pytest.mark.parametrize("text", CUSTOM)
def test_parameters_there_and_back(text: str) -> None:
    keys = geokeys.keys_for(pyproj.CRS(text))
    assert keys is not None and keys.directory[3] == (len(keys.directory) - 4) // 4
    found = geokeys.system(unpacked(keys))
    assert found is not None
    for place in ((6, 34), (3.5, 41)):
        points = [pyproj.Proj(crs)(*place) for crs in (pyproj.CRS(text), found)]
        np.testing.assert_allclose(*points, rtol=1e-10)


@pytest.mark.parametrize("text", INEXPRESSIBLE)
def test_what_has_no_keys(text: str) -> None:
    assert geokeys.keys_for(pyproj.CRS(text)) is None


def test_registered_systems() -> None:
    for code, key, model in ((32633, 3072, 1), (4326, 2048, 2), (4978, 2048, 3)):
        keys = geokeys.keys_for(pyproj.CRS(code))
        assert keys is not None
        found = unpacked(keys)
        assert found[key] == code and found[1024] == model and found[1025] == 1
    compound = geokeys.keys_for(pyproj.CRS("EPSG:25832+5773"), point=True)
    assert compound is not None
    assert unpacked(compound)[3072] == 25832 and unpacked(compound)[4096] == 5773
    assert unpacked(compound)[1025] == 2


def test_keys_that_are_not_enough() -> None:
    assert geokeys.system({1024: 1, 3075: 99}) is None
    assert geokeys.system({3075: 10, 3088: 5.0}) is None  # no ellipsoid
    assert geokeys.system({3075: 10, 2048: 4326, 3076: 9003}) is None  # feet
