"""`omnizarr tree`: the drawing, its totals, and the same for programs."""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import omnizarr as zarr
from omnizarr import formats
from omnizarr.cli import titles
from omnizarr.cli.showing.tree import branches
from tests.acceptance import fixtures
from tests.cli.conftest import Run, write


def test_the_drawing(run: Run, store: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(store.parent)
    done = run("tree", "data.zarr")
    assert done.status == 0 and done.err == ""
    assert done.out == (
        "data.zarr   format 3\n"
        "├── deep                           v3\n"
        "│   └── z   2×3    int16    1×3    v3  zstd\n"
        "├── sparse  40×60  float32  10×10  v3  zstd\n"
        "└── text    2      string   2      v3  vlen-utf8+zstd\n"
        "\n"
        "2 groups, 3 arrays\n"
    )


def test_a_level_ends_the_drawing(run: Run, store: Path) -> None:
    assert "z " not in run("tree", store, "--level", 1).out
    assert run("tree", store, "--level", 0).out.splitlines()[-1] == "1 group"


def test_sizes_are_counted(run: Run, store: Path) -> None:
    done = run("tree", store, "--sizes", "--json").document
    sparse = next(node for node in done["nodes"] if node["path"] == "sparse")
    assert (sparse["chunks_stored"], sparse["chunks_possible"]) == (2, 24)
    assert sparse["bytes"] == 40 * 60 * 4
    files = [file for file in (store / "sparse").rglob("*") if file.is_file()]
    assert sparse["bytes_stored"] == sum(file.stat().st_size for file in files)
    text = next(node for node in done["nodes"] if node["path"] == "text")
    assert text["bytes"] is None
    assert done["totals"]["bytes"] == 40 * 60 * 4 + 12
    shown = run("tree", store, "--sizes").out
    assert "9.4 KiB → " in shown and "2 of 24 chunks" in shown


def test_json_members(run: Run, store: Path) -> None:
    done = run("tree", store, "--json")
    assert done.out.isascii()
    document = done.document
    assert list(document) == ["store", "path", "zarr_format", "format", "nodes", "totals"]
    assert document["totals"] == {"groups": 2, "arrays": 3, "unreadable": 0}
    assert [node["path"] for node in document["nodes"]] == ["", "deep", "deep/z", "sparse", "text"]
    assert document["nodes"][2] == {
        "path": "deep/z",
        "kind": "array",
        "zarr_format": 3,
        "shape": [2, 3],
        "dtype": "int16",
        "chunks": [1, 3],
        "shards": None,
        "codecs": document["nodes"][2]["codecs"],
    }
    names = [codec["name"] for codec in document["nodes"][2]["codecs"]]
    assert names == ["bytes", "zstd"]


@pytest.mark.parametrize("node", ["deep", "deep/z", "/deep/"])
def test_a_node_may_be_named_apart_or_in_the_path(run: Run, store: Path, node: str) -> None:
    apart = run("tree", store, node)
    joined = run("tree", store / node.strip("/"))
    assert apart.status == joined.status == 0
    assert apart.out.splitlines()[-1] == joined.out.splitlines()[-1]
    paths = [found["path"] for found in run("tree", store, node, "--json").document["nodes"]]
    assert paths[0] == node.strip("/")


def test_archives(run: Run, tmp_path: Path, store: Path) -> None:
    archive = tmp_path / "data.zip"
    shutil.make_archive(str(tmp_path / "data"), "zip", store)
    assert "2 groups, 3 arrays" in run("tree", archive).out
    assert "1 array" in run("tree", archive / "deep" / "z").out
    other = archive.rename(tmp_path / "no-suffix")
    assert "2 groups, 3 arrays" in run("tree", other).out


def test_shards(run: Run, tmp_path: Path) -> None:
    root = zarr.create_group(tmp_path / "m.zarr")
    root.create_array("s", shape=(64, 64), chunks=(8, 8), shards=(32, 32), dtype="u1")[:8] = 1
    assert "8×8 in 32×32" in run("tree", tmp_path / "m.zarr").out
    assert "2 of 4 shards" in run("tree", tmp_path / "m.zarr", "--sizes").out


def test_one_damaged_node_does_not_hide_the_others(run: Run, store: Path) -> None:
    (store / "text" / "zarr.json").write_text("{broken")
    done = run("tree", store)
    assert done.status == 1
    assert "sparse" in done.out and "✗" in done.out
    assert done.out.splitlines()[-1] == "2 groups, 2 arrays, 1 unreadable"
    told = run("tree", store, "--json")
    assert told.status == 1
    nodes = told.document["nodes"]
    assert [node["kind"] for node in nodes if node["path"] == "text"] == ["unreadable"]


def test_an_unknown_codec_is_shown(run: Run, tmp_path: Path) -> None:
    store = write(tmp_path / "x.zarr")
    file = store / "sparse" / "zarr.json"
    file.write_text(file.read_text().replace('"zstd"', '"brotli9"'))
    done = run("tree", store)
    assert done.status == 0 and "brotli9" in done.out


def test_format_2(run: Run, tmp_path: Path) -> None:
    done = run("tree", write(tmp_path / "two.zarr", zarr_format=2))
    assert "format 2 (zarr 2)" in done.out and "  v2  " in done.out


def test_other_peoples_arrays(run: Run, tmp_path: Path) -> None:
    dtype = np.dtype([("a", "i4"), ("b", "f8")])
    zarr.create_array(tmp_path / "s.zarr", shape=(3,), dtype=dtype, zarr_format=2)
    zarr.create_array(tmp_path / "c.zarr", shape=(), dtype=">i8", zarr_format=2)
    assert "struct(a int32, b float64)" in run("tree", tmp_path / "s.zarr").out
    assert "scalar" in run("tree", tmp_path / "c.zarr").out


@given(st.lists(st.lists(st.sampled_from("abc"), min_size=1, max_size=4).map("/".join)))
def test_every_branch_hangs_on_its_parent(leaves: list[str]) -> None:
    """Reading the drawing gives the paths back."""
    whole = {path[:end] for path in leaves for end in range(1, len(path) + 1, 2)}
    paths = ["", *sorted(whole)]
    stack: list[str] = []
    read = []
    for label in branches(paths)[1:]:
        lead, _, name = label.rpartition("── ")
        depth = len(lead) // 4
        assert set(lead[:-1]) <= {" ", "│"} and lead[-1] in "├└"
        stack[depth:] = [name]
        read.append("/".join(stack))
    assert read == paths[1:]
    lasts = [path for path, label in zip(paths, branches(paths), strict=True) if "└" in label]
    assert len(lasts) == len({path.rpartition("/")[0] for path in paths[1:]})


# -- every format ------------------------------------------------------------------------------

OLD_SOURCES = [
    pytest.param("zarr-python", marks=fixtures.needs_third_party),
    pytest.param("netcdf-c", marks=fixtures.needs_third_party),
    "zarr-0.3.0",
    "zarr-0.4.0",
    "zarr-1.1.0",
    "zarrita-alimanfoo-2020-07-e7e298d",
    "zarrita-alimanfoo-2020-09-39bfe49",
    "zarr-2.18.7-v3exp",
    "zarr-2.18.7-n5",
    "netcdf-c-4.10.1-nczarr",
]


def test_every_format_has_a_title() -> None:
    assert set(titles.names()) == {str(known.name) for known in formats.every_format()}


@pytest.mark.parametrize("zarr_format", titles.names())
def test_any_format(run: Run, tmp_path: Path, zarr_format: str) -> None:
    """The root, and a path into the store, whatever the layout of its keys."""
    source = zarr.create_group(tmp_path / "source.zarr")
    source.create_group("a").create_array("b", data=np.arange(8.0), chunks=(4,), compressors=None)
    options = ["--to", zarr_format, "--reencode", "--drop", "groups", "--quiet"]
    assert run("convert", tmp_path / "source.zarr", tmp_path / "new", *options).status == 0
    done = run("tree", tmp_path / "new" / "a" / "b")
    assert done.status == 0, done.err
    assert f"  {titles.short(_name(zarr_format))}  " in done.out
    found = run("info", tmp_path / "new" / "a", "b", "--json", "--chunks").document
    assert found["format"] == titles.title(_name(zarr_format))
    assert (found["shape"], found["chunks_stored"]) == ([8], 2)
    assert run("check", tmp_path / "new", "a/b", "--level", "error").status == 0


def _name(zarr_format: str) -> int | str:
    return int(zarr_format) if zarr_format.isdigit() else zarr_format


@pytest.mark.parametrize("source", OLD_SOURCES)
def test_stores_of_others(run: Run, source: str) -> None:
    """Every store is drawn, or one line says why not."""
    top = fixtures.unpacked(source)
    stores = sorted({row.store for row in fixtures.rows() if row.source == source})[:12]
    assert stores
    for store in stores:
        done = run("tree", top / store)
        assert done.status == 0, done.err
        assert "array" in done.out
