"""Chunks of stores that are not files, many in one native call: the same values, and the same
errors, as one by one."""

from __future__ import annotations

import gzip
import random
import signal
import threading
import time
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import omnizarr
from omnizarr.config import config
from omnizarr.engine.native_plans import Ranges, Selected
from omnizarr.errors import ChunkNotFoundError, DecodeError
from omnizarr.model.store import Capabilities
from omnizarr.runtime import parallel
from omnizarr.stores import MemoryStore
from tests.codecs.mutation_worker import mutate
from tests.codecs.support import BIG, LITTLE, v3
from tests.engine.native_cases import CODECS, SHAPE, TYPES, slices, values
from tests.model.columns import mode, outcome
from tests.native.installed import needed

needed()


def stored(dtype: str, codecs: list[Any], shards: bool, index: str = "end") -> Any:
    chunks, store = (5, 4), MemoryStore()
    if shards:
        inner = v3("sharding_indexed", chunk_shape=chunks, codecs=codecs, index_location=index,
                   index_codecs=[LITTLE, "crc32c"])  # fmt: skip
        chunks, codecs = (10, 20), [inner]
    data = values(dtype)
    fill = np.zeros((), data.dtype)[()]
    array = omnizarr.create_array(store, shape=SHAPE, dtype=data.dtype, chunks=chunks,
                                  codecs=codecs, fill_value=fill)  # fmt: skip
    array[...] = data
    return array


@pytest.fixture
def counted(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[int]]:
    """How many chunks or shards the core was given to decode, and how many of them it left."""
    counts = [0, 0]
    place = Selected.place

    def counting(self: Selected, parts: Any, values: Any) -> list[int]:
        left = place(self, parts, values)
        with lock:
            counts[0] += len(parts)
            counts[1] += len(left)
        return left

    lock = threading.Lock()
    monkeypatch.setattr(Selected, "place", counting)
    yield counts


@pytest.mark.slow
@given(
    st.sampled_from(TYPES),
    st.sampled_from(sorted(CODECS)),
    st.sampled_from(["chunks", "start", "end"]),
    st.lists(st.tuples(slices(SHAPE[0]), slices(SHAPE[1])), min_size=1, max_size=4),
    st.sets(st.tuples(st.integers(0, 5), st.integers(0, 10)), max_size=5),
    st.sampled_from([1, 2]),
    st.booleans(),
)
def test_values_are_numpys_either_way(
    dtype: str, name: str, layout: str, selections: Any, missing: Any, workers: int, far: bool
) -> None:
    array = stored(dtype, CODECS[name], layout != "chunks", layout)
    expected = values(dtype)
    for row, column in missing:
        place = slice(5 * row, 5 * row + 5), slice(4 * column, 4 * column + 4)
        array[place] = expected[place] = expected.dtype.type()
    if far:
        array.store.capabilities = Capabilities(requests=4)
    with config.set({"threads": workers}):
        for selection in selections:
            wanted = expected[selection[0]][..., selection[1]]
            for name in ("native", "python"):
                with mode(name):
                    np.testing.assert_array_equal(array.oindex[selection], wanted)


@pytest.mark.parametrize("shards", [True, False])
@pytest.mark.parametrize("name", CODECS)
def test_the_core_is_asked_where_it_can(name: str, shards: bool, counted: list[int]) -> None:
    array = stored("float32", CODECS[name], shards)
    with mode("native"):
        np.testing.assert_array_equal(array[...], values("float32"))
    assert counted == ([0, 0] if name in ("bz2", "two") else [9 if shards else 6 * 11, 0])


@pytest.mark.parametrize("shards", [True, False])
def test_filters_of_numbers(shards: bool, counted: list[int]) -> None:
    """Of integers and floats in the machine's byte order; others are decoded in Python."""
    turned, some = v3("transpose", order=[1, 0]), v3("numcodecs.bitround", keepbits=20)
    delta = v3("numcodecs.delta", dtype="<i4")
    for dtype, codecs in (
        ("int32", [delta, LITTLE, "zstd"]),
        ("int32", [turned, delta, LITTLE]),
        ("float32", [turned, some, LITTLE, "crc32c"]),
        ("int32", [some | {"name": "bitround"}, delta, LITTLE]),
    ):
        for way in ("native", "python"):
            with mode(way):
                np.testing.assert_array_equal(stored(dtype, codecs, shards)[...], values(dtype))
    assert counted == [4 * (9 if shards else 6 * 11), 0]
    for dtype, codecs in (
        ("int32", [delta, BIG]),
        ("int32", [delta, turned, LITTLE]),
        ("float32", [v3("numcodecs.delta", dtype="<f4"), LITTLE]),
        ("int16", [v3("numcodecs.delta", dtype="<i2", astype="<i4"), LITTLE]),
    ):
        with mode("native"):
            np.testing.assert_array_equal(stored(dtype, codecs, shards)[...], values(dtype))
    assert counted == [4 * (9 if shards else 6 * 11), 0]


@pytest.mark.parametrize("far", [False, True])
def test_parts_of_shards(far: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """Boxes, steps, points; stored and missing inner chunks; one call for each merged range."""
    array, expected = stored("float32", CODECS["fast"], True), values("float32")
    array[10:15, 20:24] = expected[10:15, 20:24] = 0
    if far:
        array.store.capabilities = Capabilities(requests=4, gap=0)
    given: list[int] = []
    place = Selected.place

    def noting(self: Selected, parts: Any, values: Any) -> list[int]:
        given.extend(isinstance(value, Ranges) for value in values)
        left = place(self, parts, values)
        assert left == []
        return left

    monkeypatch.setattr(Selected, "place", noting)
    random_ = np.random.default_rng(0)
    rows, columns = random_.integers(0, 30, 50), random_.integers(0, 44, 50)
    with mode("native"):
        for selection in (
            np.s_[3:29, 2:41],
            np.s_[11:12, 21:23],
            np.s_[::7, ::9],
            np.s_[29, :],
            np.s_[4:26:3, 5],
        ):
            np.testing.assert_array_equal(array[selection], expected[selection])
        np.testing.assert_array_equal(array.vindex[rows, columns], expected[rows, columns])
        found = array.oindex[rows, columns[:7]]
        np.testing.assert_array_equal(found, expected[np.ix_(rows, columns[:7])])
    assert sum(given) > 20


@pytest.mark.parametrize("shards", [True, False])
@pytest.mark.parametrize("far", [False, True])
@pytest.mark.parametrize("name", ["raw", "fast", "big zstd", "transpose", "shuffles"])
def test_writes(name: str, far: bool, shards: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whole chunks and parts of them, chunks of nothing but the fill value, another type."""
    encode, counts = Selected.encode, [0, 0]

    def counting(self: Selected, parts: Any, old: Any) -> Any:
        made, left = encode(self, parts, old)
        with lock:
            counts[0] += len(parts)
            counts[1] += len(left)
        return made, left

    lock = threading.Lock()
    monkeypatch.setattr(Selected, "encode", counting)
    contents = []
    for way in ("native", "python"):
        with mode(way):
            array, expected = stored("float32", CODECS[name], shards), values("float32")
            if far:
                array.store.capabilities = Capabilities(requests=4)
            for selection, value in (
                (np.s_[3:29, 2:41], 7),
                (np.s_[::7, ::9], np.float64(0.5)),
                (np.s_[10:20, 20:40], 0),
                (np.s_[0:5, 0:4], 0),
                (np.s_[:, 40:], np.arange(4, dtype="i8")),
                (np.s_[29, 43], 1),
            ):
                array[selection] = expected[selection] = value
                np.testing.assert_array_equal(array[...], expected)
            contents.append({key for key in array.store.list() if not key.endswith("json")})
    assert contents[0] == contents[1]
    # Shards that become empty are left to Python.
    assert counts[0] > 20 and counts[1] <= (1 if shards else 0)


@pytest.mark.parametrize("shards", [True, False])
def test_types_that_need_more_than_their_bytes(shards: bool, counted: list[int]) -> None:
    with mode("native"):
        np.testing.assert_array_equal(stored("U2", CODECS["zstd"], shards)[...], values("U2"))
        texts = np.array(["a", "bc", "", "d" * 40] * 8, object).reshape(4, 8)
        array = omnizarr.create_array(MemoryStore(), data=texts, chunks=(1, 2), dtype="string")
        assert array[...].tolist() == texts.tolist()
        padded = np.dtype({"names": ["a", "b"], "formats": ["u1", "<f8"], "offsets": [0, 8]})
        records = np.zeros((6, 6), padded)
        records["b"] = np.arange(36).reshape(6, 6)
        array = omnizarr.create_array(MemoryStore(), data=records, chunks=(2, 2), zarr_format=2)
        np.testing.assert_array_equal(array[...], records)
    assert counted == [0, 0]


def test_without_dimensions(counted: list[int]) -> None:
    with mode("native"):
        array = omnizarr.create_array(MemoryStore(), shape=(), dtype="f4", codecs=CODECS["zstd"])
        assert array[...] == 0
        array[...] = 7
        assert array[...] == 7 == array[()]


@pytest.mark.parametrize("shards", [True, False])
def test_into_the_callers_array(shards: bool) -> None:
    array = stored("float32", CODECS["fast"], shards)
    expected = values("float32")
    with mode("native"):
        for out in (
            np.empty(SHAPE, "f4", order="F"),
            np.empty((60, 88), "f4")[::2, ::-2],
            np.empty(SHAPE, ">f4"),
            np.empty(SHAPE, "f8"),
            np.empty(SHAPE, "f4").view(np.recarray),
        ):
            found = outcome(lambda out=out: array.read(out=out))
            if out.dtype == "f4" or not isinstance(found, tuple):
                np.testing.assert_array_equal(out, expected)
        frozen = np.zeros(SHAPE, "f4")
        frozen.flags.writeable = False
        told = outcome(lambda: array.read(out=frozen))
        assert not frozen.any()
    with mode("python"):
        assert outcome(lambda: array.read(out=frozen)) == told


@pytest.mark.slow
@pytest.mark.parametrize(
    "name",
    ["raw crc32c", "zstd", "zstd checked", "fast", "blosc", "lz4", "gzip", "zlib", "shuffles"],
)
@pytest.mark.parametrize("shards", [True, False])
def test_damage_is_told_in_the_same_words(name: str, shards: bool) -> None:
    array = stored("float32", CODECS[name], shards)
    rnd = random.Random(5)
    keys = [key for key in array.store.list() if not key.endswith(".json")]
    refused = 0
    with config.set({"threads": 1}):
        for _ in range(150):
            key = rnd.choice(keys)
            sound = bytes(array.store.get(key))
            array.store.set(key, bytes(mutate(sound, rnd, 16 if not shards else len(sound))))
            found = []
            for way in ("native", "python"):
                with mode(way):
                    found.append(outcome(lambda: array[...].tobytes()))
            array.store.set(key, sound)
            assert found[0] == found[1]
            refused += isinstance(found[0], tuple)
    assert refused > 50


@pytest.mark.parametrize("size", [0, 3, 10**6, 2**61])
@pytest.mark.parametrize("offset", [0, 17, 10**6, 2**61])
def test_a_lying_index(offset: int, size: int) -> None:
    """Inner chunks that overlap, that are too long, or that are outside the shard."""
    array = stored("float32", CODECS["zstd"], True)
    shard = array._source.regular_chain.shard
    data = bytes(array.store.get("c/0/0"))
    index = shard.read_index(lambda part: data[part.start : part.stop])
    table = index.table.copy()
    table[1, 2] = offset, size
    body = data[: -shard.index_bytes] + bytes(shard.index_chain.encode(table))
    array.store.set("c/0/0", body)
    for selection in (..., (slice(0, 10), slice(0, 18))):
        found = []
        for way in ("native", "python"):
            with mode(way):
                found.append(outcome(lambda s=selection: array[s]))
        assert found[0] == found[1] and found[0][0] is DecodeError


def test_missing_chunks_can_be_an_error() -> None:
    array = stored("float32", CODECS["fast"], False)
    array.store.delete("c/1/1")
    with mode("native"):
        assert (array[5:10, 4:8] == 0).all() and (array[:5] == values("float32")[:5]).all()
        with pytest.raises(ChunkNotFoundError, match="c/1/1"):
            omnizarr.open_array(array.store, on_missing="raise")[...]


LAYOUTS: dict[str, dict[str, Any]] = {
    "shards": {"chunks": (8, 8), "shards": (256, 256)},
    "one shard": {"chunks": (8, 8), "shards": (512, 512)},
    "chunks": {"chunks": (16, 16)},
}


@pytest.mark.parametrize("layout", LAYOUTS)
def test_a_call_can_be_cancelled(layout: str, monkeypatch: pytest.MonkeyPatch) -> None:
    data = np.arange(512 * 512, dtype="f4").reshape(512, 512)
    array = omnizarr.create_array(MemoryStore(), data=data, **LAYOUTS[layout])
    monkeypatch.setattr("omnizarr.engine.threads._fitting", lambda *_: 2)
    event, calls = threading.Event(), []
    place, encode = Selected.place, Selected.encode

    def called(call: Any) -> Any:
        def seen(*arguments: Any) -> Any:
            calls.append(1)
            event.set()
            return call(*arguments)

        return seen

    monkeypatch.setattr(Selected, "place", called(place))
    monkeypatch.setattr(Selected, "encode", called(encode))
    with parallel.abandoned_by(event), mode("native"):
        with pytest.raises(parallel.Abandoned):
            array[...]
        event.clear()
        with pytest.raises(parallel.Abandoned):
            array[...] = data
    assert len(calls) == 2


def sharded(count: int, inner: int, codecs: list[Any], shards: int = 1) -> Any:
    """Shards of so many inner chunks, and nothing stored."""
    inside = v3("sharding_indexed", chunk_shape=[inner], codecs=codecs,
                index_codecs=[LITTLE, "crc32c"])  # fmt: skip
    length = count * inner
    return omnizarr.create_array(MemoryStore(), shape=(length * shards,), dtype="<i4",
                                 chunks=(length,), codecs=[inside], fill_value=7)  # fmt: skip


def test_shards_that_several_threads_leave_are_read_once() -> None:
    """Two members of gzip in a chunk, which is sound: each thread of the core leaves its part."""
    array = sharded(64, 1024, [LITTLE, v3("gzip", level=1)])
    shard = array._source.regular_chain.shard
    expected = np.arange(64 * 1024, dtype="<i4")
    pieces = [piece.tobytes() for piece in expected.reshape(64, 2, 512).reshape(128, 512)]
    members = [gzip.compress(piece) for piece in pieces]
    inner = {(n,): members[2 * n] + members[2 * n + 1] for n in range(64)}
    array.store.set("c/0", shard.assemble(inner))
    with mode("native"), config.set({"threads": 4}):
        np.testing.assert_array_equal(array[...], expected)


def test_many_ranges_of_a_shard_are_few_calls(counted: list[int]) -> None:
    array = sharded(512, 4, [LITTLE])
    array[...] = expected = np.arange(2048)
    array.store.capabilities = Capabilities(gap=0)
    with mode("native"):
        np.testing.assert_array_equal(array[::8], expected[::8])
    assert counted == [2, 0]


def test_the_first_of_two_damaged_shards_is_named() -> None:
    """One is read whole, the other in parts."""
    array = sharded(4, 8, [LITTLE, "crc32c"], shards=32)
    array[...] = np.arange(1024)
    for key in ("c/30", "c/31"):
        data = bytearray(array.store.get(key))
        data[3] ^= 1
        array.store.set(key, bytes(data))
    with config.set({"threads": 1}):
        found = []
        for name in ("native", "python"):
            with mode(name):
                found.append(outcome(lambda: array[:1020]))
    assert found[0] == found[1]
    assert "'c/30'" in found[0][1]


def test_a_little_is_read_in_one_call_of_the_calling_thread(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    array, calls = stored("float32", CODECS["zstd"], False), []
    place = Selected.place

    def noting(self: Selected, parts: Any, values: Any) -> list[int]:
        calls.append(threading.current_thread())
        return place(self, parts, values)

    monkeypatch.setattr(Selected, "place", noting)
    with mode("native"), config.set({"threads": 8}):
        array[...]
    assert calls == [threading.current_thread()]


@pytest.mark.slow
def test_an_interrupt_ends_the_other_thread_too() -> None:
    """Which may be in the middle of many chunks, which take seconds."""
    times: list[float] = []

    class Interrupt(BaseException): ...

    def raised(*_: Any) -> None:
        times.append(time.monotonic())
        raise Interrupt

    data = np.random.default_rng(0).integers(0, 50, 16 << 20, "<i4")
    array = omnizarr.create_array(MemoryStore(), shape=data.shape, chunks=(1 << 14,), dtype="<i4",
                                  compressors=[v3("zstd", level=19, checksum=False)])  # fmt: skip
    before = signal.signal(signal.SIGALRM, raised)
    try:
        with mode("native"), config.set({"threads": 2}), pytest.raises(Interrupt):
            signal.setitimer(signal.ITIMER_REAL, 0.5)
            array[...] = data
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    assert time.monotonic() - times[0] < 1
