"""Codecs as they are typed, there and back."""

from __future__ import annotations

from argparse import ArgumentTypeError
from typing import Any

import pytest

import omnizarr as zarr
from omnizarr.cli.codec_texts import joined, pipeline, spelled
from omnizarr.cli.places import Problem


@pytest.mark.parametrize(
    ("text", "zarr_format"),
    [
        *((text, zarr_format) for zarr_format in (2, 3) for text in (
            "zstd", "zstd:5", "gzip:6", "zlib:9", "bz2:3", "lz4:2", "lzma:1", "blosc:lz4:5",
            "blosc:zstd:3:bitshuffle", "blosc:shuffle=noshuffle",
            '{"id": "zlib", "level": 4}', '[{"id": "zlib", "level": 4}]', "none", "auto",
        )),
        ("shuffle:4,gzip:6", 3),
    ],
)  # fmt: skip
def test_arrays_are_made_with_them(text: str, zarr_format: Any) -> None:
    codecs = pipeline(text)
    array = zarr.create_array({}, data=[1, 2, 3], compressors=codecs, zarr_format=zarr_format)
    assert array[:].tolist() == [1, 2, 3]
    if not text.startswith(("{", "[", "blosc:shuffle")):
        assert spelled(codecs) == {"zstd": "zstd:3"}.get(text, text)


def test_several_options() -> None:
    assert joined(None) == "keep" and joined([None]) is None
    both = joined([pipeline("shuffle:4"), pipeline("zstd:1")])
    assert [codec["name"] for codec in both] == ["numcodecs.shuffle", "zstd"]
    with pytest.raises(Problem, match="auto stands alone"):
        joined(["auto", pipeline("zstd")])


@pytest.mark.parametrize("text", ["", "zstt", "zstd:1:2", "zstd,,gzip", "{", "[1"])
def test_what_is_no_codec(text: str) -> None:
    with pytest.raises(ArgumentTypeError):
        pipeline(text)
