"""Delete the data that a smaller shape leaves outside of an array.

Another process may make the array larger at the same time: for every chunk, the shape that is
stored at that moment counts. An earlier attempt may have failed midway: edge chunks are checked
whole, and a resize to the same shape finishes the work.

This module knows arrays and their chunks. It must not know how a chunk is changed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import TYPE_CHECKING

from omnizarr import engine, formats
from omnizarr.errors import EncodeError, NodeNotFoundError
from omnizarr.formats import Node
from omnizarr.model.array import ArrayModel
from omnizarr.model.axes import inner_chunks
from omnizarr.model.grids import Axis, Grid, RectilinearAxis, RegularAxis, Shape
from omnizarr.model.store import Store
from omnizarr.nodes import node
from omnizarr.nodes.freshness import difference
from omnizarr.nodes.node import NodeAddress
from omnizarr.runtime import parallel
from omnizarr.stores.wrappers.base import RememberingStore

if TYPE_CHECKING:
    from omnizarr.nodes.array_facts import ArrayFacts


def edges(before: ArrayModel, new: Shape) -> ArrayModel | None:
    """The array as large as its chunks can hold it, along every dimension that shrinks, or along
    all if none changes; None if it only grows."""
    again = new == before.shape
    if not again and all(length >= old for old, length in zip(before.shape, new, strict=True)):
        return None
    whole = tuple(
        _whole(axis, again) if again or length < old else old
        for axis, old, length in zip(before.grid.axes, before.shape, new, strict=True)
    )
    inner = inner_chunks(before.codecs, before.ndim)
    return replace(before, shape=whole, grid=before.grid.resized(whole, inner))


def _whole(axis: Axis, again: bool) -> int:
    """How long a dimension is with all of its last chunk; again: and with the chunk of its own that
    a killed append may have stored behind the chunks that are listed."""
    if isinstance(axis, RegularAxis):
        return -(-axis.length // axis.chunk) * axis.chunk
    return axis.offsets[-1] + 1 if again else axis.length


def forget_outside(
    array: ArrayFacts, before: ArrayModel, new: Shape, current: Callable[[], Shape | None]
) -> None:
    """Delete what a change of shape from `before` to `new` leaves outside; see `forget`."""
    whole = edges(before, new)
    if whole is not None:
        source = array._of(array._place, whole, array._options)._source
        chunks = (chunk for _, chunk in array._stored_chunks())
        forget(source, chunks, new, current, new == before.shape)


def watched(place: NodeAddress, before: ArrayModel) -> Callable[[], Shape | None]:
    """A function that reads the stored shape; it gives None if the array was replaced by another
    one, which has chunks of its own."""
    look = _watching(place)

    def current() -> Shape | None:
        found = look()
        if not isinstance(found, ArrayModel) or difference(before, found) is not None:
            return None
        return found.shape

    return current


def _watching(place: NodeAddress) -> Callable[[], Node | None]:
    """A function that reads the stored node, bypassing caches; it gives None if the node was
    deleted. Documents that have not changed are not parsed again."""
    seen: tuple[dict[str, bytes], Node] | None = None

    def look(held: Store) -> Node | None:
        nonlocal seen
        known, once = seen, RememberingStore(held)
        documents = formats.documents(place.format, once, place.path)
        if known is None or known[0] != documents:
            try:
                seen = known = documents, node.reread(place._replace(store=once))
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
    """Delete chunks beyond the new edge, and fill the outer part of edge chunks, as far as they are
    outside of the `current` shape too.

    source: the array before the change. stored: all stored chunks. again: the shape is the same.
    """
    grid = source.model.grid
    chunks = {chunk for chunk in stored if _reaches(grid, chunk, new)}
    capabilities = source.store.capabilities
    workers = capabilities.requests if capabilities.concurrent_writes else 1

    def trim(chunk: Shape) -> None:
        try:
            engine.trim(source, chunk, current)
        except EncodeError:
            # Chunks that cannot be encoded were not cut to this shape: nothing is left to do.
            if not again:
                raise

    parallel.each(trim, sorted(chunks), workers)


def withdraw(source: engine.Source, chunks: Iterable[Shape], place: NodeAddress) -> None:
    """Delete chunks that were written to an array while it was deleted. A new array at this path
    stores its documents before its chunks, and a chunk is locked while it is deleted here."""
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
