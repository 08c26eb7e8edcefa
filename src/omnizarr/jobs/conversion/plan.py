"""A plan: what is to be done to every node, as facts.

`planning` makes it, `execution` and `in_place` carry it out. Any part of it can be sent to another
process. This module knows what is to be done. It must not do any of it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from omnizarr import formats
from omnizarr.errors import Part, StoreError
from omnizarr.formats import Node
from omnizarr.formats.translation.fill_values import FillValues
from omnizarr.formats.translation.nodes import Choices
from omnizarr.jobs.conversion.chunks import Blocks, Listed, Portion, blocks_for, copying, encoding
from omnizarr.jobs.conversion.damage import OnDamage
from omnizarr.jobs.conversion.report import Action, Row
from omnizarr.model import paths
from omnizarr.model.array import ArrayModel
from omnizarr.model.axes import inner_chunks
from omnizarr.nodes.array import Array
from omnizarr.nodes.creation.chunk_shapes import normalize_chunks, normalize_shards
from omnizarr.nodes.node import NodeAddress, Options

JOURNAL = ".omnizarr-convert.json"


@dataclass(frozen=True)
class Wanted:
    """The caller's choices for a whole hierarchy; a mapping goes by path."""

    drop: frozenset[Part] = frozenset()
    reencode: bool = False
    chunks: Any = None
    shards: Any = None
    compressors: Any = "keep"
    same_keys: bool = False
    """Chunks keep their keys: documents are changed in place."""
    exclude: tuple[str, ...] = ()
    on_damage: OnDamage = "raise"
    verify: bool = False
    """Chunks are decoded before they are copied."""
    fill_values: FillValues | None = None

    @property
    def changes(self) -> bool:
        """Whether arrays become other ones even in their own format."""
        return self.chunks is not None or self.shards is not None or self.compressors != "keep"

    def choices(self, path: str, model: ArrayModel) -> Choices:
        chunks, shards = _by_path(self.chunks, path), _by_path(self.shards, path)
        itemsize = model.dtype.itemsize
        cut = None if chunks is None else normalize_chunks(chunks, model.shape, itemsize)
        inner = cut or inner_chunks(model.codecs, model.ndim) or model.grid.chunk_shape
        split: Any = shards
        if shards is not None and shards is not False:
            split = normalize_shards(shards, model.shape, inner)
        return Choices(
            self.drop, self.reencode, cut, split, self.compressors, self.same_keys, self.fill_values
        )


@dataclass(frozen=True)
class Manner:
    """How a plan is carried out."""

    overwrite: bool = False
    resume: bool = True
    progress: Any = None
    workers: int | None = None
    executor: Any = None


def _by_path(value: Any, path: str) -> Any:
    return value.get(path) if isinstance(value, Mapping) else value


@dataclass(frozen=True)
class NodePlan:
    """One node: what it was, what it becomes, and the work between."""

    path: str
    """Relative to the node that is converted."""
    source: NodeAddress
    source_model: Node
    target: NodeAddress
    target_model: Node | None
    """None if the node is left out."""
    action: Action
    documents: Mapping[str, bytes] = field(default_factory=dict)
    units: int = 0
    """Chunks to copy, or regions to encode."""
    size: int = 1
    """Units in one portion."""
    digest: str = ""
    """Of all stored chunks: see `chunks.Listed`."""
    everything: bool = False
    """Regions without a stored chunk are written too, because they would read as something else."""
    options: Options = field(default_factory=lambda: Options(read_only=True))
    dropped: tuple[Part, ...] = ()
    notes: tuple[str, ...] = ()
    on_damage: OnDamage = "raise"
    verify: bool = False

    @property
    def is_array(self) -> bool:
        return isinstance(self.source_model, ArrayModel)

    @property
    def written_model(self) -> ArrayModel | None:
        """The array that is written; None for a group."""
        return self.target_model if isinstance(self.target_model, ArrayModel) else None

    def row(self, bytes_read: int = 0, bytes_written: int = 0, bad: int = 0) -> Row:
        damage = f"{bad} damaged {'chunk' if bad == 1 else 'chunks'}: {self.on_damage}"
        return Row(
            self.path,
            "array" if self.is_array else "group",
            self.source.format.name,
            self.target.format.name,
            self.action,
            self.units,
            bytes_read,
            bytes_written,
            (*self.notes, damage) if bad else self.notes,
        )

    def arrays(self) -> tuple[Array, Array]:
        """Source and destination; the latter need not be stored yet."""
        assert isinstance(self.source_model, ArrayModel)
        assert isinstance(self.target_model, ArrayModel)
        # Without a fill value nothing says what a missing chunk reads as.
        bare = self.everything and self.target_model.fill_value is None
        writing = Options(
            write_empty_chunks=bare,
            allow_pickle=self.options.allow_pickle,
            documents_last=True,
        )
        return (
            Array._of(self.source, self.source_model, self.options.changed(on_missing="fill")),
            Array._of(self.target, self.target_model, writing),
        )

    def portions(self) -> Iterator[Portion]:
        """The work on an array, in the same numbered portions every time."""
        source, target = self.arrays()
        listed = Listed(source._source)
        if listed.digest != self.digest:
            # Portions of another listing are others, though they have the same numbers.
            raise source_changed(str(self.source))
        if self.action == "copy chunks":
            yield from copying(listed, target._source)
        elif self.action == "re-encode":
            blocks = region_blocks(source, target)
            yield from encoding(listed, target._source, blocks, everything=self.everything)


@dataclass(frozen=True)
class ConversionPlan:
    source: NodeAddress
    target: NodeAddress
    nodes: tuple[NodePlan, ...]
    """Parents before their members."""
    parents: Mapping[str, bytes]
    """Documents of groups that are missing above the destination."""
    consolidated: Mapping[str, bytes]
    fingerprint: str
    left_out: tuple[Row, ...] = ()
    """Nodes that the caller excluded."""

    @property
    def journal_key(self) -> str:
        return paths.join(self.target.path, JOURNAL)

    @property
    def roots(self) -> list[str]:
        """The places that must be free: the destination, or every array without groups."""
        written = [node for node in self.nodes if node.target_model is not None]
        if self.nodes[0].target_model is not None:
            written = written[:1]
        return [node.target.path for node in written]

    @property
    def dropped(self) -> tuple[Part, ...]:
        return tuple(sorted({part for node in self.nodes for part in node.dropped}))


def ordered(planned: NodePlan) -> dict[str, bytes]:
    """A node's documents, those that say that a node is there behind all others."""
    chosen, path = planned.target.format, planned.target.path
    claims, own = formats.claims(chosen, path), chosen.keys(path)
    # What is not the node's own is the hierarchy's: without it nothing opens at all.
    return dict(
        sorted(planned.documents.items(), key=lambda item: (item[0] not in own, item[0] in claims))
    )


def region_blocks(source: Array, target: Array) -> Blocks:
    grid = source._model.grid
    return blocks_for(grid, grid.chunk_shape, target._model.grid, target.itemsize)


def source_changed(where: str) -> StoreError:
    return StoreError(
        f"{where}: the source changed while it was converted; do not write to it meanwhile."
        " Convert again once it is at rest"
    )
