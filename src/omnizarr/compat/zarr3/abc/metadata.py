"""`Metadata`: a dataclass that becomes a JSON object and back."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Any, Self

__all__ = ["Metadata"]


@dataclass(frozen=True)
class Metadata:
    """A dataclass whose fields are the members of a JSON object."""

    def to_dict(self) -> dict[str, Any]:
        """Return the fields, and those of every `Metadata` among them, as dictionaries."""
        return {field.name: _plain(getattr(self, field.name)) for field in fields(self)}

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Self:
        """Make an instance of a dictionary of its fields."""
        return cls(**data)


def _plain(value: Any) -> Any:
    if isinstance(value, Metadata):
        return value.to_dict()
    if isinstance(value, Sequence) and not isinstance(value, str):
        return tuple(item.to_dict() if isinstance(item, Metadata) else item for item in value)
    return value
