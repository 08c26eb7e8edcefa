"""Reads of one chunk that the native core plans by itself: as by the general way, or not at all."""

from __future__ import annotations

import operator
import os
import random
import sys
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import omnizarr
from omnizarr import engine, limits
from omnizarr.config import config
from omnizarr.engine import native_plans
from omnizarr.errors import LimitError, ZarrError
from omnizarr.runtime import parallel
from tests.engine.native_cases import replaced
from tests.indexing.strategies import draw_key, randoms
from tests.model.columns import mode, outcome
from tests.native.installed import needed

needed()
if sys.platform != "linux":
    pytest.skip("the core reads files on Linux alone", allow_module_level=True)

SHAPE, CHUNKS = (7, 10), (3, 4)
WAYS = "native", "python"


@pytest.fixture
def answers(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """What the core read."""
    found: list[Any] = []
    read_single = engine.read_single

    def noting(*arguments: Any) -> Any:
        found.append(read_single(*arguments))
        return found[-1]

    monkeypatch.setattr(engine, "read_single", noting)
    return found


def stored(path: Any, dtype: Any = "i4", **arguments: Any) -> tuple[Any, np.ndarray]:
    data = np.arange(70).reshape(SHAPE).astype(dtype)
    given: dict[str, Any] = {"chunks": CHUNKS, **arguments}
    return omnizarr.create_array(path, data=data, overwrite=True, **given), data


def either_way(call: Any) -> list[Any]:
    found = []
    for way in WAYS:
        with mode(way):
            found.append(outcome(call))
    return found


def same(one: Any, other: Any) -> None:
    """Values, types, memory order and ownership agree."""
    assert type(one) is type(other)
    if isinstance(one, tuple):
        assert one == other  # an error
        return
    assert (one.dtype, one.shape, one.tobytes()) == (other.dtype, other.shape, other.tobytes())
    if isinstance(one, np.ndarray):
        assert one.strides == other.strides and one.flags.writeable
        assert one.flags.owndata == other.flags.owndata


@settings(max_examples=300, deadline=None)
@given(randoms(), st.sampled_from("CF"), st.sampled_from([None, (6, 8)]))
def test_any_key(
    tmp_path_factory: pytest.TempPathFactory, rng: random.Random, order: Any, shards: Any
) -> None:
    path = tmp_path_factory.getbasetemp() / f"single-{order}-{shards}"
    if not path.exists():
        stored(path, shards=shards)
    array = omnizarr.open_array(path, mode="r").with_config({"order": order})
    key = draw_key(rng, SHAPE, faults=True)
    same(*either_way(lambda: array[key]))


KEYS: list[Any] = [
    *((1, 2), (-1, -1), 5, (slice(3, 6), slice(4, 8))),
    *((slice(4, 5), 6), (-2, slice(-2, None))),
]


@pytest.mark.parametrize(
    "dtype", ["u1", ">i2", "f8", "c16", "M8[s]", "?", "S5", "V3", [("a", "i4"), ("b", ">f4")]]
)
def test_types(dtype: Any, tmp_path: Path, answers: list[Any]) -> None:
    data = np.zeros(SHAPE, dtype)
    data.view("u1").reshape(-1)[...] = np.arange(data.nbytes) % 2
    array = omnizarr.create_array(tmp_path, data=data, chunks=CHUNKS, zarr_format=2)
    for key in KEYS:
        same(*either_way(lambda k=key: array[k]))
        expected = np.asarray(data[key])
        assert np.asarray(array[key]).tobytes() == expected.tobytes()
    assert any(answer is not None for answer in answers)


def test_what_the_core_plans_by_itself(tmp_path: Path, answers: list[Any]) -> None:
    array, data = stored(tmp_path)
    one: list[Any] = [
        *((1, 2), (-1, -1), (slice(3, 6), slice(4, 8)), (slice(4, 5), 6)),
        (slice(-1, 99), slice(8, None)),
    ]
    others: list[Any] = [
        *(5, (), ..., (1, ...), (slice(2, 4), 0), (slice(3, 3), 0), (slice(3, 6, 2), 0)),
        *((True, 0), (np.int64(1), 0), ([1], 0), (None, 1, 1), (0, slice(3, 0, -1))),
        (slice(np.int64(3), 5), 0),
    ]
    with mode("native"):
        for key in one:
            np.testing.assert_array_equal(array[key], data[key])
        assert all(answer is not None for answer in answers)
        answers.clear()
        for key in others:
            np.testing.assert_array_equal(array[key], data[key])
        assert answers == [None] * len(others)


def test_a_key_that_raises(tmp_path: Path) -> None:
    class Broken:
        def __index__(self) -> int:
            raise RuntimeError("no index")

    array, _ = stored(tmp_path)
    for key in ((0, 10), (-8, 0), (0, 0, 0), (2**70, 0), (slice(Broken(), 3), 0), (slice("a"), 0)):
        found = either_way(lambda k=key: array[k])
        assert isinstance(found[0], tuple) and found[0] == found[1]


def test_bounds_that_run_code_run_it_once(tmp_path: Path) -> None:
    array, data = stored(tmp_path)
    asked: list[int] = []

    class Bound:
        def __init__(self, error: type[BaseException] | None = None) -> None:
            self.error = error

        def __index__(self) -> int:
            asked.append(1)
            if self.error is not None:
                raise self.error
            return 3

    assert np.array_equal(array[slice(0, Bound()), 1:3], data[:3, 1:3])
    for error in (KeyboardInterrupt, MemoryError):
        with pytest.raises(error):
            array[slice(0, Bound(error)), 1:3]
    assert len(asked) == 3


def test_the_shape_is_that_of_the_array_now(tmp_path: Path) -> None:
    """Another thread may keep what it derived of the array before a resize."""
    array, data = stored(tmp_path)
    before = array._results
    array.resize((7, 12))
    array.__dict__["_results"] = before
    assert array[0, -1] == 0
    assert array[0, 8:].tolist() == [*data[0, 8:], 0, 0]


@pytest.mark.parametrize("shards", [None, (6, 8)])
@pytest.mark.parametrize("compressors", [None, "auto"])
@pytest.mark.parametrize(
    "kind",
    ["link outside", "link inside", "directory", "pipe", "too long", "too short", "empty", "gone"],
)
def test_what_stands_in_the_place_of_a_chunk(
    kind: str, compressors: Any, shards: Any, tmp_path: Path
) -> None:
    path = tmp_path / "a"
    array, _ = stored(path, shards=shards, compressors=compressors)
    replaced(kind, path / "c" / "0" / "0")
    for key in ((0, 1), (slice(0, 3), slice(0, 4))):
        same(*either_way(lambda k=key: array[k]))
    if kind == "link outside":
        with pytest.raises(ZarrError):
            array[0, 1]


def test_missing_chunks(tmp_path: Path) -> None:
    array, _ = stored(tmp_path, fill_value=9)
    (tmp_path / "c" / "0" / "0").unlink()
    assert array[1, 1] == 9 and (array[0:3, 0:4] == 9).all()
    strict = omnizarr.open_array(tmp_path, mode="r", on_missing="raise")
    found = either_way(lambda: strict[1, 1])
    assert found[0] == found[1] and isinstance(found[0], tuple)


def test_what_changes_between_two_reads(tmp_path: Path, answers: list[Any]) -> None:
    array, data = stored(tmp_path)
    other = omnizarr.open_array(tmp_path)
    looking = omnizarr.open_array(tmp_path, cache_metadata=False)
    assert (array[6, 9], looking[6, 9]) == (data[6, 9],) * 2
    other.resize((20, 4))
    for handle in (other, looking):
        assert handle[-1, 0] == 0 and handle[-14, 3] == data[6, 3]
        with pytest.raises(IndexError):
            handle[6, 9]
    assert array[-1, 0] == data[6, 0]  # this handle has not looked since
    array.refresh()
    assert array.shape == (20, 4) and array[-1, 0] == 0
    other.fill_value = 5
    array.refresh()
    assert array[-1, 0] == 5
    assert all(answer is not None for answer in answers[:2])


def test_limits_and_settings_that_change_between_two_reads(
    tmp_path: Path, answers: list[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    array, data = stored(tmp_path)
    assert array[1, 1] == data[1, 1] and answers[-1] is not None
    for caps in ({"max_chunk_bytes": 8}, {"max_dimensions": 1}):
        with limits.override(**caps):
            found = either_way(lambda: array[1, 1])
            assert found[0] == found[1] and answers[-1] is None
    with limits.override(max_chunk_bytes=8), pytest.raises(LimitError):
        omnizarr.open_array(tmp_path)[1, 1]
    with config.set(threads=1), limits.override(scratch_bytes=1):
        assert array[1, 1] == data[1, 1] and answers[-1] is not None
    monkeypatch.setattr(native_plans.native_core, "core", lambda: None)
    assert array[1, 1] == data[1, 1] and answers[-1] is None


def test_chunks_beyond_the_limits_are_no_error_before_one_is_read(tmp_path: Path) -> None:
    omnizarr.create_array(tmp_path, data=np.ones((100, 100)), chunks=50)
    with limits.override(max_chunk_bytes=2000):
        array = omnizarr.open_array(tmp_path, mode="r")
        for key in ((0, 100), slice(3, 3), (1, 1)):
            same(*either_way(lambda k=key: array[k]))
        assert array[3:3].shape == (0, 100)
    assert array[1, 1] == 1


def test_metadata_are_looked_at_once(tmp_path: Path) -> None:
    _, data = stored(tmp_path)
    looks: list[int] = []

    class Looking(omnizarr.Array):
        def refresh(self) -> None:
            looks.append(1)
            super().refresh()

    array = omnizarr.open_array(tmp_path, mode="r", cache_metadata=False).as_type(Looking)
    for key in ((1, 1), slice(1, 5)):
        looks.clear()
        np.testing.assert_array_equal(array[key], data[key])
        assert len(looks) == 1


def test_a_store_that_must_see_its_reads(tmp_path: Path, answers: list[Any]) -> None:
    class Counting(omnizarr.LocalStore):
        reads = 0

        def get(self, key: str, byte_range: Any = None) -> Any:
            self.reads += 1
            return super().get(key, byte_range)

    _, data = stored(tmp_path)
    store = Counting(tmp_path)
    array = omnizarr.open_array(store, mode="r")
    before = store.reads
    assert array[1, 1] == data[1, 1]
    assert store.reads == before + 1 and answers == [None]


def test_a_subclass_of_arrays(tmp_path: Path) -> None:
    class Own(np.ndarray):
        pass

    stored(tmp_path)
    array = omnizarr.open_array(tmp_path, mode="r", meta_array=np.zeros(()).view(Own))
    found = either_way(lambda: (type(array[0:3, 0:4]), type(array[1, 1])))
    assert found[0] == found[1] == (Own, np.int32)


def test_a_call_that_was_called_off(tmp_path: Path) -> None:
    array, _ = stored(tmp_path)
    event = threading.Event()
    event.set()
    with parallel.abandoned_by(event), pytest.raises(parallel.Abandoned):
        array[1, 1]


def test_threads_and_a_fork(tmp_path: Path) -> None:
    array, data = stored(tmp_path)
    wrong: list[Any] = []

    def read() -> None:
        for number in range(500):
            place = number % 7, number % 10
            if array[place] != data[place]:
                wrong.append(place)

    threads = [threading.Thread(target=read) for _ in range(4)]
    for thread in threads:
        thread.start()
    for _ in range(5):
        child = os.fork()
        if child == 0:
            os._exit(int(array[3, 3] != data[3, 3] or array[0:3, 0:4].sum() != data[:3, :4].sum()))
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    for thread in threads:
        thread.join()
    assert not wrong


@pytest.mark.parametrize(
    ("place", "wrong", "error"),
    [
        (0, "root", TypeError),
        (3, [7, 10], TypeError),
        (5, None, TypeError),
        (3, (7,), None),
        (3, (7, "10"), None),
        (4, "i4", None),
        (4, np.dtype("i8"), None),
        (4, np.dtype(object), None),
        (4, np.dtype("M8"), None),
    ],
)
def test_wrong_arguments(place: int, wrong: Any, error: Any, tmp_path: Path) -> None:
    array, data = stored(tmp_path)
    source = array._source
    files = source.store.files("")
    arguments = [*files[:2], (1, 1), SHAPE, data.dtype, False, lambda: None]
    assert source.native_chunks.read_single(*arguments) == data[1, 1]
    arguments[place] = wrong
    call = operator.methodcaller("read_single", *arguments)
    if error is None:
        assert call(source.native_chunks) is None
    else:
        with pytest.raises(error):
            call(source.native_chunks)
