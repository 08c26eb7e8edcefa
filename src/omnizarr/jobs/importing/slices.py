"""Data without compression that lies in one span of a file, in chunks of a reasonable size.

References can only cut it into equal parts, which a prime number of rows does not have. A
conversion can: chunks of some MiB, the last of them shorter, which becomes a whole one when it is
written. This module knows facts. It must not know kinds of files.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import pairwise
from math import prod

from omnizarr import limits
from omnizarr.api.virtual.facts import Span, VirtualArray, VirtualFile, places
from omnizarr.model.grids import Shape

WANTED_BYTES = 8 * limits.MIB
MOST_BYTES = 32 * limits.MIB
LEAST_BYTES = limits.MIB // 4
"""Chunks between these sizes are left as they are."""


def resliced(file: VirtualFile) -> tuple[VirtualFile, dict[str, Shape]]:
    """The file, and the regular chunks of each array that was cut anew, by path."""
    chosen: dict[str, Shape] = {}
    arrays = dict(file.arrays)
    for path, array in file.arrays.items():
        whole = _span(array)
        if whole is not None and not _is_reasonable(array):
            chunks = wanted_chunks(array.shape, array.dtype.itemsize)
            arrays[path] = _cut(array, whole, chunks)
            chosen[path] = chunks
    return replace(file, arrays=arrays), chosen


def _is_reasonable(array: VirtualArray) -> bool:
    if not array.regular:
        return True
    size = prod(length for length in array.chunks if isinstance(length, int))
    nbytes, count = size * array.dtype.itemsize, prod(array.counts())
    return nbytes <= MOST_BYTES and (count == 1 or nbytes >= LEAST_BYTES)


def _span(array: VirtualArray) -> Span | None:
    """The one span in which all values lie in C order; None if there is no such span."""
    if not array.cut or array.codecs or not array.pieces or not array.regular or not array.shape:
        return None
    counts = array.counts()
    if len(array.pieces) != prod(counts):
        return None
    # Only leading axes are cut; all that follow the last cut one are whole, those before are 1.
    last = max((axis for axis, count in enumerate(counts) if count > 1), default=-1)
    if any(chunk != 1 for chunk in array.chunks[: max(last, 0)]):
        return None
    spans = [array.pieces[place] for place in places(counts)]
    for one, other in pairwise(spans):
        if one.url != other.url or one.offset + one.size != other.offset:
            return None
    size = sum(span.size for span in spans)
    if size != prod(array.shape) * array.dtype.itemsize:
        return None
    return Span(spans[0].url, spans[0].offset, size)


def wanted_chunks(shape: Shape, itemsize: int) -> Shape:
    """Chunks of some MiB that are each one span of C order."""
    chunks = [1] * len(shape)
    room = max(1, WANTED_BYTES // itemsize)
    for axis in reversed(range(len(shape))):
        chunks[axis] = max(1, min(shape[axis], room))
        room //= max(1, shape[axis])
        if chunks[axis] < shape[axis] or not room:
            break
    return tuple(chunks)


def _cut(array: VirtualArray, whole: Span, chunks: Shape) -> VirtualArray:
    lengths = [tuple(_lengths(*each)) for each in zip(array.shape, chunks, strict=True)]
    offset, pieces = whole.offset, {}
    for place in places(tuple(map(len, lengths))):
        shape = (axis[index] for axis, index in zip(lengths, place, strict=True))
        size = prod(shape) * array.dtype.itemsize
        pieces[place] = Span(whole.url, offset, size)
        offset += size
    return replace(array, chunks=tuple(_short(axis) for axis in lengths), pieces=pieces)


def _lengths(length: int, chunk: int) -> Iterator[int]:
    for start in range(0, length, chunk):
        yield min(chunk, length - start)


def _short(lengths: tuple[int, ...]) -> int | tuple[int, ...]:
    return lengths[0] if len({*lengths}) == 1 else lengths
