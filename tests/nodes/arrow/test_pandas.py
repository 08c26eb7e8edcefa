"""Writing from pandas."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import omnizarr as zarr
from omnizarr.errors import UnsupportedError
from tests.nodes.arrow.support import TEXT, WORDS, target

KINDS = ["object", "str", "string[python]", "string[pyarrow]", "category",
         pd.ArrowDtype(pa.string()), pd.ArrowDtype(pa.large_string())]  # fmt: skip


def written(value: Any, dtype: Any, **arguments: Any) -> list[Any]:
    array = zarr.create_array({}, shape=len(value), dtype=dtype, **arguments)
    array[...] = value
    return array[...].tolist()


@pytest.mark.parametrize("kind", KINDS, ids=str)
@pytest.mark.parametrize("into", TEXT, ids=str)
def test_text(into: Any, kind: Any) -> None:
    series = pd.Series(WORDS, dtype=kind, index=range(10, 18))
    array = target(into, 8, 3)
    array[:] = series
    assert array[:].tolist() == WORDS
    array[2:5] = series[4:7]
    assert array[2:5].tolist() == WORDS[4:7]
    array[::-1] = pd.Index(WORDS, dtype=kind)
    assert array[:].tolist() == WORDS[::-1]
    array[:] = series.array
    array.append(series[:1])
    assert array[:].tolist() == [*WORDS, WORDS[0]]
    array[0] = series.iloc[3]
    assert array[0] == WORDS[3]
    made = zarr.create_array({}, data=series, zarr_format=into[0], chunks=3)
    assert made.data_type.name == "string" and made[:].tolist() == WORDS


@pytest.mark.parametrize("kind", KINDS, ids=str)
@pytest.mark.parametrize("missing", [None, np.nan, pd.NA], ids=str)
def test_missing_text_is_refused(kind: Any, missing: Any) -> None:
    arrows = isinstance(kind, pd.ArrowDtype)  # takes no NaN from a list
    series = pd.Series(["a", "b", None if arrows else missing], dtype=kind)
    store: dict[str, bytes] = {}
    for dtype in (str, "arrow-string", "U3"):
        array = zarr.create_array(
            zarr.MemoryStore(store), name=str(dtype), shape=3, chunks=1, dtype=dtype
        )
        before = dict(store)
        with pytest.raises(ValueError, match=r"element 2 is .*\. Zarr has no missing values"):
            array[:] = series
        assert store == before
    with pytest.raises(ValueError, match="element 2 is"):
        zarr.create_array({}, data=series, dtype=str)


@pytest.mark.parametrize(
    ("series", "expected"),
    [
        (pd.Series([1, 2], dtype="Int64"), np.array([1, 2])),
        (pd.Series([1.5, 2], dtype="Float32"), np.array([1.5, 2], "f4")),
        (pd.Series([True, False], dtype="boolean"), np.array([True, False])),
        (pd.Series([1, 2], dtype=pd.ArrowDtype(pa.int16())), np.array([1, 2], "i2")),
        (pd.Series([3, 3, 1], dtype="category"), np.array([3, 3, 1])),
        (pd.Series([1.0, np.nan]), np.array([1.0, np.nan])),
        (pd.Series([1, 2**62]), np.array([1, 2**62])),
        (pd.RangeIndex(3), np.arange(3)),
        (pd.to_datetime(["2020-01-01", None]), np.array(["2020-01-01", "NaT"], "M8[us]")),
        (
            pd.Series(pd.to_datetime(["2020-01-01"])).dt.tz_localize("Asia/Tokyo"),
            np.array(["2019-12-31T15"], "M8[us]"),
        ),
        (pd.to_timedelta(["1s"]), np.array([1], "m8[s]")),
        (pd.arrays.SparseArray([1.0, np.nan]), np.array([1.0, np.nan])),
    ],
    ids=lambda value: str(value.dtype),
)  # fmt: skip
def test_other_types(series: Any, expected: np.ndarray) -> None:
    array = zarr.create_array({}, data=series)
    assert array.dtype.kind == expected.dtype.kind
    assert np.array_equal(array[:], expected, equal_nan=expected.dtype.kind in "fmM")


@pytest.mark.parametrize(
    ("series", "dtype"),
    [
        (pd.Series([1, None], dtype="Int64"), "i8"),
        (pd.Series([1, None], dtype="Int64"), "f8"),
        (pd.Series([1, None], dtype="Float64"), "f8"),
        (pd.Series([True, None], dtype="boolean"), "?"),
        (pd.Series([1, None], dtype=pd.ArrowDtype(pa.int16())), "f8"),
        (pd.Series([3, None], dtype="category"), "f8"),
        (pd.Series([True, None], dtype=object), "?"),
        (pd.Series([1.5, pd.NA], dtype=object), "f8"),
        (pd.Series([1.5, None], dtype=object), "f8"),
    ],
    ids=lambda value: str(getattr(value, "dtype", value)),
)  # fmt: skip
def test_missing_numbers_are_refused(series: Any, dtype: str) -> None:
    with pytest.raises(ValueError, match=r"element 1 is .*\. Zarr has no missing values"):
        written(series, dtype)


def test_scalars() -> None:
    array = zarr.create_array({}, shape=3, dtype="M8[ns]")
    moment = pd.Timestamp("2020-01-01T00:00:00.123456789")
    array[0] = moment
    array[1:] = [moment, pd.NaT]
    assert array[:2].tolist() == [moment.value, moment.value]
    assert np.isnat(array[2])
    array[0] = pd.NaT
    assert np.isnat(array[0])
    spans = zarr.create_array({}, shape=2, dtype="m8[ns]")
    spans[:] = [pd.Timedelta(1, "ns"), pd.NaT]
    spans[1] = pd.Timedelta(2, "ns")
    assert spans[:].astype("i8").tolist() == [1, 2]
    for kind in (str, "i4", "f8", "?"):
        single = zarr.create_array({}, shape=2, dtype=kind)
        with pytest.raises(ValueError, match=r"the value is pandas\.NA"):
            single[0] = pd.NA
    text = zarr.create_array({}, shape=2, dtype=str)
    with pytest.raises(ValueError, match="the value is NaT"):
        text[0] = pd.NaT


def test_tables() -> None:
    frame = pd.DataFrame({"x": [1, 2], "y": [3.5, 4.5]})
    array = zarr.create_array({}, data=frame)
    assert array[...].tolist() == [[1, 3.5], [2, 4.5]]
    array[...] = frame.convert_dtypes()
    assert array[...].tolist() == [[1, 3.5], [2, 4.5]]
    text = zarr.create_array({}, shape=(2, 2), dtype="arrow-string")
    text[...] = pd.DataFrame({"x": ["a", "b"], "y": ["c", "d"]})
    assert text[...].tolist() == [["a", "c"], ["b", "d"]]
    with pytest.raises(ValueError, match="column 'x': element 1 is missing"):
        array[...] = pd.DataFrame({"x": pd.array([1, None]), "y": [1.5, 2.5]})
    with pytest.raises((TypeError, ValueError), match=r"no type in common|cannot become float64"):
        array[...] = pd.DataFrame({"x": pd.array([1, 2]), "y": pd.array(["a", "b"])})


def test_types_that_zarr_lacks() -> None:
    for series in (
        pd.period_range("2020", periods=2, freq="D"),
        pd.Series(pd.interval_range(0, 2)),
    ):
        with pytest.raises(UnsupportedError, match="Zarr has no data type for pandas'"):
            written(series, "f8")


def test_a_class_that_stands_on_pandas() -> None:
    class Own(pd.Series):
        pass

    assert written(Own(["a", "b"], dtype="string[pyarrow]"), str) == ["a", "b"]


def test_reading_into_pandas() -> None:
    array = zarr.create_array({}, data=pa.array(WORDS), dtype="arrow-string", chunks=3)
    assert array.to_arrow().to_pandas().tolist() == WORDS
    assert pd.Series(array[:]).tolist() == WORDS
