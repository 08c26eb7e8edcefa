"""Hierarchies to convert, and what must come out."""

from __future__ import annotations

from typing import Any

import numpy as np

import omnizarr as zarr


def hierarchy(store: Any, zarr_format: int | str = 2) -> dict[str, Any]:
    """A small hierarchy with gaps, strings and several codecs; what it holds."""
    root = zarr.open_group(store, mode="w", zarr_format=zarr_format, attributes={"title": "all"})
    inner = root.create_group("inner", attributes={"level": 1})
    grid = np.arange(70, dtype="<i4").reshape(10, 7)
    sparse = inner.create_array(
        "sparse", shape=(10, 7), dtype="<i4", chunks=(3, 2), fill_value=-1,
        attributes={"units": "m"}, dimension_names=("y", "x"),
    )  # fmt: skip
    sparse[:4, 2:] = grid[:4, 2:]
    root.create_array("big", data=grid.astype(">f8"), chunks=(4, 7), compressors="gzip", order="F")
    root.create_array("text", data=["a", "", "é", "long " * 9], dtype=str, chunks=3)
    root.create_array("scalar", data=np.float32(2.5), chunks=())
    root.create_array("empty", shape=(0, 3), dtype="u1", chunks=(2, 2))
    return described(store)


def described(store: Any, zarr_format: Any = None) -> dict[str, Any]:
    """Everything that a user sees of a hierarchy, in a form that can be compared."""
    root = zarr.open_group(store, mode="r", zarr_format=zarr_format)
    found: dict[str, Any] = {"": plain(root.attrs)}
    for path, node in root.members(max_depth=None):
        found[path] = facts(node) if isinstance(node, zarr.Array) else plain(node.attrs)
    return found


def facts(array: zarr.Array) -> dict[str, Any]:
    values = array[...]
    exact: Any = values.tolist()
    if values.dtype.kind not in "OT":
        exact = values.astype(values.dtype.newbyteorder("<")).tobytes()
    fill = array.fill_value
    return {
        "shape": array.shape,
        "chunks": array.chunks,
        "kind": values.dtype.kind,
        "values": exact,
        # Between formats 2 and 3 that of an array with dimension names is xarray's: see
        # test_fill_values.
        "fill": None if fill is None or array.dims else repr(np.asarray(fill).tolist()),
        "dims": array.dims,
        "attributes": plain(array.attrs),
    }


def plain(attributes: Any) -> dict[str, Any]:
    conventions = ("_ARRAY_DIMENSIONS", "_FillValue")
    return {name: item for name, item in attributes.items() if name not in conventions}


def values_of(store: Any) -> dict[str, bytes]:
    """Every stored value by its key."""
    return {key: bytes(store.get(key)) for key in store.list()}
