"""zarr-python 2's `zarr.convenience`: opening, saving, copying, consolidating."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import omnizarr
from omnizarr import copy_all, copy_store, tree
from omnizarr.compat.zarr2._defaults import array_arguments, settings, translated
from omnizarr.compat.zarr2._nodes import Group
from omnizarr.compat.zarr2._wrapping import opens
from omnizarr.errors import MetadataError, NodeNotFoundError
from omnizarr.stores import StoreLike, as_store

__all__ = [
    "LazyLoader",
    "consolidate_metadata",
    "copy",
    "copy_all",
    "copy_store",
    "load",
    "open",
    "open_consolidated",
    "save",
    "save_array",
    "save_group",
    "tree",
]


def _new(arguments: dict[str, Any], store: object = None) -> dict[str, Any]:
    if "shape" in arguments or "data" in arguments:
        return array_arguments(arguments, store)
    return settings(translated(arguments, store))


open = opens(omnizarr.open, _new)  # noqa: A001 - zarr-python's name


def save_array(store: StoreLike, arr: object, **arguments: Any) -> None:
    """Save one array, and replace what is there.

    Parameters
    ----------
    store
        A path, a URL, a mapping or a store.
    arr
        The values.
    **arguments
        All keywords of `omnizarr.save_array`.
    """
    omnizarr.save_array(store, arr, **array_arguments(arguments, store))


class LazyLoader(Mapping[str, Any]):
    """The arrays of a group, read when they are first asked for.

    Parameters
    ----------
    grp
        The group.
    """

    def __init__(self, grp: omnizarr.Group) -> None:
        self.grp = grp
        self._read: dict[str, Any] = {}

    def __getitem__(self, item: str) -> Any:
        if item not in self._read:
            self._read[item] = self.grp[item][...]  # type: ignore[index]  # a group is a KeyError
        return self._read[item]

    def __iter__(self) -> Iterator[str]:
        return iter(self.grp)

    def __len__(self) -> int:
        return len(self.grp)

    def __contains__(self, item: object) -> bool:
        return item in self.grp

    def __repr__(self) -> str:
        return f"<LazyLoader: {', '.join(self)}>"


def load(store: StoreLike, path: str | None = None, **arguments: Any) -> Any:
    """Read an array into memory, or the arrays of a group when they are asked for.

    Parameters
    ----------
    store
        A path, a URL, a mapping or a store.
    path
        Path in the store.
    **arguments
        All other keywords of `open`.

    Returns
    -------
    ndarray or LazyLoader
        The values, or a mapping of those of a group.
    """
    node = open(store, "r", path=path, **arguments)
    return LazyLoader(node) if isinstance(node, omnizarr.Group) else node[...]


def copy(source: Any, dest: Any, *args: Any, return_stats: bool = True, **arguments: Any) -> Any:
    """Copy an array or a group into a group.

    Parameters
    ----------
    source, dest, *args, **arguments
        As of `omnizarr.copy`.
    return_stats
        Without effect: the numbers are always returned.

    Returns
    -------
    tuple
        The numbers of nodes copied and skipped, and of bytes.
    """
    return omnizarr.copy(source, dest, *args, **arguments)


def save(store: StoreLike, *args: object, **arguments: Any) -> None:
    """Save one array, or several as a group, and replace what is there.

    Parameters
    ----------
    store
        A path, a URL, a mapping or a store.
    *args, **arguments
        Arrays, and the keywords of `omnizarr.save`.
    """
    _require_arrays(args, arguments)
    omnizarr.save(store, *args, **translated(arguments, store))


def save_group(store: StoreLike, *args: object, **arguments: Any) -> None:
    """Save several arrays as members of a group, and replace what is there.

    Parameters
    ----------
    store
        A path, a URL, a mapping or a store.
    *args, **arguments
        Arrays, and the keywords of `omnizarr.save_group`.
    """
    _require_arrays(args, arguments)
    omnizarr.save_group(store, *args, **translated(arguments, store))


def _require_arrays(args: tuple[object, ...], arguments: dict[str, Any]) -> None:
    settings_alone = {"zarr_version", "zarr_format", "path", "storage_options", "mode"}
    if not args and settings_alone.issuperset(arguments):
        raise ValueError("at least one array must be given")


def consolidate_metadata(
    store: StoreLike, metadata_key: str = ".zmetadata", *, path: str = ""
) -> Group:
    """Write the metadata of a group and of all nodes below it into one document.

    Parameters
    ----------
    store
        A path, a URL, a mapping or a store.
    metadata_key
        Key of the document.
    path
        Path of the group.

    Returns
    -------
    Group
        The group, opened through that document.
    """
    group = omnizarr.consolidate_metadata(store, path or None, metadata_key=metadata_key)
    return group.as_type(Group)


def open_consolidated(
    store: StoreLike, metadata_key: str = ".zmetadata", mode: str = "r+", **arguments: Any
) -> Group:
    """Open a group through its consolidated metadata.

    Parameters
    ----------
    store
        A path, a URL, a mapping or a store.
    metadata_key
        Key of the document.
    mode
        ``"r"`` or ``"r+"``.
    **arguments
        All keywords of `omnizarr.open_consolidated`.

    Returns
    -------
    Group
        The group.

    Raises
    ------
    KeyError
        If there is no such document.
    """
    if mode not in ("r", "r+"):
        raise ValueError(f"mode must be 'r' or 'r+', found {mode!r}")
    version = arguments.pop("zarr_version", None)
    given = arguments if version is None else {**arguments, "zarr_format": version}
    try:
        group = omnizarr.open_consolidated(
            store, "r" if mode == "r" else "r+", metadata_key=metadata_key, **settings(given)
        )
    except (MetadataError, NodeNotFoundError) as error:
        if metadata_key in as_store(store):
            raise
        raise KeyError(metadata_key) from error
    return group.as_type(Group)
