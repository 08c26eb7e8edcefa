"""The interface of codecs.

A chunk passes through *stages*. A codec is a frozen dataclass of its configuration. It is prepared
once for the stage before it: `prepare(stage)` checks everything that needs no data and gives a
`Step`, which has the stage behind the codec and functions to encode and decode. So every size is
known before a byte is decoded, and no decoder may yield more than the stage before it promises.

This module knows sizes and shapes. It must not know any codec, store or format.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod
from typing import TYPE_CHECKING, Any, ClassVar, Literal, NamedTuple, Protocol, Self

import numpy as np
import numpy.typing as npt

from omnizarr import limits
from omnizarr.errors import CodecError, DecodeError, EncodeError, LimitError, MetadataError
from omnizarr.model.codec import CodecSpec
from omnizarr.model.column import Column
from omnizarr.model.grids import NDArray, Shape
from omnizarr.model.store import Buffer

if TYPE_CHECKING:
    from omnizarr.codecs.sharding import Shard

CodecKind = Literal["array-array", "array-bytes", "bytes-bytes"]


class ArrayStage(NamedTuple):
    """An array of known shape and type.

    Examples
    --------
    >>> stage = omnizarr.codecs.ArrayStage((2, 3), np.dtype("i4"))
    >>> stage.size, stage.nbytes, stage.variable
    (6, 24, False)
    """

    shape: Shape
    """Length of every dimension."""
    dtype: np.dtype[Any]
    """Type of the elements in memory."""
    fill: object = None
    """The value of elements that are not stored, a scalar of `dtype`."""
    type_name: str = ""
    """Canonical name of the data type; several types can have one NumPy dtype."""

    @property
    def size(self) -> int:
        """How many elements."""
        return prod(self.shape)

    @property
    def variable(self) -> bool:
        """Elements have no fixed size in bytes."""
        return self.dtype.hasobject or self.dtype.kind == "T"

    @property
    def nbytes(self) -> int | None:
        """Bytes in memory; None for elements without a fixed size."""
        return None if self.variable else self.size * self.dtype.itemsize


class BytesStage(NamedTuple):
    """Bytes of known size, or at least of known greatest size.

    Examples
    --------
    >>> stage = omnizarr.codecs.BytesStage(size=24, limit=24)
    >>> omnizarr.codecs.Crc32cCodec().prepare(stage).output.size
    28
    """

    size: int | None
    """Exactly this many, where it is known."""
    limit: int
    """Never more than this."""
    itemsize: int = 1
    """Size of the elements that were serialised, for codecs that shuffle."""
    array: ArrayStage | None = None
    """The array whose memory these bytes are; None once a codec has changed them."""


Stage = ArrayStage | BytesStage


def exact(size: int, itemsize: int = 1, array: ArrayStage | None = None) -> BytesStage:
    """Bytes whose number the metadata fixes."""
    if size > limits.current.max_chunk_bytes:
        raise LimitError(
            f"a chunk of {size} bytes; the limit is {limits.current.max_chunk_bytes}"
            " (omnizarr.limits.set(max_chunk_bytes=…) raises it)"
        )
    return BytesStage(size, size, itemsize, array)


def unknown(itemsize: int = 1) -> BytesStage:
    """Bytes whose number depends on the data."""
    return BytesStage(None, limits.current.max_expansion, itemsize)


def compressed(stage: BytesStage) -> BytesStage:
    """The stage behind a compressor: of unknown size, at most twice the input and 64 KiB.

    That is above the worst case of every codec here (base64 needs 4/3). The limit does not double
    without end in a long row of compressors.
    """
    twice = 2 * stage.limit + 65536
    if stage.size is None:
        twice = min(twice, max(stage.limit, limits.current.max_expansion))
    return BytesStage(None, twice, stage.itemsize)


def resized(stage: BytesStage, more: int) -> BytesStage:
    """The stage with a fixed number of bytes added."""
    size = None if stage.size is None else stage.size + more
    return stage._replace(size=size, limit=stage.limit + more, array=None)


class ColumnCoder(NamedTuple):
    """Encodes a column of variable-size elements, and decodes it."""

    encode: Callable[[Column], Any]
    decode: Callable[[Any], Column]
    """Checks all offsets and all text. The column may be a view of the given bytes."""


class Step(NamedTuple):
    """A codec prepared for a stage.

    Examples
    --------
    >>> stage = omnizarr.codecs.ArrayStage((2, 3), np.dtype("i4"))
    >>> step = omnizarr.codecs.TransposeCodec((1, 0)).prepare(stage)
    >>> step.output.shape, step.encode(np.zeros((2, 3), "i4")).shape
    ((3, 2), (3, 2))
    """

    output: Stage
    """The stage behind the codec."""
    encode: Callable[[Any], Any]
    """From the stage before to `output`."""
    decode: Callable[[Any], Any]
    """From `output` to the stage before."""
    decode_into: Callable[[Any, NDArray], None] | None = None
    """Decode into a given array. Behind bytes it is C-contiguous `uint8` of exactly the size of
    the stage before; behind an array it has the shape of that stage and any strides."""
    view: Callable[[NDArray], NDArray] | None = None
    """Array to array as a view of the same memory."""
    raw: bool = False
    """The bytes are the array's memory in C order, except for `finish`."""
    finish: Callable[[NDArray], None] | None = None
    """Changes the decoded array in place, after its bytes have been copied (byte order)."""
    swap: int | None = None
    """Set if the native core can do this step: the size of the groups of bytes that it reverses."""
    block: tuple[Any, ...] | None = None
    """Describes the step to the native core (`codecs.layout`): its name there, and its options."""
    shard: Shard | None = None
    """Set if parts of the array can be decoded alone."""
    columns: ColumnCoder | None = None
    """Set if variable-size elements can be coded without a Python object for each."""
    spec: CodecSpec | None = None
    """The codec's metadata, if `prepare` filled in options that were left open."""


def split_at_serializer(
    steps: Sequence[Step],
) -> tuple[list[Callable[[NDArray], NDArray]], Step, Sequence[Step]]:
    """The views that a chain begins with, the first step behind them, and all further ones."""
    views = []
    for step in steps:
        if step.view is None:
            break
        views.append(step.view)
    return views, steps[len(views)], steps[len(views) + 1 :]


class Context(NamedTuple):
    """What a codec may know when it is made from metadata.

    Examples
    --------
    >>> context = omnizarr.codecs.Context(allow_pickle=True)
    >>> context.deeper()
    Context(allow_pickle=True, depth=1)
    """

    allow_pickle: bool = False
    """Whether codecs may run code from the data."""
    depth: int = 0
    """In how many other codecs this one is nested."""

    def deeper(self) -> Context:
        """Give the context of codecs inside this one; `LimitError` if they are nested too deep."""
        if self.depth + 1 > limits.current.max_codec_depth:
            raise LimitError(
                f"codecs nested deeper than {limits.current.max_codec_depth}"
                " (omnizarr.limits.set(max_codec_depth=…) raises it)"
            )
        return self._replace(depth=self.depth + 1)


class Codec(Protocol):
    """The methods of a codec; the implementations are frozen dataclasses.

    Examples
    --------
    >>> from omnizarr.codecs import CodecSpec, Step, register_codec
    >>> from dataclasses import dataclass
    >>> @dataclass(frozen=True)
    ... class Inverted:
    ...     kind = "bytes-bytes"
    ...
    ...     @classmethod
    ...     def from_spec(cls, spec, context):
    ...         return cls()
    ...
    ...     def spec(self):
    ...         return CodecSpec("example.inverted")
    ...
    ...     def prepare(self, stage):
    ...         def invert(data):
    ...             return bytes(255 - byte for byte in bytes(data))
    ...
    ...         return Step(stage, invert, invert)
    >>> register_codec("example.inverted", Inverted)
    >>> array = omnizarr.create_array({}, shape=3, dtype="u1", compressors=Inverted())
    >>> array[:] = [1, 2, 3]
    >>> bytes(array.store["c/0"])
    b'\\xfe\\xfd\\xfc'
    """

    kind: ClassVar[CodecKind]

    @classmethod
    def from_spec(cls, spec: CodecSpec, context: Context) -> Self:
        """Make the codec that metadata describes.

        Parameters
        ----------
        spec
            Name and configuration in the metadata.
        context
            What the codec may know of its surroundings.

        Raises
        ------
        MetadataError
            If the configuration cannot be honoured.

        Examples
        --------
        >>> spec = omnizarr.codecs.CodecSpec("gzip", {"level": 1})
        >>> omnizarr.codecs.GzipCodec.from_spec(spec, omnizarr.codecs.Context())
        GzipCodec(level=1, name='gzip')
        """
        ...

    def spec(self) -> CodecSpec:
        """Give the metadata that describes the codec.

        Examples
        --------
        >>> omnizarr.codecs.GzipCodec(level=1).spec()
        CodecSpec(name='gzip', configuration={'level': 1}, must_understand=True)
        """
        ...

    def prepare(self, stage: Any) -> Step:
        """Make the codec ready for the stage before it, and check all that needs no data.

        Parameters
        ----------
        stage
            An `ArrayStage` or `BytesStage`, as `kind` says.

        Raises
        ------
        MetadataError
            If the codec cannot be used there.

        Examples
        --------
        >>> step = omnizarr.codecs.Crc32cCodec().prepare(omnizarr.codecs.BytesStage(3, 3))
        >>> step.output.size, bytes(step.decode(step.encode(b"abc")))
        (7, b'abc')
        """
        ...


# -- what codecs share ------------------------------------------------------------------------


def check_size(name: str, stage: BytesStage, found: int) -> None:
    """Refuse a declared or real decoded size that the metadata does not promise."""
    if stage.size is not None:
        if found != stage.size:
            raise DecodeError(
                f"codec {name!r}: expected {stage.size} bytes after decoding, found {found}"
            )
    elif found > stage.limit:
        raise LimitError(
            f"codec {name!r}: {found} bytes after decoding; the limit is {stage.limit}"
            " (omnizarr.limits.set(max_expansion=…) raises it)"
        )


def check_writable(name: str, size: int) -> None:
    """Refuse to write more variable-size data than a reader would take back."""
    if size > limits.current.max_expansion:
        raise LimitError(
            f"{name}: a chunk of {size} bytes, which readers here take for a bomb; the limit is"
            f" {limits.current.max_expansion}: make chunks smaller"
            " (omnizarr.limits.set(max_expansion=…) raises it)"
        )


def column_of(name: str, array: NDArray, text: bool) -> Column:
    """An array of strings, of byte strings, or of objects that are either, as a column."""
    try:
        return Column.of(array, text)
    except (TypeError, ValueError) as error:
        raise EncodeError(f"{name}: {error}; missing values need a value of their own") from error


class LibraryErrors:
    """Inside its `with` block, exceptions of a library become errors that name the codec."""

    __slots__ = ("_causes", "_failure", "_name")

    def __init__(self, failure: type[CodecError], name: str, *causes: type[Exception]) -> None:
        self._failure, self._name, self._causes = failure, name, causes

    def __enter__(self) -> None: ...

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        if isinstance(error, self._causes):
            raise self._failure(f"codec {self._name!r}: {error}") from error


def unchanged(value: Any) -> Any:
    """The step of a codec that has nothing to do."""
    return value


def octets(data: Buffer) -> npt.NDArray[np.uint8]:
    """A buffer as a flat array of bytes, without a copy."""
    return np.frombuffer(data, np.uint8)


def contiguous(array: NDArray) -> Buffer:
    """An array's elements in C order, as bytes; without a copy where possible."""
    if array.itemsize == 0 or not array.flags.c_contiguous:
        return array.tobytes()
    return array.reshape(-1).view(np.uint8).data


def reinterpreted(name: str, stage: ArrayStage, dtype: np.dtype[Any]) -> tuple[Shape, bool]:
    """Shape of a stage's memory viewed as another dtype, and whether the dtype is another one."""
    if stage.dtype == dtype:
        return stage.shape, False
    if stage.variable or dtype.hasobject:
        raise MetadataError(f"codec {name!r}: cannot see {stage.dtype} as {dtype}")
    if stage.dtype.itemsize == dtype.itemsize:
        return stage.shape, True
    nbytes = stage.size * stage.dtype.itemsize
    if nbytes % dtype.itemsize:
        raise MetadataError(
            f"codec {name!r}: a chunk of {nbytes} bytes is no whole number of {dtype} elements"
        )
    return (nbytes // dtype.itemsize,), True


def elementwise(
    name: str,
    stage: ArrayStage,
    dtype: np.dtype[Any],
    astype: np.dtype[Any],
    encode: Callable[[NDArray], NDArray],
    decode: Callable[[NDArray], NDArray],
) -> Step:
    """An array-to-array step that views its input as `dtype` and gives `astype`, like numcodecs.

    `encode` and `decode` get and give C-contiguous arrays, so that "the next element" means the
    next in C order, whatever strides a caller's array has. NumPy's warnings are off in both.
    """
    shape, changed = reinterpreted(name, stage, dtype)
    before_shape, before_dtype = stage.shape, stage.dtype

    @np.errstate(all="ignore")
    def encode_step(array: NDArray) -> NDArray:
        array = np.ascontiguousarray(array)
        if changed:
            array = array.reshape(-1).view(dtype).reshape(shape)
        return encode(array)

    @np.errstate(all="ignore")
    def decode_step(array: NDArray) -> NDArray:
        result = np.ascontiguousarray(decode(np.ascontiguousarray(array)))
        if changed:
            result = result.reshape(-1).view(before_dtype)
        return result.reshape(before_shape)

    fill = None if changed else encoded_fill(stage, encode)
    return Step(ArrayStage(shape, astype, fill, astype.name), encode_step, decode_step)


def encoded_fill(stage: ArrayStage, encode: Callable[[NDArray], NDArray]) -> Any:
    """A stage's fill value, encoded; None if it cannot be encoded."""
    if stage.fill is None:
        return None
    try:
        with np.errstate(all="ignore"):
            return encode(np.full(1, stage.fill, stage.dtype))[0]
    except (CodecError, TypeError, ValueError, OverflowError):
        return None
