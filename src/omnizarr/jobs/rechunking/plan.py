"""A plan for giving an array other chunks: passes over regions, and what they cost.

A pass reads regions of one grid and writes them into another. Each region consists of whole write
units (chunks, or shards) of the grid that is written. With one pass the destination is written at
once; with more, arrays with chunks of an intermediate shape lie between.

Costs are those of an array of which every chunk is stored; missing chunks are neither read nor
written. Bytes are decoded bytes.

This module knows numbers. It must not know how they are chosen.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import prod

from omnizarr.model.grids import Shape
from omnizarr.runtime.progress import size


@dataclass(frozen=True)
class Pass:
    """One reading and writing of the whole array."""

    read_unit: Shape
    """The smallest part of the source that can be decoded alone: a chunk, or a chunk in a shard.
    Where lengths differ, the largest, as everywhere here."""
    write_unit: Shape
    """What is stored as one value: a chunk, or a shard."""
    factors: Shape
    """How many write units a region has along every dimension."""
    region: Shape
    """What a task reads and writes at once."""
    tasks: int
    """How many regions there are."""
    reads: int
    """How often a stored value, chunk or shard, is read: once by every region that it touches."""
    bytes_read: int
    writes: int
    """How many values are stored."""
    bytes_written: int
    memory: int
    """Most bytes that a task takes."""


@dataclass(frozen=True)
class RechunkPlan:
    """How an array is rechunked, and what it costs; `str` gives it as text."""

    shape: Shape
    itemsize: int
    passes: tuple[Pass, ...]
    reads: int
    """Of the source and of intermediate arrays."""
    writes: int
    """Of intermediate arrays and of the destination."""
    source_bytes: int
    """Bytes that are read of the source."""
    amplification: float
    """How many times the source is read."""
    intermediate_bytes: int
    """Bytes of all intermediate arrays, which are written and read once more."""
    memory: int
    """Most bytes that a task takes."""

    @classmethod
    def of(cls, shape: Shape, itemsize: int, passes: tuple[Pass, ...]) -> RechunkPlan:
        """The plan with the costs of its passes."""
        nbytes, source_bytes = prod(shape) * itemsize, passes[0].bytes_read
        return cls(
            shape,
            itemsize,
            passes,
            sum(each.reads for each in passes),
            sum(each.writes for each in passes),
            source_bytes,
            source_bytes / nbytes if nbytes else 1.0,
            sum(each.bytes_written for each in passes[:-1]),
            max(each.memory for each in passes),
        )

    @property
    def changes(self) -> bool:
        """Whether chunks or shards become other ones."""
        return any(each.read_unit != each.write_unit for each in self.passes)

    def __str__(self) -> str:
        count = len(self.passes)
        lines = [
            f"{count} {'pass' if count == 1 else 'passes'}: {self.reads:,} reads of"
            f" {size(sum(each.bytes_read for each in self.passes))} (the source"
            f" {self.amplification:.1f} times), {self.writes:,} writes,"
            f" {size(self.intermediate_bytes)} in between, {size(self.memory)} per task"
        ]
        for number, each in enumerate(self.passes, 1):
            lines.append(
                f"  {number}: {_spelled(each.read_unit)} -> {_spelled(each.write_unit)},"
                f" {each.tasks:,} regions of {_spelled(each.region)};"
                f" {each.reads:,} reads of {size(each.bytes_read)}, {each.writes:,} writes"
            )
        return "\n".join(lines)


def _spelled(shape: Shape) -> str:
    return "x".join(map(str, shape)) or "scalar"
