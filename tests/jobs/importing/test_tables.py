"""Tables as groups, against pyarrow and pandas: types, nulls, structs, CSV; kills; damage."""

from __future__ import annotations

import datetime as dt
import gzip
import json
import tracemalloc
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import omnizarr
from omnizarr.api.virtual.files import find
from omnizarr.errors import (
    LimitError,
    MetadataError,
    NodeExistsError,
    UnsupportedError,
    ZarrError,
)
from omnizarr.jobs.importing import table_columns, table_sources, tables
from omnizarr.jobs.importing.table_columns import array_name
from omnizarr.jobs.importing.table_conversion import convert_table, is_table
from omnizarr.jobs.importing.table_writing import JOURNAL
from omnizarr.jobs.importing.tables import read

pa = pytest.importorskip("pyarrow")
pc = pytest.importorskip("pyarrow.compute")
pq = pytest.importorskip("pyarrow.parquet")
csv = pytest.importorskip("pyarrow.csv")
feather = pytest.importorskip("pyarrow.feather")

WRITERS = {
    "parquet": pq.write_table,
    "feather": feather.write_feather,
    "arrow": lambda table, path: feather.write_feather(
        table, path, compression="zstd", chunksize=7
    ),
}


def write_stream(table: Any, path: Any) -> None:
    with pa.ipc.new_stream(str(path), table.schema) as writer:
        writer.write_table(table, max_chunksize=5)


WRITERS["arrows"] = write_stream


def group_of(path: Path) -> omnizarr.Group:
    return omnizarr.open_group(path, mode="r")


def values(root: omnizarr.Group, name: str) -> list[Any]:
    """The values of a column, None where one is missing."""
    found = root[name][:].tolist()
    valid = root[name].attrs.get("valid")
    if valid is None:
        return list(found)
    assert root[valid].dtype == bool and root[valid].shape == root[name].shape
    return [value if there else None for value, there in zip(found, root[valid][:], strict=True)]


KINDS: dict[str, Any] = {
    "bool": (pa.bool_(), st.booleans()),
    "int8": (pa.int8(), st.integers(-128, 127)),
    "uint64": (pa.uint64(), st.integers(0, 2**64 - 1)),
    "float": (pa.float32(), st.floats(width=32, allow_nan=False)),
    "double": (pa.float64(), st.floats(allow_nan=False)),
    "text": (pa.string(), st.text(max_size=5)),
    "large": (pa.large_string(), st.text(max_size=5)),
    "bytes": (pa.binary(), st.binary(max_size=5)),
    "raw": (pa.binary(3), st.binary(min_size=3, max_size=3)),
    "date": (pa.date32(), st.dates()),
    "moment": (pa.timestamp("us"), st.datetimes()),
    "span": (pa.duration("us"), st.timedeltas(dt.timedelta(-9999), dt.timedelta(9999))),
    "labels": (pa.dictionary(pa.int8(), pa.string()), st.sampled_from(["a", "bb", ""])),
}


@st.composite
def tables_of(draw: st.DrawFn) -> Any:
    names = draw(st.lists(st.sampled_from(list(KINDS)), min_size=1, max_size=5, unique=True))
    rows = draw(st.integers(0, 30))
    columns = {}
    for name in names:
        kind, elements = KINDS[name]
        given = st.one_of(st.none(), elements) if draw(st.booleans()) else elements
        columns[name] = pa.array(draw(st.lists(given, min_size=rows, max_size=rows)), kind)
    return pa.table(columns)


@settings(max_examples=25, deadline=None)
@given(table=tables_of(), kind=st.sampled_from(list(WRITERS)), rows=st.integers(1, 12))
def test_all_values_arrive(table: Any, kind: str, rows: int, tmp_path_factory: Any) -> None:
    folder = tmp_path_factory.mktemp("table")
    WRITERS[kind](table, folder / f"x.{kind}")
    report = read(folder / f"x.{kind}", folder / "x.zarr", rows=rows)
    assert report.rows == table.num_rows
    root = group_of(folder / "x.zarr")
    assert root.attrs["columns"] == table.column_names
    for name in table.column_names:
        assert root[name].shape == (table.num_rows,) and root[name].chunks == (rows,)
        assert root[name].dimension_names == ("row",)
        found = values(root, name)
        if name == "raw":
            found = [None if value is None else bytes(value) for value in found]
        assert found == table[name].to_pylist()
        missing = 0 if name in ("date", "moment", "span") else table[name].null_count
        assert [one.missing for one in report.columns if one.name == name] == [missing]
        assert ("valid" in root[name].attrs) == bool(missing)
    assert not (folder / "x.zarr" / JOURNAL).exists()
    assert omnizarr.check(folder / "x.zarr").ok


def test_structs_times_and_odd_types(tmp_path: Path) -> None:
    table = pa.table({
        "s": pa.array([{"x": 1, "y": {"z": "q"}}, None, {"x": 2, "y": None}]),
        "zone": pa.array([0, None, 10**15], pa.timestamp("us", "Europe/Zurich")),
        "time": pa.array([dt.time(1, 2, 3), None, dt.time(0)], pa.time32("ms")),
        "half": pa.array([np.float16(1.5), None, np.float16(-0.0)], pa.float16()),
        "none": pa.nulls(3),
        "km/h": [1, 2, 3],
        "runs": pa.RunEndEncodedArray.from_arrays(pa.array([2, 3], pa.int32()), ["a", "b"]),
        "view": pa.array(["a", None, "long enough to be no inline text"], pa.string_view()),
    }).replace_schema_metadata({"author": "somebody"})  # fmt: skip
    write_stream(table, tmp_path / "x.arrow")
    read(tmp_path / "x.arrow", tmp_path / "x.zarr")
    root = group_of(tmp_path / "x.zarr")
    assert values(root, "s.x") == [1, None, 2] and values(root, "s.y.z") == ["q", None, None]
    assert root["zone"].dtype == "M8[us]" and root["zone"].attrs["arrow_type"].endswith("Zurich]")
    assert np.isnat(root["zone"][1]) and root["time"][0] == np.timedelta64(3_723_000, "ms")
    assert root["half"].dtype == "f2" and np.signbit(root["half"][2])
    assert values(root, "none") == [None] * 3
    assert root["km_h"].attrs["column"] == "km/h"
    assert values(root, "runs") == ["a", "a", "b"]
    assert values(root, "view")[:2] == ["a", None]
    assert root.attrs["arrow_metadata"] == {"author": "somebody"}


def test_what_has_no_form_is_told_at_once(tmp_path: Path) -> None:
    table = pa.table({
        "list": [[1], [2, 3]],
        "map": pa.array([[("a", 1)], []], pa.map_(pa.string(), pa.int8())),
        "price": [Decimal("1.10"), Decimal("123456789012345678.25")],
        "good": [1, 2],
    })  # fmt: skip
    pq.write_table(table, tmp_path / "x.parquet")
    with pytest.raises(UnsupportedError, match=r"'list'.*'map'.*'price'.*'columns': \['good'\]"):
        read(tmp_path / "x.parquet", tmp_path / "x.zarr")
    assert not (tmp_path / "x.zarr").exists()
    with pytest.raises(ValueError, match="decimals must be 'text' or 'float', found 'exact'"):
        read(tmp_path / "x.parquet", tmp_path / "x.zarr", decimals="exact")  # type: ignore[arg-type]
    for decimals in ("text", "float"):
        read(
            tmp_path / "x.parquet", tmp_path / "x.zarr", columns=["good", "price"],
            decimals=decimals, overwrite=True,
        )  # fmt: skip
        text = decimals == "text"
        expected = ["1.10", "123456789012345678.25"] if text else [1.1, 123456789012345678.25]
        assert [
            v.lstrip("0") if text else v for v in values(group_of(tmp_path / "x.zarr"), "price")
        ] == expected
    with pytest.raises(ValueError, match=r"x.parquet' has no column 'bad'; there are: 'list'"):
        read(tmp_path / "x.parquet", tmp_path / "y.zarr", columns=["bad"])


@pytest.mark.slow
def test_chunks_have_a_sensible_number_of_rows(tmp_path: Path) -> None:
    pq.write_table(pa.table({"a": np.arange(300_000)}), tmp_path / "x.parquet")
    read(tmp_path / "x.parquet", tmp_path / "x.zarr")
    assert group_of(tmp_path / "x.zarr")["a"].chunks == (1 << 17,)
    assert np.array_equal(group_of(tmp_path / "x.zarr")["a"][:], np.arange(300_000))
    long = pa.table({"a": ["x" * 20_000] * 5000})
    pq.write_table(long, tmp_path / "y.parquet")
    read(tmp_path / "y.parquet", tmp_path / "y.zarr")
    assert group_of(tmp_path / "y.zarr")["a"].chunks[0] <= 4096


def test_what_was_read_of_parquet_is_not_kept(tmp_path: Path) -> None:
    rows = 1 << 18
    table = pa.table({"a": np.random.default_rng(0).integers(0, 2**62, 8 * rows)})
    pq.write_table(
        table, tmp_path / "x.parquet", row_group_size=rows, compression="none", use_dictionary=False
    )
    [place] = find(tmp_path / "x.parquet", None)
    tracemalloc.start()
    try:
        with table_sources.opened(place, "parquet", table_sources.CsvOptions()) as source:
            assert sum(batch.num_rows for batch in source.batches(["a"])) == 8 * rows
        assert tracemalloc.get_traced_memory()[1] < table.nbytes / 2
    finally:
        tracemalloc.stop()


def test_formats_and_places(tmp_path: Path) -> None:
    pq.write_table(pa.table({"a": ["x", None], "t": [1, 2]}), tmp_path / "x.parquet")
    store = omnizarr.MemoryStore()
    done: list[int] = []
    report = read(
        tmp_path / "x.parquet", store, path="tables/one", zarr_format=2,
        progress=lambda progress: done.append(progress.done),
    )  # fmt: skip
    assert done == [2] and json.loads(report.to_json())["rows"] == 2
    assert "2 rows" in str(report) and "str" in str(report)
    root = omnizarr.open_group(store, path="tables/one", mode="r")
    assert root.metadata.zarr_format == 2 and values(root, "a") == ["x", None]
    with pytest.raises(NodeExistsError, match="overwrite"):
        read(tmp_path / "x.parquet", store, path="tables/one")
    read(tmp_path / "x.parquet", store, path="tables/one", columns=["t"], overwrite=True)
    assert list(omnizarr.open_group(store, path="tables/one", mode="r")) == ["t"]
    read(f"{tmp_path.as_uri()}/x.parquet", tmp_path / "x.zip")
    assert values(omnizarr.open_group(tmp_path / "x.zip", mode="r"), "a") == ["x", None]


def test_a_killed_import_begins_anew(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pq.write_table(pa.table({"a": range(100), "b": [None, "x"] * 50}), tmp_path / "x.parquet")
    (tmp_path / "x.zarr").mkdir()
    (tmp_path / "x.zarr" / "notes.txt").write_text("mine")

    def killed(*args: object, **more: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(tables.Target, "finish", killed)
        with pytest.raises(KeyboardInterrupt):
            read(tmp_path / "x.parquet", tmp_path / "x.zarr", rows=10)
    assert (tmp_path / "x.zarr" / "b_valid").exists()
    with pytest.raises(ZarrError):
        group_of(tmp_path / "x.zarr")
    report = read(tmp_path / "x.parquet", tmp_path / "x.zarr", rows=10, columns=["a"])
    assert report.restarted
    assert list(group_of(tmp_path / "x.zarr")) == ["a"]
    assert sorted(p.name for p in (tmp_path / "x.zarr").iterdir()) == [
        "a",
        "notes.txt",
        "zarr.json",
    ]


def test_an_import_that_was_killed_at_the_very_end_is_whole(tmp_path: Path) -> None:
    pq.write_table(pa.table({"a": range(5)}), tmp_path / "x.parquet")
    read(tmp_path / "x.parquet", tmp_path / "x.zarr")
    (tmp_path / "x.zarr" / JOURNAL).write_text('{"job": "import", "arrays": ["a", "a_valid"]}')
    with pytest.raises(NodeExistsError):
        read(tmp_path / "x.parquet", tmp_path / "x.zarr")
    assert group_of(tmp_path / "x.zarr")["a"][:].tolist() == [0, 1, 2, 3, 4]
    assert not (tmp_path / "x.zarr" / JOURNAL).exists()


def test_what_is_there_already_stays(tmp_path: Path) -> None:
    pq.write_table(pa.table({"a": [1]}), tmp_path / "x.parquet")
    (tmp_path / "x.zarr" / "a").mkdir(parents=True)
    (tmp_path / "x.zarr" / "a" / "mine").write_text("mine")
    with pytest.raises(NodeExistsError, match="'a' would be an array"):
        read(tmp_path / "x.parquet", tmp_path / "x.zarr")
    assert (tmp_path / "x.zarr" / "a" / "mine").read_text() == "mine"


def test_names_of_arrays() -> None:
    taken: set[str] = set()
    names = ["a", "a/b", "a_b", "", "..", "zarr.json", "c:/x", "a\n", "Länge", "__x", "x" * 2000]
    found = [array_name(name, taken) for name in names]
    assert len(set(found)) == len(names) and found[0] == "a" and found[8] == "Länge"
    root = omnizarr.group()
    for name in found:
        root.create_array(name, shape=1, dtype="i1")
    assert sorted(root) == sorted(found)


# -- CSV ------------------------------------------------------------------------------------------

CELLS = st.one_of(
    st.none(), st.text(st.characters(codec="utf-8", exclude_characters="\r\0"), max_size=6)
)


@settings(max_examples=25, deadline=None)
@given(rows=st.lists(st.tuples(CELLS, st.integers() | st.none()), min_size=1, max_size=20))
def test_csv_of_text(rows: list[Any], tmp_path_factory: Any) -> None:
    """Against a writer of its own: quotes, delimiters, line ends; integers of any size."""
    folder = tmp_path_factory.mktemp("csv")
    lines = ["text,number"]
    for text, number in rows:
        quoted = "" if text is None else '"' + text.replace('"', '""') + '"'
        lines.append(f"{quoted},{'' if number is None else number}")
    (folder / "x.csv").write_text("\n".join(lines) + "\n", encoding="utf-8", newline="")
    types = {"text": "string", "number": "string"}
    read(folder / "x.csv", folder / "x.zarr", types=types)
    root = group_of(folder / "x.zarr")
    assert values(root, "text") == [text for text, _ in rows]
    assert values(root, "number") == [None if n is None else str(n) for _, n in rows]


def test_types_of_csv(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A type that the first block suggests is widened by what comes later."""
    monkeypatch.setattr(table_sources, "_BLOCK", 64)
    early = "1,1,true,2020-01-01,,5,x\n" * 10
    late = "2,2.5,false,2020-01-02 03:04:05,7,18446744073709551615,\n"
    (tmp_path / "x.csv").write_text("i,f,b,d,n,u,s\n" + early + late)
    read(tmp_path / "x.csv", tmp_path / "x.zarr")
    root = group_of(tmp_path / "x.zarr")
    assert [root[name].dtype.kind for name in "ifbdnus"] == list("ifbMiuT")
    assert root["u"][-1] == 2**64 - 1 and root["f"][-1] == 2.5
    assert root["d"][-1] == np.datetime64("2020-01-02T03:04:05")
    assert values(root, "n") == [None] * 10 + [7] and values(root, "s")[-1] is None
    (tmp_path / "y.csv").write_text("zip,nan\n" + "00123,1\n" * 10 + "A1,nan\n")
    read(tmp_path / "y.csv", tmp_path / "y.zarr")
    assert values(group_of(tmp_path / "y.zarr"), "zip") == ["00123"] * 10 + ["A1"]
    assert np.isnan(group_of(tmp_path / "y.zarr")["nan"][-1])
    with pytest.raises(MetadataError, match="invalid value 'A1'"):
        read(tmp_path / "y.csv", tmp_path / "z.zarr", types={"zip": "int64"})


def test_whole_numbers_of_csv_are_not_rounded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(table_sources, "_BLOCK", 256)
    large = "123456789012345678901"
    for name, begin in (("early", ""), ("late", "1,1,1\n" * 100)):
        (tmp_path / f"{name}.csv").write_text(
            f"id,both,float\n{begin}{large},{2**64 - 1},0.5\n2,-1,{large}\n"
        )
        read(tmp_path / f"{name}.csv", tmp_path / f"{name}.zarr")
        root = group_of(tmp_path / f"{name}.zarr")
        assert values(root, "id")[-2:] == [large, "2"]
        assert values(root, "both")[-2:] == [str(2**64 - 1), "-1"]
        assert values(root, "float")[-2:] == [0.5, float(large)]


def test_csv_that_is_compressed_or_has_tabs(tmp_path: Path) -> None:
    with gzip.open(tmp_path / "x.csv.gz", "wt") as file:
        file.write("a,b\n1,x\n2,y\n")
    (tmp_path / "y.tsv").write_text("a\tb\n1\tx,y\n")
    (tmp_path / "z.csv").write_bytes("ä;b\nü;1\n".encode("latin-1"))
    for name, options in (("x.csv.gz", {}), ("y.tsv", {})):
        read(tmp_path / name, tmp_path / f"{name}.zarr", **options)
    assert values(group_of(tmp_path / "x.csv.gz.zarr"), "b") == ["x", "y"]
    assert values(group_of(tmp_path / "y.tsv.zarr"), "b") == ["x,y"]
    with pytest.raises(MetadataError, match="latin-1"):
        read(tmp_path / "z.csv", tmp_path / "z.zarr", delimiter=";")
    read(tmp_path / "z.csv", tmp_path / "z.zarr", delimiter=";", encoding="latin-1")
    assert values(group_of(tmp_path / "z.zarr"), "ä") == ["ü"]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"delimiter": ";;"}, "delimiter must be one character, found ';;'"),
        ({"encoding": "latin-99"}, "unknown encoding: latin-99"),
        ({"null_values": "NA"}, "null_values must be a list of texts, found 'NA'"),
        ({"types": ["string"]}, "types must be types by the names of columns"),
        ({"types": {"zpi": "string"}}, "there is no column 'zpi'; did you mean 'zip'"),
        ({"types": {"zip": "strin"}}, "No type alias for strin"),
        ({"columns": "zip"}, "columns must be a list of names, found 'zip'"),
        ({"delimeter": ";"}, "a table has no option 'delimeter'; .* did you mean 'delimiter'"),
    ],
)
def test_wrong_options(options: Any, message: str, tmp_path: Path) -> None:
    (tmp_path / "x.csv").write_text("zip\n00123\n")
    with pytest.raises((ValueError, UnsupportedError, MetadataError), match=message):
        omnizarr.convert(tmp_path / "x.csv", tmp_path / "x.zarr", options=options)
    assert not (tmp_path / "x.zarr").exists()


def test_options_of_a_conversion(tmp_path: Path) -> None:
    (tmp_path / "x.csv").write_bytes("zip;ort\n00123;Köln\n".encode("latin-1"))
    options = {"delimiter": ";", "encoding": "latin-1", "types": {"zip": "string"}}
    omnizarr.convert(tmp_path / "x.csv", tmp_path / "x.zarr", options=options)
    root = group_of(tmp_path / "x.zarr")
    assert values(root, "zip") == ["00123"] and values(root, "ort") == ["Köln"]
    np.save(tmp_path / "x.npy", [1])
    with pytest.raises(
        UnsupportedError, match=r"options are for the reading of a table, which .*x\.npy"
    ):
        omnizarr.convert(tmp_path / "x.npy", tmp_path / "y.zarr", options=options)
    with pytest.raises(UnsupportedError, match="is a table, which is not written as another file"):
        omnizarr.export(tmp_path / "x.csv", tmp_path / "x.parquet")


def test_against_pandas(tmp_path: Path) -> None:
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame({
        "n": np.random.default_rng(1).normal(size=2000), "i": np.arange(2000),
        "s": [f"row {n}, \"quoted\"\n" for n in range(2000)],
        "c": pd.Categorical(["a", "b"] * 1000),
        "t": pd.date_range("2020", periods=2000, freq="h"),
    })  # fmt: skip
    frame.to_csv(tmp_path / "x.csv", index=False)
    frame.to_parquet(tmp_path / "x.parquet")
    for name in ("x.csv", "x.parquet"):
        read(tmp_path / name, tmp_path / f"{name}.zarr", rows=300)
        root = group_of(tmp_path / f"{name}.zarr")
        for column in frame:
            assert (
                root[column][:].tolist()
                == frame[column].to_numpy().astype(root[column].dtype).tolist()
            )


# -- strangers' files -----------------------------------------------------------------------------


def test_damaged_files(tmp_path: Path) -> None:
    (tmp_path / "empty.csv").write_bytes(b"")
    (tmp_path / "ragged.csv").write_text("a,b\n1,2\n3\n")
    (tmp_path / "line.csv").write_bytes(b"a\n" + b"x" * (20 << 20))
    (tmp_path / "x.parquet").write_bytes(b"PAR1 and no more")
    (tmp_path / "x.arrow").write_bytes(b"ARROW1 and no more")
    (tmp_path / "y.arrow").write_bytes(b"")
    (tmp_path / "z.csv.gz").write_bytes(b"\x1f\x8b not so")
    for name in (
        "empty.csv",
        "ragged.csv",
        "line.csv",
        "x.parquet",
        "x.arrow",
        "y.arrow",
        "z.csv.gz",
    ):
        with pytest.raises(MetadataError, match=name):
            read(tmp_path / name, tmp_path / "x.zarr")
        assert not (tmp_path / "x.zarr").exists()
    (tmp_path / "x.bin").write_bytes(b"something")
    with pytest.raises(UnsupportedError, match="no Parquet, Arrow or CSV"):
        read(tmp_path / "x.bin", tmp_path / "x.zarr")


def test_too_many_columns(tmp_path: Path) -> None:
    (tmp_path / "x.csv").write_bytes(b"," * (1 << 20))
    with pytest.raises(LimitError, match="1048577 columns"):
        read(tmp_path / "x.csv", tmp_path / "x.zarr")


@pytest.mark.parametrize("kind", ["parquet", "arrow"])
def test_dictionaries_that_stand_for_much(kind: str, tmp_path: Path) -> None:
    """60,000 rows of a MiB each, in a file of a MiB."""
    indices = pa.array(np.zeros(60_000, "i4"))
    column = pa.DictionaryArray.from_arrays(indices, pa.array(["x" * (1 << 20)]))
    with pa.OSFile(str(tmp_path / "x"), "wb") as file:
        if kind == "parquet":
            pq.write_table(pa.table({"a": column}), file, store_schema=False)
        else:
            write = pa.ipc.new_file(file, pa.table({"a": column}).schema)
            write.write_table(pa.table({"a": column}))
            write.close()
    tracemalloc.start()
    before = pa.total_allocated_bytes()
    try:
        with pytest.raises(LimitError, match="grows to"):
            read(tmp_path / "x", tmp_path / "x.zarr")
        assert tracemalloc.get_traced_memory()[1] < 64 << 20
    finally:
        tracemalloc.stop()
    assert pa.total_allocated_bytes() - before < 64 << 20


@pytest.mark.slow
def test_a_gzip_bomb_takes_no_memory(tmp_path: Path) -> None:
    with gzip.open(tmp_path / "x.csv.gz", "wb", compresslevel=1) as file:
        file.write(b"a\n")
        for _ in range(200):
            file.write(bytes(1 << 20))
    tracemalloc.start()
    try:
        with pytest.raises(MetadataError):
            read(tmp_path / "x.csv.gz", tmp_path / "x.zarr")
        assert tracemalloc.get_traced_memory()[1] < 64 << 20
    finally:
        tracemalloc.stop()


def _damaged(kind: str) -> bytes:
    stream = pa.BufferOutputStream()
    table = pa.table(
        {
            "a": range(50),
            "s": ["text", None] * 25,
            "d": pa.array(["x", "y"] * 25).dictionary_encode(),
        }
    )
    if kind == "parquet":
        pq.write_table(table, stream)
    else:
        with pa.ipc.new_file(stream, table.schema) as writer:
            writer.write_table(table)
    return bytes(stream.getvalue())


@pytest.mark.parametrize("kind", ["parquet", "arrow"])
@settings(max_examples=30, deadline=None)
@given(data=st.data())
def test_mutated_files(kind: str, data: st.DataObject, tmp_path_factory: Any) -> None:
    """A damaged file is read, or is an error of ours, and leaves no group behind."""
    whole = bytearray(_damaged(kind))
    for _ in range(data.draw(st.integers(1, 3))):
        whole[data.draw(st.integers(0, len(whole) - 1))] = data.draw(st.integers(0, 255))
    if data.draw(st.booleans()):
        del whole[data.draw(st.integers(0, len(whole) - 1)) :]
    folder = tmp_path_factory.mktemp("mutated")
    (folder / "x").write_bytes(whole)
    try:
        read(folder / "x", folder / "x.zarr", kind=kind)  # type: ignore[arg-type]
    except ZarrError:
        with pytest.raises(ZarrError):
            group_of(folder / "x.zarr")


def test_dictionary_growth_counts_nulls_as_first() -> None:
    column = table_columns.Column("a", str, pa.dictionary(pa.int8(), pa.string()))
    array = pa.array(["a", None, "b"]).dictionary_encode()
    found, valid = column.values(array)
    assert found.to_pylist() == ["a", "", "b"] and valid is not None
    assert valid.tolist() == [True, False, True]


# -- as a source of `convert` ---------------------------------------------------------------------


def test_what_is_a_table(tmp_path: Path) -> None:
    table = pa.table({"a": [1, None]})
    for kind, write in WRITERS.items():
        write(table, tmp_path / f"x.{kind}")
        assert is_table(tmp_path / f"x.{kind}")
    pq.write_table(table, tmp_path / "named as nothing")
    assert is_table(str(tmp_path / "named as nothing"))
    (tmp_path / "x.csv").write_text("a\n")
    (tmp_path / "folder.parquet").mkdir()
    assert is_table(tmp_path / "x.csv") and not is_table(tmp_path / "folder.parquet")
    omnizarr.save(tmp_path / "x.zip", [1])
    np.save(tmp_path / "x.npy", [1])
    for other in (tmp_path / "x.zip", tmp_path / "x.npy", tmp_path, {}, None, 5):
        assert not is_table(other)


def test_the_report_of_a_conversion(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pq.write_table(pa.table({"a": [1, None], "b": ["x", "y"]}), tmp_path / "x.parquet")
    plan = convert_table(tmp_path / "x.parquet", tmp_path / "x.zarr", dry_run=True)
    assert plan.dry_run and not (tmp_path / "x.zarr").exists()
    assert "nothing was written" in capsys.readouterr().out
    done = convert_table(tmp_path / "x.parquet", tmp_path / "x.zarr", chunks=(1,), zarr_format=2)
    assert [(row.path, row.chunks) for row in done.nodes] == [("", 0), ("a", 2), ("b", 2)]
    assert done.nodes[1].notes == ("int64 column", "1 missing, see a_valid")
    assert done.nodes[1].bytes_written == 16 and done.bytes_written > 16
    with pytest.raises(UnsupportedError, match="shards is not taken"):
        convert_table(tmp_path / "x.parquet", {}, refused={"shards": (5,), "drop": ()})
    with pytest.raises(UnsupportedError, match="number of rows"):
        convert_table(tmp_path / "x.parquet", {}, chunks={"a": 5})
    with pytest.raises(TypeError, match="in place"):
        convert_table(tmp_path / "x.parquet", None)
