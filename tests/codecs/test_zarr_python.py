"""Codecs that plug into zarr-python: its own classes, offered under names that we do not know."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import zarr as zarr_python
from zarr.codecs import BytesCodec, GzipCodec, TransposeCodec

import omnizarr
from omnizarr.codecs import registry
from omnizarr.errors import DecodeError, MetadataError, UnknownCodecError


def _named(base: Any, name: str) -> Any:
    """One of zarr-python's codecs under another name, as a plug-in would define it."""

    class Plugged(base):  # type: ignore[misc]  # zarr-python's classes are untyped here
        @classmethod
        def from_dict(cls, data: Any) -> Any:
            return cls(**data.get("configuration", {}))

        def to_dict(self) -> Any:
            return {**super().to_dict(), "name": name}

    return Plugged


PLUGGED = {
    "example.gzip": _named(GzipCodec, "example.gzip"),
    "example.bytes": _named(BytesCodec, "example.bytes"),
    "example.transpose": _named(TransposeCodec, "example.transpose"),
    "example.nothing": type("Nothing", (), {"from_dict": classmethod(lambda cls, data: cls())}),
}


@pytest.fixture(autouse=True)
def plugged(monkeypatch: pytest.MonkeyPatch) -> None:
    real = registry._entry_point

    def found(group: str, name: str) -> Any:
        return PLUGGED.get(name) if group == "zarr.codecs" else real(group, name)

    monkeypatch.setattr(registry, "_entry_point", found)


def test_all_three_kinds_in_an_array() -> None:
    data = np.arange(7 * 9, dtype="i4").reshape(7, 9)
    array = omnizarr.create_array(
        None,
        shape=data.shape,
        chunks=(4, 5),
        dtype="i4",
        codecs=[
            {"name": "example.transpose", "configuration": {"order": (1, 0)}},
            {"name": "example.bytes", "configuration": {"endian": "big"}},
            {"name": "example.gzip", "configuration": {"level": 3}},
        ],
    )
    array[...] = data
    array[2:6, 3] = -1
    data[2:6, 3] = -1
    assert np.array_equal(array[...], data)
    assert np.array_equal(array[::2, ::-1], data[::2, ::-1])

    # The same bytes under well-known names: zarr-python itself reads them.
    store = zarr_python.storage.MemoryStore()
    other = zarr_python.create_array(
        store,
        shape=data.shape,
        chunks=(4, 5),
        dtype="i4",
        filters=[TransposeCodec(order=(1, 0))],
        serializer=BytesCodec(endian="big"),
        compressors=[GzipCodec(level=3)],
        chunk_key_encoding={"name": "default", "separator": "/"},
    )
    other[...] = 0
    for key in array.store.list_prefix("c/"):
        buffer = zarr_python.core.buffer.default_buffer_prototype().buffer
        zarr_python.core.sync.sync(store.set(key, buffer.from_bytes(array.store[key])))
    assert np.array_equal(other[...], data)


def test_damage_is_an_error_of_ours() -> None:
    array = omnizarr.create_array(
        None, shape=100, dtype="u1", compressors=[{"name": "example.gzip", "configuration": {}}]
    )
    array[...] = 3
    stored = bytearray(array.store["c/0"])
    stored[12] ^= 255
    array.store["c/0"] = bytes(stored)
    with pytest.raises(DecodeError, match=r"example\.gzip"):
        array[...]


def test_what_cannot_be_used_says_so() -> None:
    def make(codec: Any) -> None:
        omnizarr.create_array(None, shape=3, dtype="u1", compressors=[codec])

    with pytest.raises(MetadataError, match=r"example\.gzip"):
        make({"name": "example.gzip", "configuration": {"level": 99}})
    with pytest.raises(UnknownCodecError, match="no codec of a kind"):
        make({"name": "example.nothing"})
    with pytest.raises(UnknownCodecError, match=r"example\.other"):
        make({"name": "example.other"})
