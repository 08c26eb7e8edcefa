"""Peak memory of reading a whole array, beyond the result itself, beside the peers.

    make memory
    make memory ARGS=--json memory.json

Each figure comes from a fresh process that opens the array, reads one element (so that code and
threads are loaded), then reads everything. What is shown is the highest resident size during that
last call, less the resident size before it, less the size of the result. Nothing is asserted.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from libraries import MAKERS, Layout, Library
from rows import Workspace

MIB = 1 << 20
LAYOUTS = {
    "16 MiB chunks, raw": Layout((8192, 8192), (2048, 2048), "raw"),
    "16 MiB chunks, zstd": Layout((8192, 8192), (2048, 2048), "zstd"),
    "256 KiB chunks, zstd": Layout((8192, 8192), (256, 256), "zstd"),
    "64 MiB shards of 256 KiB chunks, zstd": Layout((8192, 8192), (256, 256), "zstd", (4096, 4096)),
    "4 MiB shards of 4 KiB chunks, zstd": Layout((4096, 4096), (32, 32), "zstd", (1024, 1024)),
}


def status(member: str) -> int:
    """A size in bytes from this process's status (Linux)."""
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith(member + ":"):
            return int(line.split()[1]) * 1024
    raise KeyError(member)


def measure_here(name: str, path: Path) -> dict[str, int]:
    """Read the array in this process and say what it took."""
    library = MAKERS[name]()
    with library.active():
        array = library.open(path)
        library.read(array, (0, 0))
        Path("/proc/self/clear_refs").write_text("5")  # forget the highest size until now
        before = status("VmRSS")
        result = library.read(array, ...)
    return {"peak": status("VmHWM") - before, "result": result.nbytes}


def measure(name: str, path: Path) -> dict[str, int]:
    command = [sys.executable, __file__, "--child", name, str(path)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    report: dict[str, int] = json.loads(done.stdout)
    return report


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--rounds", type=int, default=3, help="the lowest of so many is shown")
    parser.add_argument("--libraries", nargs="+", choices=MAKERS, default=list(MAKERS))
    parser.add_argument("--json", type=Path, metavar="FILE", help="also write the figures here")
    parser.add_argument("--child", nargs=2, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.child is not None:
        print(json.dumps(measure_here(arguments.child[0], Path(arguments.child[1]))))
        return
    if not Path("/proc/self/clear_refs").exists():
        sys.exit("memory is measured through /proc, which this system does not have")

    libraries: dict[str, Library] = {}
    for name in arguments.libraries:
        try:
            libraries[name] = MAKERS[name]()
        except ImportError as error:
            print(f"without {name}: {error}", file=sys.stderr)
    names = [library.name for library in libraries.values()]
    width = max(map(len, LAYOUTS))
    print("MiB beyond the result, while all of an array is read\n")
    print(" " * width + "   result" + "".join(f"{name:>16}" for name in names))
    report: dict[str, dict[str, Any]] = {}
    with tempfile.TemporaryDirectory(prefix="omnizarr-memory-") as folder:
        space = Workspace(Path(folder), list(libraries.values())[-1], scale=1)
        for label, layout in LAYOUTS.items():
            path = space.array(layout)
            row: dict[str, Any] = {}
            for name in libraries:
                rounds = [measure(name, path) for _ in range(arguments.rounds)]
                row[name] = min(figure["peak"] - figure["result"] for figure in rounds)
            result = rounds[0]["result"]
            report[label] = {"result": result, **row}
            cells = "".join(f"{extra / MIB:>16.1f}" for extra in row.values())
            print(f"{label:<{width}}{result / MIB:>9.0f}{cells}", flush=True)
    if arguments.json is not None:
        arguments.json.write_text(json.dumps(report, indent=2), encoding="utf-8")


if __name__ == "__main__":
    main()
