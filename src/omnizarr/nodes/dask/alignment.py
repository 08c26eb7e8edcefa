"""Dask's chunks beside the stored ones.

A stored chunk, or a shard, is written as one value. Two tasks that write parts of one would each
read it, change it and write it back; where a store has no locks, one of the two changes is lost. So
the blocks of a Dask array must end where stored chunks end. Only the first and the last block of a
region may cover part of a chunk.

This module knows lengths and positions. It must not know Dask.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate

Edge = int | tuple[int, ...]
"""Length of stored chunks along a dimension; a tuple of lengths where they differ."""
Lengths = tuple[int, ...]

_MOST_SHOWN = 8


def cuts(edge: Edge, start: int, stop: int) -> Sequence[int]:
    """Where stored chunks begin inside of a region; its own ends are left out.

    >>> list(cuts(10, 5, 31)), cuts((2, 3, 4), 0, 9)
    ([10, 20, 30], [2, 5])
    """
    if isinstance(edge, int):
        return range((start // edge + 1) * edge, stop, edge)
    return [cut for cut in accumulate(edge) if start < cut < stop]


def fits(lengths: Lengths, edge: Edge, start: int) -> bool:
    """Whether blocks of these lengths, written from `start` on, share no stored chunk.

    >>> fits((20, 10, 7), 10, 0), fits((5, 10), 10, 5), fits((15, 5), 10, 0)
    (True, True, False)
    """
    stop = start + sum(lengths)
    inner = [start + cut for cut in accumulate(lengths[:-1])]
    stored = cuts(edge, start, stop)
    known = stored if isinstance(stored, range) else {*stored}
    return all(cut in known or cut in (start, stop) for cut in inner)


def fitted(lengths: Lengths, edge: Edge, start: int) -> Lengths:
    """Lengths of blocks that share no stored chunk, each as long as the longest block allows, or
    one stored chunk.

    >>> fitted((25, 25), 10, 0), fitted((3, 3, 4), 10, 5)
    ((20, 20, 10), (5, 5))
    """
    if fits(lengths, edge, start):
        return lengths
    stop, most = start + sum(lengths), max(lengths)
    found: list[int] = []
    begin = end = start
    for cut in (*cuts(edge, start, stop), stop):
        if cut - begin > most and end > begin:
            found.append(end - begin)
            begin = end
        end = cut
    return (*found, stop - begin)


def call(before: Sequence[Lengths], after: Sequence[Lengths]) -> str | None:
    """The call that rechunks; None if it is too long to be written down.

    >>> call([(4, 4), (7, 3)], [(4, 4), (5, 5)])
    '.rechunk({1: 5})'
    >>> call([(6, 9)], [(5, 10)])
    '.rechunk({0: (5, 10)})'
    """
    words = []
    for axis, (old, new) in enumerate(zip(before, after, strict=True)):
        if old == new:
            continue
        even = all(length == new[0] for length in new[:-1]) and new[-1] <= new[0]
        if not even and len(new) > _MOST_SHOWN:
            return None
        words.append(f"{axis}: {new[0] if even else new}")
    return f".rechunk({{{', '.join(words)}}})"
