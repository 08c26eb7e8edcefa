"""Where data lie, and whether two places overlap.

A node that is replaced is deleted first. Data that are still to be read from it would be lost, so
`check_apart` refuses before anything is changed: whoever replaces a node calls it with the data.

A store occupies a place on disk (a folder, an archive, a database) or something in this process.
Places on disk are compared by device and inode, not by name: links, mounts and other spellings lead
to the same one. A path that only leads through the other's folder counts too, because replacing
that folder cuts it off.

What cannot be seen: data that others read from the same place by themselves (a tensorstore, a web
server that serves the folder, files that a reference store names).

This module knows stores and files. It must not know formats, and does not read data.
"""

from __future__ import annotations

import gc
import os
from collections import deque
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

from omnizarr.errors import OverlapError
from omnizarr.model import paths
from omnizarr.model.store import Store
from omnizarr.stores import LocalStore, as_store
from omnizarr.stores.wrappers import WrapperStore

_MOST_LINKS = 40
_MOST_OBJECTS = 100_000
"""How many objects of a task graph are looked at; arrays that it reads are among the first."""
_FILES = ("local", "zip", "sqlite", "dbm", "lmdb")
"""Stores whose identity begins with this and a path."""
_GRAPHS = ("dask", "xarray", "functools")
"""Packages whose objects hold the arrays that a task graph reads."""


class Location(NamedTuple):
    """A path in a store."""

    store: Store
    path: str

    def __str__(self) -> str:
        return f"{self.store!r}, path {'/' + self.path!r}"

    @property
    def inside(self) -> tuple[Any, str]:
        """The identity of the store within all wrappers, and the path in it."""
        identity, key = self.store.locate(paths.join(self.path, "x"))
        return identity, paths.parent(key)

    @property
    def file(self) -> str | None:
        """The folder, archive or database that holds it; None if it is not on disk."""
        store = innermost(self.store)
        if isinstance(store, LocalStore):  # its path as it was given: links count
            return os.path.join(store.path, self.inside[1])
        match self.inside:
            case (("local", str(root)), path):
                return os.path.join(root, path)
            case ((kind, str(file), *_), _) if kind in _FILES:
                return file
        return None


def innermost(store: Store) -> Store:
    """The store inside all wrappers."""
    while isinstance(store, WrapperStore):
        store = store.store
    return store


def check_apart(data: Any, targets: Iterable[Location]) -> None:
    """Raise `OverlapError` if replacing one of the targets deletes what `data` is read from.

    Parameters
    ----------
    data
        An array, a view of one, a group, or anything that is read while it is written: a Dask
        array, an array of zarr-python. Values in memory are always accepted.
    targets
        The nodes that are replaced, with everything below them.

    Examples
    --------
    >>> import omnizarr
    >>> group = omnizarr.group()
    >>> array = group.create_array("a", data=[1, 2, 3])
    >>> check_apart(array, [Location(group.store, "b")])
    >>> check_apart(array, [Location(group.store, "")])
    Traceback (most recent call last):
        ...
    omnizarr.errors.OverlapError: ...
    """
    sources = list(origins(data))
    for target in targets if sources else ():
        for source in sources:
            if overlap(source, target):
                raise OverlapError(
                    f"{target}: replacing what is stored there would delete the data that are to be"
                    f" written ({source}); read them first, as in data=array[...], or write to"
                    " another place and move it afterwards"
                )


def origins(data: Any) -> Iterator[Location]:
    """Where values that are not in memory yet are read from; nothing for those that are."""
    array = getattr(data, "_array", data) if _package(data) == "omnizarr" else data
    if _package(array) == "dask":
        for found in _read_by(array):
            yield from origins(found)
        return
    path = getattr(array, "path", None)
    if not isinstance(path, str) or getattr(array, "store", None) is None:
        return
    beside = getattr(getattr(array, "_options", None), "chunk_store", None)
    for store in (array.store, beside, getattr(array, "_chunk_store", None)):
        for layer in _layers(store):
            yield Location(layer, path)


def _layers(store: Any) -> Iterator[Store]:
    """The store, and those that it reads from besides."""
    if store is None:
        return
    try:
        found = as_store(store)
    except TypeError:  # of a library that is not known here
        return
    yield found
    inner = innermost(found)
    if hasattr(inner, "lower"):
        yield inner.lower


def _read_by(data: Any) -> Iterator[Any]:
    """Arrays in stores that the tasks of a Dask array read."""
    pending: deque[Any] = deque([data.__dask_graph__()])
    seen: set[int] = set()
    while pending and len(seen) < _MOST_OBJECTS:
        item = pending.popleft()
        if id(item) in seen or isinstance(item, type):
            continue
        seen.add(id(item))
        if hasattr(item, "shape") and (hasattr(item, "store") or _package(item) == "omnizarr"):
            yield item
        elif isinstance(item, dict | list | tuple | set) or _package(item) in _GRAPHS:
            pending.extend(gc.get_referents(item))


def _package(value: Any) -> str:
    module: Any = type(value).__module__  # whatever was put there
    return module.partition(".")[0] if isinstance(module, str) else ""


def overlap(one: Location, other: Location) -> bool:
    """Whether they are the same place, or one lies inside the other."""
    return contains(one, other) or contains(other, one)


def contains(outer: Location, inner: Location) -> bool:
    """Whether `inner` is `outer` or lies inside it."""
    (left, path), (right, beside) = outer.inside, inner.inside
    if left == right:
        return f"{beside}/".startswith(f"{path}/" if path else "")
    if not isinstance(left, tuple) or left[0] not in ("local", "zip"):
        return False  # of a database, nothing is replaced but what it holds under its own identity
    here, there = outer.file, inner.file
    return here is not None and there is not None and _is_on_way(here, there)


def file_identity(path: str) -> tuple[int, int] | None:
    """What the file system knows a file or folder by; None if there is none."""
    try:
        status = os.stat(path)
    except OSError:
        return None
    return status.st_dev, status.st_ino


def _is_on_way(file: str, path: str) -> bool:
    """Whether a path leads to a file or folder, or through it."""
    wanted = file_identity(file)
    if wanted is None:
        return False
    return any(file_identity(passed) == wanted for passed in _passed(path))


def _passed(path: str) -> list[str]:
    """Every folder and link on the way to a path, and what lies there."""
    passed = [os.sep]
    pending = os.path.abspath(path).split(os.sep)[1:]
    links = 0
    here = os.sep
    while pending:
        name = pending.pop(0)
        if name in ("", "."):
            continue
        here = os.path.dirname(here) if name == ".." else os.path.join(here, name)
        passed.append(here)
        if os.path.islink(here) and links < _MOST_LINKS:
            links += 1
            target = os.readlink(here)
            pending = target.split(os.sep) + pending
            here = os.sep if os.path.isabs(target) else os.path.dirname(here)
    return passed
