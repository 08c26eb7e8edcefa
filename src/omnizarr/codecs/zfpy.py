"""`numcodecs.zfpy`: ZFP streams with a header (lossy in most modes). v2: `zfpy`. Needs zfpy.

Configuration: `mode` (2 fixed rate, 3 fixed precision, 4 fixed accuracy, 5 reversible) with `rate`,
`precision` or `tolerance`; only writing needs them: streams have a header.

libzfp does not check where the data end. So the header is checked, and the data are decoded from a
buffer that is longer than any stream of that shape. To find truncated streams, the data are decoded
twice with different padding, and the results must agree.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import prod
from typing import Any, ClassVar

import numpy as np

from omnizarr.codecs.base import (
    ArrayStage,
    BytesStage,
    CodecKind,
    LibraryErrors,
    Step,
    exact,
    octets,
)
from omnizarr.codecs.configuration import ConfiguredCodec, integer, member, number
from omnizarr.codecs.loader import library
from omnizarr.codecs.zfp_library import FAILURES, WINDOW, check_room, empty, size_of
from omnizarr.errors import DecodeError, EncodeError, MetadataError
from omnizarr.model.grids import NDArray
from omnizarr.model.store import Buffer

NAME = "numcodecs.zfpy"
PARAMETERS = {2: "rate", 3: "precision", 4: "tolerance", 5: None}


@dataclass(frozen=True)
class ZFPYCodec(ConfiguredCodec):
    kind: ClassVar[CodecKind] = "array-bytes"
    mode: int = member(integer, default=4)
    tolerance: float = member(number, default=-1)
    rate: float = member(number, default=-1)
    precision: int = member(integer, default=-1)
    name: str = NAME

    def __post_init__(self) -> None:
        if self.mode not in PARAMETERS:
            raise MetadataError(f"codec {NAME!r}: mode {self.mode} is none of 2, 3, 4, 5")

    def prepare(self, stage: ArrayStage) -> Step:
        native = stage.dtype.newbyteorder("=")
        if native.str[1:] not in ("f4", "f8", "i4", "i8"):
            raise MetadataError(f"codec {NAME!r}: encodes 32 and 64 bit numbers, not {stage.dtype}")
        if len(stage.shape) > 4:
            raise MetadataError(f"codec {NAME!r}: at most 4 dimensions, found {len(stage.shape)}")
        zfpy = library("zfpy", NAME)
        shape, dtype = stage.shape, stage.dtype
        parameter = PARAMETERS[self.mode]
        options = {} if parameter is None else {parameter: getattr(self, parameter)}
        size = exact(stage.size * dtype.itemsize).limit
        if size == 0:
            return empty(NAME, stage)

        def encode(array: NDArray) -> bytes:
            values = np.ascontiguousarray(array, native)
            with LibraryErrors(EncodeError, NAME, *FAILURES):
                return bytes(zfpy.compress_numpy(values, write_header=True, **options))

        def decode(data: Buffer) -> NDArray:
            stored = octets(data)
            length = stored.size
            padded = np.zeros(length + _room(zfpy, stored[:32].tobytes(), shape, native), np.uint8)
            padded[:length] = stored
            results = []
            for padding in (0, 255):
                padded[length : length + WINDOW] = padding
                with LibraryErrors(DecodeError, NAME, *FAILURES):
                    results.append(np.asarray(zfpy.decompress_numpy(padded)))
            first, second = results
            if first.tobytes() != second.tobytes():
                raise DecodeError(f"codec {NAME!r}: the stream of {length} bytes ends early")
            return first.reshape(shape).astype(dtype, copy=False)

        return Step(BytesStage(None, 2 * size + 65536), encode, decode)


def _room(zfpy: Any, data: bytes, shape: tuple[int, ...], dtype: np.dtype[Any]) -> int:
    """How many bytes beyond the data a decoder can be made to read."""
    if len(data) < 12:
        raise DecodeError(f"codec {NAME!r}: {len(data)} bytes, fewer than a header has")
    try:
        header = zfpy.header(data[:32].ljust(32, b"\0"))
        lengths = [header[key] for key in ("nw", "nz", "ny", "nx")]
        found = np.dtype(header["type"])
        minbits = int(header["config"]["expert"]["minbits"])
        maxbits = int(header["config"]["expert"]["maxbits"])
    except (TypeError, ValueError, KeyError, RuntimeError) as error:
        raise DecodeError(f"codec {NAME!r}: the header is not valid: {error}") from error
    stored = tuple(length for length in lengths if length)
    if found != dtype or prod(stored) != prod(shape):
        raise DecodeError(
            f"codec {NAME!r}: expected {dtype} of shape {shape}, the header says {found}, {stored}"
        )
    values = 4 ** len(stored)
    blocks = prod(-(-length // 4) for length in stored)
    # A block holds its exponent, and for every bit plane its bits and as many tests.
    per_block = 64 + values * (dtype.itemsize * 8 + 1) * 2
    # If maxbits is smaller than the head of a block, libzfp's count of remaining bits underflows.
    bits = max(minbits, min(maxbits, per_block) if maxbits >= 64 else per_block)
    nbytes = prod(shape) * dtype.itemsize
    return check_room(NAME, stored, nbytes, size_of(blocks * bits) + 64)
