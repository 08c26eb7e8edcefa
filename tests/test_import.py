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


def test_the_probe_sees_what_is_loaded() -> None:
    assert {"zipfile", "concurrent.futures"} <= set(loaded_by("zipfile, concurrent.futures")["new"])
