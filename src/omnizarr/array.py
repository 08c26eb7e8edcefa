"""The array that a user holds.

An `Array` is an address (store, path, format), the facts stored there (`ArrayModel`), and how it
was opened (`Options`). Selections become transforms, transforms become plans, and the engine
executes them; nothing here knows a format version, a codec or a store.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import cached_property
from math import prod
from typing import Any, Literal, Self

import numpy as np
import numpy.typing as npt

from omnizarr import engine, indexing, node
from omnizarr.attributes import Attributes
from omnizarr.chunking import normalize_shape
from omnizarr.config import config
from omnizarr.errors import MetadataError, ReadOnlyError, SelectionError
from omnizarr.indexing import Transform
from omnizarr.info import ArrayInfo, CallableInt
from omnizarr.metadata import Metadata
from omnizarr.model import paths
from omnizarr.model.array import ArrayModel
from omnizarr.model.grids import Grid, RegularAxis, regular_grid
from omnizarr.model.store import Store
from omnizarr.node import Options, Place
from omnizarr.pipeline import Pipeline
from omnizarr.stores import as_store
from omnizarr.values import as_source_array
from omnizarr.views import (
    BlockIndex,
    Converted,
    Fields,
    LazyIndex,
    OrthogonalIndex,
    VectorizedIndex,
)

NDArray = npt.NDArray[Any]


class Array:
    """A chunked, compressed N-dimensional array in a store.

    Reading and writing follow NumPy: `z[2:5, ::-1]`, `z[mask]`, `z[0] = 1`.
    """

    def __init__(
        self,
        store: Any,
        path: str | None = None,
        read_only: bool = False,
        *,
        zarr_format: int | str | None = None,
        options: Options | None = None,
        **kwargs: Any,
    ) -> None:
        """Open the array that is stored at `path`; to create one, use `omnizarr.create_array`."""
        from omnizarr.creation import check_arguments, options_from

        check_arguments(kwargs, "Array")
        opened = options_from(kwargs, options or Options(read_only=read_only))
        place, model = node.require_array(
            as_store(store), paths.normalize_path(path), zarr_format
        )
        self._set(place, model, opened)

    @classmethod
    def _of(cls, place: Place, model: ArrayModel, options: Options) -> Self:
        """The array of facts that are known already."""
        array = cls.__new__(cls)
        array._set(place, model, options)
        return array

    def _set(self, place: Place, model: ArrayModel, options: Options) -> None:
        self._place = place
        self._options = options
        self._replace(model)

    def _replace(self, model: ArrayModel) -> None:
        self._stored = model
        self.__dict__.pop("_source", None)
        self.__dict__.pop("_pipeline", None)

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
            prefix=self._place.format.chunk_prefix(self.path),
            model=self._stored,
            allow_pickle=options.allow_pickle,
            write_empty_chunks=config.get("array.write_empty_chunks") if empty is None else empty,
            on_missing=options.on_missing or config.get("array.on_missing"),
            synchronizer=options.synchronizer,
        )

    @cached_property
    def _pipeline(self) -> Pipeline:
        return Pipeline.of(self._stored)

    def refresh(self) -> None:
        """Read the metadata again; another process may have resized the array."""
        model = node.reread(self._place)
        if not isinstance(model, ArrayModel):
            raise MetadataError(f"{self._place}: the array was replaced by a group")
        self._replace(model)

    # -- facts --------------------------------------------------------------------------------
    @property
    def store(self) -> Store:
        return self._place.store

    @property
    def chunk_store(self) -> Store:
        return self._options.chunk_store or self.store

    @property
    def path(self) -> str:
        return self._place.path

    @property
    def name(self) -> str:
        """The path with a leading slash, as h5py names things."""
        return "/" + self.path

    @property
    def basename(self) -> str:
        return paths.name_of(self.path)

    @property
    def read_only(self) -> bool:
        return self._options.read_only or self.store.read_only

    @property
    def synchronizer(self) -> Any:
        return self._options.synchronizer

    @property
    def zarr_format(self) -> int | str:
        return self._place.format.name

    @property
    def shape(self) -> tuple[int, ...]:
        return self._model.shape

    @shape.setter
    def shape(self, shape: Any) -> None:
        self.resize(shape)

    @property
    def ndim(self) -> int:
        return len(self._model.shape)

    @property
    def size(self) -> int:
        return prod(self._model.shape)

    @property
    def dtype(self) -> np.dtype[Any]:
        return self._stored.dtype

    @property
    def itemsize(self) -> int:
        return self.dtype.itemsize

    @property
    def nbytes(self) -> int:
        """Size of the array in memory, were it read whole."""
        return self.size * self.itemsize

    @property
    def fill_value(self) -> Any:
        return self._stored.fill_value

    @property
    def order(self) -> Literal["C", "F"]:
        """Memory order of what is read."""
        return self._options.order or self._stored.order

    @property
    def attrs(self) -> Attributes:
        return Attributes(self._read_attributes, self._change_attributes)

    def _read_attributes(self) -> Any:
        if not self._options.cache_attrs:
            self.refresh()
        return self._model.attributes

    def _change_attributes(self, function: Any) -> None:
        changed = node.change_attributes(self._place, self._options, function)
        self._replace(replace(self._stored, attributes=changed.attributes, document=changed.document))

    def update_attributes(self, attributes: Any) -> Self:
        """Set several attributes and give the array back."""
        self.attrs.update(attributes)
        return self

    @property
    def dims(self) -> tuple[str | None, ...] | None:
        """Names of the dimensions, where the array has any."""
        return self._model.dimension_names

    dimension_names = dims

    @property
    def metadata(self) -> Metadata:
        """The stored document, with its members as attributes."""
        return Metadata(self._place, self._model)

    @property
    def info(self) -> ArrayInfo:
        return ArrayInfo(self)

    def info_items(self) -> list[tuple[str, str]]:
        return self.info.items()

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
        for key in source.store.list_prefix(source.prefix):
            for keys in spellings:
                coordinates = keys.decode(key[len(source.prefix) :], model.ndim)
                if coordinates is not None:
                    yield key, coordinates
                    break

    @property
    def nchunks_initialized(self) -> int:
        """How many chunks are stored (every chunk of a stored shard counts)."""
        grid = self._model.grid.shape
        stored = {
            coordinates
            for _, coordinates in self._stored_chunks()
            if all(c < n for c, n in zip(coordinates, grid, strict=True))
        }
        return len(stored) * self._pipeline.chunks_per_shard(self._model.grid.chunk_shape)

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
        sizes = [source.store.size(key) or 0 for key in keys]
        sizes += [self.store.size(key) or 0 for key in self._place.format.keys(self.path)]
        return CallableInt(sum(sizes))

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
        return self._pipeline.compressors[-1] if self._pipeline.compressors else None

    # -- reading ------------------------------------------------------------------------------
    def __getitem__(self, key: Any) -> Any:
        fields, key = indexing.pop_fields(key)
        transform = indexing.basic_and_advanced(self._whole, key)
        return self._read(transform, None, fields, scalar=not _has_ellipsis(key))

    def read(self, selection: Any = Ellipsis, *, out: NDArray | None = None) -> Any:
        """`array[selection]`, into `out` if it is given."""
        return self.get_basic_selection(selection, out=out)

    @property
    def _whole(self) -> Transform:
        return indexing.identity(self._model.shape)

    def _read(
        self,
        transform: Transform,
        out: NDArray | None = None,
        fields: Any = None,
        *,
        scalar: bool = False,
    ) -> Any:
        """What a transform selects. A 0-d result becomes a scalar if `scalar` says so."""
        plan = indexing.partition(transform, self._stored.grid)
        dtype = self.dtype
        if out is not None and fields is None:
            self._read_into(plan, transform, out)
            return out
        order = "F" if self.order == "F" else "C"
        result: NDArray = np.empty(transform.shape, dtype, order=order)
        working = plan.view(result)
        if working is None:
            working = np.empty(plan.shape, dtype)
            engine.read(self._source, plan, working)
            result = plan.result(working)
        else:
            engine.read(self._source, plan, working)
        if fields is not None:
            result = _select_fields(result, fields, dtype)
            if out is not None:
                out[...] = result
                return out
        if scalar and not transform.shape:
            return result[()]
        return result

    def _read_into(self, plan: indexing.Plan, transform: Transform, out: NDArray) -> None:
        if out.shape != transform.shape:
            raise SelectionError(
                f"{self._place}: out has shape {out.shape}, the selection has {transform.shape}"
            )
        if not out.flags.writeable:
            raise ValueError(f"{self._place}: out is read-only")
        view = plan.view(out) if out.dtype == self.dtype else None
        working = np.empty(plan.shape, self.dtype) if view is None else view
        engine.read(self._source, plan, working)
        if view is None:
            out[...] = plan.result(working)

    def get_basic_selection(
        self, selection: Any = Ellipsis, *, out: NDArray | None = None, fields: Any = None, **_: Any
    ) -> Any:
        transform = indexing.basic_and_advanced(self._whole, selection)
        return self._read(transform, out, fields, scalar=not _has_ellipsis(selection))

    def get_orthogonal_selection(
        self, selection: Any, *, out: NDArray | None = None, fields: Any = None, **_: Any
    ) -> Any:
        return self._read(indexing.orthogonal(self._whole, selection), out, fields, scalar=True)

    def get_coordinate_selection(
        self, selection: Any, *, out: NDArray | None = None, fields: Any = None, **_: Any
    ) -> Any:
        return self._read(indexing.coordinates(self._whole, selection), out, fields, scalar=True)

    def get_mask_selection(
        self, mask: Any, *, out: NDArray | None = None, fields: Any = None, **_: Any
    ) -> Any:
        return self._read(indexing.mask(self._whole, mask), out, fields)

    def get_block_selection(
        self, selection: Any, *, out: NDArray | None = None, fields: Any = None, **_: Any
    ) -> Any:
        return self._read(indexing.blocks(self._whole, selection, self._block_grid), out, fields)

    @property
    def _block_grid(self) -> Grid:
        inner = self._pipeline.inner_chunks
        if inner is None:
            return self._stored.grid
        return regular_grid(self._stored.shape, inner)

    # -- writing ------------------------------------------------------------------------------
    def __setitem__(self, key: Any, value: Any) -> None:
        fields, key = indexing.pop_fields(key)
        self._write(indexing.basic_and_advanced(self._whole, key), value, fields)

    def _write(self, transform: Transform, value: Any, fields: Any = None) -> None:
        if self.read_only:
            raise ReadOnlyError(
                f"{self._place} was opened for reading only; open it with mode 'r+' or 'a'"
            )
        dtype = self.dtype
        if fields is not None:
            _check_fields(fields, dtype)
            dtype = dtype[fields]
        source = as_source_array(value, dtype, transform.shape)
        plan = indexing.partition(transform, self._stored.grid)
        engine.write(self._source, plan, plan.working(source), fields)

    def set_basic_selection(self, selection: Any, value: Any, *, fields: Any = None, **_: Any) -> None:
        self._write(indexing.basic_and_advanced(self._whole, selection), value, fields)

    def set_orthogonal_selection(
        self, selection: Any, value: Any, *, fields: Any = None, **_: Any
    ) -> None:
        self._write(indexing.orthogonal(self._whole, selection), value, fields)

    def set_coordinate_selection(
        self, selection: Any, value: Any, *, fields: Any = None, **_: Any
    ) -> None:
        self._write(indexing.coordinates(self._whole, selection), value, fields)

    def set_mask_selection(self, mask: Any, value: Any, *, fields: Any = None, **_: Any) -> None:
        self._write(indexing.mask(self._whole, mask), value, fields)

    def set_block_selection(
        self, selection: Any, value: Any, *, fields: Any = None, **_: Any
    ) -> None:
        self._write(indexing.blocks(self._whole, selection, self._block_grid), value, fields)

    # -- other ways to index ------------------------------------------------------------------
    @property
    def oindex(self) -> OrthogonalIndex:
        """Every axis on its own: `z.oindex[[0, 2], mask]`."""
        return OrthogonalIndex(self)

    @property
    def vindex(self) -> VectorizedIndex:
        """Points: `z.vindex[[0, 2], [1, 3]]`."""
        return VectorizedIndex(self)

    @property
    def blocks(self) -> BlockIndex:
        """Whole chunks: `z.blocks[0, 1:3]`."""
        return BlockIndex(self)

    @property
    def fields(self) -> Fields:
        """Fields of a structured type: `z.fields["x"][0:5]`."""
        return Fields(self)

    @property
    def lazy(self) -> LazyIndex:
        """Selections that compose and read only on demand: `z.lazy[2:, ::-3][5]`."""
        return LazyIndex(self)

    def astype(self, dtype: Any) -> Converted:
        """The same array, converted as it is read."""
        return Converted(self, np.dtype(dtype))

    # -- as a sequence and as an array --------------------------------------------------------
    def __len__(self) -> int:
        if not self.shape:
            raise TypeError("len() of a 0-d array")
        return self.shape[0]

    def __bool__(self) -> bool:
        return bool(np.asarray(self))

    def __iter__(self) -> Iterator[Any]:
        return self.islice()

    def islice(self, start: int | None = None, end: int | None = None) -> Iterator[Any]:
        """Items along the first dimension; every chunk is decoded once."""
        if not self.shape:
            raise TypeError("iteration over a 0-d array")
        first, last, _ = slice(start, end).indices(self.shape[0])
        axis = self._block_grid.axes[0]
        while first < last:
            chunk = axis.chunk_of(first)
            stop = min(last, axis.start(chunk) + axis.size(chunk))
            yield from self[first:stop]
            first = stop

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray:
        if copy is False:
            raise ValueError("an array in a store cannot become a NumPy array without a copy")
        values: NDArray = self[...]
        return values if dtype is None else values.astype(dtype, copy=False)

    def __int__(self) -> int:
        return int(np.asarray(self))

    def __float__(self) -> float:
        return float(np.asarray(self))

    def __complex__(self) -> complex:
        return complex(np.asarray(self))

    def __index__(self) -> int:
        return int(np.asarray(self).__index__())

    # -- shape --------------------------------------------------------------------------------
    def resize(self, *shape: Any) -> None:
        """Change the shape. What falls outside is gone: growing again shows the fill value."""
        new = normalize_shape(shape[0] if len(shape) == 1 else shape)
        if len(new) != self.ndim:
            raise MetadataError(f"{self._place}: cannot resize {self.shape} to {new}: other ndim")
        before = self._model

        def changed(model: ArrayModel) -> ArrayModel:
            nonlocal before
            before = model
            return replace(model, shape=new, grid=model.grid.resized(new))

        self._replace(node.change(self._place, self._options, changed))
        if any(n < old for n, old in zip(new, before.shape, strict=True)):
            self._forget_outside(before)

    def _forget_outside(self, before: ArrayModel) -> None:
        """Delete chunks beyond the new edge, and fill the part of edge chunks that lies beyond."""
        grid, shape = self._stored.grid, self._stored.shape
        old = Array._of(self._place, before, self._options)
        for key, coordinates in list(self._stored_chunks()):
            if any(c >= n for c, n in zip(coordinates, grid.shape, strict=True)):
                self._source.store.delete(key)
                continue
            for dimension, axis in enumerate(before.grid.axes):
                start = axis.start(coordinates[dimension])
                stop = min(start + axis.size(coordinates[dimension]), before.shape[dimension])
                if stop > shape[dimension]:
                    region = [
                        slice(a.start(c), a.start(c) + a.size(c))
                        for a, c in zip(before.grid.axes, coordinates, strict=True)
                    ]
                    region[dimension] = slice(shape[dimension], stop)
                    old._write(indexing.basic_and_advanced(old._whole, tuple(region)), old._source.fill)

    def append(self, data: Any, axis: int = 0) -> tuple[int, ...]:
        """Add `data` at the end of a dimension; two processes that append both succeed."""
        values = as_source_array(data, self.dtype, None)
        if not -self.ndim <= axis < self.ndim:
            raise SelectionError(f"{self._place}: axis {axis} of an array with ndim {self.ndim}")
        axis %= self.ndim
        if values.ndim != self.ndim or any(
            n != m for d, (n, m) in enumerate(zip(values.shape, self.shape, strict=True)) if d != axis
        ):
            raise MetadataError(
                f"{self._place}: cannot append shape {values.shape} to {self.shape} along axis {axis}:"
                " all other dimensions must agree"
            )
        start = 0

        def changed(model: ArrayModel) -> ArrayModel:
            nonlocal start
            start = model.shape[axis]
            shape = list(model.shape)
            shape[axis] += values.shape[axis]
            return replace(model, shape=tuple(shape), grid=model.grid.resized(tuple(shape)))

        self._replace(node.change(self._place, self._options, changed))
        region = [slice(None)] * self.ndim
        region[axis] = slice(start, start + values.shape[axis])
        self[tuple(region)] = values
        return self.shape

    # -- identity -----------------------------------------------------------------------------
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

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, Array)
            and self.store.identity == other.store.identity
            and self.path == other.path
        )

    def __hash__(self) -> int:
        return hash((self.store.identity, self.path))

    def __reduce__(self) -> Any:
        return _reopen, (type(self), self.store, self.path, self.zarr_format, self._options)

    def __dask_tokenize__(self) -> Any:
        return ("omnizarr.Array", repr(self.store.identity), self.path, repr(self._stored.document))

    def __repr__(self) -> str:
        shape, dtype = self.shape, self.dtype
        read_only = " read-only" if self.read_only else ""
        return f"<omnizarr.Array {self.name!r} {shape} {dtype}{read_only}>"

    def _repr_html_(self) -> str:
        return self.info._repr_html_()


def _reopen(
    kind: type[Array], store: Store, path: str, zarr_format: int | str, options: Options
) -> Array:
    return kind(store, path, zarr_format=zarr_format, options=options)


def _has_ellipsis(key: Any) -> bool:
    return key is Ellipsis or (isinstance(key, tuple) and any(item is Ellipsis for item in key))


def _check_fields(fields: Any, dtype: np.dtype[Any]) -> None:
    names = [fields] if isinstance(fields, str) else list(fields)
    known = dtype.names or ()
    for name in names:
        if name not in known:
            listed = ", ".join(map(repr, known)) or "none"
            raise SelectionError(f"no field {name!r} in data type {dtype}; its fields: {listed}")


def _select_fields(values: NDArray, fields: Any, dtype: np.dtype[Any]) -> NDArray:
    _check_fields(fields, dtype)
    selected: NDArray = values[fields]
    return selected.copy() if isinstance(fields, str) else selected
