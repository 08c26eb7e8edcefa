"""`omnizarr migrate`: format 3 beside format 2, or what to run instead."""

from __future__ import annotations

from pathlib import Path

import omnizarr as zarr
from tests.cli.conftest import Run, write


def test_in_place(run: Run, tmp_path: Path) -> None:
    store = write(tmp_path / "s.zarr", 2)
    assert run("migrate", store, "--dry-run").status == 0 and not (store / "zarr.json").exists()
    done = run("migrate", store)
    assert done.status == 0 and "--remove-source removes them" in done.out, done.err
    assert zarr.open(store).zarr_format == 3 and (store / ".zgroup").exists()
    assert run("migrate", store, "--remove-source", "--json").status == 0
    assert not list(store.rglob(".z*")) and zarr.open(store)["deep/z"][1, 2] == 5


def test_what_cannot_be(run: Run, tmp_path: Path) -> None:
    zarr.create_array(tmp_path / "n.zarr", data=[1, 2], zarr_format="n5")
    done = run("migrate", tmp_path / "n.zarr")
    assert done.status == 2 and "it cannot be done in place" in done.err
    assert f"hint: omnizarr convert {tmp_path}/n.zarr NEW --to 3" in done.err
