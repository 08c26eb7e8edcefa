"""`omnizarr pyramid`: what the options do, and refusals."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import omnizarr as zarr
from tests.cli.conftest import Run


@pytest.fixture
def image(tmp_path: Path) -> Path:
    zarr.create_array(
        tmp_path / "a.zarr", name="0", data=np.arange(6400).reshape(80, 80) % 251, chunks=(16, 16)
    )
    return tmp_path / "a.zarr"


def test_into_another_place(run: Run, image: Path, tmp_path: Path) -> None:
    done = run("pyramid", image / "0", tmp_path / "b.zarr", "--levels", 3, "--axes", "yx",
               "--convention", "ome", "--method", "max", "--workers", 1)  # fmt: skip
    assert done.status == 0 and done.err == ""
    assert "20 x 20" in done.out
    group = zarr.open_group(tmp_path / "b.zarr")
    assert len(group.attrs["ome"]["multiscales"][0]["datasets"]) == 3
    assert group["2"][0, 0] == group["0"][:4, :4].max()


def test_beside_the_array(run: Run, image: Path) -> None:
    document = run(
        "pyramid", image, "--factors", "dim_0=2,dim_1=4", "--levels", 2, "--json"
    ).document
    assert [level["shape"] for level in document["levels"]] == [[80, 80], [40, 20]]
    assert document["destination"] == str(image)
    assert zarr.open_group(image)["1"].shape == (40, 20)


def test_beside_an_array_that_the_path_leads_to(run: Run, tmp_path: Path) -> None:
    group = zarr.open_group(tmp_path / "labels.zarr")
    values = np.arange(64).reshape(8, 8) // 9
    group.create_array("0", data=values, chunks=(4, 4), dimension_names=("y", "x"))
    told = ("--method", "mode", "--factors", "y=2,x=2", "--levels", 2)
    planned = run("pyramid", tmp_path / "labels.zarr" / "0", *told, "--dry-run")
    assert planned.status == 0 and list(group) == ["0"]
    done = run("pyramid", tmp_path / "labels.zarr" / "0", *told, "--json")
    assert done.status == 0 and done.document["source"] == str(tmp_path / "labels.zarr" / "0")
    assert group["1"].shape == (4, 4) and "multiscales" in zarr.open_group(group.store).attrs
    zarr.save_array(tmp_path / "alone.zarr", values)
    refused = run("pyramid", tmp_path / "alone.zarr", "--levels", 2)
    assert refused.status == 2 and "the array is the root of its store" in refused.err


def test_a_band_of_a_scene_stays_on_the_map(run: Run, tmp_path: Path) -> None:
    """Its grid mapping and its coordinates are beside it, above the path that is given."""
    scene = zarr.open_group(tmp_path / "scene.zarr")
    scene.create_array("red", data=np.zeros((8, 8)), chunks=(4, 4), dimension_names=("y", "x"))
    scene.geo.set(crs="EPSG:32631", transform=(10, 0, 0, 0, -10, 80), convention="cf")
    made = tmp_path / "pyramid.zarr"
    assert run("pyramid", tmp_path / "scene.zarr" / "red", made, "--levels", 2).status == 0
    geo = zarr.open_group(made)["1"].geo
    assert (geo.epsg, geo.transform) == (32631, (20, 0, 0, 0, -20, 80))
    zarr.pyramid(tmp_path / "scene.zarr" / "red", tmp_path / "other.zarr", levels=2)
    assert zarr.open_group(tmp_path / "other.zarr")["1"].geo.transform == geo.transform


def test_dry_run_writes_nothing(run: Run, image: Path, tmp_path: Path) -> None:
    done = run("pyramid", image, tmp_path / "b.zarr", "--levels", 2, "--dry-run")
    assert done.status == 0 and done.out.count("dry run") == 1
    assert not (tmp_path / "b.zarr").exists()
    assert run("pyramid", image, tmp_path / "b.zarr", "--levels", 2, "--quiet").out == ""


def test_refusals(run: Run, image: Path, tmp_path: Path) -> None:
    assert run("pyramid", image, "--nodata", "much").status == 2
    assert run("pyramid", image, "--factors", "y=0").status == 2
    assert run("pyramid", tmp_path / "nothing").status == 2
    assert (
        run("pyramid", image, "--levels", 2, "--nodata", "250", "--max-memory", "1GiB").status == 0
    )
    again = run("pyramid", image, "--levels", 2)
    assert again.status == 2 and "--overwrite" in again.err
    assert run("pyramid", image, "--levels", 2, "--overwrite", "--nodata", "none").status == 0
