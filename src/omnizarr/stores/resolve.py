"""`as_store`: turn a path, URL, mapping or foreign object into a `Store`.

This module knows paths, URLs and mappings; `stores.kinds` knows who serves which. It must not know
what is in a store.
"""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Literal, Protocol, TypeAlias, cast

from omnizarr.config import config
from omnizarr.errors import NodeNotFoundError, StoreError
from omnizarr.keywords import suggests
from omnizarr.model.store import Store
from omnizarr.stores import kinds
from omnizarr.stores.local.store import LocalStore
from omnizarr.stores.options import mapping_of
from omnizarr.stores.wrappers.base import PrefixStore, ReadOnlyStore, WrapperStore


class StorePlace(Protocol):
    """A path in a store, as `array.store_path` gives it."""

    @property
    def store(self) -> Store: ...

    @property
    def path(self) -> str: ...


if TYPE_CHECKING:
    from fsspec import AbstractFileSystem
    from obstore.store import ObjectStore as ObstoreStore
    from zarr.abc.store import Store as ZarrStore

    from omnizarr.stores.memory import MemoryStore

    StoreLike: TypeAlias = (
        Store
        | str
        | os.PathLike[str]
        | Mapping[str, object]
        | StorePlace
        | AbstractFileSystem
        | ObstoreStore
        | ZarrStore
        | None
    )
else:
    StoreLike = Store | str | os.PathLike | Mapping | object | None

_URL = re.compile(r"([A-Za-z][A-Za-z0-9+.-]+)://")
_CHAIN = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*::")
_shared_memory: dict[str, MemoryStore] = {}
"""The stores of `memory://name` in this process."""
_ZIP_MODES: dict[str, Literal["r", "a", "w", "x"]] = {
    "r": "r",
    "r+": "a",
    "a": "a",
    "w": "w",
    "w-": "x",
    "x": "x",
}


@suggests
def as_store(
    obj: StoreLike,
    *,
    mode: str | None = None,
    read_only: bool = False,
    storage_options: Mapping[str, object] | None = None,
) -> Store:
    """Open the store that an object means.

    Parameters
    ----------
    obj
        None is a new `MemoryStore`; a store is itself; a URL is opened by its scheme; a path that
        ends with ".zip" is a `ZipStore` unless a directory has that name, and so on with the
        suffixes of `stores.kinds`; any other path is a `LocalStore`; a mapping is wrapped; so are
        stores of obstore, fsspec and zarr-python, and places in a store (`array.store_path`).
    mode
        As of `omnizarr.open`: "r", "r+", "a", "w", "w-" or "x". With "r" the store refuses changes.
        Only modes that write create anything, and a directory is created by the first value.
    read_only
        Refuse every change.
    storage_options
        Arguments of the store that a URL or path opens.

    Returns
    -------
    Store
        The store. The caller closes it, unless it was given as one.

    Raises
    ------
    NodeNotFoundError
        If `mode` creates nothing and there is no such archive or database.
    StoreError
        If the URL is invalid, or the path is that of a file that is no store.
    TypeError
        If the object is no store, or an option is unknown.

    Examples
    --------
    >>> omnizarr.stores.as_store({"key": b"value"})
    MappingStore(<dict>)
    >>> omnizarr.stores.as_store("memory://name", mode="r")
    ReadOnlyStore(MemoryStore(<0 keys>))
    """
    if mode is not None and mode not in _ZIP_MODES:
        raise ValueError(f"mode must be one of {', '.join(_ZIP_MODES)}; found {mode!r}")
    storage_options = mapping_of("storage_options", storage_options)
    read_only = read_only or mode == "r"
    if type(obj) is str:
        return _at_path(obj, mode, read_only, storage_options)
    if isinstance(obj, Store):
        _refuse_options(storage_options, obj)
        return ReadOnlyStore(obj) if read_only and not obj.read_only else obj
    hook = getattr(type(obj), "__omnizarr_store__", None)
    if hook is not None and (served := hook(obj)) is not None:
        return as_store(served, mode=mode, read_only=read_only, storage_options=storage_options)
    inner = getattr(obj, "store", None)
    if isinstance(inner, Store) and isinstance(getattr(obj, "path", None), str):
        # A place in a store, as `array.store_path` gives it.
        path = obj.path  # type: ignore[union-attr]  # checked above
        return as_store(
            PrefixStore(inner, path + "/") if path else inner, mode=mode, read_only=read_only
        )
    if isinstance(obj, str | os.PathLike):
        return _at_path(obj, mode, read_only, storage_options)
    _refuse_options(storage_options, obj)
    if obj is None:
        from omnizarr.stores.memory import MemoryStore

        return MemoryStore(read_only=read_only)
    adopted = kinds.adopt(obj, read_only=read_only)
    if adopted is not None:
        return adopted
    from omnizarr.stores.mapping import MappingStore, is_mapping

    if is_mapping(obj):
        return MappingStore(cast("Mapping[str, object]", obj), read_only=read_only)
    raise TypeError(
        "a store is given as None, a str, URL or path, a Store (also one of zarr-python or obstore,"
        " or a filesystem of fsspec), or a mapping from str to bytes;"
        f" found {type(obj).__name__}"
    )


def _at_path(
    obj: str | os.PathLike[str],
    mode: str | None,
    read_only: bool,
    storage_options: Mapping[str, Any] | None,
) -> Store:
    path = os.fspath(obj)
    if not isinstance(path, str):
        raise TypeError(f"a path to a store must be a str, found {type(path).__name__}")
    options = dict(storage_options or {})
    scheme = _scheme_of(path) if ":" in path else ""
    if scheme == "memory" and not options:
        return _memory(path, read_only)
    if scheme not in ("", "file"):
        module = (kinds.for_scheme(scheme) or kinds.fsspec_kind()).load()
        store: Store = module.open_url(path, mode=mode, read_only=read_only, options=options)
        return store
    if scheme:
        path = _path_of_url(path)
    elif path[:1] == "~":
        path = os.path.expanduser(path)
    found = kinds.mode_of(path)
    folder = stat.S_ISDIR(found)
    container = None if folder else kinds.container_of(path)
    if container is not None:
        # The rest of the container must stay, also if this path is to be replaced.
        kept = "a" if mode in ("w", "w-", "x") else mode
        inside = _at_path(container, kept, read_only, storage_options)
        return PrefixStore(inside, os.path.relpath(path, container).replace(os.sep, "/"))
    kind = kinds.for_path(path, found)
    if kind is not None and not (kind.existing and _is_document(path)):
        opened: Store = kind.load().open_path(path, mode=mode, read_only=read_only, options=options)
        return opened
    _refuse_options(storage_options, path)
    if folder or not path.lower().endswith(".zip"):
        if not folder:
            _refuse_file(path, mode)
        return LocalStore(path, read_only=read_only, fsync=bool(config.get("fsync")))
    from omnizarr.stores.zip.store import ZipStore

    if mode == "r+" and not os.path.exists(path):
        raise NodeNotFoundError(f"there is no archive {path!r}; mode 'r+' does not create one")
    return ZipStore(path, mode="r" if read_only else _ZIP_MODES[mode or "a"])


def _scheme_of(path: str) -> str:
    """The scheme of a URL, and "::" for a chain of them; "" for a path that has a colon in it."""
    if kinds.is_broken_url(path):
        raise StoreError(kinds.broken_url(path))
    if _CHAIN.match(path):
        return "::"
    match = _URL.match(path)
    if match is None and "://" in path and not os.path.splitdrive(path)[0]:
        from omnizarr.stores.secrets import masked_url

        raise StoreError(
            f"{masked_url(path)!r} is neither a path nor a URL, which begins with its scheme, as in"
            " https://host/path, or in a chain as in simplecache::https://host/path"
        )
    return "" if match is None else match[1].lower()


def _is_document(path: str) -> bool:
    from omnizarr.stores import foreign_files  # for the few paths that name a file

    return foreign_files.is_document(path)


def _refuse_file(path: str, mode: str | None) -> None:
    from omnizarr.stores import foreign_files

    file = foreign_files.file_above(path)
    if file is not None:
        message = f"{path!r} is no store: {'it' if file == path else repr(file)} is"
        message += f" {foreign_files.described(file)}"
        raise NodeNotFoundError(message) if mode in ("r", "r+") else StoreError(message)


def _memory(url: str, read_only: bool) -> Store:
    """`memory://name/path`: one store for each name, as long as the process lives."""
    from omnizarr.stores.memory import MemoryStore

    name, _, path = url.partition("://")[2].partition("/")
    store: Store = _shared_memory.setdefault(name, MemoryStore())
    if path.strip("/"):
        store = PrefixStore(store, path)
    return ReadOnlyStore(store) if read_only else store


def _path_of_url(url: str) -> str:
    from urllib.parse import unquote, urlsplit

    parts = urlsplit(url)
    if parts.netloc not in ("", "localhost") or parts.query or parts.fragment:
        from omnizarr.stores.secrets import masked_url

        raise StoreError(f"{masked_url(url)!r}: a file URL has the form file:///path")
    path = unquote(parts.path)
    if re.match(r"/[A-Za-z]:/", path) and os.name == "nt":
        path = path[1:]
    return path


def check_sides(
    source: object,
    destination: object,
    storage_options: Mapping[str, Any] | None,
    destination_options: Mapping[str, Any] | None,
) -> None:
    """Raise a TypeError if the options of one of two stores were given as those of the other."""
    mapping_of("storage_options", storage_options)
    mapping_of("destination_options", destination_options)
    if storage_options and not destination_options and _is_plain(source) and _is_url(destination):
        raise TypeError(
            "storage_options are those of the source, which is no URL; give those of the"
            " destination as destination_options"
        )
    if destination_options and not storage_options and _is_plain(destination) and _is_url(source):
        raise TypeError(
            "destination_options are those of the destination, which is no URL; give those of the"
            " source as storage_options"
        )


def is_absent(place: object, store: Store) -> bool:
    """Whether the path or URL `place` names nothing that exists. `store` is what it opened, and is
    known to be empty. A folder or database may exist without keys; other places may not."""
    if not isinstance(place, str | os.PathLike):
        return False
    while isinstance(store, WrapperStore) and not isinstance(store, PrefixStore):
        store = store.store
    if isinstance(store, LocalStore):
        return not os.path.isdir(store.path)
    match = _URL.match(os.fspath(place))
    if match is None:
        return isinstance(store, PrefixStore)  # a path inside a database or an archive
    kind = kinds.for_scheme(match[1].lower())
    return match[1].lower() != "memory" and not (kind and kind.module.startswith("databases."))


def _is_url(place: object) -> bool:
    return isinstance(place, str) and _URL.match(place) is not None


def _is_plain(place: object) -> bool:
    """Whether a store takes no options: a folder or an archive by its path, or an object."""
    if not isinstance(place, str | os.PathLike):
        return True
    path = os.path.expanduser(place)
    return not _is_url(path) and kinds.for_path(path) is None and kinds.container_of(path) is None


def _refuse_options(storage_options: Mapping[str, Any] | None, obj: object) -> None:
    if storage_options:
        raise TypeError(f"storage_options apply to remote stores only, not to {obj!r}")
