"""Stores and codecs that were written for zarr-python's interfaces work on omnizarr."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

import omnizarr
from omnizarr.compat.zarr3.abc.codec import (
    ArrayArrayCodec,
    ArrayBytesCodec,
    BaseCodec,
    BytesBytesCodec,
)
from omnizarr.compat.zarr3.abc.store import (
    OffsetByteRequest,
    RangeByteRequest,
    Store,
    SuffixByteRequest,
)
from omnizarr.compat.zarr3.core.buffer import cpu, default_buffer_prototype
from omnizarr.compat.zarr3.registry import get_codec_class, register_codec
from omnizarr.errors import UnknownCodecError


class Shelf(Store):
    """A store as a user of zarr-python writes one."""

    supports_writes = True
    supports_deletes = True
    supports_listing = True

    def __init__(self, *, read_only: bool = False) -> None:
        super().__init__(read_only=read_only)
        self.values: dict[str, bytes] = {}

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Shelf) and self.values is other.values

    async def get(self, key: str, prototype: Any, byte_range: Any = None) -> Any:
        value = self.values.get(key)
        match byte_range:
            case None:
                part = slice(None)
            case RangeByteRequest(start, end):
                part = slice(start, end)
            case OffsetByteRequest(offset):
                part = slice(offset, None)
            case SuffixByteRequest(suffix):
                part = slice(-suffix, None)
        return None if value is None else prototype.buffer.from_bytes(value[part])

    async def get_partial_values(self, prototype: Any, key_ranges: Any) -> Any:
        return [await self.get(key, prototype, part) for key, part in key_ranges]

    async def exists(self, key: str) -> bool:
        return key in self.values

    async def set(self, key: str, value: Any) -> None:
        self._check_writable()
        self.values[key] = value.to_bytes()

    async def delete(self, key: str) -> None:
        self._check_writable()
        self.values.pop(key, None)

    async def list(self) -> AsyncIterator[str]:
        for key in list(self.values):
            yield key

    async def list_prefix(self, prefix: str) -> AsyncIterator[str]:
        for key in list(self.values):
            if key.startswith(prefix):
                yield key

    async def list_dir(self, prefix: str) -> AsyncIterator[str]:
        start = prefix.rstrip("/") + "/" if prefix else ""
        for name in {k[len(start) :].split("/")[0] for k in self.values if k.startswith(start)}:
            yield name


@dataclass(frozen=True)
class Invert(BytesBytesCodec):
    is_fixed_size = True

    @classmethod
    def from_dict(cls, data: Any) -> Invert:
        return cls()

    def to_dict(self) -> Any:
        return {"name": "test_invert"}

    async def _encode_single(self, chunk_data: Any, chunk_spec: Any) -> Any:
        return chunk_spec.prototype.buffer.from_bytes(bytes(255 - b for b in chunk_data.to_bytes()))

    _decode_single = _encode_single


@dataclass(frozen=True)
class Negate(ArrayArrayCodec):
    @classmethod
    def from_dict(cls, data: Any) -> Negate:
        return cls()

    def to_dict(self) -> Any:
        return {"name": "test_negate"}

    async def _encode_single(self, chunk_data: Any, chunk_spec: Any) -> Any:
        return chunk_spec.prototype.nd_buffer.from_numpy_array(-chunk_data.as_numpy_array())

    _decode_single = _encode_single


def test_a_store_of_the_interface_holds_a_hierarchy() -> None:
    shelf = Shelf()
    group = omnizarr.create_group(shelf, attributes={"a": 1})
    array = group.create_array("x", shape=(5, 4), chunks=(2, 2), shards=(4, 4), dtype="i4")
    array[:] = np.arange(20).reshape(5, 4)
    assert "x/zarr.json" in shelf.values
    again = omnizarr.open_group(shelf, mode="r")
    assert again.attrs["a"] == 1
    assert list(again) == ["x"]
    np.testing.assert_array_equal(again["x"][1:4, ::2], np.arange(20).reshape(5, 4)[1:4, ::2])
    del group["x"]
    assert sorted(shelf.values) == ["zarr.json"]


def test_a_read_only_store_refuses_changes() -> None:
    with pytest.raises(omnizarr.errors.ReadOnlyError):
        omnizarr.create_group(Shelf(read_only=True))


def test_ranges_of_one_value_are_joined() -> None:
    asked = []

    class Counting(Shelf):
        async def get(self, key: str, prototype: Any, byte_range: Any = None) -> Any:
            asked.append(byte_range)
            return await super().get(key, prototype, byte_range)

    async def read() -> dict[int, bytes]:
        found = {}
        parts = [RangeByteRequest(6, 9), RangeByteRequest(0, 2), None, RangeByteRequest(90, 95)]
        ranges = store.get_ranges("k", parts, prototype=default_buffer_prototype(), max_gap_bytes=4)
        async for answers in ranges:
            found.update({index: value.to_bytes() for index, value in answers if value})
        return found

    store = Counting()
    store.values["k"] = bytes(range(100))
    assert asyncio.run(read()) == {
        0: bytes(range(6, 9)),
        1: bytes(range(2)),
        2: bytes(range(100)),
        3: bytes(range(90, 95)),
    }
    assert RangeByteRequest(0, 9) in asked
    assert len(asked) == 3
    store.values.clear()
    with pytest.raises(ExceptionGroup):
        asyncio.run(read())


def test_codecs_of_the_interface_encode_and_decode() -> None:
    register_codec("test_invert", Invert)
    register_codec("test_negate", Negate)
    store = omnizarr.MemoryStore()
    data = np.arange(12, dtype="i2").reshape(3, 4)
    array = omnizarr.create_array(
        store, shape=(3, 4), chunks=(3, 4), dtype="i2", filters=[Negate()], compressors=[Invert()]
    )
    array[:] = data
    assert store["c/0/0"] == bytes(255 - b for b in (-data).tobytes())
    np.testing.assert_array_equal(omnizarr.open_array(store)[:], data)
    assert get_codec_class("test_invert") is Invert


def test_own_codecs_are_seen_as_the_kinds_of_the_interface() -> None:
    assert isinstance(omnizarr.codecs.GzipCodec(), BytesBytesCodec)
    assert isinstance(omnizarr.codecs.BytesCodec(), ArrayBytesCodec)
    assert isinstance(omnizarr.codecs.TransposeCodec(order=(0,)), ArrayArrayCodec)
    assert not isinstance(omnizarr.codecs.GzipCodec(), ArrayBytesCodec)
    assert not isinstance(3, BaseCodec)
    assert get_codec_class("gzip") is omnizarr.codecs.GzipCodec
    with pytest.raises(UnknownCodecError, match="no_such"):
        get_codec_class("no_such")


def test_buffers_keep_bytes_and_elements() -> None:
    buffer = cpu.Buffer.from_bytes(b"abc") + cpu.Buffer.from_bytes(b"de")
    assert buffer.to_bytes() == b"abcde"
    assert buffer[1:3] == cpu.Buffer.from_bytes(b"bc")
    with pytest.raises(ValueError, match="contiguous"):
        buffer[::2]
    zeros = cpu.NDBuffer.create(shape=(2, 2), dtype="f4", fill_value=0.0)
    assert zeros.all_equal(0.0)
    assert not zeros.all_equal(-0.0)
    zeros[0, 0] = np.nan
    assert cpu.NDBuffer.from_numpy_array([np.nan]).all_equal(np.nan)
    assert not zeros.all_equal(np.nan)
