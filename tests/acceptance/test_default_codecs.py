"""The table "default × reader" of docs/formats.md: who reads what is written without a word about
codecs in format 3, and who reads `compressors="fast"`."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import omnizarr
from tests.acceptance.fixtures import REPOSITORY

pytestmark = pytest.mark.peers

HERE = Path(__file__).parent
DTYPES = ("f4", "f8", "i2", "u1", "u2", "i8")
MAKERS: dict[str, dict[str, Any]] = {
    "default": {},
    "fast": {"compressors": "fast"},
    "default-sharded": {"shards": (32, 32)},
    "fast-sharded": {"compressors": "fast", "shards": (32, 32)},
}
MISSING = {"gdal": {"fast": "crc32c", "default-sharded": "sharding", "fast-sharded": "sharding"}}
"""What a library does not read, and the codec that its error names."""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("defaults")
    values = (np.arange(64 * 48) % 251).reshape(64, 48)
    for name, arguments in MAKERS.items():
        for dtype in DTYPES:
            if name == "fast" and dtype == "u1":
                continue  # bytes are not shuffled: it would be the default
            omnizarr.create_array(
                made / f"{name}.{dtype}", data=values.astype(dtype), chunks=(16, 16), **arguments
            )
    return made


def read(command: list[Any]) -> dict[str, dict[str, str | None]]:
    done = subprocess.run(command, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr[-4000:]
    outcomes: dict[str, dict[str, str | None]] = json.loads(done.stdout.splitlines()[-1])
    return outcomes


def check(library: str, outcomes: dict[str, str | None]) -> None:
    for array, outcome in outcomes.items():
        codec = MISSING.get(library, {}).get(array.partition(".")[0])
        if codec is None:
            assert outcome is None, (library, array, outcome)
        else:
            assert outcome is not None and codec in outcome, (library, array, outcome)


def test_python(folder: Path) -> None:
    peer = REPOSITORY / ".peers" / "zarr3" / "bin" / "python"
    if not peer.exists():
        pytest.fail(f"{peer} does not exist: run `make peers`")
    found = read([peer, HERE / "default_peer.py", folder])
    assert {"zarr_python", "tensorstore", "zarrs"} <= set(found)
    for library, outcomes in found.items():
        check(library, outcomes)


def test_gdal(folder: Path) -> None:
    peer = REPOSITORY / ".peers" / "zarr3" / "bin" / "python"
    for python in (Path(sys.executable), peer):
        found = read([python, HERE / "default_peer.py", folder]) if python.exists() else {}
        if "gdal" in found:
            check("gdal", found["gdal"])
            return
    pytest.skip("rasterio with GDAL 3.12, which needs Python 3.12, is absent")


def test_zarrita(folder: Path) -> None:
    environment = REPOSITORY / ".peers" / "zarrita"
    node = shutil.which("node")
    if node is None or not environment.exists():
        pytest.skip("zarrita.js is absent: no Node.js found when `make peers` ran")
    check("zarrita", read([node, HERE / "default_peer.mjs", folder, environment])["zarrita"])
