"""The array that a user holds.

Selections become transforms, transforms become plans, and the engine executes them; nothing here
knows a format version, a codec or a store. What is known without reading data is in `array_facts`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from omnizarr import engine, indexing
from omnizarr.errors import (
    LimitError,
    MetadataError,
    NodeNotFoundError,
    SelectionError,
    ZarrError,
)
from omnizarr.indexing import Transform
from omnizarr.model import paths
from omnizarr.model.array import ArrayModel
from omnizarr.model.casting import cast
from omnizarr.model.column import Column
from omnizarr.model.dtypes import Bytes, String
from omnizarr.model.json import show
from omnizarr.nodes import arrow, node, shrinking
from omnizarr.nodes.array_selections import Selections, has_ellipsis
from omnizarr.nodes.creation.chunk_shapes import resized_shape
from omnizarr.nodes.creation.overlaps import Location
from omnizarr.nodes.data.columns import (
    as_records,
    check_fields,
    gathered,
    handed_over,
    rearranged,
    select_fields,
)
from omnizarr.nodes.data.lazy import blocks, computed, counted_within, goes_in_blocks, values_of
from omnizarr.nodes.data.values import as_source
from omnizarr.nodes.freshness import require_same
from omnizarr.nodes.info import ArrayInfo
from omnizarr.nodes.node import Options
from omnizarr.nodes.views import (
    BlockIndex,
    Converted,
    Fields,
    LazyIndex,
    OrthogonalIndex,
    VectorizedIndex,
)
from omnizarr.stores import as_store

NDArray = npt.NDArray[Any]


class Array(Selections):
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
        from omnizarr.nodes.creation.arguments import check_options, options_from

        check_options(kwargs, "Array")
        opened = options_from(kwargs, options or Options(read_only=read_only))
        place, model = node.require_array(as_store(store), paths.normalize_path(path), zarr_format)
        self._set(place, model, opened)
        self._check()

    @property
    def info(self) -> ArrayInfo:
        """A report of what is known without asking the store."""
        return ArrayInfo(self)

    def info_complete(self) -> ArrayInfo:
        """The same with stored bytes and chunks, for which all chunks are listed.

        Examples
        --------
        >>> a = omnizarr.array([1, 2, 3])
        >>> print(a.info_complete())  # doctest: +ELLIPSIS
        Name               : /
        ...
        Chunks initialized : 1/1
        <BLANKLINE>
        """
        return ArrayInfo(self, counted=True)

    def info_items(self) -> list[tuple[str, str]]:
        """The rows of `info`."""
        return self.info.items()

    # -- reading ------------------------------------------------------------------------------
    def __getitem__(self, key: Any) -> Any:
        fields, key = indexing.pop_fields(key)
        transform = indexing.basic_and_advanced(self._whole, key)
        return self._read(transform, None, fields, scalar=not has_ellipsis(key))

    def read(self, selection: Any = Ellipsis, *, out: NDArray | None = None) -> Any:
        """`array[selection]`, into `out` if it is given."""
        return self.get_basic_selection(selection, out=out)

    def _read(
        self,
        transform: Transform,
        out: NDArray | None = None,
        fields: Any = None,
        *,
        scalar: bool = False,
    ) -> Any:
        """What a transform selects. A 0-d result becomes a scalar if `scalar` says so."""
        if out is not None and not isinstance(out, np.ndarray):
            raise TypeError(f"out must be a NumPy array, found {type(out).__name__}: {show(out)}")
        transform = self._fitted(transform)
        plan = indexing.partition(transform, self._stored.grid)
        dtype = self.dtype
        if out is not None and fields is None:
            self._read_into(plan, transform, out)
            return out
        try:
            result: NDArray = np.empty(transform.shape, dtype, order=self.order)
        except (ValueError, MemoryError) as error:
            raise LimitError(
                f"{self._place}: a selection of shape {transform.shape} and type {dtype} does not"
                " fit into memory; select less"
            ) from error
        working = plan.view(result)
        if working is None:
            working = np.empty(plan.shape, dtype)
            engine.read(self._source, plan, working)
            result = plan.result(working)
        else:
            engine.read(self._source, plan, working)
        if fields is not None:
            result = select_fields(result, fields, dtype)
            if out is not None:
                if out.shape != result.shape:
                    raise SelectionError(
                        f"{self._place}: out has shape {out.shape}, the fields {result.shape}"
                    )
                out[...] = cast(result, out.dtype)
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
            out[...] = cast(plan.result(working), out.dtype)

    def to_arrow(self, selection: Any = Ellipsis) -> Any:
        """What `array[selection]` gives as a pyarrow ChunkedArray, flat and in C order.

        Text and byte strings are not copied: each chunk becomes an Arrow array over the buffers
        that it was decoded into. Every other type goes through NumPy."""
        values, _ = self._columns(selection)
        large = getattr(self._stored.data_type, "large", False)
        return handed_over("Arrow", str(self._place), lambda: arrow.to_arrow(values, large))

    def to_awkward(self, selection: Any = Ellipsis) -> Any:
        """What `array[selection]` gives as an awkward array."""
        values, shape = self._columns(selection)
        return handed_over("awkward", str(self._place), lambda: arrow.to_awkward(values, shape))

    def __arrow_array__(self, type: Any = None) -> Any:  # noqa: A002 - pyarrow's name for it
        """`pyarrow.array(array)`."""
        values = self.to_arrow()
        return values if type is None else values.cast(type)

    def _columns(self, selection: Any) -> tuple[list[Column] | NDArray, tuple[int, ...]]:
        """Text and byte strings as columns, anything else as a NumPy array; and the shape."""
        fields, selection = indexing.pop_fields(selection)
        transform = indexing.basic_and_advanced(self._whole, selection)
        data_type = self._source.model.data_type
        if fields is not None or not isinstance(data_type, String | Bytes):
            return self._read(transform, fields=fields), transform.shape
        plan = indexing.partition(transform, self._stored.grid)
        return gathered(self._source, plan, str(self._place)), transform.shape

    def as_binary(self) -> Array:
        """The same text as byte strings, read-only: what is not UTF-8 can be read so.

        Document 004 calls it the fallback of `string` to `binary`."""
        data_type = self._stored.data_type
        if not isinstance(data_type, String):
            raise TypeError(f"{self._place}: the array holds {data_type.name!r}, not text")
        return self._of(self._place, self._stored, self._options.changed(text="bytes"))

    # -- writing ------------------------------------------------------------------------------
    def __setitem__(self, key: Any, value: Any) -> None:
        fields, key = indexing.pop_fields(key)
        self._write(indexing.basic_and_advanced(self._target, key), value, fields)

    def _write_view(self, transform: Transform, value: Any) -> None:
        """Write to what was selected earlier."""
        self._check_writable()
        self._look()
        self._write(transform, value)

    def _write(self, transform: Transform, value: Any, fields: Any = None) -> None:
        self._check_writable()
        lazy = computed(value)
        own = Location(self.store, self.path)
        if fields is None and goes_in_blocks(lazy, transform.shape, own):
            for block in blocks(lazy):
                part, values = indexing.basic_and_advanced(transform, block), values_of(lazy, block)
                with counted_within(block):
                    self._write(part, values)
            return
        stored, source = self._stored, self._source
        transform = self._fitted(transform)
        dtype = source.model.dtype
        within: tuple[int, ...] = ()
        if fields is not None:
            check_fields(fields, dtype)
            dtype = dtype[fields]
            dtype, within = dtype.base, dtype.shape
        model = source.model
        plan = indexing.partition(transform, model.grid)
        try:
            values = as_source(value, model.data_type, dtype, transform.shape + within)
        except (TypeError, ValueError) as error:
            error.add_note(f"while writing to {self._place}")
            raise
        if isinstance(values, Column):
            # A chunk of a flat array is a piece of a column; with more dimensions it is many.
            values = rearranged(values, plan) if len(plan.shape) == 1 else values.numpy(dtype)
        elif within:
            values, fields = as_records(values, fields, within), [fields]
        working = values if isinstance(values, Column) else plan.working(values)
        try:
            engine.write(source, plan, working, fields)
        finally:
            self._confirm(stored, source, plan)

    def _fitted(self, transform: Transform) -> Transform:
        """A selection of the array as it was, of the array as it is."""
        try:
            return indexing.fitted(transform, self._stored.shape)
        except SelectionError as error:
            raise error.at(str(self._place)) from error

    def _confirm(self, stored: ArrayModel, source: engine.Source, plan: indexing.Plan) -> None:
        """After a write: take back what was written outside of the array, if somebody else has
        made it smaller or deleted it since the look before."""
        try:
            found = self._stored_anew()
        except NodeNotFoundError:
            shrinking.withdraw(source, (part.coordinates for part in plan.parts()), self._place)
            raise
        now = self._stored if found is None else found
        if now is stored:
            return
        new = require_same(self._place, stored, now, "while it was written").shape
        if found is not None:
            self._take_over(found)
        if any(length < old for old, length in zip(stored.shape, new, strict=True)):
            self._forget(stored, new, shrinking.watched(self._place, stored))

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
        return True  # `if array:` asks whether there is one; values are asked for by reading them

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
        return values if dtype is None else cast(values, np.dtype(dtype))

    def __dlpack__(self, **options: Any) -> Any:
        """The values for any library that speaks DLPack: `torch.from_dlpack(array)`."""
        return np.asarray(self).__dlpack__(**options)

    def __dlpack_device__(self) -> tuple[int, int]:
        return np.empty(0).__dlpack_device__()

    def __int__(self) -> int:
        return int(np.asarray(self))

    def __float__(self) -> float:
        return float(np.asarray(self))

    def __complex__(self) -> complex:
        return complex(np.asarray(self))

    def __index__(self) -> int:
        return int(np.asarray(self).__index__())

    # -- shape --------------------------------------------------------------------------------
    def resize(self, *shape: Any, new_shape: Any = None) -> None:
        """Change the shape. What falls outside is gone: growing again shows the fill value.

        If it fails midway, the same call finishes it."""
        if new_shape is None:
            new_shape = shape[0] if len(shape) == 1 else shape

        def wanted(old: tuple[int, ...]) -> tuple[int, ...]:
            return resized_shape(new_shape, old, str(self._place))

        before = self._model
        new = wanted(before.shape)
        capabilities = self._source.store.capabilities
        shared = capabilities.locks or capabilities.versions

        def changed(model: ArrayModel) -> ArrayModel:
            nonlocal before, new
            self._require_same(model)
            before, new = model, wanted(model.shape)
            if not shared:
                # No process beside this one may write, and some stores show no chunk that lies
                # outside of the shape.
                self._forget(model, new, lambda: new)
            return replace(model, shape=new, grid=model.grid.resized(new))

        self._replace(node.change(self._place, self._options, changed))
        try:
            self._forget(before, new, shrinking.watched(self._place, before))
        except ZarrError as error:
            raise error.at(
                f"{self._place}: the shape is {new} now, but what was cut off is not forgotten yet;"
                " the same resize once more goes on with it"
            ) from error

    def _forget(self, before: ArrayModel, new: tuple[int, ...], current: Callable[[], Any]) -> None:
        whole = shrinking.edges(before, new)
        if whole is not None:
            source = Array._of(self._place, whole, self._options)._source
            chunks = (chunk for _, chunk in self._stored_chunks())
            shrinking.forget(source, chunks, new, current, new == before.shape)

    def append(self, data: Any, axis: int = 0) -> tuple[int, ...]:
        """Add data at the end of a dimension. Two processes that append both succeed.

        Parameters
        ----------
        data
            Values that agree with the array in every dimension but `axis`.
        axis
            The dimension that grows.

        Returns
        -------
        tuple of int
            The shape right after this call's own data were added: they end at its length along
            `axis`. Others may have appended since.

        Examples
        --------
        >>> import omnizarr
        >>> a = omnizarr.zeros((2, 3))
        >>> a.append([[1, 2, 3]])
        (3, 3)
        """
        self._check_writable()
        self._look()
        values = as_source(data, self._source.model.data_type, self.dtype, None)
        if not -self.ndim <= axis < self.ndim:
            raise SelectionError(f"{self._place}: axis {axis} of an array with ndim {self.ndim}")
        axis %= self.ndim
        agree = values.ndim == self.ndim and all(
            dimension == axis or length == self.shape[dimension]
            for dimension, length in enumerate(values.shape)
        )
        if not agree:
            raise MetadataError(
                f"{self._place}: cannot append shape {values.shape} to {self.shape} along axis"
                f" {axis}: all other dimensions must agree"
            )
        start = 0
        shape: tuple[int, ...] = ()

        def changed(model: ArrayModel) -> ArrayModel:
            nonlocal start, shape
            self._require_same(model)
            start = model.shape[axis]
            grown = list(model.shape)
            grown[axis] += values.shape[axis]
            shape = tuple(grown)
            return replace(model, shape=shape, grid=model.grid.resized(shape))

        self._replace(node.change(self._place, self._options, changed, repeatable=False))
        # Somebody else may have changed the shape again: what lies outside now is not written.
        kept = [min(*lengths) for lengths in zip(values.shape, self.shape, strict=True)]
        kept[axis] = max(0, min(values.shape[axis], self.shape[axis] - start))
        region = [slice(0, length) for length in kept]
        if tuple(kept) != values.shape:
            values = values[tuple(region)]
        region[axis] = slice(start, start + kept[axis])
        self._write(indexing.basic_and_advanced(self._whole, tuple(region)), values)
        return shape

    # -- identity -----------------------------------------------------------------------------
    def __dask_tokenize__(self) -> Any:
        return ("omnizarr.Array", repr(self.store.identity), self.path, repr(self._stored.document))

    def __repr__(self) -> str:
        shape, dtype = self.shape, self.dtype
        read_only = " read-only" if self.read_only else ""
        return f"<omnizarr.Array {self.name!r} {shape} {dtype}{read_only} in {self.store!r}>"

    def _repr_html_(self) -> str:
        return self.info._repr_html_()
