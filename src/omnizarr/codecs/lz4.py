"""`numcodecs.lz4`: one LZ4 block behind its decoded size (32 bits, little-endian). v2: `lz4`.

Configuration: `acceleration`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from omnizarr.codecs.base import BytesStage, CodecKind, Step, check_size, compressed
from omnizarr.codecs.configuration import ConfiguredCodec, integer, member
from omnizarr.codecs.loader import library, load_without_core
from omnizarr.errors import DecodeError, EncodeError, MetadataError
from omnizarr.model.grids import NDArray
from omnizarr.model.store import Buffer

NAME = "numcodecs.lz4"
MAX_BYTES = 0x7E000000


@dataclass(frozen=True)
class LZ4Codec(ConfiguredCodec):
    kind: ClassVar[CodecKind] = "bytes-bytes"
    acceleration: int = member(integer, default=1, low=-(2**31), high=2**31 - 1)
    name: str = NAME

    def prepare(self, stage: BytesStage) -> Step:
        check_most(NAME, stage)
        load_without_core(_module)
        acceleration, size = self.acceleration, stage.size

        def encode(data: Buffer) -> bytes:
            try:
                return _module().compress(data, acceleration)  # type: ignore[no-any-return]
            except (RuntimeError, ValueError) as error:
                raise EncodeError(f"codec {NAME!r}: {error}") from error

        def check(data: Buffer) -> None:
            if len(data) < 5:
                raise DecodeError(f"codec {NAME!r}: {len(data)} bytes are too few")
            found = int.from_bytes(data[:4], "little")
            if found != size:
                check_size(NAME, stage, found)

        def decode(data: Buffer) -> bytes:
            check(data)
            try:
                return _module().decompress(data)  # type: ignore[no-any-return]
            except (RuntimeError, ValueError) as error:
                raise DecodeError(f"codec {NAME!r}: {error}") from error

        def decode_into(data: Buffer, out: NDArray) -> None:
            check(data)
            try:
                _module().decompress(data, out)
            except (RuntimeError, ValueError) as error:
                raise DecodeError(f"codec {NAME!r}: {error}") from error

        block = ("lz4", acceleration)
        return Step(compressed(stage), encode, decode, decode_into, block=block)


def _module() -> Any:
    return library("numcodecs.lz4", NAME)


def check_most(name: str, stage: BytesStage) -> None:
    """Refuse chunks that are too large for LZ4."""
    if stage.size is not None and stage.size > MAX_BYTES:
        raise MetadataError(
            f"codec {name!r}: a chunk of {stage.size} bytes; LZ4 takes at most {MAX_BYTES}"
        )
