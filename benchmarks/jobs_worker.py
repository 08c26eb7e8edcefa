"""One job of one library, in a process of its own: `jobs_bench.py` starts it.

    python jobs_worker.py JOB LIBRARY OPTIONS    options as JSON; prints the seconds of the job
                                                 and the most memory that it took

Imports are not timed. A further job is a function in `JOBS`.
"""

from __future__ import annotations

import json
import sys
import time
import warnings
from collections.abc import Callable
from typing import Any

Job = Callable[[dict[str, Any]], Callable[[], Any]]
"""Imports what it needs, and gives what is to be timed."""

NAME = "x"


def rechunk_omnizarr(options: dict[str, Any]) -> Callable[[], Any]:
    import omnizarr

    omnizarr.rechunk  # noqa: B018 - imports it

    def run() -> None:
        omnizarr.rechunk(
            options["source"],
            options["destination"],
            chunks=tuple(options["chunks"]),
            shards=options.get("shards"),
            max_memory=options["memory"],
        )

    return run


def rechunk_rechunker(options: dict[str, Any]) -> Callable[[], Any]:
    import rechunker
    import zarr

    source = zarr.open_group(options["source"], mode="r")[NAME]
    workers = options["workers"]

    def run() -> None:
        plan = rechunker.rechunk(
            source,
            tuple(options["chunks"]),
            # It is for one task, and there are as many as threads.
            options["memory"] // workers,
            f"{options['destination']}/{NAME}",
            temp_store=options["temporary"],
        )
        plan.execute(scheduler="threads", num_workers=workers)

    return run


def rechunk_xarray(options: dict[str, Any]) -> Callable[[], Any]:
    import dask
    import xarray as xr

    sharded = options.get("shards")
    encoding: dict[str, Any] = {"chunks": tuple(options["chunks"])}
    if sharded:
        encoding["shards"] = tuple(sharded)

    def run() -> None:
        dataset = xr.open_zarr(options["source"], consolidated=False, mask_and_scale=False)
        for name in ("chunks", "preferred_chunks", "shards"):
            dataset[NAME].encoding.pop(name, None)
        if sharded:
            for name in ("compressor", "compressors", "filters"):
                dataset[NAME].encoding.pop(name, None)
        lengths = dict(zip(dataset[NAME].dims, sharded or options["chunks"], strict=True))
        with dask.config.set(scheduler="threads", num_workers=options["workers"]):
            dataset.chunk(lengths).to_zarr(
                options["destination"],
                zarr_format=3 if sharded else 2,
                consolidated=False,
                encoding={NAME: encoding},
            )

    return run


def pyramid_omnizarr(options: dict[str, Any]) -> Callable[[], Any]:
    import omnizarr

    omnizarr.pyramid  # noqa: B018 - imports it

    def run() -> None:
        omnizarr.pyramid(
            options["source"],
            options["destination"],
            path=NAME,
            levels=options["levels"],
            convention="ome",
            max_memory=options["memory"],
        )

    return run


def pyramid_ome_zarr(options: dict[str, Any]) -> Callable[[], Any]:
    import dask
    import dask.array
    from ome_zarr.scale import Methods
    from ome_zarr.writer import write_image

    def run() -> None:
        with dask.config.set(scheduler="threads", num_workers=options["workers"]):
            write_image(
                dask.array.from_zarr(options["source"], component=NAME),
                options["destination"],
                axes="yx",
                scale_factors=[2**level for level in range(1, options["levels"])],
                method=Methods.LOCAL_MEAN,
                storage_options={"chunks": tuple(options["chunks"])},
            )

    return run


def pyramid_ndpyramid(options: dict[str, Any]) -> Callable[[], Any]:
    import dask
    import xarray
    from ndpyramid import pyramid_coarsen

    lengths = dict(zip(("y", "x"), options["chunks"], strict=True))

    def run() -> None:
        with dask.config.set(scheduler="threads", num_workers=options["workers"]):
            data = xarray.open_zarr(options["source"], consolidated=False, mask_and_scale=False)
            factors = [2**level for level in range(options["levels"])]
            made = pyramid_coarsen(data, factors=factors, dims=["x", "y"], boundary="pad")
            # It divides the chunks by the factor, which is no way to store them.
            made = made.map_over_datasets(
                lambda level: level.chunk(lengths) if level.dims else level
            )
            made.to_zarr(options["destination"], zarr_format=3, consolidated=False)

    return run


JOBS: dict[tuple[str, str], Job] = {
    ("rechunk", "omnizarr"): rechunk_omnizarr,
    ("rechunk", "rechunker"): rechunk_rechunker,
    ("rechunk", "xarray"): rechunk_xarray,
    ("pyramid", "omnizarr"): pyramid_omnizarr,
    ("pyramid", "ome-zarr-py"): pyramid_ome_zarr,
    ("pyramid", "ndpyramid"): pyramid_ndpyramid,
}


def main() -> None:
    warnings.simplefilter("ignore")
    job, library, options = sys.argv[1:]
    run = JOBS[job, library](json.loads(options))
    begin = time.perf_counter()
    run()
    seconds = time.perf_counter() - begin
    print(json.dumps({"seconds": seconds, "peak": peak()}))


def peak() -> int:
    """Most bytes that this process, or the largest one that it started, had in memory. What
    `getrusage` says of a process itself includes the one that it was forked from."""
    from pathlib import Path
    from resource import RUSAGE_CHILDREN, getrusage

    lines = Path("/proc/self/status").read_text().splitlines()
    own = next(int(line.split()[1]) for line in lines if line.startswith("VmHWM"))
    return 1024 * max(own, getrusage(RUSAGE_CHILDREN).ru_maxrss)


if __name__ == "__main__":
    main()
