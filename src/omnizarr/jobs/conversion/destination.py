"""Begin a conversion, again or anew: what may be at the destination, and what is removed.

A journal names every node that its conversion writes: where its documents are, and how its chunks
are called. When that conversion is begun anew, what is under those names goes, and nothing else: a
folder may hold other things. Only `overwrite` replaces a node at the destination, with everything
below it. As long as something is being removed, the journal says so, and nothing is resumed.

This module knows nodes and journals. It must not know how chunks are converted.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np

from omnizarr import formats
from omnizarr.errors import ErrorLocation, MetadataError, NodeExistsError
from omnizarr.formats import Format
from omnizarr.formats.hierarchy import fetch
from omnizarr.jobs import Journal
from omnizarr.jobs.conversion import intermediates
from omnizarr.jobs.conversion.plan import ConversionPlan, Manner
from omnizarr.jobs.journal import damaged
from omnizarr.jobs.journal import read as read_journal
from omnizarr.model import paths
from omnizarr.model.array import ArrayModel
from omnizarr.model.codec import Json
from omnizarr.model.dtypes import from_numpy
from omnizarr.model.grids import Grid, RegularAxis
from omnizarr.model.keys import ChunkKeys
from omnizarr.model.store import Store
from omnizarr.nodes.creation import storing
from omnizarr.nodes.node import NodeAddress

JOB = "convert"
_EMPTY = "empty"
"""What a journal says once nothing else is left at the destination."""
_MEMORY = "max_memory"
"""The memory for which regions are cut: see `resumption`."""
_WRITES = "writes"
"""The nodes that a conversion writes."""
_REPLACES = "replaces"
"""The nodes that are being removed to be replaced: the path of each, and the names of the formats
in which it had documents, for these go first."""


class Written(NamedTuple):
    """A node that a conversion writes: its place, and what its chunks are called."""

    place: NodeAddress
    array: ArrayModel | None

    @property
    def documents(self) -> tuple[str, ...]:
        chosen, path = self.place.format, self.place.path
        return tuple(dict.fromkeys((*chosen.keys(path), *formats.consolidated_keys(chosen, path))))

    def holds(self, key: str) -> bool:
        """Whether a key is that of one of the chunks."""
        if self.array is None:
            return False
        prefix = self.place.format.chunk_prefix(self.place.path, self.array)
        if not key.startswith(prefix):
            return False
        return self.array.keys.decode(key[len(prefix) :], self.array.ndim) is not None


class Replaced(NamedTuple):
    """A node that makes room, and the formats that say which keys are its own."""

    path: str
    formats: tuple[Format, ...]


class Unfinished(NamedTuple):
    """What the journal of an interrupted conversion says."""

    fingerprint: Any
    empty: bool
    """Whether the conversion wrote everything that is there."""
    written: tuple[Written, ...]
    replaced: tuple[Replaced, ...]
    memory: int | None
    """For which its regions were cut; None if that is not known."""


def start(plan: ConversionPlan, manner: Manner) -> tuple[Journal, bool]:
    """The journal of this run, and whether it is an earlier one's. The destination is checked, and
    emptied of what may go."""
    store = plan.target.store
    journal = Journal(store, plan.journal_key, JOB, plan.fingerprint)
    found = _found(plan, manner)
    if found is not None and manner.resume and found.empty and _load(journal, manner):
        touched = _touched(plan)
        if touched is None:
            return journal, True
        if not manner.overwrite:
            stored = NodeExistsError(
                "a document is there that the interrupted conversion did not write; it goes on once"
                " that is deleted"
            )
            raise stored.at(store, key=touched).advise("{} begins anew", ("overwrite", True))
    check_free(plan, manner)
    if found is not None or plan.several_passes:
        for fingerprint in {
            plan.fingerprint,
            plan.fingerprint if found is None else str(found.fingerprint),
        }:
            intermediates.remove(plan.target, fingerprint)
            intermediates.remove(plan.temporary, fingerprint)
    written = () if found is None else found.written
    replaced = list(() if found is None else found.replaced)
    if manner.overwrite:
        known = {one.place.path for one in written} | {one.path for one in replaced}
        taken = [path for path in plan.roots if path not in known and is_taken(store, path)]
        replaced += [Replaced(path, tuple(formats.owners(store, path))) for path in taken]
    if manner.overwrite or written:
        # A full or failing store says so before anything is gone; one that was emptied in part is
        # known by a journal that does not say that it is empty.
        names: list[Json] = [[one.path, *(known.name for known in one.formats)] for one in replaced]
        _begin(plan, {_WRITES: _described(written), _REPLACES: names})
        for one in replaced:
            _remove(store, one, plan.journal_key)
        _clear((*written, *_writes(plan)) if manner.overwrite else written)
    facts: dict[str, Json] = {
        _EMPTY: True,
        _MEMORY: plan.memory,
        _WRITES: _described(_writes(plan)),
    }
    if manner.overwrite or found is not None:
        return _begin(plan, facts), False
    journal.facts = facts
    # Where another call has begun since: the same job is done together, another one is refused.
    return (journal, False) if journal.begin_alone() else start(plan, manner)


def _touched(plan: ConversionPlan) -> str | None:
    """A document that another writer has stored meanwhile: opening the place with mode "a", which
    is the default, makes a group there."""
    for planned in plan.nodes:
        for key, found in fetch(plan.target.store, list(planned.documents)).items():
            if bytes(found) != planned.documents[key]:
                return key
    return None


def _load(journal: Journal, manner: Manner) -> bool:
    try:
        return journal.load()
    except MetadataError:
        if manner.overwrite:
            return False
        raise


def _found(plan: ConversionPlan, manner: Manner) -> Unfinished | None:
    """What an interrupted conversion left; a damaged journal is no obstacle to `overwrite`."""
    try:
        return unfinished(plan)
    except MetadataError:
        if manner.overwrite:
            return None
        raise


def _begin(plan: ConversionPlan, facts: dict[str, Json]) -> Journal:
    journal = Journal(plan.target.store, plan.journal_key, JOB, plan.fingerprint)
    journal.facts = facts
    journal.begin()
    return journal


def is_taken(store: Store, path: str) -> bool:
    try:
        return formats.find(store, path) is not None or bool(formats.claimed(store, path))
    except MetadataError:
        return True


# -- what may be there ----------------------------------------------------------------------------


def check_free(plan: ConversionPlan, manner: Manner) -> None:
    """Refuse a destination that holds something that must not be replaced."""
    if manner.overwrite:
        return
    where = ErrorLocation.of(plan.target.store, key=plan.journal_key)
    found = unfinished(plan)
    if found is None:
        if plan.target.store.exists(plan.journal_key):
            raise _not_replaced(
                "a value is there that is no journal of a conversion into this place and would be"
                " replaced by one"
            ).at(where)
        _check_nodes(plan, ())
    elif not manner.resume:
        if found.replaced:
            raise _not_replaced("a conversion was interrupted while it replaced what was here").at(
                where
            )
        _check_nodes(plan, found.written)
    elif not found.empty or found.fingerprint != plan.fingerprint:
        interrupted = NodeExistsError(
            "another conversion into this place was interrupted, or this one while it began anew,"
            " or its source has changed since"
        )
        raise interrupted.at(where).advise(
            "{} begins anew; {} replaces what is there", ("resume", False), ("overwrite", True)
        )


def _check_nodes(plan: ConversionPlan, written: tuple[Written, ...]) -> None:
    """Refuse nodes, documents and chunks that an interrupted conversion did not write."""
    store = plan.target.store
    places = {(one.place.path, one.place.format.name) for one in written}
    documents = {key for one in written for key in one.documents}
    for path in plan.roots:
        existing = formats.find(store, path)
        if existing is not None and (path, existing[0].name) not in places:
            raise storing.exists(NodeAddress(store, path, plan.target.format), existing[1])
    for one in _writes(plan):
        for key in formats.claimed(store, one.place.path, one.documents):
            if key not in documents:
                raise _not_replaced(
                    "a document is there that describes no node of a format known here, or would"
                    " become one of the new node"
                ).at(store, key=key)
        for key in () if one.array is None else storing.stale_chunks(one.place, one.array):
            if not any(other.holds(key) for other in written):
                raise _not_replaced(
                    "a value is there that would become a chunk of the new array"
                ).at(store, key=key)


def _not_replaced(message: str) -> NodeExistsError:
    return NodeExistsError(message).advise("{} replaces it", ("overwrite", True))


# -- removing -------------------------------------------------------------------------------------


def _clear(written: Sequence[Written]) -> None:
    """Delete the documents and chunks of nodes by their names; leave all else alone."""
    for one in written:
        for key in one.documents:
            one.place.store.delete(key)
    for one in written:
        if one.array is not None:
            storing.remove_stale_chunks(one.place, one.array)


def _remove(store: Store, node: Replaced, journal_key: str) -> None:
    """Delete what belongs to a node: its documents first, so that half of it is no node, and the
    journal last, so that half of it is not taken for nothing."""
    owned = [known.owned(store, node.path) for known in node.formats]
    for key in formats.claimed(store, node.path):
        store.delete(key)
    for keys, prefixes in owned:
        for key in keys:
            store.delete(key)
        for listing in map(store.list_dir, prefixes):
            for prefix in listing.prefixes:
                store.delete_prefix(prefix)
            for key in listing.keys:
                if key != journal_key:
                    store.delete(key)


# -- what a journal says --------------------------------------------------------------------------


def _writes(plan: ConversionPlan) -> tuple[Written, ...]:
    return tuple(
        Written(planned.target, planned.written_model)
        for planned in plan.nodes
        if planned.target_model is not None
    )


def _described(written: Iterable[Written]) -> list[Json]:
    """Nodes as a journal names them."""
    described: list[Json] = []
    for place, array in written:
        known: list[Json] = [place.format.name, place.path]
        if array is not None:
            known += [array.ndim, array.keys.name, array.keys.separator, array.keys.scalar]
        described.append(known)
    return described


def unfinished(plan: ConversionPlan) -> Unfinished | None:
    """What an interrupted conversion into the same place left; None if there was none."""
    store, key = plan.target.store, plan.journal_key
    found = read_journal(store, key)
    if found is None or found.get("job") != JOB:
        return None
    try:
        facts = found.get("facts", {})
        written = tuple(_node_of(plan.target, item) for item in facts.get(_WRITES, ()))
        replaced = tuple(_replaced(plan.target, item) for item in facts.get(_REPLACES, ()))
        memory = facts.get(_MEMORY)
        if memory is not None and (type(memory) is not int or memory < 1):
            raise ValueError(f"no memory: {memory!r}")
        empty = facts.get(_EMPTY) is True
        return Unfinished(found.get("fingerprint"), empty, written, replaced, memory)
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        raise damaged(store, key, error) from error


def _replaced(target: NodeAddress, item: Any) -> Replaced:
    if not isinstance(item, list):
        raise TypeError(f"no node: {item!r}")
    path, *names = item
    return Replaced(_inside(target, path), tuple(formats.get_format(name) for name in names))


def _node_of(target: NodeAddress, item: Any) -> Written:
    name, path, *rest = item
    chosen: Format = formats.get_format(name)
    place = NodeAddress(target.store, _inside(target, path), chosen)
    if not rest:
        return Written(place, None)
    ndim, spelled, separator, scalar = rest
    if type(ndim) is not int or not 0 <= ndim <= _MOST or scalar not in _SCALARS:
        raise ValueError(f"no array: {item!r}")
    return Written(place, _sketch(ndim, ChunkKeys(spelled, separator, (), scalar)))


_MOST = 1 << 10
_SCALARS: tuple[Any, ...] = (None, "", "0", "c", "c0")


def _sketch(ndim: int, keys: ChunkKeys) -> ArrayModel:
    """An array of which no more is known than what its chunks are called."""
    shape = (0,) * ndim
    grid = Grid(tuple(RegularAxis(0, 1) for _ in shape))
    return ArrayModel(shape, from_numpy(np.dtype(np.uint8)), grid, keys, ())


def _inside(target: NodeAddress, path: Any) -> str:
    """A path of the destination's own."""
    normal = paths.normalize_path(path)
    if normal != path or not f"{normal}/".startswith(f"{target.path}/" if target.path else ""):
        raise ValueError(f"no path below {'/' + target.path!r}: {path!r}")
    return normal
