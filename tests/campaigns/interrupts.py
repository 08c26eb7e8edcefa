"""Press Ctrl-C while stores are written: `python -m tests.campaigns.interrupts --steps 300`.

Each step forks a child that writes two arrays in a loop without end, and sends it SIGINT at a
random moment. The child must end by KeyboardInterrupt, and every chunk must then hold one whole
write. The findings:

    lost       the child went on, or hung, for 20 s
    replaced   another exception came out in place of KeyboardInterrupt, and not from Python's own
               `threading`, whose locks raise a RuntimeError where they are interrupted
    torn       a chunk is missing, mixed or cannot be read
"""

from __future__ import annotations

import argparse
import faulthandler
import json
import os
import random
import signal
import sys
import tempfile
import threading
import time
import traceback
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import omnizarr
from omnizarr.stores import LocalStore, SQLiteStore, Store, ZipStore

PATIENCE = 20.0
FILL = -1
SMALL, LARGE = (8, 8), (256, 128)  # chunks; the large ones are written by threads, and at once


def _arrays(store: Store) -> list[Any]:
    return [omnizarr.open_array(store, path=name, mode="r+") for name in ("small", "large")]


def _create(store: Store) -> None:
    for name, chunk in (("small", SMALL), ("large", LARGE)):
        omnizarr.create_array(
            store,
            name=name,
            shape=(2 * chunk[0], 2 * chunk[1]),
            chunks=chunk,
            dtype="i4",
            fill_value=FILL,
            compressors=None,
        )[:] = 0


def _closed_each_time(folder: Path) -> None:
    number = 0
    while True:
        number += 1
        with ZipStore(folder / "x.zip", mode="a") as store:
            for array in _arrays(store):
                array[:] = number


def _dropped_each_time(folder: Path) -> None:
    """The store is closed when it is collected."""
    number = 0
    while True:
        number += 1
        arrays = _arrays(ZipStore(folder / "x.zip", mode="a"))
        for array in arrays:
            array[:] = number
        del array, arrays


def _flushed(folder: Path) -> None:
    number = 0
    with ZipStore(folder / "x.zip", mode="a") as store:
        arrays = _arrays(store)
        while True:
            number += 1
            for array in arrays:
                array[:] = number
            store.flush()


def _kept_open(store: Store) -> None:
    number = 0
    arrays = _arrays(store)
    while True:
        number += 1
        for array in arrays:
            array[:] = number


def _local(folder: Path) -> None:
    _kept_open(LocalStore(folder / "x"))


def _sqlite(folder: Path) -> None:
    with SQLiteStore(folder / "x.sqlite") as store:
        _kept_open(store)


def _open_zip(folder: Path) -> Store:
    return ZipStore(folder / "x.zip")


WORK: dict[str, tuple[Callable[[Path], None], Callable[[Path], Store]]] = {
    "zip-closed": (_closed_each_time, _open_zip),
    "zip-dropped": (_dropped_each_time, _open_zip),
    "zip-flushed": (_flushed, _open_zip),
    "local": (_local, lambda folder: LocalStore(folder / "x")),
    "sqlite": (_sqlite, lambda folder: SQLiteStore(folder / "x.sqlite")),
}


def _child(work: Callable[[Path], None], folder: Path, ready: int) -> None:
    """Never returns. Exits with 130 after KeyboardInterrupt; writes down any other exception."""
    code = 1
    try:
        os.dup2(os.open(folder / "stacks", os.O_WRONLY | os.O_CREAT), 2)
        faulthandler.register(signal.SIGUSR1)
        # A process in the background has Ctrl-C ignored.
        signal.signal(signal.SIGINT, signal.default_int_handler)
        try:
            os.write(ready, b"1")
            work(folder)
        except KeyboardInterrupt:
            code = 130
        except BaseException as error:
            code = 130 if _is_of_threading(error) else 1
            (folder / "error").write_text(traceback.format_exc())
    finally:
        os._exit(code)


def _is_of_threading(error: BaseException) -> bool:
    """Whether Python's `threading` raised it in place of KeyboardInterrupt."""
    last = traceback.extract_tb(error.__traceback__)[-1]
    return isinstance(error.__context__, KeyboardInterrupt) and last.filename == threading.__file__


def _problem(store: Store) -> str:
    """What is wrong with a chunk; empty if nothing is."""
    for array, chunk in zip(_arrays(store), (SMALL, LARGE), strict=True):
        for row in range(2):
            for column in range(2):
                part = array.blocks[row, column]
                if part.shape != chunk or part.min() != part.max() or part.min() == FILL:
                    return f"{array.path} {row, column}: {part.min()} to {part.max()}"
    return ""


def step(kind: str, moment: float) -> tuple[str, str]:
    """The outcome of one Ctrl-C after so many seconds."""
    work, open_it = WORK[kind]
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        with open_it(folder) as store:
            _create(store)
        get, put = os.pipe()
        child = os.fork()
        if child == 0:
            _child(work, folder, put)
        os.close(put)
        os.read(get, 1)
        os.close(get)
        time.sleep(moment)
        os.kill(child, signal.SIGINT)
        deadline = time.monotonic() + PATIENCE
        ended, status = 0, 0
        while not ended and time.monotonic() < deadline:
            time.sleep(0.002)
            ended, status = os.waitpid(child, os.WNOHANG)
        if not ended:
            os.kill(child, signal.SIGUSR1)
            time.sleep(0.2)
            os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)
            return "lost", (folder / "stacks").read_text()
        if os.waitstatus_to_exitcode(status) != 130:
            error = folder / "error"
            return "replaced", error.read_text() if error.exists() else str(status)
        try:
            with open_it(folder) as store:
                problem = _problem(store)
        except Exception as error:
            problem = repr(error)
        return ("torn", problem) if problem else ("ended", "")


def run(steps: int, seed: int, chosen: list[str], progress: Any = None) -> dict[str, Any]:
    """`steps` interrupts of each chosen kind."""
    report: dict[str, Any] = {"steps": 0, "findings": [], "kinds": {}}
    chance = random.Random(seed)
    for kind in chosen:
        outcomes: Counter[str] = Counter()
        for number in range(steps):
            outcome, what = step(kind, chance.random() * 0.1)
            report["steps"] += 1
            outcomes[outcome] += 1
            if outcome != "ended":
                finding = {"kind": kind, "number": number, "outcome": outcome, "what": what}
                report["findings"].append(finding)
        report["kinds"][kind] = dict(outcomes)
        if progress is not None:
            print(f"{kind}: {dict(outcomes)}", file=progress, flush=True)
    return report


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description="press Ctrl-C while stores are written")
    parser.add_argument("--steps", type=int, default=100, help="interrupts of each kind")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--kinds", nargs="+", choices=list(WORK), default=list(WORK))
    parser.add_argument("--json", action="store_true", help="print the report as JSON")
    chosen = parser.parse_args(arguments)
    report = run(chosen.steps, chosen.seed, chosen.kinds, sys.stderr)
    for finding in report["findings"]:
        print(json.dumps(finding), file=sys.stderr)
    if chosen.json:
        print(json.dumps(report))
    else:
        print(f"{report['steps']} steps, {len(report['findings'])} findings")
    return 1 if report["findings"] else 0


if __name__ == "__main__":
    sys.exit(main())
