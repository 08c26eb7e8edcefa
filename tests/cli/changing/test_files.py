"""`omnizarr convert` from and to files of other formats."""

from __future__ import annotations

from pathlib import Path

import h5py
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import omnizarr as zarr
from tests.cli.conftest import Run

RAMP = np.arange(12.0).reshape(3, 4)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    with h5py.File(tmp_path / "x.nc", "w") as root:
        root.create_dataset("g/a", data=RAMP, chunks=(2, 2), compression=1)
    return tmp_path / "x.nc"


def test_from_a_file(run: Run, file: Path, tmp_path: Path) -> None:
    done = run("convert", file, tmp_path / "x.zarr")
    assert done.status == 0 and "copy chunks" in done.out, done.err
    np.testing.assert_array_equal(zarr.open(tmp_path / "x.zarr", mode="r")["g/a"], RAMP)
    again = run("convert", file, tmp_path / "x.zip", "--path", "g", "--to", 2, "--json").document
    assert [row["path"] for row in again["nodes"]] == ["", "a"]
    assert again["source"] == str(file) and again["destination"] == str(tmp_path / "x.zip")
    assert run("convert", file, tmp_path / "x.zarr").status == 2


def test_to_a_file_and_between_files(run: Run, file: Path, tmp_path: Path) -> None:
    run("convert", file, tmp_path / "x.zarr")
    done = run("convert", tmp_path / "x.zarr", tmp_path / "y.nc", "--verify")
    assert done.status == 0 and "every value verified" in done.out, done.err
    document = run("convert", tmp_path / "x.zarr/g/a", tmp_path / "z", "--to", "hdf5",
                   "--json").document  # fmt: skip
    assert document["to"] == "hdf5" and document["arrays"][0]["shape"] == [3, 4]
    assert run("convert", file, tmp_path / "w.h5", "--path", "g", "--quiet").out == ""
    for name, path in {"y.nc": "g/a", "z": "data", "w.h5": "a"}.items():
        with h5py.File(tmp_path / name) as found:
            np.testing.assert_array_equal(found[path], RAMP)


def test_what_is_refused(run: Run, file: Path, tmp_path: Path) -> None:
    zarr.save_array(str(tmp_path / "a.zarr"), RAMP + 1j)
    refused = run("convert", tmp_path / "a.zarr", tmp_path / "a.nc")
    assert refused.status == 2 and "complex numbers" in refused.err
    (tmp_path / "b.h5").write_bytes(b"before")
    there = run("convert", tmp_path / "a.zarr", tmp_path / "b.h5")
    assert there.status == 2 and "--overwrite" in there.err
    assert run("convert", tmp_path / "a.zarr", tmp_path / "b.h5", "--overwrite").status == 0
    option = run("convert", tmp_path / "a.zarr", tmp_path / "c.h5", "--option", "unlimeted=[]")
    assert option.status == 2 and "did you mean 'unlimited'" in option.err
    other = run("convert", tmp_path / "a.zarr", tmp_path / "c.h5", "--chunks", "1,1")
    assert other.status == 2 and "--chunks has no meaning" in other.err
    without = run("convert", tmp_path / "a.zarr", tmp_path / "c.zarr")
    assert without.status == 0 and "format 3, which the source has" in without.out
    in_place = run("convert", file, "--in-place", "--to", 3)
    assert in_place.status == 2 and "DESTINATION" in in_place.err
    damaged = tmp_path / "d.nc"
    damaged.write_bytes(file.read_bytes()[:200])
    assert run("convert", damaged, tmp_path / "d.zarr").status == 2


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["x.grib"], "files of the format grib are read, not written"),
        (["x.csv.gz"], "hint: write x.csv, and compress it"),
        (["x.npy"], "export one of its arrays with --path"),
        (["x.hdf"], "say which with --to, or use one of .h5"),
        (["x.nc", "--to", "netcd"], "hint: did you mean netcdf?"),
        (["x.h5", "--option", "unlimited"], "expected KEY=VALUE, found 'unlimited'"),
    ],
)
def test_destinations_that_are_not_written(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, words: list[str], message: str
) -> None:
    monkeypatch.chdir(tmp_path)
    zarr.create_group("a.zarr")
    done = run("convert", "a.zarr", *words)
    assert done.status == 2 and message in done.err, done.err
    assert [path.name for path in tmp_path.iterdir()] == ["a.zarr"]


def test_options_of_the_format(run: Run, tmp_path: Path) -> None:
    zarr.create_array(str(tmp_path / "a.zarr"), data=RAMP, dimension_names=["t", "x"])
    done = run("convert", tmp_path / "a.zarr", tmp_path / "c.h5", "--option", 'unlimited=["t"]')
    assert done.status == 0, done.err
    with h5py.File(tmp_path / "c.h5") as found:
        assert found["data"].maxshape == (None, 4)


def test_tables_of_one_column_and_of_one_value(run: Run, tmp_path: Path) -> None:
    np.save(tmp_path / "days.npy", np.array(["2020-01-01", "NaT", "2020-01-03"], "M8[D]"))
    np.save(tmp_path / "one.npy", np.float32(3.25))
    for name, suffix in (("days", "csv"), ("days", "parquet"), ("one", "csv"), ("one", "parquet")):
        there, back = tmp_path / f"{name}.{suffix}", tmp_path / f"{name}-{suffix}.zarr"
        run("convert", tmp_path / f"{name}.npy", tmp_path / "x.zarr", "--overwrite")
        assert run("convert", tmp_path / "x.zarr", there, "--verify").status == 0
        done = run("convert", there, back)
        assert done.status == 0, done.err
        expected = np.atleast_1d(np.load(tmp_path / f"{name}.npy"))
        np.testing.assert_array_equal(zarr.open(back, mode="r")["data"], expected)


def test_a_type_without_a_form_is_left_out_by_name(run: Run, tmp_path: Path) -> None:
    with h5py.File(tmp_path / "x.h5", "w") as root:
        root.create_dataset("a b", data=np.arange(3, dtype="g"))
        root.create_dataset("c", data=RAMP)
    done = run("convert", tmp_path / "x.h5", tmp_path / "x.zarr")
    assert done.status == 2 and "hint: --exclude 'a b' leaves it out" in done.err
    assert run("convert", tmp_path / "x.h5", tmp_path / "x.zarr", "--exclude", "a b").status == 0


def test_options_of_a_table(run: Run, tmp_path: Path) -> None:
    (tmp_path / "x.csv").write_bytes("zip;ort\n00123;Köln\n".encode("latin-1"))
    refused = run("convert", tmp_path / "x.csv", tmp_path / "x.zarr", "--option", "delimiter=;")
    assert refused.status == 2 and "--option encoding=latin-1 reads" in refused.err
    options = ["delimiter=;", "encoding=latin-1", 'types={"zip": "string"}']
    words = [word for option in options for word in ("--option", option)]
    assert run("convert", tmp_path / "x.csv", tmp_path / "x.zarr", *words).status == 0
    root = zarr.open_group(tmp_path / "x.zarr", mode="r")
    assert (root["zip"][0], root["ort"][0]) == ("00123", "Köln")


def test_hints_are_for_the_shell(run: Run, tmp_path: Path) -> None:
    (tmp_path / "x.csv").write_text("a;b\n1,5;2\n")
    done = run("convert", tmp_path / "x.csv", tmp_path / "x.zarr")
    assert done.status == 2 and "hint: --option 'delimiter=;' reads another" in done.err
    (tmp_path / "x.nc").write_text("no such format")
    done = run("convert", tmp_path / "x.nc", tmp_path / "y.zarr")
    assert done.status == 2 and "neither HDF5" in done.err and "kind=" not in done.err
    assert "hint: omnizarr formats lists" in done.err


def test_a_table_whose_conversion_was_killed(run: Run, tmp_path: Path) -> None:
    (tmp_path / "x.zarr").mkdir()
    (tmp_path / "x.zarr" / ".omnizarr-import.json").write_text("{}")
    done = run("tree", tmp_path / "x.zarr")
    assert done.status == 2 and "run the same omnizarr convert again" in done.err


def test_what_a_table_does_not_take(run: Run, file: Path, tmp_path: Path) -> None:
    table = tmp_path / "x.parquet"
    pq.write_table(pa.table({"a b": [1], "lists": [[1]]}), table)
    for words, message in (
        ([], "--option 'columns=[\"a b\"]' reads the others"),
        (["--exclude", "a"], "exclude is not taken for a table"),
        (["--chunks", "2,3"], "chunks of a table are a number of rows; found (2, 3)"),
        (["--option", "colums=[]"], "did you mean 'columns'?"),
    ):
        done = run("convert", table, tmp_path / "x.zarr", *words)
        assert done.status == 2 and message in done.err and "unexpected" not in done.err
    for source in (file, tmp_path / "a.zarr"):
        zarr.save_array(str(tmp_path / "a.zarr"), RAMP)
        done = run("convert", source, tmp_path / "x.zarr", "--option", "delimiter=;")
        assert done.status == 2 and "options are for the reading of a table" in done.err
    assert not (tmp_path / "x.zarr").exists()
    done = run("convert", table, tmp_path / "x.zarr", "--shards", "4")
    assert "convert the table without --shards 4, and then the result once more" in done.err
    done = run("convert", table, tmp_path / "x.csv")
    assert done.status == 2 and "is a table" in done.err and "kind=" not in done.err


def test_files_are_named_where_a_store_is_wanted(run: Run, file: Path, tmp_path: Path) -> None:
    np.save(tmp_path / "x.npy", RAMP)
    for name in ("x.nc", "x.npy"):
        done = run("check", tmp_path / name)
        assert done.status == 2
        assert f"hint: omnizarr convert {tmp_path / name} data.zarr reads it" in done.err
        assert "omnizarr.virtualize" not in done.err and "numpy.load" not in done.err


@pytest.mark.parametrize("suffix", ["parquet", "arrow"])
def test_tables_are_named_where_a_store_is_wanted(run: Run, tmp_path: Path, suffix: str) -> None:
    """A Parquet table was called references in damaged JSON."""
    table = tmp_path / f"x y.{suffix}"
    run("convert", _table(tmp_path), tmp_path / "x.zarr")
    assert run("convert", tmp_path / "x.zarr", table).status == 0
    for command in ("tree", "verify", "browse"):
        done = run(command, table)
        assert done.status == 2 and f"table\nhint: omnizarr convert '{table}' data.zarr" in done.err
    table.write_bytes(b"")
    assert "an empty file\n" in run("tree", table).err


def _table(folder: Path) -> Path:
    pq.write_table(pa.table({"a": [1, 2], "b": ["x", "y"]}), folder / "t.parquet")
    return folder / "t.parquet"


def test_verify_of_a_table(run: Run, tmp_path: Path) -> None:
    """Each value of a table is decoded anyway."""
    assert run("convert", _table(tmp_path), tmp_path / "x.zarr", "--verify").status == 0


def test_every_column_without_a_form_is_named(run: Run, tmp_path: Path) -> None:
    table = pa.table({"a": [1], "b": ["x"], "c": [True]})
    pq.write_table(table, tmp_path / "t.parquet")
    done = run("convert", tmp_path / "t.parquet", tmp_path / "x.n5", "--to", "n5")
    assert done.status == 2 and "2 obstacles, and nothing was written" in done.err
    assert "1. column 'b': N5 has no" in done.err and "2. column 'c': N5 has no" in done.err


def test_a_table_in_a_format_without_booleans(run: Run, tmp_path: Path) -> None:
    """Which is not asked for any where no value is missing."""
    for name, last in (("full", 2), ("gap", None)):
        pq.write_table(pa.table({"a": [1, last], "b": [0.5, 1.0]}), tmp_path / name)
    done = run("convert", tmp_path / "full", tmp_path / "x.n5", "--to", "n5")
    assert done.status == 0, done.err
    assert zarr.open(tmp_path / "x.n5", mode="r")["a"][:].tolist() == [1, 2]
    done = run("convert", tmp_path / "gap", tmp_path / "y.n5", "--to", "n5")
    assert done.status == 2 and "column 'a': it has nulls" in done.err and "--to 3" in done.err
    assert run("tree", tmp_path / "y.n5").status == 2
    assert run("convert", tmp_path / "full", tmp_path / "y.n5", "--to", "n5").status == 0


def test_a_place_in_a_message_is_a_path(run: Run, tmp_path: Path) -> None:
    run("convert", _table(tmp_path), tmp_path / "x.zarr")
    done = run("convert", _table(tmp_path), tmp_path / "x.zarr")
    assert done.err.startswith(f"omnizarr: {tmp_path / 'x.zarr'}: a group is already there\n")


def test_an_empty_file(run: Run, tmp_path: Path) -> None:
    (tmp_path / "x.nc").touch()
    done = run("convert", tmp_path / "x.nc", tmp_path / "x.zarr")
    assert done.status == 2 and done.err.endswith("x.nc' is an empty file\n")
