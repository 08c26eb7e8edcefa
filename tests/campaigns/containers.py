"""Damage containers and read them: `python -m tests.campaigns.containers --steps 5000`.

Each step makes one container (a ZIP archive, a database, a reference file), damages it in one
way, opens it and reads every node, then copies what it lists into memory and reads the copy: a key
that a listing leaves out is a chunk of fill values there. The outcomes:

    equal      everything reads as it was written
    raised     a typed error, and nothing that was returned is wrong
    silent     something differs without an error:
                   document   metadata or attributes, which have no checksum in most containers
                   fill       fill values in place of a stored chunk
                   moved      the values of another chunk
                   values     other values
                   vanished   a member that is not listed
                   extra      a member that was never written
    untyped    an error that is no `ZarrError`
    crash      the interpreter died
    hang       no answer within 30 s

A crash, a hang and an untyped error are findings. A silent difference is one unless `UNCOVERED`
says that the container has nothing that could reveal it (SECURITY.md tells users the same).
LMDB files are left out: they must be trusted. Steps run in subprocesses, so that a crash is seen.
`--worker` is such a subprocess.
"""

from __future__ import annotations

import argparse
import io
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import zipfile
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import omnizarr
from omnizarr.errors import ZarrError
from omnizarr.stores import (
    DBMStore,
    MemoryStore,
    ReferenceStore,
    SQLiteStore,
    Store,
    ZipStore,
)

BATCH = 100
PATIENCE = 30
CHUNK = 8
FILL = -1

KEYS_AND_DOCUMENTS = {"document", "fill", "moved", "vanished", "extra"}
UNCOVERED: dict[str, set[str]] = {
    "zip-stored": set(),
    "zip-deflated": set(),
    "zip-foreign": set(),
    "sqlite": {"document"},
    "dbm-dumb": KEYS_AND_DOCUMENTS,
    "dbm-gnu": KEYS_AND_DOCUMENTS,
    "references-json": KEYS_AND_DOCUMENTS,
    "references-parquet": KEYS_AND_DOCUMENTS,
}
"""What each container cannot reveal: it has neither checksums of documents nor a second copy of
its keys."""


# -- what is written --------------------------------------------------------------------------


def values(number: int) -> Any:
    """An array without two equal chunks, whatever the number."""
    return np.arange(5 * CHUNK, dtype="i4") * 7 + 1000 * number


def fill_store(store: Any, formats: tuple[int, ...] = (2, 3)) -> None:
    for version in formats:
        group = omnizarr.create_group(
            store, path=f"v{version}", zarr_format=version, attributes={"title": "made to break"}
        )
        for number, name in enumerate(("temperature", "salinity")):
            array = group.create_array(
                name, shape=(5 * CHUNK,), chunks=(CHUNK,), dtype="i4", fill_value=FILL
            )
            array[:] = values(number)
        sparse = group.create_array(
            "sparse", shape=(5 * CHUNK,), chunks=(CHUNK,), dtype="i4", fill_value=FILL
        )
        sparse[CHUNK : 2 * CHUNK] = values(2)[CHUNK : 2 * CHUNK]
        if version == 3:
            group.create_array(
                "shards", data=values(3), chunks=(CHUNK,), shards=(5 * CHUNK,), fill_value=FILL
            )


def expected(formats: tuple[int, ...]) -> dict[str, Any]:
    """The values of every array by its path."""
    found: dict[str, Any] = {}
    for version in formats:
        sparse = np.full(5 * CHUNK, FILL, "i4")
        sparse[CHUNK : 2 * CHUNK] = values(2)[CHUNK : 2 * CHUNK]
        found[f"v{version}/temperature"] = values(0)
        found[f"v{version}/salinity"] = values(1)
        found[f"v{version}/sparse"] = sparse
        if version == 3:
            found["v3/shards"] = values(3)
    return found


# -- containers -------------------------------------------------------------------------------
# `make(folder)` writes the container, `open_it(folder)` opens it for reading.


def _zip(compression: int) -> Callable[[Path], None]:
    def make(folder: Path) -> None:
        with ZipStore(folder / "x.zip", mode="w", compression=compression) as store:
            fill_store(store)

    return make


def _zip_foreign(folder: Path) -> None:
    memory = MemoryStore()
    fill_store(memory)
    with zipfile.ZipFile(folder / "x.zip", "w") as archive:
        for key in memory.list():
            archive.writestr(key, bytes(memory.get(key) or b""))


def _sqlite(folder: Path) -> None:
    with SQLiteStore(folder / "x.sqlite") as store:
        fill_store(store)


def _dbm(flavour: str) -> Callable[[Path], None]:
    def make(folder: Path) -> None:
        import importlib

        with DBMStore(folder / "x.dbm", open=importlib.import_module(flavour).open) as store:
            fill_store(store)
        for lock in folder.glob(".~*"):
            lock.unlink()

    return make


def _references_json(folder: Path) -> None:
    memory = MemoryStore()
    fill_store(memory)
    blob = io.BytesIO()
    references: dict[str, Any] = {}
    for key in memory.list():
        data = bytes(memory.get(key) or b"")
        if key.rpartition("/")[2].startswith((".z", "zarr.json")):
            references[key] = data.decode()
        else:
            references[key] = ["data.bin", blob.tell(), len(data)]
            blob.write(data)
    (folder / "data.bin").write_bytes(blob.getvalue())
    (folder / "x.json").write_text(json.dumps({"version": 1, "refs": references}))


def _references_parquet(folder: Path) -> None:
    import pyarrow
    import pyarrow.parquet

    memory = MemoryStore()
    fill_store(memory, (2,))
    blob = io.BytesIO()
    documents: dict[str, Any] = {}
    rows: dict[str, list[tuple[str | None, int, int]]] = {}
    for key in memory.list():
        data = bytes(memory.get(key) or b"")
        above, _, name = key.rpartition("/")
        if name.startswith(".z"):
            documents[key] = json.loads(data)
            continue
        table = rows.setdefault(above, [(None, 0, 0)] * 5)
        table[int(name)] = ("data.bin", blob.tell(), len(data))
        blob.write(data)
    root = folder / "x.parq"
    for above, table in rows.items():
        (root / above).mkdir(parents=True)
        path, offset, size = zip(*table, strict=True)
        pyarrow.parquet.write_table(
            pyarrow.table({"path": path, "offset": offset, "size": size, "raw": [None] * 5}),
            root / above / "refs.0.parq",
        )
    (folder / "data.bin").write_bytes(blob.getvalue())
    (root / ".zmetadata").write_text(json.dumps({"metadata": documents, "record_size": 5}))


def _open_parquet(folder: Path) -> Store:
    return ReferenceStore(str(folder / "x.parq"), allow_local=True)


MAKE: dict[str, Callable[[Path], None]] = {
    "zip-stored": _zip(0),
    "zip-deflated": _zip(8),
    "zip-foreign": _zip_foreign,
    "sqlite": _sqlite,
    "dbm-dumb": _dbm("dbm.dumb"),
    "dbm-gnu": _dbm("dbm.gnu"),
    "references-json": _references_json,
    "references-parquet": _references_parquet,
}


def open_it(kind: str, folder: Path) -> Store:
    if kind.startswith("zip"):
        return ZipStore(folder / "x.zip", mode="r")
    if kind == "sqlite":
        return SQLiteStore(folder / "x.sqlite", read_only=True)
    if kind.startswith("dbm"):
        return DBMStore(folder / "x.dbm", flag="r")
    name = "x.json" if kind == "references-json" else "x.parq"
    return ReferenceStore(str(folder / name), allow_local=True)


def kinds() -> list[str]:
    """The containers that this machine can make."""
    found = list(MAKE)
    for kind, module in (
        ("dbm-gnu", "dbm.gnu"),
        ("references-parquet", "pyarrow"),
    ):
        try:
            __import__(module)
        except ImportError:
            found.remove(kind)
    return found


# -- damage -----------------------------------------------------------------------------------


def damage(files: dict[str, bytes], keys: list[str], chance: random.Random) -> dict[str, bytes]:
    """One of the files, chosen by its size, damaged in one way."""
    names = [name for name in sorted(files) if files[name] and name != "data.bin"]
    name = chance.choices(names, [len(files[name]) for name in names])[0]
    data = bytearray(files[name])
    kind = chance.choice(("flip", "flip", "flip", "zero", "cut", "copy", "swap", "key", "key"))
    if kind == "key":
        places = []
        for key in chance.sample(keys, len(keys)):
            at = data.find(key.encode())
            while at >= 0:
                places.append((at, len(key)))
                at = data.find(key.encode(), at + 1)
            if places:
                break
        kind = "flip"
        if places:
            at, length = chance.choice(places)
            data[at + chance.randrange(length)] ^= 1 << chance.randrange(7)
            return {**files, name: bytes(data)}
    length = min(chance.choice((1, 2, 4, 16, 64, 512)), len(data))
    first, second = (chance.randrange(len(data) - length + 1) for _ in range(2))
    if kind == "flip":
        for _ in range(chance.randint(1, 3)):
            data[chance.randrange(len(data))] ^= 1 << chance.randrange(8)
    elif kind == "zero":
        data[first : first + length] = bytes(length)
    elif kind == "cut":
        del data[first:]
    elif kind == "copy":
        data[second : second + length] = data[first : first + length]
    else:
        one, two = bytes(data[first : first + length]), bytes(data[second : second + length])
        data[first : first + length] = two
        data[second : second + length] = one
    return {**files, name: bytes(data)}


def read_files(folder: Path) -> dict[str, bytes]:
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file()
    }


def write_files(folder: Path, files: dict[str, bytes]) -> None:
    for name, data in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(data)


# -- looking ----------------------------------------------------------------------------------


def look(store: Store, wanted: dict[str, Any], is_copy: bool = False) -> tuple[set[str], list[str]]:
    """The kinds of silent differences, and the typed errors."""
    silent: set[str] = set()
    errors: list[str] = []

    def attempt(function: Callable[[], None]) -> None:
        try:
            function()
        except ZarrError as error:
            errors.append(f"{type(error).__name__}: {error}")

    def group(path: str) -> None:
        found = omnizarr.open_group(store, path=path, mode="r")
        if dict(found.attrs) != {"title": "made to break"}:
            silent.add("document")
        names = {name for name, _ in found.members()}
        here = {name.partition("/")[2] for name in wanted if name.startswith(path + "/")}
        if here - names:
            silent.add("vanished")
        if names - here:
            silent.add("extra")

    def array(path: str) -> None:
        found = omnizarr.open_array(store, path=path, mode="r")
        right = wanted[path]
        same = found.shape == right.shape and found.dtype == right.dtype
        if not same or found.fill_value != FILL or found.chunks != (CHUNK,) or dict(found.attrs):
            silent.add("document")
            return
        for begin in range(0, len(right), CHUNK):
            attempt(lambda begin=begin: chunk(path, found, begin))  # type: ignore[misc]

    def chunk(path: str, found: Any, begin: int) -> None:
        got = found[begin : begin + CHUNK]
        if np.array_equal(got, wanted[path][begin : begin + CHUNK]):
            return
        others = [v[i : i + CHUNK] for v in wanted.values() for i in range(0, len(v), CHUNK)]
        if (got == FILL).all():
            silent.add("fill")
        elif any(np.array_equal(got, other) for other in others):
            silent.add("moved")
        else:
            silent.add("values")

    for path in sorted({name.partition("/")[0] for name in wanted}):
        attempt(lambda path=path: group(path))  # type: ignore[misc]
    for path in wanted:
        attempt(lambda path=path: array(path))  # type: ignore[misc]

    def copy(prefixes: list[str]) -> None:
        memory = MemoryStore()
        documents = [f"v{n}/{name}" for n in (2, 3) for name in (".zgroup", ".zattrs", "zarr.json")]
        for key in documents + [key for prefix in prefixes for key in store.list_prefix(prefix)]:
            value = store.get(key)
            if value is not None:
                memory.set(key, value)
        also_silent, also_errors = look(memory, wanted, is_copy=True)
        silent.update(also_silent)
        errors.extend(also_errors)

    if not is_copy:
        attempt(lambda: copy([""]))
        attempt(lambda: copy([f"{path}/" for path in wanted]))
    return silent, errors


def step(
    kind: str, files: dict[str, bytes], seed: int, number: int, folder: Path, keep: Path | None
) -> dict[str, Any]:
    chance = random.Random(f"{kind} {seed} {number}")
    formats = (2,) if kind == "references-parquet" else (2, 3)
    wanted = expected(formats)
    keys = [f"{path}/{rest}" for path in wanted for rest in ("0", "1", "c/0", "c/3", ".zarray")]
    folder.mkdir()
    write_files(folder, damage(files, keys, chance))
    silent: set[str] = set()
    errors: list[str] = []
    untyped = ""
    signal.alarm(PATIENCE)
    try:
        with open_it(kind, folder) as store:
            silent, errors = look(store, wanted)
    except ZarrError as error:
        errors = [f"{type(error).__name__}: {error}"]
    except Exception as error:
        untyped = f"{type(error).__name__}: {error}"
    finally:
        signal.alarm(0)
    outcome = "untyped" if untyped else "silent" if silent else "raised" if errors else "equal"
    if keep is not None and outcome in ("silent", "untyped"):
        shutil.copytree(folder, keep / f"{kind}-{seed}-{number}", dirs_exist_ok=True)
    shutil.rmtree(folder)
    return {
        "number": number,
        "outcome": outcome,
        "silent": sorted(silent),
        "error": untyped or (errors[0] if errors else ""),
    }


def work(kind: str, seed: int, first: int, last: int, keep: Path | None) -> None:
    """Do steps in this process and print one line for each."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "sound").mkdir()
        MAKE[kind](folder / "sound")
        files = read_files(folder / "sound")
        with open_it(kind, folder / "sound") as store:
            formats = (2,) if kind == "references-parquet" else (2, 3)
            assert look(store, expected(formats)) == (set(), []), "the sound container differs"
        for number in range(first, last):
            print(json.dumps(step(kind, files, seed, number, folder / str(number), keep)))
            sys.stdout.flush()


# -- the campaign -----------------------------------------------------------------------------


def batch(kind: str, seed: int, first: int, last: int, keep: str | None) -> list[dict[str, Any]]:
    """Do the steps in a subprocess; one that dies is started again after the step that ended it."""
    results: list[dict[str, Any]] = []
    while first < last:
        command = [
            sys.executable,
            "-m",
            __spec__.name if __spec__ else "tests.campaigns.containers",
        ]
        command += ["--worker", kind, str(seed), str(first), str(last)]
        done = subprocess.run(
            command + (["--keep", keep] if keep else []),
            capture_output=True,
            text=True,
            check=False,
            cwd=Path(__file__).parents[2],
        )
        lines = [json.loads(line) for line in done.stdout.splitlines() if line.endswith("}")]
        results += lines
        first += len(lines)
        if done.returncode and first < last:
            if done.returncode > 0:
                raise RuntimeError(f"{kind}, step {first}: {done.stderr[-2000:]}")
            outcome = "hang" if done.returncode == -signal.SIGALRM else "crash"
            error = f"signal {-done.returncode}"
            results.append({"number": first, "outcome": outcome, "silent": [], "error": error})
            first += 1
    return results


def is_finding(kind: str, result: dict[str, Any]) -> bool:
    if result["outcome"] == "silent":
        return bool(set(result["silent"]) - UNCOVERED[kind])
    return result["outcome"] in ("untyped", "crash", "hang")


def run(
    steps: int, seed: int, chosen: list[str], keep: str | None = None, progress: Any = None
) -> dict[str, Any]:
    """`steps` damaged containers of each chosen kind."""
    report: dict[str, Any] = {"steps": 0, "findings": [], "kinds": {}}
    for kind in chosen:
        outcomes: Counter[str] = Counter()
        for first in range(0, steps, BATCH):
            for result in batch(kind, seed, first, min(first + BATCH, steps), keep):
                report["steps"] += 1
                outcomes[result["outcome"]] += 1
                outcomes.update(f"silent: {what}" for what in result["silent"])
                if is_finding(kind, result):
                    report["findings"].append({"kind": kind, "seed": seed, **result})
        report["kinds"][kind] = dict(sorted(outcomes.items()))
        if progress is not None:
            print(f"{kind}: {report['kinds'][kind]}", file=progress, flush=True)
    return report


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description="damage containers and read them")
    parser.add_argument("--steps", type=int, default=1000, help="damaged containers of each kind")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--kinds", nargs="+", choices=list(MAKE), default=kinds())
    parser.add_argument("--keep", help="a folder for the containers that differ silently")
    parser.add_argument("--json", action="store_true", help="print the report as JSON")
    parser.add_argument("--worker", nargs=4, help=argparse.SUPPRESS)
    chosen = parser.parse_args(arguments)
    if chosen.worker:
        kind, seed, first, last = chosen.worker
        keep = Path(chosen.keep) if chosen.keep else None
        work(kind, int(seed), int(first), int(last), keep)
        return 0
    if chosen.keep:
        os.makedirs(chosen.keep, exist_ok=True)
    report = run(chosen.steps, chosen.seed, chosen.kinds, chosen.keep, sys.stderr)
    for finding in report["findings"]:
        print(json.dumps(finding), file=sys.stderr)
    if chosen.json:
        print(json.dumps(report))
    else:
        silent = sum(counts.get("silent", 0) for counts in report["kinds"].values())
        print(
            f"{report['steps']} steps, {len(report['findings'])} findings,"
            f" {silent} silent differences"
        )
    return 1 if report["findings"] else 0


if __name__ == "__main__":
    sys.exit(main())
