"""`crc32c`: the CRC-32C (Castagnoli) of the bytes, appended in four bytes.

Spec: Zarr v3 core, codecs/crc32c. Alias: `numcodecs.crc32c` (v2 `crc32c`), whose configuration may
say `location`: "start" or "end".
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from omnizarr.codecs.base import BytesStage, CodecKind, Context, Step
from omnizarr.codecs.checksums import LOCATIONS, checksum_step
from omnizarr.codecs.configuration import choice, only
from omnizarr.codecs.document import CodecDocument
from omnizarr.codecs.loader import library
from omnizarr.keywords import suggesting
from omnizarr.model.codec import CodecSpec


@suggesting
@dataclass(frozen=True)
class Crc32cCodec(CodecDocument):
    """A CRC-32C checksum of the bytes, which finds damaged ones.

    Examples
    --------
    >>> checksum = omnizarr.codecs.Crc32cCodec()
    >>> array = omnizarr.create_array({}, shape=3, dtype="i4", compressors=["zstd", checksum])
    """

    kind: ClassVar[CodecKind] = "bytes-bytes"
    location: str = "end"
    """Where the checksum is: "end" or "start"."""
    name: str = "crc32c"
    """Its name in metadata: numcodecs' spelling of the codec is another one."""

    @classmethod
    def from_spec(cls, spec: CodecSpec, context: Context) -> Crc32cCodec:
        if spec.name == "crc32c":
            only(spec, "check_crc")  # a reader's hint in GDAL's test data; it is always checked
            return cls()
        return cls(choice(spec, "location", LOCATIONS, "end"), spec.name)

    def spec(self) -> CodecSpec:
        return CodecSpec(self.name, {} if self.location == "end" else {"location": self.location})

    def prepare(self, stage: BytesStage) -> Step:
        compute = library("google_crc32c", self.name).value
        start = self.location == "start"
        return checksum_step(self.name, stage, compute, at_start=start, native="crc32c")
