"""Compressors by bare names, and `compression=` of h5py, zarr 1 and zarr-python 2."""

from __future__ import annotations

from typing import Any

import numcodecs
import numpy as np
import pytest

import omnizarr as zarr
from omnizarr.errors import ChecksumError, DecodeError, MetadataError, UnknownCodecError


@pytest.mark.parametrize("keyword", ["compressors", "compressor", "compression"])
@pytest.mark.parametrize("version", [2, 3])
def test_zstd_by_name_has_a_level_and_a_checksum(keyword: str, version: int) -> None:
    store: dict[str, bytes] = {}
    arguments: dict[str, Any] = {keyword: "zstd"}
    array = zarr.create_array(store, shape=64, dtype="i4", zarr_format=version, **arguments)
    array[:] = np.arange(64)
    assert array.compressors[-1].level == 3
    key = next(key for key in store if key in ("0", "c/0"))
    data = bytearray(store[key])
    assert data[4] & 4, "the frame has a checksum"
    data[-1] ^= 1
    store[key] = bytes(data)
    with pytest.raises((DecodeError, ChecksumError)):
        array[:]


@pytest.mark.parametrize("version", [2, 3])
def test_blosc_and_shuffle_by_name_know_the_elements(version: int) -> None:
    array = zarr.create_array({}, shape=9, dtype="f8", zarr_format=version, compressors="blosc")
    assert "'shuffle'" in str(array.compressors) or "=SHUFFLE" in str(array.compressors)
    shuffled = zarr.create_array(
        {}, shape=9, dtype="f8", zarr_format=version, filters=["shuffle"], compressors="zstd"
    )
    assert "elementsize=8" in str(shuffled.codecs)
    shuffled[:] = np.arange(9)
    assert shuffled[:].tolist() == list(range(9))
    own = zarr.create_array(
        {}, shape=9, dtype="f8", zarr_format=version, filters=[numcodecs.Shuffle(2)]
    )
    assert "elementsize=2" in str(own.codecs)


@pytest.mark.parametrize("version", [2, 3])
@pytest.mark.parametrize("name", ["gzip", "zlib", "bz2", "lz4", "lzma", "blosc", "zstd"])
def test_every_compressor_by_name(name: str, version: int) -> None:
    values = np.arange(100, dtype="i4")
    for keyword in ("compressors", "compression"):
        array = zarr.create_array({}, data=values, zarr_format=version, **{keyword: name})  # type: ignore[arg-type]
        assert np.array_equal(array[:], values)
        assert name in str(array.compressors[-1]).lower()


@pytest.mark.parametrize("version", [2, 3])
def test_an_unknown_name_says_what_is_near(version: int) -> None:
    with pytest.raises(UnknownCodecError, match=r"similar names: .*zstd"):
        zarr.create_array({}, shape=3, zarr_format=version, compressors="zst")


@pytest.mark.parametrize("version", [2, 3])
@pytest.mark.parametrize(
    "codec",
    [
        {"id": "zstd", "levle": 3},
        {"id": "gzip", "levle": 3},
        {"id": "zlib", "levle": 3},
        {"name": "zstd", "configuration": {"levle": 3}},
        {"name": "numcodecs.bz2", "configuration": {"levle": 3}},
    ],
    ids=str,
)
def test_an_unknown_option_of_a_codec_is_refused(codec: dict[str, Any], version: int) -> None:
    with pytest.raises(MetadataError, match="did you mean 'level'"):
        zarr.create_array({}, shape=3, zarr_format=version, compressors=[codec])


def test_options_that_numcodecs_gives_are_known() -> None:
    for codec in (
        numcodecs.Zstd(3), numcodecs.GZip(3), numcodecs.Zlib(3), numcodecs.BZ2(3), numcodecs.LZ4(),
        numcodecs.LZMA(), numcodecs.Blosc(), numcodecs.Shuffle(8), numcodecs.Delta("<f8"),
        numcodecs.FixedScaleOffset(0, 1, "<f8"), numcodecs.Quantize(3, "<f8"),
    ):  # fmt: skip
        zarr.create_array({}, shape=3, dtype="f8", zarr_format=2, compressors=[codec.get_config()])


def test_a_bare_name_means_the_same_in_a_whole_pipeline() -> None:
    array = zarr.create_array({}, shape=3, codecs=["bytes", "zstd"])
    assert array.compressors[-1].checksum and array.compressors[-1].level == 3


def test_unknown_members_of_a_key_encoding_are_refused() -> None:
    for encoding in (
        {"name": "v2", "seperator": "/"},
        {"name": "v2", "configuration": {"seperator": "/"}},
    ):
        with pytest.raises(TypeError, match="did you mean 'separator'"):
            zarr.create_array({}, shape=3, chunk_key_encoding=encoding)


@pytest.mark.parametrize("mode", ["q", "r", "r+"])
def test_a_mode_that_creates_nothing_is_refused(mode: str) -> None:
    with pytest.raises(ValueError, match="mode"):
        zarr.create(3, mode=mode)


def test_what_a_document_says_is_not_completed() -> None:
    array = zarr.create_array({}, shape=3, compressors=[{"name": "zstd"}])
    assert not array.compressors[-1].checksum


@pytest.mark.parametrize(
    ("given", "level"),
    [
        ({"compression": "gzip"}, 1),
        ({"compression": "gzip", "compression_opts": 9}, 9),
        ({"compression": "gzip", "compression_opts": {"level": 3}}, 3),
        ({"compression": "gzip", "compression_opts": (4,)}, 4),
        ({"compression": 6}, 6),
    ],
    ids=str,
)
def test_gzip_of_h5py_is_gzip(given: dict[str, Any], level: int) -> None:
    for version in (2, 3):
        store: dict[str, bytes] = {}
        array = zarr.create_array(
            store, data=np.arange(50), zarr_format=version, filters=None, **given
        )
        assert array.compressors[-1].level == level
        chunk = next(value for key, value in store.items() if key in ("0", "c/0"))
        assert chunk[:2] == b"\x1f\x8b"


def test_gzip_of_zarr_1_is_a_zlib_stream_in_its_format() -> None:
    store: dict[str, bytes] = {}
    zarr.create_array(store, data=np.arange(50), zarr_format=1, compression="gzip")
    assert store["0"][0] == 0x78


@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("gzip", {"levl": 3}), ("gzip", (1, 2)), ("gzip", "9"), ("gzip", 10), ("gzip", True),
        ("blosc", 9), ("blosc", {"level": 3}), ("lzf", None), (True, None), (4, 4), ("none", 1),
    ],
)  # fmt: skip
def test_other_options_are_refused(name: Any, options: Any) -> None:
    with pytest.raises(MetadataError):
        zarr.create_array({}, shape=3, compression=name, compression_opts=options)


def test_choices_are_named_like_codecs() -> None:
    for keyword in ("compressors", "compressor"):
        with pytest.raises(UnknownCodecError, match=r"'fast' is given alone, not in a list"):
            zarr.create_array({}, shape=3, **{keyword: ["fast"]})
        with pytest.raises(UnknownCodecError, match=r"similar names: fast"):
            zarr.create_array({}, shape=3, **{keyword: "fsat"})
    with pytest.raises(UnknownCodecError, match=r"similar names: auto"):
        zarr.create_array({}, shape=3, compressors="atuo")
    source = zarr.create_array({}, shape=3)
    with pytest.raises(UnknownCodecError, match=r"'keep' is given alone"):
        zarr.convert(source, {}, zarr_format=2, compressors=["keep"])
    with pytest.raises(UnknownCodecError, match=r"similar names: keep"):
        zarr.convert(source, {}, zarr_format=2, compressors="kep")


def test_fast_under_every_name() -> None:
    for keyword in ("compressors", "compressor", "compression"):
        array = zarr.create_array({}, shape=3, dtype="f8", **{keyword: "fast"})
        assert [codec.name for codec in array.compressors] == ["blosc", "crc32c"]
    # Strings have no bytes to shuffle.
    array = zarr.create_array({}, data=["a"], dtype=str, compressors="fast")
    assert [codec.name for codec in array.compressors] == ["zstd"]
