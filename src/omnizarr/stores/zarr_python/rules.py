"""How to read stores of zarr-python, and which of them deviate from its interface.

Icechunk keeps format 3 only; beyond the end of a value it raises, panics or (1.1) gives some byte.
VirtualiZarr's `ManifestStore` reads on into the bytes that follow a chunk in its file, shows
a group's document under every name that does not exist, and does not list its keys. So ranges are
cut to what the store says there is, or out of the whole value.

This module knows these stores. It must not know event loops or our own interface for stores.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Coroutine, Iterator
from dataclasses import dataclass
from typing import Any

from omnizarr.errors import StoreError
from omnizarr.model.store import Buffer, ByteRange, read_range, span
from omnizarr.runtime.optional_packages import package

Fetch = Callable[[Any, str, ByteRange | None], Coroutine[Any, Any, Buffer | None]]
_BASE = ".abc.store"
_ROOTS = (".zarr", ".omnizarr.compat.zarr3")
_FORMAT_3 = re.compile(r"(?:.*/)?(?:zarr\.json|c(?:/[0-9]+)*)\Z", re.DOTALL)


def module(store: Any, name: str) -> Any:
    """A module of the zarr-python that a store derives from, or of `compat` in its place."""
    return package(f"{root(store) or 'zarr'}.{name}", "zarr", "a store of zarr-python")


def root(store: Any) -> str | None:
    """The package whose `abc.store.Store` a store derives from; None if it is no such store."""
    bases = (base.__module__ for base in type(store).__mro__ if base.__name__ == "Store")
    return next((path[: -len(_BASE)] for path in bases if path.endswith(_BASE)), None)


def is_own(store: Any, name: str, *, subclass: bool = False) -> bool:
    """Whether a store's class is one of zarr-python's own (`zarr.storage`), or derives from it."""
    kinds = type(store).__mro__ if subclass else (type(store),)
    return any(
        kind.__name__ == name and f".{kind.__module__}.".rpartition(".storage.")[0] in _ROOTS
        for kind in kinds
    )


def prototype(store: Any) -> Any:
    """zarr-python's prototype of a buffer in ordinary memory."""
    return module(store, "core.buffer.cpu").buffer_prototype


def request(store: Any, byte_range: ByteRange | None) -> Any:
    """A range in zarr-python's words."""
    if byte_range is None:
        return None
    words = module(store, "abc.store")
    start, stop = byte_range
    if start < 0:
        return words.SuffixByteRequest(-start)
    return words.OffsetByteRequest(start) if stop is None else words.RangeByteRequest(start, stop)


def contents(buffer: Any) -> Buffer | None:
    """The bytes of a buffer of zarr-python, not copied."""
    if buffer is None:
        return None
    array = buffer.as_numpy_array()
    return memoryview(array).cast("B") if array.nbytes else b""


async def plainly(store: Any, key: str, byte_range: ByteRange | None) -> Buffer | None:
    return contents(await store.get(key, prototype(store), request(store, byte_range)))


async def cut(store: Any, key: str, byte_range: ByteRange | None) -> Buffer | None:
    """Part of a value that is fetched whole."""
    value = contents(await store.get(key, prototype(store), None))
    return value if value is None else read_range(value, byte_range)


async def measured(store: Any, key: str, byte_range: ByteRange | None) -> Buffer | None:
    """Part of a value whose size is requested first: Icechunk has it at hand."""
    try:
        size = int(await store.getsize(key))
    except KeyError:
        return None  # no such node
    part = None
    if byte_range is not None and size:
        start, stop = span(byte_range, size)
        if start == stop:
            return b""
        part = None if (start, stop) == (0, size) else ByteRange(start, stop)
    value = await plainly(store, key, part)
    if value is None and await store.exists(key):
        raise StoreError("the repository lists it, but its storage has lost it")
    return value


@dataclass(frozen=True)
class Rules:
    name: str = "the store"
    fetch: Fetch = plainly
    exact: bool = False
    """Whether `fetch` returns exactly the requested range."""
    holds: Callable[[str], bool] = lambda key: True
    """Whether the store can have such a key; no other is requested."""
    keys: frozenset[str] | None = None
    """All keys, where the store itself cannot list them."""
    nodes: bool = False
    """Whether the store knows nodes: it lists and deletes below a node only, `delete` removes a
    single key, and two handles are equal if they have the same values."""
    forks: bool = True
    """Whether a forked child can use it; not if it has threads of its own."""
    committed: str = ""
    """What to do when it has become read-only."""


def rules_for(store: Any) -> Rules:
    package_name = type(store).__module__.partition(".")[0]
    if package_name == "icechunk":
        return Rules(
            name="Icechunk",
            fetch=measured,
            exact=True,
            holds=lambda key: _FORMAT_3.match(key) is not None,
            nodes=True,
            forks=False,
            committed="a session ends with its commit: open a new one to write more",
        )
    if package_name == "virtualizarr":
        keys = frozenset(_manifest_keys(store))
        return Rules(
            name="a store of virtual chunks",
            fetch=cut,
            exact=True,
            holds=keys.__contains__,
            keys=keys,
            forks=False,
        )
    return Rules()


def _manifest_keys(store: Any) -> Iterator[str]:
    group = getattr(store, "_group", None)
    if group is None:
        raise StoreError(
            f"{type(store).__name__}: this release of VirtualiZarr hides its groups; 2.5 does not"
        )
    waiting = [("", group)]
    while waiting:
        prefix, group = waiting.pop()
        yield f"{prefix}zarr.json"
        waiting.extend((f"{prefix}{name}/", below) for name, below in group.groups.items())
        for name, array in group.arrays.items():
            yield f"{prefix}{name}/zarr.json"
            separator = getattr(array.metadata.chunk_key_encoding, "separator", ".")
            for place in array.manifest.keys():  # noqa: SIM118 - it is no mapping
                numbers = [] if array.shape == () else place.split(".")
                yield f"{prefix}{name}/" + separator.join(["c", *numbers])
