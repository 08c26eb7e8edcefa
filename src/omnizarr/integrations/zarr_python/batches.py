"""What zarr-python asks of a pipeline, as plans of the engine.

zarr-python gives a list of chunks. Each has its key, the part of the chunk and the part of the
caller's array: what a `ChunkPart` holds. Two things differ. An index that is a number drops its
axis, so the caller's array gets an axis of length 1 there. And a chunk is known by its key. Mostly
the list is the product of what is selected along each axis. Then it has factors, as any plan, and
the native core executes it. Else the key stands in the place of the coordinates.

This module knows zarr-python's selections and our plans. It must not know any store.
"""

from __future__ import annotations

import copy
import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from omnizarr.engine import Source
from omnizarr.errors import ErrorLocation
from omnizarr.indexing import ChunkPart, Plan
from omnizarr.indexing.pieces import Points, Run
from omnizarr.model.array import ArrayModel
from omnizarr.model.grids import Grid, Shape, regular_grid
from omnizarr.model.store import Buffer, Store
from omnizarr.stores import MemoryStore

NDArray = npt.NDArray[Any]
Item = tuple[Any, Any, Any, Any, bool]
"""zarr-python's: where the bytes are, `ArraySpec`, part of the chunk, part of the caller's array,
whether all of the chunk inside the array is selected."""

_POINT = slice(0, 1, 1)


@dataclass(frozen=True, eq=False)
class Chunks(Source):
    """Chunks of one shape; remembers those that were not stored."""

    missing: set[str] = field(default_factory=set)
    keyed: bool = True
    """Chunks are known by their keys, not by their coordinates."""

    def within(self, store: Store, prefix: str | None) -> Chunks:
        """The same codecs for one call, on a store; chunks have coordinates below a prefix, or keys
        if that is None."""
        own = copy.copy(self)  # with all that was computed once
        changes = {"store": store, "prefix": prefix or "", "keyed": prefix is None}
        for name, value in {**changes, "missing": set()}.items():
            object.__setattr__(own, name, value)
        return own

    @property
    def decides_missing(self) -> bool:
        return True

    def key(self, coordinates: Any) -> str:
        key: str = coordinates[0] if self.keyed else super().key(coordinates)
        return key

    def fetch_alternative(self, coordinates: Any) -> Buffer | None:
        self.missing.add(self.key(coordinates))
        return None

    def where(self, key: str, coordinates: Any) -> ErrorLocation:
        return ErrorLocation.of(self.store, key=key)


def prepared(model: ArrayModel, shape: Shape, write_empty_chunks: bool) -> Chunks:
    """The chunks of this shape of an array."""
    usual = model.grid.regular and model.grid.chunk_shape == shape
    chunk = replace(
        model,
        shape=model.shape if usual else shape,
        grid=model.grid if usual else regular_grid(shape, shape),
        keys=replace(model.keys, alternatives=()),
        fill_value=model.fill,  # a chunk of zeros is empty too where there is no fill value
    )
    made = Chunks(MemoryStore(), "", chunk, write_empty_chunks=write_empty_chunks)
    for name in (
        *("regular_chain", "most", "fill", "padded", "fill_bytes", "chunk_bytes"),
        *("encode_key", "executor"),
    ):
        getattr(made, name)  # computed once, for all calls
    return made


Factors = tuple[list[Run], list[Points]]


class Batch(Plan):
    """Parts that zarr-python has computed."""

    __slots__ = ("_factors", "_parts")

    def __init__(
        self, parts: list[ChunkPart], shape: Shape, grid: Grid, factors: Factors | None = None
    ) -> None:
        self._parts, self._factors = parts, factors
        self.shape, self.grid = shape, grid

    def __repr__(self) -> str:
        return f"Batch({self.count} parts, working array {self.shape})"

    @property
    def factors(self) -> Factors | None:
        return self._factors

    @property
    def empty(self) -> bool:
        return 0 in self.shape

    @property
    def count(self) -> int:
        return len(self._parts)

    def parts(self) -> Iterator[ChunkPart]:
        return iter(self._parts)

    def only(self, chunks: frozenset[Shape]) -> Batch:
        return self._with([part for part in self._parts if part.coordinates in chunks])

    def some(self, start: int, stop: int) -> Batch:
        """Those from `start` to `stop`, for stores that are not files: of files the core would read
        all that the factors select."""
        return self._with(self._parts[start:stop])

    def _with(self, parts: list[ChunkPart]) -> Batch:
        return Batch(parts, self.shape, self.grid, self._factors)


class Request(NamedTuple):
    """A batch, and the caller's array as its working array."""

    plan: Batch
    working: NDArray
    prefix: str | None = None
    """What is before the keys of chunks; None where they are known by their whole keys."""


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
        return Request(Batch(parts, (), source.model.grid), array) if not array.ndim else None
    # Chunks in one row of the grid have the same objects as selections along that axis.
    known: list[dict[tuple[int, int], _Along]] = [{} for _ in shape]
    dropped = _dropped(items[0][2], drop_axes)
    axes = range(len(shape))
    places = [None if axis in dropped else axis - sum(d < axis for d in dropped) for axis in axes]
    rows: list[tuple[_Along, ...]] = []
    for _, _, chunk_selection, selection, _ in items:
        if (
            type(chunk_selection) is not tuple
            or type(selection) is not tuple
            or len(chunk_selection) != len(shape)
            or len(selection) != len(shape) - len(dropped)
        ):
            return None
        row = []
        for axis, place, here, memory in zip(axes, places, chunk_selection, known, strict=True):
            there = _POINT if place is None else selection[place]
            name = id(here), id(there)
            along = memory.get(name)
            if along is None:
                along = _along(here, there, shape[axis], place is None)
                if along is None:
                    return None
                memory[name] = along
            row.append(along)
        rows.append(tuple(row))
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
    product = _product([item[0].path for item in items], rows, known, source)
    names: Any = product.coordinates if product else [(item[0].path,) for item in items]
    parts = []
    for name, row_, item in zip(names, rows, items, strict=True):
        direct = all(along.direct for along in row_)
        # zarr-python keeps what a shard, but not what a chunk, holds beyond the array's edge.
        whole = direct if sharded else item[4]
        inner, outer = tuple([a.inner for a in row_]), tuple([a.outer for a in row_])
        parts.append(ChunkPart(name, inner, outer, whole, direct, shape))
    grid = source.model.grid
    if product is None:
        return Request(Batch(parts, extent, grid), working)
    return Request(Batch(parts, extent, grid, (product.runs, [])), working, product.prefix)


class _Product(NamedTuple):
    """Chunks that are what one selection takes."""

    coordinates: list[Shape]
    runs: list[Run]
    prefix: str


def _product(
    keys: list[str],
    rows: list[tuple[_Along, ...]],
    known: list[dict[tuple[int, int], _Along]],
    source: Source,
) -> _Product | None:
    """The selection of which the chunks with these keys are the parts, if there is one: equally
    spaced indices along every axis."""
    shape, encode = source.model.grid.chunk_shape, source.encode_key
    depth = encode((0,) * len(shape)).count("/") + 1
    prefix = keys[0][: -len("/".join(keys[0].split("/")[-depth:]))]

    def decoded(number: int) -> Shape | None:
        return source.model.keys.decode(keys[number][len(prefix) :], len(shape))

    first = decoded(0)
    if first is None or list(itertools.product(*[memory.values() for memory in known])) != rows:
        return None
    runs: list[Run] = []
    coordinates: list[list[int]] = []
    stride = len(keys)
    for axis, memory in enumerate(known):
        stride //= len(memory)
        second = decoded(stride) if len(memory) > 1 else first
        if second is None:
            return None
        run = _run(axis, list(memory.values()), shape[axis], first[axis], second[axis])
        if run is None:
            return None
        runs.append(run)
        chunks = [run.start + along.outer.start * run.step for along in memory.values()]
        coordinates.append([start // shape[axis] for start in chunks])
    places = list(itertools.product(*coordinates))
    if [prefix + encode(place) for place in places] != keys:
        return None
    return _Product(places, runs, prefix)


def _run(axis: int, pieces: list[_Along], chunk: int, first: int, second: int) -> Run | None:
    """The indices that pieces of consecutive chunks are cut from, if they are equally spaced.
    `first` and `second` are the chunks of the first two pieces."""
    counts = [piece.outer.stop - piece.outer.start for piece in pieces]
    start, total = first * chunk + pieces[0].inner.start, sum(counts)
    step, rest = pieces[0].inner.step, 0
    if len(pieces) > 1:
        step, rest = divmod(second * chunk + pieces[1].inner.start - start, counts[0])
    if step < 1 or rest:
        return None
    done = 0
    for (inner, outer, _), count in zip(pieces, counts, strict=True):
        inside = (start + done * step) % chunk
        fitting = min(total - done, -(-(chunk - inside) // step))
        spaced = count == 1 or inner.step == step
        if (inner.start, outer.start, count) != (inside, done, fitting) or not spaced:
            return None
        done += count
    return Run(axis, start, step, total, 0)


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
    return Request(Batch(parts, array.shape, source.model.grid), array)
