"""Batches of an epoch as NumPy arrays: the order of `order`, the reading of `samples`, and a thread
that reads ahead.

This module knows NumPy. It must not know frameworks; `omnizarr.integrations.torch`, `jax` and
`tensorflow` hand its batches over.
"""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from math import prod
from typing import Any, Literal

import numpy as np

from omnizarr import limits
from omnizarr.errors import LimitError
from omnizarr.integrations.learning.order import Order, Share
from omnizarr.integrations.learning.samples import Arrays, Axis, NDArray, Samples, Sizes
from omnizarr.integrations.learning.windows import Integers
from omnizarr.keywords import suggests

Batch = NDArray | dict[str, NDArray]
POOLS = 3
"""Pools in memory: one that is read, one that is given out, and that of the batch before."""


class Batches:
    """All samples once an epoch: chunks in random order, and samples within several chunks.

    Iterating gives the batches of one epoch. A few chunks are read at once, each of them once, and
    their samples are mixed; meanwhile the next ones are read. The order is the same whenever the
    arguments and the epoch are. See `Samples` for `arrays`, `axis`, `patch` and `stride`.

    Parameters
    ----------
    arrays
        An array, a mapping of names to arrays, a group, or a path or URL.
    axis
        The axis that is sampled.
    patch
        Size of a patch, instead of `axis`.
    stride
        Distance of patches.
    batch_size
        Samples in a batch, which has them along a new first axis. None gives single samples.
    shuffle
        Whether the order is random. False gives samples by chunk, and along an axis in their order.
    seed
        What the order follows from, together with the epoch.
    buffer
        How many chunks (or shards) are mixed, as far as `max_memory` permits.
    shuffle_by
        ``"chunk"``, or ``"shard"`` to read each shard as one.
    drop_last
        Leave out the last batch if it is not full, and with several ranks the samples that would
        make their numbers differ. Otherwise the first samples of an epoch come twice, until all
        ranks have the same number.
    max_memory
        Bytes for samples that were read and not given out yet.
    rank, world_size
        Which of how many processes this is, each of which gets other samples.

    Attributes
    ----------
    epoch
        Number of the epoch, set by `set_epoch`.

    Examples
    --------
    >>> x = omnizarr.array(np.arange(10), chunks=2)
    >>> batches = Batches(x, batch_size=4, seed=1)
    >>> len(batches), [batch.shape for batch in batches]
    (3, [(4,), (4,), (2,)])
    >>> sorted(np.concatenate([*batches]).tolist()) == [*range(10)]
    True
    """

    @suggests
    def __init__(
        self,
        arrays: Arrays,
        *,
        axis: Axis | None = None,
        patch: Sizes | None = None,
        stride: Sizes | None = None,
        batch_size: int | None = None,
        shuffle: bool = True,
        seed: int = 0,
        buffer: int = 8,
        shuffle_by: Literal["chunk", "shard"] = "chunk",
        drop_last: bool = False,
        max_memory: int = 1 << 30,
        rank: int = 0,
        world_size: int = 1,
    ) -> None:
        numbers = {"batch_size": batch_size or 0, "seed": seed, "buffer": buffer}
        numbers["max_memory"] = max_memory
        for name, number in numbers.items():
            if not hasattr(number, "__index__"):
                raise TypeError(f"{name} must be a whole number, found {number!r}")
        if batch_size is not None and batch_size < 1:
            raise ValueError(f"batch_size must be positive, found {batch_size}")
        if not 0 <= rank < world_size:
            raise ValueError(f"rank must be from 0 to {world_size - 1}, found {rank}")
        if buffer < 1 or seed < 0:
            raise ValueError(f"expected buffer >= 1 and seed >= 0, found {buffer} and {seed}")
        self.samples = Samples(arrays, axis=axis, patch=patch, stride=stride)
        self.epoch = 0
        self._batch_size = batch_size
        self._max_memory = max_memory
        self._share = Share(rank, world_size)
        self._given = self._skipped = 0
        units = self.samples.units(shuffle_by)
        if (count := prod(units.shape)) > (most := limits.current.max_requested_chunks):
            raise LimitError(
                f"patches begin in {count} {shuffle_by}s; limits.max_requested_chunks allows {most}"
            )
        room = max_memory // (POOLS * max(1, self.samples.unit_bytes(units)))
        if not room:
            raise LimitError(
                f"max_memory={max_memory}: {POOLS} times the samples of a {shuffle_by},"
                f" {self.samples.unit_bytes(units)} bytes, must fit"
            ).advise("raise max_memory, or store smaller chunks")
        pool = min(buffer, room)
        self._order = Order(units, shuffle, seed, 0, batch_size or 1, drop_last, pool)

    def __len__(self) -> int:
        return -(-self._order.length(self._share.world_size) // (self._batch_size or 1))

    @property
    def specification(self) -> dict[str, tuple[tuple[int | None, ...], np.dtype[Any]]]:
        """Shape and type of what is given out, by name; ``""`` is the name of an array alone.

        The number of samples in a batch is None: the last one may be shorter.

        Examples
        --------
        >>> Batches(omnizarr.zeros((9, 2)), batch_size=4).specification
        {'': ((None, 2), dtype('float64'))}
        """
        first = () if self._batch_size is None else (None,)
        return {
            name: ((*first, *shape), dtype)
            for name, (shape, dtype) in self.samples.specification.items()
        }

    def set_epoch(self, epoch: int) -> None:
        """Choose the epoch, whose number the order depends on.

        Parameters
        ----------
        epoch
            Its number. Iterating begins at its start, except after `load_state_dict` of this epoch.

        Examples
        --------
        >>> batches = Batches(omnizarr.array(np.arange(100), chunks=10), batch_size=100)
        >>> before = next(iter(batches))
        >>> batches.set_epoch(1)
        >>> bool((next(iter(batches)) == before).all())
        False
        """
        if epoch != self.epoch:
            self.epoch, self._given, self._skipped = epoch, 0, 0

    def state_dict(self) -> dict[str, int]:
        """Where the last iteration is, for `load_state_dict`.

        Returns
        -------
        dict
            The epoch, and how many samples were given out.

        Examples
        --------
        >>> batches = Batches(omnizarr.zeros(10), batch_size=4)
        >>> first = next(iter(batches))
        >>> batches.state_dict()
        {'epoch': 0, 'given': 4}
        """
        return {"epoch": self.epoch, "given": self._given}

    def load_state_dict(self, state_dict: dict[str, int]) -> None:
        """Let the next iteration go on there. Chunks that were given out are not read again.

        Parameters
        ----------
        state_dict
            What `state_dict` gave, of an object with the same arguments.

        Examples
        --------
        >>> batches = Batches(omnizarr.array(np.arange(10)), batch_size=4, shuffle=False)
        >>> batches.load_state_dict({"epoch": 0, "given": 4})
        >>> next(iter(batches)).tolist()
        [4, 5, 6, 7]
        """
        if state_dict["given"] < 0:
            raise ValueError(f"no state of a dataset: {state_dict}")
        self.epoch = state_dict["epoch"]
        self._given = self._skipped = state_dict["given"]

    def __iter__(self) -> Iterator[Batch]:
        return self.share(0, 1)

    def share(self, worker: int, workers: int) -> Iterator[Batch]:
        """The batches of one of several workers that share the samples of this rank.

        Parameters
        ----------
        worker
            Its number, from 0.
        workers
            How many there are.

        Returns
        -------
        iterator
            Of batches, or of samples if there is no `batch_size`: arrays, or arrays by name.

        Examples
        --------
        >>> batches = Batches(omnizarr.array(np.arange(4), chunks=2), batch_size=2, shuffle=False)
        >>> [[batch.tolist() for batch in batches.share(worker, 2)] for worker in range(2)]
        [[[0, 1]], [[2, 3]]]
        """
        self._given, self._skipped = self._skipped, 0
        order = self._order._replace(epoch=self.epoch)
        share = self._share._replace(worker=worker, workers=workers)
        return self._batches(_after(self._given, order.pools(share)))

    def _batches(self, pools: Iterator[Integers]) -> Iterator[Batch]:
        samples = self.samples.held(self._max_memory // 16)
        for batch in _cut(_ahead(samples, pools), self._batch_size or 1):
            self._given += _length(batch)
            if self._batch_size is None:
                batch = {name: rows[0] for name, rows in batch.items()}
            yield batch[""] if samples.single else batch
        self._given = 0


def _after(count: int, pools: Iterator[Integers]) -> Iterator[Integers]:
    """The samples that follow the first `count`."""
    for samples in pools:
        if len(samples) > count:
            yield samples[count:]
        count = max(0, count - len(samples))


def _ahead(samples: Samples, pools: Iterator[Integers]) -> Iterator[dict[str, NDArray]]:
    """Every pool's samples. While one is given out, the next is read."""
    with ThreadPoolExecutor(1, "omnizarr-read-ahead") as thread:
        first = next(pools, None)
        following = None if first is None else thread.submit(samples.read, first)
        while following is not None:
            rows = following.result()
            wanted = next(pools, None)
            following = None if wanted is None else thread.submit(samples.read, wanted)
            yield rows
            del rows  # else two pools and this one are in memory while the next is waited for


def _cut(pools: Iterator[dict[str, NDArray]], size: int) -> Iterator[dict[str, NDArray]]:
    """Batches of `size` rows: views of a pool, except where one reaches into the next pool."""
    left: dict[str, NDArray] | None = None
    for rows in pools:
        count = _length(rows)
        start = 0
        if left is not None:
            start = min(size - _length(left), count)
            left = {n: np.concatenate([left[n], values[:start]]) for n, values in rows.items()}
            if _length(left) < size:
                continue
            yield left
            left = None
        while start + size <= count:
            yield {name: values[start : start + size] for name, values in rows.items()}
            start += size
        if start < count:
            left = {name: values[start:].copy() for name, values in rows.items()}
        del rows
    if left is not None:
        yield left


def _length(rows: dict[str, NDArray]) -> int:
    return len(next(iter(rows.values())))
