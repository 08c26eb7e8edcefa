"""The base classes of codecs that are written for zarr-python.

omnizarr runs such a codec for one chunk at a time. Its own codecs (`zarr.codecs`) are seen as
subclasses of these classes too, by what they take and give.

This module knows the interface. It must not know how omnizarr calls it.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable, Iterable, Mapping
from typing import Any, ClassVar, Generic, Literal, Protocol, Self, TypeAlias, TypedDict, TypeVar
from typing import runtime_checkable as checkable

from omnizarr.compat.zarr3.abc.metadata import Metadata
from omnizarr.compat.zarr3.abc.store import ByteGetter, ByteSetter
from omnizarr.compat.zarr3.core.array_spec import ArraySpec
from omnizarr.compat.zarr3.core.buffer.core import Buffer, NDBuffer
from omnizarr.compat.zarr3.core.common import concurrent_map

__all__ = [
    "ArrayArrayCodec",
    "ArrayBytesCodec",
    "ArrayBytesCodecPartialDecodeMixin",
    "ArrayBytesCodecPartialEncodeMixin",
    "BaseCodec",
    "BytesBytesCodec",
    "CodecInput",
    "CodecOutput",
    "CodecPipeline",
    "GetResult",
    "SupportsSyncCodec",
]

CodecInput: TypeAlias = NDBuffer | Buffer
CodecOutput: TypeAlias = NDBuffer | Buffer
CodecJSON_V3: TypeAlias = str | Mapping[str, Any]
CodecJSON: TypeAlias = str | Mapping[str, Any]
CI = TypeVar("CI", bound=CodecInput)
CO = TypeVar("CO", bound=CodecOutput)
TName = TypeVar("TName", bound=str)
_AT_ONCE = 10


class GetResult(TypedDict):
    """What became of the request for a value."""

    status: Literal["present", "missing"]


class CodecJSON_V2(TypedDict, Generic[TName]):  # noqa: N801 - zarr-python's name
    """A codec in a document of format 2."""

    id: TName


@checkable
class SupportsSyncCodec(Protocol):
    """A codec that needs no event loop."""

    def _decode_sync(self, chunk_data: Any, chunk_spec: ArraySpec) -> Any: ...

    def _encode_sync(self, chunk_data: Any, chunk_spec: ArraySpec) -> Any: ...


def _codec_supports_sync(codec: object) -> bool:
    return isinstance(codec, SupportsSyncCodec) and getattr(codec, "_sync_capable", True)


class BaseCodec(Metadata, ABC, Generic[CI, CO]):
    """What all codecs have; derive from one of the three kinds below."""

    is_fixed_size: bool = False
    """Whether the size of the output follows from that of the input."""
    _kind: ClassVar[str] = ""
    """What omnizarr's own codecs of this kind call it."""

    @classmethod
    def __subclasshook__(cls, other: type) -> Any:
        kind = cls.__dict__.get("_kind")
        if kind and getattr(other, "kind", None) == kind and hasattr(other, "prepare"):
            return True
        return NotImplemented

    def compute_encoded_size(self, input_byte_length: int, chunk_spec: ArraySpec) -> int:
        """Return the size of the output; NotImplementedError if it depends on the data."""
        raise NotImplementedError

    def resolve_metadata(self, chunk_spec: ArraySpec) -> ArraySpec:
        """Return what the next codec is told about the chunk."""
        return chunk_spec

    def evolve_from_array_spec(self, array_spec: ArraySpec) -> Self:
        """Return the codec with the options that follow from the array."""
        return self

    def validate(self, *, shape: tuple[int, ...], dtype: Any, chunk_grid: Any) -> None:
        """Raise if the codec does not fit the array."""

    async def _decode_single(self, chunk_data: CO, chunk_spec: ArraySpec) -> CI:
        raise NotImplementedError

    async def _encode_single(self, chunk_data: CI, chunk_spec: ArraySpec) -> CO | None:
        raise NotImplementedError

    async def decode(
        self, chunks_and_specs: Iterable[tuple[CO | None, ArraySpec]]
    ) -> Iterable[CI | None]:
        """Decode chunks; None stays None."""
        return await _each(self._decode_single, chunks_and_specs)

    async def encode(
        self, chunks_and_specs: Iterable[tuple[CI | None, ArraySpec]]
    ) -> Iterable[CO | None]:
        """Encode chunks; None stays None."""
        return await _each(self._encode_single, chunks_and_specs)


class ArrayArrayCodec(BaseCodec[NDBuffer, NDBuffer]):
    """A codec from arrays to arrays."""

    _kind: ClassVar[str] = "array-array"


class ArrayBytesCodec(BaseCodec[NDBuffer, Buffer]):
    """A codec from arrays to bytes."""

    _kind: ClassVar[str] = "array-bytes"


class BytesBytesCodec(BaseCodec[Buffer, Buffer]):
    """A codec from bytes to bytes."""

    _kind: ClassVar[str] = "bytes-bytes"


Codec: TypeAlias = ArrayArrayCodec | ArrayBytesCodec | BytesBytesCodec


class ArrayBytesCodecPartialDecodeMixin:
    """For codecs that decode part of a chunk."""

    async def _decode_partial_single(
        self, byte_getter: ByteGetter, selection: Any, chunk_spec: ArraySpec
    ) -> NDBuffer | None:
        raise NotImplementedError

    async def decode_partial(
        self, batch_info: Iterable[tuple[ByteGetter, Any, ArraySpec]]
    ) -> Iterable[NDBuffer | None]:
        """Decode a selection of each chunk."""
        return await concurrent_map(batch_info, self._decode_partial_single, _AT_ONCE)


class ArrayBytesCodecPartialEncodeMixin:
    """For codecs that replace part of a chunk."""

    async def _encode_partial_single(
        self, byte_setter: ByteSetter, chunk_array: NDBuffer, selection: Any, chunk_spec: ArraySpec
    ) -> None:
        raise NotImplementedError

    async def encode_partial(
        self, batch_info: Iterable[tuple[ByteSetter, NDBuffer, Any, ArraySpec]]
    ) -> None:
        """Replace a selection of each chunk."""
        await concurrent_map(batch_info, self._encode_partial_single, _AT_ONCE)


class CodecPipeline(ABC):
    """The base of pipelines of zarr-python.

    omnizarr has its own engine and never calls one: the class is here so that libraries which
    define a pipeline can be imported.
    """

    @abstractmethod
    def evolve_from_array_spec(self, array_spec: ArraySpec) -> Self:
        """Return the pipeline with the options that follow from the array."""

    @classmethod
    @abstractmethod
    def from_codecs(cls, codecs: Iterable[Any]) -> Self:
        """Make a pipeline of codecs."""

    @classmethod
    def from_array_metadata_and_store(cls, array_metadata: Any, store: Any) -> Self:
        """Make a pipeline of an array's metadata and its store."""
        raise NotImplementedError(
            f"'{cls.__name__}' does not implement CodecPipeline.from_array_metadata_and_store."
        )


async def _each(
    function: Callable[[Any, ArraySpec], Awaitable[Any]],
    chunks_and_specs: Iterable[tuple[Any, ArraySpec]],
) -> list[Any]:
    async def unless_none(chunk: Any, chunk_spec: ArraySpec) -> Any:
        return None if chunk is None else await function(chunk, chunk_spec)

    return await concurrent_map(chunks_and_specs, unless_none, _AT_ONCE)
