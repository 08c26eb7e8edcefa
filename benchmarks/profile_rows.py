"""Where the processor time of omnizarr's rows goes: codecs, kernel, copying, the core, Python.

    python benchmarks/profile_rows.py                  every row (some minutes; needs `perf`)
    python benchmarks/profile_rows.py --only "400 B"   the rows whose label contains this
    python benchmarks/profile_rows.py --json FILE      the shares as JSON too

`perf` samples the rows of `bench.py`, called again and again; making room for the next call is not
sampled. What the kernel does is opening, reading, writing and renaming files, giving memory and
starting threads. Codecs and kernel are what every library needs for the same files, so they bound
what a row could gain.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import subprocess
import tempfile
import time
from pathlib import Path
from typing import Any

from libraries import CHOICES
from machine import in_memory
from rows import Row, Workspace, all_rows
from worker import Bench

SECONDS = 2.0
KINDS = {
    # Huffman's assembler in libzstd has no names of symbols.
    "codecs": re.compile(
        r"\b(ZSTD|HUF|HIST|FSE|LZ4|XXH|deflate|libdeflate)|::codecs::|_native.* 0x"
    ),
    "kernel": re.compile(r"^\[(kernel|vdso|guest)"),
    "copying": re.compile(r"mem(cpy|move|set)|plan::moves::"),
    "core": re.compile(r"omnizarr_native"),
    "Python": re.compile(r""),
}
"""Of the first that is found in the file and the symbol of a sample it counts."""


def kind(file: str, symbol: str) -> str:
    return next(name for name, pattern in KINDS.items() if pattern.search(f"{file} {symbol}"))


class Sampler:
    """`perf record` of this process, which samples while it is told to."""

    def __init__(self, folder: Path) -> None:
        self._data = folder / "perf.data"
        self._control, self._done = folder / "control", folder / "done"
        for fifo in (self._control, self._done):
            fifo.unlink(missing_ok=True)
            os.mkfifo(fifo)
        self._perf = subprocess.Popen(
            ["perf", "record", "--quiet", "--event", "cpu-clock", "--freq", "1999", "--delay", "-1",
             "--output", self._data, "--pid", str(os.getpid()),
             f"--control=fifo:{self._control},{self._done}"],
        )  # fmt: skip
        self._orders = self._control.open("w")
        self._answers = self._done.open()

    def tell(self, order: str) -> None:
        print(order, file=self._orders, flush=True)
        self._answers.readline()

    def shares(self) -> dict[str, float]:
        """What part of the samples is of each kind."""
        self._orders.close()
        self._answers.close()
        self._perf.terminate()
        self._perf.wait()
        told = subprocess.run(
            ["perf", "report", "--stdio", "--quiet", "--no-children", "--percent-limit", "0",
             "--input", self._data, "--sort", "dso,symbol", "--field-separator", "|"],
            capture_output=True, text=True, check=True,
        ).stdout  # fmt: skip
        found = dict.fromkeys(KINDS, 0.0)
        for line in filter(None, told.splitlines()):
            share, file, symbol = (part.strip() for part in line.split("|", 2))
            found[kind(file, symbol)] += float(share.rstrip("%")) / 100
        return found


def profile(row: Row, space: Workspace) -> dict[str, float]:
    bench = Bench("omnizarr", space.folder)
    bench.hello()
    bench.prepare(row.label, quick=False, scaling=None)
    timed = bench._timed
    assert bench._library is not None and timed is not None
    row.check(bench._library, space, timed())
    sampler = Sampler(space.folder)
    spent = 0.0
    while spent < SECONDS:
        sampler.tell("enable")
        start = time.perf_counter()
        result = timed()
        spent += time.perf_counter() - start
        sampler.tell("disable")
        row.check(bench._library, space, result)
        del result
    return sampler.shares()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--only", default="", help="rows whose label contains this")
    parser.add_argument("--json", type=Path, help="a file for the shares")
    given = parser.parse_args()
    rows = [row for row in all_rows(quick=False) if given.only in row.label and row.layout]
    found: dict[str, Any] = {}
    print(f"| of the processor time | {' | '.join(KINDS)} |\n|---|{'--:|' * len(KINDS)}")
    with tempfile.TemporaryDirectory(dir=in_memory()) as folder:
        space = Workspace(Path(folder))
        for row in rows:
            assert row.layout is not None
            space.make(row.layout, {CHOICES["omnizarr"].make().format})
            found[row.label] = profile(row, space)
            space.clear()
            shares = " | ".join(f"{share:.0%}" for share in found[row.label].values())
            print(f"| {row.label} | {shares} |", flush=True)
    if given.json:
        given.json.write_text(json.dumps(found, indent=1))


if __name__ == "__main__":
    main()
