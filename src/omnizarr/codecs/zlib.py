"""`numcodecs.zlib`: DEFLATE in a zlib container (RFC 1950). v2: `zlib`.

Configuration: `level`, −1 to 9.
"""

from __future__ import annotations

import zlib
from dataclasses import dataclass
from typing import ClassVar

from omnizarr.codecs.base import BytesStage, CodecKind, Context, Step, compressed, integer
from omnizarr.codecs.streams import decompress
from omnizarr.model.codec import CodecSpec
from omnizarr.model.store import Buffer


@dataclass(frozen=True)
class ZlibCodec:
    kind: ClassVar[CodecKind] = "bytes-bytes"
    level: int = 1

    @classmethod
    def from_spec(cls, spec: CodecSpec, context: Context) -> ZlibCodec:
        return cls(integer(spec, "level", 1, -1, 9))

    def spec(self) -> CodecSpec:
        return CodecSpec("numcodecs.zlib", {"level": self.level})

    def prepare(self, stage: BytesStage) -> Step:
        level = self.level

        def encode(data: Buffer) -> bytes:
            return zlib.compress(data, level)

        def decode(data: Buffer) -> bytes:
            return decompress("numcodecs.zlib", zlib.decompressobj, (zlib.error,), data, stage)

        return Step(compressed(stage), encode, decode)
