"""What is known of an array without reading its data.

`ArrayFacts` answers questions about an array's shape, type, chunks and codecs. Reading, writing and
resizing are `Array`'s, which stands on it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from math import prod
from typing import Any, Literal, Self

import numpy as np

from omnizarr import engine, limits
from omnizarr.config import config
from omnizarr.errors import MetadataError, ReadOnlyError, ZarrError
from omnizarr.formats import Node
from omnizarr.model.array import ArrayModel
from omnizarr.model.dtypes import ArrowString, Bytes, DataType, String
from omnizarr.model.grids import Grid, RegularAxis, regular_grid
from omnizarr.model.store import Store, keys_at
from omnizarr.nodes.codec_views import Pipeline
from omnizarr.nodes.freshness import require_same
from omnizarr.nodes.info import CallableInt
from omnizarr.nodes.node_facts import NodeFacts
from omnizarr.runtime import parallel
from omnizarr.runtime.properties import cached_property

TEXT_FORMS = ("string", "object", "bytes")


def presented(model: ArrayModel, text: str) -> ArrayModel:
    """The array with its text as a reader wants it: NumPy's strings, Python's, or byte strings."""
    data_type = model.data_type
    if not isinstance(data_type, String) or text == "string":
        return model
    if text not in TEXT_FORMS:
        raise ValueError(
            f"text must be one of {', '.join(TEXT_FORMS)}, found {text!r} (text=… when opening, or"
            " the configuration array.text)"
        )
    if text == "object":
        return replace(model, data_type=data_type.as_objects())
    binary = data_type.fallback if isinstance(data_type, ArrowString) else Bytes()
    fill = None if model.fill_value is None else str(model.fill_value).encode()
    return replace(model, data_type=binary, fill_value=fill)


def _total(store: Store, keys: Sequence[str]) -> int:
    """How many bytes the values of these keys have together."""
    sizes = parallel.each(store.size, keys, max(1, store.capabilities.requests))
    return sum(size or 0 for size in sizes)


class ArrayFacts(NodeFacts[ArrayModel]):
    """The base of `Array`; not of use by itself."""

    def _replace(self, model: ArrayModel) -> None:
        super()._replace(model)
        self.__dict__.pop("_source", None)
        self.__dict__.pop("_pipeline", None)

    def _require_same(self, found: Node) -> None:
        require_same(self._place, self._stored, found)

    @property
    def _model(self) -> ArrayModel:
        if not self._options.cache_metadata:
            self.refresh()
        return self._stored

    @cached_property
    def _source(self) -> engine.Source:
        options = self._options
        empty = options.write_empty_chunks
        return engine.Source(
            store=options.chunk_store or self.store,
            prefix=self._place.format.chunk_prefix(self.path, self._stored),
            model=presented(self._stored, options.text or config.get("array.text")),
            allow_pickle=options.allow_pickle,
            write_empty_chunks=config.get("array.write_empty_chunks") if empty is None else empty,
            on_missing=options.on_missing or config.get("array.on_missing"),
            synchronizer=options.synchronizer,
        )

    @cached_property
    def _pipeline(self) -> Pipeline:
        return Pipeline.of(self._stored, self._place.format.unnamed_options(self._stored))

    @property
    def read_only(self) -> bool:
        """Whether the array may not be written; text that is shown as bytes never may."""
        return self._options.text == "bytes" or super().read_only

    def _check_writable(self) -> None:
        if self._options.text == "bytes" and not super().read_only:
            raise ReadOnlyError(
                f"{self._place} shows its text as bytes, which cannot be written; write text to the"
                " array itself"
            )
        super()._check_writable()

    def _check(self) -> Self:
        """Fail now, by name, if the array's codecs are unknown or do not fit together.

        A chunk beyond the limits can be looked at, only not read: that fails later.
        """
        source = self._source
        where = f"{self.store!r}, key {self._place.format.keys(self.path)[0]!r}"
        try:
            if source.chunk_bytes <= limits.current.max_chunk_bytes:
                source.regular_chain  # noqa: B018 - building it is the check
            self._pipeline  # noqa: B018
        except ZarrError as error:
            raise error.at(where) from error
        except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as error:
            raise MetadataError(
                f"{where}: the codecs do not fit the array: {type(error).__name__}: {error}"
            ) from error
        return self

    # -- facts --------------------------------------------------------------------------------
    @property
    def config(self) -> dict[str, Any]:
        """How the array behaves, as far as that is not stored: zarr-python's `ArrayConfig`."""
        return {"order": self.order, "write_empty_chunks": self.write_empty_chunks}

    def with_config(self, config: Any) -> Self:
        """The same array, behaving in another way."""
        return self._of(self._place, self._stored, self._options.configured(config))

    @property
    def write_empty_chunks(self) -> bool:
        """Whether chunks that hold nothing but the fill value are stored."""
        return self._source.write_empty_chunks

    @property
    def shape(self) -> tuple[int, ...]:
        return self._model.shape

    @property
    def ndim(self) -> int:
        return len(self._model.shape)

    @property
    def size(self) -> int:
        return prod(self._model.shape)

    @property
    def dtype(self) -> np.dtype[Any]:
        """The NumPy dtype of what is read."""
        return self._source.model.dtype

    @property
    def data_type(self) -> DataType:
        """The Zarr data type: `name`, `configuration`, and how fill values are written."""
        return self._source.model.data_type

    @property
    def itemsize(self) -> int:
        return self.dtype.itemsize

    @property
    def nbytes(self) -> int:
        """Size of the array in memory, were it read whole."""
        return self.size * self.itemsize

    @property
    def fill_value(self) -> Any:
        return self._source.model.fill_value

    @property
    def order(self) -> Literal["C", "F"]:
        """Memory order of what is read."""
        return self._options.order or self._stored.order

    @property
    def dims(self) -> tuple[str | None, ...] | None:
        """Names of the dimensions, where the array has any."""
        return self._model.dimension_names

    dimension_names = dims

    # -- chunks -------------------------------------------------------------------------------
    @property
    def chunks(self) -> Any:
        """Shape of a chunk: the unit of reading (the inner one of a sharded array).

        A rectilinear grid gives a tuple of lengths for every dimension, as Dask does.
        """
        inner = self._pipeline.inner_chunks
        if inner is not None:
            return inner
        grid = self._model.grid
        if grid.regular:
            return grid.chunk_shape
        return tuple(
            axis.chunk if isinstance(axis, RegularAxis) else axis.edges for axis in grid.axes
        )

    @property
    def shards(self) -> tuple[int, ...] | None:
        """Shape of a shard: the unit of writing; None for an array without sharding."""
        return self._model.grid.chunk_shape if self._pipeline.inner_chunks is not None else None

    @property
    def read_chunk_sizes(self) -> tuple[tuple[int, ...], ...]:
        """Length of every chunk along every dimension, clipped to the array."""
        inner = self._pipeline.inner_chunks
        if inner is None:
            return self.write_chunk_sizes
        return tuple(
            tuple(min(chunk, length - start) for start in range(0, length, chunk))
            for length, chunk in zip(self.shape, inner, strict=True)
        )

    @property
    def write_chunk_sizes(self) -> tuple[tuple[int, ...], ...]:
        """The same for what is written as one value: chunks, or shards."""
        return tuple(
            tuple(min(axis.size(i), axis.length - axis.start(i)) for i in range(axis.count))
            for axis in self._model.grid.axes
        )

    @property
    def cdata_shape(self) -> tuple[int, ...]:
        """How many chunks there are along every dimension."""
        inner = self._pipeline.inner_chunks
        if inner is None:
            return self._model.grid.shape
        return tuple(-(-n // c) for n, c in zip(self.shape, inner, strict=True))

    @property
    def nchunks(self) -> int:
        return prod(self.cdata_shape)

    def _stored_chunks(self) -> Iterator[tuple[str, tuple[int, ...]]]:
        """Key and grid coordinates of every stored chunk or shard."""
        model, source = self._model, self._source
        spellings = (model.keys, *model.keys.alternatives)
        for key in keys_at(source.store, source.prefix):
            for keys in spellings:
                coordinates = keys.decode(key[len(source.prefix) :], model.ndim)
                if coordinates is not None:
                    yield key, coordinates
                    break

    def stored_chunks(self) -> list[tuple[int, ...]]:
        """Grid coordinates of every chunk that is stored, sorted; of every shard, where the array
        has shards. It lists the store."""
        grid = self._model.grid.shape
        stored = {
            coordinates
            for _, coordinates in self._stored_chunks()
            if all(c < n for c, n in zip(coordinates, grid, strict=True))
        }
        return sorted(stored)

    @property
    def nchunks_initialized(self) -> int:
        """How many chunks are stored (every chunk of a stored shard counts)."""
        per_shard = self._pipeline.chunks_per_shard(self._model.grid.chunk_shape)
        return len(self.stored_chunks()) * per_shard

    @property
    def initialized(self) -> int:
        return self.nchunks_initialized

    @property
    def nbytes_stored(self) -> CallableInt:
        """Bytes that the array takes in its store, metadata included.

        zarr-python 2 has a property here, zarr-python 3 a method: both spellings work.
        """
        source = self._source
        keys = {key for key, _ in self._stored_chunks()}
        own = self._place.format.keys(self.path)
        return CallableInt(_total(source.store, list(keys)) + _total(self.store, own))

    def digest(self, hashname: str = "sha1") -> bytes:
        """A hash of what is stored: chunks in grid order, then metadata."""
        import hashlib

        summary = hashlib.new(hashname)
        for key, _ in sorted(self._stored_chunks(), key=lambda item: item[1]):
            summary.update(self._source.store.get(key) or b"")
        for key in self._place.format.keys(self.path):
            summary.update(self.store.get(key) or b"")
        return summary.digest()

    def hexdigest(self, hashname: str = "sha1") -> str:
        return self.digest(hashname).hex()

    # -- codecs -------------------------------------------------------------------------------
    @property
    def codecs(self) -> tuple[Any, ...]:
        """The whole pipeline in encoding order."""
        return self._pipeline.all

    @property
    def filters(self) -> Any:
        return self._pipeline.filters

    @property
    def serializer(self) -> Any:
        return self._pipeline.serializer

    @property
    def compressors(self) -> tuple[Any, ...]:
        return self._pipeline.compressors

    @property
    def compressor(self) -> Any:
        """The one compressor that zarr-python 2's users know; None if there is none."""
        return self._pipeline.compressor

    @property
    def _block_grid(self) -> Grid:
        inner = self._pipeline.inner_chunks
        if inner is None:
            return self._stored.grid
        return regular_grid(self._stored.shape, inner)
