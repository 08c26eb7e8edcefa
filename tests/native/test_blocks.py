"""`blocks_decode` against NumPy: every kind of array, place and damage; nothing else is touched."""

from __future__ import annotations

from threading import Thread
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from omnizarr.codecs.loader import library
from tests.codecs.support import make
from tests.model.columns import mode
from tests.native.installed import needed

core = needed()

TYPES = ("u1", "bool", "<i2", ">i2", "<f4", ">f8", "c8", "c16", "S3", "V5", "M8[ns]", "i1,<f4")


def crc32c(data: bytes) -> bytes:
    return int(library("google_crc32c", "crc32c").value(data)).to_bytes(4, "little")


def call(data: Any, places: Any, starts: Any, shape: Any, out: Any, **more: Any) -> list[int]:
    steps, swap = more.get("codecs", ()), more.get("swap", 1)
    rows = None if places is None else np.array(places, np.int64).reshape(-1)
    begins = np.array(starts, np.int64).reshape(-1)
    return core.blocks_decode(data, rows, begins, shape, steps, swap, out)  # type: ignore[no-any-return]


@st.composite
def arrays(draw: st.DrawFn) -> tuple[Any, Any, tuple[int, ...], list[tuple[int, ...]]]:
    """Zeros, a view of them under any strides, the shape of a block, and places for blocks."""
    dtype = np.dtype(draw(st.sampled_from(TYPES)))
    ndim = draw(st.integers(0, 4))
    shape = tuple(draw(st.integers(1, 5)) for _ in range(ndim))
    block = tuple(draw(st.integers(1, length)) for length in shape)
    order = draw(st.permutations(range(ndim)))
    steps = [draw(st.sampled_from([1, 1, 2, -1, -3])) for _ in range(ndim)]
    wide = np.zeros([shape[axis] * abs(steps[axis]) for axis in order], dtype)
    out = wide.transpose(np.argsort(order)) if ndim else wide
    out = out[(..., *(slice(None, None, step) for step in steps))]
    assert out.shape == shape
    places = st.tuples(*(st.integers(0, n - m) for n, m in zip(shape, block, strict=True)))
    return wide, out, block, draw(st.lists(places, min_size=1, max_size=4))


@given(arrays(), st.booleans(), st.data())
def test_blocks_land_where_numpy_puts_them(
    case: tuple[Any, Any, tuple[int, ...], list[tuple[int, ...]]],
    apart: bool,
    data: st.DataObject,
) -> None:
    wide, out, block, starts = case
    nbytes = out.itemsize * int(np.prod(block))
    width = data.draw(st.sampled_from([n for n in (1, 2, 3, 4, 8) if nbytes % n == 0]))
    contents = [bytes((7 * i + k) % 251 for i in range(nbytes)) for k in range(len(starts))]
    reference = out.copy()
    for start, content in zip(starts, contents, strict=True):
        swapped = np.frombuffer(content, "u1").reshape(-1, width)[:, ::-1].tobytes()
        place = (..., *(slice(s, s + n) for s, n in zip(start, block, strict=True)))
        reference[place] = np.frombuffer(swapped, out.dtype).reshape(block)
    if apart:
        left = call(contents, None, starts, block, out, swap=width)
    else:
        places = [(3 + k * nbytes, nbytes) for k in range(len(starts))]
        left = call(b"pad" + b"".join(contents) + b"pad", places, starts, block, out, swap=width)
    assert left == []
    assert out.tobytes() == reference.tobytes()
    # What is between the elements of the view is as it was.
    out[...] = np.zeros((), out.dtype)
    assert not any(wide.tobytes())


def test_what_is_not_exactly_a_block_is_left() -> None:
    out = np.full((4, 4), 9, "u1")
    pieces = [b"abcd", b"abc", b"abcde", b"", b"efgh"]
    starts = [(0, 0), (0, 2), (2, 0), (2, 2), (2, 2)]
    assert call(pieces, None, starts, (2, 2), out) == [1, 2, 3]
    assert out[:2, :2].tobytes() == b"abcd" and out[2:, 2:].tobytes() == b"efgh"
    assert (out[:2, 2:] == 9).all() and (out[2:, :2] == 9).all()


@pytest.mark.parametrize(
    "place", [(5, 4), (9, 4), (2**62, 4), (0, 2**62), (-4, 4), (0, -4), (8, 0)]
)
def test_places_beyond_the_bytes_are_left(place: tuple[int, int]) -> None:
    out = np.zeros(8, "u1")
    assert call(b"abcdefgh", [(4, 4), place], [0, 4], (4,), out) == [1]
    assert out.tobytes() == b"efgh\0\0\0\0"


@pytest.mark.parametrize("start", [(-1, 0), (0, -1), (3, 0), (0, 3), (2**62, 0), (2**63 - 1, 0)])
def test_a_block_outside_the_array_raises_before_anything_is_written(start: Any) -> None:
    out = np.zeros((4, 4), "u1")
    with pytest.raises(TypeError, match="starts is that of block 1 outside out"):
        call([b"abcd", b"abcd"], None, [(0, 0), start], (2, 2), out)
    assert not out.any()


def test_overlapping_places_and_blocks_are_allowed() -> None:
    out = np.zeros(6, "u1")
    assert call(b"abcdef", [(0, 4), (1, 4), (1, 4)], [0, 0, 2], (4,), out) == []
    assert out.tobytes() == b"bcbcde"


@given(st.binary(max_size=70), st.booleans())
def test_checksums(content: bytes, at_start: bool) -> None:
    size = len(content) + 1
    content += b"x"
    good = crc32c(content) + content if at_start else content + crc32c(content)
    steps = (("crc32c", at_start, size + 4, size + 4),)
    out = np.zeros(size, "u1")
    assert call([good], None, [0], (size,), out, codecs=steps) == []
    assert out.tobytes() == content
    for place in range(len(good)):
        bad = bytearray(good)
        bad[place] ^= 0x40
        assert call([bytes(bad)], None, [0], (size,), out, codecs=steps) == [0]
    for bad in (good[:-1], good + b"\0", b"", good[:3]):
        assert call([bad], None, [0], (size,), out, codecs=(("crc32c", at_start, 4, 90),)) == [0]
    twice = good + crc32c(good)
    steps = (("crc32c", False, 4, 90), *steps)
    assert call([twice], None, [0], (size,), out, codecs=steps) == []


@pytest.mark.parametrize("start", [0, 1, 5])
def test_checksums_of_many_bytes(start: int) -> None:
    """Long runs are summed in parts."""
    content = np.random.default_rng(0).integers(0, 256, 5000, np.uint8).tobytes()[start:]
    for size in (255, 256, 767, 768, 769, 776, 1535, 1536, 1543, 2304, 4096, len(content)):
        data = content[:size]
        steps = (("crc32c", False, size + 4, size + 4),)
        assert core.block_encode(data, steps) == data + crc32c(data)


def test_threads_fill_one_array() -> None:
    chain = make(["zstd"], (32, 32), "<f4")
    values = np.random.default_rng(0).normal(size=(512, 512)).round(1).astype("<f4")
    out = np.zeros_like(values)
    faults: list[BaseException] = []

    def work(number: int) -> None:
        try:
            rows = slice(number * 128, (number + 1) * 128)
            starts = [(y, x) for y in range(rows.start, rows.stop, 32) for x in range(0, 512, 32)]
            data: list[Any] = [chain.encode(values[y : y + 32, x : x + 32]) for y, x in starts]
            for _ in range(20):
                assert chain.blocks is not None
                assert chain.blocks.decode(data, None, np.array(starts), out) == []
        except BaseException as fault:
            faults.append(fault)

    with mode("native"):
        assert chain.blocks is not None and chain.blocks.fit(out)
        threads = [Thread(target=work, args=(number,)) for number in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert faults == []
    assert (out == values).all()
