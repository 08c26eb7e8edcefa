"""`numcodecs.shuffle`: all first bytes of the elements, then all second bytes, and so on.

v2: `shuffle`. Configuration: `elementsize`; 0, "0" (both written by netCDF-C) or none means the
size of the array's elements. Bytes behind the last whole element stay where they are.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from omnizarr.codecs.base import BytesStage, CodecKind, Context, Step, check_size, octets, unchanged
from omnizarr.codecs.configuration import integer
from omnizarr.codecs.document import CodecDocument
from omnizarr.model.codec import CodecSpec
from omnizarr.model.grids import NDArray
from omnizarr.model.store import Buffer

NAME = "numcodecs.shuffle"


@dataclass(frozen=True)
class ShuffleCodec(CodecDocument):
    kind: ClassVar[CodecKind] = "bytes-bytes"
    elementsize: int = 0

    @classmethod
    def from_spec(cls, spec: CodecSpec, context: Context) -> ShuffleCodec:
        stored = spec.configuration.get("elementsize")
        if isinstance(stored, str) and re.fullmatch("[0-9]{1,9}", stored):
            return cls(int(stored))
        return cls(integer(spec, "elementsize", 0, 0, 2**31 - 1))

    def spec(self) -> CodecSpec:
        return CodecSpec(NAME, {"elementsize": self.elementsize})

    def prepare(self, stage: BytesStage) -> Step:
        width = self.elementsize or stage.itemsize
        output = BytesStage(stage.size, stage.limit, stage.itemsize)

        def whole(length: int) -> int:
            return length // width * width

        def encode(data: Buffer) -> memoryview:
            source = octets(data)
            used = whole(len(source))
            out = np.empty(len(source), np.uint8)
            out[:used].reshape(width, -1)[...] = source[:used].reshape(-1, width).T
            out[used:] = source[used:]
            return out.data

        def decode_into(data: Buffer, out: NDArray) -> None:
            check_size(NAME, stage, len(data))
            source = octets(data)
            used = whole(len(source))
            out[:used].reshape(-1, width)[...] = source[:used].reshape(width, -1).T
            out[used:] = source[used:]

        def decode(data: Buffer) -> Buffer:
            out = np.empty(len(data), np.uint8)
            decode_into(data, out)
            return out.data

        if width == 1:
            return Step(output, unchanged, unchanged, block=("shuffle", width))
        return Step(output, encode, decode, decode_into, block=("shuffle", width))
