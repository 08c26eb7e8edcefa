"""Microscope images: OME-TIFF and ImageJ as OME-NGFF."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tifffile

import omnizarr
from omnizarr.api.virtual import markup, ome_tiff
from omnizarr.errors import LimitError, MetadataError, ZarrError

RANDOM = np.random.default_rng(8)
FACTS: dict[str, Any] = {
    "axes": "TCZYX", "Name": "cells", "PhysicalSizeX": 0.25, "PhysicalSizeXUnit": "µm",
    "PhysicalSizeY": 500.0, "PhysicalSizeYUnit": "nm", "PhysicalSizeZ": 2.0,
    "PhysicalSizeZUnit": "mm", "TimeIncrement": 1.5, "TimeIncrementUnit": "min",
    "Channel": {"Name": ["DAPI", "a & <b>"], "Color": [65535, -16776961]},
}  # fmt: skip


def pyramid(path: Path, data: Any, **metadata: Any) -> None:
    options: dict[str, Any] = {"tile": (16, 16), "compression": "zlib", "photometric": "minisblack"}
    with tifffile.TiffWriter(path, ome=True) as tiff:
        tiff.write(data, subifds=1, metadata=FACTS | metadata, **options)
        tiff.write(data[..., ::2, ::2], subfiletype=1, metadata=None, **options)


def test_facts_of_ome_xml(tmp_path: Path) -> None:
    data = RANDOM.integers(0, 900, (2, 2, 3, 40, 50)).astype("u2")
    pyramid(tmp_path / "a.ome.tif", data)
    root = omnizarr.virtualize(tmp_path / "a.ome.tif")
    image = omnizarr.Multiscale(root)
    assert [(axis.name, axis.unit) for axis in image.axes] == [
        ("t", "minute"), ("c", None), ("z", "millimeter"), ("y", "nanometer"), ("x", "micrometer"),
    ]  # fmt: skip
    assert image.name == "cells" and image.convention == "ome-0.4"
    assert image.scales == ((1.5, 1, 2, 500, 0.25), (1.5, 1, 2, 1000, 0.5))
    assert image.translations[1] == (0, 0, 0, 250, 0.125)
    for level, step in zip(image.levels, (1, 2), strict=True):
        np.testing.assert_array_equal(level[...], data[..., ::step, ::step])
        assert level.chunks == (1, 1, 1, 16, 16)
    channels = root.attrs["omero"]["channels"]
    assert [(one["label"], one["color"]) for one in channels] == [
        ("DAPI", "0000FF"), ("a & <b>", "FF0000"),
    ]  # fmt: skip
    assert channels[0]["window"] == {"start": 0, "end": 65535, "min": 0, "max": 65535}


@pytest.mark.parametrize("zarr_format", [2, 3])
def test_converted_it_is_ome_zarr(zarr_format: Any, tmp_path: Path) -> None:
    data = RANDOM.integers(0, 900, (2, 2, 3, 40, 50)).astype("u2")
    pyramid(tmp_path / "a.ome.tif", data)
    root = omnizarr.virtualize(tmp_path / "a.ome.tif")
    report = omnizarr.convert(root, tmp_path / "a.zarr", zarr_format=zarr_format)
    assert "copy chunks" in str(report) and "re-encode" not in str(report)
    found = omnizarr.open_group(tmp_path / "a.zarr", mode="r")
    image = omnizarr.Multiscale(found)
    assert image.convention == ("ome-0.4" if zarr_format == 2 else "ome-0.5")
    np.testing.assert_array_equal(image.levels[0][...], data)
    assert not [f for f in omnizarr.check(tmp_path / "a.zarr").findings if f.level == "error"]


def test_several_images(tmp_path: Path) -> None:
    path = tmp_path / "a.ome.tif"
    first, second = RANDOM.random((2, 30, 40)).astype("f4"), RANDOM.random((20, 20)).astype("f4")
    with tifffile.TiffWriter(path, ome=True) as tiff:
        tiff.write(first, metadata={"axes": "ZYX", "Name": "one"}, photometric="minisblack")
        tiff.write(second, metadata={"axes": "YX", "Name": "two"}, photometric="minisblack")
    root = omnizarr.virtualize(path)
    assert root.attrs["bioformats2raw.layout"] == 3
    assert [omnizarr.Multiscale(root[name]).name for name in "01"] == ["one", "two"]
    np.testing.assert_array_equal(root["0/0"][...], first)
    np.testing.assert_array_equal(root["1/0"][...], second)
    assert sorted(omnizarr.virtualize(path, skip=["1"])) == ["0"]


def test_samples_behind_x_are_no_ome_ngff(tmp_path: Path) -> None:
    path = tmp_path / "a.ome.tif"
    data = RANDOM.integers(0, 255, (40, 50, 3)).astype("u1")
    tifffile.imwrite(path, data, photometric="rgb", metadata={"axes": "YXS"}, ome=True)
    root = omnizarr.virtualize(path)
    assert root["0"].dims == ("y", "x", "c")
    np.testing.assert_array_equal(root["0"][...], data)
    assert omnizarr.Multiscale(root).convention == "multiscales"


def test_imagej_in_the_order_of_ngff(tmp_path: Path) -> None:
    path = tmp_path / "a.tif"
    data = RANDOM.integers(0, 900, (2, 3, 4, 30, 40)).astype("u2")  # t z c
    tifffile.imwrite(
        path, data, imagej=True, resolution=(4, 2),
        metadata={"axes": "TZCYX", "spacing": 3.5, "unit": "um", "finterval": 0.5,
                  "Ranges": (0.0, 10.0, 5.0, 20.0, 0.0, 1.0, 0.0, 2.0)},
    )  # fmt: skip
    root = omnizarr.virtualize(path)
    np.testing.assert_array_equal(root["0"][...], data.transpose(0, 2, 1, 3, 4))
    image = omnizarr.Multiscale(root)
    assert "".join(axis.name for axis in image.axes) == "tczyx"
    assert image.scales == ((0.5, 1, 3.5, 0.5, 0.25),)
    assert image.axes[4].unit == "micrometer"
    window = root.attrs["omero"]["channels"][1]["window"]
    assert (window["start"], window["end"]) == (5, 20)


def test_plain_files_stay_plain(tmp_path: Path) -> None:
    tifffile.imwrite(tmp_path / "a.tif", np.zeros((20, 30), "u1"))
    root = omnizarr.virtualize(tmp_path / "a.tif")
    assert list(root) == ["data"] and not root.attrs.asdict()


def test_one_page_for_a_whole_stack(tmp_path: Path) -> None:
    data = RANDOM.integers(0, 900, (5, 30, 40)).astype("u2")
    tifffile.imwrite(tmp_path / "a.tif", data, truncate=True, photometric="minisblack")
    array = omnizarr.virtualize(tmp_path / "a.tif")["data"]
    assert array.chunks == (1, 30, 40)
    np.testing.assert_array_equal(array[...], data)


def xml(body: str) -> str:
    return f'<OME xmlns="http://www.openmicroscopy.org/Schemas/OME/2016-06">{body}</OME>'


def test_odd_facts_are_left_out() -> None:
    [image] = ome_tiff.from_xml(xml(
        '<Image><Pixels PhysicalSizeX="nan" PhysicalSizeY="-1" PhysicalSizeZ="3"'
        ' PhysicalSizeZUnit="pixel" TimeIncrement="x"><Channel Color="99999999999"/>'
        '<Channel Color="red"/></Pixels></Image>'
    ))  # fmt: skip
    assert image.scale == {"z": 3} and image.units == {}
    assert [channel.color for channel in image.channels] == [None, None]


@pytest.mark.parametrize(
    "text",
    [
        '<!DOCTYPE a [<!ENTITY b "c">]><a>&b;</a>',
        '<!DOCTYPE a [<!ENTITY b SYSTEM "file:///etc/passwd">]><a>&b;</a>',
        "<OME><Image>",
        "no XML",
        "",
    ],
)
def test_hostile_xml(text: str) -> None:
    with pytest.raises(MetadataError):
        ome_tiff.from_xml(text)


def test_long_xml() -> None:
    with pytest.raises(LimitError):
        markup.check("x" * (markup.MOST_BYTES + 1), "a document")


def test_entities_in_a_file(tmp_path: Path) -> None:
    path = tmp_path / "a.tif"
    bomb = '<?xml version="1.0"?><!DOCTYPE OME [<!ENTITY a "aaaa">]>' + xml("&a;")
    tifffile.imwrite(path, np.zeros((4, 4), "u1"), description=bomb, metadata=None)
    with pytest.raises(ZarrError, match="document type"):
        omnizarr.virtualize(path)


def test_no_other_file_is_opened(tmp_path: Path) -> None:
    tifffile.imwrite(tmp_path / "b.ome.tif", np.ones((4, 4), "u1"), ome=True)
    with tifffile.TiffFile(tmp_path / "b.ome.tif") as file:
        other = file.ome_metadata or ""
    uuid = other.partition('UUID="')[2].partition('"')[0]
    body = xml(
        '<Image ID="Image:0"><Pixels ID="Pixels:0" DimensionOrder="XYZCT" Type="uint8" SizeX="4"'
        ' SizeY="4" SizeZ="2" SizeC="1" SizeT="1"><TiffData IFD="0" FirstZ="0" PlaneCount="1"/>'
        f'<TiffData IFD="0" FirstZ="1" PlaneCount="1"><UUID FileName="b.ome.tif">{uuid}</UUID>'
        "</TiffData></Pixels></Image>"
    )
    tifffile.imwrite(
        tmp_path / "a.ome.tif", np.zeros((4, 4), "u1"), description=body, metadata=None
    )
    try:
        root = omnizarr.virtualize(tmp_path / "a.ome.tif")
    except ZarrError:
        return
    assert not any(1 in array[...] for _, array in root.arrays())


def test_damaged_files_are_refused_or_read(tmp_path: Path) -> None:
    path = tmp_path / "a.ome.tif"
    pyramid(path, RANDOM.integers(0, 900, (2, 2, 1, 20, 30)).astype("u2"), axes="TCZYX")
    whole = path.read_bytes()
    end = whole.find(b"</OME>")
    begin = whole.find(b"<OME")
    for attempt in range(120):
        data = bytearray(whole)
        places = RANDOM.integers(begin, end, 3) if attempt % 2 else RANDOM.integers(4, len(data), 6)
        for place in places:
            data[int(place)] = int(RANDOM.integers(256))
        path.write_bytes(data if attempt % 5 else data[: int(RANDOM.integers(8, len(data)))])
        try:
            root = omnizarr.virtualize(path)
            for _, array in root.members(max_depth=None):
                if isinstance(array, omnizarr.Array) and array.nbytes < 1 << 20:
                    array[...]
        except ZarrError:
            pass
