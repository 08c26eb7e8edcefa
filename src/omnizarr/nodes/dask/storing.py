"""Write a Dask array into an array that exists: all of it, a region, or appended.

Every block is one task and one assignment, which the engine writes chunk by chunk. Blocks share no
stored chunk (`alignment`), so that tasks need no locks between them, and a task that runs twice,
because its worker was killed, writes the same values again.

This module knows Dask's `store`. It must not know how values are encoded.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import starmap
from types import EllipsisType
from typing import TYPE_CHECKING, Any

from omnizarr.errors import MetadataError, OverlapError, SelectionError
from omnizarr.nodes import resizing
from omnizarr.nodes.creation.overlaps import Location, origins, overlap
from omnizarr.nodes.dask import alignment, tokens
from omnizarr.nodes.data.lazy import computed, is_known
from omnizarr.runtime.optional_packages import package

if TYPE_CHECKING:
    import dask.array
    from dask.delayed import Delayed

    from omnizarr.nodes.array import Array

Region = slice | EllipsisType | Sequence[slice | EllipsisType]
_Slices = tuple[slice, ...]


def as_lazy(x: Any) -> Any:
    """The Dask array that is or is held by `x`, with a shape that is known."""
    package("dask.array", "dask", "from_dask")
    found = computed(x)
    if found is None:
        raise TypeError(
            f"from_dask() takes a Dask array, or a DataArray that holds one, found"
            f" {type(x).__name__}; create_array(data=…) takes arrays of every other kind"
        )
    if not is_known(found):
        raise MetadataError(
            "the Dask array has blocks of unknown length; call x.compute_chunk_sizes() first"
        )
    return found


def edges(array: Array) -> tuple[alignment.Edge, ...]:
    """Lengths of what is written as one value, along every dimension."""
    return array.shards or array.chunks


def checked(lazy: Any, grid: tuple[alignment.Edge, ...], starts: Sequence[int], align: bool) -> Any:
    """The Dask array with chunks such that no two of its blocks share a stored chunk.

    Raises
    ------
    MetadataError
        If blocks share one, and `align` is False.
    """
    fitted = tuple(starmap(alignment.fitted, zip(lazy.chunks, grid, starts, strict=True)))
    if fitted == lazy.chunks:
        return lazy
    if align:
        return lazy.rechunk(fitted)
    wrong = [n for n, (old, new) in enumerate(zip(lazy.chunks, fitted, strict=True)) if old != new]
    call = alignment.call(lazy.chunks, fitted)
    raise MetadataError(
        f"two tasks would write parts of one stored chunk: along axis {wrong[0]}, blocks of"
        f" {_shown(lazy.chunks[wrong[0]])} from index {starts[wrong[0]]} on do not end where the"
        f" stored chunks of {_shown(grid[wrong[0]])} end"
    ).advise(f"write x{call}, or pass align=True" if call else "pass align=True")


def _shown(lengths: alignment.Edge) -> str:
    if isinstance(lengths, int):
        return str(lengths)
    words = ", ".join(map(str, lengths[:6]))
    return f"({words}{', …' if len(lengths) > 6 else ''})"


def normalized(region: Region | None, array: Array, shape: tuple[int, ...]) -> _Slices:
    """A slice with start and stop for every dimension, as long as the data."""
    given = Ellipsis if region is None else region
    parts = list(given) if isinstance(given, Sequence) else [given]
    if Ellipsis not in parts:
        parts.append(Ellipsis)
    at = parts.index(Ellipsis)
    parts[at : at + 1] = [slice(None)] * (array.ndim - len(parts) + 1)
    slices = [part for part in parts if isinstance(part, slice) and part.step in (None, 1)]
    if not len(slices) == len(parts) == array.ndim:
        raise SelectionError(
            f"{array._place}: region must have a slice with step 1 for every dimension of"
            f" {array.shape}, found {region!r}"
        )
    bounds = [part.indices(n) for part, n in zip(slices, array.shape, strict=True)]
    found = tuple(slice(start, max(start, stop)) for start, stop, _ in bounds)
    if tuple(part.stop - part.start for part in found) != shape:
        where = "the array" if region is None else f"region {region!r}"
        raise MetadataError(
            f"{array._place}: a Dask array of shape {shape} does not fit {where} of shape"
            f" {tuple(part.stop - part.start for part in found)}"
        ).advise("name the part to write with region=…, or append_axis=…")
    return found


def check_apart(lazy: Any, array: Array) -> None:
    """Raise `OverlapError` if the Dask array reads the array that it is written to."""
    target = Location(array._place.store, array.path)
    if any(overlap(source, target) for source in origins(lazy)):
        raise OverlapError(
            f"{target}: the Dask array reads the array that it is to be written to; a task that is"
            " repeated after a failure would read what it wrote itself"
        ).advise("write to another array, or call x.persist() first and, on a cluster, wait for it")


def check_reach(lazy: Any, target: Location) -> None:
    """Raise `StoreError` if Dask would write to an array in memory from other processes."""
    if tokens.in_memory(target.store):
        get = package("dask.base", "dask", "from_dask").get_scheduler(collections=[lazy])
        if get.__module__.startswith(("dask.multiprocessing", "distributed")):
            raise tokens.stays_here(target)


def store(
    lazy: Any,
    array: Array,
    region: Region | None = None,
    append_axis: int | None = None,
    *,
    align: bool = False,
    compute: bool = True,
    return_stored: bool = False,
) -> Array | dask.array.Array | Delayed:
    """Write a Dask array; see `omnizarr.from_dask`."""
    array._check_writable()
    array._look()
    if compute:
        check_reach(lazy, Location(array.chunk_store, array.path))
    grid = edges(array)
    if append_axis is None:
        place = normalized(region, array, lazy.shape)
        check_apart(lazy, array)
        return run(checked(lazy, grid, _starts(place), align), array, place, compute, return_stored)
    if region is not None:
        raise TypeError("from_dask() takes region or append_axis, not both")
    axis = resizing.checked_axis(array, lazy.shape, append_axis)
    start, length = array.shape[axis], lazy.shape[axis]
    starts = [start if dimension == axis else 0 for dimension in range(array.ndim)]
    checked(lazy, grid, starts, align)  # before anything is stored
    starts[axis] = start = resizing.grow(array, axis, length)[0]
    with _undone(array, axis, start, length):
        place = tuple(slice(a, a + n) for a, n in zip(starts, lazy.shape, strict=True))
        return run(checked(lazy, grid, starts, align), array, place, compute, return_stored)


def _starts(place: _Slices) -> list[int]:
    return [part.start for part in place]


@contextmanager
def _undone(array: Array, axis: int, start: int, length: int) -> Iterator[None]:
    """Take the growth back if the data could not be written."""
    try:
        yield
    except BaseException:
        resizing.undo_growth(array, axis, start, length)
        raise


def whole(array: Array) -> _Slices:
    """All of an array, as a region."""
    return tuple(slice(0, length) for length in array.shape)


def run(
    lazy: Any, array: Array, place: _Slices, compute: bool, return_stored: bool
) -> Array | dask.array.Array | Delayed:
    """Write blocks that share no stored chunk, now or later."""
    arrays = package("dask.array", "dask", "from_dask")
    region = place or None  # Dask takes () for nothing
    tokens.changed(array.chunk_store, array.path)  # also if a worker writes, or later
    if compute:
        arrays.store(lazy, array, lock=False, regions=region, compute=True)
        tokens.changed(array.chunk_store, array.path)
        return array.to_dask()[place] if return_stored else array
    stored = arrays.store(
        lazy, array, lock=False, regions=region, compute=False, return_stored=return_stored
    )
    if return_stored:
        return stored  # type: ignore[no-any-return]
    return package("dask", "dask", "from_dask").delayed(_last)(stored, array)  # type: ignore[no-any-return]


def _last(stored: object, array: Array) -> Array:
    """The task after all others; its result is the array."""
    return array
