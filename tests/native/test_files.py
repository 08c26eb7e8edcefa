"""The functions on files: what Python's own calls give, and a number for what is unusual."""

from __future__ import annotations

import errno
import os
import socket
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.native.installed import needed

core = needed()
if not sys.platform.startswith("linux"):
    pytest.skip("the functions exist on Linux alone", allow_module_level=True)

FLAGS = os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK | os.O_NOFOLLOW
LARGE = 1 << 40


def read(path: Path, start: Any = 0, stop: Any = None, most: Any = LARGE) -> Any:
    return core.file_read(os.fsencode(path), FLAGS, start, stop, most)


def read_many(
    root: Path, names: list[str], stop: int = LARGE, most: int = LARGE, threads: int | None = None
) -> Any:
    return core.file_read_many(os.fsencode(root), names, FLAGS, stop, most, threads, lambda: None)


def descriptors() -> int:
    return len(os.listdir("/proc/self/fd"))


@pytest.fixture(autouse=True)
def nothing_stays_open() -> Any:
    before = descriptors()
    yield
    assert descriptors() == before


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "file"
    path.write_bytes(bytes(range(100)))
    return path


bound = st.integers(-130, 130)


@settings(deadline=None)
@given(start=bound, stop=st.none() | bound)
def test_ranges_are_those_of_python(
    tmp_path_factory: pytest.TempPathFactory, start: int, stop: int | None
) -> None:
    value = bytes(range(100))
    path = tmp_path_factory.getbasetemp() / "ranges"
    path.write_bytes(value)
    found = read(path, start, stop)
    if (stop is not None and stop < 0) or (start < 0 and stop is not None):
        assert found == -errno.EINVAL
    else:
        assert found == value[start:stop]


@pytest.mark.parametrize("size", [0, 1, 4095, 65536, 65537, 3_000_000])
def test_whole_files(tmp_path: Path, size: int) -> None:
    value = os.urandom(size)
    (tmp_path / "x").write_bytes(value)
    found = read(tmp_path / "x")
    assert type(found) is bytes
    assert found == value


@pytest.mark.parametrize(
    ("start", "stop", "most"),
    [(2**63, None, 1), (0, 2**70, 1), (-(2**64), None, 1), (0, 1, 2**64), (0, 1, -1), (0.5, 1, 1)],
)
def test_numbers_that_no_file_has_are_left(file: Path, start: Any, stop: Any, most: Any) -> None:
    assert read(file, start, stop, most) == -errno.EINVAL


def test_no_more_than_the_most(file: Path) -> None:
    assert read(file, 0, None, 100) == file.read_bytes()
    assert read(file, 0, None, 99) == -errno.EFBIG
    assert read(file, 0, 99, 99) == file.read_bytes()[:99]
    (file.parent / "sparse").touch()
    os.truncate(file.parent / "sparse", 1 << 40)
    assert read(file.parent / "sparse", 0, None, 1 << 30) == -errno.EFBIG
    assert read(file.parent / "sparse", -3) == bytes(3)


def test_what_is_no_regular_file_is_left(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    os.mkfifo(tmp_path / "fifo")
    monkeypatch.chdir(tmp_path)
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind("socket")
        assert read(tmp_path / "socket") == -errno.ENXIO
    assert read(tmp_path) == read(tmp_path / "fifo") == read(Path("/dev/null")) == -errno.EISDIR
    assert read(tmp_path / "none") == -errno.ENOENT
    assert read(tmp_path / "x" / "y") == -errno.ENOENT
    assert read(tmp_path / ("x" * 300)) == -errno.ENAMETOOLONG
    assert core.file_read(b"a\0b", FLAGS, 0, None, 1) == -errno.EINVAL
    assert core.file_read(b"", FLAGS, 0, None, 1) == -errno.ENOENT
    assert core.file_open(b"a\0b", FLAGS) == core.file_open(b"/", -1) == -errno.EINVAL


def test_no_link_is_followed(file: Path, tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to("file")
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder" / "file").touch()
    (tmp_path / "way").symlink_to("folder")
    for path in ("link", "way/file"):
        assert read(tmp_path / path) == -errno.ELOOP
        assert core.file_open(os.fsencode(tmp_path / path), FLAGS) == -errno.ELOOP


@pytest.mark.parametrize("threads", [None, 1, 3])
@pytest.mark.parametrize("count", [0, 1, 17, 500])
def test_many_files_are_each_as_by_itself(tmp_path: Path, count: int, threads: int | None) -> None:
    for number in range(count):
        (tmp_path / str(number)).mkdir()
        if number % 5:
            (tmp_path / f"{number}/x").write_bytes(b"%d" % number * number)
    os.mkfifo(tmp_path / "fifo")
    (tmp_path / "link").symlink_to("1")
    names = [f"{number}/x" for number in range(count)]
    names += ["fifo", "link", "link/x", ".", "none", "x" * 300, "", "a\0b"]
    found = read_many(tmp_path, names, threads=threads)
    assert found == [read(tmp_path / name) for name in names[:-2]] + [-errno.ENOENT, -errno.EINVAL]
    assert [type(each) for each in found[:count]] == [bytes if n % 5 else int for n in range(count)]
    for stop, most in ((10, 10), (10, 9), (0, 0), (LARGE, 700)):
        assert read_many(tmp_path, names[:count], stop, most, threads) == [
            read(tmp_path / name, 0, stop, most) for name in names[:count]
        ]


def test_many_files_are_below_their_directory(file: Path, tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    (tmp_path / "way").symlink_to("folder")
    names = ["../file", str(file), "/etc/hostname", "./../file", "../folder"]
    assert set(read_many(tmp_path / "folder", names)) == {-errno.EXDEV}
    assert read_many(tmp_path / "none", ["a", "b"]) == [-errno.ENOENT] * 2
    assert read_many(tmp_path / "way", ["a", "b"]) == [-errno.ELOOP] * 2
    assert read_many(file, ["a"]) == [-errno.ENOTDIR]


def test_what_the_check_raises_ends_the_call(tmp_path: Path) -> None:
    """It is called 25 times a second."""
    (tmp_path / "x").write_bytes(bytes(1000))

    def check() -> None:
        raise KeyError("stop")

    with pytest.raises(KeyError, match="stop"):
        core.file_read_many(os.fsencode(tmp_path), ["x"] * 3_000_000, FLAGS, 1000, 1000, 1, check)


def test_a_descriptor_that_is_not_inherited(file: Path) -> None:
    opened = core.file_open(os.fsencode(file), FLAGS)
    try:
        assert os.pread(opened, 3, 1) == b"\x01\x02\x03"
        assert not os.get_inheritable(opened)
    finally:
        os.close(opened)


@pytest.mark.parametrize("arguments", [("text", 0), (b"path",), (b"path", "0"), (b"path", 1 << 40)])
def test_wrong_arguments_are_refused(arguments: Any) -> None:
    with pytest.raises((TypeError, OverflowError)):
        core.file_open(*arguments)


def test_a_file_that_shrinks_meanwhile_is_whole_or_left(tmp_path: Path) -> None:
    path = tmp_path / "x"
    stop = threading.Event()
    long, short = b"a" * 300_000, b"b" * 10

    def change() -> None:
        while not stop.is_set():
            path.write_bytes(long)
            path.write_bytes(short)

    path.write_bytes(long)
    thread = threading.Thread(target=change)
    thread.start()
    try:
        for _ in range(300):
            found = read(path)
            assert found == -errno.EIO or type(found) is bytes
    finally:
        stop.set()
        thread.join()


def test_other_threads_run_while_a_file_is_waited_for(tmp_path: Path) -> None:
    """Opening a FIFO to read waits for a writer: here that is another thread."""
    os.mkfifo(tmp_path / "fifo")
    path = os.fsencode(tmp_path / "fifo")
    program = (
        "import os, sys, threading, omnizarr_native as core\n"
        "path = os.fsencode(sys.argv[1])\n"
        "thread = threading.Thread(target=lambda: os.close(os.open(path, os.O_WRONLY)))\n"
        "thread.start()\n"
        "os.close(core.file_open(path, os.O_RDONLY))\n"
        "thread.join()\n"
    )
    subprocess.run([sys.executable, "-c", program, path], check=True, timeout=60)
