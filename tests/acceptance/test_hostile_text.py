"""Text and byte strings: what was once written, read or multiplied without a word."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import omnizarr as zarr
from omnizarr import limits
from omnizarr.errors import LimitError, ReadOnlyError, UnsupportedError
from tests.model.columns import mode

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
    small(max_expansion=4000)
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


def test_many_missing_chunks_make_one_piece() -> None:
    array = zarr.create_array({}, shape=1000, chunks=1, dtype="arrow-string", fill_value="?")
    array[500] = "x"
    found = array.to_arrow()
    assert found.num_chunks == 3
    assert found.to_pylist() == ["?"] * 500 + ["x"] + ["?"] * 499
    assert array.to_arrow(slice(None, None, -250)).to_pylist() == ["?"] * 4
    assert array.to_arrow([500, 3, 500]).to_pylist() == ["x", "?", "x"]


def test_what_arrow_cannot_hold_is_refused_with_its_place() -> None:
    store: dict[str, bytes] = {}
    array = zarr.create_array(
        store, shape=1, dtype="<U1", zarr_format=2, compressor=None, fill_value="a"
    )
    array[0] = "b"
    store["0"] = (0xD800).to_bytes(4, "little")
    for read in (array.to_arrow, array.to_awkward):
        with pytest.raises(UnsupportedError, match="path '/'"):
            read()


@pytest.mark.parametrize("fill", [[[]] * 1000, {"a": [1, 2, 3] * 300}])
def test_fill_values_that_are_objects_are_not_multiplied_without_bound(
    fill: Any, small: Any
) -> None:
    array = zarr.create_array(
        {}, shape=1000, dtype=object, object_codec=zarr.JSON(), zarr_format=2, fill_value=fill
    )
    small(max_expansion=1 << 20)
    with pytest.raises(LimitError, match="fill value"):
        array[:]
    assert array[0] == fill


def test_a_row_of_compressors_does_not_double_the_limit_without_end() -> None:
    gzip = {"name": "gzip", "configuration": {"level": 1}}
    array = zarr.create_array({}, shape=1, dtype="i1", codecs=[{"name": "bytes"}] + [gzip] * 40)
    array[0] = 5
    assert array[0] == 5
    assert array._source.regular_chain.output.limit <= 2 * limits.current.max_expansion


def test_memory_that_is_not_there_is_our_error(monkeypatch: pytest.MonkeyPatch) -> None:
    array = zarr.create_array({}, shape=4, chunks=4, dtype="i4", compressors=None)
    array[:] = 1

    def fail(*_: Any) -> None:
        raise MemoryError

    monkeypatch.setattr(array._source.regular_chain, "decode_into", fail)
    with mode("python"), pytest.raises(LimitError, match="more memory than there is"):
        array[:]
