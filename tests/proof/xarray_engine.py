"""A pytest plugin for xarray's own Zarr tests: what they open and write goes to omnizarr.

`engine="zarr"`, `open_zarr`, `to_zarr` and `ZarrStore` become those of omnizarr. zarr-python stays
what it is: the tests make their stores with it, and look with it at what was written.
"""

from __future__ import annotations

from typing import Any

import xarray
import xarray.backends
import xarray.backends.zarr
import zarr
from xarray.backends.common import BACKEND_ENTRYPOINTS
from xarray.core.utils import _default
from xarray.namedarray.parallelcompat import guess_chunkmanager

import omnizarr.aio
from omnizarr.integrations.xarray import OmnizarrBackend, OmnizarrDataStore, to_zarr


def _format_of_the_test(arguments: dict[str, Any]) -> dict[str, Any]:
    """The tests choose the format of new data in zarr-python's configuration."""
    if arguments.get("zarr_format") is None:
        arguments["zarr_format"] = zarr.config.get("default_zarr_format")
    return arguments


class Engine(OmnizarrBackend):
    """The engine, where xarray's own would be chosen."""

    def guess_can_open(self, filename_or_obj: Any) -> bool:
        return str(filename_or_obj).rstrip("/").endswith(".zarr")


class Store(OmnizarrDataStore):
    """The data store, for tests that make one themselves."""

    __slots__ = ()

    @classmethod
    def open_group(cls, store: Any, mode: Any = "r", **arguments: Any) -> Any:
        if mode in ("w", "w-"):
            _format_of_the_test(arguments)
        return super().open_group(store, mode, **arguments)


def write(
    obj: Any, store: Any = None, mode: Any = None, group: Any = None, encoding: Any = None,
    **arguments: Any,
) -> Any:  # fmt: skip
    new = mode in ("w", "w-") or (
        mode is None and not {"append_dim", "region"} & {n for n in arguments if arguments[n]}
    )
    if new:
        _format_of_the_test(arguments)
    return to_zarr(obj, store, mode, group, encoding, **arguments)


def open_zarr(store: Any, group: Any = None, chunks: Any = _default, **arguments: Any) -> Any:
    if chunks is _default:
        try:
            guess_chunkmanager(arguments.get("chunked_array_type"))
            chunks = {}
        except (ValueError, ImportError):
            chunks = None
    return xarray.open_dataset(store, engine="zarr", group=group, chunks=chunks, **arguments)


zarr.AsyncArray = omnizarr.aio.AsyncArray  # some tests count how often it is awaited
BACKEND_ENTRYPOINTS["zarr"] = (None, Engine)
xarray.backends.refresh_engines()
xarray.backends.ZarrStore = xarray.backends.zarr.ZarrStore = Store
xarray.open_zarr = open_zarr
for kind in (xarray.Dataset, xarray.DataArray, xarray.DataTree):
    kind.to_zarr = write
