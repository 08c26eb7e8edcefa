"""`omnizarr rechunk`: lengths by position and by name, the plan, refusals."""

from __future__ import annotations

from argparse import ArgumentTypeError
from pathlib import Path

import numpy as np
import pytest

import omnizarr as zarr
from omnizarr.cli.arguments import cuts
from tests.cli.conftest import Run


@pytest.fixture
def maps(tmp_path: Path) -> Path:
    root = zarr.open_group(tmp_path / "maps.zarr", mode="w")
    names = ("time", "lat", "lon")
    data = np.arange(40 * 20 * 30, dtype="f8").reshape(40, 20, 30)
    root.create_array("t", data=data, chunks=(1, 20, 30), dimension_names=names)
    return tmp_path / "maps.zarr"


def test_by_the_names_of_dimensions(run: Run, maps: Path, tmp_path: Path) -> None:
    out = tmp_path / "series.zarr"
    arguments = ("rechunk", maps, out, "--chunks", "time=-1,lat=5", "--max-memory", "1GB")
    done = run(*arguments, "--dry-run")
    assert done.status == 0 and not out.exists()
    assert "/t: 1 pass: 40 reads" in done.out and "nothing was written" in done.out
    document = run(*arguments, "--json").document
    assert document["nodes"][1]["rechunking"]["amplification"] == 1
    assert document["destination"] == str(out)
    found = zarr.open_group(out, mode="r")["t"]
    assert found.chunks == (40, 5, 30)
    assert np.array_equal(found[...], zarr.open_group(maps, mode="r")["t"][...])


def test_shards_and_other_formats(run: Run, maps: Path, tmp_path: Path) -> None:
    out = tmp_path / "o.zarr"
    done = run(
        "rechunk", f"{maps}/t", out, "--chunks", "10,-1,10", "--shards", "20,20,30", "--quiet"
    )
    assert (done.status, done.out, done.err) == (0, "", "")
    assert zarr.open_array(out).shards == (20, 20, 30)
    more = ("--no-shards", "--to", "2", "--reencode", "--quiet")
    assert run("rechunk", out, tmp_path / "two.zarr", *more).status == 0
    found = zarr.open_array(tmp_path / "two.zarr")
    assert (found.zarr_format, found.chunks) == (2, (10, 20, 10))


def test_refusals(run: Run, maps: Path, tmp_path: Path) -> None:
    out = tmp_path / "o.zarr"
    done = run("rechunk", maps, out, "--chunks", "tiem=1")
    assert done.status == 2 and "no dimension has that name" in done.err
    done = run("rechunk", maps, out, "--chunks", "time=-1", "--max-memory", "1kB")
    assert done.status == 2 and "--max-memory" in done.err
    done = run("rechunk", maps, out, "--executor", "process")
    assert done.status == 2 and "argument --executor: expected threads, processes" in done.err
    assert not out.exists() or not list(out.iterdir())


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("10,20", (10, 20)),
        ("-1,5", (-1, 5)),
        ("100", (100,)),
        ("10x20", (10, 20)),
        ("auto", "auto"),
        ("10 MB", "10 MB"),
        ("time=1,lat=-1,x=auto", {"time": 1, "lat": -1, "x": "auto"}),
        ("a/b=10x20", {"a/b": (10, 20)}),
    ],
)
def test_lengths(text: str, expected: object) -> None:
    assert cuts(text) == expected


@pytest.mark.parametrize("text", ["", "0", "-2", "a", "10,auto", "time=", "=3", "time=1,2", "1.5"])
def test_no_lengths(text: str) -> None:
    with pytest.raises(ArgumentTypeError, match="expected"):
        cuts(text)
