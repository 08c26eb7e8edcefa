"""Saving arrays, and loading them again: `save`, `save_array`, `save_group`, `load`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Unpack

from omnizarr.api import opening
from omnizarr.api.arguments import (
    SaveArguments,
    StorageOptions,
    format_of,
    one_format,
    open_store,
)
from omnizarr.formats import FormatName
from omnizarr.keywords import nearest, suggests
from omnizarr.model import paths
from omnizarr.model.grids import NDArray
from omnizarr.model.store import Store
from omnizarr.nodes.array import Array
from omnizarr.nodes.creation.arguments import ArrayArguments, refuse_settings, with_values
from omnizarr.nodes.creation.arrays import make_array
from omnizarr.nodes.creation.overlaps import Location
from omnizarr.nodes.creation.source_data import secured
from omnizarr.nodes.group import Group
from omnizarr.stores import StoreLike


def save(
    store: StoreLike,
    *args: object,
    path: str | None = None,
    zarr_format: FormatName | None = None,
    zarr_version: FormatName | None = None,
    storage_options: StorageOptions | None = None,
    **kwargs: object,
) -> None:
    """Save one array, or several as a group, and replace what is there.

    Parameters
    ----------
    store
        A path, a URL, a mapping or a store.
    *args
        Arrays of any library. One alone is saved as an array, several as members ``arr_0``,
        ``arr_1`` … of a group.
    path
        Of the array or group within the store.
    zarr_format, zarr_version
        The format to write.
    storage_options
        Options for the store of a URL.
    **kwargs
        Arrays to save as members of a group, by name.

    Raises
    ------
    TypeError
        If no array is given, or a keyword of `create_array` with anything but an array.

    Examples
    --------
    >>> import omnizarr
    >>> store = omnizarr.MemoryStore()
    >>> omnizarr.save(store, [1, 2, 3], path="one")
    >>> omnizarr.save(store, [1, 2], path="several", b=[3, 4])
    >>> omnizarr.load(store, "several")["b"]
    array([3, 4])
    """
    chosen = one_format(zarr_format, zarr_version)
    if len(args) == 1 and not kwargs:
        save_array(store, args[0], path=path, zarr_format=chosen, storage_options=storage_options)
    else:
        _save_members("save", store, args, kwargs, path, chosen, storage_options)


@suggests
def save_array(
    store: StoreLike,
    arr: object,
    *,
    path: str | None = None,
    storage_options: StorageOptions | None = None,
    **arguments: Unpack[SaveArguments],
) -> None:
    """Save one array, and replace what is there.

    Parameters
    ----------
    store
        A path, a URL, a mapping or a store.
    arr
        An array of any library, a scalar, or nested sequences.
    path
        Of the array within the store. Without it the whole store is replaced.
    storage_options
        Options for the store of a URL.
    **arguments
        All keywords of `create_array` but data and overwrite.

    Examples
    --------
    >>> import omnizarr
    >>> store = omnizarr.MemoryStore()
    >>> omnizarr.save_array(store, [[1, 2], [3, 4]], chunks=(1, 2))
    >>> omnizarr.load(store)
    array([[1, 2],
           [3, 4]])
    """
    given: dict[str, Any] = {**arguments, "data": arr}
    zarr_format = format_of(given)
    with _Closing(store, "w" if path is None else "a", storage_options) as backing:
        make_array(
            backing, paths.normalize_path(path), given, zarr_format=zarr_format,
            overwrite=True,
        )  # fmt: skip


def save_group(
    store: StoreLike,
    *args: object,
    path: str | None = None,
    zarr_format: FormatName | None = None,
    zarr_version: FormatName | None = None,
    storage_options: StorageOptions | None = None,
    **kwargs: object,
) -> None:
    """Save several arrays as members of a group, and replace what is there.

    Parameters
    ----------
    store, path, zarr_format, zarr_version, storage_options
        As in `save`.
    *args
        Arrays of any library, which become ``arr_0``, ``arr_1`` …
    **kwargs
        Arrays by name.

    Raises
    ------
    TypeError
        If no array is given, or a keyword of `create_array` with anything but an array.
    ValueError
        If a name is given twice.

    Examples
    --------
    >>> import omnizarr
    >>> store = omnizarr.MemoryStore()
    >>> omnizarr.save_group(store, [1, 2], b=[3, 4])
    >>> sorted(omnizarr.open_group(store, "r"))
    ['arr_0', 'b']
    """
    chosen = one_format(zarr_format, zarr_version)
    _save_members("save_group", store, args, kwargs, path, chosen, storage_options)


def _save_members(
    function: str, store: StoreLike, unnamed: tuple[object, ...], named: dict[str, object],
    path: str | None, zarr_format: FormatName | None, storage_options: StorageOptions | None,
) -> None:  # fmt: skip
    if not unnamed and not named:
        raise TypeError(f"{function}() needs at least one array")
    _refuse_misspelt(named, function)
    refuse_settings(named, function)
    arrays = {f"arr_{index}": value for index, value in enumerate(unnamed)}
    twice = arrays.keys() & named.keys()
    if twice:
        raise ValueError(f"array names given twice: {', '.join(sorted(twice))}")
    with _Closing(store, "w", storage_options) as backing:
        members = {name: with_values({"data": data}) for name, data in (arrays | named).items()}
        replaced = [Location(backing, paths.normalize_path(path))]
        members = {
            name: {**member, "data": secured(member["data"], replaced)}
            for name, member in members.items()
        }
        root = opening.open_group(backing, "w", path=path, zarr_format=zarr_format)
        for name, member in members.items():
            root.create_array(name, **member)


def _refuse_misspelt(arrays: Mapping[str, object], function: str) -> None:
    """Refuse an option that would become an array, because its name is misspelt."""
    for name, value in arrays.items():
        option = isinstance(value, str | int | Mapping | None) and nearest(name, _OPTIONS)
        if option:
            raise TypeError(
                f"{function}() takes keywords as names of arrays, found {name}={value!r}{option}"
            )


_OPTIONS = ("path", "zarr_format", "zarr_version", "storage_options")


class _Closing:
    """The store for one call: closed at the end if the call itself opened it."""

    def __init__(self, store: StoreLike, mode: str, storage_options: StorageOptions | None) -> None:
        self._own = not isinstance(store, Store)
        self._store = open_store(store, mode, storage_options)

    def __enter__(self) -> Store:
        return self._store

    def __exit__(self, *exc_info: object) -> None:
        if self._own:
            self._store.close()


@suggests
def load(
    store: StoreLike,
    path: str | None = None,
    zarr_format: FormatName | None = None,
    *,
    zarr_version: FormatName | None = None,
    storage_options: StorageOptions | None = None,
    use_consolidated: bool | str | None = None,
    **arguments: Unpack[ArrayArguments],
) -> NDArray | LazyLoader:
    """Read an array whole, or give the arrays of a group on demand.

    Parameters
    ----------
    store
        A path, a URL, a mapping or a store.
    path
        Of the array or group within the store.
    zarr_format, zarr_version
        Look for this format only.
    storage_options, use_consolidated, **arguments
        All keywords of `open`.

    Returns
    -------
    numpy.ndarray or LazyLoader
        The values of an array; of a group, a mapping that reads each array at its first use.

    Raises
    ------
    NodeNotFoundError
        If there is neither an array nor a group.

    Examples
    --------
    >>> import omnizarr
    >>> store = omnizarr.MemoryStore()
    >>> omnizarr.save_array(store, [1, 2, 3], zarr_format=2)
    >>> omnizarr.load(store)
    array([1, 2, 3])
    """
    opened = opening.open(
        store, "r", path=path, zarr_format=one_format(zarr_format, zarr_version),
        storage_options=storage_options, use_consolidated=use_consolidated, **arguments,
    )  # fmt: skip
    return _loaded(opened)


def _loaded(node: Array | Group) -> NDArray | LazyLoader:
    if isinstance(node, Group):
        return LazyLoader(node)
    values: NDArray = node[...]
    return values


class LazyLoader(Mapping[str, "NDArray | LazyLoader"]):
    """The arrays of a group; each is read at its first use, and kept.

    Parameters
    ----------
    group
        The group to read from.

    Examples
    --------
    >>> import omnizarr
    >>> root = omnizarr.group()
    >>> root["a"] = [1, 2, 3]
    >>> omnizarr.load(root.store)["a"]
    array([1, 2, 3])
    """

    def __init__(self, group: Group) -> None:
        self._group = group
        self._loaded: dict[str, NDArray | LazyLoader] = {}

    def __getitem__(self, name: str) -> NDArray | LazyLoader:
        if name not in self._loaded:
            self._loaded[name] = _loaded(self._group[name])
        return self._loaded[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._group)

    def __len__(self) -> int:
        return len(self._group)

    def __contains__(self, name: object) -> bool:
        return name in self._group

    def __repr__(self) -> str:
        names = sorted(self._group)
        more = f" and {len(names) - 10} more" if len(names) > 10 else ""
        return f"<LazyLoader of {self._group.store!r}: {', '.join(names[:10])}{more}>"
