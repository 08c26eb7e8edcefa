"""The part of the store suite in which several threads or processes use one store.

This module knows the interface of stores. It must not know any one store.
"""

from __future__ import annotations

import os
import pickle
import threading

from omnizarr.errors import StoreError
from omnizarr.model.store import ByteRange, Store
from omnizarr.testing.packages import pytest
from omnizarr.testing.store_cases import elsewhere, in_threads, some


class StoreConcurrency:
    """A base of `StoreSuite`, which makes the stores."""

    picklable = True
    """Can an open store that was written to be pickled?"""
    writes_in_a_forked_child = True

    # -- several at once ----------------------------------------------------------------------
    def test_replacing_is_atomic_for_readers(self, store: Store) -> None:
        first, second = b"a" * 70_000, b"b" * 90_000
        store.set("k", first)
        stop = threading.Event()
        wrong: list[object] = []

        def read() -> None:
            while not stop.is_set():
                value = store.get("k")
                if value is None or bytes(value) not in (first, second):
                    wrong.append(value if value is None else len(value))

        readers = [threading.Thread(target=read) for _ in range(3)]
        for reader in readers:
            reader.start()
        for turn in range(60):
            store.set("k", second if turn % 2 == 0 else first)
        stop.set()
        for reader in readers:
            reader.join()
        assert wrong == []

    def test_threads_write_their_own_keys(self, store: Store) -> None:
        def work(worker: int) -> None:
            for i in range(25):
                store.set(f"{worker}/{i}", bytes([worker]) * (i * 5000 + 1))

        in_threads(work, 4)
        for worker in range(4):
            for i in range(25):
                expected = bytes([worker]) * (i * 5000 + 1)
                assert some(store.get(f"{worker}/{i}")) == expected
        assert len(list(store.list())) == 100

    def test_set_if_absent_has_one_winner(self, store: Store) -> None:
        assert store.set_if_absent("k", b"first")
        assert not store.set_if_absent("k", b"second")
        assert some(store.get("k")) == b"first"
        if store.capabilities.conditional:
            winners: list[int] = []

            def work(worker: int) -> None:
                for i in range(20):
                    if store.set_if_absent(f"race/{i}", bytes([worker])):
                        winners.append(i)

            in_threads(work, 4)
            assert sorted(winners) == list(range(20))

    def test_versions(self, store: Store) -> None:
        if not store.capabilities.versions:
            with pytest.raises(StoreError):
                store.get_versioned("k")
            with pytest.raises(StoreError):
                store.set_if_version("k", b"1", None)
            return
        assert store.get_versioned("k") is None
        assert store.set_if_version("k", b"first", None)
        assert not store.set_if_version("k", b"lost", None)
        first = store.get_versioned("k")
        assert first is not None and some(first.value) == b"first"
        part = store.get_versioned("k", ByteRange(-2))
        assert part is not None and (some(part.value), part.version) == (b"st", first.version)
        assert store.set_if_version("k", b"second", first.version)
        assert not store.set_if_version("k", b"late", first.version)
        second = store.get_versioned("k")
        assert second is not None and some(second.value) == b"second"
        assert second.version != first.version
        store.delete("k")
        assert not store.set_if_version("k", b"gone", second.version)
        assert store.get("k") is None

    def test_counting_with_versions(self, store: Store) -> None:
        if not store.capabilities.versions:
            return  # `test_versions` has seen that it refuses

        def work(worker: int) -> None:
            for _ in range(10):
                while True:
                    found = store.get_versioned("n")
                    count, version = (0, None) if found is None else (int(some(found[0])), found[1])
                    if store.set_if_version("n", str(count + 1).encode(), version):
                        break

        in_threads(work, 4)
        assert some(store.get("n")) == b"40"

    def test_counting_under_a_lock(self, store: Store) -> None:
        guard = threading.Lock()  # what the engine takes first, in every process

        def work(worker: int) -> None:
            for _ in range(25):
                with guard, store.lock("n/count"):
                    value = store.get("n/count")
                    count = int(bytes(value)) if value is not None else 0
                    store.set("n/count", str(count + 1).encode())

        in_threads(work, 4)
        assert some(store.get("n/count")) == b"100"
        assert list(store.list()) == ["n/count"], "a lock is not listed"

    def test_a_lock_needs_no_value(self, store: Store) -> None:
        with store.lock("not/there"):
            assert store.get("not/there") is None
        assert list(store.list()) == []
        assert store.list_dir("") == ([], [])

    # -- other processes ----------------------------------------------------------------------
    def test_pickling_to_another_process(self, store: Store) -> None:
        store.set("a/b", b"carried")
        if not self.picklable:
            with pytest.raises(TypeError):
                pickle.dumps(store)
            return
        asked = "bytes(store.get('a/b')) + repr(list(store.list())).encode()"
        assert elsewhere(store, asked) == b"carried['a/b']"

    @pytest.mark.skipif(not hasattr(os, "fork"), reason="this platform has no fork")
    def test_a_forked_child(self, store: Store) -> None:
        store.set("a/b", b"before")
        child = os.fork()
        if child == 0:  # no assert here: an exception must not run the tests a second time
            code = 1
            try:
                code = 2 if some(store.get("a/b")) != b"before" else 0
                if self.writes_in_a_forked_child:
                    store.set("a/c", b"child")
                    code = code or (0 if store.exists("a/c") else 3)
                else:
                    try:
                        store.set("a/c", b"child")
                        code = 4
                    except StoreError:
                        pass
                store.close()
            finally:
                os._exit(code)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
        store.set("a/d", b"after")
        assert some(store.get("a/b")) == b"before"
        assert some(store.get("a/d")) == b"after"
