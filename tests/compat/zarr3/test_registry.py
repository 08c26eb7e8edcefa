"""`zarr.registry`: classes by their names."""

from __future__ import annotations

from typing import Any

import pytest

from omnizarr.compat.zarr3.codecs import GzipCodec, numcodecs
from omnizarr.compat.zarr3.core.chunk_key_encodings import DefaultChunkKeyEncoding
from omnizarr.compat.zarr3.registry import get_codec_class, get_numcodec
from omnizarr.errors import UnknownCodecError


@pytest.mark.parametrize("name", numcodecs.__all__)
def test_a_codec_of_numcodecs_has_the_class_of_its_name(name: str) -> None:
    codec = getattr(numcodecs, name)
    assert get_codec_class(codec.codec_name) is codec


def test_a_codec_that_is_not_known() -> None:
    assert get_codec_class("gzip") is GzipCodec
    with pytest.raises(UnknownCodecError, match="no_such"):
        get_codec_class("no_such")
    with pytest.raises(UnknownCodecError, match="no_such"):
        get_numcodec({"id": "no_such"})
    assert get_numcodec({"id": "gzip", "level": 3}).level == 3


@pytest.mark.parametrize("given", [{}, {"id": None}, {"id": "blosc", "cname": "none"}])
def test_another_error_of_numcodecs_is_passed_on(given: dict[str, Any]) -> None:
    with pytest.raises((ValueError, TypeError)) as caught:
        get_numcodec(given).encode(b"value")
    assert not isinstance(caught.value, UnknownCodecError)


@pytest.mark.parametrize("key", ["0/1", "", "c0/1", "x/0", "c.0.1"])
def test_a_key_without_its_prefix_is_refused(key: str) -> None:
    encoding = DefaultChunkKeyEncoding(separator="/")
    assert encoding.decode_chunk_key("c/0/1") == (0, 1)
    assert encoding.decode_chunk_key("c") == ()
    with pytest.raises(ValueError, match="Invalid chunk key"):
        encoding.decode_chunk_key(key)
