"""`StoreSuite`: the rules of `omnizarr.model.store`, as tests that any store can be put to.

    class TestMyStore(StoreSuite):
        def make_store(self, folder):            # a new, empty store
            return MyStore(folder / "x")

        def reopen(self, store):                 # where values outlive the object
            store.close()
            return MyStore(store.path)

Every test gets a fresh `store`. What a store cannot do it says in the class attributes; the suite
then checks that it refuses, so nothing is skipped silently.

This module knows the interface of stores. It must not know any one store.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from omnizarr.errors import InvalidKeyError, ReadOnlyError, StoreClosedError, StoreError
from omnizarr.model.store import ByteRange, Store, listing_of
from omnizarr.stores.wrappers.base import ReadOnlyStore
from omnizarr.testing.packages import given, pytest, st
from omnizarr.testing.store_cases import (
    HOSTILE_KEYS,
    KEYS,
    RANGES,
    VALID_KEYS,
    VALUES,
    in_threads,
    plain,
    quick,
    some,
    without_nesting,
)
from omnizarr.testing.store_concurrency import StoreConcurrency
from omnizarr.testing.store_reading import ReadingSuite


class StoreSuite(StoreConcurrency, ReadingSuite):
    """Every rule of a store, as tests: subclass it as `Test…` and define `make_store`.

    Examples
    --------
    >>> class TestMyStore(omnizarr.testing.StoreSuite):
    ...     def make_store(self, folder):
    ...         return omnizarr.LocalStore(folder / "x")
    """

    refuses_after_close = False
    """Does a closed store raise `StoreClosedError`? (One that holds nothing need not.)"""
    large_bytes = 8 << 20

    def make_store(self, folder: Path) -> Store:
        """Make a new, empty store.

        Parameters
        ----------
        folder
            An empty directory for its use.

        Examples
        --------
        >>> class TestMyStore(omnizarr.testing.StoreSuite):
        ...     def make_store(self, folder):
        ...         return omnizarr.MemoryStore()
        >>> TestMyStore().make_store(None)
        MemoryStore(<0 keys>)
        """
        raise AssertionError(f"{type(self).__name__} must define make_store(folder)")

    def store_with(self, folder: Path, values: Mapping[str, bytes]) -> Store:
        store = self.make_store(folder)
        items = list(values.items())
        in_threads(lambda worker: _set_all(store, items[worker::8]), 8)
        return store

    def reopen(self, store: Store) -> Store:
        """Give another handle on the values of a store; the store itself if they exist only there.

        Parameters
        ----------
        store
            The store.

        Examples
        --------
        >>> class TestMyStore(omnizarr.testing.StoreSuite):
        ...     def make_store(self, folder):
        ...         return omnizarr.LocalStore(folder / "x")
        ...
        ...     def reopen(self, store):
        ...         return omnizarr.LocalStore(store.root)
        """
        return store

    def as_read_only(self, store: Store) -> Store:
        """Give the same values as a store that refuses changes.

        Parameters
        ----------
        store
            The store.

        Examples
        --------
        >>> omnizarr.testing.StoreSuite().as_read_only(omnizarr.MemoryStore()).read_only
        True
        """
        return ReadOnlyStore(store)

    @pytest.fixture
    def store(self, tmp_path: Path) -> Iterator[Store]:
        store = self.make_store(tmp_path)
        yield store
        store.close()

    # -- values -------------------------------------------------------------------------------
    def test_starts_empty(self, store: Store) -> None:
        assert list(store.list()) == []
        assert store.list_dir("") == ([], [])
        assert store.get("a") is None
        assert store.size("a") is None
        assert not store.exists("a")

    def test_set_and_get(self, store: Store) -> None:
        store.set("a/b", b"value")
        assert some(store.get("a/b")) == b"value"
        assert store.size("a/b") == 5
        assert store.exists("a/b")
        assert store.get("a") is None, "a prefix is not a value"
        assert store.size("a") is None
        assert not store.exists("a")
        assert store.get("a/b/c") is None, "no key is below a value"
        assert store.size("a/b/c") is None

    def test_replacing(self, store: Store) -> None:
        for value in (b"first", b"2", b"", b"a longer one than the first"):
            store.set("k", value)
            assert some(store.get("k")) == value
        assert list(store.list()) == ["k"]

    def test_an_empty_value_is_a_value(self, store: Store) -> None:
        store.set("empty", b"")
        assert some(store.get("empty")) == b""
        assert some(store.get("empty", ByteRange(-5))) == b""
        assert store.size("empty") == 0
        assert store.exists("empty")
        assert list(store.list()) == ["empty"]

    def test_a_large_value(self, store: Store) -> None:
        value = bytes(range(256)) * (self.large_bytes // 256)
        store.set("large", value)
        assert some(store.get("large")) == value
        assert store.size("large") == len(value)
        assert some(store.get("large", ByteRange(-3))) == value[-3:]
        assert some(store.get("large", ByteRange(1 << 20, (1 << 20) + 9))) == value[:9]

    @pytest.mark.parametrize("kind", [bytes, bytearray, memoryview])
    def test_every_kind_of_buffer(self, store: Store, kind: Callable[[bytes], bytes]) -> None:
        for length in (0, 5, 100_000):
            store.set("k", kind(b"x" * length))
            assert some(store.get("k")) == b"x" * length

    def test_a_buffer_of_wide_items(self, store: Store) -> None:
        for count in (3, 50_000):
            value = bytearray(bytes(range(8)) * count)
            wide: Any = memoryview(value).cast("d")
            store.set("k", wide)
            assert some(store.get("k")) == value
            store.set("k", memoryview(value)[::2])
            assert some(store.get("k")) == value[::2]

    @pytest.mark.parametrize("length", [5, 100_000])
    def test_the_store_keeps_its_own_copy(self, store: Store, length: int) -> None:
        source = bytearray(b"x" * length)
        store.set("k", source)
        store.set("m", memoryview(source))
        store.set_if_absent("n", source)
        source[:] = b"y" * length
        for key in "kmn":
            assert some(store.get(key)) == b"x" * length

    def test_values_persist(self, store: Store) -> None:
        values = {"a/b": b"1", "c": b"", "d/e/f": b"x" * 100_000}
        for key, value in values.items():
            store.set(key, value)
        again = self.reopen(store)
        assert {key: some(again.get(key)) for key in again.list()} == values
        again.set("c", b"changed")
        again.delete("a/b")
        last = self.reopen(again)
        assert some(last.get("c")) == b"changed"
        assert list(last.list()) == ["c", "d/e/f"]
        last.close()

    # -- keys ---------------------------------------------------------------------------------
    @pytest.mark.parametrize("key", VALID_KEYS)
    def test_valid_keys(self, store: Store, key: str) -> None:
        store.set(key, key.encode())
        assert list(store.list()) == [key]
        assert some(store.get(key)) == key.encode()
        store = self.reopen(store)
        assert list(store.list()) == [key]
        assert some(store.get(key)) == key.encode()
        store.delete(key)
        assert list(store.list()) == []
        store.close()

    @pytest.mark.parametrize("key", HOSTILE_KEYS)
    def test_hostile_keys_are_refused(self, store: Store, key: str) -> None:
        calls: list[Callable[[], object]] = [
            lambda: store.get(key),
            lambda: store.get(key, ByteRange(0, 1)),
            lambda: store.get_many([(key, None)]),
            lambda: store.exists(key),
            lambda: store.size(key),
            lambda: store.set(key, b"x"),
            lambda: store.set_if_absent(key, b"x"),
            lambda: store.delete(key),
            lambda: list(store.list_prefix(key + "/")),
            lambda: store.list_dir(key + "/"),
            lambda: store.delete_prefix(key + "/"),
            lambda: store.move_prefix(key + "/", "x/"),
            lambda: store.move_prefix("x/", key + "/"),
        ]
        store.set("x/y", b"1")
        for call in calls:
            with pytest.raises(InvalidKeyError):
                call()
        assert list(store.list()) == ["x/y"]

    @pytest.mark.parametrize("prefix", ["a", "ab/c", "/"])
    def test_a_prefix_ends_with_a_slash(self, store: Store, prefix: str) -> None:
        for call in (store.list_prefix, store.list_dir, store.delete_prefix):
            with pytest.raises(InvalidKeyError):
                call(prefix)

    # -- ranges -------------------------------------------------------------------------------
    @quick
    @given(value=st.binary(max_size=30), byte_range=RANGES)
    def test_ranges_mean_slices(
        self, store: Store, value: bytes, byte_range: ByteRange | None
    ) -> None:
        store.set("k", value)
        expected = value if byte_range is None else value[byte_range.start : byte_range.stop]
        assert some(store.get("k", byte_range)) == expected
        assert store.get("missing", byte_range) is None

    @pytest.mark.parametrize("byte_range", [ByteRange(-4, 2), ByteRange(0, -1), ByteRange(-1, -1)])
    def test_ranges_without_meaning_are_refused(self, store: Store, byte_range: ByteRange) -> None:
        store.set("k", b"0123456789")
        with pytest.raises(StoreError):
            store.get("k", byte_range)

    def test_a_range_far_beyond_the_end_allocates_nothing(self, store: Store) -> None:
        store.set("k", b"0123456789")
        assert some(store.get("k", ByteRange(8, 1 << 60))) == b"89"
        assert some(store.get("k", ByteRange(1 << 60))) == b""
        assert bytes(some(store.get("k", ByteRange(-(1 << 60))))) == b"0123456789"

    @quick
    @given(requests=st.lists(st.tuples(st.sampled_from(["a", "b/c", "no"]), RANGES), max_size=12))
    def test_a_batch_is_its_requests(
        self, store: Store, requests: list[tuple[str, ByteRange | None]]
    ) -> None:
        store.set("a", b"0123456789" * 3)
        store.set("b/c", b"abcdef")
        expected = [store.get(key, byte_range) for key, byte_range in requests]
        assert plain(store.get_many(requests)) == plain(expected)

    # -- deleting -----------------------------------------------------------------------------
    def test_deleting(self, store: Store) -> None:
        store.set("a/b", b"1")
        store.set("a/c", b"2")
        store.delete("a/b")
        store.delete("a/b")
        store.delete("never/there")
        store.delete("a")
        assert store.get("a/b") is None
        assert list(store.list()) == ["a/c"]
        store.delete("a/c")
        assert store.list_dir("") == ([], []), "an emptied prefix is gone"

    def test_delete_prefix_leaves_siblings(self, store: Store) -> None:
        keys = ["a-b", "a.b", "a/b", "a/c/d", "ab", "ab/c", "b"]
        for key in without_nesting(keys):
            store.set(key, b"x")
        store.delete_prefix("a/")
        assert list(store.list()) == ["a-b", "a.b", "ab", "b"]
        store.delete_prefix("a/")
        store.delete_prefix("b/")
        assert list(store.list()) == ["a-b", "a.b", "ab", "b"], "b is a value, not a prefix"
        store.delete_prefix("")
        assert list(store.list()) == []
        store.set("a/b", b"again")
        assert list(store.list()) == ["a/b"]

    def test_move_prefix(self, store: Store) -> None:
        for key in ("a/b", "a/c/d", "ab", "x/y"):
            store.set(key, key.encode())
        store.move_prefix("a/", "p/q/")
        assert list(store.list()) == ["ab", "p/q/b", "p/q/c/d", "x/y"]
        assert some(store.get("p/q/c/d")) == b"a/c/d"
        assert store.list_dir("a/") == ([], [])
        store.move_prefix("nothing/", "z/")
        for source, target in (("p/", "p/q/r/"), ("p/", "p/"), ("p/", "x/")):
            with pytest.raises(StoreError):
                store.move_prefix(source, target)
        assert list(store.list()) == ["ab", "p/q/b", "p/q/c/d", "x/y"]

    # -- listing ------------------------------------------------------------------------------
    @quick
    @given(st.lists(KEYS, max_size=8), st.lists(KEYS, max_size=3))
    def test_listings_are_those_of_a_dict(
        self, store: Store, keys: list[str], deleted: list[str]
    ) -> None:
        store.delete_prefix("")
        present = set(without_nesting(keys))
        for key in present:
            store.set(key, key.encode())
        for key in deleted:
            store.delete(key)
            present.discard(key)
        assert list(store.list()) == sorted(present)
        prefixes = {key[: at + 1] for key in keys for at in range(len(key)) if key[at] == "/"}
        for prefix in {"", "a/", *prefixes}:
            below = sorted(key for key in present if key.startswith(prefix))
            assert list(store.list_prefix(prefix)) == below
            assert store.list_dir(prefix) == listing_of(below, prefix)

    # -- a whole life -------------------------------------------------------------------------
    @quick
    @given(
        st.lists(
            st.tuples(
                st.sampled_from(["set", "absent", "delete", "delete_prefix", "reopen"]),
                st.sampled_from(["a/x", "a/y", "ab", "b/c/d", "b/c/e"]),
                VALUES,
            ),
            max_size=15,
        )
    )
    def test_a_dict_is_the_model(self, tmp_path: Path, steps: list[tuple[str, str, bytes]]) -> None:
        store = self.make_store(Path(tempfile.mkdtemp(dir=tmp_path)))
        model: dict[str, bytes] = {}
        for operation, key, value in steps:
            if operation == "set":
                store.set(key, value)
                model[key] = value
            elif operation == "absent":
                assert store.set_if_absent(key, value) == (key not in model)
                model.setdefault(key, value)
            elif operation == "delete":
                store.delete(key)
                model.pop(key, None)
            elif operation == "delete_prefix":
                prefix = key.rpartition("/")[0] + "/" if "/" in key else ""
                store.delete_prefix(prefix)
                model = {
                    other: kept for other, kept in model.items() if not other.startswith(prefix)
                }
            elif operation == "reopen":
                store = self.reopen(store)
            assert {found: some(store.get(found)) for found in store.list()} == model
            assert {found: store.size(found) for found in model} == {
                found: len(kept) for found, kept in model.items()
            }
        store.close()

    # -- refusals -----------------------------------------------------------------------------
    def test_read_only(self, store: Store) -> None:
        store.set("a/b", b"1")
        frozen = self.as_read_only(store)
        assert frozen.read_only
        assert some(frozen.get("a/b")) == b"1"
        assert list(frozen.list()) == ["a/b"]
        changes: list[Callable[[], object]] = [
            lambda: frozen.set("a/b", b"2"),
            lambda: frozen.set_if_absent("new", b"2"),
            lambda: frozen.delete("a/b"),
            lambda: frozen.delete("missing"),
            lambda: frozen.delete_prefix("a/"),
            lambda: frozen.delete_prefix("missing/"),
            lambda: frozen.delete_prefix(""),
            lambda: frozen.move_prefix("a/", "b/"),
        ]
        for change in changes:
            with pytest.raises(ReadOnlyError):
                change()
        assert {key: some(frozen.get(key)) for key in frozen.list()} == {"a/b": b"1"}

    def test_closing(self, store: Store) -> None:
        store.set("a", b"1")
        store.close()
        store.close()
        calls: list[Callable[[], object]] = [
            lambda: store.get("a"),
            lambda: store.get_many([("a", None)]),
            lambda: store.size("a"),
            lambda: store.exists("a"),
            lambda: list(store.list()),
            lambda: store.list_dir(""),
            lambda: store.set("b", b"2"),
            lambda: store.set_if_absent("b", b"2"),
            lambda: store.delete("a"),
        ]
        for call in calls:
            if self.refuses_after_close:
                with pytest.raises(StoreClosedError):
                    call()
            else:
                call()

    def test_a_context_manager(self, tmp_path: Path) -> None:
        with self.make_store(tmp_path) as store:
            store.set("a", b"1")
            assert some(store.get("a")) == b"1"

    def test_a_store_is_a_value(self, store: Store, tmp_path: Path) -> None:
        folder = tmp_path / "other"
        folder.mkdir()
        other = self.make_store(folder)
        assert store == store and hash(store) == hash(store)
        assert store != other
        assert store.locate("a/b") == store.locate("a/b")
        assert store.locate("a/b") != store.locate("a/c")
        assert store.locate("a/b") != other.locate("a/b")
        assert len(repr(store)) < 300
        other.close()


def _set_all(store: Store, items: list[tuple[str, bytes]]) -> None:
    for key, value in items:
        store.set(key, value)
