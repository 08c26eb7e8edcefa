"""The hierarchy that `database_peer.py` reads and writes, through the library under test."""

from __future__ import annotations

from typing import Any

import numpy as np

import omnizarr as zarr
from omnizarr.stores import Store


def values() -> Any:
    return np.arange(35 * 27, dtype="i4").reshape(35, 27)


def sparse() -> Any:
    expected = np.full(100, np.nan)
    expected[25:35] = 1.5
    return expected


def write(store: Store) -> None:
    root = zarr.open_group(store, mode="w", zarr_format=2)
    root.attrs["title"] = "grüße"
    inner = root.create_group("group/inner")
    inner.create_array("values", data=values(), chunks=(10, 10), fill_value=-1)
    inner.create_array("sparse", shape=(100,), chunks=(10,), dtype="f8", fill_value=np.nan)
    inner["sparse"][25:35] = 1.5
    root.create_array("scalar", data=np.int64(7))


def check(store: Store) -> None:
    """What the peer wrote."""
    root = zarr.open_group(store, mode="r")
    assert root.attrs.asdict() == {"title": "grüße"}
    assert sorted(root) == ["group", "scalar"]
    inner = root["group/inner"]
    assert sorted(inner) == ["sparse", "values"]
    np.testing.assert_array_equal(inner["values"][...], values())
    np.testing.assert_array_equal(inner["sparse"][...], sparse())
    assert inner["sparse"].nchunks_initialized == 2
    assert root["scalar"][()] == 7


def check_changed(store: Store) -> None:
    """What the peer made of what was written here."""
    root = zarr.open_group(store, mode="r")
    assert root.attrs.asdict() == {"title": "grüße", "changed": True}
    assert sorted(root) == ["group"]
    changed = values()
    changed[5:15, 5:15] = -5
    np.testing.assert_array_equal(root["group/inner/values"][...], changed)
    expected = sparse()
    expected[60:70] = 2.5
    np.testing.assert_array_equal(root["group/inner/sparse"][...], expected)
