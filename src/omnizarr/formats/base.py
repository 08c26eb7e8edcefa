"""The seam of formats: what every format version answers.

A format turns stored documents into models and back, and names keys. It knows nothing of codecs
as code, of stores beyond `model.store.Store`, or of the nodes that a user holds.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple, Protocol, runtime_checkable

from omnizarr.model.array import ArrayModel, GroupModel
from omnizarr.model.codec import CodecSpec, Json
from omnizarr.model.dtypes.base import DataType
from omnizarr.model.grids import Shape
from omnizarr.model.store import Buffer, Store

FormatName = int | str
Node = ArrayModel | GroupModel
Auto = Literal["auto"]
Fast = Literal["fast"]
"""Shuffled Blosc, with a checksum where the format can have one behind a compressor."""


class _Default:
    """The caller said nothing, where None means something."""

    def __repr__(self) -> str:
        return "<default>"


DEFAULT = _Default()


@dataclass(frozen=True)
class ArrayRequest:
    """What a user asks for when creating an array, with codecs already reduced to specs."""

    shape: Shape
    data_type: DataType
    chunks: tuple[int | tuple[int, ...], ...]
    """Chunk shape as read (the inner one if `shards` is given); a tuple lists rectilinear edges."""
    shards: tuple[int | tuple[int, ...], ...] | None = None
    index_location: Literal["start", "end"] = "end"
    """Where the index of a shard is."""
    filters: Sequence[CodecSpec] | Auto | None = "auto"
    """Array-to-array codecs (final v3), or all filters (v2)."""
    serializer: CodecSpec | Auto = "auto"
    compressors: Sequence[CodecSpec] | Auto | Fast | None = "auto"
    codecs: Sequence[CodecSpec] | None = None
    """The whole pipeline; excludes filters, serializer, compressors and shards."""
    fill_value: Any = DEFAULT
    """DEFAULT: the format's own choice. None: no fill value, where the format has such."""
    order: Literal["C", "F"] = "C"
    separator: Literal[".", "/"] | None = None
    key_encoding: Literal["default", "v2"] | None = None
    dimension_names: tuple[str | None, ...] | None = None
    attributes: Mapping[str, Json] = field(default_factory=dict)


class Owned(NamedTuple):
    """The keys of a node and of everything below it, in the order in which they are deleted:
    documents first, so that what an interruption leaves is no node."""

    keys: tuple[str, ...]
    prefixes: tuple[str, ...] = ()


class Format(Protocol):
    """What every format answers. Conveniences on top of it are functions of `omnizarr.formats`;
    consolidated metadata is a second protocol, `Consolidating`."""

    name: FormatName
    compression_aliases: Mapping[str, str]
    """Names of `compression=` that mean another codec in this format."""
    claiming: int
    """How many of the first `keys` prove that a node exists, even one that cannot be read."""
    names_dimensions: bool
    """Whether the document of an array has a member of its own for dimension names."""
    states_order: bool
    """Whether the document of an array has a member of its own for the memory order."""
    ome_version: str | None
    """The version of OME-NGFF for images in this format; None if there is none."""
    reserved: tuple[str, ...]
    """Attributes that belong to the format: they stay when a user replaces all attributes."""

    # -- reading ------------------------------------------------------------------------------
    def probes(self, path: str) -> tuple[str, ...]:
        """The fewest documents that tell whether a node of this format may exist at `path`."""
        ...

    def keys(self, path: str) -> tuple[str, ...]:
        """The documents that may describe the node at `path`. The first is the one that is locked
        while any of them is changed."""
        ...

    def find(self, store: Store, path: str, documents: Mapping[str, Buffer]) -> Node | None:
        """The node at `path`, given those documents of `probes` that exist; None if there is none.

        It may read further documents, and list only where nothing else can tell.
        MetadataError (named, located by key) if a document is broken."""
        ...

    def children(self, store: Store, path: str) -> dict[str, Node]:
        """The direct members of the group at `path`, by name, sorted."""
        ...

    def names(self, store: Store, path: str) -> list[str]:
        """Names below the group at `path`, from a listing alone; not every one need be a node."""
        ...

    # -- writing ------------------------------------------------------------------------------
    def new_array(self, request: ArrayRequest) -> ArrayModel: ...
    def new_group(self, attributes: Mapping[str, Json]) -> GroupModel: ...

    def check_place(self, store: Store, path: str, besides: str = "") -> None:
        """UnsupportedError if no new node of this format may exist at `path`, for its name or for
        what else is in the store, but for the node at `besides`, which will be gone."""
        ...

    def documents(
        self, path: str, node: Node, *, attributes_only: bool = False
    ) -> dict[str, bytes]:
        """What must be stored for a node, or only what holds its attributes."""
        ...

    def parent_documents(self, path: str) -> dict[str, bytes]:
        """What must be stored where a parent of a new node has no documents yet."""
        ...

    # -- keys ---------------------------------------------------------------------------------
    def chunk_prefix(self, path: str, model: ArrayModel) -> str:
        """What stands before every chunk key of the array: "" or a prefix that ends with "/". Where
        a 0-d array has one key without a name of its own, it is that key (see `store.keys_at`)."""
        ...

    def owned(self, store: Store, path: str) -> Owned:
        """What belongs to the node at `path` and to those below it: all that may be deleted with
        it, and nothing else."""
        ...


@runtime_checkable
class Consolidating(Protocol):
    """A format in which one document of a group may describe all nodes below it."""

    def consolidated_keys(self, path: str) -> tuple[str, ...]:
        """The documents that may hold consolidated metadata."""
        ...

    def parse_consolidated(self, path: str, documents: Mapping[str, Buffer]) -> GroupModel | None:
        """The group with `consolidated` filled; None if nothing is consolidated there."""
        ...

    def consolidate(
        self, store: Store, path: str, made: Mapping[str, bytes] | None = None
    ) -> dict[str, bytes]:
        """The documents that make the group at `path` consolidated. `made`: what this returned some
        time ago; then only what else such a document holds is read anew."""
        ...


Change = Callable[[dict[str, Json]], Mapping[str, Json]]
"""What a group's attributes become, from what they are."""


class Placement(NamedTuple):
    """A new node, and what changes in groups above it, by their paths."""

    node: Node
    before: Mapping[str, Change] = {}
    """Changes that are stored before the node."""
    after: Mapping[str, Change] = {}
    """Changes that are stored once the node is."""


@runtime_checkable
class Registering(Protocol):
    """A format in which groups name their members and what members share. `above` has the nodes
    above a path, by their own paths."""

    def placed(self, path: str, node: Node, above: Mapping[str, Node]) -> Placement:
        """A new node as it is stored at `path`. MetadataError if it does not fit there."""
        ...

    def registered(self, nodes: Mapping[str, Node]) -> dict[str, dict[str, bytes]]:
        """The documents of a whole new hierarchy, by path; `nodes` has parents first."""
        ...

    def removed(self, path: str, above: Mapping[str, Node]) -> dict[str, Change]:
        """What changes above before a node is deleted."""
        ...

    def resized(
        self, path: str, node: ArrayModel, before: tuple[int, ...], above: Mapping[str, Node]
    ) -> dict[str, Change]:
        """What changes above after an array, which had the shape `before`, has another one."""
        ...


class Registrar(Format, Registering, Protocol):
    """Such a format."""
