"""`sync`: make one store equal to another one, and touch only what differs.

Values go first and documents last, the deepest first, so that a reader meets no array whose values
are still on their way. A value is replaced whole or not at all, so what was done stays done: the
same call goes on after an interruption.

This module knows keys, sizes, times and ETags. It must not know what values mean.
"""

from __future__ import annotations

import os
import re
import time
from collections.abc import Iterable
from contextlib import closing, suppress
from dataclasses import dataclass
from typing import NamedTuple

from omnizarr import formats
from omnizarr.api.arguments import StorageOptions
from omnizarr.api.opening import open as open_node
from omnizarr.errors import (
    MetadataError,
    NodeNotFoundError,
    NotListableError,
    OverlapError,
    StoreError,
)
from omnizarr.jobs import Reporter, run
from omnizarr.jobs.checksums import JOURNALS
from omnizarr.jobs.conversion.chunks import portions
from omnizarr.jobs.report import Report
from omnizarr.keywords import suggests
from omnizarr.model import json, paths
from omnizarr.model.store import Store
from omnizarr.nodes.creation.overlaps import Location, overlap
from omnizarr.runtime import parallel
from omnizarr.runtime.progress import ProgressLike, duration, size
from omnizarr.stores import StoreLike, as_store
from omnizarr.stores.resolve import check_sides

AT_ONCE = 16
_TOGETHER = 8
_DOCUMENTS = (".zmetadata", ".zarray", ".zgroup", ".zattrs", "zarr.json", "attributes.json")
_MARKS = ".omnizarr-deleted"
JOURNAL = ".omnizarr-sync.json"
"""Stored while a node is replaced: until then `delete` may go on where no node opens."""
_BEGUN = (JOURNAL, ".omnizarr-copy.json")
_MD5 = re.compile(r'"?([0-9a-f]{32})"?\Z')
_GROWS = ("shape", "attributes", "dimensions", "consolidated_metadata")
"""Members of an array's document that may change while its values are replaced."""


@dataclass(frozen=True)
class Synced(Report):
    """The result of `sync`."""

    copied: tuple[str, ...]
    """The keys that were copied, relative to the paths that were given."""
    deleted: tuple[str, ...]
    """The keys that were deleted."""
    unchanged: int
    """How many values were equal already."""
    nbytes: int
    """Bytes of all copied values."""
    seconds: float
    """How long it took."""
    dry_run: bool = False
    """Whether nothing was written."""

    @property
    def bytes_written(self) -> int:
        """Bytes of all copied values."""
        return 0 if self.dry_run else self.nbytes

    def __str__(self) -> str:
        text = (
            f"{len(self.copied):,} copied ({size(self.nbytes)}), {self.unchanged:,} unchanged,"
            f" {len(self.deleted):,} deleted"
        )
        return f"{text} (dry run)" if self.dry_run else f"{text} in {duration(self.seconds)}"


@suggests
def sync(
    source: StoreLike, destination: StoreLike, source_path: str = "", destination_path: str = "",
    *, delete: bool = False, checksum: bool = False, dry_run: bool = False,
    progress: ProgressLike = None, workers: int | None = None,
    storage_options: StorageOptions | None = None,
    destination_options: StorageOptions | None = None,
) -> Synced:  # fmt: skip
    """Copy the values that differ from one store to another. No value is decoded.

    Values are equal if their sizes and the times of their files agree (`sync` gives files the times
    of their sources), or their ETags; where neither is known, their bytes are compared. Documents
    are copied last. Call it again after an interruption: it goes on.

    Parameters
    ----------
    source, destination
        Paths, URLs, mappings or stores.
    source_path, destination_path
        Everything below `source_path` goes to below `destination_path`.
    delete
        Delete what the source does not have. The destination must be a node, or hold nothing that
        would be deleted: what is no part of a hierarchy stays.
    checksum
        Compare bytes, whatever sizes, times and ETags say.
    dry_run
        Only tell what would be done.
    progress
        True draws a line in a notebook or on a terminal, or logs it; a callable gets a `Progress`
        after every step. Units are keys.
    workers
        How many portions of keys are worked on at once. By default as many requests as the stores
        gain from.
    storage_options, destination_options
        Options for the stores of URLs, source and destination.

    Returns
    -------
    Synced
        The keys that were ``copied`` and ``deleted``, and how many are ``unchanged``.

    Raises
    ------
    NodeNotFoundError
        If the source has no values, so that `delete` can never empty a store by accident.
    NotListableError
        If a store cannot list its keys.
    OverlapError
        If one of the two is inside the other.
    StoreError
        If `delete` would delete values where no node is.

    Examples
    --------
    >>> import omnizarr
    >>> source, copy = omnizarr.MemoryStore(), omnizarr.MemoryStore()
    >>> omnizarr.save_array(source, [1, 2, 3])
    >>> omnizarr.sync(source, copy).copied
    ('c/0', 'zarr.json')
    >>> print(omnizarr.sync(source, copy, dry_run=True))
    0 copied (0 B), 2 unchanged, 0 deleted (dry run)
    """
    begin = time.monotonic()
    check_sides(source, destination, storage_options, destination_options)
    origin = as_store(source, mode="r", storage_options=storage_options)
    target = as_store(destination, storage_options=destination_options)
    try:
        from_path, to_path = map(paths.normalize_path, (source_path, destination_path))
        _check(origin, target, from_path, to_path)
        sides = _Sides(origin, target, _prefix(from_path), _prefix(to_path), checksum)
        return _sync(sides, delete, dry_run, progress, workers, begin)
    finally:
        for store, given in ((origin, source), (target, destination)):
            if store is not given:
                store.close()


def _check(origin: Store, target: Store, from_path: str, to_path: str) -> None:
    for store in (origin, target):
        if not store.capabilities.listable:
            raise (
                NotListableError("the store does not tell all of its keys")
                .at(store)
                .advise("convert copies the arrays and groups that consolidated metadata name")
            )
    here, there = Location(origin, from_path), Location(target, to_path)
    if overlap(here, there):
        raise OverlapError(f"the source ({here}) and the destination ({there}) overlap").advise(
            "choose a destination outside of the source"
        )


def _prefix(path: str) -> str:
    return path + "/" if path else ""


class _Sides(NamedTuple):
    """Both stores, and how values are compared."""

    origin: Store
    target: Store
    from_prefix: str
    to_prefix: str
    checksum: bool

    def names(self, store: Store, prefix: str) -> list[str]:
        """Every key below the prefix but journals of jobs."""
        found = (key[len(prefix) :] for key in store.list_prefix(prefix))
        return [name for name in found if not _is_of_a_job(name)]

    def differs(self, name: str) -> bool:
        """Whether the values of a key that both sides have differ."""
        parallel.check()
        here, there = self.from_prefix + name, self.to_prefix + name
        if not self.checksum:
            if self.origin.size(here) != self.target.size(there):
                return True
            known = self._told_by_marks(name)
            if known is not None:
                return known
        one, other = self.origin.get(here), self.target.get(there)
        return one is None or other is None or memoryview(one) != memoryview(other)

    def _told_by_marks(self, name: str) -> bool | None:
        """What times of files or ETags tell; None if they tell nothing."""
        here, there = self.from_prefix + name, self.to_prefix + name
        ours = _file(self.origin, self.from_prefix, name)
        theirs = _file(self.target, self.to_prefix, name)
        if ours and theirs:
            same = os.stat(ours).st_mtime_ns == os.stat(theirs).st_mtime_ns
            return False if same else None  # other times do not mean other bytes
        one, other = _etag(self.origin, here), _etag(self.target, there)
        if one is None and other is None:
            return None
        # Where one side has ETags, the other one is read alone.
        one = one or _digest(self.origin, here)
        other = other or _digest(self.target, there)
        return one != other

    def copy(self, name: str) -> int:
        """Copy a value; a file gets the time that its source had before it was read."""
        parallel.check()
        ours = _file(self.origin, self.from_prefix, name)
        changed = os.stat(ours).st_mtime_ns if ours else None
        value = self.origin.get(self.from_prefix + name)
        if value is None:
            return 0
        self.target.set(self.to_prefix + name, value)
        theirs = _file(self.target, self.to_prefix, name)
        if changed is not None and theirs:
            with suppress(OSError):
                os.utime(theirs, ns=(time.time_ns(), changed))
        return len(value)


def _is_of_a_job(name: str) -> bool:
    """Whether a key is a journal or an intermediate value. Marks of an overlay are data."""
    return JOURNALS in name and any(
        part.startswith(JOURNALS) and part != _MARKS for part in name.split("/")
    )


def _last(name: str) -> str:
    return name.rpartition("/")[2]


def _file(store: Store, prefix: str, name: str) -> bytes | None:
    """The path of a value that is a file which exists."""
    known = store.files(prefix)
    if known is None:
        return None
    path = known.path + os.fsencode(name)
    return path if os.path.isfile(path) else None


def _etag(store: Store, key: str) -> str | None:
    """The ETag of a value, if it is the MD5 of its bytes."""
    if not (store.capabilities.remote and store.capabilities.validators):
        return None
    version = store.version(key)
    marks = version if isinstance(version, tuple) else (version,)
    found = (_MD5.match(mark) for mark in marks if isinstance(mark, str))
    return next((match[1] for match in found if match), None)


def _digest(store: Store, key: str) -> str | None:
    import hashlib

    value = store.get(key)
    return None if value is None else hashlib.md5(value, usedforsecurity=False).hexdigest()


# -- the order ---------------------------------------------------------------------------------


def _is_document(name: str) -> bool:
    return (
        _last(name) in _DOCUMENTS
        or name.startswith("meta/")
        or bool(formats.documents_first([name])[0])
    )


def _deepest_first(names: Iterable[str]) -> list[str]:
    """Documents in an order in which a group comes after what it tells of."""
    return sorted(names, key=lambda name: (-name.count("/"), _last(name) == ".zmetadata", name))


def _is_replaced(sides: _Sides, name: str) -> bool:
    """Whether the new document of an array does not fit the values that are there."""
    if _last(name) not in (".zarray", "zarr.json", "attributes.json"):
        return False
    found = []
    for store, key in (
        (sides.origin, sides.from_prefix + name),
        (sides.target, sides.to_prefix + name),
    ):
        try:
            document = json.loads(bytes(store.get(key) or b""), name)
        except MetadataError:
            return True
        if not isinstance(document, dict):
            return True
        if _last(name) == "zarr.json" and document.get("node_type") == "group":
            document = {"node_type": "group"}
        found.append({key: value for key, value in document.items() if key not in _GROWS})
    return found[0] != found[1]


def _sync(
    sides: _Sides, delete: bool, dry_run: bool, progress: ProgressLike, workers: int | None,
    begin: float,
) -> Synced:  # fmt: skip
    ours = sides.names(sides.origin, sides.from_prefix)
    if not ours:
        raise NodeNotFoundError("nothing is stored here").at(sides.origin, path=sides.from_prefix)
    theirs = set(sides.names(sides.target, sides.to_prefix))
    obsolete = sorted(theirs.difference(ours)) if delete else []
    copied: list[str] = []
    unchanged = nbytes = 0
    if obsolete:
        _check_deletable(sides, obsolete[0])
    at_once = workers or _at_once(sides)
    documents = [name for name in ours if _is_document(name)]
    values = [name for name in ours if not _is_document(name)]
    if not dry_run:
        sides.target.check_writable()
    with closing(Reporter(progress, len(ours) + len(obsolete))) as reporter:

        def work(portion: tuple[str, ...]) -> list[int | None]:
            return [_one(sides, name, name in theirs, dry_run) for name in portion]

        def finished(portion: tuple[str, ...], found: list[int | None]) -> None:
            nonlocal unchanged, nbytes
            for name, length in zip(portion, found, strict=True):
                if length is None:
                    unchanged += 1
                else:
                    copied.append(name)
                    nbytes += length
            told = sum(length or 0 for length in found)
            reporter.advance(len(portion), 0 if dry_run else told, portion[-1])

        if not dry_run:
            # Values of another type or shape must not be read with the old document.
            replaced = [name for name in documents if name in theirs and _is_replaced(sides, name)]
            if obsolete and any("/" not in name for name in replaced):
                sides.target.set(sides.to_prefix + JOURNAL, b"{}")  # no node opens for a while
            for name in replaced:
                sides.target.delete(sides.to_prefix + name)
                theirs.discard(name)
        run(work, portions(values, _TOGETHER), finished, workers=at_once)
        for name in _deepest_first(documents):
            finished((name,), work((name,)))
        gone = [name for name in obsolete if _is_document(name)]
        rest = [name for name in obsolete if not _is_document(name)]
        for name in [*_deepest_first(gone)[::-1], *rest]:
            parallel.check()
            if not dry_run:
                sides.target.delete(sides.to_prefix + name)
            reporter.advance(1, 0, name)
    if not dry_run and sides.target.exists(sides.to_prefix + JOURNAL):
        sides.target.delete(sides.to_prefix + JOURNAL)
    return Synced(
        tuple(sorted(copied)), tuple(obsolete), unchanged, nbytes, time.monotonic() - begin, dry_run
    )


def _check_deletable(sides: _Sides, name: str) -> None:
    """Refuse to delete where neither a node is nor something that was begun."""
    try:
        open_node(sides.target, mode="r", path=sides.to_prefix)
    except NodeNotFoundError:
        if not any(sides.target.exists(sides.to_prefix + mark) for mark in _BEGUN):
            raise (
                StoreError(f"there is no node, but other things, such as {name!r}: they stay")
                .at(sides.target, path=sides.to_prefix.rstrip("/") or "/")
                .advise("choose a new place or a node; without delete=True nothing is deleted")
            ) from None
    except MetadataError:
        pass  # a node that is broken is replaced


def _one(sides: _Sides, name: str, there: bool, dry_run: bool) -> int | None:
    """Copy a value if it differs; gives its length, or None if it is equal."""
    if there and not sides.differs(name):
        return None
    if dry_run:
        return sides.origin.size(sides.from_prefix + name) or 0
    return sides.copy(name)


def _at_once(sides: _Sides) -> int:
    if not sides.target.capabilities.concurrent_writes:
        return 1
    requests = max(sides.origin.capabilities.requests, sides.target.capabilities.requests)
    return min(AT_ONCE, max(requests, 2))
