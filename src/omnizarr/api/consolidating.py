"""The public functions for consolidated metadata: `consolidate_metadata`, `open_consolidated`."""

from __future__ import annotations

from functools import partial
from typing import Literal, Unpack

from omnizarr import formats
from omnizarr.api.arguments import ConsolidatedArguments, StorageOptions
from omnizarr.api.opening import open_group, read_consolidated
from omnizarr.engine import update
from omnizarr.errors import MetadataError
from omnizarr.formats import FormatName
from omnizarr.keywords import suggests
from omnizarr.model import paths
from omnizarr.model.store import Store
from omnizarr.nodes import node
from omnizarr.nodes.group import Group
from omnizarr.nodes.node import NodeAddress, Options
from omnizarr.stores import StoreLike, as_store

METADATA_KEY = ".zmetadata"


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
    _write(place)
    return Group._of(place, read_consolidated(place), Options())


def _write(place: NodeAddress) -> None:
    """Write the consolidated metadata of a group. All nodes below are read first, which takes its
    time; what others have changed in the group itself meanwhile stays."""
    chosen, path = place.format, place.path
    made = formats.consolidate(chosen, place.store, path)

    def store_document(key: str, held: Store) -> None:
        held.set(key, formats.consolidate(chosen, held, path, made)[key])

    for key in made:
        update(place.store, key, partial(store_document, key))
