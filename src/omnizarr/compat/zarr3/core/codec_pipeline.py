"""Pipelines, for libraries that name zarr-python's: omnizarr's engine is used in their place."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any, Self

from omnizarr.compat.zarr3.abc.codec import (
    ArrayArrayCodec,
    ArrayBytesCodec,
    BytesBytesCodec,
    CodecPipeline,
)
from omnizarr.compat.zarr3.core.array_spec import ArraySpec

__all__ = ["BatchedCodecPipeline", "FusedCodecPipeline"]


@dataclass(frozen=True)
class BatchedCodecPipeline(CodecPipeline):
    """The codecs of an array, sorted by their kinds.

    Parameters
    ----------
    array_array_codecs
        Codecs from arrays to arrays.
    array_bytes_codec
        The codec from arrays to bytes.
    bytes_bytes_codecs
        Codecs from bytes to bytes.
    batch_size
        Taken for compatibility.
    """

    array_array_codecs: tuple[Any, ...]
    array_bytes_codec: Any
    bytes_bytes_codecs: tuple[Any, ...]
    batch_size: int = 1

    @classmethod
    def from_codecs(cls, codecs: Iterable[Any], *, batch_size: int | None = None) -> Self:
        given = list(codecs)
        serializers = [codec for codec in given if isinstance(codec, ArrayBytesCodec)]
        if len(serializers) != 1:
            raise ValueError(f"exactly one ArrayBytesCodec is required, got {serializers}")
        return cls(
            tuple(codec for codec in given if isinstance(codec, ArrayArrayCodec)),
            serializers[0],
            tuple(codec for codec in given if isinstance(codec, BytesBytesCodec)),
            batch_size or 1,
        )

    def evolve_from_array_spec(self, array_spec: ArraySpec) -> Self:
        return self

    def __iter__(self) -> Iterator[Any]:
        yield from self.array_array_codecs
        yield self.array_bytes_codec
        yield from self.bytes_bytes_codecs


class FusedCodecPipeline(BatchedCodecPipeline):
    """zarr-python's other pipeline; the same here."""
