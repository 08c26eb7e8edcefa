"""Carrying a plan out.

The order is what makes an interruption harmless: the journal first, then the chunks of every
array, then the documents from the bottom up, the root's last, and at the very end the journal
goes. As long as a chunk is missing nothing opens, and the same call goes on where it stopped. A
portion that was done but not yet in the journal is done again, with the same result.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

from omnizarr import formats, limits, node
from omnizarr.array import Array
from omnizarr.conversion.chunks import Copying, Portion
from omnizarr.conversion.meter import MeteredStore
from omnizarr.conversion.plan import NodePlan, Plan, ordered
from omnizarr.conversion.report import Row
from omnizarr.errors import (
    MetadataError,
    NodeExistsError,
    StoreError,
    UnsupportedError,
    ZarrError,
)
from omnizarr.jobs import Journal, Reporter, Shared, run, workers_for
from omnizarr.jobs.journal import read as read_journal
from omnizarr.model.array import ArrayModel
from omnizarr.model.store import ByteRange
from omnizarr.node import Place

JOB = "convert"
_EMPTY = "empty"
"""What a journal says once nothing else is left at the destination."""


@dataclass(frozen=True)
class Manner:
    """How a plan is carried out."""

    overwrite: bool = False
    resume: bool = True
    progress: Any = None
    workers: int | None = None
    executor: Any = None


# -- the work on one array, in this thread or in another process --------------------------------


class ArrayWork:
    """What every portion of one array's work needs."""

    def __init__(self, planned: NodePlan) -> None:
        self._planned = planned
        self._identity = planned.target.store.identity

    def __getstate__(self) -> dict[str, Any]:
        return {"_planned": self._planned, "_identity": self._identity}

    @cached_property
    def _stores(self) -> tuple[MeteredStore, MeteredStore]:
        planned = self._planned
        if planned.target.store.identity != self._identity:
            raise UnsupportedError(
                f"{planned.target.store!r} lives in one process: what another one writes into its"
                " copy is lost; use threads (no executor, or a ThreadPoolExecutor)"
            )
        chunks = planned.options.chunk_store or planned.source.store
        return MeteredStore(chunks), MeteredStore(planned.target.store)

    @cached_property
    def _arrays(self) -> tuple[Array, Array]:
        (source, target), (reading, writing) = self._planned.arrays(), self._stores
        there = Place(writing, target.path, self._planned.target.format)
        return (
            Array._of(source._place, source._stored, source._options.changed(chunk_store=reading)),
            Array._of(there, target._stored, target._options),
        )

    @cached_property
    def _most(self) -> ByteRange:
        """The longest value that is copied; one that is longer is no chunk of this array."""
        try:
            return self._arrays[0]._source.most
        except ZarrError:  # a codec that is not installed need not be, to be copied
            return ByteRange(0, limits.current.max_chunk_bytes + 1)

    def do(self, portion: Portion) -> tuple[int, int]:
        """Bytes read and bytes written."""
        reading, writing = self._stores
        if isinstance(portion, Copying):
            for key, new in portion.keys:
                self._copy(key, new)
        else:
            source, target = self._arrays
            for region in portion.regions:
                target[region] = source[(*region, ...)]
        return reading.take()[0], writing.take()[1]

    def _copy(self, key: str, new: str) -> None:
        reading, writing = self._stores
        value = reading.get(key, self._most)
        if value is None:
            raise StoreError(
                f"{reading!r}, key {key!r}: the chunk vanished while it was converted; nobody may"
                " change the source meanwhile"
            )
        if self._most.stop is not None and len(value) >= self._most.stop:
            raise MetadataError(
                f"{reading!r}, key {key!r}: a stored chunk takes at most {self._most.stop - 1}"
                f" bytes here, found {reading.size(key)}"
            )
        writing.set(new, value)


class _Task(NamedTuple):
    work: Shared[ArrayWork]
    portion: Portion


def _do(task: _Task) -> tuple[int, int]:
    return task.work.value.do(task.portion)


# -- the whole ----------------------------------------------------------------------------------


def execute(plan: Plan, manner: Manner) -> tuple[tuple[Row, ...], bool]:
    """The rows of the report, and whether an earlier run was taken up."""
    store = plan.target.store
    store.check_writable()
    journal, resumed = start(plan, manner)
    arrays = [planned for planned in plan.nodes if planned.is_array]
    total = sum(planned.units for planned in arrays)
    reporter = Reporter(manner.progress, total, _units_done(arrays, journal))
    totals: dict[str, tuple[int, int]] = {}
    try:
        for planned in arrays:
            totals[planned.path] = _array(planned, journal, reporter, manner)
        for key, document in _documents(plan).items():
            store.set(key, document)
        _show_prefixes(plan)
    except BaseException:
        with suppress(Exception):  # what stopped the work is what the caller must hear of
            journal.flush()
        raise
    finally:
        reporter.close()
    journal.remove()
    return tuple(n.row(*totals.get(n.path, (0, 0))) for n in plan.nodes), resumed


def _documents(plan: Plan) -> dict[str, bytes]:
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


def _show_prefixes(plan: Plan) -> None:
    for planned in plan.nodes:
        if planned.is_array:
            for prefix in plan.target.format.empty_prefixes(planned.target.path):
                plan.target.store.make_prefix(prefix)


def _units_done(arrays: list[NodePlan], journal: Journal) -> int:
    done = 0
    for planned in arrays:
        finished = len(journal.done(_part(planned)))
        done += min(planned.units, finished * planned.size)
    return done


def _part(planned: NodePlan) -> str:
    return "/" + planned.path


def _array(
    planned: NodePlan, journal: Journal, reporter: Reporter, manner: Manner
) -> tuple[int, int]:
    done = journal.done(_part(planned))
    work = Shared(ArrayWork(planned))
    nbytes = [0, 0]

    def tasks() -> Iterator[_Task]:
        for portion in planned.portions():
            if portion.number not in done:
                yield _Task(work, portion)

    def finished(task: _Task, counted: tuple[int, int]) -> None:
        nbytes[0] += counted[0]
        nbytes[1] += counted[1]
        journal.mark(_part(planned), task.portion.number)
        reporter.advance(task.portion.units, counted[1], _part(planned))

    run(_do, tasks(), finished, workers=_workers(planned, manner), executor=manner.executor)
    return nbytes[0], nbytes[1]


def _workers(planned: NodePlan, manner: Manner) -> int:
    """As many portions at once as fit into the scratch: what is in memory of one is a region (or a
    chunk), its encoded bytes, and a third that some codecs need."""
    source, target = planned.arrays()
    chunk_bytes = source._source.chunk_bytes
    if planned.action != "copy chunks":
        chunk_bytes = 3 * max(chunk_bytes, target._source.chunk_bytes)
    wanted = manner.workers
    if not planned.target.store.capabilities.concurrent_writes:
        wanted = 1
    return workers_for(chunk_bytes, wanted)


# -- beginning, again or anew ---------------------------------------------------------------------


def start(plan: Plan, manner: Manner) -> tuple[Journal, bool]:
    """The journal of this run. The destination is checked, and emptied if it may be."""
    store = plan.target.store
    journal = Journal(store, plan.journal_key, JOB, plan.fingerprint)
    found = read_journal(store, plan.journal_key)
    if found is not None and manner.resume and journal.load() and journal.facts.get(_EMPTY):
        return journal, True
    check_free(plan, manner)
    if found is not None or manner.overwrite:
        # A full or failing store says so before anything is gone; one that was emptied in part is
        # known by a journal that does not say that it is empty.
        Journal(store, plan.journal_key, JOB, plan.fingerprint).begin()
        for path in plan.roots:
            if found is not None or is_taken(plan, path):
                _remove(plan, path)
        for planned in plan.nodes:
            if isinstance(planned.target_model, ArrayModel):
                node.remove_stale_chunks(planned.target, planned.target_model)
    journal = Journal(store, plan.journal_key, JOB, plan.fingerprint)
    journal.facts[_EMPTY] = True
    journal.begin()
    return journal, False


def _remove(plan: Plan, path: str) -> None:
    """Delete what lies at a path: its documents first, so that half of it is no node, and the
    journal last, so that half of it is not taken for nothing."""
    store = plan.target.store
    try:
        found = formats.find(store, path)
    except MetadataError:
        found = None
    for key in formats.claimed(store, path):
        store.delete(key)
    listing = store.list_dir(f"{path}/" if path else "")
    for prefix in listing.prefixes:
        store.delete_prefix(prefix)
    for key in listing.keys:
        if key != plan.journal_key:
            store.delete(key)
    if found is not None:
        found[0].remove(store, path)


def is_taken(plan: Plan, path: str) -> bool:
    store = plan.target.store
    try:
        return formats.find(store, path) is not None or bool(formats.claimed(store, path))
    except MetadataError:
        return True


def check_free(plan: Plan, manner: Manner) -> None:
    """Refuse a destination where something lies that may not be replaced."""
    store, chosen = plan.target.store, plan.target.format
    found = read_journal(store, plan.journal_key)
    if manner.overwrite:
        return
    if found is not None and manner.resume:
        facts = found.get("facts")
        empty = isinstance(facts, dict) and facts.get(_EMPTY)
        if empty and found.get("fingerprint") == plan.fingerprint:
            return
        raise NodeExistsError(
            f"{store!r}, key {plan.journal_key!r}: another conversion into this place was"
            " interrupted, or its source has changed since. Call it again as it was to finish it;"
            " overwrite=True replaces what it left, resume=False begins anew"
        )
    for path in plan.roots:
        existing = formats.find(store, path)
        if existing is not None:
            raise node.exists(Place(store, path, chosen), existing[1])
        node.check_unclaimed(store, path)
    if found is not None:
        return  # resume=False: what the interrupted conversion left is removed
    for planned in plan.nodes:
        if planned.target_model is None:
            continue
        if planned.target.path not in plan.roots:
            node.check_unclaimed(store, planned.target.path)
        if isinstance(planned.target_model, ArrayModel):
            for key in node.stale_chunks(planned.target, planned.target_model):
                raise NodeExistsError(
                    f"{store!r}, key {key!r}: a value is there that would become a chunk of the"
                    " new array (overwrite=True removes it)"
                )
