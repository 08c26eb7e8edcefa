"""`omnizarr chunks`: the map, the list, the totals."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import omnizarr as zarr
from tests.cli.conftest import Run
from tests.cli.showing.support import EVERY, one_array


@EVERY
def test_totals(run: Run, tmp_path: Path, zarr_format: Any) -> None:
    array = one_array(tmp_path / "a.zarr", zarr_format)
    found = run("chunks", tmp_path / "a.zarr", "--json").document
    assert [row["coordinates"] for row in found["stored"]] == [[0, 0], [0, 1], [2, 1]]
    for row in found["stored"]:
        assert row["bytes"] == array.chunk_store.size(row["key"])
        assert row["ratio"] == pytest.approx(16 / row["bytes"])
    sizes = [row["bytes"] for row in found["stored"]]
    assert found["bytes_stored"] == sum(sizes) and found["mean"] == sum(sizes) / 3
    assert (found["smallest"], found["largest"]) == (min(sizes), max(sizes))
    assert (found["stored_count"], found["possible_count"], found["missing_count"]) == (3, 6, 3)
    assert found["bytes"] == 48 and found["ratio"] == 48 / sum(sizes)
    assert found["unit"] == "chunk" and found["grid"] == [3, 2]


def test_the_map(run: Run, tmp_path: Path) -> None:
    array = zarr.create_array(
        tmp_path / "a.zarr", shape=(4, 400), chunks=(2, 100), dtype="u1", fill_value=0
    )
    array[:2] = 1
    array[2:, 300:] = np.random.default_rng(0).integers(0, 255, (2, 100))
    done = run("chunks", tmp_path / "a.zarr")
    assert "\n    ░░░░\n    ···█\n" in done.out and "chunks stored   5 of 8" in done.out
    assert "chunks: dimension 0 ↓ 2, dimension 1 → 4" in done.out
    by_ratio = run("chunks", tmp_path / "a.zarr", "--by", "ratio").out
    assert "\n    ████\n    ···░\n" in by_ratio and "ratio 0." in by_ratio


def test_lists(run: Run, tmp_path: Path) -> None:
    one_array(tmp_path / "a.zarr", 2)
    listed = [
        line.split() for line in run("chunks", tmp_path / "a.zarr", "--list").out.splitlines()
    ]
    assert [(line[3], line[4]) for line in listed] == [
        ("0,0", "0.0"),
        ("0,1", "0.1"),
        ("2,1", "2.1"),
    ]
    assert (
        run("chunks", tmp_path / "a.zarr", "--missing").out
        == "missing  1,0\nmissing  1,1\nmissing  2,0\n"
    )
    found = run("chunks", tmp_path / "a.zarr", "--missing", "--json").document
    assert found["missing"] == [[1, 0], [1, 1], [2, 0]] and "stored" not in found


def test_shards_and_partial_chunks(run: Run, tmp_path: Path) -> None:
    array = zarr.create_array(
        tmp_path / "s.zarr", shape=(70, 40), chunks=(8, 8), shards=(32, 40), dtype="u1"
    )
    array[64:] = 1
    found = run("chunks", tmp_path / "s.zarr", "--json").document
    assert (found["unit"], found["stored_count"], found["possible_count"]) == ("shard", 1, 3)
    assert found["bytes"] == 6 * 40 and found["stored"][0]["coordinates"] == [2, 0]
    assert "shards stored   1 of 3" in run("chunks", tmp_path / "s.zarr").out


def test_scalars_empty_arrays_and_text(run: Run, tmp_path: Path) -> None:
    zarr.create_array(tmp_path / "0.zarr", data=np.float64(2.5))
    assert "\n    █\n" in run("chunks", tmp_path / "0.zarr").out
    zarr.create_array(tmp_path / "e.zarr", shape=(0,), chunks=(3,), dtype="i4")
    assert "0 of 0" in run("chunks", tmp_path / "e.zarr").out
    zarr.create_array(tmp_path / "t.zarr", data=np.array(["a"], dtype=np.dtypes.StringDType()))
    found = run("chunks", tmp_path / "t.zarr", "--json").document
    assert found["ratio"] is None and found["stored"][0]["ratio"] is None
    zarr.create_array(tmp_path / "1.zarr", data=np.arange(1000), chunks=(2,))
    assert run("chunks", tmp_path / "1.zarr").out.count("█") > 1


def test_rectilinear_chunks(run: Run, tmp_path: Path) -> None:
    array = zarr.create_array(tmp_path / "r.zarr", shape=(6,), chunks=((1, 2, 3),), dtype="i4")
    array[1:] = 5
    found = run("chunks", tmp_path / "r.zarr", "--json").document
    assert [row["coordinates"] for row in found["stored"]] == [[1], [2]] and found["bytes"] == 20


def test_what_cannot_be_shown(run: Run, store: Path, tmp_path: Path) -> None:
    done = run("chunks", store)
    assert done.status == 2 and "a group has no chunks" in done.err
    zarr.create_array(tmp_path / "h.zarr", shape=(10**9, 10**9), chunks=(1, 1), dtype="i1")
    assert "0 of 1,000,000,000,000,000,000" in run("chunks", tmp_path / "h.zarr").out
    done = run("chunks", tmp_path / "h.zarr", "--missing")
    assert done.status == 2 and "too many to list" in done.err


def test_files_that_are_no_chunks(run: Run, tmp_path: Path) -> None:
    one_array(tmp_path / "a.zarr", 2)
    for name in ("9.9", "x.y", "0.0.0", "-1.0"):
        (tmp_path / "a.zarr" / name).write_bytes(b"x")
    assert run("chunks", tmp_path / "a.zarr", "--json").document["stored_count"] == 3
