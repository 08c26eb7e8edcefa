"""Metadata documents by hand: sound ones, and every way in which one can be wrong.

This module knows JSON only. It must not know the library under test.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

LITTLE = {"name": "bytes", "configuration": {"endian": "little"}}
DELETE = object()


def v2(**changes: Any) -> dict[str, Any]:
    document = {
        "zarr_format": 2,
        "shape": [10, 10],
        "chunks": [5, 5],
        "dtype": "<i4",
        "compressor": None,
        "fill_value": 0,
        "order": "C",
        "filters": None,
    }
    return _changed(document, changes)


def v3(**changes: Any) -> dict[str, Any]:
    document = {
        "zarr_format": 3,
        "node_type": "array",
        "shape": [10, 10],
        "data_type": "int32",
        "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": [5, 5]}},
        "chunk_key_encoding": {"name": "default", "configuration": {"separator": "/"}},
        "codecs": [LITTLE],
        "fill_value": 0,
        "attributes": {},
    }
    return _changed(document, changes)


def _changed(document: dict[str, Any], changes: dict[str, Any]) -> dict[str, Any]:
    document = {**document, **changes}
    return {key: value for key, value in document.items() if value is not DELETE}


def grid(*lengths: Any) -> dict[str, Any]:
    return {"name": "regular", "configuration": {"chunk_shape": list(lengths)}}


def sharded(inner: list[Any], **changes: Any) -> dict[str, Any]:
    configuration = {
        "chunk_shape": inner,
        "codecs": [LITTLE],
        "index_codecs": [LITTLE, {"name": "crc32c"}],
        "index_location": "end",
    }
    return {"name": "sharding_indexed", "configuration": {**configuration, **changes}}


@dataclass(frozen=True)
class Bad:
    """A document that must be refused, and what the refusal must mention."""

    name: str
    key: str
    text: bytes
    words: tuple[str, ...]
    error: str = "MetadataError"


def _v2(name: str, *words: str, error: str = "MetadataError", **changes: Any) -> Bad:
    return Bad(f"v2 {name}", ".zarray", json.dumps(v2(**changes)).encode(), words, error)


def _v3(name: str, *words: str, error: str = "MetadataError", **changes: Any) -> Bad:
    return Bad(f"v3 {name}", "zarr.json", json.dumps(v3(**changes)).encode(), words, error)


def bad_json() -> Iterator[Bad]:
    for key, sound in ((".zarray", json.dumps(v2())), ("zarr.json", json.dumps(v3()))):
        version = "v2" if key == ".zarray" else "v3"
        yield Bad(f"{version} cut off", key, sound[:40].encode(), ("JSON",))
        yield Bad(f"{version} empty", key, b"", ("JSON",))
        yield Bad(f"{version} garbage behind", key, (sound + "]").encode(), ("JSON",))
        yield Bad(f"{version} not UTF-8", key, b'{"a": "\xff\xfe"}', ())
        yield Bad(f"{version} a list", key, b"[1, 2]", ("object",))
        yield Bad(f"{version} a number", key, b"3", ("object",))
        yield Bad(f"{version} null", key, b"null", ("object",))
        yield Bad(f"{version} nested deep", key, b"[" * 200_000, ())
        yield Bad(f"{version} nested deep inside", key, b'{"attributes": ' + b'{"a":' * 200_000, ())
        twice = sound.replace('"shape":', '"shape": [3, 3], "shape":')
        yield Bad(
            f"{version} duplicate key", key, twice.encode(), ("shape", "twice|duplicate|repeat")
        )
        inner = sound.replace("{", '{"x": {"b": 1, "b": 2}, ', 1)
        yield Bad(
            f"{version} duplicate key inside", key, inner.encode(), ("twice|duplicate|repeat",)
        )


def bad_v2() -> Iterator[Bad]:
    for member in ("shape", "chunks", "dtype"):
        yield _v2(f"without {member}", member, **{member: DELETE})
    yield _v2("zarr_format 7", "zarr_format", "7", zarr_format=7)
    yield _v2("zarr_format text", "zarr_format", zarr_format="2")
    yield _v2("zarr_format missing", "zarr_format", zarr_format=DELETE)
    yield _v2("negative shape", "shape", "-1", shape=[-1, 10])
    yield _v2("fractional shape", "shape", "1.5", shape=[1.5, 10])
    yield _v2("boolean shape", "shape", shape=[True, 10])
    yield _v2("text shape", "shape", shape="10")
    yield _v2("null in shape", "shape", shape=[None, 10])
    yield _v2("65 dimensions", "65|64|dimension", shape=[1] * 65, chunks=[1] * 65)
    yield _v2("chunk of 0.0", "chunk", "0.0", chunks=[0.0, 5])
    yield _v2("chunks of 0, too few", "chunk", "0", chunks=[0])
    yield _v2("negative chunk", "chunk", "-5", chunks=[-5, 5])
    yield _v2("fractional chunk", "chunk", chunks=[2.5, 5])
    yield _v2("too few chunks", "chunk", chunks=[5])
    yield _v2("text chunks", "chunk", chunks="auto")
    yield _v2("unknown type", "dtype", "<q8", dtype="<q8")
    yield _v2("impossible size", "dtype", "<f3", dtype="<f3")
    yield _v2("type is a number", "dtype", dtype=4)
    yield _v2("type is null", "dtype", dtype=None)
    yield _v2("time without unit of time", "dtype", dtype="<M8[parsec]")
    yield _v2("broken fields", "dtype", dtype=[["a"]])
    yield _v2("empty fields", "dtype", dtype=[])
    yield _v2("repeated fields", "dtype", dtype=[["a", "<i4"], ["a", "<i4"]])
    yield _v2("huge item", "dtype", dtype="|V9223372036854775807")
    yield _v2("huge text", "dtype", dtype="<U4611686018427387904")
    yield _v2(
        "unknown compressor", "nosuch", error="UnknownCodecError", compressor={"id": "nosuch"}
    )
    yield _v2("compressor without id", "compressor", compressor={"level": 1})
    yield _v2("compressor is text", "compressor", compressor="zlib")
    yield _v2("compressor argument", "zlib", "level", compressor={"id": "zlib", "level": "high"})
    yield _v2("unknown filter", "nosuch", error="UnknownCodecError", filters=[{"id": "nosuch"}])
    yield _v2("filters is an object", "filters", filters={"id": "delta"})
    yield _v2("filter is null", "filters", filters=[None])
    yield _v2("order", "order", "X", order="X")
    yield _v2("separator", "dimension_separator", "-", dimension_separator="-")
    yield _v2("fill is text", "fill.value", "abc", fill_value="abc")
    yield _v2("fill is a list", "fill.value", fill_value=[1, 2, 3])
    yield _v2("fill beyond the type", "fill.value", "300", dtype="|u1", fill_value=300)
    yield _v2("fill of another size", "fill.value", dtype="|V3", fill_value="AAAAAAAAAAAA")


def bad_v3() -> Iterator[Bad]:
    for member in ("shape", "data_type", "chunk_grid"):
        yield _v3(f"without {member}", member, **{member: DELETE})
    yield _v3("zarr_format 7", "zarr_format", "7", zarr_format=7)
    yield _v3("zarr_format text", "zarr_format", zarr_format="3")
    yield _v3("node type", "node_type", "dataset", node_type="dataset")
    yield _v3("node type missing", "node_type", node_type=DELETE)
    yield _v3("negative shape", "shape", "-1", shape=[-1, 10])
    yield _v3("fractional shape", "shape", "1.5", shape=[1.5, 10])
    yield _v3("boolean shape", "shape", shape=[True, 10])
    yield _v3("text shape", "shape", shape="10")
    yield _v3("65 dimensions", "65|64|dimension", shape=[1] * 65, chunk_grid=grid(*[1] * 65))
    yield _v3("chunk of 0.0", "chunk", "0.0", chunk_grid=grid(0.0, 5))
    yield _v3("chunks of 0, too few", "chunk", "0", chunk_grid=grid(0))
    yield _v3("negative chunk", "chunk", "-5", chunk_grid=grid(-5, 5))
    yield _v3("too few chunks", "chunk", chunk_grid=grid(5))
    yield _v3("unknown grid", "hexagonal", chunk_grid={"name": "hexagonal", "configuration": {}})
    yield _v3(
        "grid without shape", "chunk_shape", chunk_grid={"name": "regular", "configuration": {}}
    )
    yield _v3("unknown keys", "spiral", chunk_key_encoding={"name": "spiral"})
    keys = {"name": "default", "configuration": {"separator": "-"}}
    yield _v3("separator", "separator", "-", chunk_key_encoding=keys)
    yield _v3("unknown type", "int33", error="UnknownDataTypeError", data_type="int33")
    yield _v3("type is a number", "data_type", data_type=4)
    yield _v3("raw bits", "r7", data_type="r7")
    raw = {"name": "null_terminated_bytes", "configuration": {"length_bytes": 1 << 62}}
    yield _v3("huge item", "length_bytes|null_terminated_bytes", data_type=raw, fill_value="")
    yield _v3(
        "unknown codec", "nosuch", error="UnknownCodecError", codecs=[LITTLE, {"name": "nosuch"}]
    )
    yield _v3("codec without name", "name", codecs=[LITTLE, {"configuration": {}}])
    yield _v3("codecs is an object", "codecs", codecs={"name": "bytes"})
    yield _v3(
        "codec argument",
        "gzip",
        "level",
        codecs=[LITTLE, {"name": "gzip", "configuration": {"level": 99}}],
    )
    yield _v3("two serializers", "bytes", codecs=[LITTLE, LITTLE])
    transpose = {"name": "transpose", "configuration": {"order": [1, 0]}}
    yield _v3("array codec behind bytes", "transpose", codecs=[LITTLE, transpose])
    wrong = {"name": "transpose", "configuration": {"order": [0, 0]}}
    yield _v3("no permutation", "transpose", "order", codecs=[wrong, LITTLE])
    endian = {"name": "bytes", "configuration": {"endian": "middle"}}
    yield _v3("endian", "endian", "middle", codecs=[endian])
    yield _v3("inner chunk does not divide", "chunk_shape|divid", codecs=[sharded([3, 5])])
    yield _v3("inner chunk of 0", "chunk", "0", codecs=[sharded([0, 5])])
    yield _v3("inner chunk of other rank", "chunk_shape|inner chunk", codecs=[sharded([5])])
    gzip = {"name": "gzip", "configuration": {"level": 1}}
    yield _v3(
        "index of variable size", "index", codecs=[sharded([5, 5], index_codecs=[LITTLE, gzip])]
    )
    yield _v3("index location", "index_location", codecs=[sharded([5, 5], index_location="middle")])
    yield _v3(
        "unknown inner codec",
        "nosuch",
        error="UnknownCodecError",
        codecs=[sharded([5, 5], codecs=[LITTLE, {"name": "nosuch"}])],
    )
    yield _v3("unknown member", "flavour", error="UnknownExtensionError", flavour="sweet")
    asks = {"name": "x", "must_understand": True}
    yield _v3("member that asks", "flavour", error="UnknownExtensionError", flavour=asks)
    yield _v3(
        "storage transformer",
        "rot13",
        error="UnknownExtensionError",
        storage_transformers=[{"name": "rot13", "configuration": {}}],
    )
    yield _v3("dimension names", "dimension_names", dimension_names=["x"])
    yield _v3("dimension name is a number", "dimension_names", dimension_names=[1, 2])
    yield _v3("fill is text", "fill.value", "abc", fill_value="abc")
    yield _v3("fill beyond the type", "fill.value", "300", data_type="uint8", fill_value=300)
    yield _v3("fill of complex", "fill.value", data_type="complex64", fill_value=[1.0])
    yield _v3("attributes is a list", "attributes", attributes=[1])
    deep: Any = {"codecs": [LITTLE]}
    for _ in range(40):
        deep = {"codecs": [sharded([5, 5], **deep)]}
    yield _v3("shards in shards in shards", "16|depth|deep", error="LimitError", **deep)


def every_bad_document() -> list[Bad]:
    return [*bad_json(), *bad_v2(), *bad_v3()]
