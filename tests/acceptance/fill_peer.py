"""Runs inside the environment of zarr-python 2: arrays of objects, read and written.

    python fill_peer.py JOBS RESULTS

A job is {"do": "read" | "write" | "change", "store": folder, …}; RESULTS becomes {"version": …,
"outcomes": [{"error": text} | {"items": …, "fill": …}]}. Items travel as JSON: an array is
{"array": values, "dtype": its type}, bytes are {"bytes": digits}. This script knows zarr-python 2.
It must not import the library under test.
"""

from __future__ import annotations

import json
import sys
import warnings
from typing import Any

import numcodecs
import numpy as np
import zarr


def packed(item: Any) -> Any:
    if isinstance(item, np.ndarray):
        return {"array": item.tolist(), "dtype": item.dtype.str}
    if isinstance(item, bytes):
        return {"bytes": item.hex()}
    if isinstance(item, np.void):
        return {"record": [packed(part) for part in item]}
    return item.item() if isinstance(item, np.generic) else item


def unpacked(item: Any) -> Any:
    if isinstance(item, dict) and "dtype" in item:
        return np.array(item["array"], item["dtype"])
    if isinstance(item, dict) and set(item) == {"bytes"}:
        return bytes.fromhex(item["bytes"])
    if isinstance(item, dict) and set(item) == {"record"}:
        return tuple(item["record"])
    return item


def vector(items: list[Any], dtype: Any) -> Any:
    result = np.empty(len(items), dtype)
    for place, item in enumerate(items):
        result[place] = unpacked(item)
    return result


def dtype_of(described: Any) -> Any:
    return [tuple(field) for field in described] if isinstance(described, list) else described


def run(job: dict[str, Any]) -> dict[str, Any]:
    if job["do"] == "write":
        codec = numcodecs.get_codec(job["codec"])
        dtype = dtype_of(job["dtype"])
        options = {"object_codec": codec} if np.dtype(dtype).hasobject else {"filters": [codec]}
        array = zarr.create(
            shape=(5,), chunks=(2,), dtype=dtype, store=job["store"], fill_value=job["fill"],
            **options,
        )  # fmt: skip
        array[: len(job["items"])] = vector(job["items"], dtype)
        return {}
    array = zarr.open_array(job["store"], mode="r" if job["do"] == "read" else "r+")
    if job["do"] == "change":
        array[job["at"] : job["at"] + len(job["items"])] = vector(job["items"], array.dtype)
    return {"items": [packed(item) for item in array[:]], "fill": packed(array.fill_value)}


def main(jobs_file: str, results_file: str) -> None:
    warnings.simplefilter("ignore")
    with open(jobs_file) as file:
        jobs = json.load(file)
    outcomes = []
    for job in jobs:
        try:
            outcomes.append(run(job))
        except Exception as error:
            outcomes.append({"error": f"{type(error).__name__}: {error}"[:500]})
    with open(results_file, "w") as file:
        json.dump({"version": zarr.__version__, "outcomes": outcomes}, file)


if __name__ == "__main__":
    main(*sys.argv[1:])
