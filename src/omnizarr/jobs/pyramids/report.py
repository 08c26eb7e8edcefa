"""What a pyramid came to, or would: one row for every level of every array."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from omnizarr.jobs.report import Report, table
from omnizarr.runtime.progress import duration, size


@dataclass(frozen=True)
class LevelRow:
    """One level of one array."""

    path: str
    """From the group that holds the pyramid."""
    action: Literal["in place", "copy", "compute"]
    """What is done: nothing, if the source is the largest level itself."""
    shape: tuple[int, ...]
    """Its shape."""
    chunks: tuple[int, ...]
    """Its write unit: the shape of shards, or of chunks."""
    scale: tuple[float, ...]
    """Distance between elements, per axis."""
    nbytes: int
    """Bytes of values, before they are encoded."""
    source: str = ""
    """What it is computed from: a level, by its path."""


@dataclass(frozen=True)
class PyramidReport(Report):
    """The result of `pyramid`; `str` gives a table.

    Examples
    --------
    >>> import omnizarr
    >>> a = omnizarr.zeros((600, 600), chunks=100)
    >>> done = omnizarr.pyramid(a, {})
    >>> [level.shape for level in done.levels]
    [(600, 600), (300, 300), (150, 150)]
    """

    levels: tuple[LevelRow, ...]
    """One row for every level of every array."""
    method: str
    """How blocks become one element."""
    convention: str
    """The convention in which the group describes the pyramid."""
    seconds: float
    """How long it took."""
    dry_run: bool
    """Whether nothing was written."""
    source: str
    """What the pyramid was made of, as text."""
    destination: str
    """The group that describes it, as text."""
    passes: int
    """How often values are read: level by level if this is the number of levels."""
    values_read: int
    """Bytes of values that are read to compute levels."""
    task_bytes: int
    """Memory that one task takes."""
    tasks: int
    """Independent tasks."""
    resumed: bool = False
    """Whether an interrupted run was taken up again."""
    tasks_done: int = 0
    """Tasks that this run has done."""

    @property
    def bytes_read(self) -> int:
        """Bytes of values that were read, before they were encoded."""
        return 0 if self.dry_run else self.values_read

    @property
    def bytes_written(self) -> int:
        """Bytes of values of all computed levels, before they were encoded."""
        computed = (row.nbytes for row in self.levels if row.action == "compute")
        return 0 if self.dry_run else sum(computed)

    def __str__(self) -> str:
        head = ("level", "what", "shape", "write unit", "scale", "values", "from")
        lines = [head] + [
            (
                row.path,
                row.action,
                " x ".join(map(str, row.shape)),
                " x ".join(map(str, row.chunks)),
                " x ".join(f"{one:g}" for one in row.scale),
                size(row.nbytes),
                row.source,
            )
            for row in self.levels
        ]
        cost = (
            f"{self.method}, {self.convention}: {_count(self.passes, 'pass', 'passes')} read"
            f" {size(self.values_read)} of values in {_count(self.tasks, 'task', 'tasks')} of"
            f" {size(self.task_bytes)}"
        )
        end = "nothing was written (dry run)" if self.dry_run else f"in {duration(self.seconds)}"
        return "\n".join([*table(lines), f"{cost}; {end}"])


def _count(number: int, one: str, more: str) -> str:
    return f"{number:,} {one if number == 1 else more}"
