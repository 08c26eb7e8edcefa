"""Arrow data that are broken or nested deep, and arrays of unusual classes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import omnizarr as zarr
from omnizarr.errors import UnsupportedError
from omnizarr.model.column import Column
from omnizarr.nodes.arrow.foreign import foreign
from omnizarr.nodes.arrow.soundness import DEEPEST
from omnizarr.runtime import native_core


def refused(value: Any, dtype: Any, error: type[Exception], match: str) -> None:
    """Nothing is written, and the error is that one."""
    store: dict[str, bytes] = {}
    array = zarr.create_array(zarr.MemoryStore(store), shape=3, chunks=1, dtype=dtype)
    before = dict(store)
    with pytest.raises(error, match=match):
        array[:] = value
    assert store == before


# -- types --------------------------------------------------------------------------------------


class Own(pa.ExtensionType):  # type: ignore[misc]
    def __init__(self, storage: Any = None, name: str = "test.own") -> None:
        super().__init__(pa.int64() if storage is None else storage, name)

    def __arrow_ext_serialize__(self) -> bytes:
        return b""


def test_an_extension_type_is_its_storage() -> None:
    array = zarr.create_array({}, shape=3, dtype="i8")
    values = pa.ExtensionArray.from_storage(Own(), pa.array([1, 2, 3]))
    for value in (values, pa.chunked_array([values[:1], values[1:]])):
        array[:] = 0
        array[:] = value
        assert array[:].tolist() == [1, 2, 3]
    whole = pa.StructArray.from_arrays([values], names=["a"])
    assert foreign(whole)["a"].tolist() == [1, 2, 3]


def test_an_extension_type_without_a_counterpart_is_named() -> None:
    storage = pa.array([1, 2, 3], pa.decimal128(10))
    values = pa.ExtensionArray.from_storage(Own(storage.type), storage)
    refused(values, "i8", UnsupportedError, "decimal128")


def test_runs_of_any_type_are_taken() -> None:
    words = pa.array(["a", "b", "c"])
    for values in (words, words.dictionary_encode(), words.cast(pa.string_view())):
        runs = pa.RunEndEncodedArray.from_arrays(pa.array([2, 3, 5], pa.int32()), values)
        for start in range(6):
            for stop in range(start, 6):
                found = foreign(runs[start:stop])
                assert np.asarray(found).tolist() == list("aabcc"[start:stop])
    lists = pa.RunEndEncodedArray.from_arrays([2, 3], pa.array([[1, 2], []]))
    assert [item.tolist() for item in foreign(lists)] == [[1, 2], [1, 2], []]
    gap = pa.RunEndEncodedArray.from_arrays([2, 3, 5], pa.array([1, None, 3]))
    assert foreign(gap[3:]).tolist() == [3, 3]
    with pytest.raises(ValueError, match="element 1 is null"):
        foreign(gap[1:])


@pytest.mark.slow
@pytest.mark.parametrize("depth", [DEEPEST + 1, 900, 3000])
def test_deep_nesting_is_refused(depth: int) -> None:
    struct: Any = pa.array([1, 2, 3])
    lists = fixed = struct
    for _ in range(depth):
        struct = pa.StructArray.from_arrays([struct], names=["f"])
        lists = pa.ListArray.from_arrays(pa.array([0, 1, 2, 3], pa.int32()), lists)
        fixed = pa.FixedSizeListArray.from_arrays(fixed, 1)
    for value in (struct, lists, fixed):
        refused(value, "i8", UnsupportedError, "nested more than 64 types deep")


def test_dates_that_the_unit_does_not_reach_are_refused() -> None:
    far = pa.array([1, 2**31 - 1, 3], pa.date32())
    array = zarr.create_array({}, shape=3, dtype="M8[ns]")
    for value in (far, pa.chunked_array([far]), far.dictionary_encode()):
        with pytest.raises(ValueError, match="outside what 64 bits"):
            array[:] = value


# -- subclasses of NumPy's array ----------------------------------------------------------------


class Moving(np.ndarray):
    """Its dtype frees its memory."""

    @property
    def dtype(self) -> Any:
        np.ndarray.resize(self, 1, refcheck=False)
        return np.dtypes.StringDType()


@pytest.mark.parametrize("core", [True, False])
def test_subclasses_are_read_and_written_as_plain_arrays(
    core: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    if not core:
        monkeypatch.setattr(native_core, "core", lambda: None)

    class Plain(np.ndarray):
        pass

    column = Column.of(np.array(["a", "bc"], np.dtypes.StringDType()).view(Plain), True)
    out = np.empty(2, np.dtypes.StringDType()).view(Plain)
    column.into(out)
    assert out.tolist() == ["a", "bc"]
    objects = np.array(["a", "bc"], object).view(Plain)
    assert Column.of(objects, True).numpy().tolist() == ["a", "bc"]
    array = zarr.create_array({}, shape=2, dtype=str)
    array[:] = objects
    assert array[:].tolist() == ["a", "bc"]


def test_memory_that_moves_is_not_written_to() -> None:
    column = Column.of(np.full(100_000, "a", object), True)
    out = np.ndarray.__new__(Moving, (100_000,), dtype=np.dtypes.StringDType())
    column.into(out)
    assert np.asarray(out)[:2].tolist() == ["a", "a"]
