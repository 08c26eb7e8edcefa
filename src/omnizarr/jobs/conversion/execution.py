"""Carrying a plan out.

The order is what makes an interruption harmless: the journal first, then the chunks of every
array, then the documents from the bottom up, the root's last, and at the very end the journal
goes. As long as a chunk is missing nothing opens, and the same call goes on where it stopped. A
portion that was done but not yet in the journal is done again, with the same result.
"""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from typing import Any, NamedTuple

from omnizarr import formats, limits
from omnizarr.codecs import Chain
from omnizarr.codecs.conforming import conforms
from omnizarr.engine.examination import examine_bytes
from omnizarr.errors import DecodeError, MetadataError, UnsupportedError, ZarrError
from omnizarr.jobs import Journal, Reporter, Shared, run, workers_for
from omnizarr.jobs.conversion import intermediates
from omnizarr.jobs.conversion.byte_counter import MeteredStore
from omnizarr.jobs.conversion.chunks import Copying, Portion, is_whole
from omnizarr.jobs.conversion.damage import BadChunk, put, recover
from omnizarr.jobs.conversion.destination import start
from omnizarr.jobs.conversion.plan import (
    ConversionPlan,
    Manner,
    NodePlan,
    intermediate_lost,
    ordered,
    source_changed,
)
from omnizarr.jobs.conversion.region_memory import empty, give_back
from omnizarr.jobs.conversion.regions import Region, bounds_of
from omnizarr.jobs.conversion.report import Row
from omnizarr.jobs.journal import damaged as damaged_journal
from omnizarr.jobs.running import check_workers
from omnizarr.model.array import ArrayModel
from omnizarr.model.grids import Shape
from omnizarr.model.store import ByteRange
from omnizarr.nodes.array import Array
from omnizarr.nodes.node import NodeAddress
from omnizarr.runtime import parallel
from omnizarr.runtime.properties import cached_property

_DAMAGED = "damaged"
"""The journal's word for the damaged chunks that were met."""
_FINISHED = "finished"
"""And for the arrays that need their intermediate arrays no more."""
MOST_REQUESTS = 32
"""How many portions run at once at the most where a store lets us wait; each may ask for several
chunks itself."""

# -- the work on one array, in this thread or in another process --------------------------------


class _Ends(NamedTuple):
    """The two ends of one array's work, counted apart from those of other threads."""

    reading: MeteredStore
    writing: MeteredStore
    source: Array
    target: Array
    explicit: Array
    """The target, storing chunks of fill values too."""


class FinishedTask(NamedTuple):
    """What one portion came to."""

    read: int
    written: int
    bad: tuple[BadChunk, ...] = ()


class ArrayWork:
    """What every portion of one array's work needs."""

    def __init__(self, planned: NodePlan, number: int = 0) -> None:
        self._planned, self._number = planned, number
        self._identity = planned.stage(number).target._place.store.identity

    def __getstate__(self) -> dict[str, Any]:
        return {name: vars(self)[name] for name in ("_planned", "_number", "_identity")}

    @cached_property
    def _local(self) -> threading.local:
        return threading.local()

    @property
    def _ends(self) -> _Ends:
        found: _Ends | None = getattr(self._local, "ends", None)
        if found is None:
            found = self._local.ends = self._opened()
        return found

    def _opened(self) -> _Ends:
        planned = self._planned
        source, target, _ = planned.stage(self._number)
        store = target._place.store
        if store.identity != self._identity:
            raise UnsupportedError(
                f"{store!r} lives in one process: what another one writes into its"
                " copy is lost; use threads (no executor, or a ThreadPoolExecutor)"
            )
        reading = MeteredStore(source._options.chunk_store or source._place.store)
        writing = MeteredStore(store)
        there = NodeAddress(writing, target.path, target._place.format)
        return _Ends(
            reading,
            writing,
            Array._of(source._place, source._stored, source._options.changed(chunk_store=reading)),
            Array._of(there, target._stored, target._options),
            Array._of(there, target._stored, target._options.changed(write_empty_chunks=True)),
        )

    def open(self) -> None:
        """Open both ends, as every portion does."""
        _ = self._ends

    @cached_property
    def _most(self) -> ByteRange:
        """The longest value that is copied; one that is longer is no chunk of this array."""
        try:
            return self._ends.source._source.most
        except ZarrError:  # a codec that is not installed need not be, to be copied
            return ByteRange(0, limits.current.max_chunk_bytes + 1)

    def do(self, portion: Portion) -> FinishedTask:
        """Convert a portion."""
        ends = self._ends
        bad: list[BadChunk] = []
        if isinstance(portion, Copying):
            for key, coordinates, new in portion.keys:
                parallel.check()
                bad += self._copy(key, coordinates, new)
        else:
            for region, stored in zip(portion.regions, portion.stored, strict=True):
                bad += self._encode(region, stored)
        return FinishedTask(ends.reading.take()[0], ends.writing.take()[1], tuple(bad))

    def _encode(self, region: Region, stored: int) -> list[BadChunk]:
        """Write a region again. A chunk that was listed must not read as one that never was."""
        ends = self._ends
        ends.reading.take_values()
        whole: Any = (*region, ...)
        try:
            shape = tuple(part.stop - part.start for part in region)
            values = ends.source.read(whole, out=empty(shape, ends.source.dtype))
        except DecodeError:
            if self._planned.on_damage == "raise":
                raise
            return self._rescue(region, stored)
        if ends.reading.take_values() != stored:
            where = f"{ends.reading!r}, path {'/' + ends.source.path!r}"
            raise intermediate_lost(where) if self._number else source_changed(where)
        give_back(values)
        ends.target[region] = values
        give_back(values)
        return []

    def _rescue(self, region: Region, stored: int) -> list[BadChunk]:
        """Write what is sound of a region that holds damaged chunks."""
        ends, planned = self._ends, self._planned
        found = recover(ends.source, planned.path, region)
        if found.stored != stored:
            raise source_changed(f"{ends.reading!r}, path {'/' + ends.source.path!r}")
        put(ends.target, ends.explicit, region, found, planned.on_damage)
        return found.bad

    def _copy(self, key: str, coordinates: Shape, new: str) -> list[BadChunk]:
        """Copy a stored value. One whose form only decoders here accept is encoded anew."""
        ends, planned = self._ends, self._planned
        value = ends.reading.get(key, self._most)
        if value is None:
            raise source_changed(f"{ends.reading!r}, key {key!r}")
        if self._most.stop is not None and len(value) >= self._most.stop:
            if planned.on_damage == "raise":
                raise MetadataError(
                    f"a stored chunk takes at most"
                    f" {self._most.stop - 1} bytes here, found {ends.reading.size(key)}"
                ).at(ends.reading, key=key)
            return self._rescue(self._region(coordinates), 1)
        chain = self._chain(coordinates)
        if planned.verify and chain is not None:
            found = examine_bytes(chain, value)
            for fault in found.faults:
                if planned.on_damage == "raise" or not isinstance(fault.error, DecodeError):
                    inner = "" if fault.inner is None else f", inner chunk {fault.inner}"
                    where = ends.source._source.where(key, coordinates)
                    raise fault.error.at(f"{where}{inner}")
                return self._rescue(self._region(coordinates), 1)
            sound = found.conforming
        else:
            sound = chain is None or conforms(chain, value)
        if not sound:
            return self._encode(self._region(coordinates), 1)
        ends.writing.set(new, value)
        return []

    def _region(self, coordinates: Shape) -> Region:
        return bounds_of(self._ends.source._source.model.grid, coordinates)

    def _chain(self, coordinates: Shape) -> Chain | None:
        """How a chunk is decoded; None if that cannot be known here, and need not be."""
        try:
            return self._ends.source._source.chain_for(coordinates)
        except ZarrError:
            if self._planned.verify:
                raise
            return None


class _Task(NamedTuple):
    work: Shared[ArrayWork]
    portion: Portion


def _do(task: _Task) -> FinishedTask:
    return task.work.value.do(task.portion)


# -- the whole ----------------------------------------------------------------------------------


class Executed(NamedTuple):
    rows: tuple[Row, ...]
    resumed: bool
    """Whether an earlier run was taken up."""
    damaged: tuple[BadChunk, ...]


def execute(plan: ConversionPlan, manner: Manner) -> Executed:
    """Do what the plan says."""
    store = plan.target.store
    store.check_writable()
    arrays = [planned for planned in plan.nodes if planned.is_array]
    for planned in arrays[:1]:
        check_workers(ArrayWork.open, ArrayWork(planned), manner.executor)
    journal, resumed = start(plan, manner)
    finished = _finished(journal)
    total = sum(planned.units for planned in arrays)
    reporter = Reporter(manner.progress, total, _units_done(arrays, finished, journal))
    totals: dict[str, tuple[int, int]] = {}
    try:
        for planned in arrays:
            if planned.path not in finished:
                totals[planned.path] = _array(planned, journal, reporter, manner)
        for key, document in _documents(plan).items():
            store.set(key, document)
        _show_prefixes(plan)
        if plan.several_passes:
            intermediates.remove(plan.temporary, plan.fingerprint)
    except BaseException:
        with suppress(Exception):  # what stopped the work is what the caller must hear of
            journal.flush()
        raise
    finally:
        reporter.close()
    damaged = _damaged(journal)
    journal.remove()
    counts = Counter(bad.path for bad in damaged)
    rows = tuple(
        planned.row(*totals.get(planned.path, (0, 0)), counts[planned.path])
        for planned in plan.nodes
    )
    return Executed(rows + plan.left_out, resumed, damaged)


def _damaged(journal: Journal) -> tuple[BadChunk, ...]:
    """The damage that this run and those before it have met."""
    try:
        found = {BadChunk.from_dict(facts) for facts in journal.facts.get(_DAMAGED, ())}
    except (KeyError, TypeError, ValueError) as error:
        raise damaged_journal(journal.store, journal.key, error) from error
    return tuple(sorted(found, key=lambda bad: (bad.path, bad.coordinates, bad.inner or ())))


def _documents(plan: ConversionPlan) -> dict[str, bytes]:
    """All documents in the order in which they are written: members before their groups, the root
    behind them, and what the whole store needs to be opened at all at the very end. A document that
    several nodes share is written with the last of them."""
    documents: dict[str, bytes] = {}
    for more in (*(ordered(planned) for planned in reversed(plan.nodes)), plan.parents):
        for key, document in more.items():
            documents.pop(key, None)
            documents[key] = document
    for key, document in plan.consolidated.items():
        documents[key] = document
    return documents


def _show_prefixes(plan: ConversionPlan) -> None:
    for planned in plan.nodes:
        made, path = planned.target_model, planned.target.path
        if isinstance(made, ArrayModel):
            for prefix in formats.empty_prefixes(plan.target.format, path, made):
                plan.target.store.make_prefix(prefix)


def _finished(journal: Journal) -> list[str]:
    """The arrays whose intermediate arrays are gone already, for they are complete."""
    found = journal.facts.get(_FINISHED, [])
    if not isinstance(found, list):
        raise damaged_journal(journal.store, journal.key, f"{_FINISHED}: {found!r}")
    return found


def _units_done(arrays: list[NodePlan], finished: list[str], journal: Journal) -> int:
    done = 0
    for planned in arrays:
        for number, amount in enumerate(planned.amounts):
            portions = len(journal.done(_part(planned, number)))
            whole = planned.path in finished
            done += amount.units if whole else min(amount.units, portions * amount.size)
    return done


def _part(planned: NodePlan, number: int = -1) -> str:
    """The journal's name for a pass over an array; the last one is that of the array."""
    last = number in (-1, len(planned.amounts) - 1)
    return "/" + planned.path if last else f"pass {number + 1}: /{planned.path}"


def _array(
    planned: NodePlan, journal: Journal, reporter: Reporter, manner: Manner
) -> tuple[int, int]:
    """All passes over an array: the bytes that were read of the source, and written at last."""
    passes = [
        _pass(planned, number, journal, reporter, manner) for number in range(len(planned.amounts))
    ]
    if planned.temporary is not None:
        journal.note(_FINISHED, [*_finished(journal), planned.path])
        intermediates.remove_below(planned.temporary)
    return passes[0][0], passes[-1][1]


def _pass(
    planned: NodePlan, number: int, journal: Journal, reporter: Reporter, manner: Manner
) -> tuple[int, int]:
    part = _part(planned, number)
    done = journal.done(part)
    work = Shared(ArrayWork(planned, number))
    target = planned.stage(number).target._source
    nbytes = [0, 0]

    def tasks() -> Iterator[_Task]:
        for portion in planned.portions(number):
            # The journal is believed as far as what it says can be seen.
            if portion.number not in done or not is_whole(portion, target):
                yield _Task(work, portion)

    def finished(task: _Task, counted: FinishedTask) -> None:
        nbytes[0] += counted.read
        nbytes[1] += counted.written
        for bad in counted.bad:
            journal.facts.setdefault(_DAMAGED, []).append(bad.to_dict())
        journal.mark(part, task.portion.number)
        reporter.advance(task.portion.units, counted.written, part)

    task_bytes = planned.task_bytes(number)
    run(
        _do,
        tasks(),
        finished,
        workers=_workers(planned, number, task_bytes, manner),
        executor=manner.executor,
        task_bytes=task_bytes,
        max_memory=manner.max_memory,
    )
    return nbytes[0], nbytes[1]


def _workers(planned: NodePlan, number: int, task_bytes: int, manner: Manner) -> int:
    source, target, _ = planned.stage(number)
    wanted = manner.workers
    if not target._source.store.capabilities.concurrent_writes:
        wanted = 1
    requests = max(end._source.store.capabilities.requests for end in (source, target))
    return workers_for(
        task_bytes,
        wanted,
        min(requests, MOST_REQUESTS),
        executor=manner.executor,
        max_memory=manner.max_memory,
    )
