from __future__ import annotations

import os
import threading

from omnizarr.runtime.properties import cached_property
from tests.stores.databases.forking import in_child, needs_fork


class Sample:
    def __init__(self) -> None:
        self.calls = 0
        self.begun, self.go_on = threading.Event(), threading.Event()

    @cached_property
    def value(self) -> list[int]:
        """What it is."""
        self.calls += 1
        return [self.calls]

    @cached_property
    def slow(self) -> int:
        self.begun.set()
        self.go_on.wait(60)
        return os.getpid()


def test_the_value_is_computed_once_and_kept_in_the_object() -> None:
    sample = Sample()
    assert sample.value is sample.value
    assert sample.calls == 1
    assert sample.__dict__["value"] == [1]
    del sample.__dict__["value"]
    assert sample.value == [2]
    assert Sample().value == [1]
    assert Sample.value.__doc__ == "What it is."


def test_threads_that_compute_at_once_get_one_value() -> None:
    first = threading.Barrier(2)

    class Shared:
        @cached_property
        def value(self) -> object:
            first.wait(60)
            return object()

    shared = Shared()
    found: list[object] = []
    threads = [threading.Thread(target=lambda: found.append(shared.value)) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found[0] is found[1] is shared.value


@needs_fork
def test_a_child_does_not_wait_for_a_thread_of_its_parent() -> None:
    sample, other = Sample(), Sample()
    other.go_on.set()
    thread = threading.Thread(target=lambda: sample.slow)
    thread.start()
    sample.begun.wait(60)
    try:
        assert in_child(lambda: 0 if other.slow == os.getpid() else 2) == 0
    finally:
        sample.go_on.set()
        thread.join()
