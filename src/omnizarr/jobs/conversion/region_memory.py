"""Memory for the values of one region, which the system gets back at once.

An allocator keeps what was freed, for each thread, and regions are large: of two threads, four
regions would stay. So their memory is not the allocator's, and what codecs have freed meanwhile is
given back when a region was read and when it was written.

This module knows memory. It must not know what is put there.
"""

from __future__ import annotations

import mmap
import sys
from contextlib import suppress
from functools import cache
from math import prod
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from omnizarr.model.grids import Shape

LEAST = 1 << 20
"""Smaller regions are left to the allocator."""
HUGE_PAGES: int | None = getattr(mmap, "MADV_HUGEPAGE", None)
KEPT = 5
"""Allocators keep some of what was freed: one part in so many of the memory is left to them."""


def for_tasks(memory: int) -> int:
    """What is left for tasks of a process's memory."""
    return memory - memory // KEPT


def with_kept(nbytes: int) -> int:
    """The memory of which so much is left for tasks."""
    return nbytes + -(-nbytes // (KEPT - 1))


def empty(shape: Shape, dtype: np.dtype[Any]) -> npt.NDArray[Any] | None:
    """An array for values of a fixed size; None where NumPy is as good."""
    nbytes = prod(shape) * dtype.itemsize
    if nbytes < LEAST or dtype.hasobject or dtype.kind == "T":
        return None
    memory = mmap.mmap(-1, nbytes, access=mmap.ACCESS_COPY)  # private: shared pages are never huge
    if HUGE_PAGES is not None:  # one page fault for 2 MiB instead of one for 4 KiB
        with suppress(OSError):  # a kernel without them
            memory.madvise(HUGE_PAGES)
    return np.ndarray(shape, dtype, buffer=memory)


class _Trim(Protocol):
    def __call__(self, pad: int, /) -> object: ...


@cache
def _trim() -> _Trim | None:
    """What tells the C library to give memory back; only glibc has it, and needs it."""
    if sys.platform != "linux":
        return None
    import ctypes

    found: _Trim | None = getattr(ctypes.CDLL(None), "malloc_trim", None)
    return found


def give_back(values: npt.NDArray[Any]) -> None:
    """Give back what was freed in dealing with these values."""
    trim = _trim()
    if trim is not None and values.nbytes >= LEAST:
        trim(0)
