"""Conversions that stop half-way: nothing looks complete that is not, and the same call goes on."""

from __future__ import annotations

import json
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
from omnizarr.errors import NodeExistsError, ZarrError
from omnizarr.jobs import Progress, journal
from omnizarr.jobs.conversion.plan import JOURNAL
from omnizarr.testing import CountingStore, FaultStore
from tests.jobs.conversion.support import described, hierarchy, values_of

pytestmark = pytest.mark.slow

OPTIONS: list[dict[str, Any]] = [{}, {"compressors": "gzip"}]


class OneByOne(FaultStore):
    """A store that cannot remove many keys at once."""

    delete_prefix = zarr.Store.delete_prefix


def opens(store: zarr.Store) -> bool:
    try:
        zarr.open(store, mode="r")
    except ZarrError:
        return False
    return True


@pytest.mark.parametrize("target", [3, "3-draft2020-10", "n5"])
@pytest.mark.parametrize("options", OPTIONS, ids=["copy", "encode"])
def test_a_fault_at_every_write(target: int | str, options: dict[str, Any]) -> None:
    """Wherever it stops, the destination is no node, and going on gives the same bytes."""
    store, expected = zarr.MemoryStore(), zarr.MemoryStore()
    if target == "n5":
        root = zarr.open_group(store, mode="w", zarr_format=2, attributes={"a": 1})
        root.create_array("x", data=np.arange(30).reshape(5, 6), chunks=(2, 3), compressors="gzip")
        root.create_array("y", data=np.arange(5.0), chunks=2, compressors="gzip")
    else:
        hierarchy(store)
    zarr.convert(store, expected, zarr_format=target, **options)
    before = described(store)
    stops = 0
    for at in range(1, 200):
        inside = zarr.MemoryStore()
        out = FaultStore(inside)
        out.fail("set", OSError("disk full"), at=at)
        try:
            zarr.convert(store, out, zarr_format=target, workers=1, **options)
        except OSError:
            stops += 1
        else:
            break
        # Only when everything but the last document is there may it open, and then it is whole.
        if opens(inside):
            assert described(inside).keys() == before.keys()
        assert JOURNAL in inside
        with pytest.raises(NodeExistsError, match="interrupted"):
            zarr.convert(store, inside, zarr_format=target, chunks=100)
        done = zarr.convert(store, inside, zarr_format=target, workers=1, **options)
        assert done.resumed
        assert values_of(inside) == values_of(expected)
    assert stops > 10


@pytest.mark.parametrize("workers", [1, 3])
def test_what_is_done_is_not_done_again(workers: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(journal, "SECONDS", 0.0)
    store, inside = CountingStore(zarr.MemoryStore()), zarr.MemoryStore()
    shape = (40, 1 << 16)
    zarr.create_array(store, data=np.zeros(shape) + 1, chunks=(1, 1 << 16), zarr_format=2)
    out = FaultStore(inside)
    out.fail("set", OSError("gone"), key="c.25.0")
    with pytest.raises(OSError, match="gone"):
        zarr.convert(store, out, zarr_format=3, workers=workers)
    stored = {key for key in inside if key.startswith("c.")}
    assert len(stored) >= 10
    store.reset()
    heard: list[Progress] = []
    zarr.convert(store, inside, zarr_format=3, workers=workers, progress=heard.append)
    again = {key for key in store.asked["get"] if key.endswith(".0")}
    assert len(again) <= 40 - len(stored) + 8  # all but what was in the portion that failed
    assert heard[0].done == heard[0].resumed > 0
    assert heard[-1].done == heard[-1].total == 40
    assert np.all(zarr.open_array(inside)[...] == 1)


def test_reading_fails() -> None:
    inside, out = zarr.MemoryStore(), zarr.MemoryStore()
    before = hierarchy(inside)
    store = FaultStore(inside)
    store.fail("get", OSError("reset by peer"), key="big/1.0")
    with pytest.raises(OSError, match="reset by peer"):
        zarr.convert(store, out, zarr_format=3)
    assert not opens(out)
    zarr.convert(store, out, zarr_format=3)
    assert described(out) == before


def test_a_listing_fails() -> None:
    inside, out = zarr.MemoryStore(), zarr.MemoryStore()
    hierarchy(inside)
    for operation in ("list_prefix", "list_dir"):
        store = FaultStore(inside)
        store.fail(operation, OSError("reset by peer"))
        with pytest.raises(OSError, match="reset by peer"):
            zarr.convert(store, out, zarr_format=3)
    assert len(out) == 0


def test_ctrl_c(monkeypatch: pytest.MonkeyPatch) -> None:
    store, out, expected = zarr.MemoryStore(), zarr.MemoryStore(), zarr.MemoryStore()
    hierarchy(store)
    zarr.convert(store, expected, zarr_format=3)

    def listener(progress: Progress) -> None:
        if progress.done > 8:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        zarr.convert(store, out, zarr_format=3, progress=listener)
    assert not opens(out)
    assert json.loads(out[JOURNAL])["done"], "what was done is in the journal"
    assert zarr.convert(store, out, zarr_format=3).resumed
    assert values_of(out) == values_of(expected)


# -- another job's journal ------------------------------------------------------------------------


def interrupted(store: zarr.Store, out: zarr.Store, **options: Any) -> None:
    faulty = FaultStore(out)
    faulty.fail("set", OSError("stop"), at=6)
    with pytest.raises(OSError, match="stop"):
        zarr.convert(store, faulty, workers=1, **options)


def test_another_job_in_the_same_place() -> None:
    store, other, out = zarr.MemoryStore(), zarr.MemoryStore(), zarr.MemoryStore()
    hierarchy(store)
    zarr.open_group(other, mode="w").create_array("only", data=np.arange(4))
    interrupted(store, out, zarr_format=3)
    for source, options in ((other, {"zarr_format": 3}), (store, {"zarr_format": 2})):
        with pytest.raises(NodeExistsError, match=r"resume=False .* overwrite=True"):
            zarr.convert(source, out, **options)
    for options in ({"overwrite": True}, {"resume": False}):
        again = zarr.MemoryStore(dict(values_of(out)))
        done = zarr.convert(other, again, zarr_format=3, **options)
        assert not done.resumed
        assert described(again) == described(other)
        assert sorted(again) == ["only/c/0", "only/zarr.json", "zarr.json"]


def test_beginning_anew() -> None:
    store, out = zarr.MemoryStore(), zarr.MemoryStore()
    before = hierarchy(store)
    interrupted(store, out, zarr_format=3)
    done = zarr.convert(store, out, zarr_format=3, resume=False)
    assert not done.resumed
    assert described(out) == before


def test_a_source_that_has_changed_is_another_job() -> None:
    for change in ("attributes", "chunks"):
        store, out = zarr.MemoryStore(), zarr.MemoryStore()
        hierarchy(store)
        interrupted(store, out, zarr_format=3)
        root = zarr.open_group(store)
        if change == "attributes":
            root.attrs["title"] = "other"
        else:
            root["inner/sparse"][9, 6] = 5
        with pytest.raises(NodeExistsError, match="its source has changed"):
            zarr.convert(store, out, zarr_format=3)


def test_overwriting_is_resumed_too() -> None:
    store, out = zarr.MemoryStore(), zarr.MemoryStore()
    before = hierarchy(store)
    zarr.create_array(out, data=np.arange(50), chunks=2)
    interrupted(store, out, zarr_format=3, overwrite=True)
    assert zarr.convert(store, out, zarr_format=3, overwrite=True).resumed
    assert described(out) == before


def test_a_fault_at_every_call_while_replacing() -> None:
    """Nothing of what was there before is ever mixed with what replaces it."""
    store, old, expected = zarr.MemoryStore(), zarr.MemoryStore(), zarr.MemoryStore()
    root = zarr.open_group(store, mode="w", zarr_format=2)
    root.create_array("x", data=np.arange(6), chunks=4)
    zarr.convert(store, expected, zarr_format=3)
    hierarchy(old)
    before = described(old)
    stops = 0
    for at in range(1, 1000):
        inside = zarr.MemoryStore(dict(values_of(old)))
        out = OneByOne(inside)
        out.fail("*", OSError("stop"), at=at)
        try:
            zarr.convert(store, out, zarr_format=3, overwrite=True, workers=1)
        except OSError:
            stops += 1
        else:
            break
        if opens(inside) and zarr.open_group(inside, mode="r").zarr_format == 2:
            assert described(inside) == before, f"stopped at call {at}: half of it looks whole"
        zarr.convert(store, inside, zarr_format=3, overwrite=True)
        assert values_of(inside) == values_of(expected), f"stopped at call {at}"
    assert stops > 40


def test_a_full_store_keeps_what_was_there() -> None:
    store, inside = zarr.MemoryStore(), zarr.MemoryStore()
    hierarchy(store)
    zarr.create_array(inside, data=np.arange(5))
    kept = values_of(inside)
    out = FaultStore(inside)
    out.fail("set", OSError("disk full"))
    with pytest.raises(OSError, match="disk full"):
        zarr.convert(store, out, zarr_format=3, overwrite=True)
    assert values_of(inside) == kept


# -- kill -9 --------------------------------------------------------------------------------------

WORKER = textwrap.dedent("""
    import sys, time
    import omnizarr as zarr
    from omnizarr.jobs import journal
    journal.SECONDS = 0.02
    class Slow(zarr.LocalStore):
        def set(self, key, value):
            time.sleep(0.003)
            super().set(key, value)
    options = {"compressors": "gzip"} if sys.argv[3] == "encode" else {}
    print("ready", flush=True)
    zarr.convert(sys.argv[1], Slow(sys.argv[2]), zarr_format=3, workers=2, **options)
    print("done", flush=True)
""")


@pytest.mark.parametrize("manner", ["copy", "encode"])
def test_kill_and_go_on(tmp_path: Path, manner: str) -> None:
    root = zarr.open_group(tmp_path / "in", mode="w", zarr_format=2, attributes={"a": 1})
    data = np.random.default_rng(5).integers(0, 9, (60, 4096))
    root.create_array("x", data=data, chunks=(1, 4096))
    root.create_array("y/z", data=data[0], chunks=64)
    options = {"compressors": "gzip"} if manner == "encode" else {}
    zarr.convert(tmp_path / "in", tmp_path / "expected", zarr_format=3, **options)
    out = tmp_path / "out"
    environment = {**os.environ, "PYTHONPATH": str(Path(zarr.__file__).parents[1])}
    killed = 0
    for turn in range(41):
        worker = subprocess.Popen(
            [sys.executable, "-c", WORKER, str(tmp_path / "in"), str(out), manner],
            stdout=subprocess.PIPE, text=True, env=environment,
        )  # fmt: skip
        assert worker.stdout is not None
        with worker.stdout:
            assert worker.stdout.readline() == "ready\n"
            if turn < 40:  # the last one may finish, however slow the machine is
                time.sleep(0.05 + 0.03 * turn)
                worker.send_signal(signal.SIGKILL)
            finished = worker.stdout.read() == "done\n"
        worker.wait()
        if finished:
            break
        killed += 1
        if opens(zarr.LocalStore(out)):
            assert described(out) == described(tmp_path / "in")
    assert killed >= 3
    assert described(out) == described(tmp_path / "expected")
    found, expected = (values_of(zarr.LocalStore(each)) for each in (out, tmp_path / "expected"))
    if manner == "encode":  # which of its encoders the library takes depends on the store
        found, expected = dict.fromkeys(found), dict.fromkeys(expected)
    assert found == expected
