"""Codecs that plug into zarr-python (entry points `zarr.codecs`), used through its own machinery.

Their methods are asynchronous and take zarr-python's buffers; its own event loop runs them. The
package of such a codec depends on zarr-python, or on what `compat.install` serves in its place: the
class of the codec says which of them it was written for. The size of its output is checked, its
memory use is not.
"""

from __future__ import annotations

import importlib
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np

from omnizarr.codecs.base import (
    ArrayStage,
    BytesStage,
    CodecKind,
    Context,
    Step,
    check_size,
    compressed,
    unknown,
)
from omnizarr.codecs.document import CodecDocument
from omnizarr.errors import DecodeError, EncodeError, MetadataError, UnknownCodecError
from omnizarr.model.codec import CodecSpec
from omnizarr.model.grids import NDArray
from omnizarr.model.store import Buffer


@dataclass(frozen=True)
class ZarrPythonCodec(CodecDocument):
    """A codec object of zarr-python; the classes below say what it takes and gives."""

    kind: ClassVar[CodecKind]
    original: CodecSpec
    codec: Any

    @classmethod
    def from_spec(cls, spec: CodecSpec, context: Context) -> Self:
        raise MetadataError(f"codec {spec.name!r} is made from the class that zarr-python knows")

    def spec(self) -> CodecSpec:
        return self.original

    def _run(self, method: str, value: Any, chunk: Any) -> Any:
        """Await one of the codec's batch methods for one chunk."""
        sync = _module(self.codec, "core.sync").sync
        failure = EncodeError if method == "encode" else DecodeError
        try:
            (result,) = sync(getattr(self.codec, method)([(value, chunk)]))
        except Exception as error:  # foreign code
            raise failure(f"codec {self.original.name!r}: {error}") from error
        if result is None:
            raise failure(f"codec {self.original.name!r} gave nothing")
        return result


class Compressor(ZarrPythonCodec):
    kind: ClassVar[CodecKind] = "bytes-bytes"

    def prepare(self, stage: BytesStage) -> Step:
        chunk = _chunk(self.codec, ArrayStage((stage.size or 0,), np.dtype(np.uint8), 0))
        name = self.original.name

        def encode(data: Buffer) -> Buffer:
            return _bytes(self._run("encode", _buffer(chunk, data), chunk))

        def decode(data: Buffer) -> Buffer:
            found = _bytes(self._run("decode", _buffer(chunk, data), chunk))
            check_size(name, stage, len(found))
            return found

        return Step(compressed(stage), encode, decode)


class Serializer(ZarrPythonCodec):
    kind: ClassVar[CodecKind] = "array-bytes"

    def prepare(self, stage: ArrayStage) -> Step:
        chunk = _chunk(self.codec, stage)
        codec = Serializer(self.original, self.codec.evolve_from_array_spec(chunk))
        name = self.original.name

        def encode(array: NDArray) -> Buffer:
            return _bytes(codec._run("encode", _array(chunk, array), chunk))

        def decode(data: Buffer) -> NDArray:
            return _checked(name, stage, codec._run("decode", _buffer(chunk, data), chunk))

        return Step(unknown(stage.dtype.itemsize), encode, decode)


class Filter(ZarrPythonCodec):
    kind: ClassVar[CodecKind] = "array-array"

    def prepare(self, stage: ArrayStage) -> Step:
        chunk = _chunk(self.codec, stage)
        codec = Filter(self.original, self.codec.evolve_from_array_spec(chunk))
        behind = codec.codec.resolve_metadata(chunk)
        output = ArrayStage(tuple(behind.shape), behind.dtype.to_native_dtype(), behind.fill_value)
        name = self.original.name

        def encode(array: NDArray) -> NDArray:
            return _checked(name, output, codec._run("encode", _array(chunk, array), chunk))

        def decode(array: NDArray) -> NDArray:
            return _checked(name, stage, codec._run("decode", _array(chunk, array), chunk))

        return Step(output, encode, decode)


def from_zarr_python(spec: CodecSpec, plugged: Any) -> Compressor | Serializer | Filter:
    """A codec from the class that an entry point of zarr-python leads to."""
    try:
        base = _module(plugged, "abc.codec")
    except ImportError as error:
        raise UnknownCodecError(
            f"codec {spec.name!r} is a plug-in of zarr-python, which is not installed:"
            " pip install zarr"
        ) from error
    try:
        codec = plugged.from_dict({"name": spec.name, "configuration": dict(spec.configuration)})
    except Exception as error:  # foreign code
        raise MetadataError(f"codec {spec.name!r}: {error}") from error
    if isinstance(codec, base.BytesBytesCodec):
        return Compressor(spec, codec)
    if isinstance(codec, base.ArrayBytesCodec):
        return Serializer(spec, codec)
    if isinstance(codec, base.ArrayArrayCodec):
        return Filter(spec, codec)
    raise UnknownCodecError(
        f"codec {spec.name!r}: {type(codec).__name__} is no codec of a kind that zarr-python has"
    )


def _module(codec: Any, name: str) -> Any:
    """A module of the zarr-python that a codec, or a class of codecs, derives from."""
    cls = codec if isinstance(codec, type) else type(codec)
    bases = (base.__module__ for base in cls.__mro__ if base.__name__ == "BaseCodec")
    root = next((found for found in bases if found.endswith(".abc.codec")), "zarr.abc.codec")
    return importlib.import_module(f"{root.removesuffix('.abc.codec')}.{name}")


def _chunk(codec: Any, stage: ArrayStage) -> Any:
    """What zarr-python calls the specification of a chunk."""
    specs = _module(codec, "core.array_spec")
    types = _module(codec, "core.dtype")
    try:
        data_type = types.get_data_type_from_native_dtype(stage.dtype)
    except Exception as error:  # foreign code
        raise MetadataError(f"zarr-python has no data type for {stage.dtype}: {error}") from error
    config = specs.ArrayConfig.from_dict({})
    prototype = _module(codec, "core.buffer").default_buffer_prototype()
    return specs.ArraySpec(stage.shape, data_type, stage.fill, config, prototype)


def _buffer(chunk: Any, data: Buffer) -> Any:
    return chunk.prototype.buffer.from_bytes(bytes(data))


def _array(chunk: Any, array: NDArray) -> Any:
    return chunk.prototype.nd_buffer.from_numpy_array(np.ascontiguousarray(array))


def _bytes(buffer: Any) -> bytes:
    return bytes(buffer.to_bytes())


def _checked(name: str, stage: ArrayStage, buffer: Any) -> NDArray:
    found: NDArray = np.asarray(buffer.as_numpy_array())
    if found.dtype.newbyteorder("=") == stage.dtype.newbyteorder("="):
        found = found.astype(stage.dtype, copy=False)  # it may give the stored byte order
    if found.shape != stage.shape or found.dtype != stage.dtype:
        raise DecodeError(
            f"codec {name!r}: expected {stage.dtype} of shape {stage.shape}, found {found.dtype} of"
            f" shape {found.shape}"
        )
    return found
