"""Runs inside a peer's environment: says which of its libraries read the arrays of a folder.

    python default_peer.py FOLDER

Every array holds `arange(64 * 48) % 251` in the shape (64, 48). Prints JSON: library → array →
null or the error; a library that is not installed is left out. It must not import omnizarr.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

EXPECTED = (np.arange(64 * 48) % 251).reshape(64, 48)


def zarr_python() -> Callable[[str], Any]:
    import zarr

    return lambda store: zarr.open_array(store, mode="r")[...]


def tensorstore() -> Callable[[str], Any]:
    import tensorstore

    def read(store: str) -> Any:
        spec = {"driver": "zarr3", "kvstore": {"driver": "file", "path": store}}
        return tensorstore.open(spec, read=True).result().read().result()

    return read


def zarrs() -> Callable[[str], Any]:
    import zarrista

    return lambda store: zarrista.Array.open(zarrista.store.FilesystemStore(store))[...]


def gdal() -> Callable[[str], Any]:
    import rasterio

    number = tuple(int(part) for part in rasterio.__gdal_version__.split(".")[:2])
    if number < (3, 12):
        raise ImportError(f"GDAL {rasterio.__gdal_version__} knows a draft of format 3 only")

    def read(store: str) -> Any:
        with rasterio.open(f'ZARR:"{store}"') as dataset:
            return dataset.read(1)

    return read


def main(folder: Path) -> None:
    outcomes: dict[str, dict[str, str | None]] = {}
    for library in (zarr_python, tensorstore, zarrs, gdal):
        try:
            read = library()
        except ImportError:
            continue
        found = outcomes[library.__name__] = {}
        for store in sorted(folder.iterdir()):
            try:
                values = np.asarray(read(str(store)))
                found[store.name] = None if np.array_equal(values, EXPECTED) else "other values"
            except Exception as error:
                found[store.name] = f"{type(error).__name__}: {error}"
    print(json.dumps(outcomes))


if __name__ == "__main__":
    import warnings

    warnings.simplefilter("ignore")
    main(Path(sys.argv[1]))
