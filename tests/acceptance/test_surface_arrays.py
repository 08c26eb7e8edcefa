"""Arrays as users of both generations know them."""

from __future__ import annotations

import pickle
from collections.abc import MutableMapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import omnizarr as zarr
from tests.acceptance.counting import CountingMapping

VERSIONS = pytest.mark.parametrize("version", [2, 3])


@VERSIONS
def test_facts(version: int) -> None:
    root = zarr.group({}, zarr_format=version)
    array = root.create_array("a/b", shape=(10, 7), chunks=(4, 3), dtype="f4", fill_value=1.5)
    assert (array.shape, array.ndim, array.size) == ((10, 7), 2, 70)
    assert (array.chunks, array.cdata_shape, array.nchunks) == ((4, 3), (3, 3), 9)
    assert (array.dtype, array.itemsize, array.nbytes) == (np.dtype("f4"), 4, 280)
    assert (array.path, array.name, array.basename) == ("a/b", "/a/b", "b")
    assert array.fill_value == 1.5
    assert array.read_only is False
    assert int(array.nchunks_initialized) == 0
    array[:4, :3] = 2
    assert int(array.nchunks_initialized) == 1
    assert int(array.nbytes_stored) > 0
    assert int(array.nbytes_stored()) > 0
    assert "float32" in str(array.info)
    assert str(array.info_complete())
    assert array.order == "C"
    assert array.shards is None
    assert repr(array).count("(10, 7)") == 1
    assert root["a"].path == "a"
    assert root.name == "/"
    assert isinstance(array.metadata.to_dict(), dict)
    if version == 3:
        named = root.create_array("n", shape=(2, 2), dtype="i4", dimension_names=["y", "x"])
        assert tuple(named.dims) == ("y", "x")
        assert tuple(named.metadata.dimension_names) == ("y", "x")


def test_reading_returns_what_numpy_returns() -> None:
    data = np.arange(12.0).reshape(3, 4)
    array = zarr.array(data, chunks=(2, 2))
    assert isinstance(array[1, 1], np.floating)
    assert type(array[1, 1]) is type(data[1, 1])
    assert isinstance(array[...], np.ndarray)
    assert array[..., 0].shape == (3,)
    assert isinstance(array.get_basic_selection((0, 0)), np.floating)
    scalar = zarr.array(np.array(5))
    assert scalar[()] == 5
    assert isinstance(scalar[...], np.ndarray)
    assert scalar[...].shape == ()
    assert int(scalar) == 5
    assert float(scalar) == 5.0
    assert np.array_equal(np.asarray(array), data)
    assert np.asarray(array, dtype="i4").dtype == np.dtype("i4")
    assert np.sum(array) == data.sum()
    with pytest.raises(ValueError, match="copy"):
        np.array(array, copy=False)
    assert np.array_equal(np.from_dlpack(array[...]), data)
    assert array[1:2].flags.writeable


def test_order() -> None:
    data = np.arange(12).reshape(3, 4)
    for version in (2, 3):
        array = zarr.array(data, chunks=(2, 2), order="F", zarr_format=version)
        assert array[...].flags.f_contiguous
        assert np.array_equal(array[...], data)


@VERSIONS
def test_resize_and_append(version: int, tmp_path: Path) -> None:
    store = str(tmp_path / "a.zarr")
    array = zarr.create_array(
        store=store, shape=(4, 4), chunks=(3, 3), dtype="i4", fill_value=-1, zarr_format=version
    )
    array[...] = np.arange(16).reshape(4, 4)
    array.resize(6, 2)
    assert array.shape == (6, 2)
    assert zarr.open(store, mode="r").shape == (6, 2)
    assert array[...].tolist() == [[0, 1], [4, 5], [8, 9], [12, 13], [-1, -1], [-1, -1]]
    array.resize((6, 4))
    assert array[0].tolist() == [0, 1, -1, -1], "what was cut off does not come back"
    array.append(np.full((2, 4), 7))
    assert array.shape == (8, 4)
    assert array[6:].tolist() == [[7] * 4] * 2
    array.append(np.full((8, 1), 9), axis=1)
    assert array.shape == (8, 5)
    assert (array[:, 4] == 9).all()
    sharded = zarr.create_array(store={}, shape=(4,), chunks=(2,), shards=(4,), dtype="i4")
    sharded[:] = [1, 2, 3, 4]
    sharded.append([5, 6, 7])
    sharded.resize((2,))
    sharded.resize((5,))
    assert sharded[:].tolist() == [1, 2, 0, 0, 0]


@VERSIONS
@pytest.mark.parametrize("kind", ["array", "group"])
def test_attributes(version: int, kind: str) -> None:
    store: dict[str, Any] = {}
    node: Any = (
        zarr.create_array(store=store, shape=(2,), dtype="i4", zarr_format=version)
        if kind == "array"
        else zarr.group(store, zarr_format=version)
    )
    attrs = node.attrs
    assert isinstance(attrs, MutableMapping)
    attrs["a"] = 1
    attrs.update({"b": [1, 2], "c": {"d": None}}, e="ö")
    assert attrs.asdict() == {"a": 1, "b": [1, 2], "c": {"d": None}, "e": "ö"}
    assert zarr.open(store, mode="r").attrs.asdict() == attrs.asdict()
    del attrs["a"]
    assert "a" not in attrs
    attrs.put({"only": True})
    assert dict(zarr.open(store, mode="r").attrs) == {"only": True}
    node.update_attributes({"more": 1})
    assert dict(node.attrs) == {"only": True, "more": 1}
    attrs["n"] = np.int64(5)
    attrs["f"] = np.float32(0.5)
    assert zarr.open(store, mode="r").attrs["n"] == 5
    with pytest.raises(TypeError):
        attrs["bad"] = object()
    assert "bad" not in zarr.open(store, mode="r").attrs
    attrs.clear()
    assert len(zarr.open(store, mode="r").attrs) == 0


def test_large_integers_and_special_floats_in_attributes() -> None:
    for version in (2, 3):
        store: dict[str, Any] = {}
        group = zarr.group(store, zarr_format=version)
        group.attrs["big"] = 2**70
        group.attrs["nan"] = float("nan")
        again = zarr.open(store, mode="r").attrs
        assert again["big"] == 2**70
        assert again["nan"] != again["nan"]


@VERSIONS
def test_fields(version: int) -> None:
    dtype = np.dtype([("a", "<i4"), ("b", "<f8"), ("c", "S3")])
    data = np.array([(1, 2.5, b"x"), (3, 4.5, b"y"), (5, 6.5, b"z")], dtype)
    array = zarr.array(data, chunks=2, store={}, zarr_format=version)
    assert array["a"].tolist() == [1, 3, 5]
    assert array["a", 1:].tolist() == [3, 5]
    assert array[["a", "c"]].dtype.names == ("a", "c")
    assert array.get_basic_selection(slice(0, 2), fields="b").tolist() == [2.5, 4.5]
    assert array.fields["b"][1:].tolist() == [4.5, 6.5]
    array["a"] = [7, 8, 9]
    assert array[...]["a"].tolist() == [7, 8, 9]
    assert array[...]["b"].tolist() == [2.5, 4.5, 6.5]
    array.set_basic_selection(slice(0, 1), 0.5, fields="b")
    assert array[0]["b"] == 0.5
    with pytest.raises(IndexError):
        array["nosuch"]


def test_object_arrays() -> None:
    """What zarr-python 3 lost: objects through their codecs."""
    mixed = np.array([1, "a", None, [1, 2], {"k": 1.5}], dtype=object)
    for codec in (zarr.JSON(), zarr.MsgPack()):
        array = zarr.array(mixed, dtype=object, object_codec=codec, chunks=2, zarr_format=2)
        assert array[...].tolist() == mixed.tolist()
    texts = np.array(["a", "bä", ""], dtype=object)
    assert zarr.array(texts, dtype=str, chunks=2)[...].tolist() == texts.tolist()
    assert zarr.array(texts, dtype=str, chunks=2, zarr_format=2)[...].tolist() == texts.tolist()
    ragged = np.empty(3, dtype=object)
    ragged[:] = [np.array([1]), np.array([1, 2]), np.array([], "i4")]
    array = zarr.empty(3, dtype=object, object_codec=zarr.VLenArray(int), zarr_format=2)
    array[:] = ragged
    assert [item.tolist() for item in array[:]] == [[1], [1, 2], []]
    short = zarr.empty(2, dtype="array:i4", zarr_format=2)
    short[0] = np.array([1, 2, 3])
    assert short[0].tolist() == [1, 2, 3]
    blob = zarr.array(
        np.array([b"a", b"\0b"], object), dtype=object, object_codec=zarr.VLenBytes(), zarr_format=2
    )
    assert blob[...].tolist() == [b"a", b"\0b"]


@VERSIONS
def test_len_and_iteration(version: int) -> None:
    store = CountingMapping()
    array = zarr.create_array(
        store=store, shape=(100, 4), chunks=(10, 4), dtype="i4", zarr_format=version
    )
    data = np.arange(1, 401).reshape(100, 4)
    array[...] = data
    assert len(array) == 100
    store.reset()
    rows = list(array)
    assert [row.tolist() for row in rows] == data.tolist()
    assert store.counts["get"] + store.counts["contains"] <= 25, "each chunk is read once"
    assert [row.tolist() for row in array.islice(3, 5)] == data[3:5].tolist()
    assert next(iter(zarr.array(np.arange(5)))) == 0
    with pytest.raises(TypeError):
        len(zarr.array(np.array(5)))
    with pytest.raises(TypeError):
        iter(zarr.array(np.array(5))).__next__()


@VERSIONS
def test_astype_digest_and_equality(version: int) -> None:
    store: dict[str, Any] = {}
    array = zarr.array(np.arange(10), chunks=3, store=store, zarr_format=version)
    converted = array.astype("f4")
    assert converted[...].dtype == np.dtype("f4")
    assert converted[2:5].tolist() == [2.0, 3.0, 4.0]
    first = array.hexdigest()
    assert array.digest() == bytes.fromhex(first)
    assert len(array.hexdigest("sha256")) == 64
    array[0] = 99
    assert array.hexdigest() != first
    array[0] = 0
    assert array.hexdigest() == first
    assert zarr.open_array(store) == array
    assert array != zarr.array(np.arange(10))


@VERSIONS
def test_synchronizers(version: int, tmp_path: Path) -> None:
    for synchronizer in (
        zarr.ThreadSynchronizer(),
        zarr.ProcessSynchronizer(str(tmp_path / "locks")),
    ):
        array = zarr.open_array(
            str(tmp_path / "a.zarr"), mode="w", shape=(10,), chunks=(4,), dtype="i4",
            synchronizer=synchronizer, zarr_format=version,
        )  # fmt: skip
        array[2:7] = 5
        assert array[:].tolist() == [0, 0, 5, 5, 5, 5, 5, 0, 0, 0]
        assert array.synchronizer is synchronizer
        assert pickle.loads(pickle.dumps(array))[3] == 5
