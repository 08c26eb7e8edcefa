"""Document 004's chunks as a codec has them: layout, byte order, what is refused, what it costs."""

from __future__ import annotations

import bz2
import lzma
import tracemalloc
import zlib
from collections.abc import Callable, Iterator
from functools import cache
from typing import Any

import numcodecs
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hn

from omnizarr import limits
from omnizarr.codecs import Chain, chain, codec_spec, offsets
from omnizarr.errors import DecodeError, EncodeError, LimitError, MetadataError, ZarrError
from omnizarr.model.column import TEXT, Column
from omnizarr.model.dtypes import ArrowBinary, ArrowString, Bytes, DataType
from tests.codecs import text_layouts
from tests.codecs.support import BIG, LITTLE, sharding, v3
from tests.model import columns
from tests.model.columns import objects

KINDS: dict[str, DataType] = {
    "string": ArrowString(),
    "LargeString": ArrowString(large=True),
    "binary": ArrowBinary(),
    "LargeBinary": ArrowBinary(large=True),
}
MIB = 1 << 20


@pytest.fixture(scope="module", params=columns.MODES, autouse=True)
def mode(request: pytest.FixtureRequest) -> Iterator[str]:
    with columns.mode(request.param):
        yield request.param


def width_of(kind: str) -> int:
    return 8 if kind.startswith("Large") else 4


def is_text(kind: str) -> bool:
    return "tring" in kind


def make(kind: str, shape: tuple[int, ...], *codecs: Any, objects: bool = False) -> Chain:
    data_type = KINDS[kind]
    if objects and isinstance(data_type, ArrowString):
        data_type = data_type.as_objects()
    return chain([codec_spec(codec) for codec in codecs], shape, data_type, data_type.zero)


def decoders(made: Chain) -> list[Callable[[Any], list[Any]]]:
    """Every way to decode a chunk, as flat lists."""

    def into(data: Any) -> list[Any]:
        out = np.full(made.shape, "old", made.dtype)
        try:
            made.decode_into(data, out)
        except ZarrError:
            assert out.reshape(-1).tolist() == ["old"] * out.size
            raise
        return out.reshape(-1).tolist()

    def into_strided(data: Any) -> list[Any]:
        out = np.full(made.shape[::-1], "old", made.dtype).T
        made.decode_into(data, out)
        return out.reshape(-1).tolist()

    return [
        lambda data: made.decode(data).reshape(-1).tolist(),
        lambda data: made.decode_column(data).numpy().reshape(-1).tolist(),
        into,
        into_strided,
    ]


@st.composite
def cases(draw: Any) -> tuple[str, tuple[int, ...], list[Any]]:
    kind = draw(st.sampled_from(list(KINDS)))
    shape = draw(hn.array_shapes(min_dims=0, max_dims=3, min_side=0, max_side=4))
    size = int(np.prod(shape))
    elements = columns.TEXT if is_text(kind) else columns.BINARY
    return kind, shape, draw(st.lists(elements, min_size=size, max_size=size))


def encoded(items: list[Any]) -> list[bytes]:
    return [item.encode() if isinstance(item, str) else item for item in items]


# -- layout -------------------------------------------------------------------------------------


@given(cases(), st.sampled_from(["little", "big"]))
def test_the_layout(
    case: tuple[str, tuple[int, ...], list[Any]], order: text_layouts.Order
) -> None:
    kind, shape, items = case
    expected = text_layouts.write_offsets(encoded(items), width_of(kind), order)
    array = objects(items, shape)
    for as_objects in (False, True):
        made = make(kind, shape, BIG if order == "big" else LITTLE, objects=as_objects)
        assert bytes(made.encode(array)) == expected
        assert bytes(made.encode(array.copy("F"))) == expected
        assert bytes(made.encode(Column.of(array, is_text(kind)))) == expected
        if is_text(kind):
            assert bytes(made.encode(array.astype(TEXT))) == expected
        for decode in decoders(made):
            assert decode(expected) == items


@pytest.mark.parametrize("width", [4, 8])
def test_data_begin_at_a_multiple_of_64(width: int) -> None:
    for count in range(200):
        assert offsets.data_start(count, width) == text_layouts.data_start(count, width)
    assert [offsets.data_start(n, 4) for n in (0, 15, 16, 31, 32)] == [64, 64, 128, 128, 192]
    assert [offsets.data_start(n, 8) for n in (0, 7, 8, 15, 16)] == [64, 64, 128, 128, 192]


@pytest.mark.parametrize("kind", KINDS)
def test_without_a_byte_order_it_is_little(kind: str) -> None:
    items = objects(["a", "bc"] if is_text(kind) else [b"a", b"bc"])
    expected = bytes(make(kind, (2,), LITTLE).encode(items))
    for codecs in ([], ["bytes"], [v3("endian", endian="little")]):
        assert bytes(make(kind, (2,), *codecs).encode(items)) == expected


@given(cases())
def test_a_column_is_two_views_of_the_chunk(case: tuple[str, tuple[int, ...], list[Any]]) -> None:
    kind, shape, items = case
    chunk = text_layouts.write_offsets(encoded(items), width_of(kind))
    memory = np.frombuffer(chunk, np.uint8)
    column = make(kind, shape, LITTLE).decode_column(chunk)
    assert np.shares_memory(column.offsets, memory)
    assert not column.data.size or np.shares_memory(column.data, memory)
    assert column.offsets.dtype == np.dtype(f"i{width_of(kind)}")


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("shift", range(9))
def test_offsets_are_aligned_wherever_the_chunk_lies(kind: str, shift: int) -> None:
    """In a shard a chunk may begin at any byte. Arrow wants its offsets aligned."""
    chunk = text_layouts.write_offsets([b"a", b"bc", b""], width_of(kind))
    moved = memoryview(bytearray(shift) + chunk)[shift:]
    column = make(kind, (3,), LITTLE).decode_column(moved)
    assert column.offsets.flags.aligned
    assert column.offsets.tolist() == [0, 1, 3, 3]
    assert np.shares_memory(column.data, np.frombuffer(moved, np.uint8))


@pytest.mark.slow
@given(cases(), st.sampled_from(["gzip", "zstd", "blosc", "shards", "transpose", "nested"]))
def test_behind_and_inside_other_codecs(
    case: tuple[str, tuple[int, ...], list[Any]], around: str
) -> None:
    kind, shape, items = case
    ones = [1] * len(shape)
    order = v3("transpose", order=list(range(len(shape)))[::-1])
    codecs: dict[str, list[Any]] = {
        "gzip": [LITTLE, v3("gzip", level=1)],
        "zstd": [LITTLE, v3("zstd", level=3, checksum=True), "crc32c"],
        "blosc": [BIG, v3("blosc", cname="lz4", clevel=5, shuffle="shuffle", typesize=4)],
        "shards": [sharding(ones, [LITTLE, "zstd"])],
        "transpose": [order, LITTLE],
        "nested": [sharding(list(shape), [sharding(ones)]), v3("gzip", level=1)],
    }
    if 0 in shape and around in ("shards", "nested"):
        return
    for as_objects in (False, True):
        made = make(kind, shape, *codecs[around], objects=as_objects)
        array = objects(items, shape)
        chunk = made.encode(array)
        assert bytes(made.encode(Column.of(array, is_text(kind)))) == bytes(chunk)
        for decode in decoders(made):
            assert decode(chunk) == items


# -- what is accepted beside what is written ----------------------------------------------------


@pytest.mark.parametrize("kind", KINDS)
def test_other_writers(kind: str) -> None:
    """Arrow's own arrays: data padded at the end, offsets that begin later, nothing to pad."""
    width, made = width_of(kind), make(kind, (2,), LITTLE)
    values = ["ab", "c"] if is_text(kind) else [b"ab", b"c"]
    chunk = text_layouts.write_offsets([b"ab", b"c"], width)
    later = b"".join(n.to_bytes(width, "little") for n in (2, 4, 5)).ljust(64, b"\0") + b"??abc"
    for accepted in (chunk + b"\0", chunk + bytes(61), chunk + bytes(63), later, bytearray(chunk)):
        for decode in decoders(made):
            assert decode(accepted) == values
    nothing = make(kind, (2,), LITTLE)
    for accepted in (bytes(3 * width), bytes(64), bytes(127)):
        for decode in decoders(nothing):
            assert decode(accepted) == [values[0][:0]] * 2


# -- what is refused ----------------------------------------------------------------------------

FOUR = [b"ab", "é".encode(), b"", b"xyz"]  # offsets 0 2 4 4 7


def spliced(kind: str, place: int, value: int) -> bytes:
    """A chunk with one offset changed."""
    width = width_of(kind)
    chunk = bytearray(text_layouts.write_offsets(FOUR, width))
    chunk[place * width : (place + 1) * width] = value.to_bytes(width, "little", signed=True)
    return bytes(chunk)


OFFSETS: list[tuple[int, int, str]] = [
    (0, -1, "offset 0 is -1, expected 0 … 7"),
    (0, 3, "offset 1 is 2, expected 3 … 7"),
    (1, -(2**31), "offset 1 is -2147483648, expected 0 … 7"),
    (1, 5, "offset 2 is 4, expected 5 … 7"),
    (2, 1, "offset 2 is 1, expected 2 … 7"),
    (3, 2**31 - 1, "offset 3 is 2147483647, expected 4 … 7"),
    (4, 8, "offset 4 is 8, expected 4 … 7"),
    (4, 3, "offset 4 is 3, expected 4 … 7"),
    (4, 6, "1 bytes follow the last element"),
]


def refusals(made: Chain, chunk: bytes) -> set[str]:
    found = set()
    for decode in decoders(made):
        with pytest.raises(DecodeError) as caught:
            decode(chunk)
        found.add(str(caught.value))
    return found


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("place", "value", "fault"), OFFSETS)
def test_offsets_that_do_not_fit(kind: str, place: int, value: int, fault: str) -> None:
    found = refusals(make(kind, (4,), LITTLE), spliced(kind, place, value))
    assert found == {f"data type {kind!r}: {fault}"}


@pytest.mark.parametrize("kind", ["LargeString", "LargeBinary"])
@pytest.mark.parametrize("value", [2**32, 2**63 - 1, -(2**63), 2**32 + 2])
def test_offsets_beyond_32_bits(kind: str, value: int) -> None:
    found = refusals(make(kind, (4,), LITTLE), spliced(kind, 1, value))
    assert found == {f"data type {kind!r}: offset 1 is {value}, expected 0 … 7"}


@pytest.mark.parametrize("kind", KINDS)
def test_an_offset_that_cuts_a_character(kind: str) -> None:
    made, chunk = make(kind, (4,), LITTLE), spliced(kind, 1, 3)
    if is_text(kind):
        assert refusals(made, chunk) == {f"data type {kind!r}: item 0 is not UTF-8"}
    else:
        assert made.decode(chunk).tolist() == [b"ab\xc3", b"\xa9", b"", b"xyz"]


@pytest.mark.parametrize("wrong", [b"\xff", b"\xc3", b"\xa9", b"\xed\xa0\x80", b"\xc0\x80"])
@pytest.mark.parametrize("kind", KINDS)
def test_elements_that_are_not_utf_8(kind: str, wrong: bytes) -> None:
    chunk = text_layouts.write_offsets([b"ok", wrong, b"\xa9"], width_of(kind))
    if is_text(kind):
        found = refusals(make(kind, (3,), LITTLE), chunk)
        assert found == {f"data type {kind!r}: item 1 is not UTF-8"}
    else:
        assert make(kind, (3,), LITTLE).decode(chunk).tolist() == [b"ok", wrong, b"\xa9"]


@pytest.mark.parametrize("kind", KINDS)
def test_wrong_sizes(kind: str) -> None:
    made, chunk = make(kind, (4,), LITTLE), spliced(kind, 0, 0)
    end = 5 * width_of(kind)
    for size in range(64):
        if size == end:  # offsets without padding or data: they promise data
            found = refusals(made, chunk[:size])
            assert found == {f"data type {kind!r}: offset 1 is 2, expected 0 … 0"}
            continue
        assert refusals(made, chunk[:size]) == {
            f"data type {kind!r}: a chunk of shape (4,) has 64 bytes of offsets and padding, found"
            f" {size}"
        }
    for size in range(64, 71):
        assert all("offset" in text for text in refusals(made, chunk[:size]))
    for tail in (b"x", b"\0\0x", bytes(64), bytes(1000)):
        found = refusals(made, chunk + tail)
        assert found == {f"data type {kind!r}: {len(tail)} bytes follow the last element"}


@pytest.mark.parametrize("kind", KINDS)
def test_padding_that_is_not_zero(kind: str) -> None:
    chunk = spliced(kind, 0, 0)
    for place in range(5 * width_of(kind), 64):
        wrong = chunk[:place] + b"\x01" + chunk[place + 1 :]
        found = refusals(make(kind, (4,), LITTLE), wrong)
        assert found == {f"data type {kind!r}: the bytes between offsets and data are not zero"}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("wrong", [None, 1, float("nan"), ["x"]])
def test_values_that_are_neither_text_nor_bytes(kind: str, wrong: Any) -> None:
    made = make(kind, (2,), LITTLE, objects=True)
    good = "a" if is_text(kind) else b"a"
    with pytest.raises(EncodeError, match=rf"{kind}.*item 1 is {type(wrong).__name__}"):
        made.encode(objects([good, wrong]))


def test_other_types_still_have_no_fixed_size() -> None:
    with pytest.raises(MetadataError, match="vlen-bytes for bytes"):
        chain([codec_spec(LITTLE)], (2,), Bytes(), b"")


# -- large data ---------------------------------------------------------------------------------


def promised(nbytes: int, text: bool) -> Column:
    """A column of so many bytes that takes no memory: its data are one byte, again and again."""
    data = np.broadcast_to(np.uint8(97), (nbytes,))
    return Column(np.array([0, nbytes // 2, nbytes]), data, (2,), text)


@pytest.mark.parametrize(
    ("kind", "large"), [("string", "arrow-large-string"), ("binary", "arrow-large-binary")]
)
@pytest.mark.parametrize("nbytes", [2**31, 2**31 + 5, 2**40])
def test_data_of_2_gib_ask_for_the_large_type(kind: str, large: str, nbytes: int) -> None:
    with pytest.raises(EncodeError, match=rf"{nbytes} bytes .* dtype='{large}'"):
        make(kind, (2,), LITTLE).encode(promised(nbytes, is_text(kind)))


def test_offsets_count_what_is_written() -> None:
    """A small piece of large data has small offsets, wherever it begins."""
    data = np.broadcast_to(np.uint8(97), (2**40,))
    piece = Column(np.array([2**39, 2**39 + 2, 2**39 + 3]), data, (2,), True)
    for kind in ("string", "binary"):
        chunk = bytes(make(kind, (2,), LITTLE).encode(piece))
        assert chunk == text_layouts.write_offsets([b"aa", b"a"], 4)


BOMBS: dict[str, tuple[Any, Callable[[bytes], bytes]]] = {
    "zstd": ("zstd", lambda data: numcodecs.Zstd(1).encode(data)),
    "gzip": (v3("gzip", level=1), lambda data: numcodecs.GZip(1).encode(data)),
    "blosc": (
        v3("blosc", cname="lz4", clevel=5, shuffle="noshuffle", typesize=1),
        lambda data: numcodecs.Blosc("lz4", shuffle=0).encode(data),
    ),
    "zlib": ({"id": "zlib", "level": 1}, zlib.compress),
    "bz2": ({"id": "bz2", "level": 1}, bz2.compress),
    "lzma": ({"id": "lzma", "preset": 1}, lambda data: lzma.compress(data, preset=1)),
    "lz4": ({"id": "lz4", "acceleration": 1}, lambda data: numcodecs.LZ4().encode(data)),
}


@cache
def bomb_of(name: str, kind: str) -> bytes:
    size = 8 * MIB
    bomb = BOMBS[name][1](text_layouts.write_offsets([b"a" * size, b"b"], width_of(kind)))
    assert len(bomb) < size // 50
    return bomb


@pytest.mark.parametrize("name", BOMBS)
@pytest.mark.parametrize("kind", ["string", "LargeBinary"])
@pytest.mark.parametrize("sharded", [False, True])
def test_a_small_chunk_that_grows_is_stopped(name: str, kind: str, sharded: bool) -> None:
    codec, compress = BOMBS[name]
    bomb = bomb_of(name, kind)
    with limits.override(max_expansion=MIB):
        inner = make(kind, (2,), LITTLE, codec)
        made = make(kind, (2,), sharding([2], [LITTLE, codec])) if sharded else inner
        assert made.shard is not None or not sharded
    if sharded:
        assert made.shard is not None
        bomb = bytes(made.shard.assemble({(0,): bomb}))
    for decode in decoders(made):
        tracemalloc.start()
        with pytest.raises((LimitError, DecodeError)):
            decode(bomb)
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        assert peak < 4 * MIB
    honest = text_layouts.write_offsets([b"a" * (MIB // 2), b"b"], width_of(kind))
    for decode in decoders(inner):
        assert len(decode(compress(honest))[0]) == MIB // 2
