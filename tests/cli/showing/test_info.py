"""`omnizarr info`: every fact of a node, and the picture of its chunks."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest

import omnizarr as zarr
from tests.cli.conftest import Run, write

GROUP_MEMBERS = ["store", "store_kind", "format", "path", "kind", "zarr_format",
                 "arrays", "groups", "attributes"]  # fmt: skip
ARRAY_MEMBERS = [
    *GROUP_MEMBERS[:6],
    *("shape", "dtype", "chunks", "shards", "codecs", "dimension_names", "fill_value", "order"),
    *("bytes", "bytes_stored", "chunks_stored", "chunks_possible"),
    *("shards_stored", "shards_possible", "ratio", "attributes"),
]


def test_json_of_an_array(run: Run, store: Path) -> None:
    found = run("info", store, "sparse", "--json", "--chunks").document
    assert found.pop("stored_chunks") == [[0, 0], [0, 1]]
    assert list(found) == ARRAY_MEMBERS
    assert found["fill_value"] == "NaN"
    assert found["attributes"] == {"units": "K", "bad": "NaN", "note": "a\x1b[2Jb\nc"}
    assert found["dimension_names"] == ["y", "x"]
    assert (found["chunks_stored"], found["chunks_possible"]) == (2, 24)
    assert (found["shards_stored"], found["shards_possible"]) == (None, None)
    assert found["ratio"] == found["bytes"] / found["bytes_stored"]
    assert found["store_kind"] == "folder" and found["format"] == "format 3"


def test_json_of_a_group(run: Run, store: Path) -> None:
    found = run("info", store, "--json").document
    assert list(found) == GROUP_MEMBERS
    assert found["arrays"] == ["sparse", "text"] and found["groups"] == ["deep"]
    assert found["attributes"] == {"title": "trial"}


def test_text_of_an_array(run: Run, store: Path) -> None:
    lines = run("info", store / "sparse", "--chunks").out.split("\n\n")[0].splitlines()
    facts = {line[2:18].strip(): line[18:] for line in lines[1:] if not line.startswith("   ")}
    assert lines[0] == f"{store}/sparse  array"
    assert facts["shape"] == "40×60  (y, x)"
    assert facts["data type"] == "float32"
    assert facts["chunks"] == "10×10"
    assert facts["fill value"] == "nan"
    assert facts["order"] == "C"
    assert facts["codecs"].startswith("bytes (endian=little) → zstd (")
    assert facts["chunks stored"] == "2 of 24"
    assert facts["size"].startswith("9.4 KiB decoded, ")


def test_hostile_attributes_stay_on_their_line(run: Run, store: Path) -> None:
    shown = run("info", store / "sparse").out
    assert "\x1b" not in shown
    assert 'note            "a\\u001b[2Jb\\nc"' in shown


def test_long_names_of_attributes_keep_the_columns(run: Run, tmp_path: Path) -> None:
    long = "a_name_that_is_longer_than_any_column"
    attributes = {"units": "K", "valid_range_of_values": [0, 1], long: "x" * 200, "長さ": 1}
    zarr.create_group(tmp_path / "g.zarr", attributes=attributes)
    lines = run("info", tmp_path / "g.zarr").out.splitlines()
    start = lines.index("  attributes") + 1
    assert lines[start : start + 3] == [
        '    units                  "K"',
        "    valid_range_of_values  [0, 1]",
        f"    {long}",
    ]
    assert lines[start + 3].startswith(" " * 27 + '"xxx') and len(lines[start + 3]) <= 80
    assert lines[start + 4] == "    長さ                   1"


def test_styles_in_data_stay_data(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Names of attributes, fields and codecs, on a terminal."""
    store = zarr.create_group(tmp_path / "g.zarr", zarr_format=2)
    dtype = np.dtype([("\x1b[31mred", "i4")])
    array = store.create_array("a", shape=(2,), dtype=dtype, attributes={"\x1b[8mhidden": 1})
    document = tmp_path / "g.zarr" / "a" / ".zarray"
    assert array.dtype == dtype
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setattr(sys.stdout.__class__, "isatty", lambda self: True)
    for broken in (False, True):
        if broken:
            text = document.read_text().replace('"zstd"', '"\\u001b[31mzstd"')
            document.write_text(text)
        for command in (["tree", tmp_path / "g.zarr"], ["info", tmp_path / "g.zarr/a"]):
            done = run(*command)
            assert "\x1b[" in done.out + done.err, "the program's own styles are there"
            assert "\x1b[31mred" not in done.out and "\x1b[8m" not in done.out
            assert "\x1b[31mzstd" not in done.out + done.err


def test_nczarr_is_named(run: Run, tmp_path: Path) -> None:
    attributes = {"_nczarr_superblock": {"version": "2.0.0"}}
    zarr.create_group(tmp_path / "n.zarr", zarr_format=2, attributes=attributes)
    for command in ("tree", "info"):
        assert "format 2 (zarr 2, NCZarr)" in run(command, tmp_path / "n.zarr").out
    (tmp_path / "m.zarr").mkdir()
    (tmp_path / "m.zarr" / ".zgroup").write_text('{"zarr_format": 2, "_NCZARR_GROUP": {}}')
    assert "format 2 (zarr 2, NCZarr)" in run("info", tmp_path / "m.zarr").out


def test_the_other_one_of_two_formats(run: Run, tmp_path: Path) -> None:
    store = write(tmp_path / "two.zarr", 2)
    assert run("convert", store, "--in-place", "--to", 3).status == 0
    for command in ("tree", "info"):
        assert run(command, store, "--json").document["zarr_format"] == 3
        assert run(command, store, "--zarr-format", 2, "--json").document["zarr_format"] == 2
        done = run(command, store, "--zarr-format", 1)
        assert done.status == 2 and "no array or group of format 1" in done.err
        assert "there is one of format 3" in done.err
    shown = run("tree", store, "--zarr-format", 2).out
    assert "v2" in shown and "v3" not in shown


def test_text_of_a_group(run: Run, store: Path) -> None:
    shown = run("info", store).out
    assert "arrays          2: sparse, text" in shown
    assert "groups          1: deep" in shown
    assert 'title           "trial"' in shown


def test_shards(run: Run, tmp_path: Path) -> None:
    array = zarr.create_array(
        tmp_path / "s.zarr", shape=(70, 40), chunks=(8, 8), shards=(32, 40), dtype="u1"
    )
    array[:32] = 1
    found = run("info", tmp_path / "s.zarr", "--json", "--chunks").document
    assert (found["shards_stored"], found["shards_possible"]) == (1, 3)
    assert (found["chunks_stored"], found["chunks_possible"]) == (None, 45)
    assert found["shards"] == [32, 40] and found["chunks"] == [8, 8]
    shown = run("info", tmp_path / "s.zarr", "--chunks").out
    assert "1 of 3 (the array has 45 chunks)" in shown and "sharding_indexed [bytes → " in shown


def test_the_picture(run: Run, store: Path) -> None:
    done = run("info", store, "sparse", "--chunks")
    assert "    ██····\n    ······\n    ······\n    ······\n" in done.out
    assert "chunks: y ↓ 4, x → 6" in done.out
    listed = run("info", store, "sparse", "--chunks", "--json").document["stored_chunks"]
    assert listed == [[0, 0], [0, 1]]


def test_chunks_are_listed_only_when_asked_for(
    run: Run, store: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object) -> None:
        raise AssertionError("it lists")

    monkeypatch.setattr(zarr.Array, "_stored_chunks", refuse)
    assert "chunks stored   ? of 24; --chunks counts them" in run("info", store, "sparse").out
    found = run("info", store, "sparse", "--json").document
    assert list(found) == ARRAY_MEMBERS
    assert (found["chunks_stored"], found["chunks_possible"]) == (None, 24)
    assert found["bytes_stored"] is found["ratio"] is None


def test_a_home_and_urls_without_slashes(
    run: Run, store: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(store.parent))
    monkeypatch.chdir(tmp_path)
    assert run("info", f"~/{store.name}").status == 0
    for command in (["info"], ["tree"], ["check"], ["convert", "--to", "2", str(store)]):
        done = run(*command, "http:/u:HUSHHUSH@h/x")
        assert done.status and "two slashes" in done.err, done
        assert "HUSH" not in done.out + done.err
    (tmp_path / "x.h5").write_bytes(b"\x89HDF\r\n\x1a\n")
    assert "cannot be opened as HDF5" in run("info", "x.h5").err


def test_fill_values_of_every_kind_are_json(run: Run, tmp_path: Path) -> None:
    cases = {
        "f4": (np.float32(-np.inf), "-Infinity"),
        "c16": (complex(1, np.nan), [1.0, "NaN"]),
        "S3": (b"ab", "ab"),
        "U3": ("äb", "äb"),
        "M8[D]": (np.datetime64("2020-02-29"), "2020-02-29"),
        "m8[s]": (np.timedelta64("NaT"), "NaT"),
        "u8": (2**64 - 1, 2**64 - 1),
        "?": (True, True),
        "V2": (np.void(b"\x00\xff"), "\x00\\xff"),
    }
    for number, (dtype, (value, expected)) in enumerate(cases.items()):
        path = tmp_path / f"{number}.zarr"
        zarr.create_array(path, shape=(2,), dtype=dtype, fill_value=value, zarr_format=2)
        assert run("info", path, "--json").document["fill_value"] == expected, dtype
        assert run("info", path).status == 0
    path = tmp_path / "none.zarr"
    zarr.create_array(path, shape=(2,), dtype="i4", fill_value=None, zarr_format=2)
    assert run("info", path, "--json").document["fill_value"] is None
    assert "fill value      none" in run("info", path).out


def test_a_damaged_member_is_named(run: Run, store: Path) -> None:
    (store / "text" / "zarr.json").write_text("{")
    done = run("info", store)
    assert done.status == 0 and "problem" in done.out and "text/zarr.json" in done.out


def test_a_huge_sparse_array_costs_nothing(run: Run, tmp_path: Path) -> None:
    array = zarr.create_array(
        tmp_path / "h.zarr", shape=(10**6, 10**6, 10**6), chunks=(10, 10, 10), dtype="f8"
    )
    array[5, 5, 5] = 1
    array[-1, -1, -1] = 1
    done = run("info", tmp_path / "h.zarr", "--chunks")
    assert "2 of 1,000,000,000,000,000" in done.out and "░" in done.out


def test_every_format_has_a_name(run: Run, tmp_path: Path) -> None:
    assert "format 2 (zarr 2)" in run("info", write(tmp_path / "2.zarr", 2)).out
