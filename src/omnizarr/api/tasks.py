"""`from_dask`: create an array from a Dask array, or write one into an array.

All arguments are checked before anything is stored or replaced.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Unpack

from omnizarr.api.arguments import StorageOptions, open_store
from omnizarr.api.creating import create_array
from omnizarr.formats import FormatName
from omnizarr.keywords import suggests
from omnizarr.model.paths import normalize_path
from omnizarr.nodes.array import Array
from omnizarr.nodes.creation.arguments import DataTypeLike, FilledOptions
from omnizarr.nodes.creation.overlaps import Location, check_apart
from omnizarr.nodes.dask import storing
from omnizarr.nodes.dask.storing import Region
from omnizarr.nodes.data.values import names_of
from omnizarr.stores import StoreLike

if TYPE_CHECKING:
    import dask.array
    from dask.delayed import Delayed
    from xarray import DataArray

_GRID = ("chunks", "chunk_shape", "shards", "codecs", "serializer")
"""Arguments that say what is written as one value."""


@suggests
def from_dask(
    x: dask.array.Array | DataArray,
    store: StoreLike | Array = None,
    *,
    name: str | None = None,
    dtype: DataTypeLike = None,
    region: Region | None = None,
    append_axis: int | None = None,
    align: bool = False,
    compute: bool = True,
    return_stored: bool = False,
    path: str | None = None,
    overwrite: bool = False,
    zarr_format: FormatName | None = None,
    storage_options: StorageOptions | None = None,
    **arguments: Unpack[FilledOptions],
) -> Array | dask.array.Array | Delayed:
    """Create an array from a Dask array, or write a Dask array into an array.

    Tasks write blocks in parallel, on the scheduler that Dask uses: threads, processes or a
    cluster. A task that runs twice writes the same values again. Blocks must end where stored
    chunks, or shards, end: no two tasks write one of them.

    Parameters
    ----------
    x
        The values; an `xarray.DataArray` also gives its dimension names.
    store
        Where to create the array: a path, a URL or a store. Or an open `Array`, which is written.
    region
        Of an open array: the part to write, a slice for every dimension. By default all of it.
    append_axis
        Of an open array: the dimension to append along. The array grows at once; if the values
        cannot be computed it shrinks again.
    align
        Rechunk `x` where its blocks do not end where stored chunks end. Else that is an error,
        which says how to rechunk.
    compute
        False writes nothing yet and returns a `Delayed`, whose result is the array.
    return_stored
        Return a Dask array that reads what was written. With ``compute=False`` its blocks are
        written when they are computed.
    name, dtype, path, overwrite, zarr_format, storage_options, **arguments
        Of a new array: all keywords of `create_array`. Chunks are by default the blocks of `x`.

    Returns
    -------
    Array, dask.delayed.Delayed or dask.array.Array
        The array; with ``compute=False`` a `Delayed`; with ``return_stored=True`` a Dask array.

    Raises
    ------
    MetadataError
        If two tasks would write one stored chunk, or the shape does not fit.
    OverlapError
        If `x` reads the array that it would replace or change.
    StoreError
        If the array is in memory, and Dask computes in other processes.

    Examples
    --------
    >>> import dask.array as da
    >>> import omnizarr
    >>> x = da.arange(12, chunks=4)
    >>> a = omnizarr.from_dask(x, {}, shards=8, chunks=4, align=True)
    >>> a.shards, int(a[:].sum())
    ((8,), 66)
    >>> omnizarr.from_dask(x[:4], a, append_axis=0).shape
    (16,)
    >>> omnizarr.from_dask(x[:4] * 10, a, region=slice(8, 16), align=True)
    Traceback (most recent call last):
        ...
    omnizarr.errors.MetadataError: ...
    """
    lazy = storing.as_lazy(x)
    if isinstance(store, Array):
        _refuse(
            "are for a new array", name=name, dtype=dtype, path=path, overwrite=overwrite or None,
            zarr_format=zarr_format, storage_options=storage_options, **arguments,
        )  # fmt: skip
        return storing.store(
            lazy, store, region, append_axis,
            align=align, compute=compute, return_stored=return_stored,
        )  # fmt: skip
    _refuse("need an open array (open_array(…, mode='r+'))", region=region, append_axis=append_axis)
    _refuse("cannot be written", read_only=arguments.get("read_only") or None)
    if "chunks" not in arguments and "chunk_shape" not in arguments:
        arguments["chunks"] = tuple(max(1, *lengths) for lengths in lazy.chunks)
    if arguments.get("dimension_names") is None and names_of(x) is not None:
        arguments["dimension_names"] = names_of(x)
    planned: Any = {key: value for key, value in arguments.items() if key in _GRID}
    planned |= {"data": lazy, "dtype": dtype, "zarr_format": zarr_format, "write_data": False}
    grid = storing.edges(create_array({}, **planned))
    lazy = storing.checked(lazy, grid, [0] * lazy.ndim, align)
    backing = open_store(store, "a", storage_options)
    place = Location(backing, normalize_path(name or path))
    if compute:
        storing.check_reach(lazy, place)
    if overwrite:
        check_apart(lazy, [place])
    array = create_array(
        backing, name=name, path=path, data=lazy, dtype=dtype, write_data=False,
        overwrite=overwrite, zarr_format=zarr_format, **arguments,
    )  # fmt: skip
    return storing.run(lazy, array, storing.whole(array), compute, return_stored)


def _refuse(why: str, **arguments: object) -> None:
    given = [name for name, value in arguments.items() if value is not None]
    if given:
        raise TypeError(f"from_dask(): {', '.join(given)} {why}")
