"""Processes whose memory the limits tests measure: each command does one thing and prints JSON.

    python limits_worker.py COMMAND ARGUMENTS…

Peak memory is that of the whole process (VmHWM), less what it was before the work began. Linux
lets a process reset its peak, so that start-up does not hide anything.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np

import omnizarr as zarr

MIB = 1 << 20


def status(field: str) -> int:
    with open("/proc/self/status") as file:
        for line in file:
            if line.startswith(field + ":"):
                return int(line.split()[1]) * 1024
    raise KeyError(field)


def reset_peak() -> int:
    """Forget the peak so far; the memory in use now."""
    with open("/proc/self/clear_refs", "w") as file:
        file.write("5")
    return status("VmRSS")


def warm(store: str) -> Any:
    """Open, and read one element: what is loaded on first use is not the price of reading."""
    array = zarr.open_array(store, mode="r")
    array[(0,) * array.ndim]
    return array


def read_whole(store: str, threads: str | None = None) -> dict[str, Any]:
    array = warm(store)
    before = reset_peak()
    with zarr.config.set({"threads": threads and int(threads)}):
        values = array[...]
    extra = status("VmHWM") - before - values.nbytes
    return {"extra": extra, "nbytes": values.nbytes, "sum": float(values.sum(dtype="f8"))}


def write_whole(store: str) -> dict[str, Any]:
    array = zarr.open_array(store, mode="r+")
    values = np.random.default_rng(0).random(array.shape)  # hardly shrinks when compressed
    array[(slice(0, 1),) * array.ndim] = 0
    before = reset_peak()
    array[...] = values
    return {"extra": status("VmHWM") - before, "sum": float(values.sum(dtype="f8"))}


def change(store: str) -> dict[str, Any]:
    """Write all but the first element and the last."""
    array = zarr.open_array(store, mode="r+")
    values = np.random.default_rng(0).random(array.shape[0] - 2)
    before = reset_peak()
    array[1:-1] = values
    return {"extra": status("VmHWM") - before, "sum": float(values.sum(dtype="f8"))}


def refused(store: str, sound_store: str) -> dict[str, Any]:
    """Read an array that must be refused: which error, how much memory, how long.

    A sound array of the same kind is read first, so that loading code is not counted.
    """
    array = zarr.open_array(store, mode="r")
    sound = zarr.open_array(sound_store, mode="r")
    sound[...]
    before = reset_peak()
    started = time.monotonic()
    try:
        array[:1] if array.size > 1 << 30 else array[...]
    except Exception as error:  # the outcome is the test's data
        found = {"error": [one.__name__ for one in type(error).__mro__], "text": str(error)}
    else:
        found = {"error": None}
    return {
        **found,
        "extra": status("VmHWM") - before,
        "seconds": time.monotonic() - started,
    }


COMMANDS: dict[str, Callable[..., dict[str, Any]]] = {
    "read_whole": read_whole,
    "write_whole": write_whole,
    "change": change,
    "refused": refused,
}

if __name__ == "__main__":
    print(json.dumps(COMMANDS[sys.argv[1]](*sys.argv[2:])))
