"""Random shapes, grids and keys of every kind, and what NumPy makes of them.

Everything is drawn from a `random.Random`, so that one generator serves three drivers:

* Hypothesis: `case = draw(st.randoms(use_true_random=False))` (see `randoms`), with shrinking;
* a plain campaign: `random.Random(seed)`;
* NumPy: `random.Random(int(generator.integers(2**63)))` (see `from_generator`).

Keys are what a user could write for an array of the given shape; with `faults=True` some of them
do not fit, and NumPy must refuse the same ones. `SELECTIONS` names every way of indexing with
its generator, our function and the oracle that gives the same from a NumPy array.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from hypothesis import strategies as st

from omnizarr.indexing import Transform, basic_and_advanced, coordinates, mask, orthogonal
from omnizarr.model.grids import Axis, Grid, rectilinear_grid, regular_grid

Shape = tuple[int, ...]
Key = Any


def randoms() -> st.SearchStrategy[random.Random]:
    """A `random.Random` whose choices Hypothesis makes and shrinks."""
    return st.randoms(use_true_random=False)


def from_generator(generator: np.random.Generator) -> random.Random:
    return random.Random(int(generator.integers(2**63)))


def draw_shape(rng: random.Random, max_ndim: int = 4, max_length: int = 9) -> Shape:
    """A shape of 0 to `max_ndim` dimensions; lengths 0 and 1 are not rare."""
    ndim = rng.randint(0, max_ndim)
    return tuple(
        rng.choice((0, 1)) if rng.random() < 0.15 else rng.randint(1, max_length)
        for _ in range(ndim)
    )


def draw_chunks(rng: random.Random, shape: Shape) -> Shape:
    """A chunk shape; chunks may be larger than the array."""
    return tuple(rng.randint(1, max(1, length + 2)) for length in shape)


def draw_grid(rng: random.Random, shape: Shape) -> Grid:
    """A regular or rectilinear grid, overhanging or not."""
    if rng.random() < 0.6:
        return regular_grid(shape, draw_chunks(rng, shape))
    edges: list[int | Shape] = []
    for length in shape:
        if rng.random() < 0.2:
            edges.append(rng.randint(1, length + 2))
            continue
        cuts: list[int] = []
        while sum(cuts) < length:
            cuts.append(rng.randint(1, max(1, length)))
        edges.append((*cuts, 3) if rng.random() < 0.2 else tuple(cuts))
    return rectilinear_grid(shape, tuple(edges))


def draw_inner_grid(rng: random.Random, shape: Shape) -> Grid:
    """A grid whose chunks divide `shape`, as the inner chunks of a shard do."""
    return regular_grid(
        shape, tuple(rng.choice([d for d in range(1, n + 1) if n % d == 0]) for n in shape)
    )


def draw_integer(rng: random.Random, length: int, faults: bool = False) -> Any:
    if faults and rng.random() < 0.1:
        index = rng.choice((length, -length - 1, length + 7))
    elif length == 0:
        return slice(None)
    else:
        index = rng.randrange(-length, length)
    kind = rng.random()
    if kind < 0.8:
        return index
    return np.int64(index) if kind < 0.9 else np.array(index, dtype=np.int16)


def draw_slice(rng: random.Random, length: int) -> slice:
    if rng.random() < 0.2:
        return slice(None)
    bound = length + 2

    def end() -> int | None:
        return None if rng.random() < 0.3 else rng.randint(-bound, bound)

    step = rng.choice((None, 1, 1, 2, 3, length + 1, -1, -1, -2, -3))
    return slice(end(), end(), step)


def draw_positions(rng: random.Random, length: int, shape: Shape, faults: bool = False) -> Any:
    """An index array (or list) of this shape: sorted, unsorted, with repetitions."""
    size = int(np.prod(shape))
    if length == 0 and size and not faults:
        shape, size = (0,), 0
    values = [rng.randrange(-length, length) if length else 0 for _ in range(size)]
    order = rng.random()
    if order < 0.3:
        values.sort()
    elif order < 0.45:
        values = sorted(value % length for value in set(values)) if length else values
        shape = (len(values),) if len(shape) == 1 else shape
        values += [0] * (int(np.prod(shape)) - len(values))
    if faults and values and rng.random() < 0.1:
        values[rng.randrange(len(values))] = length + rng.randint(0, 2)
    array = np.array(
        values, dtype=rng.choice(("i8", "i8", "i4", "u2" if min(values, default=0) >= 0 else "i2"))
    ).reshape(shape)
    return array.tolist() if array.size and rng.random() < 0.3 else array


def draw_mask(rng: random.Random, shape: Shape, faults: bool = False) -> Any:
    if faults and shape and rng.random() < 0.1:
        shape = (shape[0] + 1, *shape[1:])
    likely = rng.choice((0.0, 0.1, 0.5, 0.9, 1.0))
    flat = [rng.random() < likely for _ in range(int(np.prod(shape)))]
    array = np.array(flat, dtype=bool).reshape(shape)
    return array.tolist() if array.ndim == 1 and array.size and rng.random() < 0.3 else array


def draw_basic_key(rng: random.Random, shape: Shape, faults: bool = False) -> Key:
    """Integers, slices, Ellipsis and newaxis."""
    return _key(rng, shape, faults, lambda axis: None)


def draw_key(rng: random.Random, shape: Shape, faults: bool = False) -> Key:
    """Anything that `ndarray.__getitem__` takes."""
    if rng.random() < 0.3:
        return draw_basic_key(rng, shape, faults)
    count = _count(rng)
    common = rng.choice([(count,), (count,), (count,), (rng.randint(1, 3), count), ()])

    def array(axis: int) -> tuple[Any, int] | None:
        kind = rng.random()
        if kind < 0.4:
            own = tuple(1 if rng.random() < 0.2 else length for length in common)
            own = own[rng.randint(0, len(own)) :] if rng.random() < 0.2 else own
            return draw_positions(rng, shape[axis], own, faults), 1
        if kind < 0.5:
            taken = rng.randint(1, min(2, len(shape) - axis))
            return draw_mask(rng, shape[axis : axis + taken], faults), taken
        return None

    key = _key(rng, shape, faults, array)
    if rng.random() < 0.05:
        extra = rng.choice((True, False, np.True_, np.array(True)))
        items = list(key) if isinstance(key, tuple) else [key]
        items.insert(rng.randint(0, len(items)), extra)
        return tuple(items)
    return key


def draw_orthogonal_key(rng: random.Random, shape: Shape, faults: bool = False) -> Key:
    """Integers, slices, one-dimensional index arrays and masks, one per axis."""

    def array(axis: int) -> tuple[Any, int] | None:
        kind = rng.random()
        if kind < 0.4:
            return draw_positions(rng, shape[axis], (_count(rng),), faults), 1
        if kind < 0.6:
            return draw_mask(rng, shape[axis : axis + 1], faults), 1
        return None

    return _key(rng, shape, faults, array, new_axes=False)


def draw_coordinate_key(rng: random.Random, shape: Shape, faults: bool = False) -> Key:
    """Index arrays that broadcast, integers and slices."""
    common = rng.choice([(_count(rng),), (rng.randint(1, 3), _count(rng))])
    if rng.random() < 0.15 and shape:
        return draw_mask(rng, shape, faults)

    def array(axis: int) -> tuple[Any, int] | None:
        if rng.random() < 0.8:
            own = tuple(1 if rng.random() < 0.2 else length for length in common)
            return draw_positions(rng, shape[axis], own, faults), 1
        return None

    return _key(rng, shape, faults, array, new_axes=False)


def draw_block_key(rng: random.Random, grid: Grid) -> Key:
    """Integers and slices with step 1 that count chunks."""

    def item(axis: Axis) -> int | slice:
        if axis.count and rng.random() < 0.5:
            return rng.randrange(-axis.count, axis.count)
        cut = draw_slice(rng, axis.count)
        return slice(cut.start, cut.stop)

    low = rng.randint(0, len(grid.axes))
    items: list[Any] = [item(axis) for axis in grid.axes[:low]]
    if rng.random() < 0.3:
        items.append(Ellipsis)
        items.extend(item(axis) for axis in grid.axes[rng.randint(low, len(grid.axes)) :])
    return items[0] if len(items) == 1 else tuple(items)


def _count(rng: random.Random) -> int:
    return 0 if rng.random() < 0.1 else rng.randint(1, 12)


def _key(
    rng: random.Random,
    shape: Shape,
    faults: bool,
    array: Callable[[int], tuple[Any, int] | None],
    new_axes: bool = True,
) -> Key:
    """A key entry by entry; `array(axis)` may give an array and how many axes it takes."""
    stop = len(shape) if rng.random() < 0.7 else rng.randint(0, len(shape))
    gap = rng.randint(0, stop) if rng.random() < 0.25 else None
    skipped = len(shape) - stop
    items: list[Any] = []
    axis = 0
    while axis < stop:
        if new_axes and rng.random() < 0.1:
            items.append(None)
        if gap is not None and axis >= gap:
            items.append(Ellipsis)
            axis, stop, gap = axis + skipped, stop + skipped, None
            continue
        drawn = array(axis)
        if drawn is not None:
            items.append(drawn[0])
            axis += drawn[1]
            continue
        if rng.random() < 0.4:
            items.append(draw_integer(rng, shape[axis], faults))
        else:
            items.append(draw_slice(rng, shape[axis]))
        axis += 1
    if gap is not None:
        items.append(Ellipsis)
    if new_axes and rng.random() < 0.1:
        items.append(None)
    if faults and rng.random() < 0.05:
        items.extend(rng.choice(([0] * (len(shape) + 1), [..., ...], ["x"], [1.5], [[0.5]])))
    return items[0] if len(items) == 1 and rng.random() < 0.7 else tuple(items)


def take_basic(x: np.ndarray, key: Key) -> np.ndarray:
    return np.asarray(x[key])


def take_orthogonal(x: np.ndarray, key: Key) -> np.ndarray:
    """Axis by axis, the last first, so that the numbers of the others do not change."""
    items = _spread(key, x.ndim)
    for axis in reversed(range(len(items))):
        item = items[axis]
        if not isinstance(item, (slice, int, np.integer)):
            item = np.asarray(item)
            item = item.astype(np.intp) if item.size == 0 and item.dtype != bool else item
        x = np.asarray(x[(slice(None),) * axis + (item,)])
    return x


def take_coordinates(x: np.ndarray, key: Key) -> np.ndarray:
    """Slices first, then NumPy's own rule on arrays that all stand together at the front."""
    if isinstance(key, np.ndarray) and key.dtype == bool:
        return x[key]
    items = _spread(key, x.ndim)
    slices = [axis for axis, item in enumerate(items) if isinstance(item, slice)]
    points = [axis for axis in range(x.ndim) if axis not in slices]
    moved = x.transpose(points + slices)
    return np.asarray(moved[(*(items[axis] for axis in points), *(items[axis] for axis in slices))])


def _spread(key: Key, ndim: int) -> list[Any]:
    items = list(key) if isinstance(key, tuple) else [key]
    if not any(item is Ellipsis for item in items):
        items.append(Ellipsis)
    at = next(place for place, item in enumerate(items) if item is Ellipsis)
    items[at : at + 1] = [slice(None)] * (ndim - len(items) + 1)
    return items


def _fitting(draw: Callable[..., Key], take: Callable[..., np.ndarray]) -> Callable[..., Key]:
    """The generator, drawing again (unless faults are wanted) until NumPy takes the key: masks
    and index arrays of one key need not broadcast together."""

    def fitting(rng: random.Random, shape: Shape, faults: bool = False) -> Key:
        for _ in range(20):
            key = draw(rng, shape, faults)
            if faults:
                return key
            try:
                take(np.broadcast_to(0, shape), key)
            except IndexError:
                continue
            return key
        return Ellipsis

    return fitting


class Selection(NamedTuple):
    """A way of indexing."""

    draw: Callable[..., Key]
    """`draw(rng, shape, faults=False)`."""
    apply: Callable[[Transform, Key], Transform]
    take: Callable[[np.ndarray, Key], np.ndarray]
    """The same, of a NumPy array."""


SELECTIONS = {
    "basic": Selection(draw_basic_key, basic_and_advanced, take_basic),
    "advanced": Selection(_fitting(draw_key, take_basic), basic_and_advanced, take_basic),
    "orthogonal": Selection(draw_orthogonal_key, orthogonal, take_orthogonal),
    "coordinates": Selection(
        _fitting(draw_coordinate_key, take_coordinates), coordinates, take_coordinates
    ),
    "mask": Selection(draw_mask, mask, take_basic),
}


def put(x: np.ndarray, take: Callable[[np.ndarray, Key], np.ndarray], key: Key, value: Any) -> None:
    """Write through any oracle: of values for one element, the last in C order wins."""
    places = take(np.arange(x.size).reshape(x.shape), key)
    values = np.broadcast_to(value, places.shape)
    x.reshape(-1)[places.reshape(-1)] = values.reshape(-1)
