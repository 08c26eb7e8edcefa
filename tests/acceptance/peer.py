"""Runs inside a peer's environment: reads and writes arrays as a list of jobs says.

    python peer.py JOBS RESULTS

JOBS is a JSON list of {"do": "read" | "write" | "tree", "library": "zarr" | "tensorstore", "store":
folder, "case": …, "out": file}. RESULTS becomes {"versions": …, "outcomes": [null | error]}.
This script knows the peers. It must not import the library under test.
"""

from __future__ import annotations

import json
import sys
import warnings
from typing import Any

import numpy as np
from interop_cases import (
    BYTES,
    TEXT,
    fill,
    numpy_dtype,
    region,
    v2_metadata,
    v3_metadata,
    values,
)


def write_result(result: np.ndarray[Any, Any], out: str) -> None:
    if result.dtype.kind in "OT":
        items = [
            item if isinstance(item, str) else {"bytes": bytes(item).hex()}
            for item in result.astype(object).ravel().tolist()
        ]
        with open(out + ".json", "w") as file:
            json.dump({"shape": list(result.shape), "items": items}, file)
    else:
        np.save(out + ".npy", result)


# -- zarr-python ----------------------------------------------------------------------------------
def zarr_read(store: str, case: dict[str, Any], out: str) -> None:
    import zarr

    array = zarr.open_array(store, mode="r")
    assert tuple(array.shape) == tuple(case["shape"]), array.shape
    write_result(np.asarray(array[...]), out)


def zarr_write(store: str, case: dict[str, Any]) -> None:
    import numcodecs
    import zarr

    second = zarr.__version__.startswith("2.")
    dtype: Any = numpy_dtype(case)
    options: dict[str, Any] = {}
    if case["zarr_format"] == 2:
        chain = [numcodecs.get_codec(dict(one)) for one in case["filters"] or []]
        options["compressor"] = case["compressor"] and numcodecs.get_codec(dict(case["compressor"]))
        options["order"] = case["order"]
        options["dimension_separator"] = case["separator"]
        if case["dtype"] in (TEXT, BYTES) and second:
            options["object_codec"] = chain[0]
        elif case["dtype"] == TEXT:
            dtype = str
        elif case["dtype"] == BYTES:
            dtype = zarr.dtype.VariableLengthBytes()
        else:
            options["filters"] = chain or None
    else:
        if case["dtype"] == TEXT:
            dtype = str
        elif case["dtype"] == BYTES:
            dtype = "variable_length_bytes"
        options["codecs"] = case["codecs"]
        options["chunk_key_encoding"] = {
            "name": case["key_encoding"],
            "separator": case["separator"],
        }
    if not second:
        options["zarr_format"] = case["zarr_format"]
    array = zarr.create(
        shape=tuple(case["shape"]),
        chunks=tuple(case["chunks"]),
        dtype=dtype,
        fill_value=fill(case),
        store=store,
        **options,
    )
    if case["written"] != "none":
        data = values(case)[region(case)]
        if case["dtype"] == TEXT and not second:
            data = data.astype(np.dtypes.StringDType())
        array[region(case)] = data


def zarr_tree(store: str, out: str) -> None:
    """Every node below the root with its attributes; plain and through consolidated metadata."""
    import zarr

    found: dict[str, Any] = {}
    for mode, opener in (("plain", zarr.open_group), ("consolidated", zarr.open_consolidated)):
        nodes: dict[str, Any] = {}

        def visit(group: Any, nodes: dict[str, Any] = nodes) -> None:
            nodes[group.path] = {"attributes": dict(group.attrs)}
            for _, child in group.arrays():
                nodes[child.path] = {
                    "attributes": dict(child.attrs),
                    "shape": list(child.shape),
                    "sum": float(np.asarray(child[...], "f8").sum()),
                }
            for _, child in group.groups():
                visit(child)

        visit(opener(store, mode="r"))
        found[mode] = nodes
    with open(out + ".json", "w") as file:
        json.dump(found, file)


# -- tensorstore ----------------------------------------------------------------------------------
def spec(store: str, case: dict[str, Any]) -> dict[str, Any]:
    driver = "zarr" if case["zarr_format"] == 2 else "zarr3"
    return {"driver": driver, "kvstore": {"driver": "file", "path": store}}


def tensorstore_read(store: str, case: dict[str, Any], out: str) -> None:
    import tensorstore

    array = tensorstore.open(spec(store, case), open=True, read=True).result()
    write_result(np.asarray(array.read().result()), out)


def tensorstore_write(store: str, case: dict[str, Any]) -> None:
    import tensorstore

    metadata = v2_metadata(case) if case["zarr_format"] == 2 else v3_metadata(case)
    whole = {**spec(store, case), "metadata": metadata}
    array = tensorstore.open(whole, create=True, delete_existing=True).result()
    if case["written"] != "none":
        array[region(case)].write(values(case)[region(case)]).result()


def run(job: dict[str, Any]) -> None:
    if job["do"] == "tree":
        zarr_tree(job["store"], job["out"])
        return
    case = job["case"]
    if job["do"] == "read":
        reader = {"zarr": zarr_read, "tensorstore": tensorstore_read}[job["library"]]
        reader(job["store"], case, job["out"])
    else:
        writer = {"zarr": zarr_write, "tensorstore": tensorstore_write}[job["library"]]
        writer(job["store"], case)


def main(jobs_file: str, results_file: str) -> None:
    warnings.simplefilter("ignore")
    with open(jobs_file) as file:
        jobs = json.load(file)
    import zarr

    versions = {"zarr": zarr.__version__}
    if any(job["library"] == "tensorstore" for job in jobs):
        from importlib.metadata import version

        versions["tensorstore"] = version("tensorstore")
    outcomes: list[str | None] = []
    for job in jobs:
        try:
            run(job)
            outcomes.append(None)
        except Exception as error:
            outcomes.append(f"{type(error).__name__}: {error}"[:500])
    with open(results_file, "w") as file:
        json.dump({"versions": versions, "outcomes": outcomes}, file)


if __name__ == "__main__":
    main(*sys.argv[1:])
