"""The documents of arrays in the drafts of v3: types, fill values, codecs, keys, what is refused,
and what zarr-python 2 added to the last of them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import omnizarr as zarr
from omnizarr.errors import (
    MetadataError,
    UnknownCodecError,
    UnknownDataTypeError,
    UnknownExtensionError,
    UnsupportedError,
)
from omnizarr.stores import LocalStore, MemoryStore
from tests.formats.v3_drafts.test_document import (
    A,
    B,
    C,
    array_document,
    document,
    every,
    opened,
    stored,
)


# -- what an array says ---------------------------------------------------------------------------
@every
@pytest.mark.parametrize(
    ("members", "error", "text"),
    [
        ({"chunk_grid": {"type": "rectilinear"}}, UnknownExtensionError, "chunk_grid"),
        (
            {"chunk_grid": {"extension": "u:x", "type": "regular", "chunk_shape": [2]}},
            UnknownExtensionError,
            "u:x",
        ),
        ({"chunk_grid": {"type": "regular", "chunk_shape": [0]}}, MetadataError, "chunk_shape"),
        (
            {"chunk_grid": {"type": "regular", "chunk_shape": [2], "separator": "-"}},
            MetadataError,
            "separator",
        ),
        ({"chunk_memory_layout": {"extension": "u:x", "type": 1}}, UnknownExtensionError, "u:x"),
        ({"chunk_memory_layout": "K"}, MetadataError, "'C' or 'F'"),
        ({"compressor": {"codec": "u:x"}}, UnknownCodecError, "u:x"),
        (
            {"compressor": {"codec": "https://purl.org/zarr/spec/codec/snappy/1.0"}},
            UnknownCodecError,
            "snappy",
        ),
        ({"compressor": "gzip"}, MetadataError, "compressor"),
        (
            {"extensions": [{"extension": "u:x", "must_understand": True}]},
            UnknownExtensionError,
            "u:x",
        ),
        ({"data_type": "<x8"}, UnknownDataTypeError, "<x8"),
        (
            {"data_type": {"extension": "u:x", "type": "<i4", "fallback": "|S3"}},
            MetadataError,
            "fallback",
        ),
        ({"storage_transformers": [{"extension": "u:x"}]}, UnknownExtensionError, "u:x"),
        ({"storage_transformers": {}}, MetadataError, "storage_transformers"),
    ],
)
def test_what_is_refused(
    name: str, members: dict[str, Any], error: type[Exception], text: str
) -> None:
    with pytest.raises(error, match=rf"key 'meta/root/a\.array.*{text}"):
        opened(name, **members)


@every
@pytest.mark.parametrize("start", ["http", "https"])
@pytest.mark.parametrize("end", ["", "/1.0", "/2"])
def test_codecs_by_uri(name: str, start: str, end: str) -> None:
    uri = f"{start}://purl.org/zarr/spec/codec/gzip{end}"
    array = opened(name, compressor={"codec": uri, "configuration": {"level": 7}})
    assert array.compressor.level == 7
    array[...] = 5
    array.attrs["x"] = 1
    assert document(array.store, name, "/a.array")["compressor"]["codec"] == uri


@every
@pytest.mark.parametrize("codec", ["blosc", "bz2", "gzip", "lz4", "lzma", "zlib", "zstd"])
def test_every_compressor(name: str, codec: str) -> None:
    store = MemoryStore()
    values = np.arange(24, dtype="<i4").reshape(4, 6)
    zarr.create_array(
        store, name="a", data=values, chunks=(3, 4), compressors={"id": codec}, zarr_format=name
    )
    stated = document(store, name, "/a.array")["compressor"]
    assert stated["codec"] == f"https://purl.org/zarr/spec/codec/{codec}/1.0"
    np.testing.assert_array_equal(zarr.open(store, path="a", mode="r")[...], values)


@every
def test_no_compressor(name: str) -> None:
    store = MemoryStore()
    zarr.create_array(store, name="a", shape=3, dtype="i4", compressors=None, zarr_format=name)
    given = document(store, name, "/a.array")
    assert ("compressor" in given) == (name != C)
    assert given.get("compressor") is None


@pytest.mark.parametrize("name", [A, B])
@pytest.mark.parametrize(
    ("given", "what"),
    [
        ({"filters": [{"id": "delta", "dtype": "<i4"}]}, "codecs"),
        ({"compressors": [{"id": "zlib"}, {"id": "crc32"}]}, "codecs"),
        ({"compressors": {"id": "crc32"}}, "codecs"),
        ({"codecs": [{"name": "bytes"}, "zlib", "gzip"]}, "codecs"),
        ({"serializer": {"name": "bytes", "configuration": {"endian": "big"}}}, "codecs"),
        ({"shards": (4,)}, "shards"),
        ({"dtype": str}, "data_type"),
        ({"dtype": bytes}, "data_type"),
        ({"dtype": object, "object_codec": {"id": "json2"}}, "data_type"),
        ({"dtype": "bfloat16"}, "data_type"),
        ({"dtype": "M8"}, "data_type"),
        ({"chunks": ((1, 3),)}, "chunks"),
        ({"chunk_key_encoding": "default"}, "chunks"),
        ({"dimension_names": (None,)}, "dimension_names"),
    ],
)  # fmt: skip
def test_what_cannot_be_expressed(name: str, given: dict[str, Any], what: str) -> None:
    store = MemoryStore()
    with pytest.raises(UnsupportedError) as caught:
        zarr.create_array(
            store, name="a", zarr_format=name, **{"shape": 4, "chunks": 2, "dtype": "<i4", **given}
        )
    assert caught.value.what == what
    assert not list(store)


TYPES = [
    "<M8[ns]", ">M8[D]", "<m8[25s]", "<c8", ">c16", "S3", "<U3", ">U2", "V5",
    [("x", "<i4"), ("y", ">f8"), ("z", "S3")], [("x", "<i4", (2, 2))],
]  # fmt: skip


@every
@pytest.mark.parametrize("dtype", TYPES, ids=str)
def test_extension_data_types(name: str, dtype: Any) -> None:
    dtype = np.dtype(dtype)
    values = np.frombuffer(bytes(range(1, 1 + 6 * dtype.itemsize)), np.uint8)
    if dtype.kind == "U":
        values = np.array(["abc", "de", "ü", "", "x", "y"], dtype).view(np.uint8)
    values = values.view(dtype)
    store = MemoryStore()
    array = zarr.create_array(
        store, name="a", shape=9, chunks=3, dtype=dtype, zarr_format=name, fill_value=values[0]
    )
    array[:6] = values
    stated = document(store, name, "/a.array")["data_type"]
    assert set(stated) >= {"extension", "type"}
    if dtype.kind in "mM" and name != C:
        assert stated["fallback"] == f"{dtype.str[0]}i8"
    again = zarr.open_array(store, path="a", mode="r")
    assert again.dtype == dtype
    assert again[...].tobytes() == values.tobytes() + values[:1].tobytes() * 3
    assert again[...].dtype == dtype


@every
@pytest.mark.parametrize(
    ("dtype", "value", "stated"),
    [
        ("<f8", np.nan, "NaN"),
        ("<f8", -np.inf, "-Infinity"),
        ("<f4", 1.5, 1.5),
        ("<u8", 2**64 - 1, 2**64 - 1),
        ("bool", True, True),
        ("<c16", complex(1, np.nan), [1.0, "NaN"]),
        ("<M8[s]", 5, 5),
        ("<i4", None, None),
        ("S3", b"ab\0", "YWIA"),
        ("<U3", "ü", "ü"),
    ],
)
def test_fill_values(name: str, dtype: str, value: Any, stated: Any) -> None:
    store = MemoryStore()
    array = zarr.create_array(
        store, name="a", shape=3, dtype=dtype, fill_value=value, zarr_format=name
    )
    found = document(store, name, "/a.array")["fill_value"]
    assert found == stated or (dtype == "S3" and found in ("YWI=", "YWIA"))
    again = zarr.open_array(store, path="a", mode="r")
    assert repr(again.fill_value) == repr(array.fill_value)
    expected = np.array(0 if value is None else value, dtype)
    np.testing.assert_array_equal(again[...], np.full(3, expected))


@every
def test_dimension_names(name: str) -> None:
    store = MemoryStore()
    zarr.create_array(
        store, name="a", shape=(2, 3), dtype="i4", dimension_names=("x", "y"), zarr_format=name
    )
    assert zarr.open_array(store, path="a", mode="r").dims == ("x", "y")
    stated = document(store, name, "/a.array")["attributes"]
    assert stated == {"_ARRAY_DIMENSIONS": ["x", "y"]}


# -- 0-d arrays -----------------------------------------------------------------------------------
KEYS = {A: "data/g/a", B: "data/root/g/a/c", C: "data/root/g/a/c0"}


@every
def test_a_scalar(name: str, tmp_path: Path) -> None:
    for store in (MemoryStore(), LocalStore(tmp_path / "x.zr3")):
        array = zarr.create_array(store, name="g/a", shape=(), dtype="<i4", zarr_format=name)
        assert array.nchunks_initialized == 0
        array[()] = 7
        assert [key for key in store if key.startswith("data")] == [KEYS[name]]
        assert array.nchunks_initialized == 1
        again = zarr.open_array(store, path="g/a", mode="r")
        assert again[()] == 7
        assert again.nchunks_initialized == 1
        assert again.nbytes_stored > 0
        zarr.create_array(store, name="g/a", shape=(), dtype="<i4", overwrite=True)
        assert zarr.open_array(store, path="g/a", mode="r")[()] == 0
        del zarr.open_group(store, mode="a")["g/a"]
        assert list(store) == ["zarr.json"]


@every
def test_a_scalar_at_the_root(name: str, tmp_path: Path) -> None:
    for store in (MemoryStore(), LocalStore(tmp_path / "x.zr3")):
        zarr.create_array(store, shape=(), dtype="<i4", zarr_format=name)[()] = 7
        assert zarr.open_array(store, mode="r")[()] == 7
        key = {A: "data", B: "data/root/c", C: "data/root/c0"}[name]
        assert key in store


@pytest.mark.parametrize("name", [B, C])
@pytest.mark.parametrize("key", ["c", "c0"])
def test_a_scalar_keeps_the_name_that_its_writer_chose(name: str, key: str) -> None:
    given = array_document(
        shape=[], chunk_grid={"type": "regular", "chunk_shape": [], "separator": "/"}
    )
    store = stored(name, {"/a.array": given})
    store[f"data/root/a/{key}"] = np.int32(5).tobytes()
    group = zarr.open_group(store, mode="r+")
    assert group["a"][()] == dict(group.arrays())["a"][()] == 5
    group["a"][()] = 6
    assert [found for found in store if found.startswith("data")] == [f"data/root/a/{key}"]


# -- what zarr-python 2 added to C ----------------------------------------------------------------
def test_filters_are_hidden() -> None:
    store = MemoryStore()
    values = np.arange(20, dtype="<i4")
    array = zarr.create_array(
        store, name="a", data=values, chunks=(6,), filters=[{"id": "delta", "dtype": "<i4"}],
        attributes={"user": 1}, zarr_format=C,
    )  # fmt: skip
    stated = document(store, C, "/a.array")["attributes"]
    assert stated == {"filters": [{"id": "delta", "dtype": "<i4"}], "user": 1}
    again = zarr.open_array(store, path="a", mode="r+")
    assert array.attrs.asdict() == again.attrs.asdict() == {"user": 1}
    np.testing.assert_array_equal(again[...], values)
    again.attrs.put({"other": 2})
    np.testing.assert_array_equal(zarr.open_array(store, path="a", mode="r")[...], values)
    assert document(store, C, "/a.array")["attributes"]["filters"]
    with pytest.raises(UnsupportedError, match="filters") as caught:
        again.attrs["filters"] = "mine"
    assert caught.value.what == "attributes"


def test_an_attribute_that_only_sounds_like_filters() -> None:
    store = MemoryStore()
    array = zarr.create_array(store, name="a", shape=3, dtype="i4", zarr_format=C)
    array.attrs["filters"] = ["red", "blue"]
    again = zarr.open_array(store, path="a", mode="r")
    assert again.attrs.asdict() == {"filters": ["red", "blue"]}
    with pytest.raises(UnsupportedError, match="filters"):
        array.attrs["filters"] = [{"id": "zlib"}]
    other = zarr.create_array(MemoryStore(), name="a", shape=3, dtype="i4", zarr_format=A)
    other.attrs["filters"] = [{"id": "zlib"}]  # an attribute like any other
    assert other[...].tolist() == [0, 0, 0]
    with pytest.raises(MetadataError, match="needs an id"):
        opened(C, attributes={"filters": [{"id": "zlib"}, 5]})


@pytest.mark.parametrize("dtype", [str, bytes])
def test_objects(dtype: type) -> None:
    store = MemoryStore()
    values = ["a", "", "longer"] if dtype is str else [b"a", b"", b"longer"]
    zarr.create_array(store, name="a", shape=5, chunks=2, dtype=dtype, zarr_format=C)[:3] = values
    given = document(store, C, "/a.array")
    assert given["data_type"]["type"] == "|O"
    assert given["attributes"] == {
        "filters": [{"id": f"vlen-{'utf8' if dtype is str else 'bytes'}"}]
    }
    again = zarr.open_array(store, path="a", mode="r")
    assert again[...].tolist() == [*values, dtype(), dtype()]


def test_pickled_objects_need_permission() -> None:
    store = stored(
        C,
        {
            "/a.array": array_document(
                data_type={"extension": "TODO: object array protocol URL", "type": "|O"},
                attributes={"filters": [{"id": "pickle"}]},
                fill_value=None,
            )
        },
    )
    store["data/root/a/c0"] = b"anything"
    with pytest.raises(zarr.errors.PickleCodecDisabledError):
        zarr.open_array(store, path="a", mode="r")[...]


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("separator", [".", "/"])
def test_shards(order: str, separator: str) -> None:
    store = MemoryStore()
    values = np.arange(20 * 13, dtype="<i4").reshape(20, 13)
    array = zarr.create_array(
        store, name="a", shape=(20, 13), chunks=(3, 2), shards=(6, 6), dtype="<i4", order=order,
        dimension_separator=separator, filters=[{"id": "delta", "dtype": "<i4"}], zarr_format=C,
    )  # fmt: skip
    array[:7, :9] = values[:7, :9]
    given = document(store, C, "/a.array")
    assert given["chunk_grid"]["chunk_shape"] == [3, 2]
    assert given["chunk_memory_layout"] == order
    assert given["storage_transformers"] == [
        {
            "extension": "https://purl.org/zarr/spec/storage_transformers/sharding/1.0",
            "type": "indexed",
            "configuration": {"chunks_per_shard": [2, 3]},
        }
    ]
    assert [key for key in store if key.startswith("data")] == [
        f"data/root/a/c{i}{separator}{j}" for i in (0, 1) for j in (0, 1)
    ]
    again = zarr.open_array(store, path="a", mode="r+")
    assert (again.chunks, again.shards, again.order) == ((3, 2), (6, 6), order)
    expected = np.zeros((20, 13), "<i4")
    expected[:7, :9] = values[:7, :9]
    np.testing.assert_array_equal(again[...], expected)
    again[5, 5] = expected[5, 5] = -1
    np.testing.assert_array_equal(zarr.open_array(store, path="a", mode="r")[...], expected)
    again.resize((3, 3))
    assert document(store, C, "/a.array") == {**given, "shape": [3, 3]}


def test_shards_as_a_codec() -> None:
    inner: dict[str, Any] = {
        "chunk_shape": [2],
        "codecs": [{"name": "bytes"}, {"name": "gzip", "configuration": {"level": 1}}],
        "index_codecs": [{"name": "bytes", "configuration": {"endian": "little"}}],
        "index_location": "end",
    }

    def made(**changes: Any) -> zarr.Array:
        codec = {"name": "sharding_indexed", "configuration": {**inner, **changes}}
        return zarr.create_array(
            MemoryStore(), shape=9, chunks=4, dtype="i4", codecs=[codec], zarr_format=C
        )

    array = made()
    assert (array.chunks, array.shards) == ((2,), (4,))
    for changes in (
        {"index_location": "start"},
        {"index_codecs": [*inner["index_codecs"], {"name": "crc32c"}]},
    ):
        with pytest.raises(UnsupportedError) as caught:
            made(**changes)
        assert caught.value.what == "shards"


@pytest.mark.parametrize(
    "transformers",
    [
        [{"extension": "https://x/storage_transformers/sharding/1.0", "type": "other"}],
        [{"extension": "https://x/storage_transformers/sharding/1.0", "type": "indexed"}],
        [
            {
                "extension": "https://x/storage_transformers/sharding/1.0",
                "type": "indexed",
                "configuration": {"chunks_per_shard": counts},
            }
            for counts in ([2], [2])
        ],
        *(
            [
                {
                    "extension": "https://x/storage_transformers/sharding/1.0",
                    "type": "indexed",
                    "configuration": {"chunks_per_shard": counts},
                }
            ]
            for counts in ([0], [-1], ["2"], [2, 2], None, "x", [2**62], [2**63])
        ),
    ],
)
def test_shards_that_cannot_be(transformers: Any) -> None:
    with pytest.raises((MetadataError, zarr.errors.ZarrError)):
        opened(C, storage_transformers=transformers)[...]


def test_consolidated() -> None:
    store = MemoryStore()
    root = zarr.create_group(store, zarr_format=C, attributes={"k": 1})
    root.create_array("g/a", data=np.arange(3))
    consolidated = zarr.consolidate_metadata(store)
    assert list(consolidated) == ["g"]
    keys = set(json.loads(store["meta/root/consolidated/.zmetadata"])["metadata"])
    assert keys == {
        "zarr.json",
        "meta/root.group.json",
        "meta/root/g/a.array.json",
        "meta/root/consolidated.group.json",
    }
    assert list(zarr.open_group(store, mode="r")) == ["g"]  # not the home of the metadata
    again = zarr.open_consolidated(store, mode="r")
    assert again.attrs.asdict() == {"k": 1}
    assert [path for path, _ in again.members(max_depth=None)] == ["g", "g/a"]
    np.testing.assert_array_equal(again["g/a"][...], np.arange(3))
    below = zarr.open_consolidated(store, path="g", mode="r")
    assert [path for path, _ in below.members(max_depth=None)] == ["a"]
    with pytest.raises(UnsupportedError, match="keeps its consolidated metadata"):
        root.create_group("consolidated/own")
    with pytest.raises(UnsupportedError, match="root"):
        zarr.consolidate_metadata(store, path="g")


@pytest.mark.parametrize("name", [A, B])
def test_no_consolidated_metadata(name: str) -> None:
    store = MemoryStore()
    zarr.create_group(store, zarr_format=name)
    with pytest.raises(UnsupportedError, match="no consolidated"):
        zarr.consolidate_metadata(store)
    with pytest.raises(MetadataError):
        zarr.open_consolidated(store, mode="r")


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"[]",
        b"{}",
        b'{"metadata": 5}',
        b'{"metadata": {"meta/root/a.array.json": 5}}',
        b'{"metadata": {}, "zarr_consolidated_format": 2}',
    ],
)
def test_consolidated_metadata_that_are_broken(data: bytes) -> None:
    store = stored(C, {})
    store["meta/root/consolidated/.zmetadata"] = data
    with pytest.raises(MetadataError, match="zmetadata"):
        zarr.open_consolidated(store, mode="r")
