"""Runs inside a peer's environment: zarr-python with stores of its own, or with ours.

    python zarr_python_peer.py JOB

JOB is JSON: {"store": {"url", "options"} for its own client of a place through fsspec, or
{"ours": URL} for `as_zarr_store`; "do": "write" | "read"}. What was read is printed as JSON.
"""

from __future__ import annotations

import json
import sys
from typing import Any

import numpy as np
import zarr


def data(seed: int) -> np.ndarray[Any, Any]:
    return np.random.default_rng(seed).integers(-1000, 1000, (30, 40)).astype("i4")


def store_of(facts: dict[str, Any]) -> Any:
    if "ours" in facts:
        from omnizarr.integrations.zarr_python import as_zarr_store

        return as_zarr_store(facts["ours"])
    return zarr.storage.FsspecStore.from_url(facts["url"], storage_options=facts["options"])


def write(store: Any) -> None:
    for zarr_format in (2, 3):
        root = zarr.open_group(
            store, mode="w", path=f"format{zarr_format}", zarr_format=zarr_format
        )
        root.attrs["title"] = "grüße"
        plain = root.create_array("a/plain", shape=(30, 40), chunks=(7, 9), dtype="i4")
        plain[...] = data(zarr_format)
        plain[3:5] = 0
    shards = root.create_array("shards", shape=(30, 40), chunks=(5, 5), shards=(15, 20), dtype="i4")
    shards[...] = data(9)


def read(store: Any) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for zarr_format in (2, 3):
        root = zarr.open_group(store, mode="r", path=f"format{zarr_format}")
        found[f"title{zarr_format}"] = root.attrs["title"]
        found[f"plain{zarr_format}"] = np.asarray(root["a/plain"][...]).tolist()
        found[f"members{zarr_format}"] = sorted(name for name, _ in root.members())
    found["shards"] = np.asarray(root["shards"][...]).tolist()
    return found


def main(job: dict[str, Any]) -> None:
    store = store_of(job["store"])
    if job["do"] == "write":
        write(store)
    print(json.dumps({"zarr": zarr.__version__, **read(store)}))


if __name__ == "__main__":
    main(json.loads(sys.argv[1]))
