"""`copy_store`: keys from one store to another, as a job.

A value is stored whole or not at all, so what is there already is done: no journal is needed.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from contextlib import closing
from typing import NamedTuple

from omnizarr import formats
from omnizarr.api.arguments import StorageOptions
from omnizarr.api.copying import CHOICES, Copied, IfExists, Log, logger_of, summary
from omnizarr.errors import (
    CopyError,
    MetadataError,
    NodeNotFoundError,
    NotListableError,
    OverlapError,
    UnsupportedError,
)
from omnizarr.jobs import ExecutorLike, MemoryLike, Reporter, Shared, opened, run, workers_for
from omnizarr.jobs.conversion.chunks import portions
from omnizarr.keywords import suggests
from omnizarr.model import paths
from omnizarr.model.store import Store
from omnizarr.nodes.creation.overlaps import Location, overlap
from omnizarr.runtime import parallel
from omnizarr.runtime.progress import ProgressLike
from omnizarr.stores import StoreLike, as_store
from omnizarr.stores.resolve import check_sides, is_absent

AT_ONCE = 16
"""How many values are copied at once at the most; each is in memory meanwhile."""
_TOGETHER = 4
"""How many keys are one task: few, since values may be large."""


@suggests
def copy_store(
    source: StoreLike, dest: StoreLike, source_path: str = "", dest_path: str = "",
    excludes: str | Iterable[str] | None = None, includes: str | Iterable[str] | None = None,
    flags: int = 0, if_exists: IfExists = "raise", dry_run: bool = False, log: Log = None,
    *, progress: ProgressLike = None, workers: int | None = None, executor: ExecutorLike = None,
    max_memory: MemoryLike = None, storage_options: StorageOptions | None = None,
    destination_options: StorageOptions | None = None,
) -> Copied:  # fmt: skip
    """Copy keys from one store to another. No value is decoded.

    A store has a value whole or not at all. So a copy that was killed goes on with
    ``if_exists="skip"``, on any machine: what is there is complete.

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
    progress
        True draws a line in a notebook or on a terminal, or logs it; a callable gets a `Progress`
        after every step. Units are keys.
    workers
        How many portions of keys are copied at once. By default as many requests as the stores gain
        from.
    executor
        Where they are copied: ``"threads"`` (the default), ``"processes"``, ``"dask"``, a Dask
        client or the address of its scheduler, ``"ray"``, or a `concurrent.futures.Executor`.
    max_memory
        What the work in one process may take: bytes, or text such as ``"512 MiB"``. By default
        `limits.worker_bytes`.
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
    if if_exists not in CHOICES:
        raise MetadataError(f"if_exists must be one of {CHOICES}, found {if_exists!r}")
    say = logger_of(log)
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
    at_once = _at_once(origin, target)
    taken: list[bool] = [False] * len(names)
    if if_exists != "replace":
        taken = parallel.each(lambda name: target.exists(to_prefix + name), names, at_once)
    if if_exists == "raise" and any(taken):
        new = to_prefix + names[taken.index(True)]
        raise CopyError(f"{target!r} already has key {new!r} (if_exists='replace' or 'skip')")
    steps: tuple[list[str], ...] = (names,)
    if target.capabilities.hierarchies_only:
        steps = formats.documents_first(names)
        for name in names:
            target.check_storable(to_prefix + name)
    skipped = {name for name, known in zip(names, taken, strict=True) if known}
    work = Shared(_Work(origin, target, from_prefix, to_prefix, target.identity))
    reporter = Reporter(progress, len(names), len(skipped))
    total = Copied(0, len(skipped), 0)
    for name in sorted(skipped):
        say(f"skip {to_prefix}{name}")

    def finished(task: _Task, nbytes: list[int]) -> None:
        nonlocal total
        for name in task.names:
            say(f"copy {to_prefix}{name}")
        total += Copied(len(task.names), 0, sum(nbytes))
        reporter.advance(len(task.names), sum(nbytes), to_prefix + task.names[-1])

    if dry_run:
        finished(_Task(work, tuple(name for name in names if name not in skipped)), [])
        steps = ()
    alone = not target.capabilities.concurrent_writes
    with opened(None if alone else executor, workers) as crew, closing(reporter):
        for step in steps:
            left = [name for name in step if name not in skipped]
            tasks = (_Task(work, portion) for portion in portions(left, _TOGETHER))
            most = workers or at_once
            if crew is not None:
                most = workers_for(0, workers, executor=crew)
            run(_Task.do, tasks, finished, workers=most, executor=crew, max_memory=max_memory)
    say(summary(total, dry_run))
    return total


class _Work(NamedTuple):
    """What every portion of keys needs."""

    origin: Store
    target: Store
    from_prefix: str
    to_prefix: str
    identity: object


class _Task(NamedTuple):
    work: Shared[_Work]
    names: tuple[str, ...]

    def do(self) -> list[int]:
        """Copy the keys; gives the size of each."""
        work = self.work.value
        if work.target.identity != work.identity:
            raise UnsupportedError(
                f"{work.target!r} lives in one process: what another one writes into its copy is"
                " lost; use threads (no executor, or a ThreadPoolExecutor)"
            )
        return [self._copied(work, name) for name in self.names]

    @staticmethod
    def _copied(work: _Work, name: str) -> int:
        parallel.check()
        value = work.origin.get(work.from_prefix + name)
        if value is None:
            return 0
        work.target.set(work.to_prefix + name, value)
        return len(value)


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
