"""What a store on files that must not cross a fork does when its process is forked."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Callable

import pytest

from omnizarr.errors import StoreError
from omnizarr.stores import ByteRange, Store

needs_fork = pytest.mark.skipif(not hasattr(os, "fork"), reason="this platform has no fork")


def in_child(work: Callable[[], int]) -> int:
    """The number that `work` gives in a forked process; 1 if it raises."""
    child = os.fork()
    if child == 0:
        code = 1
        try:
            signal.alarm(60)  # ends a child that hangs
            code = work()
        finally:
            os._exit(code)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def forking_while_threads_write(store: Store) -> None:
    """Eight children write and read while three threads do."""
    store.set("n", b"0")
    stop = threading.Event()

    def work(worker: int) -> None:
        turn = 0
        while not stop.is_set():
            turn += 1
            store.set(f"{worker}/{turn % 5}", b"x" * 20_000)
            store.get(f"{worker}/{turn % 5}")

    def write(number: int) -> int:
        code = 2
        for _ in range(5):
            store.set(f"child/{number}", b"y" * 50_000)
            code = 0 if store.get(f"child/{number}") == b"y" * 50_000 else 2
        store.close()
        return code

    threads = [threading.Thread(target=work, args=(worker,)) for worker in range(3)]
    for thread in threads:
        thread.start()
    try:
        codes = [in_child(lambda number=number: write(number)) for number in range(8)]  # type: ignore[misc]
    finally:
        stop.set()
        for thread in threads:
            thread.join()
    assert codes == [0] * 8, codes
    assert store.get("child/7") == b"y" * 50_000


def refusing_the_child_of_a_reading_thread(store: Store, snapshot_too: bool) -> None:
    """Neither the store nor the snapshot may be used there; here both go on."""
    store.set("k", b"1" * 100_000)
    with store.snapshot("k") as read:

        def use() -> int:
            calls: list[Callable[[], object]] = [lambda: store.get("k")]
            if snapshot_too:
                calls.append(lambda: read(ByteRange(0, 1)))
            for call in calls:
                try:
                    call()
                    return 2
                except StoreError as error:
                    if "fork" not in str(error) and "parent" not in str(error):
                        return 3
            return 0

        assert in_child(use) == 0
        assert read(ByteRange(0, 1)) == b"1"
    store.set("k", b"2")
    assert store.get("k") == b"2"
