"""`zfp`: ZFP streams without a header (lossy in most modes). Needs zfpy.

Spec: zarr-extensions, codecs/zfp. Configuration: `mode`, and with it `rate` (fixed_rate),
`precision` (fixed_precision), `tolerance` (fixed_accuracy), `minbits`, `maxbits`, `maxprec` and
`minexp` (expert) or nothing (reversible). `numcodecs.zfpy` is another codec, with a header.

Numbers of fewer than 32 bits are promoted as the text tells: floats to float32, an integer of N
bits into the upper bits of an int32. Of uint32 and uint64, for which libzfp has no type, the lower
half fits; zarrs stores the rest as the largest value that does, here it is refused. Dates are their
integers.

zarrs computes `fixed_rate` as if every chunk had three dimensions, so a block of one, two or four
has other bits than the text gives it. A stream whose length tells of that is read all the same.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np

from omnizarr.codecs import zfp_library
from omnizarr.codecs.base import (
    ArrayStage,
    BytesStage,
    CodecKind,
    Context,
    LibraryErrors,
    Step,
    exact,
    octets,
)
from omnizarr.codecs.configuration import choice, integer, number, only
from omnizarr.codecs.document import CodecDocument
from omnizarr.codecs.zfp_library import (
    FAILURES,
    NAME,
    Parameters,
    allowed,
    blocks,
    check_room,
    empty,
    longest,
    size_of,
    zfp_functions,
)
from omnizarr.errors import DecodeError, EncodeError, MetadataError
from omnizarr.model.codec import CodecSpec
from omnizarr.model.grids import NDArray
from omnizarr.model.store import Buffer

OPTIONS: Mapping[str, tuple[str, ...]] = {
    "reversible": (),
    "expert": ("minbits", "maxbits", "maxprec", "minexp"),
    "fixed_accuracy": ("tolerance",),
    "fixed_rate": ("rate",),
    "fixed_precision": ("precision",),
}
ZARRS_DIMENSIONS = 3
_SMALL = re.compile(r"u?int([248]|16)\Z")
_C_INT = 1 << 31


@dataclass(frozen=True)
class ZFPCodec(CodecDocument):
    kind: ClassVar[CodecKind] = "array-bytes"
    mode: str
    options: Mapping[str, float] = field(default_factory=dict, hash=False)

    @classmethod
    def from_spec(cls, spec: CodecSpec, context: Context) -> ZFPCodec:
        mode = choice(spec, "mode", tuple(OPTIONS), None)
        only(spec, "mode", *OPTIONS[mode])
        options: dict[str, float] = {}
        for key in OPTIONS[mode]:
            if key in ("tolerance", "rate"):
                options[key] = number(spec, key)
            else:
                low = -_C_INT if key == "minexp" else 0
                options[key] = integer(spec, key, low=low, high=_C_INT - 1)
        return cls(mode, options)

    def spec(self) -> CodecSpec:
        return CodecSpec(NAME, {"mode": self.mode, **self.options})

    def _parameters(self, dimensions: int, kind: str) -> Parameters:
        given: Any = self.options
        match self.mode:
            case "fixed_rate":
                return zfp_library.fixed_rate(given["rate"], dimensions, kind)
            case "fixed_precision":
                return zfp_library.fixed_precision(given["precision"])
            case "fixed_accuracy":
                if kind[0] != "f":
                    raise MetadataError(
                        f"codec {NAME!r}: fixed_accuracy is for floats; integers have fixed_rate,"
                        " fixed_precision and reversible"
                    )
                return zfp_library.fixed_accuracy(given["tolerance"])
            case "expert":
                return zfp_library.check(Parameters(**given), kind)
            case _:
                return zfp_library.REVERSIBLE

    def _of_zarrs(self, shape: tuple[int, ...], kind: str, nbytes: int) -> Parameters | None:
        """The parameters with which zarrs would have made the stream."""
        if self.mode != "fixed_rate":
            return None
        try:
            found = zfp_library.fixed_rate(self.options["rate"], ZARRS_DIMENSIONS, kind)
        except MetadataError:
            return None
        return found if longest(shape, kind, found) <= allowed(nbytes) else None

    def prepare(self, stage: ArrayStage) -> Step:
        numbers = _numbers(stage)
        if len(stage.shape) > 4:
            raise MetadataError(
                f"codec {NAME!r}: at most 4 dimensions, found {len(stage.shape)};"
                " the codec 'reshape' before it can merge some"
            )
        shape, kind = stage.shape or (1,), numbers.kind
        parameters = self._parameters(len(shape), kind)
        functions = zfp_functions()
        nbytes = exact(stage.size * int(kind[1])).limit
        if nbytes == 0:
            return empty(NAME, stage)
        room = check_room(NAME, shape, nbytes, longest(shape, kind, parameters))
        theirs = self._of_zarrs(shape, kind, nbytes)

        def encode(array: NDArray) -> bytes:
            values = np.ascontiguousarray(numbers.promote(array)).reshape(shape)
            if kind[0] == "f" and not parameters.reversible and not np.isfinite(values).all():
                raise EncodeError(
                    f"codec {NAME!r}: NaN or infinity in mode {self.mode!r} would spoil the numbers"
                    " around it; only 'reversible' keeps them (a fill value of an array whose last"
                    " chunks are not full counts too)"
                )
            with LibraryErrors(EncodeError, NAME, *FAILURES):
                return functions.compress(values, parameters)

        def decode(data: Buffer) -> NDArray:
            stored, settings = octets(data), parameters
            if self.mode == "fixed_rate":
                length, found = size_of(8 * stored.size), parameters.minbits
                if theirs and length == size_of(blocks(shape) * theirs.minbits) != size_of(
                    blocks(shape) * found
                ):
                    settings = theirs
            if stored.size > limit:
                raise DecodeError(
                    f"codec {NAME!r}: {stored.size} bytes, where a chunk of shape {shape} takes at"
                    f" most {limit}"
                )
            needed = room if settings is parameters else longest(shape, kind, settings)
            padded = np.zeros(max(needed, stored.size), np.uint8)
            padded[: stored.size] = stored
            values = np.empty(shape, kind)
            with LibraryErrors(DecodeError, NAME, *FAILURES):
                functions.decompress(padded, stored.size, values, settings)
            return numbers.demote(values).reshape(stage.shape)

        limit = max(room, size_of(blocks(shape) * theirs.minbits)) if theirs else room
        return Step(BytesStage(None, limit), encode, decode)


@dataclass(frozen=True)
class _Numbers:
    """How the elements of a data type become those that libzfp knows."""

    dtype: np.dtype[Any]
    kind: str
    shift: int = 0
    offset: int = 0
    low: int = 0
    high: int = 0

    def promote(self, array: NDArray) -> NDArray:
        if self.dtype.kind in "mM":
            return array.astype(self.dtype.newbyteorder("="), copy=False).view(np.int64)
        if self.high and not self.shift and array.size and int(array.max()) > self.high:
            raise EncodeError(
                f"codec {NAME!r}: of {self.dtype} it stores the values up to {self.high}, found"
                f" {array.max()}"
            )
        values = array.astype(self.kind, copy=self.shift > 0)
        if self.shift:
            values -= self.offset
            values <<= self.shift
        return values

    def demote(self, values: NDArray) -> NDArray:
        if self.dtype.kind in "mM":
            native = self.dtype.newbyteorder("=")
            return values.view(native).astype(self.dtype, copy=False)
        if self.shift:
            values >>= self.shift
            values += self.offset
        if self.shift or self.high:
            values = np.clip(values, self.low, self.high)
        with np.errstate(over="ignore"):
            return values.astype(self.dtype, copy=False)


def _numbers(stage: ArrayStage) -> _Numbers:
    dtype, name = stage.dtype, stage.type_name or stage.dtype.name
    plain = dtype.str[1:]
    if dtype.kind in "mM":
        return _Numbers(dtype, "i8")
    if dtype.isbuiltin != 2 and plain in zfp_library.TYPES:
        return _Numbers(dtype, plain)
    if dtype.isbuiltin != 2 and plain in ("u4", "u8"):
        return _Numbers(dtype, "i" + plain[1], high=(1 << 8 * dtype.itemsize - 1) - 1)
    if plain == "f2" or name == "bfloat16":
        return _Numbers(dtype, "f4")
    small = _SMALL.match(name)
    if small:
        bits = int(small[1])
        half = 1 << bits - 1
        if name[0] == "u":
            return _Numbers(dtype, "i4", 31 - bits, half, 0, 2 * half - 1)
        return _Numbers(dtype, "i4", 31 - bits, 0, -half, half - 1)
    raise MetadataError(f"codec {NAME!r}: compresses integers and floats, not {name}")
