"""Datasets for PyTorch's DataLoader.

This module knows PyTorch's protocols: workers, ranks, saved states. It must not know how samples
are ordered or read: `omnizarr.integrations.learning` does.
"""

# PyTorch is not installed where types are checked, so that its classes are unknown there.
# mypy: disable-error-code="misc"

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, Literal

import torch
import torch.distributed
from torch.utils.data import Dataset, IterableDataset, get_worker_info

from omnizarr.integrations.learning.batches import Batches
from omnizarr.integrations.learning.samples import Arrays, Axis, Samples, Sizes
from omnizarr.integrations.torch.tensors import check, tensors
from omnizarr.keywords import suggests

Tensors = torch.Tensor | dict[str, torch.Tensor]
Transform = Callable[..., object]


class MapDataset(Dataset[Any]):
    """Samples by number, for a `DataLoader` with a sampler.

    The samples of a batch are read together: each chunk that several of them need is read once.
    With a random sampler they come from everywhere, so that most of what is read is not used: see
    `ChunkedDataset`. Worker processes open the arrays again; arrays in memory cannot be sent to
    them.

    Parameters
    ----------
    arrays
        An array; a mapping of names to arrays, or a group, whose arrays are aligned; or the path
        or URL of an array or group. Samples are tensors, or dictionaries of them.
    axis
        The axis that is sampled, by number or dimension name; the first if left out.
    patch
        Instead of `axis`: size of a patch along the axes that are sampled. A mapping of axes to
        lengths, or a sequence for the first axes. Patches that would reach beyond the array are
        left out.
    stride
        Distance of patches, in the same form; the size if left out.
    transform
        Function of a sample, whose result is given instead.

    Examples
    --------
    >>> dataset = MapDataset(omnizarr.array(np.arange(6).reshape(3, 2)))
    >>> len(dataset), dataset[2]
    (3, tensor([4, 5]))
    >>> loader = torch.utils.data.DataLoader(dataset, batch_size=2)
    >>> next(iter(loader))
    tensor([[0, 1],
            [2, 3]])
    """

    @suggests
    def __init__(
        self,
        arrays: Arrays,
        *,
        axis: Axis | None = None,
        patch: Sizes | None = None,
        stride: Sizes | None = None,
        transform: Transform | None = None,
    ) -> None:
        self.samples = Samples(arrays, axis=axis, patch=patch, stride=stride)
        check(self.samples.specification)
        self.transform = transform

    def __len__(self) -> int:
        return len(self.samples)

    def __getitem__(self, index: int) -> Any:
        return self.__getitems__([index])[0]

    def __getitems__(self, indices: Sequence[int]) -> list[Any]:
        # What the DataLoader calls for a batch.
        count = len(self)
        read = tensors(self.samples.read([i + count if -count <= i < 0 else i for i in indices]))
        found: list[Any]
        if self.samples.single:
            found = [*read[""]]
        else:
            found = [dict(zip(read, row, strict=True)) for row in zip(*read.values(), strict=True)]
        return found if self.transform is None else [self.transform(each) for each in found]


class ChunkedDataset(IterableDataset[Any]):
    """All samples once an epoch, in batches: chunks in random order, and mixed.

    A few chunks are read at once, and their samples are permuted; meanwhile the next ones are read.
    Each chunk is read once an epoch; where patches cross its edges, once for each chunk that they
    begin in. Workers of the `DataLoader` and ranks share the chunks. A chunk where the share of one
    ends and that of the next begins may be read by both.

    Use it with ``DataLoader(dataset, batch_size=None, num_workers=…)``: batches are made here,
    without copying every sample. The order follows from the arguments, the number of workers and
    the epoch alone. torchdata's `StatefulDataLoader` saves and resumes it.

    Parameters
    ----------
    arrays
        An array; a mapping of names to arrays, or a group, whose arrays are aligned; or the path
        or URL of an array or group. Batches are tensors, or dictionaries of them.
    axis
        The axis that is sampled, by number or dimension name; the first if left out.
    patch
        Instead of `axis`: size of a patch along the axes that are sampled. A mapping of axes to
        lengths, or a sequence for the first axes. Patches that would reach beyond the array are
        left out.
    stride
        Distance of patches, in the same form; the size if left out.
    transform
        Function of what is given out, a batch or without `batch_size` a sample.
    batch_size
        Samples in a batch, which has them along a new first axis. None gives single samples.
    shuffle
        Whether the order is random.
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
        Bytes, in each worker, for samples that were read and not given out yet.
    rank, world_size
        Which of how many processes this is; those of `torch.distributed` if left out.

    Examples
    --------
    >>> dataset = ChunkedDataset(omnizarr.array(np.arange(10), chunks=2), batch_size=4)
    >>> loader = torch.utils.data.DataLoader(dataset, batch_size=None)
    >>> for epoch in range(2):
    ...     dataset.set_epoch(epoch)
    ...     assert sorted(torch.cat([*loader]).tolist()) == [*range(10)]
    >>> len(loader)
    3
    """

    @suggests
    def __init__(
        self,
        arrays: Arrays,
        *,
        axis: Axis | None = None,
        patch: Sizes | None = None,
        stride: Sizes | None = None,
        transform: Transform | None = None,
        batch_size: int | None = None,
        shuffle: bool = True,
        seed: int = 0,
        buffer: int = 8,
        shuffle_by: Literal["chunk", "shard"] = "chunk",
        drop_last: bool = False,
        max_memory: int = 1 << 30,
        rank: int | None = None,
        world_size: int | None = None,
    ) -> None:
        distributed = torch.distributed.is_available() and torch.distributed.is_initialized()
        if world_size is None:
            world_size = torch.distributed.get_world_size() if distributed else 1
        if rank is None:
            rank = torch.distributed.get_rank() if distributed else 0
        self.batches = Batches(
            arrays, axis=axis, patch=patch, stride=stride, batch_size=batch_size, shuffle=shuffle,
            seed=seed, buffer=buffer, shuffle_by=shuffle_by, drop_last=drop_last,
            max_memory=max_memory, rank=rank, world_size=world_size,
        )  # fmt: skip
        check(self.batches.samples.specification)
        self.transform = transform
        # Workers that live on have a copy of this object: memory that is shared reaches them.
        self._epoch = torch.zeros((), dtype=torch.int64).share_memory_()

    def __len__(self) -> int:
        return len(self.batches)

    def set_epoch(self, epoch: int) -> None:
        """Choose the epoch, whose number the order depends on.

        Parameters
        ----------
        epoch
            Its number. Call this before each epoch, or all have the same order. It reaches
            persistent workers too.

        Examples
        --------
        >>> dataset = ChunkedDataset(omnizarr.array(np.arange(100)), batch_size=100)
        >>> before = next(iter(dataset))
        >>> dataset.set_epoch(1)
        >>> bool((next(iter(dataset)) == before).all())
        False
        """
        self._epoch.fill_(epoch)

    def state_dict(self) -> dict[str, int]:
        """Where the last iteration is, for `load_state_dict`.

        Returns
        -------
        dict
            The epoch, and how many samples were given out in this process.

        Examples
        --------
        >>> dataset = ChunkedDataset(omnizarr.zeros(10), batch_size=4)
        >>> first = next(iter(dataset))
        >>> dataset.state_dict()
        {'epoch': 0, 'given': 4}
        """
        return self.batches.state_dict()

    def load_state_dict(self, state_dict: dict[str, int]) -> None:
        """Let the next iteration go on there. Chunks that were given out are not read again.

        Parameters
        ----------
        state_dict
            What `state_dict` gave, of a dataset with the same arguments and number of workers.

        Examples
        --------
        >>> dataset = ChunkedDataset(omnizarr.array(np.arange(6)), batch_size=4, shuffle=False)
        >>> dataset.load_state_dict({"epoch": 0, "given": 4})
        >>> [*dataset]
        [tensor([4, 5])]
        """
        self.set_epoch(state_dict["epoch"])
        self.batches.load_state_dict(state_dict)

    def __iter__(self) -> Iterator[Any]:
        self.batches.set_epoch(int(self._epoch))
        info = get_worker_info()
        found = self.batches.share(*((0, 1) if info is None else (info.id, info.num_workers)))
        given = map(tensors, found)
        return given if self.transform is None else map(self.transform, given)
