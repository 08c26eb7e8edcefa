"""`as_format`: a store that shows a hierarchy in another format.

This module knows keys of the new format. It must not know how chunks are made.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from contextlib import contextmanager
from math import prod
from typing import Any, Literal

from omnizarr import formats
from omnizarr.api.arguments import StorageOptions
from omnizarr.errors import NodeNotFoundError, ReadOnlyError, UnsupportedError
from omnizarr.formats.base import Format, FormatName
from omnizarr.jobs.conversion.chunks import Blocks, Listed, stored_blocks
from omnizarr.jobs.translated import chunks
from omnizarr.jobs.translated.cache import MadeValues
from omnizarr.jobs.translated.hierarchy import Hierarchy
from omnizarr.jobs.translated.nodes import TranslatedArray
from omnizarr.keywords import suggests
from omnizarr.model import paths
from omnizarr.model.grids import Shape, all_places
from omnizarr.model.store import Buffer, ByteRange, Capabilities, Listing, Read, Store
from omnizarr.nodes.array import Array
from omnizarr.nodes.group import Group
from omnizarr.nodes.node import Options
from omnizarr.stores import StoreLike, as_store

CACHE_BYTES = 64 << 20
SECONDS = 1.0
"""A change of the source is seen after so long at the latest, where it has no versions."""


@suggests
def as_format(
    source: StoreLike | Array | Group,
    zarr_format: Literal[2, 3] = 3,
    *,
    path: str = "",
    cache_bytes: int = CACHE_BYTES,
    storage_options: StorageOptions | None = None,
) -> Store:
    """Show an array or a group of any format as one of format 2 or 3, without converting it.

    Nothing is copied beforehand. Documents are made when they are asked for; chunks are given as
    they are stored where their bytes are valid in the other format, and are encoded again where
    not, with what the format has in place of shards, chunk grids and codecs that it lacks. Groups
    have consolidated metadata.

    Parameters
    ----------
    source
        A path, a URL, a store, an array or a group, such as that of `virtualize`.
    zarr_format
        2 or 3.
    path
        The node that becomes the root.
    cache_bytes
        How much is kept of chunks that were encoded again.
    storage_options
        Arguments of the store that a URL names.

    Returns
    -------
    Store
        A store that can only be read. Closing it closes a source that was opened here.

    Raises
    ------
    NodeNotFoundError
        If there is no node at `path`.
    UnsupportedError
        When a node is asked for that the format cannot express.

    Examples
    --------
    >>> old = omnizarr.open_group("old.zarr", mode="w", zarr_format=2)
    >>> old["height"] = [[1, 2], [3, 4]]
    >>> shown = omnizarr.as_format("old.zarr", 3)
    >>> omnizarr.open(shown)["height"].metadata.zarr_format
    3
    >>> shown.get("height/c.0.0") == old.store.get("height/0.0")
    True
    """
    target = formats.get_format(zarr_format)
    if target not in formats.current():
        raise UnsupportedError(f"a hierarchy is shown in format 2 or 3, not in {zarr_format!r}")
    normal = paths.normalize_path(path)
    if isinstance(source, Array | Group):
        options = source._options
        inside = paths.join(source.path, normal)
        return TranslatedStore(source._place.store, inside, target, options, cache_bytes)
    if isinstance(source, Store):
        return TranslatedStore(source, normal, target, Options(), cache_bytes)
    store = as_store(source, mode="r", storage_options=storage_options)
    try:
        return TranslatedStore(store, normal, target, Options(), cache_bytes, owned=True)
    except BaseException:
        store.close()
        raise


class TranslatedStore(Store):
    """A hierarchy in another format. See `as_format`."""

    read_only = True

    def __init__(
        self,
        source: Store,
        path: str,
        target: Format,
        options: Options,
        cache_bytes: int,
        *,
        owned: bool = False,
    ) -> None:
        self._source, self._path, self._owned = source, path, owned
        self._options, self._cache_bytes = options, cache_bytes
        self._target = target
        self._hierarchy = Hierarchy(source, path, self._target, options, SECONDS)
        self._made = MadeValues(cache_bytes, SECONDS)
        able = source.capabilities
        self.capabilities = Capabilities(
            listable=able.listable, validators=True, requests=able.requests, remote=able.remote
        )
        self.preferred_format = self._target.name
        if self._hierarchy.look("") is None:
            raise NodeNotFoundError(
                f"no array or group at path {'/' + path!r}: {formats.explain_missing(source, path)}"
            )

    def __reduce__(self) -> tuple[Any, ...]:
        name = self._target.name
        return _again, (self._source, self._path, name, self._options, self._cache_bytes)

    def __repr__(self) -> str:
        below = f", path {'/' + self._path!r}" if self._path else ""
        return f"<format {self._target.name} of {self._source!r}{below}>"

    @property
    def identity(self) -> Hashable:
        return "as format", self._target.name, self._path, self._source.identity

    def close(self) -> None:
        if self._owned:
            self._source.close()

    # -- reading ------------------------------------------------------------------------------

    def get(self, key: str, byte_range: ByteRange | None = None) -> Buffer | None:
        with self.snapshot(key) as read:
            return read(byte_range)

    def size(self, key: str) -> int | None:
        with self.snapshot(key) as read:
            found = getattr(read, "size", None)
            if found is None:
                value = read(None)
                found = None if value is None else len(value)
            return found

    def version(self, key: str) -> Hashable | None:
        with self.snapshot(key) as read:
            if read(ByteRange(0, 0)) is None:
                return None
            found = getattr(read, "version", None)
            return chunks.InMemory(read(None)).version if found is None else found

    @contextmanager
    def snapshot(self, key: str) -> Iterator[Read]:
        paths.check_key(key)
        document = self._hierarchy.document(key)
        if document is not None:
            yield chunks.InMemory(document)
            return
        found = self._hierarchy.chunk(key)
        if found is None:
            yield chunks.InMemory(None)
            return
        path, array, coordinates = found
        if array.copied:
            with chunks.stored(array, coordinates) as read:
                if read is not None:
                    yield read
                    return
        yield chunks.InMemory(*self._encoded(key, path, array, coordinates))

    def cost(self, key: str) -> chunks.Cost:
        """What the value of a key costs; nothing if it is no chunk, or missing."""
        found = self._hierarchy.chunk(key)
        return chunks.FREE if found is None else chunks.cost(*found[1:])

    def _encoded(
        self, key: str, path: str, array: TranslatedArray, coordinates: Shape
    ) -> tuple[Buffer | None, Hashable]:
        return self._made.get(
            key,
            lambda: chunks.mark(array, coordinates),
            lambda: chunks.encoded(array, path, self._target, coordinates),
        )

    # -- listing ------------------------------------------------------------------------------

    def list_dir(self, prefix: str) -> Listing:
        path = paths.check_prefix(prefix).rstrip("/")
        node = self._hierarchy.translated(path)
        if node is None or node.array is not None:
            return super().list_dir(prefix)
        keys = sorted({*node.documents, *self._hierarchy.consolidated(path)})
        sound, damaged = self._hierarchy.members(path)
        return Listing(keys, [f"{inside}/" for inside in sorted(sound + damaged)])

    def list_prefix(self, prefix: str) -> Iterator[str]:
        path = paths.check_prefix(prefix).rstrip("/")
        return iter(sorted(key for key in self._keys(path) if key.startswith(prefix)))

    def _keys(self, path: str) -> Iterator[str]:
        above = path
        while above and self._hierarchy.translated(above) is None:
            above = paths.parent(above)  # a prefix of chunks
        pending = [above]
        while pending:
            here = pending.pop()
            node = self._hierarchy.translated(here)
            if node is not None:
                yield from node.documents
                if node.array is None:
                    yield from self._hierarchy.consolidated(here).keys() - node.documents.keys()
                    pending += self._hierarchy.members(here)[0]
                else:
                    yield from self._chunk_keys(here, node.array)

    def _chunk_keys(self, path: str, array: TranslatedArray) -> Iterator[str]:
        """The keys of chunks that may be stored; one of nothing but fill values need not be."""
        model = array.model
        prefix, encode = self._target.chunk_prefix(path, model), model.keys.encoder(model.ndim)
        if array.filled:
            found = all_places(model.grid.shape) if prod(model.grid.shape) else iter(())
        else:
            blocks = Blocks(model.grid, (1,) * model.ndim)
            found = (at for at, _ in stored_blocks(Listed(array.source._source), blocks))
        return (prefix + encode(coordinates) for coordinates in found)

    # -- writing ------------------------------------------------------------------------------

    def set(self, key: str, value: Buffer) -> None:
        raise _read_only(self)

    def delete(self, key: str) -> None:
        raise _read_only(self)

    def with_read_only(self, read_only: bool = False) -> Store:
        if not read_only:
            raise _read_only(self)
        return self


def _again(
    source: Store, path: str, name: FormatName, options: Options, cache_bytes: int
) -> TranslatedStore:
    """The store in another process, where a format is another object."""
    return TranslatedStore(source, path, formats.get_format(name), options, cache_bytes)


def _read_only(store: Store) -> ReadOnlyError:
    return ReadOnlyError("what is shown in another format can only be read").at(store)
