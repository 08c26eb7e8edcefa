"""Codecs of other packages: a class that numcodecs knows, from its registry or its entry points.

Such a codec encodes a chunk (an array, or the bytes of other codecs) to bytes, and decodes it. It
is code installed in this environment: the size of its output is checked, its memory use is not.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from omnizarr.codecs.base import (
    ArrayStage,
    BytesStage,
    CodecKind,
    Context,
    LibraryErrors,
    Step,
    check_size,
    contiguous,
    unknown,
)
from omnizarr.codecs.document import CodecDocument
from omnizarr.errors import DecodeError, EncodeError, MetadataError
from omnizarr.model.codec import CodecSpec
from omnizarr.model.grids import NDArray
from omnizarr.model.store import Buffer


@dataclass(frozen=True)
class NumcodecsCodec(CodecDocument):
    kind: ClassVar[CodecKind] = "array-bytes"
    takes_bytes: ClassVar[bool] = True
    original: CodecSpec
    codec: Any

    @classmethod
    def from_spec(cls, spec: CodecSpec, context: Context) -> NumcodecsCodec:
        found = from_numcodecs(spec)
        if found is None:
            raise MetadataError(f"numcodecs knows no codec {spec.name!r}")
        return found

    def spec(self) -> CodecSpec:
        return self.original

    def prepare(self, stage: ArrayStage | BytesStage) -> Step:
        name, codec = self.original.name, self.codec

        def encode(value: Any) -> Buffer:
            source = np.ascontiguousarray(value) if isinstance(value, np.ndarray) else value
            with LibraryErrors(EncodeError, name, Exception):  # foreign code
                return _as_bytes(codec.encode(source))

        def decode_any(data: Buffer) -> Any:
            with LibraryErrors(DecodeError, name, Exception):
                return codec.decode(data)

        if isinstance(stage, BytesStage):

            def decode_bytes(data: Buffer) -> Buffer:
                result = _as_bytes(decode_any(data))
                check_size(name, stage, len(result))
                return result

            return Step(unknown(stage.itemsize), encode, decode_bytes)

        shape, dtype, count = stage.shape, stage.dtype, stage.size

        def decode(data: Buffer) -> NDArray:
            result = decode_any(data)
            array = result if isinstance(result, np.ndarray) else np.frombuffer(result, np.uint8)
            if array.dtype != dtype and not stage.variable:
                if array.nbytes != stage.nbytes:
                    raise DecodeError(
                        f"codec {name!r}: expected {stage.nbytes} bytes, found {array.nbytes}"
                    )
                array = np.ascontiguousarray(array).reshape(-1).view(dtype)
            if array.size != count:
                raise DecodeError(f"codec {name!r}: expected {count} elements, found {array.size}")
            return array.reshape(shape)

        return Step(unknown(dtype.itemsize), encode, decode)


def _as_bytes(value: Any) -> Buffer:
    if isinstance(value, np.ndarray):
        return contiguous(value)
    return value if isinstance(value, (bytes, bytearray)) else memoryview(value).cast("B")


def from_numcodecs(spec: CodecSpec) -> NumcodecsCodec | None:
    """The codec that numcodecs makes of a spec named `numcodecs.<id>`; None if it knows none."""
    try:
        from numcodecs import registry
    except ImportError:
        return None
    identifier = spec.name.removeprefix("numcodecs.")
    try:
        codec = registry.get_codec({**spec.configuration, "id": identifier})
    except Exception as error:  # foreign code
        if identifier not in registry.codec_registry:
            return None
        raise MetadataError(f"codec {spec.name!r}: {error}") from error
    return NumcodecsCodec(spec, codec)
