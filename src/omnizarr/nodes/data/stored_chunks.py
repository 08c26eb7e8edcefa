"""What a store holds of an array: the chunks that are there, their bytes, a hash of them.

This module lists and reads keys. It must not decode chunks.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import islice
from operator import lt

from omnizarr.model.array import ArrayModel
from omnizarr.model.store import Store, keys_at
from omnizarr.nodes.node import NodeAddress
from omnizarr.runtime import parallel

Chunk = tuple[int, ...]
_BATCH = 256
"""How many sizes are asked for at a time."""


def spelled(store: Store, prefix: str, model: ArrayModel) -> Iterator[tuple[str, Chunk, int]]:
    """Key, grid coordinates and spelling of every stored chunk or shard, in the order of the
    store's listing. Spelling 0 is the array's own, others count its alternative keys."""
    spellings = (model.keys, *model.keys.alternatives)
    for key in keys_at(store, prefix):
        for number, keys in enumerate(spellings):
            coordinates = keys.decode(key[len(prefix) :], model.ndim)
            if coordinates is not None:
                yield key, coordinates, number
                break


def listed(store: Store, prefix: str, model: ArrayModel) -> Iterator[tuple[str, Chunk]]:
    """Key and grid coordinates of every stored chunk or shard."""
    return ((key, coordinates) for key, coordinates, _ in spelled(store, prefix, model))


def within(grid: tuple[int, ...], chunks: Iterable[tuple[str, Chunk]]) -> list[Chunk]:
    """The coordinates that belong to a grid of this many chunks, sorted."""
    inside = {chunk for _, chunk in chunks if all(c < n for c, n in zip(chunk, grid, strict=True))}
    return sorted(inside)


def bytes_stored(place: NodeAddress, store: Store, chunks: Iterable[tuple[str, Chunk]]) -> int:
    """Count the bytes of chunks in `store` and of the documents beside them."""
    keys = {key for key, _ in chunks}
    return total(store, keys) + total(place.store, place.format.keys(place.path))


def sizes(
    store: Store, grid: tuple[int, ...], chunks: Iterable[tuple[str, Chunk]]
) -> Iterator[tuple[Chunk, int]]:
    """Coordinates and bytes of the chunks that belong to a grid, in the order of the listing."""
    inside = (found for found in chunks if all(map(lt, found[1], grid)))
    while batch := list(islice(inside, _BATCH)):
        keys = [key for key, _ in batch]
        found = parallel.each(store.size, keys, max(1, store.capabilities.requests))
        for (_, chunk), size in zip(batch, found, strict=True):
            if size is not None:  # deleted since it was listed
                yield chunk, size


def total(store: Store, keys: Iterable[str]) -> int:
    """Count the bytes of values; a missing one has none."""
    sizes = parallel.each(store.size, sorted(keys), max(1, store.capabilities.requests))
    return sum(size or 0 for size in sizes)


def digest(
    place: NodeAddress, store: Store, chunks: Iterable[tuple[str, Chunk]], hashname: str
) -> bytes:
    """Hash the chunks in grid order, then the documents."""
    import hashlib

    summary = hashlib.new(hashname)
    for key, _ in sorted(chunks, key=lambda item: item[1]):
        summary.update(store.get(key) or b"")
    for key in place.format.keys(place.path):
        summary.update(place.store.get(key) or b"")
    return summary.digest()
