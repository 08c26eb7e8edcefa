from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("distributed")
pytestmark = [pytest.mark.slow, pytest.mark.peers]

ROOT = Path(__file__).resolve().parent.parent.parent


def test_workers_are_killed_and_nothing_is_torn(tmp_path: Path) -> None:
    """In an interpreter of its own: a cluster leaves threads and warnings behind."""
    command = [sys.executable, "-m", "tests.campaigns.dask_cluster"]
    done = subprocess.run(
        [*command, "--gigabytes", "0.064", "--json", "--folder", tmp_path],
        cwd=ROOT, capture_output=True, text=True, timeout=1200,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    found = json.loads(done.stdout.splitlines()[-1])
    assert found["wrong"] == []
    assert 1 <= len(found["killed"]) <= 3
    assert found["bytes"] >= 64_000_000
