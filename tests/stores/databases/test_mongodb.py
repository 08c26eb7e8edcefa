"""MongoDBStore against a server that speaks MongoDB's protocol: layout, limits, refusals."""

from __future__ import annotations

import pickle
import socket
import time
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pymongo
import pytest

from omnizarr.errors import StoreAccessError, StoreError, StoreTimeoutError
from omnizarr.stores import MongoDBStore, Store, as_store
from omnizarr.testing import StoreSuite
from tests.servers.mongodb import MongoDB


@pytest.fixture
def facts(server: Callable[[str], Any]) -> MongoDB:
    found: MongoDB = server("mongodb")
    return found


@pytest.fixture
def name() -> str:
    """Of a collection of its own."""
    return f"c{uuid.uuid4().hex}"


@pytest.fixture
def documents(facts: MongoDB, name: str) -> Iterator[Any]:
    """The collection, as a user of pymongo sees it."""
    with pymongo.MongoClient(facts.url) as client:
        yield client["tests"][name]


class TestMongoDBStore(StoreSuite):
    refuses_after_close = True

    @pytest.fixture(autouse=True)
    def _server(self, facts: MongoDB) -> None:
        self.url = facts.url

    def make_store(self, folder: Path) -> Store:
        return MongoDBStore("tests", f"c{uuid.uuid4().hex}", url=self.url)

    def reopen(self, store: Store) -> Store:
        assert isinstance(store, MongoDBStore)
        store.close()
        return MongoDBStore("tests", store.collection, url=self.url)


def test_documents_are_those_of_zarr_python_2(facts: MongoDB, documents: Any, name: str) -> None:
    with MongoDBStore("tests", name, host="127.0.0.1", port=facts.port) as store:
        store.set("a/0.0", b"\0\1")
        store.set("a/0.0", b"\0\2")
        assert list(documents.find({}, {"_id": 0})) == [{"key": "a/0.0", "value": b"\0\2"}]
        documents.insert_one({"key": "b", "value": b"theirs"})
        documents.insert_one({"key": "../up", "value": b"x"})
        documents.insert_one({"no": "key"})
        assert list(store.list()) == ["a/0.0", "b"]
        assert store.get("b") == b"theirs"


def test_foreign_documents(facts: MongoDB, documents: Any, name: str) -> None:
    documents.insert_many([{"key": "text", "value": "abc"}, {"key": "none"}])
    with MongoDBStore("tests", name, url=facts.url) as store:
        for key in ("text", "none"):
            with pytest.raises(StoreError, match="expected binary data"):
                store.get(key)
            with pytest.raises(StoreError, match="expected binary data"):
                store.get_many([(key, None)])


def test_reading_only_makes_no_index(facts: MongoDB, documents: Any, name: str) -> None:
    documents.insert_one({"key": "a", "value": b"1"})
    with MongoDBStore("tests", name, url=facts.url, read_only=True) as store:
        assert store.get("a") == b"1" and list(store.list()) == ["a"]
        assert list(documents.index_information()) == ["_id_"]
    with MongoDBStore("tests", name, url=facts.url) as store:
        store.set("b", b"1")
        indexes = documents.index_information().values()
        assert any(index.get("unique") and index["key"][0][0] == "key" for index in indexes)


def test_two_documents_of_one_key(facts: MongoDB, documents: Any, name: str) -> None:
    documents.insert_many([{"key": "a", "value": b"1"}, {"key": "a", "value": b"2"}])
    problem = pytest.raises(StoreError, match="same key")
    with MongoDBStore("tests", name, url=facts.url) as store, problem:
        store.set("b", b"1")


def test_versions_see_what_others_write(facts: MongoDB, documents: Any, name: str) -> None:
    with MongoDBStore("tests", name, url=facts.url) as store:
        store.set("k", b"1")
        seen = store.get_versioned("k")
        assert seen is not None
        documents.replace_one({"key": "k"}, {"key": "k", "value": b"2"}, upsert=True)
        assert not store.set_if_version("k", b"3", seen.version)
        assert store.get("k") == b"2"


def test_large_values(facts: MongoDB, name: str) -> None:
    with MongoDBStore("tests", name, url=facts.url) as store:
        most = (16 << 20) - (8 << 10)
        store.set("k" * 1000, b"x" * most)
        assert store.size("k" * 1000) == most
        for call in (store.set, store.set_if_absent):
            with pytest.raises(StoreError, match="smaller chunks"):
                call("l", b"x" * (most + 1))
        assert store.get("l") is None


# -- clients, URLs, secrets -------------------------------------------------------------------


def test_adopting(facts: MongoDB, documents: Any, name: str) -> None:
    client = documents.database.client
    store = as_store(documents)
    assert isinstance(store, MongoDBStore)
    store.set("a", b"1")
    with pytest.raises(TypeError, match="pickle"):
        pickle.dumps(store)
    store.close()
    assert documents.find_one({"key": "a"})["value"] == b"1", "the client is still open"
    for obj, expected in (
        (documents.database, ("tests", "zarr_collection")),
        (client, ("mongodb_zarr", "zarr_collection")),
    ):
        store = as_store(obj, read_only=True)
        assert isinstance(store, MongoDBStore) and store.read_only
        assert (store.database, store.collection) == expected
    with pytest.raises(TypeError, match="not both"):
        MongoDBStore(client=client, url=facts.url)


def test_urls(facts: MongoDB, name: str) -> None:
    host = f"127.0.0.1:{facts.port}"
    with as_store(f"mongodb://{host}/tests.{name}?appname=x") as store:
        assert isinstance(store, MongoDBStore)
        assert repr(store) == f"MongoDBStore('mongodb://{host}/tests.{name}')"
        store.set("a", b"1")
    options = {"database": "tests", "collection": name, "timeout": 5}
    with as_store(f"mongodb://{host}", mode="r", storage_options=options) as store:
        assert store.read_only and store.get("a") == b"1"
    with as_store(f"mongodb://{host}") as store:
        assert isinstance(store, MongoDBStore)
        assert (store.database, store.collection) == ("mongodb_zarr", "zarr_collection")


def test_secrets_stay_secret(facts: MongoDB) -> None:
    url = f"mongodb://me:h%40sh-hush@127.0.0.1:{facts.port}/tests.c?authSource=admin"
    with as_store(url, storage_options={"timeout": 3}) as store:
        assert "hush" not in repr(store)
        with pytest.raises(StoreError) as refused:
            store.get("a")
        shown: BaseException | None = refused.value
        while shown is not None:
            assert "hush" not in f"{shown} {shown!r}"
            shown = shown.__cause__
        again = pickle.loads(pickle.dumps(store))
        assert again == store
        again.close()
    for wrong in ("mongodb://me:hush@host:port/x.y", "mongodb://me:hu@sh@host/x.y?nonsense=hush"):
        with pytest.raises(StoreError) as broken:
            as_store(wrong)
        assert "hush" not in str(broken.value) and broken.value.__cause__ is None


# -- failures ---------------------------------------------------------------------------------


def test_a_server_that_does_not_answer() -> None:
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        listening.listen()
        calls: list[Callable[[MongoDBStore], object]] = [
            lambda store: store.get("a"),
            lambda store: store.set("a", b"1"),
            lambda store: list(store.list()),
        ]
        for call in calls:
            port = listening.getsockname()[1]
            with MongoDBStore(host="127.0.0.1", port=port, timeout=0.3) as store:
                begin = time.monotonic()
                with pytest.raises(StoreTimeoutError):
                    call(store)
                assert time.monotonic() - begin < 60


@pytest.mark.parametrize("code", [13, 18])
def test_refusals(facts: MongoDB, name: str, code: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """The server that we have has no users; what a real one answers is put in its place."""
    with MongoDBStore("tests", name, url=facts.url) as store:

        def refuse(*arguments: object) -> None:
            raise pymongo.errors.OperationFailure("not authorized", code)

        monkeypatch.setattr(pymongo.collection.Collection, "find_one", refuse)
        with pytest.raises(StoreAccessError, match="not authorized"):
            store.get("a")
