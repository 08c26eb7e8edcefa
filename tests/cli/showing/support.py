"""Stores in every format that the commands of this folder look at."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import omnizarr as zarr

EVERY = pytest.mark.parametrize("zarr_format", [0, 1, 2, 3, "n5"])


def one_array(path: Path, zarr_format: Any, data: Any = None, **arguments: Any) -> Any:
    """An array with 6 chunks of 4 values, 3 of them stored; of two formats nothing else exists."""
    if data is not None:
        return zarr.create_array(path, data=data, zarr_format=zarr_format, **arguments)
    array = zarr.create_array(
        path, shape=(6, 4), chunks=(2, 2), dtype="i4", fill_value=0, zarr_format=zarr_format
    )
    array[:2] = np.arange(1, 9).reshape(2, 4)
    array[4:, 2:] = 9
    return array
