"""Every type with every fill value in every format, and from each format into every other.

The property: creating an array is refused by naming the part that the format has no words for, or
nothing of it is lost. Opened again, the fill value, an unwritten region and what was written are
the same bit for bit; metadata is valid JSON where the format asks for that; and a conversion keeps
all of it, or is refused in the same way. Tables say what each format must be able to hold, so that
a refusal cannot hide a format that refuses too much.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import omnizarr
from omnizarr.errors import MetadataError, UnsupportedError, ZarrError
from omnizarr.stores import MemoryStore
from tests.acceptance import fill_cases
from tests.acceptance.fill_cases import Dtype, Values, same, vector
from tests.acceptance.fill_documents import (
    HEXADECIMAL,
    LENGTH,
    STORED_V2,
    objects,
    v2_document,
    v3_document,
)

pytestmark = pytest.mark.slow

DRAFTS = ("3-draft2019", "3-draft2020-09", "3-draft2020-10")
FORMATS: tuple[int | str, ...] = (0, 1, 2, *DRAFTS, 3, "n5")
BARE_TOKENS = (0, 1)
"""Formats that have NaN as a bare token, which is no JSON."""
DOCUMENTS = (".zarray", ".json", ".array")
EVERYWHERE = ("i1", "<i2", ">i4", "u1", "<u2", ">u8", "<f4", ">f8")


def create(dtype: Any, fill: Any, zarr_format: int | str) -> MemoryStore:
    store = MemoryStore()
    omnizarr.create_array(
        store, shape=(LENGTH,), chunks=(2,), dtype=dtype, fill_value=fill, zarr_format=zarr_format
    )
    return store


def reopened(store: MemoryStore, mode: Any = "r") -> omnizarr.Array:
    return omnizarr.open_array(store, mode=mode)


def check_json(store: MemoryStore) -> None:
    def refuse(token: str) -> None:
        raise AssertionError(f"the bare token {token} is no JSON")

    documents = [key for key in store.list() if key.endswith(DOCUMENTS)]
    assert documents
    for key in documents:
        json.loads(bytes(store.get(key) or b""), parse_constant=refuse)


def check_fill(array: omnizarr.Array, fill: Values | None) -> Values:
    """That the array has this fill value; what unwritten elements read as."""
    found = array.fill_value
    if fill is None:  # none, or the default where a format always has one
        usual = np.zeros(1, array.dtype)
        if found is not None and array.dtype.kind in "mM":
            usual[0] = "NaT"
        assert found is None or same(vector(found, array.dtype), usual)
        return usual
    assert same(vector(found, array.dtype), fill)
    return fill


@st.composite
def drawn(draw: st.DrawFn) -> tuple[Dtype, Values | None, Values]:
    """A type, a fill value (None for none), and values to write."""
    if draw(st.integers(0, 3)):
        dtype = draw(fill_cases.dtypes)
        kind = draw(st.sampled_from(["bits", "bits", "bits", "zero", "none"]))
    else:  # within the means of every format
        dtype = draw(st.sampled_from(EVERYWHERE).map(np.dtype))
        kind = draw(st.sampled_from(["zero", "none"]))
    fill = np.zeros(1, dtype) if kind == "zero" else draw(fill_cases.arrays(dtype, 1))
    return dtype, None if kind == "none" else fill, draw(fill_cases.arrays(dtype, LENGTH))


@pytest.mark.parametrize("zarr_format", FORMATS, ids=str)
def test_kept_bit_for_bit_or_refused(zarr_format: int | str) -> None:
    count: Counter[str] = Counter()

    @given(drawn(), st.sampled_from(FORMATS))
    @settings(max_examples=110)
    def keeps(case: tuple[Dtype, Values | None, Values], target: int | str) -> None:
        dtype, fill, values = case
        try:
            store = create(dtype, None if fill is None else fill[0], zarr_format)
        except UnsupportedError as error:
            assert error.what in ("data_type", "fill_value"), error
            count["refused"] += 1
            return
        count["held"] += 1
        array = reopened(store, "r+")
        background = check_fill(array, fill)
        expected = np.repeat(background, LENGTH)
        assert same(array[:], expected)
        array[1:4] = values[1:4]
        expected = expected.astype(dtype)
        expected[1:4] = values[1:4]
        assert same(reopened(store)[:], expected)
        if zarr_format not in BARE_TOKENS:
            check_json(store)
        other = MemoryStore()
        try:
            omnizarr.convert(store, other, zarr_format=target, reencode=True)
        except UnsupportedError as error:
            assert error.what in ("data_type", "fill_value"), error
            assert target != zarr_format, error
            count["not converted"] += 1
            return
        count["converted"] += 1
        converted = reopened(other)
        kept = background if fill is None and array.fill_value is not None else fill
        if converted.fill_value is None and kept is not None:  # zero, which none reads as
            assert same(kept, np.zeros(1, dtype))
            kept = None
        elif kept is None and converted.fill_value is not None:
            kept = background  # where there must be one: unwritten elements read as before
        check_fill(converted, kept)
        assert same(converted[:], expected)
        if target not in BARE_TOKENS:
            check_json(other)

    keeps()
    assert count["held"] >= 15, count
    assert count["converted"] >= 15, count


@pytest.mark.parametrize("dtype", [">m8", ">M8"])
def test_big_endian_times_without_a_unit(dtype: str) -> None:
    store = create(dtype, None, 3)
    values = np.arange(LENGTH, dtype=">i8").view(dtype)
    reopened(store, "r+")[:] = values
    assert same(reopened(store)[:], values)


# -- elements without a fixed size ----------------------------------------------------------------
VARIABLE = (2, "3-draft2020-10", 3)
words = st.text(st.characters(codec="utf-8"), max_size=9)
octets = st.binary(max_size=9)


@pytest.mark.parametrize("zarr_format", VARIABLE, ids=str)
@pytest.mark.parametrize("kind", [str, bytes])
def test_text_and_bytes_are_kept(kind: Any, zarr_format: int | str) -> None:
    items: Any = words if kind is str else octets

    @given(items | st.none(), st.lists(items, min_size=3, max_size=3), st.sampled_from(VARIABLE))
    @settings(max_examples=25)
    def keeps(fill: Any, values: list[Any], target: int | str) -> None:
        store = create(kind, fill, zarr_format)
        array = reopened(store, "r+")
        background = kind() if fill is None else fill
        assert array.fill_value == (background if zarr_format == 3 else fill)
        assert array[:].tolist() == [background] * LENGTH
        array[1:4] = np.array(values, object)
        expected = [background, *values, background]
        assert reopened(store)[:].tolist() == expected
        check_json(store)
        other = MemoryStore()
        omnizarr.convert(store, other, zarr_format=target, reencode=True)
        converted = reopened(other)
        assert converted[:].tolist() == expected
        assert converted.fill_value in (fill, background)
        check_json(other)

    keeps()


# -- what each format must hold -------------------------------------------------------------------
RECORD = np.dtype([("a", ">i4"), ("b", "S2")])
NESTED = np.dtype([("a", [("x", "<f2"), ("y", ">M8[s]")]), ("b", "?")])
BLOCKS = np.dtype([("a", "<i4", (2, 2)), ("b", [("c", ">u2", (3,))])])
PADDED = np.dtype([("a", "u1"), ("b", "f8"), ("c", "u2")], align=True)
ALL_BUT_N5 = frozenset(FORMATS) - {"n5"}
NOT_0_1_N5 = ALL_BUT_N5 - {0, 1}
HOLDERS: dict[Any, frozenset[int | str]] = {
    **dict.fromkeys(EVERYWHERE, frozenset(FORMATS)),
    **dict.fromkeys(("?", "<f2", ">c8", "<c16", ">U3", "S3", "V3"), ALL_BUT_N5),
    **dict.fromkeys((">M8[25us]", "<m8[s]", "<M8[2147483647Y]"), ALL_BUT_N5),
    **dict.fromkeys(("<m8", "<M8"), frozenset({3})),
    **dict.fromkeys(sorted(fill_cases.SMALL), frozenset({2, 3})),
    RECORD: ALL_BUT_N5,
    NESTED: ALL_BUT_N5,
    BLOCKS: NOT_0_1_N5 - {3},
    PADDED: NOT_0_1_N5,
    np.dtype([("a", ml_dtypes.bfloat16)]): frozenset({2, 3}),
    str: frozenset(VARIABLE),
    bytes: frozenset(VARIABLE),
}


@pytest.mark.parametrize("dtype", HOLDERS, ids=str)
def test_a_type_is_held_by_every_format_that_has_words_for_it(dtype: Any) -> None:
    for zarr_format in FORMATS:
        if zarr_format in HOLDERS[dtype]:
            array = reopened(create(dtype, None, zarr_format))
            assert array.shape == (LENGTH,)
        else:
            with pytest.raises(UnsupportedError) as caught:
                create(dtype, None, zarr_format)
            assert caught.value.what == "data_type"


WITH_FILL = ALL_BUT_N5
"""N5 has no fill value but zero."""
FILLS: list[tuple[str, Any, frozenset[int | str]]] = [
    ("<f8", np.float64("nan"), WITH_FILL),
    ("<f4", np.float32("inf"), WITH_FILL),
    (">f8", np.float64("-inf"), WITH_FILL),
    ("<f8", np.float64(-0.0), WITH_FILL),
    ("<f8", np.float64(5e-324), WITH_FILL),
    ("<f2", np.float16(6e-8), WITH_FILL),
    ("<f4", np.frombuffer(b"\1\0\xc0\x7f", "<f4")[0], frozenset({3})),
    ("<f8", np.frombuffer(b"\0" * 6 + b"\xf8\xff", "<f8")[0], frozenset({3})),
    ("<f4", np.frombuffer(b"\1\0\x80\x7f", "<f4")[0], frozenset({3})),
    ("<c8", np.complex64(complex(-0.0, np.inf)), NOT_0_1_N5),
    ("<c8", np.complex64(complex(np.nan, 0)), WITH_FILL),
    ("<i8", -(2**63), WITH_FILL),
    ("<i8", 2**53 + 1, WITH_FILL),
    (">u8", 2**64 - 1, WITH_FILL),
    ("?", True, WITH_FILL),
    ("<M8[ns]", np.datetime64("NaT"), WITH_FILL),
    ("<m8[7h]", np.timedelta64(3, "7h"), WITH_FILL),
    ("<U4", "é中😀", WITH_FILL),
    ("S5", b"a\0b", WITH_FILL),
    ("S5", b"\xff\0\x80", NOT_0_1_N5),
    ("V3", b"\0\xff\0", NOT_0_1_N5),
    (RECORD, np.array((7, b"x"), RECORD)[()], NOT_0_1_N5),
    ("bfloat16", np.array([0x7FC1], "u2").view(ml_dtypes.bfloat16)[0], frozenset({3})),
    ("float8_e4m3fn", ml_dtypes.float8_e4m3fn("nan"), frozenset({2, 3})),
    ("int4", ml_dtypes.int4(-8), frozenset({2, 3})),
]


FILL_NAMES = [f"{dtype}-{fill!r}" for dtype, fill, _ in FILLS]


@pytest.mark.parametrize(("dtype", "fill", "holders"), FILLS, ids=FILL_NAMES)
def test_a_fill_value_is_held_by_every_format_that_has_words_for_it(
    dtype: Any, fill: Any, holders: frozenset[int | str]
) -> None:
    for zarr_format in FORMATS:
        if zarr_format in holders:
            array = reopened(create(dtype, fill, zarr_format))
            expected = vector(fill, array.dtype)
            assert same(vector(array.fill_value, array.dtype), expected)
            assert same(array[:], np.repeat(expected, LENGTH))
        else:
            with pytest.raises(UnsupportedError) as caught:
                create(dtype, fill, zarr_format)
            assert caught.value.what in ("fill_value", "data_type")


# -- bits in hexadecimal digits -------------------------------------------------------------------
@pytest.mark.parametrize(("data_type", "fill", "dtype", "bits"), HEXADECIMAL)
def test_floats_in_hexadecimal_digits(data_type: Any, fill: str, dtype: Any, bits: str) -> None:
    store = MemoryStore({"zarr.json": v3_document(data_type, fill)})
    array = reopened(store, "r+")
    assert vector(array.fill_value, array.dtype).tobytes() == bytes.fromhex(bits)
    assert array[:].tobytes() == bytes.fromhex(bits) * LENGTH
    array.attrs["changed"] = 1
    array.resize((LENGTH + 1,))
    assert json.loads(bytes(store.get("zarr.json") or b""))["fill_value"] == json.loads(fill)
    made = create(np.dtype(dtype), array.fill_value, 3)
    written = json.loads(bytes(made.get("zarr.json") or b""))["fill_value"]
    again = reopened(MemoryStore({"zarr.json": v3_document(data_type, json.dumps(written))}))
    assert vector(again.fill_value, again.dtype).tobytes() == bytes.fromhex(bits)
    if "80000000" not in fill:  # that is -0.0, which has a number of its own
        assert written == json.loads(fill)


@pytest.mark.parametrize(
    "fill", ['"0x"', '"0x7fc000011"', '"0xzz"', '"0x-1"', '"7fc00001"', '"nan"']
)
def test_what_is_no_float_in_hexadecimal_digits(fill: str) -> None:
    with pytest.raises(MetadataError, match="fill_value"):
        reopened(MemoryStore({"zarr.json": v3_document("float32", fill)}))


# -- what other writers have stored ---------------------------------------------------------------
@pytest.mark.parametrize(("dtype", "fill", "expected", "more"), STORED_V2, ids=repr)
def test_fill_values_that_writers_of_format_2_stored(
    dtype: Any, fill: str, expected: Any, more: dict[str, Any]
) -> None:
    store = MemoryStore({".zarray": v2_document(dtype, fill, **more)})
    array = reopened(store, "r+")
    if array.dtype.kind in "OT":
        assert array.fill_value == expected
        assert array[:].tolist() == [expected] * LENGTH
    else:
        wanted = vector(expected, array.dtype)
        assert same(vector(array.fill_value, array.dtype), wanted)
        assert same(array[:], np.repeat(wanted, LENGTH))
    # Rewritten it says the same, in the same words unless they were no JSON.
    array.resize((LENGTH + 2,))
    again = reopened(store)
    assert repr(again.fill_value) == repr(array.fill_value)
    check_json(store)
    if not re.search(r'(?<!")(NaN|Infinity)(?!")', fill):
        kept = json.loads(bytes(store.get(".zarray") or b""))
        assert kept["fill_value"] == json.loads(fill)
        assert kept["dtype"] == dtype


@pytest.mark.parametrize("fill", ["null", ""])
@pytest.mark.parametrize(
    ("dtype", "zero", "more"),
    [
        ("<f8", 0.0, {}),
        ("|b1", False, {}),
        ("<U3", "", {}),
        ("|S3", b"", {}),
        ("|V2", b"\0\0", {}),
        ([["a", "<i2"]], (0,), {}),
        ("<M8[s]", np.datetime64(0, "s"), {}),
        ("|O", "", objects("vlen-utf8")),
        ("|O", None, objects("json2")),
    ],
    ids=repr,
)
def test_no_fill_value_reads_as_zero_and_stays_none(
    dtype: Any, zero: Any, more: dict[str, Any], fill: str
) -> None:
    store = MemoryStore({".zarray": v2_document(dtype, fill, **more)})
    array = reopened(store, "r+")
    assert array.fill_value is None
    if array.dtype.kind in "OT":
        assert array[:].tolist() == [zero] * LENGTH
    else:
        assert same(array[:], np.repeat(vector(zero, array.dtype), LENGTH))
    array.resize((2,))
    assert json.loads(bytes(store.get(".zarray") or b""))["fill_value"] is None


@pytest.mark.parametrize(
    ("dtype", "fill"),
    [
        ("<f8", '"nan?"'),
        ("<i4", "1.5"),
        ("<i4", "2147483648"),
        ("|u1", "-1"),
        ("|b1", "2"),
        ("<c8", "[1, 2, 3]"),
        ("|S2", '"YWJj"'),
        ("<U2", '"abc"'),
        ("|V3", '"AP8="'),
        ("<M8[s]", '"tomorrow"'),
        ("<M8[s]", "1.5"),
        ([["a", "<i2"]], '"AA=="'),
    ],
)
def test_fill_values_that_no_writer_can_have_meant(dtype: Any, fill: str) -> None:
    with pytest.raises(MetadataError, match=r"fill value .* does not fit"):
        reopened(MemoryStore({".zarray": v2_document(dtype, fill)}))


# -- what no format holds -------------------------------------------------------------------------
REFUSED: list[tuple[str, Any, str]] = [
    ("long double", np.longdouble, "extended precision.*float64"),
    ("complex long double", np.clongdouble, "extended precision.*complex128"),
    ("long double in a record", [("a", "g")], "extended precision.*float64"),
    ("title", np.dtype([(("title", "a"), "i4")]), "'a' has the title 'title'.*attributes"),
    ("no size", "V0", "need a size, as in 'V8'"),
    ("no fields", np.dtype([]), "without fields"),
    ("field without size", [("a", "i4"), ("b", "V0")], "'b' has no size"),
    ("text without size", np.dtype([("a", "U0")]), "'a' has no size"),
    ("empty sub-array", [("a", "i4", (0,))], "'a' has no size"),
    (
        "overlapping fields",
        np.dtype({"names": ["a", "b"], "formats": ["i4", "i4"], "offsets": [0, 2]}),
        "'b' overlaps",
    ),
]


@pytest.mark.parametrize("zarr_format", FORMATS, ids=str)
@pytest.mark.parametrize(("name", "dtype", "words"), REFUSED, ids=[row[0] for row in REFUSED])
def test_types_that_no_format_holds(
    name: str, dtype: Any, words: str, zarr_format: int | str
) -> None:
    if np.dtype(np.longdouble).itemsize == 8 and "long double" in name:
        pytest.skip("a long double is a double on this machine")
    store = MemoryStore()
    with pytest.raises(UnsupportedError, match=words) as caught:
        omnizarr.create_array(
            store, shape=(LENGTH,), chunks=(2,), dtype=dtype, zarr_format=zarr_format
        )
    assert caught.value.what == "data_type"
    assert not list(store.list())


@pytest.mark.parametrize("zarr_format", FORMATS, ids=str)
@pytest.mark.parametrize("dtype", [object, [("a", "i4"), ("o", "O")]], ids=["object", "field"])
def test_objects_without_a_codec(dtype: Any, zarr_format: int | str) -> None:
    store = MemoryStore()
    with pytest.raises(MetadataError) as caught:
        omnizarr.create_array(
            store, shape=(LENGTH,), chunks=(2,), dtype=dtype, zarr_format=zarr_format
        )
    message = str(caught.value)
    if zarr_format in (2, "3-draft2020-10"):
        assert "object_codec" in message
    else:
        assert isinstance(caught.value, UnsupportedError)
        assert caught.value.what == "data_type"
        assert zarr_format == "n5" or "format 2" in message or "zarr_format=2" in message
    assert not list(store.list())


@pytest.mark.parametrize("dtype", ["<f16", ">c32", "<f12", "|V0", "<x4", [], [["a"]]])
def test_stored_types_that_cannot_be_read(dtype: Any) -> None:
    with pytest.raises(ZarrError, match="dtype") as caught:
        reopened(MemoryStore({".zarray": v2_document(dtype, "null")}))
    if dtype in ("<f16", ">c32", "<f12"):
        assert "extended precision" in str(caught.value)
