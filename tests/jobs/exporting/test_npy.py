"""npy and npz files that NumPy reads: every data type, streams of blocks, and what is refused."""

from __future__ import annotations

import tracemalloc
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

import omnizarr
from omnizarr.jobs.exporting import npy, npz, regions

DTYPES = [
    "?", "i1", ">u2", "<i8", "f2", ">f4", "c16", "U3", ">U2", "S5", "V4", "M8[25us]", "m8[D]",
    "i4,f8", [("a", "U2"), ("b", [("x", ">f4")])],
]  # fmt: skip


def ignored(units: int, nbytes: int, label: str) -> None: ...


@st.composite
def arrays(draw: st.DrawFn) -> Any:
    dtype = np.dtype(draw(st.sampled_from(DTYPES)))
    shape = draw(hnp.array_shapes(min_dims=0, max_dims=3, min_side=0, max_side=7))
    values = np.random.default_rng(draw(st.integers(0, 9))).integers(0, 9, (*shape, dtype.itemsize))
    if dtype.kind in "bU" or dtype.names:
        values[:] = 0
    found = values.astype("u1").view(dtype).reshape(shape)
    chunks = tuple(draw(st.integers(1, 4)) for _ in shape)
    return omnizarr.create_array({}, data=found, chunks=chunks, zarr_format=2), found


def same(one: Any, other: Any) -> bool:
    return (
        one.dtype == other.dtype and one.shape == other.shape and one.tobytes() == other.tobytes()
    )


@settings(max_examples=60, deadline=None)
@given(made=arrays(), nbytes=st.integers(1, 200), compressed=st.booleans())
def test_numpy_reads_what_is_written(
    made: Any, nbytes: int, compressed: bool, tmp_path_factory: Any
) -> None:
    array, values = made
    folder = tmp_path_factory.mktemp("npy")
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(regions.tiles, "__defaults__", (nbytes,))
        patched.setattr(regions.slabs, "__defaults__", (nbytes,))
        assert npy.obstacles(array, {}) == npz.obstacles(array, {}) == []
        done: list[int] = []
        npy.write(array, str(folder / "x"), lambda units, *_: done.append(units))
        assert sum(done) == npy.units(array, {})
        assert same(np.load(folder / "x", allow_pickle=False), values)
        assert list(npy.differences(array, str(folder / "x"), ignored)) == []
        npz.write(array, str(folder / "y"), ignored, compressed=compressed)
        with np.load(folder / "y", allow_pickle=False) as found:
            assert same(found["data"], values)
        assert list(npz.differences(array, str(folder / "y"), ignored)) == []


@settings(max_examples=60, deadline=None)
@given(made=arrays(), nbytes=st.integers(1, 200))
def test_regions_are_everything_once(made: Any, nbytes: int) -> None:
    array, _ = made
    for parts in (regions.tiles, regions.slabs):
        seen = np.zeros(array.shape, int)
        order = []
        numbers = np.arange(array.size).reshape(array.shape)
        for region in parts(array, nbytes):
            seen[region] += 1
            order += numbers[region].reshape(-1).tolist()
        assert (seen == 1).all()
        if parts is regions.slabs:
            assert order == list(range(array.size))


def test_a_group_as_npz(tmp_path: Path) -> None:
    root = omnizarr.group()
    root["a/b"], root["c"] = [1, 2], np.eye(3)
    root.create_group("empty")
    npz.write(root, str(tmp_path / "x.npz"), ignored)
    with np.load(tmp_path / "x.npz") as found:
        assert sorted(found) == ["a/b", "c"] and np.array_equal(found["c"], np.eye(3))
    again = omnizarr.virtualize(tmp_path / "x.npz")
    assert again["a/b"][:].tolist() == [1, 2]
    [obstacle] = npy.obstacles(root, {})
    assert "one array" in obstacle
    assert npy.obstacles(root["a"], {}) == []  # the only member
    npy.write(root["a"], str(tmp_path / "x.npy"), ignored)
    assert np.load(tmp_path / "x.npy").tolist() == [1, 2]


def test_what_npy_cannot_hold() -> None:
    root = omnizarr.group()
    root.create_array("text", shape=2, dtype=str)
    root.create_array("bytes", shape=2, dtype=bytes)
    root.create_array("good", shape=2, dtype="f4")
    assert [each.partition(":")[0] for each in npz.obstacles(root, {})] == ["bytes", "text"]
    pytest.importorskip("ml_dtypes")
    for name in ("bfloat16", "float8_e5m2"):
        small = omnizarr.create_array({}, shape=2, dtype=name)
        assert name in npy.obstacles(small, {})[0]


def test_differences_are_found(tmp_path: Path) -> None:
    array = omnizarr.array(np.arange(12.0).reshape(3, 4), chunks=2)
    npy.write(array, str(tmp_path / "x.npy"), ignored)
    npz.write(array, str(tmp_path / "x.npz"), ignored)
    array[1, 2] = -1
    for module, name in ((npy, "x.npy"), (npz, "x.npz")):
        [found] = module.differences(array, str(tmp_path / name), ignored)  # type: ignore[attr-defined]
        assert "(1, 2)" in found and "-1.0" in found
    np.save(tmp_path / "y.npy", np.zeros(3))
    assert list(npy.differences(array, str(tmp_path / "y.npy"), ignored))


@pytest.mark.slow
def test_memory_is_bounded(tmp_path: Path) -> None:
    array = omnizarr.create_array(
        {}, shape=(4000, 8000), chunks=(500, 500), dtype="f8", fill_value=1
    )
    tracemalloc.start()
    try:
        npy.write(array, str(tmp_path / "x.npy"), ignored)
        assert tracemalloc.get_traced_memory()[1] < 100 << 20  # of 244
    finally:
        tracemalloc.stop()
    assert np.load(tmp_path / "x.npy", mmap_mode="r")[3999, 7999] == 1
