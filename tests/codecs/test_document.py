"""Codec objects as documents, and back."""

from __future__ import annotations

import pytest

from omnizarr import codecs
from omnizarr.errors import MetadataError


@pytest.mark.parametrize(
    "codec",
    [
        codecs.BloscCodec(typesize=4, shuffle="shuffle"),
        codecs.BytesCodec(endian="big"),
        codecs.BytesCodec(endian=None),
        codecs.Crc32cCodec(),
        codecs.GzipCodec(level=1),
        codecs.ShardingCodec(chunk_shape=(2, 3), codecs=["bytes", "zstd"]),
        codecs.TransposeCodec(order=(1, 0)),
        codecs.VLenUTF8Codec(),
        codecs.ZstdCodec(level=7, checksum=True),
    ],
    ids=lambda codec: type(codec).__name__,
)
def test_a_codec_comes_back_from_its_document(codec: codecs.Codec) -> None:
    document = codec.to_dict()  # type: ignore[attr-defined]
    assert document["name"] == codec.spec().name
    assert type(codec).from_dict(document).spec() == codec.spec()  # type: ignore[attr-defined]


def test_the_document_of_another_codec_is_refused() -> None:
    with pytest.raises(MetadataError, match="expected the metadata of a codec 'bytes'"):
        codecs.BytesCodec.from_dict({"name": "gzip", "configuration": {}})


def test_a_document_is_a_copy() -> None:
    codec = codecs.TransposeCodec(order=(1, 0))
    codec.to_dict()["configuration"]["order"].append(3)
    assert codec.to_dict()["configuration"]["order"] == [1, 0]
