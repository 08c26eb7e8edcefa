"""N5 through the public interface: creating, changing, moving, and the stores of others."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import omnizarr as zarr
from omnizarr.errors import (
    ContainsArrayError,
    DecodeError,
    GroupNotFoundError,
    UnsupportedError,
)
from omnizarr.model.codec import CodecSpec
from omnizarr.stores import MemoryStore
from tests.acceptance import fixtures
from tests.formats.n5.test_document import FORMAT, request

# -- creating ---------------------------------------------------------------------------------
COMPRESSORS = [
    None,
    {"id": "gzip", "level": 3},
    {"id": "zlib", "level": 3},
    {"id": "bz2", "level": 3},
    {"id": "lzma", "preset": 3},
    {"id": "blosc", "cname": "lz4", "clevel": 5, "shuffle": -1},
    {"id": "zstd", "level": 3},
    {"id": "lz4"},
    {"name": "n5_lz4", "configuration": {"blockSize": 1024}},
    {"name": "n5_lz4", "configuration": {"blockSize": 9}},
    {"name": "blosc"},
    "gzip",
    "zstd",
    "auto",
]


@pytest.mark.parametrize("compressor", COMPRESSORS, ids=str)
@pytest.mark.parametrize("dtype", ["u1", ">i4", "f8"])
def test_every_compressor(compressor: Any, dtype: str) -> None:
    store = MemoryStore()
    array = zarr.create_array(
        store, shape=(13, 9), chunks=(5, 4), dtype=dtype, compressors=compressor, zarr_format="n5"
    )
    values = np.random.default_rng(0).integers(0, 9, (13, 9)).astype(dtype)
    array[...] = values
    again = zarr.open_array(store, mode="r")
    assert again.dtype == np.dtype(dtype).newbyteorder("=")
    assert np.array_equal(again[...], values)
    assert again._model.codecs == array._model.codecs
    assert sorted(key for key in store if key != "attributes.json") == sorted(
        f"{x}/{y}" for x in range(3) for y in range(3)
    )
    header = bytes(store["1/2"])[:12]
    assert header == b"\0\0\0\2\0\0\0\4\0\0\0\5"


def test_the_whole_pipeline_may_be_given() -> None:
    model = FORMAT.new_array(request(compressors=[CodecSpec("zstd", {"level": 2})]))
    assert FORMAT.new_array(request(codecs=model.codecs)).codecs == model.codecs
    plain = [CodecSpec("bytes", {"endian": "little"}), CodecSpec("zstd", {"level": 2})]
    assert FORMAT.new_array(request(codecs=plain)).codecs == model.codecs
    assert (
        FORMAT.new_array(request(codecs=[])).codecs
        == FORMAT.new_array(request(compressors=None)).codecs
    )


def test_the_first_document() -> None:
    """What is written: C-order shapes reversed, the version in the root alone and in groups."""
    store = MemoryStore()
    zarr.create_array(
        store,
        name="g/a",
        shape=(6, 5, 4),
        chunks=(3, 2, 1),
        dtype="i2",
        dimension_names=["z", "y", "x"],
        attributes={"units": "K"},
        zarr_format="n5",
    )
    assert json.loads(store["attributes.json"]) == {"n5": "2.0.0"}
    assert json.loads(store["g/attributes.json"]) == {"n5": "2.0.0"}
    assert json.loads(store["g/a/attributes.json"]) == {
        "dimensions": [4, 5, 6],
        "blockSize": [1, 2, 3],
        "dataType": "int16",
        "compression": {"type": "gzip", "level": 1, "useZlib": False},
        "_ARRAY_DIMENSIONS": ["z", "y", "x"],
        "units": "K",
    }


@pytest.mark.parametrize("shape", [(), (0,), (0, 3), (1,), (2, 3, 4, 5)])
def test_shapes(shape: tuple[int, ...]) -> None:
    store = MemoryStore()
    values = np.arange(np.prod(shape, dtype=int), dtype="f4").reshape(shape)
    zarr.create_array(store, data=values, zarr_format="n5", name="a")
    again = zarr.open_array(store, path="a", mode="r")
    assert again.shape == shape
    assert np.array_equal(again[...], values)


def test_what_is_missing_is_zero() -> None:
    store = MemoryStore()
    array = zarr.create_array(store, shape=(6, 4), chunks=(3, 2), dtype="i4", zarr_format="n5")
    assert array.fill_value == 0
    array[:3, :2] = 5
    array[:3, :2] = 0
    assert list(store) == ["attributes.json"]
    assert not array[...].any()


# -- changing ---------------------------------------------------------------------------------
@pytest.fixture(params=["memory", "local"])
def root(request: pytest.FixtureRequest, tmp_path: Path) -> zarr.Group:
    store = MemoryStore() if request.param == "memory" else tmp_path / "a.n5"
    return zarr.open_group(store, mode="w", zarr_format="n5")


def test_resize_and_append(root: zarr.Group) -> None:
    values = np.arange(35, dtype="i4").reshape(7, 5)
    array = root.create_array("a", data=values, chunks=(3, 2), attributes={"x": 1})
    array.resize((9, 4))
    expected = np.zeros((9, 4), "i4")
    expected[:7] = values[:, :4]
    assert np.array_equal(root["a"][...], expected)
    array.append(np.full((2, 4), 9, "i4"))
    expected = np.concatenate([expected, np.full((2, 4), 9, "i4")])
    assert np.array_equal(root["a"][...], expected)
    document = json.loads(bytes(root.store["a/attributes.json"]))
    assert document["dimensions"] == [4, 11]
    assert document["x"] == 1


def test_attributes(root: zarr.Group) -> None:
    array = root.create_array("g/a", shape=(4,), dtype="u1")
    group = root["g"]
    for node in (root, group, array):
        node.attrs.update({"x": [1, {"y": None}], "ünï": "code"})
        node.attrs["z"] = 1.5
        del node.attrs["x"]
    for path in ("", "g", "g/a"):
        node = zarr.open(root.store, path=path, mode="r")
        assert dict(node.attrs) == {"ünï": "code", "z": 1.5}
    assert json.loads(bytes(root.store["g/a/attributes.json"]))["dimensions"] == [4]
    assert json.loads(bytes(root.store["g/attributes.json"]))["n5"] == "2.0.0"


def test_moving_and_deleting(root: zarr.Group) -> None:
    values = np.arange(10, dtype="i4")
    root.create_array("a/b/c", data=values, chunks=(4,))
    root.move("a/b", "d/e")
    assert list(root) == ["a", "d"]
    assert np.array_equal(root["d/e/c"][...], values)
    with pytest.raises(ContainsArrayError):
        root.create_group("d/e/c/0")
    del root["d"]
    assert list(root) == ["a"]
    assert "d/e/c" not in root
    with pytest.raises(GroupNotFoundError):
        zarr.open_group(root.store, path="d", mode="r")


def test_replacing(root: zarr.Group) -> None:
    root.create_array("a", data=np.ones(8, "i4"), chunks=(2,))
    with pytest.raises(ContainsArrayError):
        root.create_array("a", shape=(8,), dtype="i4")
    again = root.create_array("a", shape=(8,), chunks=(2,), dtype="i4", overwrite=True)
    assert not again[...].any()


def test_no_consolidated_metadata(root: zarr.Group) -> None:
    with pytest.raises(UnsupportedError, match="format n5 has no consolidated metadata"):
        zarr.consolidate_metadata(root.store)


def test_a_dataset_opened_where_it_lies(tmp_path: Path) -> None:
    root = zarr.open_group(tmp_path, mode="w", zarr_format="n5")
    root.create_array("g/a", data=np.arange(6, dtype="i4").reshape(2, 3))
    alone = zarr.open_array(tmp_path / "g" / "a", mode="r+")
    alone.attrs["x"] = 1
    alone.resize((3, 3))
    assert "n5" in json.loads((tmp_path / "g" / "a" / "attributes.json").read_text())
    assert zarr.open_group(tmp_path / "g", mode="r")["a"].shape == (3, 3)
    assert root["g/a"].attrs["x"] == 1


def test_like_another() -> None:
    source = zarr.create_array(
        MemoryStore(), shape=(4, 6), chunks=(2, 3), dtype="i4", compressors="zstd", zarr_format="n5"
    )
    assert [type(codec).__name__ for codec in source.compressors] == ["ZstdCodec"]
    assert source.filters == ()
    for version in (3, "n5"):
        like = zarr.zeros_like(source, store=MemoryStore(), zarr_format=version)
        assert [type(codec).__name__ for codec in like.compressors] == ["ZstdCodec"]


def test_a_broken_block_says_where() -> None:
    store = MemoryStore()
    array = zarr.create_array(
        store, data=np.arange(1, 7, dtype="i4").reshape(2, 3), zarr_format="n5", chunks=(2, 2)
    )
    store.set("1/0", b"\0\2" + bytes(store["1/0"])[2:])
    with pytest.raises(DecodeError, match=r"key '1/0', chunk \(0, 1\).*mode 2"):
        array[...]


# -- stores of others -------------------------------------------------------------------------
@fixtures.needs_third_party
def test_java_lz4_and_version_1() -> None:
    """What no other reader opens has no expectation in the fixtures; their neighbours have one."""
    folder = fixtures.unpacked("zarr_implementations") / "zarr_implementations"
    java = zarr.open_group(folder / "data-2021-03" / "n5-java.n5", mode="r")
    raw = java["raw"][...]
    assert raw.shape == (512, 512, 3)
    assert sorted(java) == ["bzip2", "gzip", "lz4", "raw", "xz"]
    for name in java:
        assert np.array_equal(java[name][...], raw), name
    backward = fixtures.unpacked("n5") / "n5" / "resources" / "backward"
    one, two, three = (
        zarr.open_group(backward / f"data-{version}.n5", mode="r")["raw"][...]
        for version in ("1.5.0", "2.5.1", "3.1.3")
    )
    assert np.array_equal(one, two)
    assert np.array_equal(two, three)
    assert one.any()


def test_every_row_of_the_fixtures() -> None:
    wrong, count = [], 0
    for row in fixtures.rows():
        if row.format != "n5":
            continue
        count += 1
        store = fixtures.unpacked(row.source) / row.store
        try:
            array = zarr.open_array(store, mode="r", path=row.node, zarr_format="n5")
            found = fixtures.difference(row, np.asarray(array[...]))
        except Exception as error:  # the outcome is the test's data
            found = f"{type(error).__name__}: {error}"
        if found:
            wrong.append(f"{row.path}: {found}")
    assert count >= 53
    assert not wrong, "\n".join(wrong)
