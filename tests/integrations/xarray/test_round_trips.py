"""What one of xarray with zarr-python and omnizarr wrote, the other reads, and the same."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.integrations.xarray.round_trips import Case, differences

ROOT = Path(__file__).resolve().parents[3]
PEER = ROOT / ".peers" / "downstream" / "bin" / "python"


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")  # zarr-python's, of what is not in the specification
@pytest.mark.parametrize("case", [Case("plain", 2, True), Case("plain", 3, False)], ids=str)
def test_both_read_what_both_wrote(case: Case, tmp_path: Path) -> None:
    pytest.importorskip("zarr")
    assert differences(case, tmp_path) == []


@pytest.mark.peers
@pytest.mark.parametrize("which", ["newest zarr-python", "zarr-python of this environment"])
def test_the_whole_matrix(which: str, tmp_path: Path) -> None:
    python = str(PEER) if which.startswith("newest") else sys.executable
    if not os.path.exists(python):
        pytest.skip(f"{PEER.parent.parent} is absent: make peers")
    script = Path(__file__).with_name("round_trips.py")
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "src")}
    done = subprocess.run(
        [python, str(script), str(tmp_path)], env=environment, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-2000:]
