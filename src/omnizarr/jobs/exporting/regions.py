"""An array in parts of bounded size, for writers of other formats.

    tiles     parts that begin and end with chunks, so that each chunk is decoded once
    slabs     parts that lie one behind the other in C order, for files that are written as a stream

This module knows shapes and chunks. It must not know what is written.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise, product
from math import prod

from omnizarr import limits
from omnizarr.nodes.array import Array

Region = tuple[slice, ...]
TILE_BYTES = 32 * limits.MIB
SLAB_BYTES = 32 * limits.MIB


def tiles(array: Array, nbytes: int = TILE_BYTES) -> Iterator[Region]:
    """Regions of whole chunks, as many as some bytes hold, at least one. Together they are all."""
    if not array.size:
        return
    cuts: list[list[int]] = []
    size = array.dtype.itemsize
    lengths = array.read_chunk_sizes
    inner = [max(sizes) for sizes in lengths]
    for axis in range(array.ndim - 1, -1, -1):
        step = size * prod(inner[:axis])  # what one more row of this axis takes at least
        most = max(1, nbytes // max(1, step))
        cuts.append(_grouped(lengths[axis], most))
        size *= max(stop - start for start, stop in pairwise(cuts[-1]))
    for bounds in product(*(list(pairwise(found)) for found in reversed(cuts))):
        yield tuple(slice(start, stop) for start, stop in bounds)


def _grouped(lengths: tuple[int, ...], most: int) -> list[int]:
    """Where neighbours are cut so that each group has `most` elements at most, or is one."""
    found = [0]
    end = 0
    for length in lengths:
        if end > found[-1] and end + length - found[-1] > most:
            found.append(end)
        end += length
    return [*found, end]


def slabs(array: Array, nbytes: int = SLAB_BYTES) -> Iterator[Region]:
    """Regions one behind the other in C order. A chunk that several of them share, because a row of
    chunks is larger than that, is decoded for each."""
    shape = array.shape
    if not array.size:
        return
    axis, step = 0, array.dtype.itemsize * array.size
    for axis, length in enumerate(shape):  # noqa: B007 - the axis that is cut
        step //= length
        if step <= nbytes:
            break
    if not shape:
        yield ()
        return
    for place in product(*map(range, shape[:axis])):
        for start, stop in rows(array, max(1, nbytes // step), axis):
            head = tuple(slice(at, at + 1) for at in place)
            yield (*head, slice(start, stop), *(slice(0, n) for n in shape[axis + 1 :]))


def rows(array: Array, most: int, axis: int = 0) -> Iterator[tuple[int, int]]:
    """An axis in parts of at most so many elements, cut between chunks where possible."""
    for start, stop in pairwise(_grouped(array.read_chunk_sizes[axis], most)):
        yield from ((at, min(stop, at + most)) for at in range(start, stop, most))
