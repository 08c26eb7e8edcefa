"""Store the documents of new nodes, and delete nodes.

This module knows the order of the steps, so that neither a concurrent creator nor a failure leaves
half a node. The format knows the documents; nothing here looks inside them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, nullcontext, suppress
from functools import cache, partial
from typing import TypeVar, cast

from omnizarr import formats
from omnizarr.engine import exclusive
from omnizarr.errors import (
    ContainsArrayError,
    ContainsGroupError,
    MetadataError,
    NodeExistsError,
    StoreError,
    UncertainWriteError,
)
from omnizarr.formats.base import Change, Format, Node, Registering
from omnizarr.model import paths
from omnizarr.model.array import ArrayModel, GroupModel
from omnizarr.model.store import Store
from omnizarr.nodes import node
from omnizarr.nodes.creation import registering
from omnizarr.nodes.dask import tokens
from omnizarr.nodes.data.stored_chunks import listed
from omnizarr.nodes.node import NodeAddress, Options
from omnizarr.runtime import parallel
from omnizarr.stores.wrappers.base import RememberingStore

M = TypeVar("M", bound=Node)

PROBE = ".omnizarr-new"
"""A key that exists while a node is replaced."""
_LOOKS = 3
"""How often to look again at a document that describes no node: its node may be half stored."""


def create(place: NodeAddress, model: M, *, overwrite: bool) -> M:
    """Store a new node, and groups above it where there are none. Gives the node as it is stored.

    Everything that can be refused is refused before anything is changed. Where the store has a
    conditional set, only one of two concurrent creators of a path succeeds.
    """
    store, path, chosen = place.store, place.path, place.format
    store.check_writable()
    tokens.changed(store, path)
    leftover = _leftover(place, model) if isinstance(model, ArrayModel) and not overwrite else None
    looking = _looking(store, path, leftover)
    taken = overwrite and _is_taken(looking, path)
    formats.check_outside_drafts(store, path)
    if path or not taken:  # overwriting the root deletes everything that could be refused
        chosen.check_place(looking, path)
    missing: dict[str, bytes] = {}
    groups: dict[str, Node] = {}
    later: list[tuple[str, Change]] = []
    for ancestor in paths.ancestors(path):
        found = formats.find(looking, ancestor)
        if found is None:
            above = chosen.parent_documents(ancestor)
            found = _appeared(looking, ancestor, above)
            if found is None and isinstance(chosen, Registering):
                made = chosen.placed(ancestor, chosen.new_group({}), groups)
                above = chosen.documents(ancestor, made.node)
                groups[ancestor] = made.node
                later += made.after.items()
            missing |= above if found is None else {}
        if found is not None:
            groups[ancestor] = found[1]
            if isinstance(found[1], ArrayModel):
                raise _below_array(place, ancestor)
    placement = registering.placed(chosen, path, model, groups)
    stored = cast(M, placement.node)
    documents = chosen.documents(path, stored)
    if taken:
        if store.capabilities.hierarchies_only:
            remove(store, path)
        else:  # a full or failing store must fail before anything is deleted
            probe = chosen.keys(path)[0] + PROBE
            store.set(probe, b"".join(documents.values()))
            remove(store, path)
            store.delete(probe)
    elif overwrite:  # attributes without a node must not become those of the new one
        there = formats.documents(chosen, looking, path)
        _delete(store, [key for key in chosen.keys(path) if key in there])
    else:
        existing = formats.find(looking, path) or _appeared(looking, path, documents)
        if existing is not None:
            raise exists(place, existing[1])
    stale: list[str] = []
    if isinstance(model, ArrayModel):
        if leftover is None:
            stale = list(stale_chunks(place, model))
        else:
            _check_no_chunks(place, leftover())
    _add_groups(place, node.spelled(place, missing, new=True))
    if overwrite:
        _delete(store, stale)
    registering.apply(store, chosen, [*later, *placement.before.items()])
    _put(place, stored, node.spelled(place, documents, new=True), overwrite)
    if not overwrite:
        _delete(store, stale)  # not before: a concurrent creator may own them
    if isinstance(model, ArrayModel):
        for prefix in formats.empty_prefixes(chosen, path, model):
            store.make_prefix(prefix)
    registering.apply(store, chosen, placement.after.items())
    return stored


def _add_groups(place: NodeAddress, missing: Mapping[str, bytes]) -> None:
    """Store the missing documents of groups above. A document that was stored since then stays; if
    it is an array's, nothing can be created below it."""
    store = place.store
    for key, document in missing.items():
        with _claiming(store, key):
            added = store.set_if_absent(key, document)
        if not added:
            for ancestor in paths.ancestors(place.path):
                found = formats.find(store, ancestor)
                if found is not None and isinstance(found[1], ArrayModel):
                    raise _below_array(place, ancestor)


def _claiming(store: Store, key: str) -> AbstractContextManager[object]:
    """The lock that `set_if_absent` needs, so that only one thread wins it."""
    return nullcontext() if store.capabilities.conditional else exclusive(store, key)


def _put(place: NodeAddress, model: Node, documents: Mapping[str, bytes], overwrite: bool) -> None:
    """Store the documents of a new node. Unless it overwrites, a concurrent creator of the same
    node makes it fail.

    The document that marks the node as existing is written conditionally. Documents after it hold
    attributes: a reader in between sees a node without attributes, and so does a reader after a
    failure in between."""
    store = place.store
    deciding = next(iter(documents))
    if len(documents) > 1:
        attributes = place.format.documents(place.path, model, attributes_only=True)
        deciding = next((key for key in documents if key not in attributes), deciding)
    written: list[str] = []
    rest = list(documents.items())
    with _claiming(store, place.format.keys(place.path)[0]):
        while deciding not in written:
            key, document = rest.pop(0)
            if overwrite:
                store.set(key, document)
            elif not store.set_if_absent(key, document):
                _delete(store, written)
                raise _taken(place)
            written.append(key)
    for key, document in rest:
        _put_attributes(place, model, key, document, overwrite)


def _put_attributes(
    place: NodeAddress, model: Node, key: str, document: bytes, overwrite: bool
) -> None:
    """Store the attributes of a new node; attributes that another process has set since stay."""
    with (
        suppress(UncertainWriteError),  # the update below may repeat it
        exclusive(place.store, place.format.keys(place.path)[0]),
    ):
        if place.store.set_if_absent(key, document):
            return
    if key in formats.claims(place.format, place.path):
        # More than attributes: another creator's node.
        if not overwrite:
            raise _taken(place)
        place.store.set(key, document)
        return
    ours = model.attributes
    node.change_attributes(
        place, Options(), lambda new: new | {**ours} if overwrite else {**ours} | new
    )


def _taken(place: NodeAddress) -> NodeExistsError:
    found = formats.find(place.store, place.path)
    if found is not None:
        return exists(place, found[1])
    return NodeExistsError(f"{place}: another process is creating or deleting a node there")


def _delete(store: Store, keys: Iterable[str]) -> None:
    for key in keys:
        store.delete(key)


def _below_array(place: NodeAddress, ancestor: str) -> ContainsArrayError:
    return ContainsArrayError(
        f"{place}: cannot create a node below the array at {'/' + ancestor!r}"
    )


def _looking(
    store: Store, path: str, beside: Callable[[], object] | None = None
) -> RememberingStore:
    """A view of the store that reads every key once, for several looks at `path` and above. Where
    every key is a request, the documents of `path` are fetched together, and `beside` is called at
    the same time; if it fails, the caller calls it again once all else is checked."""
    held = RememberingStore(store)

    def look(function: Callable[[], object]) -> None:
        with suppress(StoreError) if function is beside else nullcontext():
            function()

    if store.capabilities.requests > 1:
        looks: list[Callable[[], object]] = [partial(formats.look_ahead, held, path)]
        parallel.each(look, looks if beside is None else [*looks, beside], 2)
    return held


def _appeared(
    looking: RememberingStore, path: str, documents: Iterable[str]
) -> tuple[Format, Node] | None:
    """A node that appeared at `path` since the first look; None if there is none. A document that
    marks a node or would be overwritten, but describes no known node, is an error: it must not be
    replaced."""
    keys = list(documents)
    for _ in range(_LOOKS):
        claimed = formats.claimed(looking, path, keys)
        if not claimed:
            return None
        looking = RememberingStore(looking.store)
        found = formats.find(looking, path)
        if found is not None:
            return found
    raise NodeExistsError(
        f"{looking!r}, key {claimed[0]!r}: a document is there that describes no node of a format"
        " known here"
    ).advise("mode 'w' or {} replaces it", ("overwrite", True))


def _is_taken(store: Store, path: str) -> bool:
    """Whether a node is there; a broken one counts, since it may be replaced."""
    try:
        return formats.find(store, path) is not None or bool(formats.claimed(store, path))
    except MetadataError:
        return True


def exists(place: NodeAddress, found: Node) -> NodeExistsError:
    """The error for a path that has a node already."""
    is_array = isinstance(found, ArrayModel)
    error = ContainsArrayError if is_array else ContainsGroupError
    message = f"{place}: {'an array' if is_array else 'a group'} is already there"
    return error(message).advise("{} replaces it", ("overwrite", True))


def remove(store: Store, path: str) -> None:
    """Delete a node and everything below it, in every format in which it has documents. A broken
    node is deleted too."""
    looking = _looking(store, path)
    owners = formats.owners(looking, path)
    registering.forget(store, path, owners)
    for keys, prefixes in [known.owned(looking, path) for known in owners]:
        _delete(store, keys)
        for prefix in prefixes:
            store.delete_prefix(prefix)


def _keeps_chunks_apart(place: NodeAddress, model: ArrayModel) -> bool:
    """Whether chunks have another prefix than documents: chunks that an interrupted deletion left
    would become chunks of the new array."""
    own = place.path + "/" if place.path else ""
    return place.store.capabilities.listable and not place.format.chunk_prefix(
        place.path, model
    ).startswith(own)


def _leftover(place: NodeAddress, model: ArrayModel) -> Callable[[], str | None] | None:
    """A function that gives one of the `stale_chunks`; it lists them once. None if such chunks may
    be deleted, since no other node can own them."""
    if _keeps_chunks_apart(place, model):
        return None
    if not place.store.capabilities.listable:
        return lambda: None
    return cache(lambda: next(stale_chunks(place, model), None))


def _check_no_chunks(place: NodeAddress, key: str | None) -> None:
    """Raise if a key exists that the new array would take for a chunk: an interrupted deletion
    leaves chunks without documents."""
    if key is not None:
        found = formats.find(place.store, place.path)
        if found is not None:
            raise exists(place, found[1])
        raise NodeExistsError(
            f"{place}: no node is there, but the value {key!r}, which would become a chunk of the"
            " new array; an interrupted deletion may have left it"
        ).advise("{} removes it", ("overwrite", True))


def stale_chunks(place: NodeAddress, model: ArrayModel) -> Iterator[str]:
    """The keys that a new array would take for chunks of its own."""
    prefix = place.format.chunk_prefix(place.path, model)
    return (key for key, _ in listed(place.store, prefix, model))


def remove_stale_chunks(place: NodeAddress, model: ArrayModel) -> None:
    """Delete the keys that a new array would take for chunks of its own."""
    _delete(place.store, list(stale_chunks(place, model)))


def store_again(place: NodeAddress, model: GroupModel) -> None:
    """Store a group whose store was emptied after it was opened, without its attributes."""
    if model.document and formats.find(place.store, place.path) is None:
        create(place, place.format.new_group({}), overwrite=False)
