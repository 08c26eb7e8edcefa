"""Arrays that several libraries write and read: the cases, their values, their metadata.

This module runs in the environment of every peer, so it knows NumPy and the standard library
only. A case is plain JSON, so that it can be handed to another process.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from typing import Any

import numpy as np

Case = dict[str, Any]

TEXT = "variable-length text"
BYTES = "variable-length bytes"
RECORD = [["a", "<i4"], ["b", "<f8"], ["c", "|S3"]]
NESTED = [["a", "|u1"], ["b", [["x", "<f4"], ["y", "<i2"]]]]
BLOCKS = [["a", "<i4"], ["b", "<f4", [2, 2]]]

LAYOUTS: dict[str, Case] = {
    "0d": {"shape": [], "chunks": []},
    "1d": {"shape": [13], "chunks": [5]},
    "2d": {"shape": [7, 9], "chunks": [3, 4]},
    "3d": {"shape": [4, 5, 6], "chunks": [2, 5, 4]},
    "one-chunk": {"shape": [7, 9], "chunks": [10, 10]},
    "empty": {"shape": [0, 4], "chunks": [1, 2]},
}


def numpy_dtype(case: Case) -> np.dtype[Any]:
    dtype = case["dtype"]
    if dtype in (TEXT, BYTES):
        return np.dtype(object)
    return np.dtype(_descr(dtype) if isinstance(dtype, list) else dtype)


def _descr(fields: list[Any]) -> list[Any]:
    return [
        (name, _descr(kind) if isinstance(kind, list) else kind, *map(tuple, shape))
        for name, kind, *shape in fields
    ]


def values(case: Case) -> np.ndarray[Any, Any]:
    """What is written: the same in every process, different in every element."""
    shape = tuple(case["shape"])
    dtype = numpy_dtype(case)
    count = math.prod(shape)
    if case["dtype"] in (TEXT, BYTES):
        result = np.empty(count, dtype=object)
        for number in range(count):
            text = "äß中😀"[: number % 5] * (number % 3) + str(number)
            result[number] = text if case["dtype"] == TEXT else text.encode()
        return result.reshape(shape)
    if dtype.kind in "mM":
        flat = (np.arange(count, dtype="i8") * 1000 - 7).view(dtype.newbyteorder("="))
    elif dtype.kind == "b":
        flat = np.arange(count) % 3 == 0
    elif dtype.kind == "U":
        flat = np.array([f"é{number}"[: dtype.itemsize // 4] for number in range(count)], object)
    elif dtype.kind == "S":
        flat = np.array([b"%dz" % number for number in range(count)], object)
    elif dtype.kind == "V":
        raw = (np.arange(count * dtype.itemsize) % 40 + 1).astype("u1")
        flat = raw.view(dtype) if count else np.zeros(0, dtype)
    elif dtype.kind == "f":
        flat = np.arange(count) / 4 - 2
        if case.get("filters") is None:  # a lossy filter could not keep these
            flat[2:4] = [np.inf, -0.0][: len(flat[2:4])]
    elif dtype.kind == "c":
        flat = np.arange(count) - 1j * np.arange(count) / 2
    else:
        flat = np.arange(count) % 100 - (20 if dtype.kind == "i" else 0)
    return np.asarray(flat).astype(dtype).reshape(shape)


def fill(case: Case) -> Any:
    """The fill value as a scalar of the case's type; None for none."""
    value = case["fill"]
    dtype = numpy_dtype(case)
    if value is None:
        return None
    if case["dtype"] == BYTES or dtype.kind == "S":
        return value.encode()
    if dtype.kind == "V":
        return np.zeros((), dtype)[()]
    if dtype.kind == "c":
        return dtype.type(complex(float(value), 0))
    if dtype.kind == "f":
        return dtype.type(float(value))
    if dtype.kind in "mM":
        return np.array(value, "i8").view(dtype.newbyteorder("="))[()]
    return value


def region(case: Case) -> tuple[slice, ...]:
    """Where the case writes: all of it, or the first half of every dimension."""
    if case["written"] == "all":
        return tuple(slice(0, length) for length in case["shape"])
    return tuple(slice(0, (length + 1) // 2) for length in case["shape"])


def expected(case: Case) -> np.ndarray[Any, Any]:
    """What must be read back."""
    whole = values(case)
    if case["written"] == "all":
        return whole
    zero: Any = "" if case["dtype"] == TEXT else b"" if case["dtype"] == BYTES else 0
    background = fill(case)
    if background is None:
        background = np.zeros((), whole.dtype)[()] if whole.dtype != object else zero
    result = np.full(whole.shape, background, dtype=whole.dtype)
    if case["written"] == "part":
        result[region(case)] = whole[region(case)]
    return result


# -- metadata, for writers that take it literally -------------------------------------------------
def v2_metadata(case: Case) -> dict[str, Any]:
    dtype = numpy_dtype(case)
    value = case["fill"]
    if dtype.kind == "c" and value is not None:
        value = [value, 0.0]
    return {
        "zarr_format": 2,
        "shape": case["shape"],
        "chunks": case["chunks"],
        "dtype": case["dtype"] if isinstance(case["dtype"], list) else dtype.str,
        "compressor": case["compressor"],
        "filters": case["filters"],
        "order": case["order"] if len(case["shape"]) > 1 else "C",
        "fill_value": value,
        "dimension_separator": case["separator"],
    }


V3_NAMES = {
    "|b1": "bool", "|i1": "int8", "<i2": "int16", "<i4": "int32", "<i8": "int64",
    "|u1": "uint8", "<u2": "uint16", "<u4": "uint32", "<u8": "uint64",
    "<f2": "float16", "<f4": "float32", "<f8": "float64", "<c8": "complex64",
    "<c16": "complex128", TEXT: "string",
}  # fmt: skip


def v3_metadata(case: Case) -> dict[str, Any]:
    value = case["fill"]
    name = V3_NAMES[case["dtype"]]
    if name.startswith("complex"):
        value = [value, 0.0]
    return {
        "zarr_format": 3,
        "node_type": "array",
        "shape": case["shape"],
        "data_type": name,
        "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": case["chunks"]}},
        "chunk_key_encoding": {
            "name": case["key_encoding"],
            "configuration": {"separator": case["separator"]},
        },
        "codecs": case["codecs"],
        "fill_value": value,
        "attributes": {},
    }


# -- the matrix -----------------------------------------------------------------------------------
def _codec(name: str, **configuration: Any) -> dict[str, Any]:
    return {"name": name, "configuration": configuration}


def little() -> dict[str, Any]:
    return _codec("bytes", endian="little")


def zstd(checksum: bool = False) -> dict[str, Any]:
    return _codec("zstd", level=3, checksum=checksum)


def blosc(cname: str, shuffle: str, typesize: int) -> dict[str, Any]:
    return _codec("blosc", cname=cname, clevel=5, shuffle=shuffle, typesize=typesize, blocksize=0)


def sharding(inner: list[int], codecs: list[Any], where: str, crc: bool = True) -> dict[str, Any]:
    index = [little(), {"name": "crc32c"}] if crc else [little()]
    return _codec(
        "sharding_indexed",
        chunk_shape=inner,
        codecs=codecs,
        index_codecs=index,
        index_location=where,
    )


def _v2(name: str, dtype: Any, layout: str = "2d", **changes: Any) -> Case:
    return {
        "name": f"v2-{name}",
        "zarr_format": 2,
        "dtype": dtype,
        **LAYOUTS[layout],
        "compressor": {"id": "zlib", "level": 1},
        "filters": None,
        "order": "C",
        "separator": ".",
        "fill": _default_fill(dtype),
        "written": "part",
        **changes,
    }


def _v3(name: str, dtype: Any, layout: str = "2d", **changes: Any) -> Case:
    serializer = [{"name": "vlen-utf8"} if dtype == TEXT else {"name": "vlen-bytes"}]
    if dtype not in (TEXT, BYTES):
        one_byte = dtype in ("|b1", "|i1", "|u1")
        serializer = [{"name": "bytes"} if one_byte else little()]
    return {
        "name": f"v3-{name}",
        "zarr_format": 3,
        "dtype": dtype,
        **LAYOUTS[layout],
        "codecs": [*serializer, zstd()],
        "key_encoding": "default",
        "separator": "/",
        "fill": _default_fill(dtype),
        "written": "part",
        **changes,
    }


def _default_fill(dtype: Any) -> Any:
    if isinstance(dtype, list) or dtype[1:2] == "V":
        return 0
    if dtype == TEXT or dtype[1] in "U":
        return "n/a"
    if dtype == BYTES or dtype[1] == "S":
        return "q"
    if dtype[1] == "b":
        return True
    return 42


V2_TYPES = [
    "|b1", "|i1", "<i2", "<i4", "<i8", ">i2", ">i4", ">i8", "|u1", "<u2", "<u4", "<u8", ">u2",
    ">u8", "<f2", "<f4", "<f8", ">f2", ">f4", ">f8", "<c8", "<c16", ">c8", ">c16", "|S5", "<U4",
    ">U4", "<M8[ns]", "<M8[D]", ">M8[s]", "<m8[s]", "<m8[25s]", "|V3", TEXT, BYTES, RECORD,
    NESTED, BLOCKS,
]  # fmt: skip
V3_TYPES = [*V3_NAMES, BYTES, "|S5", "<U4", "<M8[ns]", "<M8[D]", "<m8[s]", "<M8[10ms]", RECORD]

V2_COMPRESSORS: dict[str, Any] = {
    "none": None,
    "zlib": {"id": "zlib", "level": 1},
    "gzip": {"id": "gzip", "level": 5},
    "bz2": {"id": "bz2", "level": 1},
    "lzma": {"id": "lzma", "format": 1, "check": -1, "preset": None, "filters": None},
    "lz4": {"id": "lz4", "acceleration": 1},
    "zstd": {"id": "zstd", "level": 3},
    "blosc-lz4": {"id": "blosc", "cname": "lz4", "clevel": 5, "shuffle": 1, "blocksize": 0},
    "blosc-zstd": {"id": "blosc", "cname": "zstd", "clevel": 3, "shuffle": 2, "blocksize": 0},
    "blosc-zlib": {"id": "blosc", "cname": "zlib", "clevel": 1, "shuffle": 0, "blocksize": 0},
    "blosc-blosclz": {
        "id": "blosc",
        "cname": "blosclz",
        "clevel": 9,
        "shuffle": -1,
        "blocksize": 0,
    },
    "blosc-lz4hc": {"id": "blosc", "cname": "lz4hc", "clevel": 9, "shuffle": 1, "blocksize": 256},
}
V2_FILTERS: dict[str, tuple[str, list[Any]]] = {
    "delta": ("<i4", [{"id": "delta", "dtype": "<i4"}]),
    "delta-astype": ("<i4", [{"id": "delta", "dtype": "<i4", "astype": "<i2"}]),
    "scale": (
        "<f8",
        [{"id": "fixedscaleoffset", "scale": 4, "offset": -2, "dtype": "<f8", "astype": "<i2"}],
    ),
    "astype": ("<f8", [{"id": "astype", "encode_dtype": "<f4", "decode_dtype": "<f8"}]),
    "shuffle": ("<i4", [{"id": "shuffle", "elementsize": 4}]),
    "packbits": ("|b1", [{"id": "packbits"}]),
    "crc32": ("<i4", [{"id": "crc32"}]),
    "adler32": ("<i4", [{"id": "adler32"}]),
    "fletcher32": ("<i4", [{"id": "fletcher32"}]),
    "delta-shuffle": (
        "<i4",
        [{"id": "delta", "dtype": "<i4"}, {"id": "shuffle", "elementsize": 4}],
    ),
    "base64": ("<i4", [{"id": "base64"}]),
}
V3_PIPELINES: dict[str, list[Any]] = {
    "none": [little()],
    "big": [_codec("bytes", endian="big")],
    "gzip": [little(), _codec("gzip", level=5)],
    "zstd": [little(), zstd()],
    "zstd-checksum": [little(), zstd(True)],
    "crc32c": [little(), {"name": "crc32c"}],
    "gzip-crc32c": [little(), _codec("gzip", level=1), {"name": "crc32c"}],
    "blosc-lz4": [little(), blosc("lz4", "shuffle", 4)],
    "blosc-zstd": [little(), blosc("zstd", "bitshuffle", 4)],
    "blosc-zlib": [little(), blosc("zlib", "noshuffle", 4)],
    "transpose": [_codec("transpose", order=[1, 0]), little(), zstd()],
    "transpose-big": [_codec("transpose", order=[1, 0]), _codec("bytes", endian="big")],
}
NUMCODECS: dict[str, list[Any]] = {
    "delta": [_codec("numcodecs.delta", dtype="<i4"), little()],
    "zlib": [little(), _codec("numcodecs.zlib", level=1)],
    "lz4": [little(), _codec("numcodecs.lz4", acceleration=1)],
    "bz2": [little(), _codec("numcodecs.bz2", level=1)],
    "shuffle": [little(), _codec("numcodecs.shuffle", elementsize=4), zstd()],
    "crc32": [little(), _codec("numcodecs.crc32")],
    "fletcher32": [little(), _codec("numcodecs.fletcher32")],
}
SHARDINGS: dict[str, list[Any]] = {
    "plain": [sharding([3, 2], [little()], "end")],
    "start": [sharding([3, 2], [little()], "start")],
    "zstd": [sharding([3, 2], [little(), zstd()], "end")],
    "gzip-start": [sharding([3, 2], [little(), _codec("gzip", level=1)], "start")],
    "crc-inside": [sharding([3, 2], [little(), {"name": "crc32c"}], "end")],
    "no-crc": [sharding([3, 2], [little(), zstd()], "end", crc=False)],
    "blosc": [sharding([3, 2], [little(), blosc("lz4", "shuffle", 4)], "end")],
    "transposed-inside": [
        sharding([3, 2], [_codec("transpose", order=[1, 0]), little(), zstd()], "end")
    ],
    "transposed-around": [
        _codec("transpose", order=[1, 0]),
        sharding([2, 2], [little(), zstd()], "end"),
    ],
    "gzip-around": [sharding([3, 2], [little()], "end"), _codec("gzip", level=1)],
    "nested": [sharding([3, 4], [sharding([1, 2], [little(), zstd()], "start")], "end")],
    "nested-crc": [
        sharding([3, 4], [sharding([1, 2], [little(), zstd()], "start"), {"name": "crc32c"}], "end")
    ],
    "big": [sharding([3, 2], [_codec("bytes", endian="big"), zstd()], "end")],
}


def _type_name(dtype: Any) -> str:
    return json.dumps(dtype) if isinstance(dtype, list) else str(dtype)


def v2_cases() -> Iterator[Case]:
    for dtype in V2_TYPES:
        filters = {TEXT: [{"id": "vlen-utf8"}], BYTES: [{"id": "vlen-bytes"}]}.get(str(dtype))
        for name in ("none", "zlib", "blosc-lz4"):
            yield _v2(
                f"type-{_type_name(dtype)}-{name}",
                dtype,
                filters=filters,
                compressor=V2_COMPRESSORS[name],
                # No document says how bytes of variable length are written as a fill value.
                **({"fill": None, "written": "all"} if dtype == BYTES else {}),
            )
    for name, compressor in V2_COMPRESSORS.items():
        for dtype in ("<i2", ">f8"):
            yield _v2(f"compressor-{name}-{dtype}", dtype, compressor=compressor)
    for name, (dtype, chain) in V2_FILTERS.items():
        for order in "CF":
            yield _v2(
                f"filter-{name}-{order}",
                dtype,
                filters=chain,
                order=order,
                written="all",
                fill=0 if dtype != "|b1" else False,
            )
    for layout in LAYOUTS:
        for order in "CF":
            for separator in "./":
                for written in ("all", "part", "none"):
                    yield _v2(
                        f"layout-{layout}-{order}-{separator}-{written}",
                        "<i4",
                        layout,
                        order=order,
                        separator=separator,
                        written=written,
                    )
    yield from (_v2(f"fill-{name}", "<f8", fill=name) for name in ("NaN", "Infinity", "-Infinity"))
    yield _v2("fill-null", "<i4", fill=None, written="all")
    yield _v2("fill-large", "<u8", fill=18446744073709551615)
    yield _v2("fill-negative", "<i8", fill=-9007199254740993)


def v3_cases() -> Iterator[Case]:
    for dtype in V3_TYPES:
        yield _v3(f"type-{_type_name(dtype)}", dtype)
        yield _v3(f"type-{_type_name(dtype)}-3d", dtype, "3d")
    for name, pipeline in {
        **V3_PIPELINES,
        **{f"numcodecs.{k}": v for k, v in NUMCODECS.items()},
    }.items():
        yield _v3(f"codec-{name}", "<i4", codecs=pipeline)
        if "delta" not in name:
            yield _v3(f"codec-{name}-f4", "<f4", codecs=pipeline, written="all")
    for name, pipeline in SHARDINGS.items():
        for written in ("all", "part", "none"):
            yield _v3(
                f"shard-{name}-{written}", "<i4", codecs=pipeline, chunks=[6, 4], written=written
            )
    yield _v3(
        "shard-text",
        TEXT,
        codecs=[sharding([3, 2], [{"name": "vlen-utf8"}, zstd()], "end")],
        chunks=[6, 4],
    )
    for layout in LAYOUTS:
        for encoding in ("default", "v2"):
            for separator in "./":
                for written in ("all", "part", "none"):
                    yield _v3(
                        f"layout-{layout}-{encoding}-{separator}-{written}",
                        "<i4",
                        layout,
                        key_encoding=encoding,
                        separator=separator,
                        written=written,
                    )
    yield from (_v3(f"fill-{name}", "<f8", fill=name) for name in ("NaN", "Infinity", "-Infinity"))
    yield _v3("fill-large", "<u8", fill=18446744073709551615)
    yield _v3("fill-negative", "<i8", fill=-9007199254740993)


def cases() -> list[Case]:
    found = [*v2_cases(), *v3_cases()]
    assert len({case["name"] for case in found}) == len(found), "names are not unique"
    return found
