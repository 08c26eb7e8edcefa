"""Samples are what NumPy cuts out of the values."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import omnizarr
from omnizarr.errors import StoreError
from omnizarr.integrations.learning import Samples


@given(st.data())
def test_patches_are_numpys(data: st.DataObject) -> None:
    shape = data.draw(st.tuples(*[st.integers(1, 9)] * 3), "shape")
    chunks = data.draw(st.tuples(*[st.integers(1, 5)] * 3), "chunks")
    axes = data.draw(st.permutations(range(3)))[: data.draw(st.integers(1, 3))]
    patch = {axis: data.draw(st.integers(1, shape[axis])) for axis in axes}
    stride = {axis: data.draw(st.integers(1, 4)) for axis in axes}
    values = np.arange(np.prod(shape)).reshape(shape)
    samples = Samples(omnizarr.array(values, chunks=chunks), patch=patch, stride=stride)
    key: list[Any] = [slice(None)] * 3
    expected = []
    counts = [(shape[axis] - patch[axis]) // stride[axis] + 1 for axis in axes]
    for place in np.ndindex(*counts):
        for axis, at in zip(axes, place, strict=True):
            key[axis] = slice(at * stride[axis], at * stride[axis] + patch[axis])
        expected.append(values[tuple(key)])
    assert len(samples) == len(expected)
    wanted = data.draw(st.lists(st.integers(0, len(expected) - 1), max_size=9), "wanted")
    found = samples.read(wanted)[""]
    assert len(found) == len(wanted)
    for row, number in zip(found, wanted, strict=True):
        np.testing.assert_array_equal(row, expected[number])


@given(st.data())
def test_indices_along_an_axis_are_numpys(data: st.DataObject) -> None:
    values = np.arange(5 * 6 * 7).reshape(5, 6, 7).astype(">i4")
    axis = data.draw(st.integers(-3, 2))
    array = omnizarr.array(values, chunks=(2, 4, 3), dimension_names=("a", "b", "c"))
    name = data.draw(st.sampled_from([axis, "abc"[axis]]))
    samples = Samples({"x": array}, axis=name)
    wanted = data.draw(st.lists(st.integers(0, values.shape[axis] - 1)))
    for each in (samples, samples.held(10**6)):
        found = each.read(wanted)["x"]
        assert found.dtype.isnative
        np.testing.assert_array_equal(found, np.moveaxis(values.take(wanted, axis), axis, 0))


def test_arrays_are_aligned() -> None:
    root = omnizarr.group()
    root["image"] = np.arange(24).reshape(4, 6)
    root["label"] = np.arange(4)
    found = Samples(root).read([3, 1])
    assert found["label"].tolist() == [3, 1]
    assert found["image"][:, 0].tolist() == [18, 6]
    root["other"] = np.arange(5)
    with pytest.raises(ValueError, match=r"not aligned.*'other': \(5,\)"):
        Samples(root)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"axis": 2}, "no axis 2: its shape is"),
        ({"axis": "time"}, "no axis 'time'"),
        ({"axis": 0, "patch": (2,)}, "give one of them"),
        ({"patch": {0: 0}}, "positive"),
        ({"patch": (5, 2)}, r"is larger than the array: \(4, 4\)"),
        ({"patch": {0: 2}, "stride": {1: 2}}, "of the same axes"),
        ({"patch": {0: 2, -2: 2}}, "one axis twice"),
    ],
)
def test_what_makes_no_sense_is_refused(arguments: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Samples(omnizarr.zeros((4, 4)), **arguments)


def test_text_and_times() -> None:
    root = omnizarr.group()
    root.create_array("name", data=["a", "bb", "ccc"], dtype=str)
    root["time"] = np.array([1, 2, 3], "M8[s]")
    found = Samples(root).read([2, 0])
    assert found["name"].tolist() == ["ccc", "a"]
    assert found["time"].astype("i8").tolist() == [3, 1]


def test_a_sample_that_is_not_there_is_refused() -> None:
    samples = Samples(omnizarr.zeros(4))
    for wrong in ([4], [-1]):
        with pytest.raises(IndexError, match="there are 4"):
            samples.read(wrong)
    for number in (1.5, True, "1"):
        with pytest.raises(TypeError, match="whole numbers"):
            samples.read([number])  # type: ignore[list-item]
    with pytest.raises(ValueError, match="no arrays"):
        Samples(omnizarr.group())
    with pytest.raises(TypeError, match=r"expected an omnizarr.Array, found ndarray"):
        Samples({"x": np.zeros(3)})  # type: ignore[dict-item]


def test_workers_open_arrays_again(tmp_path: Path) -> None:
    array = omnizarr.create_array(tmp_path / "a.zarr", data=np.arange(6))
    again = pickle.loads(pickle.dumps(Samples(array)))
    assert again.read([5])[""].tolist() == [5]
    assert Samples(str(tmp_path / "a.zarr")).read([5])[""].tolist() == [5]


@pytest.mark.parametrize(
    "store", [omnizarr.MemoryStore(), {}, omnizarr.PrefixStore(omnizarr.MemoryStore(), "a")]
)
def test_arrays_in_memory_stay(store: Any) -> None:
    samples = Samples(omnizarr.create_array(store, data=np.arange(6)))
    with pytest.raises(StoreError, match="in memory: every worker would get a copy"):
        pickle.dumps(samples)
