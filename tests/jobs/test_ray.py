"""Jobs on a Ray cluster, in the environment `.peers/ray`."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

import pytest

pytestmark = [pytest.mark.slow, pytest.mark.peers]

ROOT = Path(__file__).resolve().parents[2]


def test_jobs_on_ray(tmp_path: Path) -> None:
    python = ROOT / ".peers" / "ray" / "bin" / "python"
    if not python.exists():
        pytest.fail(f"{python} does not exist: run `make peers`")
    environment = os.environ | {
        "PYTHONPATH": str(ROOT / "src"),
        "RAY_USAGE_STATS_ENABLED": "0",
        "RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO": "0",
    }
    done = subprocess.run(
        [python, Path(__file__).with_name("ray_job.py"), tmp_path],
        env=environment, capture_output=True, text=True, timeout=600,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    found = json.loads(done.stdout.splitlines()[-1])
    assert found == {"equal": True, "ok": True, "tasks": True, "in_flight": 4, "error": True}
