"""Make `tests/codecs/data/golden.json`: small chunks as other implementations encode them.

    python scripts/make_golden.py --zarrs scripts/zarrs_reference/target/debug/zarrs_reference

Wants numcodecs, zarr >= 3.2 with cast-value-rs, zfpy, pcodec, msgpack, xxhash and ml_dtypes; zarrs
is asked through a program (`cargo build` in `scripts/zarrs_reference`). Nothing of omnizarr is
used. What no implementation has (`conditional`, `n5_default`, …) is put together here, byte by
byte, as the registry's text tells; `made_by` says who made what.
"""

from __future__ import annotations

import argparse
import json
import struct
import subprocess
import tempfile
import zlib
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np

ROOT = Path(__file__).resolve().parent.parent
TARGET = ROOT / "tests" / "codecs" / "data" / "golden.json"
LITTLE = {"name": "bytes", "configuration": {"endian": "little"}}
BIG = {"name": "bytes", "configuration": {"endian": "big"}}
INDEX = [LITTLE, {"name": "crc32c"}]
INTEGERS = np.array([[1, -2, 300], [-40000, 2**31 - 1, 0]], "<i4")
FLOATS = np.array([[0.0, -0.0, 1.5], [3.14159, -1e30, 1e-40]], "<f4")
SMOOTH = np.linspace(-1, 2, 30, dtype="<f8").reshape(5, 6)
FLAGS = np.array([[True, False, False], [True, True, False], [False, False, True]])
TEXT = ["Zürich", "", "日本", "a"]

Record = dict[str, Any]


def v3(name: str, **configuration: Any) -> dict[str, Any]:
    return {"name": name, "configuration": configuration}


def record(codec: str, made_by: str, codecs: list[Any], **members: Any) -> Record:
    return {"codec": codec, "made_by": made_by, "codecs": codecs, **members}


def typed(array: np.ndarray, name: Any = None) -> Record:
    """The input of a record that is no list of objects."""
    return {
        "data_type": name or array.dtype.name,
        "shape": list(array.shape),
        "values": np.ascontiguousarray(array).tobytes().hex(),
    }


# -- numcodecs --------------------------------------------------------------------------------

PLAIN: list[tuple[dict[str, Any], np.ndarray, bool]] = [
    # configuration, input, whether every encoder gives the same bytes
    ({"id": "adler32"}, INTEGERS, True),
    ({"id": "adler32", "location": "end"}, INTEGERS, True),
    ({"id": "crc32"}, INTEGERS, True),
    ({"id": "crc32", "location": "end"}, FLOATS, True),
    ({"id": "crc32c"}, INTEGERS, True),
    ({"id": "crc32c", "location": "start"}, FLOATS, True),
    ({"id": "fletcher32"}, INTEGERS, True),
    ({"id": "fletcher32"}, np.arange(5, dtype="u1"), True),
    ({"id": "jenkins_lookup3"}, INTEGERS, True),
    ({"id": "jenkins_lookup3", "initval": 7}, FLOATS, True),
    ({"id": "base64"}, INTEGERS, True),
    ({"id": "shuffle", "elementsize": 4}, INTEGERS, True),
    ({"id": "shuffle", "elementsize": 8}, SMOOTH, True),
    ({"id": "shuffle", "elementsize": 3}, np.arange(9, dtype="u1"), True),
    ({"id": "delta", "dtype": "<i4"}, INTEGERS, True),
    ({"id": "delta", "dtype": "<i4", "astype": "<i8"}, INTEGERS, True),
    ({"id": "delta", "dtype": "<f8", "astype": "<f4"}, SMOOTH, True),
    ({"id": "fixedscaleoffset", "offset": -1, "scale": 100, "dtype": "<f8", "astype": "<i2"},
     SMOOTH, True),
    ({"id": "fixedscaleoffset", "offset": 0.5, "scale": 10, "dtype": "<f8", "astype": "<f8"},
     SMOOTH, True),
    ({"id": "quantize", "digits": 2, "dtype": "<f8", "astype": "<f4"}, SMOOTH, True),
    ({"id": "quantize", "digits": -1, "dtype": "<f4", "astype": "<f4"}, FLOATS[:, 2:], True),
    ({"id": "astype", "encode_dtype": "<i2", "decode_dtype": "<i4"}, INTEGERS[:, :1], True),
    ({"id": "astype", "encode_dtype": "<f4", "decode_dtype": "<f8"}, SMOOTH, True),
    ({"id": "bitround", "keepbits": 5}, FLOATS, True),
    ({"id": "bitround", "keepbits": 0}, SMOOTH, True),
    ({"id": "packbits"}, FLAGS, True),
    ({"id": "zlib", "level": 6}, INTEGERS, False),
    ({"id": "gzip", "level": 6}, INTEGERS, False),
    ({"id": "bz2", "level": 1}, INTEGERS, False),
    ({"id": "lzma", "format": 1, "check": -1, "preset": 1, "filters": None}, INTEGERS, False),
    ({"id": "lzma", "format": 3, "check": -1, "preset": None,
      "filters": [{"id": 3, "dist": 4}, {"id": 33, "preset": 1}]}, INTEGERS, False),
    ({"id": "lz4", "acceleration": 1}, INTEGERS, False),
    ({"id": "zstd", "level": 3, "checksum": True}, INTEGERS, False),
    ({"id": "blosc", "cname": "zstd", "clevel": 5, "shuffle": 1, "blocksize": 0}, SMOOTH, False),
    ({"id": "blosc", "cname": "lz4", "clevel": 5, "shuffle": 2, "blocksize": 0}, SMOOTH, False),
    ({"id": "blosc", "cname": "blosclz", "clevel": 9, "shuffle": 0, "blocksize": 0}, SMOOTH, False),
    ({"id": "pcodec", "level": 8}, SMOOTH, False),
    ({"id": "pcodec", "level": 8}, INTEGERS, False),
    ({"id": "zfpy", "mode": 4, "tolerance": 0.01}, SMOOTH, True),
    ({"id": "zfpy", "mode": 2, "rate": 12.0}, FLOATS[:, :1], True),
    ({"id": "zfpy", "mode": 3, "precision": 16}, INTEGERS, True),
]  # fmt: skip
OBJECTS: list[tuple[dict[str, Any], list[Any], bool]] = [
    ({"id": "vlen-utf8"}, TEXT, True),
    ({"id": "json2"}, ["a", 1, None, [1, {"b": 2.5}]], True),
    ({"id": "msgpack2"}, ["a", 1, None, [1, 2.5]], True),
    ({"id": "pickle"}, ["a", 1, None], False),
    ({"id": "categorize", "labels": ["a", "Zürich"], "dtype": "|O", "astype": "|u1"},
     [TEXT[0], TEXT[1], TEXT[3]], True),
]  # fmt: skip


def from_numcodecs() -> list[Record]:
    import numcodecs

    made_by = f"numcodecs {version('numcodecs')}"
    records = []
    for configuration, array, same in PLAIN:
        options = dict(configuration)
        name = "numcodecs." + options.pop("id")
        theirs = numcodecs.get_codec(dict(configuration))
        encoded = _bytes(theirs.encode(array.copy()))
        decoded = theirs.decode(np.frombuffer(encoded, "u1").copy())
        if name == "numcodecs.bitround":  # it does not know its type any more
            decoded = np.frombuffer(encoded, array.dtype)
        extra = {"same": same, "encoded": encoded.hex(), "decoded": _bytes(decoded).hex()}
        records.append(record(name, made_by, [v3(name, **options)], **typed(array), **extra))
    for configuration, values, same in OBJECTS:
        options = dict(configuration)
        name = "numcodecs." + options.pop("id")
        array = np.empty(len(values), object)
        array[:] = values
        encoded = _bytes(numcodecs.get_codec(dict(configuration)).encode(array))
        members = {"objects": values, "same": same, "encoded": encoded.hex()}
        records.append(record(name, made_by, [v3(name, **options)], **members))
    lists = np.empty(2, object)
    lists[0], lists[1] = np.array([1, 2, 3], "<i4"), np.array([], "<i4")
    encoded = _bytes(numcodecs.VLenArray("<i4").encode(lists))
    members = {"objects": [[1, 2, 3], []], "same": True, "encoded": encoded.hex()}
    name = "numcodecs.vlen-array"
    records.append(record(name, made_by, [v3(name, dtype="<i4")], **members))
    encoded = _bytes(numcodecs.VLenBytes().encode(np.array([b"ab", b"", b"\0\xff"], object)))
    members = {"octets": ["6162", "", "00ff"], "same": True, "encoded": encoded.hex()}
    for name in ("numcodecs.vlen-bytes", "vlen-bytes"):
        records.append(record(name, made_by, [{"name": name}], **members))
    return records


def _bytes(value: Any) -> bytes:
    return (
        bytes(np.ascontiguousarray(value).reshape(-1).view("u1"))
        if not isinstance(value, bytes)
        else value
    )


# -- zarr-python ------------------------------------------------------------------------------

NAN_MAP = {"encode": [["NaN", -1]], "decode": [[-1, "NaN"]]}
ZARR: list[tuple[str, list[Any], np.ndarray, bool]] = [
    ("bytes", [LITTLE], INTEGERS, True),
    ("bytes", [BIG], INTEGERS, True),
    ("bytes", [BIG], SMOOTH, True),
    ("transpose", [v3("transpose", order=[1, 0]), LITTLE], INTEGERS, True),
    ("transpose", [v3("transpose", order=[2, 0, 1]), BIG],
     np.arange(24, dtype="<i2").reshape(2, 3, 4), True),
    ("gzip", [LITTLE, v3("gzip", level=5)], INTEGERS, False),
    ("zstd", [LITTLE, v3("zstd", level=3, checksum=True)], INTEGERS, False),
    ("zstd", [LITTLE, v3("zstd", level=0, checksum=False)], SMOOTH, False),
    ("blosc", [LITTLE, v3("blosc", cname="lz4", clevel=5, shuffle="shuffle", typesize=8,
                          blocksize=0)], SMOOTH, False),
    ("blosc", [LITTLE, v3("blosc", cname="zstd", clevel=1, shuffle="bitshuffle", typesize=4,
                          blocksize=0)], INTEGERS, False),
    ("crc32c", [LITTLE, {"name": "crc32c"}], INTEGERS, True),
    ("sharding_indexed",
     [v3("sharding_indexed", chunk_shape=[1, 3], codecs=[LITTLE], index_codecs=INDEX,
         index_location="end")], INTEGERS, True),
    ("sharding_indexed",
     [v3("sharding_indexed", chunk_shape=[2, 3], codecs=[BIG, {"name": "crc32c"}],
         index_codecs=INDEX, index_location="start")], INTEGERS, True),
    ("cast_value", [v3("cast_value", data_type="uint8", out_of_range="clamp"), LITTLE], INTEGERS,
     True),
    ("cast_value", [v3("cast_value", data_type="int16", rounding="towards-negative"), LITTLE],
     SMOOTH, True),
    ("cast_value", [v3("cast_value", data_type="int8", rounding="nearest-away",
                       scalar_map=NAN_MAP), LITTLE],
     np.array([0.5, -2.5, np.nan, 7.0]), True),
    ("cast_value", [v3("cast_value", data_type="uint8", out_of_range="wrap"), LITTLE], INTEGERS,
     True),
    ("cast_value", [v3("cast_value", data_type="float32", rounding="towards-zero"), LITTLE], SMOOTH,
     True),
    ("scale_offset", [v3("scale_offset", offset=-1.0, scale=0.1), LITTLE], SMOOTH, True),
    ("scale_offset", [v3("scale_offset", offset=-5, scale=3), LITTLE],
     np.array([-5, 0, 1000], "<i2"), True),
    ("scale_offset", [v3("scale_offset", offset=-1.0, scale=50.0),
                      v3("cast_value", data_type="uint8"), LITTLE], SMOOTH, True),
]  # fmt: skip


def from_zarr_python() -> list[Record]:
    import zarr

    cast = version("cast-value-rs")
    records = []
    for name, codecs, array, same in ZARR:
        casts = any(codec["name"] == "cast_value" for codec in codecs)
        made_by = f"zarr {version('zarr')}" + (f" with cast-value-rs {cast}" if casts else "")
        with tempfile.TemporaryDirectory() as folder:
            document = {
                "zarr_format": 3,
                "node_type": "array",
                "shape": array.shape,
                "data_type": array.dtype.name,
                "chunk_grid": v3("regular", chunk_shape=list(array.shape)),
                "chunk_key_encoding": v3("default", separator="."),
                "fill_value": 1,
                "codecs": codecs,
                "attributes": {},
            }
            Path(folder, "zarr.json").write_text(json.dumps(document))
            opened = zarr.open_array(folder, mode="r+", config={"write_empty_chunks": True})
            opened[...] = array
            encoded = Path(folder, ".".join(["c", *["0"] * array.ndim])).read_bytes()
            decoded = np.ascontiguousarray(opened[...]).tobytes()
        members = {"same": same, "encoded": encoded.hex(), "decoded": decoded.hex()}
        records.append(record(name, made_by, codecs, **typed(array), **members))
        if name == "bytes":
            old = [{"name": "endian", "configuration": codecs[0]["configuration"]}]
            text = "zarr-specs before August 2023: `bytes` under its old name; bytes by " + made_by
            records.append(record("endian", text, old, **typed(array), **members))
    for item in from_numcodecs():
        if item["codec"] == "numcodecs.vlen-utf8":
            records.append({**item, "codec": "vlen-utf8", "codecs": [{"name": "vlen-utf8"}]})
    return records


# -- zarrs ------------------------------------------------------------------------------------


def _zfp(**configuration: Any) -> list[Any]:
    return [v3("zfp", **configuration)]


def zarrs_cases() -> list[tuple[str, list[Any], np.ndarray, Any]]:
    import ml_dtypes

    cube = np.cumsum(np.arange(60) % 7 - 3).reshape(3, 4, 5)
    nibbles = np.array([-8, 7, -1, 0, 3]).astype(ml_dtypes.int4)
    pairs = np.array([3, -2, 1, 0, 2]).astype(ml_dtypes.uint4)
    sixes = np.array([0.125, -7.5, 1.0, 3.25]).astype(ml_dtypes.float6_e2m3fn)
    brain = np.array([1.0078125, -3.0, 1e20]).astype(ml_dtypes.bfloat16)
    packed: list[tuple[str, list[Any], np.ndarray, Any]] = [
        ("packbits", [v3("packbits", **options)], array, name)
        for options, array, name in (
            ({}, FLAGS, None),
            ({"padding_encoding": "first_byte"}, FLAGS, None),
            ({"padding_encoding": "last_byte"}, FLAGS, None),
            ({}, nibbles, "int4"),
            ({"padding_encoding": "last_byte"}, pairs, "uint4"),
            ({}, sixes, "float6_e2m3fn"),
            ({}, INTEGERS, None),
            ({"first_bit": 0, "last_bit": 4}, np.array([-16, 15, -1, 0, 7], "i1"), None),
            ({"first_bit": 4, "last_bit": 9}, np.array([1023, 0, 512, 144], "<u2"), None),
            ({"first_bit": 20}, np.array([1 + 2j, -0.5j], "<c8"), None),
        )
    ]
    rounded: list[tuple[str, list[Any], np.ndarray, Any]] = [
        ("bitround", [v3("bitround", keepbits=5), LITTLE], FLOATS, None),
        ("bitround", [v3("bitround", keepbits=3), LITTLE], SMOOTH, None),
        ("bitround", [v3("bitround", keepbits=2), LITTLE], brain, "bfloat16"),
        ("bitround", [v3("bitround", keepbits=3), LITTLE], np.array([0, 7, 9, 100], "<u2"), None),
        ("bitround", [v3("bitround", keepbits=4), LITTLE], np.array([1.3 - 2.7j], "<c8"), None),
    ]
    shaped: list[tuple[str, list[Any], np.ndarray, Any]] = [
        ("reshape", [v3("reshape", shape=shape), v3("transpose", order=order), LITTLE],
         cube.astype("<i2"), None)
        for shape, order in (([[0, 1], [2]], [1, 0]), ([-1], [0]), ([3, 2, -1], [2, 0, 1]))
    ]  # fmt: skip
    compressed: list[tuple[str, list[Any], np.ndarray, Any]] = [
        ("zfp", _zfp(mode="reversible"), SMOOTH, None),
        ("zfp", _zfp(mode="reversible"), cube.astype("<i8"), None),
        ("zfp", _zfp(mode="reversible"), np.array([-128, 127, 5, 0], "i1"), None),
        ("zfp", _zfp(mode="fixed_precision", precision=12), np.arange(6, dtype="<u2") * 9999, None),
        ("zfp", _zfp(mode="reversible"), np.array([0, 1, 2**31 - 1], "<u4"), None),
        ("zfp", _zfp(mode="fixed_accuracy", tolerance=0.05), SMOOTH, None),
        ("zfp", _zfp(mode="fixed_accuracy", tolerance=0.05), cube.astype("<f4"), None),
        ("zfp", _zfp(mode="fixed_precision", precision=19), SMOOTH, None),
        ("zfp", _zfp(mode="fixed_rate", rate=10.5), cube.astype("<f4"), None),
        ("zfp", _zfp(mode="expert", minbits=1, maxbits=300, maxprec=19, minexp=-2), SMOOTH, None),
    ]
    return packed + rounded + shaped + compressed


def from_zarrs(program: str) -> list[Record]:
    records = []
    with subprocess.Popen(
        [program], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdin and process.stdout

        def ask(**request: Any) -> str:
            assert process.stdin and process.stdout
            print(json.dumps(request), file=process.stdin, flush=True)
            reply = json.loads(process.stdout.readline())
            if "error" in reply:
                raise SystemExit(f"zarrs: {reply['error']} for {request}")
            return str(reply["ok"])

        for name, codecs, array, type_name in zarrs_cases():
            given = typed(array, type_name)
            fill: Any = False if array.dtype == bool else 0
            fill = [0.0, 0.0] if array.dtype.kind == "c" else fill
            common = {"shape": given["shape"], "data_type": given["data_type"],
                      "fill_value": fill, "codecs": codecs}  # fmt: skip
            encoded = ask(do="encode", data=given["values"], **common)
            members = {"same": True, "encoded": encoded}
            if type_name != "int4":  # zarrs fills the upper bits of the byte, ml_dtypes does not
                members["decoded"] = ask(do="decode", data=encoded, **common)
            records.append(record(name, "zarrs 0.23.14", codecs, **given, **members))
        process.stdin.close()
    return records


# -- by hand, after the texts -------------------------------------------------------------------


def by_hand() -> list[Record]:
    import numcodecs
    import xxhash  # type: ignore[import-not-found, unused-ignore]

    raw = INTEGERS.tobytes()
    both = [v3("zstd", level=1), {"name": "crc32c"}]
    text = "zarr-extensions, codecs/conditional, by hand"
    framed = numcodecs.get_codec({"id": "crc32c"})
    conditional = [
        (v3("conditional", codecs=both), b"\x00" + raw, False),
        (v3("conditional", codecs=both), b"\x02" + _bytes(framed.encode(INTEGERS)), False),
        (v3("conditional", codecs=[{"name": "crc32c"}], header_bits=16),
         b"\x01\x00" + _bytes(framed.encode(INTEGERS)), True),
        (v3("conditional", codecs=[v3("gzip", level=1)]),
         b"\x01" + zlib.compress(raw, 1, 31), False),
    ]  # fmt: skip
    records = [
        record("conditional", text, [LITTLE, codec], **typed(INTEGERS), same=same,
               encoded=data.hex())
        for codec, data, same in conditional
    ]  # fmt: skip
    turned = v3("transpose", order=[1, 0])
    header = struct.pack(">HHII", 0, 2, 2, 3)
    big = INTEGERS.T.astype(">i4").tobytes()
    text = "zarr-extensions, codecs/n5_default, and N5 4.0.0, by hand"
    for compressor, payload, same in (
        ([], big, True),
        ([v3("gzip", level=1)], zlib.compress(big, 1, 31), False),
    ):
        codec = v3("n5_default", codecs=[turned, BIG, *compressor])
        data = (header + payload).hex()
        records.append(
            record("n5_default", text, [codec], **typed(INTEGERS), same=same, encoded=data)
        )
    text = f"lz4-java's block stream, by hand with xxhash {version('xxhash')}"
    checksum = xxhash.xxh32_intdigest(raw, 0x9747B28C) & 0x0FFFFFFF
    block = _bytes(numcodecs.LZ4().encode(INTEGERS))[4:]
    empty = struct.pack("<8sBIII", b"LZ4Block", 0x16, 0, 0, 0)
    for method, payload in ((0x10, raw), (0x20, block)):
        front = struct.pack("<8sBIII", b"LZ4Block", method | 6, len(payload), len(raw), checksum)
        records.append(
            record("n5_lz4", text, [LITTLE, v3("n5_lz4", blockSize=65536)], **typed(INTEGERS),
                   same=False, encoded=(front + payload + empty).hex())
        )  # fmt: skip
    records.append(
        record("n5_lz4", f"a bare block, as z5 writes it, by numcodecs {version('numcodecs')}",
               [LITTLE, v3("n5_lz4", blockSize=6)], **typed(INTEGERS), same=False,
               encoded=block.hex())
    )  # fmt: skip
    text = "numcodecs before 0.6: items, then the dtype; by hand"
    items: list[Any] = ["a", 1, None]
    records.append(
        record("numcodecs.json", text, [{"name": "numcodecs.json"}], objects=items, same=False,
               encoded=json.dumps([*items, "|O"], separators=(",", ":")).encode().hex())
    )  # fmt: skip
    import msgpack

    text = f"numcodecs before 0.6: items, then the dtype; by hand with msgpack {version('msgpack')}"
    records.append(
        record("numcodecs.msgpack", text, [{"name": "numcodecs.msgpack"}], objects=items,
               same=False, encoded=msgpack.packb([*items, "|O"], use_bin_type=True).hex())
    )  # fmt: skip
    return records


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--zarrs", required=True, help="the program of scripts/zarrs_reference")
    options = parser.parse_args()
    records = from_numcodecs() + from_zarr_python() + from_zarrs(options.zarrs) + by_hand()
    for item in records:
        if item.get("decoded") == item.get("values"):
            item.pop("decoded", None)  # only what was lost is worth saying
    lines = (json.dumps(item, ensure_ascii=False) for item in records)
    TARGET.parent.mkdir(exist_ok=True)
    TARGET.write_text("[\n" + ",\n".join(lines) + "\n]\n", encoding="utf-8")


if __name__ == "__main__":
    main()
