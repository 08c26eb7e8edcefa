"""What the pages of a parquet file unpack to is known before they are unpacked."""

from __future__ import annotations

import io
import json
import random
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from omnizarr import limits
from omnizarr.errors import MetadataError
from omnizarr.stores import ReferenceStore
from omnizarr.stores.references import thrift_compact
from omnizarr.stores.references.parquet_pages import check_pages
from omnizarr.stores.references.thrift_compact import BrokenError, Reader

MIB = 1 << 20
VALUE = 8 * MIB
CODECS = ["none", "snappy", "gzip", "brotli", "zstd", "lz4"]


def written(table: pa.Table, **options: Any) -> bytes:
    file = io.BytesIO()
    pq.write_table(table, file, **options)
    return file.getvalue()


def one_value(codec: str = "zstd", version: str = "1.0", size: int = VALUE) -> bytes:
    return written(
        pa.table({"raw": pa.array([bytes(size)], pa.binary())}),
        compression=codec,
        use_dictionary=False,
        write_statistics=False,
        data_page_version=version,
    )


def column_of(data: bytes, number: int = 0) -> Any:
    return pq.ParquetFile(io.BytesIO(data)).metadata.row_group(0).column(number)


def varint(value: int, length: int = 1) -> bytes:
    """As long as wanted: zeros at the end change nothing."""
    value *= 2
    found = []
    while value or len(found) < length:
        found.append(value & 127 | 128)
        value >>= 7
    return bytes([*found[:-1], found[-1] & 127])


def replaced(data: bytes, old: int, new: int, begin: int) -> bytes:
    """`data` with another number of the same length where `old` is first, from `begin` on."""
    text = varint(old)
    other = varint(new, len(text))
    assert len(other) == len(text)
    at = data.index(text, begin)
    return data[:at] + other + data[at + len(text) :]


def footer_at(data: bytes) -> int:
    return len(data) - 8 - int.from_bytes(data[-8:-4], "little")


def unpacked_size(data: bytes) -> int:
    header, _ = Reader(memoryview(data)).struct(4, len(data))
    return int(header[2][1])


def folder(path: Path, data: bytes, rows: int = 10) -> ReferenceStore:
    array = {
        "zarr_format": 2, "shape": [rows], "chunks": [1], "dtype": "|u1", "compressor": None,
        "filters": None, "fill_value": 0, "order": "C",
    }  # fmt: skip
    document = {"metadata": {"a/.zarray": array}, "record_size": rows}
    (path / "x.parq" / "a").mkdir(parents=True, exist_ok=True)
    (path / "x.parq" / ".zmetadata").write_text(json.dumps(document))
    (path / "x.parq" / "a" / "refs.0.parq").write_bytes(data)
    return ReferenceStore(path / "x.parq")


@contextmanager
def most_memory(allowed: int) -> Iterator[None]:
    """pyarrow never has more than this at once."""
    before = pa.default_memory_pool()
    pool = pa.proxy_memory_pool(before)
    pa.set_memory_pool(pool)
    try:
        yield
        assert (pool.max_memory() or 0) < allowed
    finally:
        pa.set_memory_pool(before)


# -- files as they are written ------------------------------------------------------------------


@pytest.mark.parametrize("codec", CODECS)
@pytest.mark.parametrize("version", ["1.0", "2.0"])
@pytest.mark.parametrize("dictionary", [False, True])
def test_sound_files(codec: str, version: str, dictionary: bool) -> None:
    other = pa.struct([("a", pa.list_(pa.int8())), ("b", pa.string())])
    for count in (0, 1, 5000):
        table = pa.table(
            {
                "other": pa.array([{"a": [1], "b": "x"}] * count, other),
                "path": pa.array([f"f{i}" if i % 3 else None for i in range(count)], pa.string()),
                "offset": pa.array(range(count), pa.int64()),
                "raw": pa.array([b"x%d" % i if i % 5 else None for i in range(count)], pa.binary()),
            }
        )
        data = memoryview(
            written(
                table,
                compression=codec,
                data_page_version=version,
                use_dictionary=dictionary,
                row_group_size=2000,
                data_page_size=1000,
                write_page_index=True,
                write_page_checksum=True,
            )
        )
        check_pages(data, [2, 3, 4], count, limits.current.max_document_bytes)
        if count == 5000:
            with pytest.raises(BrokenError, match="more than 9000 bytes"):
                check_pages(data, [2, 3, 4], count, 9000)


# -- headers with wrong sizes ----------------------------------------------------------------------


@pytest.mark.parametrize("codec", CODECS[1:])
def test_the_footer_says_less(tmp_path: Path, codec: str) -> None:
    data = one_value(codec)
    column = column_of(data)
    total = column.total_uncompressed_size
    while (at := data.find(varint(total), footer_at(data))) >= 0:
        data = replaced(data, total, 50, at)
    assert column_of(data).total_uncompressed_size == 50
    store = folder(tmp_path, data)
    with limits.override(max_document_bytes=VALUE * 2):
        assert store.get("a/0") == bytes(VALUE)
    with (
        most_memory(MIB),
        limits.override(max_document_bytes=VALUE),
        pytest.raises(MetadataError, match=f"refs.0.parq.*more than {VALUE} bytes"),
    ):
        folder(tmp_path, data).get("a/0")


@pytest.mark.parametrize("codec", CODECS)
@pytest.mark.parametrize("version", ["1.0", "2.0"])
def test_the_page_says_less(tmp_path: Path, codec: str, version: str) -> None:
    """pyarrow unpacks into what the header says, and not beyond."""
    data = one_value(codec, version)
    size = unpacked_size(data)
    broken = replaced(data, size, 1000, 4)
    assert unpacked_size(broken) == 1000
    if codec == "none":  # the page is as long as it is in the file, and the other number unused
        with limits.override(max_document_bytes=len(data)):
            store = folder(tmp_path, broken)
            try:
                assert store.get("a/0") == bytes(VALUE)
            except MetadataError as error:
                assert "refs.0.parq" in str(error)
        return
    with most_memory(MIB), pytest.raises(MetadataError, match=r"refs\.0\.parq"):
        folder(tmp_path, broken).get("a/0")


@pytest.mark.parametrize("codec", CODECS[1:])
def test_the_page_says_more(tmp_path: Path, codec: str) -> None:
    data = one_value(codec)
    size = unpacked_size(data)
    for said, told in ((size + 1000, "refs.0.parq"), (1 << 26, "more than")):
        broken = replaced(data, size, said, 4)
        with (
            most_memory(VALUE * 4),
            limits.override(max_document_bytes=VALUE * 2),
            pytest.raises(MetadataError, match=told),
        ):
            folder(tmp_path, broken).get("a/0")


def test_the_same_pages_in_many_groups(tmp_path: Path) -> None:
    """Each time they are unpacked they are counted."""
    table = pa.table({"raw": pa.array([bytes(MIB)] * 10, pa.binary())})
    data = written(
        table,
        row_group_size=1,
        use_dictionary=False,
        compression="zstd",
        write_statistics=False,
    )
    metadata = pq.ParquetFile(io.BytesIO(data)).metadata
    first = metadata.row_group(0).column(0).data_page_offset
    for number in range(1, 10):
        begin = footer_at(data)
        other = metadata.row_group(number).column(0).data_page_offset
        while (at := data.find(varint(other), begin)) >= 0:
            data = replaced(data, other, first, at)
    with (
        most_memory(MIB),
        limits.override(max_document_bytes=10 * MIB),
        pytest.raises(MetadataError, match="more than 10485760 bytes"),
    ):
        folder(tmp_path, data).get("a/9")


@pytest.mark.parametrize("encoding", ["DELTA_BYTE_ARRAY", "DELTA_LENGTH_BYTE_ARRAY"])
def test_prefixes_are_not_repeated(tmp_path: Path, encoding: str) -> None:
    """Pages of few bytes that would be values of many."""
    values = pa.array([bytes(MIB) + b"%d" % i for i in range(20)], pa.binary())
    data = written(
        pa.table({"raw": values}), use_dictionary=False, column_encoding={"raw": encoding}
    )
    with most_memory(MIB), pytest.raises(MetadataError, match="in encoding"):
        folder(tmp_path, data, rows=100).get("a/9")


@pytest.mark.parametrize("kind", [pa.binary(), pa.large_binary(), pa.string(), pa.large_string()])
def test_shared_values_of_every_type(tmp_path: Path, kind: Any) -> None:
    count = 10_000
    value = b"x" * MIB if "binary" in str(kind) else "x" * MIB
    rows = pa.DictionaryArray.from_arrays(
        pa.array([0] * count, pa.int32()), pa.array([value], kind)
    )
    for store_schema in (False, True):
        data = written(
            pa.table({"raw": rows}), dictionary_pagesize_limit=1 << 30, store_schema=store_schema
        )
        with most_memory(32 * MIB):
            assert folder(tmp_path, data, count).get("a/9999") == b"x" * MIB


# -- headers that make no sense -----------------------------------------------------------------


def struct(*fields: tuple[int, int, bytes]) -> bytes:
    """Fields as number, type and bytes, each with its number in full."""
    return b"".join(bytes([kind]) + varint(number) + text for number, kind, text in fields) + b"\0"


def number(field: int, value: int, kind: int = 5) -> tuple[int, int, bytes]:
    return field, kind, varint(value) if value >= 0 else bytes([-2 * value - 1])


def page(count: int = 1, *, kind: int = 0, size: int = 0, encoding: int = 0) -> bytes:
    own = {0: 5, 2: 7, 3: 8}.get(kind, 5)
    place = 4 if kind == 3 else 2
    inner = struct(number(1, count), number(place, encoding))
    return struct(number(1, kind), number(2, size), number(3, 0), (own, 12, inner))


def parquet(pages: bytes, values: int, offset: int = 4, length: int | None = None) -> memoryview:
    """A file of one column with these pages."""
    column = struct(
        number(5, values, 6),
        number(7, len(pages) if length is None else length, 6),
        number(9, offset, 6),
    )
    group = struct((1, 9, b"\x1c" + struct((3, 12, column))), number(3, values, 6))
    footer = struct(number(3, values, 6), (4, 9, b"\x1c" + group))
    return memoryview(b"PAR1" + pages + footer + len(footer).to_bytes(4, "little") + b"PAR1")


def test_pages_by_hand() -> None:
    check_pages(parquet(page(3) + page(4, kind=3), 7), [0], 7, 100)
    check_pages(parquet(page(25, kind=2, size=100) + page(7, encoding=8), 7), [0], 7, 100)
    check_pages(parquet(b"", 0), [0], 0, 100)


@pytest.mark.parametrize(
    ("data", "told"),
    [
        (parquet(page(3), 7), "beyond"),
        (parquet(page(9), 7), "9 values where"),
        (parquet(page(7, size=101), 7), "more than 100"),
        (parquet(page(5, size=60) + page(2, size=60), 7), "more than 100"),
        (parquet(page(7)[:-1], 7), "beyond"),
        (parquet(page(7), 7, length=1 << 62), "a column in bytes"),
        (parquet(page(7), 7, offset=1 << 62), "a column in bytes"),
        (parquet(page(7), 7, offset=-1), "from 0 on"),
        (parquet(page(7), 7, length=-1), "from 0 on"),
        (parquet(page(7, kind=4), 7), "type 4"),
        (parquet(page(-3), 7), "from 0 on"),
        (parquet(page(7, size=-3), 7), "from 0 on"),
        (parquet(page(7, encoding=7), 7), "encoding 7"),
        (parquet(page(26, kind=2, size=100) + page(7), 7), "a dictionary of 26"),
        (parquet(struct(number(1, 0), number(2, 0), number(3, 0)), 7), "field 5"),
        (parquet(struct(number(1, 0), number(2, 0, 6), number(3, 0)), 7), "field 2"),
        (parquet(struct(number(1, 0), number(2, 0), number(2, 99)), 7), "ascend"),
        (parquet(struct(number(1, 0), number(2, 0), number(3, 50)), 7), "beyond"),
        (parquet(struct(number(1, 0), (2, 5, b"\xff" * 4 + b"\x10")), 7), "32 bits"),
        (parquet(struct(number(1, 0), (2, 5, b"\x80" * 9 + b"\0")), 7), "32 bits"),
        (parquet(struct(number(1, 0), (2, 8, b"\xff\xff\xff\xff\x0f")), 7), "beyond"),
        (parquet(struct(number(1, 0), (2, 11, b"\0")), 7), "type 11"),
        (parquet(b"\x1c" * 1000, 7), "deeply"),
        (parquet(b"\x19\x19" * 1000, 7), "deeply"),
        (parquet(b"\x19\xf1\xff\xff\xff\xff\x0f", 7), "more than"),
        (memoryview(b""), "footer"),
        (memoryview(b"PAR1\xff\xff\xff\xffPAR1"), "footer"),
        (memoryview(b"PAR1\0\0\0\0PAR1"), "beyond"),
        (memoryview(bytes(100)), "footer"),
    ],
)
def test_headers_that_make_no_sense(data: memoryview, told: str) -> None:
    with pytest.raises(BrokenError, match=told):
        check_pages(data, [0], 7, 100)


def test_the_number_of_a_field_does_not_begin_anew() -> None:
    """Counted in 16 bits, a field far behind the last would be the second again."""
    steps = b"\xf2" * ((65538 - 3) // 15 - 1)
    rest = 65538 - 3 - 15 * len(steps)
    assert rest == 15
    head = struct(number(1, 0), number(2, 0), number(3, 0))[:-1]
    again = head + steps + bytes([rest << 4 | 5]) + varint(1 << 30) + b"\0"
    with pytest.raises(BrokenError, match="ascend"):
        check_pages(parquet(again, 7), [0], 7, 100)


@pytest.mark.slow
def test_empty_pages_have_an_end() -> None:
    """Pages of nothing, as many as fit."""
    begun = time.monotonic()
    with pytest.raises(BrokenError, match="more than 1048576 fields"):
        check_pages(parquet(page(0) * 200_000, 7), [0], 7, 100)
    assert time.monotonic() - begun < 120
    assert thrift_compact.MOST_FIELDS == 1 << 20


def test_other_columns_than_the_schema_has() -> None:
    with pytest.raises(BrokenError, match="1 columns"):
        check_pages(parquet(page(7), 7), [1], 7, 100)
    with pytest.raises(BrokenError, match="7 rows where there should be 8"):
        check_pages(parquet(page(7), 7), [0], 8, 100)


def test_a_part_of_a_column(tmp_path: Path) -> None:
    data = written(pa.table({"raw": pa.array([b"a"]), "raw.x": pa.array([b"b"])}))
    with pytest.raises(MetadataError, match=r"raw\.x"):
        folder(tmp_path, data).get("a/0")


def test_chance() -> None:
    """Whatever is in the bytes, it is the one error, and soon."""
    chance = random.Random(7)
    table = pa.table({"raw": [b"abc", None, b"d"] * 20, "path": ["x"] * 60})
    sound = [written(table, row_group_size=25), written(table, data_page_version="2.0")]
    refused = 0
    for _ in range(3000):
        data = bytearray(chance.choice(sound))
        for _ in range(chance.choice([1, 2, 8])):
            data[chance.randrange(len(data))] = chance.randrange(256)
        try:
            check_pages(memoryview(bytes(data)), [0, 1], 60, 10_000)
        except BrokenError:
            refused += 1
    assert 500 < refused < 3000
