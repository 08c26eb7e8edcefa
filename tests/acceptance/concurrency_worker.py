"""Processes that the concurrency tests start: each command does one thing and prints JSON.

    python concurrency_worker.py COMMAND ARGUMENTS…

A process of its own is needed wherever one is killed, forked, interrupted or limited.
"""

from __future__ import annotations

import json
import mmap
import os
import random
import resource
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator, MutableMapping
from typing import Any

import numpy as np

import omnizarr as zarr


def wait_for(path: str) -> None:
    """Workers start together: the parent creates the file when all of them are ready."""
    print("ready", flush=True)
    while not os.path.exists(path):
        time.sleep(0.001)


# -- two processes, one chunk ---------------------------------------------------------------------
def halves(store: str, which: str, times: str, go: str) -> dict[str, Any]:
    """Write the own half over and over; a value that is gone at the next look is a lost update."""
    array = zarr.open_array(store, mode="r+")
    length = array.shape[0] // 2
    own = slice(0, length) if which == "first" else slice(length, None)
    lost = errors = 0
    wait_for(go)
    for number in range(1, int(times) + 1):
        try:
            array[own] = number
            lost += bool((array[own] != number).any())
        except zarr.errors.ZarrError:
            errors += 1
    return {"lost": lost, "errors": errors}


def new_chunks(store: str, part: str, way: str, meeting: str, go: str) -> dict[str, Any]:
    """Write every chunk (or its second half) with 1, or its first half with 2, at the moment when
    the other process does so too."""
    if way == "python":
        os.environ["OMNIZARR_NATIVE"] = "0"  # looked at when the core is first asked for
    array = zarr.open_array(store, mode="r+")
    (length,) = array.shards or array.chunks
    count = array.shape[0] // length
    own, other = (1, 0) if part == "first" else (0, 1)
    with open(meeting, "r+b") as file:
        turns = memoryview(mmap.mmap(file.fileno(), 16)).cast("Q")
    wait_for(go)
    for number in range(count):
        turns[own] = number + 1
        while turns[other] <= number:
            time.sleep(0)
        start, end = number * length, (number + 1) * length
        if part == "whole":
            array[start:end] = 1
        elif part == "second":
            array[start + length // 2 : end] = 1
        else:
            array[start : start + length // 2] = 2
    return {}


def attributes(store: str, which: str, times: str, go: str) -> dict[str, Any]:
    node = zarr.open(store, mode="r+")
    wait_for(go)
    for number in range(int(times)):
        node.attrs[f"{which}-{number}"] = number
    return {}


def appends(store: str, which: str, times: str, go: str) -> dict[str, Any]:
    array = zarr.open_array(store, mode="r+")
    wait_for(go)
    for number in range(int(times)):
        array.append(np.full(3, int(which) * 10_000 + number))
    return {}


# -- kill -9 --------------------------------------------------------------------------------------
def write_forever(store: str, first: int, ready: int) -> None:
    """Every chunk, inner chunk and attribute gets one number after the other."""
    root = zarr.open_group(store, mode="r+")
    whole, sharded, partial = root["whole"], root["sharded"], root["partial"]
    os.write(ready, b"!")
    for number in range(first, 1 << 30):
        whole[:] = number
        sharded[:] = number
        for start in range(0, partial.shape[0], partial.chunks[0] // 2):
            partial[start : start + partial.chunks[0] // 2] = number
        root.attrs["number"] = number


def make_victims(store: str) -> None:
    root = zarr.open_group(store, mode="w", zarr_format=3)
    plain: dict[str, Any] = {"dtype": "i8", "compressors": None, "fill_value": -1}
    root.create_array("whole", shape=(8 * 65536,), chunks=(65536,), **plain)[:] = 0
    root.create_array("partial", shape=(4 * 8192,), chunks=(8192,), **plain)[:] = 0
    sharded = root.create_array(
        "sharded", shape=(4 * 65536,), chunks=(8192,), shards=(65536,), dtype="i8", fill_value=-1
    )
    sharded[:] = 0
    root.attrs["number"] = 0


def torn(store: str) -> list[str]:
    """Chunks that are neither old nor new, in a store that a writer was killed over."""
    root = zarr.open_group(store, mode="r")
    wrong = []
    for name in ("whole", "sharded", "partial"):
        array = root[name]
        unit = array.chunks[0] // (2 if name == "partial" else 1)
        try:
            values = array[:].reshape(-1, unit)
        except Exception as error:  # the outcome is the test's data
            wrong.append(f"{name}: {type(error).__name__}: {error}")
            continue
        for number, chunk in enumerate(values):
            if chunk.min() != chunk.max() or chunk[0] < 0:
                wrong.append(f"{name}: unit {number} holds {np.unique(chunk)[:4].tolist()}")
    if not isinstance(root.attrs["number"], int):
        wrong.append("attributes")
    return wrong


def kills(store: str, times: str, seed: str) -> dict[str, Any]:
    make_victims(store)
    known = sorted(root_keys(store))
    rolls = random.Random(int(seed))
    wrong: list[str] = []
    begun = 0
    for number in range(int(times)):
        heard, ready = os.pipe()
        child = os.fork()
        if child == 0:
            try:
                write_forever(store, (number + 1) * 1000, ready)
            finally:
                os._exit(1)
        os.close(ready)
        os.read(heard, 1)  # or the end of the file, if the writer fails
        os.close(heard)
        time.sleep(rolls.uniform(0.0, 0.03))
        os.kill(child, signal.SIGKILL)
        _, status = os.waitpid(child, 0)
        if not os.WIFSIGNALED(status):
            wrong.append(f"kill {number}: the writer had failed by itself, status {status}")
        wrong += [f"kill {number}: {text}" for text in torn(store)]
        begun += int(zarr.open_group(store, mode="r")["whole"][0]) >= (number + 1) * 1000
    listed = sorted(root_keys(store))
    root = zarr.open_group(store, mode="r+")
    for name in ("whole", "sharded", "partial"):
        root[name][:] = 7  # no lock of a dead process is in the way
        assert (root[name][:] == 7).all()
    hidden = sum(len(files) for _, _, files in os.walk(store)) - len(listed)
    return {"torn": wrong, "new keys": sorted(set(listed) - set(known)), "hidden files": hidden,
            "rounds that wrote": begun}  # fmt: skip


def root_keys(store: str) -> list[str]:
    return list(zarr.storage.LocalStore(store).list())


# -- fork -----------------------------------------------------------------------------------------
def forks(store: str, times: str) -> dict[str, Any]:
    """Read with every thread there is, fork, and read and write in the children."""
    array = zarr.open_array(store, mode="r+")
    expected = array[:]
    bad = []
    for number in range(int(times)):
        child = os.fork()
        if child == 0:
            signal.alarm(20)
            try:
                same = bool((array[:] == expected).all())
                array[:10] = expected[:10]
                os._exit(0 if same else 3)
            except BaseException:
                os._exit(4)
        _, status = os.waitpid(child, 0)
        if status != 0:
            bad.append(f"child {number}: status {status}")
    return {"bad": bad, "parent": bool((array[:] == expected).all())}


# -- Ctrl-C ---------------------------------------------------------------------------------------
class SlowMapping(MutableMapping[str, bytes]):
    """A store whose every read takes a while."""

    def __init__(self) -> None:
        self.values_: dict[str, bytes] = {}
        self.delay = 0.0

    def __getitem__(self, key: str) -> bytes:
        value = self.values_[key]
        time.sleep(self.delay)
        return value

    def __setitem__(self, key: str, value: Any) -> None:
        self.values_[key] = bytes(value)

    def __delitem__(self, key: str) -> None:
        del self.values_[key]

    def __iter__(self) -> Iterator[str]:
        return iter(list(self.values_))

    def __len__(self) -> int:
        return len(self.values_)


def interrupt(kind: str) -> dict[str, Any]:
    """SIGINT in the middle of a long read (or write): how long until KeyboardInterrupt?"""
    store = SlowMapping()
    small = {"chunks": (1,), "dtype": "i4", "fill_value": 0}
    array = zarr.create_array(store=store, shape=(200_000,), **small)
    if kind == "slow store":
        array[:20_000] = np.arange(1, 20_001)
        store.delay = 0.01
    sent: list[float] = []

    def send() -> None:
        time.sleep(0.5)
        sent.append(time.monotonic())
        os.kill(os.getpid(), signal.SIGINT)

    threading.Thread(target=send, daemon=True).start()
    caught = None
    try:
        if kind == "write":
            while True:
                array[:] = np.arange(1, 200_001)
        while True:
            array[:20_000]
    except KeyboardInterrupt:
        caught = time.monotonic()
    store.delay = 0.0
    array[5:8] = [11, 12, 13]
    usable = array[5:8].tolist() == [11, 12, 13]
    return {"latency": caught - sent[0] if caught else None, "usable": usable}


# -- a full disk ----------------------------------------------------------------------------------
def full_disk(store: str, kind: str) -> dict[str, Any]:
    """No file may grow beyond 256 KiB from here on: writing more fails as a full disk does."""
    array = zarr.open_array(store, mode="r+")
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (256 << 10, resource.RLIM_INFINITY))
    data = np.random.default_rng(1).integers(0, 1 << 40, array.shape[0])
    try:
        if kind == "whole":
            array[:] = data
        else:
            array[10 : array.shape[0] - 10] = data[10:-10]
    except Exception as error:  # the outcome is the test's data
        kinds = [one.__name__ for one in type(error).__mro__]
        return {"error": kinds, "text": str(error)}
    return {"error": None}


COMMANDS: dict[str, Callable[..., dict[str, Any]]] = {
    "halves": halves,
    "new_chunks": new_chunks,
    "attributes": attributes,
    "appends": appends,
    "kills": kills,
    "forks": forks,
    "interrupt": interrupt,
    "full_disk": full_disk,
}

if __name__ == "__main__":
    print(json.dumps(COMMANDS[sys.argv[1]](*sys.argv[2:])))
