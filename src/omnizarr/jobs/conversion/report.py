"""What a conversion did, or would do: one row for every node."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

from omnizarr.errors import Part
from omnizarr.formats import FormatName
from omnizarr.jobs.conversion.damage import BadChunk
from omnizarr.jobs.rechunking.plan import RechunkPlan
from omnizarr.jobs.report import Report, table
from omnizarr.runtime.progress import duration, size

MOST_PLANS = 20
"""So many arrays' plans are told."""
Action = Literal["copy chunks", "re-encode", "metadata", "group", "left out"]
Kind = Literal["array", "group", "unknown"]
"""Unknown is what a node is that was left out because it cannot be opened."""


@dataclass(frozen=True)
class Row:
    """What a conversion did to one node."""

    path: str
    """Relative to the node that was converted; "" for that node itself."""
    kind: Kind
    """"array", "group" or "unknown"."""
    source_format: FormatName
    """The format it had."""
    zarr_format: FormatName
    """The format it has at the destination."""
    action: Action
    """"copy chunks", "re-encode", "metadata", "group" or "left out"."""
    chunks: int = 0
    """How many chunks (or shards) were copied, or encoded again. Those that turned out to hold
    nothing but the fill value count too, though they are not stored."""
    bytes_read: int = 0
    """Stored bytes of chunks that were read."""
    bytes_written: int = 0
    """Stored bytes of chunks that were written."""
    notes: tuple[str, ...] = ()
    """What a reader of the node should know."""
    rechunking: RechunkPlan | None = None
    """The passes in which an array is encoded again, and what they cost."""


@dataclass(frozen=True)
class Conversion(Report):
    """The result of `convert`; `str` gives a table.

    Examples
    --------
    >>> import omnizarr
    >>> a = omnizarr.array([1, 2, 3, 4], zarr_format=2)
    >>> result = omnizarr.convert(a, {}, zarr_format=3)
    >>> result.nodes[0].action
    'copy chunks'
    """

    nodes: tuple[Row, ...]
    """One row for every node."""
    dropped: tuple[Part, ...]
    """The parts that were left out of some node, because the format cannot express them."""
    seconds: float
    """How long it took."""
    dry_run: bool
    """Whether nothing was written."""
    source: str = ""
    """The node that was converted, as text."""
    destination: str = ""
    """Where it was written, as text."""
    resumed: bool = False
    """Whether an interrupted conversion was taken up again."""
    damaged: tuple[BadChunk, ...] = ()
    """Chunks of the source that could not be decoded and were skipped or filled; see
    `on_damage`."""

    @property
    def bytes_read(self) -> int:
        """Stored bytes of chunks that were read."""
        return sum(row.bytes_read for row in self.nodes)

    @property
    def bytes_written(self) -> int:
        """Stored bytes of chunks that were written."""
        return sum(row.bytes_written for row in self.nodes)

    def __str__(self) -> str:
        head = ("node", "from", "to", "what", "chunks", "read", "written", "notes")
        lines = [head] + [self._cells(row) for row in self.nodes]
        if self.dry_run:  # nothing was read or written yet
            lines = [(*line[:5], line[7]) for line in lines]
        damage = [f"damaged: /{bad.path}, {bad}" for bad in self.damaged]
        plans = plan_lines(self.nodes) if self.dry_run else []
        return "\n".join([*table(lines), *plans, *damage, self._summary()])

    @staticmethod
    def _cells(row: Row) -> tuple[str, ...]:
        array = row.action in ("copy chunks", "re-encode")
        return (
            "/" + row.path,
            str(row.source_format),
            str(row.zarr_format),
            row.action,
            str(row.chunks) if array else "",
            size(row.bytes_read) if array else "",
            size(row.bytes_written) if array else "",
            "; ".join(row.notes),
        )

    def _summary(self) -> str:
        arrays = sum(row.kind == "array" for row in self.nodes)
        groups = sum(row.kind == "group" for row in self.nodes)
        counts = f"{arrays} array{'s' * (arrays != 1)}, {groups} group{'s' * (groups != 1)}"
        if self.dry_run:
            return f"{counts}; nothing was written (dry run)"
        if not any(row.action in ("copy chunks", "re-encode") for row in self.nodes):
            return f"{counts}; no chunk was touched"
        return f"{counts}; {size(self.bytes_written)} of chunks written in {duration(self.seconds)}"


def plan_lines(rows: Iterable[Row]) -> list[str]:
    """How arrays are rechunked; of those that keep their chunks there is nothing to say."""
    plans = [(row.path, row.rechunking) for row in rows if row.rechunking is not None]
    texts = [f"/{path}: {plan}" for path, plan in plans if plan.changes]
    more = [f"and {len(texts) - MOST_PLANS} more arrays"] if len(texts) > MOST_PLANS else []
    return [line for text in [*texts[:MOST_PLANS], *more] for line in text.splitlines()]
