"""What the codec tests share: chains from short descriptions, layouts of one array, pipelines."""

from __future__ import annotations

from typing import Any

import numpy as np

from omnizarr.codecs import ArrayStage, Chain, Context, codec_spec
from omnizarr.codecs.chains import build

LITTLE = {"name": "bytes", "configuration": {"endian": "little"}}
BIG = {"name": "bytes", "configuration": {"endian": "big"}}
INDEX = [LITTLE, {"name": "crc32c"}]


def make(
    codecs: list[Any], shape: tuple[int, ...], dtype: Any, fill: Any = 0, **context: Any
) -> Chain:
    """A chain for a dtype, without a data type around it."""
    stage = ArrayStage(shape, np.dtype(dtype), fill)
    return build([codec_spec(codec) for codec in codecs], stage, Context(**context))


def v3(name: str, **configuration: Any) -> dict[str, Any]:
    return {"name": name, "configuration": configuration}


def sharding(chunk_shape: list[int], codecs: list[Any] | None = None, **more: Any) -> Any:
    options: dict[str, Any] = {"index_codecs": INDEX, **more}
    return v3("sharding_indexed", chunk_shape=chunk_shape, codecs=codecs or [LITTLE], **options)


def layouts(array: np.ndarray) -> dict[str, np.ndarray]:
    """The same values under every kind of strides."""
    wide = np.empty(tuple(2 * n for n in array.shape), array.dtype)
    strided = wide[(..., *(slice(None, None, 2) for _ in array.shape))]
    strided[...] = array
    reverse = (..., *(slice(None, None, -1) for _ in array.shape))
    return {
        "C": np.array(array, order="C"),
        "F": np.array(array, order="F"),
        "strided": strided,
        "negative": np.array(array[reverse])[reverse],
        "read-only": np.frombuffer(array.tobytes(), array.dtype).reshape(array.shape)
        if not array.dtype.hasobject and array.dtype.kind != "T"
        else array,
    }


LOSSLESS: dict[str, list[Any]] = {
    "bytes": [LITTLE],
    "big": [BIG],
    "nothing": [],
    "transpose": [v3("transpose", order=[1, 0]), LITTLE],
    "transpose big zstd": [v3("transpose", order=[1, 0]), BIG, "zstd"],
    "gzip": [LITTLE, v3("gzip", level=1)],
    "zstd": [LITTLE, v3("zstd", level=3, checksum=True)],
    "blosc": [LITTLE, v3("blosc", cname="zstd", clevel=3, shuffle="shuffle", typesize=4)],
    "blosc bitshuffle crc32c": [
        LITTLE,
        v3("blosc", cname="lz4", clevel=5, shuffle="bitshuffle", typesize=4, blocksize=0),
        "crc32c",
    ],
    "big blosc": [BIG, v3("blosc", cname="blosclz", clevel=9, shuffle="noshuffle")],
    "v2 blosc auto": [{"id": "blosc", "shuffle": -1}],
    "v2 zlib": [{"id": "zlib", "level": 1}],
    "v2 gzip": [{"id": "gzip", "level": 1}],
    "v2 bz2": [{"id": "bz2", "level": 1}],
    "v2 lzma": [{"id": "lzma", "preset": 1}],
    "v2 lzma alone": [{"id": "lzma", "format": 2, "preset": 1}],
    "v2 lzma raw": [{"id": "lzma", "format": 3, "filters": [{"id": 33, "preset": 1}]}],
    "v2 lz4": [{"id": "lz4", "acceleration": 1}],
    "v2 zstd": [{"id": "zstd", "level": 1}],
    "v2 shuffle": [{"id": "shuffle", "elementsize": 0}, {"id": "zlib"}],
    "v2 shuffle 3": [{"id": "shuffle", "elementsize": 3}],
    "v2 base64": [{"id": "base64"}],
    "v2 crc32": [{"id": "crc32"}],
    "v2 crc32 end": [{"id": "crc32", "location": "end"}],
    "v2 crc32c start": [{"id": "crc32c", "location": "start"}],
    "v2 adler32": [{"id": "adler32"}],
    "v2 fletcher32": [{"id": "shuffle", "elementsize": 4}, {"id": "zlib"}, {"id": "fletcher32"}],
    "v2 jenkins": [{"id": "jenkins_lookup3", "initval": 7}],
    "v2 delta": [{"id": "delta", "dtype": "<i4"}, {"id": "zlib"}],
    "v2 delta of bytes": [{"id": "shuffle", "elementsize": 4}, {"id": "delta", "dtype": "<u2"}],
    "v2 astype": [{"id": "astype", "encode_dtype": "<i8", "decode_dtype": "<i4"}],
    "v2 pcodec": [{"id": "pcodec", "level": 4}],
    "packbits": ["packbits"],
    "packbits first_byte": [v3("packbits", padding_encoding="first_byte")],
    "cast_value": [v3("cast_value", data_type="float64"), LITTLE],
    "scale_offset": [v3("scale_offset", offset=-7, scale=3), LITTLE],
    "zfp": [v3("zfp", mode="reversible")],
    "reshape": [v3("reshape", shape=[-1]), LITTLE, "zstd"],
    "conditional": [LITTLE, v3("conditional", codecs=["zstd", "crc32c"])],
    "shard": [sharding([2, 3])],
    "shard start": [sharding([2, 3], [LITTLE, "zstd"], index_location="start")],
    "shard of 2023": [
        v3("sharding_indexed", chunk_shape=[2, 3], codecs=[v3("endian", endian="little")])
    ],
    "nested shards": [sharding([4, 6], [sharding([2, 3], [LITTLE, v3("gzip", level=1)])])],
    "transposed shard": [v3("transpose", order=[1, 0]), sharding([6, 2])],
    "shard in gzip": [sharding([4, 6], index_codecs=[BIG]), v3("gzip", level=5), "crc32c"],
    "n5": [
        v3("n5_default", codecs=[v3("transpose", order=[1, 0]), BIG, v3("gzip", level=1)]),
    ],
    "n5 lz4": [LITTLE, v3("n5_lz4", blockSize=64)],
}
"""Pipelines that give back every `<i4` array of shape (8, 12)."""
