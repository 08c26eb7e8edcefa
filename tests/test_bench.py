"""The benchmark: a small run ends well, and a library that reads other values is found out."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.peers

ROOT = Path(__file__).resolve().parent.parent
BENCHMARKS = ROOT / "benchmarks"
PEER = ROOT / ".peers" / "zarr3" / "bin" / "python"


def bench(*arguments: str) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "src"), "PYTHONIOENCODING": "utf-8"}
    return subprocess.run(
        [sys.executable, str(BENCHMARKS / "bench.py"), "--quick", "--rounds", "1", *arguments],
        capture_output=True, encoding="utf-8", env=environment, timeout=300, check=False,
    )  # fmt: skip


def test_a_small_run(tmp_path: Path) -> None:
    """Read and write, with a peer in this environment and two in environments of their own."""
    figures, page = tmp_path / "figures.json", tmp_path / "page.md"
    page.write_text("before\n<!-- figures -->\nold\n<!-- end of figures -->\nafter\n")
    libraries = ("omnizarr", "floor", "zarr", "zarrista", "zarr2")
    done = bench(
        "--only", "400 B", "--libraries", *libraries, "--python", f"zarrista={PEER}",
        "--cores", "1", "--json", str(figures), "--markdown", str(page), "--dir", str(tmp_path),
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    rows = json.loads(figures.read_text(encoding="utf-8"))["cores"]["1"]
    assert [row["label"] for row in rows] == [
        f"{verb} 625 × 400 B, raw" for verb in ("read", "write")
    ]
    for row in rows:
        assert set(row["best"]) == {*libraries}
        assert set(row["memory"]) == {*libraries} - {"floor"}
    text = page.read_text(encoding="utf-8")
    assert text.startswith("before\n<!-- figures -->\n") and text.endswith("-->\nafter\n")
    assert "old" not in text and "best peer ÷ omnizarr" in text and "geometric mean" in text
    assert [path.name for path in tmp_path.iterdir() if path.is_dir()] == []


def test_scaling_and_a_missing_peer(tmp_path: Path) -> None:
    done = bench(
        "--scaling", "1000", "--only", "shards", "--libraries", "omnizarr", "floor", "zarr2",
        "--python", f"zarr2={sys.executable}",
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert "without zarr2: ImportError: zarr 3" in done.stderr
    assert "| read 1,000 × 100 B in 1 shards, raw, uint8" in done.stdout


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--cores", "1,100000"), "--cores 1,100000: this process may use"),
        (("--cores", "few"), "takes numbers with commas between them"),
        (("--only", "no such row"), "no row has a label"),
        (("--python", "zarr"), "give NAME=PATH"),
    ],
)
def test_what_cannot_be_done_is_said(arguments: tuple[str, ...], message: str) -> None:
    done = bench(*arguments)
    assert done.returncode != 0
    assert message in done.stderr


DAMAGE = """
import sys
from pathlib import Path
sys.path.insert(0, sys.argv[1])
from rows import Workspace, all_rows
row = next(row for row in all_rows(quick=True) if row.label == sys.argv[3])
space = Workspace(Path(sys.argv[2]))
space.make(row.layout, {3})
chunk = space.array(row.layout, 3) / "c" / "0" / "0"
chunk.write_bytes(bytes(400))
"""


def test_other_values_are_found(tmp_path: Path) -> None:
    label = "read 625 × 400 B, raw"
    made = [sys.executable, "-c", DAMAGE, str(BENCHMARKS), str(tmp_path), label]
    subprocess.run(made, check=True)
    questions: list[dict[str, Any]] = [
        {"do": "hello"},
        {"do": "prepare", "label": label, "quick": True, "scaling": None},
        {"do": "turn", "cpu": False},
    ]
    worker = subprocess.run(
        [sys.executable, str(BENCHMARKS / "worker.py"), "omnizarr", str(tmp_path)],
        input="".join(json.dumps(question) + "\n" for question in questions),
        capture_output=True, encoding="utf-8", check=True, timeout=60,
        env={**os.environ, "PYTHONPATH": str(ROOT / "src")},
    )  # fmt: skip
    answers = [json.loads(line) for line in worker.stdout.splitlines()]
    assert answers[:2] == [{**answers[0], "title": "omnizarr"}, {"can": True}]
    assert answers[2] == {
        "error": f"AssertionError: omnizarr has other values than the data: {label}"
    }
