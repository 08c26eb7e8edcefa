"""`omnizarr consolidate`, and `--remove`."""

from __future__ import annotations

from pathlib import Path

import pytest

import omnizarr as zarr
from tests.cli.conftest import Run, write


@pytest.mark.parametrize("zarr_format", [2, 3])
def test_there_and_back(run: Run, tmp_path: Path, zarr_format: int) -> None:
    store = write(tmp_path / "s.zarr", zarr_format)
    before = {path: path.read_bytes() for path in store.rglob("*") if path.is_file()}
    assert "would be consolidated" in run("consolidate", store, "--dry-run").out
    assert run("consolidate", store).out == f"{store}: metadata of 4 nodes consolidated\n"
    assert len(list(zarr.open_consolidated(store).members(max_depth=None))) == 4
    document = run("consolidate", store, "--remove", "--json").document
    assert document["changed"] and document["removed"]
    with pytest.raises(zarr.errors.MetadataError):
        zarr.open_consolidated(store)
    assert zarr.open(store).attrs["title"] == "trial"
    assert {path for path in store.rglob("*") if path.is_file()} == set(before)
    assert "no consolidated metadata" in run("consolidate", store, "--remove").out


def test_a_group_inside(run: Run, store: Path) -> None:
    assert run("consolidate", store / "deep", "--json").document["nodes"] == 1
    assert list(zarr.open_consolidated(store / "deep")) == ["z"]
    assert run("consolidate", store / "sparse").status == 2


def test_an_array_has_none(run: Run, store: Path) -> None:
    done = run("consolidate", store / "sparse")
    assert done.status == 2 and "it is an array" in done.err and "--overwrite" not in done.err
