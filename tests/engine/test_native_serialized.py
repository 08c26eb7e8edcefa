"""Files of text and byte strings through the native core: the same values, and the same errors, as
with the reference."""

from __future__ import annotations

import fcntl
import gc
import os
import random
import signal
import sys
import threading
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import omnizarr
from omnizarr import limits
from omnizarr.config import config
from omnizarr.engine.native_plans import Wrapping
from omnizarr.errors import ChunkNotFoundError, ZarrError
from omnizarr.runtime import parallel
from tests.codecs.mutation_worker import mutate
from tests.codecs.support import v3
from tests.engine.native_cases import WAYS, chunk_files, obstruct, replaced, slices
from tests.model.columns import BINARY, TEXT, mode, outcome
from tests.native.installed import needed

needed()
if sys.platform != "linux":
    pytest.skip("the core reads files on Linux alone", allow_module_level=True)

ZSTD = v3("zstd", level=1, checksum=False)
CODECS: dict[str, list[Any]] = {
    "raw": [],
    "crc32c": ["crc32c"],
    "zstd": [ZSTD],
    "zstd checked": [v3("zstd", level=1, checksum=True), "crc32c"],
    "checked zstd": ["crc32c", ZSTD],
    "blosc": [v3("blosc", cname="lz4", clevel=5, shuffle="shuffle", typesize=4, blocksize=0)],
    "lz4": [v3("numcodecs.lz4", acceleration=1)],
    "gzip": [v3("gzip", level=1)],
    "shuffle": [v3("numcodecs.shuffle", elementsize=4), ZSTD],
    "shuffle crc32c": ["crc32c", v3("numcodecs.shuffle", elementsize=3)],
}
OTHERS: dict[str, list[Any]] = {
    "zlib": [v3("numcodecs.zlib", level=1)],
    "bz2": [v3("numcodecs.bz2", level=1)],
    "two": [ZSTD, v3("gzip", level=1)],
}
"""These go through Python."""
TYPES = ("string", "bytes", "arrow-string", "arrow-large-string", "arrow-binary")
SHAPE = (12, 11)
CHUNKS = (3, 4)
WORDS = ["", "a", "words", "é", "\0", "longer than what NumPy keeps inside of an element", "日本"]


def is_text(dtype: str) -> bool:
    return "string" in dtype


def words(dtype: str, size: int = SHAPE[0] * SHAPE[1]) -> list[Any]:
    rnd = random.Random(size)
    found = [rnd.choice(WORDS) for _ in range(size)]
    return found if is_text(dtype) else [word.encode() for word in found]


def objects(items: list[Any], shape: tuple[int, ...] = SHAPE) -> np.ndarray:
    array = np.empty(len(items), object)
    array[:] = items
    return array.reshape(shape)


def stored(path: Path, dtype: str, codecs: list[Any], **keywords: Any) -> Any:
    array = omnizarr.create_array(path, shape=SHAPE, dtype=dtype, chunks=CHUNKS, overwrite=True,
                                  compressors=codecs or None, **keywords)  # fmt: skip
    array[...] = objects(words(dtype))
    return array


def lists(found: Any) -> Any:
    """An array as lists; one element as it is, of which NumPy would remove the last NULs."""
    return found.tolist() if isinstance(found, np.ndarray) else found


@pytest.fixture
def moved(monkeypatch: pytest.MonkeyPatch) -> dict[str, list[int]]:
    """How many chunks the core was given, and how many of them it left."""
    counts = {"read": [0, 0], "write": [0, 0]}

    def note(name: str) -> None:
        execute = getattr(Wrapping, name)

        def noting(self: Wrapping, parts: Any, *values: Any) -> Any:
            found = execute(self, parts, *values)
            counts[name][0] += len(parts)
            counts[name][1] += len(found[1] if name == "read" else found)
            return found

        monkeypatch.setattr(Wrapping, name, noting)

    note("read")
    note("write")
    return counts


@pytest.mark.slow
@given(
    st.data(),
    st.sampled_from(TYPES),
    st.sampled_from(sorted({**CODECS, **OTHERS})),
    st.lists(st.tuples(slices(SHAPE[0]), slices(SHAPE[1])), min_size=1, max_size=4),
    st.sets(st.tuples(st.integers(0, 3), st.integers(0, 2)), max_size=4),
    st.sampled_from([1, 3]),
)
def test_values_are_numpys_either_way(
    tmp_path_factory: pytest.TempPathFactory,
    data: Any,
    dtype: str,
    name: str,
    selections: Any,
    missing: Any,
    workers: int,
) -> None:
    size = SHAPE[0] * SHAPE[1]
    elements = TEXT if is_text(dtype) else BINARY
    codecs = {**CODECS, **OTHERS}[name]
    few = data.draw(st.lists(elements, min_size=1, max_size=9))
    expected = objects([few[n % len(few)] for n in range(size)])
    empty = "" if is_text(dtype) else b""
    for row, column in missing:
        expected[3 * row : 3 * row + 3, 4 * column : 4 * column + 4] = empty
    first = expected.copy()
    expected[4:9, 2:9] = objects([data.draw(elements)] * 35, (5, 7))
    keys = []
    for way in WAYS:
        path = tmp_path_factory.mktemp("a")
        with mode(way), config.set({"threads": workers}):
            array = stored(path, dtype, codecs)
            array[...] = first
            array[4:9, 2:9] = expected[4:9, 2:9]
        keys.append(sorted(str(file.relative_to(path)) for file in path.rglob("*")))
        for other in WAYS:
            with mode(other), config.set({"threads": workers}):
                opened = omnizarr.open_array(path, mode="r")
                for selection in selections:
                    wanted = expected[selection[0]][..., selection[1]]
                    assert lists(opened.oindex[selection]) == lists(wanted)
                columns = opened.to_arrow().to_pylist()
                assert columns == expected.reshape(-1).tolist()
    assert keys[0] == keys[1]


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("name", CODECS)
def test_the_core_moves_all_that_is_sound(
    name: str, dtype: str, tmp_path: Path, moved: dict[str, list[int]]
) -> None:
    expected = objects(words(dtype))
    with mode("native"):
        array = stored(tmp_path, dtype, CODECS[name])
        assert moved["write"] == [8, 0]  # those at the edge are read and changed
        assert lists(array[...]) == expected.tolist()
        assert lists(array[3:9, 4:]) == expected[3:9, 4:].tolist()
        assert moved["read"] == [12 + 4, 0]
    with mode("python"):
        assert lists(omnizarr.open_array(tmp_path, mode="r")[...]) == expected.tolist()
    assert not [file for file in tmp_path.rglob("*") if file.name.startswith(".")]


@pytest.mark.parametrize("name", OTHERS)
def test_other_codecs_are_the_references(
    name: str, tmp_path: Path, moved: dict[str, list[int]]
) -> None:
    with mode("native"):
        array = stored(tmp_path, "string", OTHERS[name])
        assert lists(array[...]) == objects(words("string")).tolist()
    assert moved == {"read": [0, 0], "write": [0, 0]}


def test_large_chunks_are_left_to_threads_of_python(
    tmp_path: Path, moved: dict[str, list[int]]
) -> None:
    data = np.array(words("string", 20_000), object)
    with mode("native"):
        array = omnizarr.create_array(tmp_path, shape=20_000, chunks=5_000, dtype="string")
        array[:] = data
        assert array[:].tolist() == data.tolist()
    assert moved == {"read": [0, 0], "write": [0, 0]}


@pytest.mark.parametrize("keywords", [{}, {"dimension_separator": "/"}])
def test_format_2(keywords: Any, tmp_path: Path, moved: dict[str, list[int]]) -> None:
    expected = objects(words("string"))
    with mode("native"):
        array = stored(tmp_path, "string", [ZSTD], zarr_format=2, **keywords)
        assert lists(array[...]) == expected.tolist()
    assert moved["read"] == [12, 0]
    with mode("python"):
        assert lists(omnizarr.open_array(tmp_path, mode="r")[...]) == expected.tolist()


# -- damage and obstacles ---------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("dtype", ["string", "bytes", "arrow-string"])
@pytest.mark.parametrize("name", CODECS)
def test_damage_is_told_in_the_same_words(name: str, dtype: str, tmp_path: Path) -> None:
    stored(tmp_path, dtype, CODECS[name])
    rnd, refused = random.Random(5), 0
    files = chunk_files(tmp_path)
    arrays = {}
    for way in WAYS:
        with mode(way):
            arrays[way] = omnizarr.open_array(tmp_path, mode="r")
    with config.set({"threads": 1}):
        for _ in range(60):
            file = rnd.choice(files)
            sound = file.read_bytes()
            file.write_bytes(mutate(sound, rnd, 16))
            found = []
            for way in WAYS:
                with mode(way):
                    found.append(outcome(lambda w=way: lists(arrays[w][...])))
            file.write_bytes(sound)
            assert found[0] == found[1]
            refused += isinstance(found[0], tuple)
    assert refused > 10


@pytest.mark.parametrize("follow", [False, True])
@pytest.mark.parametrize(
    "kind",
    ["link outside", "link inside", "directory", "pipe", "too long", "too short", "empty", "gone"],
)
@pytest.mark.parametrize("name", ["raw", "zstd"])
def test_what_stands_in_the_place_of_a_chunk(
    kind: str, name: str, follow: bool, tmp_path: Path
) -> None:
    path = tmp_path / "a"
    stored(path, "string", CODECS[name])
    replaced(kind, path / "c" / "1" / "0")
    store = omnizarr.LocalStore(path, follow_symlinks=follow)
    found = []
    for way in WAYS:
        with mode(way):
            array = omnizarr.open_array(store, mode="r")
            found.append(outcome(lambda a=array: lists(a[...])))
    assert found[0] == found[1]
    if kind == "link outside" and not follow:
        assert isinstance(found[0], tuple) and issubclass(found[0][0], ZarrError)


@pytest.mark.parametrize("kind", ["directory", "link", "pipe", "lock directory", "lock of content"])
def test_what_stands_in_the_way_of_a_chunk(kind: str, tmp_path: Path) -> None:
    found = []
    for way in WAYS:
        with mode(way):
            path = tmp_path / way
            array = stored(path, "string", CODECS["zstd"])
            file = path / "c" / "1" / "0"
            obstruct(kind, file, tmp_path / f"outside {way}")
            told = outcome(lambda a=array: a.__setitem__(..., "new"))
            if isinstance(told, tuple):
                told = told[0], str(told[1]).replace(str(path), "")
            else:
                assert (array[...] == "new").all() and file.is_file() and not file.is_symlink()
            found.append(told)
    assert found[0] == found[1]
    assert isinstance(found[0], tuple) == (kind in ("directory", "lock directory"))


def test_missing_chunks(tmp_path: Path, moved: dict[str, list[int]]) -> None:
    expected = objects(words("string"))
    with mode("native"):
        stored(tmp_path, "string", CODECS["zstd"], fill_value="nothing")
    (tmp_path / "c" / "1" / "1").unlink()
    expected[3:6, 4:8] = "nothing"
    with mode("native"):
        moved["read"] = [0, 0]
        assert lists(omnizarr.open_array(tmp_path, mode="r")[...]) == expected.tolist()
        assert moved["read"] == [12, 0]
        with pytest.raises(ChunkNotFoundError, match="c/1/1"):
            omnizarr.open_array(tmp_path, mode="r", on_missing="raise")[...]


def test_chunks_of_fill_value_are_deleted(tmp_path: Path) -> None:
    with mode("native"):
        array = stored(tmp_path, "string", CODECS["zstd"])
        assert (tmp_path / "c" / "1" / "1").exists()
        array[3:6] = ""
        assert not (tmp_path / "c" / "1").exists()
        assert (array[3:6] == "").all()


def test_a_lock_that_is_held_is_waited_for(tmp_path: Path, moved: dict[str, list[int]]) -> None:
    """A lock of another process, whose other chunks are stored meanwhile."""
    array = stored(tmp_path, "string", CODECS["zstd"])
    moved["write"] = [0, 0]
    writer = threading.Thread(target=lambda: array.__setitem__(..., "new"))
    with mode("native"), (tmp_path / "c" / "1" / ".~1.lock").open("wb") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        writer.start()
        writer.join(0.3)
        waited = writer.is_alive()
        fcntl.flock(lock, fcntl.LOCK_UN)
        writer.join()
        assert moved["write"] == [8, 1]
    assert waited and (array[...] == "new").all()
    assert not [file for file in tmp_path.rglob("*") if file.name.startswith(".")]


def test_stores_that_ask_for_more_are_not_passed_by(
    tmp_path: Path, moved: dict[str, list[int]]
) -> None:
    class Noting(omnizarr.LocalStore):
        keys: list[str] = []

        def get(self, key: str, byte_range: Any = None) -> Any:
            self.keys.append(key)
            return super().get(key, byte_range)

        def set(self, key: str, value: Any) -> None:
            self.keys.append(key)
            super().set(key, value)

    stored(tmp_path, "string", CODECS["zstd"])
    moved["write"] = [0, 0]
    for store in (
        Noting(tmp_path),
        omnizarr.LocalStore(tmp_path, fsync=True),
        omnizarr.LocalStore(tmp_path, locking=False),
    ):
        with mode("native"):
            omnizarr.open_array(store, mode="r+")[...] = "new"
    assert moved["write"] == [0, 0] and "c/1/1" in Noting.keys


# -- memory and threads -----------------------------------------------------------------------


@pytest.mark.parametrize("name", ["raw", "zstd", "gzip", "lz4", "blosc"])
def test_what_does_not_fit_into_the_scratch_memory_is_left(
    name: str, tmp_path: Path, moved: dict[str, list[int]]
) -> None:
    items = [f"{n:05}" * 2000 for n in range(40)]
    array = omnizarr.create_array(tmp_path, shape=40, chunks=2, dtype="string",
                                  compressors=CODECS[name] or None)  # fmt: skip
    with mode("native"), limits.override(scratch_bytes=4 * 50_000):
        array[:] = np.array(items, object)
        assert array[:].tolist() == items
        assert moved["write"] == [20, 0] and moved["read"][0] == 20 and moved["read"][1] > 4
    with mode("native"):
        moved["read"] = [0, 0]
        assert omnizarr.open_array(tmp_path, mode="r")[:].tolist() == items
        assert moved["read"] == [20, 0]


@pytest.mark.parametrize("name", ["raw", "crc32c", "zstd", "gzip", "lz4", "blosc"])
def test_limits_are_told_in_the_same_words(name: str, tmp_path: Path) -> None:
    array = omnizarr.create_array(tmp_path, shape=4, chunks=2, dtype="string",
                                  compressors=CODECS[name] or None)  # fmt: skip
    array[:] = np.array(["a" * 5000] * 4, object)
    found = []
    for way in WAYS:
        with mode(way), limits.override(max_expansion=9000):
            found.append(outcome(lambda: lists(omnizarr.open_array(tmp_path, mode="r")[:])))
    assert found[0] == found[1] and issubclass(found[0][0], ZarrError)


@pytest.fixture(scope="module")
def large(tmp_path_factory: pytest.TempPathFactory) -> Any:
    path = tmp_path_factory.mktemp("large")
    array = omnizarr.create_array(path, shape=100_000, dtype="string", chunks=50)
    array[:] = np.array(words("string", 100_000), object)
    return array


def repeated(array: Any) -> None:
    for _ in range(500):
        array[:]


class Interrupt(BaseException): ...


def raised(*_: Any) -> None:
    raise Interrupt


def test_a_signal_interrupts_the_call(large: Any) -> None:
    tasks = len(os.listdir("/proc/self/task"))
    before = signal.signal(signal.SIGALRM, raised)
    gc.disable()  # what is raised in a callback of the collector is lost
    try:
        with mode("native"), config.set({"threads": 3}), pytest.raises(Interrupt):
            signal.setitimer(signal.ITIMER_REAL, 0.2)
            repeated(large)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
        gc.enable()
    for _ in range(100):  # Python joins a thread a moment before the system has ended it
        if len(os.listdir("/proc/self/task")) == tasks:
            break
        time.sleep(0.01)
    assert len(os.listdir("/proc/self/task")) == tasks


def test_a_signal_interrupts_a_long_task(tmp_path: Path, moved: dict[str, list[int]]) -> None:
    """A chunk that takes seconds to encode stays as it was, and is not locked."""
    slow = [v3("zstd", level=19, checksum=False)]
    with mode("native"):
        array = omnizarr.create_array(
            tmp_path, shape=600, chunks=300, dtype="string", compressors=slow
        )
        array[:] = "old"
    assert moved["write"] == [2, 0]
    moved["write"] = [0, 0]
    file = tmp_path / "c" / "0"
    old = file.read_bytes()
    numbers = np.random.default_rng(0).integers(0, 10**9, (600, 4000))
    new = np.array([" ".join(map(str, row)) for row in numbers.tolist()], object)
    before = signal.signal(signal.SIGALRM, raised)
    try:
        with mode("native"), config.set({"threads": 2}), pytest.raises(Interrupt):
            signal.setitimer(signal.ITIMER_REAL, 0.2)
            array[:] = new
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    assert moved["write"] == [0, 0]  # it was asked, and never answered
    assert file.read_bytes() == old
    assert sorted(os.listdir(file.parent)) == ["0", "1"]


def test_a_call_can_be_called_off(large: Any) -> None:
    event = threading.Event()
    timer = threading.Timer(0.1, event.set)
    timer.start()
    with parallel.abandoned_by(event), mode("native"), pytest.raises(parallel.Abandoned):
        repeated(large)
    timer.join()


def test_a_call_that_was_called_off_does_nothing(tmp_path: Path) -> None:
    array = stored(tmp_path, "string", CODECS["zstd"])
    event = threading.Event()
    event.set()
    with mode("native"):
        with parallel.abandoned_by(event):
            for call in (lambda: array[...], lambda: array.__setitem__(..., "new")):
                with pytest.raises(parallel.Abandoned):
                    call()
        assert lists(array[...]) == objects(words("string")).tolist()
