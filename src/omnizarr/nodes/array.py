"""The array that a user holds.

Its methods are thin: selections become transforms, and functions of `nodes.data` and `resizing` do
the work. Nothing here knows a format version, a codec or a store.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, SupportsIndex, Unpack

import numpy as np
import numpy.typing as npt

from omnizarr import indexing
from omnizarr.keywords import suggests
from omnizarr.model import paths
from omnizarr.model.dtypes import String
from omnizarr.nodes import node
from omnizarr.nodes.array_conventions import ArrayConventions
from omnizarr.nodes.array_facts import ArrayFacts
from omnizarr.nodes.array_protocols import Protocols
from omnizarr.nodes.array_selections import Selection
from omnizarr.nodes.constructors import ArrayConstructors
from omnizarr.nodes.creation.arguments import (
    ChunksLike,
    CodecsLike,
    DataTypeLike,
    OpenOptions,
    ShapeLike,
    Synchronizer,
    options_from,
)
from omnizarr.nodes.data.foreign_memory import Target
from omnizarr.nodes.node import Options
from omnizarr.stores import StoreLike, as_store

if TYPE_CHECKING:
    import awkward
    import pyarrow

    from omnizarr.nodes.views import (
        BlockIndex,
        Converted,
        Fields,
        LazyIndex,
        OrthogonalIndex,
        VectorizedIndex,
    )

NDArray = npt.NDArray[Any]


class Array(ArrayConstructors, ArrayConventions, Protocols):
    """A chunked, compressed N-dimensional array in a store.

    Indexing follows NumPy: `array[2:5, ::-1]`, `array[mask]`, `array[0] = 1`. Functions such as
    `omnizarr.open_array` and `omnizarr.create_array` return an `Array`.

    Parameters
    ----------
    store
        A store, a path, a URL or a mapping.
    path
        Path of the array in the store; the root if it is left out.
    read_only
        Whether writing is refused.
    zarr_format, zarr_version
        The format to look for; without it, the format is detected.
    options
        Settings of another node, instead of `read_only`.
    **arguments
        Settings, as `omnizarr.open_array` takes them.

    Raises
    ------
    ArrayNotFoundError
        If no array is there.

    Examples
    --------
    >>> a = omnizarr.create_array({}, shape=(4, 6), chunks=(2, 3), dtype="i4")
    >>> a[1:3, ::2] = 7
    >>> a[1]
    array([7, 0, 7, 0, 7, 0], dtype=int32)
    """

    @suggests
    def __init__(
        self,
        store: StoreLike,
        path: str | None = None,
        read_only: bool = False,
        *,
        zarr_format: int | str | None = None,
        zarr_version: int | str | None = None,
        options: Options | None = None,
        **arguments: Unpack[OpenOptions],
    ) -> None:
        opened = options_from(arguments, options or Options(read_only=read_only))
        chosen = zarr_version if zarr_format is None else zarr_format
        place, model = node.require_array(as_store(store), paths.normalize_path(path), chosen)
        self._set(place, model, opened)
        self._check()

    # -- reading ------------------------------------------------------------------------------
    @suggests
    def read(self, selection: Selection = Ellipsis, *, out: Target | None = None) -> Any:
        """Read what `array[selection]` gives.

        Parameters
        ----------
        selection
            As between the brackets of `array[…]`; everything if it is left out.
        out
            Array of the selection's shape to write the values into; it is returned. It is NumPy's,
            or shares its memory with NumPy: a tensor of PyTorch on the CPU, anything writable with
            DLPack, a buffer. One of a GPU (CuPy's, a tensor) is filled by CuPy, from page-locked
            memory, while more is read.

        Returns
        -------
        ndarray or scalar
            The values.

        Examples
        --------
        >>> a = omnizarr.array([1, 2, 3])
        >>> a.read(slice(0, 2), out=np.empty(2))
        array([1., 2.])
        """
        return self.get_basic_selection(selection, out=out)

    @suggests
    def to_arrow(self, selection: Selection = Ellipsis) -> pyarrow.ChunkedArray:
        """Read a selection as a pyarrow array, flat and in C order.

        Text and byte strings are not copied: every chunk becomes an Arrow array over the buffers
        that it was decoded into. Other types go through NumPy.

        Parameters
        ----------
        selection
            As between the brackets of `array[…]`.

        Returns
        -------
        pyarrow.ChunkedArray
            The values.

        Raises
        ------
        UnsupportedError
            If Arrow has no type for the values.

        Examples
        --------
        >>> omnizarr.array(["a", "b", "c"], dtype=str).to_arrow(slice(1, 3)).to_pylist()
        ['b', 'c']
        """
        from omnizarr.nodes.arrow.reading import to_arrow
        from omnizarr.nodes.data.columns import handed_over

        values, _ = self._columns(selection)
        large = getattr(self._stored.data_type, "large", False)
        return handed_over("Arrow", str(self._place), lambda: to_arrow(values, large))

    @suggests
    def to_awkward(self, selection: Selection = Ellipsis) -> awkward.Array:
        """Read a selection as an awkward array of the same shape.

        Parameters
        ----------
        selection
            As between the brackets of `array[…]`.

        Returns
        -------
        awkward.Array
            The values.

        Examples
        --------
        >>> omnizarr.array([[1, 2], [3, 4]]).to_awkward().to_list()
        [[1, 2], [3, 4]]
        """
        from omnizarr.nodes.arrow.awkward import to_awkward
        from omnizarr.nodes.data.columns import handed_over

        values, shape = self._columns(selection)
        return handed_over("awkward", str(self._place), lambda: to_awkward(values, shape))

    def __arrow_array__(self, type: pyarrow.DataType | None = None) -> pyarrow.ChunkedArray:  # noqa: A002 - pyarrow's name
        values = self.to_arrow()
        return values if type is None else values.cast(type)

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        """Give the values to any library that takes Arrow's data: `polars.Series(array)`."""
        from omnizarr.nodes.arrow.reading import rows
        from omnizarr.nodes.data.columns import handed_over

        values, shape = self._columns(Ellipsis)
        large = getattr(self._stored.data_type, "large", False)
        found = handed_over("Arrow", str(self._place), lambda: rows(values, large, shape))
        return found.__arrow_c_stream__(requested_schema)

    def _columns(self, selection: Selection) -> Any:
        from omnizarr.nodes.data.reading import read_columns

        fields, selection = indexing.pop_fields(selection)
        return read_columns(self, indexing.basic_and_advanced(self._whole, selection), fields)

    def as_binary(self) -> Array:
        """Return the same text as byte strings, read-only. Text that is not UTF-8 can be read so.

        Returns
        -------
        Array
            A second handle of the array.

        Raises
        ------
        TypeError
            If the array holds no text of variable length.

        Examples
        --------
        >>> omnizarr.array(["a", "é"], dtype=str).as_binary()[:].tolist()
        [b'a', b'\\xc3\\xa9']
        """
        data_type = self._stored.data_type
        if not isinstance(data_type, String):
            raise TypeError(f"{self._place}: the array holds {data_type.name!r}, not text")
        return self._of(self._place, self._stored, self._options.changed(text="bytes"))

    # -- writing ------------------------------------------------------------------------------
    def __setitem__(self, key: Selection, value: npt.ArrayLike) -> None:
        fields, key = indexing.pop_fields(key)
        self._write(indexing.basic_and_advanced(self._target, key), value, fields)

    # -- other ways to index ------------------------------------------------------------------
    @property
    def oindex(self) -> OrthogonalIndex:
        """Orthogonal indexing: every dimension is selected on its own.

        Examples
        --------
        >>> a = omnizarr.array(np.arange(12).reshape(3, 4))
        >>> a.oindex[[0, 2], [1, 3]]
        array([[ 1,  3],
               [ 9, 11]])
        """
        from omnizarr.nodes.views import OrthogonalIndex

        return OrthogonalIndex(self)

    @property
    def vindex(self) -> VectorizedIndex:
        """Vectorized indexing: elements at points.

        Examples
        --------
        >>> a = omnizarr.array(np.arange(12).reshape(3, 4))
        >>> a.vindex[[0, 2], [1, 3]]
        array([ 1, 11])
        """
        from omnizarr.nodes.views import VectorizedIndex

        return VectorizedIndex(self)

    @property
    def blocks(self) -> BlockIndex:
        """Indexing by whole chunks.

        Examples
        --------
        >>> omnizarr.array(np.arange(6), chunks=2).blocks[1]
        array([2, 3])
        """
        from omnizarr.nodes.views import BlockIndex

        return BlockIndex(self)

    @property
    def fields(self) -> Fields:
        """Fields of a structured type, by name.

        Examples
        --------
        >>> a = omnizarr.zeros(2, dtype=[("x", "i4"), ("y", "f4")])
        >>> a.fields["x"][:] = 1
        >>> a["x"]
        array([1, 1], dtype=int32)
        """
        from omnizarr.nodes.views import Fields

        return Fields(self)

    @property
    def lazy(self) -> LazyIndex:
        """Indexing that composes, and reads only when the values are asked for.

        Examples
        --------
        >>> a = omnizarr.array(np.arange(10))
        >>> a.lazy[2:][::-3].read()
        array([9, 6, 3])
        """
        from omnizarr.nodes.views import LazyIndex

        return LazyIndex(self)

    @suggests
    def astype(self, dtype: npt.DTypeLike) -> Converted:
        """Return the array with values that are converted when they are read.

        Parameters
        ----------
        dtype
            NumPy dtype of the values.

        Returns
        -------
        Converted
            A view that can be indexed like the array.

        Examples
        --------
        >>> omnizarr.array([1, 2, 3]).astype("f4")[:2]
        array([1., 2.], dtype=float32)
        """
        from omnizarr.nodes.views import Converted

        return Converted(self, np.dtype(dtype))

    # -- shape and fill value -----------------------------------------------------------------
    if not TYPE_CHECKING:  # mypy knows no setter of a property that another class has

        @ArrayFacts.shape.setter
        def shape(self, new_shape: Any) -> None:
            from omnizarr.nodes import resizing

            resizing.resize(self, new_shape)

        @ArrayFacts.fill_value.setter
        def fill_value(self, value: Any) -> None:
            from omnizarr.nodes import resizing

            resizing.set_fill_value(self, value)

    @suggests
    def view(
        self,
        shape: ShapeLike | None = None,
        chunks: ChunksLike = None,
        dtype: DataTypeLike = None,
        fill_value: object = None,
        filters: CodecsLike = None,
        read_only: bool | None = None,
        synchronizer: Synchronizer | None = None,
    ) -> Array:
        """Return the same stored chunks with other facts, as zarr-python 2 does.

        Nothing is converted: chunks must decode to what the new facts say. A view that is written
        changes the array. It cannot be resized. For a lazy selection, see `lazy`.

        Parameters
        ----------
        shape, chunks, dtype, fill_value, filters
            As in `omnizarr.create`; None keeps what the array has. ``filters=[]`` means none.
        read_only, synchronizer
            Settings of the view; None keeps those of the array.

        Returns
        -------
        Array
            A second handle of the array; its `is_view` is true.

        Raises
        ------
        MetadataError
            If the number of dimensions differs, or the arguments do not agree.

        Examples
        --------
        >>> a = omnizarr.array(np.arange(3, dtype="u2"), chunks=3)
        >>> a.view(shape=6, chunks=6, dtype="u1")[:]
        array([0, 0, 1, 0, 2, 0], dtype=uint8)
        """
        given = {"shape": shape, "chunks": chunks, "dtype": dtype, "fill_value": fill_value,
                 "filters": filters}  # fmt: skip
        facts = {name: value for name, value in given.items() if value is not None}
        settings = {"read_only": read_only, "synchronizer": synchronizer}
        changes = {name: value for name, value in settings.items() if value is not None}
        known = {**(self._options.view or {}), **facts}
        return self._of(
            self._place, self._stored, self._options.changed(view=known, **changes)
        )._check()

    @suggests
    def resize(
        self,
        *shape: SupportsIndex | Iterable[SupportsIndex | None] | None,
        new_shape: SupportsIndex | Iterable[SupportsIndex | None] | None = None,
    ) -> None:
        """Change the shape in place.

        Data outside of the new shape is deleted; growing shows the fill value. If it fails midway,
        the same call finishes it.

        Parameters
        ----------
        *shape
            New length of every dimension, as one sequence or one by one; None keeps a length.
        new_shape
            zarr-python 3's name for `shape`.

        Raises
        ------
        ReadOnlyError
            If the array was opened with mode ``"r"``.
        MetadataError
            If the number of dimensions differs.

        Examples
        --------
        >>> a = omnizarr.zeros((10, 10), chunks=5)
        >>> a.resize((20, None))
        >>> a.shape
        (20, 10)
        """
        from omnizarr.nodes import resizing

        if new_shape is None:
            new_shape = shape[0] if len(shape) == 1 else shape  # type: ignore[assignment]
        resizing.resize(self, new_shape)

    @suggests
    def append(self, data: npt.ArrayLike, axis: int = 0) -> tuple[int, ...]:
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
            The shape right after this call grew the array: its data end at that length along
            `axis`. Other processes may have appended since.

        Raises
        ------
        ReadOnlyError
            If the array was opened with mode ``"r"``.
        MetadataError
            If another dimension does not agree.

        Examples
        --------
        >>> a = omnizarr.zeros((2, 3))
        >>> a.append([[1, 2, 3]])
        (3, 3)
        """
        from omnizarr.nodes import resizing

        return resizing.append(self, data, axis)

    # -- identity -----------------------------------------------------------------------------
    def __repr__(self) -> str:
        shape, dtype = self.shape, self.dtype
        read_only = " read-only" if self.read_only else ""
        return f"<omnizarr.Array {self.name!r} {shape} {dtype}{read_only} in {self.store!r}>"

    def _repr_html_(self) -> str:
        from omnizarr.nodes.html.pages import array_page

        return array_page(self)
