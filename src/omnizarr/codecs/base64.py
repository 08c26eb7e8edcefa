"""`numcodecs.base64`: bytes as base64 text. v2: `base64`."""

from __future__ import annotations

import base64
import binascii
from dataclasses import dataclass
from typing import ClassVar

from omnizarr.codecs.base import BytesStage, CodecKind, Context, Step, check_size, compressed
from omnizarr.errors import DecodeError
from omnizarr.model.codec import CodecSpec
from omnizarr.model.store import Buffer

NAME = "numcodecs.base64"


@dataclass(frozen=True)
class Base64Codec:
    kind: ClassVar[CodecKind] = "bytes-bytes"

    @classmethod
    def from_spec(cls, spec: CodecSpec, context: Context) -> Base64Codec:
        return cls()

    def spec(self) -> CodecSpec:
        return CodecSpec(NAME)

    def prepare(self, stage: BytesStage) -> Step:
        def decode(data: Buffer) -> bytes:
            if len(data) // 4 * 3 > stage.limit + 3:
                check_size(NAME, stage, len(data) // 4 * 3)
            try:
                result = base64.b64decode(data, validate=True)
            except binascii.Error as error:
                raise DecodeError(f"codec {NAME!r}: {error}") from error
            check_size(NAME, stage, len(result))
            return result

        return Step(compressed(stage), base64.standard_b64encode, decode)
