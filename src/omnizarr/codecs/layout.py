"""Describes chunks to the native core, which reads and writes many of them in one call.

Possible where the codecs leave an array's memory as it is (or swap its bytes, or the dimensions)
and wrap it in what the core can undo: shuffles, one compressor, checksums anywhere. The core brings
its own libraries, which give the same values. Of elements of variable size it wraps and unwraps
what the serializer makes, which it does not look at.

The core reports no errors: it skips every chunk that is damaged or unusual, and the codecs decode
it or raise. A caller does nothing differently.

This module knows steps. It must not know the core, stores or plans.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from omnizarr.codecs import text
from omnizarr.codecs.base import ArrayStage, BytesStage, Step, split_at_serializer
from omnizarr.model.codec import CodecSpec
from omnizarr.model.dtypes.struct import is_padded
from omnizarr.model.grids import Shape

DEFAULT_INDEX = (CodecSpec("bytes", {"endian": "little"}), CodecSpec("crc32c"))
"""The codecs of a shard's index, unless others are named."""
MOST_DIMENSIONS = 16
"""The most dimensions of an array that is stored in another order of dimensions."""


class ChunkLayout(NamedTuple):
    """How a chunk is stored, for the core."""

    shape: Shape
    order: Shape
    """The dimensions in the order in which they are stored."""
    itemsize: int
    codecs: tuple[tuple[Any, ...], ...]
    """The steps that the core undoes, the outermost first."""
    swap: int
    """The groups of bytes to reverse then."""
    limit: int
    """No sound chunk takes more bytes."""


def layout_of(stage: ArrayStage, steps: Sequence[Step], limit: int) -> ChunkLayout | None:
    """How chunks of a chain are stored; None where the core does not know it."""
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
    found = _wrapping(behind)
    if found is None:
        return None
    return ChunkLayout(stage.shape, order, stage.dtype.itemsize, (*found, *filters), swap, limit)


class SerialLayout(NamedTuple):
    """How what the serializer makes of elements of variable size is stored, for the core."""

    codecs: tuple[tuple[Any, ...], ...]
    """The steps that the core undoes, the outermost first."""
    limit: int
    """No sound chunk takes more bytes."""
    most: int
    """Nor does the serializer make more."""


def serial_layout_of(steps: Sequence[Step]) -> SerialLayout | None:
    """How chunks of elements of variable size are stored; None where the core does not know it."""
    before, after, found = steps[0].output, steps[-1].output, _wrapping(steps[1:])
    if steps[0].columns is None or found is None or any(block[0] in _SIZELESS for block in found):
        return None
    assert isinstance(before, BytesStage) and isinstance(after, BytesStage)
    return SerialLayout(found, after.limit, before.limit)


_SIZELESS = ("zlib",)
"""Compressors whose streams do not say how many bytes they become."""


def _wrapping(behind: Sequence[Step]) -> tuple[tuple[Any, ...], ...] | None:
    """The steps behind the serializer, the outermost first; None if the core does not know one."""
    found = tuple(step.block for step in reversed(behind) if step.block is not None)
    # The size on both sides of a codec must be known: only checksums are around a compressor.
    names = [block[0] for block in found]
    compressors = [place for place, name in enumerate(names) if name not in ("crc32c", "shuffle")]
    around = names[: compressors[-1]] if compressors else []
    if len(found) != len(behind) or any(name != "crc32c" for name in around):
        return None
    return found


def _order(ndim: int, views: Sequence[Any]) -> Shape | None:
    """The order in which views put the dimensions; None if there are too many."""
    if not views or ndim > MOST_DIMENSIONS:
        return None if views else tuple(range(ndim))
    # Dimension n has n + 1 elements, so that its length identifies it behind the views.
    seen = np.broadcast_to(np.uint8(0), range(1, ndim + 1))
    for view in views:
        seen = view(seen)
    return tuple(length - 1 for length in seen.shape)
