"""Appends that were killed, and what others then do to their arrays; and two appends at once."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import threading
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import omnizarr
from omnizarr.errors import ConflictError, MetadataError
from omnizarr.jobs.appending.job import JOURNAL
from omnizarr.jobs.appending.planning import Task, growths_of
from omnizarr.jobs.running import Shared
from omnizarr.model.store import Store
from omnizarr.nodes import unfinished
from omnizarr.testing import FaultStore

FORMATS: list[Any] = [1, 2, 3, "3-draft2019", "n5", "sharded", "rectilinear"]
FILL = -1
OLD = np.arange(1, 7)
LOST = np.arange(100, 120)


def created(store: Any, kind: Any, path: str | None = None) -> omnizarr.Array:
    if kind == "sharded":
        more: dict[str, Any] = {"shards": (4,), "chunks": (2,)}
    elif kind == "rectilinear":
        more = {"chunks": ((2, 3, 3),)}
    else:
        more = {"zarr_format": kind, "chunks": (4,)}
    more["fill_value"] = 0 if kind in (1, "n5") else FILL
    return omnizarr.create_array(store, path=path, data=OLD, **more)


def interrupted(store: Store, at: int, source: Any = LOST, dim: Any = 0) -> bool:
    """Whether an append was stopped at that step."""
    broken = FaultStore(store)
    broken.fail("set", OSError("killed"), at=at)
    try:
        omnizarr.append(broken, source, dim, workers=1)
    except OSError:
        return True
    return False


def resized(array: omnizarr.Array) -> int:
    array.resize(26)
    return 6


def resized_twice(array: omnizarr.Array) -> int:
    array.resize(9)
    array.resize(26)
    return 6


def appended(array: omnizarr.Array) -> int:
    array.append([55])
    assert array[6] == 55
    array.resize(26)
    return 7


def made_shorter(array: omnizarr.Array) -> int:
    array.resize(5)
    array.resize(26)
    return 5


def swept(array: omnizarr.Array) -> int:
    omnizarr.sweep(array.store, apply=True, unfinished=True)
    array.resize(26)
    return 6


@pytest.mark.parametrize("kind", FORMATS)
@pytest.mark.parametrize("grow", [resized, resized_twice, appended, made_shorter, swept])
def test_lost_values_never_show(kind: Any, grow: Callable[[omnizarr.Array], int]) -> None:
    stops = 0
    for at in range(1, 40):
        store = omnizarr.MemoryStore()
        before = created(store, kind)  # a handle from before the append
        if not interrupted(store, at):
            break
        before.refresh()
        if len(before) > len(OLD):
            continue  # it was stopped after the array had grown
        start = grow(before)
        fill = before.fill_value
        assert before[start:].tolist() == [fill] * (26 - start), f"stopped at {at}"
        assert before[: min(start, 6)].tolist() == OLD[: min(start, 6)].tolist()
        assert not [key for key in store.list() if JOURNAL in key]
        stops += 1
    assert stops > 3


def grouped(store: Any) -> omnizarr.Group:
    root = omnizarr.open_group(store, mode="w")
    root.create_array("t", data=OLD, chunks=(4,), dimension_names=["t"])
    root.create_array("v", data=OLD, chunks=(4,), dimension_names=["t"])
    return root


@pytest.mark.parametrize("through", ["the group", "its folder", "netcdf"])
def test_lost_values_of_a_group_never_show(through: str, tmp_path: Path) -> None:
    """Also for who opens the array as a store of its own, where no journal of a group is seen."""
    stops = 0
    for at in range(1, 40):
        place = tmp_path / f"{at}.zarr"
        grouped(place)
        store = omnizarr.LocalStore(place)
        if not interrupted(store, at, source={"t": LOST, "v": LOST}, dim="t"):
            break
        lengths = [len(omnizarr.open(place / name)) for name in "tv"]
        if through == "netcdf" and lengths[0] == lengths[1]:
            omnizarr.open_group(place).netcdf.grow("t", 26)
        for name, length in zip("tv", lengths, strict=True):
            array = omnizarr.open_array(place / name)
            if through == "the group":
                array = omnizarr.open_group(place)[name]
            array.resize(26)
            if length == 6:
                assert array[:].tolist() == [*OLD.tolist(), *[0] * 20], (name, at)
                stops += 1
            else:
                assert array[:].tolist() == [*OLD.tolist(), *LOST.tolist()]
    assert stops > 10


def test_an_append_goes_on_only_with_all_it_has_written() -> None:
    for at in range(3, 40):
        store = omnizarr.MemoryStore()
        grouped(store)
        day = {"t": LOST, "v": LOST}
        if not interrupted(store, at, source=day, dim="t"):
            break
        v = omnizarr.open_array(store, path="v")
        if len(v) == 6:
            v.resize(7)
            v.resize(6)  # what was written is gone
        t = omnizarr.open_array(store, path="t")
        if len(t) != len(v):
            with pytest.raises(MetadataError, match="differ in the length"):
                omnizarr.append(store, day, "t")
            t.resize(6)
        omnizarr.append(store, day, "t", at=6)
        for name in "tv":
            array = omnizarr.open_array(store, path=name)
            assert array[:].tolist() == [*OLD.tolist(), *LOST.tolist()], (name, at)
        assert not [key for key in store.list() if JOURNAL in key]
    assert at > 10


def test_growing_costs_one_look() -> None:
    store = FaultStore(omnizarr.MemoryStore())
    array = omnizarr.create_array(store, shape=(10,), chunks=(2,), dtype="i4")
    store.fail("list_prefix", AssertionError("listed"), times=None)
    array.resize(10**15)
    assert array.shape == (10**15,)


# -- two at once ----------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["local", "memory"])
def test_two_threads(kind: str, tmp_path: Path) -> None:
    for attempt in range(5):
        store: Any = tmp_path / f"{attempt}.zarr" if kind == "local" else omnizarr.MemoryStore()
        root = omnizarr.open_group(store, mode="w")
        root.create_array("t", data=np.zeros(6, "i8"), chunks=(4,), dimension_names=["t"])
        both = ["t", "x"]
        root.create_array("v", data=np.zeros((6, 9), "i8"), chunks=(4, 5), dimension_names=both)
        results: list[Any] = []
        start = threading.Barrier(2)

        def append(number: int, store: Any, results: list[Any], start: threading.Barrier) -> None:
            day = {"t": np.full(10, number), "v": np.full((10, 9), number)}
            start.wait()
            try:
                results.append(omnizarr.append(store, day, "t"))
            except ConflictError as refused:
                results.append(refused)

        threads = [
            threading.Thread(target=append, args=(number, store, results, start))
            for number in (1, 2)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        done = [one for one in results if not isinstance(one, Exception)]
        for error in results:
            if isinstance(error, Exception):
                assert "an append is under way" in str(error)
        root = omnizarr.open_group(store, mode="r")
        t, v = root["t"][:], root["v"][:]
        assert len(results) == 2
        assert done
        assert len(t) == len(v) == 6 + 10 * len(done)
        assert (v == t[:, None]).all()


SCRIPT = """
import sys, time, numpy as np, omnizarr
def wait(progress):
    print("begun", flush=True)
    time.sleep(600)
omnizarr.append(sys.argv[1], np.full(20, 7), progress=wait)
"""


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no SIGKILL")
def test_another_process(tmp_path: Path) -> None:
    place = tmp_path / "a.zarr"
    array = omnizarr.create_array(place, data=OLD, chunks=(4,))
    command = [sys.executable, "-c", SCRIPT, str(place)]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as job:
        try:
            assert job.stdout is not None
            assert job.stdout.readline() == b"begun\n"
            with pytest.raises(ConflictError, match=f"process {job.pid}"):
                omnizarr.append(place, LOST)
            with pytest.raises(ConflictError, match="under way"):
                array.append([1])
        finally:
            job.send_signal(signal.SIGKILL)
    omnizarr.append(place, LOST)
    assert omnizarr.open(place)[:].tolist() == [*OLD.tolist(), *LOST.tolist()]


def of_another_machine(store: Store, key: str = JOURNAL) -> None:
    found = json.loads(store[key])
    found["facts"]["owner"] = {"machine": "elsewhere", "pid": 1, "started": "1", "token": "x"}
    store[key] = json.dumps(found).encode()


def test_another_machine() -> None:
    """Whether its process lives is not known: the same values go on, all others are refused."""
    store = omnizarr.MemoryStore()
    array = created(store, 3)
    assert interrupted(store, 4)
    of_another_machine(store)
    before = dict(store)
    for change in (
        lambda: omnizarr.append(store, [1]),
        lambda: array.append([1]),
        lambda: array.resize(9),
    ):
        with pytest.raises(ConflictError, match=r"process 1 on elsewhere.*cannot be told"):
            change()
        assert dict(store) == before
    assert omnizarr.append(store, LOST).resumed
    array.refresh()
    assert array[:].tolist() == [*OLD.tolist(), *LOST.tolist()]


@pytest.mark.parametrize("way", ["resize", "sweep"])
def test_what_another_machine_left_can_be_dropped(way: str) -> None:
    store = omnizarr.MemoryStore()
    array = created(store, 3)
    assert interrupted(store, 4)
    of_another_machine(store)
    if way == "resize":
        array.resize(array.shape)
    else:
        omnizarr.sweep(store, apply=True, unfinished=True)
    omnizarr.append(store, [1])
    array.refresh()
    array.resize(26)
    assert array[6:].tolist() == [1, *[FILL] * 19]


@pytest.mark.parametrize("damage", [b"{", b"", b"[]", b'{"omnizarr_journal": 2, "facts": {}}'])
def test_an_unreadable_journal_is_replaced(damage: bytes) -> None:
    store = omnizarr.MemoryStore()
    array = created(store, 3)
    assert interrupted(store, 4)
    store[JOURNAL] = damage
    omnizarr.append(store, [1])
    array.refresh()
    array.resize(26)
    assert array[6:].tolist() == [1, *[FILL] * 19]


def test_arrays_of_a_group_that_another_machine_left() -> None:
    store = omnizarr.MemoryStore()
    root = grouped(store)
    assert interrupted(store, 7, source={"t": LOST, "v": LOST}, dim="t")
    for key in (JOURNAL, "t/" + JOURNAL, "v/" + JOURNAL):
        of_another_machine(store, key)
    before = dict(store)
    other = {"t": [1], "v": [1]}
    with pytest.raises(ConflictError, match="cannot be told"):
        omnizarr.append(store, other, "t")
    assert dict(store) == before
    for name in "tv":
        root[name].resize(6)
    omnizarr.append(store, other, "t")
    for name in "tv":
        array = omnizarr.open_array(store, path=name)
        array.resize(26)
        assert array[6:].tolist() == [1, *[0] * 19]


@pytest.mark.parametrize(
    "owner", [None, 5, {}, {"pid": "x"}, {"pid": -1}, {"pid": 10**30}, {"pid": True}]
)
def test_nonsense_is_no_living_owner(owner: Any) -> None:
    if isinstance(owner, dict) and owner:
        owner["machine"] = unfinished._machine()
    assert not unfinished.alive(owner)


def test_the_number_of_a_process_may_be_given_again() -> None:
    with unfinished.owning() as token:
        assert unfinished.alive(unfinished.owner(token))
        if sys.platform == "linux":
            other = unfinished.owner(token) | {"pid": 1, "started": "never"}
            assert not unfinished.alive(other)
    assert not unfinished.alive(unfinished.owner(token))


def test_a_worker_that_outlives_its_append_writes_nothing() -> None:
    array = omnizarr.create_array({}, data=OLD, chunks=(4,))
    (growth,) = growths_of(array, LOST, 0)
    before = dict(array.store)
    late = Task(Shared(replace(growth.work, token="gone")), 0, (slice(6, 8),), LOST[:2])
    with pytest.raises(ConflictError, match="was given up"):
        late.do()
    assert dict(array.store) == before


# -- arguments ------------------------------------------------------------------------------------


def test_values_of_different_lengths() -> None:
    root = grouped(omnizarr.MemoryStore())
    before = dict(root.store)
    with pytest.raises(MetadataError, match="values to append differ in the length of 't'"):
        omnizarr.append(root, {"t": [1], "v": [1, 2]}, "t")
    assert dict(root.store) == before


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ({"at": -1}, ValueError, "not negative"),
        ({"at": "4"}, TypeError, "at= is a length"),
        ({"at": 4.0}, TypeError, "at= is a length"),
        ({"dim": None}, TypeError, "dim= is the name or the number"),
        ({"source": [2**70]}, MetadataError, "does not fit into an array of type int64"),
    ],
)
def test_what_is_refused(arguments: dict[str, Any], error: Any, message: str) -> None:
    array = omnizarr.create_array({}, data=OLD, chunks=(4,))
    before = dict(array.store)
    with pytest.raises(error, match=message):
        omnizarr.append(array, **{"source": [7, 8], **arguments})
    assert dict(array.store) == before
