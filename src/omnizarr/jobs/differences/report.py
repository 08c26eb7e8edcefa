"""What two hierarchies differ in.

This module knows facts and text. It must not read an array.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

from omnizarr.jobs.report import Report
from omnizarr.runtime.progress import duration, size

What = Literal["only in the first", "only in the second", "kind", "metadata", "attribute", "values"]
_WIDEST = 60


class ValuePair(NamedTuple):
    """Two values that differ."""

    coordinates: tuple[int, ...]
    """Where they are."""
    first: Any
    """The value of the first array."""
    second: Any
    """The value of the second one."""


@dataclass(frozen=True)
class NodeDifference:
    """One difference between two nodes of the same path."""

    path: str
    """Of the node, from the nodes that are compared."""
    what: What
    """What differs."""
    name: str = ""
    """Of the member of the metadata, or of the attribute."""
    first: Any = None
    """What the first one has; None if it has nothing."""
    second: Any = None
    """What the second one has."""
    count: int = 0
    """How many values differ."""
    of: int = 0
    """How many there are."""
    largest: float | None = None
    """The largest absolute difference between two numbers; None where there is none."""
    examples: tuple[ValuePair, ...] = ()
    """The first values that differ."""

    @property
    def lines(self) -> list[str]:
        """The difference in words."""
        if self.what.startswith("only"):
            return [f"{self.what} ({self.first if self.second is None else self.second})"]
        if self.what != "values":
            name = "kind" if self.what == "kind" else f"{self.what} {self.name}"
            return [f"{name}: {_short(self.first)} → {_short(self.second)}"]
        largest = "" if self.largest is None else f", largest difference {self.largest:.6g}"
        lines = [f"values: {self.count:,} of {self.of:,} differ{largest}"]
        for pair in self.examples:
            where = ", ".join(map(str, pair.coordinates))
            lines.append(f"  [{where}]  {_short(pair.first)} → {_short(pair.second)}")
        if self.count > len(self.examples):
            lines.append(f"  … and {self.count - len(self.examples):,} more")
        return lines


def _short(value: Any) -> str:
    text = "nothing" if value is None else value if isinstance(value, str) else repr(value)
    return text if len(text) <= _WIDEST else f"{text[: _WIDEST - 1]}…"


@dataclass(frozen=True)
class Differences(Report):
    """The result of `diff`: false if nothing differs.

    Examples
    --------
    >>> import omnizarr
    >>> one, other = omnizarr.array([1, 2, 3]), omnizarr.array([1, 2, 4])
    >>> found = omnizarr.diff(one, other)
    >>> bool(found), found.differences[0].count, found.differences[0].largest
    (True, 1, 1.0)
    """

    differences: tuple[NodeDifference, ...]
    """Every difference, by path."""
    nodes: int
    """How many nodes both sides have."""
    nbytes: int
    """Bytes of values that were compared."""
    seconds: float
    """How long it took."""

    def __bool__(self) -> bool:
        return bool(self.differences)

    @property
    def bytes_read(self) -> int:
        """Bytes of values that were compared."""
        return self.nbytes

    def __str__(self) -> str:
        lines: list[str] = []
        before: str | None = None
        for one in self.differences:
            if one.path != before:
                lines.append(f"/{one.path}")
                before = one.path
            lines += [f"  {line}" for line in one.lines]
        return "\n".join([*lines, *([""] if lines else []), self.summary])

    @property
    def summary(self) -> str:
        """One line: how many differences, and what was compared."""
        count = len(self.differences)
        found = f"{count:,} difference{'' if count == 1 else 's'}" if count else "no difference"
        return (
            f"{found} ({self.nodes:,} node{'' if self.nodes == 1 else 's'}, {size(self.nbytes)} of"
            f" values compared in {duration(self.seconds)})"
        )
