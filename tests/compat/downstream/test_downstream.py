"""Libraries that import zarr run on omnizarr, each in an interpreter of its own."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

pytestmark = pytest.mark.peers
HERE = Path(__file__).resolve().parent
REPOSITORY = HERE.parents[2]
PYTHON = REPOSITORY / ".peers" / "downstream" / "bin" / "python"
EXAMPLES = sorted(path.stem for path in (HERE / "examples").glob("*.py"))


@pytest.mark.parametrize("name", EXAMPLES)
def test_a_library_runs_on_omnizarr(name: str, tmp_path: Path) -> None:
    if not PYTHON.exists():
        pytest.skip("there is no .peers/downstream: make peers")
    environment = {**os.environ, "PYTHONPATH": str(REPOSITORY / "src")}
    command = [PYTHON, "-W", "ignore", HERE / "runner.py", HERE / f"examples/{name}.py", tmp_path]
    done = subprocess.run(
        [str(part) for part in command],
        capture_output=True,
        text=True,
        env=environment,
        check=False,
    )
    assert done.stdout.endswith("passed\n"), done.stdout + done.stderr


def test_the_page_names_every_example() -> None:
    page = (REPOSITORY / "docs" / "howto" / "install.md").read_text(encoding="utf-8")
    assert [name for name in EXAMPLES if f"`{name}.py`" not in page] == []
