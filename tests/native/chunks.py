"""One chunk through the native core, in memory."""

from __future__ import annotations

from typing import Any

import numpy as np

from omnizarr.codecs import Chain
from tests.native.installed import core

KEYS = (b"", ord("."), b"")
SCRATCH = 1 << 26
BAD_CODECS: list[Any] = [
    ((),),
    ((None,),),
    (("bz2", 1),),
    (("zlib", 10),),
    (("gzip", "1"),),
    (("gzip",),),
    (("zstd", 0, False, 0),),
    (("zstd", 2**40, False),),
    (("lz4", None),),
    (("shuffle", 0),),
    (("shuffle", -1),),
    (("crc32c", False, -4, 4),),
    (("delta", 3),),
    (("bitround", 4, 24, 23),),
    (("bitround", 4, 1, 31),),
    (("bitround", 1, 0, 0),),
    (("delta", 2), ("lz4", 1)),
    (("blosc", "lz4"),),
    (("blosc", "lz4", 10, 0, 1, 0),),
    (("blosc", "lz4", 5, 3, 1, 0),),
    (("blosc", "lz4", 5, 0, 0, 0),),
    (("zstd", 1, False), ("lz4", 1)),
    (("shuffle", 2), ("lz4", 1)),
]
"""Codecs that the core refuses."""


def whole(chunks: Any, shape: tuple[int, ...]) -> Any:
    """The selection of everything."""
    return chunks.select(shape, [(axis, 0, 1, n, 0) for axis, n in enumerate(shape)], [])


def place(layout: Any, data: Any, out: np.ndarray) -> bool:
    """Decode one chunk, which is all of `out`; False if it was left."""
    chunks = core.Chunks(tuple(layout), None, KEYS, None)
    first = (0,) * out.ndim
    left = chunks.place(whole(chunks, out.shape), out, [first], [data], 1, SCRATCH, lambda: None)
    return left == []  # type: ignore[no-any-return]


def decode(chain: Chain, data: Any, out: np.ndarray) -> bool:
    assert chain.layout is not None
    return place(chain.layout, data, out)


def encode(array: np.ndarray, layout: Any) -> bytes | None:
    """Encode one chunk; None if it was left."""
    chunks = core.Chunks(tuple(layout), None, KEYS, None)
    first, all_of_it = (0,) * array.ndim, whole(chunks, array.shape)
    (value,), left = chunks.encode(
        all_of_it, array, [first], [None], None, 1, SCRATCH, lambda: None
    )
    assert (value is None) == (left == [0])
    return value  # type: ignore[no-any-return]


def encode_bytes(data: bytes, codecs: tuple[Any, ...]) -> bytes | None:
    """Encode bytes as they are."""
    size = len(data)
    return encode(np.frombuffer(data, "u1"), ((size,), (0,), 1, codecs, 1, 2 * size + 65536))
