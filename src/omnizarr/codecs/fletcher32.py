"""`numcodecs.fletcher32`: HDF5's Fletcher checksum, appended in four bytes. v2: `fletcher32`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from omnizarr.codecs.base import BytesStage, CodecKind, Context, Step
from omnizarr.codecs.checksums import checksum_step
from omnizarr.model.codec import CodecSpec

BLOCK = 360
"""Words after which the sums are folded: what keeps them below 2³²."""


def fletcher32(data: Any) -> int:
    """Two running sums over big-endian 16-bit words, folded to 16 bits after every block.

    With S the sum of a block's words and T that of its partial sums, a block of n words adds S to
    the first sum and T + n × (first sum) to the second. S and T come for all blocks at once.
    """
    octets = np.frombuffer(data, np.uint8)
    words = octets[: len(octets) // 2 * 2].view(">u2").astype(np.uint64)
    whole = len(words) // BLOCK * BLOCK
    rest = words[whole:]
    blocks = words[:whole].reshape(-1, BLOCK)
    sums = [(s, t, BLOCK) for s, t in zip(*_sums(blocks), strict=True)]
    if len(rest):
        (total,), (partial,) = _sums(rest.reshape(1, -1))
        sums.append((total, partial, len(rest)))
    if len(octets) % 2:
        last = int(octets[-1]) << 8
        sums.append((last, last, 1))
    first = second = 0
    for total, partial, count in sums:
        second += partial + count * first
        first += total
        first = (first & 0xFFFF) + (first >> 16)
        second = (second & 0xFFFF) + (second >> 16)
    first = (first & 0xFFFF) + (first >> 16)
    second = (second & 0xFFFF) + (second >> 16)
    return (second << 16 | first) & 0xFFFFFFFF


def _sums(blocks: npt.NDArray[np.uint64]) -> tuple[list[int], list[int]]:
    weights = np.arange(blocks.shape[1], 0, -1, dtype=np.uint64)
    return blocks.sum(axis=1).tolist(), (blocks @ weights).tolist()


@dataclass(frozen=True)
class Fletcher32Codec:
    kind: ClassVar[CodecKind] = "bytes-bytes"

    @classmethod
    def from_spec(cls, spec: CodecSpec, context: Context) -> Fletcher32Codec:
        return cls()

    def spec(self) -> CodecSpec:
        return CodecSpec("numcodecs.fletcher32")

    def prepare(self, stage: BytesStage) -> Step:
        return checksum_step("numcodecs.fletcher32", stage, fletcher32)
