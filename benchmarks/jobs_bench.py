"""Jobs beside other libraries': time, and the most memory that a process took.

    make bench-jobs                       the whole table
    make bench-jobs ARGS=--quick          smaller data and one round: for a look, not for figures
    make bench-jobs ARGS='--only shards'  the rows whose label contains this
    make bench-jobs ARGS='--json FILE'    the figures as JSON too
    make bench-jobs ARGS='--markdown FILE'  the table between the marks in a page

Each run is a process of its own, in turns; the best time and the least memory of several rounds
count. All read the same files, keep to the same budget of memory, and every result is compared with
the data; the smallest level of a pyramid with the mean of the image, within 4, since ome-zarr-py
cuts off the fraction at every level. The files are in memory: this measures the libraries, not the
disk. A row of another job is a `Row` here and its functions in `jobs_worker.py`.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from jobs_worker import NAME
from machine import cores, in_memory, machine

import omnizarr

ROOT = Path(__file__).resolve().parent.parent
PEERS = ROOT / ".peers"
PYTHONS = {
    "omnizarr": sys.executable,
    "rechunker": str(PEERS / "rechunker" / "bin" / "python"),
    "xarray": str(PEERS / "proof3" / "bin" / "python"),
    "ome-zarr-py": str(PEERS / "downstream" / "bin" / "python"),
    "ndpyramid": str(PEERS / "pyramids" / "bin" / "python"),
}
TITLES = {"rechunker": "rechunker 0.5.2", "xarray": "xarray + Dask"}
LEVELS = 5
SMALLEST = {
    "omnizarr": f"{LEVELS - 1}",
    "ome-zarr-py": f"s{LEVELS - 1}",
    "ndpyramid": f"{LEVELS - 1}/{NAME}",
}
"""Paths of the last level."""
MARKS = "<!-- jobs -->\n", "<!-- end of jobs -->\n"
MIB = 1 << 20


@dataclass(frozen=True)
class Row:
    job: str
    label: str
    libraries: tuple[str, ...]
    prepare: Callable[[Path], None]
    """Write the source."""
    options: dict[str, Any]
    check: Callable[[Path, str], bool]
    """Whether the destination of a library holds what it must."""


@dataclass
class Measured:
    seconds: list[float] = field(default_factory=list)
    peak: list[int] = field(default_factory=list)


def values(shape: tuple[int, ...]) -> npt.NDArray[np.float32]:
    """Smooth values with some noise, as a model writes them."""
    random = np.random.default_rng(0)
    found = random.standard_normal(shape, dtype=np.float32)
    found *= np.float32(0.05)
    found += np.linspace(0, 10, shape[-1], dtype=np.float32)
    return found.round(2)


def rechunking(
    label: str,
    shape: tuple[int, ...],
    before: tuple[int, ...],
    after: tuple[int, ...],
    memory: int,
    shards: tuple[int, ...] | None = None,
) -> Row:
    def prepare(path: Path) -> None:
        root = omnizarr.open_group(path, mode="w", zarr_format=3 if shards else 2)
        how: dict[str, Any] = {} if shards else {"compressor": omnizarr.Blosc("lz4", 5, 1)}
        root.create_array(
            NAME, data=values(shape), chunks=before, dimension_names=("t", "y", "x"), **how
        )

    def check(path: Path, library: str) -> bool:
        found = omnizarr.open_array(path / NAME, mode="r")
        whole = found.chunks == after and found.shards == shards
        return whole and bool(np.array_equal(found[...], values(shape)))

    options = {"chunks": after, "memory": memory, "shards": shards}
    libraries = ("omnizarr", "xarray") if shards else ("omnizarr", "rechunker", "xarray")
    return Row("rechunk", label, libraries, prepare, options, check)


def image(size: int) -> npt.NDArray[np.uint16]:
    """A smooth image with noise, as a camera gives it."""
    at = np.arange(size, dtype=np.float32)
    waves = np.sin(at[:, None] / 300) * np.cos(at / 200)
    waves *= 1500
    waves += np.random.default_rng(0).normal(2000, 30, size).astype(np.float32)
    return waves.astype(np.uint16)


def pyramids(label: str, size: int, memory: int) -> Row:
    chunks = (1024, 1024)

    def prepare(path: Path) -> None:
        root = omnizarr.open_group(path, mode="w")
        root.create_array(NAME, data=image(size), chunks=chunks, dimension_names=("y", "x"))

    def check(path: Path, library: str) -> bool:
        found = omnizarr.open_array(path, path=SMALLEST[library], mode="r")[...]
        factor = 2 ** (LEVELS - 1)
        blocks = image(size).reshape(size // factor, factor, size // factor, factor)
        mean = blocks.mean(axis=(1, 3), dtype=np.float32)
        return found.shape == mean.shape and bool(np.abs(found - mean).max() < 4)

    options = {"chunks": chunks, "levels": LEVELS, "memory": memory}
    return Row("pyramid", label, tuple(SMALLEST), prepare, options, check)


def rows(quick: bool) -> list[Row]:
    t, y, x = (100, 180, 360) if quick else (1000, 360, 720)
    small, size = (80, 2048) if quick else (400, 16384)
    memory = (64 if quick else 256) * MIB
    a, b = y // 20, x // 20
    return [
        rechunking("time series to maps", (t, y, x), (t, a, b), (1, y, x), memory),
        rechunking("maps to time series", (t, y, x), (1, y, x), (t, a, b), memory),
        rechunking(
            "maps to shards of time series",
            (t, y, x), (1, y, x), (t // 10, a, b), memory, (t // 5, y // 2, x // 4),
        ),
        rechunking(
            "many small chunks to larger ones",
            (small, small, small), (20, 20, 20), (40, small // 4, small // 4), memory,
        ),
        rechunking(
            "larger chunks to many small ones",
            (small, small, small), (40, small // 4, small // 4), (20, 20, 20), memory,
        ),
        pyramids(f"mean of {size} × {size} uint16", size, memory),
    ]  # fmt: skip


def run(row: Row, library: str, source: Path, folder: Path) -> tuple[float, int]:
    """Seconds of a job, and the most bytes that a process of it took."""
    destination, temporary = folder / "destination", folder / "temporary"
    for path in (destination, temporary):
        shutil.rmtree(path, ignore_errors=True)
    options = {
        **row.options,
        "source": str(source),
        "destination": str(destination),
        "temporary": str(temporary),
        "workers": len(cores()),
    }
    worker = subprocess.run(
        [PYTHONS[library], str(Path(__file__).with_name("jobs_worker.py")), row.job, library,
         json.dumps(options)],
        stdout=subprocess.PIPE, text=True, check=False,
        env={**os.environ, "PYTHONPATH": str(ROOT / "src") if library == "omnizarr" else ""},
    )  # fmt: skip
    if worker.returncode:
        raise SystemExit(f"{row.label}: {library} ended with {worker.returncode}")
    if not row.check(destination, library):
        raise SystemExit(f"{row.label}: {library} gave something else")
    told = json.loads(worker.stdout)
    return told["seconds"], told["peak"]


def measure(row: Row, rounds: int, folder: Path) -> dict[str, Measured]:
    source = folder / "source"
    shutil.rmtree(source, ignore_errors=True)
    row.prepare(source)
    found = {library: Measured() for library in row.libraries}
    for turn in range(rounds):
        for library in row.libraries[:: 1 if turn % 2 else -1]:
            seconds, peak = run(row, library, source, folder)
            found[library].seconds.append(seconds)
            found[library].peak.append(peak)
            print(f"  {row.label}, {library}: {seconds:.2f} s, {peak / MIB:.0f} MiB", flush=True)
    return found


def table(results: list[dict[str, Any]]) -> list[str]:
    """Time and memory of every row; how many times ours each of the others'."""
    lines = [
        "| job | library | s | peak, MiB | time ÷ ours | memory ÷ ours |",
        "|---|---|--:|--:|--:|--:|",
    ]
    for result in results:
        ours = result["libraries"]["omnizarr"]
        for library, its in result["libraries"].items():
            ratios = [its[name] / ours[name] for name in ("seconds", "peak")]
            told = "| |" if library == "omnizarr" else f"{ratios[0]:.1f} | {ratios[1]:.1f} |"
            label = f"{result['job']}: {result['row']}" if library == "omnizarr" else ""
            lines.append(
                f"| {label} | {TITLES.get(library, library)} | {its['seconds']:.2f} |"
                f" {its['peak'] / MIB:.0f} | {told}"
            )
    return lines


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--quick", action="store_true", help="smaller data, one round")
    parser.add_argument("--only", default="", help="rows whose label contains this")
    parser.add_argument("--libraries", nargs="+", help="these alone")
    parser.add_argument("--rounds", type=int, help="how often each is measured")
    parser.add_argument("--json", type=Path, help="a file for the figures")
    parser.add_argument("--markdown", type=Path, help="a page with marks for the table")
    given = parser.parse_args()
    rounds = given.rounds or (1 if given.quick else 3)
    results: list[dict[str, Any]] = []
    with tempfile.TemporaryDirectory(dir=in_memory()) as folder:
        for row in rows(given.quick):
            if given.only not in row.label:
                continue
            if given.libraries:
                chosen = tuple(each for each in row.libraries if each in given.libraries)
                row = Row(row.job, row.label, chosen, row.prepare, row.options, row.check)
            found = measure(row, rounds, Path(folder))
            best = {
                library: {"seconds": min(each.seconds), "peak": min(each.peak)}
                for library, each in found.items()
            }
            results.append({"job": row.job, "row": row.label, "libraries": best})
    here = machine()
    told = [f"{here['cpu']}, {here['cores']} cores; best of {rounds}.", "", *table(results)]
    print("\n".join(told))
    if given.json:
        given.json.write_text(json.dumps({"machine": here, "rows": results}, indent=1))
    if given.markdown:
        text = given.markdown.read_text(encoding="utf-8")
        before, _, rest = text.partition(MARKS[0])
        behind = rest.partition(MARKS[1])[2]
        page = before + MARKS[0] + "\n" + "\n".join(told) + "\n\n" + MARKS[1] + behind
        given.markdown.write_text(page, encoding="utf-8")


if __name__ == "__main__":
    main()
