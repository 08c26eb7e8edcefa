"""Bytes between the fields of a record hold whatever memory held: they are stored as zeros."""

from __future__ import annotations

import numpy as np
import pytest

import omnizarr

ALIGNED = np.dtype([("a", "u1"), ("b", "<f8"), ("c", "<i2")], align=True)
NESTED = np.dtype([("x", "u1"), ("inner", ALIGNED, (2,))], align=True)


def dirty(dtype: np.dtype, count: int) -> np.ndarray:
    """Records of zeros with other bytes in between."""
    values = np.full(count * dtype.itemsize, 0xAB, np.uint8).view(dtype)
    for name in dtype.names or ():
        values[name] = np.zeros((), dtype[name].base)
    inner = values["inner"] if "inner" in (dtype.names or ()) else values
    for name in inner.dtype.names:
        inner[name] = 0
    assert any(values.tobytes())
    return values


@pytest.mark.parametrize("dtype", [ALIGNED, NESTED], ids=["aligned", "nested"])
@pytest.mark.parametrize("zarr_format", [2, "3-draft2020-10"])
def test_no_memory_is_stored(dtype: np.dtype, zarr_format: int | str) -> None:
    store: dict[str, bytes] = {}
    array = omnizarr.create_array(
        store, shape=(6,), chunks=(3,), dtype=dtype, zarr_format=zarr_format,
        compressors=None, write_empty_chunks=True,
    )  # fmt: skip
    array[0:3] = dirty(dtype, 3)  # a whole chunk
    array[4:5] = dirty(dtype, 1)  # a part of one
    chunks = [data for data in store.values() if len(data) == 3 * dtype.itemsize]
    assert len(chunks) == 2
    assert not any(any(chunk) for chunk in chunks)


def test_padding_does_not_hide_the_fill_value() -> None:
    store: dict[str, bytes] = {}
    array = omnizarr.create_array(
        store, shape=(6,), chunks=(3,), dtype=ALIGNED, zarr_format=2, fill_value=(0, 0, 0)
    )
    array[:] = dirty(ALIGNED, 6)
    assert array.stored_chunks() == []
