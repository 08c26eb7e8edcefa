"""The demonstration runs, and would say so if a value differed."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


def demo(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(ROOT / "examples" / "demo.py"), *arguments]
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "src"), "PYTHONIOENCODING": "utf-8"}
    return subprocess.run(command, capture_output=True, encoding="utf-8", env=environment)


def test_everything_agrees(tmp_path: Path) -> None:
    store = tmp_path / "climate.zarr"
    done = demo("--json", "--store", str(store))
    assert done.returncode == 0, done.stderr
    report = json.loads(done.stdout)
    assert report["ok"] is True
    assert len(report["checks"]) == 11
    assert report["store"] == str(store)
    sharded = [node["path"] for node in report["nodes"] if node.get("shards")]
    assert sharded == ["precipitation"]


def test_an_existing_folder_is_refused(tmp_path: Path) -> None:
    done = demo("--store", str(tmp_path))
    assert done.returncode == 2
    assert "exists already" in done.stderr
