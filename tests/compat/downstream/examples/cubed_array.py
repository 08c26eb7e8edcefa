"""cubed: a computation whose intermediate results are Zarr arrays."""

from __future__ import annotations

from pathlib import Path

import cubed
import cubed.array_api as xp
import numpy as np


def main(folder: Path) -> None:
    values = np.arange(12).reshape(3, 4)
    spec = cubed.Spec(work_dir=str(folder), allowed_mem="100MB")
    cubed.to_zarr(xp.asarray(values, chunks=(2, 2), spec=spec) + 1, str(folder / "c.zarr"))
    found = cubed.from_zarr(str(folder / "c.zarr"), spec=spec)
    np.testing.assert_array_equal(xp.sum(found, axis=0).compute(), (values + 1).sum(axis=0))
