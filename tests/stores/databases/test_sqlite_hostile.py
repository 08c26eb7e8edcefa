"""SQLiteStore and hostile files: what they define is not run, and reading them ends."""

from __future__ import annotations

import random
import sqlite3
import struct
import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from omnizarr.errors import StoreError
from omnizarr.stores import ByteRange, SQLiteStore
from tests.stores.databases import sqlite_circles
from tests.stores.databases.sqlite_circles import CREATE, INDEX, TABLE

pytestmark = pytest.mark.slow

ROWS = "INSERT INTO zarr VALUES ('a', x'00'), ('b/c', x'01')"
SLOW = "replace(hex(zeroblob(20000000 + length(k))), '0', 'ab')"
Call = Callable[[SQLiteStore], Any]
CALLS: list[Call] = [
    lambda store: store.get("a"),
    lambda store: store.get_many([("a", None), ("b/c", ByteRange(0, 1))]),
    lambda store: store.get_versioned("a"),
    lambda store: store.size("a"),
    lambda store: list(store.list()),
    lambda store: store.list_dir("b/"),
    lambda store: store.set("a", b"1"),
    lambda store: store.update({"a": b"1"}),
    lambda store: store.set_if_absent("d", b"1"),
    lambda store: store.set_if_version("a", b"1", b"\0"),
    lambda store: store.delete("a"),
    lambda store: store.delete_prefix(""),
    lambda store: store.move_prefix("b/", "e/"),
]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "x.sqlite"


def execute(path: Path, *statements: str) -> None:
    with closing(sqlite3.connect(path, isolation_level=None)) as db:
        for statement in statements:
            db.execute(statement)


@pytest.mark.parametrize(
    "index",
    [
        f"CREATE INDEX i ON zarr({SLOW})",
        f"CREATE INDEX i ON zarr(k, {SLOW})",
        f"CREATE INDEX i ON zarr(v) WHERE {SLOW} <> ''",
        "CREATE INDEX i ON zarr(abs(-9223372036854775808))",
        "CREATE INDEX i ON zarr(k) WHERE k > 'b'",
        "CREATE UNIQUE INDEX i ON zarr(k COLLATE NOCASE)",
        'CREATE INDEX "odd "" name" ON zarr(length(v))',
    ],
)
def test_an_index_of_functions_is_refused(path: Path, index: str) -> None:
    execute(path, CREATE, index)
    before = path.read_bytes()
    begun = time.monotonic()
    for call in CALLS:
        with SQLiteStore(path) as store, pytest.raises(StoreError, match="expected a table"):
            call(store)
    assert time.monotonic() - begun < 60
    assert path.read_bytes() == before


def test_an_index_that_comes_later_does_not_run(path: Path) -> None:
    with SQLiteStore(path) as store:
        store.set("a", b"1")
        execute(path, f"CREATE INDEX i ON zarr({SLOW}) WHERE k > 'a'")
        for call in (CALLS[6], CALLS[7], CALLS[8], CALLS[9], CALLS[11]):
            with pytest.raises(StoreError, match="found the index 'i'"):
                call(store)
        execute(path, "DROP INDEX i")
        store.set("z", b"2")
        assert list(store.list()) == ["a", "z"]


def test_an_index_of_columns_is_no_harm(path: Path) -> None:
    execute(path, CREATE, ROWS, "CREATE INDEX i ON zarr(v)", "CREATE INDEX j ON zarr(k DESC, v)")
    for call in CALLS:
        with SQLiteStore(path) as store:
            call(store)
    with SQLiteStore(path) as store:
        store.set("a", b"1" * 100_000)
        assert store.get("a") == b"1" * 100_000 and list(store.list()) == ["a"]


@pytest.mark.parametrize(
    "change",
    [
        "UPDATE sqlite_master SET sql = CAST(sql AS BLOB) WHERE name = 'zarr'",
        "UPDATE sqlite_master SET sql = 7 WHERE name = 'zarr'",
        "UPDATE sqlite_master SET sql = NULL WHERE name = 'zarr'",
        "UPDATE sqlite_master SET sql = 'CREATE' WHERE name = 'zarr'",
        "UPDATE sqlite_master SET sql = replace(sql, 'BLOB', 'BLOB AS (k)') WHERE name = 'zarr'",
        "UPDATE sqlite_master SET sql = sql || ' WITHOUT ROWID' WHERE name = 'zarr'",
        "UPDATE sqlite_master SET sql = sql || ' STRICT, WITHOUT ROWID' WHERE name = 'zarr'",
        "UPDATE sqlite_master SET type = x'ff', name = x'00ff', tbl_name = x'ff'",
        "UPDATE sqlite_master SET tbl_name = 'other'",
        "UPDATE sqlite_master SET rootpage = 1 WHERE name = 'zarr'",
        "UPDATE sqlite_master SET rootpage = 99999 WHERE name = 'zarr'",
        "UPDATE sqlite_master SET rootpage = (SELECT max(rootpage) FROM sqlite_master)",
        "DELETE FROM sqlite_master WHERE type = 'index'",
        "INSERT INTO sqlite_master SELECT * FROM sqlite_master",
        "INSERT INTO sqlite_master VALUES ('view', 'x', 'x', 0, 'CREATE VIEW zarr AS SELECT 1')",
        "INSERT INTO sqlite_master VALUES ('trigger', 't', 'x', 0,"
        " 'CREATE TRIGGER t BEFORE INSERT ON zarr BEGIN SELECT RAISE(IGNORE); END')",
        "INSERT INTO sqlite_master VALUES ('index', 'i', 'x', 3,"
        f" 'CREATE INDEX i ON zarr({SLOW.replace(chr(39), chr(39) * 2)})')",
    ],
)
def test_a_changed_schema(path: Path, change: str) -> None:
    """An error of ours, or what a sound file gives; never another value, error or a wait."""
    execute(path, CREATE, ROWS, "PRAGMA writable_schema = ON", change)
    content = path.read_bytes()
    for number, call in enumerate(CALLS):
        path.write_bytes(content)
        begun = time.monotonic()
        with SQLiteStore(path, timeout=1) as store:
            try:
                found = call(store)
            except StoreError:
                pass
            else:
                assert number != 0 or found in (None, b"\0")
            assert time.monotonic() - begun < 60


@pytest.mark.parametrize(
    "statements",
    [
        [f"{CREATE} WITHOUT ROWID"],
        ["CREATE TABLE zarr(k TEXT PRIMARY KEY, v BLOB) STRICT"],
        ["CREATE TABLE zarr(k TEXT PRIMARY KEY ON CONFLICT IGNORE, v BLOB)"],
        ["CREATE TABLE zarr(k TEXT PRIMARY KEY, v BLOB CHECK (length(hex(v)) > 0))"],
        ["CREATE TABLE zarr(k TEXT PRIMARY KEY, v BLOB AS (zeroblob(900000000)) VIRTUAL)"],
        ["CREATE TABLE zarr(k TEXT PRIMARY KEY, v BLOB REFERENCES other ON DELETE CASCADE)"],
        ["CREATE TABLE o(k, v)", "CREATE VIEW zarr AS SELECT * FROM o"],
        [
            "CREATE TABLE o(k, v)",
            "CREATE VIEW zarr AS SELECT * FROM o",
            "CREATE TRIGGER t INSTEAD OF INSERT ON zarr BEGIN DELETE FROM o; END",
        ],
    ],
)
def test_other_tables_are_refused(path: Path, statements: list[str]) -> None:
    execute(path, *statements)
    before = path.read_bytes()
    for call in CALLS:
        with SQLiteStore(path) as store, pytest.raises(StoreError, match="expected a table"):
            call(store)
    assert path.read_bytes() == before


def test_rows_of_other_tables_do_not_follow(path: Path) -> None:
    """A table that refers to ours keeps its rows."""
    reference = "CREATE TABLE kept(k TEXT REFERENCES zarr(k) ON DELETE CASCADE)"
    execute(path, CREATE, ROWS, reference, "INSERT INTO kept VALUES ('a')")
    with SQLiteStore(path) as store:
        store.delete_prefix("")
    with closing(sqlite3.connect(path)) as db:
        assert db.execute("SELECT * FROM kept").fetchall() == [("a",)]


def test_a_journal_that_has_another_file_deleted(path: Path, tmp_path: Path) -> None:
    """SQLite deletes the file that a journal names as that of a change of several files."""
    with SQLiteStore(path) as store:
        store.set("a", b"1")
    victim = tmp_path / "victim"
    victim.write_bytes(b"precious")
    magic, name = bytes.fromhex("d9d505f920a163d7"), str(victim).encode()
    head = magic + struct.pack(">5I", 0, 1, path.stat().st_size // 4096, 512, 4096)
    tail = struct.pack(">I", (1 << 30) // 4096 + 1) + name
    tail += struct.pack(">2I", len(name), sum(name)) + magic
    link = tmp_path / "link.sqlite"
    link.symlink_to(path)
    for place in (path, link):
        for call in CALLS:
            Path(f"{path}-journal").write_bytes(head.ljust(512, b"\0") + tail)
            with SQLiteStore(place) as store, pytest.raises(StoreError, match="another file"):
                call(store)
    assert victim.exists()
    with SQLiteStore(path, read_only=True) as store, pytest.raises(StoreError):
        store.get("a")
    assert victim.exists()
    Path(f"{path}-journal").unlink()
    with SQLiteStore(path) as store:
        assert store.get("a") == b"1"


# -- sizes ------------------------------------------------------------------------------------


@pytest.mark.parametrize("value", ["CAST(zeroblob(300000000) AS TEXT)", "7", "NULL", "1.5"])
def test_a_value_of_another_type_is_not_read(path: Path, value: str) -> None:
    execute(path, CREATE, f"INSERT INTO zarr VALUES ('a', {value})")
    with SQLiteStore(path) as store:
        begun = time.process_time()
        for call in CALLS[:4]:
            with pytest.raises(StoreError, match="expected a BLOB"):
                call(store)
        assert time.process_time() - begun < 0.5, "300 MB were read for each of them"
        assert list(store.list()) == ["a"]


def _varint(number: int) -> bytes:
    return bytes([number >> 14 | 128, number >> 7 & 127 | 128, number & 127])


def test_a_value_that_is_larger_than_its_file(path: Path) -> None:
    with SQLiteStore(path) as store:
        store.set("a", b"x" * 100_000)
    content = path.read_bytes()

    def cell(size: int) -> bytes:  # its length, row 1, a header of 5 bytes: text of 1, a BLOB
        return _varint(size + 6) + b"\x01\x05\x0f" + _varint(2 * size + 12)

    assert content.count(cell(100_000)) == 1
    path.write_bytes(content.replace(cell(100_000), cell(1_000_000)))
    with SQLiteStore(path) as store:
        for part in (None, ByteRange(0, 900_000), ByteRange(-9)):
            with pytest.raises(StoreError, match=r"damaged|malformed"):
                store.get("a", part)
        with store.snapshot("a") as read, pytest.raises(StoreError, match=r"damaged|malformed"):
            read(None)


# -- damaged keys ----------------------------------------------------------------------------


@pytest.mark.parametrize("occurrence", [0, 1], ids=["one", "other"])
def test_a_damaged_key_is_neither_missing_nor_another(path: Path, occurrence: int) -> None:
    """Each key is in the table and in its index; whichever is damaged, the other tells."""
    with SQLiteStore(path) as store:
        store.update({f"a/c/{number}": bytes([number]) * 300 for number in range(10, 40)})
    content = path.read_bytes()
    assert content.count(b"a/c/23") == 2
    at = content.find(b"a/c/23")
    at = content.find(b"a/c/23", at + 1) if occurrence else at
    for name in (b"a/c/03", b"a/c/27", b"a/c/93", b"q/c/23"):
        path.write_bytes(content[:at] + name + content[at + 6 :])
        with SQLiteStore(path, read_only=True) as store:
            calls: list[Call] = [
                lambda store: store.get("a/c/23"),
                lambda store: store.get_many([("a/c/22", None), ("a/c/23", None)]),
                lambda store: store.exists("a/c/23"),
                lambda store: list(store.list()),
            ]
            for call in calls:
                with pytest.raises(StoreError, match="differs from the table"):
                    call(store)
            assert store.get("a/c/11") == b"\x0b" * 300
            assert store.get_many([("a/c/1", None), ("a/c/12", None)]) == [None, b"\x0c" * 300]


LISTINGS: list[Call] = [
    lambda store: list(store.list()),
    lambda store: list(store.list_prefix("a/c/")),
    lambda store: list(store.list_prefix("b/")),
    lambda store: store.list_dir(""),
    lambda store: store.list_dir("a/"),
]


def test_a_listing_with_a_damaged_index_is_complete_or_raises(path: Path) -> None:
    """Keys, types, lengths, offsets, counts: whatever bit is flipped in the index."""
    execute(path, "PRAGMA page_size = 512", CREATE)  # so that the index has inner pages
    with SQLiteStore(path) as store:
        store.update({f"{name}/c/{i}": b"x" for name in "abc" for i in range(30)})
        expected = [call(store) for call in LISTINGS]
    original = path.read_bytes()
    inner, leaf = 2, 10  # the first byte of a page of an index
    pages = [at for at in range(0, len(original), 512) if original[at] in (inner, leaf)]
    assert {original[at] for at in pages} == {inner, leaf}
    used = [at for page in pages for at in range(page, page + 512) if original[at]]
    raised = 0
    for number, at in enumerate(random.Random(1).sample(used, 120)):
        data = bytearray(original)
        data[at] ^= 1 << number % 8
        path.write_bytes(data)
        for call, answer in zip(LISTINGS, expected, strict=True):
            with SQLiteStore(path, read_only=True) as store:
                try:
                    assert call(store) == answer, (at, number % 8)
                except StoreError:
                    raised += 1
    assert raised > 300


@pytest.mark.parametrize("byte", [0, 1, 9, 0x14], ids=["NULL", "integer", "one", "BLOB"])
def test_a_damaged_type_of_a_key_is_found(path: Path, byte: int) -> None:
    with SQLiteStore(path) as store:
        store.update({f"a/{i}": b"x" for i in range(10, 40)})
    data = bytearray(path.read_bytes())
    entry = data.index(b"\x03\x15\x01a/25")  # length of the header, type of the key and of the row
    data[entry + 1] = byte
    path.write_bytes(data)
    calls: list[Call] = [
        lambda store: list(store.list()),
        lambda store: list(store.list_prefix("a/")),
        lambda store: store.get("a/25"),
        lambda store: store.get_many([("a/25", None)]),
    ]
    for call in calls:
        with SQLiteStore(path, read_only=True) as store, pytest.raises(StoreError):
            call(store)


# -- trees without an end ---------------------------------------------------------------------


@pytest.mark.parametrize("tree", [INDEX, TABLE], ids=["index", "table"])
@pytest.mark.parametrize(
    "keys", ["'a/' || n", "char(1) || n", "NULL", "char(1) || printf('%.*c', 99, 'x') || n"]
)
def test_a_tree_without_an_end(path: Path, tree: int, keys: str) -> None:
    """Gone through page by page this would take years."""
    sqlite_circles.write(path, keys, tree)
    content = path.read_bytes()
    refused = 0
    calls: list[Call] = [
        lambda store: list(store.list()),
        lambda store: store.list_dir(""),
        lambda store: store.list_dir("a/"),
        lambda store: store.get("a/7"),
        lambda store: store.get_many([("a/7", None), ("z", None)]),
        lambda store: store.set("a/7", b"1"),
    ]
    for call in calls:
        path.write_bytes(content)
        with SQLiteStore(path) as store:
            begun = time.monotonic()
            try:
                call(store)
            except StoreError as error:
                assert "damaged" in str(error) or "malformed" in str(error)
                refused += 1
            assert time.monotonic() - begun < 120
    assert refused > 0
