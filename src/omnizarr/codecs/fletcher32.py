"""`numcodecs.fletcher32`: HDF5's Fletcher checksum, appended in four bytes. v2: `fletcher32`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from omnizarr.codecs.base import BytesStage, CodecKind, Step
from omnizarr.codecs.checksums import checksum_step
from omnizarr.codecs.configuration import ConfiguredCodec
from omnizarr.codecs.loader import library


@dataclass(frozen=True)
class Fletcher32Codec(ConfiguredCodec):
    kind: ClassVar[CodecKind] = "bytes-bytes"
    name: str = "numcodecs.fletcher32"

    def prepare(self, stage: BytesStage) -> Step:
        append = library("numcodecs.fletcher32", self.name).Fletcher32().encode

        def compute(data: Any) -> int:
            # numcodecs gives the data with the checksum behind them, and fails on no data.
            return int.from_bytes(append(data)[-4:], "little") if len(data) else 0

        return checksum_step(self.name, stage, compute)
