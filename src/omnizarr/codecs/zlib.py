"""`numcodecs.zlib`: DEFLATE in a zlib container (RFC 1950). v2: `zlib`.

Configuration: `level`, −1 to 9.
"""

from __future__ import annotations

import zlib
from dataclasses import dataclass
from functools import partial
from typing import ClassVar

from omnizarr.codecs.base import BytesStage, CodecKind, Step
from omnizarr.codecs.configuration import ConfiguredCodec, integer, member
from omnizarr.codecs.streams import stream_step


@dataclass(frozen=True)
class ZlibCodec(ConfiguredCodec):
    kind: ClassVar[CodecKind] = "bytes-bytes"
    level: int = member(integer, default=1, low=-1, high=9)
    name: str = "numcodecs.zlib"

    def prepare(self, stage: BytesStage) -> Step:
        compress = partial(zlib.compress, level=self.level)
        block = ("zlib", self.level)
        return stream_step(
            self.name, stage, compress, zlib.decompressobj, (zlib.error,), block=block
        )
