"""The awaitable front: same values, bounded threads, cancellation that stops the work."""

from __future__ import annotations

import asyncio
import os
import pickle
import subprocess
import sys
import threading
import time
import traceback
from collections.abc import Awaitable, Callable, Iterator
from contextvars import ContextVar
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import omnizarr
from omnizarr import MemoryStore, aio
from omnizarr.aio import threads
from omnizarr.model.store import Capabilities
from omnizarr.runtime import parallel
from omnizarr.testing import FaultStore

pytestmark = pytest.mark.slow

DATA = np.arange(24 * 10, dtype="i4").reshape(24, 10)
NOTE: ContextVar[str] = ContextVar("note", default="none")


@pytest.fixture(autouse=True)
def no_thread_is_left() -> Iterator[None]:
    before = threading.active_count()
    yield
    wait_for(lambda: threading.active_count() <= before)


def wait_for(true: Callable[[], bool], seconds: float = 10) -> None:
    deadline = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < deadline, "it did not come true in time"
        time.sleep(0.005)


def run(function: Callable[[], Awaitable[Any]]) -> Any:
    async def main() -> Any:
        return await asyncio.wait_for(function(), 60)

    return asyncio.run(main())


def slow_array(seconds: float, operation: str, requests: int = 1) -> tuple[Any, FaultStore]:
    """240 chunks of one element, each of which takes its time."""
    store = FaultStore(MemoryStore())
    store.capabilities = Capabilities(requests=requests)
    array = omnizarr.create_array(
        store, shape=(240,), chunks=(1,), dtype="i4", compressors=None, fill_value=0
    )
    array[...] = np.arange(1, 241)
    store.delay(operation, seconds)
    return array, store


# -- the same values ---------------------------------------------------------------------------


def test_arrays_are_made_read_and_written(tmp_path: Path) -> None:
    async def main() -> None:
        array = await aio.create_array(
            tmp_path / "a.zarr", shape=DATA.shape, chunks=(5, 4), dtype="i4", attributes={"x": 1}
        )
        await array.write(..., DATA)
        assert (array.shape, array.chunks, array.dtype) == ((24, 10), (5, 4), np.dtype("i4"))
        assert (array.ndim, array.size, array.nbytes, len(array)) == (2, 240, 960, 24)
        assert array.attrs == {"x": 1}
        plain = omnizarr.open_array(tmp_path / "a.zarr", "r")
        for selection in (..., 3, (slice(2, 9), slice(None, None, 2)), (3, 4), DATA[:, 0] > 50):
            found = await array.read(selection)
            expected = plain[selection]
            assert type(found) is type(expected)
            np.testing.assert_array_equal(found, expected)
            np.testing.assert_array_equal(await array.getitem(selection), expected)
        await array.setitem((0, 0), -1)
        assert await array.read((0, 0)) == -1
        out = np.empty((24, 10), "f8")
        assert await array.read(out=out) is out
        np.testing.assert_array_equal(out, plain[...])

    run(main)


def test_every_way_to_select() -> None:
    array = omnizarr.create_array(None, data=DATA, chunks=(5, 4))
    mask = np.arange(10) % 3 == 0

    async def main() -> None:
        held = aio.AsyncArray(array)
        rows = [1, 7, 3]
        found = await held.oindex.read((rows, mask))
        np.testing.assert_array_equal(found, array.oindex[rows, mask])
        found = await held.vindex.read((rows, rows))
        np.testing.assert_array_equal(found, array.vindex[rows, rows])
        found = await held.blocks.read((1, slice(0, 2)))
        np.testing.assert_array_equal(found, array.blocks[1, 0:2])
        out = np.empty((3, 4), "i4")
        assert await held.oindex.read((rows, mask), out=out) is out
        np.testing.assert_array_equal(out, array.oindex[rows, mask])
        await held.oindex.write((rows, mask), 1000)
        await held.vindex.write(([0], [9]), 2000)
        await held.blocks.write((4, 2), 3000)
        assert (array.oindex[rows, mask] == 1000).all()
        assert array[0, 9] == 2000
        assert (array.blocks[4, 2] == 3000).all()

    run(main)


def test_fields_of_a_structured_type() -> None:
    async def main() -> None:
        values = np.array([(1, 2.5), (3, 4.5)], [("a", "i4"), ("b", "f8")])
        array = await aio.create_array(None, data=values)
        np.testing.assert_array_equal(await array.field("b").read(), values["b"])
        await array.field("a").write(slice(0, 1), 9)
        assert (await array.read("a")).tolist() == [9, 3]

    run(main)


def test_shape_and_attributes_change() -> None:
    async def main() -> None:
        array = await aio.create_array(None, data=DATA, chunks=(5, 4))
        assert await array.append(DATA[:2]) == (26, 10)
        await array.resize((4, 10))
        np.testing.assert_array_equal(await array.read(), DATA[:4])
        assert await array.update_attributes({"a": 1, "b": [2]}) is array
        assert array.attrs == {"a": 1, "b": [2]}
        array.attrs["a"] = 5  # a copy
        await array.refresh()
        assert array.attrs == {"a": 1, "b": [2]}
        await array.put_attributes({"c": None})
        assert array.attrs == {"c": None}

    run(main)


def test_groups(tmp_path: Path) -> None:
    async def main() -> None:
        async with await aio.create_group(tmp_path / "g.zarr", attributes={"t": 1}) as root:
            deep = await root.create_group("deep")
            await deep.create_array("z", data=DATA)
            await root.create_array("a", shape=3, dtype="u1")
            assert isinstance(await root.getitem("deep/z"), aio.AsyncArray)
            assert await root.get("nothing") is None
            assert await root.get("nothing", 7) == 7
            with pytest.raises(KeyError, match="nothing"):
                await root.getitem("nothing")
            assert await root.contains("deep/z")
            assert not await root.contains("deep/y")
            assert [name async for name in root] == ["a", "deep"]
            assert [name async for name, _ in root.members()] == ["a", "deep"]
            assert [n async for n, _ in root.members(None)] == ["a", "deep", "deep/z"]
            assert [name async for name, _ in root.arrays()] == ["a"]
            assert [name async for name, _ in root.groups()] == ["deep"]
            assert (await root.require_group("deep")).path == "deep"
            assert (await root.require_array("a", 3, dtype="u1")).path == "a"
            await root.move("a", "b")
            await root.delete("deep")
            assert [name async for name in root] == ["b"]
            assert (root.zarr_format, root.name, root.basename, root.read_only) == (
                3,
                "/",
                "",
                False,
            )
        opened = await aio.open(tmp_path / "g.zarr", "r", path="b")
        assert isinstance(opened, aio.AsyncArray)
        assert opened.read_only
        assert (await aio.open_group(tmp_path / "g.zarr", "r")).attrs == {"t": 1}
        assert (await aio.open_array(tmp_path / "g.zarr", "r", path="b")).shape == (3,)
        keys = [key async for key in aio.list_keys(tmp_path / "g.zarr")]
        assert keys == ["b/zarr.json", "zarr.json"]
        assert [key async for key in aio.list_keys(root.store, "b/")] == ["b/zarr.json"]

    run(main)


def test_save_load_convert_check(tmp_path: Path) -> None:
    async def main() -> None:
        await aio.save(tmp_path / "one.zarr", DATA)
        np.testing.assert_array_equal(await aio.load(tmp_path / "one.zarr"), DATA)
        await aio.save(tmp_path / "two.zarr", a=DATA, b=DATA[0])
        loaded = await aio.load(tmp_path / "two.zarr")
        assert sorted(loaded) == ["a", "b"]
        np.testing.assert_array_equal(loaded["b"], DATA[0])
        await aio.convert(tmp_path / "two.zarr", tmp_path / "old.zarr", zarr_format=2)
        assert (await aio.open_group(tmp_path / "old.zarr", "r")).zarr_format == 2
        assert (await aio.check(tmp_path / "old.zarr")).ok
        await aio.to_thread(omnizarr.consolidate_metadata, tmp_path / "two.zarr")
        root = await aio.open_consolidated(tmp_path / "two.zarr", "r")
        assert [name async for name in root] == ["a", "b"]

    run(main)


def test_a_node_is_a_value() -> None:
    array = aio.AsyncArray(omnizarr.create_array("memory://aio-value", data=DATA, overwrite=True))
    assert repr(array).startswith("<omnizarr.aio.AsyncArray '/' (24, 10)")
    assert array == aio.AsyncArray(omnizarr.open_array("memory://aio-value"))
    assert {array: 1}[array] == 1
    assert array
    stored = aio.AsyncArray(omnizarr.create_array(MemoryStore(), data=DATA))
    copied = pickle.loads(pickle.dumps(stored))
    np.testing.assert_array_equal(copied.sync[...], DATA)


# -- many at once ------------------------------------------------------------------------------


def test_a_thousand_reads_at_once_are_bounded() -> None:
    array, store = slow_array(0.002, "get")
    most = 0

    start = set(threading.enumerate())  # threads of other tests may still be ending

    def watch(operation: str, key: str, before: Any = store.before) -> None:
        nonlocal most
        most = max(most, len(set(threading.enumerate()) - start))
        before(operation, key)

    store.before = watch  # type: ignore[method-assign]

    async def main() -> list[Any]:
        held = aio.AsyncArray(array)
        return await asyncio.gather(*(held.read(index % 240) for index in range(1000)))

    assert run(main) == [index % 240 + 1 for index in range(1000)]
    assert 2 < most <= threads.MOST_CALLS


def test_calls_and_their_threads_together_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    array, _ = slow_array(0.001, "get", requests=64)
    monkeypatch.setattr(parallel, "MOST_THREADS", 40)
    monkeypatch.setattr(threads, "MOST_CALLS", 8)
    most = 0

    async def watch() -> None:
        nonlocal most
        while True:
            most = max(most, threading.active_count())
            await asyncio.sleep(0.001)

    async def main() -> None:
        watching = asyncio.create_task(watch())
        held = aio.AsyncArray(array)
        for values in await asyncio.gather(*(held.read() for _ in range(20))):
            np.testing.assert_array_equal(values, np.arange(1, 241))
        watching.cancel()

    start = threading.active_count()  # threads of other tests may still be ending
    run(main)
    # Each of 8 calls has one thread in any case, and may see the last free place as others do.
    assert 20 < most <= max(40, start) + 8 + 8


def test_several_stores_at_once_do_not_wait_for_each_other() -> None:
    arrays = [slow_array(0.2, "get")[0] for _ in range(20)]

    async def main() -> list[Any]:
        return await asyncio.gather(*(aio.AsyncArray(a).read(slice(0, 4)) for a in arrays))

    start = time.monotonic()
    found = run(main)
    assert time.monotonic() - start < 20 * 4 * 0.2 / 2
    assert all(values.tolist() == [1, 2, 3, 4] for values in found)


def test_the_loop_goes_on_meanwhile() -> None:
    array, _ = slow_array(0.2, "get")

    async def main() -> int:
        reading = asyncio.create_task(aio.AsyncArray(array).read(slice(0, 2)))
        ticks = 0
        while not reading.done():
            await asyncio.sleep(0.01)
            ticks += 1
        return ticks

    assert run(main) > 5


def test_plain_calls_work_inside_a_running_loop(tmp_path: Path) -> None:
    async def main() -> None:
        omnizarr.save(tmp_path / "x.zarr", DATA)  # as in a notebook
        np.testing.assert_array_equal(omnizarr.load(tmp_path / "x.zarr"), DATA)
        array = await aio.open_array(tmp_path / "x.zarr", "r")
        np.testing.assert_array_equal(array.sync[...], DATA)

    run(main)


def test_one_loop_after_another_and_two_at_once() -> None:
    array = aio.AsyncArray(omnizarr.create_array(None, data=DATA, chunks=(5, 4)))
    sums: list[int] = []

    def work() -> None:
        for _ in range(5):
            sums.append(int(run(array.read).sum()))

    both = [threading.Thread(target=work) for _ in range(2)]
    for thread in both:
        thread.start()
    for thread in both:
        thread.join()
    assert sums == [int(DATA.sum())] * 10


def test_context_variables_are_seen() -> None:
    async def main() -> tuple[str, str]:
        NOTE.set("outside")

        def inner() -> str:
            found = NOTE.get()
            NOTE.set("inside")
            return found

        return await aio.to_thread(inner), NOTE.get()

    assert run(main) == ("outside", "outside")


# -- errors ------------------------------------------------------------------------------------


def test_errors_arrive_with_their_traceback() -> None:
    array, store = slow_array(0, "get")
    store.fail("get", OSError("the cable is cut"), key="c/7", times=None)

    async def main() -> None:
        held = aio.AsyncArray(array)
        with pytest.raises(OSError, match="the cable is cut") as caught:
            await held.read()
        shown = "".join(traceback.format_exception(caught.value))
        assert "test_aio.py" in shown
        assert "engine/reading.py" in shown
        assert (await held.read(slice(0, 3))).tolist() == [1, 2, 3]
        with pytest.raises(omnizarr.errors.SelectionError):
            await held.read(1000)
        with pytest.raises(omnizarr.errors.NodeNotFoundError):
            await aio.open_array(MemoryStore(), "r")

    run(main)


def test_one_failure_of_many(recwarn: pytest.WarningsRecorder) -> None:
    array, store = slow_array(0, "get")
    store.fail("get", OSError("cut"), key="c/7", times=None)

    async def main() -> list[Any]:
        held = aio.AsyncArray(array)
        return await asyncio.gather(*(held.read(i) for i in range(10)), return_exceptions=True)

    found = run(main)
    assert isinstance(found.pop(7), OSError)
    assert found == [1, 2, 3, 4, 5, 6, 7, 9, 10]


# -- cancellation ------------------------------------------------------------------------------


@pytest.mark.parametrize("requests", [1, 8])
def test_a_cancelled_read_ends_at_once_and_its_threads_soon(requests: int) -> None:
    array, store = slow_array(1, "get", requests)
    asked: list[str] = []

    async def main() -> float:
        reading = asyncio.create_task(aio.AsyncArray(array).read())
        await asyncio.sleep(1.4)
        start = time.monotonic()
        reading.cancel()
        with pytest.raises(asyncio.CancelledError):
            await reading
        return time.monotonic() - start

    before = store.before
    store.before = lambda op, key: (asked.append(key), before(op, key))[1]  # type: ignore[method-assign]
    assert run(main) < 10  # the whole read takes 30 s at least
    seen = len(asked)
    time.sleep(1.4)
    assert len(asked) <= seen + requests
    assert len(asked) < 40
    store.heal()
    np.testing.assert_array_equal(array[...], np.arange(1, 241))


@pytest.mark.parametrize("requests", [1, 8])
def test_nothing_is_written_after_a_cancelled_write(requests: int) -> None:
    array, store = slow_array(0.5, "set", requests)

    async def main() -> Any:
        writing = asyncio.create_task(aio.AsyncArray(array).write(..., np.full(240, -1)))
        await asyncio.sleep(0.8)
        start = time.monotonic()
        writing.cancel()
        with pytest.raises(asyncio.CancelledError):
            await writing
        assert time.monotonic() - start < 10  # the whole write takes 15 s at least
        return (store.store.get("c/239"), dict(store.store.items()))

    _, at_once = run(main)
    time.sleep(0.8)
    assert dict(store.store.items()) == at_once
    store.heal()
    written = int((array[...] == -1).sum())
    assert 0 < written < 100
    run(lambda: aio.AsyncArray(array).write(..., np.full(240, -2)))
    assert (array[...] == -2).all()


def test_a_read_into_memory_of_the_caller_is_waited_for() -> None:
    array, _ = slow_array(0.1, "get", requests=4)
    out = np.zeros(240, "i4")

    async def main() -> Any:
        reading = asyncio.create_task(aio.AsyncArray(array).read(out=out))
        await asyncio.sleep(0.15)
        reading.cancel()
        with pytest.raises(asyncio.CancelledError):
            await reading
        return out.copy()

    after = run(main)
    time.sleep(0.25)
    np.testing.assert_array_equal(out, after)


def test_timeouts() -> None:
    array, _ = slow_array(0.05, "get")

    async def main() -> None:
        held = aio.AsyncArray(array)
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.1):
                await held.read()
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(held.read(), 0.1)
        async with asyncio.timeout(10):
            assert await held.read(0) == 1

    run(main)


def test_a_call_that_waits_for_its_turn_is_withdrawn(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(threads, "MOST_CALLS", 1)
    array, _ = slow_array(0.6, "set")

    async def main() -> None:
        held = aio.AsyncArray(array)
        first = asyncio.create_task(held.write(slice(0, 5), -1))
        await asyncio.sleep(0.02)
        second = asyncio.create_task(held.write(slice(5, 10), -1))
        await asyncio.sleep(0.02)
        second.cancel()
        with pytest.raises(asyncio.CancelledError):
            await second
        assert not first.done()
        await first

    run(main)
    assert array[:10].tolist() == [-1] * 5 + [6, 7, 8, 9, 10]


def test_a_second_cancellation_ends_the_wait() -> None:
    release = threading.Event()

    async def main() -> None:
        stuck = asyncio.create_task(aio.to_thread(release.wait, 20))
        await asyncio.sleep(0.05)
        stuck.cancel()
        await asyncio.sleep(0.05)
        assert not stuck.done()
        stuck.cancel()
        with pytest.raises(asyncio.CancelledError):
            await stuck
        release.set()

    run(main)


def test_the_wait_for_a_stuck_call_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(threads, "PATIENCE", 0.1)
    release = threading.Event()

    async def main() -> None:
        stuck = asyncio.create_task(aio.to_thread(release.wait, 20))
        await asyncio.sleep(0.05)
        stuck.cancel()
        with pytest.raises(asyncio.CancelledError):
            await stuck
        release.set()

    run(main)


@pytest.mark.parametrize("workers", [1, 4])
def test_conversions_and_listings_are_abandoned_too(tmp_path: Path, workers: int) -> None:
    _, store = slow_array(0.5, "get")

    async def main() -> None:
        converting = asyncio.create_task(
            aio.convert(store, tmp_path / "new.zarr", zarr_format=2, workers=workers)
        )
        await asyncio.sleep(0.5)
        start = time.monotonic()
        converting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await converting
        assert time.monotonic() - start < 10  # the conversion takes 30 s at least

        keys = []
        async for key in aio.list_keys(store):
            keys.append(key)
            if len(keys) == 3:
                break
        assert keys == ["c/0", "c/1", "c/10"]

    run(main)
    assert not (tmp_path / "new.zarr" / ".zarray").exists()


# -- ends --------------------------------------------------------------------------------------


def test_a_loop_that_is_closed_leaves_no_trace(caplog: pytest.LogCaptureFixture) -> None:
    array, _ = slow_array(0.1, "get")
    loop = asyncio.new_event_loop()
    reading = loop.create_task(aio.AsyncArray(array).read(slice(0, 20)))
    loop.run_until_complete(asyncio.sleep(0.05))
    reading.cancel()
    loop.run_until_complete(asyncio.gather(reading, return_exceptions=True))
    loop.close()
    wait_for(lambda: not any(t.name == "omnizarr-aio" for t in threading.enumerate()))
    assert not caplog.records


def test_ctrl_c_ends_a_program() -> None:
    program = """
import asyncio, os, signal, threading, omnizarr
from omnizarr import aio
from omnizarr.testing import FaultStore
store = FaultStore(omnizarr.MemoryStore())
array = omnizarr.create_array(store, data=list(range(1, 100)), chunks=(1,))
store.delay("get", 0.1)
signal.signal(signal.SIGINT, signal.default_int_handler)  # ignored in the background
threading.Timer(0.4, os.kill, (os.getpid(), signal.SIGINT)).start()
try:
    asyncio.run(aio.AsyncArray(array).read())
except KeyboardInterrupt:
    print("interrupted")
"""
    start = time.monotonic()
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, timeout=60,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}, check=False,
    )  # fmt: skip
    assert (done.returncode, done.stdout, done.stderr) == (0, "interrupted\n", "")
    assert time.monotonic() - start < 60


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
def test_it_works_after_a_fork() -> None:
    array = aio.AsyncArray(omnizarr.create_array(None, data=DATA, chunks=(5, 4)))
    release = threading.Event()

    async def main() -> int:
        busy = [asyncio.create_task(aio.to_thread(release.wait, 20)) for _ in range(5)]
        await asyncio.sleep(0.05)
        child = os.fork()
        if child == 0:
            status = 1
            try:
                found: list[int] = []
                inner = threading.Thread(target=lambda: found.append(run(array.read).sum()))
                inner.start()
                inner.join(20)
                status = 0 if found == [DATA.sum()] else 2
            finally:
                os._exit(status)
        _, status = await asyncio.to_thread(os.waitpid, child, 0)
        release.set()
        await asyncio.gather(*busy)
        return status

    assert run(main) == 0


def test_importing_starts_nothing() -> None:
    program = (
        "import omnizarr, sys; assert 'asyncio' not in sys.modules;"
        "import omnizarr.aio, threading; assert threading.active_count() == 1"
    )
    subprocess.run(
        [sys.executable, "-c", program], check=True, timeout=60,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
    )  # fmt: skip
