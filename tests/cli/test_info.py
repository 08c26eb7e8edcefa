"""`omnizarr info`: every fact of a node, and the picture of its chunks."""

from __future__ import annotations

from pathlib import Path

import numpy as np

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
    found = run("info", store, "sparse", "--json").document
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
    lines = run("info", store / "sparse").out.splitlines()
    facts = {line[2:18].strip(): line[18:] for line in lines[1:] if not line.startswith("   ")}
    assert lines[0] == f"{store}/sparse  array"
    assert facts["shape"] == "40×60  (y, x)"
    assert facts["data type"] == "float32"
    assert facts["chunks"] == "10×10"
    assert facts["fill value"] == "nan"
    assert facts["order"] == "C"
    assert facts["codecs"].startswith("bytes (endian=little) → blosc (")
    assert facts["chunks stored"] == "2 of 24"
    assert facts["size"].startswith("9.4 KiB decoded, ")


def test_hostile_attributes_stay_on_their_line(run: Run, store: Path) -> None:
    shown = run("info", store / "sparse").out
    assert "\x1b" not in shown
    assert 'note            "a\\u001b[2Jb\\nc"' in shown


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
    found = run("info", tmp_path / "s.zarr", "--json").document
    assert (found["shards_stored"], found["shards_possible"]) == (1, 3)
    assert (found["chunks_stored"], found["chunks_possible"]) == (None, 45)
    assert found["shards"] == [32, 40] and found["chunks"] == [8, 8]
    shown = run("info", tmp_path / "s.zarr").out
    assert "1 of 3 (45 chunks in them)" in shown and "sharding_indexed [bytes → " in shown


def test_the_picture(run: Run, store: Path) -> None:
    done = run("info", store, "sparse", "--chunks")
    assert "    ██····\n    ······\n    ······\n    ······\n" in done.out
    assert "chunks: y ↓ 4, x → 6" in done.out
    listed = run("info", store, "sparse", "--chunks", "--json").document["stored_chunks"]
    assert listed == [[0, 0], [0, 1]]


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
