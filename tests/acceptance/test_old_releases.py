"""Formats 0 and 1 beside the releases that wrote them: zarr 0.4 and zarr 1.1.

Where `make peers` could build the releases, each reads what omnizarr writes, changes it, and writes
what omnizarr reads, in one process per release. Where it could not, that part is skipped with the
reason, and what they wrote long ago stands in: the documents of the fixtures must come out byte by
byte, and their chunks must read.
"""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import omnizarr
from tests.acceptance import fixtures, old_cases
from tests.acceptance.old_cases import Case

pytestmark = pytest.mark.peers

WORKER = Path(__file__).with_name("old_release.py")
PEERS = {0: "zarr0", 1: "zarr1"}
VERSIONS = {0: "0.4.0", 1: "1.1.0"}
CASES = {0: old_cases.format_0(), 1: old_cases.format_1()}
DOCUMENTS = {0: ("__zmeta__", "__zattr__"), 1: ("meta", "attrs")}


def python_of(zarr_format: int) -> Path | None:
    path = fixtures.REPOSITORY / ".peers" / PEERS[zarr_format] / "bin" / "python"
    return path if path.exists() else None


def run(zarr_format: int, jobs: list[dict[str, Any]], folder: Path) -> list[str | None]:
    """All jobs in one process of the release."""
    python = python_of(zarr_format)
    if python is None:
        pytest.skip(
            f"zarr {VERSIONS[zarr_format]} WAS NOT ASKED: .peers/{PEERS[zarr_format]} is not there"
            " (make peers needs an old Python and a C compiler); the fixtures' bytes stand in"
        )
    (folder / "jobs.json").write_text(json.dumps(jobs))
    command = [python, WORKER, folder / "jobs.json", folder / "results.json"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr[-3000:]
    # zarr 0 prints what goes wrong inside a chunk, and goes on.
    assert "Error" not in done.stderr, done.stderr[-3000:]
    results = json.loads((folder / "results.json").read_text())
    assert results["version"] == VERSIONS[zarr_format]
    outcomes: list[str | None] = results["outcomes"]
    return outcomes


def write(case: Case, store: Path, zarr_format: int) -> omnizarr.Array:
    arguments = {**case.arguments, "dtype": case.numpy}
    array = omnizarr.open(str(store), mode="w", zarr_format=zarr_format, **arguments)
    assert isinstance(array, omnizarr.Array)
    if case.attributes:
        array.attrs.update(case.attributes)
    if case.written is not None:
        array[case.slices] = case.values()[case.slices]
    return array


def same(one: np.ndarray[Any, Any], two: np.ndarray[Any, Any]) -> bool:
    return one.shape == two.shape and one.dtype == two.dtype and one.tobytes() == two.tobytes()


@dataclass(frozen=True)
class Exchange:
    """The path of each case, and its description."""

    case: Case
    ours: Path
    theirs: Path
    job: dict[str, Any]


def exchanges(zarr_format: int, folder: Path, do: str) -> list[Exchange]:
    found = []
    for number, case in enumerate(CASES[zarr_format]):
        place = folder / str(number)
        place.mkdir()
        ours, theirs, out = place / "ours.zarr", place / "theirs.zarr", place / "out"
        job: dict[str, Any] = {"do": do, "out": str(out)}
        if do == "write":
            np.save(place / "values.npy", case.values())
            job |= {
                "store": str(theirs), "arguments": case.arguments, "region": case.written,
                "values": str(place / "values.npy"), "attributes": case.attributes,
            }  # fmt: skip
        else:
            job["store"] = str(ours)
        found.append(Exchange(case, ours, theirs, job))
    return found


@pytest.mark.parametrize("zarr_format", [0, 1])
def test_the_release_reads_what_omnizarr_writes(
    zarr_format: int, tmp_path: Path, summary: Callable[[str], None]
) -> None:
    all_of_them = [
        exchange
        for exchange in exchanges(zarr_format, tmp_path, "read")
        if not exchange.case.theirs_alone
    ]
    for exchange in all_of_them:
        write(exchange.case, exchange.ours, zarr_format)
    outcomes = run(zarr_format, [exchange.job for exchange in all_of_them], tmp_path)
    for exchange, outcome in zip(all_of_them, outcomes, strict=True):
        case, out = exchange.case, exchange.job["out"]
        assert outcome is None, f"{case.name}: {outcome}"
        facts = json.loads(Path(out + ".json").read_text())
        assert tuple(facts["shape"]) == case.shape, case.name
        assert tuple(facts["chunks"]) == case.chunks, case.name
        assert facts["attributes"] == case.attributes, case.name
        if 0 not in case.shape:
            assert same(np.load(out + ".npy"), case.expected()), case.name
    summary(f"old releases: zarr {VERSIONS[zarr_format]} read {len(outcomes)} arrays of ours")


@pytest.mark.parametrize("zarr_format", [0, 1])
def test_omnizarr_reads_what_the_release_writes(
    zarr_format: int, tmp_path: Path, summary: Callable[[str], None]
) -> None:
    all_of_them = exchanges(zarr_format, tmp_path, "write")
    outcomes = run(zarr_format, [exchange.job for exchange in all_of_them], tmp_path)
    for exchange, outcome in zip(all_of_them, outcomes, strict=True):
        case = exchange.case
        assert outcome is None, f"{case.name}: {outcome}"
        array = omnizarr.open(str(exchange.theirs), mode="r")
        assert isinstance(array, omnizarr.Array)
        assert array.metadata.zarr_format == zarr_format
        assert array.attrs.asdict() == case.attributes, case.name
        assert same(array[...], case.expected()), case.name
        if not case.theirs_alone:
            write(case, exchange.ours, zarr_format)
            for name in DOCUMENTS[zarr_format]:
                assert _text(exchange.ours / name) == _text(exchange.theirs / name), case.name
    summary(f"old releases: zarr {VERSIONS[zarr_format]} wrote {len(outcomes)} arrays for us")


def _text(file: Path) -> str | None:
    return file.read_text() if file.exists() else None


@pytest.mark.parametrize("zarr_format", [0, 1])
def test_the_release_changes_what_omnizarr_wrote(zarr_format: int, tmp_path: Path) -> None:
    codec = {0: {"cname": "lz4"}, 1: {"compression": "zlib"}}[zarr_format]
    case = Case("changed", "<i4", (20, 13), (6, 5), codec, 7, region=((0, 8), (0, 8)))
    empty = Case("appended to", "<i4", (0, 3), (2, 2), codec, 7, region=None)
    array = write(case, tmp_path / "changed", zarr_format)
    write(empty, tmp_path / "appended", zarr_format)
    other = case.values(5)
    np.save(tmp_path / "values.npy", other)
    rows = np.arange(15, dtype="<i4").reshape(5, 3)
    np.save(tmp_path / "rows.npy", rows)
    jobs = [
        {"do": "change", "store": str(tmp_path / "changed"), "region": [[4, 17], [3, 13]],
         "values": str(tmp_path / "values.npy")},
        {"do": "append", "store": str(tmp_path / "appended"), "values": str(tmp_path / "rows.npy")},
    ]  # fmt: skip
    assert run(zarr_format, jobs, tmp_path) == [None, None]
    expected = case.expected()
    expected[4:17, 3:13] = other[4:17, 3:13]
    assert np.array_equal(array[...], expected)
    again = omnizarr.open(str(tmp_path / "changed"), mode="r+")
    assert again.attrs["changed by"] == VERSIONS[zarr_format]
    appended = omnizarr.open(str(tmp_path / "appended"), mode="r+")
    assert isinstance(appended, omnizarr.Array)
    assert np.array_equal(appended[...], rows)
    # And back: what is changed here is read there.
    appended.append(rows)
    appended.attrs["n"] = 1
    job = {"do": "read", "store": str(tmp_path / "appended"), "out": str(tmp_path / "out")}
    assert run(zarr_format, [job], tmp_path) == [None]
    assert np.array_equal(np.load(tmp_path / "out.npy"), np.vstack([rows, rows]))
    assert json.loads((tmp_path / "out.json").read_text())["attributes"] == {"n": 1}


# -- what they wrote long ago ---------------------------------------------------------------------

SOURCES = {0: "zarr-0.4.0", 1: "zarr-1.1.0"}
EXPECTED_STORES = {0: 43, 1: 54}
NOT_WRITTEN = ("snappy", "zstd")


@cache
def stores(zarr_format: int) -> list[Path]:
    root = fixtures.unpacked(SOURCES[zarr_format]) / SOURCES[zarr_format]
    return sorted(root.glob("*.zarr"))


@pytest.mark.parametrize("zarr_format", [0, 1])
def test_documents_are_those_of_the_release(
    zarr_format: int, tmp_path: Path, summary: Callable[[str], None]
) -> None:
    compared = refused = 0
    for golden in stores(zarr_format):
        meta, attributes = (_text(golden / name) for name in DOCUMENTS[zarr_format])
        assert meta is not None
        arguments = json.loads(meta)
        arguments.pop("zarr_format", None)
        arguments["dtype"] = Case("", arguments["dtype"], (), ()).numpy
        given = json.loads(attributes) if attributes else {}
        store = tmp_path / golden.name
        options = arguments.get("compression_opts")
        cname = options.get("cname") if isinstance(options, dict) else arguments.get("cname")
        if cname in NOT_WRITTEN:
            with pytest.raises(omnizarr.errors.UnsupportedError, match=cname) as refusal:
                omnizarr.open(str(store), mode="w", zarr_format=zarr_format, **arguments)
            assert refusal.value.what == "codecs"
            refused += 1
            continue
        array = omnizarr.open(str(store), mode="w", zarr_format=zarr_format, **arguments)
        if given:
            array.attrs.update(given)
        assert _text(store / DOCUMENTS[zarr_format][0]) == meta, golden.name
        assert _text(store / DOCUMENTS[zarr_format][1]) == attributes, golden.name
        compared += 1
    assert compared + refused == EXPECTED_STORES[zarr_format]
    assert refused == {0: 3, 1: 2}[zarr_format]
    summary(f"old releases: {compared} documents of {SOURCES[zarr_format]} come out byte by byte")


@pytest.mark.parametrize("zarr_format", [0, 1])
def test_an_unchanged_document_is_rewritten_unchanged(zarr_format: int, tmp_path: Path) -> None:
    import shutil

    for golden in stores(zarr_format):
        store = tmp_path / golden.name
        shutil.copytree(golden, store)
        before = _text(store / DOCUMENTS[zarr_format][0])
        array = omnizarr.open(str(store), mode="r+")
        assert isinstance(array, omnizarr.Array)
        array.resize(array.shape)
        array.attrs["one more"] = 1
        assert _text(store / DOCUMENTS[zarr_format][0]) == before, golden.name
