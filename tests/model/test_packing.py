"""Offsets and data to and from NumPy: Python's own lists are the oracle, in both modes.

Whatever the native core does, the reference code does too: results, errors and their texts.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterator
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from omnizarr.model import packing
from tests.model import columns
from tests.model.columns import BINARY, TEXT, buffers, drawn, objects, outcome

STRING = np.dtypes.StringDType()


@pytest.fixture(scope="module", params=columns.MODES, autouse=True)
def mode(request: pytest.FixtureRequest) -> Iterator[str]:
    with columns.mode(request.param):
        yield request.param


def elements(found: tuple[np.ndarray, np.ndarray]) -> list[bytes]:
    """The elements of fresh buffers, which have nothing but them."""
    offsets, data = found
    assert offsets.dtype == np.int64
    assert data.dtype == np.uint8
    assert (offsets[0], offsets[-1]) == (0, data.size)
    whole = data.tobytes()
    return [whole[start:stop] for start, stop in pairwise(offsets.tolist())]


def offsets_fault(offsets: list[int], length: int) -> str | None:
    """What is wrong with offsets, looked at one after the other."""
    low = 0
    for place, value in enumerate(offsets):
        if value < low or value > length:
            return f"offset {place} is {value}, expected {low} … {length}"
        low = value
    return None


def text_fault(offsets: list[int], data: bytes) -> str | None:
    fault = offsets_fault(offsets, len(data))
    if fault is not None:
        return fault
    for place, (start, stop) in enumerate(pairwise(offsets)):
        try:
            data[start:stop].decode()
        except UnicodeDecodeError:
            return f"item {place} is not UTF-8"
    return None


# Mostly near the data, sometimes at the ends of their type.
OFFSETS = st.lists(
    st.integers(-2, 20) | st.sampled_from([-(2**31), 2**31 - 1]), min_size=1, max_size=6
)
PIECES = st.lists(
    st.sampled_from([b"a", b"\0", "é".encode(), "日".encode(), "𝒳".encode(), b"\x80", b"\xc3",
                     b"\xed\xa0\x80", b"\xf4\x90\x80\x80", b"\xc0\x80", b"\xff"]),
    max_size=8,
).map(b"".join)  # fmt: skip
"""Bytes that are UTF-8 or nearly so: lone halves, surrogates, too large, too long."""


@st.composite
def any_buffers(draw: Any) -> tuple[np.ndarray, np.ndarray]:
    """Offsets that may be sorted or not, inside the data or not; text that may be text or not."""
    data = draw(PIECES)
    bounds = draw(OFFSETS)
    if draw(st.booleans()):
        bounds = sorted(min(max(bound, 0), len(data)) for bound in bounds)
    return np.array(bounds, draw(columns.WIDTHS)), np.frombuffer(data, np.uint8)


# -- offsets and text ---------------------------------------------------------------------------


@given(OFFSETS, columns.WIDTHS, st.integers(0, 20))
def test_check_offsets(offsets: list[int], width: Any, length: int) -> None:
    fault = offsets_fault(offsets, length)
    found = outcome(packing.check_offsets, np.array(offsets, width), length)
    assert found == (None if fault is None else (ValueError, fault))


@pytest.mark.parametrize("wrong", [[2**63 - 1, 0], [0, -(2**63)], [0, 2**32], [2**62, 2**62 + 1]])
def test_offsets_at_the_ends_of_their_type(wrong: list[int]) -> None:
    """A difference that overflows does not look like a length."""
    offsets, data = np.array(wrong), np.zeros(4, np.uint8)
    fault = (ValueError, offsets_fault(wrong, 4))
    assert outcome(packing.check_offsets, offsets, 4) == fault
    assert outcome(packing.check_text, offsets, data) == fault
    assert outcome(packing.join_frame, offsets, data) == fault
    assert outcome(packing.take, offsets, data, np.zeros(1, np.int64)) == fault


@given(any_buffers())
@example((np.array([0, 1, 2]), np.frombuffer("é".encode(), np.uint8)))  # a character cut in two
@example((np.array([0, 2, 2, 2]), np.frombuffer("é".encode() + b"\x80", np.uint8)))
@example((np.array([1, 2]), np.frombuffer(b"\x80a\x80", np.uint8)))  # bytes of no item are not read
def test_check_text(case: tuple[np.ndarray, np.ndarray]) -> None:
    offsets, data = case
    fault = text_fault(offsets.tolist(), data.tobytes())
    assert outcome(packing.check_text, *case) == (None if fault is None else (ValueError, fault))


@given(drawn())
def test_items(case: tuple[list[bytes], np.ndarray, np.ndarray]) -> None:
    items, offsets, data = case
    assert list(packing.items(offsets, data)) == items


# -- to NumPy -----------------------------------------------------------------------------------


@given(drawn(TEXT, max_size=40))
def test_fill_text(case: tuple[list[bytes], np.ndarray, np.ndarray]) -> None:
    items, offsets, data = case
    out = np.full(len(items), "old, and too long for the element itself", STRING)
    packing.fill_text(offsets, data, out)
    assert out.tolist() == [item.decode() for item in items]


@given(drawn(TEXT), st.booleans())
def test_fill_objects(case: tuple[list[bytes], np.ndarray, np.ndarray], text: bool) -> None:
    items, offsets, data = case
    out = np.full(len(items), "old", object)
    packing.fill_objects(offsets, data, text, out)
    assert out.tolist() == ([item.decode() for item in items] if text else items)


@given(any_buffers())
def test_what_is_wrong_fills_nothing(case: tuple[np.ndarray, np.ndarray]) -> None:
    offsets, data = case
    bounds, octets = offsets.tolist(), data.tobytes()
    size = offsets.size - 1
    fault = text_fault(bounds, octets)
    text, strings, binary = np.full(size, "old", STRING), *np.full((2, size), "old", object)
    expected = None if fault is None else (ValueError, fault)
    assert outcome(packing.fill_text, offsets, data, text) == expected
    assert outcome(packing.fill_objects, offsets, data, True, strings) == expected
    fault = offsets_fault(bounds, len(octets))
    expected_binary = None if fault is None else (ValueError, fault)
    assert outcome(packing.fill_objects, offsets, data, False, binary) == expected_binary
    if expected is not None:
        assert text.tolist() == strings.tolist() == ["old"] * size
    if expected_binary is not None:
        assert binary.tolist() == ["old"] * size


@pytest.mark.parametrize("size", [0, 1, 3])
def test_one_place_for_each_element(size: int) -> None:
    """One element is not spread over many places."""
    for items in ([b"a"], [b"a", b"b"], []):
        if len(items) == size:
            continue
        offsets, data = buffers(items)
        fault = (ValueError, f"expected {size} items, found {len(items)}")
        assert outcome(packing.fill_text, offsets, data, np.empty(size, STRING)) == fault
        for text in (True, False):
            out = np.empty(size, object)
            assert outcome(packing.fill_objects, offsets, data, text, out) == fault


def test_no_offsets_at_all() -> None:
    nothing, data = np.zeros(0, np.int64), np.zeros(0, np.uint8)
    fault = (ValueError, "no offsets, expected at least 1")
    assert outcome(packing.check_offsets, nothing, 0) == fault
    assert outcome(packing.check_text, nothing, data) == fault
    assert outcome(packing.fill_text, nothing, data, np.empty(0, STRING)) == fault
    assert outcome(packing.fill_objects, nothing, data, True, np.empty(0, object)) == fault
    assert outcome(packing.join_frame, nothing, data) == fault
    assert outcome(packing.take, nothing, data, np.zeros(0, np.int64)) == fault


# -- from NumPy ---------------------------------------------------------------------------------


@given(st.lists(TEXT, max_size=12))
def test_from_text(items: list[str]) -> None:
    array = np.array(items, STRING)
    assert elements(packing.from_text(array)) == [item.encode() for item in items]
    strided = np.repeat(array, 2)[::-2]
    assert elements(packing.from_text(strided)) == [item.encode() for item in items[::-1]]


@given(st.lists(TEXT, max_size=12), st.lists(BINARY, max_size=12))
def test_from_objects(texts: list[str], blobs: list[bytes]) -> None:
    encoded = [item.encode() for item in texts]
    assert elements(packing.from_objects(objects(texts), True)) == encoded
    assert elements(packing.from_objects(objects(texts)[::-1], True)) == encoded[::-1]
    assert elements(packing.from_objects(objects(blobs), False)) == blobs
    mixed = objects([bytearray(item) if place % 2 else item for place, item in enumerate(blobs)])
    assert elements(packing.from_objects(mixed, False)) == blobs


@given(st.lists(TEXT, max_size=6), st.sampled_from("<>"))
def test_from_fixed_text(items: list[str], order: str) -> None:
    array = np.array(items, f"{order}U80")
    expected = [item.encode() for item in array.tolist()]  # NumPy cuts, and drops NULs at the end
    assert elements(packing.from_fixed(array)) == expected
    assert elements(packing.from_fixed(np.repeat(array, 2)[::-2])) == expected[::-1]


@given(st.lists(BINARY, max_size=6), st.integers(1, 80))
def test_from_fixed_bytes(items: list[bytes], width: int) -> None:
    array = np.array(items, f"S{width}")
    assert elements(packing.from_fixed(array)) == array.tolist()
    assert elements(packing.from_fixed(np.repeat(array, 2)[::-2])) == array.tolist()[::-1]


@pytest.mark.parametrize("dtype", ["U0", "S0", "U3", "S3"])
@pytest.mark.parametrize("size", [0, 2])
def test_from_fixed_without_a_byte(dtype: str, size: int) -> None:
    assert elements(packing.from_fixed(np.zeros(size, np.dtype(dtype)))) == [b""] * size


class Text(str):
    """Subclasses are what they are derived from."""


def test_subclasses() -> None:
    items = [Text("é"), np.str_("b")]
    assert elements(packing.from_objects(objects(items), True)) == ["é".encode(), b"b"]
    assert elements(packing.from_objects(objects([np.bytes_(b"a")]), False)) == [b"a"]


@pytest.mark.parametrize("wrong", [None, 1, 1.5, float("nan"), b"x", ["x"], np.int8(1)])
def test_objects_that_are_no_text(wrong: Any) -> None:
    found = outcome(packing.from_objects, objects(["a", wrong, None]), True)
    assert found == (TypeError, f"item 1 is {type(wrong).__name__}")


@pytest.mark.parametrize("wrong", [None, 1, float("nan"), "x", memoryview(b"x"), [1]])
def test_objects_that_are_no_bytes(wrong: Any) -> None:
    found = outcome(packing.from_objects, objects([b"a", b"", wrong]), False)
    assert found == (TypeError, f"item 2 is {type(wrong).__name__}")


@pytest.mark.parametrize("surrogate", ["\ud800", "a\udcff", "\udfff" * 40])
def test_surrogates(surrogate: str) -> None:
    fault = (ValueError, "item 1 is not UTF-8")
    assert outcome(packing.from_objects, objects(["é", surrogate]), True) == fault
    assert outcome(packing.from_fixed, np.array(["é", surrogate])) == fault


def test_missing_values_of_numpy() -> None:
    for missing in (None, float("nan")):
        array = np.array(["a", missing], np.dtypes.StringDType(na_object=missing))
        assert outcome(packing.from_text, array) == (ValueError, "item 1 is missing")
    # Text that stands for what is missing is text.
    array = np.array(["a", "n/a"], np.dtypes.StringDType(na_object="n/a"))
    assert elements(packing.from_text(array)) == [b"a", b"n/a"]


# -- frames -------------------------------------------------------------------------------------


def frame_of(items: list[bytes]) -> bytes:
    lengths = [struct.pack("<I", len(item)) + item for item in items]
    return struct.pack("<I", len(items)) + b"".join(lengths)


@given(drawn())
def test_frames_like_numcodecs(case: tuple[list[bytes], np.ndarray, np.ndarray]) -> None:
    import numcodecs

    items, offsets, data = case
    frame = packing.join_frame(offsets, data)
    assert frame == frame_of(items)
    if items:  # numcodecs has no empty frames
        assert frame == bytes(numcodecs.VLenBytes().encode(objects(items)))
    for given_as in (frame, bytearray(frame), memoryview(b"x" + frame)[1:]):
        assert elements(packing.split_frame(given_as, len(items))) == items


def frame_fault(frame: bytes, count: int) -> str | None:
    length = len(frame)
    if length < 4:
        return f"{length} bytes, fewer than the 4 of the item count"
    stated = int.from_bytes(frame[:4], "little")
    if stated != count:
        return f"expected {count} items, found {stated}"
    if length - 4 < 4 * count:
        return f"{count} items cannot lie in {length} bytes"
    rest = frame[4:]
    for item in range(count):
        if len(rest) < 4:
            return f"item {item} has no length: only {len(rest)} bytes are left"
        size, rest = int.from_bytes(rest[:4], "little"), rest[4:]
        if size > len(rest):
            return f"item {item} has {size} bytes, but only {len(rest)} are left"
        rest = rest[size:]
    return f"{len(rest)} bytes follow the last item" if rest else None


@st.composite
def spoilt_frames(draw: Any) -> tuple[bytes, int]:
    items = draw(st.lists(st.binary(max_size=6), max_size=5))
    frame = bytearray(frame_of(items))
    for _ in range(draw(st.integers(0, 3))):
        place = draw(st.integers(0, len(frame) - 1))
        frame[place] = draw(st.sampled_from([0, 1, 2, 5, 127, 128, 255]))
    cut = draw(st.integers(0, len(frame)) | st.just(len(frame)))
    tail = draw(st.sampled_from([b"", b"\0", b"\0\0\0\0", b"tail"]))
    return bytes(frame[:cut]) + tail, draw(st.just(len(items)) | st.sampled_from([0, 3, 2**32, -1]))


@given(spoilt_frames())
@example((frame_of([b"abc", b"de"])[:-6] + b"\xff\xff\xff\xff", 2))
def test_spoilt_frames(case: tuple[bytes, int]) -> None:
    frame, count = case
    fault = frame_fault(frame, count)
    if fault is not None:
        assert outcome(packing.split_frame, frame, count) == (ValueError, fault)
    else:
        assert packing.join_frame(*packing.split_frame(frame, count)) == frame


@given(any_buffers())
def test_frames_of_wrong_offsets(case: tuple[np.ndarray, np.ndarray]) -> None:
    fault = offsets_fault(case[0].tolist(), case[1].size)
    found = outcome(packing.join_frame, *case)
    if fault is not None:
        assert found == (ValueError, fault)
    else:
        assert isinstance(found, bytes)


def test_an_item_of_4_gib(mode: str) -> None:
    """Its memory is promised, never touched."""
    data = np.zeros((1 << 32) + 1, np.uint8)
    offsets = np.array([0, 1, (1 << 32) + 1])
    fault = (ValueError, "item 1 has 4 GiB or more")
    assert outcome(packing.join_frame, offsets, data) == fault


# -- choosing -----------------------------------------------------------------------------------


@given(drawn(), st.data())
def test_take(case: tuple[list[bytes], np.ndarray, np.ndarray], data: st.DataObject) -> None:
    items, offsets, octets = case
    places = st.lists(st.integers(0, len(items) - 1), max_size=12) if items else st.just([])
    indices = data.draw(places)
    found = packing.take(offsets, octets, np.array(indices, np.int64))
    assert elements(found) == [items[index] for index in indices]


@pytest.mark.parametrize("wrong", [3, -1, -3, 2**62, -(2**63)])
def test_an_index_that_names_no_element(wrong: int) -> None:
    offsets, data = buffers([b"a", b"bc", b""])
    found = outcome(packing.take, offsets, data, np.array([2, wrong, 9]))
    assert found == (IndexError, f"index {wrong} of 3 items")


@given(any_buffers())
def test_take_believes_no_offset(case: tuple[np.ndarray, np.ndarray]) -> None:
    fault = offsets_fault(case[0].tolist(), case[1].size)
    found = outcome(packing.take, *case, np.zeros(0, np.int64))
    if fault is not None:
        assert found == (ValueError, fault)
    else:
        assert elements(found) == []


# -- both modes at once -------------------------------------------------------------------------


def seen(value: Any) -> Any:
    """A result in a form that can be compared."""
    if isinstance(value, tuple) and isinstance(value[0], np.ndarray):
        return [(part.dtype, part.tobytes()) for part in value]
    return value


@pytest.mark.parametrize("mode", ["native"], indirect=True)
@given(any_buffers(), st.lists(st.integers(-1, 5), max_size=4))
def test_the_core_does_what_the_reference_does(
    case: tuple[np.ndarray, np.ndarray], indices: list[int]
) -> None:
    offsets, data = case
    size = offsets.size - 1
    calls: list[Callable[[], Any]] = [
        lambda: packing.check_text(offsets, data),
        lambda: _filled(packing.fill_text, offsets, data, np.full(size, "old", STRING)),
        lambda: _filled(packing.fill_objects, offsets, data, True, np.full(size, "old", object)),
        lambda: _filled(packing.fill_objects, offsets, data, False, np.full(size, "old", object)),
        lambda: packing.join_frame(offsets, data),
        lambda: packing.take(offsets, data, np.array(indices, np.int64)),
        lambda: packing.split_frame(data.tobytes(), size),
    ]
    for call in calls:
        results = []
        for name in columns.MODES:
            with columns.mode(name):
                results.append(seen(outcome(call)))
        assert results[0] == results[1]


def _filled(function: Callable[..., None], *arguments: Any) -> Any:
    function(*arguments)
    return arguments[-1].tolist()
