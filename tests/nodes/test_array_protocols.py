"""Python's, NumPy's and Arrow's protocols: what other libraries try on an array, with the libraries
themselves."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import omnizarr as zarr
from omnizarr.testing import CountingStore

VALUES: dict[str, Any] = {
    "float": np.arange(6) * 1.5,
    "int": np.arange(6),
    "table": np.arange(6).reshape(3, 2),
    "text": np.array(["a", "é", ""], dtype=np.dtypes.StringDType()),
    "times": np.array(["2020-01-01", "NaT"], "M8[ns]"),
    "records": np.array([(1, 2.5), (3, 4.5)], [("x", "i4"), ("y", "f4")]),
}


@pytest.mark.parametrize("kind", VALUES)
def test_numpy_reads_an_array(kind: str) -> None:
    values = VALUES[kind]
    array = zarr.array(values, chunks=2)
    np.testing.assert_array_equal(np.asarray(array), values)
    np.testing.assert_array_equal(np.array(array, copy=True), values)
    with pytest.raises(ValueError, match="without a copy"):
        np.array(array, copy=False)
    assert not hasattr(array, "__array_namespace__")
    assert len(array) == len(values)
    assert [str(item) for item in array] == [str(item) for item in values]


@pytest.mark.parametrize("kind", VALUES)
def test_pandas_takes_an_array(kind: str) -> None:
    values = VALUES[kind]
    array = zarr.array(values, chunks=2)
    if kind == "records":  # pandas gives them columns only in an array of NumPy's own
        pd.testing.assert_frame_equal(pd.DataFrame(array[:]), pd.DataFrame(values))
        return
    pd.testing.assert_frame_equal(pd.DataFrame(array), pd.DataFrame(values))
    if values.ndim == 1:
        pd.testing.assert_series_equal(pd.Series(array), pd.Series(values))
        pd.testing.assert_frame_equal(pd.DataFrame({"q": array}), pd.DataFrame({"q": values}))


@pytest.mark.parametrize("kind", VALUES)
def test_polars_takes_an_array(kind: str) -> None:
    values = VALUES[kind]
    array = zarr.array(values, chunks=2)
    rows = [{"x": 1, "y": 2.5}, {"x": 3, "y": 4.5}] if kind == "records" else values.tolist()
    found = pl.Series(array).to_list()
    assert [str(item) for item in found] == [str(item) for item in pl.Series(rows).to_list()] or (
        kind == "times" and found[0].year == 2020 and found[1] is None
    )
    assert pl.DataFrame({"q": array}).height == len(values)
    if kind != "records":
        assert pl.from_numpy(array).height == len(values)  # type: ignore[arg-type]
    else:
        assert pl.DataFrame(array).to_dicts() == rows


def test_arrow_has_the_dimensions_of_an_array() -> None:
    values = np.arange(24).reshape(2, 3, 4)
    found = pl.Series(zarr.array(values, chunks=2))
    assert found.dtype == pl.Array(pl.Int64, (3, 4))
    np.testing.assert_array_equal(found.to_numpy(), values)
    with pytest.raises(zarr.errors.UnsupportedError, match="length 0"):
        pl.Series(zarr.zeros((2, 0)))


def test_dlpack_gives_the_values() -> None:
    for values in (VALUES["float"], VALUES["table"], np.zeros((0, 3), "f4")):
        array = zarr.array(values)
        np.testing.assert_array_equal(np.from_dlpack(array), values)
        assert array.__dlpack_device__() == values.__dlpack_device__()
    with pytest.raises(BufferError):
        np.from_dlpack(zarr.array(VALUES["text"]))


def test_torch_takes_an_array() -> None:
    torch = pytest.importorskip("torch", reason="torch is absent: no test with it")
    array = zarr.array(VALUES["table"], chunks=2)
    tensor = torch.from_dlpack(array)
    assert tensor.tolist() == VALUES["table"].tolist()
    assert torch.as_tensor(np.asarray(array)).equal(tensor)


@given(
    st.lists(st.integers(-3, 3), min_size=1, max_size=12),
    st.sampled_from([0, 1, 2.0, 2.5, -3, np.int8(3), True, float("nan"), "x"]),
)
def test_membership_is_that_of_numpy(items: list[int], value: Any) -> None:
    for values in (np.array(items), np.array(items, "f4").reshape(1, -1)):
        array = zarr.array(values, chunks=2)
        if isinstance(value, str):
            assert value not in array
        else:
            assert (value in array) == (value in values)
        assert (values[-1] in array) == (values[-1] in values)


def test_membership_reads_until_it_finds() -> None:
    store = CountingStore(zarr.MemoryStore())
    large = zarr.create_array(store, shape=1 << 24, chunks=1 << 22, dtype="f4")
    large[0] = 1
    large[-1] = 2
    store.reset()
    assert 1 in large
    first = store.counts["get"] + store.counts["get_many"]
    store.reset()
    assert 2 in large
    assert store.counts["get"] + store.counts["get_many"] > first
    assert "é" in zarr.array(VALUES["text"]) and "b" not in zarr.array(VALUES["text"])
    assert 5 in zarr.array(5) and 4 not in zarr.array(5)
    assert 1 not in zarr.zeros((0, 3))


def test_numbers_are_those_of_numpy() -> None:
    for value in (3, 2.5, True):
        array = zarr.array(value)
        assert float(array) == float(value) and int(array) == int(value)
        assert complex(array) == value
    assert [10, 20, 30][zarr.array(1)] == 20  # type: ignore[call-overload]
    with pytest.raises(TypeError):
        [10, 20][zarr.array(1.0)]  # type: ignore[call-overload]
    store = CountingStore(zarr.MemoryStore())
    large = zarr.create_array(store, shape=100, dtype="i4", chunks=10)
    store.reset()
    for convert in (int, float, complex):
        with pytest.raises(TypeError, match="converted to Python scalars"):
            convert(large)
    assert not store.counts
    assert bool(zarr.array(0)) and bool(zarr.zeros(0)), "an array is there"


def test_an_array_is_a_sequence_to_python() -> None:
    array = zarr.array(VALUES["table"], chunks=2)
    assert [row.tolist() for row in reversed(array)] == [[4, 5], [2, 3], [0, 1]]  # type: ignore[call-overload]
    assert list(zip(array[:, 0], range(3), strict=True)) == [(0, 0), (2, 1), (4, 2)]
    for call in (len, iter, list):
        with pytest.raises(TypeError, match="0-d"):
            call(zarr.array(1))
    assert np.array_equal(np.add(array, 1), VALUES["table"] + 1)
    assert np.mean(array) == 2.5 and np.concatenate([array, array]).shape == (6, 2)


def test_views_are_arrays_to_numpy_too() -> None:
    array = zarr.array(VALUES["records"], chunks=1)
    views: list[Any] = [array.fields["x"], array.fields[["y"]], array.lazy[:], array.astype("O")]
    for view in views:
        assert len(np.asarray(view)) == 2
        with pytest.raises(ValueError, match="without a copy"):
            np.array(view, copy=False)
    for view in (*views, array.fields):
        assert repr(array.store) in repr(view)
    converted = zarr.zeros((4, 6), chunks=2).astype("f4")
    assert (converted.ndim, converted.size, converted.chunks) == (2, 24, (2, 2))
