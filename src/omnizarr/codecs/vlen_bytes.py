"""`vlen-bytes`: byte strings of any length, each item behind its length.

Spec: zarr-extensions, codecs/vlen-bytes. Alias: `numcodecs.vlen-bytes` (v2 `vlen-bytes`).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from omnizarr.codecs.base import Array, ArrayStage, Context, Kind, Step, unknown
from omnizarr.codecs.loader import library
from omnizarr.codecs.vlen import check_end, pack, refuse, unpack
from omnizarr.errors import MetadataError
from omnizarr.model.codec import CodecSpec
from omnizarr.model.store import Buffer


@dataclass(frozen=True)
class VLenBytesCodec:
    kind: ClassVar[Kind] = "array-bytes"
    name: str = "vlen-bytes"

    @classmethod
    def from_spec(cls, spec: CodecSpec, context: Context) -> VLenBytesCodec:
        return cls(spec.name)

    def spec(self) -> CodecSpec:
        return CodecSpec(self.name)

    def prepare(self, stage: ArrayStage) -> Step:
        name, shape, dtype = self.name, stage.shape, stage.dtype
        # v2 arrays of zarr-python 3.0 use it for `|S…` too.
        if dtype.kind not in "OS":
            raise MetadataError(f"codec {name!r}: encodes bytes, not {dtype}")
        decoder = library("numcodecs.vlen", name).VLenBytes()

        def encode(array: Array) -> bytes:
            items = np.ascontiguousarray(array).reshape(-1).tolist()
            if not all(isinstance(item, (bytes, bytearray)) for item in items):
                raise refuse(name, items, bytes)
            return pack(name, items)

        def decode(data: Buffer) -> Array:
            found = unpack(name, decoder, stage, data)
            check_end(name, data, map(len, found.tolist()), len(found))
            return (found if dtype.kind == "O" else np.array(found.tolist(), dtype)).reshape(shape)

        return Step(unknown(), encode, decode)
