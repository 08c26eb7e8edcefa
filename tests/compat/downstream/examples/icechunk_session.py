"""Icechunk: arrays in a session, a commit, an older snapshot, and xarray on top."""

from __future__ import annotations

from pathlib import Path

import icechunk
import numpy as np
import xarray as xr
import zarr
from icechunk.xarray import to_icechunk


def main(folder: Path) -> None:
    storage = icechunk.local_filesystem_storage(str(folder / "repository"))
    repository = icechunk.Repository.create(storage)
    session = repository.writable_session("main")
    group = zarr.create_group(session.store)
    array = group.create_array("a", shape=(4, 4), chunks=(2, 2), dtype="i4")
    array[:] = np.arange(16).reshape(4, 4)
    first = session.commit("first")
    session = repository.writable_session("main")
    zarr.open_group(session.store)["a"][0] = -1
    session.commit("second")
    now = zarr.open_group(repository.readonly_session("main").store, mode="r")["a"]
    then = zarr.open_group(repository.readonly_session(snapshot_id=first).store, mode="r")["a"]
    assert (int(now[0, 0]), int(then[0, 1])) == (-1, 1)
    session = repository.writable_session("main")
    to_icechunk(xr.Dataset({"v": ("x", np.arange(5))}), session, group="g")
    session.commit("third")
    store = repository.readonly_session("main").store
    assert int(xr.open_zarr(store, group="g", consolidated=False)["v"].sum()) == 10
