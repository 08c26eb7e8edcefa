"""Making a plan: everything is decided, and refused, before anything is written.

The source is walked, every node is translated, and the documents of the destination are made and
stored in memory first: there the target format checks names and places, and every node is read back
and compared. So whatever can be refused is refused while the destination is untouched, and the
documents that are written in the end are known from the beginning.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace
from functools import partial
from math import prod
from typing import Any

from omnizarr import formats, limits
from omnizarr.engine import threads
from omnizarr.errors import (
    EncodeError,
    MetadataError,
    Part,
    PickleCodecDisabledError,
    UnsupportedError,
    ZarrError,
)
from omnizarr.formats import FormatName, Node, Registering
from omnizarr.formats.hierarchy import fetch
from omnizarr.formats.translation.chunk_bytes import same_encoding, same_fill, same_keys
from omnizarr.formats.translation.fill_values import as_scalar
from omnizarr.formats.translation.nodes import (
    Choices,
    Translation,
    translate_array,
    translate_group,
)
from omnizarr.jobs.conversion import intermediates
from omnizarr.jobs.conversion.chunks import (
    Blocks,
    Listed,
    count_stored_blocks,
    per_portion,
    spelling,
)
from omnizarr.jobs.conversion.images import moved
from omnizarr.jobs.conversion.plan import JOURNAL, Amount, ConversionPlan, NodePlan, Wanted
from omnizarr.jobs.conversion.refusals import Refusals
from omnizarr.jobs.conversion.region_memory import for_tasks, with_kept
from omnizarr.jobs.conversion.report import Action
from omnizarr.jobs.conversion.respelling import respelled_array, respelled_group
from omnizarr.jobs.conversion.walking import ExcludedNodes, walk
from omnizarr.jobs.obstacles import Obstacles
from omnizarr.jobs.rechunking.lengths import taken_apart
from omnizarr.jobs.rechunking.planner import FAR_REQUEST, REQUEST, Problem, least_memory
from omnizarr.jobs.rechunking.planner import make_plan as make_rechunk_plan
from omnizarr.model import json, paths
from omnizarr.model.array import ArrayModel, GroupModel
from omnizarr.model.axes import inner_chunks
from omnizarr.model.grids import regular_grid
from omnizarr.model.store import Buffer, Store
from omnizarr.nodes.array import Array
from omnizarr.nodes.node import NodeAddress, Options
from omnizarr.runtime.progress import size
from omnizarr.stores import MemoryStore

_PORTIONS = 5
"""Raised whenever chunks are put into other portions, so that no old journal is misread."""

MOST_WRITTEN = 100_000
MOST_WRITTEN_RATIO = 10
"""More missing chunks than this, and more than so many times the stored ones, are written for
xarray's sake only when asked: a nearly empty array may have 10¹² chunks."""


TASKS_AT_ONCE = 2
"""So many regions fit into the memory of a process: one is read while another one is written. The
number of cores has no part in it, so that a job can go on on another machine."""
SCRATCH_SHARE = 3
"""The engine's part of a task's memory is one in so many, as in `jobs.memory`."""
SPARSE = 8
"""An array of which less than one chunk in so many is stored is sparse."""
VARIABLE_BYTES = 64
"""What an element of variable size is taken to need; nobody knows before it is decoded."""


def is_consolidated(place: NodeAddress) -> bool:
    try:
        return formats.consolidated(place.format, place.store, place.path) is not None
    except MetadataError:
        return False  # the nodes themselves are what counts


def make_plan(
    source: NodeAddress, model: Node, target: NodeAddress, wanted: Wanted, options: Options
) -> ConversionPlan:
    """Decide everything; nothing is written."""
    preview = MemoryStore()
    parents = _missing_parents(target)
    for key, document in {**_existing_parents(target), **parents}.items():
        preview.set(key, document)
    nodes: list[NodePlan] = []
    exclusion = ExcludedNodes(wanted.exclude)
    images = moved(list(walk(source, model, exclusion)), target.format)
    walked = images.nodes
    named = {
        paths.parent(path)
        for path, _, found in walked
        if isinstance(found, ArrayModel) and found.dimension_names
    }
    arrays = [(path, found) for path, _, found in walked if isinstance(found, ArrayModel)]
    wanted = replace(
        wanted,
        chunks=taken_apart(wanted.chunks, "chunks", arrays),
        shards=taken_apart(wanted.shards, "shards", arrays),
    )
    obstacles, refusals = Obstacles(), Refusals(in_place=wanted.same_keys)
    for path, here, found in walked:
        if isinstance(found, ArrayModel) and path and paths.parent(path) in named:
            found = as_scalar(found, here.format, target.format)
        there = target.child(path) if path else target
        try:
            asked = images.choices(path, wanted)
            planned = _plan_node(path, here, found, there, asked, options, preview)
            notes = (*planned.notes, *images.notes.get(path, ()), *wanted.notes.get(path, ()))
            nodes.append(replace(planned, notes=notes))
        except UnsupportedError as error:
            again = partial(_plan_node, path, here, found, there, options=options, preview=preview)
            for one in refusals.of(error, path, again, asked):
                obstacles.add(one, one.__cause__)
        except MetadataError as error:
            obstacles.add(error.at(f"node {'/' + path!r}") if path else error, error.__cause__)
            refusals.broken(path)
    obstacles.check()
    nodes = _registered(target, nodes, preview)
    left_out = exclusion.left_out(source, target.format.name)
    if all(node.target_model is None for node in nodes):
        raise UnsupportedError(
            f"{source}: there is no array here, and format {target.format.name} has no groups",
            what="groups",
        )
    consolidated = _consolidated(source, target, nodes, preview)
    fingerprint = _fingerprint(source, target, nodes, consolidated)
    temporary = wanted.temporary or target
    below = intermediates.place_of(temporary, fingerprint)
    for number, node in enumerate(nodes):
        if node.rechunking is not None and len(node.rechunking.passes) > 1:
            nodes[number] = replace(node, temporary=below.child(str(number)))
    return ConversionPlan(
        source, target, tuple(nodes), parents, consolidated, fingerprint, temporary, wanted.memory,
        left_out,
    )  # fmt: skip


def _registered(target: NodeAddress, nodes: list[NodePlan], preview: Store) -> list[NodePlan]:
    """With documents in which groups name their members, where the format has such."""
    if not isinstance(target.format, Registering):
        return nodes
    models = {node.target.path: node.target_model for node in nodes}
    made = target.format.registered({path: node for path, node in models.items() if node})
    for documents in made.values():
        for key, document in documents.items():
            preview.set(key, document)
    return [replace(node, documents=made.get(node.target.path, {})) for node in nodes]


def _missing_parents(target: NodeAddress) -> dict[str, bytes]:
    documents: dict[str, bytes] = {}
    for ancestor in paths.ancestors(target.path):
        found = formats.find(target.store, ancestor)
        if found is None:
            documents |= target.format.parent_documents(ancestor)
        elif isinstance(found[1], ArrayModel):
            raise MetadataError(
                f"{target}: cannot write a node below the array at {'/' + ancestor!r}"
            )
    return documents


def _existing_parents(target: NodeAddress) -> dict[str, Buffer]:
    """What the target format has above the destination already."""
    keys: list[str] = []
    for ancestor in paths.ancestors(target.path):
        keys += [*target.format.keys(ancestor), *target.format.probes(ancestor)]
    return fetch(target.store, list(dict.fromkeys(keys)))


def _plan_node(
    path: str,
    here: NodeAddress,
    found: Node,
    there: NodeAddress,
    wanted: Wanted,
    options: Options,
    preview: Store,
) -> NodePlan:
    if path == JOURNAL:
        raise UnsupportedError(
            f"no node can be named {JOURNAL!r}, as the journal of a conversion is", what="name"
        )
    if isinstance(found, ArrayModel):
        planned = _careful(_plan_array(path, here, found, there, wanted, options), wanted)
    else:
        planned = _plan_group(path, here, found, there, wanted)
    made = planned.target_model
    if made is not None:
        there.format.check_place(preview, there.path)
        for key, document in planned.documents.items():
            preview.set(key, document)
        _check_readable(preview, there, made)
    return planned


def _plan_group(
    path: str, here: NodeAddress, found: GroupModel, there: NodeAddress, wanted: Wanted
) -> NodePlan:
    made: GroupModel | None = found
    dropped: tuple[Part, ...] = ()
    notes: tuple[str, ...] = ()
    if formats.same(here.format, there.format):
        made, notes = respelled_group(found, here.format)
    else:
        made, dropped, notes = translate_group(
            found, here.format, there.format, Choices(wanted.drop)
        )
    documents = {} if made is None else there.format.documents(there.path, made)
    action: Action = "left out" if made is None else "group"
    return NodePlan(path, here, found, there, made, action, documents, dropped=dropped, notes=notes)


def _plan_array(
    path: str,
    here: NodeAddress,
    found: ArrayModel,
    there: NodeAddress,
    wanted: Wanted,
    options: Options,
) -> NodePlan:
    if wanted.same_keys:
        source = Array._of(here, found, options)._source
        found = replace(found, keys=spelling(source))
    choices = wanted.choices(path, found)
    if formats.same(here.format, there.format) and not wanted.changes:
        translation = respelled_array(found, here.format, choices)
        return _counted(_planned(path, here, there, found, translation, options), wanted)
    translation = translate_array(found, here.format, there.format, choices)
    planned = _planned(path, here, there, found, translation, options)
    if wanted.same_keys and translation.explicit and planned.everything:
        # In place no chunk can be written: Zarr's meaning is kept.
        choices = replace(choices, fill_values="zarr")
        translation = translate_array(found, here.format, there.format, choices)
        planned = _planned(path, here, there, found, translation, options)
    elif translation.explicit and choices.fill_values is None:
        _check_written(planned)
    if wanted.compressors != "keep":
        # Levels, which decoding does not depend on, are what the caller cares for then.
        planned = replace(planned, action="re-encode")
    try:
        _try_out(planned)
    except EncodeError as error:
        if not wanted.reencode:
            raise UnsupportedError(str(error), what="codecs") from error
        choices = replace(choices, compressors="auto")
        translation = translate_array(found, here.format, there.format, choices)
        translation = replace(translation, notes=(*translation.notes, "compressors chosen anew"))
        planned = _planned(path, here, there, found, translation, options)
        _try_out(planned)
    return _counted(planned, wanted)


def _planned(
    path: str,
    here: NodeAddress,
    there: NodeAddress,
    found: ArrayModel,
    translation: Translation,
    options: Options,
) -> NodePlan:
    made = translation.model
    gaps = not same_fill(found, made)
    as_stored = made
    if translation.explicit:
        source = Array._of(here, found, options)._source
        gaps = len(Listed(source)) < prod(found.grid.shape)
        # Where every chunk is stored, what a missing one reads as does not matter.
        as_stored = replace(made, fill_value=found.fill_value)
    copied = same_encoding(found, as_stored) and not (translation.explicit and gaps)
    return NodePlan(
        path, here, found, there, made,
        "copy chunks" if copied else "re-encode",
        there.format.documents(there.path, made),
        everything=gaps, options=options,
        dropped=translation.dropped, notes=translation.notes,
    )  # fmt: skip


def _check_written(planned: NodePlan) -> None:
    """Refuse to write very many missing chunks unasked."""
    source, target = planned.arrays()
    total = prod(source._stored.grid.shape)
    stored = len(Listed(source._source))
    missing = total - stored
    written = prod(target._stored.grid.shape) * missing // max(total, 1)
    if written > MOST_WRITTEN and missing > MOST_WRITTEN_RATIO * stored:
        raise UnsupportedError(
            f"xarray would read the fill value differently in format {target.zarr_format}, so that"
            f" {written:,} missing chunks would have to be written ({stored:,} of {total:,} are"
            " stored)",
            what="fill_value",
        ).advise(
            "{} keeps the fill value and writes none of them; {} writes them all",
            ("fill_values", "zarr"),
            ("fill_values", "xarray"),
        )


def _try_out(planned: NodePlan) -> None:
    """Codecs that are unknown, do not fit or can only be read fail here, and not half-way."""
    if planned.action != "re-encode":
        return
    source, target = planned.arrays()
    source._check()
    target._check()
    chain = target._source.regular_chain
    while chain.shard is not None:
        chain = chain.shard.chain
    chain.encode(target._source.new_chunk(chain.shape))


def _counted(planned: NodePlan, wanted: Wanted) -> NodePlan:
    """With the passes, the number of chunks or regions, and what tells whether they are still the
    same."""
    source = planned.arrays()[0]
    listed = Listed(source._source)
    if planned.action != "re-encode":
        amount = Amount(len(listed), per_portion(source._source.chunk_bytes))
        return replace(planned, amounts=(amount,), chunks=len(listed), digest=listed.digest)
    sparse = len(listed) * SPARSE < source._stored.grid.nchunks
    problem = _problem(planned, wanted, sparse=sparse)
    plan = make_rechunk_plan(problem, TASKS_AT_ONCE)
    planned = replace(planned, rechunking=plan, digest=listed.digest)
    grids = [regular_grid(plan.shape, each.write_unit) for each in plan.passes[:-1]]
    amounts, chunks = [], 0
    for each, grid in zip(plan.passes, [*grids, problem.target], strict=True):
        blocks = Blocks(grid, each.factors)
        everything = planned.everything and grid is problem.target
        count, chunks = (
            (prod(blocks.shape), grid.nchunks)
            if everything
            else count_stored_blocks(listed, blocks)
        )
        values = max(each.reads, each.writes) // max(1, each.tasks)
        amounts.append(Amount(count, per_portion(prod(each.region) * plan.itemsize, values)))
    return replace(planned, amounts=tuple(amounts), chunks=chunks)


def _problem(planned: NodePlan, wanted: Wanted, *, sparse: bool) -> Problem:
    """What the planner of passes must know; UnsupportedError if the memory does not suffice."""
    source, target = planned.arrays()
    model = source._stored
    memory = for_tasks(wanted.memory)
    variable = model.data_type.variable or model.dtype.kind == "O"
    inner = inner_chunks(model.codecs, model.ndim)
    stores = (planned.options.chunk_store or planned.source.store, planned.target.store)
    far = any(store.capabilities.requests > 1 for store in stores)
    beside = wanted.temporary or intermediates.holds_intermediates(planned.target.store)
    problem = Problem(
        model.shape,
        max(1, model.dtype.itemsize, VARIABLE_BYTES if variable else 0),
        model.grid,
        model.grid if inner is None else regular_grid(model.shape, inner),
        target._stored.grid,
        memory,
        min(TASKS_AT_ONCE * limits.current.scratch_bytes, memory // SCRATCH_SHARE),
        0 if inner is None else min(source._source.chunk_bytes, threads.merged(source._source)),
        FAR_REQUEST if far else REQUEST,
        bool(beside) and wanted.on_damage == "raise" and intermediates.possible(model),
        sparse,
    )
    least = least_memory(problem)
    if wanted.max_memory is not None and least > for_tasks(wanted.max_memory):
        least = with_kept(least)
        raise UnsupportedError(
            f"max_memory is {size(wanted.max_memory)}; reading chunks of"
            f" {problem.inner.chunk_shape} and writing {problem.target.chunk_shape} takes"
            f" {size(least)}",
            what="chunks",
        ).advise("{} suffices; smaller chunks take less", ("max_memory", least))
    return problem


def _careful(planned: NodePlan, wanted: Wanted) -> NodePlan:
    """With what is done about damage. It is looked for also where chunks may be encoded anew: then
    none is copied unseen but pickles, which run code when they are decoded."""
    verify = wanted.verify
    if not verify and wanted.reencode:
        with suppress(PickleCodecDisabledError):
            planned.arrays()[0]._check()
            verify = True
    return replace(planned, on_damage=wanted.on_damage, verify=verify)


def _check_readable(preview: Store, there: NodeAddress, made: Node) -> None:
    """Read a node back as it will be stored, and compare."""
    try:
        found = formats.read(there.format, preview, there.path)
    except ZarrError as error:
        raise UnsupportedError(
            f"what format {there.format.name} would store here cannot be read again: {error}"
        ) from error
    different = difference(made, found)
    if different is not None:
        shown = _NAMES[different]
        if different == "attributes" and found is not None:
            shown += f" {_unlike(made.attributes, found.attributes)}"
        # No option leaves out what the format itself did not refuse.
        raise UnsupportedError(
            f"{shown} would not come back from format {there.format.name} as written"
        )


def _unlike(one: Mapping[str, Any], other: Mapping[str, Any]) -> str:
    """The names of attributes that differ, or that are missing on one side."""
    missing = object()
    names = sorted(one.keys() | other.keys())
    return ", ".join(
        repr(name) for name in names if one.get(name, missing) != other.get(name, missing)
    )


def difference(one: Node, other: Node | None) -> Part | None:
    """The first part in which a node differs from one that was read; None if they agree."""
    if isinstance(one, ArrayModel) is not isinstance(other, ArrayModel) or other is None:
        return "name"
    if json.dumps(one.attributes) != json.dumps(other.attributes):
        return "attributes"
    if not isinstance(one, ArrayModel) or not isinstance(other, ArrayModel):
        return None
    if one.dimension_names != other.dimension_names:
        return "dimension_names"
    if one.shape != other.shape:
        return "dimensions"
    if one.data_type.native != other.data_type.native:
        return "data_type"
    spellings = (other.keys, *other.keys.alternatives)
    if not any(same_keys(one.keys, keys, one.ndim) for keys in spellings):
        return "chunks"
    if not same_fill(one, other):
        return "fill_value"
    return None if same_encoding(one, other) else "codecs"


_NAMES: dict[Part, str] = {
    "name": "the node",
    "attributes": "the attributes",
    "dimension_names": "the dimension names",
    "dimensions": "the shape",
    "data_type": "the data type",
    "chunks": "the chunk keys",
    "fill_value": "the fill value",
    "codecs": "the codecs",
}


def _consolidated(
    source: NodeAddress, target: NodeAddress, nodes: list[NodePlan], preview: Store
) -> dict[str, bytes]:
    """The documents that consolidate the destination, if the source was consolidated."""
    if not isinstance(nodes[0].target_model, GroupModel) or not is_consolidated(source):
        return {}
    try:
        return formats.consolidate(target.format, preview, target.path)
    except UnsupportedError:
        return {}


def _fingerprint(
    source: NodeAddress,
    target: NodeAddress,
    nodes: list[NodePlan],
    consolidated: Mapping[str, bytes],
) -> str:
    """What tells this conversion from every other: where from, what, and into what."""
    summary = hashlib.sha256()

    def add(*facts: Any) -> None:
        summary.update(repr(facts).encode("utf-8", "backslashreplace") + b"\n")

    names: tuple[FormatName, FormatName] = source.format.name, target.format.name
    add(_PORTIONS, names, source.store.identity, source.path, target.path)
    for node in nodes:
        add(node.path, node.action, node.amounts, node.digest, node.everything, node.rechunking)
        add(node.on_damage, node.verify)
        add(json.dumps(node.source_model.document), json.dumps(node.source_model.attributes))
        add(sorted(node.documents.items()))
    add(sorted(consolidated.items()))
    return summary.hexdigest()
