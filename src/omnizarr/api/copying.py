"""Copying nodes between groups, and keys between stores."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Literal, NamedTuple, TextIO, Unpack

from omnizarr import formats
from omnizarr.api import hdf5
from omnizarr.api.arguments import StorageOptions
from omnizarr.errors import (
    CopyError,
    MetadataError,
    NodeNotFoundError,
    NodeTypeError,
    NotListableError,
    OverlapError,
    UnsupportedError,
)
from omnizarr.keywords import refuse_unknown, suggests
from omnizarr.model import paths
from omnizarr.model.store import Store
from omnizarr.nodes.array import Array
from omnizarr.nodes.creation.arguments import KNOWN, ArrayArguments, check_meta_array
from omnizarr.nodes.creation.arrays import like, without_replaced
from omnizarr.nodes.creation.overlaps import Location, check_apart, contains, origins, overlap
from omnizarr.nodes.creation.source_data import secured
from omnizarr.nodes.data.regions import regions
from omnizarr.nodes.group import Group
from omnizarr.runtime import parallel
from omnizarr.stores import StoreLike, as_store
from omnizarr.stores.resolve import check_sides, is_absent

Destination = Group | hdf5.Hdf5Group
IfExists = Literal["raise", "replace", "skip", "skip_initialized"]
AT_ONCE = 16
"""How many values are copied at once at the most; each is in memory meanwhile."""
Log = Callable[[str], object] | TextIO | str | None
"""Where to tell what is copied."""
_CHOICES = ("raise", "replace", "skip", "skip_initialized")


class CopyArguments(ArrayArguments, total=False):
    """Keywords of a copy; the last ones are for h5py alone."""

    fillvalue: object
    fletcher32: bool
    maxshape: object
    scaleoffset: object


class Copied(NamedTuple):
    """What a copy did, or with `dry_run` would do."""

    copied: int
    """How many nodes, or keys of `copy_store`, were copied."""
    skipped: int
    """How many were there already, and were left as they are."""
    nbytes: int
    """How many bytes were copied: of values, or as `copy_store` found them stored."""

    def __add__(self, other: object) -> Copied:
        if not isinstance(other, Copied):
            return NotImplemented
        return Copied(self[0] + other[0], self[1] + other[1], self[2] + other[2])


def _logger(log: Log) -> Callable[[str], object]:
    if log is None:
        return lambda _: None
    if callable(log):
        return log
    if not isinstance(log, str) and not hasattr(log, "write"):
        raise TypeError(f"log is a function, a file or the path of one; found {log!r}")
    if isinstance(log, str):

        def append(message: str) -> None:
            with open(log, "a") as stream:
                print(message, file=stream)

        return append
    return lambda message: print(message, file=log, flush=True)


@suggests
def copy_store(
    source: StoreLike, dest: StoreLike, source_path: str = "", dest_path: str = "",
    excludes: str | Iterable[str] | None = None, includes: str | Iterable[str] | None = None,
    flags: int = 0, if_exists: IfExists = "raise", dry_run: bool = False, log: Log = None,
    *, storage_options: StorageOptions | None = None,
    destination_options: StorageOptions | None = None,
) -> Copied:  # fmt: skip
    """Copy keys from one store to another. No value is decoded.

    Parameters
    ----------
    source, dest
        Paths, URLs, mappings or stores.
    source_path, dest_path
        Copy the keys below `source_path`, to below `dest_path`.
    excludes, includes
        Regular expressions. A key that one of `excludes` matches is not copied, unless one of
        `includes` matches it as well.
    flags
        Flags of `re.compile` for them.
    if_exists
        What to do with a key that is there: ``"raise"``, ``"replace"`` or ``"skip"``.
    dry_run
        Only tell what would be done.
    log
        A function, a file or the path of one, for one line per key.
    storage_options, destination_options
        Options for the stores of URLs, source and destination.

    Returns
    -------
    Copied
        The numbers of keys ``copied`` and ``skipped``, and of bytes ``nbytes``.

    Raises
    ------
    NodeExistsError
        If a key is there and `if_exists` is ``"raise"``. Nothing is copied then.
    NodeNotFoundError
        If the source is a path or URL and does not exist; a folder may be empty.
    NotListableError
        If the source cannot list its keys.
    OverlapError
        If values would be replaced before they are read.

    Examples
    --------
    >>> import omnizarr
    >>> source, dest = omnizarr.MemoryStore(), omnizarr.MemoryStore()
    >>> omnizarr.save_array(source, [1, 2, 3])
    >>> omnizarr.copy_store(source, dest).copied
    2
    """
    if if_exists not in _CHOICES:
        raise MetadataError(f"if_exists must be one of {_CHOICES}, found {if_exists!r}")
    say = _logger(log)
    check_sides(source, dest, storage_options, destination_options)
    origin = as_store(source, mode="r", storage_options=storage_options)
    target = as_store(dest, storage_options=destination_options)
    if not origin.capabilities.listable:
        # A web server's index may be all there is, and it leaves out names that begin with a dot.
        raise NotListableError(
            f"{origin!r} does not tell all of its keys, so a copy of them would be incomplete;"
            " copy its arrays and groups (omnizarr.copy, omnizarr.copy_all)"
        )
    from_prefix = _prefix(source_path)
    to_prefix = _prefix(dest_path)
    here, there = Location(origin, from_prefix[:-1]), Location(target, to_prefix[:-1])
    if if_exists == "replace" and overlap(here, there):
        raise OverlapError(
            f"the source ({here}) and the destination ({there}) overlap, so that values would be"
            " replaced before they are read; choose a destination outside the source"
        )
    leave = _patterns(excludes, flags)
    take = _patterns(includes, flags)
    found = [key[len(from_prefix) :] for key in origin.list_prefix(from_prefix)]
    if not found and is_absent(source, origin):
        raise NodeNotFoundError("there is no such store to copy").at(origin)
    names = [
        name
        for name in found
        if not any(p.search(name) for p in leave) or any(p.search(name) for p in take)
    ]
    workers = _at_once(origin, target)
    taken: list[bool] = [False] * len(names)
    if if_exists != "replace":
        taken = parallel.each(lambda name: target.exists(to_prefix + name), names, workers)
    if if_exists == "raise" and any(taken):
        new = to_prefix + names[taken.index(True)]
        raise CopyError(f"{target!r} already has key {new!r} (if_exists='replace' or 'skip')")

    def copy_one(name: str) -> Copied:
        new = to_prefix + name
        if known[name]:
            say(f"skip {new}")
            return Copied(0, 1, 0)
        say(f"copy {new}")
        value = None if dry_run else origin.get(from_prefix + name)
        if value is not None:
            target.set(new, value)
        return Copied(1, 0, 0 if value is None else len(value))

    known = dict(zip(names, taken, strict=True))
    steps: tuple[list[str], ...] = (names,)
    if target.capabilities.hierarchies_only:
        steps = formats.documents_first(names)
        for name in names:
            target.check_storable(to_prefix + name)
    total = Copied(0, 0, 0)
    for step in steps:
        total = sum(parallel.each(copy_one, step, workers), total)
    say(_summary(total, dry_run))
    return total


def _at_once(origin: Store, target: Store) -> int:
    """How many values are copied at once: several, if one of the stores has a high latency."""
    if not target.capabilities.concurrent_writes:
        return 1
    return min(AT_ONCE, max(origin.capabilities.requests, target.capabilities.requests))


def _prefix(path: str) -> str:
    path = paths.normalize_path(path)
    return path + "/" if path else ""


def _patterns(given: str | Iterable[str] | None, flags: int) -> list[re.Pattern[str]]:
    if given is None:
        return []
    return [re.compile(p, flags) for p in ([given] if isinstance(given, str) else given)]


@suggests
def copy(
    source: object, dest: Group | object, name: str | None = None, shallow: bool = False,
    without_attrs: bool = False, log: Log = None, if_exists: IfExists = "raise",
    dry_run: bool = False, **create_kws: Unpack[CopyArguments],
) -> Copied:  # fmt: skip
    """Copy an array or a group into a group.

    Parameters
    ----------
    source
        An array or group of omnizarr, zarr-python or h5py.
    dest
        The group that gets the copy: of omnizarr, or of h5py.
    name
        Of the copy in `dest`; the source's own if it is not given.
    shallow
        Copy the arrays of a group, but no group inside it.
    without_attrs
        Leave the attributes out.
    log
        A function, a file or the path of one, for one line per node.
    if_exists
        What to do with a node that is already there: ``"raise"``, ``"replace"``, ``"skip"``, or
        ``"skip_initialized"`` if all its chunks are stored.
    dry_run
        Only tell what would be done.
    **create_kws
        All keywords of `create_array`, for a copy of an array that differs from it. For a group of
        h5py, the keywords of its `create_dataset`.

    Returns
    -------
    Copied
        The numbers of nodes ``copied`` and ``skipped``, and of bytes of values ``nbytes``.

    Raises
    ------
    NodeExistsError
        If there is a node and `if_exists` is ``"raise"``.
    OverlapError
        If the copy would replace its source, or is inside it.

    Examples
    --------
    >>> import omnizarr
    >>> source, dest = omnizarr.group(), omnizarr.group()
    >>> source["a"] = [1, 2, 3]
    >>> omnizarr.copy(source["a"], dest, name="b").copied
    1
    """
    manner = _Manner(shallow, without_attrs, _logger(log), if_exists, dry_run)
    return _copy_members({name: source}, dest, manner, create_kws, root=True)


class _Manner(NamedTuple):
    """How nodes are copied."""

    shallow: bool
    without_attrs: bool
    say: Callable[[str], object]
    if_exists: IfExists
    dry_run: bool


def _copy_members(
    members: Mapping[str | None, Any], dest: Any, manner: _Manner,
    create_kws: Mapping[str, Any], *, root: bool,
) -> Copied:  # fmt: skip
    """Copy each source under its name. Unless they are `root`, a shallow copy skips groups."""
    if manner.if_exists not in _CHOICES:
        raise MetadataError(f"if_exists must be one of {_CHOICES}, found {manner.if_exists!r}")
    check_meta_array(create_kws)
    if hdf5.is_group(dest):
        if manner.if_exists == "skip_initialized":
            raise UnsupportedError("h5py does not tell which chunks are stored; use 'skip'")
        dest = hdf5.Hdf5Group(dest)
    elif create_kws:
        refuse_unknown(create_kws, KNOWN, "copy")
    if not isinstance(dest, Group | hdf5.Hdf5Group):
        raise NodeTypeError(
            "the destination of a copy is a group of omnizarr or h5py, found"
            f" {type(dest).__name__}; open one with omnizarr.open_group(store)"
        )
    for source in members.values():
        _check_node(source)
        _check_outside(source, dest)
    copied = (_copy(each, dest, name, manner, create_kws, root) for name, each in members.items())
    total = sum(copied, Copied(0, 0, 0))
    manner.say(_summary(total, manner.dry_run))
    return total


def _summary(total: Copied, dry_run: bool) -> str:
    done = "dry run" if dry_run else "all done"
    return f"{done}: {total.copied} copied, {total.skipped} skipped"


def _check_node(source: Any) -> None:
    if not hasattr(source, "shape") and not (hasattr(source, "keys") and hasattr(source, "attrs")):
        raise TypeError(
            "the source of a copy is an array or a group of omnizarr, zarr-python or h5py, found"
            f" {type(source).__name__}; open one with omnizarr.open(store)"
        )


def _check_outside(source: Any, dest: Destination) -> None:
    """Refuse to copy a group into itself: the copy would be copied again, without end."""
    if isinstance(dest, hdf5.Hdf5Group):
        return
    inside = Location(dest._place.store, dest.path)
    for origin in origins(source) if not hasattr(source, "shape") else ():
        if contains(origin, inside):
            raise OverlapError(
                f"{inside} is inside the group that is copied ({origin}); copy it to a group"
                " outside of it"
            )


@suggests
def copy_all(
    source: object, dest: Group | object, shallow: bool = False, without_attrs: bool = False,
    log: Log = None, if_exists: IfExists = "raise", dry_run: bool = False,
    **create_kws: Unpack[CopyArguments],
) -> Copied:  # fmt: skip
    """Copy every member of one group into another, and its attributes.

    Parameters
    ----------
    source
        A group of omnizarr, zarr-python or h5py.
    dest
        The group that gets the copies.
    shallow
        Copy arrays only.
    without_attrs, log, if_exists, dry_run, **create_kws
        As in `copy`.

    Returns
    -------
    Copied
        The numbers of nodes ``copied`` and ``skipped``, and of bytes of values ``nbytes``.

    Examples
    --------
    >>> import omnizarr
    >>> source, dest = omnizarr.group(), omnizarr.group()
    >>> source["a"] = [1, 2, 3]
    >>> omnizarr.copy_all(source, dest).copied
    1
    """
    if not hasattr(source, "keys"):
        raise TypeError(f"copy_all copies the members of a group, found {type(source).__name__}")
    group: Any = source
    members = {name: group[name] for name in list(group.keys())}
    manner = _Manner(shallow, without_attrs, _logger(log), if_exists, dry_run)
    total = _copy_members(members, dest, manner, create_kws, root=False)
    if not without_attrs and not dry_run:
        into: Any = dest
        into.attrs.update(_plain(group.attrs))
    return total


def _copy(
    source: Any, dest: Destination, name: str | None, manner: _Manner,
    create_kws: Mapping[str, Any], root: bool,
) -> Copied:  # fmt: skip
    if name is None:
        name = str(source.name).strip("/").rpartition("/")[2]
    if not name:
        raise TypeError("no name to copy the node to; give name=")
    if hasattr(source, "shape"):
        return _copy_array(source, dest, name, manner, create_kws)
    if manner.shallow and not root:
        return Copied(0, 0, 0)
    if create_kws and root:
        raise TypeError("creation arguments only apply to arrays, and the source is a group")
    exists = name in dest
    if exists and hasattr(dest[name], "shape"):
        if manner.if_exists == "raise":
            raise CopyError(f"{dest!r} already has an array {name!r}")
        if manner.if_exists != "replace":
            manner.say(f"skip {dest.name}/{name}")
            return Copied(0, 1, 0)
        if not manner.dry_run:
            check_apart(source, _targets(dest, name))
            del dest[name]
    manner.say(f"copy {dest.name.rstrip('/')}/{name}")
    if manner.dry_run and not (exists and not hasattr(dest[name], "shape")):
        return Copied(_count(source, manner.shallow), 0, 0)
    group = dest.require_group(name)
    if not manner.without_attrs and not manner.dry_run:
        group.attrs.update(_plain(source.attrs))
    names = list(source.keys())
    copied = (_copy(source[each], group, each, manner, {}, False) for each in names)
    return sum(copied, Copied(1, 0, 0))


def _count(group: Any, shallow: bool) -> int:
    """How many nodes a copy of a group would make."""
    members = [group[name] for name in list(group.keys())]
    arrays = sum(hasattr(member, "shape") for member in members)
    groups = [] if shallow else [each for each in members if not hasattr(each, "shape")]
    return 1 + arrays + sum(_count(each, shallow) for each in groups)


def _copy_array(
    source: Any, dest: Destination, name: str, manner: _Manner, create_kws: Mapping[str, Any]
) -> Copied:
    place = f"{dest.name.rstrip('/')}/{name}"
    existing = dest.get(name)
    if existing is not None:
        if manner.if_exists == "raise":
            raise CopyError(
                f"{dest!r} already has a member {name!r} (if_exists='replace' or 'skip')"
            )
        complete = (
            not isinstance(existing, Array) or existing.nchunks_initialized == existing.nchunks
        )
        if manner.if_exists == "skip" or (manner.if_exists == "skip_initialized" and complete):
            manner.say(f"skip {place} {source.shape} {source.dtype}")
            return Copied(0, 1, 0)
    manner.say(f"copy {place} {source.shape} {source.dtype}")
    if manner.dry_run:
        return Copied(1, 0, 0)
    values = secured(source, _targets(dest, name))
    kept = _arguments(source)
    kept = without_replaced(kept, create_kws)
    wanted = {**kept, **create_kws}
    if isinstance(dest, hdf5.Hdf5Group):
        wanted = hdf5.arguments(source, kept, {**create_kws})
    try:
        target = dest.create_array(name, overwrite=True, **wanted)
    except UnsupportedError as error:
        manner.say(f"codecs of {place} are not kept: {error}")
        for dropped in ("shards", "filters", "serializer", "compressors"):
            if dropped not in create_kws:
                wanted.pop(dropped, None)
        target = dest.create_array(name, overwrite=True, **wanted)
    for region in regions(target) if isinstance(target, Array) else hdf5.regions(target):
        target[region] = values[region]
    if not manner.without_attrs:
        target.attrs.update(_plain(source.attrs))
    return Copied(1, 0, target.nbytes)


def _targets(dest: Destination, name: str) -> list[Location]:
    """What a copy replaces; the place in a file of HDF5 is not known to any store."""
    if isinstance(dest, hdf5.Hdf5Group):
        return []
    return [Location(dest._place.store, paths.join(dest.path, paths.normalize_path(name)))]


def _arguments(source: Any) -> dict[str, Any]:
    """What makes the destination array like the source."""
    found = like(source)
    if isinstance(source, Array):
        return {**found, "fill_value": source.fill_value}
    fill = getattr(source, "fillvalue", None)
    if fill is not None:
        found["fill_value"] = fill
    return found


def _plain(attributes: Any) -> dict[str, Any]:
    """Attributes as JSON can hold them; h5py gives NumPy values."""
    return {
        name: value.tolist() if hasattr(value, "tolist") else value
        for name, value in attributes.items()
    }
