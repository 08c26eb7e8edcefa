"""What we write, others read; what others write, we read.

The matrix of `interop_cases` against zarr-python 3, zarr-python 2.18.7 and tensorstore. Each peer
lives in an environment of its own below `.peers` (made by `make peers`) and
runs once per test over the whole list.
"""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import omnizarr as zarr
from tests.acceptance import interop_cases, interop_support
from tests.acceptance.fixtures import REPOSITORY
from tests.acceptance.interop_cases import BYTES, TEXT, Case

pytestmark = pytest.mark.peers

CASES = interop_cases.cases()
Summary = Callable[[str], None]


@dataclass(frozen=True)
class Peer:
    name: str
    environment: str
    library: str
    formats: tuple[int, ...]

    @property
    def python(self) -> Path:
        return REPOSITORY / ".peers" / self.environment / "bin" / "python"

    def cases(self) -> list[Case]:
        return [case for case in CASES if case["zarr_format"] in self.formats]


PEERS = [
    Peer("zarr-python 2", "zarr2", "zarr", (2,)),
    Peer("zarr-python 3", "zarr3", "zarr", (2, 3)),
    Peer("tensorstore", "zarr3", "tensorstore", (2, 3)),
]


def run_peer(peer: Peer, jobs: list[dict[str, Any]], folder: Path) -> dict[str, Any]:
    if not peer.python.exists():
        pytest.fail(f"{peer.python} does not exist: run `make peers`")
    (folder / "jobs.json").write_text(json.dumps(jobs))
    script = Path(__file__).with_name("peer.py")
    command = [peer.python, script, folder / "jobs.json", folder / "results.json"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, cwd=folder)
    assert done.returncode == 0, f"{peer.name} failed:\n{done.stderr[-4000:]}"
    results: dict[str, Any] = json.loads((folder / "results.json").read_text())
    return results


# -- this library ---------------------------------------------------------------------------------
def write(store: str, case: Case) -> None:
    dtype: Any = interop_cases.numpy_dtype(case)
    options: dict[str, Any] = {}
    if case["zarr_format"] == 2:
        options["compressor"] = case["compressor"] and zarr.get_codec(dict(case["compressor"]))
        chain = [zarr.get_codec(dict(one)) for one in case["filters"] or []]
        options["order"] = case["order"]
        options["dimension_separator"] = case["separator"]
        if case["dtype"] in (TEXT, BYTES):
            options["object_codec"] = chain[0]
        else:
            options["filters"] = chain or None
    else:
        if case["dtype"] == TEXT:
            dtype = str
        elif case["dtype"] == BYTES:
            dtype = "variable_length_bytes"
        options["codecs"] = case["codecs"]
        options["chunk_key_encoding"] = {
            "name": case["key_encoding"],
            "separator": case["separator"],
        }
    array = zarr.create(
        shape=tuple(case["shape"]),
        chunks=tuple(case["chunks"]),
        dtype=dtype,
        fill_value=interop_cases.fill(case),
        store=store,
        zarr_format=case["zarr_format"],
        **options,
    )
    if case["written"] != "none":
        array[interop_cases.region(case)] = interop_cases.values(case)[interop_cases.region(case)]


def read(store: str) -> np.ndarray[Any, Any]:
    return np.asarray(zarr.open(store, mode="r")[...])


def difference(case: Case, actual: np.ndarray[Any, Any]) -> str | None:
    expected = interop_cases.expected(case)
    if actual.shape != expected.shape:
        return f"shape {actual.shape}, expected {expected.shape}"
    if expected.dtype == object:
        if [*map(_plain, actual.ravel())] == expected.ravel().tolist():
            return None
        return f"{actual.ravel().tolist()[:8]}, expected {expected.ravel().tolist()[:8]}"
    same = expected.dtype.newbyteorder("<")
    if actual.dtype.newbyteorder("<") != same:
        return f"dtype {actual.dtype}, expected {expected.dtype}"
    if actual.astype(same).tobytes() != expected.astype(same).tobytes():
        return f"{actual.ravel()[:8]}, expected {expected.ravel()[:8]}"
    return None


def _plain(item: Any) -> Any:
    return bytes(item) if isinstance(item, np.bytes_) else item


def result_of(out: Path) -> np.ndarray[Any, Any]:
    if (text := out.with_name(out.name + ".json")).exists():
        document = json.loads(text.read_text())
        result = np.empty(len(document["items"]), dtype=object)
        for number, item in enumerate(document["items"]):
            result[number] = item if isinstance(item, str) else bytes.fromhex(item["bytes"])
        return result.reshape(document["shape"])
    loaded: np.ndarray[Any, Any] = np.load(out.with_name(out.name + ".npy"))
    return loaded


class Tally:
    """Counts outcomes and remembers what must be reported."""

    def __init__(self, peer: Peer, action: str) -> None:
        self.peer, self.action = peer, action
        self.ok, self.unsupported = 0, 0
        self.wrong: list[str] = []

    def add(self, case: Case, outcome: str | None, excuse: str | None) -> None:
        if excuse is None and outcome is None:
            self.ok += 1
        elif excuse is not None and outcome is not None:
            self.unsupported += 1
        elif excuse is not None:
            self.wrong.append(f"{case['name']}: works now, but is listed as: {excuse}")
        else:
            self.wrong.append(f"{case['name']}: {outcome}")

    def finish(self, summary: Summary, version: str) -> None:
        total = self.ok + self.unsupported + len(self.wrong)
        summary(
            f"interop: {self.peer.name} {version} {self.action}: {total} cases, {self.ok} ok, "
            f"{self.unsupported} that the peer does not support, {len(self.wrong)} wrong"
        )
        assert not self.wrong, f"{len(self.wrong)} of {total}:\n" + "\n".join(self.wrong)


def test_we_read_ours(tmp_path: Path, summary: Summary) -> None:
    wrong = []
    for number, case in enumerate(CASES):
        store = str(tmp_path / str(number))
        try:
            write(store, case)
            outcome = difference(case, read(store))
        except Exception as error:  # the outcome is the test's data
            outcome = f"{type(error).__name__}: {error}"
        if outcome:
            wrong.append(f"{case['name']}: {outcome}")
    summary(f"interop: our own round trip: {len(CASES)} cases, {len(CASES) - len(wrong)} ok")
    assert not wrong, f"{len(wrong)} of {len(CASES)}:\n" + "\n".join(wrong)


@pytest.mark.parametrize("peer", PEERS, ids=lambda peer: peer.name)
def test_they_read_ours(peer: Peer, tmp_path: Path, summary: Summary) -> None:
    jobs, failed = [], {}
    for number, case in enumerate(peer.cases()):
        store = str(tmp_path / f"{number}.zarr")
        try:
            write(store, case)
        except Exception as error:  # the outcome is the test's data
            failed[case["name"]] = f"we could not write it: {type(error).__name__}: {error}"
        jobs.append(
            {
                "do": "read",
                "library": peer.library,
                "store": store,
                "case": case,
                "out": str(tmp_path / f"{number}.out"),
            }
        )
    results = run_peer(peer, jobs, tmp_path)
    version = results["versions"][peer.library]
    tally = Tally(peer, "reads ours")
    for job, outcome in zip(jobs, results["outcomes"], strict=True):
        case = job["case"]
        found = failed.get(case["name"], outcome)
        if found is None:
            found = difference(case, result_of(Path(job["out"])))
        excuse = interop_support.reason(peer.name, version, "read", case["name"])
        tally.add(case, found, excuse)
    tally.finish(summary, version)


@pytest.mark.parametrize("peer", PEERS, ids=lambda peer: peer.name)
def test_we_read_theirs(peer: Peer, tmp_path: Path, summary: Summary) -> None:
    jobs = [
        {
            "do": "write",
            "library": peer.library,
            "store": str(tmp_path / f"{number}.zarr"),
            "case": case,
        }
        for number, case in enumerate(peer.cases())
    ]
    results = run_peer(peer, jobs, tmp_path)
    version = results["versions"][peer.library]
    tally = Tally(peer, "is read by us")
    for job, outcome in zip(jobs, results["outcomes"], strict=True):
        case = job["case"]
        excuse = interop_support.reason(peer.name, version, "write", case["name"])
        if outcome is not None:
            tally.add(case, f"the peer could not write it: {outcome}", excuse)
            continue
        try:
            found = difference(case, read(job["store"]))
        except Exception as error:  # the outcome is the test's data
            found = f"{type(error).__name__}: {error}"
        tally.add(case, found, excuse)
    tally.finish(summary, version)


# -- defaults and hierarchies ---------------------------------------------------------------------
DEFAULTS = [
    {**interop_cases.LAYOUTS[layout], "dtype": dtype, "fill": 0, "written": "all"}
    | {"zarr_format": version, "shards": shards, "name": f"v{version}-{dtype}-{layout}-{shards}"}
    for version in (2, 3)
    for dtype in ("|b1", "<i2", "<f4", "<f8", "<c16", "|u1")
    for layout, shards in (("0d", None), ("1d", None), ("2d", None), ("3d", None), ("2d", [6, 8]))
    if version == 3 or shards is None
]


@pytest.mark.parametrize("peer", PEERS, ids=lambda peer: peer.name)
def test_they_read_our_defaults(peer: Peer, tmp_path: Path, summary: Summary) -> None:
    """Nothing is said about codecs: what we choose by ourselves must be readable everywhere."""
    jobs = []
    for number, case in enumerate(DEFAULTS):
        if case["zarr_format"] not in peer.formats:
            continue
        job = {"do": "read", "library": peer.library, "case": case}
        job["store"], job["out"] = str(tmp_path / f"{number}.zarr"), str(tmp_path / f"{number}.out")
        jobs.append(job)
        array = zarr.create_array(
            store=job["store"],
            shape=tuple(case["shape"]),
            chunks=tuple(case["chunks"]),
            shards=case["shards"] and tuple(case["shards"]),
            dtype=case["dtype"],
            zarr_format=case["zarr_format"],
        )
        array[...] = interop_cases.values(case)
    results = run_peer(peer, jobs, tmp_path)
    tally = Tally(peer, "reads our defaults")
    for job, outcome in zip(jobs, results["outcomes"], strict=True):
        found = outcome or difference(job["case"], result_of(Path(job["out"])))
        tally.add(job["case"], found, None)
    tally.finish(summary, results["versions"][peer.library])


@pytest.mark.parametrize(
    ("peer", "version"), [(peer, version) for peer in PEERS[:2] for version in peer.formats]
)
def test_they_walk_our_hierarchy(peer: Peer, version: int, tmp_path: Path) -> None:
    store = str(tmp_path / "tree.zarr")
    root = zarr.open_group(store, mode="w", zarr_format=version)
    root.attrs["title"] = "Klima"
    expected = {"": {"attributes": {"title": "Klima"}}}
    for path in ("a", "a/b", "c"):
        group = root.require_group(path)
        group.attrs.update({"path": path, "list": [1, 2.5, None, {"x": "y"}]})
        expected[path] = {"attributes": {"path": path, "list": [1, 2.5, None, {"x": "y"}]}}
        array = group.create_array("data", shape=(4, 3), chunks=(2, 2), dtype="i4")
        array[...] = np.arange(12).reshape(4, 3)
        array.attrs["units"] = "K"
        expected[f"{path}/data"] = {"attributes": {"units": "K"}, "shape": [4, 3], "sum": 66.0}
    zarr.consolidate_metadata(store)
    job = {"do": "tree", "library": "zarr", "store": store, "out": str(tmp_path / "tree")}
    results = run_peer(peer, [job], tmp_path)
    assert results["outcomes"] == [None]
    found = json.loads((tmp_path / "tree.json").read_text())
    assert found["plain"] == expected
    assert found["consolidated"] == expected
