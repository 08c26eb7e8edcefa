"""Runs the cases through a peer, in both directions, in one process of it."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from omnizarr.stores import MemoryStore
from tests.acceptance import type_ours, type_peer, type_values
from tests.acceptance.fixtures import REPOSITORY
from tests.acceptance.type_cases import N5, C, Case, Format, cases

Job = dict[str, Any]


@dataclass(frozen=True)
class Peer:
    name: str
    environment: str
    package: str
    reads: tuple[Format, ...]
    writes: tuple[Format, ...]

    @property
    def folder(self) -> Path:
        return REPOSITORY / ".peers" / self.environment

    @property
    def there(self) -> bool:
        return (self.folder / ".stamp").exists()


PEERS = {
    peer.name: peer
    for peer in (
        Peer("zarr 0.4", "zarr0", "zarr", (0,), (0,)),
        Peer("zarr 1.1", "zarr1", "zarr", (1,), (1,)),
        Peer("zarr-python 2", "zarr2", "zarr", (2, C, N5), (2, C, N5)),
        Peer("zarr-python 3", "zarr3", "zarr", (2, 3), (2, 3)),
        Peer("tensorstore", "zarr3", "tensorstore", (2, 3, N5), (2, 3, N5)),
        Peer("zarrs", "zarr3", "zarrista", (2, 3), (3,)),
        Peer("zarrita.js", "zarrita", "zarrita", (2, 3), (3,)),
        Peer("z5", "z5py", "z5py", (N5,), (N5,)),
    )
}  # fmt: skip


@dataclass(frozen=True)
class Exchange:
    """One array that went from one library to the other."""

    peer: str
    action: str
    """"read": the peer reads ours; "write": we read the peer's."""
    name: str
    case: Case
    zarr_format: Format
    outcome: str | None
    """What went wrong; None if all is well."""


def exchange(
    peer: Peer, folder: Path, holds: Callable[[Case, Format], bool]
) -> tuple[dict[str, str], list[Exchange]]:
    """Everything between us and a peer: its versions, and what came of each array."""
    asked: list[tuple[str, str, Format, str]] = []
    for action, formats in (("read", peer.reads), ("write", peer.writes)):
        for zarr_format in formats:
            for name, case in cases().items():
                if holds(case, zarr_format):
                    suffix = N5 if zarr_format == N5 else "zarr"
                    store = str(folder / f"{len(asked)}.{suffix}")
                    asked.append((action, name, zarr_format, store))
                    if action == "read":
                        _lay_out(name, zarr_format, Path(store))
    runner = {"zarr 0.4": _old, "zarr 1.1": _old, "zarrita.js": _node}.get(peer.name, _python)
    versions, outcomes = runner(peer, folder, asked)
    done = []
    for (action, name, zarr_format, store), outcome in zip(asked, outcomes, strict=True):
        case = cases()[name]
        problem = outcome.get("error") or _compare(action, case, zarr_format, store, outcome)
        done.append(Exchange(peer.name, action, name, case, zarr_format, problem))
    return versions, done


@cache
def _ours(name: str, zarr_format: Format) -> dict[str, bytes]:
    """A case as we store it."""
    store = MemoryStore()
    type_ours.write(store, cases()[name], zarr_format)
    return {key: bytes(store.get(key) or b"") for key in store.list()}


def _lay_out(name: str, zarr_format: Format, folder: Path) -> None:
    for key, data in _ours(name, zarr_format).items():
        path = folder / key
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)


def _compare(action: str, case: Case, zarr_format: Format, store: str, outcome: Job) -> str | None:
    wanted = type_values.expected(case)
    if action == "read":
        found = outcome["found"]
        if "items" in found and wanted.dtype.kind in "US":  # a peer that makes text of it
            texts = [item if isinstance(item, str) else None for item in wanted.ravel().tolist()]
            return type_values.difference({"shape": list(case.shape), "items": texts}, found)
        return type_values.difference(type_values.dump(wanted), found)
    try:
        found = type_values.dump(type_ours.read(store, case, zarr_format))
    except Exception as error:  # the outcome is the test's data
        return f"we cannot read it: {type(error).__name__}: {error}"
    problem = type_values.difference(type_values.dump(wanted), found)
    return problem and f"we read it, but it {problem}"


# -- processes ------------------------------------------------------------------------------------
def _finish(command: list[Any], folder: Path, peer: Peer) -> Job:
    environment = {
        **os.environ,
        "PYTHONPATH": str(REPOSITORY),
        "ZARR_V3_EXPERIMENTAL_API": "1",
        "PYTHONDONTWRITEBYTECODE": "1",
    }
    done = subprocess.run(
        [*map(str, command)],
        capture_output=True,
        text=True,
        timeout=300,
        cwd=folder,
        env=environment,
    )
    assert done.returncode == 0, f"{peer.name} failed:\n{done.stderr[-4000:]}"
    results: Job = json.loads((folder / "results.json").read_text())
    return results


def _python(peer: Peer, folder: Path, asked: Any) -> tuple[dict[str, str], list[Job]]:
    jobs = [
        {"do": action, "library": peer.name, "case": name, "format": zarr_format, "store": store}
        for action, name, zarr_format, store in asked
    ]
    (folder / "jobs.json").write_text(json.dumps(jobs))
    python = peer.folder / "bin" / "python"
    module = "tests.acceptance.type_peer"
    command = [python, "-m", module, folder / "jobs.json", folder / "results.json"]
    results = _finish(command, folder, peer)
    return results["versions"], results["outcomes"]


def _node(peer: Peer, folder: Path, asked: Any) -> tuple[dict[str, str], list[Job]]:
    jobs = []
    for action, name, zarr_format, store in asked:
        job: Job = {"do": action, "store": store, "format": zarr_format}
        if action == "write":
            case = cases()[name]
            job["metadata"] = type_peer.v3_metadata(case)
            job["regions"] = [*_regions(case)]
        jobs.append(job)
    (folder / "jobs.json").write_text(json.dumps(jobs))
    script = Path(__file__).with_name("type_peer.mjs")
    command = ["node", script, peer.folder, folder / "jobs.json", folder / "results.json"]
    results = _finish(command, folder, peer)
    return results["versions"], results["outcomes"]


def _regions(case: Case) -> Iterator[Job]:
    data = type_values.values(case)
    for region in case.written:
        part = data[region]
        place = [[one.start, one.stop] for one in region]
        job: Job = {"selection": place, "shape": list(part.shape)}
        if part.dtype.hasobject:
            job["items"] = [
                one if isinstance(one, str) else [*one] for one in part.ravel().tolist()
            ]
        else:
            job["bits"] = type_values.bits(part).hex()
        yield job


def _old(peer: Peer, folder: Path, asked: Any) -> tuple[dict[str, str], list[Job]]:
    """The script of the old releases: it writes one region at a time."""
    jobs: list[Job] = []
    counts = []
    for number, (action, name, _, store) in enumerate(asked):
        before = len(jobs)
        case = cases()[name]
        if action == "read":
            jobs.append({"do": "read", "store": store, "out": str(folder / f"{number}.out")})
        else:
            values = folder / f"{number}.npy"
            np.save(values, type_values.values(case))
            regions = [[[one.start, one.stop] for one in region] for region in case.written]
            arguments = {
                "shape": case.shape,
                "chunks": case.chunks,
                "dtype": case.type.v2,
                "fill_value": _old_fill(case),
            }
            job = {"store": store, "values": str(values), "attributes": {}}
            jobs.append({**job, "do": "write", "arguments": arguments, "region": regions[0]})
            jobs += [{**job, "do": "change", "region": region} for region in regions[1:]]
        counts.append(len(jobs) - before)
    (folder / "jobs.json").write_text(json.dumps(jobs))
    script = Path(__file__).with_name("old_release.py")
    python = peer.folder / "bin" / "python"
    command = [python, script, folder / "jobs.json", folder / "results.json"]
    results = _finish(command, folder, peer)
    outcomes: list[Job] = []
    rest = iter(results["outcomes"])
    for number, ((action, *_), count) in enumerate(zip(asked, counts, strict=True)):
        errors = [error for error in (next(rest) for _ in range(count)) if error is not None]
        if errors:
            outcomes.append({"error": errors[0]})
        elif action == "read":
            array = np.load(folder / f"{number}.out.npy")
            outcomes.append({"found": type_values.dump(array)})
        else:
            outcomes.append({})
    return {"zarr": results["version"]}, outcomes


def _old_fill(case: Case) -> Any:
    """A fill value as their users gave it: a number or text."""
    value = type_values.fill(case)
    if isinstance(value, bytes):
        return value.decode()
    if isinstance(value, np.void):
        return 0
    if isinstance(value, np.complexfloating):
        return float(value.real)
    if isinstance(value, np.datetime64 | np.timedelta64):
        return int(value.view("i8"))
    return value.item() if isinstance(value, np.generic) else value
