"""xarray on omnizarr beside xarray on zarr-python: one process, in turns, best of several.

    make bench-xarray                    the whole table
    make bench-xarray ARGS=--quick       smaller data and fewer rounds: for a look, not for figures
    make bench-xarray ARGS='--only map'  the rows whose label contains this
    make bench-xarray ARGS='--json FILE' the times as JSON too
    make bench-xarray ARGS=--cpu         processor time, for a machine that is busy with other work

Both engines read the same files and write with the same encoding, and every result is compared with
the data. The files are in the page cache: this measures the libraries, not the disk.
"""

from __future__ import annotations

import argparse
import json
import shutil
import tempfile
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import xarray as xr
import zarr
from machine import in_memory, machine

import omnizarr
from omnizarr.integrations.xarray import OmnizarrBackend, to_zarr

ENGINES: dict[str, Any] = {"zarr-python": "zarr", "omnizarr": OmnizarrBackend}
ZSTD = {"name": "zstd", "configuration": {"level": 1, "checksum": False}}


@dataclass(frozen=True)
class Sizes:
    variables: int
    times: int
    rows: int
    columns: int

    @property
    def shape(self) -> tuple[int, int, int]:
        return self.times, self.rows, self.columns


@dataclass(frozen=True)
class Row:
    label: str
    prepare: Callable[[str], Any]
    """What an engine's part of a round starts from; not timed."""
    run: Callable[[str, Any], Any]
    check: Callable[[Any], bool]


def write(engine: str, dataset: xr.Dataset, path: Path, **arguments: Any) -> None:
    if engine == "omnizarr":
        to_zarr(dataset, path, **arguments)
    else:
        dataset.to_zarr(path, **arguments)


def opened(engine: str, path: Path, **arguments: Any) -> xr.Dataset:
    return xr.open_dataset(path, engine=ENGINES[engine], cache=False, **arguments)


def field(sizes: Sizes) -> xr.Dataset:
    """Smooth values with some noise, as a model writes them."""
    random = np.random.default_rng(0)
    times, rows, columns = (np.linspace(0, 6, n) for n in sizes.shape)
    smooth = np.sin(times)[:, None, None] + np.cos(rows)[:, None] * np.sin(columns)
    values = (smooth + random.normal(0, 0.01, sizes.shape)).astype("f4").round(3)
    return xr.Dataset(
        {"t": (("time", "y", "x"), values)},
        coords={"time": np.arange(sizes.times), "y": rows, "x": columns},
    )


def rows(folder: Path, sizes: Sizes) -> list[Row]:
    names = [f"v{i:03}" for i in range(sizes.variables)]
    many = xr.Dataset({name: ("x", np.arange(4.0), {"units": "m"}) for name in names})
    for consolidated in (True, False):
        kind = "consolidated" if consolidated else "separate"
        write("omnizarr", many, folder / f"many-{kind}.zarr", consolidated=consolidated)
    data = field(sizes)
    values = data.t.to_numpy()
    chunks = tuple(-(-n // 8) for n in sizes.shape)
    how = {"t": {"chunks": chunks, "compressors": [ZSTD]}}
    write("omnizarr", data, folder / "field.zarr", encoding=how)
    shards = tuple(2 * n for n in chunks)
    sharded = {"t": {**how["t"], "shards": shards}}
    write("omnizarr", data, folder / "sharded.zarr", encoding=sharded)
    point, moment = (slice(None), sizes.rows // 3, sizes.columns // 3), sizes.times // 2
    mean = values.mean(axis=0, dtype="f8")

    def opening(kind: str) -> Row:
        path, consolidated = folder / f"many-{kind}.zarr", kind == "consolidated"
        return Row(
            f"open {sizes.variables} variables, metadata {kind}",
            lambda engine: None,
            lambda engine, _: opened(engine, path, consolidated=consolidated),
            lambda found: len(found.data_vars) == sizes.variables,
        )

    def reading(label: str, name: str, select: Any, expected: Any, **arguments: Any) -> Row:
        return Row(
            label,
            lambda engine: opened(engine, folder / name, **arguments),
            lambda engine, dataset: select(dataset.t).to_numpy(),
            lambda found: np.allclose(found, expected, rtol=1e-3, atol=1e-4),
        )

    def writing(label: str, dataset: xr.Dataset, encoding: Any) -> Row:
        path = folder / "written.zarr"

        def run(engine: str, _: Any) -> xr.Dataset:
            write(engine, dataset, path, mode="w", encoding=encoding)
            return dataset

        def check(_: Any) -> bool:
            with opened("omnizarr", path) as found:
                return bool(found.load().equals(dataset.compute()))

        return Row(label, lambda engine: shutil.rmtree(path, ignore_errors=True), run, check)

    chunked = data.chunk(dict(zip(data.t.dims, chunks, strict=True)))
    few = many[names[: sizes.variables // 10]]
    return [
        opening("consolidated"),
        opening("separate"),
        reading("a series at a point", "field.zarr", lambda t: t[point], values[point]),
        reading("the same, from shards", "sharded.zarr", lambda t: t[point], values[point]),
        reading("a map at a time", "field.zarr", lambda t: t[moment], values[moment]),
        reading("the same, from shards", "sharded.zarr", lambda t: t[moment], values[moment]),
        reading("a mean over time, NumPy", "field.zarr", lambda t: t.mean("time"), mean),
        reading(
            "a mean over time, Dask", "field.zarr", lambda t: t.mean("time"), mean, chunks={}
        ),
        writing("write the field", data, how),
        writing("write the field, shards", data, sharded),
        writing("write the field, Dask", chunked, how),
        writing(f"write {len(few)} small variables", few, None),
    ]  # fmt: skip


def measure(row: Row, rounds: int, clock: Callable[[], float]) -> dict[str, float]:
    best = dict.fromkeys(ENGINES, float("inf"))
    for turn in range(rounds):
        order = list(ENGINES) if turn % 2 else list(ENGINES)[::-1]
        for engine in order:
            start_from = row.prepare(engine)
            begin = clock()
            found = row.run(engine, start_from)
            best[engine] = min(best[engine], clock() - begin)
            if not row.check(found):
                raise SystemExit(f"{row.label}: {engine} gave something else")
    return best


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--quick", action="store_true", help="smaller data, fewer rounds")
    parser.add_argument("--only", default="", help="rows whose label contains this")
    parser.add_argument("--rounds", type=int, help="how often each is measured")
    parser.add_argument("--cpu", action="store_true", help="processor time, of all threads")
    parser.add_argument("--json", type=Path, help="a file for the times")
    given = parser.parse_args()
    warnings.simplefilter("ignore")  # zarr-python's, of consolidated metadata
    sizes = Sizes(50, 80, 60, 80) if given.quick else Sizes(500, 400, 180, 360)
    rounds = given.rounds or (3 if given.quick else 7)
    print(
        f"xarray {xr.__version__}; omnizarr {omnizarr.__version__} beside zarr-python"
        f" {zarr.__version__}; best of {rounds}, {'processor time' if given.cpu else 'times'} in ms"
    )
    print(f"{'':46}{'zarr-python':>12}{'omnizarr':>12}{'ratio':>10}")
    results = []
    with tempfile.TemporaryDirectory(dir=in_memory()) as folder:
        for row in rows(Path(folder), sizes):
            if given.only not in row.label:
                continue
            best = measure(row, rounds, time.process_time if given.cpu else time.perf_counter)
            ratio = best["zarr-python"] / best["omnizarr"]
            results.append({"row": row.label, **best, "ratio": ratio})
            times = "".join(f"{best[engine] * 1e3:12.1f}" for engine in ENGINES)
            print(f"{row.label:46}{times}{ratio:9.1f}×", flush=True)
    if given.json:
        given.json.write_text(json.dumps({"machine": machine(), "rows": results}, indent=1))


if __name__ == "__main__":
    main()
