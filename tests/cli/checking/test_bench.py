"""`omnizarr bench`: numbers, and nothing that stays."""

from __future__ import annotations

from pathlib import Path

import omnizarr as zarr
from omnizarr.runtime import native_core
from tests.cli.conftest import Run


def test_reading_and_writing(run: Run, store: Path) -> None:
    before = zarr.checksum(store).digest
    document = run("bench", store, "--seconds", 1, "--write", "--json").document
    assert document["path"] == "sparse"
    assert [row["what"] for row in document["measured"]] == [
        "read, in order", "read, random chunks", "write, chunks",
    ]  # fmt: skip
    assert document["measured"][0]["bytes"] == 40 * 60 * 4
    assert all(row["rate"] > 0 for row in document["measured"])
    assert zarr.checksum(store).digest == before
    shown = run("bench", store / "deep").out
    assert "MB/s" in shown
    assert ("without the native core" in shown) is (native_core.core() is None)
    assert document["native"] is (native_core.core() is not None)
    zarr.create_group(store.parent / "empty.zarr")
    assert run("bench", store.parent / "empty.zarr").status == 2
