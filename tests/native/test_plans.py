"""`Chunks`: wrong arguments are errors, and no place outside of `out` is touched."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.native.chunks import BAD_CODECS
from tests.native.installed import needed

core = needed()
if not hasattr(core.Chunks, "read"):
    pytest.skip("the core reads whole plans on Linux alone", allow_module_level=True)


CHUNK = ((2, 3), (0, 1), 4, (), 1, 24)
KEYS = (b"c/", ord("/"), b"")
FILL = b"\1\2\3\4"


def read(root: Path, runs: Any, points: Any, out: Any, threads: int = 1) -> Any:
    reader = core.Chunks(CHUNK, None, KEYS, FILL)
    done = reader.read(
        f"{root}/".encode(), False, runs, points, out, threads, 1 << 20, lambda: None
    )
    return done and done[0]


@pytest.mark.parametrize(
    "chunk",
    [
        ((2, 3), (0,), 4, (), 1, 24),
        ((2, 3), (0, 0), 4, (), 1, 24),
        ((2, 3), (0, 2), 4, (), 1, 24),
        ((2, 0), (0, 1), 4, (), 1, 24),
        ((2, 3), (0, 1), 0, (), 1, 24),
        ((2, 3), (0, 1), 4, (), 3, 24),
        ((2, 3), (0, 1), 4, (), 0, 24),
        ((2, 3), (0, 1), 4, (("rot13",),), 1, 24),
        ((2, -3), (0, 1), 4, (), 1, 24),
        ((2**62, 2**62), (0, 1), 4, (), 1, 24),
        None,
    ],
)
def test_chunks_that_cannot_be(chunk: Any) -> None:
    with pytest.raises((TypeError, OverflowError, MemoryError, ValueError)):
        core.Chunks(chunk, None, KEYS, FILL)


@pytest.mark.parametrize("codecs", [None, "zstd", (None,), *BAD_CODECS])
def test_codecs_that_cannot_be(codecs: Any) -> None:
    with pytest.raises(TypeError):
        core.Chunks((*CHUNK[:3], codecs, *CHUNK[4:]), None, KEYS, FILL)


@pytest.mark.parametrize(
    ("shard", "keys", "fill"),
    [
        (((3, 3), False, True), KEYS, FILL),
        (((4,), False, True), KEYS, FILL),
        (((2**63, 2**63 // 3 * 3), False, True), KEYS, FILL),
        (None, (b"", "/", b""), FILL),
        (None, KEYS, b"123"),
    ],
)
def test_shards_keys_and_fill_values_that_cannot_be(shard: Any, keys: Any, fill: Any) -> None:
    with pytest.raises((TypeError, OverflowError, ValueError)):
        core.Chunks(CHUNK, shard, keys, fill)


GOOD = [(0, 0, 1, 4, 0), (1, 0, 1, 6, 0)]


@pytest.mark.parametrize(
    ("runs", "points"),
    [
        ([], []),
        (GOOD[:1], []),
        ([*GOOD, GOOD[1]], []),
        ([GOOD[0], (2, 0, 1, 6, 0)], []),
        ([GOOD[0], (1, 0, 1, 7, 0)], []),
        ([GOOD[0], (1, 0, 1, 6, 1)], []),
        ([GOOD[0], (1, 0, 0, 6, 0)], []),
        ([GOOD[0], (1, 0, 1, 0, 0)], []),
        ([GOOD[0], (1, 0, 1, 2**64 - 1, 2)], []),
        ([GOOD[0], (1, -1, 1, 6, 0)], []),
        ((0,), []),
        ((0, 0, 0), []),
        ((0, -1), []),
        ((0, None), []),
        ((0, 0), [((1,), [np.array([0, 1])], np.array([0, 1]))]),
        (GOOD[:1], [((1,), [np.array([0, 1])], np.array([0, 6]))]),
        (GOOD[:1], [((1,), [np.array([0, -1])], np.array([0, 1]))]),
        (GOOD[:1], [((1,), [np.array([0])], np.array([0, 1]))]),
        (GOOD[:1], [((1,), [], np.array([0, 1]))]),
        (GOOD[:1], [((), [], np.array([0, 1]))]),
        (GOOD[:1], [((1,), [np.array([0.0])], np.array([0]))]),
        ([], [((0, 0), [np.array([0]), np.array([0])], np.array([0]))]),
    ],
)
def test_selections_that_leave_the_array(runs: Any, points: Any, tmp_path: Path) -> None:
    out = np.zeros((4, 6), "f4")
    with pytest.raises((TypeError, OverflowError, ValueError)):
        read(tmp_path, runs, points, out)
    assert not out.any()


@pytest.mark.parametrize(
    "out",
    [
        None,
        np.zeros(4, "f4"),
        np.zeros((4, 6), "f8"),
        np.zeros((4, 6), object),
        np.zeros((4, 6), "f4").view(np.recarray),
        np.broadcast_to(np.float32(0), (4, 6)),
    ],
)
def test_arrays_that_cannot_be_filled(out: Any, tmp_path: Path) -> None:
    with pytest.raises(TypeError, match="out is"):
        read(tmp_path, GOOD, [], out)


@pytest.mark.parametrize(
    ("runs", "array", "elided"),
    [
        (GOOD[:1], np.zeros((4, 6), "f4"), None),
        ([GOOD[0], (1, 0, 1, 7, 0)], np.zeros((4, 6), "f4"), None),
        (GOOD, np.zeros((4, 6), "f8"), None),
        (GOOD, np.zeros((4, 6), object), None),
        (GOOD, None, None),
        (GOOD, np.zeros((4, 6), "f4"), b"123"),
    ],
)
def test_writes_that_cannot_be(runs: Any, array: Any, elided: Any, tmp_path: Path) -> None:
    files = core.Chunks(CHUNK, None, KEYS, None)
    with pytest.raises(TypeError):
        files.write(
            f"{tmp_path}/".encode(), runs, [], array, elided, True, 1, 1 << 20, lambda: None
        )
    assert not list(tmp_path.iterdir())


def test_numbers_beyond_memory_are_left(tmp_path: Path) -> None:
    out = np.zeros((4, 6), "f4")
    runs = [GOOD[0], (1, 2**63, 2**62, 6, 0)]
    assert read(tmp_path, runs, [], out) is None


@pytest.mark.parametrize("threads", [1, 5])
def test_missing_chunks_are_filled_and_nothing_else_is(threads: int, tmp_path: Path) -> None:
    around = np.zeros((8, 12), "f4")
    out = around[2:6, 3:9]
    assert read(tmp_path, [(0, 0, 3, 4, 0), (1, 1, 1, 5, 1)], [], out, threads) == []
    fill = np.frombuffer(FILL, "f4")[0]
    expected = np.zeros((8, 12), "f4")
    expected[2:6, 4:9] = fill
    np.testing.assert_array_equal(around, expected)


def test_an_error_of_the_check_ends_the_call(tmp_path: Path) -> None:
    def check() -> None:
        raise RuntimeError("enough")

    reader = core.Chunks(((1,), (0,), 1, (), 1, 1), None, (b"", 46, b""), b"\0")
    out = np.empty(3_000_000, "u1")
    root = f"{tmp_path}/".encode()
    with pytest.raises(RuntimeError, match="enough"):
        reader.read(root, False, [(0, 0, 1, len(out), 0)], [], out, 2, 1 << 20, check)


def test_a_directory_that_is_replaced_meanwhile(tmp_path: Path) -> None:
    count, last = 8000, range(7900, 8000)
    folder = tmp_path / "c"

    def make(value: bytes) -> None:
        folder.mkdir()
        for chunk in last:
            (folder / str(chunk)).write_bytes(value * 2)

    def check() -> None:
        if not (tmp_path / "deleted").exists():
            folder.rename(tmp_path / "deleted")
            make(b"\2")

    make(b"\1")
    files = core.Chunks(((2,), (0,), 1, (), 1, 2), None, KEYS, b"\0")
    array = np.full(count, 9, "u1")
    runs = [(0, 0, 2, count, 0)]
    root = f"{tmp_path}/".encode()
    left, nbytes = files.write(root, runs, [], array, None, True, 1, 1 << 20, check)
    assert (tmp_path / "deleted").exists()
    found = {(folder / str(chunk)).read_bytes() for chunk in last if [chunk] not in left}
    assert found == {b"\x09\2"} and nbytes == 2 * (count - len(left))
