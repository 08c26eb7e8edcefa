"""Data that lie about themselves: broken Arrow arrays, and objects that pose as pandas."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import omnizarr as zarr
from omnizarr.errors import UnsupportedError
from omnizarr.model.column import Column
from omnizarr.nodes.arrow import foreign
from omnizarr.nodes.arrow.soundness import DEEPEST, first_null
from omnizarr.runtime import native_core


def made(kind: Any, length: int, *buffers: bytes | None, **arguments: Any) -> Any:
    parts = [None if part is None else pa.py_buffer(part) for part in buffers]
    return pa.Array.from_buffers(kind, length, parts, **arguments)


def refused(value: Any, dtype: Any, error: type[Exception], match: str) -> None:
    """Nothing is written, and the error is that one."""
    store: dict[str, bytes] = {}
    array = zarr.create_array(zarr.MemoryStore(store), shape=3, chunks=1, dtype=dtype)
    before = dict(store)
    with pytest.raises(error, match=match):
        array[:] = value
    assert store == before


# -- offsets ------------------------------------------------------------------------------------

NEGATIVE = made(pa.int64(), 3, None, bytes(24), offset=-1)
BEFORE = pa.Array.from_buffers(
    pa.int64(), 3, [None, pa.py_buffer(np.arange(1, 5).tobytes()).slice(8)], offset=-1
)
"""The numbers 1, 2, 3, of which the first lies before the buffer."""


class Own(pa.ExtensionType):  # type: ignore[misc]
    def __init__(self, storage: Any = None, name: str = "test.own") -> None:
        super().__init__(pa.int64() if storage is None else storage, name)

    def __arrow_ext_serialize__(self) -> bytes:
        return b""


ARRAYS: dict[str, Callable[[], Any]] = {
    "int": lambda: NEGATIVE,
    "far": lambda: made(pa.int64(), 3, None, bytes(24), offset=-(10**9)),
    "bool": lambda: made(pa.bool_(), 3, None, bytes(24), offset=-100),
    "string": lambda: made(
        pa.string(), 3, None, np.arange(4, dtype="i4").tobytes(), b"abc", offset=-3
    ),
    "raw": lambda: made(pa.binary(8), 3, None, bytes(24), offset=-1),
    "struct": lambda: made(pa.struct([("a", pa.int64())]), 3, None, children=[NEGATIVE]),
    "list": lambda: made(
        pa.list_(pa.int64()), 3, None, np.arange(4, dtype="i4").tobytes(), children=[NEGATIVE]
    ),
    "fixed list": lambda: made(pa.list_(pa.int64(), 1), 3, None, children=[NEGATIVE]),
    "dictionary": lambda: pa.DictionaryArray.from_arrays(
        pa.array([0, 1, 2], pa.int8()), NEGATIVE, safe=False
    ),
    "indices": lambda: pa.DictionaryArray.from_buffers(
        pa.dictionary(pa.int64(), pa.string()), 3, [None, pa.py_buffer(bytes(24))],
        pa.array(["a"]), offset=-1,
    ),
    "extension": lambda: pa.ExtensionArray.from_storage(Own(), NEGATIVE),
    "runs": lambda: made(
        pa.run_end_encoded(pa.int32(), pa.int64()), 3, None,
        children=[pa.array([1, 2, 3], pa.int32()), NEGATIVE],
    ),
    "run ends": lambda: made(
        pa.run_end_encoded(pa.int64(), pa.int64()), 3, None,
        children=[BEFORE, pa.array([1, 2, 3])],
    ),
    "table": lambda: pa.table({"a": NEGATIVE}),
    "batch": lambda: pa.RecordBatch.from_arrays([NEGATIVE], ["a"]),
    "chunks": lambda: pa.chunked_array([pa.array([1]), NEGATIVE]),
}  # fmt: skip


@pytest.mark.parametrize("name", ARRAYS)
def test_a_negative_offset_is_refused(name: str) -> None:
    value = ARRAYS[name]()
    with pytest.raises(ValueError, match=r"Arrow data are broken: an array has the offset -\d+,"):
        foreign(value)


def test_a_negative_offset_within_a_scalar_is_refused() -> None:
    lists = made(
        pa.list_(pa.int64()), 3, None, np.array([0, 1, 2, 3], "i4").tobytes(), children=[NEGATIVE]
    )
    with pytest.raises(ValueError, match="has the offset -1"):
        foreign(lists[0])
    with pytest.raises(ValueError, match="has the offset -1"):
        foreign(pa.StructArray.from_arrays([lists], names=["a"])[0])


# -- nulls --------------------------------------------------------------------------------------


class Exported(ctypes.Structure):
    _fields_ = (("length", ctypes.c_int64), ("null_count", ctypes.c_int64))


def without_count(array: Any) -> Any:
    """The same array, which says that it has no nulls."""
    schema, capsule = array.__arrow_c_array__()
    signature = ctypes.PYFUNCTYPE(ctypes.c_void_p, ctypes.py_object, ctypes.c_char_p)
    pointer = signature(("PyCapsule_GetPointer", ctypes.pythonapi))(capsule, b"arrow_array")
    Exported.from_address(pointer).null_count = 0
    return pa.Array._import_from_c_capsule(schema, capsule)


def test_the_bitmap_decides_what_is_null() -> None:
    values = [1] * 13 + [None] + [2] * 6
    for array in (pa.array(values), without_count(pa.array(values))):
        assert array.buffers()[0] is not None
        for start in range(20):
            for length in (1, 3, 20):
                part = array[start : start + length]
                expected = 13 - start if start <= 13 < start + length else None
                assert first_null(part) == expected
    hidden = without_count(pa.array(values))
    assert hidden.null_count == 0
    nested = pa.StructArray.from_arrays([hidden], names=["a"])
    entries = pa.DictionaryArray.from_arrays(pa.array([13], pa.int8()), hidden)
    for broken in (hidden, nested, entries, pa.chunked_array([hidden]), pa.table({"a": hidden})):
        with pytest.raises(ValueError, match=r"broken: .*null|is null"):
            foreign(broken)


# -- types --------------------------------------------------------------------------------------


class Raises(Own):
    def __str__(self) -> str:
        raise KeyError("no name")

    __repr__ = __str__


class Lies(Own):
    def __str__(self) -> str:
        return "extension<arrow.fixed_shape_tensor"


class Posing(pa.ExtensionArray):  # type: ignore[misc]
    """An array that names another storage and length."""

    storage = NEGATIVE

    def __len__(self) -> int:
        return 10**9

    def validate(self, *, full: bool = False) -> None:
        pass


class Poses(Own):
    def __arrow_ext_class__(self) -> Any:
        return Posing


@pytest.mark.parametrize("kind", [Own, Raises, Lies, Poses])
def test_an_extension_type_is_its_storage_whatever_it_says(kind: Any) -> None:
    array = zarr.create_array({}, shape=3, dtype="i8")
    values = pa.ExtensionArray.from_storage(kind(), pa.array([1, 2, 3]))
    for value in (values, pa.chunked_array([values[:1], values[1:]])):
        array[:] = 0
        array[:] = value
        assert array[:].tolist() == [1, 2, 3]
    whole = pa.StructArray.from_arrays([values], names=["a"])
    assert foreign(whole)["a"].tolist() == [1, 2, 3]
    with pytest.raises(ValueError, match="has the offset -1"):
        foreign(pa.ExtensionArray.from_storage(kind(), NEGATIVE))


def test_an_extension_type_without_a_counterpart_is_named() -> None:
    storage = pa.array([1, 2, 3], pa.decimal128(10))
    for kind in (Own, Raises):
        values = pa.ExtensionArray.from_storage(kind(storage.type), storage)
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


# -- what poses as pandas -----------------------------------------------------------------------


def posing(module: Any = "pandas", **attributes: Any) -> Any:
    return type("Posing", (), {"__module__": module, **attributes})()


def fails(*_: Any) -> Any:
    raise KeyError("no")


def present(_: Any) -> list[bool]:
    return [False] * 3


def categorical(codes: Any, categories: Any) -> Any:
    kind = posing(categories=1)
    return posing(dtype=kind, isna=present, categories=pd.Index(categories), codes=codes)


@pytest.mark.parametrize("unit", ["s/0", "zz", "D", "25s", 5, None, ["s"]], ids=str)
def test_units_that_pandas_lacks_never_reach_numpy(unit: Any) -> None:
    value = posing(dtype=posing(tz=1, unit=unit), isna=present)
    refused(value, "M8[s]", TypeError, "cannot be taken for data of pandas")


@pytest.mark.parametrize("module", [None, 5, b"pandas"])
def test_a_module_without_a_name(module: Any) -> None:
    value = posing(module)
    assert foreign(value) is value


@pytest.mark.parametrize("categories", [["a", "b"], [1, 2]])
def test_codes_without_a_category_are_refused(categories: list[Any]) -> None:
    dtype = str if categories[0] == "a" else "i8"
    refused(categorical([0, -1, 1], categories), dtype, ValueError, "element 1 is missing")
    refused(categorical([0, 1, 2], categories), dtype, ValueError, "element 2 has the code 2 of 2")
    refused(categorical([0, -2, 1], categories), dtype, ValueError, "element 1 has the code -2")
    huge = np.array([0, 2**64 - 1, 1], np.uint64)
    refused(categorical(huge, categories), dtype, ValueError, "element 1 has the code 1844")
    refused(categorical([0.0, 1.0, 0.0], categories), dtype, TypeError, "codes .* are integers")


class Endless:
    __module__ = "pandas"
    codes = (0, 0, 0)

    def isna(self) -> list[bool]:
        return [False] * 3

    @property
    def dtype(self) -> Endless:
        return self

    categories = dtype


class Closed:
    def __getattr__(self, name: str) -> Any:
        raise KeyError(name)


BREAKING: dict[str, Any] = {
    "to_numpy raises": posing(dtype=np.dtype("i8"), isna=present, to_numpy=fails),
    "to_numpy gives text": posing(dtype=np.dtype("i8"), isna=present, to_numpy=lambda _: "junk"),
    "to_numpy gives None": posing(dtype=np.dtype("i8"), isna=present, to_numpy=lambda _: None),
    "isna raises": posing(dtype="x", isna=fails),
    "a table": posing(dtypes=[np.dtype("i8")], iloc=1, to_numpy=lambda _: None),
    "endless": Endless(),
    "closed": Closed(),
}


@pytest.mark.parametrize("name", BREAKING)
def test_objects_that_break_are_type_errors(name: str) -> None:
    for dtype in ("i8", str):
        refused(BREAKING[name], dtype, TypeError, "cannot be taken for data")
