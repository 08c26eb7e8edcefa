"""What arrays and groups share: where a node lies, how it was opened, how it is changed.

Functions here find, create, change and remove nodes through their format; they never look
inside a document. Every change re-reads the stored documents under a lock, so that two writers
of one node's metadata lose nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, nullcontext, suppress
from dataclasses import dataclass, replace
from typing import Any, Literal, NamedTuple, TypeVar

from omnizarr import formats
from omnizarr.engine import exclusive, update
from omnizarr.errors import (
    ArrayNotFoundError,
    ContainsArrayError,
    ContainsGroupError,
    GroupNotFoundError,
    MetadataError,
    NodeExistsError,
    NodeNotFoundError,
    ReadOnlyError,
    UncertainWriteError,
)
from omnizarr.formats.base import Format, Node
from omnizarr.keywords import refuse_unknown
from omnizarr.model import paths
from omnizarr.model.array import ArrayModel, GroupModel
from omnizarr.model.store import Store, keys_at
from omnizarr.nodes.missing_nodes import beside
from omnizarr.stores.wrappers.base import RememberingStore

N = TypeVar("N", ArrayModel, GroupModel)

PROBE = ".omnizarr-new"
"""A key that exists for a moment while a node is replaced."""
_LOOKS = 3
"""How often a document that describes no node is looked at again: its node may just be stored."""


@dataclass(frozen=True)
class Options:
    """How a node was opened; members of a group inherit it."""

    read_only: bool = False
    allow_pickle: bool = False
    write_empty_chunks: bool | None = None
    on_missing: Literal["fill", "raise"] | None = None
    order: Literal["C", "F"] | None = None
    text: Literal["string", "object", "bytes"] | None = None
    """What text reads as: NumPy's StringDType, Python's str, or its bytes in UTF-8."""
    cache_metadata: bool = True
    cache_attrs: bool = True
    synchronizer: Any = None
    chunk_store: Store | None = None
    documents_last: bool = False
    """Chunks are written before there are documents, so nothing is looked for before a write."""

    def __post_init__(self) -> None:
        for name, choices in _CHOICES.items():
            value = getattr(self, name)
            if value not in choices:
                expected = ", ".join(repr(choice) for choice in choices if choice is not None)
                raise MetadataError(f"{name} must be one of {expected}, found {value!r}")

    def changed(self, **members: Any) -> Options:
        return replace(self, **members)

    def configured(self, config: Any) -> Options:
        """With what zarr-python's `config=` says: a mapping, or an object with such attributes."""
        names = ("order", "write_empty_chunks", "read_missing_chunks")
        if isinstance(config, Mapping):
            refuse_unknown(config, names, "config")
            found = {name: config[name] for name in names if name in config}
        else:
            found = {name: getattr(config, name) for name in names if hasattr(config, name)}
        if "read_missing_chunks" in found:
            found["on_missing"] = "fill" if found.pop("read_missing_chunks") else "raise"
        return replace(self, **found)


_CHOICES: dict[str, tuple[Any, ...]] = {
    "write_empty_chunks": (True, False, None),
    "on_missing": ("fill", "raise", None),
    "order": ("C", "F", None),
    "text": ("string", "object", "bytes", None),
}


@dataclass(frozen=True)
class Place:
    """A node's address: its store, its path in it, and the format that it is written in."""

    store: Store
    path: str
    format: Format

    def child(self, path: str) -> Place:
        return Place(self.store, paths.join(self.path, path), self.format)

    def __str__(self) -> str:
        return f"{self.store!r}, path {'/' + self.path!r}"


class StorePath(NamedTuple):
    """A place in a store, as zarr-python names it."""

    store: Store
    path: str

    def __str__(self) -> str:
        return f"{self.store!r}/{self.path}"


def find(store: Store, path: str, preferred: Format | None = None) -> tuple[Place, Node] | None:
    """The node at `path`, in whatever format it is; in the preferred one if there are several."""
    found = formats.find(store, path, preferred=preferred)
    if found is None and preferred is not None:
        found = formats.assumed(store, path, preferred)
    if found is None:
        return None
    return Place(store, path, found[0]), found[1]


def find_in(store: Store, path: str, zarr_format: Any) -> tuple[Place, Node] | None:
    """The node at `path`, looked for in one format only if one is named."""
    if zarr_format is None:
        return find(store, path)
    chosen = formats.get_format(zarr_format)
    found = formats.find(store, path, (chosen,)) or formats.assumed(store, path, chosen)
    return None if found is None else (Place(store, path, found[0]), found[1])


def require_array(store: Store, path: str, zarr_format: Any = None) -> tuple[Place, ArrayModel]:
    return as_array(find_in(store, path, zarr_format), store, path, zarr_format)


def as_array(
    found: tuple[Place, Node] | None, store: Store, path: str, zarr_format: Any = None
) -> tuple[Place, ArrayModel]:
    """What was found, if it is an array."""
    if found is None:
        raise ArrayNotFoundError(not_found("array", store, path, zarr_format))
    place, model = found
    if not isinstance(model, ArrayModel):
        raise ContainsGroupError(f"{place}: expected an array, found a group; use open_group")
    return place, model


def require_group(store: Store, path: str, zarr_format: Any = None) -> tuple[Place, GroupModel]:
    return as_group(find_in(store, path, zarr_format), store, path, zarr_format)


def as_group(
    found: tuple[Place, Node] | None, store: Store, path: str, zarr_format: Any = None
) -> tuple[Place, GroupModel]:
    """What was found, if it is a group."""
    if found is None:
        raise GroupNotFoundError(not_found("group", store, path, zarr_format))
    place, model = found
    if not isinstance(model, GroupModel):
        raise ContainsArrayError(f"{place}: expected a group, found an array; use open_array")
    return place, model


def not_found(kind: str, store: Store, path: str, zarr_format: Any = None) -> str:
    """Why no node was found; in one format only, where `zarr_format` asks for it."""
    other = None
    if zarr_format is not None:
        with suppress(MetadataError):
            other = formats.find(store, path)
    if other is not None:
        here = "an array" if isinstance(other[1], ArrayModel) else "a group"
        return (
            f"no {kind} of format {formats.get_format(zarr_format).name} at path {'/' + path!r}:"
            f" {store!r} has {here} of format {other[0].name} there; leave zarr_format out to open"
            " it, or convert it"
        )
    why = f"{formats.explain_missing(store, path)}{beside(store, path)}"
    return f"no {kind} at path {'/' + path!r}: {why}"


def choose_format(store: Store, path: str, zarr_format: Any, default: Any) -> Format:
    """The format for a new node: the one asked for, else that of the nearest node above."""
    if zarr_format is not None:
        return formats.get_format(zarr_format)
    for ancestor in reversed(paths.ancestors(path)):
        found = formats.find(store, ancestor)
        if found is not None:
            return found[0]
    return formats.get_format(default)


def create(place: Place, model: Node, *, overwrite: bool) -> None:
    """Store a new node, and groups above it where there are none.

    Everything that can be refused is refused before anything is changed. Of two who create a node
    at one path at once, one gets the error for a place that is taken, where the store can tell.
    """
    store, path, chosen = place.store, place.path, place.format
    store.check_writable()
    documents = (
        chosen.array_documents(path, model)
        if isinstance(model, ArrayModel)
        else chosen.group_documents(path, model)
    )
    looking = _looking(store, path)
    taken = overwrite and _is_taken(looking, path)
    formats.check_outside_drafts(store, path)
    if path or not taken:  # at the root all that is there will be gone
        chosen.check_place(looking, path)
    missing: dict[str, bytes] = {}
    for ancestor in paths.ancestors(path):
        found = formats.find(looking, ancestor)
        if found is None:
            above = chosen.parent_documents(ancestor)
            found = _appeared(looking, ancestor, above)
            missing |= above if found is None else {}
        if found is not None and isinstance(found[1], ArrayModel):
            raise _below_array(place, ancestor)
    if taken:
        if store.capabilities.hierarchies_only:
            remove(store, path)
        else:  # a full or failing store should say so before anything is gone
            probe = chosen.keys(path)[0] + PROBE
            store.set(probe, b"".join(documents.values()))
            remove(store, path)
            store.delete(probe)
    elif overwrite:  # attributes of no node must not become those of the new one
        there = formats.documents(chosen, looking, path)
        _delete(store, [key for key in chosen.keys(path) if key in there])
    else:
        existing = formats.find(looking, path) or _appeared(looking, path, documents)
        if existing is not None:
            raise exists(place, existing[1])
    stale: list[str] = []
    if isinstance(model, ArrayModel):
        if overwrite or _keeps_chunks_apart(place, model):
            stale = list(stale_chunks(place, model))
        else:
            _check_no_chunks(place, model)
    _add_groups(place, missing)
    if overwrite:
        _delete(store, stale)
    _put(place, model, documents, overwrite)
    if not overwrite:
        _delete(store, stale)  # not before: they would be those of somebody who was faster
    for prefix in chosen.empty_prefixes(path) if isinstance(model, ArrayModel) else ():
        store.make_prefix(prefix)


def _add_groups(place: Place, missing: Mapping[str, bytes]) -> None:
    """Store documents of groups above that were missed. What somebody else has stored since then
    stays; if it is an array, nothing can be created below it."""
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
    """What `set_if_absent` needs, so that of two threads one at most is told that it was first."""
    return nullcontext() if store.capabilities.conditional else exclusive(store, key)


def _put(place: Place, model: Node, documents: Mapping[str, bytes], overwrite: bool) -> None:
    """Store the documents of a new node; unless it overwrites, not where somebody else does so at
    the same time.

    The one that says that there is a node decides, be it the first or the last. What comes after it
    are attributes of a node that is ours, but that others can see and change already. Whoever
    reads it in between sees none, and a failure in between leaves a node that has none."""
    store = place.store
    attributes = place.format.attribute_documents(place.path, model)
    deciding = next((key for key in documents if key not in attributes), next(iter(documents)))
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


def _put_attributes(place: Place, model: Node, key: str, document: bytes, overwrite: bool) -> None:
    """Store the attributes of a new node, besides those that somebody has given it already."""
    with (
        suppress(UncertainWriteError),  # putting them together twice does no harm
        exclusive(place.store, place.format.keys(place.path)[0]),
    ):
        if place.store.set_if_absent(key, document):
            return
    if key in place.format.claims(place.path):  # more than attributes: a node of somebody else
        if not overwrite:
            raise _taken(place)
        place.store.set(key, document)
        return
    ours = model.attributes
    change_attributes(place, Options(), lambda new: new | {**ours} if overwrite else {**ours} | new)


def _taken(place: Place) -> NodeExistsError:
    found = formats.find(place.store, place.path)
    if found is not None:
        return exists(place, found[1])
    return NodeExistsError(f"{place}: somebody else is creating or deleting a node there")


def _delete(store: Store, keys: Iterable[str]) -> None:
    for key in keys:
        store.delete(key)


def _below_array(place: Place, ancestor: str) -> ContainsArrayError:
    return ContainsArrayError(
        f"{place}: cannot create a node below the array at {'/' + ancestor!r}"
    )


def _looking(store: Store, path: str) -> RememberingStore:
    """The store, for looking at `path` and above it several times, always at the same values. Where
    every key is a request of its own, those of `path` are asked for together."""
    held = RememberingStore(store)
    if store.capabilities.requests > 1:
        formats.look_ahead(held, path)
    return held


def _appeared(
    looking: RememberingStore, path: str, documents: Iterable[str]
) -> tuple[Format, Node] | None:
    """A node that was stored at `path` while others were looked for there and not found; None if
    nothing is there. A document that is there, though it describes no node known here, must not be
    replaced: one that says that a node is there, or one of those that would be written."""
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
        " known here; it is not replaced (mode 'w' or overwrite=True at its path would)"
    )


def _is_taken(store: Store, path: str) -> bool:
    """Whether a node lies there, a broken one included: it may be replaced, if not opened."""
    try:
        return formats.find(store, path) is not None or bool(formats.claimed(store, path))
    except MetadataError:
        return True


def exists(place: Place, node: Node) -> NodeExistsError:
    """The error for a place that is taken."""
    if isinstance(node, ArrayModel):
        return ContainsArrayError(
            f"{place}: an array is already there (overwrite=True replaces it)"
        )
    return ContainsGroupError(f"{place}: a group is already there (overwrite=True replaces it)")


def remove(store: Store, path: str) -> None:
    """Delete a node and everything below it, a broken one included, in every format in which it
    has documents."""
    looking = _looking(store, path)
    for keys, prefixes in [known.owned(looking, path) for known in formats.owners(looking, path)]:
        _delete(store, keys)
        for prefix in prefixes:
            store.delete_prefix(prefix)


def _keeps_chunks_apart(place: Place, model: ArrayModel) -> bool:
    """Whether chunks lie elsewhere than documents: what is left of a deletion that was interrupted
    would then be taken for chunks of the new array."""
    own = place.path + "/" if place.path else ""
    return place.store.capabilities.listable and not place.format.chunk_prefix(
        place.path, model
    ).startswith(own)


def _check_no_chunks(place: Place, model: ArrayModel) -> None:
    """Raise if values lie where the chunks of a new array would: an interrupted deletion leaves
    chunks without documents."""
    if not place.store.capabilities.listable:
        return
    key = next(stale_chunks(place, model), None)
    if key is not None:
        found = formats.find(place.store, place.path)
        if found is not None:
            raise exists(place, found[1])
        raise NodeExistsError(
            f"{place}: no node is there, but the value {key!r}, which would become a chunk of the"
            " new array; an interrupted deletion may have left it (overwrite=True removes it)"
        )


def stale_chunks(place: Place, model: ArrayModel) -> Iterator[str]:
    """The keys that a new array would take for chunks of its own."""
    prefix = place.format.chunk_prefix(place.path, model)
    spellings = (model.keys, *model.keys.alternatives)
    for key in keys_at(place.store, prefix):
        name = key[len(prefix) :]
        if any(keys.decode(name, model.ndim) is not None for keys in spellings):
            yield key


def remove_stale_chunks(place: Place, model: ArrayModel) -> None:
    """Delete those; leave all else alone."""
    _delete(place.store, list(stale_chunks(place, model)))


def reread(place: Place) -> Node:
    """The node as it is stored now."""
    store, path, chosen = place.store, place.path, place.format
    found = formats.find(store, path, (chosen,)) or formats.assumed(store, path, chosen)
    if found is None:
        raise NodeNotFoundError(f"{place}: the node was deleted after it was opened, or moved")
    return found[1]


def read_only(place: Place) -> ReadOnlyError:
    """Why a node cannot be changed, and what to do."""
    if place.store.read_only:
        return ReadOnlyError(f"{place}: the store can only be read")
    return ReadOnlyError(f"{place} was opened for reading only; open it with mode 'r+' or 'a'")


def change(
    place: Place, options: Options, function: Callable[[N], N], *, repeatable: bool = True
) -> N:
    """Re-read the node, change it and store it, with every other writer kept out. What is not
    `repeatable` is done once, or it is an error that nobody can tell whether it was done."""
    return _change(  # type: ignore[no-any-return]
        place, options, function, attributes_only=False, repeatable=repeatable
    )


def change_attributes(
    place: Place,
    options: Options,
    function: Callable[[dict[str, Any]], Mapping[str, Any]],
    check: Callable[[Any], None] = lambda _: None,
) -> Node:
    """The same for the attributes alone. `check` may refuse the node that is stored."""

    def changed(node: Any) -> Any:
        check(node)
        return replace(node, attributes=function(dict(node.attributes)))

    return _change(place, options, changed, attributes_only=True)  # type: ignore[no-any-return]


def _change(
    place: Place,
    options: Options,
    function: Any,
    *,
    attributes_only: bool,
    repeatable: bool = True,
) -> Any:
    if options.read_only:
        raise read_only(place)
    store, path, chosen = place.store, place.path, place.format

    def documents_of(node: Any) -> dict[str, bytes]:
        if attributes_only:
            return chosen.attribute_documents(path, node)
        if isinstance(node, ArrayModel):
            return chosen.array_documents(path, node)
        return chosen.group_documents(path, node)

    def update_documents(held: Store) -> Any:
        before = reread(replace(place, store=held))
        old, new = documents_of(before), documents_of(function(before))
        for key, document in new.items():
            # One that says the same is not written: it may have been changed by somebody else.
            if attributes_only or old.get(key) != document:
                held.set(key, document)
        return reread(place)

    return update(store, chosen.keys(path)[0], update_documents, repeatable=repeatable)
