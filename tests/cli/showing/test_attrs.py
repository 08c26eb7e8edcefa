"""`omnizarr attrs`: reading and changing attributes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import omnizarr as zarr
from tests.cli.conftest import Run, write
from tests.cli.showing.support import EVERY, one_array


def test_get(run: Run, store: Path) -> None:
    shown = run("attrs", "get", store / "sparse").out
    assert shown == 'units = "K"\nbad = "NaN"\nnote = "a\\u001b[2Jb\\nc"\n'
    assert run("attrs", "get", store / "sparse", "units").out == "K\n"
    assert run("attrs", "get", store / "sparse", "note").out == "a\\x1b[2Jb\\nc\n"
    found = run("attrs", "get", store / "sparse", "units", "bad", "--json").document
    assert found["attributes"] == {"units": "K", "bad": "NaN"}


@EVERY
def test_set_and_rm(run: Run, tmp_path: Path, zarr_format: Any) -> None:
    path = tmp_path / "a.zarr"
    if zarr_format in (0, "n5"):
        one_array(path, zarr_format)
    else:
        one_array(path, zarr_format).attrs["units"] = "m"
    words = ["units=K", "n=12", 't="12"', "list=[1, 2]", "empty=", "a=b=c", "no=null"]
    done = run("attrs", "set", path, *words)
    assert done.status == 0, done.err
    attributes = dict(zarr.open_array(path).attrs)
    expected = {
        "units": "K",
        "n": 12,
        "t": "12",
        "list": [1, 2],
        "empty": "",
        "a": "b=c",
        "no": None,
    }
    assert {name: attributes[name] for name in expected} == expected
    assert "n: (new) 12" in done.out
    done = run("attrs", "rm", path, "n", "t", "t")
    assert done.out == 'n: 12 removed\nt: "12" removed\n'
    assert not {"n", "t"} & set(zarr.open_array(path).attrs)
    assert zarr.open_array(path)[0].tolist() == [1, 2, 3, 4]


def test_a_dry_run(run: Run, store: Path) -> None:
    before = {file: file.read_bytes() for file in store.rglob("*") if file.is_file()}
    done = run("attrs", "set", store / "sparse", "units=m", "new=[1]", "--dry-run")
    assert done.out == 'units: "K" → "m"\nnew: (new) [1]\nnothing was changed\n'
    found = run("attrs", "rm", store / "sparse", "units", "--dry-run", "--json").document
    assert found["removed"] == {"units": "K"} and found["dry_run"] is True
    assert {file: file.read_bytes() for file in store.rglob("*") if file.is_file()} == before


def test_json_of_a_change(run: Run, store: Path) -> None:
    found = run("attrs", "set", store, "title=other", "n=1", "--json").document
    assert found["changed"] == {
        "title": {"before": "trial", "after": "other", "new": False},
        "n": {"before": None, "after": 1, "new": True},
    }


@pytest.mark.parametrize(
    ("words", "message", "hint"),
    [
        (["get", "unit"], "no attribute 'unit'", "did you mean units?"),
        (["rm", "unit"], "no attribute 'unit'", "did you mean units?"),
        (["rm", "zzz"], "no attribute 'zzz'", "it has units, bad, note"),
        (["set"], "needs at least one NAME=JSON", "attrs set"),
        (["rm"], "needs at least one NAME", "attrs rm"),
        (["set", "units"], "expected NAME=JSON, found 'units'", "units=VALUE"),
        (["set", "=1"], "expected NAME=JSON", ""),
        (["get", "--dry-run"], "changes nothing", ""),
    ],
)
def test_refusals(run: Run, store: Path, words: list[str], message: str, hint: str) -> None:
    done = run("attrs", words[0], store / "sparse", *words[1:])
    assert done.status == 2 and done.out == ""
    assert message in done.err.splitlines()[0] and hint in done.err.splitlines()[1]


def test_the_node_of_one_format(run: Run, tmp_path: Path) -> None:
    zarr.create_group(tmp_path / "g.zarr", zarr_format=2, attributes={"a": 1})
    assert run("convert", tmp_path / "g.zarr", "--in-place", "--to", 3).status == 0
    assert run("attrs", "set", tmp_path / "g.zarr", "a=2", "--zarr-format", 2).status == 0
    assert zarr.open_group(tmp_path / "g.zarr", zarr_format=2).attrs["a"] == 2
    assert zarr.open_group(tmp_path / "g.zarr", zarr_format=3).attrs["a"] == 1


def test_databases_and_archives(run: Run, store: Path, tmp_path: Path) -> None:
    for name in ("data.sqlite", "data.zip"):
        assert run("convert", store, tmp_path / name, "--to", 3, "--quiet").status == 0
        done = run("attrs", "set", tmp_path / name / "deep", "a=1")
        assert done.status == 0, done.err
        assert run("attrs", "get", tmp_path / name / "deep", "a").out == "1\n"


@pytest.mark.parametrize("inside", [True, False])
def test_consolidated_metadata_above_is_told(run: Run, tmp_path: Path, inside: bool) -> None:
    store = write(tmp_path / "data.zarr", 2)
    assert "consolidated" not in run("attrs", "set", store / "deep", "a=1").err
    if inside:
        assert run("convert", store, tmp_path / "data.zip", "--to", 2, "--quiet").status == 0
        store = tmp_path / "data.zip"
    zarr.consolidate_metadata(store)
    done = run("attrs", "set", store / "deep", "a=2")
    assert done.status == 0 and done.err.startswith(f"{store}: its consolidated metadata is out")
    assert len(done.err.splitlines()) == 1
    assert "consolidated" not in run("attrs", "set", store / "deep", "a=3", "--dry-run").err


def test_an_unknown_action(run: Run, store: Path) -> None:
    done = run("attrs", "put", store, "a=1")
    assert done.status == 2 and "invalid choice" in done.err
