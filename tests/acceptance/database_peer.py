"""zarr-python 2 with its own stores of databases; run by its own Python.

    python database_peer.py write|read KIND FACTS

FACTS is JSON: the arguments of the store. Writing makes the hierarchy of `expected`; reading
compares and changes it, so that the other side can see the change.

This script knows the peer. It must not import the library under test.
"""

from __future__ import annotations

import importlib
import json
import sys
import warnings
from typing import Any

import numpy as np
import zarr

warnings.simplefilter("ignore", FutureWarning)


def store_of(kind: str, facts: dict[str, Any]) -> Any:
    if "flavour" in facts:
        facts["open"] = importlib.import_module(facts.pop("flavour")).open
    return getattr(zarr, f"{kind}Store")(**facts)


def values() -> np.ndarray[Any, Any]:
    return np.arange(35 * 27, dtype="i4").reshape(35, 27)


def write(store: Any) -> None:
    root = zarr.group(store=store, overwrite=True)
    root.attrs["title"] = "grüße"
    inner = root.create_group("group/inner")
    inner.create_dataset("values", data=values(), chunks=(10, 10), fill_value=-1)
    inner.create_dataset("sparse", shape=(100,), chunks=(10,), dtype="f8", fill_value=np.nan)
    inner["sparse"][25:35] = 1.5
    root.create_dataset("scalar", data=np.int64(7))


def read(store: Any) -> None:
    root = zarr.open_group(store=store, mode="r+")
    assert root.attrs.asdict() == {"title": "grüße"}, root.attrs.asdict()
    assert sorted(root) == ["group", "scalar"], sorted(root)
    inner = root["group/inner"]
    assert sorted(inner) == ["sparse", "values"], sorted(inner)
    np.testing.assert_array_equal(inner["values"][...], values())
    expected = np.full(100, np.nan)
    expected[25:35] = 1.5
    np.testing.assert_array_equal(inner["sparse"][...], expected)
    assert inner["sparse"].nchunks_initialized == 2
    assert root["scalar"][()] == 7
    inner["values"][5:15, 5:15] = -5
    inner["sparse"][60:70] = 2.5
    root.attrs["changed"] = True
    del root["scalar"]


def main() -> None:
    command, kind, facts = sys.argv[1:]
    store = store_of(kind, json.loads(facts))
    {"write": write, "read": read}[command](store)
    if hasattr(store, "close"):
        store.close()
    print(json.dumps({"zarr": zarr.__version__}))


if __name__ == "__main__":
    main()
