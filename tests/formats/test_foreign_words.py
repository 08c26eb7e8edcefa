"""Documents of writers that spell things in their own way, and what they mean."""

from __future__ import annotations

import json
from typing import Any

import numcodecs
import numpy as np
import pytest

import omnizarr
from omnizarr.errors import MetadataError

VALUES = np.arange(12, dtype="<i4").reshape(3, 4)


def stored(compressor: dict[str, Any], **members: Any) -> dict[str, bytes]:
    """An array of format 2 as GDAL writes it."""
    plain = {"checksum": False, "shuffle": 2, "clevel": 5, "level": 13, "blocksize": 0}
    codec = numcodecs.get_codec(
        {name: plain.get(name, value) for name, value in compressor.items()}
    )
    document = {
        "zarr_format": 2, "shape": [3, 4], "chunks": [3, 4], "dtype": "<i4", "fill_value": None,
        "order": "C", "filters": None, "compressor": compressor, **members,
    }  # fmt: skip
    return {".zarray": json.dumps(document).encode(), "0.0": codec.encode(VALUES)}


@pytest.mark.parametrize(
    "compressor",
    [
        {"id": "zstd", "level": 13, "checksum": "NO"},
        {"id": "zstd", "level": "13", "checksum": "NO"},
        {"id": "blosc", "cname": "lz4", "clevel": 5, "shuffle": "BIT", "blocksize": 0},
        {"id": "blosc", "cname": "lz4", "clevel": "5", "shuffle": "BIT", "blocksize": "0"},
    ],
    ids=str,
)
def test_gdal_writes_options_as_text(compressor: dict[str, Any]) -> None:
    store = stored(compressor)
    array = omnizarr.open_array(store, mode="r+")
    assert np.array_equal(array[...], VALUES)
    array[0, 0] = 7
    assert omnizarr.open_array(store, mode="r")[0, 0] == 7
    array.attrs["a"] = 1  # the document stays as it is
    assert json.loads(store[".zarray"])["compressor"] == compressor
    texts = [name for name, value in compressor.items() if value in ("NO", "BIT", "5", "13", "0")]
    found = [one for one in omnizarr.check(store) if "is the text" in str(one)]
    assert [one.level for one in found] == ["dialect"] * len(texts)
    assert not [one for one in omnizarr.check(store) if one.level == "error"]
    target: dict[str, bytes] = {}
    omnizarr.convert(store, target, zarr_format=3)
    configuration = json.loads(target["zarr.json"])["codecs"][-1]["configuration"]
    assert not set(configuration.values()) & {"NO", "BIT", "5", "13", "0"}


@pytest.mark.parametrize("checksum", ["no way", "2", 1, []])
def test_other_text_is_an_error(checksum: Any) -> None:
    store = stored({"id": "zstd", "level": 13})
    document = json.loads(store[".zarray"])
    document["compressor"]["checksum"] = checksum
    store[".zarray"] = json.dumps(document).encode()
    with pytest.raises(MetadataError, match="checksum must be true or false"):
        omnizarr.open_array(store, mode="r")


@pytest.mark.parametrize("fill", [None, "", "x", 0, "\x00"])
@pytest.mark.parametrize("compressor", [None, {"id": "zlib", "level": 1}])
def test_char_of_netcdf_4_9_0(fill: Any, compressor: Any) -> None:
    text = np.array([b"ab", b"cd", b"e"], "S2")
    raw = text.view("S1").tobytes()
    document = {
        "zarr_format": 2, "shape": [4, 2], "chunks": [3, 2], "dtype": "<U1", "fill_value": fill,
        "order": "C", "filters": None, "compressor": compressor,
        "_NCZARR_ARRAY": {"dimrefs": ["/n", "/length"], "storage": "chunked"},
    }  # fmt: skip
    codec = numcodecs.Zlib(1)
    store = {
        ".zarray": json.dumps(document).encode(),
        "0.0": raw if compressor is None else codec.encode(raw),
    }
    array = omnizarr.open_array(store, mode="r")
    assert array.dtype == np.dtype("S1") and array.dims == ("n", "length")
    assert array[:3].tobytes() == raw
    assert array[3, 0] == (b"x" if fill == "x" else b"")
    levels = {one.level for one in omnizarr.check(store)}
    assert levels <= {"dialect", "warning"}
    assert [one for one in omnizarr.check(store) if "stored char so" in str(one)]


def test_characters_of_four_bytes_stay() -> None:
    store: dict[str, bytes] = {}
    omnizarr.create_array(store, data=np.array(["ä", "b"], "<U1"), zarr_format=2)
    assert omnizarr.open_array(store, mode="r")[:].tolist() == ["ä", "b"]


def n5_without_root(store: Any) -> None:
    omnizarr.create_array(store, name="g/a", data=VALUES, zarr_format="n5")
    for key in list(store):
        document = json.loads(store[key]) if key.endswith("attributes.json") else None
        if document is not None and "dimensions" not in document:
            del store[key]
    assert sorted(key for key in store if "attributes" in key) == ["g/a/attributes.json"]


@pytest.mark.parametrize("root", [None, b"{}", b'{"pixelResolution": [4, 4]}'])
def test_an_n5_root_without_version(root: bytes | None) -> None:
    store: dict[str, bytes] = {}
    n5_without_root(store)
    if root is not None:
        store["attributes.json"] = root
    with pytest.raises(omnizarr.errors.NodeNotFoundError):
        omnizarr.open_group(store, mode="r")
    group = omnizarr.open_group(store, mode="r", zarr_format="n5")
    assert sorted(group) == ["g"]
    assert np.array_equal(group["g/a"][...], VALUES)
    assert dict(group.attrs) == ({} if root is None else json.loads(root))
    for opened in (omnizarr.open(store, mode="r", zarr_format="n5"), group["g"]):
        assert isinstance(opened, omnizarr.Group)
    nested = omnizarr.open_group(store, path="g", mode="r", zarr_format="n5")
    assert sorted(nested) == ["a"]
    assert np.array_equal(omnizarr.open_array(store, path="g/a", mode="r")[...], VALUES)


def test_what_is_not_n5_is_not_opened_as_such() -> None:
    for store in ({}, {"zarr.json": b"{}"}, {".zgroup": b"{}", "attributes.json": b"[]"}):
        with pytest.raises(omnizarr.errors.NodeNotFoundError):
            omnizarr.open_group(store, mode="r", zarr_format="n5")
