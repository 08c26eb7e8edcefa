"""Chunk lengths of 0, true and 4.0, and lists in a regular grid, as zarr-python stored them: read,
written and then read by zarr-python 3.4, which found each of them again."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import omnizarr

pytestmark = [pytest.mark.peers, pytest.mark.filterwarnings("ignore:Array .* read as")]

PEERS = Path(__file__).resolve().parents[2] / ".peers"
WRITE = """
import sys, zarr
for name, shape, chunks in (("no", (0, 4), False), ("zero", (3,), (0,)), ("all", (0,), -1)):
    path = f"{sys.argv[1]}/{name}"
    zarr.open(path, mode="w", shape=shape, chunks=chunks, dtype="i2", compressor=None)
"""
READ = """
import sys, json, warnings, zarr
warnings.simplefilter("error")
zarr.config.set({"array.rectilinear_chunks": True})
found = {}
for name in sys.argv[2:]:
    array = zarr.open_array(f"{sys.argv[1]}/{name}", mode="r")
    lengths = [list(map(int, sizes)) for sizes in array.write_chunk_sizes]
    found[name] = [lengths, array[...].tolist()]
print(json.dumps(found))
"""


def peer(name: str, script: str, *arguments: object) -> str:
    python = PEERS / name / "bin" / "python"
    if not python.exists():
        pytest.fail(f"{python} does not exist: run `make peers`")
    command = [str(python), "-c", script, *map(str, arguments)]
    result = subprocess.run(command, capture_output=True, text=True)
    assert result.returncode == 0, result.stderr[-4000:]
    return result.stdout


def read_by_zarr_python(folder: Path, *names: str) -> dict[str, Any]:
    """Chunk lengths and values; a document that is not valid would be a warning, which is an
    error there."""
    found: dict[str, Any] = json.loads(peer("zarr3", READ, folder, *names))
    return found


def test_what_zarr_python_2_wrote(tmp_path: Path) -> None:
    peer("zarr2", WRITE, tmp_path)
    chunks = {"no": [0, 4], "zero": [0], "all": [0]}
    for name, stored in chunks.items():
        assert json.loads((tmp_path / name / ".zarray").read_text())["chunks"] == stored
        levels = [finding.level for finding in omnizarr.check(tmp_path / name)]
        assert levels == ["dialect"]
        array = omnizarr.open_array(tmp_path / name, "r+")
        array.append(np.full((2, *array.shape[1:]), 7, "i2"))
        array[0] = 5
    found = read_by_zarr_python(tmp_path, *chunks)
    assert found["no"] == [[[1, 1], [4]], [[5] * 4, [7] * 4]]
    assert found["zero"] == [[[1] * 5], [5, 0, 0, 7, 7]]
    assert found["all"] == [[[1, 1]], [5, 7]]


BYTES = {"name": "bytes", "configuration": {"endian": "little"}}
INDEX = [BYTES, {"name": "crc32c"}]
SHARDS = {
    "name": "sharding_indexed",
    "configuration": {"chunk_shape": [2], "codecs": [BYTES], "index_codecs": INDEX},
}
REGULAR, RECTILINEAR = "regular", "rectilinear"
WRITTEN: dict[str, tuple[list[int], str, dict[str, Any], list[Any], list[list[int]]]] = {
    # 3.1 wrote these for chunks=-1 and chunks=(0,), 3.2 the others.
    "empty": ([0], REGULAR, {"chunk_shape": [0]}, [BYTES], [[]]),
    "zero": ([3], REGULAR, {"chunk_shape": [0]}, [BYTES], [[1, 1, 1]]),
    "shards": ([5], REGULAR, {"chunk_shape": [0]}, [SHARDS], [[2, 2, 1]]),
    "true": ([3], REGULAR, {"chunk_shape": [True]}, [BYTES], [[1, 1, 1]]),
    "mixed": ([3, 5], REGULAR, {"chunk_shape": [2, [1, 4]]}, [BYTES], [[2, 1], [1, 4]]),
    "floats": (
        *([9], RECTILINEAR, {"kind": "inline", "chunk_shapes": [[[4.0, 2], 1.0]]}, [BYTES]),
        [[4, 4, 1]],
    ),
}


@pytest.mark.parametrize("name", WRITTEN)
def test_what_zarr_python_3_wrote(name: str, tmp_path: Path) -> None:
    shape, grid, configuration, codecs, chunks = WRITTEN[name]
    document = {
        "zarr_format": 3,
        "node_type": "array",
        "shape": shape,
        "data_type": "int16",
        "chunk_grid": {"name": grid, "configuration": configuration},
        "chunk_key_encoding": {"name": "default", "configuration": {"separator": "/"}},
        "fill_value": 0,
        "codecs": codecs,
        "attributes": {},
        "storage_transformers": [],
    }
    (tmp_path / name).mkdir()
    (tmp_path / name / "zarr.json").write_text(json.dumps(document))
    assert [finding.level for finding in omnizarr.check(tmp_path / name)] == ["dialect"]
    values = np.arange(1, np.prod(shape, dtype=int) + 1, dtype="i2").reshape(shape)
    array = omnizarr.open_array(tmp_path / name, "r+")
    array[...] = values
    if name == "empty":
        array.update_attributes({})  # nothing was written
    assert read_by_zarr_python(tmp_path, name) == {name: [chunks, values.tolist()]}
