"""Tiles of an image, in the order of TIFF and in bounded parts."""

from __future__ import annotations

from itertools import product

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

import omnizarr
from omnizarr.jobs.exporting.raster_tiles import Image, part_count, parts, tiles

sizes = st.integers(1, 40)


@settings(max_examples=40)
@given(
    st.tuples(st.integers(1, 3), sizes, sizes), st.permutations(range(3)), st.booleans(),
    st.tuples(*[st.integers(1, 20)] * 3), st.sampled_from([8, 16]), st.integers(1, 4000),
)  # fmt: skip
def test_they_make_the_image(
    shape: tuple[int, int, int], order: list[int], together: bool, chunks: tuple[int, ...],
    tile: int, memory: int,
) -> None:  # fmt: skip
    """Bands, rows and columns in any order of axes."""
    wanted = np.arange(np.prod(shape), dtype="i4").reshape(shape)
    data = wanted.transpose(order)
    array = omnizarr.array(data, chunks=tuple(map(min, chunks, data.shape)))
    place = order.index
    image = Image(array, place(1), place(2), place(0) if together else None)
    told: list[int] = []
    found = list(tiles(image, tile, data.dtype, lambda n, size, _: told.append(size), "", memory))
    assert len(told) == part_count(image, tile, memory) and sum(told) == data.nbytes
    assert max(told) <= max(memory, tile * tile * 4 * image.depth)
    planes = [wanted.transpose(1, 2, 0)] if together else list(wanted)
    places = product(planes, range(0, shape[1], tile), range(0, shape[2], tile))
    for got, (plane, top, left) in zip(found, places, strict=True):
        part = plane[top : top + tile, left : left + tile]
        assert got.shape[:2] == (tile, tile) and got.flags.c_contiguous
        np.testing.assert_array_equal(got[: part.shape[0], : part.shape[1]], part)
        assert not got[part.shape[0] :].any() and not got[:, part.shape[1] :].any()


def test_whole_chunks_are_read_once() -> None:
    array = omnizarr.zeros((100, 64), chunks=(50, 64), dtype="u1")
    image = Image(array, 0, 1)
    rows = [rows.stop - rows.start for rows, _, _ in parts(image, 16, (), None)]
    assert rows == [64, 36]  # tiles of 16 rows, and at least a chunk
