"""xarray on omnizarr: `engine="omnizarr"`, and writing with `to_zarr`.

    dataset = xarray.open_dataset("data.zarr", engine="omnizarr", chunks={})
    dataset.omnizarr.to_zarr("copy.zarr", encoding={"t": {"shards": (100, 360, 720)}})

Reading needs no import: xarray finds the engine by its name. Importing this module registers the
accessor `omnizarr` of Dataset, DataArray and DataTree. zarr-python is not needed.

    opening     which group a path, URL, store or group means, and whether it is consolidated
    variables   what an array says to xarray: dimensions, attributes, encoding
    arrays      values that are read when they are asked for
    store       xarray's rules for writing, on a group of omnizarr
    backend     the engine
    writing     `to_zarr`
    accessor    `dataset.omnizarr`
"""

from __future__ import annotations

from omnizarr.runtime.optional_packages import package

package("xarray", "xarray", "omnizarr.integrations.xarray")  # says what to install

from omnizarr.integrations.xarray.accessor import OmnizarrAccessor  # noqa: E402
from omnizarr.integrations.xarray.backend import OmnizarrBackend  # noqa: E402
from omnizarr.integrations.xarray.store import OmnizarrDataStore  # noqa: E402
from omnizarr.integrations.xarray.writing import to_zarr  # noqa: E402

__all__ = ["OmnizarrAccessor", "OmnizarrBackend", "OmnizarrDataStore", "to_zarr"]


def __dir__() -> list[str]:
    return sorted(__all__)
