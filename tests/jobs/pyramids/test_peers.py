"""Other libraries read our pyramids, and compute the same where the method is the same."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import omnizarr as zarr
from tests.jobs.pyramids.support import image, whole

pytestmark = pytest.mark.peers

PEERS = Path(__file__).resolve().parents[3] / ".peers"

OME = """
import json, sys, warnings
warnings.simplefilter("ignore")
import numpy as np, zarr
from ome_zarr.io import parse_url
from ome_zarr.reader import Multiscales, Reader
node = next(iter(Reader(parse_url(sys.argv[1]))()))
levels = [np.asarray(level) for level in node.data]
if sys.argv[2] == "0.5":
    from ome_zarr_models.v05 import Image
else:
    from ome_zarr_models.v04 import Image
Image.from_zarr(zarr.open_group(sys.argv[1], mode="r"))
print(json.dumps({
    "multiscales": any(isinstance(spec, Multiscales) for spec in node.specs),
    "shapes": [level.shape for level in levels],
    "sums": [int(level.astype("i8").sum()) for level in levels],
    "axes": [axis["name"] for axis in node.metadata["axes"]],
    "placed": node.metadata["coordinateTransformations"],
}))
"""

COARSEN = """
import sys, warnings
warnings.simplefilter("ignore")
import numpy as np, xarray
from ndpyramid import pyramid_coarsen
data = xarray.open_zarr(sys.argv[1], consolidated=False)
made = pyramid_coarsen(data, factors=[1, 2, 4, 8], dims=["y", "x"], boundary="pad")
np.savez(sys.argv[2], *[made[str(level)]["red"].values for level in range(4)],
         x=made["3"]["x"].values)
"""

OPENED = """
import json, sys, warnings
warnings.simplefilter("ignore")
import xarray
tree = xarray.open_datatree(sys.argv[1], engine="zarr", consolidated=False)
print(json.dumps([dict(tree[str(level)]["red"].sizes) for level in range(4)]))
"""


def asked(environment: str, script: str, *arguments: object) -> str:
    python = PEERS / environment / "bin" / "python"
    if not python.exists():
        pytest.fail(f"{python} does not exist: run `make peers`")
    done = subprocess.run(
        [python, "-c", script, *map(str, arguments)], capture_output=True, text=True, timeout=200
    )
    assert done.returncode == 0, done.stderr[-3000:]
    return done.stdout


@pytest.mark.parametrize(("zarr_format", "version"), [(2, "0.4"), (3, "0.5")])
def test_ome_zarr_py_opens_them(tmp_path: Path, zarr_format: int, version: str) -> None:
    """And ome-zarr-models finds them valid."""
    values = image((3, 130, 201))
    array = zarr.array(values, chunks=(1, 64, 64), zarr_format=zarr_format)
    options: Any = {"axes": "cyx", "scale": {"y": 0.5, "x": 0.5}, "levels": 4}
    zarr.pyramid(array, tmp_path / "a.zarr", convention="ome", **options)
    found: dict[str, Any] = json.loads(asked("downstream", OME, tmp_path / "a.zarr", version))
    expected = whole(values, (1, 2, 2), 4, "mean", None)
    assert found["multiscales"]
    assert found["shapes"] == [list(level.shape) for level in expected]
    assert found["sums"] == [int(level.astype("i8").sum()) for level in expected]
    assert found["axes"] == ["c", "y", "x"]
    assert found["placed"][1] == [
        {"type": "scale", "scale": [1.0, 1.0, 1.0]},
        {"type": "translation", "translation": [0.0, 0.25, 0.25]},
    ]


def test_ndpyramid_computes_the_same(tmp_path: Path) -> None:
    """Means over NaN and over edges that do not divide evenly; xarray opens the levels."""
    values = image((101, 75), "f8")
    values[20:60, 30:41] = np.nan
    root = zarr.open_group(tmp_path / "a.zarr", mode="w")
    root.create_array("red", data=values, chunks=(32, 32), dimension_names=("y", "x"))
    root.create_array("x", data=np.arange(75.0), dimension_names=("x",))
    zarr.pyramid(tmp_path / "a.zarr", tmp_path / "b.zarr", levels=4, convention="ndpyramid")
    asked("pyramids", COARSEN, tmp_path / "a.zarr", tmp_path / "levels.npz")
    group = zarr.open_group(tmp_path / "b.zarr", mode="r")
    with np.load(tmp_path / "levels.npz") as theirs:
        for level in range(4):
            np.testing.assert_allclose(
                group[f"{level}/red"][...], theirs[f"arr_{level}"], rtol=1e-14
            )
        # Our last coordinate is that of a whole block.
        np.testing.assert_allclose(group["3/x"][:-1], theirs["x"][:-1], rtol=1e-14)
    sizes = json.loads(asked("pyramids", OPENED, tmp_path / "b.zarr"))
    assert sizes[3] == {"y": 13, "x": 10}


def test_scikit_image_computes_the_same(tmp_path: Path) -> None:
    script = """
import sys, numpy as np
from skimage.measure import block_reduce
values = np.load(sys.argv[1])
names = ("max", "min", "mean")
np.savez(sys.argv[2], **{name: block_reduce(values, (2, 2), getattr(np, name)) for name in names})
"""
    values = image((128, 90), "f4")
    np.save(tmp_path / "a.npy", values)
    asked("downstream", script, tmp_path / "a.npy", tmp_path / "b.npz")
    with np.load(tmp_path / "b.npz") as theirs:
        for method in ("max", "min", "mean"):
            store = zarr.MemoryStore()
            zarr.pyramid(zarr.array(values, chunks=32), store, levels=2, method=method)  # type: ignore[arg-type]
            np.testing.assert_allclose(zarr.open_group(store)["1"][...], theirs[method], rtol=1e-6)
