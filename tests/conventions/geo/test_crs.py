"""Reference systems that strangers wrote: no file is opened, and errors stay short."""

from __future__ import annotations

import json
from typing import Literal

import pytest

from omnizarr.conventions.geo import crs as systems
from omnizarr.conventions.geo.crs import Definition
from omnizarr.errors import MetadataError

PROJ = "+proj=utm +zone=31 +init=/dev/stdin:x"
WGS84 = (
    'GEOGCS["WGS 84",DATUM["WGS_1984",SPHEROID["WGS 84",6378137,298.257223563]{}],'
    'PRIMEM["Greenwich",0],UNIT["degree",0.0174532925199433]{}]'
)
METRE = 'CS[Cartesian,2],AXIS["e",east],AXIS["n",north],UNIT["metre",1]'


@pytest.mark.parametrize(
    ("kind", "value"),
    [
        ("text", PROJ),
        ("text", "+proj=utm +zone=31\tinit = /dev/stdin:x"),
        ("text", "+proj=longlat +ellps=bessel +nadgrids=@null,/dev/stdin"),
        ("text", "+proj=longlat +geoidgrids=\\\\host\\grid"),
        ("text", WGS84.format("", f',EXTENSION["PROJ4","{PROJ}"]')),
        ("text", WGS84.format(',EXTENSION["PROJ4_GRIDS","/dev/stdin"]', "")),
        ("text", f'PROJCRS["x",CONVERSION["x",METHOD["PROJ utm init=/dev/stdin:x"]],{METRE}]'),
        ("text", 'BOUNDCRS[PARAMETERFILE["Geoid (height) model file", "/dev/stdin"]]'),
        ("projjson", json.dumps({"method": {"name": "PROJ utm\tinit\t=/dev/stdin:x"}})),
        ("projjson", json.dumps({"parameters": [{"name": "a", "value": "/dev/stdin"}]})),
        ("cf", json.dumps({"geographic_crs_name": PROJ})),
    ],
)
def test_files_are_not_opened(kind: Literal["text", "projjson", "cf"], value: str) -> None:
    with pytest.raises(MetadataError, match="path of a file"):
        systems.parsed(Definition(kind, value))


@pytest.mark.parametrize(
    "value",
    [
        "EPSG:32631", "http://www.opengis.net/def/crs/EPSG/0/4326", WGS84.format("", ""),
        "+proj=longlat +ellps=bessel +nadgrids=@null", "+proj=utm +zone=31 +units=us-ft",
        "+proj=longlat +ellps=clrk66 +nadgrids=conus",
    ],
)  # fmt: skip
def test_others_are_read(value: str) -> None:
    found = systems.parsed(Definition("text", value))
    again = systems.parsed(Definition("text", found.to_wkt()))
    assert systems.same(again, systems.parsed(Definition("projjson", found.to_json())))


def test_errors_are_short_and_show_no_control_characters() -> None:
    with pytest.raises(MetadataError, match="does not understand") as caught:
        systems.parsed(Definition("text", "PROJCS[\x1b" * 100_000))
    assert len(str(caught.value)) < 500 and str(caught.value).isprintable()


@pytest.mark.parametrize("part", ["init=", "init;", "grids\\t", "grids \t", '"value": "', "=;;"])
def test_long_texts_are_searched_once(part: str) -> None:
    """A search that begins again at each part would not end."""
    assert systems.opens_files(part * 1_000_000 + " init=/dev/stdin")
