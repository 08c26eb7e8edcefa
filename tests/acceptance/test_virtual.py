"""GeoTIFF files of GDAL as groups: values, "no data", place on Earth and overviews as GDAL has
them."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import omnizarr

REPOSITORY = Path(__file__).resolve().parents[2]
PYTHON = REPOSITORY / ".peers" / "zarr3" / "bin" / "python"
SCRIPT = Path(__file__).parent / "virtual_peer.py"


@pytest.mark.peers
def test_what_gdal_writes(tmp_path: Path, summary: Callable[[str], None]) -> None:
    if not PYTHON.exists():
        pytest.fail(f"{PYTHON} does not exist: run `make peers`")
    done = subprocess.run([PYTHON, SCRIPT, tmp_path], capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr[-4000:]
    facts = json.loads((tmp_path / "facts.json").read_text())
    assert len(facts) > 60
    for name, fact in facts.items():
        root = omnizarr.virtualize(tmp_path / name)
        array = root["data"]
        values = array[...]
        if array.dimension_names[-1] == "band":
            values = np.moveaxis(values, -1, 0)
        expected = np.load((tmp_path / name).with_suffix(".npy"))
        np.testing.assert_array_equal(values.reshape(expected.shape), expected, err_msg=name)
        assert array.attrs["spatial:transform"] == fact["transform"]
        assert array.attrs["proj:code"] == "EPSG:32633" and array.fill_value == 7
        assert (len(root["overviews"]) if "overviews" in root else 0) == fact["overviews"]
    summary(
        f"virtual       {len(facts)} GeoTIFF and COG files of GDAL {done.stdout.strip()}: values,"
        " no data, transforms and overviews equal"
    )
