"""`omnizarr mv`: within a store, between stores, whole stores."""

from __future__ import annotations

from pathlib import Path

import omnizarr as zarr
from tests.cli.conftest import Run, write


def test_within_a_store(run: Run, store: Path) -> None:
    done = run("mv", store / "deep" / "z", store / "new" / "z", "--json")
    assert done.document["how"] == "node" and done.document["dry_run"] is False
    root = zarr.open(store)
    assert root["new/z"][1, 2] == 5 and "z" not in root["deep"]
    done = run("mv", store / "new", store / "sparse")
    assert done.status == 2 and "there is a node already" in done.err


def test_between_stores(run: Run, store: Path, tmp_path: Path) -> None:
    other = write(tmp_path / "other.zarr")
    zarr.consolidate_metadata(store)
    done = run("mv", store / "sparse", other / "moved")
    assert done.status == 0 and "copied and deleted" in done.out
    assert f"out of date: omnizarr consolidate {store}" in done.out
    assert zarr.open(other)["moved"].shape == (40, 60)
    assert "sparse" not in zarr.open_group(store, use_consolidated=False)


def test_whole_stores(run: Run, store: Path, tmp_path: Path) -> None:
    done = run("mv", store, tmp_path / "b.zarr", "--dry-run")
    assert "would be renamed" in done.out and store.exists()
    assert run("mv", store, tmp_path / "b.zarr").status == 0
    assert not store.exists() and zarr.open(tmp_path / "b.zarr")["deep/z"][1, 2] == 5
    write(tmp_path / "c.zarr")
    done = run("mv", tmp_path / "c.zarr", tmp_path / "b.zarr")
    assert done.status == 2 and (tmp_path / "c.zarr").exists()


def test_refusals(run: Run, store: Path) -> None:
    assert "there already" in run("mv", store / "deep", store / "deep").err
    assert run("mv", store, store / "deep" / "all").status == 2
    assert run("mv", store / "deep", store / "deep" / "deeper").status == 2
    assert zarr.open(store)["deep/z"][1, 2] == 5
