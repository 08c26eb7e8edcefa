"""`numcodecs.adler32`: the Adler-32 checksum of the bytes in four bytes before them. v2: `adler32`.

Configuration: `location`, "start" (default) or "end".
"""

from __future__ import annotations

import zlib
from dataclasses import dataclass
from typing import ClassVar

from omnizarr.codecs.base import BytesStage, CodecKind, Step
from omnizarr.codecs.checksums import LOCATIONS, checksum_step
from omnizarr.codecs.configuration import ConfiguredCodec, choice, member


@dataclass(frozen=True)
class Adler32Codec(ConfiguredCodec):
    kind: ClassVar[CodecKind] = "bytes-bytes"
    location: str = member(choice, allowed=LOCATIONS, default="start", hide_default=True)
    name: str = "numcodecs.adler32"

    def prepare(self, stage: BytesStage) -> Step:
        return checksum_step(self.name, stage, zlib.adler32, at_start=self.location == "start")
