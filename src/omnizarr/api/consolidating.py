"""The public functions for consolidated metadata: `consolidate_metadata`, `open_consolidated`."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import closing
from functools import partial
from typing import Literal, Unpack

from omnizarr import formats
from omnizarr.api.arguments import ConsolidatedArguments, StorageOptions
from omnizarr.api.opening import open_group, read_consolidated
from omnizarr.engine import update
from omnizarr.errors import MetadataError
from omnizarr.formats import FormatName
from omnizarr.keywords import suggests
from omnizarr.model import json, paths
from omnizarr.model.store import Buffer, ByteRange, Store
from omnizarr.nodes import node
from omnizarr.nodes.group import Group
from omnizarr.nodes.node import NodeAddress, Options
from omnizarr.runtime.progress import ProgressLike, Reporter
from omnizarr.stores import StoreLike, WrapperStore, as_store

METADATA_KEY = ".zmetadata"
MEMBER = "consolidated_metadata"
"""The member of a group's document that holds them in format 3."""


def _check_metadata_key(key: str) -> None:
    if key != METADATA_KEY:
        raise MetadataError(f"metadata_key: only {METADATA_KEY!r} is known, found {key!r}")


@suggests
def open_consolidated(
    store: StoreLike,
    mode: Literal["r", "r+"] = "r+",
    *,
    use_consolidated: Literal[True] = True,
    metadata_key: str = METADATA_KEY,
    **arguments: Unpack[ConsolidatedArguments],
) -> Group:
    """Open a group through its consolidated metadata, which one request reads.

    Parameters
    ----------
    store
        As in `open`.
    mode
        ``"r"`` or ``"r+"``.
    use_consolidated, metadata_key
        Keywords of zarr-python 3 and 2. Only the defaults are taken: the format names the document.
    **arguments
        All keywords of `open_group`.

    Returns
    -------
    Group
        The group. Its members are those of the consolidated metadata, also if others were added
        since.

    Raises
    ------
    MetadataError
        If the group has no consolidated metadata.

    Examples
    --------
    >>> import omnizarr
    >>> store = omnizarr.MemoryStore()
    >>> omnizarr.save_group(store, a=[1, 2, 3])
    >>> root = omnizarr.consolidate_metadata(store)
    >>> omnizarr.open_consolidated(store)["a"].shape
    (3,)
    """
    if mode not in ("r", "r+"):
        raise ValueError(f"open_consolidated takes mode 'r' or 'r+', found {mode!r}")
    if use_consolidated is not True:
        raise ValueError(f"use_consolidated must be True, found {use_consolidated!r}")
    _check_metadata_key(metadata_key)
    return open_group(store, mode, use_consolidated=True, **arguments)


@suggests
def consolidate_metadata(
    store: StoreLike,
    path: str | None = None,
    zarr_format: FormatName | None = None,
    storage_options: StorageOptions | None = None,
    metadata_key: str = METADATA_KEY,
    *,
    progress: ProgressLike = None,
) -> Group:
    """Write the metadata of a group and of all nodes below it into one document.

    Parameters
    ----------
    store, path, storage_options
        As in `open`.
    zarr_format
        The format of the group, where several share a path.
    metadata_key
        A keyword of zarr-python 2. The format names the document: only the default is taken.
    progress
        True draws a line in a notebook or on a terminal, or logs it; a callable gets a `Progress`
        after every step. Units are documents; how many there are is not known before.

    Returns
    -------
    Group
        The group, opened through the new document.

    Raises
    ------
    NodeNotFoundError
        If there is no group at `path`.

    Examples
    --------
    >>> import omnizarr
    >>> store = omnizarr.MemoryStore()
    >>> omnizarr.save_group(store, a=[1, 2, 3], b=[4])
    >>> sorted(omnizarr.consolidate_metadata(store))
    ['a', 'b']
    """
    _check_metadata_key(metadata_key)
    backing = as_store(store, mode="r+", storage_options=storage_options)
    place, _model = node.require_group(backing, paths.normalize_path(path), zarr_format)
    backing.check_writable()
    with closing(Reporter(progress, 0)) as reporter:
        write_consolidated(place, reporter)
    return Group._of(place, read_consolidated(place), Options())


@suggests
def unconsolidate_metadata(
    store: StoreLike,
    path: str | None = None,
    zarr_format: FormatName | None = None,
    storage_options: StorageOptions | None = None,
) -> bool:
    """Remove the consolidated metadata of a group. The documents of its nodes stay as they are.

    Parameters
    ----------
    store, path, storage_options
        As in `open`.
    zarr_format
        The format of the group, where several share a path.

    Returns
    -------
    bool
        Whether there were any.

    Raises
    ------
    NodeNotFoundError
        If there is no group at `path`.

    Examples
    --------
    >>> import omnizarr
    >>> store = omnizarr.MemoryStore()
    >>> omnizarr.save_group(store, a=[1, 2, 3])
    >>> root = omnizarr.consolidate_metadata(store)
    >>> omnizarr.unconsolidate_metadata(store), omnizarr.unconsolidate_metadata(store)
    (True, False)
    """
    backing = as_store(store, mode="r+", storage_options=storage_options)
    place, _model = node.require_group(backing, paths.normalize_path(path), zarr_format)
    backing.check_writable()
    removed = False

    def strip(key: str, held: Store) -> None:
        nonlocal removed
        document = json.loads(held.get(key) or b"null", key)
        if isinstance(document, dict) and document.pop(MEMBER, None) is not None:
            held.set(key, json.dumps(document).encode())
            removed = True

    for key in formats.consolidated_keys(place.format, place.path):
        if not place.store.exists(key):
            continue
        if key.endswith(METADATA_KEY):
            place.store.delete(key)
            removed = True
        else:
            update(place.store, key, partial(strip, key))
    return removed


def write_consolidated(place: NodeAddress, reporter: Reporter | None = None) -> None:
    """Write the consolidated metadata of a group. All nodes below are read first, which takes its
    time; what others have changed in the group itself meanwhile stays."""
    chosen, path = place.format, place.path
    store = place.store if reporter is None else _CountingStore(place.store, reporter)
    made = formats.consolidate(chosen, store, path)

    def store_document(key: str, held: Store) -> None:
        held.set(key, formats.consolidate(chosen, held, path, made)[key])

    for key in made:
        update(place.store, key, partial(store_document, key))


class _CountingStore(WrapperStore):
    """Tells a reporter of every document that is read."""

    def __init__(self, store: Store, reporter: Reporter) -> None:
        super().__init__(store)
        self._reporter = reporter

    def _count(self, key: str, value: Buffer | None) -> None:
        if value is not None:
            self._reporter.advance(1, len(value), key)

    def get(self, key: str, byte_range: ByteRange | None = None) -> Buffer | None:
        value = super().get(key, byte_range)
        self._count(key, value)
        return value

    def get_many(self, requests: Sequence[tuple[str, ByteRange | None]]) -> list[Buffer | None]:
        values = super().get_many(requests)
        for (key, _), value in zip(requests, values, strict=True):
            self._count(key, value)
        return values
