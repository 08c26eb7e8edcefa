"""The planner of passes, alone: coverage, alignment, memory, and costs that a store observes."""

from __future__ import annotations

from itertools import product
from math import prod
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import omnizarr as zarr
from omnizarr.jobs.conversion.chunks import Blocks
from omnizarr.jobs.conversion.regions import touched
from omnizarr.jobs.rechunking.plan import Pass
from omnizarr.jobs.rechunking.planner import Problem, extent, least_memory, make_plan, touches
from omnizarr.model.grids import Axis, Grid, RectilinearAxis, RegularAxis, regular_grid
from omnizarr.testing import CountingStore

MIB = 1 << 20


@st.composite
def axes(draw: st.DrawFn, length: int) -> Axis:
    if draw(st.booleans()):
        return RegularAxis(length, draw(st.integers(1, length + 3)))
    edges: list[int] = []
    while sum(edges) < length:
        edges.append(draw(st.integers(1, length)))
    return RectilinearAxis(length, tuple(edges))


@st.composite
def problems(draw: st.DrawFn) -> Problem:
    shape = tuple(draw(st.lists(st.integers(1, 24), min_size=1, max_size=3)))
    source, target = (
        Grid(tuple(draw(axes(length)) for length in shape)) for _ in ("source", "target")
    )
    itemsize = draw(st.sampled_from([1, 2, 8]))
    memory = draw(st.integers(1, 40_000))
    return Problem(
        shape, itemsize, source, source, target, memory, memory // 3,
        request=draw(st.sampled_from([0, 100, 10_000])), several=draw(st.booleans()),
        sparse=draw(st.booleans()),
    )  # fmt: skip


def grids(problem: Problem, passes: tuple[Pass, ...]) -> list[Grid]:
    """What each pass writes."""
    between = [regular_grid(problem.shape, each.write_unit) for each in passes[:-1]]
    return [*between, problem.target]


@given(problems())
@settings(max_examples=150, deadline=None)
def test_every_element_once_in_whole_units_within_the_memory(problem: Problem) -> None:
    plan = make_plan(problem)
    assert plan.memory <= max(problem.memory, least_memory(problem))
    reading = problem.source
    for each, grid in zip(plan.passes, grids(problem, plan.passes), strict=True):
        blocks = Blocks(grid, each.factors)
        seen = np.zeros(problem.shape, int)
        visits = 0
        cuts = [{axis.start(at) for at in range(axis.count)} for axis in grid.axes]
        for block in product(*map(range, blocks.shape)):
            region = blocks.region(block)
            seen[region] += 1
            visits += sum(1 for _ in touched(reading, region))
            for part, starts, length in zip(region, cuts, problem.shape, strict=True):
                assert part.start in starts and part.stop in starts | {length}
            sizes = [part.stop - part.start for part in region]
            assert all(n <= most for n, most in zip(sizes, each.region, strict=True))
        assert np.all(seen == 1)
        assert prod(blocks.shape) == each.tasks
        assert visits == each.reads
        assert each.writes == grid.nchunks
        reading = grid


@given(st.data())
def test_pairs_of_regions_and_chunks_are_counted(data: st.DataObject) -> None:
    length = data.draw(st.integers(1, 40))
    source, target = data.draw(axes(length)), data.draw(axes(length))
    factor = data.draw(st.integers(1, target.count))
    starts = [target.start(at) for at in range(0, target.count, factor)]
    stops = [*starts[1:], length]
    parts = list(zip(starts, stops, strict=True))
    expected = sum(source.chunk_of(b - 1) - source.chunk_of(a) + 1 for a, b in parts)
    assert touches(source, target, factor) == expected
    assert extent(target, factor) >= max(b - a for a, b in parts)


def problem(
    shape: Any, before: Any, after: Any, memory: int = 256 * MIB, itemsize: int = 4, **more: Any
) -> Problem:
    source = regular_grid(shape, before)
    inner = more.pop("inner", None)
    read = source if inner is None else regular_grid(shape, inner)
    scratch = min(64 * MIB, memory // 3)
    target = regular_grid(shape, after)
    return Problem(shape, itemsize, source, read, target, memory, scratch, **more)


def test_a_second_pass_where_one_would_read_too_often() -> None:
    plan = make_plan(problem((10_000, 1000, 1000), (1000, 10, 10), (1, 1000, 1000)))
    assert len(plan.passes) == 2
    assert plan.amplification < 1.1
    assert plan.memory <= 256 * MIB
    alone = make_plan(problem((10_000, 1000, 1000), (1000, 10, 10), (1, 1000, 1000), several=False))
    assert len(alone.passes) == 1 and alone.amplification > 10


def test_one_pass_where_the_memory_allows_it() -> None:
    plan = make_plan(problem((100, 512, 512), (1, 512, 512), (100, 64, 64)))
    assert len(plan.passes) == 1 and plan.amplification == 1
    assert plan.intermediate_bytes == 0


def test_a_third_pass_where_the_memory_is_small() -> None:
    plan = make_plan(problem((10**6, 10**6), (10**6, 1), (1, 10**6)))
    assert len(plan.passes) == 3
    assert min(prod(each.write_unit) for each in plan.passes) > 100_000


def test_shards_are_read_by_the_chunks_inside() -> None:
    shape, shard = (64, 4096, 4096), (64, 4096, 4096)
    plan = make_plan(problem(shape, shard, (1, 4096, 4096), inner=(1, 512, 512)))
    assert len(plan.passes) == 1 and plan.amplification == 1


def test_huge_grids_are_planned_at_once() -> None:
    plan = make_plan(problem((10**12, 10**6), (10, 10), (7, 13), itemsize=1))
    assert len(plan.passes) == 1 and plan.amplification == 1


@pytest.mark.parametrize("shape", [(), (0, 3)])
def test_nothing_to_cut(shape: tuple[int, ...]) -> None:
    chunks = tuple(max(1, n) for n in shape)
    plan = make_plan(problem(shape, chunks, chunks))
    assert len(plan.passes) == 1 and plan.memory < MIB


def test_the_text() -> None:
    text = str(make_plan(problem((1000, 512, 256), (1000, 32, 32), (10, 512, 256))))
    assert text.splitlines() == [
        "2 passes: 192 reads of 1000.0 MiB (the source 1.0 times), 164 writes, 500.0 MiB in"
        " between, 189.0 MiB per task",
        "  1: 1000x32x32 -> 125x128x128, 8 regions of 1000x128x128; 128 reads of 500.0 MiB,"
        " 64 writes",
        "  2: 125x128x128 -> 10x512x256, 4 regions of 250x512x256; 64 reads of 500.0 MiB,"
        " 100 writes",
    ]


@pytest.mark.usefixtures("free_requests")
@pytest.mark.parametrize("memory", [None, 40_000, 12_000])
@pytest.mark.parametrize("chunks", [(1, 20, 10), (7, 3, 5), (30, 20, 1)])
def test_the_costs_are_those_that_stores_observe(memory: int | None, chunks: Any) -> None:
    source, out, between = (CountingStore(zarr.MemoryStore()) for _ in range(3))
    data = np.arange(1, 30 * 20 * 10 + 1, dtype="i4").reshape(30, 20, 10)
    zarr.create_array(source, data=data, chunks=(10, 4, 5), compressors=None)
    source.reset()
    done = zarr.rechunk(
        source, out, chunks=chunks, max_memory=memory, temporary=between, workers=1
    ).nodes[0]
    plan = done.rechunking
    assert plan is not None
    assert sum(key.startswith("c/") for key in source.asked["get"]) == plan.passes[0].reads
    assert done.bytes_read == plan.source_bytes
    stored = sum(key.startswith("c/") for key in out.asked["set"])
    assert stored == plan.passes[-1].writes
    assert done.bytes_written == plan.passes[-1].bytes_written
    assert between.counts["set"] == sum(each.writes for each in plan.passes[:-1])
    assert between.counts["get"] == sum(each.reads for each in plan.passes[1:])
    assert len(between) == 0
    assert np.array_equal(zarr.open_array(out)[...], data)
