"""What is known of an array without reading its data: shape, type, chunks, codecs.

`ArrayFacts` is the base of `Array`, which reads, writes and resizes.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from math import prod
from typing import TYPE_CHECKING, Any, NamedTuple, Self

import numpy as np

from omnizarr import engine, limits
from omnizarr.config import config
from omnizarr.errors import ErrorLocation, MetadataError, ReadOnlyError, ZarrError
from omnizarr.formats import Node, unnamed_options
from omnizarr.model.array import ArrayModel
from omnizarr.model.dtypes import ArrowString, Bytes, DataType, String
from omnizarr.model.grids import Grid, chunk_lengths, regular_grid
from omnizarr.nodes.freshness import require_same
from omnizarr.nodes.node_facts import NodeFacts
from omnizarr.runtime.properties import cached_property

if TYPE_CHECKING:
    from omnizarr.nodes.codec_views import CodecView, ShownCodec
    from omnizarr.nodes.creation.arguments import Order
    from omnizarr.nodes.info import ArrayInfo, CallableInt

MISFITS = (ArithmeticError, AttributeError, LookupError, TypeError, ValueError)
"""What codecs raise that do not fit together."""
TEXT_FORMS = ("string", "object", "bytes")


class Results(NamedTuple):
    """Where values are read from, and what arrays they become: asked for once, and not for each
    read."""

    source: engine.Source
    dtype: np.dtype[Any]
    order: Order
    kind: type[Any] | None
    """The subclass of NumPy's arrays that was asked for."""


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


class ArrayFacts(NodeFacts[ArrayModel]):
    """The base of `Array`; not of use by itself."""

    def _replace(self, model: ArrayModel) -> None:
        super()._replace(model)
        for derived in ("_source", "_results", "_pipeline"):
            self.__dict__.pop(derived, None)

    def _viewed(self, found: Node) -> Any:
        if not self._options.view or not isinstance(found, ArrayModel):
            return found
        from omnizarr.nodes.creation.altered import altered

        return altered(self._place, found, self._options.view)

    def _stored_anew(self) -> Node | None:
        found: Node | None = self._viewed(super()._stored_anew())  # type: ignore[arg-type]
        return found

    def _require_same(self, found: Node) -> None:
        require_same(self._place, self._stored, self._viewed(found))

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
            store=options.chunk_store or self._place.store,
            prefix=self._place.format.chunk_prefix(self.path, self._stored),
            model=presented(self._stored, options.text or config.get("array.text")),
            allow_pickle=options.allow_pickle,
            write_empty_chunks=config.get("array.write_empty_chunks") if empty is None else empty,
            on_missing=options.on_missing or config.get("array.on_missing"),
            synchronizer=options.synchronizer,
        )

    @cached_property
    def _results(self) -> Results:
        source = self._source
        return Results(source, source.model.dtype, self.order, self._options.array_type)

    @cached_property
    def _pipeline(self) -> CodecView:
        from omnizarr.nodes.codec_views import CodecView

        return CodecView.of(self._stored, unnamed_options(self._place.format, self._stored))

    @property
    def read_only(self) -> bool:
        """Whether the array may not be written; text that is shown as bytes never may.

        It can be assigned, as in zarr-python 2: `array.read_only = True`. False is a ReadOnlyError
        if the store is read-only.

        Examples
        --------
        >>> a = omnizarr.zeros(3)
        >>> a.read_only, omnizarr.open_array(a.store, "r").read_only
        (False, True)
        """
        return self._options.text == "bytes" or super().read_only

    @read_only.setter
    def read_only(self, value: bool) -> None:
        self._options = self._options.changed(read_only=bool(value))
        if not value:
            self._check_writable()

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
        stored = self._stored
        proved = "sound" in stored.derived and not isinstance(stored.data_type, String)
        if proved and engine.has_chain(stored, self._options.allow_pickle):
            return self  # another handle of the same facts was checked
        source = self._source
        try:
            if source.chunk_bytes <= limits.current.max_chunk_bytes:
                source.regular_chain  # noqa: B018 - building it is the check
            if "sound" not in stored.derived:
                self._pipeline  # noqa: B018
                stored.derived["sound"] = True
        except (ZarrError, *MISFITS) as error:
            where = ErrorLocation.of(self._place.store, key=self._place.format.keys(self.path)[0])
            if isinstance(error, ZarrError):
                raise error.at(where) from error
            reason = f"{type(error).__name__}: {error}"
            raise MetadataError(f"{where}: the codecs do not fit the array: {reason}") from error
        return self

    # -- facts --------------------------------------------------------------------------------
    @property
    def config(self) -> dict[str, str | bool]:
        """Settings that are not stored, as zarr-python's `ArrayConfig` names them.

        Examples
        --------
        >>> omnizarr.zeros(3).config
        {'order': 'C', 'write_empty_chunks': False}
        """
        return {"order": self.order, "write_empty_chunks": self.write_empty_chunks}

    def with_config(self, config: Mapping[str, object] | object) -> Self:
        """Return the same array with other settings.

        Parameters
        ----------
        config
            A mapping, or an object of zarr-python, with any of `order`, `write_empty_chunks` and
            `read_missing_chunks`.

        Returns
        -------
        Array
            A second handle of the array; this one keeps its settings.

        Raises
        ------
        TypeError
            If the mapping has another key.

        Examples
        --------
        >>> a = omnizarr.zeros((2, 3))
        >>> a.with_config({"order": "F"})[:].flags.f_contiguous
        True
        """
        return self._of(self._place, self._stored, self._options.configured(config))

    @property
    def write_empty_chunks(self) -> bool:
        """Whether a chunk that holds nothing but the fill value is stored.

        Examples
        --------
        >>> omnizarr.zeros(3).write_empty_chunks
        False
        """
        return self._source.write_empty_chunks

    @property
    def shape(self) -> tuple[int, ...]:
        """Length of every dimension. Assigning resizes the array.

        Examples
        --------
        >>> omnizarr.zeros((2, 3)).shape
        (2, 3)
        """
        return self._model.shape

    @property
    def ndim(self) -> int:
        """Number of dimensions.

        Examples
        --------
        >>> omnizarr.zeros((4, 6)).ndim
        2
        """
        return len(self._model.shape)

    @property
    def size(self) -> int:
        """Number of elements.

        Examples
        --------
        >>> omnizarr.zeros((4, 6)).size
        24
        """
        return prod(self._model.shape)

    @property
    def dtype(self) -> np.dtype[Any]:
        """NumPy dtype of the values that are read.

        Examples
        --------
        >>> omnizarr.zeros(3, dtype="i4").dtype
        dtype('int32')
        """
        return self._source.model.dtype

    @property
    def data_type(self) -> DataType:
        """Zarr data type: its name, its configuration, how fill values are written.

        Examples
        --------
        >>> omnizarr.zeros(3, dtype="f4").data_type.name
        'float32'
        """
        return self._source.model.data_type

    @property
    def itemsize(self) -> int:
        """Bytes of one element in memory.

        Examples
        --------
        >>> omnizarr.zeros(3, dtype="i4").itemsize
        4
        """
        return self.dtype.itemsize

    @property
    def nbytes(self) -> int:
        """Bytes of the whole array in memory.

        Examples
        --------
        >>> omnizarr.zeros(10, dtype="i4").nbytes
        40
        """
        return self.size * self.itemsize

    @property
    def fill_value(self) -> Any:
        """Value of elements that were never written, a scalar of the array's type; None if the
        array has no fill value, which format 2 allows.

        Assigning stores another one, as in zarr-python 2. Every chunk that is not stored shows it
        then, also one that was left out because it held nothing but the old fill value (see
        `write_empty_chunks`).

        Examples
        --------
        >>> a = omnizarr.zeros(3, dtype="i4")
        >>> a.fill_value = 7
        >>> a[:]
        array([7, 7, 7], dtype=int32)
        """
        return self._source.model.fill_value

    @property
    def order(self) -> Order:
        """Memory order of the values that are read.

        Examples
        --------
        >>> omnizarr.zeros((4, 6), order="F").order
        'F'
        """
        chosen = self._options.order
        if chosen is None and not self._place.format.states_order:
            chosen = self._options.usual_order
        return chosen or self._stored.order

    @property
    def is_view(self) -> bool:
        """Whether `view` made this handle.

        Examples
        --------
        >>> a = omnizarr.zeros(3, dtype="i4")
        >>> a.is_view, a.view(dtype="u4").is_view
        (False, True)
        """
        return self._options.view is not None

    @property
    def dims(self) -> tuple[str | None, ...] | None:
        """Name of every dimension; None if the array has no names. Also `dimension_names`.

        Examples
        --------
        >>> omnizarr.zeros((2, 3), dimension_names=("y", "x")).dims
        ('y', 'x')
        """
        return self._model.dimension_names

    dimension_names = dims

    # -- chunks -------------------------------------------------------------------------------
    @property
    def chunks(self) -> tuple[int, ...] | tuple[int | tuple[int, ...], ...]:
        """Shape of a chunk, the unit of reading; inside shards, of an inner chunk.

        A tuple of int. Where chunks along a dimension differ in length, the tuple holds a tuple of
        lengths for that dimension, as Dask's `chunks` does.

        Examples
        --------
        >>> omnizarr.zeros((100, 100), chunks=(10, 20)).chunks
        (10, 20)
        """
        inner = self._pipeline.inner_chunks
        if inner is not None:
            return inner
        return self._model.grid.edges

    @property
    def shards(self) -> tuple[int, ...] | tuple[int | tuple[int, ...], ...] | None:
        """Shape of a shard, the unit of writing; None for an array without shards.

        Where shards along a dimension differ in length, the tuple holds a tuple of lengths for that
        dimension.

        Examples
        --------
        >>> a = omnizarr.zeros(100, chunks=10, shards=50)
        >>> a.chunks, a.shards
        ((10,), (50,))
        """
        return self._model.grid.edges if self._pipeline.inner_chunks is not None else None

    @property
    def read_chunk_sizes(self) -> tuple[tuple[int, ...], ...]:
        """Length of every chunk along every dimension, cut at the end of the array.

        A LimitError if there are more than `limits.max_requested_chunks`.

        Examples
        --------
        >>> omnizarr.zeros(10, chunks=4).read_chunk_sizes
        ((4, 4, 2),)
        """
        inner = self._pipeline.inner_chunks
        return chunk_lengths(self._model.grid if inner is None else regular_grid(self.shape, inner))

    @property
    def write_chunk_sizes(self) -> tuple[tuple[int, ...], ...]:
        """Length of every unit of writing (chunk or shard) along every dimension.

        A LimitError if there are more than `limits.max_requested_chunks`.

        Examples
        --------
        >>> omnizarr.zeros(7, chunks=2, shards=4).write_chunk_sizes
        ((4, 3),)
        """
        return chunk_lengths(self._model.grid)

    @property
    def cdata_shape(self) -> tuple[int, ...]:
        """Number of chunks along every dimension.

        Examples
        --------
        >>> omnizarr.zeros((100, 100), chunks=(10, 20)).cdata_shape
        (10, 5)
        """
        inner = self._pipeline.inner_chunks
        if inner is None:
            return self._model.grid.shape
        return tuple(-(-n // c) for n, c in zip(self.shape, inner, strict=True))

    @property
    def nchunks(self) -> int:
        """Number of chunks, stored or not.

        Examples
        --------
        >>> omnizarr.zeros((4, 6), chunks=(2, 3)).nchunks
        4
        """
        return prod(self.cdata_shape)

    def _stored_chunks(self) -> Iterator[tuple[str, tuple[int, ...]]]:
        """Key and grid coordinates of every stored chunk or shard."""
        from omnizarr.nodes.data import stored_chunks

        return stored_chunks.listed(self._source.store, self._source.prefix, self._model)

    def stored_chunks(self) -> list[tuple[int, ...]]:
        """List the chunks that are stored; of a sharded array, the shards.

        Returns
        -------
        list of tuple of int
            Grid coordinates, sorted.

        Raises
        ------
        NotListableError
            If the store cannot be listed.

        Examples
        --------
        >>> a = omnizarr.zeros(100, chunks=10)
        >>> a[35] = 1
        >>> a.stored_chunks()
        [(3,)]
        """
        from omnizarr.nodes.data import stored_chunks

        return stored_chunks.within(self._model.grid.shape, self._stored_chunks())

    def stored_chunk_sizes(self) -> Iterator[tuple[tuple[int, ...], int]]:
        """Iterate over the stored chunks with their sizes; of a sharded array, the shards.

        The store is asked in batches while you iterate, so that you may stop at any time.

        Yields
        ------
        tuple
            Grid coordinates, and the number of stored bytes; in the order of the store's listing.

        Raises
        ------
        NotListableError
            If the store cannot be listed.

        Examples
        --------
        >>> a = omnizarr.zeros(100, chunks=10, dtype="u1", compressors=None)
        >>> a[35] = 1
        >>> list(a.stored_chunk_sizes())
        [((3,), 10)]
        """
        from omnizarr.nodes.data import stored_chunks

        grid, found = self._model.grid.shape, self._stored_chunks()
        return stored_chunks.sizes(self._source.store, grid, found)

    @property
    def nchunks_initialized(self) -> int:
        """Number of chunks that are stored; every chunk of a stored shard counts.

        It lists the store.

        Examples
        --------
        >>> a = omnizarr.zeros(6, chunks=2)
        >>> a[0] = 1
        >>> a.nchunks_initialized
        1
        """
        grid, per_shard = self._model.grid, self._pipeline.chunks_per_shard
        if grid.regular:
            return len(self.stored_chunks()) * per_shard(grid.chunk_shape)
        return sum(per_shard(grid.shape_of(place)) for place in self.stored_chunks())

    @property
    def initialized(self) -> int:
        """Number of chunks that are stored: zarr-python's other name of it.

        Examples
        --------
        >>> a = omnizarr.zeros(6, chunks=2)
        >>> a[0] = 1
        >>> a.initialized
        1
        """
        return self.nchunks_initialized

    @property
    def nbytes_stored(self) -> CallableInt:
        """Bytes that chunks and metadata take in the store. It lists the store.

        zarr-python 2 has a property here, zarr-python 3 a method: `nbytes_stored` and
        `nbytes_stored()` both work.

        Examples
        --------
        >>> a = omnizarr.zeros(6, chunks=2)
        >>> before = a.nbytes_stored
        >>> a[0] = 1
        >>> a.nbytes_stored > before
        True
        """
        from omnizarr.nodes.data import stored_chunks
        from omnizarr.nodes.info import CallableInt

        chunks = self._stored_chunks()
        return CallableInt(stored_chunks.bytes_stored(self._place, self._source.store, chunks))

    def digest(self, hashname: str = "sha1") -> bytes:
        """Hash the array as it is stored: chunks in grid order, then metadata.

        Parameters
        ----------
        hashname
            Any name that `hashlib.new` takes.

        Returns
        -------
        bytes
            The digest.

        Examples
        --------
        >>> len(omnizarr.zeros(3).digest("sha256"))
        32
        """
        from omnizarr.nodes.data import stored_chunks

        chunks = self._stored_chunks()
        return stored_chunks.digest(self._place, self._source.store, chunks, hashname)

    def hexdigest(self, hashname: str = "sha1") -> str:
        """Hash the array as `digest` does.

        Parameters
        ----------
        hashname
            Any name that `hashlib.new` takes.

        Returns
        -------
        str
            The digest in hexadecimal.

        Examples
        --------
        >>> a, b = omnizarr.zeros(3), omnizarr.zeros(3)
        >>> a.hexdigest() == b.hexdigest()
        True
        """
        return self.digest(hashname).hex()

    # -- codecs -------------------------------------------------------------------------------
    @property
    def codecs(self) -> tuple[ShownCodec, ...]:
        """All codecs in the order in which they encode; inside shards, those of a chunk.

        Examples
        --------
        >>> [codec.spec().name for codec in omnizarr.zeros(3).codecs]
        ['bytes', 'zstd']
        """
        return self._pipeline.all

    @property
    def filters(self) -> tuple[ShownCodec, ...] | None:
        """Codecs before the serializer; where the metadata has a member `filters` (format 2), None
        instead of an empty tuple, as in zarr-python 2.

        Examples
        --------
        >>> omnizarr.zeros(3).filters
        ()
        >>> omnizarr.zeros(3, zarr_format=2).filters is None
        True
        """
        found = self._pipeline.filters
        return None if not found and "filters" in self._stored.document else found

    @property
    def serializer(self) -> ShownCodec | None:
        """Codec that turns an array into bytes; None where the format implies it.

        Examples
        --------
        >>> omnizarr.zeros(3, dtype="i4").serializer
        BytesCodec(endian='little')
        """
        return self._pipeline.serializer

    @property
    def compressors(self) -> tuple[ShownCodec, ...]:
        """Codecs from bytes to bytes, checksums among them.

        Examples
        --------
        >>> omnizarr.zeros(3, compressors="gzip").compressors
        (GzipCodec(level=5, name='gzip'),)
        """
        return self._pipeline.compressors

    @property
    def compressor(self) -> ShownCodec | None:
        """The compressor, as zarr-python 2 has it: the last of `compressors` that is more than a
        checksum; None if there is none.

        Examples
        --------
        >>> omnizarr.zeros(3, compressors=["gzip", "crc32c"]).compressor
        GzipCodec(level=5, name='gzip')
        """
        return self._pipeline.compressor

    @property
    def _block_grid(self) -> Grid:
        inner = self._pipeline.inner_chunks
        if inner is None:
            return self._stored.grid
        return regular_grid(self._stored.shape, inner)

    # -- reports ------------------------------------------------------------------------------
    @property
    def info(self) -> ArrayInfo:
        """Report of the array's facts, as text and as HTML. It does not read the store.

        `info_complete` counts the stored chunks as well.

        Examples
        --------
        >>> str(omnizarr.zeros((4, 6), chunks=(2, 3)).info).splitlines()[4:6]
        ['Shape              : (4, 6)', 'Chunk shape        : (2, 3)']
        """
        from omnizarr.nodes.info import ArrayInfo

        return ArrayInfo(self)

    def info_complete(self) -> ArrayInfo:
        """Report the array's facts, stored bytes and stored chunks. It lists the store.

        Returns
        -------
        ArrayInfo
            The report, as text and as HTML.

        Examples
        --------
        >>> a = omnizarr.array([1, 2, 3])
        >>> print(a.info_complete())  # doctest: +ELLIPSIS
        Name               : /
        ...
        Chunks initialized : 1/1
        <BLANKLINE>
        """
        from omnizarr.nodes.info import ArrayInfo

        return ArrayInfo(self, counted=True)

    def info_items(self) -> list[tuple[str, str]]:
        """List the rows of `info`.

        Returns
        -------
        list of tuple of str
            Name and value of every row.

        Examples
        --------
        >>> omnizarr.zeros(3).info_items()[0]
        ('Name', '/')
        """
        return self.info.items()
