"""What zarr-python asks of a pipeline, as plans of the engine.

zarr-python gives a list of chunks. Each has its key, the part of the chunk and the part of the
caller's array: what a `ChunkPart` holds. Two things differ. An index that is a number drops its
axis, so the caller's array gets an axis of length 1 there. And a chunk is known by its key, not by
its coordinates, so the key stands in their place.

This module knows zarr-python's selections and our plans. It must not know any store.
"""

from __future__ import annotations

import copy
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from omnizarr.engine import Source
from omnizarr.errors import ErrorLocation
from omnizarr.indexing import ChunkPart, Plan
from omnizarr.model.array import ArrayModel
from omnizarr.model.grids import Grid, Shape, regular_grid
from omnizarr.model.keys import ChunkKeys
from omnizarr.model.store import Buffer, Store
from omnizarr.stores import MemoryStore

NDArray = npt.NDArray[Any]
Item = tuple[Any, Any, Any, Any, bool]
"""zarr-python's: where the bytes are, `ArraySpec`, part of the chunk, part of the caller's array,
whether all of the chunk inside the array is selected."""

_POINT = slice(0, 1, 1)


@dataclass(frozen=True, eq=False)
class Chunks(Source):
    """Chunks of one shape that are known by their keys; remembers those that were not stored."""

    missing: set[str] = field(default_factory=set)

    def within(self, store: Store) -> Chunks:
        """The same codecs for one call, on a store."""
        own = copy.copy(self)  # with all that was computed once
        object.__setattr__(own, "store", store)
        object.__setattr__(own, "missing", set())
        return own

    def encode_key(self, coordinates: Any) -> str:
        key: str = coordinates[0]
        return key

    def fetch_alternative(self, coordinates: Any) -> Buffer | None:
        self.missing.add(coordinates[0])
        return None

    def where(self, key: str, coordinates: Any) -> ErrorLocation:
        return ErrorLocation.of(self.store, key=key)


def prepared(model: ArrayModel, shape: Shape, write_empty_chunks: bool) -> Chunks:
    """The chunks of this shape of an array."""
    chunk = replace(
        model,
        shape=shape,
        grid=regular_grid(shape, shape),
        keys=ChunkKeys("default", "/"),
        fill_value=model.fill,  # a chunk of zeros is empty too where there is no fill value
    )
    made = Chunks(MemoryStore(), "", chunk, write_empty_chunks=write_empty_chunks)
    for name in ("regular_chain", "most", "fill", "padded", "fill_bytes", "chunk_bytes"):
        getattr(made, name)  # computed once, for all calls
    return made


class Batch(Plan):
    """Parts that zarr-python has computed."""

    __slots__ = ("_boxes", "_parts")

    def __init__(self, parts: list[ChunkPart], shape: Shape, grid: Grid, boxes: bool) -> None:
        self._parts, self._boxes = parts, boxes
        self.shape, self.grid = shape, grid

    def __repr__(self) -> str:
        return f"Batch({self.count} parts, working array {self.shape})"

    @property
    def dense(self) -> bool:
        return self._boxes

    @property
    def factors(self) -> None:
        return None

    @property
    def empty(self) -> bool:
        return 0 in self.shape

    @property
    def count(self) -> int:
        return len(self._parts)

    def parts(self) -> Iterator[ChunkPart]:
        return iter(self._parts)

    def some(self, start: int, stop: int) -> Batch:
        """Those from `start` to `stop`."""
        return Batch(self._parts[start:stop], self.shape, self.grid, self._boxes)


class Request(NamedTuple):
    """A batch, and the caller's array as its working array."""

    plan: Batch
    working: NDArray


def requested(
    items: Sequence[Item],
    source: Source,
    array: NDArray,
    drop_axes: tuple[int, ...],
    *,
    writing: bool,
) -> Request | None:
    """The request that `items` are; None if the engine has no words for it.

    `array` is the caller's. One without dimensions that is written is meant for all elements."""
    made = _boxes(items, source, array, drop_axes, writing)
    return _arrays(items, source, array, drop_axes, writing) if made is None else made


# -- slices and numbers -----------------------------------------------------------------------


class _Along(NamedTuple):
    """A part along one axis."""

    inner: slice
    outer: slice
    direct: bool


def _boxes(
    items: Sequence[Item],
    source: Source,
    array: NDArray,
    drop_axes: tuple[int, ...],
    writing: bool,
) -> Request | None:
    shape = source.model.grid.chunk_shape
    sharded = source.regular_chain.shard is not None
    if not shape and sharded:
        return None
    if not shape:
        parts = [ChunkPart((item[0].path,), (...,), (...,), True, True, ()) for item in items]
        return Request(Batch(parts, (), source.model.grid, True), array) if not array.ndim else None
    # Chunks in one row of the grid have the same objects as selections along that axis.
    known: list[dict[tuple[int, int], _Along]] = [{} for _ in shape]
    dropped = _dropped(items[0][2], drop_axes)
    axes = range(len(shape))
    places = [None if axis in dropped else axis - sum(d < axis for d in dropped) for axis in axes]
    parts = []
    for target, _, chunk_selection, selection, whole in items:
        if (
            type(chunk_selection) is not tuple
            or type(selection) is not tuple
            or len(chunk_selection) != len(shape)
            or len(selection) != len(shape) - len(dropped)
        ):
            return None
        inner, outer, direct = [], [], True
        for axis, place, here, memory in zip(axes, places, chunk_selection, known, strict=True):
            there = _POINT if place is None else selection[place]
            name = id(here), id(there)
            along = memory.get(name)
            if along is None:
                along = _along(here, there, shape[axis], place is None)
                if along is None:
                    return None
                memory[name] = along
            inner.append(along.inner)
            outer.append(along.outer)
            direct = direct and along.direct
        key: Any = (target.path,)
        # zarr-python keeps what a shard, but not what a chunk, holds beyond the array's edge.
        part = ChunkPart(
            key, tuple(inner), tuple(outer), direct if sharded else whole, direct, shape
        )
        parts.append(part)
    extent = tuple([max(along.outer.stop for along in memory.values()) for memory in known])
    if writing and not array.ndim:
        working = np.broadcast_to(array, extent)
    elif array.ndim != len(shape) - len(dropped):
        return None
    else:
        spread = tuple(np.newaxis if axis in dropped else slice(None) for axis in axes)
        working = array[(..., *spread)]  # the ellipsis makes it a view in any case
        if working.shape != extent:
            return None
    boxes = all(along.inner.step == 1 for memory in known for along in memory.values())
    return Request(Batch(parts, extent, source.model.grid, boxes), working)


def _dropped(selection: Any, drop_axes: tuple[int, ...]) -> set[int]:
    """The axes that the caller's array does not have."""
    numbers = enumerate(selection if type(selection) is tuple else ())
    return {axis for axis, index in numbers if isinstance(index, int | np.integer)} | {*drop_axes}


def _along(here: Any, there: Any, size: int, dropped: bool) -> _Along | None:
    """One axis of a part; None unless it is a number or a slice, into consecutive places."""
    if dropped and isinstance(here, int | np.integer):
        here = slice(int(here), int(here) + 1, 1)
    if type(here) is not slice or type(there) is not slice:
        return None
    start, stop, step = here.indices(size)
    first, last = there.start, there.stop
    if not isinstance(first, int) or not isinstance(last, int) or there.step not in (1, None):
        return None
    count = len(range(start, stop, step))
    if step < 1 or first < 0 or count < 1 or last - first != count:
        return None
    stop = start + (count - 1) * step + 1
    return _Along(slice(start, stop, step), slice(first, last, 1), count == size)


# -- index arrays -----------------------------------------------------------------------------


def _arrays(
    items: Sequence[Item],
    source: Source,
    array: NDArray,
    drop_axes: tuple[int, ...],
    writing: bool,
) -> Request | None:
    """Selections that NumPy applies to a decoded chunk, one after the other."""
    if drop_axes or source.regular_chain.shard is not None or source.model.data_type.variable:
        return None
    one = writing and not array.ndim
    shape = source.model.grid.chunk_shape
    parts = []
    for target, _, chunk_selection, selection, whole in items:
        key: Any = (target.path,)
        outer: Any = () if one else selection
        parts.append(ChunkPart(key, chunk_selection, outer, whole, False, shape))
    return Request(Batch(parts, array.shape, source.model.grid, False), array)
