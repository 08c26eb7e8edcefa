"""A plan: what is to be done to every node, as facts.

`planning` makes it, `execution` and `in_place` carry it out. Any part of it can be sent to another
process. This module knows what is to be done. It must not do any of it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from omnizarr import formats, limits
from omnizarr.errors import Part, StoreError
from omnizarr.formats import Node
from omnizarr.formats.translation.fill_values import FillValues
from omnizarr.formats.translation.nodes import Choices
from omnizarr.jobs.conversion.chunks import (
    Blocks,
    Listed,
    Portion,
    WrittenBlocks,
    copying,
    encoding,
)
from omnizarr.jobs.conversion.damage import OnDamage
from omnizarr.jobs.conversion.intermediates import intermediate
from omnizarr.jobs.conversion.region_memory import with_kept
from omnizarr.jobs.conversion.report import Action, Row
from omnizarr.jobs.memory import MemoryLike
from omnizarr.jobs.rechunking.lengths import chunks_of, shards_of
from omnizarr.jobs.rechunking.plan import RechunkPlan
from omnizarr.model import paths
from omnizarr.model.array import ArrayModel
from omnizarr.nodes.array import Array
from omnizarr.nodes.node import NodeAddress, Options

JOURNAL = ".omnizarr-convert.json"


@dataclass(frozen=True)
class Wanted:
    """The choices for a whole hierarchy. For chunks and shards see `rechunking.lengths`."""

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
    max_memory: int | None = None
    """For the tasks of a process; None: `limits.worker_bytes`, and more where a chunk needs it."""
    begun_with: int | None = None
    """The same of an interrupted run that is taken up: regions are cut as it cut them."""
    temporary: NodeAddress | None = None
    """Where intermediate arrays go; None: beside the destination, if it can hold them."""

    notes: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """What the report says of nodes besides, by path."""

    @property
    def changes(self) -> bool:
        """Whether arrays become other ones even in their own format."""
        return self.chunks is not None or self.shards is not None or self.compressors != "keep"

    @property
    def memory(self) -> int:
        """For which regions are cut."""
        return self.begun_with or self.max_memory or limits.current.worker_bytes

    def choices(self, path: str, model: ArrayModel) -> Choices:
        cut = chunks_of(self.chunks, path, model)
        split = shards_of(self.shards, path, model, cut)
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
    max_memory: MemoryLike = None
    """For the tasks of a process."""


class Amount(NamedTuple):
    """The work of one pass."""

    units: int
    """Chunks to copy, or regions to encode."""
    size: int
    """Units in one portion."""


class Stage(NamedTuple):
    """The two ends of one pass."""

    source: Array
    target: Array
    """It need not be stored yet."""
    last: bool


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
    amounts: tuple[Amount, ...] = ()
    """Of every pass over an array."""
    chunks: int = 0
    """How many chunks, or shards, of the destination are copied or encoded."""
    digest: str = ""
    """Of all stored chunks: see `chunks.Listed`."""
    everything: bool = False
    """Regions without a stored chunk are written too, because they would read as something else."""
    options: Options = field(default_factory=lambda: Options(read_only=True))
    dropped: tuple[Part, ...] = ()
    notes: tuple[str, ...] = ()
    on_damage: OnDamage = "raise"
    verify: bool = False
    rechunking: RechunkPlan | None = None
    """The passes of an array that is encoded again."""
    temporary: NodeAddress | None = None
    """Where its intermediate arrays are."""

    @property
    def units(self) -> int:
        return sum(amount.units for amount in self.amounts)

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
            self.chunks,
            bytes_read,
            bytes_written,
            (*self.notes, damage) if bad else self.notes,
            self.rechunking,
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

    def stage(self, number: int) -> Stage:
        """The ends of a pass: the source, the destination, and intermediate arrays between."""
        source, target = self.arrays()
        last = self.rechunking is None or number == len(self.rechunking.passes) - 1
        if number > 0:
            source = self._intermediate(number - 1)
        return Stage(source, target if last else self._intermediate(number), last)

    def _intermediate(self, number: int) -> Array:
        assert self.rechunking is not None
        assert self.temporary is not None
        assert isinstance(self.source_model, ArrayModel)
        chunks = self.rechunking.passes[number].write_unit
        place = self.temporary.child(str(number))
        return intermediate(place, self.source_model, chunks)

    def task_bytes(self, number: int) -> int:
        """What a task of a pass takes, with what allocators keep of it."""
        if self.rechunking is not None:
            return with_kept(self.rechunking.passes[number].memory)
        return self.arrays()[0]._source.chunk_bytes

    def portions(self, number: int) -> Iterator[Portion]:
        """The work of a pass over an array, in the same numbered portions every time."""
        source, target = self.arrays()
        listed = Listed(source._source)
        if listed.digest != self.digest:
            # Portions of another listing are others, though they have the same numbers.
            raise source_changed(str(self.source))
        if self.action == "copy chunks":
            yield from copying(listed, target._source)
        elif self.action == "re-encode":
            assert self.rechunking is not None
            stage = self.stage(number)
            before = None
            if number > 0:
                grid = stage.source._model.grid
                before = WrittenBlocks(
                    listed, Blocks(grid, self.rechunking.passes[number - 1].factors)
                )
            yield from encoding(
                listed,
                Blocks(stage.target._model.grid, self.rechunking.passes[number].factors),
                self.amounts[number].size,
                everything=self.everything and stage.last,
                before=before,
            )


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
    temporary: NodeAddress
    """Where intermediate arrays go, if there are any: see `intermediates.place_of`."""
    memory: int
    """For which regions are cut: see `Wanted`."""
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
    def several_passes(self) -> bool:
        """Whether there are intermediate arrays."""
        return any(node.temporary is not None for node in self.nodes)

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


def source_changed(where: str) -> StoreError:
    return StoreError(
        f"{where}: the source changed while it was converted; do not write to it meanwhile."
        " Convert again once it is at rest"
    )


def intermediate_lost(where: str) -> StoreError:
    return StoreError(
        f"{where}: a chunk of this intermediate array is gone; nothing may delete it before the job"
        " is complete. The same call makes it again and goes on"
    )
