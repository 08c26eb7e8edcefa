"""Changing the format in place: new documents beside the old ones, chunks left where they are.

That is possible where every chunk keeps its key and its bytes. All new documents are written,
members before their groups and the root last, and each is read back; until the root's are there,
the old hierarchy is whole and is what opens. Only then, and only if asked for, are the old
documents removed, the root's first. An interruption leaves at least one of the two whole, and the
same call goes on.

Without `remove_source` both remain, and `find` prefers the newer format.
"""

from __future__ import annotations

from dataclasses import replace

from omnizarr import formats
from omnizarr.errors import MetadataError, NodeExistsError, UnsupportedError
from omnizarr.formats import Format, Node, every_format
from omnizarr.formats.hierarchy import fetch
from omnizarr.formats.translation.chunk_bytes import same_keys
from omnizarr.jobs import Journal, Reporter
from omnizarr.jobs.conversion.plan import JOURNAL, ConversionPlan, NodePlan, Wanted, ordered
from omnizarr.jobs.conversion.planning import difference, make_plan
from omnizarr.jobs.conversion.report import Row
from omnizarr.jobs.conversion.walking import walk
from omnizarr.jobs.journal import read as read_journal
from omnizarr.model import paths
from omnizarr.model.array import ArrayModel
from omnizarr.model.json import show
from omnizarr.model.store import Store
from omnizarr.nodes.node import NodeAddress, Options

JOB = "migrate"
_REMOVING = "remove"
_UNSEEN = "no chunk was read; verify finds those that are damaged or in a form others may refuse"


def source_of(store: Store, path: str, target: Format) -> tuple[NodeAddress, Node] | None:
    """The node to migrate, in any format but the target's."""
    for known in every_format():
        if known is not target:
            found = formats.read(known, store, path)
            if found is not None:
                return NodeAddress(store, path, known), found
    return None


def plan_in_place(
    source: NodeAddress, model: Node, target: Format, wanted: Wanted
) -> ConversionPlan:
    """The plan of a migration; UnsupportedError where chunks could not stay as they are."""
    if wanted.changes or wanted.reencode or wanted.drop or wanted.exclude or wanted.verify:
        raise UnsupportedError(
            "in place only metadata change: drop, reencode, exclude, chunks, shards, compressors,"
            " verify and on_damage need a destination"
        )
    place = NodeAddress(source.store, source.path, target)
    wanted = replace(wanted, same_keys=True)
    plan = make_plan(source, model, place, wanted, Options(read_only=True))
    for planned in plan.nodes:
        _check_stays(planned)
    old = {key for planned in plan.nodes for key in source.format.keys(planned.source.path)}
    new = {key for planned in plan.nodes for key in planned.documents} | set(plan.parents)
    if old & new:
        raise UnsupportedError(
            f"{source}: formats {source.format.name} and {target.name} both keep a document under"
            f" {min(old & new)!r}, so neither can be stored beside the other"
        ).advise("give a destination")
    return replace(plan, nodes=tuple(_as_metadata(planned) for planned in plan.nodes), parents={})


def _as_metadata(planned: NodePlan) -> NodePlan:
    if not planned.is_array:
        return planned
    return replace(
        planned, action="metadata", amounts=(), rechunking=None, notes=(*planned.notes, _UNSEEN)
    )


def _check_stays(planned: NodePlan) -> None:
    before, after = planned.source_model, planned.target_model
    if not isinstance(before, ArrayModel) or not isinstance(after, ArrayModel):
        return
    where = f"node {'/' + planned.path!r}"
    old, new = planned.source.format, planned.target.format
    if planned.action != "copy chunks":
        raise UnsupportedError(
            f"{where}: the chunks of format {old.name} are not what format {new.name} would store"
            " here, so the array cannot be migrated in place",
            what="codecs",
        ).advise("give a destination")
    prefixes = {
        planned.source.format.chunk_prefix(planned.source.path, before),
        planned.target.format.chunk_prefix(planned.target.path, after),
    }
    if len(prefixes) > 1 or not same_keys(before.keys, after.keys, before.ndim):
        raise UnsupportedError(
            f"{where}: format {new.name} would look for chunks under other keys than format"
            f" {old.name}"
        ).advise("give a destination")


# -- writing and removing -----------------------------------------------------------------------


def migrate(
    plan: ConversionPlan, *, remove_source: bool, overwrite: bool, progress: object
) -> tuple[Row, ...]:
    store = plan.target.store
    store.check_writable()
    journal = Journal(store, plan.journal_key, JOB, plan.fingerprint)
    again = journal.load()
    if remove_source:
        check_root(plan)
    if not again:
        check_alone(plan)
        check_agreement(plan, overwrite)
    journal.begin()
    reporter = Reporter(progress, len(plan.nodes))  # type: ignore[arg-type]  # checked there
    try:
        for planned in reversed(plan.nodes):
            _write_node(plan, planned)
            reporter.advance(1, 0, "/" + planned.path)
        if remove_source:
            keys = _old_documents(plan)
            journal.note(_REMOVING, {"target": plan.target.format.name, "keys": keys})
            for key in keys:
                store.delete(key)
    finally:
        reporter.close()
    journal.remove()
    return tuple(planned.row() for planned in plan.nodes)


def check_alone(plan: ConversionPlan) -> None:
    """Refuse a place that an interrupted conversion has not finished."""
    found = read_journal(plan.target.store, plan.journal_key)
    if found is not None and found.get("job") != JOB:
        raise NodeExistsError("a conversion into this place was interrupted; finish it first").at(
            plan.target.store, key=plan.journal_key
        )


def check_root(plan: ConversionPlan) -> None:
    """Refuse to remove the old documents of a node that is a member of an old group: that group
    would no longer list it."""
    source = plan.source
    for above in paths.ancestors(source.path):
        if formats.read(source.format, source.store, above) is not None:
            raise UnsupportedError(
                f"{source}: remove_source would hide the node from the group of format"
                f" {source.format.name} at {'/' + above!r}; migrate the whole hierarchy, or leave"
                " the old documents where they are"
            )


def check_agreement(plan: ConversionPlan, overwrite: bool) -> None:
    """Refuse to replace documents of the target format that say something else."""
    if overwrite:
        return
    target = plan.target
    for planned in plan.nodes:
        existing = formats.read(target.format, target.store, planned.target.path)
        if existing is None or planned.target_model is None:
            continue
        different = difference(planned.target_model, existing)
        if different is not None:
            raise NodeExistsError(
                f"{planned.target}: documents of format {target.format.name} are there already, and"
                f" differ from those of format {plan.source.format.name} in"
                f" {different.replace('_', ' ')}"
            ).advise("{} replaces them", ("overwrite", True))


def _write_node(plan: ConversionPlan, planned: NodePlan) -> None:
    store, path, model = plan.target.store, planned.target.path, planned.target_model
    assert model is not None  # nothing is left out in place
    documents = ordered(planned)
    if planned is plan.nodes[0]:
        documents |= plan.consolidated
    for key, document in documents.items():
        if store.get(key) != document:
            store.set(key, document)
    found = formats.read(plan.target.format, store, path)
    different = difference(model, found)
    if different is not None:
        raise MetadataError(
            f"{planned.target}: {different.replace('_', ' ')} of the new documents are not what was"
            " written; the old ones are untouched"
        )


def _old_documents(plan: ConversionPlan) -> list[str]:
    """What described the hierarchy before, the root's first."""
    chosen = plan.source.format
    new = {key for planned in plan.nodes for key in planned.documents} | set(plan.consolidated)
    keys: list[str] = []
    for planned in plan.nodes:
        path = planned.source.path
        keys += [*chosen.keys(path), *formats.consolidated_keys(chosen, path)]
    return [key for key in fetch(plan.source.store, keys) if key not in new]


def finish_removal(
    store: Store, path: str, target: Format, *, dry_run: bool = False
) -> tuple[Row, ...] | None:
    """Go on with a removal that was interrupted; None if there was none. The journal names the
    documents; only what is a document of another format beside one of the target's is removed."""
    key = paths.join(path, JOURNAL)
    found = read_journal(store, key)
    facts = None if found is None or found.get("job") != JOB else found.get("facts")
    pending = facts.get(_REMOVING) if isinstance(facts, dict) else None
    if not isinstance(pending, dict) or pending.get("target") != target.name:
        return None
    pending_keys = pending.get("keys")
    if not isinstance(pending_keys, list) or not all(isinstance(old, str) for old in pending_keys):
        raise MetadataError(
            f"the journal is damaged: it names the documents that are still"
            f" to be removed as {show(pending_keys)}; delete it, and what is left of them"
        ).at(store, key=key)
    root = formats.read(target, store, path)
    if root is None:
        return None
    place = NodeAddress(store, path, target)
    nodes = list(walk(place, root))
    documents = {
        document: known
        for _, here, _ in nodes
        for known in every_format()
        if known is not target
        for document in (*known.keys(here.path), *formats.consolidated_keys(known, here.path))
        if document not in (*target.keys(here.path), *formats.consolidated_keys(target, here.path))
    }
    rows: list[Row] = []
    for old in () if dry_run else pending_keys:
        if old in documents:
            store.delete(old)
    for relative, _, model in nodes:
        kind = "array" if isinstance(model, ArrayModel) else "group"
        action = "metadata" if isinstance(model, ArrayModel) else "group"
        note = ("the removal of older documents, which was interrupted, is finished",)
        rows.append(Row(relative, kind, target.name, target.name, action, notes=note))  # type: ignore[arg-type]  # both are of the literals
    if not dry_run:
        store.delete(key)
    return tuple(rows)
