"""npy files of NumPy as facts: the array `data`, whose chunks are rows of the file.

The values lie in one span without compression, in C or in Fortran order. It is cut into chunks of
some MiB along the axis that varies slowest: the first, or in Fortran order the last; or along those
behind it, if one row is too large. The last chunk of a regular grid is as long as the others, so
where the values end within it, its bytes are held.

This module knows npy files. It must not know how facts are stored.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from math import ceil, prod
from typing import IO

import numpy as np

from omnizarr import limits
from omnizarr.api.virtual.facts import (
    HELD_BYTES,
    WANTED_BYTES,
    Span,
    VirtualArray,
    VirtualFile,
    held,
    is_coordinate,
    places,
)
from omnizarr.api.virtual.files import Place
from omnizarr.api.virtual.npy_header import Header, read_header
from omnizarr.errors import MetadataError, ZarrError
from omnizarr.model.grids import Shape

NAME = "data"
"""Of the array of an npy file."""
CHUNK_BYTES = 8 * limits.MIB
_MOST_CHUNKS = 1 << 17
_MOST_REST = limits.MIB
_TRIED = 1 << 12


def scan(place: Place, wanted: frozenset[str], skip: frozenset[str]) -> VirtualFile:
    """The array of a file. `wanted`: names of those whose values are wanted, if they are small;
    `skip`: names to leave out."""
    with place.open() as file:
        try:
            size = file.seek(0, os.SEEK_END)
            file.seek(0)
            header = read_header(file)
            if header.size + header.nbytes != size:
                raise MetadataError(
                    f"its array of shape {header.shape} and {header.dtype} ends at"
                    f" {header.size + header.nbytes}, and the file at {size}: truncated, or several"
                    " arrays in one file"
                )
            array = located(file, place.url, header, header.size, Names(), NAME, wanted)
        except ZarrError as error:
            raise error.at(f"{place.shown!r}") from error
    arrays = {} if NAME in skip else {NAME: array}
    return VirtualFile(place.shown, {"": {}}, arrays)


class Names:
    """The names of dimensions, which NumPy does not have: in one file, axes of one length share
    one, as in `hdf5`."""

    def __init__(self) -> None:
        self._found: dict[tuple[int, int], str] = {}

    def of(self, shape: Shape) -> tuple[str, ...]:
        """For an array of this shape."""
        return tuple(
            self._found.setdefault((n, shape[:axis].count(n)), f"dim_{len(self._found)}")
            for axis, n in enumerate(shape)
        )


def located(
    file: IO[bytes], url: str, header: Header, begin: int, names: Names, path: str,
    wanted: Iterable[str],
) -> VirtualArray:  # fmt: skip
    """The array whose values begin at a byte of a file, and are all there."""
    shape, dtype, order = header.shape, header.dtype, header.order
    whole = tuple(max(1, length) for length in shape)
    dimensions = names.of(shape)
    array = VirtualArray(shape, whole, dtype, dimensions, order=order)
    limit = WANTED_BYTES if path in wanted else 0
    if not shape or is_coordinate(path, dimensions):
        limit = HELD_BYTES
    if not header.nbytes or header.nbytes <= limit:
        file.seek(begin)
        data = file.read(header.nbytes)
        return held(np.frombuffer(data, dtype).reshape(shape, order=order), array)
    chunks = chunks_of(header)
    turn = -1 if order == "F" else 1
    counts = [-(-length // chunk) for length, chunk in zip(shape, chunks, strict=True)][::turn]
    size = prod(chunks) * dtype.itemsize
    # In one order or the other, chunks lie one behind the other. Along the axis that is cut, the
    # first with more than one element in a chunk, the last of them may be shorter.
    long = (axis for axis, chunk in enumerate(chunks[::turn]) if chunk > 1)
    cut = next(long, len(shape) - 1)
    row = header.nbytes // prod(shape[::turn][: cut + 1])
    run = row * (shape[::turn][cut] if shape else 1)
    pieces: dict[Shape, Span] = {}
    inline: dict[Shape, bytes] = {}
    for number, at in enumerate(places(tuple(counts))):
        outer, inner = divmod(number, counts[cut] if counts else 1)
        offset = begin + outer * run + inner * size
        here = min(size, run - inner * size)
        if here == size:
            pieces[at[::turn]] = Span(url, offset, size)
        else:
            file.seek(offset)
            inline[at[::turn]] = file.read(here).ljust(size, b"\0")
    return VirtualArray(shape, chunks, dtype, dimensions, pieces, order=order, inline=inline)


def chunks_of(header: Header) -> Shape:
    """The shape of the chunks of an array that is not empty: each some MiB in one piece of the
    file, at best so that the last of them is full."""
    turn = -1 if header.order == "F" else 1
    lengths = header.shape[::turn]
    axis, outer, step = 0, 1, header.nbytes
    for axis, length in enumerate(lengths):
        step //= length
        if step <= CHUNK_BYTES or outer * length > _MOST_CHUNKS or axis == len(lengths) - 1:
            break
        outer *= length
    if not lengths:
        return ()
    rows = _rows(lengths[axis], step, outer)
    return ((1,) * axis + (rows,) + lengths[axis + 1 :])[::turn]


def _rows(length: int, step: int, outer: int) -> int:
    """How many rows of `step` bytes make a chunk. What is beyond the last full chunk is held, so
    that it must be short; there are `outer` such."""
    most = min(length, max(1, CHUNK_BYTES // step, ceil(length * outer / _MOST_CHUNKS)))
    most_rest = _MOST_REST // (step * outer)
    near = range(most, max(0, most // 2, most - _TRIED), -1)
    best = min(near, key=lambda rows: length % rows)
    if length % best <= most_rest:
        return best
    return next(rows for rows in range(most, 0, -1) if length % rows <= most_rest)
