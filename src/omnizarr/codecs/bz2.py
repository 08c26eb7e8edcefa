"""`numcodecs.bz2`: bzip2, several streams allowed. v2: `bz2`.

Configuration: `level`, 1 to 9.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from omnizarr.codecs.base import BytesStage, CodecKind, Context, Step, compressed, integer
from omnizarr.codecs.streams import decompress
from omnizarr.model.codec import CodecSpec
from omnizarr.model.store import Buffer


@dataclass(frozen=True)
class BZ2Codec:
    kind: ClassVar[CodecKind] = "bytes-bytes"
    level: int = 1

    @classmethod
    def from_spec(cls, spec: CodecSpec, context: Context) -> BZ2Codec:
        return cls(integer(spec, "level", 1, 1, 9))

    def spec(self) -> CodecSpec:
        return CodecSpec("numcodecs.bz2", {"level": self.level})

    def prepare(self, stage: BytesStage) -> Step:
        import bz2

        level = self.level

        def encode(data: Buffer) -> bytes:
            return bz2.compress(data, level)

        def decode(data: Buffer) -> bytes:
            return decompress(
                "numcodecs.bz2",
                bz2.BZ2Decompressor,
                (OSError, EOFError, ValueError),
                data,
                stage,
                several=True,
            )

        return Step(compressed(stage), encode, decode)
