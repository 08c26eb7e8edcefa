"""Data of xarray, Dask, torch and their like become the array that they look like."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as npst

import omnizarr
from omnizarr.nodes.array import Array
from omnizarr.nodes.data import lazy as computed_module

xarray = pytest.importorskip("xarray")
dask = pytest.importorskip("dask.array")

NUMBERS = npst.arrays(
    st.one_of(
        npst.boolean_dtypes(),
        npst.integer_dtypes(endianness="="),
        npst.unsigned_integer_dtypes(endianness="="),
        npst.floating_dtypes(endianness="=", sizes=(16, 32, 64)),
        npst.complex_number_dtypes(endianness="="),
        npst.datetime64_dtypes(max_period="ns", min_period="ns", endianness="="),
    ),
    npst.array_shapes(min_dims=0, max_dims=4, min_side=1, max_side=5),
)


class TorchType:
    """Like torch.float32: no dtype of NumPy, and none that it could become."""

    def __repr__(self) -> str:
        return "torch.float32"


class Tensor:
    """The protocols of a torch.Tensor on the CPU."""

    def __init__(self, values: np.ndarray[Any, Any]) -> None:
        self._values = values
        self.shape = values.shape
        self.dtype = TorchType()

    def __len__(self) -> int:
        return len(self._values)

    def __getitem__(self, key: Any) -> Tensor:
        return Tensor(self._values[key])

    def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
        return self._values if dtype is None else self._values.astype(dtype)

    def __dlpack__(self, **options: Any) -> Any:
        return self._values.__dlpack__(**options)

    def __dlpack_device__(self) -> Any:
        return self._values.__dlpack_device__()


def names(ndim: int) -> tuple[str, ...]:
    return tuple("zyxw"[:ndim])


def data_array(values: Any) -> Any:
    return xarray.DataArray(values, dims=names(values.ndim), name="t")


def chunked_data_array(values: Any) -> Any:
    return data_array(values).chunk(2)


def dask_array(values: Any) -> Any:
    return dask.from_array(values, chunks=2)


FORMS = [data_array, chunked_data_array, dask_array, Tensor, np.ma.masked_array]
WAYS: dict[str, Callable[[Any, Any], Array]] = {
    "create_array": lambda data, _: omnizarr.create_array({}, data=data),
    "array": lambda data, _: omnizarr.array(data),
    "from_array": lambda data, _: omnizarr.from_array({}, data=data),
    "group[name]": lambda data, _: put(data),
    "create_dataset": lambda data, _: omnizarr.group().create_dataset("t", data=data),
    "save": lambda data, _: saved(lambda store: omnizarr.save(store, data)),
    "save_group": lambda data, _: saved(lambda store: omnizarr.save_group(store, t=data), "t"),
    "create_hierarchy": lambda data, _: hierarchy(data),
    "assignment": lambda data, like: assigned(data, like),
}


def put(data: Any) -> Array:
    group = omnizarr.group()
    group["t"] = data
    return group.get_array("t")


def saved(save: Callable[[Any], None], path: str = "") -> Array:
    store: dict[str, bytes] = {}
    save(store)
    return omnizarr.open_array(store, "r", path=path)


def hierarchy(data: Any) -> Array:
    made = omnizarr.create_hierarchy(store={}, nodes={"t": {"data": data}}, overwrite=True)
    array = dict(made)["t"]
    assert isinstance(array, Array)
    return array


def assigned(data: Any, like: Any) -> Array:
    array = omnizarr.create_array({}, shape=like.shape, dtype=like.dtype)
    array[...] = data
    return array


@pytest.mark.slow
@pytest.mark.parametrize("without_pyarrow", [False, True], ids=["pyarrow", "no pyarrow"])
@pytest.mark.parametrize("way", WAYS)
@settings(max_examples=20)
@given(values=NUMBERS, form=st.sampled_from(FORMS))
def test_shape_type_and_values_stay(
    way: str, without_pyarrow: bool, values: Any, form: Callable[[Any], Any]
) -> None:
    with pytest.MonkeyPatch.context() as patch:
        if without_pyarrow:
            patch.setitem(sys.modules, "pyarrow", None)
        array = WAYS[way](form(values), values)
    assert array.shape == values.shape
    assert array.dtype == values.dtype
    np.testing.assert_array_equal(array[...], values)
    if form in (data_array, chunked_data_array) and way != "assignment" and values.ndim:
        assert array.dims == names(values.ndim)


@pytest.mark.parametrize("zarr_format", [0, 1, 2, 3, "n5"])
def test_dimension_names_come_from_dims_unless_given(zarr_format: Any) -> None:
    data = xarray.DataArray(np.ones((3, 4), "f4"), dims=("y", "x"), name="t")
    made = omnizarr.create_array({}, data=data, zarr_format=zarr_format)
    assert (made.shape, made.dtype, made.dims) == ((3, 4), np.dtype("f4"), ("y", "x"))
    given_names = omnizarr.create_array(
        {}, data=data, dimension_names=("a", "b"), zarr_format=zarr_format
    )
    assert given_names.dims == ("a", "b")


def test_text_of_xarray() -> None:
    words = np.array([["a", "bc"], ["", "déf"]])
    for values in (words, words.astype(object)):
        for data in (xarray.DataArray(values, dims=("y", "x")), dask_array(values)):
            array = omnizarr.create_array({}, data=data)
            assert array[...].tolist() == words.tolist()
    target = omnizarr.create_array({}, shape=(2, 2), dtype=str)
    target[:] = xarray.DataArray(words.astype(object), dims=("y", "x"))
    assert target[...].tolist() == words.tolist()


def test_series_of_pandas_and_polars() -> None:
    polars = pytest.importorskip("polars")
    for make in (pd.Series, polars.Series):
        for values in ([1, 2, 3], [1.5, 2.5, float("nan")]):
            array = omnizarr.create_array({}, data=make(values))
            assert array.shape == (3,) and array.dtype == np.asarray(values).dtype
            np.testing.assert_array_equal(array[...], values)
    with pytest.raises(ValueError, match="element 1 is null"):
        omnizarr.create_array({}, data=polars.Series([1, None, 3]))


def test_numbers_of_polars_without_pyarrow(monkeypatch: pytest.MonkeyPatch) -> None:
    polars = pytest.importorskip("polars")
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    array = omnizarr.create_array({}, data=polars.Series([1, 2, 3]))
    assert array.dtype == np.int64 and array[...].tolist() == [1, 2, 3]
    for other in (polars.Series([1, None]), polars.Series(["a"])):
        with pytest.raises(ImportError, match="pyarrow"):
            omnizarr.create_array({}, data=other)


MASKED = np.ma.masked_array(np.arange(6).reshape(2, 3), np.arange(6).reshape(2, 3) > 3)


@pytest.mark.parametrize("way", WAYS)
def test_masked_values_are_refused_and_counted(way: str) -> None:
    wanted = r"element \(1, 1\) is masked.*values\.filled.*2 of 6 elements are masked"
    with pytest.raises(ValueError, match=wanted):
        WAYS[way](MASKED, MASKED)
    array = WAYS[way](MASKED.filled(-1), MASKED)
    assert array[...].tolist() == [[0, 1, 2], [3, -1, -1]]


def test_masked_values_in_blocks_are_refused() -> None:
    data = dask.from_array(MASKED, chunks=(1, 3))
    with pytest.raises(ValueError, match="masked"):
        omnizarr.create_array({}, data=data)
    target = omnizarr.create_array({}, shape=(2, 3), dtype=int)
    with pytest.raises(ValueError, match="masked"):
        target[:] = data


def test_a_shape_that_is_known_only_when_computed() -> None:
    values = np.arange(10)
    data = dask.from_array(values, chunks=3)
    data = data[data > 4]
    assert np.isnan(data.shape[0])
    assert omnizarr.create_array({}, data=data)[...].tolist() == [5, 6, 7, 8, 9]


@pytest.mark.parametrize("way", WAYS)
def test_large_dask_arrays_are_computed_block_by_block(
    way: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(computed_module, "REGION_BYTES", 1000)
    values = np.arange(3000).reshape(60, 50)
    sizes: list[int] = []

    def count(block: Any) -> Any:
        sizes.append(block.nbytes)
        return block

    source = dask.from_array(values, chunks=(7, 50), name=False).map_blocks(count, dtype=int)
    array = WAYS[way](source, values)
    assert np.array_equal(array[...], values)
    real = [size for size in sizes if size]
    assert len(real) == 9 and sum(real) == values.nbytes  # each block once


def test_a_dask_array_that_reads_its_target_is_computed_first(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(computed_module, "REGION_BYTES", 1000)
    values = np.arange(1000)
    array = omnizarr.create_array({}, data=values, chunks=100)
    array[:] = dask.from_array(array, chunks=100)[::-1]
    assert np.array_equal(array[:], values[::-1])


def test_what_is_no_array_is_refused() -> None:
    delayed = pytest.importorskip("dask").delayed
    for data in (xarray.Dataset({"t": ("x", np.ones(3))}), delayed(np.ones)(3)):
        with pytest.raises((TypeError, ValueError)):
            omnizarr.create_array({}, data=data)


def test_a_value_that_cannot_be_written_names_the_region_that_it_is_counted_in() -> None:
    da = pytest.importorskip("dask.array")
    values = np.ma.masked_array(np.zeros(6 << 20), False)
    values[-1] = np.ma.masked
    lazy = da.from_array(values, chunks=2 << 20)
    array = omnizarr.zeros(values.shape, chunks=1 << 20)
    for write in (
        lambda: omnizarr.array(lazy, chunks=1 << 20),
        lambda: array.__setitem__(..., lazy),
    ):
        with pytest.raises(ValueError, match=r"region \[4194304:6291456\].*element 2097151 is"):
            write()


@pytest.mark.parametrize("version", [2, 3])
def test_a_data_array_without_axes_keeps_its_empty_dims(version: Any) -> None:
    xr = pytest.importorskip("xarray")
    store: dict[str, Any] = {}
    omnizarr.create_array(store, data=xr.DataArray(3.0), zarr_format=version)
    assert omnizarr.open_array(store, mode="r").dims == ()
    assert version == 3 or omnizarr.open_array(store).attrs["_ARRAY_DIMENSIONS"] == []
