"""omnizarr over a network beside zarr-python 3 with obstore and tensorstore: time and requests.

    make bench-remote                          the whole table (some minutes)
    make bench-remote ARGS=--quick             a sixteenth of the chunks, one round: for a look
    make bench-remote ARGS='--only shards --latency 50'

A server on this machine (`latency_server.py`) delays every answer and counts the requests. All
libraries read the same objects and write the same codecs, in turns; every result is compared with
the data. Each row ends with a verdict: the time of the fastest peer over that of omnizarr's faster
way, and omnizarr's requests beside the fewest that any peer needs.
"""

from __future__ import annotations

import argparse
import gc
import json
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from latency_server import Server, speed
from layouts import Layout, values
from libraries import ZarrLike
from machine import in_memory, machine
from remote_libraries import BUCKET, MAKERS, Remote
from report import milliseconds, ratio

LATENCIES = (10, 50)
TARGET = "written.zarr"
Timed = Callable[[], object]


@dataclass(frozen=True)
class Case:
    """One row: what is done, and whether it was done right."""

    label: str
    prepare: Callable[[Remote], Timed | None]
    check: Callable[[Remote, object], None]


@dataclass
class Measured:
    """One library in one row."""

    seconds: list[float] = field(default_factory=list)
    requests: int = 0

    @property
    def best(self) -> float:
        return min(self.seconds)


class Space:
    """The objects that all libraries read, and the server that gives them."""

    def __init__(self, folder: Path, scale: int) -> None:
        side = {1: 1, 16: 4}[scale]
        self.scale = scale
        self.layouts = {
            "chunks.zarr": Layout((5120 // side, 3200 // side), (128, 128), "zstd"),
            "shards.zarr": Layout(
                (4096 // side, 4096 // side), (32, 32), "zstd", (1024 // side, 1024 // side)
            ),
        }
        self.data = {path: values(layout) for path, layout in self.layouts.items()}
        writer = ZarrLike("omnizarr", "omnizarr")
        for path, layout in self.layouts.items():
            writer.write(folder / BUCKET / path, layout, self.data[path])
        writer.api.create_group(folder / BUCKET / "group.zarr", attributes={"title": "a group"})
        self.server = Server(folder)


# -- what is measured --------------------------------------------------------------------------


def reading(label: str, path: str, selection: Any, space: Space) -> Case:
    """Open the array and read a selection of it."""

    def prepare(library: Remote) -> Timed:
        return lambda: library.read(library.open(path), selection)

    def check(library: Remote, result: object) -> None:
        expected = space.data[path][selection]
        if not np.array_equal(np.asarray(result), expected):
            raise AssertionError(f"{library.name} read other values than were written: {label}")

    return Case(label, prepare, check)


def one_by_one(label: str, path: str, count: int, space: Space) -> Case:
    """Single chunks at random places, one after the other, of an array that is open."""
    layout = space.layouts[path]
    rng = np.random.default_rng(3)
    axes = zip(layout.shape, layout.chunks, strict=True)
    starts = np.stack([rng.choice(np.arange(0, n, step), count) for n, step in axes], axis=1)
    height, width = layout.chunks
    selections = [(slice(y, y + height), slice(x, x + width)) for y, x in starts.tolist()]

    def prepare(library: Remote) -> Timed:
        array = library.open(path)
        return lambda: [library.read(array, selection) for selection in selections]

    def check(library: Remote, result: object) -> None:
        assert isinstance(result, list)
        for found, selection in zip(result, selections, strict=True):
            if not np.array_equal(found, space.data[path][selection]):
                raise AssertionError(f"{library.name} read other values at {selection}")

    return Case(label, prepare, check)


def opening(label: str, path: str, *, group: bool) -> Case:
    def prepare(library: Remote) -> Timed | None:
        if not group:
            return lambda: library.open(path)
        if library.open_group(path) is None:
            return None
        return lambda: library.open_group(path)

    def check(library: Remote, result: object) -> None:
        if group and dict(result.attrs) != {"title": "a group"}:  # type: ignore[attr-defined]
            raise AssertionError(f"{library.name} opened another group")

    return Case(label, prepare, check)


def creating(label: str, layout: Layout, space: Space) -> Case:
    """Create an array in an empty place of a group."""
    target = f"group.zarr/{TARGET}"

    def prepare(library: Remote) -> Timed | None:
        if library.create(target, layout) is None:
            return None
        space.server.forget(f"{BUCKET}/{target}/")
        return lambda: library.create(target, layout)

    def check(library: Remote, result: object) -> None:
        space.server.latency(0)
        if tuple(library.open(target).shape) != layout.shape:
            raise AssertionError(f"{library.name} created another array")
        space.server.forget(f"{BUCKET}/{target}/")

    return Case(label, prepare, check)


def writing(label: str, path: str, space: Space) -> Case:
    """Write all of an array that was created just now."""
    layout, values = space.layouts[path], space.data[path]

    def prepare(library: Remote) -> Timed | None:
        target = f"{library.name.replace(' ', '-').replace(',', '')}-{TARGET}"
        space.server.forget(f"{BUCKET}/{target}/")
        array = library.create(target, layout)
        if array is None:
            return None

        def write() -> object:
            library.write(array, values)
            return target

        return write

    def check(library: Remote, result: object) -> None:
        space.server.latency(0)
        assert isinstance(result, str)
        if not np.array_equal(library.read(library.open(result), ...), values):
            raise AssertionError(f"{library.name} wrote other values than were given")
        space.server.forget(f"{BUCKET}/{result}/c/")

    return Case(label, prepare, check)


def all_cases(space: Space) -> list[Case]:
    chunks, shards = (space.layouts[path] for path in ("chunks.zarr", "shards.zarr"))
    count = -(-chunks.shape[0] // 128) * -(-chunks.shape[1] // 128)
    assert shards.shards is not None
    inner = (shards.shape[0] // 32) * (shards.shape[1] // 32)
    thin = (slice(None), slice(100, None, shards.shards[1]))
    few = 50 if space.scale == 1 else 10
    return [
        reading(f"read {count:,} chunks of 64 KiB", "chunks.zarr", ..., space),
        reading(f"read {inner:,} inner chunks in 16 shards", "shards.zarr", ..., space),
        reading("read a thin slice through 16 shards", "shards.zarr", thin, space),
        one_by_one(f"read {few} inner chunks, one by one", "shards.zarr", few, space),
        one_by_one(f"read {few} chunks, one by one", "chunks.zarr", few, space),
        writing(f"write {count:,} chunks of 64 KiB", "chunks.zarr", space),
        creating("create an array", chunks, space),
        opening("open an array", "chunks.zarr", group=False),
        opening("open a group", "group.zarr", group=True),
    ]


# -- measuring ---------------------------------------------------------------------------------


def measure(
    case: Case, libraries: list[Remote], space: Space, latency: float, rounds: int, tick: Any
) -> dict[str, Measured]:
    space.server.latency(0)
    timed: dict[str, tuple[Remote, Timed]] = {}
    for library in libraries:
        with library.active():
            function = case.prepare(library)
        if function is not None:
            timed[library.name] = (library, function)
    names = list(timed)
    found = {name: Measured() for name in names}
    for number in range(rounds):
        for name in names[number % len(names) :] + names[: number % len(names)]:
            library, function = timed[name]
            tick(f"{latency:g} ms, {case.label}: {name}, round {number + 1}")
            gc.collect()
            space.server.latency(latency)
            with library.active(), space.server.counting() as counts:
                start = time.perf_counter()
                result = function()
                seconds = time.perf_counter() - start
            found[name].seconds.append(seconds)
            found[name].requests = sum(counts.values()) - counts["bytes"]
            with library.active():
                case.check(library, result)
            del result
    return found


def verdict(found: dict[str, Measured], own: set[str]) -> dict[str, Any]:
    """omnizarr's faster way against the fastest peer, and against the one with fewest requests."""
    ours = {name: row for name, row in found.items() if name in own}
    peers = {name: row for name, row in found.items() if name not in own}
    if not ours or not peers:
        return {}
    fastest = min(peers, key=lambda name: peers[name].best)
    return {
        "time": peers[fastest].best / min(row.best for row in ours.values()),
        "fastest": fastest,
        "requests": max(row.requests for row in ours.values()),
        "fewest": min(row.requests for row in peers.values()),
    }


def row_of(case: Case, libraries: list[Remote], found: dict[str, Measured]) -> dict[str, Any]:
    """A row of the table, as it is written to a file."""
    figures = {
        name: {"best": item.best, "all": item.seconds, "requests": item.requests}
        for name, item in found.items()
    }
    own = {library.name for library in libraries if library.own}
    return {"label": case.label, "libraries": figures, "verdict": verdict(found, own)}


# -- telling -----------------------------------------------------------------------------------


def table(rows: list[dict[str, Any]], names: list[str], latency: float) -> str:
    head = [f"{latency:g} ms away: ms (requests)", *names, "fastest peer ÷ omnizarr", "requests"]
    lines = [head]
    for row in rows:
        cells = []
        for name in names:
            item = row["libraries"].get(name)
            cells.append(
                "–" if item is None else f"{milliseconds(item['best'])} ({item['requests']:,})"
            )
        told = row["verdict"]
        cells += (
            [ratio(told["time"], 1), f"{told['requests']:,} of {told['fewest']:,}"]
            if told
            else ["–", "–"]
        )
        lines.append([row["label"], *cells])
    widths = [max(len(line[column]) for line in lines) for column in range(len(head))]
    text = []
    for line in lines:
        cells = [line[0].ljust(widths[0])]
        cells += [cell.rjust(width) for cell, width in zip(line[1:], widths[1:], strict=True)]
        text.append("  ".join(cells))
    text.insert(1, "─" * len(text[0]))
    return "\n".join(text)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--quick", action="store_true", help="a sixteenth of the chunks, one round")
    parser.add_argument("--rounds", type=int, help="rounds per row (default 3)")
    parser.add_argument("--only", metavar="TEXT", help="only rows whose label contains TEXT")
    parser.add_argument(
        "--latency", type=float, action="append", metavar="MS", help="default: 10 and 50"
    )
    parser.add_argument("--libraries", nargs="+", choices=MAKERS, default=list(MAKERS))
    parser.add_argument("--json", type=Path, metavar="FILE", help="also write the figures here")
    arguments = parser.parse_args()
    rounds = arguments.rounds or (1 if arguments.quick else 3)
    terminal = sys.stderr.isatty()

    def tick(text: str) -> None:
        if terminal:
            print(f"\r\033[K{text}", end="", file=sys.stderr, flush=True)

    facts = machine()
    fast = speed(0.5)
    quick = "; QUICK: a sixteenth of the chunks, not for figures" if arguments.quick else ""
    tables: dict[str, list[dict[str, Any]]] = {}
    with tempfile.TemporaryDirectory(prefix="omnizarr-remote-", dir=in_memory()) as folder:
        space = Space(Path(folder), scale=16 if arguments.quick else 1)
        with space.server as server:
            libraries: list[Remote] = []
            for name in arguments.libraries:
                try:
                    libraries.append(MAKERS[name](server.url))
                except ImportError as error:
                    print(f"without {name}: {error}", file=sys.stderr)
            if not libraries:
                sys.exit("nothing to measure: `make bench-remote` prepares what has the peers")
            names = [library.name for library in libraries]
            versions = {library.name: library.version for library in libraries}
            print(
                f"{facts['cpu']}, {facts['cores']} cores, {facts['system']},"
                f" Python {facts['python']}, NumPy {facts['numpy']}, load {facts['load'][0]}"
            )
            print(", ".join(f"{name}: {found}" for name, found in versions.items()))
            print(
                f"best of {rounds}, in turns, results compared with the data;"
                f" the server answers {fast:,.0f} requests/s without a delay{quick}",
                flush=True,
            )
            for latency in arguments.latency or LATENCIES:
                rows = tables[f"{latency:g}"] = [
                    row_of(case, libraries, measure(case, libraries, space, latency, rounds, tick))
                    for case in all_cases(space)
                    if arguments.only is None or arguments.only in case.label
                ]
                tick("")
                print(f"\n{table(rows, names, latency)}", flush=True)
    print(
        "\n“fastest peer ÷ omnizarr”: above 1 omnizarr is faster."
        " “requests”: omnizarr's, of the fewest that any peer needs."
    )
    if arguments.json is not None:
        report = {
            "machine": facts,
            "versions": versions,
            "rounds": rounds,
            "quick": arguments.quick,
            "server_requests_per_second": fast,
            "latencies": tables,
        }
        arguments.json.write_text(json.dumps(report, indent=2), encoding="utf-8")
        print(f"figures: {arguments.json}")


if __name__ == "__main__":
    main()
