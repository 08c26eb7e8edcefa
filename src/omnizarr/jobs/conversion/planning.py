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
from math import prod
from typing import Any

from omnizarr import formats
from omnizarr.errors import (
    ArrayNotFoundError,
    EncodeError,
    MetadataError,
    Part,
    PickleCodecDisabledError,
    UnsupportedError,
    ZarrError,
)
from omnizarr.formats import FormatName, Node
from omnizarr.formats.hierarchy import fetch
from omnizarr.formats.translation.chunk_bytes import same_encoding, same_fill, same_grid, same_keys
from omnizarr.formats.translation.fill_values import as_scalar
from omnizarr.formats.translation.nodes import (
    Choices,
    Translation,
    refusal,
    translate_array,
    translate_group,
)
from omnizarr.jobs.conversion.chunks import Listed, per_portion, spelling, stored_blocks
from omnizarr.jobs.conversion.plan import JOURNAL, ConversionPlan, NodePlan, Wanted, region_blocks
from omnizarr.jobs.conversion.report import Action
from omnizarr.jobs.conversion.respelling import respelled_array, respelled_group
from omnizarr.jobs.conversion.walking import ExcludedNodes, walk
from omnizarr.model import json, paths
from omnizarr.model.array import ArrayModel, GroupModel
from omnizarr.model.store import Buffer, Store
from omnizarr.nodes.array import Array
from omnizarr.nodes.node import NodeAddress, Options
from omnizarr.stores import MemoryStore

_PORTIONS = 3
"""Raised whenever chunks are put into other portions, so that no old journal is misread."""

MOST_WRITTEN = 100_000
MOST_WRITTEN_RATIO = 10
"""More missing chunks than this, and more than so many times the stored ones, are written for
xarray's sake only when asked: a nearly empty array may have 10¹² chunks."""


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
    walked = list(walk(source, model, exclusion))
    named = {
        paths.parent(path)
        for path, _, found in walked
        if isinstance(found, ArrayModel) and found.dimension_names
    }
    for path, here, found in walked:
        if isinstance(found, ArrayModel) and path and paths.parent(path) in named:
            found = as_scalar(found, here.format, target.format)
        there = target.child(path) if path else target
        try:
            nodes.append(_plan_node(path, here, found, there, wanted, options, preview))
        except UnsupportedError as error:
            raise refusal(error, path, in_place=wanted.same_keys) from error
    left_out = exclusion.left_out(source, target.format.name)
    _check_named(wanted, nodes)
    if all(node.target_model is None for node in nodes):
        raise UnsupportedError(
            f"{source}: there is no array here, and format {target.format.name} has no groups",
            what="groups",
        )
    consolidated = _consolidated(source, target, nodes, preview)
    return ConversionPlan(
        source, target, tuple(nodes), parents, consolidated,
        _fingerprint(source, target, nodes, consolidated), left_out,
    )  # fmt: skip


def _check_named(wanted: Wanted, nodes: list[NodePlan]) -> None:
    """Refuse chunks and shards for a path where there is no array: it is misspelled."""
    arrays = {node.path for node in nodes if node.is_array}
    for option, given in (("chunks", wanted.chunks), ("shards", wanted.shards)):
        for path in given if isinstance(given, Mapping) else ():
            if path not in arrays:
                raise ArrayNotFoundError(
                    f"{option}: no array is converted at path {path!r}; expected its path from the"
                    " node that is converted, such as 'a/b'"
                )


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
    if here.format is there.format:
        made, notes = respelled_group(found, here.format)
    else:
        made, dropped, notes = translate_group(found, there.format, Choices(wanted.drop))
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
    if here.format is there.format and not wanted.changes:
        translation = respelled_array(found, here.format, choices)
        return _counted(_planned(path, here, there, found, translation, options))
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
    return _counted(planned)


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


def _counted(planned: NodePlan) -> NodePlan:
    """With the number of chunks or regions, and what tells whether they are still the same."""
    source, target = planned.arrays()
    listed = Listed(source._source)
    count = len(listed)
    size = per_portion(source._source.chunk_bytes)
    if planned.action == "re-encode":
        blocks = region_blocks(source, target)
        size = per_portion(target._source.chunk_bytes * blocks.nbytes_factor)
        if planned.everything:
            count = prod(blocks.shape)
        elif blocks.nbytes_factor > 1 or not same_grid(source._stored, target._stored):
            count = sum(1 for _ in stored_blocks(listed, blocks))
    return replace(planned, units=count, size=size, digest=listed.digest)


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
        raise UnsupportedError(
            f"{_NAMES[different]} would not come back from format {there.format.name} as written",
            what=different,
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
        add(node.path, node.action, node.units, node.size, node.digest, node.everything)
        add(node.on_damage, node.verify)
        add(json.dumps(node.source_model.document), json.dumps(node.source_model.attributes))
        add(sorted(node.documents.items()))
    add(sorted(consolidated.items()))
    return summary.hexdigest()
