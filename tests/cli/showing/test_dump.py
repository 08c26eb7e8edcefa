"""`omnizarr dump`: CDL with values, and JSON."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import omnizarr as zarr
from omnizarr.cli import cdl, stored
from tests.cli.conftest import Run


@pytest.fixture(params=[2, 3, "n5"])
def climate(tmp_path: Path, request: pytest.FixtureRequest) -> Path:
    """A data set with what CDL can say, in several formats."""
    path = tmp_path / "climate.zarr"
    root = zarr.create_group(path, zarr_format=request.param, attributes={"title": "sea"})
    nc = root.netcdf
    x = nc.create_variable("x", "f8", {"x": 3}, attributes={"units": "m"})
    x.write(np.array([0.1, 1, 1e20]))
    t = nc.create_variable(
        "t", "i2", {"y": 2, "x": 3}, attributes={"missing_value": 4, "_FillValue": -1}
    )
    t.write(np.array([[1, 2, 3], [4, -1, 6]]), decode=False)
    below = nc.create_group("sub")
    below.create_variable("n", "f4", {"z": 2}).write(np.array([1.5, 0.1], "f4"))
    return path


EXPECTED = """\
netcdf root {
dimensions:
    x = 3 ;
    y = 2 ;
variables:
    short t(y, x) ;
        t:missing_value = 4 ;
    double x(x) ;
        x:units = "m" ;

// global attributes:
    :title = "sea" ;
data:

 t =
  1, 2, 3,
  4, _, 6 ;

 x = 0.1, 1, 1e+20 ;

group: sub {
    dimensions:
        z = 2 ;
    variables:
        float n(z) ;
    data:

     n = 1.5, 0.1 ;
    } // group sub
}
"""


def comparable(text: str) -> list[str]:
    """The lines without what formats add (fill values), in an order."""
    dropped = ("_FillValue", "_ARRAY_DIMENSIONS")
    return [line.rstrip() for line in text.splitlines() if not any(d in line for d in dropped)]


def test_the_whole(run: Run, climate: Path) -> None:
    done = run("dump", climate)
    assert done.status == 0, done.err
    expected = sorted(comparable(EXPECTED))
    assert sorted(comparable(done.out)) == expected
    assert run("dump", climate, "--cdl").out == done.out
    header = run("dump", climate, "--header").out
    assert "data:" not in header and header.rstrip("\n") == zarr.open_group(climate).netcdf.cdl()


def test_an_array_alone(run: Run, climate: Path) -> None:
    for words in ([climate / "t"], [climate, "t"]):
        shown = run("dump", *words).out
        assert "  4, _, 6 ;" in shown and "double" not in shown and "group:" not in shown
        assert "    x = 3 ;" in shown and "    y = 2 ;" in shown
    found = run("dump", climate / "t", "--json").document
    assert list(found["variables"]) == ["t"] and set(found["dimensions"]) == {"x", "y"}


def test_json_of_times(run: Run, tmp_path: Path) -> None:
    root = zarr.create_group(tmp_path / "a.zarr")
    root.create_array("when", data=np.array(["2020-01-01", "NaT"], "M8[D]"))
    found = run("dump", tmp_path / "a.zarr", "--json").document
    assert found["variables"]["when"]["data"] == ["2020-01-01", "NaT"]


def test_json(run: Run, climate: Path) -> None:
    found = run("dump", climate, "--json").document
    assert found["dimensions"]["x"] == {"size": 3, "unlimited": False}
    assert found["variables"]["t"]["data"] == [1, 2, 3, 4, -1, 6]
    assert found["variables"]["t"]["dimensions"] == ["y", "x"]
    assert found["variables"]["t"]["shape"] == [2, 3]
    assert found["groups"]["sub"]["variables"]["n"]["data"] == [1.5, pytest.approx(0.1)]
    assert found["attributes"]["title"] == "sea"
    header = run("dump", climate, "--json", "--header").document
    assert "data" not in header["variables"]["t"]
    assert run("dump", climate, "--json", "--cdl").status == 2


def test_an_array_without_a_group(run: Run, tmp_path: Path) -> None:
    zarr.create_array(tmp_path / "a.zarr", data=np.arange(3))
    done = run("dump", tmp_path / "a.zarr")
    assert done.status == 2 and "in no group" in done.err and "omnizarr head" in done.err


class Found:
    """A variable as `cdl.lines` needs it."""

    def __init__(self, data: Any, missing: tuple[Any, ...] = (), **arguments: Any) -> None:
        self.attributes = {"_FillValue": missing[0]} if missing else {}
        self.array = zarr.create_array({}, data=data, zarr_format=2, **arguments)
        self.name, self.shape = "v", self.array.shape
        self.packing = type("Packing", (), {"missing": missing})


@pytest.mark.parametrize(
    ("data", "missing", "expected"),
    [
        (np.array(3, "i4"), (), ["= 3 ;"]),
        (np.array([True, False]), (), ["= 1, 0 ;"]),
        (np.array([np.nan, np.inf, -np.inf], "f4"), (), ["= NaNf, Infinityf, -Infinityf ;"]),
        (np.array([np.nan, np.inf, 0.1]), (), ["= NaN, Infinity, 0.1 ;"]),
        (np.array([np.nan, 1]), (np.float64("nan"),), ["= _, 1 ;"]),
        (np.array([255, 1], "u1"), (np.int8(-1),), ["= _, 1 ;"]),
        (np.array([2**64 - 1], "u8"), (), ["= 18446744073709551615 ;"]),
        (np.array([[b"a", b"b"], [b"c", b""]], "S1"), (), ['= "ab", "c" ;']),
        (np.array([b"ab", b""], "S2"), (), ['= "ab", "" ;']),
        (np.array(['a"\n\x1b', "ü"]), (), ['= "a\\"\\n\\u001b", "ü" ;']),
        (np.zeros((0, 2)), (), []),
        (np.array([(1, 0.5)], [("a", "i4"), ("b", "f8")]), (), ["= {1, 0.5} ;"]),
        (np.array(["2020-01-01"], "M8[D]"), (), ['= "2020-01-01" ;']),
    ],
)
def test_values(data: Any, missing: tuple[Any, ...], expected: list[str]) -> None:
    assert list(cdl.lines(Found(data, missing))) == expected


def test_numbers_are_exact() -> None:
    data = np.random.default_rng(0).normal(size=200).astype("f4")
    text = " ".join(cdl.lines(Found(data)))
    read = np.array(re.findall(r"[-\d.e]+", text), "f4")
    assert (read == data).all() and all(len(line) <= 80 for line in cdl.lines(Found(data)))


def test_values_go_out_as_they_are_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stored, "MOST_BYTES", 80)
    data = np.arange(400).reshape(20, 4, 5)
    found = Found(data, chunks=(2, 4, 5))
    read: list[int] = []
    plain = zarr.Array.read

    def counted(self: Any, *arguments: Any) -> Any:
        values = plain(self, *arguments)
        read.append(values.size)
        return values

    monkeypatch.setattr(zarr.Array, "read", counted)
    lines = cdl.lines(found)
    assert [next(lines), next(lines)] == ["=", "  0, 1, 2, 3, 4,"] and sum(read) <= 10
    rest = list(lines)
    assert rest[-1] == "  395, 396, 397, 398, 399 ;" and sum(read) == 400 and max(read) <= 10


def test_a_huge_array_begins_at_once() -> None:
    array = zarr.create_array({}, shape=(2**40, 2**40), chunks=(10, 10), dtype="i1")
    found = Found(np.zeros(1))
    found.array, found.shape = array, array.shape
    lines = cdl.lines(found)
    assert next(lines) == "=" and next(lines).startswith("  0, 0, 0,")


def test_hostile_names_and_attributes(run: Run, tmp_path: Path) -> None:
    root = zarr.create_group(tmp_path / "h.zarr", attributes={"a\x1b[2J\n}": "\u2028\x1b]0;x\x07"})
    root.create_array("b\u202e", data=np.arange(2), dimension_names=["c\x1bd"])
    for words in ([], ["--header"], ["--json"]):
        done = run("dump", tmp_path / "h.zarr", *words)
        assert done.status == 0, done.err
        assert not set("\x1b\x07\u2028\u202e") & set(done.out)
    assert run("dump", tmp_path / "h.zarr").out.endswith("= 0, 1 ;\n}\n")


def test_damage_is_one_line(run: Run, store: Path) -> None:
    (store / "deep" / "z" / "c" / "0" / "0").write_bytes(b"damaged")
    done = run("dump", store)
    assert done.status == 2 and "omnizarr verify" in done.err and len(done.err.splitlines()) == 2


def test_what_no_attribute_marks_is_a_value(run: Run, tmp_path: Path) -> None:
    """A reader of the text knows no other fill value."""
    root = zarr.create_group(tmp_path / "g.zarr", zarr_format=2)
    for name, attributes in (("a", {}), ("b", {"missing_value": 0}),
                             ("c", {"_FillValue": 0.5, "missing_value": 0}),
                             ("d", {"_FillValue": 1})):  # fmt: skip
        root.create_array(name, data=np.arange(2, dtype="i2"), attributes=attributes, fill_value=0)
    shown = run("dump", tmp_path / "g.zarr").out
    assert " a = 0, 1 ;" in shown and " b = 0, 1 ;" in shown
    assert " c = 0, 1 ;" in shown and " d = 0, _ ;" in shown


@pytest.mark.peers
@pytest.mark.skipif(shutil.which("ncdump") is None, reason="ncdump is not installed")
def test_ncdump_says_the_same(run: Run, tmp_path: Path) -> None:
    """All but the space, of a file that netCDF-C and we have."""
    netcdf4 = pytest.importorskip("netCDF4")
    root = zarr.create_group(tmp_path / "root.zarr", attributes={"title": "sea"})
    with netcdf4.Dataset(tmp_path / "root.nc", "w") as file:
        file.title = "sea"
        for name, values, names in (
            ("x", np.array([0.5, 1, 2]), ["x"]),
            ("t", np.arange(60, dtype="i2").reshape(20, 3), ["y", "x"]),
        ):
            for length, each in zip(values.shape, names, strict=True):
                if each not in file.dimensions:
                    file.createDimension(each, length)
            file.createVariable(name, values.dtype, names)[:] = values
            root.create_array(name, data=values, dimension_names=names)
    command = ["ncdump", str(tmp_path / "root.nc")]
    theirs = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    ours = run("dump", tmp_path / "root.zarr").out
    assert sorted(theirs.split()) == sorted(ours.split())
