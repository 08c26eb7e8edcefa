"""zarr-python reads what was converted and migrated; each release in an environment of its own."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import omnizarr as zarr

pytestmark = pytest.mark.peers

PEERS = Path(__file__).resolve().parents[3] / ".peers"

READER = """
import json, sys, warnings
warnings.simplefilter("ignore")
import numpy as np, zarr
found = {}
root = zarr.open_group(sys.argv[1], mode="r")
def visit(group, prefix):
    for name, array in group.arrays():
        values = np.asarray(array[...])
        number = values.dtype.kind in "iuf"
        seen = values.astype("f8").sum() if number else [str(v) for v in values.ravel()]
        found[prefix + name] = [list(values.shape), seen, dict(array.attrs)]
    for name, child in group.groups():
        visit(child, prefix + name + "/")
visit(root, "")
print(json.dumps({"version": zarr.__version__, "arrays": found, "attributes": dict(root.attrs)}))
"""


def read_by(environment: str, folder: Path) -> dict[str, Any]:
    """What a peer sees in a folder."""
    python = PEERS / environment / "bin" / "python"
    if not python.exists():
        pytest.fail(f"{python} does not exist: run `make peers`")
    done = subprocess.run(
        [python, "-c", READER, str(folder)], capture_output=True, text=True, timeout=100
    )
    assert done.returncode == 0, done.stderr[-3000:]
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def sums(root: zarr.Group) -> dict[str, Any]:
    """What it should see of the arrays of numbers."""
    return {
        path: [list(node.shape), float(node[...].astype("f8").sum()), dict(node.attrs)]
        for path, node in root.members(max_depth=None)
        if isinstance(node, zarr.Array) and node.dtype.kind in "iuf"
    }


@pytest.mark.parametrize(
    ("environment", "version", "source", "target"),
    [("zarr3", "3.", 2, 3), ("zarr3", "3.", 3, 2), ("zarr2", "2.18", 3, 2)],
)
def test_migrated(tmp_path: Path, environment: str, version: str, source: int, target: int) -> None:
    folder = tmp_path / "migrated.zarr"
    root = zarr.open_group(folder, mode="w", zarr_format=source, attributes={"title": "é"})
    keys = {"chunk_key_encoding": ("v2", "/")} if source == 3 else {"dimension_separator": "/"}
    data = np.arange(60, dtype="<i4").reshape(6, 10)
    sparse = root.create_array(
        "a/sparse", shape=(6, 10), dtype="<i4", chunks=(4, 3), fill_value=5,
        attributes={"u": 1}, compressors="zstd", **keys,
    )  # fmt: skip
    sparse[:3] = data[:3]
    order = {"order": "F"} if source == 2 else {}
    root.create_array(
        "b", data=data.astype(">f4"), chunks=(4, 4), compressors="gzip", **order, **keys
    )
    root.create_array("text", data=["x", "yy"], dtype=str, chunks=1, compressors="zstd", **keys)
    zarr.consolidate_metadata(folder)
    expected = sums(root)
    zarr.convert(folder, zarr_format=target, remove_source=True)
    found = read_by(environment, folder)
    assert found["version"].startswith(version)
    assert found["attributes"] == {"title": "é"}
    assert found["arrays"].pop("text")[:2] == [[2], ["x", "yy"]]
    assert found["arrays"] == expected


@pytest.mark.parametrize("order", ["<", ">"])
def test_converted_from_2_to_3(tmp_path: Path, order: str) -> None:
    """Codecs that only numcodecs has, and byte orders, mean there what they mean here."""
    root = zarr.open_group(tmp_path / "in", mode="w", zarr_format=2)
    data = (np.arange(60).reshape(6, 10) ** 2).astype(f"{order}i4")
    delta, shuffle = zarr.Delta(f"{order}i4"), zarr.Shuffle(elementsize=0)
    for name, options in {
        "plain": {"compressor": None},
        "delta": {"filters": [delta], "compressor": zarr.Zlib(1)},
        "delta F": {"filters": [delta], "compressor": zarr.BZ2(1), "order": "F"},
        "shuffle": {"filters": [shuffle], "compressor": zarr.Zlib(1)},
        "blosc": {"compressor": zarr.Blosc("lz4", shuffle=2)},
        "lz4": {"compressor": zarr.LZ4()},
        "checksum": {"filters": [zarr.Zstd(3)], "compressor": zarr.Adler32()},
    }.items():
        chosen: dict[str, Any] = options
        root.create_array(name, data=data, chunks=(4, 3), **chosen)
    done = zarr.convert(tmp_path / "in", tmp_path / "out", zarr_format=3)
    # Readers of format 3 take the order of the bytes for that of the filter's own types.
    again = {row.path for row in done.nodes if row.action == "re-encode"}
    assert again == ({"delta", "delta F"} if order == ">" else set())
    assert read_by("zarr3", tmp_path / "out")["arrays"] == sums(root)
    zarr.convert(tmp_path / "out", tmp_path / "back", zarr_format=2)
    assert read_by("zarr2", tmp_path / "back")["arrays"] == sums(root)


@pytest.mark.parametrize("source", [0, 1, "3-draft2019", "3-draft2020-10", "n5"])
def test_converted_from_older_formats(tmp_path: Path, source: int | str) -> None:
    data = np.arange(60, dtype="<i4").reshape(6, 10)
    array = zarr.create_array(
        tmp_path / "in", shape=data.shape, dtype="<i4", chunks=(4, 3), zarr_format=source,
        compressors=[{"id": "blosc", "cname": "lz4"}], attributes={"u": 1},
    )  # fmt: skip
    array[:3] = data[:3]
    for target, environment in ((3, "zarr3"), (2, "zarr2")):
        out = tmp_path / f"out{target}"
        zarr.create_group(out, zarr_format=target)
        zarr.convert(tmp_path / "in", out, destination_path="x", zarr_format=target)
        assert read_by(environment, out)["arrays"] == {
            "x": [[6, 10], float(data[:3].sum()), {"u": 1}]
        }
