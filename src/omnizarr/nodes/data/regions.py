"""An array in regions that fit into memory, each aligned with what is written as one value."""

from __future__ import annotations

from collections.abc import Iterator
from math import prod
from typing import TYPE_CHECKING

from omnizarr.model.grids import all_places
from omnizarr.nodes.data.lazy import REGION_BYTES

if TYPE_CHECKING:
    from omnizarr.nodes.array_facts import ArrayFacts


def regions(array: ArrayFacts) -> Iterator[tuple[slice, ...]]:
    """The whole array in regions that are aligned with what is written as one value."""
    block = list(array._model.grid.chunk_shape)
    shape = array.shape
    itemsize = max(1, array.itemsize)
    for dimension in reversed(range(len(shape))):
        if not array._model.grid.regular:
            block = list(shape)
            break
        room = REGION_BYTES // (prod(block) * itemsize or 1)
        if room < 2:
            break
        length = max(1, shape[dimension])
        block[dimension] = min(
            block[dimension] * room, -(-length // block[dimension]) * block[dimension]
        )
    counts = tuple(-(-length // (size or 1)) for length, size in zip(shape, block, strict=True))
    for place in all_places(counts):
        yield tuple(
            slice(at * size, min((at + 1) * size, length))
            for at, size, length in zip(place, block, shape, strict=True)
        )
