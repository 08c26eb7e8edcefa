"""A codec as metadata names it: plain data, before any code is looked up for it.

Formats make these from documents and documents from these; `omnizarr.codecs` turns them into
something that runs. A v2 codec `{"id": "lz4", …}` is named `numcodecs.lz4` here, as final v3
names the same thing, so that above the formats there is one vocabulary.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

Json = Any
"""A JSON value: None, bool, int, float, str, list or dict of such."""


@dataclass(frozen=True)
class CodecSpec:
    """Name and configuration of a codec.

    Examples
    --------
    >>> omnizarr.codecs.CodecSpec("gzip", {"level": 1}).configuration
    {'level': 1}
    """

    name: str
    """The name in final v3."""
    configuration: Mapping[str, Json] = field(default_factory=dict)
    """Its options, as JSON has them."""
    must_understand: bool = True
    """Whether a reader that does not know the codec must refuse the array."""

    def __hash__(self) -> int:
        return hash((self.name, repr(self.configuration)))
