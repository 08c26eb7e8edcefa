"""Changed bytes decode or raise an error of ours; they never crash the interpreter.

Runs in a process of its own, so that a crash is a failed test. c-blosc and libzfp trust what they
read; the checks before them are what is tested here. `pytest -m long` runs a larger campaign.
"""

from __future__ import annotations

import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


needs_core = pytest.mark.skipif(
    find_spec("omnizarr_native") is None, reason="the native core is not installed"
)


def campaign(what: str, count: int, seed: int) -> None:
    done = subprocess.run(
        [sys.executable, "-X", "faulthandler", "-m", "tests.codecs.mutation_worker", what,
         str(count), str(seed)],
        cwd=ROOT, env={"PYTHONPATH": f"{ROOT / 'src'}:{ROOT}", "PATH": "/usr/bin:/bin"},
        capture_output=True, text=True, timeout=600, check=False,
    )  # fmt: skip
    assert done.returncode == 0, f"exit {done.returncode}:\n{done.stderr[-3000:]}"
    decoded, refused = map(int, done.stdout.split())
    assert decoded + refused >= count
    assert refused > 0


@pytest.mark.slow
def test_blosc() -> None:
    campaign("blosc", 6000, 1)


@pytest.mark.slow
def test_zfp() -> None:
    campaign("zfp", 6000, 4)


@pytest.mark.slow
def test_every_codec() -> None:
    campaign("all", 8000, 2)


@pytest.mark.slow
@needs_core
def test_many_at_once() -> None:
    campaign("blocks", 6000, 3)


@pytest.mark.slow
@needs_core
def test_large_chunks_of_files() -> None:
    campaign("files", 500, 5)


@needs_core
@pytest.mark.long
@pytest.mark.parametrize("seed", range(4))
def test_large_chunks_of_files_at_length(seed: int) -> None:
    campaign("files", 10_000, seed)


@needs_core
@pytest.mark.long
@pytest.mark.parametrize("seed", range(10))
def test_many_at_once_at_length(seed: int) -> None:
    campaign("blocks", 50_000, seed)


@pytest.mark.long
@pytest.mark.parametrize("seed", range(10))
def test_blosc_at_length(seed: int) -> None:
    campaign("blosc", 50_000, seed)


@pytest.mark.long
@pytest.mark.parametrize("seed", range(4))
def test_zfp_at_length(seed: int) -> None:
    campaign("zfp", 50_000, seed)


@pytest.mark.long
@pytest.mark.parametrize("seed", range(10))
def test_every_codec_at_length(seed: int) -> None:
    campaign("all", 50_000, seed)
