"""`as_format`: equal values in formats 2 and 3, whatever is stored, without converting it."""

from __future__ import annotations

import json
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import omnizarr as zarr
from omnizarr.errors import (
    DecodeError,
    MetadataError,
    NodeNotFoundError,
    ReadOnlyError,
    StoreError,
    UnsupportedError,
)
from omnizarr.stores import LocalStore, WrapperStore

VALUES = np.arange(35 * 7, dtype="f4").reshape(35, 7)


def hierarchy(store: Any, zarr_format: Any, **arguments: Any) -> zarr.Group:
    root = zarr.open_group(store, mode="w", zarr_format=zarr_format)
    root.attrs["title"] = "trial"
    array = root.create_group("sub").create_array(
        "a", shape=VALUES.shape, chunks=(10, 3), dtype="f4", attributes={"units": "K"}, **arguments
    )
    array[:30] = VALUES[:30]  # the last row of chunks is not stored
    return root


FORMATS: list[Any] = [2, 3, "3-draft2019", "n5"]


@pytest.mark.parametrize("zarr_format", FORMATS)
@pytest.mark.parametrize("target", [2, 3])
def test_hierarchies(zarr_format: Any, target: Any) -> None:
    source = hierarchy(zarr.MemoryStore(), zarr_format)
    shown = zarr.as_format(source, target)
    root = zarr.open_consolidated(shown, mode="r")
    for group in (root, zarr.open_group(shown, mode="r", use_consolidated=False)):
        assert group.metadata.zarr_format == target and list(group) == ["sub"]
        assert dict(group.attrs) == {"title": "trial"}
        array = group["sub/a"]
        assert dict(array.attrs) == {"units": "K"}
        np.testing.assert_array_equal(array[:], source["sub/a"][:])
    for key in shown.list():
        assert shown.get(key) is not None
    assert not [finding for finding in zarr.check(shown) if finding.level == "error"]
    assert zarr.verify(shown).ok


@pytest.mark.parametrize("zarr_format", [0, 1])
@pytest.mark.parametrize("target", [2, 3])
def test_single_arrays(zarr_format: Any, target: Any) -> None:
    source = zarr.create(
        (35, 7), chunks=(10, 3), dtype="f4", fill_value=-1, zarr_format=zarr_format
    )
    source[:30] = VALUES[:30]
    array = zarr.open_array(zarr.as_format(source, target), mode="r")
    assert array.metadata.zarr_format == target and array.fill_value == -1
    np.testing.assert_array_equal(array[:], source[:])


def test_bytes_that_are_valid_are_copied() -> None:
    source = hierarchy(zarr.MemoryStore(), 2)
    shown = zarr.as_format(source, 3)
    for row in range(3):
        for column in range(3):
            stored = source.store.get(f"sub/a/{row}.{column}")
            assert shown.get(f"sub/a/c.{row}.{column}") == stored is not None


@pytest.mark.parametrize("target", [2, 3])
def test_shards(target: Any) -> None:
    source = hierarchy(zarr.MemoryStore(), 3, shards=(20, 6))
    shown = zarr.as_format(source, target)
    array = zarr.open_array(shown, path="sub/a", mode="r")
    assert array.chunks == (10, 3) and array.shards == ((20, 6) if target == 3 else None)
    np.testing.assert_array_equal(array[:], source["sub/a"][:])
    np.testing.assert_array_equal(array[7:12, 2:4], source["sub/a"][7:12, 2:4])
    if target == 3:
        assert shown.get("sub/a/c/0/0") == source.store.get("sub/a/c/0/0")


@settings(max_examples=40, deadline=None)
@given(
    dtype=st.sampled_from(["?", "i1", ">u2", "<i8", "f2", ">f8", "c8", "S3", "M8[s]", "O"]),
    zarr_format=st.sampled_from([2, 3]),
    target=st.sampled_from([2, 3]),
    shape=st.sampled_from([(), (1,), (7,), (5, 6)]),
    fill=st.booleans(),
    order=st.sampled_from(["C", "F"]),
    data=st.data(),
)
def test_data_types(
    dtype: str, zarr_format: Any, target: Any, shape: Any, fill: bool, order: Any, data: Any
) -> None:
    if dtype == "O":
        dtype = "str"
    source = zarr.create_array(
        zarr.MemoryStore(), shape=shape, chunks=(3,) * len(shape), dtype=dtype,
        zarr_format=zarr_format, order=order,
        **({} if fill or dtype == "str" else {"fill_value": None}),
    )  # fmt: skip
    if data.draw(st.booleans()):
        some = data.draw(st.integers(0, 100))
        values = np.arange(some, some + max(1, int(np.prod(shape)))).reshape(shape)
        source[...] = values.astype(source.dtype)
    array = zarr.open_array(zarr.as_format(source, target), mode="r")
    assert array.shape == shape and array.metadata.zarr_format == target
    np.testing.assert_array_equal(array[...], source[...])


def test_dimension_names() -> None:
    root = zarr.create_group(zarr.MemoryStore())
    root.create_array("t", data=[1.5, 2.5], dimension_names=["time"])
    root.create_array("scalar", data=np.float64(3))
    second = zarr.open_group(zarr.as_format(root, 2), mode="r")
    assert second["t"].attrs["_ARRAY_DIMENSIONS"] == ["time"]
    assert second["scalar"].attrs["_ARRAY_DIMENSIONS"] == []
    third = zarr.open_group(zarr.as_format(second, 3), mode="r")
    assert third["t"].metadata.dimension_names == ("time",)
    assert dict(third["t"].attrs) == {}
    np.testing.assert_array_equal(third["t"][:], [1.5, 2.5])


def test_ome_metadata_become_those_of_the_other_version() -> None:
    root = zarr.create_group(zarr.MemoryStore(), zarr_format=2)
    root.create_array("0", data=np.arange(12).reshape(3, 4))
    axes = [{"name": "y", "type": "space"}, {"name": "x", "type": "space"}]
    scale = {"type": "scale", "scale": [1.0, 1.0]}
    dataset = {"path": "0", "coordinateTransformations": [scale]}
    root.attrs["multiscales"] = [{"version": "0.4", "axes": axes, "datasets": [dataset]}]
    shown = zarr.open_group(zarr.as_format(root, 3), mode="r")
    assert shown.attrs["ome"]["version"] == "0.5"
    assert shown["0"].metadata.dimension_names == ("y", "x")


def test_a_node_below(tmp_path: Path) -> None:
    hierarchy(tmp_path / "x.zarr", 2)
    with zarr.as_format(tmp_path / "x.zarr", 3, path="sub") as shown:
        np.testing.assert_array_equal(zarr.open(shown, mode="r")["a"][:30], VALUES[:30])
        assert zarr.open_consolidated(shown, mode="r")["a"].shape == VALUES.shape
    with pytest.raises(NodeNotFoundError, match="nothing"):
        zarr.as_format(tmp_path / "x.zarr", 3, path="nothing")
    wrong: Any = 1
    with pytest.raises(UnsupportedError, match="2 or 3"):
        zarr.as_format(tmp_path / "x.zarr", wrong)


def test_nothing_can_be_written() -> None:
    shown = zarr.as_format(hierarchy(zarr.MemoryStore(), 2), 3)
    for change in (lambda: shown.set("a", b""), lambda: shown.delete("zarr.json")):
        with pytest.raises(ReadOnlyError):
            change()
    with pytest.raises(ReadOnlyError):
        shown.with_read_only(False)
    with pytest.raises(ReadOnlyError):
        zarr.open_group(shown, mode="r+")["sub/a"][:] = 1


def test_keys_that_are_none() -> None:
    shown = zarr.as_format(hierarchy(zarr.MemoryStore(), 2), 3)
    for key in ("a", "sub/a/c.9.9", "sub/a/c.0", "sub/a/0.0", "sub/a/c.3.0", "sub/a/zarr.json/x",
                "x/zarr.json", "sub/.zarray", "sub/a/c.00.0", "sub/a/c.-1.0"):  # fmt: skip
        assert shown.get(key) is None and not shown.exists(key) and shown.version(key) is None


def test_a_fault_is_told() -> None:
    class Failing(WrapperStore):
        def get(self, key: str, byte_range: Any = None) -> Any:
            if "/a/" in key and not key.endswith("json"):
                raise StoreError("the disk is gone")
            return super().get(key, byte_range)

        def snapshot(self, key: str) -> Any:
            from contextlib import nullcontext

            return nullcontext(lambda part: self.get(key, part))

    for chosen in (2, "n5"):
        source = hierarchy(zarr.MemoryStore(), chosen)
        shown = zarr.as_format(Failing(source.store), 3)
        with pytest.raises(StoreError, match="the disk is gone"):
            zarr.open(shown, mode="r")["sub/a"][:]
    damaged = hierarchy(zarr.MemoryStore(), "n5")
    key = next(key for key in damaged.store.list() if key.endswith("/0/0"))
    damaged.store.set(key, b"damaged")
    with pytest.raises(DecodeError):
        zarr.as_format(damaged, 3).get("sub/a/c/0/0")


@pytest.mark.parametrize("kind", ["local", "memory"])
@pytest.mark.parametrize("zarr_format", [2, "n5"])
def test_changes_are_seen(
    kind: str, zarr_format: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from omnizarr.jobs.translated import store as module

    monkeypatch.setattr(module, "SECONDS", 0.0)
    store = zarr.MemoryStore() if kind == "memory" else LocalStore(tmp_path)
    source = hierarchy(store, zarr_format)
    shown = zarr.as_format(store, 3)
    for number in range(3):
        source["sub/a"][:10] = number
        found = zarr.open(shown, mode="r")["sub/a"]
        assert (found[:10] == number).all()
        source["sub"].attrs["number"] = number
        assert zarr.open_group(shown, path="sub", mode="r").attrs["number"] == number
    versions = {shown.version("sub/a/zarr.json")}
    source["sub/a"].resize((40, 7))
    assert zarr.open(shown, mode="r")["sub/a"].shape == (40, 7)
    assert shown.version("sub/a/zarr.json") not in versions


def test_encoded_chunks_are_kept_in_bounded_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    from omnizarr.jobs.translated import chunks, store

    made: list[Any] = []
    encoded = chunks.encoded
    monkeypatch.setattr(
        chunks, "encoded", lambda *arguments: made.append(arguments[-1]) or encoded(*arguments)
    )
    monkeypatch.setattr(store, "SECONDS", 3600.0)
    source = hierarchy(zarr.MemoryStore(), "n5")
    shown: Any = zarr.as_format(source, 3)
    first = [shown.get("sub/a/c/0/0") for _ in range(5)]
    assert len(made) == 1 and len(set(map(bytes, first))) == 1
    small: Any = zarr.as_format(source, 3, cache_bytes=2000)
    for _ in range(2):
        np.testing.assert_array_equal(zarr.open(small, mode="r")["sub/a"][:30], VALUES[:30])
        assert small._made._held <= 2000
    assert len(made) > 10


def test_it_is_a_value() -> None:
    source = hierarchy(zarr.MemoryStore(), 2)
    shown = zarr.as_format(source, 3)
    assert shown == zarr.as_format(source, 3) != zarr.as_format(source, 2)
    again = pickle.loads(pickle.dumps(shown))
    np.testing.assert_array_equal(zarr.open(again, mode="r")["sub/a"][:30], VALUES[:30])
    assert "format 3 of MemoryStore" in repr(shown)


@pytest.mark.parametrize("filters", [None, [zarr.Delta("<i4")]])
def test_format_3_has_codecs_that_every_reader_has(filters: Any) -> None:
    source = zarr.create_array(
        zarr.MemoryStore(), data=np.arange(100, dtype="i4"), chunks=30, zarr_format=2,
        compressor=zarr.Zlib(), filters=filters,
    )  # fmt: skip
    shown = zarr.open_array(zarr.as_format(source, 3), mode="r")
    names = [codec["name"] for codec in shown.metadata.to_dict()["codecs"]]
    assert not [name for name in names if name.startswith("numcodecs.")] and "zstd" in names
    np.testing.assert_array_equal(shown[:], source[:])
    same = zarr.as_format(source, 2)
    assert same.get("1") == source.store.get("1")


@pytest.mark.parametrize("shards", [None, 8])
def test_format_2_has_no_checksums(shards: int | None) -> None:
    values = np.arange(20, dtype="u2")
    for checksum in ({"name": "crc32c"}, {"name": "numcodecs.fletcher32", "configuration": {}}):
        codecs = [{"name": "zstd", "configuration": {"level": 1, "checksum": False}}, checksum]
        source = zarr.create_array(
            zarr.MemoryStore(), data=values, chunks=4, shards=shards, compressors=codecs
        )
        shown = zarr.as_format(source, 2)
        document = json.loads(shown.get(".zarray"))
        assert document["compressor"]["id"] == "zstd" and not document["filters"]
        np.testing.assert_array_equal(zarr.open_array(shown, mode="r")[:], values)
    stored = zarr.create_array(
        zarr.MemoryStore(), data=values, chunks=4, zarr_format=2, compressor=zarr.Zlib(),
        filters=[{"id": "shuffle", "elementsize": 2}, {"id": "fletcher32"}],
    )  # fmt: skip
    shown = zarr.as_format(stored, 2)
    document = json.loads(shown.get(".zarray"))
    assert [each["id"] for each in document["filters"]] == ["shuffle"]
    np.testing.assert_array_equal(zarr.open_array(shown, mode="r")[:], values)


@pytest.mark.parametrize("target", [2, 3])
@pytest.mark.parametrize("chunks", [(8, 8), [[8, 24], [32]]])
def test_missing_chunks_are_not_built(
    target: Any, chunks: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = zarr.create_array(
        {}, shape=(32, 32), chunks=chunks, dtype="i2", fill_value=3, zarr_format=3
    )
    shown: Any = zarr.as_format(source, target)
    key = "1/0" if target == 2 else "c/1/0"

    def built(*arguments: Any, **others: Any) -> Any:
        raise AssertionError("a missing chunk was built")

    with monkeypatch.context() as patch:
        patch.setattr(zarr.Array, "read", built)
        assert shown.get(key) is None
    source[8:16] = 4
    assert shown.cost(key).nbytes > 0
    np.testing.assert_array_equal(zarr.open(shown, mode="r")[:], source[:])


def test_what_chunks_cost() -> None:
    store = zarr.MemoryStore()
    root = zarr.open_group(store, mode="w", zarr_format=2)
    side = 1 << 15
    large: Any = {"shape": (side, side), "chunks": (side, side), "dtype": "u2"}
    root.create_array("same", **large)
    root.create_array("other", filters=[{"id": "delta", "dtype": "<u2"}], **large)
    shown: Any = zarr.as_format(store, 3)
    keys = ("same/c.0.0", "same/zarr.json", "same/c.9.9", "other/c.0.0", "none/c.0.0")
    for key in keys:
        assert shown.cost(key) == (0, False), key  # there is none
    store.set("same/0.0", b"x" * 999)
    assert shown.cost("same/c.0.0") == (999, False)  # which is copied
    store.set("other/0.0", b"x" * 999)
    assert shown.cost("other/c.0.0") == (4 * side**2, True)


@pytest.mark.parametrize("zarr_format", [2, 3])
@pytest.mark.parametrize("target", [2, 3])
@pytest.mark.parametrize("document", [b"{", b"{}"])
def test_damaged_nodes_are_not_passed_over(zarr_format: Any, target: Any, document: bytes) -> None:
    source = hierarchy(zarr.MemoryStore(), zarr_format)
    source.create_group("sound").create_array("b", data=[1, 2])
    source["sub"].create_array("scalar", shape=(), dtype="i4", fill_value=7)
    name = "zarr.json" if zarr_format == 3 else ".zarray"
    source.store.set(f"sub/a/{name}", document)
    source.store.set(f".hidden/{name}", document)
    shown = zarr.as_format(source.store, target)

    def is_consolidated(path: str) -> bool:
        if target == 2:
            return shown.exists(f"{path}.zmetadata")
        return b"consolidated_metadata" in bytes(shown.get(f"{path}zarr.json") or b"")

    assert not is_consolidated("") and not is_consolidated("sub/")
    assert is_consolidated("sound/")
    assert "sub/a/" in shown.list_dir("sub/").prefixes
    with pytest.raises(MetadataError):
        zarr.open(shown, path="sub/a", mode="r")
    np.testing.assert_array_equal(zarr.open(shown, path="sound/b", mode="r")[:], [1, 2])
    assert zarr.open(shown, path="sub/scalar", mode="r")[()] == 7
    source["sound/b"].store.delete(f"sub/a/{name}")
    assert [*zarr.open_consolidated(zarr.as_format(source.store, target), mode="r")["sound"]]


@pytest.mark.parametrize(
    ("data_type", "fill"),
    [
        ({"name": "raw_bytes", "configuration": {"length_bytes": 4}}, "AAAAAA=="),
        (
            {
                "name": "structured",
                "configuration": {"fields": [["a", "int32"], ["b", "float32"]]},
            },
            "AAAAAAAAAAA=",
        ),
    ],
)
def test_names_of_types_stay_as_they_are_stored(data_type: Any, fill: str) -> None:
    """zarr-python 3.1 knows no others, and reads no group with an array that it does not know."""
    root = zarr.open_group(zarr.MemoryStore(), mode="w", zarr_format=3)
    root.create_array("a", data=[1, 2, 3])
    document = json.loads(bytes(root.store["a/zarr.json"]))
    document |= {"data_type": data_type, "fill_value": fill}
    root.store["a/zarr.json"] = json.dumps(document).encode()
    shown = json.loads(bytes(zarr.as_format(root, 3).get("zarr.json") or b""))
    array = shown["consolidated_metadata"]["metadata"]["a"]
    assert array["data_type"] == data_type and array["fill_value"] == fill
