"""Where data are stored, and whether two locations overlap.

A node that is replaced is deleted first. Data that are still to be read from it would be lost, so
`check_apart` is called with the data before a node is replaced, and refuses an overlap.

A store occupies a place on disk (a folder, an archive, a database) or something in this process.
Places on disk are compared by device and inode, not by name: links, mounts and other spellings lead
to the same one. A path that only leads through the other's folder counts too, because replacing
that folder cuts it off.

What cannot be seen: data that others read from the same place by themselves (a web server that
serves the folder, files that a reference store names, a function that opens the array by its path),
and a link inside an array's own folder.

This module knows stores and files. It must not know formats, and does not read data.
"""

from __future__ import annotations

import gc
import os
from collections import ChainMap, UserDict, deque
from collections.abc import Iterable, Iterator
from types import BuiltinMethodType, FunctionType, MethodType, ModuleType
from typing import Any, NamedTuple

import numpy as np

from omnizarr.errors import OverlapError
from omnizarr.model import paths
from omnizarr.model.store import Store
from omnizarr.stores import LocalStore, as_store
from omnizarr.stores.wrappers.base import WrapperStore

_MOST_LINKS = 40
_MOST_OBJECTS = 1_000_000
"""How many objects of a task graph are looked at; of a larger graph, it is not known what it
reads."""
_FILES = ("local", "zip", "sqlite", "dbm", "lmdb")
"""Stores whose identity begins with this and a path."""
_ATOMS = (
    str,
    bytes,
    int,
    float,
    complex,
    type(None),
    slice,
    type,
    ModuleType,
    np.generic,
    np.dtype,
)
"""Objects of a task graph that hold no others."""
_CONTAINERS = frozenset({dict, list, tuple, set, frozenset})
_ENDS = ("_thread", "asyncio", "concurrent", "distributed", "logging", "threading", "weakref")
"""Packages whose objects lead everywhere, or nowhere."""
_ELSEWHERE = (
    *("dask", "xarray", "numpy", "pandas", "pyarrow", "scipy", "sparse", "cupy"),
    *("h5py", "h5netcdf", "netCDF4"),
)
"""Packages whose arrays are values, are read from files of other kinds, or are followed."""


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
    def kind(self) -> str:
        """Of the store within all wrappers: "local", "zip", …; "" if it has no name."""
        identity = self.inside[0]
        return str(identity[0]) if isinstance(identity, tuple) else ""

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


def check_apart(data: Any, targets: Iterable[Location], doubts: list[str] | None = None) -> None:
    """Raise `OverlapError` if replacing one of the targets deletes what `data` is read from.

    Parameters
    ----------
    data
        An array, a view of one, a group, or anything that is read while it is written: a Dask
        array, an array of zarr-python. Values in memory are always accepted.
    targets
        The nodes that are replaced, with everything below them.
    doubts
        Gets the reasons why it cannot be told what a Dask array reads.

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
    sources = list(origins(data, doubts))
    for target in targets if sources else ():
        for source in sources:
            if overlap(source, target):
                raise OverlapError(
                    f"{target}: the paths overlap: replacing what is stored there would delete the"
                    f" data that are to be written ({source}); read them first, as in"
                    " data=array[...], or write to another place and move it afterwards"
                )


def origins(data: Any, doubts: list[str] | None = None) -> Iterator[Location]:
    """Where values that are not in memory yet are read from; nothing for those that are."""
    if package_of(data) == "dask":
        yield from _read_by(data, [] if doubts is None else doubts)
    else:
        yield from _places(data)


def _places(node: Any) -> Iterator[Location]:
    """The places of an array, of a view of one, or of a group."""
    node = getattr(node, "_array", node) if package_of(node) == "omnizarr" else node
    path = getattr(node, "path", None)
    if not isinstance(path, str) or getattr(node, "store", None) is None:
        return
    beside = getattr(getattr(node, "_options", None), "chunk_store", None)
    for store in (node.store, beside, getattr(node, "_chunk_store", None)):
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
    match getattr(inner, "mapping", None):
        case ChainMap(maps=maps):
            for mapping in maps:
                yield from _layers(mapping)
        case UserDict(data=mapping):
            yield from _layers(mapping)


def _read_by(data: Any, doubts: list[str]) -> Iterator[Location]:
    """The places that the tasks of a Dask array read: every object that its graph leads to is
    looked at. What is in the way of that is added to `doubts`."""
    graph = data.__dask_graph__()
    pending: deque[Any] = deque([graph])
    seen: set[int] = set()
    while pending:
        item = pending.popleft()
        if id(item) in seen or isinstance(item, _ATOMS):
            continue
        if len(seen) == _MOST_OBJECTS:
            doubts.append(f"its graph holds more than {_MOST_OBJECTS} objects")
            return
        seen.add(id(item))
        if type(item) in _CONTAINERS:  # most of them
            pending.extend(gc.get_referents(item))
            continue
        package = package_of(item)
        found = [*_places(item)] if package in ("omnizarr", "zarr") else []
        if isinstance(item, Store) or (package == "zarr" and hasattr(item, "supports_writes")):
            found = [Location(layer, "") for layer in _layers(item)]
        if found:
            yield from found
            continue
        if package not in _ELSEWHERE and _is_array(item):
            doubts.append(f"it reads an array of the class {type(item).__name__}")
        if package not in _ENDS:
            pending.extend(_held(item))


def _held(item: Any) -> Iterable[Any]:
    """The objects that an object holds. Of a function, these are the variables that it uses."""
    if isinstance(item, MethodType | BuiltinMethodType):
        return (item.__self__, getattr(item, "__func__", None))
    if isinstance(item, np.ndarray):
        return list(item.flat) if item.dtype.hasobject else ()
    if not isinstance(item, FunctionType):
        return gc.get_referents(item)
    held = [item.__closure__, item.__defaults__, item.__kwdefaults__, vars(item)]
    if package_of(item, item) not in _ELSEWHERE:
        for name in _variables(item.__code__):
            value = item.__globals__.get(name)
            # Functions of other modules do not know the variables of this one.
            if not isinstance(value, FunctionType) or value.__globals__ is item.__globals__:
                held.append(value)
    return held


def _variables(code: Any) -> Iterator[str]:
    """The names of global variables that a function uses, and the functions inside it."""
    yield from code.co_names  # those of attributes too
    for constant in code.co_consts:
        if isinstance(constant, type(code)):
            yield from _variables(constant)


def _is_array(item: Any) -> bool:
    try:
        array = hasattr(item, "shape") and hasattr(item, "dtype")
        return array and not isinstance(item, np.ndarray)
    except Exception:  # whatever an object of a task graph raises
        return False


def package_of(value: Any, named: Any = None) -> str:
    """The package of the class of a value, or of the function that is `named`."""
    module: Any = (type(value) if named is None else named).__module__  # whatever was put there
    return module.partition(".")[0] if isinstance(module, str) else ""


def overlap(one: Location, other: Location) -> bool:
    """Whether they are the same location, or one is inside the other."""
    return contains(one, other) or contains(other, one)


def contains(outer: Location, inner: Location) -> bool:
    """Whether `inner` is `outer` or is inside it."""
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
    """Every folder and link on the way to a path, and the path itself."""
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
