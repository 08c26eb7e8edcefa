"""`verify`: decode every stored chunk below a node and list those that cannot be decoded.

Nodes are visited one after the other, each on its own, so that a broken one hides none of the
others. Chunks are found by listing; where a store cannot be listed, every chunk of the grid is
asked for. They are decoded in portions by `jobs.run`, and nothing decoded is kept.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from itertools import islice, product
from math import prod
from typing import TYPE_CHECKING, Any, NamedTuple

from omnizarr import formats, parallel
from omnizarr.array import Array
from omnizarr.checking import Seen, lists
from omnizarr.conversion.chunks import Listed, per_portion
from omnizarr.conversion.damage import BadChunk
from omnizarr.engine import Source
from omnizarr.engine.examine import examine
from omnizarr.errors import MetadataError, NodeNotFoundError, StoreError, ZarrError
from omnizarr.formats import FORMATS, Format, Node, hierarchy
from omnizarr.formats.checks import names_below, plural
from omnizarr.group import Group
from omnizarr.jobs import Progress, Reporter, Shared, run, workers_for
from omnizarr.jobs.progress import size
from omnizarr.model import paths
from omnizarr.model.array import ArrayModel, GroupModel
from omnizarr.model.grids import Shape
from omnizarr.model.store import Store
from omnizarr.node import Options, Place
from omnizarr.stores import as_store

if TYPE_CHECKING:
    from concurrent.futures import Executor

MOST_REQUESTS = 32
"""How many portions run at once at the most on a high-latency store."""


@dataclass(frozen=True)
class BadNode:
    """A node that cannot be opened, so that none of its chunks could be decoded."""

    path: str
    error: str

    def to_dict(self) -> dict[str, Any]:
        """The facts in JSON's types."""
        return {"path": self.path, "error": self.error}

    def __str__(self) -> str:
        return f"cannot be opened: {self.error}"


@dataclass(frozen=True)
class UnusualChunks:
    """Chunks that decode here, in a form that other readers may refuse."""

    path: str
    count: int
    key: str
    """The first of them."""

    def to_dict(self) -> dict[str, Any]:
        """The facts in JSON's types."""
        return {"path": self.path, "count": self.count, "key": self.key}

    def __str__(self) -> str:
        return (
            f"{plural(self.count, 'chunk')} not in the form that the codec's specification"
            f" describes, which other readers may refuse; the first is {self.key!r}"
            " (convert writes them anew)"
        )


@dataclass(frozen=True)
class Verification:
    """What `verify` found; `str` gives a listing for people."""

    store: str
    path: str
    arrays: int
    """Arrays whose chunks were decoded."""
    chunks: int
    """Stored chunks that were read, shards counted as one."""
    nbytes: int
    """Stored bytes that were read."""
    bad_chunks: tuple[BadChunk, ...] = ()
    bad_nodes: tuple[BadNode, ...] = ()
    unusual: tuple[UnusualChunks, ...] = ()
    seconds: float = 0.0

    @property
    def ok(self) -> bool:
        """Whether every array could be opened and every stored chunk decoded."""
        return not self.bad_chunks and not self.bad_nodes

    def to_dict(self) -> dict[str, Any]:
        """The report in JSON's types."""
        return {
            "store": self.store,
            "path": self.path,
            "ok": self.ok,
            "arrays": self.arrays,
            "chunks": self.chunks,
            "bytes": self.nbytes,
            "seconds": self.seconds,
            "bad_chunks": [bad.to_dict() for bad in self.bad_chunks],
            "bad_nodes": [bad.to_dict() for bad in self.bad_nodes],
            "unusual": [found.to_dict() for found in self.unusual],
        }

    @property
    def lines(self) -> list[tuple[str, str, str]]:
        """What was found as (path, level, text), sorted by path."""
        found = [(node.path, "damaged", str(node)) for node in self.bad_nodes]
        found += [(chunk.path, "damaged", str(chunk)) for chunk in self.bad_chunks]
        found += [(one.path, "unusual", str(one)) for one in self.unusual]
        return sorted(found, key=lambda line: line[0])

    @property
    def summary(self) -> str:
        """One line: what was decoded and how much of it is bad."""
        bad = plural(len(self.bad_chunks), "bad chunk") if self.bad_chunks else "no bad chunk"
        broken = f", {plural(len(self.bad_nodes), 'unreadable node')}" if self.bad_nodes else ""
        return (
            f"{plural(self.arrays, 'array')}, {plural(self.chunks, 'chunk')} decoded"
            f" ({size(self.nbytes)}): {bad}{broken}"
        )

    def __str__(self) -> str:
        text: list[str] = []
        above = None
        for path, level, line in self.lines:
            if path != above:
                above = path
                text.append(f"/{path}")
            text.append(f"  {level:<8} {line}")
        return "\n".join([*text, *([""] if text else []), self.summary])

    def __repr__(self) -> str:
        state = "ok" if self.ok else "damaged"
        return f"<Verification {state}: {self.summary}>"


def verify(
    store: Any,
    path: str = "",
    *,
    progress: Callable[[Progress], object] | bool | None = None,
    workers: int | None = None,
    executor: Executor | None = None,
    storage_options: Mapping[str, Any] | None = None,
) -> Verification:
    """Decode every stored chunk of an array, or of all arrays below a group.

    A chunk that cannot be read or decoded is listed, and the work goes on; so is a node that
    cannot be opened. Inner chunks of shards are decoded one by one. Nothing is changed. Values
    are not compared with anything: damage that still decodes is found only where the chunk has a
    checksum. Missing chunks are no damage.

    Parameters
    ----------
    store
        Anything that is taken for a store, or an array or group.
    path
        The node to begin at.
    progress
        True draws a bar on a terminal; a callable gets a `Progress` after every step.
    workers, executor
        How many portions are decoded at once, and on what; threads unless told otherwise.
    storage_options
        For the store of a URL.

    Returns
    -------
    Verification
        `.ok`, `.bad_chunks`, `.bad_nodes`, and a listing as `str`.

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
        return _verified(backing, start, options, progress, workers, executor, begin)
    finally:
        if backing is not store:
            backing.close()


def _verified(
    store: Store,
    start: str,
    options: Options,
    progress: Any,
    workers: int | None,
    executor: Executor | None,
    begin: float,
) -> Verification:
    seen = store
    if not store.capabilities.listable and lists(store, start):
        seen = Seen(store, True)
    bad_nodes: list[BadNode] = []
    works: list[_Work] = []
    for place, found in _nodes(seen, start):
        if isinstance(found, ZarrError):
            bad_nodes.append(BadNode(place, str(found)))
            continue
        try:
            array = Array._of(found[0], found[1], options)._check()
            works.append(_Work(place, array))
        except ZarrError as error:
            bad_nodes.append(BadNode(place, str(error)))
    reporter = Reporter(progress, sum(work.count for work in works))
    bad: list[BadChunk] = []
    unusual: list[UnusualChunks] = []
    chunks = nbytes = 0
    try:
        for work in works:
            result = _array(work, reporter, workers, executor)
            bad += sorted(result.bad, key=lambda one: (one.coordinates, one.inner or ()))
            chunks, nbytes = chunks + result.chunks, nbytes + result.nbytes
            if result.unusual:
                keys = sorted(result.unusual)
                unusual.append(UnusualChunks(work.path, len(keys), keys[0]))
    finally:
        reporter.close()
    return Verification(
        repr(store), start, len(works), chunks, nbytes, tuple(bad), tuple(bad_nodes),
        tuple(unusual), time.monotonic() - begin,
    )  # fmt: skip


# -- which nodes ----------------------------------------------------------------------------------


def _nodes(store: Store, start: str) -> Iterator[tuple[str, ZarrError | tuple[Place, ArrayModel]]]:
    """Every array below `start`, and every node that cannot be opened."""
    pending: list[tuple[str, Format | None]] = [(start, None)]
    while pending:
        parallel.check()
        path, above = pending.pop(0)
        known = None if above is None else (above, *(f for f in FORMATS[:2] if f is not above))
        try:
            found = formats.find(store, path, known)
        except (MetadataError, StoreError) as error:
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
            yield path, (Place(store, path, chosen), model)
            names = chosen.hidden_members(store, path) if store.capabilities.listable else []
            pending += [(paths.join(path, name), chosen) for name in names]
            continue
        try:
            pending += [(child, chosen) for child in _below(store, path, chosen, model)]
        except (MetadataError, StoreError) as error:
            yield path, error


def _unreadable_root(store: Store, path: str) -> tuple[Format, Node]:
    """What is below a root that cannot be opened may still be sound."""
    for known in FORMATS:
        if formats.documents(known, store, path):
            return known, GroupModel()
    return FORMATS[0], GroupModel()


def _below(store: Store, path: str, chosen: Format, model: GroupModel) -> list[str]:
    """The paths of what may be members of a group."""
    if store.capabilities.listable:
        return [paths.join(path, name) for name in names_below(store, path, chosen, model)]
    documents = hierarchy.fetch(store, list(chosen.consolidated_keys(path)))
    listed = chosen.parse_consolidated(path, documents)
    if listed is None or listed.consolidated is None:
        raise StoreError(
            f"{store!r}, path {'/' + path!r}: the members of the group cannot be listed, and no"
            " consolidated metadata name them; verify each array by its path"
        )
    names = {name.partition("/")[0] for name in listed.consolidated}
    return [paths.join(path, name) for name in sorted(names)]


# -- the work on one array ------------------------------------------------------------------------

Portion = tuple[tuple[str, Shape], ...]


class _Result(NamedTuple):
    chunks: int
    nbytes: int
    bad: list[BadChunk]
    unusual: list[str]


class _Work:
    """The chunks of one array in portions."""

    def __init__(self, path: str, array: Array) -> None:
        self.path, self.array = path, array
        source = array._source
        self.listed = Listed(source) if source.store.capabilities.listable else None
        self.count = prod(source.model.grid.shape) if self.listed is None else len(self.listed)

    @property
    def source(self) -> Source:
        return self.array._source

    def __getstate__(self) -> dict[str, Any]:
        return {"path": self.path, "array": self.array}

    def portions(self) -> Iterator[Portion]:
        source = self.source
        if self.listed is not None:
            chunks: Iterator[tuple[str, Shape]] = self.listed.located()
        else:
            grid = product(*map(range, source.model.grid.shape))
            chunks = ((source.key(coordinates), coordinates) for coordinates in grid)
        many = per_portion(source.chunk_bytes)
        while portion := tuple(islice(chunks, many)):
            yield portion

    def do(self, portion: Portion) -> _Result:
        chunks = nbytes = 0
        bad: list[BadChunk] = []
        unusual: list[str] = []
        for key, coordinates in portion:
            parallel.check()
            found = examine(self.source, key, coordinates)
            if found.nbytes is None:
                continue
            chunks, nbytes = chunks + 1, nbytes + found.nbytes
            if not found.conforming:
                unusual.append(key)
            bad += [
                BadChunk(self.path, coordinates, key, str(fault.error), fault.inner)
                for fault in found.faults
            ]
        return _Result(chunks, nbytes, bad, unusual)


class _Task(NamedTuple):
    work: Shared[_Work]
    portion: Portion


def _do(task: _Task) -> _Result:
    return task.work.value.do(task.portion)


def _array(
    work: _Work, reporter: Reporter, workers: int | None, executor: Executor | None
) -> _Result:
    source = work.source
    shared = Shared(work)
    chunks = nbytes = 0
    bad: list[BadChunk] = []
    unusual: list[str] = []

    def finished(task: _Task, found: _Result) -> None:
        nonlocal chunks, nbytes
        chunks, nbytes = chunks + found.chunks, nbytes + found.nbytes
        bad.extend(found.bad)
        unusual.extend(found.unusual)
        reporter.advance(len(task.portion), found.nbytes, "/" + work.path)

    requests = min(source.store.capabilities.requests, MOST_REQUESTS)
    tasks = (_Task(shared, portion) for portion in work.portions())
    at_once = workers_for(3 * source.chunk_bytes, workers, requests)
    run(_do, tasks, finished, workers=at_once, executor=executor)
    return _Result(chunks, nbytes, bad, unusual)
