"""Arrays to make pyramids of, and what must come out."""

from __future__ import annotations

from typing import Any

import numpy as np

import omnizarr as zarr
from omnizarr.jobs.pyramids.gaussian import gaussian
from omnizarr.jobs.pyramids.geometry import Geometry
from omnizarr.jobs.pyramids.kernels import Reduction


def whole(values: Any, factors: tuple[int, ...], count: int, method: Any, nodata: Any) -> list[Any]:
    """All levels, computed from the whole array at once."""
    shapes, steps = [values.shape], []
    for _ in range(count - 1):
        step = tuple(f if n > 1 else 1 for f, n in zip(factors, shapes[-1], strict=True))
        steps.append(step)
        shapes.append(tuple(-(-n // f) for n, f in zip(shapes[-1], step, strict=True)))
    geometry = Geometry(tuple(shapes), tuple(steps))
    found, reduction = [values], Reduction(method, values.dtype, nodata)
    if method == "gaussian":
        for level in range(1, count):
            region = tuple(slice(0, n) for n in shapes[level])
            zeros = (0,) * values.ndim
            found.append(gaussian(found[-1], steps[level - 1], region, zeros, nodata))
        return found
    state = reduction.start(values)
    for level in range(1, count):
        elements = int(np.prod(geometry.total(level - 1)))
        state = reduction.combine(state, steps[level - 1], elements)
        region = tuple(slice(0, n) for n in shapes[level])
        found.append(reduction.finish(state, geometry.counts(level, region)))
    return found


def stored(group: zarr.Group, names: list[str]) -> list[Any]:
    return [group[name][...] for name in names]  # type: ignore[index]


def values_of(store: Any) -> dict[str, bytes]:
    """Every stored value by its key."""
    return {key: bytes(store.get(key)) for key in store.list()}


def image(shape: tuple[int, ...] = (300, 410), dtype: str = "u2") -> Any:
    values = np.random.default_rng(5).integers(0, 250, shape)
    return values.astype(dtype)
