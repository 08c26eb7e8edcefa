"""Copying nodes between groups."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import closing
from math import prod
from typing import Any, Literal, NamedTuple, TextIO, Unpack

from omnizarr.api import hdf5
from omnizarr.errors import (
    CopyError,
    MetadataError,
    NodeTypeError,
    OverlapError,
    UnsupportedError,
)
from omnizarr.keywords import refuse_unknown, suggests
from omnizarr.model import json, paths
from omnizarr.nodes.array import Array
from omnizarr.nodes.creation.arguments import KNOWN, ArrayArguments, check_meta_array
from omnizarr.nodes.creation.arrays import like, without_replaced
from omnizarr.nodes.creation.overlaps import Location, check_apart, contains, origins
from omnizarr.nodes.creation.source_data import secured
from omnizarr.nodes.data.regions import regions
from omnizarr.nodes.group import Group
from omnizarr.runtime.progress import ProgressLike, Reporter

Destination = Group | hdf5.Hdf5Group
IfExists = Literal["raise", "replace", "skip", "skip_initialized"]
Log = Callable[[str], object] | TextIO | str | None
"""Where to tell what is copied."""
CHOICES = ("raise", "replace", "skip", "skip_initialized")


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

    def to_dict(self) -> dict[str, int]:
        """The counts in JSON's types."""
        return self._asdict()

    def to_json(self, indent: int | None = 2) -> str:
        """The counts as JSON.

        Parameters
        ----------
        indent
            Spaces of each level; None for one line.
        """
        return json.dumps(self.to_dict(), indent=indent)


def logger_of(log: Log) -> Callable[[str], object]:
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
def copy(
    source: object, dest: Group | object, name: str | None = None, shallow: bool = False,
    without_attrs: bool = False, log: Log = None, if_exists: IfExists = "raise",
    dry_run: bool = False, progress: ProgressLike = None, **create_kws: Unpack[CopyArguments],
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
    progress
        True draws a line in a notebook or on a terminal, or logs it; a callable gets a `Progress`
        after every region. Units are bytes of values.
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
    reporter = Reporter(progress, _nbytes(source, shallow) if progress else 0)
    manner = _Manner(shallow, without_attrs, logger_of(log), if_exists, dry_run, reporter)
    with closing(reporter):
        return _copy_members({name: source}, dest, manner, create_kws, root=True)


class _Manner(NamedTuple):
    """How nodes are copied."""

    shallow: bool
    without_attrs: bool
    say: Callable[[str], object]
    if_exists: IfExists
    dry_run: bool
    reporter: Reporter


def _nbytes(source: Any, shallow: bool) -> int:
    """How many bytes of values a copy has."""
    if hasattr(source, "shape"):
        count: int = prod(source.shape)
        return count * int(source.dtype.itemsize)
    members = [source[name] for name in list(source.keys())] if hasattr(source, "keys") else []
    return sum(
        _nbytes(member, shallow) for member in members if not shallow or hasattr(member, "shape")
    )


def _copy_members(
    members: Mapping[str | None, Any], dest: Any, manner: _Manner,
    create_kws: Mapping[str, Any], *, root: bool,
) -> Copied:  # fmt: skip
    """Copy each source under its name. Unless they are `root`, a shallow copy skips groups."""
    if manner.if_exists not in CHOICES:
        raise MetadataError(f"if_exists must be one of {CHOICES}, found {manner.if_exists!r}")
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
    manner.say(summary(total, manner.dry_run))
    return total


def summary(total: Copied, dry_run: bool) -> str:
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
    progress: ProgressLike = None, **create_kws: Unpack[CopyArguments],
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
    without_attrs, log, if_exists, dry_run, progress, **create_kws
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
    reporter = Reporter(progress, _nbytes(source, shallow) if progress else 0)
    manner = _Manner(shallow, without_attrs, logger_of(log), if_exists, dry_run, reporter)
    with closing(reporter):
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
            manner.reporter.advance(_nbytes(source, False), 0, place)
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
        values_here = values[region]
        target[region] = values_here
        nbytes = int(getattr(values_here, "nbytes", 0))
        manner.reporter.advance(nbytes, nbytes, place)
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
