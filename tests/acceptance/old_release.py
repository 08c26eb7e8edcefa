"""Runs inside the environment of zarr 0.4 or 1.1: does what a list of jobs says, in one process.

    python old_release.py JOBS RESULTS

A job is {"do": "read" | "write" | "change" | "append", "store": folder, …}; RESULTS becomes
{"version": …, "outcomes": [null | error]}. The language is that of Python 3.6. This script knows
the old releases. It must not import the library under test.
"""

import json
import sys
import warnings

import numpy as np
import zarr


def whole(region):
    return tuple(slice(start, stop) for start, stop in region)


def dtype_of(description):
    if isinstance(description, list):
        return np.dtype([(name, dtype_of(inner)) for name, inner in description])
    return np.dtype(description)


def report(array, out):
    facts = {
        "shape": list(array.shape),
        "chunks": list(array.chunks),
        "dtype": repr(array.dtype),
        "attributes": dict(array.attrs.items()),
    }
    with open(out + ".json", "w") as file:
        json.dump(facts, file)
    if 0 not in array.shape:
        np.save(out + ".npy", array[:])


def run(job):
    store = job["store"]
    if job["do"] == "read":
        report(zarr.open(store, mode="r"), job["out"])
    elif job["do"] == "write":
        arguments = dict(job["arguments"])
        arguments["dtype"] = dtype_of(arguments["dtype"])
        arguments["shape"] = tuple(arguments["shape"])
        arguments["chunks"] = tuple(arguments["chunks"])
        array = zarr.open(store, mode="w", **arguments)
        for name, value in job["attributes"].items():
            array.attrs[name] = value
        if job["region"] is not None:
            region = whole(job["region"])
            array[region] = np.load(job["values"])[region]
    elif job["do"] == "change":
        array = zarr.open(store, mode="r+")
        region = whole(job["region"])
        array[region] = np.load(job["values"])[region]
        array.attrs["changed by"] = zarr.__version__
    else:
        zarr.open(store, mode="r+").append(np.load(job["values"]))


def main(jobs_file, results_file):
    warnings.simplefilter("ignore")
    with open(jobs_file) as file:
        jobs = json.load(file)
    outcomes = []
    for job in jobs:
        try:
            run(job)
            outcomes.append(None)
        except Exception as error:
            outcomes.append(f"{type(error).__name__}: {error}"[:500])
    with open(results_file, "w") as file:
        json.dump({"version": zarr.__version__, "outcomes": outcomes}, file)


if __name__ == "__main__":
    main(*sys.argv[1:])
