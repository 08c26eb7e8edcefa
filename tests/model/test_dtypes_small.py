"""Numbers of less than 8 bits in stored bytes: the bits above their own are ignored."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest

import omnizarr
from omnizarr.errors import EncodeError, MetadataError
from omnizarr.model.dtypes import from_json

BITS = {
    "int2": 2,
    "uint2": 2,
    "int4": 4,
    "uint4": 4,
    "float4_e2m1fn": 4,
    "float6_e2m3fn": 6,
    "float6_e3m2fn": 6,
}
CHAINS: dict[str, dict[str, Any]] = {
    "raw": {"compressors": None},
    "gzip": {"compressors": [{"name": "gzip", "configuration": {"level": 1}}]},
    "blosc and a checksum": {},
    "sharded": {"shards": (256,)},
    "transposed": {"filters": [{"name": "transpose", "configuration": {"order": [0]}}]},
}


def dirty(name: str, zarr_format: int, **codecs: Any) -> omnizarr.Array:
    """An array whose stored bytes are 0 … 255: it is written as bytes, then called what it is."""
    store = omnizarr.MemoryStore()
    array = omnizarr.create_array(
        store, shape=256, chunks=64, dtype="uint8", zarr_format=zarr_format, **codecs
    )
    array[:] = np.arange(256, dtype=np.uint8)
    key, before = ("zarr.json", b'"uint8"') if zarr_format == 3 else (".zarray", b'"|u1"')
    document = bytes(store.get(key) or b"")
    assert before in document
    store.set(key, document.replace(before, f'"{name}"'.encode()))
    return omnizarr.open_array(store)


@pytest.mark.parametrize("chain", CHAINS)
@pytest.mark.parametrize("name", BITS)
def test_high_bits_are_ignored(name: str, chain: str) -> None:
    array = dirty(name, 3, **CHAINS[chain])
    clean = (np.arange(256) % (1 << BITS[name])).astype(np.uint8)
    assert array[:].view(np.uint8).tolist() == clean.tolist()
    assert array[100:103].view(np.uint8).tolist() == clean[100:103].tolist()
    out = np.empty(256, array.dtype)
    array.read(out=out)
    assert out.view(np.uint8).tolist() == clean.tolist()


@pytest.mark.parametrize("name", BITS)
def test_high_bits_are_ignored_in_format_2(name: str) -> None:
    clean = (np.arange(256) % (1 << BITS[name])).astype(np.uint8)
    assert dirty(name, 2)[:].view(np.uint8).tolist() == clean.tolist()
    assert dirty(name, 2, compressor=None)[:].view(np.uint8).tolist() == clean.tolist()


def test_values() -> None:
    assert int(dirty("int4", 3)[0xF3]) == 3
    assert int(dirty("int4", 3)[0x0D]) == -3
    assert int(dirty("int2", 3)[0xFE]) == -2
    assert int(dirty("uint2", 3)[0xFE]) == 2
    assert float(dirty("float4_e2m1fn", 3)[0xF3]) == 1.5
    assert float(dirty("float6_e3m2fn", 3)[0xDF]) == 28.0


@pytest.mark.parametrize("endian", ["little", "big"])
def test_fields_of_records(endian: str) -> None:
    fields = [{"name": "a", "data_type": "int16"}, {"name": "b", "data_type": "float4_e2m1fn"}]
    store = omnizarr.MemoryStore()
    omnizarr.create_array(
        store,
        shape=2,
        dtype={"name": "struct", "configuration": {"fields": fields}},
        serializer={"name": "bytes", "configuration": {"endian": endian}},
        compressors=None,
    )
    store.set("c/0", b"".join(n.to_bytes(2, endian) + b"\xf3" for n in (1, 2)))  # type: ignore[arg-type]
    found = omnizarr.open_array(store)[:]
    assert found["a"].tolist() == [1, 2]
    assert found["b"].astype(float).tolist() == [1.5, 1.5]


@pytest.mark.parametrize("name", ["int2", "int4"])
def test_packed_integers_have_the_bits_of_ml_dtypes(name: str) -> None:
    dtype = from_json(name).numpy
    info = ml_dtypes.iinfo(dtype)
    values = np.arange(info.min, info.max + 1).astype(dtype)
    array = omnizarr.create_array(
        omnizarr.MemoryStore(), shape=len(values), dtype=name, serializer={"name": "packbits"}
    )
    array[:] = values
    assert array[:].tobytes() == values.tobytes()


def cast(source: str, target: str, values: list[float], **options: Any) -> omnizarr.Array:
    codec = {"name": "cast_value", "configuration": {"data_type": target, **options}}
    array = omnizarr.create_array(
        omnizarr.MemoryStore(), shape=len(values), dtype=source, filters=[codec], fill_value=1
    )
    array[:] = np.array(values).astype(array.dtype)
    return array


@pytest.mark.parametrize(
    ("source", "target", "values", "options", "expected"),
    [
        ("float32", "int4", [1, -3.5, 7.4], {}, [1, -4, 7]),
        ("float32", "int4", [100, -100, 3], {"out_of_range": "clamp"}, [7, -8, 3]),
        ("int32", "uint2", [1, -3, 101], {"out_of_range": "wrap"}, [1, 1, 1]),
        ("int4", "int2", [-2, 7, 1], {"out_of_range": "clamp"}, [-2, 1, 1]),
        ("int4", "bfloat16", [-8, 7, 1], {}, [-8, 7, 1]),
        ("bfloat16", "int8", [-8, 7, 1], {}, [-8, 7, 1]),
        ("float64", "float8_e4m3fn", [1e9, float("-inf")], {"out_of_range": "clamp"}, [448, -448]),
        ("float64", "float4_e2m1fn", [1e9, -7.0, 6.9], {"out_of_range": "clamp"}, [6, -6, 6]),
        ("float64", "float8_e8m0fnu", [0, 2], {"out_of_range": "clamp"}, [2**-127, 2]),
        (
            "float32",
            "bfloat16",
            [float("nan"), 2],
            {"scalar_map": {"encode": [["NaN", "0x4080"]]}},
            [4, 2],
        ),
    ],
)
def test_cast_value(
    source: str, target: str, values: list[float], options: Any, expected: list[float]
) -> None:
    assert cast(source, target, values, **options)[:].astype(float).tolist() == expected


@pytest.mark.parametrize(
    ("source", "target", "value", "options"),
    [
        ("float32", "int4", 8, {}),
        ("float32", "int4", float("nan"), {"out_of_range": "clamp"}),
        ("int8", "uint2", 4, {}),
        ("float32", "float4_e2m1fn", 100, {}),
        ("float32", "float4_e2m1fn", float("nan"), {"out_of_range": "clamp"}),
        ("float32", "float6_e2m3fn", float("inf"), {}),
        ("float64", "float8_e4m3fn", 1e9, {}),
        ("float64", "float8_e8m0fnu", -1, {}),
    ],
)
def test_cast_value_refuses_what_does_not_fit(
    source: str, target: str, value: float, options: Any
) -> None:
    with pytest.raises(EncodeError, match="cast_value"):
        cast(source, target, [1, value], **options)


@pytest.mark.parametrize("target", ["finfo", "__doc__", "string", "r16", 5, None, {"name": 3}])
def test_cast_value_takes_types_of_numbers_only(target: Any) -> None:
    with pytest.raises(MetadataError, match=r"cast_value|data.type"):
        cast("float32", target, [1])
