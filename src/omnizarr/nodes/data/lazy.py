"""Arrays that are computed when they are read: Dask's, also inside an xarray.DataArray.

They are written block by block, so that one block is in memory at a time and none is computed
twice. This module knows the protocol of Dask collections. It imports neither library.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from itertools import accumulate, product
from math import prod
from typing import Any

import numpy as np

from omnizarr.nodes.arrow import foreign as arrow
from omnizarr.nodes.creation.overlaps import Location, origins, overlap

REGION_BYTES = 32 << 20
"""Values are written in regions of about this size."""


def computed(value: Any) -> Any:
    """The Dask array that a value is or holds; None for everything else."""
    if not hasattr(type(value), "__dask_graph__"):
        return None
    inner = arrow.foreign(value)  # an array of xarray passes the protocol on
    # A Delayed has any attribute, but none of them is a type of NumPy.
    array = hasattr(inner, "blocks") and isinstance(getattr(inner, "dtype", None), np.dtype)
    return inner if array and hasattr(inner, "__dask_graph__") else None


def goes_in_blocks(value: Any, shape: tuple[int, ...], target: Location) -> bool:
    """Whether a Dask array is written to a selection block by block: if it has the same shape, is
    too large to be computed as a whole, and does not read the array that it is written to."""
    if value is None or value.shape != shape:
        return False
    large = prod(shape) * value.dtype.itemsize > REGION_BYTES
    return large and not any(overlap(source, target) for source in origins(value))


def is_known(value: Any) -> bool:
    """Whether the shape is known before the array is computed."""
    return all(length == length for length in value.shape)


def has_large_blocks(value: Any) -> bool:
    """Whether a block holds as much as a region: then each block is one."""
    return bool(prod(value.chunksize) * value.dtype.itemsize >= REGION_BYTES)


def blocks(value: Any) -> Iterator[tuple[slice, ...]]:
    """The region of every block."""
    axes = [
        [slice(stop - n, stop) for n, stop in zip(lengths, accumulate(lengths), strict=True)]
        for lengths in value.chunks
    ]
    return product(*axes)


@contextmanager
def counted_within(region: tuple[slice, ...]) -> Iterator[None]:
    """Name the region in the error for a value that cannot be written.

    The position in that error counts from the start of the region.
    """
    try:
        yield
    except (TypeError, ValueError, OverflowError) as error:
        plain = type(error) in (TypeError, ValueError, OverflowError)
        if not plain or not any(part.start for part in region):
            raise
        words = ", ".join(f"{part.start}:{part.stop}" for part in region)
        raise type(error)(f"in the region [{words}], counted from its start: {error}") from error


def values_of(value: Any, region: tuple[slice, ...]) -> Any:
    """A region, computed; a masked array stays one."""
    return np.asanyarray(value[region].compute())
