"""What a linter says: one departure from a specification, and how grave it is.

Formats and conventions both find departures. Nothing here knows what any of them asks for.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Level = Literal["error", "warning", "dialect"]
LEVELS: tuple[Level, ...] = ("error", "warning", "dialect")
"""error: the document forbids it. warning: it discourages it, or what is stored contradicts
itself. dialect: forbidden too, but written by known software and accepted by readers."""


@dataclass(frozen=True)
class Finding:
    """One departure from a specification."""

    path: str
    """The node, "" for the root."""
    key: str
    """The stored value in which it was found."""
    level: Level
    """"error", "warning" or "dialect"."""
    message: str
    """What was expected, and what was found."""
    reference: str
    """The document and section that it departs from."""

    def to_dict(self) -> dict[str, str]:
        """The finding in JSON's types."""
        return {
            "path": self.path,
            "key": self.key,
            "level": self.level,
            "message": self.message,
            "reference": self.reference,
        }


@dataclass(frozen=True)
class At:
    """A stored document of a node, and the specification that it is held against."""

    path: str
    key: str
    document: str

    def found(self, level: Level, section: str, message: str) -> Finding:
        return Finding(self.path, self.key, level, message, f"{self.document}, {section}")

    def error(self, section: str, message: str) -> Finding:
        return self.found("error", section, message)

    def warning(self, section: str, message: str) -> Finding:
        return self.found("warning", section, message)

    def dialect(self, section: str, message: str) -> Finding:
        return self.found("dialect", section, message)
