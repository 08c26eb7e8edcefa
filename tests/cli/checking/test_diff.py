"""`omnizarr diff`: exit status, listing and JSON."""

from __future__ import annotations

from pathlib import Path

import numpy as np

import omnizarr as zarr
from tests.cli.conftest import Run, write


def test_equal_stores(run: Run, store: Path, tmp_path: Path) -> None:
    other = write(tmp_path / "other.zarr")
    done = run("diff", store, other)
    assert (done.status, done.err) == (0, "") and done.out.startswith("no difference (5 nodes, ")
    assert run("diff", store, other, "--quiet").out == ""


def test_differences(run: Run, store: Path, tmp_path: Path) -> None:
    other = write(tmp_path / "other.zarr")
    root = zarr.open_group(other)
    root["sparse"][3, 4] = 1.5
    root["deep/z"].attrs["units"] = "m"
    root.create_group("new")
    done = run("diff", store, other)
    assert done.status == 1
    assert done.out.splitlines()[:-2] == [
        "/deep/z",
        "  attribute units: nothing → m",
        "/new",
        "  only in the second (group)",
        "/sparse",
        "  values: 1 of 2,400 differ, largest difference 0.5",
        "    [3, 4]  1.0 → 1.5",
    ]  # fmt: skip
    found = run("diff", store, other, "--json")
    assert found.status == 1 and found.document["equal"] is False
    [values] = [one for one in found.document["differences"] if one["what"] == "values"]
    assert values["examples"] == [[[3, 4], 1.0, 1.5]] and values["largest"] == 0.5
    assert run("diff", store / "sparse", other / "sparse", "--atol", "0.5").status == 0
    assert run("diff", store / "sparse", other / "sparse", "--metadata").status == 0


def test_how_it_is_stored(run: Run, store: Path, tmp_path: Path) -> None:
    run("convert", store / "deep", tmp_path / "two.zarr", "--to", 2, "--fill-values", "zarr")
    done = run("diff", store / "deep", tmp_path / "two.zarr")
    assert done.status == 1 and "metadata format: 3 → 2" in done.out
    done = run("diff", store / "deep", tmp_path / "two.zarr", "--no-storage")
    assert done.status == 0, done.out


def test_refusals(run: Run, store: Path, tmp_path: Path) -> None:
    assert run("diff", store, tmp_path / "no").status == 2
    assert "from 0 on" in run("diff", store, store, "--atol", "-1").err
    zarr.create_array(tmp_path / "a.zarr", data=np.arange(3))
    assert run("diff", store, tmp_path / "a.zarr").status == 1


def test_a_file_and_what_it_was_converted_to(run: Run, tmp_path: Path) -> None:
    file, converted = tmp_path / "a.h5", tmp_path / "a.zarr"
    root = zarr.group()
    root["x"] = np.arange(12.0).reshape(3, 4)
    root["x"].attrs["units"] = "m"
    zarr.export(root, file)
    assert run("convert", file, converted, "--quiet").status == 0
    done = run("diff", file, converted, "--no-storage")
    assert (done.status, done.err) == (0, ""), done.out
    zarr.open_array(converted / "x")[1, 2] = 99
    found = run("diff", converted, file, "--no-storage", "--json")
    assert found.status == 1
    [values] = found.document["differences"]
    assert values["path"] == "x" and values["examples"] == [[[1, 2], 99.0, 6.0]]
    (tmp_path / "a.txt").write_text("no data")
    done = run("diff", tmp_path / "a.txt", converted)
    assert done.status == 2 and "a.txt" in done.err and "Traceback" not in done.err
