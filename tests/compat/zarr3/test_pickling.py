"""Stores of zarr-python's names travel to other processes, as Dask's workers need it."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from omnizarr.compat import zarr3
from omnizarr.compat.zarr3 import storage

pytest.importorskip("fsspec")
pytest.importorskip("obstore")


def _object(folder: Path) -> Any:
    from obstore.store import LocalStore

    return storage.ObjectStore(LocalStore(str(folder)))


STORES: dict[str, Callable[[Path], Any]] = {
    "local": lambda folder: storage.LocalStore(folder),
    "fsspec": lambda folder: storage.FsspecStore.from_url(f"file://{folder}"),
    "object": _object,
}


@pytest.mark.parametrize("kind", STORES)
def test_an_array_travels_with_its_store(kind: str, tmp_path: Path) -> None:
    array = zarr3.create_array(STORES[kind](tmp_path), name="a", data=np.arange(4))
    copy = pickle.loads(pickle.dumps(array))
    copy[0] = 7
    assert array[:].tolist() == [7, 1, 2, 3]
    assert type(copy.store) is type(array.store)
