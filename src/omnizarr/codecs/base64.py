"""`numcodecs.base64`: bytes as base64 text. v2: `base64`."""

from __future__ import annotations

import base64
import binascii
from dataclasses import dataclass
from typing import ClassVar

from omnizarr.codecs.base import BytesStage, CodecKind, LibraryErrors, Step, check_size, compressed
from omnizarr.codecs.configuration import ConfiguredCodec
from omnizarr.errors import DecodeError
from omnizarr.model.store import Buffer

NAME = "numcodecs.base64"


@dataclass(frozen=True)
class Base64Codec(ConfiguredCodec):
    kind: ClassVar[CodecKind] = "bytes-bytes"
    name: str = NAME

    def prepare(self, stage: BytesStage) -> Step:
        def decode(data: Buffer) -> bytes:
            if len(data) // 4 * 3 > stage.limit + 3:
                check_size(NAME, stage, len(data) // 4 * 3)
            with LibraryErrors(DecodeError, NAME, binascii.Error):
                result = base64.b64decode(data, validate=True)
            check_size(NAME, stage, len(result))
            return result

        return Step(compressed(stage), base64.standard_b64encode, decode)
