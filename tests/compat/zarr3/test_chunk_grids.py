"""Chunk grids: the chunks of an array, and the documents of grids."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from omnizarr.compat import zarr3
from omnizarr.compat.zarr3.core.chunk_grids import ChunkGrid, ChunkSpec
from omnizarr.compat.zarr3.core.metadata.grids import (
    RectilinearChunkGridMetadata,
    RegularChunkGridMetadata,
    parse_chunk_grid,
)


@st.composite
def axes(draw: st.DrawFn) -> tuple[int, int | tuple[int, ...]]:
    if draw(st.booleans()):
        return draw(st.integers(0, 9)), draw(st.integers(1, 4))
    edges = tuple(draw(st.lists(st.integers(1, 4), min_size=1, max_size=4)))
    return draw(st.integers(0, sum(edges))), edges


@given(st.lists(axes(), max_size=3))
def test_every_element_is_in_one_chunk(given_axes: list[tuple[int, Any]]) -> None:
    shape = tuple(extent for extent, _ in given_axes)
    grid = ChunkGrid.from_sizes(shape, [size for _, size in given_axes])
    seen = np.zeros(shape, int)
    for chunk in grid:
        assert seen[chunk.slices].shape == chunk.shape
        assert all(map(int.__le__, chunk.shape, chunk.codec_shape))
        seen[chunk.slices] += 1
    assert (seen == 1).all()
    assert grid.get_nchunks() == len(list(grid)) == len(list(grid.all_chunk_coords()))
    assert tuple(map(sum, grid.chunk_sizes)) == shape
    assert tuple(map(len, grid.chunk_sizes)) == grid.grid_shape


@given(st.lists(st.integers(1, 3), min_size=1, max_size=8), st.integers(1, 4))
def test_a_document_keeps_its_edges(edges: list[int], size: int) -> None:
    grid = RectilinearChunkGridMetadata(chunk_shapes=(tuple(edges), size))
    assert parse_chunk_grid(grid.to_dict()) == grid


def test_an_array_has_the_chunks_of_its_grid() -> None:
    with zarr3.config.set({"array.rectilinear_chunks": True}):
        array = zarr3.create_array({}, shape=(6, 5), chunks=((1, 5), (2, 3)), dtype="i1")
    grid = ChunkGrid.from_metadata(array.metadata)
    assert grid.chunk_sizes == ((1, 5), (2, 3))
    assert grid[1, 0] == ChunkSpec((slice(1, 6, 1), slice(0, 2, 1)), (5, 2))
    assert grid[2, 0] is None
    regular = zarr3.create_array({}, shape=5, chunks=2, dtype="i1", zarr_format=2)
    assert ChunkGrid.from_metadata(regular.metadata).chunk_shape == (2,)


def test_a_grid_follows_the_array() -> None:
    grid = ChunkGrid.from_sizes((6, 6), (4, (2, 4)))
    assert grid.update_shape((9, 7)).chunk_sizes == ((4, 4, 1), (2, 4, 1))
    assert grid.update_shape((3, 2)).chunk_sizes == ((3,), (2,))
    document = RectilinearChunkGridMetadata(chunk_shapes=((2, 4),))
    assert document.update_shape((6,), (9,)).chunk_shapes == ((2, 4, 3),)
    assert document.update_shape((6,), (3,)) == document


@pytest.mark.parametrize(
    ("shapes", "error"),
    [
        (((),), ValueError),
        (((2, 0),), ValueError),
        ((2.0,), TypeError),
        ((np.int64(2),), TypeError),
    ],
)
def test_a_document_refuses_other_lengths(shapes: Any, error: type[Exception]) -> None:
    with pytest.raises(error):
        RectilinearChunkGridMetadata(chunk_shapes=shapes)


def test_what_is_refused() -> None:
    with pytest.raises(TypeError, match="iterable"):
        RegularChunkGridMetadata(chunk_shape="44")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="more than"):
        parse_chunk_grid(
            {
                "name": "rectilinear",
                "configuration": {"kind": "inline", "chunk_shapes": [[[1, 2**60]]]},
            }
        )
    grid = ChunkGrid.from_sizes((6, 6), (4, (2, 4)))
    with pytest.raises(ValueError, match="only available for regular"):
        _ = grid.chunk_shape
    with pytest.raises(IndexError, match="Invalid selection shape"):
        grid.all_chunk_coords(origin=(1, 0), selection_shape=(2, 1))
    with pytest.raises(ValueError, match="exceeds sum of edges"):
        ChunkGrid.from_sizes(9, [(2, 4)])
    with pytest.raises(ValueError, match="coordinate"):
        grid[1]
