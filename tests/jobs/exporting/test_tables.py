"""Groups and arrays as Parquet, Arrow and CSV files, read back by pyarrow, pandas and omnizarr."""

from __future__ import annotations

import datetime as dt
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import omnizarr
from omnizarr.jobs.exporting import arrow, csv, parquet, tables, tsv
from omnizarr.jobs.importing.tables import read

pa = pytest.importorskip("pyarrow")
pq = pytest.importorskip("pyarrow.parquet")
feather = pytest.importorskip("pyarrow.feather")

READERS: dict[Any, Any] = {parquet: pq.read_table, arrow: feather.read_table}


def ignored(units: int, nbytes: int, label: str) -> None: ...


def written(module: Any, node: Any, path: Path, **options: Any) -> Path:
    assert module.obstacles(node, options) == []
    done: list[int] = []
    module.write(node, str(path), lambda units, *_: done.append(units), **options)
    assert sum(done) == module.units(node, options)
    assert list(module.differences(node, str(path), ignored, **options)) == []
    return path


TABLE = pa.table({
    "i": pa.array([1, None, 3], pa.int32()), "f": pa.array([1.5, -0.0, None]),
    "s": ["a", None, 'Zü,"\n'], "b": [True, None, False], "empty": ["", None, ""],
    "zone": pa.array([0, None, 10**15], pa.timestamp("us", "Europe/Zurich")),
    "date": [dt.date(2020, 1, 1), None, dt.date(1, 1, 1)],
    "labels": pa.array(["x", "y", None]).dictionary_encode(),
    "time": pa.array([dt.time(1, 2, 3), None, dt.time(0)], pa.time64("us")),
    "half": pa.array([np.float16(1.5), None, np.float16(2)], pa.float16()),
    "span": pa.array([dt.timedelta(1), None, dt.timedelta(2)]),
    "none": pa.nulls(3), "km/h": [1, 2, 3],
}).replace_schema_metadata({"author": "somebody"})  # fmt: skip
RAW = {"bin": pa.array([b"\0\1", None, b""]), "raw": pa.array([b"ab", None, b"cd"], pa.binary(2))}


@pytest.mark.parametrize("module", READERS, ids=lambda module: module.NAME)
def test_a_table_comes_back(module: Any, tmp_path: Path) -> None:
    table = TABLE
    for name, values in RAW.items():
        table = table.append_column(name, values)
    table = table.replace_schema_metadata({"author": "somebody"})
    pq.write_table(table, tmp_path / "x.parquet")
    read(tmp_path / "x.parquet", tmp_path / "x.zarr", rows=2)
    root = omnizarr.open_group(tmp_path / "x.zarr", mode="r")
    found = READERS[module](written(module, root, tmp_path / "out"))
    assert found.column_names == table.column_names
    assert found.schema.metadata == {b"author": b"somebody"}
    for name in table.column_names:
        expected = table[name]
        if module is arrow and name == "labels":
            expected = expected.cast(pa.string())
        assert found[name].type == expected.type
        assert found[name].to_pylist() == expected.to_pylist()


def test_a_table_as_csv_and_back(tmp_path: Path) -> None:
    pq.write_table(TABLE, tmp_path / "x.parquet")
    read(tmp_path / "x.parquet", tmp_path / "x.zarr")
    root = omnizarr.open_group(tmp_path / "x.zarr", mode="r")
    for module, name in ((csv, "out.csv"), (tsv, "out.tsv")):
        path = written(module, root, tmp_path / name)
        read(path, tmp_path / f"{name}.zarr")
        again = omnizarr.open_group(tmp_path / f"{name}.zarr", mode="r")
        assert again.attrs["columns"] == root.attrs["columns"]
        for column in ("i", "f", "s", "b", "empty", "km_h"):
            assert again[column][:].tolist() == root[column][:].tolist()
            assert again[column].attrs.get("valid") == root[column].attrs.get("valid")
        assert np.signbit(again["f"][1])
        assert again["empty_valid"][:].tolist() == [True, False, True]


FLOATS = st.lists(st.floats(), min_size=1, max_size=20)
TEXTS = st.lists(st.text(st.characters(codec="utf-8", exclude_characters="\0")), max_size=20)


@settings(max_examples=30, deadline=None)
@given(floats=FLOATS, texts=TEXTS, rows=st.integers(1, 7))
def test_csv_is_exact(floats: Any, texts: Any, rows: int, tmp_path_factory: Any) -> None:
    """Against Python's own reader of CSV."""
    import csv as reference

    size = min(len(floats), len(texts))
    root = omnizarr.group()
    root.create_array("f", data=np.array(floats[:size], "f8"), chunks=rows)
    with np.errstate(over="ignore"):
        singles = np.array(floats[:size], "f8").astype("f4")
    root.create_array("g", data=singles, chunks=rows)
    root.create_array("s", data=np.array(texts[:size], np.dtypes.StringDType()), chunks=rows)
    path = written(csv, root, tmp_path_factory.mktemp("csv") / "x.csv")
    with path.open(encoding="utf-8", newline="") as file:
        lines = list(reference.reader(file))
    assert lines[0] == ["f", "g", "s"]
    assert [line[2] for line in lines[1:]] == texts[:size]
    for column, name, dtype in ((0, "f", "f8"), (1, "g", "f4")):
        found = np.array([float(line[column]) for line in lines[1:]], "f8")
        with np.errstate(over="ignore"):
            found = found.astype(dtype)
        np.testing.assert_array_equal(found, root[name][:])


def test_the_long_form(tmp_path: Path) -> None:
    pd = pytest.importorskip("pandas")
    root = omnizarr.group()
    values = np.arange(24.0).reshape(4, 3, 2)
    rain = root.create_array("rain", data=values, chunks=2, dimension_names=["time", "y", None])
    root.create_array("wind", data=-values, chunks=3, dimension_names=["time", "y", None])
    days = np.arange("2020-01-01", "2020-01-05", dtype="M8[D]")
    root.create_array("time", data=days, dimension_names=["time"])
    for node in (root, rain):
        found = pd.read_parquet(written(parquet, node, tmp_path / "x.parquet"))
        assert list(found)[:4] == ["time", "y", "dim2", "rain"]
        assert found["rain"].tolist() == values.reshape(-1).tolist()
        assert found["dim2"].tolist() == [0, 1] * 12
        assert found["time"].astype("M8[s]").tolist() == np.repeat(days, 6).astype(
            "M8[s]"
        ).tolist() or (
            [str(each)[:10] for each in found["time"]] == np.repeat(days, 6).astype(str).tolist()
        )
    assert found.shape == (24, 4)
    frame = pd.read_csv(written(csv, root, tmp_path / "x.csv"))
    assert frame["wind"].tolist() == (-values.reshape(-1)).tolist()


def test_blocks_are_small(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tables, "_MOST_ROWS", 7)
    root = omnizarr.group()
    root.create_array("a", data=np.arange(100), chunks=10)
    root.create_array("b", data=[f"row {n}" for n in range(100)], chunks=9, dtype=str)
    assert parquet.units(root, {}) == 20
    for module in (parquet, arrow, csv):
        written(module, root, tmp_path / module.NAME)
    assert pq.ParquetFile(tmp_path / "parquet").metadata.num_row_groups == 20
    table = omnizarr.array(np.arange(60).reshape(4, 5, 3), chunks=2)
    assert pq.read_table(written(parquet, table, tmp_path / "long"))["value"].to_pylist() == [
        *range(60)
    ]


def test_a_matrix(tmp_path: Path) -> None:
    values = np.random.default_rng(0).random((50, 7))
    array = omnizarr.array(values, chunks=4)
    path = written(csv, array, tmp_path / "x.csv", matrix=True, delimiter=";")
    np.testing.assert_array_equal(np.loadtxt(path, delimiter=";"), values)
    assert "two dimensions" in csv.obstacles(omnizarr.array([1]), {"matrix": True})[0]
    wide = omnizarr.zeros((1, 20_000))
    assert "20000 columns" in csv.obstacles(wide, {"matrix": True})[0]


def test_times_in_units_that_arrow_lacks(tmp_path: Path) -> None:
    root = omnizarr.group()
    for unit in ("h", "m", "25us", "M", "D", "W", "ns"):
        root.create_array(f"t{unit}", data=np.array([0, 5, "NaT"], f"M8[{unit}]"))
    root.create_array("days", data=np.array([1, 2, "NaT"], "m8[D]"))
    found = pq.read_table(written(parquet, root, tmp_path / "x.parquet"))
    for name in root:
        column = found[name].to_numpy()
        assert (column.astype(root[name].dtype)[:2] == root[name][:2]).all() and np.isnat(column[2])
    root.create_array("ages", data=np.array([10**15], "M8[D]").repeat(3))
    with pytest.raises(omnizarr.errors.UnsupportedError, match=r"2\*\*31 days"):
        parquet.write(root, str(tmp_path / "y"), ignored)


def test_what_makes_no_table() -> None:
    root = omnizarr.group()
    assert "no array" in parquet.obstacles(root, {})[0]
    root["a"], root["b"] = [1, 2], [1, 2, 3]
    assert "different shapes" in parquet.obstacles(root, {})[0]


@pytest.mark.parametrize("length", [2, 4])
@pytest.mark.parametrize("name", ["x", "z"])
def test_coordinates_that_fit_nothing_are_not_left_out(name: str, length: int) -> None:
    root = omnizarr.group()
    root.create_array("a", data=np.arange(3), dimension_names=["x"])
    root.create_array(name, data=np.arange(10, 10 + length), dimension_names=[name])
    assert f"different shapes (a (3,), {name} ({length},))" in parquet.obstacles(root, {})[0]
    root["c/d"] = [1]
    assert "no groups" in arrow.obstacles(root, {})[0]
    raw = omnizarr.create_array({}, data=np.zeros(2, "V3"))
    assert parquet.obstacles(raw, {}) == [] and "CSV has no form" in csv.obstacles(raw, {})[0]
    assert "delimiter" in csv.obstacles(omnizarr.array([1]), {"delimiter": "ab"})[0]


def test_differences_are_found(tmp_path: Path) -> None:
    root = omnizarr.group()
    root["a"], root["s"] = np.arange(5.0), np.array(list("abcde"), np.dtypes.StringDType())
    for module in (parquet, arrow, csv):
        module.write(root, str(tmp_path / module.NAME), ignored)
    root["s"][3] = "other"
    root["a"][4] = np.nan
    for module in (parquet, arrow, csv):
        found = list(module.differences(root, str(tmp_path / module.NAME), ignored))
        assert ["'a'" in found[0], "'s'" in found[1]] == [True, True]
        root["a"].append([1.0])
        root["s"].append(["z"])
        more = list(module.differences(root, str(tmp_path / module.NAME), ignored))
        assert "should be more" in more[-1]
        root["a"].resize(5)
        root["s"].resize(5)


def test_complex_numbers_are_structs(tmp_path: Path) -> None:
    array = omnizarr.array([1 + 2j, complex("nan")])
    found = pq.read_table(written(parquet, array, tmp_path / "x.parquet"))
    assert found["value"].to_pylist()[0] == {"real": 1.0, "imag": 2.0}


def test_empty_tables_and_scalars(tmp_path: Path) -> None:
    root = omnizarr.group()
    root.create_array("a", shape=0, dtype="f4")
    root.create_array("s", shape=0, dtype=str)
    for module in (parquet, arrow, csv):
        written(module, root, tmp_path / module.NAME)
        written(module, omnizarr.array(5), tmp_path / module.NAME)
    assert (tmp_path / "csv").read_text() == '"value"\n5\n'


def test_values_are_not_made_larger(tmp_path: Path) -> None:
    """A dictionary of values that are all different took a fifth more than they do."""
    values = np.random.default_rng(0).random(100_000)
    root = omnizarr.create_group({})
    for name, data in (("float", values), ("integer", values.view("i8"))):
        root.create_array(name, data=data, dimension_names=["row"])
    written(parquet, root, tmp_path / "x.parquet")
    assert (tmp_path / "x.parquet").stat().st_size < 2 * values.nbytes * 1.05
