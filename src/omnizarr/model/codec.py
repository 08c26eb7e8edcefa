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
    name: str
    configuration: Mapping[str, Json] = field(default_factory=dict)
    must_understand: bool = True

    def __hash__(self) -> int:
        return hash((self.name, repr(self.configuration)))
