"""`omnizarr head`: the first values as a table."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import omnizarr as zarr
from tests.cli.conftest import Run
from tests.cli.showing.support import EVERY, one_array


def lines(run: Run, *arguments: object) -> list[str]:
    """What is shown below the title."""
    done = run("head", *arguments)
    assert done.status == 0, done.err
    return done.out.splitlines()[1:]


@EVERY
def test_two_dimensions(run: Run, tmp_path: Path, zarr_format: Any) -> None:
    path = tmp_path / "a.zarr"
    one_array(path, zarr_format)
    assert lines(run, path, "-n", 3)[2:] == [
        "          0  1  2  3",
        "          1  5  6  7",
        "          2  0  0  0",
    ]
    found = run("head", path, "--at", "0:2,1:", "--json").document
    assert found["values"] == [[2, 3, 4], [6, 7, 8]] and found["selection"] == "[0:2, 1:4]"
    assert found["dtype"] == "int32" and found["shape"] == [6, 4]


def test_selections(run: Run, tmp_path: Path) -> None:
    data = np.arange(60).reshape(3, 4, 5)
    zarr.create_array(tmp_path / "a.zarr", data=data, dimension_names=["t", "y", "x"])

    def values(at: str) -> Any:
        return run("head", tmp_path / "a.zarr", f"--at={at}", "--json").document["values"]

    assert values("1") == data[1].tolist()
    assert values("-1,...,0") == data[-1, :, 0].tolist()
    assert values("...,::2") == data[0, :, ::2].tolist()
    assert values(":,1,1") == data[:, 1, 1].tolist()
    assert values("2,3,4") == 59
    assert values("0,3:1,:") == []
    assert run("head", tmp_path / "a.zarr", "--at", "0,3:1,:").out.endswith("no values\n")
    shown = run("head", tmp_path / "a.zarr").out.splitlines()
    assert "[0, :, :]" in shown[0] and shown[1].strip() == "x" and shown[2].split()[0] == "y"


@pytest.mark.parametrize(
    ("at", "message"),
    [
        ("0,0,0", "the selection has 3 parts, and the array 2 dimensions"),
        ("6", "dimension 0 has no index 6"),
        ("-7", "dimension 0 has no index -7"),
        ("a", "expected a selection such as"),
        ("0,,1", "expected a selection such as"),
        ("", "expected a selection such as"),
        ("1:2:3:4", "expected a selection such as"),
        ("1_0", "expected a selection such as"),
        ("٣", "expected a selection such as"),
        ("::-1", "expected steps from 1 on"),
        ("::0", "expected steps from 1 on"),
        ("...,...", "expected ... once at most"),
        ("9" * 40, "expected a selection such as"),
    ],
)
def test_selections_that_are_refused(run: Run, tmp_path: Path, at: str, message: str) -> None:
    one_array(tmp_path / "a.zarr", 3)
    done = run("head", tmp_path / "a.zarr", f"--at={at}")
    assert done.status == 2 and message in done.err and done.out == ""


CASES: dict[str, tuple[Any, list[str]]] = {
    "bool": (np.array([True, False]), ["true", "false"]),
    "text": (np.array(["a\x1b[2J", "ü"], dtype=np.dtypes.StringDType()), ['"a\\u001b[2J"', '"ü"']),
    "bytes": (np.array([b"x\x00y", b"\xff"], dtype="S3"), ['b"x\\u0000y"', 'b"\\\\xff"']),
    "datetime": (np.array(["2020-01-02", "NaT"], "M8[D]"), ["2020-01-02", "NaT"]),
    "float": (np.array([0.1, -np.inf], "f4"), ["0.1", "-inf"]),
    "complex": (np.array([1 + 2j, 0]), ["(1+2j)", "0j"]),
}


@pytest.mark.parametrize("name", CASES)
def test_types(run: Run, tmp_path: Path, name: str) -> None:
    data, expected = CASES[name]
    zarr.create_array(tmp_path / "a.zarr", data=data, zarr_format=2)
    shown = lines(run, tmp_path / "a.zarr")
    assert [line.split(None, 1)[1] for line in shown[1:]] == expected
    assert run("head", tmp_path / "a.zarr", "--json").status == 0
    assert "\x1b" not in "".join(shown)


def test_fields_are_columns(run: Run, tmp_path: Path) -> None:
    data = np.array([(1, 0.5), (2, 1.5)], dtype=[("id", "i4"), ("h\u202e", "f8")])
    zarr.create_array(tmp_path / "a.zarr", data=data, zarr_format=2)
    shown = lines(run, tmp_path / "a.zarr")
    assert shown[0].split() == ["dimension", "0", "id", "h\\u202e"]
    assert [line.split()[1:] for line in shown[1:]] == [["1", "0.5"], ["2", "1.5"]]


def test_scalars_and_empty_arrays(run: Run, tmp_path: Path) -> None:
    zarr.create_array(tmp_path / "0.zarr", data=np.float64(2.5))
    assert lines(run, tmp_path / "0.zarr") == ["2.5"]
    zarr.create_array(tmp_path / "e.zarr", shape=(0, 3), chunks=(1, 3), dtype="i4")
    assert lines(run, tmp_path / "e.zarr") == ["no values"]
    root = zarr.create_group(tmp_path / "g.zarr")
    root.create_array("e", shape=(3, 0, 4), chunks=(1, 1, 4), dtype="i4")
    assert lines(run, tmp_path / "g.zarr" / "e") == ["no values"]
    assert run("head", tmp_path / "g.zarr").status == 0


def test_wide_tables_are_cut(run: Run, tmp_path: Path) -> None:
    zarr.create_array(tmp_path / "a.zarr", data=np.full((3, 50), 123456.5))
    assert run("head", tmp_path / "a.zarr", "-n", 10_001).status == 2
    shown = lines(run, tmp_path / "a.zarr", "-n", 50)
    assert all(
        len(line) <= 80 and (number == 0 or line.endswith("…")) for number, line in enumerate(shown)
    )


def test_a_group(run: Run, store: Path) -> None:
    done = run("head", store)
    assert done.out.splitlines() == [
        "deep/z  2×3    int16    0  1  2  …",
        "sparse  40×60  float32  1.0  1.0  1.0  1.0  1.0  …",
        'text    2      string   "a"  "ü"',
        "",
        "3 arrays",
    ]
    found = run("head", store, "--json").document["arrays"]
    assert [row["path"] for row in found] == ["deep/z", "sparse", "text"]
    assert found[0]["values"] == [0, 1, 2] and found[0]["more"] is True
    assert run("head", store, "--at", "0").status == 2


def test_damaged_arrays_of_a_group(run: Run, store: Path) -> None:
    (store / "text" / "zarr.json").write_text("{")
    (store / "deep" / "z" / "c" / "0" / "0").write_bytes(b"damaged")
    done = run("head", store)
    assert done.status == 1 and done.out.count("✗") == 2 and "1.0" in done.out
    assert run("head", store / "deep" / "z").status == 2


def test_little_is_read(run: Run, tmp_path: Path) -> None:
    array = zarr.create_array(
        tmp_path / "h.zarr", shape=(10**9, 10**9), chunks=(100, 100), dtype="f8"
    )
    array[0, 0] = 1
    assert lines(run, tmp_path / "h.zarr", "-n", 2)[-2].split() == ["0", "1.0", "0.0"]
