"""`omnizarr ls`: members of groups, keys of stores."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import omnizarr as zarr
from tests.cli.conftest import Run, write
from tests.cli.showing.support import EVERY, one_array


def test_members(run: Run, store: Path) -> None:
    assert run("ls", store).out == "deep/\nsparse\ntext\n"
    assert run("ls", store, "-r").out == "deep/\ndeep/z\nsparse\ntext\n"
    assert run("ls", store, "deep").out == run("ls", store / "deep").out == "z\n"


def test_a_table(run: Run, store: Path) -> None:
    assert run("ls", store, "-l", "-r").out.splitlines() == [
        "name    shape  type     chunks  size",
        "deep/",
        "deep/z  2×3    int16    1×3     12 B",
        "sparse  40×60  float32  10×10   9.4 KiB",
        "text    2      string   2       ?",
    ]


def test_json(run: Run, store: Path) -> None:
    found = run("ls", store, "--json").document
    assert list(found) == ["store", "path", "nodes"] and found["store"] == str(store)
    kinds = {row["path"]: row["kind"] for row in found["nodes"]}
    assert kinds == {"deep": "group", "sparse": "array", "text": "array"}
    assert found["nodes"][1]["shape"] == [40, 60] and found["nodes"][1]["bytes"] == 9600


@EVERY
def test_an_array(run: Run, tmp_path: Path, zarr_format: Any) -> None:
    one_array(tmp_path / "a.zarr", zarr_format)
    assert run("ls", tmp_path / "a.zarr", "-l").out.splitlines()[1].split()[1:3] == ["6×4", "int32"]
    done = run("ls", tmp_path / "a.zarr", "--keys", "-r", "--json").document
    assert sum(row["bytes"] > 0 for row in done["keys"]) >= 4


@pytest.mark.parametrize("ending", ["zip", "sqlite"])
def test_inside_archives(run: Run, store: Path, tmp_path: Path, ending: str) -> None:
    archive = tmp_path / f"data.{ending}"
    assert run("convert", store, archive, "--to", 3, "--quiet").status == 0
    assert run("ls", archive).out == "deep/\nsparse\ntext\n"
    assert run("ls", archive / "deep").out == "z\n"
    assert "  zarr.json\n" in run("ls", archive, "--keys").out


def test_keys(run: Run, tmp_path: Path) -> None:
    store = write(tmp_path / "data.zarr", 2)
    lines = run("ls", store, "deep", "--keys").out.splitlines()
    assert [line.split()[-1] for line in lines] == ["deep/z/", "deep/.zgroup"]
    assert lines[1].split()[:2] == ["24", "B"]
    deep = run("ls", store, "deep", "--keys", "--recursive", "--json").document
    assert [row["key"] for row in deep["keys"]] == [
        "deep/.zgroup", "deep/z/.zarray", "deep/z/0.0", "deep/z/1.0",
    ]  # fmt: skip
    assert deep["prefixes"] == [] and deep["keys"][0]["bytes"] == 24


def test_keys_where_there_is_no_node(run: Run, tmp_path: Path) -> None:
    write(tmp_path / "more" / "data.zarr")
    done = run("ls", tmp_path / "more", "--keys")
    assert done.status == 0 and done.out.split() == ["data.zarr/"]
    assert run("ls", tmp_path / "more").status == 2
    assert run("ls", tmp_path / "none", "--keys").status == 2
    (tmp_path / "empty").mkdir()
    assert "no key is stored" in run("ls", tmp_path / "empty", "--keys").err


def test_what_cannot_be_read(run: Run, store: Path) -> None:
    (store / "text" / "zarr.json").write_text("{")
    done = run("ls", store)
    assert done.status == 1
    assert done.out.startswith("deep/\nsparse\ntext  ✗ ") and len(done.out.splitlines()) == 3
    assert run("ls", store, "-l").status == 1
    assert run("ls", store / "text", "--keys").out.split()[-1].endswith("zarr.json")


def test_hostile_names(run: Run, tmp_path: Path) -> None:
    zarr.create_group(tmp_path / "g.zarr", zarr_format=2).create_group("a\u202eb\u2028c")
    for option in ([], ["-l"], ["--keys"], ["-r", "--keys"]):
        shown = run("ls", tmp_path / "g.zarr", *option).out
        assert "a\\u202eb\\u2028c/" in shown and "\u202e" not in shown


def test_an_unknown_name(run: Run, store: Path) -> None:
    done = run("ls", store / "sparce")
    assert done.status == 2 and len(done.err.splitlines()) <= 2 and "sparse" in done.err
