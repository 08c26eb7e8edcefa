"""Carrying a plan out.

The order is what makes an interruption harmless: the journal first, then the copy of the largest
level, then the chunks of all others, then their documents, then the attributes of the group, which
make a pyramid of them; at the very end the journal goes. So no reader takes an incomplete pyramid
for a complete one, and the same call goes on where it stopped. A tile that was done but is not yet
in the journal is done again, with the same result.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from omnizarr import formats
from omnizarr.conventions.multiscales import attributes_for
from omnizarr.errors import ConflictError, MetadataError, NodeExistsError
from omnizarr.jobs import Journal, Progress, Reporter, Shared, run, workers_for
from omnizarr.jobs.conversion.execution import MOST_REQUESTS
from omnizarr.jobs.conversion.execution import execute as copy
from omnizarr.jobs.conversion.plan import ConversionPlan, Manner
from omnizarr.jobs.conversion.planning import is_consolidated
from omnizarr.jobs.journal import damaged
from omnizarr.jobs.journal import read as read_journal
from omnizarr.jobs.memory import MemoryLike
from omnizarr.jobs.pyramids.georeference import group_attributes
from omnizarr.jobs.pyramids.plan import SCRATCH, PyramidPlan, Stored, VariablePlan
from omnizarr.jobs.pyramids.tiles import Tiles
from omnizarr.jobs.pyramids.work import StageWork, Tile
from omnizarr.jobs.running import check_workers
from omnizarr.model import paths
from omnizarr.model.array import ArrayModel
from omnizarr.model.store import Buffer, Store
from omnizarr.nodes import node, unfinished
from omnizarr.nodes.creation import storing
from omnizarr.nodes.node import NodeAddress, Options

JOB = "pyramid"
_COPIED = "copied"
"""How many copies are complete."""
_WRITES = "writes"
"""The paths of the levels that are written, from the group."""


@dataclass(frozen=True)
class How:
    """How a plan is carried out."""

    overwrite: bool
    resume: bool
    progress: Any
    workers: int | None
    executor: Any
    max_memory: MemoryLike


class Executed(NamedTuple):
    resumed: bool
    tasks: int
    """Tiles that this run has done."""


class Unfinished(NamedTuple):
    """What the journal of an interrupted run says."""

    fingerprint: Any
    written: list[str]
    """The paths that it may have written."""


class _Task(NamedTuple):
    work: Shared[StageWork]
    tile: Tile


def _do(task: _Task) -> int:
    return task.work.value.do(task.tile)


def execute(plan: PyramidPlan, tiles: list[list[Tiles]], how: How) -> Executed:
    """Do what the plan says. `tiles` are those of each stage of each variable."""
    plan.group.store.check_writable()
    for variable, stages in zip(plan.variables[:1], tiles, strict=False):
        for stage in stages[:1]:
            check_workers(StageWork.open, StageWork(variable, stage.stage), how.executor)
    with unfinished.owning() as token:
        return _execute(plan, tiles, how, unfinished.owner(token))


def _execute(
    plan: PyramidPlan, tiles: list[list[Tiles]], how: How, owner: dict[str, Any]
) -> Executed:
    store = plan.group.store
    _claim(plan, owner)
    try:
        journal, resumed = _start(plan, how, owner)
    except BaseException:
        with suppress(Exception):
            _release(plan, owner)
        raise
    copied = sum(one.units for part in plan.copies for one in part.nodes if one.is_array)
    total = copied + sum(len(stage) for stages in tiles for stage in stages)
    done = sum(
        len(journal.done(_part(variable, stage)))
        for variable, stages in zip(plan.variables, tiles, strict=True)
        for stage in stages
    )
    behind = journal.facts.get(_COPIED) == len(plan.copies)
    reporter = Reporter(how.progress, total, done + (copied if behind else 0))
    ran = 0
    try:
        _copy_all(plan, journal, reporter, how)
        for variable, stages in zip(plan.variables, tiles, strict=True):
            for stage in stages:
                ran += _stage(variable, stage, journal, reporter, how)
        _describe(plan)
    except BaseException:
        with suppress(Exception):  # what stopped the work is what the caller must hear of
            journal.note(unfinished.OWNER, None)
        raise
    finally:
        reporter.close()
    store.delete_prefix(paths.join(plan.group.path, SCRATCH) + "/")
    journal.remove()
    return Executed(resumed, ran)


def _part(variable: VariablePlan, tiles: Tiles) -> str:
    return f"{variable.name}/{tiles.stage.name}"


def _copy_all(plan: PyramidPlan, journal: Journal, reporter: Reporter, how: How) -> None:
    """Copies have journals of their own. One that is complete but not yet noted is made again."""
    complete = journal.facts.get(_COPIED)
    first = complete if type(complete) is int and 0 <= complete <= len(plan.copies) else 0
    for number, part in enumerate(plan.copies[first:], first):
        progress = _forwarded(reporter, part)
        copy(part, Manner(True, True, progress, how.workers, how.executor, how.max_memory))
        journal.note(_COPIED, number + 1)


def _forwarded(reporter: Reporter, part: ConversionPlan) -> Callable[[Progress], None]:
    """A listener that counts the progress of a copy as that of the whole."""
    seen = [0, 0]

    def listener(progress: Progress) -> None:
        units, nbytes = progress.done - seen[0], progress.nbytes - seen[1]
        seen[:] = progress.done, progress.nbytes
        reporter.advance(units, nbytes, "/" + part.target.path)

    return listener


def _stage(
    variable: VariablePlan, tiles: Tiles, journal: Journal, reporter: Reporter, how: How
) -> int:
    stage, part = tiles.stage, _part(variable, tiles)
    done = journal.done(part)
    work = Shared(StageWork(variable, stage))
    label = "/" + variable.levels[stage.base + 1].place.path
    count = 0

    def tasks() -> Iterator[_Task]:
        for tile in tiles:
            if tile.number not in done:
                yield _Task(work, tile)

    def finished(task: _Task, nbytes: int) -> None:
        nonlocal count
        count += 1
        journal.mark(part, task.tile.number)
        reporter.advance(1, nbytes, label)

    stores = variable.source.place.store, variable.levels[-1].place.store
    requests = min(MOST_REQUESTS, max(store.capabilities.requests for store in stores))
    wanted = how.workers if stores[1].capabilities.concurrent_writes else 1
    workers = workers_for(
        stage.nbytes, wanted, requests, executor=how.executor, max_memory=how.max_memory
    )
    run(
        _do, tasks(), finished, workers=workers, executor=how.executor, task_bytes=stage.nbytes,
        max_memory=how.max_memory,
    )  # fmt: skip
    # A stage reads what the one before has stored: what is not in the journal would be lost.
    journal.flush()
    return count


# -- documents ------------------------------------------------------------------------------------


def _describe(plan: PyramidPlan) -> None:
    """Store the documents of the levels, then what makes a pyramid of them."""
    group = plan.group
    for place, attributes in plan.level_groups:
        if node.find(place.store, place.path) is None:
            storing.create(place, place.format.new_group(attributes), overwrite=False)
        else:  # a copy of one of its members came first
            node.change_attributes(place, Options(), _replaced_by(attributes))
    for variable in plan.variables:
        if variable.is_coordinate:
            _space_evenly(variable)
        elif variable.is_bounds:
            _write_edges(variable)
    for stored in plan.written:
        _store_documents(stored)
    if plan.names is not None:
        names = plan.names
        zero = plan.variables[0].levels[0].place
        node.change(zero, Options(), lambda model: _named(model, names))
    existing = node.find(group.store, group.path)
    if existing is None:
        storing.create(group, group.format.new_group({}), overwrite=False)
    node.change_attributes(group, Options(), lambda old: _described(plan, old))
    # The convention of 2026 recommends it, and OpenLayers needs it.
    wanted = plan.convention == "multiscales" and bool(plan.copies)
    if is_consolidated(group) or (wanted and formats.consolidated_keys(group.format, group.path)):
        for key, document in formats.consolidate(group.format, group.store, group.path).items():
            group.store.set(key, document)


def _space_evenly(variable: VariablePlan) -> None:
    """Move the last coordinate to where a whole block would have it: a step that is shorter than
    all others makes a map irregular."""
    source = variable.source.array(variable.options)
    for level in range(1, len(variable.levels)):
        factor, array = variable.geometry.total(level)[0], variable.levels[level].array()
        if source.shape[0] % factor and source.shape[0] > 1:
            first, last = (float(one) for one in source[-2:])
            if array.shape[0] > 1:
                array[-1] = float(array[-2]) + factor * (last - first)
            elif variable.reduction.method == "mean":
                array[0] = float(source[0]) + (factor - 1) / 2 * (last - first)


def _write_edges(variable: VariablePlan) -> None:
    """Write the edges of whole blocks; the last one as long as the others."""
    edges = variable.source.array(variable.options)[:]
    for level in range(1, len(variable.levels)):
        factor, array = variable.geometry.total(level)[0], variable.levels[level].array()
        first, last = edges[::factor, 0], edges[factor - 1 :: factor, 1]
        if len(last) < len(first):
            last = np.append(last, first[-1] + factor * (edges[-1, 1] - edges[-1, 0]))
        array[:] = np.stack([first, last], axis=1)


def _replaced_by(attributes: Mapping[str, Any]) -> Callable[[dict[str, Any]], Mapping[str, Any]]:
    return lambda _: attributes


def _described(plan: PyramidPlan, old: dict[str, Any]) -> dict[str, Any]:
    """The attributes of the group, with the pyramid in them."""
    attributes = attributes_for(plan.pyramid, plan.convention, {**plan.attributes, **old})
    if plan.convention != "multiscales":
        return attributes
    return group_attributes(attributes, plan.image)


def _named(model: ArrayModel, names: tuple[str, ...]) -> ArrayModel:
    return replace(model, dimension_names=names) if model.dimension_names is None else model


def _store_documents(stored: Stored) -> None:
    place, model = stored
    for key, document in place.format.documents(place.path, model).items():
        place.store.set(key, document)
    for prefix in formats.empty_prefixes(place.format, place.path, model):
        place.store.make_prefix(prefix)


# -- beginning, again or anew ---------------------------------------------------------------------


def _claim(plan: PyramidPlan, owner: dict[str, Any]) -> None:
    """Make the journal of a run that was interrupted one's own. Two at once would delete sums that
    the other one reads."""
    store, key = plan.group.store, plan.journal_key
    if read_journal(store, key) is None:
        return
    before = unfinished.take(store, key, key, owner)
    if before is None:  # the other run has finished in between
        store.delete(key)
    if unfinished.alive(unfinished.owner_of(before)):
        raise _busy(plan, before)


def _release(plan: PyramidPlan, owner: dict[str, Any]) -> None:
    """Give up a journal whose work does not go on."""
    store, key = plan.group.store, plan.journal_key
    found = store.get(key)
    if found is not None and unfinished.owner_of(found) == owner:
        store.set(key, unfinished.owned(found, None))


def _busy(plan: PyramidPlan, journal: Buffer | None) -> ConflictError:
    pid = (unfinished.owner_of(journal) or {}).get("pid")
    return ConflictError(
        f"{plan.group}: process {pid} makes a pyramid here; wait until it has finished"
    ).at(plan.group.store, key=plan.journal_key)


def _start(plan: PyramidPlan, how: How, owner: dict[str, Any]) -> tuple[Journal, bool]:
    """The journal of this run, and whether it is an earlier one's."""
    store, key = plan.group.store, plan.journal_key
    journal = Journal(store, key, JOB, plan.fingerprint)
    found = _unfinished(plan, how)
    if found is not None and how.resume and _load(journal, how):
        return journal, True
    check_free(plan, how)
    stale = [] if found is None else found.written
    journal = Journal(store, key, JOB, plan.fingerprint)
    journal.facts = {
        _WRITES: [*dict.fromkeys((*stale, *plan.roots))],
        unfinished.OWNER: owner,
    }
    if found is None and read_journal(store, key) is None:
        if not journal.begin_alone():
            raise _busy(plan, store.get(key))
    else:
        journal.begin()
    for path in [*dict.fromkeys((*stale, *(plan.roots if how.overwrite else ())))]:
        _remove(store, path)
    for stored in plan.written:
        storing.remove_stale_chunks(stored.place, stored.model)
    store.delete_prefix(paths.join(plan.group.path, SCRATCH) + "/")
    return journal, False


def check_free(plan: PyramidPlan, how: How) -> None:
    """Refuse a destination that holds something that must not be replaced."""
    if how.overwrite:
        return
    store, key = plan.group.store, plan.journal_key
    found = _unfinished(plan, how)
    interrupted: list[str] = []
    if found is not None:
        interrupted = found.written
        if how.resume and found.fingerprint != plan.fingerprint:
            raise (
                NodeExistsError(
                    "another pyramid was begun in this place and not finished, or its source has"
                    " changed since"
                )
                .at(store, key=key)
                .advise(
                    "{} begins anew; {} replaces what is there",
                    ("resume", False),
                    ("overwrite", True),
                )
            )
    for path in plan.roots:
        existing = formats.find(store, path)
        if existing is not None and path not in interrupted:
            raise storing.exists(NodeAddress(store, path, plan.group.format), existing[1])
    for stored in plan.written:
        if stored.place.path in interrupted or _inside(stored.place.path, interrupted):
            continue
        for chunk in storing.stale_chunks(stored.place, stored.model):
            raise (
                NodeExistsError("a value is there that would become a chunk of a level")
                .at(store, key=chunk)
                .advise("{} replaces it", ("overwrite", True))
            )


def _inside(path: str, roots: list[str]) -> bool:
    return any(path.startswith(f"{root}/") for root in roots)


def _load(journal: Journal, how: How) -> bool:
    try:
        return journal.load()
    except MetadataError:
        if how.overwrite:
            return False
        raise


def _unfinished(plan: PyramidPlan, how: How) -> Unfinished | None:
    """What an interrupted run left; a journal that cannot be read is no obstacle to `overwrite`."""
    store, key = plan.group.store, plan.journal_key
    found = read_journal(store, key)
    if found is None:
        return None
    try:
        if found.get("job") != JOB:
            error = NodeExistsError(
                "a value is there that is no journal of a pyramid, or one that this version of"
                " omnizarr does not know"
            )
            raise error.at(store, key=key).advise(
                "{} replaces it and begins anew", ("overwrite", True)
            )
        return Unfinished(found.get("fingerprint"), _written_by(plan, found))
    except (MetadataError, NodeExistsError):
        if how.overwrite:
            return None
        raise


def _written_by(plan: PyramidPlan, found: Mapping[str, Any]) -> list[str]:
    """The paths that an interrupted run may have written, none of them outside the group or the
    source itself."""
    store, key = plan.group.store, plan.journal_key
    sources = {one.source.place.path for one in plan.variables}
    try:
        written = list(found["facts"][_WRITES])
        for path in written:
            below = f"{plan.group.path}/" if plan.group.path else ""
            normal = paths.normalize_path(path)
            if normal != path or not path or not f"{path}/".startswith(below):
                raise ValueError(f"no path of a level: {path!r}")
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise damaged(store, key, error) from error
    return [path for path in written if not _holds(path, sources)]


def _holds(path: str, sources: set[str]) -> bool:
    return any(source == path or source.startswith(f"{path}/") for source in sources)


def _remove(store: Store, path: str) -> None:
    if node.find(store, path) is not None or formats.claimed(store, path):
        storing.remove(store, path)
