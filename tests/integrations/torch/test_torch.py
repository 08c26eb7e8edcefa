"""PyTorch, JAX and TensorFlow on omnizarr, in their own environment: `make peers` makes it.

The tests are those of `cases_*.py`, which import these packages.
"""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

pytestmark = pytest.mark.peers
HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[2]
PYTHON = ROOT / ".peers" / "torch" / "bin" / "python"
CASES = sorted(path.name for path in HERE.glob("cases_*.py"))


@pytest.mark.parametrize("name", CASES)
def test_cases(name: str) -> None:
    if not PYTHON.exists():
        pytest.fail(f"{PYTHON} does not exist: run `make peers`")
    options = ["--noconftest", "-p", "no:cacheprovider", "-q", "-c", str(HERE / "cases.ini")]
    done = subprocess.run(
        [str(PYTHON), "-m", "pytest", *options, "--rootdir", str(ROOT), str(HERE / name)],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": f"{ROOT / 'src'}:{ROOT}", "TF_CPP_MIN_LOG_LEVEL": "3"},
        capture_output=True,
        text=True,
        timeout=600,
    )
    assert done.returncode == 0, done.stdout[-6000:] + done.stderr[-2000:]
