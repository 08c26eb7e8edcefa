"""Reading into a device: the pipeline of slabs, with a device that is memory of this process.

It copies in a thread of its own, as a GPU would, and takes its time.
"""

from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import omnizarr
from omnizarr.nodes.data import staging
from omnizarr.testing import CountingStore


class OnDevice:
    """An array that only a copy of the device reaches."""

    def __init__(self, shape: tuple[int, ...], dtype: str = "i8") -> None:
        self.content = np.full(shape, -1, dtype)

    @property
    def __cuda_array_interface__(self) -> dict[str, Any]:
        return {"shape": self.content.shape, "typestr": "<i8", "data": (1, False), "version": 3}


class SlowDevice:
    """Copies later, from the buffer as it is then: one that is reused too early shows."""

    def __init__(self, out: OnDevice) -> None:
        self._content = out.content
        self.shape, self.dtype = out.content.shape, out.content.dtype
        self.buffers: list[int] = []
        self._engine = ThreadPoolExecutor(1)

    def buffer(self, size: int) -> Any:
        self.buffers.append(size)
        return np.empty(size, np.uint8)

    def copy(self, values: Any, slab: staging.Slab) -> Callable[[], object]:
        def later() -> None:
            time.sleep(0.001)
            self._content[slab] = values

        return self._engine.submit(later).result


@pytest.fixture
def devices(monkeypatch: pytest.MonkeyPatch) -> list[SlowDevice]:
    made: list[SlowDevice] = []

    def device(out: Any) -> SlowDevice:
        made.append(SlowDevice(out))
        return made[-1]

    monkeypatch.setattr(staging, "cuda_device", device)
    return made


def keys(shape: tuple[int, ...]) -> st.SearchStrategy[Any]:
    def one(length: int) -> st.SearchStrategy[Any]:
        return st.slices(length) | st.integers(0, length - 1)

    return st.tuples(*map(one, shape)) | st.lists(st.integers(0, shape[0] - 1)).map(
        lambda chosen: (np.array(chosen, int),)
    )


@settings(max_examples=40)
@given(st.data())
def test_a_device_gets_what_numpy_selects(data: st.DataObject) -> None:
    shape = data.draw(st.tuples(*[st.integers(1, 8)] * 2))
    values = np.arange(shape[0] * shape[1]).reshape(shape)
    a = omnizarr.array(values, chunks=data.draw(st.tuples(*[st.integers(1, 5)] * 2)))
    key = data.draw(keys(shape))
    out = OnDevice(values[key].shape)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(staging, "cuda_device", SlowDevice)
        patch.setattr(staging, "SLAB_BYTES", data.draw(st.sampled_from([1, 40, 100, 1000])))
        patch.setattr(staging, "MOST_BYTES", data.draw(st.sampled_from([1, 40, 100, 1000])))
        assert a.read(key, out=out) is out  # type: ignore[arg-type]
    np.testing.assert_array_equal(out.content, values[key])


def test_no_chunk_is_read_twice(devices: list[SlowDevice], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(staging, "SLAB_BYTES", 8 * 25 * 3)
    monkeypatch.setattr(staging, "MOST_BYTES", 0)
    memory = omnizarr.MemoryStore()
    omnizarr.create_array(memory, data=np.arange(300).reshape(100, 3), chunks=(10, 3))
    store = CountingStore(memory)
    a = omnizarr.open_array(store, mode="r")
    out = OnDevice((90, 3))
    store.reset()
    a.read(slice(5, 95), out=out)  # type: ignore[arg-type]
    np.testing.assert_array_equal(out.content, np.arange(300).reshape(100, 3)[5:95])
    asked = Counter(key for found in store.asked.values() for key in found if key[:2] == "c/")
    assert asked == {f"c/{n}/0": 1 for n in range(10)}
    assert devices[0].buffers == [8 * 20 * 3] * 2, "two buffers of two chunks each"


def test_a_slab_has_chunks_for_every_thread(devices: list[SlowDevice]) -> None:
    a = omnizarr.array(np.zeros((40, 1 << 20), "i1"), chunks=(1, 1 << 20))
    chosen = slice(0, 40)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(staging, "SLAB_BYTES", 1)
        patch.setattr("omnizarr.engine.threads.available", lambda: 8)
        a.read(chosen, out=OnDevice((40, 1 << 20), "i1"))  # type: ignore[arg-type]
        patch.setattr(staging, "MOST_BYTES", 3 << 20)
        a.read(chosen, out=OnDevice((40, 1 << 20), "i1"))  # type: ignore[arg-type]
    assert [device.buffers[0] for device in devices] == [16 << 20, 3 << 20]


def test_reading_goes_on_while_a_slab_is_copied() -> None:
    order: list[str] = []
    first_is_read, second_is_read = threading.Event(), threading.Event()

    class Waiting(SlowDevice):
        def copy(self, values: Any, slab: staging.Slab) -> Callable[[], object]:
            first_is_read.set()
            return lambda: second_is_read.wait(20) and order.append("copied")

    def read(slab: staging.Slab, values: Any) -> None:
        if first_is_read.is_set():
            order.append("read")
            second_is_read.set()

    slabs: list[staging.Slab] = [(slice(0, 1),), (slice(1, 2),)]
    staging.transfer(read, Waiting(OnDevice((2,))), slabs)
    assert order == ["read", "copied", "copied"]


def test_a_fault_waits_for_copies_that_have_begun() -> None:
    done: list[bool] = []

    class Waiting(SlowDevice):
        def copy(self, values: Any, slab: staging.Slab) -> Callable[[], object]:
            return lambda: done.append(True)

    def read(slab: staging.Slab, values: Any) -> None:
        if slab[0].start:
            raise OSError("gone")

    with pytest.raises(OSError, match="gone"):
        staging.transfer(read, Waiting(OnDevice((2,))), [(slice(0, 1),), (slice(1, 2),)])
    assert done == [True]


def test_shapes_must_agree(devices: list[SlowDevice]) -> None:
    with pytest.raises(omnizarr.errors.SelectionError, match=r"out has shape \(4,\)"):
        omnizarr.zeros(3).read(out=OnDevice((4,)))  # type: ignore[arg-type]
    omnizarr.zeros((0, 3)).read(out=OnDevice((0, 3)))  # type: ignore[arg-type]
    assert devices[-1].buffers == []


def test_cupy_is_asked_for() -> None:
    with pytest.raises(omnizarr.errors.MissingPackageError, match=r"omnizarr\[cuda\]"):
        omnizarr.zeros(4).read(out=OnDevice((4,)))  # type: ignore[arg-type]
