"""Keys, values and helpers that the store suite is made of.

This module knows the interface of stores. It must not know any one store.
"""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
import threading
from collections.abc import Callable

from omnizarr.model.paths import MAX_KEY_BYTES, is_key
from omnizarr.model.store import ByteRange
from omnizarr.testing.packages import HealthCheck, settings, st

VALID_KEYS = (
    "a",
    "zarr.json",
    ".zarray",
    "a/b/c/0.0.0",
    "c/0/1/2",
    "with space",
    "grüße/数据/🦒",
    "time:0",
    "...",
    "a..b",
    ".hidden/..double",
    "-dash",
    "per%20cent",
    "x" * 200,
    "/".join(["deep"] * 60),
)
HOSTILE_KEYS = (
    "",
    "/",
    "/abs",
    "a/",
    "a//b",
    "//a",
    ".",
    "..",
    "./a",
    "../x",
    "a/../b",
    "a/./b",
    "a/..",
    "../../etc/passwd",
    "a\\b",
    "..\\x",
    "nul\0",
    "line\nbreak",
    "tab\t",
    "del\x7f",
    "C:",
    "C:/x",
    "c:x",
    "\ud800",
    "x" * (MAX_KEY_BYTES + 1),
    "é" * MAX_KEY_BYTES,
)

# A small alphabet makes names collide: "a" below "a/", "ab" beside "a", "a-b" before "a/b".
_NAMES = st.text(alphabet="ab-.0", min_size=1, max_size=3)
KEYS = st.lists(_NAMES, min_size=1, max_size=3).map("/".join).filter(is_key)
VALUES = st.binary(max_size=20)
RANGES = st.one_of(
    st.none(),
    st.integers(-40, 40).map(lambda start: ByteRange(start)),
    st.tuples(st.integers(0, 40), st.integers(0, 40)).map(lambda pair: ByteRange(*pair)),
)
quick = settings(
    max_examples=60,
    deadline=None,
    suppress_health_check=[
        HealthCheck.function_scoped_fixture,  # the store is emptied instead of made anew
        HealthCheck.differing_executors,  # the suite is meant to be inherited
        HealthCheck.too_slow,
    ],
)


def without_nesting(keys: list[str]) -> list[str]:
    """The keys without those below another one, which a file system cannot hold."""
    kept = set(keys)
    return [key for key in keys if not any(key.startswith(other + "/") for other in kept)]


def some(value: object) -> bytes:
    """The bytes of an answer that must not be None."""
    assert isinstance(value, bytes | bytearray | memoryview), f"expected a value, found {value!r}"
    return bytes(value)


def plain(values: list[bytes | bytearray | memoryview | None]) -> list[bytes | None]:
    return [None if value is None else bytes(value) for value in values]


def elsewhere(store: object, expression: str) -> bytes:
    """The bytes that `expression` gives in another process, where `store` came pickled."""
    program = (
        "import pickle, sys; store = pickle.load(sys.stdin.buffer);"
        f"sys.stdout.buffer.write({expression})"
    )
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(p for p in sys.path if p)}
    result = subprocess.run(
        [sys.executable, "-c", program],
        input=pickle.dumps(store),
        capture_output=True,
        env=environment,
    )
    assert result.stderr == b"", result.stderr.decode(errors="replace")
    return result.stdout


def in_threads(work: Callable[[int], None], count: int) -> None:
    """Run `work(0)` … `work(count - 1)` at once; the first exception is raised here."""
    errors: list[BaseException] = []

    def run(worker: int) -> None:
        try:
            work(worker)
        except BaseException as error:  # handed to the caller's thread below
            errors.append(error)

    threads = [threading.Thread(target=run, args=(worker,)) for worker in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if errors:
        raise errors[0]
