"""`checksum`: the digest of every stored value below a node, as a job. Nothing is decoded."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable, Iterator
from typing import Any, Literal, NamedTuple

from omnizarr.api.arguments import StorageOptions
from omnizarr.errors import NodeNotFoundError, NotListableError, StoreError
from omnizarr.jobs import ExecutorLike, MemoryLike, Reporter, Shared, opened, run, workers_for
from omnizarr.jobs.conversion.chunks import portions
from omnizarr.jobs.manifest import Entry, Manifest
from omnizarr.keywords import suggests
from omnizarr.model import paths
from omnizarr.model.store import ByteRange, Store
from omnizarr.nodes.array import Array
from omnizarr.nodes.group import Group
from omnizarr.runtime import parallel
from omnizarr.runtime.progress import ProgressLike
from omnizarr.stores import StoreLike, as_store

Algorithm = Literal["sha256", "sha512", "sha1", "md5", "blake2b", "sha3_256", "crc32c"]
PIECE = 8 << 20
"""A value is read in pieces of this size."""
TOGETHER = 64
MOST_REQUESTS = 32
JOURNALS = ".omnizarr-"
"""How the names of journals begin: they are no data."""


@suggests
def checksum(
    source: StoreLike | Array | Group,
    path: str = "",
    *,
    algorithm: Algorithm = "sha256",
    progress: ProgressLike = None,
    workers: int | None = None,
    executor: ExecutorLike = None,
    max_memory: MemoryLike = None,
    storage_options: StorageOptions | None = None,
) -> Manifest:
    """Compute the digest of every stored value of a node: its metadata and chunks.

    Two copies with the same manifest are the same, byte for byte. `verify` finds chunks that
    cannot be decoded, `checksum` those that have changed.

    Parameters
    ----------
    source
        A path, a URL, a mapping or a store; or an array or group.
    path
        The node in `source`. All keys below it count.
    algorithm
        ``"sha256"``, another one of `hashlib`, or ``"crc32c"``.
    progress
        True draws a line in a notebook or on a terminal, or logs it; a callable gets a `Progress`
        after every step.
    workers
        How many portions are read at once. By default one for each core, or as many requests as
        the store gains from.
    executor
        Where they are read: ``"threads"`` (the default), ``"processes"``, ``"dask"``, a Dask
        client or the address of its scheduler, ``"ray"``, or a `concurrent.futures.Executor`.
    max_memory
        What the work in one process may take: bytes, or text such as ``"512 MiB"``. By default
        `limits.worker_bytes`.
    storage_options
        Options for the store of a URL.

    Returns
    -------
    Manifest
        ``.digest`` over all, ``.entries``; `Manifest.save`, `Manifest.load` and
        `Manifest.compare`.

    Raises
    ------
    NotListableError
        If the store cannot list its keys.
    NodeNotFoundError
        If nothing is stored there.

    Examples
    --------
    >>> import omnizarr
    >>> store = omnizarr.MemoryStore()
    >>> omnizarr.save_array(store, [1, 2, 3])
    >>> copy = omnizarr.MemoryStore()
    >>> done = omnizarr.copy_store(store, copy)
    >>> omnizarr.checksum(store).digest == omnizarr.checksum(copy).digest
    True
    """
    begin = time.monotonic()
    hasher(algorithm)
    start = paths.normalize_path(path)
    if isinstance(source, Array | Group):
        start, source = paths.join(source.path, start), source.store
    store = as_store(source, mode="r", storage_options=storage_options)
    try:
        with opened(executor, workers) as crew:
            entries = _entries(store, start, algorithm, progress, workers, crew, max_memory)
    finally:
        if store is not source:
            store.close()
    entries.sort()
    where = f"{store!r}, path {'/' + start!r}"
    return Manifest(algorithm, tuple(entries), where, time.monotonic() - begin)


def hasher(algorithm: str) -> Callable[[], Any]:
    """What makes a new digest: `update`, `hexdigest`."""
    if algorithm == "crc32c":
        return _Crc32c
    if algorithm not in hashlib.algorithms_guaranteed or algorithm.startswith("shake"):
        raise ValueError(
            f"algorithm takes 'crc32c' or a name of hashlib, such as 'sha256'; found {algorithm!r}"
        )
    return lambda: hashlib.new(algorithm, usedforsecurity=False)


class _Crc32c:
    def __init__(self) -> None:
        self._value = 0

    def update(self, data: Any) -> None:
        import google_crc32c

        self._value = google_crc32c.extend(self._value, bytes(data))

    def hexdigest(self) -> str:
        return f"{self._value:08x}"


class _Work(NamedTuple):
    store: Store
    prefix: str
    algorithm: str


class _Task(NamedTuple):
    work: Shared[_Work]
    keys: tuple[str, ...]

    def do(self) -> list[Entry]:
        work = self.work.value
        return [_entry(work, key) for key in self.keys]


def _entry(work: _Work, key: str) -> Entry:
    """Read a value piece by piece: a shard may be larger than the memory."""
    found = hasher(work.algorithm)()
    start = 0
    with work.store.snapshot(key) as read:
        while True:
            parallel.check()
            piece = read(ByteRange(start, start + PIECE))
            if piece is None:
                raise StoreError("the value is gone; do not write meanwhile").at(
                    work.store, key=key
                )
            found.update(piece)
            start += len(piece)
            if len(piece) < PIECE:
                return Entry(key[len(work.prefix) :], start, found.hexdigest())


def _entries(
    store: Store, start: str, algorithm: str, progress: ProgressLike, workers: int | None,
    executor: ExecutorLike, max_memory: MemoryLike,
) -> list[Entry]:  # fmt: skip
    if not store.capabilities.listable:
        raise NotListableError(
            "the store does not tell all of its keys, so a manifest would be incomplete"
        ).at(store)
    prefix = start + "/" if start else ""
    keys = [key for key in store.list_prefix(prefix) if not _is_journal(key)]
    if not keys:
        raise NodeNotFoundError("nothing is stored here").at(store, path=start)
    shared = Shared(_Work(store, prefix, algorithm))
    reporter = Reporter(progress, len(keys))
    entries: list[Entry] = []

    def tasks() -> Iterator[_Task]:
        for portion in portions(keys, TOGETHER):
            yield _Task(shared, portion)

    def finished(task: _Task, found: list[Entry]) -> None:
        entries.extend(found)
        reporter.advance(len(found), sum(entry.size for entry in found), task.keys[-1])

    requests = min(store.capabilities.requests, MOST_REQUESTS)
    at_once = workers_for(2 * PIECE, workers, requests, executor=executor, max_memory=max_memory)
    try:
        run(
            _Task.do, tasks(), finished, workers=at_once, executor=executor,
            task_bytes=2 * PIECE, max_memory=max_memory,
        )  # fmt: skip
    finally:
        reporter.close()
    return entries


def _is_journal(key: str) -> bool:
    return key.rpartition("/")[2].startswith(JOURNALS)
