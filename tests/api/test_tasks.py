"""`from_dask`: every way of writing, against NumPy, and what is refused."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import omnizarr
from omnizarr import Array
from omnizarr.errors import (
    MetadataError,
    NodeExistsError,
    OverlapError,
    ReadOnlyError,
    SelectionError,
    StoreError,
)

dask = pytest.importorskip("dask")
da = pytest.importorskip("dask.array")

VALUES = np.arange(600).reshape(30, 20)


@pytest.fixture(autouse=True)
def synchronous() -> Any:
    with dask.config.set(scheduler="sync"):
        yield


def lazy(chunks: Any = (10, 5), values: np.ndarray[Any, Any] = VALUES) -> Any:
    return da.from_array(values, chunks=chunks)


# -- a new array -------------------------------------------------------------------------------


def test_a_new_array_has_the_blocks_as_chunks(tmp_path: Path) -> None:
    array = omnizarr.from_dask(lazy(), tmp_path / "a")
    assert isinstance(array, Array)
    assert (array.chunks, array.shards, array.dtype) == ((10, 5), None, VALUES.dtype)
    assert (array[:] == VALUES).all()
    assert (omnizarr.open_array(tmp_path / "a", mode="r")[:] == VALUES).all()


def test_keywords_of_create_array(tmp_path: Path) -> None:
    array = omnizarr.from_dask(
        lazy(), tmp_path / "g", name="x", dtype="f4", chunks=(5, 5), shards=(10, 5),
        dimension_names=("y", "x"), attributes={"a": 1}, zarr_format=3, compressors="gzip",
    )  # fmt: skip
    assert isinstance(array, Array)
    assert (array.path, array.dtype, array.shards, array.dims) == ("x", "f4", (10, 5), ("y", "x"))
    assert (array[:] == VALUES).all()


@pytest.mark.parametrize("zarr_format", [0, 1, 2, 3, "n5"])
def test_formats(tmp_path: Path, zarr_format: Any) -> None:
    array = omnizarr.from_dask(lazy(), tmp_path / "a", zarr_format=zarr_format)
    assert (array[:] == VALUES).all()  # type: ignore[index]


def test_an_xarray_gives_its_dimensions(tmp_path: Path) -> None:
    xarray = pytest.importorskip("xarray")
    data = xarray.DataArray(lazy(), dims=("time", "x"))
    assert omnizarr.from_dask(data, tmp_path / "a").dims == ("time", "x")  # type: ignore[union-attr]


@pytest.mark.parametrize("shape", [(), (0,), (0, 4), (1,)])
def test_few_elements(tmp_path: Path, shape: tuple[int, ...]) -> None:
    array = omnizarr.from_dask(da.ones(shape, dtype="i2"), tmp_path / "a")
    assert array[...].shape == shape  # type: ignore[index]
    assert (array[...] == 1).all()  # type: ignore[index]


def test_overwriting(tmp_path: Path) -> None:
    first = omnizarr.from_dask(lazy(), tmp_path / "a")
    with pytest.raises(NodeExistsError):
        omnizarr.from_dask(lazy() + 1, tmp_path / "a")
    with pytest.raises(OverlapError):
        omnizarr.from_dask(first.to_dask() + 1, tmp_path / "a", overwrite=True)  # type: ignore[operator, union-attr]
    assert (omnizarr.open_array(tmp_path / "a")[:] == VALUES).all()
    omnizarr.from_dask(lazy() + 1, tmp_path / "a", overwrite=True)
    assert (omnizarr.open_array(tmp_path / "a")[:] == VALUES + 1).all()


def test_chunks_that_do_not_fit_are_refused_before_anything_is_stored(tmp_path: Path) -> None:
    omnizarr.from_dask(lazy(), tmp_path / "a")
    with pytest.raises(MetadataError, match=r"write x\.rechunk\(\{0: 8\}\), or pass align=True"):
        omnizarr.from_dask(lazy(), tmp_path / "a", chunks=(4, 5), shards=(8, 5), overwrite=True)
    assert (omnizarr.open_array(tmp_path / "a")[:] == VALUES).all()
    with pytest.raises(MetadataError):
        omnizarr.from_dask(lazy(), tmp_path / "b", chunks=(7, 5))
    assert not (tmp_path / "b").exists()
    array = omnizarr.from_dask(lazy(), tmp_path / "b", chunks=(7, 5), align=True)
    assert (array[:] == VALUES).all()  # type: ignore[index]


def test_the_advice_is_exact(tmp_path: Path) -> None:
    """What the message says to call is accepted."""
    x = lazy((9, 7))
    with pytest.raises(MetadataError) as caught:
        omnizarr.from_dask(x, tmp_path / "a", chunks=(4, 6))
    call = str(caught.value).partition("write x")[2].partition(", or pass")[0]
    omnizarr.from_dask(eval(f"x{call}", {"x": x}), tmp_path / "a", chunks=(4, 6))
    assert (omnizarr.open_array(tmp_path / "a")[:] == VALUES).all()


def test_uneven_blocks_need_chunks(tmp_path: Path) -> None:
    x = lazy(((3, 17, 10), (20,)))
    with pytest.raises(MetadataError, match="align=True"):
        omnizarr.from_dask(x, tmp_path / "a")
    array = omnizarr.from_dask(x, tmp_path / "a", chunks=([3, 17, 10], [20]))
    assert (array[:] == VALUES).all()  # type: ignore[index]


# -- an array that exists ----------------------------------------------------------------------


@pytest.fixture
def target(tmp_path: Path) -> Array:
    return omnizarr.create_array(tmp_path / "t", shape=(30, 20), chunks=(5, 5), dtype="i8")


def test_writing_an_open_array(target: Array) -> None:
    assert omnizarr.from_dask(lazy(), target) is target
    assert (target[:] == VALUES).all()


@pytest.mark.parametrize(
    "region",
    [np.s_[5:25, 10:], (slice(5, 25), slice(10, 20)), (slice(5, -5), ..., slice(10, None))],
)
def test_regions(target: Array, region: Any) -> None:
    x = lazy((10, 5), VALUES[:20, :10])
    omnizarr.from_dask(x, target, region=region)
    expected = np.zeros_like(VALUES)
    expected[5:25, 10:] = VALUES[:20, :10]
    assert (target[:] == expected).all()


def test_a_region_may_begin_and_end_inside_a_chunk(target: Array) -> None:
    x = lazy(((2, 5, 4), (20,)), VALUES[:11])
    omnizarr.from_dask(x, target, region=slice(3, 14))
    assert (target[3:14] == VALUES[:11]).all()
    with pytest.raises(MetadataError, match=r"rechunk\(\{0: \(2, 5, 4\)\}\)"):
        omnizarr.from_dask(lazy((5, 20), VALUES[:11]), target, region=slice(3, 14))
    omnizarr.from_dask(lazy((5, 20), VALUES[:11] + 1), target, region=slice(3, 14), align=True)
    assert (target[3:14] == VALUES[:11] + 1).all()
    assert (target[:3] == 0).all() and (target[14:] == 0).all()


@pytest.mark.parametrize(
    ("region", "error"),
    [
        (slice(0, 29), MetadataError),
        (slice(0, 30, 2), SelectionError),
        ((slice(None),) * 3, SelectionError),
        ((0, slice(None)), SelectionError),
        ((..., ...), SelectionError),
    ],
)
def test_regions_that_are_refused(target: Array, region: Any, error: type[Exception]) -> None:
    with pytest.raises(error):
        omnizarr.from_dask(lazy(), target, region=region)


def test_appending(target: Array) -> None:
    omnizarr.from_dask(lazy(), target)
    stale = omnizarr.open_array(target.store)
    assert omnizarr.from_dask(lazy() + 1, target, append_axis=0) is target
    assert target.shape == (60, 20)
    omnizarr.from_dask(lazy((15, 20), VALUES[:15]), stale, append_axis=0)
    assert (stale[:] == np.concatenate([VALUES, VALUES + 1, VALUES[:15]])).all()
    omnizarr.from_dask(da.ones((75, 5), chunks=5, dtype="i8"), stale, append_axis=-1)
    assert (stale[:, 20:] == 1).all()


def test_appending_to_a_chunk_that_is_not_full(tmp_path: Path) -> None:
    array = omnizarr.create_array(tmp_path / "a", data=np.arange(7), chunks=5, shards=10)
    with pytest.raises(MetadataError, match=r"rechunk\(\{0: \(3, 10, 2\)\}\)"):
        omnizarr.from_dask(da.arange(15, chunks=10), array, append_axis=0)
    assert array.shape == (7,)
    omnizarr.from_dask(da.arange(15, chunks=10), array, append_axis=0, align=True)
    assert array[:].tolist() == [*range(7), *range(15)]


def test_an_append_that_fails_is_undone(target: Array) -> None:
    omnizarr.from_dask(lazy(), target)

    def fail(block: Any, block_info: Any = None) -> Any:
        if block_info[0]["chunk-location"] == (1, 0):
            raise ValueError("cannot be computed")
        return block

    with pytest.raises(ValueError, match="cannot be computed"):
        omnizarr.from_dask(lazy((5, 20)).map_blocks(fail, dtype="i8"), target, append_axis=0)
    assert omnizarr.open_array(target.store).shape == (30, 20)
    assert len([*omnizarr.open_array(target.store).stored_chunks()]) == 24
    target.resize(60, 20)
    assert (target[30:] == 0).all()


def test_a_failed_append_keeps_what_others_appended(target: Array) -> None:
    def append_and_fail(block: Any) -> Any:
        omnizarr.open_array(target.store).append(np.full((1, 20), 7))
        raise ValueError("cannot be computed")

    x = da.zeros((30, 20), chunks=(30, 20), dtype="i8")
    with pytest.raises(ValueError, match="cannot be computed"):
        omnizarr.from_dask(x.map_blocks(append_and_fail, meta=x._meta), target, append_axis=0)
    found = omnizarr.open_array(target.store)
    assert found.shape == (61, 20)
    assert (found[60] == 7).all()


def test_later(target: Array, tmp_path: Path) -> None:
    task: Any = omnizarr.from_dask(lazy(), target, compute=False)
    assert (target[:] == 0).all()
    assert task.compute() == target
    assert (target[:] == VALUES).all()
    both: Any = [
        omnizarr.from_dask(lazy() + n, tmp_path / str(n), compute=False, chunks=(5, 5))
        for n in range(2)
    ]
    done = dask.compute(*both)
    assert [(array[0, 0], array.path) for array in done] == [(0, ""), (1, "")]
    more: Any = omnizarr.from_dask(lazy(), target, append_axis=0, compute=False)
    assert omnizarr.open_array(target.store).shape == (60, 20)
    assert (more.compute()[30:] == VALUES).all()


def test_what_was_stored_is_returned(target: Array) -> None:
    x = lazy((10, 5), VALUES[:20, :10])
    stored: Any = omnizarr.from_dask(x, target, region=np.s_[5:25, 10:], return_stored=True)
    assert (stored.compute() == VALUES[:20, :10]).all()
    later: Any = omnizarr.from_dask(
        x + 1, target, region=np.s_[5:25, 10:], return_stored=True, compute=False
    )
    assert (target[5:25, 10:] == VALUES[:20, :10]).all()
    assert (later.compute() == VALUES[:20, :10] + 1).all()
    assert (target[5:25, 10:] == VALUES[:20, :10] + 1).all()


def test_an_array_is_not_written_while_it_is_read(target: Array) -> None:
    omnizarr.from_dask(lazy(), target)
    with pytest.raises(OverlapError, match=r"call x\.persist\(\) first"):
        omnizarr.from_dask(target.to_dask() + 1, target)
    omnizarr.from_dask((target.to_dask() + 1).persist(), target)
    assert (target[:] == VALUES + 1).all()
    # What is appended is never read.
    omnizarr.from_dask(target.to_dask(), target, append_axis=0)
    assert (target[30:] == VALUES + 1).all()


# -- refused -----------------------------------------------------------------------------------

REFUSED: list[tuple[Callable[[Array], object], type[Exception], str]] = [
    (lambda t: omnizarr.from_dask(VALUES, t), TypeError, "create_array"),  # type: ignore[arg-type]
    (lambda t: omnizarr.from_dask(lazy(), t, chunks=5), TypeError, "chunks are for a new array"),
    (lambda t: omnizarr.from_dask(lazy(), t, name="a"), TypeError, "name are for a new array"),
    (lambda t: omnizarr.from_dask(lazy(), {}, region=slice(3)), TypeError, "open_array"),
    (lambda t: omnizarr.from_dask(lazy(), {}, read_only=True), TypeError, "read_only"),
    (lambda t: omnizarr.from_dask(lazy(), {}, cunks=5), TypeError, "did you mean 'chunks'"),  # type: ignore[call-arg]
    (lambda t: omnizarr.from_dask(lazy()[lazy() > 3], {}), MetadataError, "compute_chunk_sizes"),
    (lambda t: omnizarr.from_dask(lazy()[:, :3], t, append_axis=0), MetadataError, "agree"),
    (lambda t: omnizarr.from_dask(lazy(), t, append_axis=2), SelectionError, "axis 2"),
    (lambda t: omnizarr.from_dask(lazy(), t, slice(3), append_axis=0), TypeError, "positional"),  # type: ignore[misc]
    (lambda t: omnizarr.from_dask(lazy(), t, region=slice(3), append_axis=0), TypeError, "both"),
]


@pytest.mark.parametrize(("call", "error", "words"), REFUSED)
def test_refused(
    target: Array, call: Callable[[Array], object], error: type[Exception], words: str
) -> None:
    with pytest.raises(error, match=words):
        call(target)
    assert (target[:] == 0).all()
    assert target.shape == (30, 20)


def test_a_view_does_not_grow(target: Array) -> None:
    with pytest.raises(ReadOnlyError, match="a view cannot be resized"):
        omnizarr.from_dask(lazy(), target.view(dtype="u8"), append_axis=0)
    assert target.shape == (30, 20)


def test_a_read_only_array_is_refused(target: Array) -> None:
    with pytest.raises(ReadOnlyError):
        omnizarr.from_dask(lazy(), omnizarr.open_array(target.store, mode="r"))


# -- schedulers --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "scheduler", ["threads", pytest.param("processes", marks=pytest.mark.slow)]
)
def test_schedulers(tmp_path: Path, scheduler: str) -> None:
    with dask.config.set(scheduler=scheduler, num_workers=2):
        array: Any = omnizarr.from_dask(lazy(), tmp_path / "a", chunks=(5, 5), shards=(10, 5))
        omnizarr.from_dask(lazy() * 2, array, append_axis=0)
        assert (array.to_dask().compute() == np.concatenate([VALUES, VALUES * 2])).all()


def test_memory_and_processes() -> None:
    with dask.config.set(scheduler="threads"):
        array: Any = omnizarr.from_dask(lazy(), {})
    assert (array[:] == VALUES).all()
    with (
        dask.config.set(scheduler="processes", num_workers=1),
        pytest.raises(StoreError, match="every worker reaches"),
    ):
        omnizarr.from_dask(lazy() + 1, array)
    assert (array[:] == VALUES).all()
    values: dict[str, bytes] = {}
    with dask.config.set(scheduler="processes"), pytest.raises(StoreError, match="in memory"):
        omnizarr.from_dask(lazy(), values)
    assert values == {}


# -- property ----------------------------------------------------------------------------------


@settings(max_examples=40, deadline=None)
@given(st.data())
def test_any_chunks_and_any_region(data: st.DataObject) -> None:
    shape = data.draw(st.lists(st.integers(1, 12), min_size=1, max_size=2).map(tuple))
    start = [data.draw(st.integers(0, n - 1)) for n in shape]
    stop = [data.draw(st.integers(a + 1, n)) for a, n in zip(start, shape, strict=True)]
    region = tuple(slice(a, b) for a, b in zip(start, stop, strict=True))
    size = tuple(b - a for a, b in zip(start, stop, strict=True))
    blocks = [data.draw(st.integers(1, n)) for n in size]
    chunks = [data.draw(st.integers(1, 5)) for _ in shape]
    shards = data.draw(st.booleans())
    array = omnizarr.create_array(
        {}, shape=shape, dtype="i4", chunks=chunks,
        shards=[2 * n for n in chunks] if shards else None, fill_value=-1,
    )  # fmt: skip
    values = np.arange(np.prod(size), dtype="i4").reshape(size)
    expected = np.full(shape, -1, dtype="i4")
    expected[region] = values
    with dask.config.set(scheduler="threads"):
        omnizarr.from_dask(da.from_array(values, chunks=blocks), array, region=region, align=True)
    assert (array[:] == expected).all()


def test_blocks_are_aligned_with_shards_of_several_lengths() -> None:
    array = omnizarr.create_array({}, shape=160, chunks=10, shards=[[60, 40, 60]], dtype="i8")
    blocks = da.arange(160, chunks=((60, 60, 40),))
    with pytest.raises(MetadataError, match="align=True"):
        omnizarr.from_dask(blocks, array)
    omnizarr.from_dask(blocks, array, align=True)
    np.testing.assert_array_equal(array[:], np.arange(160))
