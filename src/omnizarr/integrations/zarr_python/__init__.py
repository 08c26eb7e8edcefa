"""zarr-python, served with what is ours.

    zarr.config.set({"codec_pipeline.path": "omnizarr.integrations.zarr_python.CodecPipeline"})
    zarr.open_group(as_zarr_store("x.sqlite"))

stores      `as_zarr_store`: our stores, as stores of zarr-python
arrays      which arrays and calls `CodecPipeline` does itself
batches     what zarr-python asks of a pipeline, as plans of the engine
transfer    executes them, on our stores and on those of zarr-python

Whether an array is ours is decided once, from its metadata. Whether a call is ours is decided from
its arguments. Everything else goes to zarr-python's default pipeline. An error while reading or
writing is raised: it never leads to the other pipeline.

zarr-python imports this module in every process that opens an array, whether the pipeline is
configured or not, and knows the class by the name of this module. So the class is here, and what
it needs is imported when it is first used.
"""

from __future__ import annotations

import importlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Self, TypedDict

from omnizarr.runtime.optional_packages import package

package("zarr", "zarr", "omnizarr.integrations.zarr_python")  # says what to install

import zarr.abc.codec  # noqa: E402
from zarr.core.codec_pipeline import BatchedCodecPipeline  # noqa: E402
from zarr.registry import register_pipeline  # noqa: E402

if TYPE_CHECKING:
    from zarr.abc.codec import Codec
    from zarr.abc.store import ByteGetter, ByteSetter, Store
    from zarr.core.array_spec import ArraySpec
    from zarr.core.buffer import Buffer, NDBuffer
    from zarr.core.chunk_grids import ChunkGrid
    from zarr.core.dtype.wrapper import TBaseDType, TBaseScalar, ZDType
    from zarr.core.indexing import SelectorTuple
    from zarr.core.metadata import ArrayMetadata

    from omnizarr.integrations.zarr_python.arrays import ZarrArray
    from omnizarr.integrations.zarr_python.stores import OmnizarrStore, as_zarr_store

__all__ = ["CodecPipeline", "OmnizarrStore", "as_zarr_store"]


class GetResult(TypedDict):
    """Whether a chunk was stored. zarr-python has this since 3.2."""

    status: str


@dataclass(frozen=True)
class CodecPipeline(zarr.abc.codec.CodecPipeline):
    """A codec pipeline of zarr-python 3.1 and later.

    zarr-python makes one for each array. What it cannot do, zarr-python's default pipeline does.

    Examples
    --------
    >>> import zarr
    >>> ours = "omnizarr.integrations.zarr_python.CodecPipeline"
    >>> with zarr.config.set({"codec_pipeline.path": ours}):
    ...     array = zarr.create_array({}, shape=4, chunks=2, dtype="i4")
    >>> array[:] = 7
    >>> array[1:3]
    array([7, 7], dtype=int32)
    """

    default: zarr.abc.codec.CodecPipeline
    """zarr-python's own."""
    array: ZarrArray | None = field(default=None, repr=False, compare=False)
    """The array as ours; None: the default pipeline does everything."""

    @classmethod
    def from_codecs(cls, codecs: Iterable[Codec]) -> Self:
        """Make the pipeline of codecs without an array: zarr-python's own.

        Parameters
        ----------
        codecs
            Codecs of zarr-python.
        """
        return cls(BatchedCodecPipeline.from_codecs(codecs))

    @classmethod
    def from_array_metadata_and_store(cls, array_metadata: ArrayMetadata, store: Store) -> Self:
        """Make the pipeline of an array.

        Parameters
        ----------
        array_metadata
            Its metadata.
        store
            Its store.

        Examples
        --------
        >>> import zarr
        >>> array = zarr.create_array({}, shape=4, chunks=2, dtype="i4")
        >>> made = CodecPipeline.from_array_metadata_and_store(array.metadata, array.store)
        >>> made.array is not None
        True
        """
        from zarr.codecs._v2 import V2Codec
        from zarr.core.metadata.v2 import ArrayV2Metadata

        from omnizarr.integrations.zarr_python.arrays import ZarrArray, are_known

        if isinstance(array_metadata, ArrayV2Metadata):
            filters, compressor = array_metadata.filters, array_metadata.compressor
            codecs: tuple[Codec, ...] = (V2Codec(filters=filters, compressor=compressor),)
        else:
            codecs = array_metadata.codecs
        made = cls.from_codecs(codecs)
        return replace(made, array=ZarrArray(array_metadata)) if are_known(codecs) else made

    def evolve_from_array_spec(self, array_spec: ArraySpec) -> Self:
        """Fit the codecs to chunks of an array.

        Parameters
        ----------
        array_spec
            Shape and type of a chunk.
        """
        return replace(self, default=self.default.evolve_from_array_spec(array_spec))

    # -- what zarr-python's own answers ---------------------------------------------------------
    def __iter__(self) -> Iterator[Codec]:
        own: Any = self.default  # the abstract class has no iterator
        yield from own

    @property
    def supports_partial_decode(self) -> bool:
        """Whether parts of a chunk can be decoded alone."""
        return self.default.supports_partial_decode

    @property
    def supports_partial_encode(self) -> bool:
        """Whether parts of a chunk can be encoded alone."""
        return self.default.supports_partial_encode

    def validate(
        self,
        *,
        shape: tuple[int, ...],
        dtype: ZDType[TBaseDType, TBaseScalar],
        chunk_grid: ChunkGrid,
    ) -> None:
        """Check the codecs against an array.

        Parameters
        ----------
        shape
            Shape of the array.
        dtype
            Its data type.
        chunk_grid
            Its chunk grid.
        """
        self.default.validate(shape=shape, dtype=dtype, chunk_grid=chunk_grid)

    def compute_encoded_size(self, byte_length: int, array_spec: ArraySpec) -> int:
        """Give the size of an encoded chunk.

        Parameters
        ----------
        byte_length
            Size of the chunk.
        array_spec
            Its shape and type.
        """
        return self.default.compute_encoded_size(byte_length, array_spec)

    async def decode(
        self, chunk_bytes_and_specs: Iterable[tuple[Buffer | None, ArraySpec]]
    ) -> Iterable[NDBuffer | None]:
        """Decode chunks in memory.

        Parameters
        ----------
        chunk_bytes_and_specs
            Each with its shape and type.
        """
        return await self.default.decode(chunk_bytes_and_specs)

    async def encode(
        self, chunk_arrays_and_specs: Iterable[tuple[NDBuffer | None, ArraySpec]]
    ) -> Iterable[Buffer | None]:
        """Encode chunks in memory.

        Parameters
        ----------
        chunk_arrays_and_specs
            Each with its shape and type.
        """
        return await self.default.encode(chunk_arrays_and_specs)

    # -- what we do -------------------------------------------------------------------------------
    async def read(  # type: ignore[override]  # None before 3.2
        self,
        batch_info: Iterable[tuple[ByteGetter, ArraySpec, SelectorTuple, SelectorTuple, bool]],
        out: NDBuffer,
        drop_axes: tuple[int, ...] = (),
    ) -> tuple[GetResult, ...]:
        """Read chunks into an array.

        Parameters
        ----------
        batch_info
            Where each chunk is, its shape and type, the part of it, and the part of `out`.
        out
            The array.
        drop_axes
            Axes that `out` does not have.

        Returns
        -------
        tuple
            For each chunk, whether it was stored.
        """
        items: list[Any] = list(batch_info)
        job = None if self.array is None else self.array.reading(items, out, drop_axes)
        if job is None:
            default: Any = self.default
            return await default.read(items, out, drop_axes)  # type: ignore[no-any-return]
        missing = await job
        return tuple(
            {"status": "missing" if item[0].path in missing else "present"} for item in items
        )

    async def write(
        self,
        batch_info: Iterable[tuple[ByteSetter, ArraySpec, SelectorTuple, SelectorTuple, bool]],
        value: NDBuffer,
        drop_axes: tuple[int, ...] = (),
    ) -> None:
        """Write an array to chunks.

        Parameters
        ----------
        batch_info
            Where each chunk is, its shape and type, the part of it, and the part of `value`.
        value
            The array; one without dimensions is meant for all elements.
        drop_axes
            Axes that `value` does not have.
        """
        items = list(batch_info)
        job = None if self.array is None else self.array.writing(items, value, drop_axes)
        await (self.default.write(items, value, drop_axes) if job is None else job)


register_pipeline(CodecPipeline)


def __dir__() -> list[str]:
    return sorted(__all__)


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module("omnizarr.integrations.zarr_python.stores"), name)
