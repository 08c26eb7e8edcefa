"""How long planning takes, without any I/O: microseconds per part and per call.

python benchmarks/planning.py
"""

from __future__ import annotations

from collections.abc import Callable
from time import perf_counter
from typing import Any

import numpy as np

from omnizarr.indexing import (
    Transform,
    basic_and_advanced,
    coordinates,
    identity,
    mask,
    orthogonal,
    partition,
    refine,
)
from omnizarr.model.grids import Grid, regular_grid


def best(act: Callable[[], Any], times: int = 5) -> float:
    def once() -> float:
        start = perf_counter()
        act()
        return perf_counter() - start

    return min(once() for _ in range(times))


def row(name: str, count: int, seconds: float) -> None:
    each = seconds / count * 1e6
    print(f"{name:32} {count:9,} parts {seconds * 1e3:9.3f} ms {each:9.2f} µs each")


def report(name: str, grid: Grid, select: Callable[[Transform], Transform]) -> None:
    everything = identity(grid.array_shape)

    def plan() -> int:
        return sum(1 for _ in partition(select(everything), grid).parts())

    row(name, plan(), best(plan))


def main() -> None:
    rng = np.random.default_rng(0)
    line = regular_grid((1_000_000,), (100,))
    plane = regular_grid((1000, 1000), (10, 10))
    cube = regular_grid((210, 210, 230), (10, 10, 10))
    sparse = regular_grid((10**4,) * 3, (1, 1, 1))
    points = tuple(rng.integers(0, 1000, 10**6) for _ in range(2))
    chosen = rng.random((1000, 1000)) < 0.5
    third = np.arange(0, 1000, 3)
    report("all, 1-d", line, lambda x: x)
    report("all, 2-d", plane, lambda x: x)
    report("all, 3-d", cube, lambda x: x)
    report("[::2], 1-d", line, lambda x: basic_and_advanced(x, slice(None, None, 2)))
    report("[::-3, ::2]", plane, lambda x: basic_and_advanced(x, np.s_[::-3, ::2]))
    report("oindex[array, array]", plane, lambda x: orthogonal(x, (third, third)))
    report("vindex, 1,000,000 points", plane, lambda x: coordinates(x, points))
    report("mask of 1,000,000", plane, lambda x: mask(x, chosen))
    report("one element", plane, lambda x: basic_and_advanced(x, (5, 7)))
    report("one element of 10¹²", sparse, lambda x: basic_and_advanced(x, (5, 7, 9)))

    shards, inner = regular_grid((512,) * 3, (256,) * 3), regular_grid((256,) * 3, (16,) * 3)

    def refined() -> int:
        parts = partition(identity((512,) * 3), shards).parts()
        return sum(1 for part in parts for _ in refine(part, inner))

    row("inner chunks of shards", refined(), best(refined))


if __name__ == "__main__":
    main()
