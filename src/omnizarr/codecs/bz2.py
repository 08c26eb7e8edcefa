"""`numcodecs.bz2`: bzip2, several streams allowed. v2: `bz2`.

Configuration: `level`, 1 to 9.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import ClassVar

from omnizarr.codecs.base import BytesStage, CodecKind, Step
from omnizarr.codecs.configuration import ConfiguredCodec, integer, member
from omnizarr.codecs.streams import stream_step


@dataclass(frozen=True)
class BZ2Codec(ConfiguredCodec):
    kind: ClassVar[CodecKind] = "bytes-bytes"
    level: int = member(integer, default=1, low=1, high=9)
    name: str = "numcodecs.bz2"

    def prepare(self, stage: BytesStage) -> Step:
        import bz2

        compress = partial(bz2.compress, compresslevel=self.level)
        failures = (OSError, EOFError, ValueError)
        return stream_step(self.name, stage, compress, bz2.BZ2Decompressor, failures, several=True)
