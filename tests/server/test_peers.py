"""Other libraries read what is served as formats 2 and 3, whatever it is stored as."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import omnizarr as zarr
from tests.server.conftest import Place

pytestmark = pytest.mark.peers
HERE = Path(__file__).parent
PEERS = HERE.parent.parent / ".peers"
ZARR3 = PEERS / "zarr3" / "bin" / "python"
ZARRITA = PEERS / "zarrita"
VALUES = np.arange(1, 201.0).reshape(10, 20)  # xarray masks 0, the fill value
FORMATS: list[Any] = [0, 1, 2, 3, "shards", "n5"]


def make(folder: Path, kind: Any) -> list[str]:
    """A store of some format, and the paths of its arrays: the root alone in the oldest ones."""
    if kind in (0, 1):
        array = zarr.create((10, 20), chunks=(4, 6), dtype="f8", store=folder, zarr_format=kind)
        array[...] = VALUES
        return ["/"]
    root = zarr.open_group(folder, mode="w", zarr_format=3 if kind == "shards" else kind)
    root.attrs["title"] = "trial"
    # With dimension names, so that xarray opens it.
    names = {"dimension_names": ["y", "x"]} if kind != "n5" else {}
    sharded: Any = {"shards": (8, 12)} if kind == "shards" else {}
    for group, name, sign in ((root, "plain", 1), (root.create_group("deep"), "b", -1)):
        array = group.create_array(
            name, shape=(10, 20), chunks=(4, 6), dtype="f8", **names, **sharded
        )
        if kind == "n5":
            array.attrs["_ARRAY_DIMENSIONS"] = ["y", "x"]
        array[...] = sign * VALUES
    return ["plain", "deep/b"]


def expected(path: str) -> dict[str, Any]:
    values = -VALUES if path == "deep/b" else VALUES
    part = values[1:3, 1:3].ravel().tolist()
    return {"shape": [10, 20], "sum": float(values.sum()), "part": part}


def run(*command: object) -> None:
    if shutil.which(str(command[0])) is None:
        pytest.fail(f"{command[0]} does not exist: run `make peers`")
    environment = {k: v for k, v in os.environ.items() if k not in ("PYTHONPATH", "PYTHONHOME")}
    environment |= {"GDAL_DISABLE_READDIR_ON_OPEN": "EMPTY_DIR"}
    if str(command[0]) == sys.executable:  # zarr-python looks into the package of our plug-ins
        environment["PYTHONPATH"] = str(Path(zarr.__file__).parent.parent)
    done = subprocess.run(
        [str(word) for word in command], capture_output=True, text=True, env=environment,
        timeout=600,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-3000:]


@pytest.mark.parametrize("kind", FORMATS)
@pytest.mark.parametrize("library", ["zarr_python", "tensorstore", "xarray", "gdal", "zarrita"])
def test_peers(listen: Callable[..., Place], tmp_path: Path, library: str, kind: Any) -> None:
    paths = make(tmp_path / "x.zarr", kind)
    if library == "xarray" and paths == ["/"]:
        pytest.skip("xarray opens groups, and this format has none")
    place = listen(tmp_path / "x.zarr")
    # GDAL 3.12 has no shards: as format 2 it reads them all the same.
    for target in (2,) if (library, kind) == ("gdal", "shards") else (2, 3):
        url, out = f"{place.url}v{target}", tmp_path / "out.json"
        if library == "zarrita":
            node = shutil.which("node")
            if node is None or not ZARRITA.is_dir():
                pytest.skip("server zarrita.js is absent: it needs Node.js and npm (`make peers`)")
            script = HERE.parent / "acceptance" / "http_peer.mjs"
            run(node, script, ZARRITA, "read", url, out, *paths)
        else:
            python = sys.executable if library == "xarray" else ZARR3
            if library == "gdal" and not has_rasterio():
                pytest.skip("rasterio with GDAL 3.12 needs Python 3.12")
            run(python, HERE / "read_peer.py", library, url, target, out, *paths)
        found = json.loads(out.read_text())
        assert found == {path: expected(path) for path in paths}


def has_rasterio() -> bool:
    command = [str(ZARR3), "-c", "import rasterio"]
    return subprocess.run(command, capture_output=True).returncode == 0
