"""Codecs and data types in words."""

from __future__ import annotations

from typing import Any

import pytest

from omnizarr.cli import facts

ZSTD = {"name": "zstd", "configuration": {"level": 3, "checksum": False}}


def codec(name: str, **configuration: Any) -> facts.Facts:
    return {"name": name, "configuration": configuration}


@pytest.mark.parametrize(
    ("codecs", "short", "long"),
    [
        ([], "raw", "none"),
        ([codec("bytes", endian="big")], "raw", "bytes (endian=big)"),
        ([codec("bytes"), ZSTD], "zstd", "bytes → zstd (level=3)"),
        ([codec("numcodecs.delta", dtype="<i4"), codec("bytes"), codec("numcodecs.lz4")],
         "delta+lz4", "delta (dtype=<i4) → bytes → lz4"),
        ([codec("transpose", order=[1, 0]), codec("bytes")],
         "transpose", "transpose (order=1,0) → bytes"),
        ([codec("transpose", order=[0, 1]), codec("bytes")],
         "raw", "transpose (order=0,1) → bytes"),
        ([codec("transpose", order="F"), codec("bytes")],
         "transpose", "transpose (order=F) → bytes"),
        ([codec("transpose", order=[7]), codec("bytes")],
         "transpose", "transpose (order=7) → bytes"),
        ([codec("sharding_indexed", chunk_shape=[2], codecs=[{"name": "bytes"}, ZSTD, "crc32c"])],
         "zstd+crc32c", "sharding_indexed [bytes → zstd (level=3) → crc32c]"),
        ([codec("transpose", order=[2, 0, 1]),
          codec("n5_default", codecs=[codec("transpose", order=[1, 2, 0]), codec("bytes"), ZSTD])],
         "zstd",
         "transpose (order=2,0,1) → n5_default [transpose (order=1,2,0) → bytes → zstd (level=3)]"),
        (None, "?", "?"),
    ],
)  # fmt: skip
def test_codecs(codecs: list[facts.Facts] | None, short: str, long: str) -> None:
    assert facts.codecs_in_short(codecs) == short
    assert facts.codecs_at_length(codecs) == long
