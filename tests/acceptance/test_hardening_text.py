"""Text and byte strings: what was once written, read or multiplied without a word."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import omnizarr as zarr
from omnizarr import limits
from omnizarr.errors import LimitError, ReadOnlyError

TEXT = [str, "arrow-string", "arrow-large-string"]


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    return lambda **caps: monkeypatch.setattr(limits, "current", replace(limits.current, **caps))


@pytest.mark.parametrize("dtype", TEXT)
def test_a_chunk_that_no_reader_takes_is_not_written(dtype: Any, small: Any) -> None:
    store: dict[str, bytes] = {}
    array = zarr.create_array(store, shape=3, chunks=3, dtype=dtype)
    before = dict(store)
    small(max_expansion=1000)
    with pytest.raises(LimitError, match="max_expansion"):
        array[:] = ["y" * 600] * 3
    assert store == before
    array[:] = ["y" * 60] * 3
    assert array[:].tolist() == ["y" * 60] * 3


@pytest.mark.parametrize("dtype", TEXT)
@pytest.mark.parametrize("read", [lambda a: a[:], lambda a: a.to_arrow(), lambda a: a.to_awkward()])
def test_a_long_fill_value_is_not_multiplied_without_bound(
    dtype: Any, read: Callable[[zarr.Array], Any], small: Any
) -> None:
    array = zarr.create_array({}, shape=(10, 10), chunks=(5, 5), dtype=dtype, fill_value="x" * 2000)
    small(max_chunk_bytes=100_000)
    with pytest.raises(LimitError, match="fill value of 2000 bytes"):
        read(array)
    assert array[0, :2].tolist() == ["x" * 2000] * 2


@pytest.mark.parametrize("dtype", TEXT)
def test_text_shown_as_bytes_cannot_be_written(dtype: Any) -> None:
    store: dict[str, bytes] = {}
    zarr.create_array(store, shape=2, dtype=dtype)[:] = ["a", "b"]
    array = zarr.open_array(store, mode="r+", text="bytes")
    assert array.read_only
    with pytest.raises(ReadOnlyError):
        array[0] = b"\xff"
    assert array[:].tolist() == [b"a", b"b"]


def test_an_error_of_writing_says_where() -> None:
    array = zarr.create_array({}, shape=2, dtype=str)
    with pytest.raises(TypeError) as raised:
        array[0] = 5
    assert "path '/'" in raised.value.__notes__[0]


def test_like_takes_objects_that_lack_a_value() -> None:
    values = np.array([None, "a"], object)
    made = zarr.full_like(values, None, object_codec=zarr.JSON(), zarr_format=2, store={})
    assert made.dtype == object
    assert zarr.from_array({}, data=np.array(["a"], object))[:].tolist() == ["a"]


def test_fields_become_arrow() -> None:
    dtype = np.dtype([("x", "i4"), ("y", "f8")])
    array = zarr.create_array({}, shape=3, dtype=dtype)
    array[:] = np.array([(1, 2.5), (3, 4.5), (5, 6.5)], dtype)
    assert array.to_arrow("x").to_pylist() == [1, 3, 5]
    assert array.to_awkward("y").to_list() == [2.5, 4.5, 6.5]
