"""`Serialized`: files of chunks without their serializer; wrong arguments are errors."""

from __future__ import annotations

import random
import zlib
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.native.chunks import BAD_CODECS
from tests.native.installed import needed

core = needed()
if not hasattr(core, "Serialized"):
    pytest.skip("the core reads files on Linux alone", allow_module_level=True)

KEYS = (b"c/", ord("/"), b"")
SIZES = (1 << 20, 1 << 20, 100)
CODECS: dict[str, tuple[Any, ...]] = {
    "raw": (),
    "crc32c": (("crc32c", False, 4, 1 << 20),),
    "zstd": (("zstd", 1, True),),
    "gzip": (("gzip", 1),),
    "lz4": (("lz4", 1),),
    "blosc": (("blosc", "zstd", 1, 1, 4, 0),),
    "all": (
        ("crc32c", True, 4, 1 << 20),
        ("zstd", 1, True),
        ("shuffle", 3),
        ("crc32c", False, 4, 1 << 20),
    ),
}


def new(codecs: Any = (), sizes: Any = SIZES) -> Any:
    return core.Serialized(codecs, KEYS, sizes)


def read(own: Any, path: Path, coordinates: Any, scratch: int = 1 << 20, threads: int = 1) -> Any:
    return own.read(f"{path}/".encode(), False, coordinates, threads, scratch, lambda: None)


def write(own: Any, path: Path, coordinates: Any, values: Any, scratch: int = 1 << 20) -> Any:
    (path / "c").mkdir(exist_ok=True)
    return own.write(f"{path}/".encode(), coordinates, values, 2, scratch, lambda: None)


@pytest.mark.parametrize("name", CODECS)
@pytest.mark.parametrize("threads", [1, 4])
def test_what_is_written_is_read(name: str, threads: int, tmp_path: Path) -> None:
    own, rnd = new(CODECS[name]), random.Random(1)
    values = [rnd.randbytes(n) * 3 for n in (1, 2, 100, 4096, 70_000)]
    places = [(n, n) for n in range(5)]
    assert write(own, tmp_path, places, values) == []
    found, left = read(own, tmp_path, [*places, (9, 9)], threads=threads)
    assert found == [*values, None] and left == []


@pytest.mark.parametrize("name", CODECS)
def test_no_more_memory_than_was_allowed(name: str, tmp_path: Path) -> None:
    own = new(CODECS[name])
    values = [bytes(10_000)] * 6
    write(own, tmp_path, [(n,) for n in range(6)], values)
    found, left = read(own, tmp_path, [(n,) for n in range(6)], scratch=35_000)
    assert 1 <= len(left) < 6
    assert [value for value in found if value is not None] == values[len(left) :]
    assert read(new(CODECS[name], (1 << 20, 9999, 1)), tmp_path, [(0,)]) == ([None], [0])
    assert read(new(CODECS[name], (3, 1 << 20, 1)), tmp_path, [(0,)]) == ([None], [0])


def test_a_bomb_takes_no_memory(tmp_path: Path) -> None:
    """A frame of zstd, a block of LZ4 and a stream of gzip that say that they become gigabytes."""
    (tmp_path / "c").mkdir()
    sizes = (1 << 20, 1 << 40, 1)
    for codecs, content in (
        ((("zstd", 1, False),), b"\x28\xb5\x2f\xfd\xe0" + (1 << 38).to_bytes(8, "little")),
        ((("lz4", 1),), b"\xff\xff\xff\xff\x00"),
        ((("gzip", 1),), b"\x1f\x8b\x08" + bytes(20) + b"\xff\xff\xff\xff"),
        ((("blosc", "lz4", 5, 1, 4, 0),), b"\2\1\x21\4" + b"\xff\xff\xff\x7f" * 3),
    ):
        (tmp_path / "c" / "0").write_bytes(content)
        assert read(new(codecs, sizes), tmp_path, [(0,)]) == ([None], [0])
        assert read(new(codecs, sizes), tmp_path, [(0,)], scratch=1 << 62) == ([None], [0])


def test_a_stream_without_a_size_is_left(tmp_path: Path) -> None:
    (tmp_path / "c").mkdir()
    (tmp_path / "c" / "0").write_bytes(zlib.compress(b"content"))
    assert read(new((("zlib", 1),)), tmp_path, [(0,)]) == ([None], [0])


@pytest.mark.parametrize("codecs", BAD_CODECS)
def test_codecs_that_are_not_known(codecs: Any) -> None:
    with pytest.raises(TypeError, match="codecs"):
        new(codecs)


def test_wrong_arguments(tmp_path: Path) -> None:
    for sizes in ((1, 2), (-1, 1, 1), None, (1 << 70, 1, 1)):
        with pytest.raises((TypeError, ValueError, OverflowError)):
            new((), sizes)
    for coordinates in ([(-1,)], [("0",)], [0], None):
        with pytest.raises((TypeError, ValueError, OverflowError)):
            read(new(), tmp_path, coordinates)
    for values in ([], [b"", b""], ["text"], [7], None):
        with pytest.raises((TypeError, ValueError)):
            write(new(), tmp_path, [(0,)], values)
    assert write(new(), tmp_path, [(0,)], [None]) == [0]
    assert list((tmp_path / "c").iterdir()) == []


def test_any_buffer_is_written(tmp_path: Path) -> None:
    values = [bytearray(b"one"), memoryview(b"two"), np.frombuffer(b"three", "u1")]
    assert write(new(), tmp_path, [(n,) for n in range(3)], values) == []
    assert read(new(), tmp_path, [(n,) for n in range(3)]) == ([b"one", b"two", b"three"], [])


def test_the_first_problem_ends_the_call(tmp_path: Path) -> None:
    def check() -> None:
        raise RuntimeError("enough")

    own = new((), (1 << 30, 1 << 30, 1 << 30))  # long tasks: the calling thread only looks
    write(own, tmp_path, [(0,)], [b"content"])
    value = bytes(16 << 20)
    with pytest.raises(RuntimeError, match="enough"):
        own.write(f"{tmp_path}/".encode(), [(1,)] * 40, [value] * 40, 1, 1 << 30, check)
