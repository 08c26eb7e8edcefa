"""`zstd`: Zstandard frames (RFC 8878).

Spec: zarr-extensions, codecs/zstd. Alias: `numcodecs.zstd` (v2 `zstd`). Configuration: `level`
(−131072 to 22; 0 means 3) and `checksum`, which makes every flipped bit an error.

A frame usually declares its decoded size, several frames the sum; what they declare is compared
before anything is allocated. A frame of undeclared size is decoded into exactly the promised room
or, where nothing is promised, only if its blocks cannot make more than the limit.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from omnizarr.codecs.base import BytesStage, CodecKind, Step, check_size, compressed
from omnizarr.codecs.configuration import ConfiguredCodec, boolean, integer, member
from omnizarr.codecs.loader import load_without_core
from omnizarr.codecs.zstd_library import zstd_functions
from omnizarr.errors import DecodeError, EncodeError
from omnizarr.keywords import suggesting
from omnizarr.model.codec import CodecSpec
from omnizarr.model.grids import NDArray
from omnizarr.model.store import Buffer

MAGIC = b"\x28\xb5\x2f\xfd"
LEGACY = frozenset(bytes([first, 0xB5, 0x2F, 0xFD]) for first in range(0x22, 0x28))
BLOCK = 1 << 17
_DICTIONARY = (0, 1, 2, 4)
_CONTENT = (0, 2, 4, 8)


def frame_sizes(data: Buffer) -> tuple[int | None, int]:
    """What the frames in `data` declare together, and the most that they can decode to.

    The declared size is None if a frame does not tell. RFC 8878, section 3.1.
    """
    view = memoryview(data)
    declared: int | None = 0
    most = position = 0
    while position < len(view):
        magic = bytes(view[position : position + 4])
        if len(magic) == 4 and magic[1:] == b"\x2a\x4d\x18" and magic[0] & 0xF0 == 0x50:
            position += 8 + int.from_bytes(view[position + 4 : position + 8], "little")
            if position > len(view):
                raise DecodeError("codec 'zstd': a skippable frame is longer than the data")
            continue
        if magic != MAGIC:
            if magic in LEGACY:
                raise DecodeError(
                    "codec 'zstd': a frame of a zstd older than 0.8, which no current library"
                    " decodes; rewrite the data with the software of its time"
                )
            raise DecodeError(f"codec 'zstd': no frame at byte {position}: found {magic.hex()}")
        size, checksum, position = _frame_header(view, position + 4)
        declared = None if declared is None or size is None else declared + size
        room, position = _blocks(view, position)
        position += 4 if checksum else 0
        most += room if size is None else size
    return declared, most


def _frame_header(view: memoryview, position: int) -> tuple[int | None, bool, int]:
    """Declared size, whether a checksum follows the blocks, and where the blocks begin."""
    try:
        descriptor = view[position]
    except IndexError as error:
        raise DecodeError("codec 'zstd': the data ends inside a frame header") from error
    single = bool(descriptor & 0x20)
    width = _CONTENT[descriptor >> 6] or (1 if single else 0)
    position += 1 + (0 if single else 1) + _DICTIONARY[descriptor & 3]
    field = view[position : position + width]
    if len(field) != width:
        raise DecodeError("codec 'zstd': the data ends inside a frame header")
    checksum = bool(descriptor & 4)
    if width == 0:
        return None, checksum, position
    size = int.from_bytes(field, "little") + (256 if width == 2 else 0)
    return size, checksum, position + width


def _blocks(view: memoryview, position: int) -> tuple[int, int]:
    """The most that the blocks of a frame decode to, and where they end."""
    room = 0
    while True:
        field = view[position : position + 3]
        if len(field) != 3:
            raise DecodeError("codec 'zstd': the data ends inside a frame")
        header = int.from_bytes(field, "little")
        kind, size = header >> 1 & 3, header >> 3
        room += BLOCK if kind == 2 else size
        position += 3 + (1 if kind == 1 else size)
        if header & 1:
            return room, position


def is_one_frame(view: memoryview) -> bool:
    """Whether it is one frame that declares its size, and nothing else."""
    if view[:4] != MAGIC:
        return False
    size, checksum, position = _frame_header(view, 4)
    end = _blocks(view, position)[1] + (4 if checksum else 0)
    return size is not None and end == len(view)


@suggesting
@dataclass(frozen=True)
class ZstdCodec(ConfiguredCodec):
    """Zstandard compression.

    Raises
    ------
    MetadataError
        If an option is out of range.

    Examples
    --------
    >>> codec = omnizarr.codecs.ZstdCodec(level=5, checksum=True)
    >>> array = omnizarr.create_array({}, shape=3, dtype="i4", compressors=codec)
    >>> array.compressors
    (ZstdCodec(level=5, checksum=True, name='zstd'),)
    """

    kind: ClassVar[CodecKind] = "bytes-bytes"
    strict: ClassVar[bool] = True
    level: int = member(integer, default=0)
    """Effort, -131072 to 22; 0 is the library's default."""
    checksum: bool = member(boolean, default=False)
    """Add a checksum, which finds damaged bytes."""
    name: str = "zstd"
    """Its name in metadata: numcodecs' spelling of the codec is another one."""

    def __post_init__(self) -> None:
        spec = CodecSpec(self.name, {"level": self.level, "checksum": self.checksum})
        # numcodecs cuts levels that libzstd does not have; final v3 does not allow them.
        high = 22 if self.name == "zstd" else 2**31 - 1
        integer(spec, "level", 0, -131072, high)
        boolean(spec, "checksum", False)

    def spec(self) -> CodecSpec:
        if self.name == "zstd" or self.checksum:
            return super().spec()
        return CodecSpec(self.name, {"level": self.level})

    def prepare(self, stage: BytesStage) -> Step:
        load_without_core(zstd_functions)
        level, checksum, size = min(self.level, 22), self.checksum, stage.size

        def encode(data: Buffer) -> Buffer:
            try:
                return zstd_functions().compress(data, level, checksum)
            except (RuntimeError, ValueError) as error:
                raise EncodeError(f"codec 'zstd': {error}") from error

        def failed(data: Buffer, error: Exception) -> Exception:
            declared = frame_sizes(data)[0]  # a clearer reason, if there is one
            if declared is not None:
                check_size("zstd", stage, declared)
            return DecodeError(f"codec 'zstd': {error}")

        def decode_into(data: Buffer, out: NDArray) -> None:
            try:
                found = zstd_functions().decompress_into(data, out)
            except (RuntimeError, ValueError) as error:
                raise failed(data, error) from error
            if found != out.size:
                check_size("zstd", BytesStage(out.size, out.size), found)

        def decode(data: Buffer) -> Buffer:
            expected = size
            if expected is None:
                expected, most = frame_sizes(data)
                check_size("zstd", stage, most if expected is None else expected)
                if expected is None:
                    try:
                        return zstd_functions().decompress_stream(data)
                    except (RuntimeError, ValueError) as error:
                        raise DecodeError(f"codec 'zstd': {error}") from error
            out = np.empty(expected, np.uint8)
            decode_into(data, out)
            return out.data

        block = ("zstd", level, checksum)
        return Step(compressed(stage), encode, decode, decode_into, block=block)
