"""Writing buffers to file descriptors, whole."""

from __future__ import annotations

import os

from omnizarr.model.store import Buffer

LARGE = 1 << 30  # one system call moves less than 2 GiB


def write_fully(file: int, value: Buffer) -> None:
    """Write all of the value at the current position."""
    done = 0
    if type(value) is bytes and len(value) < LARGE:
        done = os.write(file, value)
        if done == len(value):
            return
    view = flat(value)
    while done < len(view):
        done += os.write(file, view[done : done + LARGE])


def flat(value: Buffer) -> memoryview:
    """The bytes of any buffer, copied only if they do not lie in one piece."""
    view = memoryview(value)
    if not view.c_contiguous:
        view = memoryview(view.tobytes())
    return view if view.format == "B" and view.ndim == 1 else view.cast("B")
