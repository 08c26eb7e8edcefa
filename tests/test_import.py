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
    "dataclasses",
    "google_crc32c",
    "hypothesis",
    "importlib.metadata",
    "json",
    "ml_dtypes",
    "msgpack",
    "multiprocessing",
    "numcodecs",
    "omnizarr.codecs",
    "omnizarr.errors",
    "omnizarr.nodes",
    "omnizarr.stores",
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


def test_few_modules_are_loaded(report: dict[str, Any]) -> None:
    assert [name for name in report["new"] if name.startswith("omnizarr.")] == [
        "omnizarr.config",
        "omnizarr.runtime",
        "omnizarr.runtime.forks",
        "omnizarr.runtime.lazy",
    ]


def test_no_thread_is_started(report: dict[str, Any]) -> None:
    assert report["threads"] == 1


THREADS = """
import importlib, random, sys, threading
import omnizarr

chance = random.Random(sys.argv[1])
sys.setswitchinterval(10 ** chance.uniform(-6, -4))
entries = [name for name in omnizarr.__all__ if name not in vars(omnizarr)] + sys.argv[2].split()
entries = chance.sample(entries, chance.choice([8, 64, len(entries)]))
together, failures = threading.Barrier(len(entries)), []

def use(name):
    together.wait()
    try:
        if name.startswith("omnizarr."):
            importlib.import_module(name)
        else:
            getattr(omnizarr, name)
    except BaseException as error:
        failures.append(f"{name}: {error!r}")

threads = [threading.Thread(target=use, args=(name,)) for name in entries]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
print(*failures, sep=chr(10), end="")
"""
FOLDERS = (
    "api",
    "codecs",
    "conventions",
    "engine",
    "formats",
    "indexing",
    "jobs",
    "model",
    "nodes",
    "stores",
)


@pytest.mark.parametrize("modules", [False, True], ids=["names", "and modules"])
def test_threads_may_use_names_for_the_first_time_together(modules: bool) -> None:
    """Python lets threads that import each other's modules see half of one: there are no cycles
    (see test_import_cycles.py)."""
    files = [file for name in FOLDERS for file in (SOURCE / "omnizarr" / name).rglob("*.py")]
    names = [".".join(file.relative_to(SOURCE).with_suffix("").parts) for file in files]
    entries = " ".join(name.removesuffix(".__init__") for name in names) if modules else ""
    environment = {**os.environ, "PYTHONPATH": str(SOURCE)}
    for seed in range(3):
        command = [sys.executable, "-c", THREADS, str(seed), entries]
        result = subprocess.run(command, capture_output=True, text=True, env=environment)
        assert (result.returncode, result.stdout) == (0, ""), result.stderr


FORK = """
import os, random, sys, threading, time
import omnizarr

def use():
    assert omnizarr.open_array(sys.argv[1], mode="r")[1, 1] == 7

thread = threading.Thread(target=use)
thread.start()
time.sleep(float(sys.argv[2]))
child = os.fork()
if child == 0:
    use()
    os._exit(0)
thread.join()
print(os.waitpid(child, 0)[1])
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork")
@pytest.mark.parametrize("milliseconds", [0, 3, 10, 30, 60, 100])
def test_a_fork_while_another_thread_imports(tmp_path: Path, milliseconds: int) -> None:
    import omnizarr

    omnizarr.save(tmp_path, [[7, 7], [7, 7]])
    environment = {**os.environ, "PYTHONPATH": str(SOURCE)}
    command = [sys.executable, "-W", "ignore", "-c", FORK, str(tmp_path), str(milliseconds / 1000)]
    result = subprocess.run(command, capture_output=True, text=True, env=environment, timeout=60)
    assert (result.returncode, result.stdout) == (0, "0\n"), result.stderr


CONFIG = """
import omnizarr
before = omnizarr.config
import omnizarr.config
from omnizarr.config import Config, config
print(omnizarr.config is before is config, isinstance(config, Config))
"""


def test_config_is_the_object_not_its_module() -> None:
    environment = {**os.environ, "PYTHONPATH": str(SOURCE)}
    result = subprocess.run(
        [sys.executable, "-c", CONFIG], capture_output=True, text=True, env=environment
    )
    assert result.stdout == "True True\n", result.stderr


STAR = """
from omnizarr import *
import omnizarr
print([name for name in omnizarr.__all__ if globals().get(name) is not getattr(omnizarr, name)])
"""


def test_all_names_can_be_imported_at_once() -> None:
    environment = {**os.environ, "PYTHONPATH": str(SOURCE)}
    result = subprocess.run(
        [sys.executable, "-c", STAR], capture_output=True, text=True, env=environment
    )
    assert result.stdout == "[]\n", result.stderr


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


UNUSED = [
    *("api.ignored_arguments", "codecs.sharding", "engine.locks", "engine.shard_parts"),
    *("engine.writing", "formats.v2", "formats.v3_drafts", "jobs", "nodes.arrow"),
    *("nodes.attributes", "nodes.creation.arrays", "nodes.creation.storing", "nodes.dask.tokens"),
    *("nodes.data.writing", "nodes.group", "nodes.info", "nodes.resizing", "nodes.views"),
    *("stores.mapping", "stores.memory", "stores.secrets", "stores.zip"),
]


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
    for unused in UNUSED:
        assert f"omnizarr.{unused}" not in modules
    assert len([name for name in modules if name.startswith("omnizarr.")]) < 130


def test_the_probe_sees_what_is_loaded() -> None:
    assert {"zipfile", "concurrent.futures"} <= set(loaded_by("zipfile, concurrent.futures")["new"])


@pytest.mark.parametrize("name", ["api", "engine", "formats", "indexing", "model", "nodes"])
def test_packages_are_attributes_as_well(name: str) -> None:
    program = f"import omnizarr; print(omnizarr.{name}.__name__)"
    environment = {**os.environ, "PYTHONPATH": str(SOURCE)}
    command = [sys.executable, "-c", program]
    done = subprocess.run(command, capture_output=True, text=True, env=environment)
    assert (done.returncode, done.stdout) == (0, f"omnizarr.{name}\n"), done.stderr
