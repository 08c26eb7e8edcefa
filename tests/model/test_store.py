"""What a store gets for writing four methods only, and the helpers of all stores."""

from __future__ import annotations

import pickle
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from omnizarr.errors import ReadOnlyError, StoreError
from omnizarr.model.paths import check_key, check_prefix
from omnizarr.model.store import (
    Buffer,
    ByteRange,
    Capabilities,
    Store,
    listing_of,
    read_range,
    sorted_under,
    span,
)
from omnizarr.testing import StoreSuite


class Smallest(Store):
    """A store that writes only what must be written."""

    def __init__(self) -> None:
        self.values: dict[str, bytes] = {}

    def get(self, key: str, byte_range: ByteRange | None = None) -> Buffer | None:
        value = self.values.get(check_key(key))
        return None if value is None else read_range(value, byte_range)

    def set(self, key: str, value: Buffer) -> None:
        self.values[check_key(key)] = bytes(value)

    def delete(self, key: str) -> None:
        self.values.pop(check_key(key), None)

    def list_prefix(self, prefix: str) -> Iterator[str]:
        return sorted_under(list(self.values), check_prefix(prefix))


class TestSmallest(StoreSuite):
    def make_store(self, folder: Path) -> Store:
        return Smallest()

    def test_pickling_to_another_process(self, store: Store) -> None:
        # Another process could not import this test file.
        store.set("a/b", b"carried")
        assert pickle.loads(pickle.dumps(store)).get("a/b") == b"carried"


@given(st.integers(-30, 30), st.none() | st.integers(-3, 30), st.integers(0, 20))
def test_a_span_is_a_slice(start: int, stop: int | None, size: int) -> None:
    value = bytes(range(size))
    byte_range = ByteRange(start, stop)
    if (start < 0 and stop is not None) or (stop is not None and stop < 0):
        with pytest.raises(StoreError, match="ByteRange"):
            span(byte_range, size)
        return
    first, last = span(byte_range, size)
    assert 0 <= first <= last <= size
    assert value[first:last] == value[start:stop] == read_range(value, byte_range)
    assert read_range(value, None) is value


def test_a_listing_takes_keys_in_any_order() -> None:
    keys = ["b", "a/c", "a-b", "a/b/x", "a/b/y", "ab"]
    assert listing_of(keys, "") == (["a-b", "ab", "b"], ["a/"])
    assert listing_of(keys, "a/") == (["a/c"], ["a/b/"])
    assert listing_of(iter(keys), "zz/") == ([], [])


def test_stores_are_compared_by_what_they_hold() -> None:
    one, two = Smallest(), Smallest()
    assert one == one
    assert one != two
    assert one != "something else"
    assert len({one, two, one}) == 2


def test_deleting_below_a_prefix_of_a_read_only_store() -> None:
    store = Smallest()
    store.read_only = True
    with pytest.raises(ReadOnlyError):
        store.delete_prefix("missing/")


@pytest.mark.parametrize("together", [True, False])
def test_keys_are_deleted_at_once_where_the_store_gains_from_it(together: bool) -> None:
    threads: set[int] = set()
    both = threading.Barrier(2)

    class Slow(Smallest):
        capabilities = Capabilities(requests=2, concurrent_writes=together)

        def delete(self, key: str) -> None:
            threads.add(threading.get_ident())
            if together:
                both.wait(10)
            super().delete(key)

    store = Slow()
    store.values = {"a/0": b"", "a/1": b"", "b": b""}
    store.delete_prefix("a/")
    assert list(store.values) == ["b"]
    assert len(threads) == 1 + together
