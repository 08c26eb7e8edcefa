"""`Chunks.place` and `Chunks.encode` against NumPy: chunks in memory, sound or not."""

from __future__ import annotations

from threading import Thread
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from omnizarr.codecs.loader import library
from tests.codecs.support import make
from tests.native.chunks import KEYS, SCRATCH, encode_bytes, place, whole
from tests.native.installed import needed

core = needed()

TYPES = ("u1", "bool", "<i2", ">i2", "<f4", ">f8", "c8", "c16", "S3", "V5", "M8[ns]", "i1,<f4")
TABLE = np.array([(4, 4), (2**64 - 1, 2**64 - 1), (2**64 - 1, 0), (0, 4)], np.uint64)


def crc32c(data: bytes) -> bytes:
    return int(library("google_crc32c", "crc32c").value(data)).to_bytes(4, "little")


def plain(shape: tuple[int, ...], itemsize: int = 1, swap: int = 1, fill: Any = None) -> Any:
    nbytes = itemsize * int(np.prod(shape))
    layout = shape, tuple(range(len(shape))), itemsize, (), swap, nbytes
    return core.Chunks(layout, None, KEYS, fill)


def put(chunks: Any, out: Any, coordinates: Any, values: Any, selection: Any = None) -> Any:
    chosen = whole(chunks, out.shape) if selection is None else selection
    return chunks.place(chosen, out, coordinates, values, 1, SCRATCH, lambda: None)


@st.composite
def cases(draw: st.DrawFn) -> tuple[Any, Any, tuple[int, ...], list[slice]]:
    """Zeros, a view of them under any strides, the shape of a chunk, and what is selected."""
    dtype = np.dtype(draw(st.sampled_from(TYPES)))
    ndim = draw(st.integers(1, 4))
    chunk = tuple(draw(st.integers(1, 4)) for _ in range(ndim))
    taken = [
        slice(draw(st.integers(0, 5)), draw(st.integers(6, 9)), draw(st.sampled_from([1, 1, 2, 5])))
        for _ in range(ndim)
    ]
    shape = [len(range(10)[index]) for index in taken]
    order = draw(st.permutations(range(ndim)))
    steps = [draw(st.sampled_from([1, 1, 2, -1, -3])) for _ in range(ndim)]
    wide = np.zeros([shape[axis] * abs(steps[axis]) for axis in order], dtype)
    out = wide.transpose(np.argsort(order))[tuple(slice(None, None, step) for step in steps)]
    assert out.shape == tuple(shape)
    return wide, out, chunk, taken


@given(cases(), st.data())
def test_chunks_land_where_numpy_puts_them(
    case: tuple[Any, Any, tuple[int, ...], list[slice]], data: st.DataObject
) -> None:
    wide, out, chunk, taken = case
    size = out.itemsize
    swap = data.draw(st.sampled_from([n for n in (1, 2, 3, 4, 8) if size % n == 0]))
    grid = [-(-10 // n) for n in chunk]
    shape = [n * m for n, m in zip(grid, chunk, strict=True)]
    count = int(np.prod(shape)) * size
    stored = (np.arange(count) * 7 % 251).astype("u1").reshape(*shape, size)
    swapped = stored.reshape(*shape, -1, swap)[..., ::-1].reshape(stored.shape)
    expected = np.ascontiguousarray(swapped).view(out.dtype)[..., 0][tuple(taken)]
    touched = [
        tuple(sorted({index // n for index in range(10)[some]}))
        for some, n in zip(taken, chunk, strict=True)
    ]
    coordinates = [tuple(row) for row in np.stack(np.meshgrid(*touched), -1).reshape(-1, len(grid))]
    chunks = plain(chunk, size, swap)
    runs = [
        (a, s.start, s.step, n, 0) for a, (s, n) in enumerate(zip(taken, out.shape, strict=True))
    ]
    selection = chunks.select(out.shape, runs, [])
    values = [
        stored[tuple(slice(c * n, c * n + n) for c, n in zip(at, chunk, strict=True))].tobytes()
        for at in coordinates
    ]
    half = len(coordinates) // 2
    assert put(chunks, out, coordinates[:half], values[:half], selection) == []
    assert put(chunks, out, coordinates[half:], values[half:], selection) == []
    assert out.tobytes() == expected.tobytes()
    made, left = chunks.encode(selection, out, coordinates, values, None, 1, SCRATCH, lambda: None)
    assert (made, left) == (values, [])
    # What is between the elements of the view is as it was.
    out[...] = np.zeros((), out.dtype)
    assert not any(wide.tobytes())


def test_what_is_not_exactly_a_chunk_is_left() -> None:
    out = np.full((4, 4), 9, "u1")
    coordinates = [(0, 0), (0, 1), (1, 0), (1, 1)]
    assert put(plain((2, 2)), out, coordinates, [b"abcd", b"abc", b"abcde", None]) == [1, 2, 3]
    assert out[:2, :2].tobytes() == b"abcd"
    assert (out[:2, 2:] == 9).all() and (out[2:] == 9).all()
    assert put(plain((2, 2), fill=b"7"), out, [(1, 1)], [None]) == []
    assert (out[2:, 2:] == ord("7")).all()


def sharded(checksum: bool = False) -> Any:
    return core.Chunks(((4,), (0,), 1, (), 1, 4), ((16,), False, checksum), KEYS, b"f")


def test_parts_of_a_shard() -> None:
    out = np.full(16, ord("."), "u1")
    assert put(sharded(), out, [(0,)], [(TABLE, [(0, b"abcdefgh")])]) == []
    assert out.tobytes() == b"efghffff....abcd"
    assert put(sharded(), out, [(0,)], [(TABLE, [(4, b"EFGH"), (0, b"ABCDE")])]) == []
    assert out.tobytes() == b"EFGHffff....ABCD"


@pytest.mark.parametrize(
    ("table", "ranges"),
    [
        (TABLE, []),
        (TABLE, [(0, b"abcdefg")]),
        (TABLE, [(1, b"bcdefgh")]),
        (TABLE, [(0, b"abcd"), (5, b"fgh")]),
        (TABLE[:3], [(0, b"abcdefgh")]),
        (np.array([(0, 5)] * 4, np.uint64), [(0, b"abcdefgh")]),
        (np.array([(2**63, 4)] * 4, np.uint64), [(0, b"abcdefgh")]),
        (np.array([(0, 2**63)] * 4, np.uint64), [(0, b"abcdefgh")]),
        (np.array([(0, 2**64 - 1)] * 4, np.uint64), [(0, b"abcdefgh")]),
        (np.array([(2**62, 4)] * 4, np.uint64), [(2**62 - 1, b"abcd")]),
    ],
)
def test_parts_that_are_not_there_are_left(table: Any, ranges: Any) -> None:
    out = np.zeros(16, "u1")
    assert put(sharded(), out, [(0,)], [(table, ranges)]) == [0]


def test_whole_shards() -> None:
    out = np.zeros(16, "u1")
    missing = bytes([255]) * 16
    index = b"".join(n.to_bytes(8, "little") for n in (0, 4)) + missing * 3
    for data, left in (
        (b"abcd" + index, []),
        (b"abcd" + (100).to_bytes(8, "little") + index[8:], [0]),
        (index[:-1], [0]),
        (b"", [0]),
    ):
        assert put(sharded(), out, [(0,)], [data]) == left
    assert put(sharded(True), out, [(0,)], [b"abcd" + index + crc32c(index)]) == []
    assert out.tobytes() == b"abcd" + b"f" * 12
    assert put(sharded(True), out, [(0,)], [b"abcd" + index + b"none"]) == [0]
    # A skipped entry is for the caller's own tables.
    skipped = missing[:8] + bytes(8)
    assert put(sharded(), out, [(0,)], [b"abcd" + index[:16] + skipped * 3]) == [0]


@pytest.mark.parametrize(
    ("coordinates", "values"),
    [
        ([(0, 0)], []),
        ([(0, 0), (0, 0)], [b"abcd", b"abcd"]),
        ([(2, 0)], [b"abcd"]),
        ([(0, 2**62)], [b"abcd"]),
        ([(0,)], [b"abcd"]),
        ([()], [b"abcd"]),
        ([(-1, 0)], [b"abcd"]),
        ([(0, 0)], ["abcd"]),
        ([(0, 0)], [np.zeros(8, "u1")[::2]]),
        ([(0, 0)], [(TABLE,)]),
        ([(0, 0)], [(TABLE, [b"abcd"])]),
        ([(0, 0)], [(TABLE, [(-1, b"abcd")])]),
        ([(0, 0)], [(None, [])]),
        (None, [b"abcd"]),
    ],
)
def test_wrong_arguments_raise_before_anything_is_written(coordinates: Any, values: Any) -> None:
    out, chunks = np.zeros((4, 4), "u1"), plain((2, 2))
    with pytest.raises((TypeError, ValueError, OverflowError)):
        put(chunks, out, coordinates, values)
    with pytest.raises((TypeError, ValueError, OverflowError)):
        chunks.encode(
            whole(chunks, (4, 4)), out, coordinates, values, b"xx", 1, SCRATCH, lambda: None
        )
    assert not out.any()


@pytest.mark.parametrize(
    "out",
    [
        None,
        np.zeros(4, "u1"),
        np.zeros((4, 5), "u1"),
        np.zeros((4, 4), "u2"),
        np.zeros((4, 4), "O"),
    ],
)
def test_arrays_that_are_not_of_the_selection(out: Any) -> None:
    chunks = plain((2, 2))
    selection = whole(chunks, (4, 4))
    with pytest.raises(TypeError):
        put(chunks, out, [(0, 0)], [b"abcd"], selection)


def test_a_selection_of_other_chunks() -> None:
    """Its places were compared with another shape of chunks."""
    own, other = plain((2, 2)), plain((4, 4))
    out = np.zeros((4, 4), "u1")
    with pytest.raises(TypeError):
        put(own, out, [(0, 0)], [b"abcd"], whole(other, (4, 4)))
    with pytest.raises(TypeError):
        own.encode(whole(other, (4, 4)), out, [(0, 0)], [None], None, 1, SCRATCH, lambda: None)
    assert not out.any()
    assert put(own, out, [(0, 0)], [b"abcd"], whole(plain((2, 2)), (4, 4))) == []


def test_a_shard_is_left_once() -> None:
    layout = (256,), (0,), 4, (), 1, 1024
    shards = core.Chunks(layout, ((64 * 256,), False, False), KEYS, None)
    table = np.array([(0, 1)] * 64, np.uint64)
    out = np.zeros(64 * 256, "<i4")
    selection = whole(shards, out.shape)
    arguments = [(0,)], [(table, [(0, b"x")])], 4, SCRATCH, lambda: None
    assert shards.place(selection, out, *arguments) == [0]


def test_selections_that_cannot_be() -> None:
    chunks = plain((2, 2))
    for shape, runs in (
        ((4,), [(0, 0, 1, 4, 0)]),
        ((4, 4), [(0, 0, 1, 4, 0)]),
        ((4, 4), [(0, 0, 1, 4, 0), (1, 0, 1, 5, 0)]),
        ((4, 4), [(0, 0, 1, 4, 0), (1, 0, 0, 4, 0)]),
        (None, []),
    ):
        with pytest.raises(TypeError):
            chunks.select(shape, runs, [])
    assert chunks.select((4, 4), [(0, 0, 1, 4, 0), (1, 2**63, 2**62, 4, 0)], []) is None
    selection = whole(chunks, (4, 4))
    with pytest.raises(TypeError):
        type(selection)()


def test_chunks_of_nothing_but_one_element_are_not_stored() -> None:
    chunks, array = plain((2, 2), fill=b"f"), np.full((4, 4), ord("f"), "u1")
    array[0, 0] = 1
    coordinates, selection = [(0, 0), (0, 1), (1, 0)], whole(chunks, (4, 4))
    made = chunks.encode(selection, array, coordinates, [None] * 3, b"f", 1, SCRATCH, lambda: None)
    assert made == ([b"\1fff", None, None], [])
    some = chunks.select((1, 1), [(0, 0, 1, 1, 0), (1, 0, 1, 1, 0)], [])
    for old, new in ((b"1234", b"f234"), (b"1fff", None), (None, None)):
        found = chunks.encode(
            some, array[1:2, 1:2], [(0, 0)], [old], b"f", 1, SCRATCH, lambda: None
        )
        assert found == ([new], [])
    for old in (b"123", b"12345", (TABLE, [])):
        found = chunks.encode(
            some, array[1:2, 1:2], [(0, 0)], [old], b"f", 1, SCRATCH, lambda: None
        )
        assert found == ([None], [0])


@given(st.binary(max_size=70), st.booleans())
def test_checksums(content: bytes, at_start: bool) -> None:
    size = len(content) + 1
    content += b"x"
    good = crc32c(content) + content if at_start else content + crc32c(content)
    out = np.zeros(size, "u1")

    def taken(data: bytes, *steps: Any) -> bool:
        return place(((size,), (0,), 1, steps, 1, 99), data, out)

    step = ("crc32c", at_start, size + 4, size + 4)
    assert taken(good, step)
    assert out.tobytes() == content
    for number in range(len(good)):
        bad = bytearray(good)
        bad[number] ^= 0x40
        assert not taken(bytes(bad), step)
    for short in (good[:-1], good + b"\0", b"", good[:3]):
        assert not taken(short, ("crc32c", at_start, 4, 90))
    assert taken(good + crc32c(good), ("crc32c", False, 4, 90), step)


@pytest.mark.parametrize("start", [0, 1, 5])
def test_checksums_of_many_bytes(start: int) -> None:
    """Long runs are summed in parts."""
    content = np.random.default_rng(0).integers(0, 256, 5000, np.uint8).tobytes()[start:]
    for size in (255, 256, 767, 768, 769, 776, 1535, 1536, 1543, 2304, 4096, len(content)):
        data = content[:size]
        steps = (("crc32c", False, size + 4, size + 4),)
        assert encode_bytes(data, steps) == data + crc32c(data)


def test_threads_fill_one_array() -> None:
    chain = make(["zstd"], (32, 32), "<f4")
    assert chain.layout is not None
    values = np.random.default_rng(0).normal(size=(512, 512)).round(1).astype("<f4")
    out = np.zeros_like(values)
    chunks = core.Chunks(tuple(chain.layout), None, KEYS, None)
    selection = whole(chunks, out.shape)
    faults: list[BaseException] = []

    def work(number: int) -> None:
        try:
            places = [(y, x) for y in range(number * 4, number * 4 + 4) for x in range(16)]
            data: list[Any] = [
                chain.encode(values[y * 32 : y * 32 + 32, x * 32 : x * 32 + 32]) for y, x in places
            ]
            for workers in (1, 2, None) * 7:
                arguments = selection, out, places, data, workers, SCRATCH, lambda: None
                assert chunks.place(*arguments) == []
        except BaseException as fault:
            faults.append(fault)

    threads = [Thread(target=work, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert faults == []
    assert (out == values).all()


def test_an_error_of_the_check_ends_the_call() -> None:
    def check() -> None:
        raise RuntimeError("enough")

    chain = make(["zstd"], (1 << 20,), "<f4")
    assert chain.layout is not None
    values = np.random.default_rng(0).normal(size=1 << 20).astype("<f4")
    chunks = core.Chunks(tuple(chain.layout), None, KEYS, None)
    out = np.empty(64 << 20, "<f4")
    data = [chain.encode(values)] * 64
    with pytest.raises(RuntimeError, match="enough"):
        chunks.place(
            whole(chunks, out.shape), out, [(n,) for n in range(64)], data, 1, SCRATCH, check
        )
