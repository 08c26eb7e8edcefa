"""Values that are absent become files without a lock: sandboxes, and what is in the way."""

from __future__ import annotations

import ctypes
import errno
import os
import platform
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import omnizarr
from tests.native.installed import needed

needed()
if not sys.platform.startswith("linux"):
    pytest.skip("the core stores files on Linux alone", allow_module_level=True)

AT_EMPTY_PATH, AT_SYMLINK_FOLLOW, O_TMPFILE = 0x1000, 0x400, 0x400000
CALLS = {"linkat": (265, 4), "openat": (257, 2)}
"""Numbers of system calls on x86-64, and which argument has the flags."""


class Rule(ctypes.Structure):
    _fields_ = [("code", ctypes.c_ushort), ("yes", ctypes.c_ubyte), ("no", ctypes.c_ubyte),
                ("value", ctypes.c_uint)]  # fmt: skip


class Rules(ctypes.Structure):
    _fields_ = [("count", ctypes.c_ushort), ("first", ctypes.POINTER(Rule))]


def refuse(call: str, flag: int, error: int) -> None:
    """From now on a system call with this flag fails in this process, as in some sandboxes."""
    number, argument = CALLS[call]
    load, equal, any_of, answer = 0x20, 0x15, 0x45, 0x06
    rules = (Rule * 6)(
        (load, 0, 0, 0),
        (equal, 0, 3, number),
        (load, 0, 0, 16 + 8 * argument),
        (any_of, 0, 1, flag),
        (answer, 0, 0, 0x00050000 | error),
        (answer, 0, 0, 0x7FFF0000),
    )
    libc = ctypes.CDLL(None, use_errno=True)
    assert libc.prctl(38, 1, 0, 0, 0) == 0  # no new privileges
    assert libc.prctl(22, 2, ctypes.byref(Rules(6, rules)), 0, 0) == 0, os.strerror(
        ctypes.get_errno()
    )


SANDBOXED = """
import sys
import numpy as np
import omnizarr
from tests.native.test_new_files import refuse

path, *refusals = sys.argv[1:]
array = omnizarr.open_array(path, mode="r+")
for refusal in refusals:
    call, flag, error = refusal.split(",")
    refuse(call, int(flag), int(error))
array[...] = np.arange(64).reshape(8, 8)
array[3:5, 3:5] = -1
"""


def new_array(path: Path) -> Any:
    return omnizarr.create_array(
        path, shape=(8, 8), chunks=(2, 2), dtype="i4", fill_value=7, compressors=None
    )


def files(path: Path) -> list[str]:
    return sorted(str(file.relative_to(path)) for file in path.rglob("*") if file.is_file())


@pytest.mark.skipif(platform.machine() != "x86_64", reason="numbers of system calls are of x86-64")
@pytest.mark.parametrize(
    "refusals",
    [
        [],
        [("linkat", AT_EMPTY_PATH, errno.ENOENT)],
        [("linkat", AT_EMPTY_PATH | AT_SYMLINK_FOLLOW, errno.ENOENT)],
        [("linkat", AT_EMPTY_PATH | AT_SYMLINK_FOLLOW, errno.EPERM)],
        [("openat", O_TMPFILE, errno.EOPNOTSUPP)],
        [("openat", O_TMPFILE, errno.EACCES)],
    ],
)
def test_where_files_without_names_are_refused(
    tmp_path: Path, refusals: list[tuple[str, int, int]]
) -> None:
    path = tmp_path / "a"
    array = new_array(path)
    told = [",".join(map(str, refusal)) for refusal in refusals]
    root = Path(__file__).parents[2]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(root), str(root / "src")])}
    done = subprocess.run(
        [sys.executable, "-c", SANDBOXED, path, *told],
        capture_output=True, text=True, env=environment,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    expected = np.arange(64).reshape(8, 8)
    expected[3:5, 3:5] = -1
    assert np.array_equal(array[...], expected)
    assert files(path) == sorted(["zarr.json", *(f"c/{i}/{j}" for i in range(4) for j in range(4))])


WHOLE = """
import sys
import omnizarr
omnizarr.open_array(sys.argv[1], mode="r+")[...] = 7
"""


@pytest.mark.parametrize("other", [False, True])
def test_a_change_under_the_lock_of_a_user_sees_what_was_stored_meanwhile(
    tmp_path: Path, other: bool
) -> None:
    path = tmp_path / "a"
    array = omnizarr.create_array(path, shape=(8,), chunks=(8,), dtype="i4", fill_value=0)
    store = omnizarr.LocalStore(path) if other else array.store
    with store.lock("c/0"):
        done = subprocess.run([sys.executable, "-c", WHOLE, path], capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        array[:3] = 1
    assert array[...].tolist() == [1, 1, 1, 7, 7, 7, 7, 7]


def test_what_has_the_name_of_a_new_value(tmp_path: Path) -> None:
    path = tmp_path / "a"
    array = new_array(path)
    (path / "c/0").mkdir(parents=True)
    (tmp_path / "outside").write_bytes(b"kept")
    (path / "c/0/1").symlink_to(tmp_path / "outside")
    (path / "c/0/2").symlink_to(tmp_path / "nowhere")
    (path / "c/0/3").mkdir()
    array[:2, :6] = 1
    assert (array[:2, :6] == 1).all()
    assert (tmp_path / "outside").read_bytes() == b"kept"
    assert not (tmp_path / "nowhere").exists()
    with pytest.raises(omnizarr.errors.StoreError, match="there are keys below it"):
        array[...] = 2


def test_new_files_follow_the_umask(tmp_path: Path) -> None:
    old = os.umask(0o027)
    try:
        array = new_array(tmp_path / "a")
        array[...] = 1
    finally:
        os.umask(old)
    assert {(tmp_path / "a" / name).stat().st_mode & 0o777 for name in files(tmp_path / "a")} == {
        0o640
    }


def test_some_values_are_there_and_others_are_not(tmp_path: Path) -> None:
    rng = np.random.default_rng(1)
    for trial in range(20):
        array = new_array(tmp_path / str(trial))
        expected = np.full((8, 8), 7)
        for _ in range(4):
            for place in rng.permutation(16)[: rng.integers(1, 16)]:
                rows, columns = (slice(2 * k, 2 * k + 2) for k in divmod(int(place), 4))
                array[rows, columns] = expected[rows, columns] = rng.integers(100)
            values = rng.integers(100, size=(8, 8))
            start = int(rng.integers(8))
            array[start:] = expected[start:] = values[start:]
        assert np.array_equal(array[...], expected)
        assert not [name for name in files(tmp_path / str(trial)) if ".~" in name]
