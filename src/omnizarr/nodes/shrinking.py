"""Forgetting what an array that was made smaller no longer has.

Somebody else may make it larger meanwhile: the shape that is stored counts, chunk by chunk. An
earlier attempt may have failed midway; so edge chunks are looked at whole, and a resize to the same
shape does what is left.

This module knows arrays and their chunks. It must not know how a chunk is changed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace

from omnizarr import engine, formats
from omnizarr.errors import EncodeError, NodeNotFoundError
from omnizarr.formats import Node
from omnizarr.model.array import ArrayModel
from omnizarr.model.grids import Grid, RectilinearAxis, RegularAxis, Shape
from omnizarr.model.store import Store
from omnizarr.nodes import node
from omnizarr.nodes.freshness import difference
from omnizarr.nodes.node import Place
from omnizarr.runtime import parallel
from omnizarr.stores.wrappers.base import RememberingStore


def edges(before: ArrayModel, new: Shape) -> ArrayModel | None:
    """The array as large as its chunks can hold it, along every dimension that shrinks, or along
    all if none changes; None if it only grows."""
    again = new == before.shape
    if not again and all(length >= old for old, length in zip(before.shape, new, strict=True)):
        return None
    whole = tuple(
        -(-old // axis.chunk) * axis.chunk
        if isinstance(axis, RegularAxis) and (again or length < old)
        else old
        for axis, old, length in zip(before.grid.axes, before.shape, new, strict=True)
    )
    return replace(before, shape=whole, grid=before.grid.resized(whole))


def watched(place: Place, before: ArrayModel) -> Callable[[], Shape | None]:
    """What gives the shape that is stored, whoever changed it; None if it is another array's, which
    has chunks of its own."""
    look = _watching(place)

    def current() -> Shape | None:
        found = look()
        if not isinstance(found, ArrayModel) or difference(before, found) is not None:
            return None
        return found.shape

    return current


def _watching(place: Place) -> Callable[[], Node | None]:
    """A function that gives the node as it is stored whenever it is called, past every cache; None
    if it is gone. Documents that have not changed are not parsed anew."""
    seen: tuple[dict[str, bytes], Node] | None = None

    def look(held: Store) -> Node | None:
        nonlocal seen
        known, once = seen, RememberingStore(held)
        documents = formats.documents(place.format, once, place.path)
        if known is None or known[0] != documents:
            try:
                seen = known = documents, node.reread(replace(place, store=once))
            except NodeNotFoundError:
                return None
        return known[1]

    store, key = place.store, place.format.keys(place.path)[0]

    def fresh() -> Node | None:
        if store.capabilities.locks:
            return engine.update(store, key, look)
        with store.fresh_reads():
            return look(engine.Optimistic(store) if store.capabilities.versions else store)

    return fresh


def forget(
    source: engine.Source,
    stored: Iterable[Shape],
    new: Shape,
    current: Callable[[], Shape | None],
    again: bool,
) -> None:
    """Delete chunks beyond the new edge, and fill the part of edge chunks that lies beyond, as far
    as it lies outside of the shape that is `current`.

    source: the array as it was. stored: the chunks that there are. again: the shape is the same.
    """
    grid = source.model.grid
    chunks = {chunk for chunk in stored if _reaches(grid, chunk, new)}
    capabilities = source.store.capabilities
    workers = capabilities.requests if capabilities.concurrent_writes else 1

    def trim(chunk: Shape) -> None:
        try:
            engine.trim(source, chunk, current)
        except EncodeError:
            # What can only be read was not cut to this shape, so there is nothing left to do.
            if not again:
                raise

    parallel.each(trim, sorted(chunks), workers)


def withdraw(source: engine.Source, chunks: Iterable[Shape], place: Place) -> None:
    """Delete chunks that were written to an array while it was deleted. A new array there has no
    chunks before it has documents, and nobody writes a chunk that is held here."""
    look = _watching(place)

    def remove(chunk: Shape) -> None:
        key = source.key(chunk)

        def unless_replaced(held: Store) -> None:
            if held.exists(key) and look() is None:
                held.delete(key)

        engine.update(source.store, key, unless_replaced)

    for chunk in chunks:
        remove(chunk)


def _reaches(grid: Grid, chunk: Shape, shape: Shape) -> bool:
    """Whether a chunk of the grid holds something outside of an array of this shape."""
    for axis, c, length in zip(grid.axes, chunk, shape, strict=True):
        if isinstance(axis, RectilinearAxis) and c >= len(axis.edges):
            return False
        start = axis.start(c)
        if start >= length or min(start + axis.size(c), axis.length) > length:
            return True
    return False
