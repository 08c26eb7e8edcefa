"""`packbits`: elements in as many bits as they have, one after the other.

Spec: zarr-extensions, codecs/packbits. Configuration: `padding_encoding` (none, first_byte,
last_byte), `first_bit`, `last_bit`. The text leaves open where in a byte the first bit is; all
software puts it lowest (`numcodecs.packbits`, which is another codec, puts it highest).

zarrs (up to 0.23 at least) leaves the byte of the padding out where all bits of whole bytes are
kept. Where that byte would be the last, such a chunk is read; where it would be the first, nothing
tells it from one that was cut. It also extends the sign of some bits of a larger integer through
the first byte only; here the text holds, and the sign goes all the way.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from omnizarr.codecs.base import ArrayStage, BytesStage, CodecKind, Step, exact
from omnizarr.codecs.configuration import ConfiguredCodec, choice, integer, member
from omnizarr.errors import DecodeError, MetadataError
from omnizarr.model.grids import NDArray
from omnizarr.model.store import Buffer

PADDINGS = ("none", "first_byte", "last_byte")
BLOCK = 1 << 14
"""Elements at a time: on the way every bit is a byte. A multiple of 8 ends with a whole byte."""
_SMALL = re.compile(r"(?:complex_)?(?:u?int|float)([246])(?:_|$)")


@dataclass(frozen=True)
class PackBitsCodec(ConfiguredCodec):
    kind: ClassVar[CodecKind] = "array-bytes"
    strict: ClassVar[bool] = True
    padding_encoding: str = member(choice, allowed=PADDINGS, default="none", hide_default=True)
    first_bit: int | None = member(integer, default=None, low=0, high=1023)
    last_bit: int | None = member(integer, default=None, low=0, high=1023)
    name: str = "packbits"

    def prepare(self, stage: ArrayStage) -> Step:
        dtype, shape = stage.dtype, stage.shape
        name = stage.type_name or dtype.name
        components = 2 if dtype.kind == "c" or name.startswith("complex") else 1
        if dtype.kind not in "biufcmM" and dtype.isbuiltin != 2 and components == 1:
            raise MetadataError(f"codec 'packbits': packs numbers, not {name}")
        width = dtype.itemsize * 8 // components
        small = _SMALL.match(name)
        total = 1 if dtype.kind == "b" else int(small[1]) if small else width
        first = self.first_bit or 0
        last = total - 1 if self.last_bit is None else self.last_bit
        if not first <= last < total:
            raise MetadataError(
                f"codec 'packbits': bits {first} to {last} of {name}, which has {total}"
            )
        count = stage.size * components
        bits = count * (last - first + 1)
        padding, octets = -bits % 8, (bits + 7) // 8
        extra = 0 if self.padding_encoding == "none" else 1
        signed = dtype.kind in "imM" or name.startswith("int")
        whole = extra > 0 and last - first + 1 == width
        bare = octets if whole and self.padding_encoding == "last_byte" else None
        memory = np.dtype(np.uint8)
        little = dtype if dtype.isbuiltin == 2 else dtype.newbyteorder("<")
        mark, encoding = bytes([padding]), self.padding_encoding

        def encode(array: NDArray) -> bytes:
            flat = np.ascontiguousarray(array.astype(little, copy=False)).reshape(-1).view(memory)
            rows = flat.reshape(count, width // 8)
            parts = []
            for start in range(0, count, BLOCK):
                table = np.unpackbits(rows[start : start + BLOCK], axis=1, bitorder="little")
                parts.append(np.packbits(table[:, first : last + 1], bitorder="little").tobytes())
            packed = b"".join(parts)
            if encoding == "first_byte":
                return mark + packed
            return packed + mark if encoding == "last_byte" else packed

        def decode(data: Buffer) -> NDArray:
            found = np.frombuffer(data, np.uint8)
            if len(found) == bare:
                pass  # zarrs', without the byte of the padding
            elif len(found) != octets + extra:
                raise DecodeError(
                    f"codec 'packbits': expected {octets + extra} bytes for {count} elements of"
                    f" {last - first + 1} bits, found {len(found)}"
                    + (" (zarrs leaves out the byte of the padding here)" if whole else "")
                )
            elif extra:
                stored = int(found[0] if encoding == "first_byte" else found[-1])
                if stored != padding:
                    raise DecodeError(
                        f"codec 'packbits': {padding} bits of padding expected, found {stored}"
                    )
                found = found[1:] if encoding == "first_byte" else found[:-1]
            rows = np.empty((count, width // 8), np.uint8)
            kept = last - first + 1
            for start in range(0, count, BLOCK):
                number = min(BLOCK, count - start)
                packed = np.unpackbits(
                    found[start * kept // 8 :], count=number * kept, bitorder="little"
                )
                table = np.zeros((number, width), np.uint8)
                table[:, first : last + 1] = packed.reshape(number, kept)
                if signed:
                    table[:, last + 1 : total] = table[:, last : last + 1]
                rows[start : start + number] = np.packbits(table, axis=1, bitorder="little")
            elements: Any = rows.reshape(-1).view(little)
            return np.asarray(elements.astype(dtype, copy=False)).reshape(shape)

        output = exact(octets + extra)
        if bare is not None:
            output = BytesStage(None, output.limit)
        return Step(output, encode, decode)
