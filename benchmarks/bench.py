"""omnizarr beside its peers: each library in a process of its own, in turns, best of several.

    make bench                            the whole table (half an hour)
    make bench ARGS=--quick               small arrays, two rounds: for a look, not for figures
    make bench ARGS='--only "400 B"'      the rows whose label contains this
    make bench ARGS='--cores 1,2,4'       again on so many cores
    make bench ARGS='--scaling 1000000'   other rows: from 1,000 chunks to a million

Every library reads the same files and writes the same codecs, and every result is compared with
the data. The files are in memory: this measures the libraries, not the disk.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import sys
import tempfile
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import chart
from libraries import CHOICES
from machine import SETTABLE, cores, in_memory, machine, pin
from report import bench_table, core_table
from rows import Row, Workspace, all_rows, scaling_rows
from workers import Worker, turns

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent
RESULTS = HERE / "results"
PATIENCE = 60.0
"""Seconds that a peer's call at the next size of a family may be expected to take."""
MARKS = ("<!-- figures -->\n", "<!-- end of figures -->\n")


@dataclass
class Run:
    """What was asked for, and what is known so far."""

    options: argparse.Namespace
    space: Workspace
    pythons: dict[str, str]
    titles: dict[str, str] = field(default_factory=dict)
    versions: dict[str, str] = field(default_factory=dict)
    formats: set[int] = field(default_factory=set)
    faults: list[str] = field(default_factory=list)
    slowest: dict[tuple[str, str, int], float] = field(default_factory=dict)

    def start(self, name: str) -> Worker:
        python = self.pythons.get(name, sys.executable)
        folder = str(self.space.folder)
        extra = CHOICES[name].environment
        return Worker(python, HERE / "worker.py", name, folder, environment=extra)

    def meet(self) -> None:
        """Ask every library who it is; one that cannot be imported is left out."""
        for name in self.options.libraries:
            worker = self.start(name)
            try:
                found = worker.ask({"do": "hello"})
            except EOFError as error:
                found = {"error": str(error)}
            worker.stop()
            if "error" in found:
                say(f"without {name}: {found['error']}")
                continue
            self.titles[name] = found["title"] + (" (format 2)" if found["format"] == 2 else "")
            self.versions[found["title"]] = found["version"]
            self.formats.add(found["format"])

    def fail(self, row: Row, name: str, message: str) -> None:
        self.faults.append(f"{row.label}, {name}: {message}")
        say(self.faults[-1])


def say(text: str) -> None:
    print(("\r\033[K" if sys.stderr.isatty() else "") + text, file=sys.stderr, flush=True)


def tick(text: str) -> None:
    if sys.stderr.isatty():
        print(f"\r\033[K{text}", end="", file=sys.stderr, flush=True)


def measure(run: Run, row: Row, processors: list[int]) -> dict[str, Any]:
    """Seconds per operation of every round, and memory, for each library that can do the row."""
    times: dict[str, list[float]] = {}
    memory: dict[str, int] = {}
    pin(processors)
    key = (row.family, len(processors))
    own = next(iter(run.titles))
    names = [
        name for name in run.titles
        if name == own or not row.family or 10 * run.slowest.get((name, *key), 0) <= PATIENCE
    ]  # fmt: skip
    workers = {name: run.start(name) for name in names}

    def ask(name: str, **question: Any) -> dict[str, Any] | None:
        try:
            found: dict[str, Any] = workers[name].ask(question)
        except EOFError as error:
            found = {"error": str(error)}
        if "error" in found:
            run.fail(row, name, found["error"])
            names.remove(name)
            times.pop(name, None)
            return None
        return found

    try:
        for name in list(names):
            tick(f"{row.label}: {name}")
            if ask(name, do="hello") is None:
                continue
            found = ask(
                name, do="prepare", label=row.label,
                quick=run.options.quick, scaling=run.options.scaling,
            )  # fmt: skip
            if found is not None and not found["can"]:
                names.remove(name)
        for round_ in range(run.options.rounds):
            fastest = min((min(seconds) for seconds in times.values()), default=0)
            for name in turns(list(names), round_):
                if round_ >= 2 and min(times[name]) > 10 * fastest:
                    continue  # two rounds tell enough of a library that is far behind
                tick(f"{row.label}: {name}, round {round_ + 1}, {len(processors)} cores")
                found = ask(name, do="turn", cpu=run.options.cpu)
                if found is None:
                    continue
                times.setdefault(name, []).append(found["seconds"])
                if round_ == 0 and found["memory"] is not None:
                    memory[name] = found["memory"]  # later rounds find memory that was kept
                run.slowest[(name, *key)] = found["seconds"] * row.operations
    finally:
        for worker in workers.values():
            worker.stop()
        run.space.clear()
    best = {name: min(seconds) for name, seconds in times.items()}
    return {"label": row.label, "best": best, "memory": memory, "all": times}


def measure_all(run: Run, rows: list[Row], counts: list[int]) -> dict[int, list[dict[str, Any]]]:
    """The results of every row, by number of cores; when interrupted, of the rows until then."""
    everything = cores()
    results: dict[int, list[dict[str, Any]]] = {count: [] for count in counts}
    try:
        for number, row in enumerate(rows):
            pin(everything)
            if row.layout is not None:
                tick(f"{row.label}: writing the array that all read")
                run.space.make(row.layout, run.formats)
            found = [measure(run, row, everything[:count]) for count in counts]
            for count, result in zip(counts, found, strict=True):
                results[count].append(result)
            if row.layout is not None and row.layout not in {x.layout for x in rows[number + 1 :]}:
                run.space.forget(row.layout)
    except KeyboardInterrupt:
        run.faults.append("interrupted")
    finally:
        pin(everything)
        tick("")
    return results


def pages(run: Run, results: dict[int, list[dict[str, Any]]], facts: dict[str, Any]) -> list[str]:
    """The report in Markdown: one part for each number of cores."""
    options, own = run.options, next(iter(run.titles))
    peers = [name for name in run.titles if CHOICES[name].peer and name != own]
    place = options.dir or in_memory() or tempfile.gettempdir()
    quick = "; QUICK: small arrays, not for figures" if options.quick else ""
    clock = "processor time, " if options.cpu else ""
    head = (
        f"{facts['cpu']}, {facts['cores']} cores, {facts['system']}, Python {facts['python']}, "
        f"NumPy {facts['numpy']}, load {facts['load'][0]};\n"
        + ", ".join(f"{name} {version}" for name, version in run.versions.items())
        + f";\n{clock}best of {options.rounds}, in {place}{quick}."
    )
    parts = [
        f"{count} cores:\n\n{bench_table(found, run.titles, own, peers)}\n"
        for count, found in results.items()
    ]
    parts[0] = f"{head}\n\n{parts[0]}"
    if len(results) > 1:
        parts.append(core_table(results, run.titles, own) + "\n")
    return parts


def put(text: str, page: Path) -> None:
    """Write the report; into a page that has a place for figures only there."""
    old = page.read_text(encoding="utf-8") if page.exists() else ""
    if all(mark in old for mark in MARKS):
        before, _, rest = old.partition(MARKS[0])
        text = before + MARKS[0] + "\n" + text + "\n" + MARKS[1] + rest.partition(MARKS[1])[2]
    page.write_text(text, encoding="utf-8")


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__.partition("\n")[0],
        epilog="The first library is the one that the others are compared with.",
    )
    parser.add_argument("--quick", action="store_true", help="smaller arrays, two rounds")
    parser.add_argument("--rounds", type=int, help="rounds per row (default 5; 1 with --scaling)")
    parser.add_argument("--dir", type=Path, help="work here instead of a folder in memory")
    parser.add_argument("--only", metavar="TEXT", help="only rows whose label contains TEXT")
    default = [name for name, choice in CHOICES.items() if choice.default]
    parser.add_argument("--libraries", nargs="+", choices=CHOICES, default=default)
    parser.add_argument(
        "--python", action="append", default=[], metavar="NAME=PATH",
        help="the interpreter of a library, if not this one",
    )  # fmt: skip
    parser.add_argument("--cores", metavar="1,2,4", help="pin to so many cores, and repeat")
    parser.add_argument("--scaling", type=int, metavar="N", help="rows of 1,000 to N chunks")
    parser.add_argument("--cpu", action="store_true", help="processor time, not elapsed time")
    parser.add_argument("--json", type=Path, metavar="FILE", help="every round of every row")
    parser.add_argument(
        "--markdown", type=Path, metavar="FILE",
        help="the tables; in a page with a place for figures (docs/benchmarks.md) they go there",
    )  # fmt: skip
    options = parser.parse_args()
    options.rounds = options.rounds or (2 if options.quick else 1 if options.scaling else 5)
    there, given = len(cores()), options.cores
    try:
        options.cores = [there] if given is None else sorted({int(n) for n in given.split(",")})
    except ValueError:
        parser.error(f"--cores takes numbers with commas between them, such as 1,2,4, not {given}")
    if options.cores[0] < 1 or options.cores[-1] > there:
        parser.error(f"--cores {given}: this process may use {there} cores, so 1 to {there}")
    if options.cores != [there] and not SETTABLE:
        parser.error("--cores needs sched_setaffinity, which this system does not have")
    return options


def interpreters(options: argparse.Namespace) -> dict[str, str]:
    """By library. zarr-python 2 does not fit beside 3: `make peers` gives it a place of its own."""
    found = {}
    second = ROOT / ".peers" / "zarr2" / "bin" / "python"
    if second.exists():
        found["zarr2"] = str(second)
    for item in options.python:
        name, _, path = item.partition("=")
        if name not in CHOICES or not path:
            sys.exit(f"--python {item}: give NAME=PATH, where NAME is one of {', '.join(CHOICES)}")
        found[name] = path
    return found


def main() -> None:
    options = arguments()
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # `timeout` ends it in order too
    rows = all_rows(quick=options.quick)
    if options.scaling is not None:
        rows = scaling_rows(options.scaling)
    rows = [row for row in rows if options.only is None or options.only in row.label]
    if not rows:
        sys.exit(f"no row has a label that contains {options.only!r}")
    facts = machine()
    place = options.dir or in_memory()
    with tempfile.TemporaryDirectory(prefix="omnizarr-bench-", dir=place) as folder:
        run = Run(options, Workspace(Path(folder)), interpreters(options))
        run.meet()
        if len(run.titles) < 2:
            sys.exit("nothing to compare: `make bench` prepares an environment that has the peers")
        results = measure_all(run, rows, options.cores)
    parts = pages(run, results, facts)
    print("\n".join(parts))
    if options.markdown is not None:
        put("\n".join(parts), options.markdown)
    RESULTS.mkdir(exist_ok=True)
    for count, part in zip(results, parts, strict=False):
        drawing = RESULTS / f"{'quick' if options.quick else 'bench'}-{count}.svg"
        drawing.write_text(chart.draw(part), encoding="utf-8")
        print(f"chart: {os.path.relpath(drawing)}")
    if options.json is not None:
        report = {
            "machine": facts, "versions": run.versions, "rounds": options.rounds,
            "quick": options.quick, "cores": results, "faults": run.faults,
        }  # fmt: skip
        text = json.dumps(report, indent=2, ensure_ascii=False)
        options.json.write_text(text, encoding="utf-8")
        print(f"figures: {options.json}")
    if run.faults:
        sys.exit("not complete: " + "; ".join(run.faults))


if __name__ == "__main__":
    main()
