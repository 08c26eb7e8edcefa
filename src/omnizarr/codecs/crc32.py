"""`numcodecs.crc32`: the CRC-32 of the bytes in four bytes before them. v2: `crc32`.

Configuration: `location`, "start" (default) or "end".
"""

from __future__ import annotations

import zlib
from dataclasses import dataclass
from typing import ClassVar

from omnizarr.codecs.base import BytesStage, CodecKind, Context, Step, choice
from omnizarr.codecs.checksums import LOCATIONS, checksum_step
from omnizarr.model.codec import CodecSpec


@dataclass(frozen=True)
class CRC32Codec:
    kind: ClassVar[CodecKind] = "bytes-bytes"
    location: str = "start"

    @classmethod
    def from_spec(cls, spec: CodecSpec, context: Context) -> CRC32Codec:
        return cls(choice(spec, "location", LOCATIONS, "start"))

    def spec(self) -> CodecSpec:
        location = {} if self.location == "start" else {"location": self.location}
        return CodecSpec("numcodecs.crc32", location)

    def prepare(self, stage: BytesStage) -> Step:
        return checksum_step(
            "numcodecs.crc32", stage, zlib.crc32, at_start=self.location == "start"
        )
