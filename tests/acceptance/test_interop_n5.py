"""What we write as N5, others read; what they write, we read.

The matrix of `n5_peer` against tensorstore, zarr-python 2.18.7 (both of its N5 stores) and z5,
each in its own environment below `.peers` (made by `make peers`, also by `make test-all`).
"""

from __future__ import annotations

import json
import re
import subprocess
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import omnizarr as zarr
from tests.acceptance import n5_peer
from tests.acceptance.fixtures import REPOSITORY
from tests.acceptance.n5_peer import Array, Case

pytestmark = pytest.mark.peers

Summary = Callable[[str], None]


@dataclass(frozen=True)
class Peer:
    library: str
    environment: str
    cannot_read: dict[str, str]
    """Patterns of case names, with the reason. Such a case must fail in the peer: the test also
    fails when it starts to work, so that the list only shrinks."""
    cannot_write: dict[str, str]

    @property
    def python(self) -> Path:
        return REPOSITORY / ".peers" / self.environment / "bin" / "python"


NO_LZ4 = {"-LZ4-": "has no lz4 of N5"}
OWN_LZ4 = {"-LZ4-(java|z5)": "has numcodecs' lz4 only"}
PEERS = [
    Peer("tensorstore", "zarr3", NO_LZ4, NO_LZ4),
    Peer("zarr N5Store", "z5py", OWN_LZ4, OWN_LZ4),
    Peer("zarr N5FSStore", "z5py", OWN_LZ4, OWN_LZ4),
    Peer(
        "z5py",
        "z5py",
        {"-0d-": "no arrays without dimensions", "-LZ4-(java|numcodecs)": "has its own lz4 only"},
        {
            "-0d-": "no arrays without dimensions",
            "-empty-": "cannot create one",
            "-zlib-": "writes gzip only",
            "-LZ4-(java|numcodecs)": "has its own lz4 only",
        },
    ),
]
BY_NAME = pytest.mark.parametrize("peer", PEERS, ids=lambda peer: peer.library)


def excuse(patterns: dict[str, str], case: Case) -> str | None:
    return next((why for text, why in patterns.items() if re.search(text, case["name"])), None)


def run_peer(peer: Peer, jobs: list[dict[str, Any]], folder: Path) -> list[str | None]:
    if not peer.python.exists():
        pytest.fail(f"{peer.python} does not exist: run `make peers`")
    (folder / "jobs.json").write_text(json.dumps(jobs))
    script = Path(__file__).with_name("n5_peer.py")
    command = [peer.python, script, folder / "jobs.json", folder / "results.json"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, cwd=folder)
    assert done.returncode == 0, f"{peer.library} failed:\n{done.stderr[-4000:]}"
    outcomes: list[str | None] = json.loads((folder / "results.json").read_text())["outcomes"]
    return outcomes


def codec_of(compression: dict[str, Any]) -> Any:
    """What a user of ours gives as `compressors=` for a compression of N5."""
    given = dict(compression)
    match given.pop("type"):
        case "raw":
            return None
        case "gzip":
            return {"id": "zlib" if given["useZlib"] else "gzip", "level": given["level"]}
        case "bzip2":
            return {"id": "bz2", "level": given["blockSize"]}
        case "xz":
            return {"id": "lzma", "preset": given["preset"]}
        case "lz4" if "blockSize" in given:
            return {"name": "n5_lz4", "configuration": given}
        case name:
            return {"id": name, **given}


def write(store: str, case: Case) -> None:
    parent, name = store.rsplit("/", 1)
    array = zarr.create_array(
        parent,
        name=name,
        shape=tuple(case["shape"]),
        chunks=tuple(case["chunks"]) or "auto",
        dtype=case["dtype"],
        compressors=codec_of(case["compression"]),
        zarr_format=case.get("zarr_format", "n5"),
    )
    array[n5_peer.region(case)] = n5_peer.values(case)[n5_peer.region(case)]


def difference(case: Case, actual: Array) -> str | None:
    wanted = n5_peer.expected(case)
    if (actual.shape, actual.dtype) != (wanted.shape, wanted.dtype):
        return f"{actual.dtype} {actual.shape}, expected {wanted.dtype} {wanted.shape}"
    if actual.tobytes() != wanted.tobytes():
        return f"{actual.ravel()[:8]}, expected {wanted.ravel()[:8]}"
    return None


def attempt(function: Callable[[], str | None]) -> str | None:
    try:
        return function()
    except Exception as error:  # the outcome is the test's data
        return f"{type(error).__name__}: {error}"


def finish(peer: Peer, action: str, outcomes: list[tuple[Case, str | None, str | None]]) -> str:
    """A line of figures; AssertionError if anything is not as expected."""
    wrong = [f"{case['name']}: {found}" for case, found, why in outcomes if found and not why]
    wrong += [
        f"{case['name']}: works now, but is listed as: {why}"
        for case, found, why in outcomes
        if why and not found
    ]
    ok = sum(not found and not why for _, found, why in outcomes)
    total = len(outcomes)
    assert not wrong, f"{peer.library} {action}: {len(wrong)} of {total}:\n" + "\n".join(wrong)
    return (
        f"interop: N5: {peer.library} {action}: {total} cases, {ok} ok, {total - ok} that the peer"
        " does not support"
    )


def test_we_read_ours(tmp_path: Path) -> None:
    def once(store: str, case: Case) -> str | None:
        write(store, case)
        array = zarr.open(store, mode="r")
        assert array.zarr_format == "n5"
        document = json.loads((Path(store) / "attributes.json").read_text())
        assert document["compression"] == case["compression"]
        return difference(case, np.asarray(array[...]))

    cases = n5_peer.cases()
    outcomes = [
        (case["name"], attempt(lambda c=case, n=n: once(f"{tmp_path}/{n}", c)))  # type: ignore[misc]
        for n, case in enumerate(cases)
    ]
    wrong = [f"{name}: {found}" for name, found in outcomes if found]
    assert not wrong, f"{len(wrong)} of {len(cases)}:\n" + "\n".join(wrong)


@BY_NAME
def test_they_read_ours(peer: Peer, tmp_path: Path, summary: Summary) -> None:
    jobs = []
    for number, case in enumerate(n5_peer.cases()):
        # zarr-python opens a dataset only as the root of its own store, which must say `n5`.
        store = str(tmp_path / (f"{number}.n5" if peer.library != "z5py" else f"all.n5/{number}"))
        job = {"do": "read", "library": peer.library, "case": case}
        jobs.append({**job, "store": store, "out": str(tmp_path / str(number))})
        if peer.library == "z5py":
            write(store, case)
        else:
            write_root(store, case)
    outcomes = []
    for job, found in zip(jobs, run_peer(peer, jobs, tmp_path), strict=True):
        case = job["case"]
        if found is None:
            found = difference(case, np.load(job["out"] + ".npy"))
        outcomes.append((case, found, excuse(peer.cannot_read, case)))
    summary(finish(peer, "reads ours", outcomes))


def write_root(store: str, case: Case) -> None:
    array = zarr.create_array(
        store,
        shape=tuple(case["shape"]),
        chunks=tuple(case["chunks"]) or "auto",
        dtype=case["dtype"],
        compressors=codec_of(case["compression"]),
        zarr_format="n5",
    )
    array[n5_peer.region(case)] = n5_peer.values(case)[n5_peer.region(case)]


@BY_NAME
def test_we_read_theirs(peer: Peer, tmp_path: Path, summary: Summary) -> None:
    jobs = []
    for number, case in enumerate(n5_peer.cases()):
        store = str(tmp_path / (f"{number}.n5" if peer.library != "z5py" else f"all.n5/{number}"))
        jobs.append({"do": "write", "library": peer.library, "store": store, "case": case})
    outcomes = []
    for job, failure in zip(jobs, run_peer(peer, jobs, tmp_path), strict=True):
        case = job["case"]

        def read(store: str = job["store"], case: Case = case) -> str | None:
            array = zarr.open(store, mode="r")
            assert array.zarr_format == "n5"
            return difference(case, np.asarray(array[...]))

        found = f"the peer could not write it: {failure}" if failure else attempt(read)
        outcomes.append((case, found, excuse(peer.cannot_write, case)))
    summary(finish(peer, "is read by us", outcomes))


# -- format 2, which z5 has as well ------------------------------------------------------------
Z5 = Peer("z5py", "z5py", {}, {"-empty-": "cannot create one"})


def test_z5_reads_our_format_2(tmp_path: Path, summary: Summary) -> None:
    jobs = []
    for number, case in enumerate(n5_peer.second_cases()):
        store = str(tmp_path / f"all.zarr/{number}")
        write(store, case)
        job = {"do": "read", "library": "z5py", "store": store, "case": case}
        jobs.append({**job, "out": str(tmp_path / str(number))})
    outcomes = []
    for job, found in zip(jobs, run_peer(Z5, jobs, tmp_path), strict=True):
        case = job["case"]
        found = found or difference(case, np.load(job["out"] + ".npy"))
        outcomes.append((case, found, excuse(Z5.cannot_read, case)))
    summary(finish(Z5, "reads our format 2", outcomes))


def test_we_read_format_2_of_z5(tmp_path: Path, summary: Summary) -> None:
    jobs = [
        {"do": "write", "library": "z5py", "store": str(tmp_path / f"all.zarr/{n}"), "case": case}
        for n, case in enumerate(n5_peer.second_cases())
    ]
    outcomes = []
    for job, failure in zip(jobs, run_peer(Z5, jobs, tmp_path), strict=True):
        case: Any = job["case"]

        def read(store: Any = job["store"], case: Case = case) -> str | None:
            return difference(case, np.asarray(zarr.open_array(store, mode="r")[...]))

        found = f"the peer could not write it: {failure}" if failure else attempt(read)
        outcomes.append((case, found, excuse(Z5.cannot_write, case)))
    summary(finish(Z5, "writes format 2, read by us", outcomes))


# -- hierarchies ----------------------------------------------------------------------------------
def our_tree(store: str) -> dict[str, Any]:
    nodes: dict[str, Any] = {}

    def visit(group: zarr.Group) -> None:
        nodes[group.path] = dict(group.attrs)
        for _, child in group.arrays():
            nodes[child.path] = [dict(child.attrs), np.asarray(child[...]).tolist()]
        for _, child in group.groups():
            visit(child)

    visit(zarr.open_group(store, mode="r"))
    return nodes


@pytest.mark.parametrize("peer", PEERS[1:], ids=lambda peer: peer.library)
def test_they_walk_our_hierarchy(peer: Peer, tmp_path: Path) -> None:
    store = str(tmp_path / "tree.n5")
    root = zarr.open_group(store, mode="w", zarr_format="n5")
    n5_peer.fill_tree(
        root, lambda group, name, data: group.create_array(name, data=data, chunks=(2, 2))
    )
    assert our_tree(store) == n5_peer.tree()
    job = {"do": "tree", "library": peer.library, "store": store, "out": str(tmp_path / "tree")}
    assert run_peer(peer, [job], tmp_path) == [None]
    assert json.loads((tmp_path / "tree.json").read_text()) == n5_peer.tree()


@pytest.mark.parametrize("peer", PEERS[1:], ids=lambda peer: peer.library)
def test_we_walk_their_hierarchy(peer: Peer, tmp_path: Path) -> None:
    store = str(tmp_path / "tree.n5")
    job = {"do": "make tree", "library": peer.library, "store": store}
    assert run_peer(peer, [job], tmp_path) == [None]
    assert our_tree(store) == n5_peer.tree()


def test_they_open_ours_after_a_change(tmp_path: Path) -> None:
    """Blocks of the old edge lie inside the array once it has grown."""
    case = {**n5_peer.cases()[0], "name": "grown", "shape": [9, 8], "dtype": "int32"}
    store = str(tmp_path / "grown.n5")
    array = zarr.create_array(store, shape=(7, 5), chunks=(3, 2), dtype="int32", zarr_format="n5")
    array[...] = n5_peer.values(case)[:7, :5]
    array.resize((9, 8))
    array.attrs["title"] = "grown"
    array[7:] = n5_peer.values(case)[7:]
    array[:, 5:] = n5_peer.values(case)[:, 5:]
    for number, peer in enumerate(PEERS[:3]):
        job = {"do": "read", "library": peer.library, "store": store, "case": case}
        out = str(tmp_path / str(number))
        assert run_peer(peer, [{**job, "out": out}], tmp_path) == [None]
        assert difference({**case, "written": "all"}, np.load(out + ".npy")) is None
