"""OME-NGFF in a conversion: 0.4 in format 2 becomes 0.5 in format 3, and back."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import omnizarr as zarr

PATHS = ("", "labels", "labels/cells")


def plane(step: int) -> Any:
    return np.arange(2 * 32 * 48, dtype="u2").reshape(2, 32, 48)[:, ::step, ::step]


def image(zarr_format: int, store: Any = None) -> zarr.Group:
    """An image of two levels with channels and labels, as ome-zarr-py stores it."""
    group = zarr.open_group(store, mode="w", zarr_format=zarr_format)
    cells = group.create_group("labels").create_group("cells")
    named = zarr_format == 3
    for path, step in (("0", 1), ("1", 2)):
        names = ["c", "y", "x"] if named else None
        group.create_array(path, data=plane(step), dimension_names=names, chunks=(1, 16, 16))
        cells.create_array(path, data=plane(step)[0], dimension_names=names and names[1:])
    zarr.Multiscale.describe(group, ["0", "1"], axes="cyx", scale=0.5, unit="micrometer")
    zarr.Multiscale.describe(cells, ["0", "1"], axes="yx", scale=0.5, unit="micrometer")
    channel = {"color": "FF0000", "window": {"min": 0, "max": 9, "start": 0, "end": 9}}
    version = "0.5" if named else "0.4"
    put(group, named, omero={"channels": [channel] * 2, "version": version})
    put(cells, named, **{"image-label": {"source": {"image": "../../"}, "version": version}})
    put(group["labels"], named, labels=["cells"])
    group.attrs["acquired"] = "today"
    return group


def put(group: Any, nested: bool, **members: Any) -> None:
    if nested:
        members = {"ome": {"version": "0.5", **group.attrs.get("ome", {}), **members}}
    group.attrs.update(members)


def attributes(store: Any) -> list[dict[str, Any]]:
    return [zarr.open_group(store, mode="r", path=path).attrs.asdict() for path in PATHS]


def check_image(store: Any) -> None:
    report = zarr.check(store)
    assert report.ok, str(report)
    for path, step in (("", 1), ("labels/cells", 0)):
        found = zarr.open_group(store, mode="r", path=path).multiscale
        assert found.scales[1][-2:] == (1, 1) and found.axes[-1].unit == "micrometer"
        np.testing.assert_array_equal(found.levels[1][:], plane(2) if step else plane(2)[0])


def test_from_0_4_to_0_5_and_back() -> None:
    source, new, old = image(2).store, zarr.MemoryStore(), zarr.MemoryStore()
    report = zarr.convert(source, new, zarr_format=3)
    assert {row.action for row in report.nodes} == {"group", "copy chunks"}
    root, labels, cells = attributes(new)
    assert root.keys() == {"ome", "acquired"} and root["ome"].keys() == {
        "version", "multiscales", "omero",
    }  # fmt: skip
    assert labels == {"ome": {"version": "0.5", "labels": ["cells"]}}
    assert cells["ome"]["image-label"]["version"] == "0.5"
    assert zarr.open_array(new, path="0", mode="r").metadata.dimension_names == ("c", "y", "x")
    check_image(new)
    zarr.convert(new, old, zarr_format=2)
    assert attributes(old) == attributes(source)
    assert zarr.open_array(old, path="0", mode="r").fill_value == 0
    check_image(old)


def test_from_0_5_to_0_4_and_back() -> None:
    source, old, new = image(3).store, zarr.MemoryStore(), zarr.MemoryStore()
    report = zarr.convert(source, old, zarr_format=2)
    assert {row.action for row in report.nodes} == {"group", "copy chunks"}
    assert attributes(old) == attributes(image(2).store)
    check_image(old)
    zarr.convert(old, new, zarr_format=3)
    assert attributes(new) == attributes(source)
    check_image(new)


def test_missing_chunks_stay_missing() -> None:
    """Dimension names make an array one of xarray, but levels of images keep Zarr's meaning."""
    group = image(3)
    del group.store["0/c/0/0/0"]
    target = zarr.MemoryStore()
    zarr.convert(group.store, target, zarr_format=2)
    assert zarr.open_array(target, path="0", mode="r").fill_value == 0
    assert not any(key in target for key in ("0/0.0.0", "0/0/0/0"))
    assert zarr.open_array(target, path="0", mode="r").nchunks_initialized == 11
    other = zarr.MemoryStore()
    zarr.convert(group.store, other, zarr_format=2, fill_values="xarray")
    assert zarr.open_array(other, path="0", mode="r").fill_value is None


def test_in_place(tmp_path: Path) -> None:
    image(2, tmp_path)
    before = attributes(tmp_path)
    zarr.convert(tmp_path, zarr_format=3, remove_source=True)
    assert not (tmp_path / ".zattrs").exists()
    check_image(tmp_path)
    zarr.convert(tmp_path, zarr_format=2, remove_source=True)
    check_image(tmp_path)
    assert attributes(tmp_path) == before


def test_metadata_in_the_wrong_place_are_moved_within_a_format() -> None:
    """As a converter that knows nothing of OME leaves them."""
    group = image(3)
    expected = attributes(group.store)
    old = attributes(image(2).store)
    for path, found in zip(PATHS, old, strict=True):
        zarr.open_group(group.store, path=path).attrs.put(found)
    assert not zarr.check(group.store).ok
    target = zarr.MemoryStore()
    zarr.convert(group.store, target, zarr_format=3)
    assert attributes(target) == expected
    check_image(target)


def test_notes() -> None:
    group = image(2)
    entry = group.attrs["multiscales"][0]
    axes = [axis["name"] for axis in entry["axes"]]
    group.attrs["multiscales"] = [{**entry, "version": "0.3", "axes": axes}]
    report = zarr.convert(group.store, zarr.MemoryStore(), zarr_format=3)
    assert any("OME-NGFF 0.3 is left as it is" in note for note in report.nodes[0].notes)

    group = image(2)
    group["0"].attrs["_ARRAY_DIMENSIONS"] = ["a", "b", "c"]
    report = zarr.convert(group.store, zarr.MemoryStore(), zarr_format=3)
    notes = {row.path: row.notes for row in report.nodes}
    assert any("differ from the image's axes" in note for note in notes["0"])


@pytest.mark.parametrize("value", [3, [], [3], [{"axes": 3}], [{"axes": [], "datasets": [{}]}]])
def test_broken_metadata_do_not_stop_a_conversion(value: Any) -> None:
    group = image(2)
    group.attrs["multiscales"] = value
    target = zarr.MemoryStore()
    zarr.convert(group.store, target, zarr_format=3)
    found = zarr.open_group(target, mode="r").attrs.asdict()
    assert json.dumps(value) in json.dumps(found)


def test_other_formats_get_the_attributes_as_they_are() -> None:
    group = image(2)
    target = zarr.MemoryStore()
    zarr.convert(group.store, target, zarr_format="n5")
    assert "multiscales" in zarr.open_group(target, mode="r").attrs
