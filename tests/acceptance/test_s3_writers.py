"""Two processes update one shard in S3, each one element at a time: nothing is lost."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import omnizarr
from tests.acceptance import processes

Summary = Callable[[str], None]
WRITERS = 2


@pytest.mark.parametrize(
    "updates",
    [1_000, pytest.param(10_000, marks=pytest.mark.long)],
)
def test_two_writers_on_one_shard(
    updates: int, server: Callable[[str], Any], tmp_path: Path, summary: Summary
) -> None:
    s3 = server("s3")
    url = s3.url(f"writers/{tmp_path.name}/{updates}")
    array = omnizarr.create_array(
        store=url,
        shape=(updates,),
        shards=(updates,),
        chunks=(100,),
        dtype="i4",
        fill_value=0,
        storage_options=s3.options,
    )
    go = tmp_path / "go"
    begun = time.monotonic()
    workers = [
        processes.start("s3_writer.py", url, json.dumps(s3.options), first, WRITERS, updates, go)
        for first in range(WRITERS)
    ]
    try:
        for worker in workers:
            assert worker.stdout is not None
            assert worker.stdout.readline() == "ready\n", worker.communicate()
        begun = time.monotonic()
        go.touch()
        results = [processes.finish(worker, timeout=2400) for worker in workers]
    finally:
        for worker in workers:
            worker.kill()
            worker.wait()
    seconds = time.monotonic() - begun
    stored = np.asarray(array[:])
    lost = int((stored != np.arange(1, updates + 1)).sum())
    conflicts = sum(result["writes"] - result["updates"] for result in results)
    summary(
        f"S3: {WRITERS} processes on one shard, {updates:,} updates: {lost} lost,"
        f" {conflicts:,} conflicts resolved, {seconds:.0f} s"
    )
    assert [result["plain"] for result in results] == [0] * WRITERS
    assert conflicts > 0, "the writers never met, so nothing was shown"
    assert lost == 0
