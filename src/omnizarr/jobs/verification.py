"""`verify`: decode every stored chunk below a node and list those that cannot be decoded.

Nodes are visited one after the other, each on its own, so that a broken one hides none of the
others. Chunks are found by listing; where a store cannot be listed, every chunk of the grid is
asked for, up to a limit. They are decoded in portions by `jobs.running`, and nothing
decoded is kept.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from math import prod
from typing import Any, NamedTuple

from omnizarr import formats, limits
from omnizarr.api.arguments import StorageOptions
from omnizarr.api.checking import Seen, lists, unreachable
from omnizarr.engine.examination import examine
from omnizarr.errors import NodeNotFoundError, NotListableError, StoreClosedError, ZarrError
from omnizarr.formats import LIKELIEST, Format, Node, current, every_format
from omnizarr.formats.rules import names_below
from omnizarr.jobs import (
    ExecutorLike,
    MemoryLike,
    Progress,
    Reporter,
    Shared,
    opened,
    run,
    workers_for,
)
from omnizarr.jobs.conversion.chunks import Listed, per_portion, portions
from omnizarr.jobs.conversion.damage import BadChunk
from omnizarr.jobs.verification_report import (
    BadNode,
    NotVerified,
    UnusualChunks,
    Verification,
)
from omnizarr.keywords import suggests
from omnizarr.model import paths
from omnizarr.model.array import ArrayModel, GroupModel
from omnizarr.model.grids import Shape, all_places
from omnizarr.model.store import Store
from omnizarr.nodes.array import Array
from omnizarr.nodes.group import Group
from omnizarr.nodes.node import NodeAddress, Options
from omnizarr.runtime import parallel
from omnizarr.stores import StoreLike, as_store

MOST_REQUESTS = 32
"""How many portions run at once at the most on a high-latency store."""


@suggests
def verify(
    store: StoreLike | Array | Group,
    path: str = "",
    *,
    progress: Callable[[Progress], object] | bool | None = None,
    workers: int | None = None,
    executor: ExecutorLike = None,
    max_memory: MemoryLike = None,
    storage_options: StorageOptions | None = None,
) -> Verification:
    """Decode every stored chunk of an array, or of all arrays below a group.

    A chunk that cannot be read or decoded is listed in the result, and so is a node that cannot be
    opened; the work goes on. Inner chunks of shards are decoded one by one. Nothing is changed.
    Damage that still decodes is found only where the chunk has a checksum. A missing chunk is no
    damage.

    Where a store cannot be listed, members are taken from consolidated metadata, and every chunk of
    the grid is requested, up to `limits.max_requested_chunks`. Nodes for which that is not possible
    are in ``not_verified``, and ``ok`` is False.

    Parameters
    ----------
    store
        A path, a URL, a mapping or a store; or an array or group.
    path
        The node to begin at.
    progress
        True draws a bar on a terminal; a callable gets a `Progress` after every step.
    workers
        How many portions of chunks are decoded at once. By default one for each core, or as many
        requests as the store gains from.
    executor
        Where they run: ``"threads"`` (the default), ``"processes"``, ``"dask"``, a Dask client or
        the address of its scheduler, ``"ray"``, or a `concurrent.futures.Executor`.
    max_memory
        What the portions of one process may take together: bytes, or text such as ``"512 MiB"``.
        By default `limits.worker_bytes`.
    storage_options
        Options for the store of a URL.

    Returns
    -------
    Verification
        ``.ok``, ``.bad_chunks``, ``.bad_nodes``, ``.not_verified``; print it for a listing.

    Raises
    ------
    NodeNotFoundError
        If there is no node at `path`.

    Examples
    --------
    >>> import omnizarr
    >>> store = omnizarr.MemoryStore()
    >>> a = omnizarr.create_array(store, name="a", data=[1, 2, 3, 4], chunks=2)
    >>> omnizarr.verify(store).ok
    True
    >>> store["a/c/1"] = b"noise"
    >>> [bad.coordinates for bad in omnizarr.verify(store).bad_chunks]
    [(1,)]
    """
    begin = time.monotonic()
    options = Options(read_only=True)
    start = paths.normalize_path(path)
    if isinstance(store, Array | Group):
        options = store._options.changed(read_only=True)
        start, store = paths.join(store.path, start), store.store
    backing = as_store(store, mode="r", storage_options=storage_options)
    try:
        with opened(executor, workers) as crew:
            manner = _Manner(progress, workers, crew, max_memory)
            return _verified(backing, start, options, manner, begin)
    finally:
        if backing is not store:
            backing.close()


class _Manner(NamedTuple):
    """How the work is done."""

    progress: Any
    workers: int | None
    executor: ExecutorLike
    max_memory: MemoryLike


def _verified(
    store: Store, start: str, options: Options, manner: _Manner, begin: float
) -> Verification:
    seen = store
    if not store.capabilities.listable and lists(store, start):
        seen = Seen(store, True)
    bad_nodes = [BadNode(start, message) for message in unreachable(store)]
    not_verified: list[NotVerified] = []
    works: list[_Work] = []
    for path, found in _nodes(seen, start):
        if isinstance(found, NotListableError):
            not_verified.append(NotVerified(path, str(found)))
        elif isinstance(found, Exception):
            bad_nodes.append(BadNode(path, _text(found)))
        else:
            try:
                works.append(_Work(path, Array._of(found[0], found[1], options)._check()))
            except Exception as error:
                bad_nodes.append(BadNode(path, _text(error)))
    total = 0
    if manner.progress:  # chunks are listed once more, rather than kept for all arrays
        total = sum(one.total for one in map(_chunks, works) if one.askable)
    reporter = Reporter(manner.progress, total)
    arrays = chunks = nbytes = 0
    bad: list[BadChunk] = []
    unusual: list[UnusualChunks] = []
    try:
        for work in works:
            there = _chunks(work)
            if there.error is not None:
                bad_nodes.append(BadNode(work.path, there.error))
            if not there.askable:
                not_verified.append(NotVerified(work.path, _too_many(there.total)))
                continue
            result = _array(work, there.located, reporter, manner)
            arrays, chunks, nbytes = arrays + 1, chunks + result.chunks, nbytes + result.nbytes
            bad += sorted(result.bad, key=lambda one: (one.coordinates, one.inner or ()))
            if result.unusual:
                unusual.append(UnusualChunks(work.path, result.unusual, result.first))
    finally:
        reporter.close()
    return Verification(
        repr(store), start, arrays, chunks, nbytes, tuple(bad), tuple(bad_nodes), tuple(unusual),
        tuple(not_verified), time.monotonic() - begin,
    )  # fmt: skip


def _text(error: Exception) -> str:
    """What is said of an error; one that is not ours is named. A closed store ends everything."""
    if isinstance(error, StoreClosedError):
        raise error
    return str(error) if isinstance(error, ZarrError) else f"{type(error).__name__}: {error}"


def _too_many(count: int) -> str:
    return (
        f"its chunks cannot be listed, and asking for {count} of them one by one is more than"
        f" limits.max_requested_chunks allows ({limits.current.max_requested_chunks}); raise it,"
        " or verify a copy that can be listed"
    )


# -- which nodes ----------------------------------------------------------------------------------


def _nodes(
    store: Store, start: str
) -> Iterator[tuple[str, Exception | tuple[NodeAddress, ArrayModel]]]:
    """Every array below `start`, and every node that cannot be opened or listed."""
    # Path, format of the group above, and whether what is below the node is in the queue already.
    pending: deque[tuple[str, Format | None, bool]] = deque([(start, None, False)])
    while pending:
        parallel.check()
        path, above, complete = pending.popleft()
        known = None if above is None else (above, *(f for f in current() if f is not above))
        try:
            found = formats.find(store, path, known)
        except Exception as error:
            yield path, error
            if above is not None:
                continue
            found = _unreadable_root(store, path)
        if found is None:
            if above is None:
                raise NodeNotFoundError(
                    f"no array or group at path {'/' + path!r}:"
                    f" {formats.explain_missing(store, path)}"
                )
            continue
        chosen, model = found
        if isinstance(model, ArrayModel):
            yield path, (NodeAddress(store, path, chosen), model)
        try:
            below = [] if complete else _below(store, path, chosen, model)
        except Exception as error:
            yield path, error
        else:
            pending += [(paths.join(path, name), chosen, every) for name, every in below]


def _unreadable_root(store: Store, path: str) -> tuple[Format, Node]:
    """What is below a root that cannot be opened may still be sound."""
    for known in every_format():
        if formats.documents(known, store, path):
            return known, GroupModel()
    return LIKELIEST, GroupModel()


def _below(store: Store, path: str, chosen: Format, model: Node) -> list[tuple[str, bool]]:
    """The relative paths of what may be nodes below a node, and whether these are all of them at
    any depth, not its direct members only."""
    if isinstance(model, ArrayModel):
        names = formats.hidden_members(chosen, store, path) if store.capabilities.listable else []
        return [(name, False) for name in names]
    if store.capabilities.listable:
        with suppress(NotListableError):
            return [(name, False) for name in names_below(store, path, chosen, model)]
    listed = formats.consolidated(chosen, store, path)
    if listed is None or listed.consolidated is None:
        raise NotListableError(
            "the members of the group cannot be listed, and no"
            " consolidated metadata name them; verify each array by its path"
        ).at(store, path=path)
    return [(name, True) for name in sorted(listed.consolidated)]


# -- the work on one array ------------------------------------------------------------------------

ChunkRange = tuple[tuple[str, Shape], ...]


class _Chunks(NamedTuple):
    """The chunks of an array that are to be read."""

    total: int
    located: Iterator[tuple[str, Shape]]
    """Key and coordinates of each."""
    listed: bool = True
    error: str | None = None
    """Why they could not be listed, if that is a fault."""

    @property
    def askable(self) -> bool:
        return self.listed or self.total <= limits.current.max_requested_chunks


def _chunks(work: _Work) -> _Chunks:
    """The stored chunks or, where they cannot be listed, all of the grid."""
    source, reason = work.array._source, None
    if source.store.capabilities.listable:
        try:
            listed = Listed(source, sized=False)
            return _Chunks(len(listed), listed.located())
        except NotListableError:
            pass
        except Exception as error:
            reason = f"its chunks cannot be listed: {_text(error)}"
    shape = source.model.grid.shape
    located = ((source.key(coordinates), coordinates) for coordinates in all_places(shape))
    return _Chunks(prod(shape), located, False, reason)


@dataclass
class _Result:
    chunks: int = 0
    nbytes: int = 0
    bad: list[BadChunk] = field(default_factory=list)
    unusual: int = 0
    first: str = ""
    """The least key of those that are unusual."""

    def add(self, other: _Result) -> None:
        self.chunks += other.chunks
        self.nbytes += other.nbytes
        self.bad += other.bad
        self.unusual += other.unusual
        self.first = min(filter(None, (self.first, other.first)), default="")


class _Work(NamedTuple):
    path: str
    array: Array

    def do(self, portion: ChunkRange) -> _Result:
        result = _Result()
        for key, coordinates in portion:
            parallel.check()
            result.add(self._examined(key, coordinates))
        return result

    def _examined(self, key: str, coordinates: Shape) -> _Result:
        source = self.array._source
        try:
            found = examine(source, key, coordinates)
            for other in source.alternative_keys(coordinates) if found.nbytes is None else ():
                key, found = other, examine(source, other, coordinates)
                if found.nbytes is not None:
                    break
        except Exception as error:
            return _Result(1, 0, [BadChunk(self.path, coordinates, key, _text(error))])
        if found.nbytes is None:
            return _Result()
        bad = [
            BadChunk(self.path, coordinates, key, str(fault.error), fault.inner)
            for fault in found.faults
        ]
        unusual = not found.conforming
        return _Result(1, found.nbytes, bad, int(unusual), key if unusual else "")


class _Task(NamedTuple):
    work: Shared[_Work]
    portion: ChunkRange


def _do(task: _Task) -> _Result:
    return task.work.value.do(task.portion)


def _array(
    work: _Work, located: Iterator[tuple[str, Shape]], reporter: Reporter, manner: _Manner
) -> _Result:
    source = work.array._source
    shared = Shared(work)
    result = _Result()

    def finished(task: _Task, found: _Result) -> None:
        result.add(found)
        reporter.advance(len(task.portion), found.nbytes, "/" + work.path)

    requests = min(source.store.capabilities.requests, MOST_REQUESTS)
    tasks = (
        _Task(shared, portion) for portion in portions(located, per_portion(source.chunk_bytes))
    )
    task_bytes = 3 * source.chunk_bytes
    executor, max_memory = manner.executor, manner.max_memory
    at_once = workers_for(
        task_bytes, manner.workers, requests, executor=executor, max_memory=max_memory
    )
    run(
        _do, tasks, finished,
        workers=at_once, executor=executor, task_bytes=task_bytes, max_memory=max_memory,
    )  # fmt: skip
    return result
