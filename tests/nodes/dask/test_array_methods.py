"""`Array.to_dask`, and arrays of omnizarr in Dask's own functions."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import omnizarr
from omnizarr.errors import LimitError, StoreError

da = pytest.importorskip("dask.array")

VALUES = np.arange(60.0).reshape(10, 6)


@pytest.fixture
def array(tmp_path: Path) -> omnizarr.Array:
    return omnizarr.create_array(tmp_path / "a", data=VALUES, chunks=(4, 3))


def test_blocks_are_stored_chunks(array: omnizarr.Array) -> None:
    lazy = array.to_dask()
    assert lazy.chunks == ((4, 4, 2), (3, 3))
    assert lazy.dtype == array.dtype
    assert (lazy.compute(scheduler="sync") == VALUES).all()


def test_blocks_are_shards(tmp_path: Path) -> None:
    array = omnizarr.create_array(tmp_path / "a", data=VALUES, chunks=(2, 3), shards=(4, 6))
    assert array.to_dask().chunks == ((4, 4, 2), (6,))


def test_blocks_of_a_grid_of_several_lengths(tmp_path: Path) -> None:
    array = omnizarr.create_array(tmp_path / "a", data=VALUES, chunks=([7, 3], [1, 5]))
    assert array.to_dask().chunks == ((7, 3), (1, 5))


@pytest.mark.parametrize("chunks", [(5, 2), "auto", {0: 5}, -1, ((3, 7), (6,)), "200 B"])
def test_other_chunks(array: omnizarr.Array, chunks: Any) -> None:
    lazy = array.to_dask(chunks)
    assert (lazy.compute(scheduler="threads") == VALUES).all()


@pytest.mark.parametrize("shape", [(), (0,), (3, 0)])
def test_arrays_without_elements_or_dimensions(tmp_path: Path, shape: tuple[int, ...]) -> None:
    array = omnizarr.create_array(tmp_path / "a", shape=shape, dtype="i4", fill_value=3)
    found = array.to_dask().compute(scheduler="sync")
    assert found.shape == shape
    assert (found == 3).all()


@pytest.mark.parametrize("inline", [False, True])
def test_selections_of_the_lazy_array(array: omnizarr.Array, inline: bool) -> None:
    lazy = array.to_dask(inline_array=inline)
    for selection in [np.s_[::-1], np.s_[[7, 0, 7]], np.s_[2:9, 4], np.s_[:, [5, 1]], np.s_[None]]:
        assert np.array_equal(lazy[selection].compute(scheduler="sync"), VALUES[selection])
    assert np.array_equal(
        lazy[[1, 8]][:, [0, 5]].compute(scheduler="sync"), VALUES[[1, 8]][:, [0, 5]]
    )


def test_making_it_reads_nothing(array: omnizarr.Array) -> None:
    chunks = [key for key in array.store if not key.endswith(".json")]
    for key in chunks:
        array.store.set(key, b"damaged")
    assert array.to_dask().shape == VALUES.shape


def test_types(tmp_path: Path) -> None:
    samples = [
        np.array(["a", "bc", ""], dtype=np.dtypes.StringDType()),
        np.array([(1, 2.5), (3, 4.5)], dtype=[("x", "i4"), ("y", "f8")]),
        np.array(["2020-01-01", "NaT"], dtype="M8[ns]"),
        np.array([1 + 2j, 3]),
        np.array([b"a", b"bcd"]),
    ]
    for number, values in enumerate(samples):
        array = omnizarr.create_array(tmp_path / str(number), data=values)
        found = array.to_dask().compute(scheduler="sync")
        assert found.dtype == values.dtype
        assert found.tobytes() == values.tobytes() or (found == values).all()


def test_an_unknown_keyword_is_refused(array: omnizarr.Array) -> None:
    with pytest.raises(TypeError, match="did you mean 'chunks'"):
        array.to_dask(chunk=3)  # type: ignore[call-arg]


def test_dask_functions_take_arrays(array: omnizarr.Array, tmp_path: Path) -> None:
    lazy = da.from_array(array)
    assert (lazy.compute(scheduler="sync") == VALUES).all()
    target = omnizarr.create_array(tmp_path / "b", shape=(10, 6), chunks=(5, 3), dtype="f8")
    da.store(lazy.rechunk((5, 3)) * 2, target, lock=False, scheduler="threads")
    assert (target[:] == VALUES * 2).all()
    # Blocks that share chunks: the store's locks keep every write.
    da.store(lazy.rechunk((3, 2)) * 3, target, lock=False, scheduler="threads")
    assert (target[:] == VALUES * 3).all()


def test_xarray_chunk_manager(array: omnizarr.Array, tmp_path: Path) -> None:
    manager = pytest.importorskip("xarray.namedarray.daskmanager").DaskManager()
    lazy = manager.from_array(array, chunks=((5, 5), (6,)))
    assert manager.is_chunked_array(lazy)
    target = omnizarr.create_array(tmp_path / "b", shape=(10, 6), chunks=(5, 6), dtype="f8")
    manager.store(lazy, target, lock=False, scheduler="sync")
    assert (target[:] == VALUES).all()


# -- other processes ---------------------------------------------------------------------------


@pytest.mark.slow
def test_processes_read_and_write(array: omnizarr.Array, tmp_path: Path) -> None:
    target = omnizarr.create_array(tmp_path / "b", shape=(10, 6), chunks=(4, 3), dtype="f8")
    da.store(array.to_dask() + 1, target, lock=False, scheduler="processes", num_workers=2)
    assert (target[:] == VALUES + 1).all()


WRAPPED: list[Any] = [
    omnizarr.MemoryStore,
    lambda values: omnizarr.ReadOnlyStore(omnizarr.MemoryStore(values)),
    omnizarr.stores.MappingStore,
]


@pytest.mark.parametrize("wrapped", WRAPPED)
def test_an_array_in_memory_stays_in_its_process(wrapped: Any) -> None:
    values: dict[str, bytes] = {}
    omnizarr.create_array(values, data=VALUES, chunks=(4, 3))
    array = omnizarr.open_array(wrapped(values), mode="r")
    assert (pickle.loads(pickle.dumps(array))[:] == VALUES).all()  # not for Dask: a copy
    lazy = array.to_dask()
    for scheduler in ("sync", "threads"):
        assert lazy.sum().compute(scheduler=scheduler) == VALUES.sum()
    with pytest.raises(StoreError, match="in memory cannot be sent to another process"):
        pickle.dumps(array)


def test_writing_to_memory_from_processes_is_refused() -> None:
    target = omnizarr.zeros((4,), chunks=2)
    with pytest.raises(StoreError, match="scheduler='threads'"):
        da.store(da.ones(4, chunks=2), target, lock=False, scheduler="processes", num_workers=1)
    assert (target[:] == 0).all()


def test_more_blocks_than_the_limit_are_refused_before_any_is_made(tmp_path: Path) -> None:
    array = omnizarr.create_array(tmp_path, shape=100, dtype="i4", chunks=1, shards=10)
    with omnizarr.limits.override(max_requested_chunks=10):
        assert array.to_dask().numblocks == (10,)
        with pytest.raises(LimitError, match="100 chunk lengths"):
            array.read_chunk_sizes  # noqa: B018
    with (
        omnizarr.limits.override(max_requested_chunks=9),
        pytest.raises(LimitError, match="max_requested_chunks allows 9"),
    ):
        array.to_dask()
