"""Runs inside a peer's environment: zarr-python's own way over HTTP, and its own writing to disk.

    python http_peer.py read URL OUT
    python http_peer.py write FOLDER FORMAT

`read` writes {path: {"shape", "sum", "first"}} of every array, through consolidated metadata, to
the file OUT. It must not import the library under test.
"""

from __future__ import annotations

import json
import sys
import warnings
from typing import Any

import numpy as np


def read(url: str, out: str) -> None:
    import zarr

    found: dict[str, Any] = {"zarr": zarr.__version__}

    def visit(group: Any) -> None:
        for _, array in group.arrays():
            values = np.asarray(array[...])
            part = np.asarray(array[(slice(1, 3),) * array.ndim])
            found[array.path] = {
                "shape": list(array.shape),
                "sum": float(values.sum()),
                "part": part.tolist(),
            }
        for _, child in group.groups():
            visit(child)

    visit(zarr.open_consolidated(url, mode="r"))
    with open(out, "w") as file:
        json.dump(found, file)


def write(folder: str, zarr_format: str) -> None:
    import zarr

    root = zarr.open_group(folder, mode="w", zarr_format=int(zarr_format))
    values = np.arange(200.0).reshape(10, 20)
    plain = root.create_array("plain", shape=(10, 20), chunks=(4, 6), dtype="f8")
    plain[...] = values
    deep = root.create_group("deep")
    if zarr_format == "3":
        inner = deep.create_array("b", shape=(10, 20), chunks=(2, 4), shards=(6, 12), dtype="f8")
    else:
        inner = deep.create_array("b", shape=(10, 20), chunks=(2, 4), dtype="f8")
    inner[...] = -values
    zarr.consolidate_metadata(folder)


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    {"read": read, "write": write}[sys.argv[1]](*sys.argv[2:])
