"""Damaged HDF5 files: in a process of its own, because the HDF5 library may crash on them.

A file of HDF5's newer format, whose structures and chunks have checksums: a changed byte is an
error, or changes no value."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import h5py
import numpy as np
import pytest

import omnizarr

WORKER = """
import sys
from pathlib import Path
import h5py, numpy as np, omnizarr
folder, seed, count = Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3])
whole = bytearray((folder / "whole.h5").read_bytes())
expected = np.load(folder / "expected.npy")
random = np.random.default_rng(seed)
told = {"same": 0, "refused": 0}
for number in range(count):
    data = bytearray(whole)
    if number % 3 == 0:
        data = data[: random.integers(len(data))]
    for place in random.integers(len(data), size=random.integers(1, 9)) if data else ():
        data[place] ^= 1 << random.integers(8)
    file, target = folder / f"{number}.h5", {}
    file.write_bytes(data)
    try:
        omnizarr.convert(file, target, zarr_format=2)
        omnizarr.open(target, mode="r")["a"][...]
    except omnizarr.errors.ZarrError:
        told["refused"] += 1
        continue
    found = omnizarr.open(target, mode="r")["a"][...]
    assert found.dtype == expected.dtype and np.array_equal(found, expected), number
    told["same"] += 1
print(told)
"""


@pytest.mark.slow
def test_damaged_files_are_refused_or_have_their_values(tmp_path: Path) -> None:
    values = np.arange(600, dtype="i4").reshape(30, 20)
    np.save(tmp_path / "expected.npy", values)
    with h5py.File(tmp_path / "whole.h5", "w", libver="latest") as file:
        file.create_dataset("a", data=values, chunks=(7, 9), compression=4, fletcher32=True)
        file["a"].attrs["units"] = "m"
    done = subprocess.run(
        [sys.executable, "-X", "faulthandler", "-c", WORKER, str(tmp_path), "1", "90"],
        capture_output=True, text=True, timeout=300,
        env={**os.environ, "PYTHONPATH": str(Path(omnizarr.__file__).parent.parent)},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert "refused" in done.stdout
