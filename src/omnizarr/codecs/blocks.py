"""Many chunks in one call of the native core, with the interpreter lock released for all of them.

Possible where the codecs leave an array's memory as it is (or swap its bytes, or the dimensions)
and wrap it in what the core can undo: shuffles, one compressor, checksums anywhere. The core brings
its own libraries, which give the same values.

The core reports no errors: it skips every chunk that is damaged or unusual, and the codecs decode
it or raise. A caller does nothing differently.

This module knows steps and the core. It must not know stores or plans.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from omnizarr.codecs import text
from omnizarr.codecs.base import ArrayStage, Step, split_at_serializer
from omnizarr.model.dtypes.struct import is_padded
from omnizarr.model.grids import NDArray, Shape
from omnizarr.model.store import Buffer
from omnizarr.runtime import native_core

Integers = npt.NDArray[np.int64]

MOST_BYTES = 1 << 20
"""Larger chunks gain nothing: the cost of calling Python for each is small."""
CALL_BYTES = 4 << 20
"""Most bytes that one call decodes: Ctrl-C waits for some milliseconds."""


MOST_DIMENSIONS = 16
"""The most dimensions of an array that is stored in another order of dimensions."""


class Codecs(NamedTuple):
    """The steps that the core undoes, the outermost first, and the groups of bytes to reverse."""

    steps: tuple[tuple[Any, ...], ...]
    swap: int


class ChunkLayout(NamedTuple):
    """How a chunk is stored, for the core."""

    shape: Shape
    order: Shape
    """The dimensions in the order in which they are stored."""
    itemsize: int
    codecs: tuple[tuple[Any, ...], ...]
    swap: int
    limit: int
    """No sound chunk takes more bytes."""


class BlockDecoder:
    """The chunks of one chain, decoded many at a time."""

    __slots__ = ("_order", "_shape", "codecs", "count", "dtype", "small")

    small: bool
    """Whether calling Python for each chunk would cost much."""

    codecs: Codecs
    dtype: np.dtype[Any]
    count: int
    """Most chunks for one call."""

    def __init__(self, stage: ArrayStage, order: Shape, codecs: Codecs) -> None:
        """`order` is that of the dimensions as they are stored."""
        self._shape: Shape = tuple(stage.shape[axis] for axis in order)
        self._order = None if order == tuple(sorted(order)) else order
        self.codecs = codecs
        self.dtype = stage.dtype
        self.count = max(1, CALL_BYTES // (stage.nbytes or 1))
        self.small = (stage.nbytes or 0) <= MOST_BYTES

    def layout(self, limit: int) -> ChunkLayout:
        """The chunks as the core knows them."""
        order = self._order or tuple(range(len(self._shape)))
        shape = tuple(length for _, length in sorted(zip(order, self._shape, strict=True)))
        return ChunkLayout(shape, order, self.dtype.itemsize, *self.codecs, limit)

    def fit(self, working: Any) -> bool:
        """Whether there is a core, and chunks can be decoded straight into this array."""
        return (
            native_core.core() is not None
            and type(working) is np.ndarray
            and working.dtype == self.dtype
        )

    def decode(
        self,
        data: Buffer | list[Buffer],
        places: Integers | None,
        starts: Integers,
        working: NDArray,
    ) -> list[int]:
        """Decode chunks; give the numbers of those that were skipped.

        Each has a buffer of its own, or all are in one, where each row of `places` (offset, length)
        says. Each row of `starts` is the index in `working` of a chunk's first element. Only
        after `fit`."""
        core = native_core.core()
        assert core is not None
        steps, swap = self.codecs
        if self._order is not None:
            working = working.transpose(self._order)
            starts = np.ascontiguousarray(starts.reshape(-1, working.ndim)[:, self._order])
        flat = None if places is None else places.reshape(-1)
        starts = starts.reshape(-1)
        return core.blocks_decode(data, flat, starts, self._shape, steps, swap, working)


def blocks_of(stage: ArrayStage, steps: Sequence[Step]) -> BlockDecoder | None:
    """How chunks of a chain are decoded many at a time; None where they can only be one by one."""
    views, serial, behind = split_at_serializer(steps)
    filters: list[tuple[Any, ...]] = []
    while serial.block is not None and isinstance(serial.output, ArrayStage):
        filters.insert(0, serial.block)
        serial, behind = behind[0], behind[1:]
    swap, order = serial.swap, _order(len(stage.shape), views)
    if swap is None or order is None or not stage.nbytes:
        return None
    if text.is_in(stage.dtype) or is_padded(stage.dtype):
        return None
    if filters and swap != 1:
        return None  # they are of numbers in the machine's byte order
    found = tuple(step.block for step in reversed(behind) if step.block is not None)
    # The size on both sides of a codec must be known: only checksums are around a compressor.
    names = [block[0] for block in found]
    compressors = [place for place, name in enumerate(names) if name not in ("crc32c", "shuffle")]
    around = names[: compressors[-1]] if compressors else []
    if len(found) != len(behind) or any(name != "crc32c" for name in around):
        return None
    return BlockDecoder(stage, order, Codecs((*found, *filters), swap))


def _order(ndim: int, views: Sequence[Any]) -> Shape | None:
    """The order in which views put the dimensions; None if there are too many."""
    if not views or ndim > MOST_DIMENSIONS:
        return None if views else tuple(range(ndim))
    # Dimension n has n + 1 elements, so that its length identifies it behind the views.
    seen = np.broadcast_to(np.uint8(0), range(1, ndim + 1))
    for view in views:
        seen = view(seen)
    return tuple(length - 1 for length in seen.shape)
