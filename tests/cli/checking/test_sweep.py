"""`omnizarr sweep`: shown first, removed with --apply."""

from __future__ import annotations

from pathlib import Path

from tests.cli.conftest import Run
from tests.jobs.test_sweeping import littered


def test_leftovers(run: Run, tmp_path: Path) -> None:
    store, expected = littered(tmp_path / "s.zarr")
    done = run("sweep", store)
    assert done.status == 0 and "--apply removes them" in done.out
    assert all(f"would be removed: {name}" in done.out for name in expected)
    assert run("sweep", store / "a", "--json").document["leftovers"] == expected
    assert "2 removed, 0 unfinished jobs" in run("sweep", store, "--apply").out
    assert run("sweep", store).out == "0 would be removed, 0 unfinished jobs\n"


def test_unfinished_jobs(run: Run, tmp_path: Path) -> None:
    store = tmp_path / "half.zarr"
    (store / "c").mkdir(parents=True)
    (store / ".omnizarr-convert.json").write_text("{}")
    done = run("sweep", store, "--apply")
    assert "unfinished: convert, rechunk or reencode at /" in done.out
    assert (store / ".omnizarr-convert.json").exists()
    assert run("sweep", store, "--apply", "--unfinished").status == 0
    assert not (store / ".omnizarr-convert.json").exists()
    assert run("sweep", tmp_path / "no").status == 2
