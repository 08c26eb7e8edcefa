"""Appending: the right values, whatever is appended to what; and a kill at every step."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import omnizarr
from omnizarr.errors import ConflictError, MetadataError, ObstaclesError, SelectionError
from omnizarr.jobs.appending.job import JOURNAL
from omnizarr.model.store import Store
from omnizarr.stores import WrapperStore

FORMATS: list[Any] = [1, 2, 3, "3-draft2019", "n5", "sharded", "rectilinear"]


def created(store: Any, values: np.ndarray[Any, Any], kind: Any, **more: Any) -> omnizarr.Array:
    if kind == "sharded":
        more |= {"shards": (4,) * values.ndim, "chunks": (2,) * values.ndim}
    elif kind == "rectilinear":
        more |= {"chunks": ((2, 3), *((3,) * (values.ndim - 1)))}
    else:
        more |= {"zarr_format": kind, "chunks": (4, 3)[: values.ndim]}
    return omnizarr.create_array(store, data=values, **more)


@settings(max_examples=30, deadline=None)
@given(data=st.data())
def test_like_concatenate(data: Any) -> None:
    ndim = data.draw(st.integers(1, 3))
    axis = data.draw(st.integers(-ndim, ndim - 1))
    shape = data.draw(st.lists(st.integers(0, 7), min_size=ndim, max_size=ndim))
    chunks = data.draw(st.lists(st.integers(1, 4), min_size=ndim, max_size=ndim))
    values = np.arange(int(np.prod(shape)), dtype="i4").reshape(shape)
    array = omnizarr.create_array({}, data=values, chunks=tuple(chunks))
    for _ in range(2):
        more = list(shape)
        more[axis] = data.draw(st.integers(0, 9))
        new = -np.arange(int(np.prod(more)), dtype="i4").reshape(more) - 1
        report = omnizarr.append(array, new, axis)
        assert report.arrays[0].nbytes == new.nbytes
        values = np.concatenate([values, new], axis)
    assert np.array_equal(array[...], values)
    assert JOURNAL not in list(array.store.list())


@pytest.mark.parametrize("make", [np.asarray, list, omnizarr.array, "dask", "xarray", "h5py"])
def test_sources(make: Any, tmp_path: Path) -> None:
    array = omnizarr.create_array({}, data=np.zeros((2, 3)), chunks=(2, 2))
    values: Any = np.arange(12.0).reshape(4, 3)
    if make == "dask":
        given: Any = pytest.importorskip("dask.array").from_array(values, chunks=(3, 3))
    elif make == "xarray":
        given = pytest.importorskip("xarray").DataArray(values, dims=("t", "x"))
    elif make == "h5py":
        given = pytest.importorskip("h5py").File(tmp_path / "x.h5", "w")["v"] = values
        given = pytest.importorskip("h5py").File(tmp_path / "x.h5")["v"]
    else:
        given = make(values)
    omnizarr.append(array, given)
    assert np.array_equal(array[2:], values)


def test_text() -> None:
    array = omnizarr.create_array({}, data=["a", "bb"], dtype="string", chunks=2)
    omnizarr.append(array, ["ccc", "d", "e"])
    assert list(array[:]) == ["a", "bb", "ccc", "d", "e"]


@pytest.mark.parametrize("executor", ["threads", "processes"])
def test_other_processes(executor: str, tmp_path: Path) -> None:
    array = created(tmp_path / "a.zarr", np.zeros((5, 3)), 3)
    omnizarr.append(array, np.ones((9, 3)), executor=executor, max_memory="64 MiB")
    omnizarr.append(array, omnizarr.open(tmp_path / "a.zarr"), executor=executor, workers=2)
    assert array.shape == (28, 3)
    assert array[:].sum() == 2 * 27


# -- groups ---------------------------------------------------------------------------------------


def dataset(store: Any) -> omnizarr.Group:
    root = omnizarr.open_group(store, mode="w")
    root.create_array("time", data=np.arange(3), chunks=2, dimension_names=["time"])
    values = np.arange(12.0).reshape(3, 4)
    root.create_array("v", data=values, chunks=(2, 3), dimension_names=["time", "x"])
    root.create_array("x", data=np.arange(4), dimension_names=["x"])
    return root


DAY = {"time": np.arange(3, 5), "v": np.arange(12.0, 20).reshape(2, 4)}


def judge(group: omnizarr.Group, days: int) -> None:
    assert np.array_equal(group["time"][:], np.arange(3 + 2 * days))
    assert np.array_equal(group["v"][:], np.arange(12.0 + 8 * days).reshape(-1, 4))
    assert np.array_equal(group["x"][:], np.arange(4))


def test_a_group_grows_along_one_dimension() -> None:
    root = dataset({})
    report = omnizarr.append(root, DAY, "time", at=3)
    judge(omnizarr.open_group(root.store), 1)
    assert [(one.path, one.start, one.stop) for one in report.arrays] == [
        ("time", 3, 5),
        ("v", 3, 5),
    ]
    assert report.to_dict()["bytes_written"] == 16 + 64
    assert "/v " in str(report)


def test_consolidated_metadata_follow() -> None:
    root = dataset({})
    omnizarr.consolidate_metadata(root.store)
    omnizarr.append(omnizarr.open_consolidated(root.store), DAY, "time")
    judge(omnizarr.open_consolidated(root.store), 1)


def test_a_dataset_of_xarray() -> None:
    xarray = pytest.importorskip("xarray")
    root = dataset({})
    day = xarray.Dataset({"v": (("time", "x"), DAY["v"])}, {"time": DAY["time"], "x": np.arange(4)})
    omnizarr.append(root, day, "time")
    judge(root, 1)


def test_all_obstacles_at_once() -> None:
    root = dataset({})
    before = {key: bytes(root.store.get(key) or b"") for key in root.store.list()}
    wrong = {"v": np.zeros((2, 5)), "w": omnizarr.array([1], dimension_names=["time"])}
    with pytest.raises(ObstaclesError) as caught:
        omnizarr.append(root, wrong, "time")
    assert [type(error) for error in caught.value.errors] == [MetadataError] * 3
    for text in ("no array 'time'", "all other dimensions must agree", "create it first"):
        assert text in str(caught.value)
    assert before == {key: bytes(root.store.get(key) or b"") for key in root.store.list()}


@pytest.mark.parametrize(
    ("source", "dim", "error", "message"),
    [
        (np.zeros((2, 4), "M8[s]"), 0, MetadataError, "cannot be appended to an array of type"),
        (np.zeros((2, 5)), 0, MetadataError, "all other dimensions must agree"),
        (np.zeros((2, 4)), 2, SelectionError, "axis 2"),
        (np.zeros((2, 4)), "y", SelectionError, "no dimension 'y'"),
    ],
)
def test_what_does_not_fit(source: Any, dim: Any, error: Any, message: str) -> None:
    array = dataset({})["v"]
    with pytest.raises(error, match=message):
        omnizarr.append(array, source, dim)
    assert array.shape == (3, 4)


@pytest.mark.parametrize(
    ("source", "dtype", "message"),
    [
        ([1.5], "i4", "float64 cannot be appended"),
        (np.array([1, 2**40]), "i4", "integers from 1 to 1099511627776"),
        (np.array([2**31], "u4"), "i4", "integers from"),
        (omnizarr.array([2**40]), "i4", "integers from"),
        (["longer"], "<U4", "text of 6 characters"),
        (np.array([b"longer"]), "S4", "text of 6 characters"),
    ],
)
def test_values_that_the_type_cannot_hold(source: Any, dtype: str, message: str) -> None:
    array = omnizarr.create_array({}, shape=(3,), dtype=dtype, chunks=2)
    with pytest.raises((MetadataError, OverflowError), match=message):
        omnizarr.append(array, source)
    array.refresh()
    assert array.shape == (3,)
    omnizarr.append(array, np.ones(2, dtype))
    assert array.shape == (5,)


def test_dimensions_in_another_order() -> None:
    """Lengths that agree by chance do not have the values stored transposed."""
    xarray = pytest.importorskip("xarray")
    root = omnizarr.group()
    stored = ("time", "y", "x")
    root.create_array("v", shape=(0, 2, 2), dtype="i8", chunks=2, dimension_names=stored)
    values = np.arange(4).reshape(1, 2, 2)
    found = xarray.Dataset({"v": (("time", "x", "y"), values)})
    named = omnizarr.create_array({}, data=values, dimension_names=("time", "x", "y"))
    for target, source in ((root, found), (root["v"], found["v"]), (root, {"v": named})):
        with pytest.raises(MetadataError, match=r"'x', 'y'\), the array has .* transpose"):
            omnizarr.append(target, source, "time")
    omnizarr.append(root, found.transpose(*stored), "time")
    assert root["v"][...].tolist() == found["v"].transpose(*stored).values.tolist()
    twice = root.create_array("w", shape=(1, 2), dtype="i8", dimension_names=("y", "y"))
    omnizarr.append(twice, twice)
    assert twice.shape == (2, 2)


@pytest.mark.parametrize(
    ("own", "other", "message"),
    [
        ({"units": "days since 2000-01-01"}, {"units": "days since 2000-01-02"}, "'units'"),
        ({"units": "m"}, {"units": "km"}, "'units'"),
        ({"units": "m"}, {"units": b"m"}, None),
        ({"units": "m"}, {}, None),
        ({}, {"units": "km"}, None),
        ({"units": "days since 2000-01-01"}, {"units": "days since 2000-1-1 00:00:00"}, None),
        ({"scale_factor": 0.5}, {"scale_factor": np.array([0.25])}, "'scale_factor'"),
        ({"scale_factor": 0.5}, {"scale_factor": np.array([0.5])}, None),
        ({}, {"scale_factor": 0.5}, "'scale_factor'"),
        ({}, {"add_offset": 273.15}, "'add_offset'"),
        ({}, {"add_offset": 0.0}, None),
    ],
)
def test_what_the_numbers_mean(
    own: dict[str, Any], other: dict[str, Any], message: str | None
) -> None:
    xarray = pytest.importorskip("xarray")
    array = omnizarr.create_array({}, data=[1, 2], chunks=2, attributes=own)
    given = xarray.DataArray(np.array([3]), dims=("x",), attrs=other)
    if message is None:
        omnizarr.append(array, given)
        assert array[:].tolist() == [1, 2, 3]
    else:
        with pytest.raises(MetadataError, match=f"{message}.*convert them first"):
            omnizarr.append(array, given)
        assert array.shape == (2,)


def test_the_length_before() -> None:
    array = omnizarr.array(np.arange(4), chunks=2)
    assert not omnizarr.append(array, [4, 5], at=4).skipped
    assert omnizarr.append(array, [4, 5], at=4).skipped
    with pytest.raises(MetadataError, match="must have that length before"):
        omnizarr.append(array, [7], at=7)
    with pytest.raises(MetadataError, match="must have that length before"):
        omnizarr.append(array, [1, 2, 3], at=5)
    assert list(array[:]) == list(range(6))


# -- killed ---------------------------------------------------------------------------------------


class Killed(BaseException):
    pass


class MortalStore(WrapperStore):
    """After so many changes nothing more is stored: the process is dead."""

    def __init__(self, store: Store, left: int) -> None:
        super().__init__(store)
        self.left = left

    def _change(self) -> None:
        if self.left <= 0:
            raise Killed
        self.left -= 1

    def set(self, key: str, value: Any) -> None:
        self._change()
        super().set(key, value)

    def delete(self, key: str) -> None:
        self._change()
        super().delete(key)


def seen(store: Store) -> tuple[np.ndarray[Any, Any], ...]:
    root = omnizarr.open(store, mode="r")
    if isinstance(root, omnizarr.Array):
        return (np.asarray(root[...]),)
    return tuple(np.asarray(array[...]) for _, array in sorted(root.arrays()))


def same(one: Any, other: Any) -> bool:
    return all(np.array_equal(a, b) for a, b in zip(one, other, strict=True))


@pytest.mark.parametrize("kind", FORMATS)
@pytest.mark.parametrize("given", ["at", "values alone"])
def test_killed_at_every_step(kind: Any, given: str) -> None:
    old = np.arange(15.0).reshape(5, 3) + 1
    new = np.arange(21.0).reshape(7, 3) + 100
    at = 5 if given == "at" else None
    both = np.concatenate([old, new])
    for step in range(100):
        store = omnizarr.MemoryStore()
        created(store, old, kind)
        mortal = MortalStore(store, step)
        try:
            omnizarr.append(mortal, new, at=at, workers=1)
            alive = True
        except Killed:
            alive = False
        (found,) = seen(store)
        grown = len(found) > len(old)
        assert np.array_equal(found, both if grown else old), "a reader saw half of it"
        assert grown or not alive
        if at is not None or not alive:
            report = omnizarr.append(store, new, at=at, workers=1)
            (found,) = seen(store)
            assert np.array_equal(found, both), f"killed at step {step}: {report}"
        assert not [key for key in store.list() if JOURNAL in key]
        if alive:
            break
    assert 4 < step < 99


def test_a_group_killed_at_every_step() -> None:
    for step in range(100):
        store = omnizarr.MemoryStore()
        before = seen(dataset(store).store)
        omnizarr.consolidate_metadata(store)
        mortal = MortalStore(store, step)
        try:
            omnizarr.append(mortal, DAY, "time", at=3, workers=1)
            alive = True
        except Killed:
            alive = False
        if not alive:
            consolidated = omnizarr.open_consolidated(store)
            lengths = {consolidated["time"].shape[0], consolidated["v"].shape[0]}
            assert len(lengths) == 1, "consolidated metadata showed half of the arrays"
            judge(consolidated, (lengths.pop() - 3) // 2)
            assert len(before) == 3
        omnizarr.append(store, DAY, "time", at=3, workers=1)
        judge(omnizarr.open_group(store), 1)
        judge(omnizarr.open_consolidated(store), 1)
        if alive:
            break
    assert 8 < step < 99


def test_other_values_after_a_kill() -> None:
    """What a killed append left behind never shows."""
    old, lost, new = np.ones(3), np.full(9, 7.0), np.full(2, 5.0)
    for step in range(1, 30):
        store = omnizarr.MemoryStore()
        array = omnizarr.create_array(store, data=old, chunks=2, fill_value=-1)
        try:
            omnizarr.append(MortalStore(store, step), lost, workers=1)
            break
        except Killed:
            pass
        omnizarr.append(store, new, workers=1)
        array.refresh()
        grown = len(array) == 14  # all of its values were stored: it was finished first
        assert list(array[:]) == [*old, *(lost if grown else []), *new]
        array.resize(20)
        assert set(array[14 if grown else 5 :].tolist()) == {-1.0}, "lost values show"
    assert step > 5


def test_a_lazy_source_after_a_kill_needs_at() -> None:
    da = pytest.importorskip("dask.array")
    finished = 0
    for step in range(1, 12):
        store = omnizarr.MemoryStore()
        omnizarr.create_array(store, data=np.zeros(2), chunks=2)
        lazy = da.ones(4, chunks=2)
        try:
            omnizarr.append(MortalStore(store, step), lazy, workers=1)
            break
        except Killed:
            pass
        try:
            omnizarr.append(store, lazy, workers=1)
        except MetadataError as error:
            assert "Give at=" in str(error)
            assert omnizarr.append(store, lazy, at=2).skipped
            finished += 1
        assert list(omnizarr.open(store)[:]) == [0, 0, 1, 1, 1, 1]
    assert finished


def test_another_writer_is_noticed() -> None:
    array = omnizarr.create_array({}, data=np.zeros(2), chunks=2)

    def interfere(_: Any) -> None:
        array.store.delete(JOURNAL)  # as a library that knows no marks
        omnizarr.open_array(array.store).resize(3)

    with pytest.raises(ConflictError, match="expected 2, found 3"):
        omnizarr.append(array, np.ones(2), progress=interfere)


def test_the_shape_is_left_alone_meanwhile() -> None:
    root = dataset({})

    def interfere(_: Any) -> None:
        other = omnizarr.open_group(root.store)
        for change in (
            lambda: other["v"].resize((9, 4)),
            lambda: other["v"].resize((1, 4)),
            lambda: other["v"].resize(other["v"].shape),
            lambda: other["time"].append([1]),
            lambda: omnizarr.append(other["time"], [1]),
            lambda: omnizarr.append(other, DAY, "time"),
            lambda: other.netcdf.grow("time", 9),
        ):
            with pytest.raises(ConflictError, match="an append is under way"):
                change()

    omnizarr.append(root, DAY, "time", progress=interfere)
    judge(root, 1)
    assert not [key for key in root.store.list() if JOURNAL in key]


def test_damaged_journals_are_told() -> None:
    array = omnizarr.create_array({}, data=np.zeros(2), chunks=2)
    for facts in ('{"arrays": 3}', '{"written": true, "arrays": {"": [9, 0, 1]}}', "[]"):
        text = f'{{"omnizarr_journal": 1, "job": "append", "facts": {facts}, "done": {{}}}}'
        array.store[JOURNAL] = text.encode()
        with pytest.raises(MetadataError, match=r"the journal is damaged.*sweep") as caught:
            omnizarr.append(array, np.ones(2))
        assert caught.value.options == (("unfinished", True), ("apply", True))
    omnizarr.sweep(array.store, unfinished=True, apply=True)
    omnizarr.append(array, np.ones(2))
    assert array[:].tolist() == [0, 0, 1, 1]


SCRIPT = """
import sys, numpy as np, omnizarr
if __name__ == "__main__":
    values = np.arange(300_000.0).reshape(3000, 100) + 1000
    omnizarr.append(sys.argv[1], values, at=50, executor=sys.argv[2], workers=2)
"""


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no SIGKILL")
@pytest.mark.parametrize("executor", ["threads", "processes"])
def test_kill_9(executor: str, tmp_path: Path) -> None:
    script = tmp_path / "day.py"
    script.write_text(SCRIPT)
    store = tmp_path / "a.zarr"
    old = np.arange(5000.0).reshape(50, 100)
    new = np.arange(300_000.0).reshape(3000, 100) + 1000
    omnizarr.create_array(store, data=old, chunks=(7, 30))
    killed = 0
    for _ in range(40):
        job = subprocess.Popen([sys.executable, script, store, executor])
        journal = store / JOURNAL
        while job.poll() is None and not journal.exists():
            time.sleep(0.001)
        time.sleep(random.uniform(0, 0.15) if killed else 0)
        if job.poll() is None:
            os.kill(job.pid, signal.SIGKILL)
            killed += 1
        job.wait()
        found = omnizarr.open(store)[:]
        assert len(found) in (50, 3050)
        assert np.array_equal(found, np.concatenate([old, new])[: len(found)])
        if job.returncode == 0:
            break
    assert killed
    subprocess.run([sys.executable, script, store, executor], check=True)
    assert np.array_equal(omnizarr.open(store)[:], np.concatenate([old, new]))
    assert omnizarr.verify(store).ok
