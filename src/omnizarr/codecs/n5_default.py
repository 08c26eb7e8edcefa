"""`n5_default`: an N5 block in default mode, with its header.

Spec: zarr-extensions, codecs/n5_default. Configuration: `codecs`: a full transpose, big-endian
`bytes`, and at most one compressor. The header tells the shape of the block, which at the edge of
an array may be smaller than the chunk (Java) or padded to it; on reading it is padded or cut.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass, field
from math import prod
from typing import ClassVar

import numpy as np

from omnizarr import limits
from omnizarr.codecs.base import Array, ArrayStage, BytesStage, Context, Kind, Step, only, option
from omnizarr.codecs.registry import spec_document, specs_from
from omnizarr.errors import DecodeError, LimitError, MetadataError
from omnizarr.model.codec import CodecSpec
from omnizarr.model.store import Buffer

NAME = "n5_default"


@dataclass(frozen=True)
class N5DefaultCodec:
    kind: ClassVar[Kind] = "array-bytes"
    codecs: tuple[CodecSpec, ...]
    context: Context = field(default=Context(), repr=False)

    @classmethod
    def from_spec(cls, spec: CodecSpec, context: Context) -> N5DefaultCodec:
        only(spec, "codecs")
        codecs = specs_from(option(spec, "codecs"), NAME)
        if not 2 <= len(codecs) <= 3 or codecs[0].name != "transpose" or codecs[1].name != "bytes":
            raise MetadataError(
                f"codec {NAME!r}: codecs must be transpose, bytes and at most one compressor"
            )
        return cls(codecs, context.deeper())

    def spec(self) -> CodecSpec:
        inner = [spec_document(codec) for codec in self.codecs]
        return CodecSpec(NAME, {"codecs": inner})

    def prepare(self, stage: ArrayStage) -> Step:
        from omnizarr.codecs.chain import Chain, build

        ndim, shape, dtype = len(stage.shape), stage.shape, stage.dtype
        order = self.codecs[0].configuration.get("order")
        if list(order or ()) != list(reversed(range(ndim))):
            raise MetadataError(f"codec {NAME!r}: transpose must reverse all {ndim} dimensions")
        if dtype.itemsize > 1 and self.codecs[1].configuration.get("endian") != "big":
            raise MetadataError(f"codec {NAME!r}: bytes must be big-endian")
        header = struct.Struct(f">HH{ndim}I")
        whole = build(self.codecs, stage, self.context)
        prefix = header.pack(0, ndim, *reversed(shape))
        fill = stage.fill
        chains: dict[tuple[int, ...], Chain] = {shape: whole}

        def encode(array: Array) -> bytes:
            return prefix + bytes(whole.encode(array))

        def decode(data: Buffer) -> Array:
            if len(data) < header.size:
                raise DecodeError(f"codec {NAME!r}: {len(data)} bytes, fewer than the header")
            mode, found, *lengths = header.unpack_from(data)
            if mode != 0 or found != ndim:
                raise DecodeError(
                    f"codec {NAME!r}: a block of mode 0 with {ndim} dimensions was expected,"
                    f" found mode {mode} with {found}"
                )
            block = tuple(reversed(lengths))
            nbytes = prod(block) * dtype.itemsize
            room = max(limits.current.max_expansion, stage.nbytes or 0)
            if nbytes > room:
                raise LimitError(f"codec {NAME!r}: a block of shape {block} takes {nbytes} bytes")
            payload = memoryview(data)[header.size :]
            inner = chains.get(block)
            if inner is None:
                inner = build(self.codecs, ArrayStage(block, dtype, fill), self.context)
            array = inner.decode(payload)
            if block == shape:
                return array
            result = np.full(shape, 0 if fill is None else fill, dtype)
            common = tuple(slice(min(a, b)) for a, b in zip(shape, block, strict=True))
            result[common] = array[common]
            return result

        limit = 2 * (stage.nbytes or limits.current.max_expansion) + 65536
        return Step(BytesStage(None, limit), encode, decode)
