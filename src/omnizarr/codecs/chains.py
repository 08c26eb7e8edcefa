"""A pipeline of codecs, prepared once for a chunk's shape and type.

Final v3 asks for array-to-array codecs, one array-to-bytes codec, then bytes-to-bytes codecs. v2
lists filters and a compressor that may each be of any kind. Both are one list here. Where a codec
does not take what the one before it yields, the step that v2 implies is inserted: an array becomes
its memory in C order, and bytes become an array of the type that the next codec names.

Decoding into a given array: codecs that only look at the array in another way (transpose) are
turned into a view of the target; if that view is contiguous and its bytes need no change, the
innermost compressor writes straight into it. Otherwise the chunk is decoded and assigned.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

import numpy as np

from omnizarr import limits
from omnizarr.codecs import text
from omnizarr.codecs.base import (
    ArrayStage,
    BytesStage,
    Context,
    Stage,
    Step,
    reinterpreted,
    split_at_serializer,
)
from omnizarr.codecs.bytes import BytesCodec
from omnizarr.codecs.layout import ChunkLayout, SerialLayout, layout_of, serial_layout_of
from omnizarr.codecs.registry import get_codec
from omnizarr.errors import EncodeError, LimitError, MetadataError
from omnizarr.model.casting import cast
from omnizarr.model.codec import CodecSpec
from omnizarr.model.column import Column
from omnizarr.model.dtypes.base import DataType
from omnizarr.model.grids import NDArray, Shape
from omnizarr.model.store import Buffer

if TYPE_CHECKING:
    from omnizarr.codecs.sharding import Shard

UINT8 = np.dtype(np.uint8)


ChainArguments = tuple[Sequence[CodecSpec], ArrayStage, Context]


class Scratch:
    """Memory that one thread uses for one chunk after the other.

    Fresh memory costs a page fault for every 4 KiB, often as much as decoding into it.

    Examples
    --------
    >>> scratch = omnizarr.codecs.Scratch()
    >>> scratch.take(4).shape
    (4,)
    """

    __slots__ = ("_buffer",)

    def __init__(self) -> None:
        self._buffer = np.empty(0, np.uint8)

    def take(self, size: int) -> NDArray:
        """Give flat `uint8` memory. What was taken before is overwritten.

        Parameters
        ----------
        size
            Exact number of bytes.
        """
        if self._buffer.size < size:
            self._buffer = np.empty(size, np.uint8)
        return self._buffer[:size]


class Decode(Protocol):
    def __call__(self, data: Buffer, scratch: Scratch | None = None, /) -> NDArray: ...


class DecodeInto(Protocol):
    def __call__(self, data: Buffer, out: NDArray, scratch: Scratch | None = None, /) -> None: ...


class Chain:
    """Codecs made ready for chunks of one shape and type. It has no state; threads may share it.

    `omnizarr.codecs.chain` makes one.

    Parameters
    ----------
    stage
        Shape and type of a chunk.
    steps
        The prepared codecs.
    specs
        The codecs' metadata.
    origin
        Arguments of `build`, for a pickle.

    Examples
    --------
    >>> from omnizarr.model.dtypes.registry import from_json
    >>> specs = [omnizarr.codecs.codec_spec(name) for name in ("bytes", "gzip")]
    >>> prepared = omnizarr.codecs.chain(specs, (3,), from_json("uint8"), 0)
    >>> data = prepared.encode(np.array([1, 2, 3], "u1"))
    >>> prepared.decode(data), prepared.nbytes
    (array([1, 2, 3], dtype=uint8), 3)
    """

    __slots__ = (
        "_origin",
        "columnar",
        "decode",
        "decode_column",
        "decode_into",
        "dtype",
        "encode",
        "footprint",
        "layout",
        "nbytes",
        "output",
        "serial_layout",
        "serializer",
        "shape",
        "shard",
        "specs",
    )

    shape: Shape
    """Shape of a chunk."""
    dtype: np.dtype[Any]
    """Type of its elements in memory."""
    nbytes: int | None
    """Bytes of a decoded chunk; None for elements without a fixed size."""
    footprint: int
    """Memory for decoding one chunk, in chunks: the encoded bytes, the decoded ones, and a third
    for libraries that cannot decode into given memory."""
    specs: tuple[CodecSpec, ...]
    """The codecs, with options that depend on the array filled in: what belongs in metadata."""
    shard: Shard | None
    """Set if parts of the chunk can be read alone."""
    output: BytesStage
    """What encoded chunks look like."""
    encode: Callable[[NDArray | Column], Buffer]
    """Encode an array or a column of exactly this shape and any strides. The result may be a view
    of the array's memory."""
    decode: Decode
    """Decode to an array. It may be read-only or a view of the given bytes. With a scratch it is
    valid only until the scratch is used again."""
    decode_into: DecodeInto
    """Decode into an array of exactly this shape and any strides."""
    layout: ChunkLayout | None
    """Set if the native core knows such chunks."""
    serial_layout: SerialLayout | None
    """Set if the native core knows the codecs behind `serializer`."""
    serializer: Chain
    """The first codec alone, where there is a `serial_layout`; otherwise the chain itself."""
    columnar: bool
    """Elements of variable size are decoded to a column, without a Python object for each."""
    decode_column: Callable[[Buffer], Column]
    """Decode text or byte strings to a column, which may be a view of the given bytes."""

    def __init__(
        self,
        stage: ArrayStage,
        steps: Sequence[Step],
        specs: tuple[CodecSpec, ...],
        origin: ChainArguments,
    ) -> None:
        output = steps[-1].output
        assert isinstance(output, BytesStage)
        self.shape, self.dtype, self.nbytes = stage.shape, stage.dtype, stage.nbytes
        self.specs, self.output = specs, output
        self.shard = steps[0].shard if len(steps) == 1 else None
        self.encode = _encoder(stage, steps)
        self.decode = _decoder(stage, steps)
        self.decode_into = _into(stage, steps, self.decode)
        self.columnar = steps[0].columns is not None
        self.decode_column = _column_decoder(stage, steps, self.decode)
        if text.is_in(stage.dtype):
            self.decode, self.decode_into = _checked(self.decode, self.decode_into)
        self.layout = layout_of(stage, steps, output.limit)
        # A codec that is skipped has a spec and no step.
        self.serial_layout = serial_layout_of(steps) if len(steps) == len(specs) else None
        self.serializer = self
        if self.serial_layout is not None and len(steps) > 1:
            self.serializer = Chain(stage, steps[:1], specs[:1], (specs[:1], *origin[1:]))
        self.footprint = 2 if _raw(steps) is not None or self.shard is not None else 3
        self._origin = origin

    def __reduce__(self) -> tuple[Any, ...]:
        return (build, self._origin)

    def __repr__(self) -> str:
        names = ", ".join(spec.name for spec in self.specs)
        return f"<Chain {names} of {self.dtype} {self.shape}>"


def chain(
    specs: Sequence[CodecSpec],
    shape: Shape,
    data_type: DataType,
    fill: object,
    *,
    allow_pickle: bool = False,
) -> Chain:
    """Prepare the codecs of an array for its chunks.

    Everything that the metadata alone can get wrong raises here, before any data is touched.

    Parameters
    ----------
    specs
        The codecs, in the order of encoding.
    shape
        Shape of a chunk.
    data_type
        Type of the elements.
    fill
        The fill value, a scalar of the type.
    allow_pickle
        Whether codecs may run code from the data.

    Raises
    ------
    MetadataError
        If the codecs cannot be used for such chunks.
    LimitError
        If a chunk would pass a cap of `omnizarr.limits`.

    Examples
    --------
    >>> from omnizarr.model.dtypes.registry import from_json
    >>> specs = [omnizarr.codecs.codec_spec({"name": "bytes", "configuration": {"endian": "big"}})]
    >>> prepared = omnizarr.codecs.chain(specs, (2,), from_json("uint16"), 0)
    >>> bytes(prepared.encode(np.array([1, 2], "u2"))).hex()
    '00010002'
    """
    stage = ArrayStage(tuple(shape), data_type.numpy, fill, data_type.name)
    return build(tuple(specs), stage, Context(allow_pickle=allow_pickle))


def build(specs: Sequence[CodecSpec], stage: ArrayStage, context: Context) -> Chain:
    """The codecs `specs` behind `stage`."""
    if prod(stage.shape) * max(1, stage.dtype.itemsize) > limits.current.max_chunk_bytes:
        raise LimitError(
            f"a chunk of shape {stage.shape} and type {stage.dtype} takes"
            f" {prod(stage.shape) * stage.dtype.itemsize} bytes; the limit is"
            f" {limits.current.max_chunk_bytes} (omnizarr.limits.set(max_chunk_bytes=…) raises it)"
        )
    current: Stage = stage
    steps: list[Step] = []
    final: list[CodecSpec] = []
    for spec in specs:
        codec = get_codec(spec, context)
        if codec is None:
            final.append(spec)
            continue
        joint = _joint(codec, spec, current)
        if joint is not None:
            steps.append(joint)
            current = joint.output
        step = codec.prepare(current)
        steps.append(step)
        final.append(step.spec or spec)
        current = step.output
    if isinstance(current, ArrayStage):
        step = BytesCodec(None).prepare(current)
        steps.append(step)
    return Chain(stage, steps, tuple(final), (tuple(specs), stage, context))


def _joint(codec: Any, spec: CodecSpec, stage: Stage) -> Step | None:
    """The step that v2 implies between a stage and a codec that does not take it."""
    wants_bytes = codec.kind == "bytes-bytes"
    if isinstance(stage, ArrayStage):
        return BytesCodec(None).prepare(stage) if wants_bytes else None
    if wants_bytes or getattr(codec, "takes_bytes", False):
        return None
    if stage.array is not None:
        return _seen_as(spec, stage, stage.array)
    dtype = getattr(codec, "dtype", None)
    if codec.kind == "array-array" and isinstance(dtype, np.dtype) and stage.size is not None:
        whole = ArrayStage((stage.size,), UINT8)
        return _seen_as(spec, stage, ArrayStage(reinterpreted(spec.name, whole, dtype)[0], dtype))
    raise MetadataError(f"codec {spec.name!r} takes an array, but the codec before it yields bytes")


def _seen_as(spec: CodecSpec, stage: BytesStage, array: ArrayStage) -> Step:
    """Bytes as an array: the inverse of writing an array's memory out."""
    plain = BytesCodec(None).prepare(array)
    if plain.output.size != stage.size:
        raise MetadataError(
            f"codec {spec.name!r}: {stage.size} bytes are no array of {array.dtype}"
        )
    return Step(array, plain.decode, plain.encode)


def _encoder(stage: ArrayStage, steps: Sequence[Step]) -> Callable[[NDArray | Column], Buffer]:
    shape, dtype = stage.shape, stage.dtype
    encoders = tuple(step.encode for step in steps)
    columns = steps[0].columns

    def encode(array: NDArray | Column) -> Buffer:
        if array.shape != shape:
            raise EncodeError(f"expected a chunk of shape {shape}, found {array.shape}")
        if isinstance(array, Column):
            if columns is not None:
                value: Any = columns.encode(array)
                for encode_step in encoders[1:]:
                    value = encode_step(value)
                return value  # type: ignore[no-any-return]
            array = array.numpy(dtype)
        if array.dtype != dtype:
            try:
                array = cast(array, dtype)
            except (TypeError, ValueError, OverflowError) as error:
                raise EncodeError(f"{array.dtype} cannot become {dtype}: {error}") from error
        value = array
        for encode_step in encoders:
            value = encode_step(value)
        return value  # type: ignore[no-any-return]

    return encode


def _decoder(stage: ArrayStage, steps: Sequence[Step]) -> Decode:
    decoders = tuple(step.decode for step in reversed(steps))

    def decode(data: Any, scratch: Scratch | None = None) -> NDArray:
        value: Any = data
        for decode_step in decoders:
            value = decode_step(value)
        return value  # type: ignore[no-any-return]

    raw = _raw(steps)
    if raw is None or steps[0] is not raw.serial:
        return decode
    straight = raw.decoder(stage)

    def decode_with(data: Any, scratch: Scratch | None = None) -> NDArray:
        return decode(data) if scratch is None else straight(data, scratch)

    return decode_with


def _column_decoder(
    stage: ArrayStage, steps: Sequence[Step], decode: Decode
) -> Callable[[Buffer], Column]:
    columns = steps[0].columns
    is_text = stage.dtype.kind == "T" or stage.type_name in ("string", "LargeString")
    if columns is None:
        return lambda data: Column.of(decode(data), is_text)
    decoders = tuple(step.decode for step in reversed(steps[1:]))
    last = columns.decode

    def decode_column(data: Any) -> Column:
        for decode_step in decoders:
            data = decode_step(data)
        return last(data)

    return decode_column


def _checked(decode: Decode, decode_into: DecodeInto) -> tuple[Decode, DecodeInto]:
    """The same for text, of which every character is checked."""

    def decode_text(data: Any, scratch: Scratch | None = None) -> NDArray:
        array = decode(data, scratch)
        text.check(array)
        return array

    def decode_text_into(data: Any, out: NDArray, scratch: Scratch | None = None) -> None:
        decode_into(data, out, scratch)
        text.check(out)

    return decode_text, decode_text_into


class _RawTail(NamedTuple):
    """The end of a chain whose serialised bytes are an array's memory, written by a compressor."""

    serial: Step
    into: Callable[[Any, NDArray], None]
    outer: tuple[Callable[[Any], Any], ...]

    def decoder(self, stage: ArrayStage) -> Callable[[Any, Scratch], NDArray]:
        """Decode into scratch memory and look at it as the array."""
        into, outer, finish = self.into, self.outer, self.serial.finish
        shape, dtype, size = stage.shape, stage.dtype, stage.size * stage.dtype.itemsize

        def decode(data: Any, scratch: Scratch) -> NDArray:
            for decode_step in outer:
                data = decode_step(data)
            memory = scratch.take(size)
            into(data, memory)
            array = memory.view(dtype).reshape(shape)
            if finish is not None:
                finish(array)
            return array

        return decode


def _raw(steps: Sequence[Step]) -> _RawTail | None:
    _, serial, behind = split_at_serializer(steps)
    if not serial.raw or not behind or behind[0].decode_into is None:
        return None
    outer = tuple(step.decode for step in reversed(behind[1:]))
    return _RawTail(serial, behind[0].decode_into, outer)


def _into(stage: ArrayStage, steps: Sequence[Step], decode: Decode) -> DecodeInto:
    views, serial, behind = split_at_serializer(steps)
    raw = _raw(steps)
    into: DecodeInto
    if raw is not None:
        before = steps[len(views) - 1].output if views else stage
        assert isinstance(before, ArrayStage)
        into = _raw_into(raw, before)
    elif serial.decode_into is not None and isinstance(serial.output, BytesStage):
        outer, straight = tuple(step.decode for step in reversed(behind)), serial.decode_into

        def through(data: Any, out: NDArray, scratch: Scratch | None = None) -> None:
            for decode_step in outer:
                data = decode_step(data)
            straight(data, out)

        into = through
    else:

        def assign(data: Any, out: NDArray, scratch: Scratch | None = None) -> None:
            out[...] = decode(data, scratch)

        return assign

    def decode_into(data: Any, out: NDArray, scratch: Scratch | None = None) -> None:
        for view in views:
            out = view(out)
        into(data, out, scratch)

    return decode_into if views else into


def _raw_into(raw: _RawTail, before: ArrayStage) -> DecodeInto:
    dtype, into, outer, finish = before.dtype, raw.into, raw.outer, raw.serial.finish
    aside = raw.decoder(before)

    def decode_into(data: Any, out: NDArray, scratch: Scratch | None = None) -> None:
        if not out.flags.c_contiguous or out.dtype != dtype:
            out[...] = aside(data, scratch or Scratch())
            return
        for decode_step in outer:
            data = decode_step(data)
        into(data, out.reshape(-1).view(UINT8))
        if finish is not None:
            finish(out)

    return decode_into
