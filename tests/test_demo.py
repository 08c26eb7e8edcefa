"""The demonstration runs, and would say so if a value differed."""

from __future__ import annotations

import json
import os
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow

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
    assert sorted(tmp_path.iterdir()) == [store], "what was converted is not left behind"
    rows = {row["zarr_format"]: row for row in report["conversions"]}
    assert list(rows) == [0, 1, 2, "3-draft2019", "3-draft2020-09", "3-draft2020-10", "n5"]
    assert all(row["ok"] for row in rows.values())
    assert all(row["copied"] + row["reencoded"] == row["arrays"] for row in rows.values())
    assert (rows[2]["arrays"], rows[2]["left_out"], rows[2]["dropped"]) == (7, [], [])
    for zarr_format in (0, 1):
        assert rows[zarr_format]["dropped"] == ["groups"]
        assert rows[zarr_format]["left_out"] == ["stations/name"]
    sharded = [node["path"] for node in report["nodes"] if node.get("shards")]
    assert sharded == ["precipitation"]


def test_the_last_lines_are_commands_that_work(tmp_path: Path) -> None:
    store = tmp_path / "my climate.zarr"
    done = demo("--store", str(store))
    assert done.returncode == 0, done.stderr
    assert " 1 values" not in done.stdout and " 1 value " in done.stdout
    commands = [line[len("  look at it  ") :] for line in done.stdout.splitlines()[-2:]]
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "src")}
    looked = subprocess.run(shlex.split(commands[0]), capture_output=True, env=environment)
    assert looked.returncode == 0 and b"2 groups, 7 arrays" in looked.stdout, looked.stderr
    assert shlex.split(commands[1]) == ["rm", "-r", str(store)]


def test_an_existing_folder_is_refused(tmp_path: Path) -> None:
    done = demo("--store", str(tmp_path))
    assert done.returncode == 2
    assert "exists already" in done.stderr
