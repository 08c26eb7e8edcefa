"""`n5_default`: an N5 block with its header.

Spec: zarr-extensions, codecs/n5_default; N5 4.0.0, "file-system specification", item 9.
Configuration: `codecs`: a full transpose, big-endian `bytes`, and at most one compressor.

A block is a header of big-endian numbers and a payload. The header holds a mode (16 bits: 0
default, 1 varlength, 2 object), the number of dimensions (16 bits), the length of each dimension
in the order of the array that this codec is given (32 bits each) and, in mode 1, the number of
elements (32 bits). At the edge of an array a block may be smaller than the chunk (Java) or padded
to it (all other writers, also this one). On reading it is padded or cut.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass, field
from math import prod
from typing import ClassVar

import numpy as np

from omnizarr import limits
from omnizarr.codecs.base import ArrayStage, BytesStage, CodecKind, Context, Step
from omnizarr.codecs.configuration import only, option
from omnizarr.codecs.document import CodecDocument
from omnizarr.codecs.registry import spec_document, specs_from
from omnizarr.errors import DecodeError, LimitError, MetadataError
from omnizarr.model.codec import CodecSpec
from omnizarr.model.grids import NDArray, Shape
from omnizarr.model.store import Buffer

NAME = "n5_default"
LARGEST_ODD_BLOCK = 16 << 20
"""Bytes that are read of a block larger than its chunk, which no known writer makes."""
DEFAULT, VARLENGTH = 0, 1
MAX_LENGTH = (1 << 32) - 1
KEPT = 64
"""How many shapes of blocks have their codecs kept ready; an array has two per dimension."""


@dataclass(frozen=True)
class N5DefaultCodec(CodecDocument):
    kind: ClassVar[CodecKind] = "array-bytes"
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
        from omnizarr.codecs.chains import Chain, build

        ndim, shape, dtype = len(stage.shape), stage.shape, stage.dtype
        order = self.codecs[0].configuration.get("order")
        if list(order or ()) != list(reversed(range(ndim))):
            raise MetadataError(f"codec {NAME!r}: transpose must reverse all {ndim} dimensions")
        if dtype.itemsize > 1 and self.codecs[1].configuration.get("endian") != "big":
            raise MetadataError(f"codec {NAME!r}: bytes must be big-endian")
        if any(length > MAX_LENGTH for length in shape):
            raise MetadataError(
                f"codec {NAME!r}: a chunk of shape {shape}; a length has 32 bits in the header"
            )
        header = struct.Struct(f">HH{ndim}I")
        whole = build(self.codecs, stage, self.context)
        prefix = header.pack(DEFAULT, ndim, *shape)
        fill = 0 if stage.fill is None else stage.fill
        room = max(LARGEST_ODD_BLOCK, stage.nbytes or 0)
        chains: dict[Shape, Chain] = {shape: whole}

        def encode(array: NDArray) -> bytes:
            return b"".join((prefix, whole.encode(array)))

        def opened(data: Buffer) -> tuple[Shape, memoryview]:
            """The shape and the payload of a block."""
            view = memoryview(data)
            if view.nbytes < header.size:
                raise DecodeError(
                    f"codec {NAME!r}: {view.nbytes} bytes, fewer than the {header.size} of the"
                    " header"
                )
            if view[: header.size] == prefix:
                return shape, view[header.size :]
            mode, found, *lengths = header.unpack_from(view)
            if mode not in (DEFAULT, VARLENGTH) or found != ndim:
                raise DecodeError(
                    f"codec {NAME!r}: a block of mode 0 or 1 with {ndim} dimensions was expected,"
                    f" found mode {mode} with {found}"
                    + (" (mode 2 holds a serialised object, no numbers)" if mode == 2 else "")
                )
            block = tuple(lengths)
            if 0 in block:
                raise DecodeError(f"codec {NAME!r}: a block of shape {block} holds nothing")
            if prod(block) * dtype.itemsize > room:
                raise LimitError(
                    f"codec {NAME!r}: a block of shape {block} takes"
                    f" {prod(block) * dtype.itemsize} bytes; a chunk of shape {shape} takes"
                    f" {stage.nbytes}, and no more than {room} are read"
                )
            if mode == DEFAULT:
                return block, view[header.size :]
            count = int.from_bytes(view[header.size : header.size + 4], "big")
            if view.nbytes < header.size + 4 or count != prod(block):
                raise DecodeError(
                    f"codec {NAME!r}: a block of mode 1 (varlength) says that it holds {count}"
                    f" elements; as an array of shape {block} it would hold {prod(block)}"
                )
            return block, view[header.size + 4 :]

        def part(block: Shape, payload: memoryview) -> tuple[tuple[slice, ...], NDArray]:
            """What a block of another shape gives to the chunk, and where."""
            inner = chains.get(block)
            if inner is None:
                inner = build(self.codecs, ArrayStage(block, dtype, stage.fill), self.context)
                if len(chains) < KEPT:
                    chains[block] = inner
            common = tuple(slice(min(a, b)) for a, b in zip(shape, block, strict=True))
            return common, inner.decode(payload)[common]

        def decode(data: Buffer) -> NDArray:
            block, payload = opened(data)
            if block == shape:
                return whole.decode(payload)
            common, array = part(block, payload)
            # Memory that is zero from the start is not taken before it is touched: a block at the
            # edge may be much smaller than the chunk in the metadata.
            result = np.zeros(shape, dtype)
            if fill:
                result[...] = fill
            result[common] = array
            return result

        def decode_into(data: Buffer, out: NDArray) -> None:
            block, payload = opened(data)
            if block == shape:
                whole.decode_into(payload, out)
                return
            common, array = part(block, payload)
            if array.shape != shape:
                out[...] = fill
            out[common] = array

        limit = 2 * (stage.nbytes or limits.current.max_expansion) + 65536 + header.size
        return Step(BytesStage(None, limit), encode, decode, decode_into)
