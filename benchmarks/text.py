"""A million short strings: omnizarr beside zarr-python 2 and 3, in turns, best of several.

    make benchtext                        the whole table
    make benchtext ARGS="--strings 100000 --rounds 3"

zarr-python 2 and 3 do not fit into one environment, so each library works in a process of its own
that stays alive; they are asked in turns, one at a time, and each times its own call. All store the
same strings as `vlen-utf8` with Zstandard; omnizarr also in document 004's layout, which only it
has, with the same compressor. Every result is compared with the strings.
"""

from __future__ import annotations

import argparse
import gc
import json
import shutil
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
from machine import in_memory
from report import markdown, milliseconds, ratio
from workers import Worker, serve, turns

ROOT = Path(__file__).resolve().parent.parent
WORKERS = {
    "omnizarr": ".peers/zarr3",
    "omnizarr, no native": ".peers/zarr3",
    "zarr-python 3": ".peers/zarr3",
    "zarr-python 2": ".peers/zarr2",
}
ROWS = {
    "read vlen-utf8 into NumPy": "numpy",
    "read document 004 into NumPy": "numpy-004",
    "read vlen-utf8 into Arrow": "arrow",
    "read document 004 into Arrow": "arrow-004",
    "write vlen-utf8 from NumPy": "write",
    "write document 004 from NumPy": "write-004",
    "write vlen-utf8 from Arrow": "write-arrow",
    "write document 004 from Arrow": "write-arrow-004",
}
"""A label, and what the workers know it by. Peers, which lack document 004's layout, do the same
task with `vlen-utf8`."""
ZSTD = {"name": "zstd", "configuration": {"level": 0, "checksum": False}}


def strings(count: int) -> list[str]:
    """Words of 3 to 19 letters, one in twenty with a letter beyond ASCII."""
    rng = np.random.default_rng(11)
    lengths = rng.integers(3, 20, count).tolist()
    letters = "abcdefghijklmnopqrstuvwxyz" * 3
    starts = rng.integers(0, 26, count).tolist()
    words = [letters[a : a + n] for a, n in zip(starts, lengths, strict=True)]
    words[::20] = [word[:-1] + "é" for word in words[::20]]
    return words


# -- in a worker --------------------------------------------------------------------------------


class Strings:
    """One library in its own process, asked over standard input."""

    def __init__(self, name: str, folder: Path, count: int, chunk: int) -> None:
        import pyarrow as pa

        self.pa, self.folder, self.count, self.chunk = (
            pa,
            folder / name.replace(" ", ""),
            count,
            chunk,
        )
        self.words = strings(count)
        self.objects = np.array(self.words, dtype=object)
        self.ours = name.startswith("omnizarr")
        self.second = name.endswith("2")
        self.module = __import__("omnizarr" if self.ours else "zarr")
        self.text: Any = (
            self.objects if self.second else self.objects.astype(np.dtypes.StringDType())
        )
        self.column = pa.array(self.words)
        for task in ("write", "write-004") if self.ours else ("write",):
            self.run(task)
            source = self.target(task)
            source.rename(source.with_suffix(".read"))

    def target(self, task: str) -> Path:
        return self.folder / ("004" if self.ours and task.endswith("004") else "vlen")

    def create(self, task: str) -> Any:
        path = self.target(task)
        shutil.rmtree(path, ignore_errors=True)
        path.parent.mkdir(parents=True, exist_ok=True)
        if self.second:
            import numcodecs

            return self.module.open_array(
                str(path), mode="w", shape=self.count, chunks=self.chunk, dtype=object,
                object_codec=numcodecs.VLenUTF8(), compressor=numcodecs.Zstd(level=0),
            )  # fmt: skip
        return self.module.create_array(
            str(path), shape=(self.count,), chunks=(self.chunk,), compressors=[ZSTD],
            dtype="arrow-string" if self.ours and task.endswith("004") else str,
        )  # fmt: skip

    def run(self, task: str) -> Any:
        if task.startswith("write"):
            array = self.create(task)
            values = self.text
            if "arrow" in task:
                values = self.column
                if not self.ours:
                    values = values.to_numpy(zero_copy_only=False)
                    values = values if self.second else values.astype(self.text.dtype)
            array[:] = values
            return None
        path = self.target(task).with_suffix(".read")
        array = self.module.open_array(str(path), mode="r")
        if not task.startswith("arrow"):
            return array[:]
        if self.ours:
            return array.to_arrow()
        values = array[:]
        return self.pa.array(values if self.second else values.astype(object))

    def check(self, task: str, result: Any) -> None:
        if result is None:
            result = self.module.open_array(str(self.target(task)), mode="r")[:]
        found = result.tolist() if isinstance(result, np.ndarray) else result.to_pylist()
        if found != self.words:
            raise AssertionError(f"other strings than were written: {task}")

    def timed(self, task: str) -> float:
        gc.collect()
        start = time.perf_counter()
        result = self.run(task)
        seconds = time.perf_counter() - start
        self.check(task, result)
        return seconds


def work(name: str, folder: Path, count: int, chunk: int) -> None:
    worker = Strings(name, folder, count, chunk)
    version = worker.module.__version__
    serve(lambda task: version if task is None else worker.timed(task))


# -- asking them --------------------------------------------------------------------------------


def start(name: str, folder: Path, count: int, chunk: int) -> Worker:
    python = ROOT / WORKERS[name] / "bin" / "python"
    if not python.exists():
        raise SystemExit(f"{python.parent.parent} is not there; `make peers` makes it")
    environment = {"PYTHONPATH": str(ROOT / "src")}
    if "no native" in name:
        environment["OMNIZARR_NATIVE"] = "0"
    arguments = ("--work", name, str(folder), str(count), str(chunk))
    return Worker(str(python), Path(__file__), *arguments, environment=environment)


def measure(names: list[str], folder: Path, count: int, chunk: int, rounds: int) -> dict[str, Any]:
    workers = {name: start(name, folder, count, chunk) for name in names}
    try:
        versions = {name: worker.ask(None) for name, worker in workers.items()}
        best: dict[str, dict[str, float]] = {label: {} for label in ROWS}
        for label, task in ROWS.items():
            for round_ in range(rounds):
                for name in turns(names, round_):
                    if sys.stderr.isatty():
                        print(
                            f"\r\033[K{label}: {name}, round {round_ + 1}", end="", file=sys.stderr
                        )
                    seconds = workers[name].ask(task)
                    best[label][name] = min(seconds, best[label].get(name, seconds))
        if sys.stderr.isatty():
            print("\r\033[K", end="", file=sys.stderr)
        return {"versions": versions, "best": best}
    finally:
        for worker in workers.values():
            worker.stop()


def table(best: dict[str, dict[str, float]], names: list[str]) -> str:
    lines = []
    for label, figures in best.items():
        cells = [milliseconds(figures[name]) for name in names]
        cells += [ratio(figures[name], figures[names[0]]) for name in names[1:]]
        lines.append([label, *cells])
    return markdown(["milliseconds", *names, *(f"vs {name}" for name in names[1:])], lines)


def main() -> None:
    if sys.argv[1:2] == ["--work"]:
        name, folder, count, chunk = sys.argv[2:]
        work(name, Path(folder), int(count), int(chunk))
        return
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--strings", type=int, default=1_000_000)
    parser.add_argument("--chunk", type=int, default=100_000, help="strings in a chunk")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--json", type=Path, help="also write the figures to this file")
    options = parser.parse_args()
    names = list(WORKERS)
    with tempfile.TemporaryDirectory(dir=in_memory()) as folder:
        found = measure(names, Path(folder), options.strings, options.chunk, options.rounds)
    print(f"{options.strings:,} strings in chunks of {options.chunk:,}; {found['versions']}")
    print(table(found["best"], names))
    if options.json:
        options.json.write_text(json.dumps(found, indent=1))


if __name__ == "__main__":
    main()
