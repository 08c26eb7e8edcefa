"""Processes that overwrite, delete and recreate arrays beside processes that write and read them.

    python -m tests.campaigns.overwriters --seconds 60 [--seed N] [--json]

Every process writes its own number, into whole chunks or into the first half of one. A reader must
find chunks whose halves hold each one number that a process writes, or the fill value; or no node;
or a conflict. Everything else is a finding: a chunk that cannot be decoded, a half of two numbers,
a number that no process writes, an error of another kind, a process that hangs, a lock, a temporary
or a value of no bytes that is left at the end. Some overwriters are killed with SIGKILL;
after each of these, the array is whole or is not there.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import os
import random
import signal
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np

import omnizarr
from omnizarr.errors import ConflictError, NodeExistsError, NodeNotFoundError
from omnizarr.stores import LocalStore

LENGTH = 16
CHUNK = 8
FILL = 0
WRITERS = 2
LAYOUTS: tuple[dict[str, Any], ...] = (
    {"zarr_format": 2, "path": "flat"},
    {"zarr_format": 2, "path": "g/nested", "chunk_key_encoding": {"name": "v2", "separator": "/"}},
    {"zarr_format": 3, "path": "g/chunks"},
    {"zarr_format": 3, "path": "shards", "shards": (2 * CHUNK,)},
    {"zarr_format": 2, "path": ""},
)
EXPECTED = (NodeNotFoundError, NodeExistsError, ConflictError)
"""What may be said beside overwriters: no node, another process's node, changed meanwhile."""


def _create(root: str, layout: dict[str, Any], overwrite: bool) -> omnizarr.Array:
    options = {name: value for name, value in layout.items() if name != "path"}
    return omnizarr.create_array(
        LocalStore(root), name=layout["path"] or None, shape=(LENGTH,), chunks=(CHUNK,), dtype="i4",
        fill_value=FILL, overwrite=overwrite, **options,
    )  # fmt: skip


def _open(root: str, layout: dict[str, Any], mode: Any) -> omnizarr.Array:
    return omnizarr.open_array(LocalStore(root), path=layout["path"], mode=mode)


def _overwrite(root: str, layout: dict[str, Any], rng: random.Random, number: int) -> str:
    way = rng.choice(["overwrite", "overwrite", "delete", "mode w"])
    if way == "delete" and layout["path"]:
        group = omnizarr.open_group(LocalStore(root), mode="r+")
        del group[layout["path"]]
        array = _create(root, layout, overwrite=False)
    elif way == "mode w":
        _create(root, layout, overwrite=True)
        array = _open(root, layout, "r+")
    else:
        array = _create(root, layout, overwrite=True)
    if rng.random() < 0.5:
        array[:] = number
    return "overwritten"


def _write(root: str, layout: dict[str, Any], rng: random.Random, number: int) -> str:
    array = _open(root, layout, "r+")
    for _ in range(100):  # longer than the array lives
        start = rng.randrange(LENGTH // CHUNK) * CHUNK
        if rng.random() < 0.5:  # read, change and write back, under a lock
            array[start : start + CHUNK // 2] = number
        else:
            array[start : start + CHUNK] = number
    return "written"


def _read(root: str, layout: dict[str, Any], rng: random.Random, number: int) -> str:
    array = _open(root, layout, "r")
    for _ in range(20):
        for half in array[:].reshape(-1, CHUNK // 2):
            values = {int(value) for value in half}
            if len(values) > 1 or not values <= {FILL, *range(100, 102 + WRITERS)}:
                raise AssertionError(f"foreign values {values} in {layout}")
    return "read"


def _work(task: Any, root: str, layout: Any, seconds: float, seed: str, number: int) -> None:
    rng = random.Random(seed)
    end = time.monotonic() + seconds
    counts: Counter[str] = Counter()
    while time.monotonic() < end:
        try:
            counts[task(root, layout, rng, number)] += 1
        except EXPECTED as error:
            counts[type(error).__name__] += 1
        except Exception as error:
            counts[f"FINDING {type(error).__name__}: {error}"[:300]] += 1
    Path(root + f".{number}.{os.getpid()}.json").write_text(json.dumps(counts), encoding="utf-8")


def _kill_overwrites(root: str, layout: dict[str, Any], rng: random.Random) -> str:
    """Kill a process that overwrites a whole array; what is there then is whole, or not there."""
    array = _create(root, layout, overwrite=True)
    array[:] = 7
    child = multiprocessing.get_context("fork").Process(
        target=_create, args=(root, layout, True), daemon=True
    )
    child.start()
    time.sleep(0.2 * rng.random() ** 3)
    if child.pid is not None:
        os.kill(child.pid, signal.SIGKILL)
    child.join()
    try:
        found = _open(root, layout, "r")
    except NodeNotFoundError:
        return "killed: no array"
    values = found[:]
    if np.all(values == 7):
        return "killed: the old array"
    if np.all(values == FILL):
        chunks = [k for k in LocalStore(root).list_prefix(layout["path"] and layout["path"] + "/")
                  if k.rpartition("/")[2].isdigit()]  # fmt: skip
        return "killed: the new array" if not chunks else f"FINDING chunks of the old: {chunks}"
    return f"FINDING after a kill: {values.tolist()} in {layout}"


def _left(root: str) -> list[str]:
    """What must not be there when all have ended and `sweep` has been called."""
    LocalStore(root).sweep()
    found = []
    for folder, _, names in os.walk(root):
        for name in names:
            path = os.path.join(folder, name)
            if ".~" in path:
                found.append(f"FINDING left: {path}")
            elif os.path.getsize(path) == 0:
                found.append(f"FINDING an empty value: {path}")
    return found


def run(seconds: float, seed: int, quiet: bool = True) -> dict[str, int]:
    """How often each thing happened; those that begin with FINDING must not happen."""
    rng = random.Random(seed)
    counts: Counter[str] = Counter()
    context = multiprocessing.get_context("fork")
    end = time.monotonic() + seconds
    rounds = 0
    while time.monotonic() < end or rounds < 2:
        layout = LAYOUTS[rounds % len(LAYOUTS)]
        with tempfile.TemporaryDirectory() as folder:
            root = os.path.join(folder, "store")
            length = min(4.0, max(1.0, end - time.monotonic()))
            _create(root, layout, overwrite=True)
            tasks = [(_overwrite, 100), (_overwrite, 101), (_read, 99)]
            tasks += [(_write, 102 + number) for number in range(WRITERS)]
            workers = []
            for task, number in tasks:
                work = task, root, layout, length, f"{seed} {rounds} {number}", number
                workers.append(context.Process(target=_work, args=work, daemon=True))
            for worker in workers:
                worker.start()
            for worker in workers:
                worker.join(length + 60)
                if worker.is_alive():
                    counts["FINDING a process hangs"] += 1
                    worker.kill()
                elif worker.exitcode:
                    counts[f"FINDING a process ended with {worker.exitcode}"] += 1
            for file in Path(folder).glob("store.*.json"):
                counts.update(json.loads(file.read_text(encoding="utf-8")))
            counts.update(_left(root))
            for _ in range(4):
                counts[_kill_overwrites(root, layout, rng)] += 1
        rounds += 1
        if not quiet:
            print(f"round {rounds}: {dict(counts)}", file=sys.stderr, flush=True)
    return dict(counts)


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args(arguments)
    counts = run(options.seconds, options.seed, quiet=False)
    findings = {name: count for name, count in counts.items() if name.startswith("FINDING")}
    steps = sum(counts.values())
    if options.json:
        print(json.dumps({"steps": steps, "findings": findings, "counts": counts}))
    else:
        others = {name: count for name, count in counts.items() if name not in findings}
        print(f"{steps} steps, {sum(findings.values())} findings, {others}")
        for name, count in findings.items():
            print(f"{count} times: {name}")
    return 1 if findings else 0


if __name__ == "__main__":
    raise SystemExit(main())
