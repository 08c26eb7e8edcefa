"""`delete`: a node and everything below it, with progress.

A mark is stored, by which the same call finds what an interrupted one has left. Then the documents
of the node and of everything below it go, so that half of a node is no node; then the other keys,
in portions; at last what the store itself keeps below the prefixes (folders), and the mark.
A folder of a `LocalStore` vanishes in one step instead.
"""

from __future__ import annotations

import time
from contextlib import closing
from dataclasses import dataclass
from typing import Literal

from omnizarr import formats
from omnizarr.api.arguments import StorageOptions
from omnizarr.errors import NodeNotFoundError
from omnizarr.jobs import Reporter, foreign, run
from omnizarr.jobs.conversion.chunks import portions
from omnizarr.jobs.report import Report
from omnizarr.keywords import suggests
from omnizarr.model import paths
from omnizarr.model.store import Store
from omnizarr.nodes.array import Array
from omnizarr.nodes.group import Group
from omnizarr.runtime import parallel
from omnizarr.runtime.progress import ProgressLike, duration
from omnizarr.stores import LocalStore, StoreLike, as_store

MARK = ".omnizarr-delete.json"
"""Stored at the node until everything below it is deleted."""
TOGETHER = 64
MOST_REQUESTS = 32


@dataclass(frozen=True)
class Deleted(Report):
    """The result of `delete`."""

    keys: int
    """How many values were deleted."""
    seconds: float
    """How long it took."""
    foreign: tuple[str, ...] = ()
    """In a dry run: those of the keys that belong to no node, such as files of a person."""
    dry_run: bool = False
    """Whether nothing was deleted."""

    def __str__(self) -> str:
        if self.dry_run:
            return f"{self.keys:,} keys would be deleted"
        return f"{self.keys:,} keys deleted in {duration(self.seconds)}"


@suggests
def delete(
    target: StoreLike | Array | Group,
    path: str = "",
    *,
    progress: ProgressLike = None,
    workers: int | None = None,
    dry_run: bool = False,
    storage_options: StorageOptions | None = None,
) -> Deleted:
    """Delete a node and everything below it, as ``del group[name]`` does, and show progress.

    The documents go first, its own and then those of the nodes below it: whenever the deletion is
    interrupted, no node is left whose chunks are missing. Call it again to delete the rest; until
    then, `.omnizarr-delete.json` is at the node. A folder in a local directory vanishes at once.

    Parameters
    ----------
    target
        A path, a URL or a store; or an array or group.
    path
        The node in `target`.
    progress
        True draws a line in a notebook or on a terminal, or logs it; a callable gets a `Progress`
        after every step. Units are keys.
    workers
        How many portions of keys are deleted at once; by default as many requests as the store
        gains from.
    dry_run
        Only tell what would be deleted, and what of it belongs to no node.
    storage_options
        Options for the store of a URL.

    Returns
    -------
    Deleted
        How many keys there were.

    Raises
    ------
    NodeNotFoundError
        If nothing is stored there.

    Examples
    --------
    >>> import omnizarr
    >>> store = omnizarr.MemoryStore()
    >>> omnizarr.save_group(store, a=[1, 2, 3])
    >>> omnizarr.delete(store, "a").keys
    2
    >>> list(omnizarr.open_group(store))
    []
    """
    begin = time.monotonic()
    start = paths.normalize_path(path)
    beside: Store | None = None
    store: Store
    if isinstance(target, Array | Group):
        if not dry_run:
            target._check_writable()
        beside = target._options.chunk_store
        start, store = paths.join(target.path, start), target.store
    else:
        mode: Literal["r", "r+"] = "r" if dry_run else "r+"
        store = as_store(target, mode=mode, storage_options=storage_options)
    if not dry_run:
        store.check_writable()
    mark = paths.join(start, MARK)
    known = formats.owners(store, start)
    if not known and store.exists(mark):
        known = formats.possible(store, start)  # those whose documents may be gone already
    owned = [one.owned(store, start) for one in known]
    prefixes = {start + "/" if start else "", *(one for _, below in owned for one in below)}
    documents = {*formats.claimed(store, start), *(key for own, _ in owned for key in own)}
    stores = (store,) if beside is None else (store, beside)
    found = {key for one in stores for prefix in prefixes for key in one.list_prefix(prefix)}
    found |= {key for key in documents if store.exists(key)}
    if not found:
        raise NodeNotFoundError("nothing is stored here").at(store, path=start)
    marked, found = mark in found, found - {mark}
    if dry_run:
        begun = marked and formats.find(store, start) is None
        others = [] if begun or beside is not None else foreign.foreign(store, sorted(found))
        return Deleted(len(found), time.monotonic() - begin, tuple(others), True)
    documents |= {key for key in found if paths.DOCUMENT.search(key)}
    keys = sorted(found - documents)
    capable = store.capabilities
    at_once = workers or (min(capable.requests, MOST_REQUESTS) if capable.concurrent_writes else 1)
    with closing(Reporter(progress, len(keys))) as reporter:
        if start and isinstance(store, LocalStore) and prefixes == {start + "/"}:
            for one in stores:
                one.delete_prefix(start + "/")
            reporter.advance(len(keys), 0, start)
            return Deleted(len(found), time.monotonic() - begin)
        if keys and not marked:
            store.set(mark, b"{}")
        for step in paths.deletion_steps(documents):
            parallel.each(store.delete, step, at_once)

        def remove(portion: tuple[str, ...]) -> None:
            for key in portion:
                parallel.check()
                for one in stores:
                    one.delete(key)

        def finished(portion: tuple[str, ...], _: None) -> None:
            reporter.advance(len(portion), 0, portion[-1])

        run(remove, portions(keys, TOGETHER), finished, workers=at_once)
    store.delete(mark)
    for one in stores:
        for prefix in prefixes:
            one.delete_prefix(prefix)
    return Deleted(len(found), time.monotonic() - begin)
