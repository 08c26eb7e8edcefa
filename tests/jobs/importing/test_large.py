"""Large files: bounded memory, and a conversion that is killed half way goes on."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import h5py
import numpy as np
import pytest

import omnizarr

MOST_MEMORY = 500 << 20

CONVERT = """
import omnizarr
{call}
facts = dict(line.split(":", 1) for line in open("/proc/self/status"))
print(int(facts["VmHWM"].split()[0]) * 1024)
"""
"""A conversion in a process of its own, which prints its peak memory (ru_maxrss counts that of the
process that started it)."""

pytestmark = pytest.mark.skipif(
    not os.path.exists("/proc/self/status"), reason="peak memory is read from Linux's /proc"
)


def process(call: str) -> subprocess.Popen[str]:
    source = str(Path(omnizarr.__file__).parent.parent)
    return subprocess.Popen(
        [sys.executable, "-c", CONVERT.format(call=call)], text=True, stdout=subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": source},
    )  # fmt: skip


def peak(call: str) -> int:
    """The peak memory of a call that ends well."""
    with process(call) as running:
        out, _ = running.communicate(timeout=600)
    assert running.returncode == 0
    return int(out)


def killed(call: str, folder: Path, after: int) -> None:
    """Kill a call as soon as it has written so many files."""
    with process(call) as running:
        deadline = time.monotonic() + 120
        while sum(len(files) for _, _, files in os.walk(folder)) < after:
            assert running.poll() is None, "it ended before it could be killed"
            assert time.monotonic() < deadline
            time.sleep(0.002)
        running.send_signal(signal.SIGKILL)
    assert running.returncode == -signal.SIGKILL


def rows(start: int, stop: int, width: int) -> np.ndarray:
    return (np.arange(start, stop, dtype="i8")[:, None] * 7 + np.arange(width)).astype("f8")


def write(file: Path, count: int, width: int, **options: object) -> None:
    """A dataset that is never as a whole in memory."""
    with h5py.File(file, "w") as root:
        made = root.create_dataset("a", (count, width), "f8", **options)
        for start in range(0, count, 4096):
            stop = min(count, start + 4096)
            made[start:stop] = rows(start, stop, width)


def check(array: omnizarr.Array, count: int, width: int) -> None:
    assert array.shape == (count, width)
    for start in range(0, count, 8192):
        stop = min(count, start + 8192)
        np.testing.assert_array_equal(array[start:stop], rows(start, stop, width))


@pytest.mark.slow
@pytest.mark.parametrize("layout", ["contiguous", "chunked"])
def test_a_large_file_is_killed_half_way_and_goes_on(layout: str, tmp_path: Path) -> None:
    count, width = 12_503, 2_000  # 200 MB, a prime number of rows
    options = {"chunked": {"chunks": (64, 500), "compression": 1, "shuffle": True}}
    write(tmp_path / "x.h5", count, width, **options.get(layout, {}))
    target = tmp_path / "x.zarr"
    call = f"omnizarr.convert({str(tmp_path / 'x.h5')!r}, {str(target)!r})"
    killed(call, target, {"contiguous": 8, "chunked": 300}[layout])
    with pytest.raises(omnizarr.errors.NodeNotFoundError):
        omnizarr.open(target, mode="r")
    memory = peak(f"assert {call}.resumed")
    assert memory < MOST_MEMORY
    check(omnizarr.open(target, mode="r")["a"], count, width)


@pytest.mark.slow
@pytest.mark.parametrize("suffix", [".h5", ".nc"])
def test_a_large_array_becomes_a_file_in_bounded_memory(suffix: str, tmp_path: Path) -> None:
    count, width = 12_503, 2_000
    root = omnizarr.group(str(tmp_path / "x.zarr"))
    array = root.create_array("a", shape=(count, width), dtype="f8", chunks=(256, 500))
    for start in range(0, count, 4096):
        array[start : min(count, start + 4096)] = rows(start, min(count, start + 4096), width)
    target = tmp_path / f"x{suffix}"
    call = f"omnizarr.export({str(tmp_path / 'x.zarr')!r}, {str(target)!r}, overwrite=True)"
    with process(call) as running:
        deadline = time.monotonic() + 120
        while not any(name.endswith(".partial") for name in os.listdir(tmp_path)):
            assert running.poll() is None and time.monotonic() < deadline
            time.sleep(0.002)
        running.send_signal(signal.SIGKILL)
    assert not target.exists()
    assert peak(call) < MOST_MEMORY
    assert sorted(os.listdir(tmp_path)) == sorted(["x.zarr", target.name])
    check(omnizarr.virtualize(target)["a"], count, width)


@pytest.mark.long
def test_two_gigabytes_without_chunks(tmp_path: Path) -> None:
    count, width = 125_003, 2_000
    write(tmp_path / "x.h5", count, width)
    target = tmp_path / "x.zarr"
    call = f"omnizarr.convert({str(tmp_path / 'x.h5')!r}, {str(target)!r})"
    killed(call, target, 100)
    assert peak(f"assert {call}.resumed") < MOST_MEMORY
    array = omnizarr.open(target, mode="r")["a"]
    assert (1 << 20) <= np.prod(array.chunks) * 8 <= (32 << 20)
    check(array, count, width)


@pytest.mark.slow
def test_a_large_table_is_read_in_bounded_memory(tmp_path: Path) -> None:
    pytest.importorskip("pyarrow")
    part = "".join(f"{row},{row / 7:.5f},station {row % 100}\n" for row in range(400_000))
    with open(tmp_path / "x.csv", "w") as file:  # 180 MB
        file.write("i,x,name\n")
        for _ in range(16):
            file.write(part)
    target = tmp_path / "x.zarr"
    memory = peak(f"omnizarr.convert({str(tmp_path / 'x.csv')!r}, {str(target)!r})")
    assert memory < MOST_MEMORY
    assert omnizarr.open(target, mode="r")["i"][-1] == 399_999
