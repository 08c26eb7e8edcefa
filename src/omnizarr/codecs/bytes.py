"""`bytes`: the elements of an array in C order, in a given byte order.

Spec: Zarr v3 core, codecs/bytes. Alias: `endian`, its name before August 2023. Configuration:
`endian` is "little" or "big"; without it the elements are stored as the data type has them in
memory, which is how v2 stores them (its data types name their byte order). Text and byte strings of
document 004 are stored as their data type says: see `offsets`.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import numpy as np

from omnizarr.codecs import offsets, subbyte
from omnizarr.codecs.base import (
    ArrayStage,
    BytesStage,
    CodecKind,
    Context,
    Step,
    contiguous,
    exact,
    unchanged,
)
from omnizarr.codecs.configuration import choice, only
from omnizarr.codecs.document import CodecDocument
from omnizarr.errors import DecodeError, MetadataError
from omnizarr.keywords import suggesting
from omnizarr.model.codec import CodecSpec
from omnizarr.model.grids import NDArray
from omnizarr.model.store import Buffer

Endian = Literal["little", "big"]


def layout(dtype: np.dtype[Any], endian: Endian | None) -> np.dtype[Any]:
    """The dtype as it is stored: every field in `endian`, types foreign to NumPy as integers."""
    if dtype.names is not None:
        assert dtype.fields is not None
        fields = [dtype.fields[name] for name in dtype.names]
        return np.dtype(
            {
                "names": list(dtype.names),
                "formats": [layout(field[0], endian) for field in fields],
                "offsets": [field[1] for field in fields],
                "itemsize": dtype.itemsize,
            }
        )
    if dtype.subdtype is not None:
        base, shape = dtype.subdtype
        return np.dtype((layout(base, endian), shape))
    if dtype.isbuiltin == 2 and dtype.itemsize in (1, 2, 4, 8):
        dtype = np.dtype(f"u{dtype.itemsize}")
    elif dtype.kind in "mM":
        # NumPy does not swap dates and durations without a unit.
        dtype = np.dtype("i8").newbyteorder(dtype.byteorder)
    return dtype if endian is None else dtype.newbyteorder(endian)


@suggesting
@dataclass(frozen=True)
class BytesCodec(CodecDocument):
    """The elements of an array as bytes, in C order.

    Raises
    ------
    MetadataError
        If `endian` is neither "little" nor "big".

    Examples
    --------
    >>> array = omnizarr.create_array(
    ...     {}, shape=3, dtype="i4", serializer=omnizarr.codecs.BytesCodec(endian="big")
    ... )
    """

    kind: ClassVar[CodecKind] = "array-bytes"
    takes_bytes: ClassVar[bool] = True
    endian: Endian | None = sys.byteorder
    """Byte order, "little" or "big"; None: for elements of one byte."""

    def __post_init__(self) -> None:
        value = getattr(self.endian, "value", self.endian)
        if value not in ("little", "big", None):
            raise MetadataError(
                f"codec 'bytes': endian must be one of little, big, found {value!r}"
            )
        object.__setattr__(self, "endian", value)

    @classmethod
    def from_spec(cls, spec: CodecSpec, context: Context) -> BytesCodec:
        only(spec, "endian")
        if spec.configuration.get("endian") is None:
            return cls(None)
        return cls("big" if choice(spec, "endian", ("little", "big"), None) == "big" else "little")

    def spec(self) -> CodecSpec:
        return CodecSpec("bytes", {} if self.endian is None else {"endian": self.endian})

    def prepare(self, stage: ArrayStage | BytesStage) -> Step:
        if isinstance(stage, BytesStage):
            # v2 pipelines may have serialised before: then there is nothing left to do.
            return Step(stage, unchanged, unchanged)
        if stage.variable:
            if stage.type_name in offsets.TYPES:
                return offsets.prepare(stage, self.endian)
            raise MetadataError(
                f"codec 'bytes': elements of type {stage.type_name or stage.dtype} have no fixed"
                " size; use vlen-utf8 for text or vlen-bytes for bytes"
            )
        shape, dtype, size = stage.shape, stage.dtype, stage.size * stage.dtype.itemsize
        stored, memory = layout(dtype, self.endian), layout(dtype, None)
        swap = stored != memory
        clean = subbyte.cleaner(dtype)
        output = exact(size, dtype.itemsize, None if swap else stage)
        # Where there is no byte order to choose, metadata need not name one.
        same = memory.newbyteorder("<") == memory.newbyteorder(">")
        spec = CodecSpec("bytes") if same and self.endian is not None else None

        def check(data: Buffer) -> None:
            found = data.nbytes if isinstance(data, memoryview) else len(data)
            if found != size:
                raise DecodeError(
                    f"codec 'bytes': expected {size} bytes for a chunk of shape {shape} and type"
                    f" {dtype}, found {found}"
                )

        if dtype.itemsize == 0:

            def decode_empty(data: Buffer) -> NDArray:
                check(data)
                return np.zeros(shape, dtype)

            return Step(output, lambda _: b"", decode_empty, spec=spec)

        if not swap:
            custom = memory != dtype

            def decode(data: Buffer) -> NDArray:
                check(data)
                if custom:
                    return np.frombuffer(data, memory).view(dtype).reshape(shape)
                return np.frombuffer(data, dtype).reshape(shape)

            if clean is None:
                return Step(output, contiguous, decode, raw=True, swap=1, spec=spec)

            def decode_clean(data: Buffer) -> NDArray:
                array = decode(data).copy()
                clean(array)
                return array

            return Step(output, contiguous, decode_clean, raw=True, finish=clean, spec=spec)

        def encode_swapped(array: NDArray) -> Buffer:
            if memory is not dtype:
                array = np.ascontiguousarray(array).view(memory)
            return contiguous(array.astype(stored))

        def decode_swapped(data: Buffer) -> NDArray:
            check(data)
            array = np.frombuffer(data, stored).astype(memory).view(dtype).reshape(shape)
            if clean is not None:
                clean(array)
            return array

        if dtype.names is not None or dtype.subdtype is not None:
            return Step(output, encode_swapped, decode_swapped)

        def finish(array: NDArray) -> None:
            array.view(memory).byteswap(inplace=True)

        # The two halves of a complex number are swapped each.
        width = memory.itemsize // (2 if memory.kind == "c" else 1)
        return Step(output, encode_swapped, decode_swapped, raw=True, finish=finish, swap=width)
