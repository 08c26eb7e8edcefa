"""No update lost, no chunk torn: threads, processes, kill -9, fork, Ctrl-C, a full disk."""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import omnizarr as zarr
from tests.acceptance import processes

pytestmark = pytest.mark.slow

WORKER = "concurrency_worker.py"
Summary = Callable[[str], None]

LAYOUTS: dict[str, dict[str, Any]] = {
    "chunk of format 2": {"chunks": (64,), "zarr_format": 2},
    "chunk of format 3": {"chunks": (64,), "zarr_format": 3},
    "shard": {"chunks": (16,), "shards": (64,), "zarr_format": 3},
    "shard, one inner chunk": {"chunks": (64,), "shards": (64,), "zarr_format": 3},
}


@pytest.mark.parametrize("layout", LAYOUTS)
def test_two_processes_update_halves(layout: str, tmp_path: Path, summary: Summary) -> None:
    store = tmp_path / "a.zarr"
    array = zarr.create_array(
        store=str(store), shape=(64,), dtype="i4", fill_value=0, **LAYOUTS[layout]
    )
    times = 1000
    jobs: list[tuple[object, ...]] = [("halves", store, side, times) for side in ("first", "last")]
    results = processes.together(WORKER, jobs, tmp_path / "go")
    lost = sum(result["lost"] for result in results)
    summary(f"concurrency: halves of one {layout}, {times} writes each: {lost} lost")
    assert [result["errors"] for result in results] == [0, 0]
    assert lost == 0
    assert array[:].tolist() == [times] * 64
    keys = {key for key in zarr.storage.LocalStore(str(store)).list() if "zarr" not in key}
    assert len([key for key in keys if not key.startswith(".z")]) == 1, keys


@pytest.mark.parametrize("ways", ["core core", "core python", "python core"])
@pytest.mark.parametrize("part", ["whole", "second"])
@pytest.mark.parametrize("shards", [None, (64,)])
def test_a_new_chunk_meets_a_change_of_it(
    shards: tuple[int, ...] | None, part: str, ways: str, tmp_path: Path, summary: Summary
) -> None:
    """One process writes chunks that are absent, whole or one half, the other one a half."""
    count = 1500
    array = zarr.create_array(
        tmp_path / "a.zarr", shape=(64 * count,), chunks=(16 if shards else 64,), shards=shards,
        dtype="i4", fill_value=0, compressors=None,
    )  # fmt: skip
    meeting = tmp_path / "meeting"
    meeting.write_bytes(bytes(16))
    jobs: list[tuple[object, ...]] = [
        ("new_chunks", tmp_path / "a.zarr", part, way, meeting)
        for part, way in zip((part, "first"), ways.split(), strict=True)
    ]
    processes.together(WORKER, jobs, tmp_path / "go")
    values = array[:].reshape(count, 2, 32)
    lost = int((values[:, 1] != 1).any(axis=1).sum())
    may_be_over = (1, 2) if part == "whole" else (2,)
    lost += int((~np.isin(values[:, 0], may_be_over)).any(axis=1).sum())
    summary(f"concurrency: {count} new chunks ({part}) and changes of them, {ways}: {lost} lost")
    assert lost == 0
    assert (values[:, 0] == values[:, 0, :1]).all()
    assert (values[:, 0] == 2).any()
    assert not list((tmp_path / "a.zarr").rglob(".~*"))


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("kind", ["memory", "local", "dict"])
def test_threads_update_eighths(layout: str, kind: str, tmp_path: Path) -> None:
    """Each thread through an array object of its own: locks belong to the place, not the object."""
    store: Any = {
        "memory": zarr.storage.MemoryStore(),
        "local": str(tmp_path / "a.zarr"),
        "dict": {},
    }[kind]
    zarr.create_array(store=store, shape=(64,), dtype="i4", fill_value=0, **LAYOUTS[layout])
    problems: list[str] = []
    barrier = threading.Barrier(8)

    def work(number: int) -> None:
        own = slice(number * 8, number * 8 + 8)
        try:
            array = zarr.open_array(store, mode="r+")
            barrier.wait()
            for value in range(1, 101):
                array[own] = value
                if (array[own] != value).any():
                    problems.append(f"thread {number} lost {value}")
        except Exception as error:  # must reach the test
            problems.append(f"thread {number}: {error!r}")

    threads = [threading.Thread(target=work, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert problems == []
    assert zarr.open_array(store, mode="r")[:].tolist() == [100] * 64


@pytest.mark.parametrize("version", [2, 3])
@pytest.mark.parametrize("kind", ["array", "group"])
def test_two_processes_set_attributes(version: int, kind: str, tmp_path: Path) -> None:
    store = tmp_path / "a.zarr"
    if kind == "array":
        zarr.create_array(store=str(store), shape=(4,), dtype="i4", zarr_format=version)
    else:
        zarr.create_group(store=str(store), zarr_format=version)
    times = 150
    jobs: list[tuple[object, ...]] = [("attributes", store, side, times) for side in "ab"]
    processes.together(WORKER, jobs, tmp_path / "go")
    found = zarr.open(str(store), mode="r").attrs.asdict()
    assert found == {f"{side}-{number}": number for side in "ab" for number in range(times)}


def test_two_processes_append(tmp_path: Path) -> None:
    store = tmp_path / "a.zarr"
    array = zarr.create_array(store=str(store), shape=(0,), chunks=(7,), dtype="i8", fill_value=-1)
    jobs: list[tuple[object, ...]] = [("appends", store, side, 50) for side in (1, 2)]
    processes.together(WORKER, jobs, tmp_path / "go")
    array = zarr.open_array(str(store), mode="r")
    assert array.shape == (300,)
    values = array[:].reshape(100, 3)
    assert (values == values[:, :1]).all(), "two appends overlap"
    expected = [side * 10_000 + number for side in (1, 2) for number in range(50)]
    assert sorted(values[:, 0].tolist()) == expected


def _kills(tmp_path: Path, summary: Summary, times: int) -> None:
    result = processes.run(WORKER, "kills", tmp_path / "a.zarr", times, 5, timeout=900)
    summary(
        f"concurrency: {times} kill -9 during writes: {len(result['torn'])} torn, "
        f"{result['hidden files']} leftovers, none of them listed"
    )
    assert result["torn"] == []
    assert result["new keys"] == []
    assert result["rounds that wrote"] > times // 2, "most writers were killed before they wrote"


def test_kill_during_writes(tmp_path: Path, summary: Summary) -> None:
    _kills(tmp_path, summary, 200)


@pytest.mark.long
def test_many_kills_during_writes(tmp_path: Path, summary: Summary) -> None:
    _kills(tmp_path, summary, 5000)


@pytest.mark.parametrize("shards", [None, (4000,)])
def test_fork_after_use(shards: tuple[int, ...] | None, tmp_path: Path) -> None:
    store = tmp_path / "a.zarr"
    array = zarr.create_array(
        store=str(store), shape=(400_000,), chunks=(1000,), shards=shards, dtype="f8"
    )
    array[:] = np.random.default_rng(0).random(400_000)
    result = processes.run(WORKER, "forks", store, 20)
    assert result == {"bad": [], "parent": True}


@pytest.mark.parametrize("kind", ["slow store", "read", "write"])
def test_interrupt(kind: str) -> None:
    result = processes.run(WORKER, "interrupt", kind)
    assert result["latency"] is not None, "KeyboardInterrupt never came"
    assert result["latency"] < 0.5
    assert result["usable"]


@pytest.mark.parametrize("version", [2, 3, "shard"])
@pytest.mark.parametrize("kind", ["whole", "part"])
def test_full_disk(version: Any, kind: str, tmp_path: Path) -> None:
    store = tmp_path / "a.zarr"
    layout: dict[str, Any] = {"chunks": (100_000,), "zarr_format": version}
    if version == "shard":
        layout = {"chunks": (10_000,), "shards": (100_000,), "zarr_format": 3}
    array = zarr.create_array(store=str(store), shape=(100_000,), dtype="i8", **layout)
    array[:] = np.arange(100_000)
    before = processes.snapshot(store)
    result = processes.run(WORKER, "full_disk", store, kind)
    assert result["error"] is not None, "the write was silent about the full disk"
    assert "OSError" in result["error"], result
    assert processes.snapshot(store) == before
    assert (zarr.open_array(str(store), mode="r")[:] == np.arange(100_000)).all()
