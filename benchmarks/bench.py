"""omnizarr beside zarr-python 3 and tensorstore: one run, one process, in turns, best of several.

    make bench                         the whole table (some minutes)
    make bench ARGS=--quick            smaller arrays and fewer rounds: for a look, not for figures
    make bench ARGS='--only "400 B"'   the rows whose label contains this

Every library reads the same files and writes the same codecs, and every result is compared with
the data. The files are in the page cache: this measures the libraries, not the disk.
"""

from __future__ import annotations

import argparse
import gc
import json
import os
import platform
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
from chart import bar_chart
from libraries import MAKERS, Library, TensorStore
from rows import Row, Workspace, all_rows, layouts, whole_write

RESULTS = Path(__file__).resolve().parent / "results"
Times = dict[str, list[float]]


def in_memory() -> Path | None:
    """A folder in memory, so that libraries are measured and not a disk; None if there is
    none here, and the system's temporary folder serves."""
    folder = Path("/dev/shm")
    return folder if os.access(folder, os.W_OK) else None


def machine() -> dict[str, Any]:
    model = platform.processor() or platform.machine()
    info = Path("/proc/cpuinfo")
    if info.exists():
        lines = info.read_text().splitlines()
        model = next(
            (x.partition(":")[2].strip() for x in lines if x.startswith("model name")), model
        )
    return {
        "cpu": model,
        "cores": len(os.sched_getaffinity(0))
        if hasattr(os, "sched_getaffinity")
        else os.cpu_count(),
        "system": f"{platform.system()} {platform.release()}",
        "python": platform.python_version(),
        "numpy": np.__version__,
        "load": [round(load, 2) for load in os.getloadavg()],
    }


def measure(row: Row, libraries: list[Library], rounds: int, tick: Any) -> Times:
    """Seconds per operation of every round, for each library that can do the row."""
    timed = {}
    for library in libraries:
        with library.active():
            function = row.prepare(library)
        if function is not None:
            timed[library.name] = (library, function)
    names = list(timed)
    times: Times = {name: [] for name in names}
    for round_ in range(rounds):
        for name in names[round_ % len(names) :] + names[: round_ % len(names)]:
            library, function = timed[name]
            tick(f"{row.label}: {name}, round {round_ + 1}")
            gc.collect()
            with library.active():
                start = time.perf_counter()
                result = function()
                seconds = time.perf_counter() - start
            # A row that measures itself in another process returns its own figure.
            seconds = result if isinstance(result, float) else seconds
            row.finish(library, result)
            del result
            times[name].append(seconds / row.operations)
    return times


def milliseconds(seconds: float | None) -> str:
    if seconds is None:
        return "–"
    value = seconds * 1e3
    return f"{value:.0f}" if value >= 100 else f"{value:.1f}" if value >= 10 else f"{value:.3f}"


def ratio(other: float | None, own: float | None) -> str:
    if other is None or own is None:
        return "–"
    value = other / own
    return f"{value:.0f}×" if value >= 100 else f"{value:.1f}×" if value >= 10 else f"{value:.2f}×"


def table(results: list[dict[str, Any]], names: list[str]) -> str:
    own, others = names[0], names[1:]
    head = ["milliseconds", *names, *(f"vs {name}" for name in others)]
    lines = [head]
    for result in results:
        best = result["best"]
        cells = [milliseconds(best.get(name)) for name in names]
        cells += [ratio(best.get(name), best.get(own)) for name in others]
        lines.append([result["label"], *cells])
    widths = [max(len(line[column]) for line in lines) for column in range(len(head))]
    text = []
    for line in lines:
        cells = [line[0].ljust(widths[0])]
        cells += [cell.rjust(width) for cell, width in zip(line[1:], widths[1:], strict=True)]
        text.append("  ".join(cells))
    text.insert(1, "─" * len(text[0]))
    return "\n".join(text)


def synced_write(space: Workspace, tick: Any) -> dict[str, Any]:
    """tensorstore as it is by default, with an fsync per file: for information, once."""
    label = "256 KiB chunks, zstd"
    library = TensorStore("tensorstore", sync=True)
    row = whole_write(label, layouts(space.scale)[label], space)
    times = measure(row, [library], 1, tick)
    return {"label": row.label, "best": {"tensorstore": times["tensorstore"][0]}}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--quick", action="store_true", help="smaller arrays, two rounds")
    parser.add_argument("--rounds", type=int, help="rounds per row (default 5)")
    parser.add_argument("--dir", type=Path, help="work here instead of a folder in memory")
    parser.add_argument("--only", metavar="TEXT", help="only rows whose label contains TEXT")
    parser.add_argument("--libraries", nargs="+", choices=MAKERS, default=list(MAKERS))
    parser.add_argument("--json", type=Path, metavar="FILE", help="also write the figures here")
    arguments = parser.parse_args()
    rounds = arguments.rounds or (2 if arguments.quick else 5)

    libraries: list[Library] = []
    for name in arguments.libraries:
        try:
            libraries.append(MAKERS[name]())
        except ImportError as error:
            print(f"without {name}: {error}", file=sys.stderr)
    if len(libraries) < 2:
        sys.exit("nothing to compare: `make bench` prepares an environment that has the peers")
    names = [library.name for library in libraries]

    terminal = sys.stderr.isatty()

    def tick(text: str) -> None:
        if terminal:
            print(f"\r\033[K{text}", end="", file=sys.stderr, flush=True)

    results: list[dict[str, Any]] = []
    place = arguments.dir or in_memory()
    with tempfile.TemporaryDirectory(prefix="omnizarr-bench-", dir=place) as folder:
        facts = machine()
        space = Workspace(Path(folder), libraries[-1], scale=16 if arguments.quick else 1)
        for row in all_rows(space):
            if arguments.only is None or arguments.only in row.label:
                times = measure(row, libraries, rounds, tick)
                best = {name: min(seconds) for name, seconds in times.items()}
                results.append({"label": row.label, "best": best, "all": times})
        synced = None
        if "tensorstore" in names and arguments.only is None:
            synced = synced_write(space, tick)
    tick("")

    versions = {library.name: library.version for library in libraries}
    print(
        f"{facts['cpu']}, {facts['cores']} cores, {facts['system']}, Python {facts['python']}, ",
        end="",
    )
    print(f"NumPy {facts['numpy']}, load {facts['load'][0]}")
    print(", ".join(f"{name} {version}" for name, version in versions.items()))
    quick = "; QUICK: a sixteenth of the chunks, not for figures" if arguments.quick else ""
    where = place or tempfile.gettempdir()
    print(f"best of {rounds}, in turns, in {where}, results compared with the data{quick}\n")
    print(table(results, names))
    print(f"\n“vs” is that library's time over {names[0]}'s: above 1 {names[0]} is faster.")
    if synced is not None:
        print("tensorstore runs with file_io_sync=false here. As it is by default, with fsync:")
        print(f"{synced['label']} {milliseconds(synced['best']['tensorstore'])} ms")

    RESULTS.mkdir(exist_ok=True)
    chart = RESULTS / ("quick.svg" if arguments.quick else "bench.svg")
    reference = "zarr-python 3" if "zarr-python 3" in names else names[-1]
    svg = bar_chart(results, names, reference=reference, facts=facts)
    chart.write_text(svg, encoding="utf-8")
    print(f"chart: {os.path.relpath(chart)}")
    if arguments.json is not None:
        report = {
            "machine": facts,
            "versions": versions,
            "rounds": rounds,
            "quick": arguments.quick,
            "rows": results,
            "tensorstore_with_fsync": synced,
        }
        arguments.json.write_text(
            json.dumps(report, indent=2, ensure_ascii=False), encoding="utf-8"
        )
        print(f"figures: {arguments.json}")


if __name__ == "__main__":
    main()
