"""Complex numbers of small parts: names, elements, fill values, and what codecs make of them."""

from __future__ import annotations

import itertools
import json
import pickle
from typing import Any

import ml_dtypes
import numpy as np
import pytest

import omnizarr
from omnizarr.errors import MetadataError, UnsupportedError
from omnizarr.model.dtypes import Pair, Struct, from_json, from_numpy, numpy_determines
from omnizarr.model.dtypes.pairs import NAMES
from omnizarr.model.dtypes.small import FLOATS

REGISTERED = {
    f"complex_{part}"
    for part in (
        "bfloat16",
        "float16",
        "float4_e2m1fn",
        "float6_e2m3fn",
        "float6_e3m2fn",
        "float8_e3m4",
        "float8_e4m3",
        "float8_e4m3b11fnuz",
        "float8_e4m3fnuz",
        "float8_e5m2",
        "float8_e5m2fnuz",
        "float8_e8m0fnu",
    )
}
BYTES_BIG = {"name": "bytes", "configuration": {"endian": "big"}}


def parts(name: str) -> np.ndarray[Any, Any]:
    """Every value of the parts of 8 bits and less, many of those of 16."""
    dtype = from_json(name).numpy["real"]
    if dtype.itemsize == 2:
        return np.arange(0, 1 << 16, 97, dtype=np.uint16).view(dtype)
    bits = 4 if "float4" in name else 6 if "float6" in name else 8
    return np.arange(1 << bits, dtype=np.uint8).view(dtype)


def test_the_names_are_those_of_the_registry() -> None:
    assert REGISTERED == NAMES
    assert from_json("complex_float32") == from_json("complex64")
    assert from_json("complex_float64") == from_json("complex128")


@pytest.mark.parametrize("name", sorted(NAMES))
def test_names(name: str) -> None:
    data_type = from_json(name)
    part = np.dtype("f2") if name == "complex_float16" else getattr(ml_dtypes, name[8:])
    assert isinstance(data_type, Pair)
    assert data_type.numpy == np.dtype([("real", part), ("imag", part)])
    assert data_type.json == data_type.name == str(data_type) == name
    assert data_type == from_json({"name": name}) == from_numpy(name) == data_type.native
    assert pickle.loads(pickle.dumps(data_type)) == data_type
    assert not numpy_determines(data_type)
    assert isinstance(from_numpy(data_type.numpy), Struct)
    assert data_type.zero.tobytes() == bytes(data_type.numpy.itemsize)


@pytest.mark.parametrize("name", sorted(NAMES))
def test_fill_values_are_kept_bit_for_bit(name: str) -> None:
    data_type = from_json(name)
    values = parts(name)
    element = np.empty((), data_type.numpy)
    for real, imaginary in zip(values, np.roll(values, 7), strict=True):
        element["real"], element["imag"] = real, imaginary
        stored = json.loads(json.dumps(data_type.fill_to_json(element), allow_nan=False))
        assert data_type.fill_from_json(stored).tobytes() == element.tobytes()


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (1 + 2j, (1, 2)),
        (3, (3, 0)),
        (np.complex64(1 - 2j), (1, -2)),
        (np.array(2.5), (2.5, 0)),
        ([1, 2], (1, 2)),
        (("NaN", "0x8000"), (float("nan"), -0.0)),
        (ml_dtypes.bfloat16(1.5), (1.5, 0)),
        (np.void((1, 2), dtype=[("real", "f8"), ("imag", "f8")]), (1, 2)),
    ],
)
def test_scalars(value: Any, expected: tuple[float, float]) -> None:
    scalar = from_json("complex_float16").scalar(value)
    assert repr(scalar.item()) == repr(tuple(float(part) for part in expected))


@pytest.mark.parametrize("value", ["x", None, (1, 2, 3), 1e9, [1, "x"], b"12", {}])
def test_wrong_scalars(value: Any) -> None:
    with pytest.raises((ValueError, TypeError)):
        from_json("complex_float16").scalar(value)


@pytest.mark.parametrize(
    ("written", "expected"),
    [
        ([1 + 2j, 3], [(1, 2), (3, 0)]),
        (np.array([1 + 2j, 3 - 1j], "c8"), [(1, 2), (3, -1)]),
        (np.array([1, 2], "i2"), [(1, 0), (2, 0)]),
        (np.array([1, 2], ml_dtypes.float8_e5m2), [(1, 0), (2, 0)]),
        ([(1, 2), (3, 4)], [(1, 2), (3, 4)]),
        (np.array([(1, 2), (3, 4)], [("real", "f4"), ("imag", "f4")]), [(1, 2), (3, 4)]),
        (1j, [(0, 1), (0, 1)]),
        ((5, 6), [(5, 6), (5, 6)]),
        (np.array([1 + 1j, 2], object), [(1, 1), (2, 0)]),
    ],
)
def test_what_users_write(written: Any, expected: list[tuple[float, float]]) -> None:
    array = omnizarr.create_array(omnizarr.MemoryStore(), shape=2, dtype="complex_bfloat16")
    array[:] = written
    assert [tuple(map(float, pair)) for pair in array[:].tolist()] == expected


def test_what_is_no_number_is_refused() -> None:
    array = omnizarr.create_array(omnizarr.MemoryStore(), shape=2, dtype="complex_bfloat16")
    with pytest.raises((ValueError, TypeError)):
        array[:] = ["a", "b"]
    with pytest.raises((ValueError, TypeError)):
        array[:] = None


CHAINS: dict[str, dict[str, Any]] = {
    "default": {},
    "big": {"serializer": BYTES_BIG},
    "raw": {"compressors": None},
    "packbits": {"serializer": {"name": "packbits"}, "compressors": None},
    "sharded": {"shards": (4, 6)},
    "sharded big": {"shards": (4, 6), "serializer": BYTES_BIG},
    "transposed": {"order": "F"},
    "gzip": {"compressors": [{"name": "gzip", "configuration": {"level": 1}}]},
}


@pytest.mark.parametrize("chain", CHAINS)
@pytest.mark.parametrize("name", sorted(NAMES))
def test_through_codecs(name: str, chain: str) -> None:
    data_type = from_json(name)
    values = itertools.cycle(parts(name))
    data = np.empty((5, 6), data_type.numpy)
    for index in np.ndindex(data.shape):
        data["real"][index], data["imag"][index] = next(values), next(values)
    store = omnizarr.MemoryStore()
    array = omnizarr.create_array(
        store, shape=(7, 6), chunks=(2, 3), dtype=name, fill_value=[1, 2], **CHAINS[chain]
    )
    array[:5] = data
    array = omnizarr.open_array(store)
    assert array.data_type == data_type
    assert array[:5].tobytes() == data.tobytes()
    assert array[3:5, 1::2].tobytes() == data[3:5, 1::2].tobytes()
    assert array[6].tobytes() == data_type.scalar([1, 2]).tobytes() * 6


def stored(name: str, **codecs: Any) -> bytes:
    store = omnizarr.MemoryStore()
    array = omnizarr.create_array(store, shape=2, dtype=name, compressors=None, **codecs)
    array[:] = [1 + 2j, 4 - 1.5j]
    return bytes(store.get("c/0") or b"")


def test_golden_bytes() -> None:
    """Real then imaginary, each part swapped on its own, sub-byte parts packed lowest bit first."""
    assert stored("complex_float16").hex() == "003c0040004400be"
    assert stored("complex_float16", serializer=BYTES_BIG).hex() == "3c0040004400be00"
    assert stored("complex_bfloat16", serializer=BYTES_BIG).hex() == "3f8040004080bfc0"
    assert stored("complex_float8_e5m2").hex() == "3c4044be"
    assert stored("complex_float4_e2m1fn").hex() == "0204060b"
    assert stored("complex_float4_e2m1fn", serializer={"name": "packbits"}).hex() == "42b6"


def test_a_byte_order_is_named_only_where_there_is_one() -> None:
    for name, has_order in (("complex_float8_e5m2", False), ("complex_bfloat16", True)):
        array = omnizarr.create_array(omnizarr.MemoryStore(), shape=2, dtype=name)
        spec = array._source.regular_chain.specs[0]
        assert (spec.configuration.get("endian") == "little") is has_order


@pytest.mark.parametrize("name", ["complex_bfloat16", "complex64", "bool"])
def test_cast_value_is_for_real_numbers(name: str) -> None:
    codec = {"name": "cast_value", "configuration": {"data_type": "int8"}}
    with pytest.raises(MetadataError, match="only supports integer and floating-point types, not"):
        omnizarr.create_array(omnizarr.MemoryStore(), shape=2, dtype=name, filters=[codec])
    codec = {"name": "cast_value", "configuration": {"data_type": name}}
    with pytest.raises(MetadataError, match="Invalid target data type"):
        omnizarr.create_array(omnizarr.MemoryStore(), shape=2, dtype="int8", filters=[codec])


@pytest.mark.parametrize("name", ["complex_bfloat16", "complex_float16"])
@pytest.mark.parametrize("zarr_format", [0, 1, 2, "3-draft2019", "3-draft2020-10", "n5"])
def test_formats_without_such_a_type_say_so(name: str, zarr_format: Any) -> None:
    with pytest.raises(UnsupportedError) as caught:
        omnizarr.create_array(omnizarr.MemoryStore(), shape=2, dtype=name, zarr_format=zarr_format)
    assert caught.value.what == "data_type"
    assert name in str(caught.value)


def test_conversion_does_not_make_records_of_them() -> None:
    """Big-endian chunks ask for a type in that order, which must not lose its name on the way."""
    store = omnizarr.MemoryStore()
    array = omnizarr.create_array(
        store, shape=2, dtype="complex_float16", serializer=BYTES_BIG, compressors=None
    )
    array[:] = [1 + 2j, 3]
    with pytest.raises(UnsupportedError, match="complex_float16"):
        omnizarr.convert(store, omnizarr.MemoryStore(), zarr_format=2)
    copied = omnizarr.MemoryStore()
    omnizarr.convert(store, copied, zarr_format=3)
    assert omnizarr.open_array(copied).data_type.name == "complex_float16"
    assert omnizarr.open_array(copied)[:].tobytes() == array[:].tobytes()


def test_as_fields_of_records() -> None:
    """The NumPy dtype of a record does not say that a field is complex; the type does."""
    json_type = {
        "name": "struct",
        "configuration": {
            "fields": [
                {"name": "a", "data_type": "int16"},
                {
                    "name": "b",
                    "data_type": {
                        "name": "struct",
                        "configuration": {
                            "fields": [{"name": "c", "data_type": "complex_bfloat16"}]
                        },
                    },
                },
            ]
        },
    }
    fill = {"a": -1, "b": {"c": ["0x7fc1", -0.0]}}
    data_type = from_json(json_type)
    assert data_type.json == data_type.native.json == json_type
    assert data_type != from_numpy(data_type.numpy)
    assert not numpy_determines(data_type)
    assert repr(data_type.fill_to_json(data_type.fill_from_json(fill))) == repr(fill)
    assert pickle.loads(pickle.dumps(data_type)) == data_type
    assert hash(data_type) == hash(from_json(json_type))
    store = omnizarr.MemoryStore()
    array = omnizarr.create_array(store, shape=3, dtype=json_type, fill_value=(5, ((1, 2),)))
    array[0] = (7, ((3, 4),))
    again = omnizarr.open_array(store)
    assert again.data_type == data_type
    assert [float(part) for part in again[0]["b"]["c"]] == [3, 4]
    assert json.loads(bytes(store.get("zarr.json") or b""))["fill_value"] == {
        "a": 5,
        "b": {"c": [1.0, 2.0]},
    }
    with pytest.raises(UnsupportedError, match="complex_bfloat16"):
        omnizarr.convert(store, omnizarr.MemoryStore(), zarr_format=2)


def test_parts_are_the_small_floats() -> None:
    """A float that ml_dtypes gains, and we name, is a part as well unless it is left out."""
    assert {f"complex_{name}" for name in FLOATS} - NAMES == {"complex_float8_e4m3fn"}
