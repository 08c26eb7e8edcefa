"""What the checksum codecs share: four bytes at the start or the end that must match the rest."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from omnizarr.codecs.base import BytesStage, Step, octets, resized
from omnizarr.errors import ChecksumError, DecodeError
from omnizarr.model.store import Buffer

LOCATIONS = ("start", "end")


def checksum_step(
    name: str,
    stage: BytesStage,
    compute: Callable[[Any], int],
    *,
    at_start: bool = False,
    native: str | None = None,
) -> Step:
    """A step that adds and verifies a 32-bit little-endian checksum.

    `compute` gets `bytes` or a flat `uint8` array. `native` is the native core's name for it.
    """
    size = None if stage.size is None else stage.size + 4
    limit = stage.limit + 4

    def encode(data: Buffer) -> bytes:
        value = compute(octets(data)).to_bytes(4, "little")
        return b"".join((value, data) if at_start else (data, value))

    def decode(data: Buffer) -> memoryview:
        length = len(data)
        if length != size and (size is not None or not 4 <= length <= limit):
            raise DecodeError(
                f"codec {name!r}: expected"
                + (f" {size} bytes" if size is not None else f" 4 to {limit} bytes")
                + f", checksum included; found {length}"
            )
        view = memoryview(data)
        if at_start:
            stored, payload = view[:4], view[4:]
        else:
            stored, payload = view[-4:], view[:-4]
        found = compute(octets(payload))
        if found != int.from_bytes(stored, "little"):
            raise ChecksumError(
                f"codec {name!r}: the stored checksum is {int.from_bytes(stored, 'little'):#010x},"
                f" that of the data {found:#010x}: the bytes were changed after writing"
            )
        return payload

    least, most = (4, limit) if size is None else (size, size)
    block = None if native is None else (native, at_start, least, most)
    return Step(resized(stage, 4), encode, decode, block=block)
