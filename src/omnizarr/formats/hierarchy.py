"""Walking a hierarchy whose nodes keep their documents below their own path.

Formats 2 and 3 share this: a child is a name below the parent's prefix that holds one of the
format's documents. It asks a store for listings and batches of documents and parses nothing.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress

from omnizarr import limits
from omnizarr.errors import MetadataError, StoreError, UnsupportedError
from omnizarr.formats.base import FormatName, Node, Owned
from omnizarr.formats.parsed_documents import MOST_BYTES
from omnizarr.model.array import ArrayModel, GroupModel
from omnizarr.model.codec import Json
from omnizarr.model.paths import join
from omnizarr.model.store import Buffer, ByteRange, Store

Keys = Callable[[str], tuple[str, ...]]
Parse = Callable[[str, Mapping[str, Buffer]], Node | None]

BOOTSTRAP = "zarr.json"
"""The document at the root that says which draft of v3 a store follows; in final v3, a node."""
AREAS = ("meta", "data")
"""In a draft, everything below these belongs to the hierarchy as a whole."""


def child_names(store: Store, path: str) -> list[str]:
    """Names directly below `path`; not each of them is a node."""
    prefix = f"{path}/" if path else ""
    return [found[len(prefix) : -1] for found in store.list_dir(prefix).prefixes]


def fetch(store: Store, keys: list[str]) -> dict[str, Buffer]:
    """The documents that exist, in one batch."""
    # One byte more than may be parsed: enough to refuse a larger one, and not to read it.
    most = ByteRange(0, limits.current.max_document_bytes + 1)
    answers = store.get_many([(key, most) for key in keys])
    return {key: data for key, data in zip(keys, answers, strict=True) if data is not None}


def child_documents(
    store: Store, path: str, keys: Keys
) -> Iterator[tuple[str, str, dict[str, Buffer]]]:
    """Name and path of every child that has a document, with its documents, in one listing and one
    batch."""
    prefix = f"{path}/" if path else ""
    wanted = [(name, prefix + name, keys(prefix + name)) for name in child_names(store, path)]
    found = fetch(store, [key for _, _, group in wanted for key in group])
    for name, place, group in wanted:
        documents = {key: found[key] for key in group if key in found}
        if documents:
            yield name, place, documents


def children(
    store: Store, path: str, keys: Keys, parse: Parse, kept: Parse | None = None
) -> dict[str, Node]:
    """The direct members, by name, sorted. `kept` is used in the place of `parse`, unless their
    models would displace one another."""
    members: dict[str, Node] = {}
    found = list(child_documents(store, path, keys))
    size = sum(len(data) for _, _, documents in found for data in documents.values())
    if kept is not None and size <= MOST_BYTES // 2:
        parse = kept
    for name, place, documents in found:
        try:
            node = parse(place, documents)
        except MetadataError as error:
            raise located(error, store) from error
        if node is not None:
            members[name] = node
    return dict(sorted(members.items()))


def descendants(
    store: Store, path: str, keys: Keys, parse: Parse
) -> Iterator[tuple[str, Node, dict[str, Buffer]]]:
    """Every node below `path` with its documents, parents first; arrays are not searched.

    The path is relative to `path`. Chunks are never listed, however many there are."""
    pending = [""]
    while pending:
        relative = pending.pop(0)
        here = join(path, relative)
        for name, place, documents in child_documents(store, here, keys):
            try:
                node = parse(place, documents)
            except MetadataError as error:
                raise located(error, store) from error
            if node is None:
                continue
            child = join(relative, name)
            yield child, node, documents
            if not isinstance(node, ArrayModel):
                pending.append(child)


def in_draft(store: Store, path: str) -> bool:
    """Whether the keys below `path` are chunks and documents of a draft of v3. Nodes of other
    formats, which keep theirs below their path, cannot be there."""
    return path.split("/")[0] in AREAS and is_draft(store)


def is_draft(store: Store, path: str = "") -> bool:
    """Whether the document at the root, or in a folder, is the bootstrap of a draft."""
    from omnizarr.formats.v3_drafts.layouts import read_bootstrap

    key = join(path, BOOTSTRAP)
    data = fetch(store, [key]).get(key)
    try:
        return data is not None and read_bootstrap(data) is not None
    except MetadataError:
        return True  # a draft that cannot be read


def check_outside_drafts(store: Store, path: str) -> None:
    """UnsupportedError if a new node at `path` would be among the chunks or documents of a draft
    whose root is not that of the store: in a folder of it, or above it."""
    names = path.split("/")
    inside = ("/".join(names[:depth]) for depth, name in enumerate(names) if name in AREAS)
    for folder in inside:
        if folder and is_draft(store, folder):  # the root is left to `check_place`
            raise _inside_draft(store, path, f"its folder {folder!r}")
    for place in store.above(AREAS):
        with suppress(StoreError):  # an unreadable neighbour must not prevent a write
            if is_draft(place):
                raise _inside_draft(store, path, repr(place))


def _inside_draft(store: Store, path: str, where: str) -> UnsupportedError:
    return UnsupportedError(
        f"{where} holds a hierarchy of a draft of v3, which keeps"
        " its chunks and documents below 'data' and 'meta', so nothing else can be stored there;"
        " open that hierarchy and name a node in it, or choose another place",
        what="name",
    ).at(store, path=path)


def located(error: MetadataError, store: Store) -> MetadataError:
    """The error with its store in front of its key."""
    return error.at(store)


class BelowPath(ABC):
    """The part of a format that follows from its keeping documents and chunks below the path.

    By default all documents are needed to tell whether a node exists."""

    name: FormatName
    compression_aliases: Mapping[str, str] = {}
    claiming: int = 0
    names_dimensions: bool = False
    states_order: bool = True
    ome_version: str | None = None
    reserved: tuple[str, ...] = ()

    @abstractmethod
    def keys(self, path: str) -> tuple[str, ...]: ...

    @abstractmethod
    def parse(self, path: str, documents: Mapping[str, Buffer]) -> Node | None:
        """The node that the documents of `keys` describe; None if they describe none."""

    @abstractmethod
    def documents(
        self, path: str, node: Node, *, attributes_only: bool = False
    ) -> dict[str, bytes]: ...

    @abstractmethod
    def new_group(self, attributes: Mapping[str, Json]) -> GroupModel: ...

    def probes(self, path: str) -> tuple[str, ...]:
        return self.keys(path)

    def find(self, store: Store, path: str, documents: Mapping[str, Buffer]) -> Node | None:
        probes = self.probes(path)
        if documents.keys().isdisjoint(probes):
            return None
        missing = [key for key in self.keys(path) if key not in probes]
        return self.node(path, {**documents, **fetch(store, missing)} if missing else documents)

    def node(self, path: str, documents: Mapping[str, Buffer]) -> Node | None:
        """What `parse` gives; formats may keep it."""
        return self.parse(path, documents)

    def children(self, store: Store, path: str) -> dict[str, Node]:
        return children(store, path, self.keys, self.parse, self.node)

    def names(self, store: Store, path: str) -> list[str]:
        return child_names(store, path)

    def check_place(self, store: Store, path: str, besides: str = "") -> None:
        if in_draft(store, path):
            raise UnsupportedError(
                f"{store!r} holds a hierarchy of a draft of v3, which keeps its chunks and"
                f" documents below 'data' and 'meta', so no node of format {self.name} can be at"
                f" {path!r}; choose another name or another store",
                what="name",
            )

    def parent_documents(self, path: str) -> dict[str, bytes]:
        return self.documents(path, self.new_group({}))

    def chunk_prefix(self, path: str, model: ArrayModel) -> str:
        return f"{path}/" if path else ""

    def owned(self, store: Store, path: str) -> Owned:
        return Owned((), (f"{path}/" if path else "",))
