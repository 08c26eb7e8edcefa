"""What arrays and groups share: the address of a node, how it was opened, how it is changed.

Functions here find and change nodes through their format; they never look inside a document. Every
change reads the stored documents again, under a lock, so that two concurrent changes of one node's
metadata lose nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import cache
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypeVar

import numpy as np

from omnizarr import formats
from omnizarr.config import config
from omnizarr.errors import (
    ArrayNotFoundError,
    ContainsArrayError,
    ContainsGroupError,
    GroupNotFoundError,
    MetadataError,
    NodeNotFoundError,
    ReadOnlyError,
    ZarrUserWarning,
)
from omnizarr.formats.base import Format, Node
from omnizarr.keywords import nearest
from omnizarr.model import paths
from omnizarr.model.array import ArrayModel, GroupModel
from omnizarr.model.store import Store
from omnizarr.runtime.warning import warn

if TYPE_CHECKING:
    from omnizarr.nodes.creation.arguments import Synchronizer

N = TypeVar("N", ArrayModel, GroupModel)


@dataclass(frozen=True)
class Options:
    """Settings of an open node; members of a group inherit them."""

    read_only: bool = False
    allow_pickle: bool = False
    write_empty_chunks: bool | None = None
    on_missing: Literal["fill", "raise"] | None = None
    order: Literal["C", "F"] | None = None
    usual_order: Literal["C", "F"] | None = field(
        default_factory=lambda: config.get("array.read_order")
    )
    """The order without `order`, for formats that store none; None: that of the chunks."""
    text: Literal["string", "object", "bytes"] | None = None
    """What text reads as: NumPy's StringDType, Python's str, or its bytes in UTF-8."""
    cache_metadata: bool = True
    cache_attrs: bool = True
    synchronizer: Synchronizer | None = None
    chunk_store: Store | None = None
    view: Mapping[str, Any] | None = None
    """Arguments of `Array.view`: facts that replace stored ones. None if the handle is no view."""
    array_type: type[Any] | None = None
    """Subclass of NumPy's arrays that values are read as (`meta_array=`)."""
    documents_last: bool = False
    """Chunks are written before documents, so that a write does not look for documents first."""

    def __post_init__(self) -> None:
        for name, choices in _CHOICES.items():
            value = getattr(self, name)
            if value not in choices:
                expected = ", ".join(repr(choice) for choice in choices if choice is not None)
                raise MetadataError(f"{name} must be one of {expected}, found {value!r}")

    def changed(self, **members: Any) -> Options:
        return replace(self, **members)

    def configured(self, config: Any) -> Options:
        """The same with zarr-python's `config=`: a mapping, or an object with such attributes."""
        names = ("order", "write_empty_chunks", "read_missing_chunks")
        if isinstance(config, Mapping):
            unknown = sorted(set(config) - {*names, *_WITHOUT_EFFECT})
            if unknown:
                raise TypeError(
                    f"Unknown array config keys: {unknown}{nearest(unknown[0], names)}; known are"
                    f" {', '.join(names)}"
                )
            found = {name: config[name] for name in names if name in config}
        else:
            found = {name: getattr(config, name) for name in names if hasattr(config, name)}
        if not isinstance(found.get("read_missing_chunks", True), bool | np.bool_):
            raise ValueError(
                "config: read_missing_chunks: Expected instance of bool, found"
                f" {found['read_missing_chunks']!r}"
            )
        if "read_missing_chunks" in found:
            found["on_missing"] = "fill" if found.pop("read_missing_chunks") else "raise"
        return replace(self, **found)


def opened_as(mode: str) -> Options:
    """The settings of a node that is opened with a mode and nothing else."""
    return _plain(mode == "r", config.get("array.read_order"))


@cache
def _plain(read_only: bool, usual_order: Literal["C", "F"] | None) -> Options:
    return Options(read_only=read_only, usual_order=usual_order)


_WITHOUT_EFFECT = ("sharding_coalesce_max_gap_bytes", "sharding_coalesce_max_bytes")
"""Members of zarr-python's `config` that a store's capabilities decide here."""
_CHOICES: dict[str, tuple[Any, ...]] = {
    "write_empty_chunks": (True, False, None),
    "on_missing": ("fill", "raise", None),
    "order": ("C", "F", None),
    "text": ("string", "object", "bytes", None),
}


class NodeAddress(NamedTuple):
    """A node's address: its store, its path in it, and the format that it is written in."""

    store: Store
    path: str
    format: Format

    def child(self, path: str) -> NodeAddress:
        return NodeAddress(self.store, paths.join(self.path, path), self.format)

    def check_format(self, asked: Any) -> None:
        """Refuse to create a member of a group in another format."""
        if asked is not None and not formats.same(self.format, formats.get_format(asked)):
            raise MetadataError(
                f"{self}: cannot create a zarr_format={asked} array in a"
                f" zarr_format={self.format.name} group"
            )

    def __str__(self) -> str:
        return f"{self.store!r}, path {'/' + self.path!r}"


class StorePath(NamedTuple):
    """A store and a path in it, as zarr-python has them together."""

    store: Store
    """The store."""
    path: str
    """The path, without a leading slash."""

    def __str__(self) -> str:
        return f"{self.store!r}/{self.path}"


def store_path(place: NodeAddress) -> StorePath:
    """Store and path of a node, as its store shows them."""
    face: Any = place.store.face
    shown = None if face is None else face.__omnizarr_path__(place.path)
    if shown is None:
        return StorePath(place.store if face is None else face, place.path)
    return shown  # type: ignore[no-any-return]  # what `compat` serves behaves like one


def warn_of_repair(place: NodeAddress, found: Node) -> None:
    """Warn if an array that is opened is not read as its document says."""
    if isinstance(found, ArrayModel) and found.repair is not None and found.repair.warning:
        warn(f"Array {str(store_path(place))!r}: {found.repair.warning}", ZarrUserWarning)


def find(
    store: Store, path: str, preferred: Format | None = None
) -> tuple[NodeAddress, Node] | None:
    """The node at `path` in any format; in the preferred one if there are several."""
    found = formats.find(store, path, preferred=preferred)
    if found is None and preferred is not None:
        found = formats.assumed(store, path, preferred)
    if found is None:
        return None
    return NodeAddress(store, path, found[0]), found[1]


def find_in(store: Store, path: str, zarr_format: Any) -> tuple[NodeAddress, Node] | None:
    """The node at `path`, in one format only if one is named."""
    if zarr_format is None:
        return find(store, path)
    chosen = formats.get_format(zarr_format)
    found = formats.find(store, path, (chosen,)) or formats.assumed(store, path, chosen)
    return None if found is None else (NodeAddress(store, path, found[0]), found[1])


def require_array(
    store: Store, path: str, zarr_format: Any = None
) -> tuple[NodeAddress, ArrayModel]:
    """The array at `path`; an error if there is none."""
    return as_array(find_in(store, path, zarr_format), store, path, zarr_format)


def require_group(
    store: Store, path: str, zarr_format: Any = None
) -> tuple[NodeAddress, GroupModel]:
    """The group at `path`; an error if there is none."""
    return as_group(find_in(store, path, zarr_format), store, path, zarr_format)


def as_array(
    found: tuple[NodeAddress, Node] | None, store: Store, path: str, zarr_format: Any = None
) -> tuple[NodeAddress, ArrayModel]:
    """What was found, if it is an array; an error otherwise. It is opened: a warning tells if it is
    not read as its document says."""
    match found:
        case (place, ArrayModel() as model):
            warn_of_repair(place, model)
            return place, model
        case (place, _):
            raise ContainsGroupError(f"{place}: expected an array, found a group; use open_group")
    raise not_found(ArrayNotFoundError, store, path, zarr_format)


def as_group(
    found: tuple[NodeAddress, Node] | None, store: Store, path: str, zarr_format: Any = None
) -> tuple[NodeAddress, GroupModel]:
    """What was found, if it is a group; an error otherwise."""
    match found:
        case (place, GroupModel() as model):
            return place, model
        case (place, _):
            raise ContainsArrayError(f"{place}: expected a group, found an array; use open_array")
    raise not_found(GroupNotFoundError, store, path, zarr_format)


_KINDS = {ArrayNotFoundError: "array", GroupNotFoundError: "group"}


def not_found(
    error: type[NodeNotFoundError], store: Store, path: str, zarr_format: Any = None
) -> NodeNotFoundError:
    """The error for a path without a node; with `zarr_format`, without one of that format."""
    missing = f"no {_KINDS.get(error, 'array or group')}"
    other = None
    if zarr_format is not None:
        with suppress(MetadataError):
            other = formats.find(store, path)
    if other is not None:
        here = "an array" if isinstance(other[1], ArrayModel) else "a group"
        return error(
            f"{missing} of format {formats.get_format(zarr_format).name} at path {'/' + path!r}:"
            f" {store!r} has {here} of format {other[0].name} there"
        ).advise("leave zarr_format out to open it, or convert it")
    from omnizarr.nodes.missing_nodes import beside

    why = formats.explain_missing(store, path)
    return error(f"{missing} at path {'/' + path!r}: {why}").advise(beside(store, path))


def choose_format(store: Store, path: str, zarr_format: Any, default: Any) -> Format:
    """The format for a new node: the one asked for, else that of the nearest node above."""
    if zarr_format is not None:
        chosen = formats.get_format(zarr_format)
        return formats.registrar(store, path, [chosen]) or chosen
    for ancestor in reversed(paths.ancestors(path)):
        found = formats.find(store, ancestor)
        if found is not None:
            return found[0]
    return formats.get_format(default if store.preferred_format is None else store.preferred_format)


def reread(place: NodeAddress) -> Node:
    """The node as it is stored now."""
    store, path, chosen = place.store, place.path, place.format
    found = formats.find(store, path, (chosen,)) or formats.assumed(store, path, chosen)
    if found is None:
        raise NodeNotFoundError(f"{place}: the node was deleted after it was opened, or moved")
    return found[1]


def read_only(place: NodeAddress, options: Options) -> ReadOnlyError:
    """Why a node cannot be changed, and what to do."""
    reason = ReadOnlyError("it was opened with mode 'r' or read_only=True").advise(
        "open it with mode 'r+' to change it"
    )
    try:
        place.store.check_writable()
    except ReadOnlyError as error:
        if not options.read_only or error.advice:  # no mode helps
            reason = error
    return ReadOnlyError(reason.reason).at(place.store, path=place.path).advise(reason.advice)


def spelled(
    place: NodeAddress, documents: dict[str, bytes], *, new: bool = False
) -> dict[str, bytes]:
    """Documents that are written next, as the library writes them for which the store stands in.
    `new`: those of a new node, to which it may add documents and members."""
    face = place.store.face
    return documents if face is None else face.__omnizarr_documents__(documents, new)


def change(
    place: NodeAddress, options: Options, function: Callable[[N], N], *, repeatable: bool = True
) -> N:
    """Read the node again, change it and store it, under the lock of its document. A change that is
    not `repeatable` is made once; if a failure leaves that unknown, it is an error."""

    def changed(before: Any) -> dict[str, bytes]:
        old = place.format.documents(place.path, before)
        new = place.format.documents(place.path, function(before))
        if isinstance(before, ArrayModel) and before.repair is not None:
            del old[place.format.keys(place.path)[0]]  # what is stored is not valid
        # An unchanged document is not written: another process may have changed it.
        return spelled(
            place, {key: document for key, document in new.items() if old.get(key) != document}
        )

    return _change(place, options, changed, repeatable)  # type: ignore[no-any-return]


def attributes_key(place: NodeAddress, found: Node) -> str:
    """The key of the document that holds a node's attributes."""
    return next(iter(place.format.documents(place.path, found, attributes_only=True)))


def change_attributes(
    place: NodeAddress,
    options: Options,
    function: Callable[[dict[str, Any]], Mapping[str, Any]],
    check: Callable[[Any], None] = lambda _: None,
) -> Node:
    """The same for the attributes alone. `check` may refuse the node that is stored."""

    def changed(node: Any) -> dict[str, bytes]:
        check(node)
        before, new = node.attributes, dict(function(dict(node.attributes)))
        for name in place.format.reserved:
            if name in before and name not in new:
                new[name] = before[name]
        node = replace(node, attributes=new)
        made = place.format.documents(place.path, node, attributes_only=True)
        if place.store.face is None:
            return made
        whole = place.format.documents(place.path, node) | made
        again = spelled(place, whole).items()
        return {key: data for key, data in again if key in made or data != whole[key]}

    return _change(place, options, changed, True)  # type: ignore[no-any-return]


def _change(
    place: NodeAddress, options: Options, changed: Callable[[Any], dict[str, bytes]], repeat: bool
) -> Any:
    if options.read_only or place.store.read_only:
        raise read_only(place, options)

    from omnizarr.engine import update

    def update_documents(held: Store) -> Any:
        for key, document in changed(reread(place._replace(store=held))).items():
            held.set(key, document)
        return reread(place)

    key = place.format.keys(place.path)[0]
    return update(place.store, key, update_documents, repeatable=repeat)
