"""Random selections, and what NumPy makes of them.

This module knows NumPy only: it draws keys of every kind for a shape and says what each must
select. It must not know the library under test.
"""

from __future__ import annotations

from typing import Any

import numpy as np

Random = np.random.Generator
Key = Any
Values = np.ndarray[Any, Any]


def integer(random: Random, length: int) -> int:
    """An index; one in forty is out of bounds."""
    if length == 0 or random.random() < 0.025:
        return int(random.integers(length, length + 3)) * int(random.choice([1, -1])) - 1
    return int(random.integers(-length, length))


def span(random: Random, length: int) -> slice:
    """A slice with any sign of step, bounds beyond the ends included."""
    bounds = [
        None if random.random() < 0.3 else int(random.integers(-length - 2, length + 3))
        for _ in range(2)
    ]
    step = None if random.random() < 0.4 else int(random.choice([1, 2, 3, -1, -2, -3, 7, -7]))
    return slice(bounds[0], bounds[1], step)


def mask(random: Random, shape: tuple[int, ...]) -> Values:
    return random.random(shape) < random.choice([0.0, 0.2, 0.5, 1.0])


def indices(random: Random, length: int, shape: tuple[int, ...]) -> Values | list[Any]:
    """An integer array, sometimes a list, sometimes sorted, with repeats and negative numbers."""
    if length == 0:
        return np.zeros((*shape[:-1], 0) if shape else (0,), dtype=int)
    drawn = random.integers(-length, length, shape)
    if random.random() < 0.3 and drawn.ndim == 1:
        drawn = np.sort(drawn % length)
    if random.random() < 0.02 and drawn.size:
        drawn.flat[0] = length
    if random.random() < 0.2 and drawn.ndim == 1 and drawn.size:
        return [int(number) for number in drawn]
    return drawn.astype(random.choice(["i8", "i4", "i2"]))


def basic(random: Random, shape: tuple[int, ...]) -> Key:
    """Integers, slices, Ellipsis and newaxis; fewer entries than dimensions, sometimes more."""
    count = int(random.integers(0, len(shape) + 1))
    if random.random() < 0.02:
        count = len(shape) + 1
    lengths = [*shape, 3]
    entries: list[Any] = [
        integer(random, length) if random.random() < 0.35 else span(random, length)
        for length in lengths[:count]
    ]
    if random.random() < 0.3 and count <= len(shape):
        # Entries behind an Ellipsis belong to the last dimensions.
        tail = int(random.integers(0, count + 1))
        head = count - tail
        last = [
            integer(random, length) if random.random() < 0.35 else span(random, length)
            for length in (shape[len(shape) - tail :] if tail else ())
        ]
        entries = [*entries[:head], Ellipsis, *last]
    while random.random() < 0.15:
        entries.insert(int(random.integers(0, len(entries) + 1)), None)
    if len(entries) == 1 and random.random() < 0.5:
        return entries[0]
    return tuple(entries)


def advanced(random: Random, shape: tuple[int, ...]) -> Key:
    """What NumPy calls advanced: integer arrays and masks among integers, slices and newaxis."""
    if shape and random.random() < 0.15:
        return mask(random, shape[: int(random.integers(1, len(shape) + 1))])
    common = tuple(int(n) for n in random.integers(0, 4, int(random.integers(1, 3))))
    entries: list[Any] = []
    for length in shape[: int(random.integers(1, len(shape) + 1)) if shape else 0]:
        kind = random.random()
        if kind < 0.45:
            used = common if random.random() < 0.8 else common[-1:]
            entries.append(indices(random, length, used))
        elif kind < 0.55 and len(shape) < 3:
            entries.append(mask(random, (length,)))
        elif kind < 0.7:
            entries.append(integer(random, length))
        else:
            entries.append(span(random, length))
    if random.random() < 0.15:
        entries.insert(int(random.integers(0, len(entries) + 1)), None)
    if random.random() < 0.1:
        entries.append(Ellipsis)
    return tuple(entries)


def orthogonal(random: Random, shape: tuple[int, ...]) -> Key:
    """Per axis an integer, slice, integer array or mask."""
    entries: list[Any] = []
    for length in shape:
        kind = random.random()
        if kind < 0.3:
            entries.append(indices(random, length, (int(random.integers(0, 5)),)))
        elif kind < 0.5:
            entries.append(mask(random, (length,)))
        elif kind < 0.7:
            entries.append(integer(random, length))
        else:
            entries.append(span(random, length))
    return tuple(entries)


def take_orthogonal(values: Values, key: tuple[Any, ...]) -> tuple[Any, ...]:
    """The NumPy key that selects every axis on its own. IndexError like NumPy's."""
    arrays, dropped = [], []
    for axis, (entry, length) in enumerate(zip(key, values.shape, strict=True)):
        whole = np.arange(length)
        picked = whole[entry]
        if np.ndim(picked) == 0:
            dropped.append(axis)
            picked = np.atleast_1d(picked)
        arrays.append(picked)
    open_mesh = list(np.ix_(*arrays)) if arrays else []
    for axis in dropped:
        open_mesh[axis] = open_mesh[axis].reshape(())
    kept = [axis for axis in range(values.ndim) if axis not in dropped]
    for axis in kept:
        order = kept.index(axis)
        shape = [1] * len(kept)
        shape[order] = arrays[axis].size
        open_mesh[axis] = arrays[axis].reshape(shape)
    return tuple(open_mesh)


def points(random: Random, shape: tuple[int, ...]) -> Key:
    """One integer or integer array per dimension, which broadcast; or a mask."""
    if shape and random.random() < 0.15:
        return mask(random, shape)
    common = tuple(int(n) for n in random.integers(0, 5, int(random.integers(1, 3))))
    entries: list[Any] = []
    for length in shape:
        kind = random.random()
        if kind < 0.15:
            entries.append(integer(random, length))
        else:
            used = common if kind < 0.7 else tuple(1 if n % 2 else n for n in common)
            entries.append(indices(random, length, used))
    return tuple(entries)


def blocks(random: Random, grid: tuple[int, ...], chunks: tuple[int, ...]) -> tuple[Key, Key]:
    """A block selection, and the slices of the array that it means."""
    entries: list[Any] = []
    slices: list[Any] = []
    for count, size in zip(grid, chunks, strict=True):
        if random.random() < 0.5 and count:
            number = int(random.integers(-count, count))
            entries.append(number)
            start = number % count
            slices.append(slice(start * size, (start + 1) * size))
        else:
            start = int(random.integers(0, count + 1))
            stop = int(random.integers(start, count + 1))
            entries.append(slice(start, stop))
            slices.append(slice(start * size, stop * size))
    return tuple(entries), tuple(slices)


def describe(key: Key) -> str:
    """A key as Python text that can be pasted into a session."""
    if isinstance(key, np.ndarray):
        return f"np.array({key.tolist()}, {key.dtype.str!r}).reshape({key.shape})"
    if isinstance(key, tuple):
        return "(" + "".join(describe(entry) + ", " for entry in key) + ")"
    return repr(key)
