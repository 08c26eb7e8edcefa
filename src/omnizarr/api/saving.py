"""Saving arrays, and loading them again: `save`, `save_array`, `save_group`, `load`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from omnizarr.api import opening
from omnizarr.api.arguments import format_of, open_store
from omnizarr.model import paths
from omnizarr.model.store import Store
from omnizarr.nodes.array import Array
from omnizarr.nodes.creation.arguments import refuse_settings, with_values
from omnizarr.nodes.creation.arrays import make_array
from omnizarr.nodes.creation.overlaps import Location
from omnizarr.nodes.creation.replacing import secured
from omnizarr.nodes.group import Group


def save(store: Any, *args: Any, path: str | None = None, **kwargs: Any) -> None:
    """Save one array, or several as a group (`save("x.zarr", a, name=b)`)."""
    if not args and not kwargs:
        raise TypeError("save() needs at least one array")
    arrays = {name: value for name, value in kwargs.items() if name not in _SAVE_OPTIONS}
    options = {name: value for name, value in kwargs.items() if name in _SAVE_OPTIONS}
    refuse_settings(arrays, "save")
    if len(args) == 1 and not arrays:
        save_array(store, args[0], path=path, **options)
    else:
        save_group(store, *args, path=path, **kwargs)


_SAVE_OPTIONS = frozenset({"zarr_format", "zarr_version", "storage_options"})


def save_array(store: Any, arr: Any, *, path: str | None = None, **arguments: Any) -> None:
    """Save one array, replacing what is there."""
    given = _Closing(store, "w" if path is None else "a", arguments.pop("storage_options", None))
    with given as backing:
        zarr_format = format_of(arguments)
        arguments["data"] = arr
        make_array(
            backing, paths.normalize_path(path), arguments, zarr_format=zarr_format,
            overwrite=True, function="save_array",
        )  # fmt: skip


def save_group(store: Any, *args: Any, path: str | None = None, **kwargs: Any) -> None:
    """Save several arrays as members of a group: `arr_0`, `arr_1`, … and the names given."""
    options = {name: kwargs.pop(name) for name in list(kwargs) if name in _SAVE_OPTIONS}
    if not args and not kwargs:
        raise TypeError("save_group() needs at least one array")
    names = {f"arr_{index}": value for index, value in enumerate(args)}
    twice = names.keys() & kwargs.keys()
    if twice:
        raise ValueError(f"array names given twice: {', '.join(sorted(twice))}")
    refuse_settings(kwargs, "save_group")
    given = _Closing(store, "w", options.pop("storage_options", None))
    with given as backing:
        members = {name: with_values({"data": data}) for name, data in (names | kwargs).items()}
        replaced = [Location(backing, paths.normalize_path(path))]
        members = {
            name: {**member, "data": secured(member["data"], replaced)}
            for name, member in members.items()
        }
        root = opening.open_group(backing, "w", path=path, **options)
        for name, member in members.items():
            root.create_array(name, **member)


class _Closing:
    """The store for one call: closed at the end if the call itself opened it."""

    def __init__(self, store: Any, mode: str, storage_options: Any) -> None:
        self._own = not isinstance(store, Store)
        self._store = open_store(store, mode, storage_options)

    def __enter__(self) -> Store:
        return self._store

    def __exit__(self, *exc_info: object) -> None:
        if self._own:
            self._store.close()


def load(
    store: Any,
    path: str | None = None,
    zarr_format: int | str | None = None,
    *,
    zarr_version: int | str | None = None,
    **arguments: Any,
) -> Any:
    """Read an array, or give a mapping that reads the arrays of a group when asked for.

    Parameters
    ----------
    store
        A path, a URL or a store.
    path
        Of the array or group within the store.
    zarr_format
        Look for this format only; `zarr_version` is zarr-python 2's name for it.
    **arguments
        Keywords of `open`.

    Examples
    --------
    >>> store = {}
    >>> save_array(store, [1, 2, 3], zarr_format=2)
    >>> load(store, zarr_version=2)
    array([1, 2, 3])
    """
    chosen = format_of({"zarr_format": zarr_format, "zarr_version": zarr_version})
    opened = opening.open(store, "r", path=path, zarr_format=chosen, **arguments)
    return opened[...] if isinstance(opened, Array) else LazyLoader(opened)


class LazyLoader(Mapping[str, Any]):
    """The arrays of a group; each is read when it is asked for, and kept."""

    def __init__(self, group: Group) -> None:
        self._group = group
        self._loaded: dict[str, Any] = {}

    def __getitem__(self, name: str) -> Any:
        if name not in self._loaded:
            member = self._group[name]
            self._loaded[name] = member[...] if isinstance(member, Array) else LazyLoader(member)
        return self._loaded[name]

    def __iter__(self) -> Any:
        return iter(self._group)

    def __len__(self) -> int:
        return len(self._group)

    def __contains__(self, name: object) -> bool:
        return name in self._group

    def __repr__(self) -> str:
        names = sorted(self._group)
        more = f" and {len(names) - 10} more" if len(names) > 10 else ""
        return f"<LazyLoader of {self._group.store!r}: {', '.join(names[:10])}{more}>"
