from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("distributed")
pytestmark = [pytest.mark.slow, pytest.mark.peers]

ROOT = Path(__file__).resolve().parent.parent.parent


@pytest.mark.parametrize(("executor", "every"), [("dask", "2"), ("processes", "1")])
def test_workers_and_the_job_are_killed(executor: str, every: str, tmp_path: Path) -> None:
    """In an interpreter of its own: a cluster leaves threads and warnings behind."""
    command = [sys.executable, "-m", "tests.campaigns.jobs_cluster", "--executor", executor]
    command += ["--gigabytes", "0.1", "--workers", "2", "--every", every, "--json"]
    done = subprocess.run(
        [*command, "--folder", tmp_path],
        cwd=ROOT, capture_output=True, text=True, timeout=1200,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    found = json.loads(done.stdout.splitlines()[-1])
    assert found["wrong"] == []
    assert found["killed"] > 0
    assert found["resumed"].keys() == {"rechunk", "pyramid"}
    assert 0 < found["peak"] <= found["budget"]


def test_findings_are_not_success(tmp_path: Path) -> None:
    """A worker that takes more than its budget, to begin with."""
    command = [sys.executable, "-m", "tests.campaigns.jobs_cluster", "--executor", "threads"]
    command += ["--gigabytes", "0.1", "--workers", "1", "--budget", "48 MiB", "--json"]
    done = subprocess.run(
        [*command, "--folder", tmp_path],
        cwd=ROOT, capture_output=True, text=True, timeout=1200,
    )  # fmt: skip
    assert done.returncode == 1, done.stdout + done.stderr
    assert "the budget is" in json.loads(done.stdout.splitlines()[-1])["wrong"][0]
