"""MappingStore: whatever a mapping does, the store keeps its rules."""

from __future__ import annotations

from collections import UserDict
from collections.abc import Iterator, MutableMapping
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np
import pytest

from omnizarr.errors import ReadOnlyError, StoreError
from omnizarr.stores import ByteRange, KVStore, MappingStore
from omnizarr.testing import StoreSuite


class TestMappingStore(StoreSuite):
    def make_store(self, folder: Path) -> MappingStore:
        return MappingStore({})


@pytest.mark.slow
class TestUserDict(StoreSuite):
    def make_store(self, folder: Path) -> MappingStore:
        return MappingStore(UserDict())


class Failing(MutableMapping[str, bytes]):
    """A mapping whose place is out of order."""

    def __init__(self, error: Exception) -> None:
        self.error = error

    def _fail(self, *_: Any) -> Any:
        raise self.error

    __getitem__ = __setitem__ = __delitem__ = __contains__ = _fail  # type: ignore[assignment]

    def __iter__(self) -> Iterator[str]:
        raise self.error

    def __len__(self) -> int:
        raise self.error


@pytest.mark.parametrize("error", [RuntimeError("lost"), ConnectionError("reset"), ValueError("x")])
def test_a_failure_is_never_a_missing_key(error: Exception) -> None:
    store = MappingStore(Failing(error))
    for call in (
        lambda: store.get("a"),
        lambda: store.set("a", b"1"),
        lambda: store.delete("a"),
    ):
        with pytest.raises(OSError) as raised:
            call()
        assert raised.value is error or raised.value.__cause__ is error


def test_values_may_be_any_buffer() -> None:
    array = np.arange(6, dtype="u2").reshape(2, 3)
    store = MappingStore(
        {"a": bytearray(b"012"), "b": memoryview(b"012"), "c": array, "d": array.T, "e": array[:0]}
    )
    assert bytes(store.get("a", ByteRange(1)) or b"") == b"12"
    assert bytes(store.get("b", ByteRange(-1)) or b"") == b"2"
    assert bytes(store.get("c") or b"") == array.tobytes()
    assert bytes(store.get("c", ByteRange(1, 3)) or b"") == array.tobytes()[1:3]
    assert bytes(store.get("d") or b"") == array.T.tobytes()
    assert store.get("e") == b""
    assert store.size("c") == 12


def test_a_value_that_is_no_buffer_is_named() -> None:
    with pytest.raises(StoreError, match=r"key 'a': the value must be bytes, found str"):
        MappingStore({"a": "text"}).get("a")


def test_what_is_not_a_key_is_not_listed() -> None:
    store = MappingStore({"a": b"", "../b": b"", "/c": b"", 5: b"", "d/": b"", "e//f": b""})  # type: ignore[dict-item]
    assert list(store.list()) == ["a"]


def test_a_mapping_that_cannot_be_written_is_read_only() -> None:
    store = MappingStore(MappingProxyType({"a": b"1"}))
    assert store.read_only
    with pytest.raises(ReadOnlyError):
        store.set("a", b"2")
    with pytest.raises(TypeError):
        MappingStore([1, 2])  # type: ignore[arg-type]
    assert KVStore is MappingStore
