"""References in parquet files."""

from __future__ import annotations

import json
import pickle
import random
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import omnizarr
from omnizarr.errors import MetadataError, StoreAccessError, StoreError
from omnizarr.stores import LocalStore, ReferenceStore, as_store
from omnizarr.stores.references import parquet
from omnizarr.testing import CountingStore
from omnizarr.testing.store_cases import in_threads, some

SHAPE, CHUNKS = (23, 14), (5, 4)
DATA = np.arange(23 * 14, dtype="<u2").reshape(SHAPE)


def metadata(shape: tuple[int, ...] = SHAPE, chunks: tuple[int, ...] = CHUNKS, **more: Any) -> Any:
    return {
        "zarr_format": 2,
        "shape": list(shape),
        "chunks": list(chunks),
        "dtype": "<u2",
        "compressor": None,
        "filters": None,
        "fill_value": 9,
        "order": "C",
        **more,
    }


def write(file: Path, **columns: list[Any]) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    types = {"path": pa.string(), "offset": pa.int64(), "size": pa.int64(), "raw": pa.binary()}
    pq.write_table(pa.table({name: pa.array(v, types[name]) for name, v in columns.items()}), file)


def chunks_of(data: np.ndarray[Any, Any]) -> list[bytes]:
    padded = np.full((25, 16), 9, data.dtype)
    padded[: data.shape[0], : data.shape[1]] = data
    return [
        padded[y : y + 5, x : x + 4].tobytes() for y in range(0, 25, 5) for x in range(0, 16, 4)
    ]


@pytest.fixture(params=[3, 100])
def folder(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    """Twenty chunks: in a file, of their own, given here, or missing (number 7 and 12 to 14)."""
    root = tmp_path / "refs.parq"
    root.mkdir()
    size = request.param
    documents = {
        ".zgroup": {"zarr_format": 2},
        "g/a/.zarray": metadata(),
        "g/a/.zattrs": {"units": "K"},
        "g/.zgroup": {"zarr_format": 2},
        "point/.zarray": metadata((), ()),
        "slash/.zarray": metadata(dimension_separator="/"),
        "../evil/.zarray": metadata(),
    }
    (root / ".zmetadata").write_text(json.dumps({"metadata": documents, "record_size": size}))
    rows: list[tuple[str | None, int, int, bytes | None]] = []
    with open(tmp_path / "data.bin", "wb") as file:
        for number, chunk in enumerate(chunks_of(DATA)):
            if number == 7 or 12 <= number <= 14:
                rows.append((None, 0, 0, None))
            elif number == 8:
                (tmp_path / "whole.bin").write_bytes(chunk)
                rows.append(("whole.bin", 0, 0, None))
            elif number % 5 == 0:
                rows.append((None, 0, 0, chunk))
            else:
                rows.append(("data.bin", file.tell(), len(chunk), None))
                file.write(chunk)
    for array in ("g/a", "slash"):
        for record in range(0, 20, size):
            part = [*rows[record : record + size]]
            if all(row[0] is None and row[3] is None for row in part):
                continue  # kerchunk writes no file for these
            part += [(None, 0, 0, None)] * (size - len(part))
            names = ("path", "offset", "size", "raw")
            columns = {name: [row[i] for row in part] for i, name in enumerate(names)}
            write(root / array / f"refs.{record // size}.parq", **columns)
    write(root / "point" / "refs.0.parq", raw=[np.uint16(77).tobytes()])
    return root


EXPECTED = DATA.copy()
for missing in (7, 12, 13, 14):
    y, x = divmod(missing, 4)
    EXPECTED[y * 5 : y * 5 + 5, x * 4 : x * 4 + 4] = 9


def test_reading(folder: Path) -> None:
    root = omnizarr.open(str(folder), mode="r")
    assert isinstance(root.store, ReferenceStore)
    assert sorted(root) == ["g", "point", "slash"]
    for name in ("g/a", "slash"):
        np.testing.assert_array_equal(root[name][...], EXPECTED)
        np.testing.assert_array_equal(root[name][7:13, ::3], EXPECTED[7:13, ::3])
    assert root["point"][()] == 77
    assert root["g/a"].attrs["units"] == "K"


def test_listing(folder: Path) -> None:
    store = ReferenceStore(folder)
    present = [i for i in range(20) if i != 7 and not 12 <= i <= 14]
    documents = ["g/a/.zarray", "g/a/.zattrs"]
    chunks = [f"g/a/{i // 4}.{i % 4}" for i in present]
    assert list(store.list_prefix("g/a/")) == sorted(documents + chunks)
    assert store.list_dir("g/a/").keys == sorted(documents + chunks)
    assert store.list_dir("slash/1/").keys == ["slash/1/0", "slash/1/1", "slash/1/2"]
    assert store.list_dir("").prefixes == ["g/", "point/", "slash/"]
    assert "point/0" in list(store.list())
    for key in store.list():
        assert store.exists(key) and store.size(key) == len(some(store.get(key)))
    for key in ("g/a/1.3", "g/a/0.4", "g/a/5.0", "g/a/00.0", "g/a/0", "g/a/0.0.0", "g/a/-1.0",
                "g/a/x.y", "g/b/0.0", "point/1", "point/0.0", "slash/0.0", "other"):  # fmt: skip
        assert store.get(key) is None and not store.exists(key)


def test_no_file_is_read_twice_and_none_in_vain(folder: Path) -> None:
    store = ReferenceStore(folder)
    inner = CountingStore(LocalStore(folder))
    store._references._store = inner  # type: ignore[attr-defined]
    store.list_dir("")
    store.list_dir("g/")
    assert inner.counts == {}
    for _ in range(3):
        store.get_many([(f"g/a/0.{i}", None) for i in range(4)])
    assert len(inner.asked["get"]) == len(set(inner.asked["get"]))


def test_what_is_kept_is_bounded(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parquet, "KEPT", 1)
    store = ReferenceStore(folder)
    references: Any = store._references

    def work(worker: int) -> None:
        for turn in range(30):
            number = (turn * 7 + worker) % 4
            assert some(store.get(f"g/a/0.{number}")) == chunks_of(DATA)[number]

    in_threads(work, 4)
    assert len(references._kept) == 1


def test_pickling(folder: Path) -> None:
    store = pickle.loads(pickle.dumps(ReferenceStore(folder)))
    assert some(store.get("g/a/0.1")) == chunks_of(DATA)[1]


def test_hostile_rows(tmp_path: Path) -> None:
    root = tmp_path / "x" / "refs.parq"
    root.mkdir(parents=True)
    (tmp_path / "secret").write_bytes(b"secret")
    document = {"metadata": {"a/.zarray": metadata((50,), (5,))}, "record_size": 10}
    (root / ".zmetadata").write_text(json.dumps(document))
    write(
        root / "a" / "refs.0.parq",
        path=[
            "/etc/passwd",
            "../secret",
            "none.bin",
            "refs.parq/.zmetadata",
            "refs.parq/.zmetadata",
        ],
        offset=[0, 0, 0, -5, 1 << 62],
        size=[3, 3, 3, 3, 3],
    )
    store = ReferenceStore(root)
    for key, error in zip(
        ("a/0", "a/1", "a/2", "a/3", "a/4"),
        (StoreAccessError, StoreAccessError, StoreError, MetadataError, StoreError),
        strict=True,
    ):
        with pytest.raises(error):
            store.get(key)
    assert store.get("a/5") is None, "a row that the file does not have"


def small(tmp_path: Path, count: int = 20) -> Path:
    """A folder of references to one array of `count` chunks, without its rows."""
    root = tmp_path / "refs.parq"
    (root / "a").mkdir(parents=True)
    document = {"metadata": {"a/.zarray": metadata((count,), (1,))}, "record_size": count}
    (root / ".zmetadata").write_text(json.dumps(document))
    return root


def test_damaged_files(tmp_path: Path) -> None:
    """Whatever pyarrow makes of the bytes, its errors are not seen."""
    root = small(tmp_path)
    (tmp_path / "data.bin").write_bytes(bytes(1000))
    columns = {
        "path": pa.array(["data.bin", None, "other.bin", None] * 5),
        "offset": pa.array(range(20), pa.int64()),
        "size": pa.array([10] * 20, pa.int64()),
        "raw": pa.array([None, b"abc", None, b"base64:AAAA"] * 5, pa.binary()),
    }
    file = root / "a" / "refs.0.parq"
    sound: list[bytes] = []
    for options in (
        {"compression": "none"},
        {"compression": "none", "use_dictionary": False},
        {"compression": "none", "row_group_size": 7, "data_page_version": "2.0"},
        {"compression": "zstd", "store_schema": False},
    ):
        pq.write_table(pa.table(columns), file, **options)
        sound.append(file.read_bytes())
    chance = random.Random(5)
    raised = 0
    for _ in range(600):
        data = bytearray(chance.choice(sound))
        for _ in range(chance.choice([1, 1, 2, 8])):
            data[chance.randrange(len(data))] = chance.randrange(256)
        file.write_bytes(data)
        store = ReferenceStore(root)
        for call in (lambda store=store: list(store.list()), lambda store=store: store.get("a/3")):
            try:
                call()
            except MetadataError as error:
                raised += 1
                assert "refs.0.parq" in str(error) or "the row of" in str(error)
    assert raised > 300


@pytest.mark.parametrize(
    ("columns", "told"),
    [
        ({"path": [1, 2]}, "'path' holds int64"),
        ({"path": [b"a", b"b"]}, "'path' holds binary"),
        ({"path": [{"x": "a"}, None]}, "'path' holds struct"),
        ({"path": [["a"], None]}, "'path' holds list"),
        ({"path": ["a", "b"], "offset": ["1", "2"]}, "'offset' holds string"),
        ({"path": ["a", "b"], "size": [1.5, 2.5]}, "'size' holds double"),
        ({"raw": [1, 2]}, "'raw' holds int64"),
        ({"raw": [True, None]}, "'raw' holds bool"),
    ],
)
def test_columns_of_another_type(tmp_path: Path, columns: dict[str, Any], told: str) -> None:
    root = small(tmp_path)
    pq.write_table(pa.table(columns), root / "a" / "refs.0.parq")
    store = ReferenceStore(root)
    for call in (lambda: store.get("a/0"), lambda: list(store.list())):
        with pytest.raises(MetadataError, match=told):
            call()


def test_two_columns_of_one_name(tmp_path: Path) -> None:
    root = small(tmp_path)
    table = pa.Table.from_arrays([pa.array(["a"]), pa.array(["b"])], names=["path", "path"])
    pq.write_table(table, root / "a" / "refs.0.parq")
    with pytest.raises(MetadataError, match="same name"):
        ReferenceStore(root).get("a/0")


def test_text_that_is_none(tmp_path: Path) -> None:
    root = small(tmp_path)
    bad = pa.Array.from_buffers(
        pa.string(), 1, [None, pa.py_buffer(b"\0\0\0\0\2\0\0\0"), pa.py_buffer(b"\xff\xfe")]
    )
    pq.write_table(pa.table({"path": bad}), root / "a" / "refs.0.parq")
    with pytest.raises(MetadataError, match=r"refs\.0\.parq.*UTF8"):
        ReferenceStore(root).get("a/0")
    pq.write_table(pa.table({"raw": [b"base64:\xff\xff"]}), root / "a" / "refs.0.parq")
    with pytest.raises(MetadataError, match=r"the row of 'a/0'.*base64"):
        ReferenceStore(root).get("a/0")


def test_a_value_that_many_rows_share_is_kept_once(tmp_path: Path) -> None:
    """50 kB of file that would be 100 GB of rows."""
    count = 100_000
    root = small(tmp_path, count)
    shared = pa.array([b"x" * (1 << 20)], pa.binary())
    rows = pa.DictionaryArray.from_arrays(pa.array([0] * count, pa.int32()), shared)
    pq.write_table(
        pa.table({"raw": rows}), root / "a" / "refs.0.parq", dictionary_pagesize_limit=1 << 30
    )
    store = ReferenceStore(root)
    before = pa.total_allocated_bytes()
    assert some(store.get("a/99999")) == b"x" * (1 << 20)
    assert len(list(store.list())) == count + 1
    assert pa.total_allocated_bytes() - before < 32 << 20


@pytest.mark.parametrize("data", [b"", b"PAR1", b"PAR1" + bytes(50) + b"PAR1", b"{}"])
def test_broken_files(folder: Path, data: bytes) -> None:
    (folder / "g" / "a" / "refs.0.parq").write_bytes(data)
    with pytest.raises(MetadataError, match=r"refs\.0\.parq"):
        ReferenceStore(folder).get("g/a/0.0")


def test_too_many_rows(folder: Path) -> None:
    count = 200
    write(
        folder / "g" / "a" / "refs.0.parq", path=["x"] * count, offset=[0] * count, size=[1] * count
    )
    with pytest.raises(MetadataError, match="rows"):
        ReferenceStore(folder).get("g/a/0.0")


@pytest.mark.parametrize(
    "document",
    [
        [],
        {"metadata": {}},
        {"metadata": {}, "record_size": 0},
        {"metadata": [], "record_size": 5},
        {"metadata": {}, "record_size": "5"},
        {"metadata": {"a/.zarray": metadata((5,), (0,))}, "record_size": 5},
        {"metadata": {"a/.zarray": metadata((5,), (1, 1))}, "record_size": 5},
        {"metadata": {"a/.zarray": metadata((-5,), (1,))}, "record_size": 5},
        {"metadata": {"a/.zarray": 3}, "record_size": 5},
    ],
)
def test_broken_metadata(tmp_path: Path, document: Any) -> None:
    (tmp_path / "x.parq").mkdir()
    (tmp_path / "x.parq" / ".zmetadata").write_text(json.dumps(document))
    with pytest.raises(MetadataError):
        ReferenceStore(tmp_path / "x.parq")


def test_a_virtual_shape(tmp_path: Path) -> None:
    root = tmp_path / "x.parq"
    root.mkdir()
    document = {"metadata": {"a/.zarray": metadata((1 << 60,), (1,))}, "record_size": 5}
    (root / ".zmetadata").write_text(json.dumps(document))
    store = as_store(str(root))
    assert list(store.list()) == ["a/.zarray"]
    assert store.get(f"a/{(1 << 60) - 1}") is None
