"""`gzip`: DEFLATE in a gzip container (RFC 1952), several members allowed.

Spec: Zarr v3 core, codecs/gzip. Alias: `numcodecs.gzip` (v2 `gzip`). Configuration: `level`, 0 to
9; −1 means the library's default. z5py wrote zlib streams under this name; their first
byte differs.
"""

from __future__ import annotations

import zlib
from dataclasses import dataclass
from functools import partial
from typing import ClassVar

from omnizarr.codecs.base import BytesStage, CodecKind, Context, Step
from omnizarr.codecs.configuration import integer, only
from omnizarr.codecs.document import CodecDocument
from omnizarr.codecs.streams import Stream, stream_step
from omnizarr.keywords import suggesting
from omnizarr.model.codec import CodecSpec

GZIP = 16 + zlib.MAX_WBITS
GZIP_OR_ZLIB = 32 + zlib.MAX_WBITS


def _new() -> Stream:
    return zlib.decompressobj(GZIP_OR_ZLIB)


@suggesting
@dataclass(frozen=True)
class GzipCodec(CodecDocument):
    """Gzip compression.

    Raises
    ------
    MetadataError
        If the level is out of range.

    Examples
    --------
    >>> omnizarr.codecs.GzipCodec(level=1).level
    1
    """

    kind: ClassVar[CodecKind] = "bytes-bytes"
    level: int = 5
    """Effort, 0 to 9; -1 is the library's default."""
    name: str = "gzip"
    """Its name in metadata: numcodecs' spelling of the codec is another one."""

    def __post_init__(self) -> None:
        integer(CodecSpec(self.name, {"level": self.level}), "level", low=-1, high=9)

    @classmethod
    def from_spec(cls, spec: CodecSpec, context: Context) -> GzipCodec:
        if spec.name == "gzip":
            only(spec, "level")
        return cls(integer(spec, "level", 5 if spec.name == "gzip" else 1, -1, 9), spec.name)

    def spec(self) -> CodecSpec:
        return CodecSpec(self.name, {"level": self.level})

    def prepare(self, stage: BytesStage) -> Step:
        compress = partial(zlib.compress, level=self.level, wbits=GZIP)
        block = ("gzip", self.level)
        return stream_step(
            self.name, stage, compress, _new, (zlib.error,), several=True, block=block
        )
