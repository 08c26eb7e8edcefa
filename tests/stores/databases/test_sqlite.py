"""SQLiteStore: what other users of the file see, hostile files, deadlines, forks, modes."""

from __future__ import annotations

import gc
import os
import random
import sqlite3
import subprocess
import sys
import threading
import time
import tracemalloc
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

import omnizarr
from omnizarr.errors import NodeNotFoundError, ReadOnlyError, StoreError, StoreTimeoutError
from omnizarr.stores import ByteRange, SQLiteStore, Store, as_store, kinds
from omnizarr.testing import StoreSuite
from tests.stores.databases import forking

CREATE = "CREATE TABLE zarr(k TEXT PRIMARY KEY, v BLOB)"  # as zarr-python 2 writes it


class TestSQLiteStore(StoreSuite):
    refuses_after_close = True

    def make_store(self, folder: Path) -> Store:
        return SQLiteStore(folder / "x.sqlite")

    def reopen(self, store: Store) -> Store:
        assert isinstance(store, SQLiteStore)
        store.close()
        return SQLiteStore(store.path, table=store.table)


@pytest.mark.slow
class TestOldJournal(TestSQLiteStore):
    """A file that others keep open, so that the journal stays what it was."""

    many_keys = 500

    @pytest.fixture(autouse=True)
    def _others(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr("omnizarr.stores.databases.sqlite_file.JOURNAL", "TRUNCATE")


@pytest.mark.slow
class TestAnotherTable(TestSQLiteStore):
    many_keys = 500

    def make_store(self, folder: Path) -> Store:
        with closing(sqlite3.connect(folder / "any name")) as db:
            db.execute("CREATE TABLE zarr(something TEXT, other INTEGER)")
        return SQLiteStore(folder / "any name", table="values_2", fsync=True)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "x.sqlite"


def execute(path: Path, *statements: str) -> list[Any]:
    with closing(sqlite3.connect(path, isolation_level=None)) as db:
        return [db.execute(statement).fetchall() for statement in statements][-1]


# -- the file that others see -----------------------------------------------------------------


def test_the_table_is_that_of_zarr_python_2(path: Path) -> None:
    with SQLiteStore(path) as store:
        store.set("a/0.0", b"\0\1")
        store.set("a/.zarray", b"{}")
    assert execute(path, "SELECT sql FROM sqlite_master WHERE type = 'table'") == [
        ('CREATE TABLE "zarr"(k TEXT PRIMARY KEY, v BLOB)',)
    ]
    rows = execute(path, "SELECT k, v, typeof(v) FROM zarr ORDER BY k")
    assert rows == [("a/.zarray", b"{}", "blob"), ("a/0.0", b"\0\1", "blob")]


def test_one_file_remains(path: Path) -> None:
    store = SQLiteStore(path)
    store.set("a", b"1")
    assert execute(path, "PRAGMA journal_mode") == [("wal",)]
    store.close()
    assert os.listdir(path.parent) == ["x.sqlite"]
    assert execute(path, "PRAGMA journal_mode") == [("delete",)]


def test_a_forgotten_store_is_closed(path: Path) -> None:
    store = SQLiteStore(path)
    store.set("a", b"1")
    del store
    gc.collect()
    assert os.listdir(path.parent) == ["x.sqlite"]


def test_versions_see_what_others_write(path: Path) -> None:
    with SQLiteStore(path) as store:
        store.set("k", b"1")
        seen = store.get_versioned("k")
        assert seen is not None
        with closing(sqlite3.connect(path, isolation_level=None)) as db:
            db.execute("REPLACE INTO zarr VALUES ('k', ?)", (b"2",))
        assert not store.set_if_version("k", b"3", seen.version)
        assert store.get("k") == b"2"


def test_foreign_rows(path: Path) -> None:
    execute(
        path,
        CREATE,
        "INSERT INTO zarr VALUES ('text', 'abc'), ('null', NULL), ('number', 7), ('good', x'00')",
        "INSERT INTO zarr VALUES ('../x', x'00'), (NULL, x'00'), (x'6162', x'00'), ('a//b', x'')",
        "INSERT INTO zarr VALUES (CAST(x'ff61' AS TEXT), x'00'), ('d/' || char(10), x'00')",
    )
    with SQLiteStore(path) as store:
        assert list(store.list()) == ["good", "null", "number", "text"]
        assert store.list_dir("") == (["good", "null", "number", "text"], [])
        assert store.list_dir("d/") == ([], [])
        for key in ("text", "null", "number"):
            for call in (store.get, store.size, store.get_versioned):
                with pytest.raises(StoreError, match="expected a BLOB"):
                    call(key)
            with pytest.raises(StoreError, match="expected a BLOB"):
                store.get_many([("good", None), (key, None)])
        assert store.get("good") == b"\0"


def test_other_tables_stay(path: Path) -> None:
    execute(path, "CREATE TABLE precious(x)", "INSERT INTO precious VALUES (1)")
    store = as_store(str(path), mode="w")
    assert list(store.list()) == [] and store.list_dir("") == ([], [])
    store.set("a/b", b"1")
    store.delete_prefix("")
    store.close()
    assert execute(path, "SELECT * FROM precious") == [(1,)]


# -- hostile files ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    "statements",
    [
        ["CREATE TABLE secret(k, v)", "CREATE VIEW zarr AS SELECT k, v FROM secret"],
        ["CREATE TABLE zarr(k TEXT, v BLOB)"],
        ["CREATE TABLE zarr(k TEXT PRIMARY KEY COLLATE NOCASE, v BLOB)"],
        ["CREATE TABLE zarr(k TEXT PRIMARY KEY, v BLOB, w BLOB)"],
        ["CREATE TABLE zarr(k TEXT PRIMARY KEY, v BLOB DEFAULT (randomblob(9)))"],
        ["CREATE TABLE zarr(k TEXT PRIMARY KEY, v BLOB AS (k))"],
        ["CREATE VIRTUAL TABLE zarr USING fts5(k, v)"],
        [CREATE, "CREATE TRIGGER t AFTER INSERT ON zarr BEGIN DELETE FROM zarr; END"],
        [CREATE, "CREATE TRIGGER t BEFORE DELETE ON ZARR BEGIN SELECT 1; END"],
    ],
)
def test_something_else_has_the_name(path: Path, statements: list[str]) -> None:
    execute(path, *statements)
    before = path.read_bytes()
    with SQLiteStore(path) as store:
        for call in (
            lambda: store.get("a"),
            lambda: list(store.list()),
            lambda: store.set("a", b"1"),
            lambda: store.delete_prefix(""),
        ):
            with pytest.raises(StoreError, match="expected a table"):
                call()
    assert path.read_bytes() == before


def test_a_trigger_that_comes_later_does_not_run(path: Path) -> None:
    with SQLiteStore(path) as store:
        store.set("a", b"1")
        execute(path, "CREATE TRIGGER t AFTER INSERT ON zarr BEGIN DELETE FROM zarr; END")
        try:
            store.set("b", b"2")
        except StoreError:  # Python 3.11; later ones switch triggers off
            assert list(store.list()) == ["a"]
        else:
            assert list(store.list()) == ["a", "b"]


@pytest.mark.parametrize("content", [b"no database" * 100, b"SQLite format 3\0" + b"\xff" * 200])
def test_no_database(path: Path, content: bytes) -> None:
    path.write_bytes(content)
    for read_only in (False, True):
        with SQLiteStore(path, read_only=read_only) as store, pytest.raises(StoreError):
            store.get("a")
    with SQLiteStore(path) as store, pytest.raises(StoreError):
        store.set("a", b"1")
    assert path.read_bytes() == content


def test_unusable_places(tmp_path: Path) -> None:
    with SQLiteStore(tmp_path) as store, pytest.raises(StoreError):
        store.get("a")
    with SQLiteStore(tmp_path / "no" / "folder.sqlite") as store:
        assert store.get("a") is None
        with pytest.raises(StoreError, match="there is no folder"):
            store.set("a", b"1")
    execute(tmp_path / "wide", "PRAGMA encoding = 'UTF-16'", CREATE)
    with SQLiteStore(tmp_path / "wide") as store, pytest.raises(StoreError, match="UTF-8"):
        store.get("a")
    for name in ("", "a\0b"):
        with pytest.raises(ValueError):
            SQLiteStore(name)
    for table in ("a b", "x;y", 'q"', "sqlite_master", "1"):
        with pytest.raises(ValueError, match="table"):
            SQLiteStore(tmp_path / "y", table=table)


@pytest.mark.slow
def test_damaged_pages(path: Path) -> None:
    """Damage is an error, or leaves what can be read; it never ends the process."""
    values = {f"a/{i}": bytes([i]) * (i * 700) for i in range(60)}
    with SQLiteStore(path) as store:
        store.update(values)
    sound = path.read_bytes()
    chance = random.Random(1)
    errors = 0
    for turn in range(150):
        damaged = bytearray(sound)
        if turn % 10 == 0:
            del damaged[chance.randrange(len(damaged)) :]
        for _ in range(chance.choice([1, 4, 40])):
            if damaged:
                damaged[chance.randrange(len(damaged))] = chance.randrange(256)
        path.write_bytes(damaged)
        with SQLiteStore(path, timeout=1) as store:
            for call in (
                lambda store=store: [store.get(key) for key in store.list()],
                lambda store=store: store.get_many([(key, ByteRange(-9)) for key in values]),
                lambda store=store: store.list_dir("a/"),
                lambda store=store: store.set("a/5", b"x" * 9000),
                lambda store=store: store.delete_prefix("a/"),
            ):
                try:
                    call()
                except StoreError:
                    errors += 1
        for ending in ("-wal", "-shm", "-journal"):
            Path(f"{path}{ending}").unlink(missing_ok=True)
    assert errors > 20


# -- reading only -----------------------------------------------------------------------------


def test_reading_only_creates_nothing(path: Path) -> None:
    with SQLiteStore(path, read_only=True) as missing:
        assert missing.get("a") is None and list(missing.list()) == []
        with pytest.raises(ReadOnlyError):
            missing.set("a", b"1")
    assert os.listdir(path.parent) == []
    with SQLiteStore(path) as store:
        store.delete("a")
        store.delete_prefix("")
        assert os.listdir(path.parent) == []
        store.set("a", b"1" * 100_000)
    before = path.read_bytes()
    with SQLiteStore(path, read_only=True) as store:
        assert store.get("a", ByteRange(-2)) == b"11"
        with store.snapshot("a") as read:
            assert read(ByteRange(0, 2)) == b"11"
        assert list(store.list()) == ["a"]
        assert os.listdir(path.parent) == ["x.sqlite"]
    assert os.listdir(path.parent) == ["x.sqlite"]
    assert path.read_bytes() == before


def test_reading_what_a_killed_writer_left(path: Path) -> None:
    program = (
        "import os, sys; from omnizarr.stores import SQLiteStore;"
        "store = SQLiteStore(sys.argv[1]); store.set('a', b'1'); os.kill(os.getpid(), 9)"
    )
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    subprocess.run([sys.executable, "-c", program, str(path)], env=environment)
    assert os.path.exists(f"{path}-wal")
    with SQLiteStore(path, read_only=True) as store:
        assert store.get("a") == b"1"
    with SQLiteStore(path) as store:
        assert store.get("a") == b"1"
        store.set("b", b"2")
    assert os.listdir(path.parent) == ["x.sqlite"]


# -- parts, deadlines, forks ------------------------------------------------------------------


def test_a_part_does_not_load_the_value(path: Path) -> None:
    with SQLiteStore(path) as store:
        store.set("large", bytes(32 << 20))
        tracemalloc.start()
        try:
            assert store.get("large", ByteRange(-5)) == bytes(5)
            assert store.get_many([("large", ByteRange(1 << 20, (1 << 20) + 7))]) == [bytes(7)]
            with store.snapshot("large") as read:
                assert read(ByteRange(3, 9)) == bytes(6)
            assert tracemalloc.get_traced_memory()[1] < 1 << 20
        finally:
            tracemalloc.stop()


def test_a_snapshot_is_of_one_version(path: Path) -> None:
    with SQLiteStore(path) as store:
        for size in (10, 100_000):
            store.set("k", b"a" * size)
            with store.snapshot("k") as read:
                assert read(ByteRange(0, 2)) == b"aa"
                store.set("k", b"b" * size)
                store.set("other", b"c" * size)
                assert read(ByteRange(-2)) == b"aa"
            assert store.get("k", ByteRange(0, 2)) == b"bb"


def test_another_writer_keeps_us_waiting(path: Path) -> None:
    with SQLiteStore(path, timeout=0.3) as store, closing(sqlite3.connect(path)) as other:
        store.set("a", b"1")
        other.execute("BEGIN IMMEDIATE")
        begin = time.monotonic()
        with pytest.raises(StoreTimeoutError, match="another writer"):
            store.set("a", b"2")
        assert 0.2 < time.monotonic() - begin < 60
        assert store.get("a") == b"1", "readers do not wait"
        other.rollback()
        store.set("a", b"3")
        assert store.get("a") == b"3"


def test_our_own_threads_keep_the_deadline(path: Path) -> None:
    with SQLiteStore(path, timeout=0.3) as store:
        store.set("a", b"1")
        inside, done = threading.Event(), threading.Event()

        def hold() -> None:
            with store._pool.writing("hold"):
                inside.set()
                done.wait(10)

        thread = threading.Thread(target=hold)
        thread.start()
        inside.wait(10)
        try:
            with pytest.raises(StoreTimeoutError):
                store.set("a", b"2")
        finally:
            done.set()
            thread.join()


@forking.needs_fork
def test_forking_while_threads_write(path: Path) -> None:
    with SQLiteStore(path) as store:
        forking.forking_while_threads_write(store)
    assert execute(path, "PRAGMA integrity_check") == [("ok",)]


@forking.needs_fork
def test_a_child_of_a_reading_thread_is_refused(path: Path) -> None:
    with SQLiteStore(path) as store:
        forking.refusing_the_child_of_a_reading_thread(store, snapshot_too=True)


# -- opening ----------------------------------------------------------------------------------


def test_urls_and_modes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for mode in ("r", "r+"):
        with pytest.raises(NodeNotFoundError):
            as_store("x.sqlite", mode=mode)
    assert os.listdir(tmp_path) == []
    for name in ("x.sqlite", "y.SQLITE3", "z.sqldb", f"sqlite://{tmp_path}/a%20b", "sqlite://rel"):
        with as_store(name) as store:
            assert isinstance(store, SQLiteStore)
            store.set("a", b"1")
    assert {"x.sqlite", "y.SQLITE3", "z.sqldb", "a b", "rel"} <= set(os.listdir(tmp_path))
    with as_store("rel", mode="r") as store:  # by its first bytes
        assert isinstance(store, SQLiteStore) and store.read_only
    options = {"table": "other", "timeout": 3}
    with as_store("x.sqlite", storage_options=options) as store:
        assert isinstance(store, SQLiteStore) and (store.table, store.timeout) == ("other", 3.0)
    with pytest.raises(TypeError, match="nonsense"):
        as_store("x.sqlite", storage_options={"nonsense": "secret"})
    for url in ("sqlite://", "sqlite:///x?mode=memory"):
        with pytest.raises(StoreError):
            as_store(url)


def test_a_missing_folder_is_named(tmp_path: Path) -> None:
    folder = tmp_path / "not" / "there"
    with SQLiteStore(folder / "x.sqlite") as store:
        with pytest.raises(StoreError, match="there is no folder") as caught:
            store.set("a", b"1")
        assert repr(str(folder)) in str(caught.value)
        assert store.get("a") is None
        folder.mkdir(parents=True)
        store.set("a", b"1")
        assert store.get("a") == b"1"


def test_an_open_file_is_not_opened_once_more(tmp_path: Path, monkeypatch: Any) -> None:
    path = tmp_path / "plain.db"
    with SQLiteStore(path) as store:
        store.set("a", b"1")

        def refuse(*arguments: object) -> None:
            raise AssertionError("closing it would end SQLite's locks")

        monkeypatch.setattr("builtins.open", refuse)
        kind = kinds.for_path(str(path))
        assert kind is not None and kind.module == "databases.sqlite"


def test_a_file_that_is_no_database(tmp_path: Path) -> None:
    path = tmp_path / "bad.sqlite"
    path.write_bytes(b"this is text, and no database" * 100)
    with pytest.raises(StoreError, match="is not a SQLite database") as refused:
        omnizarr.open(path, mode="r")
    assert refused.value.location is not None and refused.value.location.name == str(path)
    assert "cannot read many keys" not in str(refused.value)
