"""Which samples come in which order, for one worker of one rank.

1. Units (the samples of a chunk) are permuted, and all samples stand in one row, unit after unit.
2. The row is cut into equal parts, one for each rank, so that all ranks make the same number of
   batches. What is left over is dropped, or the first samples are repeated.
3. A rank's part is cut for its workers, near the edges of units and at multiples of the batch.
   So the number of batches does not depend on that of the workers, and a unit is read by two
   workers only where its edge is not that of a batch.
4. Each worker takes a few units at a time, a *pool*, and permutes their samples.

All of it follows from the arguments, so every process finds its share by itself.

This module knows integers. It must not know arrays, stores or frameworks.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from omnizarr.integrations.learning.windows import Integers, Units


class Share(NamedTuple):
    """Who takes samples: worker `worker` of `workers` of rank `rank` of `world_size`."""

    rank: int = 0
    world_size: int = 1
    worker: int = 0
    workers: int = 1


class Order(NamedTuple):
    """How the samples of one epoch are ordered and shared.

    >>> units = Units((6,), (np.array([0, 2, 4, 6]),))
    >>> order = Order(units, shuffle=False, seed=0, epoch=0, batch=4, drop_last=False, pool=2)
    >>> [samples.tolist() for samples in order.pools(Share())]
    [[0, 1, 2, 3], [4, 5]]
    >>> [samples.tolist() for samples in order.pools(Share(worker=1, workers=2))]
    [[4, 5]]
    """

    units: Units
    shuffle: bool
    seed: int
    epoch: int
    batch: int
    drop_last: bool
    pool: int
    """How many units are held at once."""

    def length(self, world_size: int) -> int:
        """How many samples each rank takes."""
        total = int(self.units.sizes.sum())
        if self.drop_last:
            each = total // world_size
            return each - each % self.batch
        return -(-total // world_size)

    def pools(self, share: Share) -> Iterator[Integers]:
        """The samples of each pool, in the order in which they are given out."""
        sizes = self.units.sizes
        units = np.arange(len(sizes))
        if self.shuffle:
            units = np.random.default_rng((self.seed, self.epoch)).permutation(units)
        ends = np.cumsum(sizes[units])
        pieces = [*_pieces(ends, *self._range(ends, share))]
        for at in range(0, len(pieces), self.pool):
            taken = pieces[at : at + self.pool]
            samples = np.concatenate(
                [self.units.samples(int(units[n]))[start:stop] for n, start, stop in taken]
            )
            if self.shuffle:
                # Of its own, so that a pool does not depend on those before it.
                own = (self.seed, self.epoch, 1 + int(units[taken[0][0]]))
                samples = np.random.default_rng(own).permutation(samples)
            yield samples

    def _range(self, ends: Integers, share: Share) -> tuple[int, int]:
        """Where a worker begins and ends in the row of all samples, which begins again behind its
        end."""
        length = self.length(share.world_size)
        begin = share.rank * length
        total = int(ends[-1]) if len(ends) else 0
        edges = np.concatenate([[0], ends, ends + total])

        def cut(worker: int) -> int:
            if worker in (0, share.workers):
                return length if worker else 0
            wanted = begin + length * worker // share.workers
            nearest = int(edges[np.argmin(np.abs(edges - wanted))]) - begin
            batches = -(-nearest // self.batch)
            return min(max(batches * self.batch, 0), length)

        return begin + cut(share.worker), begin + cut(share.worker + 1)


def _pieces(ends: Integers, begin: int, end: int) -> Iterator[tuple[int, int, int]]:
    """(position of the unit, first, last + 1 of its samples) of a range of the row."""
    total = int(ends[-1]) if len(ends) else 0
    while begin < end:
        within = begin % total
        position = int(np.searchsorted(ends, within, side="right"))
        start = int(ends[position - 1]) if position else 0
        stop = min(within + end - begin, int(ends[position]))
        yield position, within - start, stop - start
        begin += stop - within
