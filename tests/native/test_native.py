"""Every function of the native core against plain Python: results, errors, and what is left alone.

The tests fail where the core could be built (there is a `cargo`) but is not installed, and are
skipped where it cannot.
"""

from __future__ import annotations

import gc
import subprocess
import sys
import tracemalloc
from collections.abc import Iterator
from pathlib import Path
from threading import Thread
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from omnizarr.runtime.native_core import API, Core
from tests.native import oracle
from tests.native.installed import core, needed
from tests.native.oracle import outcome

TEXT = np.dtypes.StringDType()


@pytest.fixture(autouse=True, scope="module")
def installed() -> None:
    needed()


# -- what is fed in --------------------------------------------------------------------------

# StringDType keeps up to 15 bytes in the array itself; above 255 it stores the length differently.
SIZES = (1, 7, 8, 14, 15, 16, 17, 31, 32, 33, 127, 128, 254, 255, 256, 257, 100_000)
EDGES = [unit * (size // len(unit.encode())) for size in SIZES for unit in ("a", "é", "東", "\0")]
TEXTS = st.one_of(
    st.text(st.characters(max_codepoint=127), max_size=40),
    st.text(st.characters(exclude_categories=["Cs"]), max_size=20),
    st.sampled_from(["", "\0", "a\0", "a\0\0b\0", "\0" * 16, "😀", *EDGES]),
)
BYTES = st.one_of(st.binary(max_size=40), TEXTS.map(str.encode))
MANY_TEXTS = st.lists(TEXTS, max_size=12)
MANY_BYTES = st.lists(BYTES, max_size=12)
WIDTHS = st.sampled_from([np.int32, np.int64])


def octets(data: bytes) -> np.ndarray[Any, Any]:
    return np.frombuffer(data, np.uint8)


def filled(length: int, dtype: Any = TEXT) -> np.ndarray[Any, Any]:
    """An array that holds something already, of every kind of storage."""
    kinds = ["old", "old and of medium length", "old and long " * 30, ""]
    return np.array([kinds[i % 4] for i in range(length)], dtype)


@st.composite
def columns(draw: st.DrawFn, item: st.SearchStrategy[bytes] = BYTES) -> tuple[Any, bytes]:
    """A sound column, with bytes before and behind the items, its offsets of either width."""
    offsets, data = oracle.column(draw(st.lists(item, max_size=12)))
    before, behind = draw(st.binary(max_size=3)), draw(st.binary(max_size=40))
    moved = np.array(offsets, draw(WIDTHS)) + len(before)
    return moved.astype(draw(WIDTHS)), before + data + behind


@st.composite
def hostile_columns(draw: st.DrawFn) -> tuple[Any, bytes]:
    """A column of which some offsets are wrong: negative, falling, beyond the data."""
    offsets, data = draw(columns())
    places = draw(st.lists(st.integers(0, len(offsets) - 1), min_size=1, max_size=3))
    limits = np.iinfo(offsets.dtype)
    near = st.one_of(st.integers(-2, len(data) + 2), st.just(len(data) + 1))
    for place in places:
        offsets[place] = draw(st.one_of(near, st.sampled_from([limits.min, limits.max, -1])))
    return offsets[: draw(st.integers(0, len(offsets)))] if draw(st.booleans()) else offsets, data


@st.composite
def hostile_frames(draw: st.DrawFn) -> tuple[bytes, int]:
    """A frame that was cut, prolonged or overwritten, and the expected number of items."""
    items = draw(MANY_BYTES)
    frame = bytearray(oracle.join(items))
    for _ in range(draw(st.integers(0, 3))):
        match draw(st.sampled_from(["cut", "grow", "byte", "length"])):
            case "cut":
                del frame[draw(st.integers(0, len(frame))) :]
            case "grow":
                frame += draw(st.binary(max_size=9))
            case "byte" if frame:
                frame[draw(st.integers(0, len(frame) - 1))] = draw(st.integers(0, 255))
            case "length" if len(frame) >= 4:
                place = draw(st.integers(0, len(frame) - 4))
                wrong = st.one_of(st.integers(0, 50), st.sampled_from([2**31, 2**32 - 1]))
                frame[place : place + 4] = draw(wrong).to_bytes(4, "little")
    stated = int.from_bytes(frame[:4], "little")
    expected = [len(items), stated, 0, -1, 2**32, 2**70]
    return bytes(frame), draw(st.sampled_from(expected))


# -- frames ----------------------------------------------------------------------------------


@given(MANY_BYTES, st.sampled_from([bytes, bytearray, memoryview, octets]))
def test_frames_come_apart_and_together(items: list[bytes], kind: Any) -> None:
    frame = oracle.join(items)
    assert outcome(core.frame_split, kind(frame), len(items)) == oracle.column(items)
    offsets, data = core.frame_split(frame, len(items))
    assert core.frame_join(offsets, data) == frame


@given(hostile_frames())
@example((b"", 0))
@example((b"\0\0\0", 0))
@example((b"\0\0\0\0", 0))
@example((b"\xff\xff\xff\xff", 2**32 - 1))
@example((b"\x02\0\0\0\x01\0\0\0abc\0\0", 2))
def test_hostile_frames_raise_what_python_raises(case: tuple[bytes, int]) -> None:
    frame, count = case
    expected = outcome(lambda: oracle.column(oracle.split(frame, count)))
    assert outcome(core.frame_split, frame, count) == expected


@given(hostile_frames())
def test_a_hostile_frame_leaves_the_texts_alone(case: tuple[bytes, int]) -> None:
    frame, _ = case
    count = min(int.from_bytes(frame[:4], "little"), 100)
    out = filled(count)
    before = out.tolist()
    expected = outcome(lambda: oracle.decoded(oracle.split(frame, count)))
    found = outcome(core.frame_text, frame, out)
    if found is None:
        assert out.tolist() == expected
    else:
        assert found == expected
        assert out.tolist() == before


@given(MANY_TEXTS, st.booleans())
def test_frames_become_text(texts: list[str], used: bool) -> None:
    out = filled(len(texts)) if used else np.empty(len(texts), TEXT)
    core.frame_text(oracle.join([text.encode() for text in texts]), out)
    assert out.tolist() == texts


@given(columns())
def test_columns_become_frames(column: tuple[Any, bytes]) -> None:
    offsets, data = column
    expected = oracle.join(oracle.items(offsets.tolist(), data))
    assert core.frame_join(offsets, octets(data)) == expected


def test_an_item_of_4_gib_has_no_frame() -> None:
    data = np.zeros(2**32 + 3, np.uint8)  # never touched, so never there
    offsets = np.array([0, 3, 2**32 + 3])
    assert outcome(core.frame_join, offsets, data) == ("ValueError", "item 1 has 4 GiB or more")


def test_memory_is_a_small_multiple_of_the_frame() -> None:
    frame = oracle.join([b""] * 100_000)  # as many offsets for as few bytes as can be
    lies = frame + b"x", frame[:-1], b"\xff" * 4 + frame[4:]
    tracemalloc.start()
    try:
        core.frame_split(frame, 100_000)
        for lie in lies:
            with pytest.raises(ValueError):
                core.frame_split(lie, int.from_bytes(lie[:4], "little"))
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert 2 * len(frame) < peak < 3 * len(frame)


# -- columns ---------------------------------------------------------------------------------


@given(columns(TEXTS.map(str.encode)), st.booleans())
def test_columns_become_text(column: tuple[Any, bytes], used: bool) -> None:
    offsets, data = column
    out = filled(len(offsets) - 1) if used else np.empty(len(offsets) - 1, TEXT)
    core.check_text(offsets, octets(data))
    core.text_fill(offsets, octets(data), out)
    assert out.tolist() == oracle.decoded(oracle.items(offsets.tolist(), data))


@given(st.one_of(columns(), hostile_columns()))
@example((np.array([0, 1, 2]), "é".encode()))  # valid as a whole, not item by item
@example((np.array([0, 2]), "éé".encode()[:3]))  # the rest of the data belongs to no text
@example((np.array([1, 3]), "éé".encode()))
@example((np.array([0, 3]), b"\xed\xa0\x80"))  # a lone surrogate
@example((np.array([], np.int64), b""))
@example((np.array([0, 4]), b"abc"))  # one too far
@example((np.array([0, 2, 1, 3]), b"abc"))
@example((np.array([-1, 3]), b"abc"))
def test_columns_raise_what_python_raises(column: tuple[Any, bytes]) -> None:
    offsets, data = column
    listed, array = offsets.tolist(), octets(data)
    texts = outcome(lambda: oracle.decoded(oracle.items(listed, data)))
    items = outcome(lambda: oracle.items(listed, data))
    valid = isinstance(texts, list)

    assert outcome(core.check_text, offsets, array) == (None if valid else texts)
    count = max(len(listed) - 1, 0)
    for function, out, arguments, expected in [
        (core.text_fill, filled(count), (), texts),
        (core.column_objects, filled(count, object), (True,), texts),
        (core.column_objects, filled(count, object), (False,), items),
    ]:
        before = out.tolist()
        found = outcome(function, offsets, array, *arguments, out)
        if isinstance(expected, list):
            assert found is None and out.tolist() == expected
        else:
            assert found == expected and out.tolist() == before
    joined = outcome(lambda: oracle.join(oracle.items(listed, data)))
    assert outcome(core.frame_join, offsets, array) == joined


@given(
    st.one_of(columns(), hostile_columns()),
    st.lists(st.one_of(st.integers(0, 12), st.integers(-2, 14)), max_size=20),
)
def test_items_are_taken(column: tuple[Any, bytes], indices: list[int]) -> None:
    offsets, data = column
    expected = outcome(lambda: oracle.take(offsets.tolist(), data, indices))
    found = outcome(core.column_take, offsets, octets(data), np.array(indices, np.int64))
    assert found == expected


@given(MANY_TEXTS)
def test_text_becomes_columns(texts: list[str]) -> None:
    expected = oracle.column([text.encode() for text in texts])
    assert outcome(core.text_column, np.array(texts, TEXT)) == expected


@given(st.lists(st.tuples(st.integers(0, 9), MANY_TEXTS), max_size=6))
def test_text_is_replaced_over_and_over_in_part_of_an_array(
    steps: list[tuple[int, list[str]]],
) -> None:
    whole, expected = np.empty(24, TEXT), [""] * 24
    for start, texts in steps:
        part = whole[start : start + len(texts)]
        core.frame_text(oracle.join([text.encode() for text in texts]), part)
        expected[start : start + len(texts)] = texts
        assert whole.tolist() == expected
        assert outcome(core.text_column, whole[start:]) == oracle.column(
            [text.encode() for text in expected[start:]]
        )


@pytest.mark.parametrize("missing", [None, float("nan"), "n/a"])
def test_missing_text_is_named(missing: Any) -> None:
    dtype = np.dtypes.StringDType(na_object=missing)
    array = np.array(["a", "b", missing, missing], dtype)
    assert outcome(core.text_column, array) == ("ValueError", "item 2 is missing")
    assert outcome(core.text_column, array[:2]) == ([0, 1, 2], b"ab")


# -- objects ---------------------------------------------------------------------------------

SURROGATES = st.sampled_from(["\ud800", "a\udfff", "\ud83d"])
STRANGE = st.sampled_from(
    [None, 3, 1.5, b"x", "x", bytearray(b"yz"), np.str_("n"), np.bytes_(b"m")]
)


@given(
    st.lists(st.one_of(TEXTS, BYTES, BYTES.map(bytearray), SURROGATES, STRANGE), max_size=9),
    st.booleans(),
)
def test_mixed_objects_give_what_python_gives(values: list[Any], text: bool) -> None:
    array = np.empty(len(values), object)
    array[:] = values
    expected = outcome(oracle.from_objects, values, text)
    assert outcome(core.objects_column, array, text) == expected


@given(st.lists(st.one_of(TEXTS, SURROGATES), max_size=9))
def test_objects_become_columns(values: list[str]) -> None:
    array = np.array(values, object)
    assert outcome(core.objects_column, array, True) == outcome(oracle.from_objects, values, True)


@given(columns(TEXTS.map(str.encode)), st.booleans())
def test_columns_become_objects(column: tuple[Any, bytes], text: bool) -> None:
    offsets, data = column
    items = oracle.items(offsets.tolist(), data)
    out = filled(len(items), object)
    core.column_objects(offsets, octets(data), text, out)
    assert out.tolist() == (oracle.decoded(items) if text else items)


def test_no_reference_is_lost_or_kept() -> None:
    old, kept = [object() for _ in range(50)], "kept for the count of its references"
    out = np.array(old, object)
    source = np.full(50, kept, object)
    counts = sys.getrefcount(old[7]), sys.getrefcount(kept)
    core.column_objects(*core.objects_column(source, True), True, out)
    left = sys.getrefcount(old[7]), sys.getrefcount(kept)
    made = sys.getrefcount(out[9])
    assert left == (counts[0] - 1, counts[1])
    assert made == 2  # the array's own and the call's
    with pytest.raises(ValueError):
        core.column_objects(np.array([0, 1, 9]), octets(b"abc"), True, np.empty(2, object))


def test_finalizers_may_do_as_they_like() -> None:
    class Vandal:
        def __del__(self) -> None:
            out[:] = [None] * len(out)
            seen.append(out[0])

    seen: list[Any] = []
    out = np.empty(300, object)
    for place in range(300):
        out[place] = Vandal()
    offsets = np.arange(301)
    core.column_objects(offsets, octets(b"x" * 300), True, out)
    gc.collect()
    assert len(seen) == 300
    assert outcome(core.objects_column, out, True) == ("TypeError", "item 0 is NoneType")


# -- arguments -------------------------------------------------------------------------------

OFFSETS, DATA = np.array([0, 1, 2]), np.zeros(2, np.uint8)


def read_only(array: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    array.flags.writeable = False
    return array


def bad_arguments() -> Iterator[tuple[str, tuple[Any, ...]]]:
    strings, objects = np.empty(2, TEXT), np.empty(2, object)
    bad_offsets: list[Any] = [
        None,
        [0, 1, 2],
        OFFSETS.astype(">i8"),
        OFFSETS.astype("u8"),
        OFFSETS.astype("i2"),
        OFFSETS.astype("f8"),
        OFFSETS.astype("m8[s]"),
        OFFSETS.reshape(1, 3),
        np.arange(6)[::2],
        np.array(3),
        b"\0" * 16,
    ]
    bad_data: list[Any] = [
        None,
        b"ab",
        DATA.view("i1"),
        np.zeros(4, np.uint8)[::2],
        strings,
        OFFSETS,
    ]
    for wrong in bad_offsets:
        yield "check_text", (wrong, DATA)
        yield "frame_join", (wrong, DATA)
        yield "text_fill", (wrong, DATA, strings)
        yield "column_objects", (wrong, DATA, True, objects)
        yield "column_take", (wrong, DATA, OFFSETS)
    for wrong in bad_data:
        yield "check_text", (OFFSETS, wrong)
        yield "frame_join", (OFFSETS, wrong)
        yield "text_fill", (OFFSETS, wrong, strings)
        yield "column_objects", (OFFSETS, wrong, False, objects)
        yield "column_take", (OFFSETS, wrong, OFFSETS)
    for wrong in [*bad_offsets, OFFSETS.astype("i4")]:
        yield "column_take", (OFFSETS, DATA, wrong)
    bad_strings: list[Any] = [
        None,
        ["a", "b"],
        np.empty(4, TEXT)[::2],
        np.empty((1, 2), TEXT),
        np.empty((), TEXT),
        np.empty(2, "U5"),
        objects,
    ]
    frame = oracle.join([b"a", b"b"])
    not_writeable = [
        read_only(np.empty(2, TEXT)),
        np.empty(2, np.dtypes.StringDType(na_object=None)),
    ]
    for wrong in [*bad_strings, *not_writeable]:
        yield "text_fill", (OFFSETS, DATA, wrong)
        yield "frame_text", (frame, wrong)
    for wrong in bad_strings:
        yield "text_column", (wrong,)
    bad_objects: list[Any] = [
        None,
        ["a"],
        np.empty(4, object)[::2],
        np.empty((1, 2), object),
        strings,
    ]
    for wrong in [*bad_objects, read_only(np.empty(2, object))]:
        yield "column_objects", (OFFSETS, DATA, True, wrong)
    for wrong in bad_objects:
        yield "objects_column", (wrong, True)
    for wrong in [
        None,
        "text",
        5,
        memoryview(b"abcdefgh")[::2],
        strings,
        np.zeros(9, np.uint8)[::2],
    ]:
        yield "frame_split", (wrong, 0)
        yield "frame_text", (wrong, strings)
    for wrong in [None, "1", 1.0]:
        yield "frame_split", (frame, wrong)
        yield "objects_column", (objects, wrong)
        yield "column_objects", (OFFSETS, DATA, wrong, objects)
    for path, flags in [("path", 0), (None, 0), ([b"path"], 0), (b"path", "0"), (b"path", None)]:
        yield "file_open", (path, flags)
        yield "file_read", (path, flags, 0, None, 1)
        yield "file_read_many", (path, [], flags, 1, 1, None, int)
    for names in [None, 5, [b"bytes"], ["name", None]]:
        yield "file_read_many", (b"path", names, 0, 1, 1, None, int)


def test_wrong_arguments_are_type_errors() -> None:
    """Those of the classes are in test_plans.py and test_serialized.py."""
    cases = list(bad_arguments())
    for name, arguments in cases:
        with pytest.raises(TypeError):
            getattr(core, name)(*arguments)
    assert {name for name, _ in cases} == functions() - {"Chunks", "Serialized"}


def test_a_wrong_argument_is_described() -> None:
    with pytest.raises(
        TypeError, match="offsets is list, expected a contiguous 1-D array of int32"
    ):
        core.check_text([0, 1], DATA)
    with pytest.raises(TypeError, match="out is a read-only 1-D array of StringDType"):
        core.text_fill(OFFSETS, DATA, read_only(np.empty(2, TEXT)))
    with pytest.raises(TypeError, match="data is a non-contiguous 1-D array of uint8"):
        core.check_text(OFFSETS, np.zeros(9, np.uint8)[::2])


class Shrinking(np.ndarray):  # type: ignore[type-arg]
    """Its dtype frees the memory of arrays that are in use."""

    others: tuple[Any, ...] = ()

    @property
    def dtype(self) -> Any:
        for array in (self, *self.others):
            np.ndarray.resize(array, 1, refcheck=False)
        return TEXT


def test_a_subclass_is_refused_before_its_code_runs() -> None:
    offsets, data = np.arange(100_001), np.full(100_000, 97, np.uint8)
    out = np.ndarray.__new__(Shrinking, (100_000,), dtype=TEXT)
    out.others = (offsets, data)
    match = r"out is Shrinking, a subclass of numpy.ndarray \(see numpy.asarray\)"
    with pytest.raises(TypeError, match=match):
        core.text_fill(offsets, data, out)
    with pytest.raises(TypeError, match=match):
        core.frame_text(oracle.join([b"a"] * 100_000), out)
    assert offsets.size == 100_001 and data.size == out.size == 100_000
    arguments = {
        "check_text": (offsets, data),
        "frame_join": (offsets, data),
        "column_take": (offsets, data, np.arange(3)),
        "column_objects": (offsets, data, True, np.empty(100_000, object)),
        "text_fill": (offsets, data, np.empty(100_000, TEXT)),
        "text_column": (np.empty(3, TEXT),),
        "objects_column": (np.array(["a"], object), True),
    }
    for name, whole in arguments.items():
        for place, argument in enumerate(whole):
            if isinstance(argument, np.ndarray):
                changed = (*whole[:place], argument.view(np.recarray), *whole[place + 1 :])
                with pytest.raises(TypeError, match=r"a subclass of numpy\.ndarray"):
                    getattr(core, name)(*changed)


@pytest.mark.parametrize("length", [0, 1, 3])
def test_an_output_of_another_length_is_refused(length: int) -> None:
    expected = ("ValueError", f"expected {length} items, found 2")
    assert outcome(core.text_fill, OFFSETS, DATA, np.empty(length, TEXT)) == expected
    for text in (True, False):
        out = np.empty(length, object)
        assert outcome(core.column_objects, OFFSETS, DATA, text, out) == expected
    assert outcome(core.frame_text, oracle.join([b"a"] * 2), np.empty(length, TEXT)) == expected


def test_unaligned_offsets_are_read() -> None:
    for dtype in ("i4", "i8"):
        raw = b"x" + np.array([0, 1, 3], dtype).tobytes()
        offsets = np.frombuffer(raw, dtype, offset=1)
        assert outcome(core.column_take, offsets, octets(b"abc"), np.array([1])) == ([0, 2], b"bc")


@pytest.mark.parametrize("dtype", ["i", "l", "q"])
def test_every_c_name_of_the_integers_is_known(dtype: str) -> None:
    assert core.frame_join(OFFSETS.astype(dtype), octets(b"ab")) == oracle.join([b"a", b"b"])


# -- processes and threads -------------------------------------------------------------------

FOLDER = Path(__file__).parent


def run(program: str, *arguments: str) -> str:
    command = [sys.executable, "-W", "ignore", str(FOLDER / program), *arguments]
    done = subprocess.run(command, capture_output=True, text=True, timeout=90)
    assert done.returncode == 0, f"exit status {done.returncode}\n{done.stdout}{done.stderr}"
    return done.stdout.strip()


def test_twenty_thousand_mutations_crash_nothing() -> None:
    counts = dict(pair.split("=") for pair in run("mutations.py", "20000", "1").split())
    assert int(counts["cases"]) == 20_000
    # It must have been hostile enough to be refused, and not so broken that all of it was.
    assert int(counts["refused"]) > 8_000 and int(counts["accepted"]) > 1_000


def test_it_works_after_a_fork() -> None:
    assert run("forks.py", "30") == "30 forks"


def test_threads_fill_one_array_and_their_own() -> None:
    texts = [f"{'é' * (i % 40)}{i}" for i in range(20_000)]
    frame = oracle.join([text.encode() for text in texts])
    shared = np.empty(6 * len(texts), TEXT)
    faults: list[BaseException] = []

    def work(number: int) -> None:
        try:
            for _ in range(3):
                part = shared[number * len(texts) : (number + 1) * len(texts)]
                core.frame_text(frame, part)
                own = np.empty(len(texts), TEXT)
                offsets, data = core.text_column(part)
                core.text_fill(offsets, data, own)
                assert core.frame_join(offsets, data) == frame
                assert own.tolist() == texts
        except BaseException as fault:
            faults.append(fault)

    threads = [Thread(target=work, args=(number,)) for number in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert faults == []
    assert shared.tolist() == texts * 6


# -- the module ------------------------------------------------------------------------------


def functions() -> set[str]:
    return {name for name, value in vars(core).items() if callable(value)}


def test_the_seam_names_what_the_core_has() -> None:
    assert core.API == API
    declared = {name for name in vars(Core) if not name.startswith("_")} - {"API"}
    elsewhere = set() if sys.platform == "linux" else {"Serialized"}
    assert declared == functions() | elsewhere
