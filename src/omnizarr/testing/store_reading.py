"""`ReadingSuite`: the rules for reading and listing, for a store with given values.

    class TestMyServer(ReadingSuite):
        def store_with(self, folder, values):        # a store that holds just these values
            ...

This module knows the interface of stores. It must not know any one store.
"""

from __future__ import annotations

import os
import pickle
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

from omnizarr.errors import InvalidKeyError, ReadOnlyError, StoreError
from omnizarr.model.store import ByteRange, Store, listing_of
from omnizarr.testing.packages import given, pytest, st
from omnizarr.testing.store_cases import (
    HOSTILE_KEYS,
    RANGES,
    VALID_KEYS,
    elsewhere,
    in_threads,
    plain,
    quick,
    some,
    without_nesting,
)

SAMPLE = {
    "zarr.json": b"{}",
    "a/b": b"0123456789" * 3,
    "a/c/d": b"abcdef",
    "ab": b"x",
    "empty": b"",
    "e/large": bytes(range(256)) * 1024,
}


class ReadingSuite:
    """Subclass it, name the subclass `Test…`, and define `store_with`.

    Examples
    --------
    >>> class TestMyStore(omnizarr.testing.ReadingSuite):
    ...     def store_with(self, folder, values):
    ...         return omnizarr.MemoryStore(dict(values), read_only=True)
    """

    picklable = True
    listable = True
    """Can it tell which keys it has? If not, it must say so and never answer "none"."""
    many_keys = 10_000
    valid_keys = VALID_KEYS

    def store_with(self, folder: Path, values: Mapping[str, bytes]) -> Store:
        """Make a store that holds just these values.

        Parameters
        ----------
        folder
            An empty directory for its use.
        values
            The bytes of every key.

        Examples
        --------
        >>> class TestMyStore(omnizarr.testing.ReadingSuite):
        ...     def store_with(self, folder, values):
        ...         return omnizarr.MemoryStore(dict(values), read_only=True)
        >>> list(TestMyStore().store_with(None, {"a": b"1"}))
        ['a']
        """
        raise AssertionError(f"{type(self).__name__} must define store_with(folder, values)")

    @pytest.fixture
    def filled(self, tmp_path: Path) -> Iterator[Store]:
        with self.store_with(tmp_path, SAMPLE) as store:
            yield store

    # -- values -------------------------------------------------------------------------------
    def test_reading_values(self, filled: Store) -> None:
        for key, value in SAMPLE.items():
            assert some(filled.get(key)) == value
            assert filled.size(key) == len(value)
            assert filled.exists(key)
        for key in ("a", "a/b/c", "missing", "a/c", "zarr.json2", "A/B"):
            assert filled.get(key) is None
            assert filled.get(key, ByteRange(0, 4)) is None
            assert filled.get(key, ByteRange(-4)) is None
            assert filled.size(key) is None
            assert not filled.exists(key)

    @quick
    @given(key=st.sampled_from(["a/b", "a/c/d", "empty", "no"]), byte_range=RANGES)
    def test_reading_ranges(self, filled: Store, key: str, byte_range: ByteRange | None) -> None:
        value = SAMPLE.get(key)
        found = filled.get(key, byte_range)
        if value is None:
            assert found is None
        else:
            start, stop = byte_range or (0, None)
            assert some(found) == value[start:stop]

    def test_reading_far_ranges(self, filled: Store) -> None:
        assert some(filled.get("a/b", ByteRange(28, 1 << 60))) == b"89"
        assert some(filled.get("a/b", ByteRange(1 << 60))) == b""
        assert some(filled.get("a/b", ByteRange(-(1 << 60)))) == SAMPLE["a/b"]
        for meaningless in (ByteRange(-4, 2), ByteRange(0, -1), ByteRange(-1, -1)):
            with pytest.raises(StoreError):
                filled.get("a/b", meaningless)

    def test_reading_a_batch(self, filled: Store) -> None:
        keys = [*SAMPLE, "missing", "a"]
        ranges = (None, ByteRange(2, 5), ByteRange(-3), ByteRange(100))
        requests = [(key, byte_range) for key in keys for byte_range in ranges]
        expected = [filled.get(*request) for request in requests]
        assert plain(filled.get_many(requests)) == plain(expected)
        assert filled.get_many([]) == []

    def test_reading_parts_of_one_value(self, filled: Store) -> None:
        with filled.snapshot("e/large") as read:
            for part in (ByteRange(-16), ByteRange(0, 100), ByteRange(5000, 70_000), None):
                start, stop = part or (0, None)
                assert some(read(part)) == SAMPLE["e/large"][start:stop]
        with filled.snapshot("missing") as read:
            assert read(ByteRange(-16)) is None

    def test_reading_unusual_keys(self, tmp_path: Path) -> None:
        values = {key: key.encode() for key in without_nesting(list(self.valid_keys))}
        with self.store_with(tmp_path, values) as store:
            assert {key: some(store.get(key)) for key in values} == values
            if self.listable:
                assert list(store.list()) == sorted(values)

    @pytest.mark.parametrize("key", HOSTILE_KEYS)
    def test_reading_hostile_keys(self, filled: Store, key: str) -> None:
        calls: list[Callable[[], object]] = [
            lambda: filled.get(key),
            lambda: filled.get(key, ByteRange(0, 1)),
            lambda: filled.get_many([(key, None)]),
            lambda: filled.exists(key),
            lambda: filled.size(key),
            lambda: list(filled.list_prefix(key + "/")),
            lambda: filled.list_dir(key + "/"),
        ]
        for call in calls:
            with pytest.raises(InvalidKeyError):
                call()

    # -- listing ------------------------------------------------------------------------------
    def test_listing(self, filled: Store) -> None:
        if not self.listable:
            calls: tuple[Callable[[], object], ...] = (
                lambda: list(filled.list()),
                lambda: list(filled.list_prefix("a/")),
                lambda: filled.list_dir("a/"),
                lambda: filled.list_dir(""),
            )
            for call in calls:
                with pytest.raises(StoreError):
                    call()
            return
        assert list(filled.list()) == sorted(SAMPLE)
        for prefix in ("", "a/", "a/c/", "e/", "none/"):
            assert list(filled.list_prefix(prefix)) == sorted(
                key for key in SAMPLE if key.startswith(prefix)
            )
            assert filled.list_dir(prefix) == listing_of(SAMPLE, prefix)

    def test_reading_many_keys(self, tmp_path: Path) -> None:
        values = {f"c/{i % 10}/{i}": f"c/{i % 10}/{i}".encode() for i in range(self.many_keys)}
        with self.store_with(tmp_path, values) as store:
            found = store.get_many([(key, None) for key in values])
            assert [some(value) for value in found] == list(values.values())
            if self.listable:
                assert list(store.list()) == sorted(values)
                assert store.list_dir("c/").prefixes == [f"c/{i}/" for i in range(10)]

    # -- refusals and company -----------------------------------------------------------------
    def test_refusing_changes(self, filled: Store) -> None:
        if not filled.read_only:
            return  # `StoreSuite` looks at what can be written
        changes: list[Callable[[], object]] = [
            lambda: filled.set("a/b", b"2"),
            lambda: filled.set_if_absent("new", b"2"),
            lambda: filled.delete("a/b"),
            lambda: filled.delete("missing"),
            lambda: filled.delete_prefix("a/"),
            lambda: filled.move_prefix("a/", "b/"),
        ]
        for change in changes:
            with pytest.raises(ReadOnlyError):
                change()
        assert some(filled.get("a/b")) == SAMPLE["a/b"]

    def test_reading_in_threads(self, filled: Store) -> None:
        def work(worker: int) -> None:
            for _ in range(20):
                for key, value in SAMPLE.items():
                    assert some(filled.get(key)) == value

        in_threads(work, 8)

    def test_reading_in_another_process(self, filled: Store) -> None:
        if not self.picklable:
            with pytest.raises(TypeError):
                pickle.dumps(filled)
            return
        assert elsewhere(filled, "bytes(store.get('a/c/d'))") == SAMPLE["a/c/d"]

    @pytest.mark.skipif(not hasattr(os, "fork"), reason="this platform has no fork")
    def test_reading_in_a_forked_child(self, filled: Store) -> None:
        assert some(filled.get("a/c/d")) == SAMPLE["a/c/d"]
        child = os.fork()
        if child == 0:  # no assert here: an exception must not run the tests a second time
            code = 1
            try:
                requests = [(key, None) for key in SAMPLE]
                code = 0 if plain(filled.get_many(requests)) == list(SAMPLE.values()) else 2
            finally:
                os._exit(code)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
        assert some(filled.get("a/b")) == SAMPLE["a/b"]

    def test_a_short_repr(self, filled: Store) -> None:
        assert len(repr(filled)) < 300
        assert filled == filled and hash(filled) == hash(filled)
