"""zarr-python 2's stores whose arguments or attributes differ from omnizarr's."""

from __future__ import annotations

import os
import warnings
from collections.abc import MutableMapping
from typing import Any, Literal

import omnizarr
from omnizarr import stores
from omnizarr.errors import FSPathExistNotDir

__all__ = [
    "DictStore",
    "DirectoryStore",
    "FSStore",
    "KVStore",
    "MemoryStoreV3",
    "NestedDirectoryStore",
]

Separator = Literal[".", "/"]


class DirectoryStore(stores.LocalStore):
    """Values as files below one directory, which the first value creates.

    Parameters
    ----------
    path
        Path of the directory.
    normalize_keys
        Only False, since the case of keys is kept.
    dimension_separator
        What new arrays have between chunk coordinates.
    **options
        All other keywords of `omnizarr.LocalStore`.

    Raises
    ------
    FSPathExistNotDir
        If there is a file at the path.

    Examples
    --------
    >>> store = DirectoryStore(path="data.zarr")
    >>> store["key"] = b"value"
    >>> store.listdir()
    ['key']
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        normalize_keys: bool = False,
        dimension_separator: Separator | None = None,
        **options: Any,
    ) -> None:
        super().__init__(
            path,
            normalize_keys=normalize_keys,
            dimension_separator=dimension_separator,
            **options,
        )
        if os.path.exists(self.path) and not os.path.isdir(self.path):
            raise FSPathExistNotDir(f"{self.path!r} is a file, not a directory")


class NestedDirectoryStore(DirectoryStore):
    """A `DirectoryStore` whose new arrays have "/" between chunk coordinates.

    Parameters
    ----------
    path, normalize_keys, **options
        As of `DirectoryStore`.
    dimension_separator
        Only "/".

    Raises
    ------
    ValueError
        If `dimension_separator` is ".".
    """

    dimension_separator = "/"

    def __init__(
        self,
        path: str | os.PathLike[str],
        normalize_keys: bool = False,
        dimension_separator: Separator | None = "/",
        **options: Any,
    ) -> None:
        if dimension_separator not in ("/", None):
            raise ValueError(
                f"a NestedDirectoryStore has the dimension_separator '/', not"
                f" {dimension_separator!r}; DirectoryStore takes both"
            )
        super().__init__(path, normalize_keys, "/", **options)


class FSStore(stores.FSStore):
    """Files of any filesystem of fsspec, with the attributes of zarr-python 2.

    The parameters are those of `omnizarr.stores.FSStore`.
    """

    @property
    def path(self) -> str:
        """Path in the filesystem."""
        return self.root

    @property
    def map(self) -> MutableMapping[str, bytes]:
        """The same files as a mapping of fsspec."""
        found: MutableMapping[str, bytes] = self.fs.get_mapper(self.root)
        return found


class KVStore(stores.MappingStore):
    """The values of any mapping. As a mapping itself it gives and takes them as they are; arrays
    need bytes.

    The parameters are those of `omnizarr.stores.MappingStore`.
    """

    def __getitem__(self, key: str) -> Any:
        return self.mapping[key]

    def __setitem__(self, key: str, value: Any) -> None:
        self.check_writable()
        self.mapping[key] = value  # type: ignore[index]  # read-only unless it can be written


class MemoryStoreV3(stores.MemoryStore):
    """Values in memory; new nodes are of the draft of format 3 that zarr-python 2 could write.

    The parameters are those of `MemoryStore`.
    """

    preferred_format = "3-draft2020-10"


class DictStore(stores.MemoryStore):
    """`MemoryStore` by its older name, which zarr-python 2 warns about.

    Parameters
    ----------
    *args, **kwargs
        As of `MemoryStore`.
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        warnings.warn("DictStore has been renamed to MemoryStore", DeprecationWarning, stacklevel=2)
        super().__init__(*args, **kwargs)

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__init__()  # type: ignore[misc]  # warns
        self.__dict__.update(state)


def opened(store: Any, mode: str | None = None, options: dict[str, Any] | None = None) -> Any:
    """What zarr-python 2 would open for a path, a URL or a mapper of fsspec; all else as it is."""
    changing = "r" if mode == "r" else "w"
    if isinstance(store, MutableMapping) and hasattr(store, "fs") and hasattr(store, "root"):
        return FSStore(store.root, fs=store.fs, mode=changing)
    if isinstance(store, MutableMapping):
        return KVStore(store)
    if not isinstance(store, str | os.PathLike):
        return store
    path = os.fspath(store)
    if options and path.startswith("file://"):
        return FSStore(path, mode=changing, **options)
    if "://" in path or "::" in path:
        return store
    if options:
        raise ValueError(f"storage_options are for URLs, found the path {path!r}")
    if path.endswith(".n5"):
        from omnizarr.compat.zarr2.n5 import N5Store

        return N5Store(path)
    path = os.path.expanduser(path)
    plain = os.path.isdir(path) or not path.lower().endswith(".zip")
    if plain and _is_in_folders(path) and stores.store_kind(path) is None:
        return DirectoryStore(path, fsync=bool(omnizarr.config.get("fsync")))
    return store


def _is_in_folders(path: str) -> bool:
    """Whether the path is, or could become, a folder: nothing above it is a file."""
    above = os.path.abspath(path)
    while not os.path.lexists(above):
        above = os.path.dirname(above)
    return os.path.isdir(above)
