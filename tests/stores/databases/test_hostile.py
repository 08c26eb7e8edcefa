"""Databases whose server stalls, and what people get wrong about their URLs and options."""

from __future__ import annotations

import pickle
import pickletools
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from omnizarr.errors import StoreError, StoreTimeoutError
from omnizarr.model.store import ByteRange, Store
from omnizarr.stores import DBMStore, LMDBStore, MongoDBStore, RedisStore, SQLiteStore, as_store
from tests.stores.databases.stalling import way_to

PASSWORD = "swordfish-4711"
TIMEOUT = 1.0
PATIENCE = 20 * TIMEOUT
"""What a call may take on a loaded machine; without a timeout it would wait for ever."""


# -- deadlines ----------------------------------------------------------------------------------


def _store(kind: str, port: int) -> Store:
    make = RedisStore if kind == "redis" else MongoDBStore
    return make(host="127.0.0.1", port=port, timeout=TIMEOUT)


@pytest.mark.parametrize("kind", ["redis", "mongodb"])
def test_a_server_that_stalls(server: Callable[[str], Any], kind: str) -> None:
    """On a connection that worked before, and on new ones."""
    calls: list[Callable[[Store], object]] = [
        lambda store: store.get("a"),
        lambda store: store.get_many([("a", None), ("b", ByteRange(1, 2))]),
        lambda store: store.set("a", b"2"),
        lambda store: store.size("a"),
        lambda store: list(store.list()),
    ]
    with way_to(server(kind).port) as way:
        for call in calls:
            way.stalled = False
            with _store(kind, way.port) as store:
                store.set("a", b"1")
                assert store.get("a") == b"1"
                way.stalled = True
                for _ in range(2):
                    begun = time.monotonic()
                    with pytest.raises(StoreTimeoutError, match="timeout"):
                        call(store)
                    assert time.monotonic() - begun < PATIENCE


def test_the_first_write_to_a_stalled_server_makes_an_index_and_a_document_in_one_time(
    server: Callable[[str], Any],
) -> None:
    with way_to(server("mongodb").port) as way, _store("mongodb", way.port) as store:
        assert store.get("nothing") is None
        way.stalled = True
        begun = time.monotonic()
        with pytest.raises(StoreTimeoutError):
            store.set("a", b"1")
        assert time.monotonic() - begun < PATIENCE


@pytest.mark.parametrize("timeout", ["soon", None, True, [1]])
def test_a_time_that_is_no_number(tmp_path: Path, timeout: Any) -> None:
    from omnizarr.stores import LMDBStore

    for make in (
        lambda: RedisStore(timeout=timeout),
        lambda: MongoDBStore(timeout=timeout),
        lambda: SQLiteStore(tmp_path / "a.sqlite", timeout=timeout),
        lambda: DBMStore(tmp_path / "a.dbm", timeout=timeout),
        lambda: LMDBStore(tmp_path / "a.lmdb", timeout=timeout),
    ):
        with pytest.raises(TypeError, match="timeout must be a number of seconds"):
            make()
    with pytest.raises(ValueError, match="timeout must be a number of seconds above 0"):
        RedisStore(timeout=-1)
    assert list(tmp_path.iterdir()) == []


# -- ranges -------------------------------------------------------------------------------------


@pytest.mark.parametrize("far", [2**62, 2**63 - 1, 2**63, 2**64, 10**30])
def test_ranges_that_reach_beyond_every_number(server: Callable[[str], Any], far: int) -> None:
    value = b"0123456789"
    with RedisStore("far", url=server("redis").url) as store:
        store.set("a", value)
        for start, stop in (
            (0, far),
            (3, far),
            (far, None),
            (far, far + 5),
            (-far, None),
            (-3, None),
        ):
            assert store.get("a", ByteRange(start, stop)) == value[start:stop]
            found = store.get_versioned("a", ByteRange(start, stop))
            assert found is not None and found.value == value[start:stop]
            assert store.get("b", ByteRange(start, stop)) is None


# -- URLs and options ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("url", "options", "error", "told"),
    [
        ("redis://h/0/sub/a?prefix=x", {}, StoreError, "path="),
        ("redis://h/zarr", {}, StoreError, "number of a database"),
        (f"redis://u:{PASSWORD}@h:port/0", {}, StoreError, "redis://user:password@host:port"),
        ("redis://h/0", {"pasword": PASSWORD}, TypeError, "password"),
        ("redis://h/0", {"account_key": PASSWORD}, TypeError, "account_key"),
        ("mongodb://h/database.collection/sub/a", {}, StoreError, "path="),
        ("mongodb://h/d.c", {"pasword": PASSWORD}, TypeError, "password"),
        (f"mongodb://u:{PASSWORD}@@h/d.c", {}, StoreError, "mongodb://user:password@host:port"),
        (f"mongodb://u:1/{PASSWORD}@h/d.c", {}, StoreError, "percent-encoded"),
        (f"mongodb://u:1/{PASSWORD}@h", {}, StoreError, "percent-encoded"),
        (f"redis://u:1/{PASSWORD}@h/0", {}, StoreError, "percent-encoded"),
        (f"redis://h/0?prefix=redis://u:{PASSWORD}@h", {}, TypeError, "url="),
        (f"sqlite://u:{PASSWORD}@h/x.sqlite", {}, StoreError, "sqlite:///absolute/path"),
        (f"sqlite://x.sqlite?key={PASSWORD}", {}, StoreError, "storage_options"),
    ],
)
def test_a_mistake_is_told(
    url: str, options: dict[str, Any], error: type[Exception], told: str
) -> None:
    with pytest.raises(error) as caught:
        as_store(url, storage_options=options)
    text = str(caught.value)
    assert told in text and PASSWORD not in text and "AbstractConnection" not in text
    assert all(name in text for name in options)


@pytest.mark.parametrize(
    ("make", "scheme", "told"),
    [
        (RedisStore, "redis", "url="),
        (MongoDBStore, "mongodb", "url="),
        (lambda url: MongoDBStore("database", url), "mongodb", "url="),
        (SQLiteStore, "sqlite", "as_store"),
        (LMDBStore, "lmdb", "as_store"),
        (DBMStore, "dbm", "as_store"),
    ],
)
def test_a_url_in_the_place_of_a_name_is_refused(
    make: Callable[[str], Store], scheme: str, told: str, tmp_path: Path
) -> None:
    with pytest.raises(TypeError) as refused:
        make(f"{scheme}://someone:{PASSWORD}@127.0.0.1/{tmp_path}")
    text = str(refused.value)
    assert told in text and PASSWORD not in text and "someone" not in text


def test_an_absolute_path_as_others_spell_it(tmp_path: Path) -> None:
    with as_store(f"sqlite:///{tmp_path}/a.sqlite") as store:
        assert isinstance(store, SQLiteStore) and f"sqlite:///{tmp_path}".startswith("sqlite:////")
        assert store.path == str(tmp_path / "a.sqlite")
        store.set("a", b"1")
    assert as_store(f"sqlite://{tmp_path}/a.sqlite", mode="r").get("a") == b"1"


def test_a_sqlite_file_whose_errors_are_no_text(tmp_path: Path) -> None:
    """SQLite repeats damaged names in its messages, which Python then cannot decode."""
    path = tmp_path / "a.sqlite"
    with SQLiteStore(path) as store:
        store.set("a", b"1")
    data = path.read_bytes()
    at = data.index(b"CREATE TABLE")
    path.write_bytes(data[:at] + b"CREATE \xff\xfe\xff " + data[at + 11 :])
    with SQLiteStore(path, read_only=True) as store, pytest.raises(StoreError):
        store.get("a")


# -- pickles ------------------------------------------------------------------------------------


def _stores_with_a_password() -> list[Callable[[], Store]]:
    return [
        lambda: RedisStore(url=f"redis://user:{PASSWORD}@127.0.0.1:1/0"),
        lambda: RedisStore(host="127.0.0.1", port=1, password=PASSWORD),
        lambda: MongoDBStore(url=f"mongodb://user:{PASSWORD}@127.0.0.1:1/"),
        lambda: MongoDBStore(host="127.0.0.1", port=1, username="user", password=PASSWORD),
    ]


@pytest.mark.parametrize("make", _stores_with_a_password())
@pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
def test_a_pickle_does_not_show_a_password(make: Callable[[], Store], protocol: int) -> None:
    with make() as store:
        data = pickle.dumps(store, protocol)
        assert PASSWORD.encode() not in data
        assert PASSWORD not in str([argument for _, argument, _ in pickletools.genops(data)])
        with pickle.loads(data) as again:
            assert again.identity == store.identity
            assert again._options == store._options and again._url == store._url  # type: ignore[attr-defined]
        assert PASSWORD not in repr(vars(store)["_url"]) + repr(vars(store)["_options"])
