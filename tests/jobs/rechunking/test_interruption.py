"""Rechunking that stops in either pass: nothing looks complete that is not, and it goes on."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import textwrap
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import omnizarr as zarr
from omnizarr.errors import StoreError, ZarrError
from omnizarr.jobs import Progress, journal
from omnizarr.testing import FaultStore
from tests.jobs.conversion.support import values_of

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("free_requests")]

OPTIONS: dict[str, Any] = {"chunks": {"x": (1, 8), "y": (8, 1)}, "max_memory": 84, "workers": 1}


def sample(store: zarr.Store) -> None:
    root = zarr.open_group(store, mode="w", attributes={"a": 1})
    data = np.arange(64, dtype="u1").reshape(8, 8)
    root.create_array("x", data=data, chunks=(8, 1), compressors=None, fill_value=5)
    y = root.create_array("y", shape=(8, 8), dtype="u1", chunks=(1, 8), compressors=None)
    y[:4] = data[:4]


def opens(store: zarr.Store) -> bool:
    try:
        zarr.open(store, mode="r")
    except ZarrError:
        return False
    return True


def test_a_fault_at_every_call() -> None:
    source, expected = zarr.MemoryStore(), zarr.MemoryStore()
    sample(source)
    done = zarr.rechunk(source, expected, **OPTIONS)
    assert [len(row.rechunking.passes) for row in done.nodes[1:] if row.rechunking] == [2, 2]
    stops = resumed = 0
    for at in range(1, 2000):
        inside = zarr.MemoryStore()
        out = FaultStore(inside)
        out.fail("*", OSError("stop"), at=at)
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(journal, "SECONDS", 0.0)
            try:
                zarr.rechunk(source, out, **OPTIONS)
            except OSError:
                stops += 1
            else:
                break
        if opens(inside):
            assert {k: v for k, v in values_of(inside).items() if "omnizarr" not in k} == values_of(
                expected
            )
        resumed += zarr.rechunk(source, inside, **OPTIONS).resumed
        assert values_of(inside) == values_of(expected), f"stopped at call {at}"
    assert stops > 60 and resumed > 40


def half_way(source: zarr.Store, inside: zarr.Store, at: int, **options: Any) -> None:
    out = FaultStore(inside)
    out.fail("set", OSError("stop"), at=at)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(journal, "SECONDS", 0.0)
        with pytest.raises(OSError, match="stop"):
            zarr.rechunk(source, out, **{**OPTIONS, **options})


def between(store: zarr.Store) -> list[str]:
    return [key for key in store if ".omnizarr-rechunk" in key]


@pytest.mark.parametrize("at", [15, 25, 35])
def test_an_intermediate_array_that_was_removed_is_made_again(at: int) -> None:
    source, inside, expected = (zarr.MemoryStore() for _ in range(3))
    sample(source)
    zarr.rechunk(source, expected, **OPTIONS)
    half_way(source, inside, at)
    assert between(inside)
    for key in between(inside)[::2]:
        inside.delete(key)
    assert zarr.rechunk(source, inside, **OPTIONS).resumed
    assert values_of(inside) == values_of(expected)


def test_an_intermediate_chunk_that_vanishes_is_no_fill_value() -> None:
    source, inside, expected = (zarr.MemoryStore() for _ in range(3))
    sample(source)
    zarr.rechunk(source, expected, **OPTIONS)
    gone: list[str] = []

    def remove(progress: Progress) -> None:
        written = [key for key in inside if key.startswith("x/c/")]
        if written and not gone:
            gone.extend(between(inside))
            for key in gone:
                inside.delete(key)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("omnizarr.jobs.conversion.chunks.TASK_BYTES", 1)
        with pytest.raises(StoreError, match="intermediate array is gone"):
            zarr.rechunk(source, inside, progress=remove, **OPTIONS)
    assert gone
    zarr.rechunk(source, inside, overwrite=True, **OPTIONS)
    assert values_of(inside) == values_of(expected)


@pytest.mark.parametrize("option", [{"resume": False}, {"overwrite": True}])
def test_beginning_anew_removes_what_another_job_left(option: dict[str, Any]) -> None:
    source, inside, expected = (zarr.MemoryStore() for _ in range(3))
    sample(source)
    half_way(source, inside, 20)
    assert between(inside)
    zarr.rechunk(source, expected, chunks=3)
    zarr.rechunk(source, inside, chunks=3, **option)
    assert values_of(inside) == values_of(expected)


WORKER = textwrap.dedent("""
    import sys, time
    import omnizarr as zarr
    from omnizarr.jobs import journal
    from omnizarr.jobs.conversion import planning
    from omnizarr.jobs.rechunking import planner
    journal.SECONDS = 0.02
    planning.REQUEST = planner.TASK = 0
    class Slow(zarr.LocalStore):
        def set(self, key, value):
            time.sleep(0.001)
            super().set(key, value)
    print("ready", flush=True)
    zarr.rechunk(sys.argv[1], Slow(sys.argv[2]), chunks=(1, 100), max_memory=3_000)
    print("done", flush=True)
""")


def test_kill_and_go_on(tmp_path: Path) -> None:
    data = np.random.default_rng(5).integers(0, 99, (100, 100)).astype("u1")
    zarr.create_array(tmp_path / "in", data=data, chunks=(100, 1))
    done = zarr.rechunk(tmp_path / "in", tmp_path / "expected", chunks=(1, 100), max_memory=3_000)
    assert done.nodes[0].rechunking is not None and len(done.nodes[0].rechunking.passes) > 1
    out = zarr.LocalStore(tmp_path / "out")
    environment = {**os.environ, "PYTHONPATH": str(Path(zarr.__file__).parents[1])}
    killed = 0
    for turn in range(21):
        worker = subprocess.Popen(
            [sys.executable, "-c", WORKER, str(tmp_path / "in"), str(tmp_path / "out")],
            stdout=subprocess.PIPE, text=True, env=environment,
        )  # fmt: skip
        assert worker.stdout is not None
        with worker.stdout:
            assert worker.stdout.readline() == "ready\n"
            if turn < 20:  # the last one may finish, however slow the machine is
                time.sleep(0.03 * 1.4**turn)
                worker.send_signal(signal.SIGKILL)
            finished = worker.stdout.read() == "done\n"
        worker.wait()
        if finished:
            break
        killed += 1
        assert not opens(out) or np.array_equal(zarr.open_array(out, mode="r")[...], data)
    assert killed >= 3
    assert values_of(out) == values_of(zarr.LocalStore(tmp_path / "expected"))
