"""`append`: grow arrays along a dimension, as a job that survives being killed.

The order of the steps makes it safe. The journal says the old and the new length. Then the new
chunks are written, behind the end of the array, where no reader looks. When all of them are there,
the journal says so, and only then the arrays grow, one document each; at last the consolidated
metadata are written, and the journal goes. So a reader sees the old length, or the new one and all
values. The same call goes on where a killed one stopped. `claims` lets one work at a time.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from operator import index
from typing import Any, NamedTuple

from omnizarr import formats
from omnizarr.api import opening
from omnizarr.api.arguments import StorageOptions
from omnizarr.api.consolidating import write_consolidated
from omnizarr.errors import MetadataError, StoreError
from omnizarr.jobs import ExecutorLike, Journal, MemoryLike, Reporter, Shared, opened, run
from omnizarr.jobs.appending.claims import IDENTITY, Claims
from omnizarr.jobs.appending.planning import (
    Growth,
    Task,
    fingerprint_of,
    growths_of,
    units_of,
)
from omnizarr.jobs.journal import damaged as damaged_journal
from omnizarr.jobs.journal import read as read_journal
from omnizarr.jobs.report import Facts, Report, table
from omnizarr.jobs.running import workers_for
from omnizarr.keywords import suggests
from omnizarr.model import paths
from omnizarr.nodes import resizing, unfinished
from omnizarr.nodes.array import Array
from omnizarr.nodes.group import Group
from omnizarr.runtime.progress import ProgressLike, duration, size
from omnizarr.stores import StoreLike

JOURNAL = unfinished.KEY
JOB = "append"
_ARRAYS = "arrays"
_WRITTEN = "written"
"""What the journal says once all values are stored, and the arrays may grow."""


@dataclass(frozen=True)
class AppendedArray(Facts):
    """What was appended to one array."""

    path: str
    """Relative to the group; "" for an array itself."""
    axis: int
    """The dimension that grew."""
    start: int
    """Its length before."""
    stop: int
    """Its length after."""
    nbytes: int = 0
    """Bytes of values that this call has written."""


@dataclass(frozen=True)
class Appended(Report):
    """The result of `append`; `str` gives a table.

    Examples
    --------
    >>> import omnizarr
    >>> a = omnizarr.zeros(2)
    >>> done = omnizarr.append(a, [3.0, 4.0])
    >>> done.arrays[0].stop, done.skipped
    (4, False)
    """

    arrays: tuple[AppendedArray, ...]
    """One for every array that grew."""
    seconds: float
    """How long it took."""
    resumed: bool = False
    """Whether a killed append was taken up again."""
    skipped: bool = False
    """Whether nothing was done, because the values were appended before (`at`)."""

    @property
    def bytes_written(self) -> int:
        """Bytes of values that were written."""
        return sum(one.nbytes for one in self.arrays)

    def __str__(self) -> str:
        lines = [("array", "axis", "from", "to", "values")]
        lines += [
            ("/" + one.path, str(one.axis), str(one.start), str(one.stop), size(one.nbytes))
            for one in self.arrays
        ]
        done = "appended before, nothing was done" if self.skipped else "appended"
        return "\n".join([*table(lines), f"{done} in {duration(self.seconds)}"])


@suggests
def append(
    target: StoreLike | Array | Group,
    source: object,
    dim: str | int = 0,
    *,
    path: str = "",
    at: int | None = None,
    progress: ProgressLike = None,
    workers: int | None = None,
    executor: ExecutorLike = None,
    max_memory: MemoryLike = None,
    storage_options: StorageOptions | None = None,
) -> Appended:
    """Append values to an array, or to every array of a group that has a dimension.

    If the process is killed, the same call finishes the work: nothing is appended twice, and
    nothing is left as fill values. Readers see the old length until all values are stored, then
    the new one. Arrays of a group grow one after the other; who reads consolidated metadata sees
    all of them grow at once.

    Only one append to an array, or to a group, is under way at a time: another one, and what would
    change the shape of its arrays, raises `ConflictError`. What a killed append has written never
    shows: an array that is made longer by other means deletes it first.

    Parameters
    ----------
    target
        An array or a group; or a path, a URL or a store, and the node at `path` in it.
    source
        For an array: NumPy's, omnizarr's, Dask's, xarray's or whatever has a shape, a dtype and
        slices. For a group: a mapping from names to these, a group, or an `xarray.Dataset`, with
        every array that has the dimension. Arrays of the source without the dimension are ignored.
        Values are stored as they are: nothing is scaled, and times are not encoded.
    dim
        The dimension that grows, by name or number. A group needs the name.
    path
        The node in `target`.
    at
        The length that the dimension must have before. A call that is repeated after it had
        finished then finds the dimension longer, and does nothing. It looks at lengths alone: that
        what is stored from `at` on are these values is for the caller to know.
    progress
        True draws a line in a notebook or on a terminal, or logs it; a callable gets a `Progress`
        after every step.
    workers
        How many regions are written at once; by default one for each core.
    executor
        Where they are written: ``"threads"`` (the default), ``"processes"``, ``"dask"``, a Dask
        client or the address of its scheduler, ``"ray"``, or a `concurrent.futures.Executor`.
    max_memory
        What the work in one process may take: bytes, or text such as ``"512 MiB"``. By default
        `limits.worker_bytes`.
    storage_options
        Options for the store of a URL.

    Returns
    -------
    Appended
        The lengths before and after; print it for a table.

    Raises
    ------
    ObstaclesError
        If several arrays do not fit. Nothing is written then.
    MetadataError
        If one does not fit, or the dimension does not have the length `at`.
    ConflictError
        If another append is under way, or another writer has changed the length meanwhile.

    Examples
    --------
    >>> import omnizarr
    >>> root = omnizarr.group()
    >>> t = root.create_array("t", data=[0, 1], dimension_names=["time"])
    >>> v = root.create_array("v", data=[[1.0], [2.0]], dimension_names=["time", "x"])
    >>> day = {"t": [2], "v": [[3.0]]}
    >>> done = omnizarr.append(root, day, "time", at=2)
    >>> root["v"].shape
    (3, 1)
    >>> omnizarr.append(root, day, "time", at=2).skipped
    True
    """
    begin = time.monotonic()
    at = _checked(dim, at)
    node = _opened(target, path, storage_options)
    if node.store.capabilities.hierarchies_only:
        raise StoreError(
            "an append keeps a journal beside the array and writes chunks before the array grows;"
            " this store takes no such keys. Instead, use Array.append inside a transaction"
        ).at(node.store)
    node.store.check_writable()
    with unfinished.owning() as token:
        claims = Claims(node, token)
        try:
            with opened(executor, workers) as crew:
                manner = _Manner(progress, workers, crew, max_memory)
                return _append(claims, source, dim, at, manner, begin)
        finally:
            claims.release()


def _checked(dim: Any, at: Any) -> int | None:
    if isinstance(dim, bool) or not (isinstance(dim, str) or hasattr(dim, "__index__")):
        raise TypeError(f"dim= is the name or the number of a dimension; found {dim!r}")
    if at is None:
        return None
    if isinstance(at, bool) or not hasattr(at, "__index__"):
        raise TypeError(f"at= is a length, which is a whole number; found {at!r}")
    if index(at) < 0:
        raise ValueError(f"at= is a length, which is not negative; found {at!r}")
    return index(at)


def _append(
    claims: Claims, source: Any, dim: str | int, at: int | None, manner: _Manner, begin: float
) -> Appended:
    node = claims.node
    if isinstance(node, Array):
        node.refresh()  # others may have appended until now
    finished = _finish_growing(claims)
    growths = growths_of(node, source, dim, finished.growths if finished else {})
    if finished is not None:
        fingerprint = fingerprint_of(growths)
        if finished.fingerprint == fingerprint:
            return _appended(growths, {}, begin, resumed=True)
        if at is None and fingerprint is None and not finished.fingerprint:
            raise MetadataError(
                "an append was killed when all its values were stored, and is finished now; whether"
                " they were the values of this call cannot be told. Give at=, the length that the"
                " dimension had before"
            ).at(node.store, path=node.path)
        growths = growths_of(node, source, dim)
    if at is not None and _is_there(growths, at):
        return _appended(growths, {}, begin, skipped=True)
    claims.take({growth.name: growth.array for growth in growths})
    for growth in growths:
        growth.array.refresh()
    if any(one.array.shape[one.axis] != one.start for one in growths):
        growths = growths_of(node, source, dim)  # they have grown before they had a mark
    journal, resumed = _begun(claims, growths)
    nbytes = _write(growths, journal, manner, claims.token)
    journal.note(_WRITTEN, True)
    _grow(claims, {growth.name: growth.steps for growth in growths})
    claims.remove()
    return _appended(growths, nbytes, begin, resumed=resumed)


class _Manner(NamedTuple):
    progress: ProgressLike
    workers: int | None
    executor: ExecutorLike
    max_memory: MemoryLike


def _opened(target: Any, path: str, storage_options: StorageOptions | None) -> Array | Group:
    """The node as it is stored, not as consolidated metadata say."""
    if isinstance(target, Array | Group):
        if path:
            target = target[path]
        if target.read_only:
            target._check_writable()
        if isinstance(target, Array):
            target.refresh()
            return target
        target, path = target.store, target.path
    found = opening.open(
        target, mode="r+", path=path, storage_options=storage_options, use_consolidated=False
    )
    assert isinstance(found, Array | Group)
    return found


def _appended(
    growths: list[Growth], nbytes: Mapping[str, int], begin: float, **how: bool
) -> Appended:
    arrays = tuple(
        AppendedArray(one.name, one.axis, one.start, one.stop, nbytes.get(one.name, 0))
        for one in growths
    )
    return Appended(arrays, time.monotonic() - begin, **how)


def _is_there(growths: list[Growth], at: int) -> bool:
    """Whether the values that begin at a length were appended before; an error if the dimension has
    neither that length nor the one after."""
    found = {one.start for one in growths}
    if found == {at}:
        return False
    if all(one.start >= at + one.stop - one.start for one in growths):
        return True
    lengths = ", ".join(f"{'/' + one.name!r} has {one.start}" for one in growths)
    raise MetadataError(f"at={at}: the dimension must have that length before; {lengths}")


# -- the journal ----------------------------------------------------------------------------------


class _Finished(NamedTuple):
    """An earlier append whose values were all stored."""

    fingerprint: Any
    growths: dict[str, tuple[int, int, int]]


def _key(node: Array | Group) -> str:
    return paths.join(node.path, JOURNAL)


def _damaged(node: Array | Group, problem: object) -> MetadataError:
    found = damaged_journal(node.store, _key(node), problem)
    return found.advise(
        "omnizarr.sweep with {} and {} removes it, and the values that do not show yet",
        ("unfinished", True),
        ("apply", True),
    )


def _finish_growing(claims: Claims) -> _Finished | None:
    """If an earlier append was killed when all its values were stored, let the arrays grow."""
    node = claims.node
    found = read_journal(node.store, _key(node))
    if claims.earlier is None or found is None or found.get("job") != JOB:
        return None
    try:
        facts = {**found["facts"]}
        if _ARRAYS not in facts:  # it was killed before it began
            return None
        growths = {str(name): _lengths(given) for name, given in facts[_ARRAYS].items()}
        if facts.get(_WRITTEN) is not True:
            return None
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise _damaged(node, error) from error
    arrays = _arrays_of(claims, growths)
    if not claims.take(arrays):  # an array has another shape since, and its new values are gone
        return None
    _grow(claims, growths)
    claims.finish()
    return _Finished(found.get("fingerprint"), growths)


def _arrays_of(claims: Claims, growths: Mapping[str, tuple[int, int, int]]) -> dict[str, Array]:
    """The arrays that a journal names."""
    node, arrays = claims.node, {}
    for name, (axis, _, _) in growths.items():
        array = node if isinstance(node, Array) else node.get(name)
        if not isinstance(array, Array) or axis >= array.ndim:
            raise _damaged(node, f"no such array: {name!r}")
        arrays[name] = array
    return arrays


def _lengths(given: Any) -> tuple[int, int, int]:
    axis, start, stop = given
    if any(type(number) is not int for number in given) or not 0 <= start <= stop or axis < 0:
        raise ValueError(f"no lengths: {given!r}")
    return axis, start, stop


def _begun(claims: Claims, growths: list[Growth]) -> tuple[Journal, bool]:
    """The journal, and whether it is that of a killed append of the same values."""
    node, arrays = claims.node, {growth.name: growth.array for growth in growths}
    whole, fingerprint = claims.take(arrays), fingerprint_of(growths)
    journal = Journal(node.store, _key(node), JOB, fingerprint or "")
    if whole and fingerprint is not None and journal.load() and IDENTITY in journal.facts:
        claims.resume()
        return journal, True
    claims.refuse_uncertain()
    if claims.any_before:  # other values: those that a killed append left must go
        for array in arrays.values():
            resizing.clear_behind(array)
    facts = claims.facts()
    claims.begin(arrays, facts)
    journal = Journal(node.store, _key(node), JOB, fingerprint or "")
    journal.facts = {**facts, _ARRAYS: {one.name: list(one.steps) for one in growths}}
    journal.begin()
    return journal, False


# -- the work -------------------------------------------------------------------------------------


def _write(growths: list[Growth], journal: Journal, manner: _Manner, token: str) -> dict[str, int]:
    """Store all values behind the ends of the arrays. Gives the bytes by array."""
    total = sum(map(units_of, growths))
    resumed = sum(len(journal.done(one.name)) for one in growths)
    reporter = Reporter(manner.progress, total, resumed)
    nbytes = dict.fromkeys((one.name for one in growths), 0)
    try:
        for growth in growths:
            nbytes[growth.name] = _write_one(growth, journal, reporter, manner, token)
    except BaseException:
        with suppress(Exception):  # what stopped the work is what the caller must hear of
            journal.flush()
        raise
    finally:
        reporter.close()
    return nbytes


def _write_one(
    growth: Growth, journal: Journal, reporter: Reporter, manner: _Manner, token: str
) -> int:
    done, written = journal.done(growth.name), 0
    work = Shared(replace(growth.work, token=token))

    def tasks() -> Iterator[Task]:
        for number, region in enumerate(growth.regions()):
            if number not in done:
                yield Task(work, number, region, growth.source.values(growth.inside(region)))

    def finished(task: Task, nbytes: int) -> None:
        nonlocal written
        written += nbytes
        journal.mark(growth.name, task.number)
        reporter.advance(1, nbytes, "/" + growth.name)

    wanted = manner.workers
    if not growth.target._source.store.capabilities.concurrent_writes:
        wanted = 1
    requests = growth.target._source.store.capabilities.requests
    budget = manner.executor, manner.max_memory
    at_once = workers_for(
        growth.task_bytes, wanted, requests, executor=budget[0], max_memory=budget[1]
    )
    run(
        Task.do, tasks(), finished, workers=at_once,
        executor=budget[0], task_bytes=growth.task_bytes, max_memory=budget[1],
    )  # fmt: skip
    return written


def _grow(claims: Claims, growths: Mapping[str, tuple[int, int, int]]) -> None:
    """Let the arrays grow, those that have not yet."""
    for name, array in _arrays_of(claims, growths).items():
        array.refresh()
        resizing.grow_to(array, *growths[name], claims.token)
    node, place = claims.node, claims.node._place
    if (
        isinstance(node, Group)
        and formats.consolidated(place.format, place.store, place.path) is not None
    ):
        write_consolidated(place)
