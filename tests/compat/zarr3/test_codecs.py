"""The codecs of `compat.zarr3`: zarr-python's checks and warnings, omnizarr's codecs."""

from __future__ import annotations

import enum
import json
import pickle
import warnings
from typing import Any

import numpy as np
import pytest

from omnizarr import codecs as ours
from omnizarr.compat import zarr3
from omnizarr.compat.zarr3 import codecs
from omnizarr.compat.zarr3.registry import get_codec_class
from omnizarr.errors import UnknownCodecError

PAIRS: list[tuple[Any, Any]] = [
    (codecs.BloscCodec(cname="lz4"), ours.BloscCodec(cname="lz4")),
    (codecs.BytesCodec(endian="big"), ours.BytesCodec(endian="big")),
    (codecs.CastValue(data_type="uint8"), ours.CastValue(data_type="uint8")),
    (codecs.ScaleOffset(offset=1, scale=2.5), ours.ScaleOffset(offset=1, scale=2.5)),
    (codecs.ShardingCodec(chunk_shape=2), ours.ShardingCodec(chunk_shape=(2,))),
    (codecs.TransposeCodec(order=[1, 0]), ours.TransposeCodec(order=(1, 0))),
]


@pytest.mark.parametrize(("here", "there"), PAIRS, ids=lambda codec: type(codec).__name__)
def test_a_codec_of_an_array_is_one_of_these_classes(here: Any, there: Any) -> None:
    assert isinstance(there, type(here))
    assert issubclass(type(there), type(here))
    assert isinstance(here, type(there))
    assert here == there
    assert there == here
    assert hash(here) == hash(there)
    assert pickle.loads(pickle.dumps(here)) == here
    assert type(here).from_dict(here.to_dict()) == here
    assert get_codec_class(here.to_dict()["name"]) is type(here)


def test_other_classes_are_not_equal() -> None:
    class Mine(codecs.BytesCodec):
        """A user's codec."""

    assert codecs.BytesCodec(endian="big") != codecs.BytesCodec(endian="little")
    assert codecs.BytesCodec() != codecs.TransposeCodec(order=(0,))
    assert Mine() != codecs.BytesCodec()
    assert Mine() == Mine()
    assert not isinstance(ours.BytesCodec(), Mine)
    assert not isinstance(ours.BloscCodec(), codecs.BytesCodec)


class Legacy(enum.Enum):
    """An enumeration of a library."""

    little = "little"
    zstd = "zstd"
    end = "end"


def test_members_of_enumerations_are_taken_with_a_warning() -> None:
    with pytest.warns(DeprecationWarning, match="Passing an enum to BytesCodec"):
        assert codecs.BytesCodec(endian=Legacy.little).endian == "little"
    with pytest.warns(DeprecationWarning, match="Passing an enum to BloscCodec"):
        assert codecs.BloscCodec(cname=Legacy.zstd).cname == "zstd"
    with pytest.warns(DeprecationWarning, match="Passing an enum to ShardingCodec"):
        sharding = codecs.ShardingCodec(chunk_shape=(1,), index_location=Legacy.end)
    assert sharding.index_location == "end"
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        codecs.BloscCodec(cname="zstd", shuffle="shuffle")


@pytest.mark.parametrize("shards", [None, (4,)])
@pytest.mark.parametrize(("dtype", "shuffle"), [("u1", "bitshuffle"), ("u2", "shuffle")])
def test_an_open_shuffle_is_settled_by_the_data_type(
    dtype: str, shuffle: str, shards: tuple[int, ...] | None
) -> None:
    store: dict[str, Any] = {}
    array = zarr3.create_array(
        store, shape=(4,), chunks=(4,), shards=shards, dtype=dtype, compressors=codecs.BloscCodec()
    )
    array[:] = np.arange(4)
    document = json.loads(store["zarr.json"].to_bytes())["codecs"]
    inner = document if shards is None else document[0]["configuration"]["codecs"]
    assert inner[1]["configuration"]["shuffle"] == shuffle
    assert inner[1]["configuration"]["typesize"] == np.dtype(dtype).itemsize
    assert zarr3.open_array(store, mode="r")[:].tolist() == [0, 1, 2, 3]


def test_a_given_element_size_is_kept() -> None:
    store: dict[str, Any] = {}
    codec = codecs.BloscCodec(typesize=4)
    zarr3.create_array(store, shape=(4,), dtype="u2", compressors=codec)
    found = json.loads(store["zarr.json"].to_bytes())["codecs"][1]["configuration"]
    assert (found["typesize"], found["shuffle"]) == (4, "shuffle")
    assert "shuffle" not in codec.to_dict()["configuration"]


@pytest.mark.parametrize("order", ["C", "F", None, 1.5, [0, "1"]])
def test_an_order_of_axes_is_integers(order: Any) -> None:
    with pytest.raises(TypeError, match="integers"):
        codecs.TransposeCodec(order=order)


@pytest.mark.parametrize(
    ("shape", "error", "message"),
    [
        ((5, 0), ValueError, "Dimension 1: chunk edge length must be >= 1, got"),
        (0, ValueError, "Dimension 0: chunk edge length must be >= 1, got"),
        ((False, 5), ValueError, "Dimension 0: chunk edge length must be >= 1, got"),
        ((-1,), ValueError, "Expected all values to be non-negative"),
        ((4.0,), TypeError, "Expected an iterable of integers"),
        (None, TypeError, "Expected an integer"),
    ],
)
def test_inner_chunks_have_lengths(shape: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        codecs.ShardingCodec(chunk_shape=shape)


def test_an_index_has_a_fixed_size() -> None:
    with pytest.raises(ValueError, match="must produce a fixed-size encoding"):
        codecs.ShardingCodec((2,), index_codecs=(codecs.BytesCodec(), codecs.GzipCodec()))
    with pytest.raises(UnknownCodecError):
        codecs.ShardingCodec((2,), index_codecs=({"name": "no such codec"},))
    plain = codecs.ShardingCodec((2,), index_codecs=(codecs.BytesCodec(endian="big"),))
    assert plain.index_codecs == (ours.CodecSpec("bytes", {"endian": "big"}),)


def test_scale_and_offset_are_numbers_or_strings() -> None:
    with pytest.raises(TypeError, match="offset must be a number or string"):
        codecs.ScaleOffset(offset=[1, 2])
    with pytest.raises(TypeError, match="scale must be a number or string"):
        codecs.ScaleOffset(scale=None)
    spelt = codecs.ScaleOffset(offset="-3", scale="0.5")
    assert (spelt.offset, spelt.scale) == (-3, 0.5)
    special = codecs.ScaleOffset(offset="NaN", scale="0x3ff0000000000000")
    assert (special.offset, special.scale) == ("NaN", "0x3ff0000000000000")
    for dtype, scale in (("int32", "0"), ("float64", "0.0")):
        with pytest.raises(ValueError, match="scale must be non-zero"):
            zarr3.create_array({}, shape=2, dtype=dtype, filters=[codecs.ScaleOffset(scale=scale)])
    assert codecs.ScaleOffset().compute_encoded_size(100, None) == 100
    with pytest.raises(NotImplementedError):
        codecs.BloscCodec().compute_encoded_size(100, None)


def test_pairs_of_a_cast_are_tuples() -> None:
    asked: dict[str, Any] = {"encode": {"NaN": 0}, "decode": [[0, "NaN"]]}
    codec = codecs.CastValue(data_type=zarr3.dtype.UInt8(), scalar_map=asked)
    assert codec.dtype == zarr3.dtype.UInt8()
    assert codec.to_dict() == {
        "name": "cast_value",
        "configuration": {
            "data_type": "uint8",
            "scalar_map": {"encode": [("NaN", 0)], "decode": [(0, "NaN")]},
        },
    }
    assert codecs.CastValue.from_dict(codec.to_dict()) == codec
    array = zarr3.create_array({}, data=np.array([1.0, np.nan]), filters=[codec])
    assert array[0] == 1.0
    assert np.isnan(array[1])
    with pytest.raises(TypeError, match="scalar_map must be a mapping"):
        codecs.CastValue("int8", scalar_map=5)  # type: ignore[arg-type]
