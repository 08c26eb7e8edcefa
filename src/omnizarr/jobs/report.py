"""What a job did: the base of all jobs' results, as an object, as JSON and as a table.

This module knows facts and text. It must not know what was done.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from omnizarr.model import json


class Facts:
    """A dataclass that can be given as JSON."""

    def to_dict(self) -> dict[str, Any]:
        """The facts in JSON's types."""
        return asdict(self, dict_factory=_with_lists)  # type: ignore[call-overload, no-any-return]  # subclasses are dataclasses


def _with_lists(items: list[tuple[str, Any]]) -> dict[str, Any]:
    return {name: list(value) if isinstance(value, tuple) else value for name, value in items}


class Report(Facts):
    """The result of a job: how many stored bytes it has read and written, and how fast. `str` gives
    a table, `to_dict` and `to_json` all facts."""

    seconds: float

    @property
    def bytes_read(self) -> int:
        """Stored bytes that were read."""
        return 0

    @property
    def bytes_written(self) -> int:
        """Stored bytes that were written."""
        return 0

    @property
    def rate(self) -> float:
        """Bytes read and written per second."""
        return (self.bytes_read + self.bytes_written) / self.seconds if self.seconds > 0 else 0.0

    def to_dict(self) -> dict[str, Any]:
        """The report in JSON's types."""
        totals = {
            "bytes_read": self.bytes_read,
            "bytes_written": self.bytes_written,
            "rate": self.rate,
        }
        return super().to_dict() | totals

    def to_json(self, indent: int | None = 2) -> str:
        """The report as JSON.

        Parameters
        ----------
        indent
            Spaces of each level; None for one line.
        """
        return json.dumps(self.to_dict(), indent=indent)


def table(lines: Sequence[Sequence[str]]) -> list[str]:
    """Lines of cells, each column as wide as its widest cell."""
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    return [
        "  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip()
        for line in lines
    ]
