"""`dataset.omnizarr.to_zarr(…)`: the accessor of Dataset, DataArray and DataTree.

This module knows xarray's accessors. It must not know how anything is written.
"""

# xarray's functions have no annotations here.
# mypy: disable-error-code="no-untyped-call"

from __future__ import annotations

from collections.abc import Hashable, Mapping
from typing import TYPE_CHECKING

import xarray

from omnizarr.integrations.xarray.opening import Target
from omnizarr.integrations.xarray.store import OmnizarrDataStore, Region
from omnizarr.integrations.xarray.writing import Encoding, WriteMode, to_zarr
from omnizarr.keywords import suggests

if TYPE_CHECKING:
    from dask.delayed import Delayed


@xarray.register_datatree_accessor("omnizarr")
@xarray.register_dataarray_accessor("omnizarr")
@xarray.register_dataset_accessor("omnizarr")
class OmnizarrAccessor:
    """What omnizarr adds to Dataset, DataArray and DataTree.

    Parameters
    ----------
    obj
        The object that it belongs to.

    Examples
    --------
    >>> import xarray
    >>> import omnizarr.integrations.xarray
    >>> store = omnizarr.MemoryStore()
    >>> _ = xarray.Dataset({"t": ("x", [1, 2, 3])}).omnizarr.to_zarr(store)
    >>> omnizarr.open_group(store)["t"].dims
    ('x',)
    """

    def __init__(self, obj: xarray.Dataset | xarray.DataArray | xarray.DataTree) -> None:
        self._obj = obj

    @suggests
    def to_zarr(
        self,
        store: Target = None,
        mode: WriteMode | None = None,
        group: str | None = None,
        encoding: Encoding | None = None,
        *,
        compute: bool = True,
        consolidated: bool | None = None,
        append_dim: Hashable | None = None,
        region: Region | None = None,
        safe_chunks: bool = True,
        align_chunks: bool = False,
        storage_options: Mapping[str, object] | None = None,
        zarr_format: int | str | None = None,
        write_empty_chunks: bool | None = None,
        write_inherited_coords: bool = False,
        chunkmanager_store_kwargs: Mapping[str, object] | None = None,
    ) -> OmnizarrDataStore | Delayed:
        """Write the object to a store, as `omnizarr.integrations.xarray.to_zarr` does.

        Parameters
        ----------
        store, mode, group, encoding, compute, consolidated, append_dim, region, safe_chunks, \
align_chunks, storage_options, zarr_format, write_empty_chunks, write_inherited_coords, \
chunkmanager_store_kwargs
            As in `omnizarr.integrations.xarray.to_zarr`.

        Returns
        -------
        OmnizarrDataStore or Delayed
            The store that was written; with ``compute=False`` a Dask object.
        """
        return to_zarr(
            self._obj,
            store,
            mode,
            group,
            encoding,
            compute=compute,
            consolidated=consolidated,
            append_dim=append_dim,
            region=region,
            safe_chunks=safe_chunks,
            align_chunks=align_chunks,
            storage_options=storage_options,
            zarr_format=zarr_format,
            write_empty_chunks=write_empty_chunks,
            write_inherited_coords=write_inherited_coords,
            chunkmanager_store_kwargs=chunkmanager_store_kwargs,
        )
