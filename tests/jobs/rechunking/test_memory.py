"""The promise of `max_memory`, of a real process: the most that it had in memory, by the kernel."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import textwrap
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import omnizarr as zarr

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not Path("/proc/self/clear_refs").exists(), reason="Linux tells the peak"),
]

MIB = 1 << 20
WORKER = textwrap.dedent("""
    import json, sys
    import omnizarr as zarr
    def status(name):
        with open("/proc/self/status") as lines:
            return next(int(line.split()[1]) for line in lines if line.startswith(name)) * 1024
    source, destination, options = sys.argv[1:]
    options = json.loads(options)
    # Once with little, so that all modules are there and threads have been.
    small = zarr.create_array({}, shape=(64, 64), chunks=(64, 8), dtype="f4", fill_value=1)
    small[:] = 2
    zarr.rechunk(small, zarr.MemoryStore(), chunks=(8, 64))
    zarr.rechunk(source, destination, dry_run=True, **options)
    before = status("VmRSS")
    with open("/proc/self/clear_refs", "w") as file:
        file.write("5")
    done = zarr.rechunk(source, destination, **options)
    plan = done.nodes[0].rechunking
    print(json.dumps({"peak": status("VmHWM") - before, "passes": len(plan.passes)}))
""")


CASES = {
    "maps": ((256, 512, 256), (1, 512, 256), None, {"chunks": (256, 16, 16)}),
    "series": ((256, 512, 256), (256, 16, 16), None, {"chunks": (1, 512, 256)}),
    "shards": ((256, 512, 256), (1, 512, 256), None,
               {"chunks": (64, 16, 16), "shards": (128, 64, 64)}),
    "from shards": ((256, 512, 256), (32, 32, 32), (128, 256, 128), {"chunks": (8, 512, 64),
                                                                     "shards": False}),
    "one chunk": ((16, 1024, 1024), (16, 1024, 1024), None, {"chunks": (1, 512, 512)}),
}  # fmt: skip


@pytest.mark.parametrize("compressed", [False, True], ids=["raw", "zstd"])
@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("memory", [64, 160])
def test_the_peak_stays_below(tmp_path: Path, name: str, memory: int, compressed: bool) -> None:
    shape, chunks, shards, options = CASES[name]
    if name == "one chunk":
        memory += 128  # more than that chunk takes by itself
    data = np.random.default_rng(1).integers(0, 1 << 20, shape, dtype="i4")
    how: dict[str, Any] = {} if compressed else {"compressors": None}
    zarr.create_array(tmp_path / "in", data=data, chunks=chunks, shards=shards, **how)
    given = json.dumps({**options, "max_memory": memory * MIB})
    done = subprocess.run(
        [sys.executable, "-c", WORKER, str(tmp_path / "in"), str(tmp_path / "out"), given],
        capture_output=True, text=True, check=False,
        env={**os.environ, "PYTHONPATH": str(Path(zarr.__file__).parents[1])},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout.splitlines()[-1])
    print(name, memory, told["peak"] / MIB, told["passes"])
    assert np.array_equal(zarr.open_array(tmp_path / "out", mode="r")[...], data)
    assert told["peak"] <= memory * MIB, told
