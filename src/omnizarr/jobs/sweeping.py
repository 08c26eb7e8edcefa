"""`sweep`: what killed writers and unfinished jobs left in a store.

This module knows names. It must not know what a job has done.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from typing import NamedTuple

from omnizarr import formats
from omnizarr.api import opening
from omnizarr.api.arguments import StorageOptions
from omnizarr.errors import NodeNotFoundError, NodeTypeError
from omnizarr.jobs import deleting
from omnizarr.jobs.checksums import JOURNALS
from omnizarr.jobs.report import Report
from omnizarr.keywords import suggests
from omnizarr.model.store import Store
from omnizarr.nodes import unfinished as unfinished_appends
from omnizarr.stores import LocalStore, StoreLike, as_store

_DAY = 86400.0
_SHOWN = 50
_JOBS = {
    ".omnizarr-convert.json": "convert, rechunk or reencode",
    ".omnizarr-pyramid.json": "pyramid",
    ".omnizarr-append.json": "append",
    ".omnizarr-copy.json": "omnizarr cp",
    deleting.MARK: "delete (omnizarr rm)",
    ".omnizarr-sync.json": "sync",
}


class UnfinishedJob(NamedTuple):
    """A job that was begun and not finished; the same call goes on."""

    key: str
    """Of its journal."""
    job: str
    """What it is."""
    path: str
    """The node that it writes."""


@dataclass(frozen=True)
class Swept(Report):
    """The result of `sweep`."""

    leftovers: tuple[str, ...]
    """Temporary files, half-removed folders and free locks that no process owns."""
    jobs: tuple[UnfinishedJob, ...]
    """Jobs that were begun and not finished. They are never removed unless asked for."""
    journals: tuple[str, ...]
    """Keys of journals and intermediate values that were removed, or would be."""
    seconds: float
    """How long it took."""
    dry_run: bool = True
    """Whether nothing was removed."""

    def __str__(self) -> str:
        done = "would be removed" if self.dry_run else "removed"
        found = [*self.leftovers, *self.journals]
        lines = [f"{done}: {name}" for name in found[:_SHOWN]]
        if len(found) > _SHOWN:
            lines.append(f"… and {len(found) - _SHOWN:,} more")
        if not self.journals:
            lines += [
                f"unfinished: {one.job} at /{one.path} ({one.key}); run it again to finish it"
                for one in self.jobs
            ]
        return "\n".join([*lines, f"{len(found):,} {done}, {len(self.jobs):,} unfinished jobs"])


@suggests
def sweep(
    store: StoreLike,
    *,
    apply: bool = False,
    older_than: float = _DAY,
    unfinished: bool = False,
    storage_options: StorageOptions | None = None,
) -> Swept:
    """Find what killed writers left, and remove it.

    Parameters
    ----------
    store
        A path, a URL or a store.
    apply
        Remove it; otherwise only tell.
    older_than
        Age in seconds below which files of another machine are kept.
    unfinished
        Also remove journals and intermediate values of unfinished jobs, which then cannot go on.
        Make sure that none of them is running. Chunks that they have written stay, except those
        that an append has stored behind the end of an array. Deletions are finished instead.
    storage_options
        Options for the store of a URL.

    Returns
    -------
    Swept
        What was found; print it for a listing.

    Raises
    ------
    ReadOnlyError
        If the store cannot be written to and `apply` is True.

    Examples
    --------
    >>> import omnizarr
    >>> with omnizarr.TempStore() as store:
    ...     print(omnizarr.sweep(store))
    0 would be removed, 0 unfinished jobs
    """
    begin = time.monotonic()
    opened = as_store(store, mode="r+" if apply else "r", storage_options=storage_options)
    try:
        if apply:
            opened.check_writable()
        keys = list(_of_jobs(opened))
        jobs = tuple(job for job in map(_job, keys) if job is not None)
        leftovers: list[str] = []
        if isinstance(opened, LocalStore):
            leftovers = opened.sweep(older_than, dry_run=not apply)
        removed = keys if unfinished else []
        for key in removed if apply else ():
            _remove(opened, key)
    finally:
        if opened is not store:
            opened.close()
    seconds = time.monotonic() - begin
    return Swept(tuple(leftovers), jobs, tuple(removed), seconds, not apply)


def _of_jobs(store: Store) -> Iterator[str]:
    """Keys of journals and intermediate values. Those of an overlay are data."""
    for key in store.list_prefix(""):
        if JOURNALS in key and any(
            part.startswith(JOURNALS) and part != ".omnizarr-deleted" for part in key.split("/")
        ):
            yield key


def _remove(store: Store, key: str) -> None:
    path, _, name = key.rpartition("/")
    if name == unfinished_appends.KEY:
        with suppress(NodeNotFoundError, NodeTypeError):  # it is the journal in a group
            array = opening.open_array(store, mode="r+", path=path)
            array.resize(array.shape)
    if name == deleting.MARK and not formats.owners(store, path):
        with suppress(NodeNotFoundError):  # the mark was all there was
            deleting.delete(store, path)
    store.delete(key)


def _job(key: str) -> UnfinishedJob | None:
    path, _, name = key.rpartition("/")
    return UnfinishedJob(key, _JOBS[name], path) if name in _JOBS else None
