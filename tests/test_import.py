"""`import omnizarr` is cheap and starts nothing: what it loads is checked, not the time."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

SOURCE = Path(__file__).resolve().parent.parent / "src"

# Each is loaded by the first call that needs it.
LAZY = [
    "asyncio",
    "concurrent.futures",
    "google_crc32c",
    "hypothesis",
    "importlib.metadata",
    "ml_dtypes",
    "msgpack",
    "multiprocessing",
    "numcodecs",
    "omnizarr.testing",
    "pcodec",
    "pytest",
    "ssl",
    "tempfile",
    "urllib.request",
    "zfpy",
    "zipfile",
]

PROGRAM = """
import json, sys, threading
import numpy
before = set(sys.modules)
import {module}
new = sorted(set(sys.modules) - before)
print(json.dumps({{"new": new, "threads": threading.active_count()}}))
"""


def loaded_by(module: str) -> dict[str, Any]:
    """What importing `module` loads beyond NumPy, in a fresh interpreter."""
    command = [sys.executable, "-c", PROGRAM.format(module=module)]
    environment = {**os.environ, "PYTHONPATH": str(SOURCE)}
    result = subprocess.run(command, capture_output=True, text=True, env=environment)
    assert result.returncode == 0, result.stderr
    report: dict[str, Any] = json.loads(result.stdout)
    return report


@pytest.fixture(scope="module")
def report() -> dict[str, Any]:
    return loaded_by("omnizarr")


@pytest.mark.parametrize("module", LAZY)
def test_is_not_loaded_by_import(report: dict[str, Any], module: str) -> None:
    assert module not in report["new"]


def test_nothing_but_the_standard_library_is_loaded(report: dict[str, Any]) -> None:
    roots = {name.partition(".")[0] for name in report["new"]}
    assert roots - {"omnizarr", "numpy"} - sys.stdlib_module_names == set()


def test_no_thread_is_started(report: dict[str, Any]) -> None:
    assert report["threads"] == 1


THREADS = """
import sys, threading
sys.setswitchinterval(1e-6)
import omnizarr

names = [name for name in omnizarr.__all__ if name not in vars(omnizarr)]
together, failures = threading.Barrier(len(names)), []

def use(name):
    together.wait()
    try:
        getattr(omnizarr, name)
    except BaseException as error:
        failures.append(f"{name}: {error!r}")

threads = [threading.Thread(target=use, args=(name,)) for name in names]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
print(*failures, sep=chr(10), end="")
"""


def test_threads_may_use_names_for_the_first_time_together() -> None:
    """Python lets threads that import each other's modules see half of one: what most calls need
    is imported with the package, and the rest has no cycles."""
    environment = {**os.environ, "PYTHONPATH": str(SOURCE)}
    for _ in range(3):
        command = [sys.executable, "-c", THREADS]
        result = subprocess.run(command, capture_output=True, text=True, env=environment)
        assert (result.returncode, result.stdout) == (0, ""), result.stderr


FORMATS = """
import sys, threading
sys.setswitchinterval(1e-6)
from omnizarr import formats

together, found = threading.Barrier(8), []

def ask():
    together.wait()
    found.extend(formats.get_format(name) for name in (2, 1, "n5"))

threads = [threading.Thread(target=ask) for _ in range(8)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
print(len(found), len(set(map(id, found))))
"""


def test_threads_that_load_a_format_together_get_one_object() -> None:
    environment = {**os.environ, "PYTHONPATH": str(SOURCE)}
    command = [sys.executable, "-c", FORMATS]
    result = subprocess.run(command, capture_output=True, text=True, env=environment)
    assert (result.returncode, result.stdout) == (0, "24 3\n"), result.stderr


READING = """
import json, sys
import omnizarr
sys.modules["numcodecs"] = None  # it cannot be imported
print(omnizarr.open_array(sys.argv[1], mode="r")[1:3, 1].tolist())
print(json.dumps(sorted(sys.modules)))
"""


@pytest.mark.parametrize("compressor", ["blosc", "zstd", "gzip"])
def test_reading_a_local_array_loads_what_it_needs(tmp_path: Path, compressor: str) -> None:
    import omnizarr
    from omnizarr.runtime.native_core import core

    if core() is None:
        pytest.skip("without the native core, numcodecs decodes")
    array = omnizarr.create_array(
        tmp_path, shape=(4, 6), chunks=(2, 3), dtype="i4", compressors=compressor
    )
    array[...] = [[row] * 6 for row in range(4)]
    environment = {**os.environ, "PYTHONPATH": str(SOURCE)}
    result = subprocess.run(
        [sys.executable, "-c", READING, tmp_path], capture_output=True, text=True, env=environment
    )
    assert result.returncode == 0, result.stderr
    values, modules = map(json.loads, result.stdout.splitlines())
    assert values == [1, 2]
    for unused in ("formats.v2", "formats.v3_drafts", "jobs", "stores.zip"):
        assert f"omnizarr.{unused}" not in modules


def test_the_probe_sees_what_is_loaded() -> None:
    assert {"zipfile", "concurrent.futures"} <= set(loaded_by("zipfile, concurrent.futures")["new"])
