"""MongoDBStore and documents that no store has written."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterator
from typing import Any

import bson
import pymongo
import pytest

from omnizarr.errors import StoreError
from omnizarr.stores import ByteRange, MongoDBStore
from tests.servers.mongodb import MongoDB


@pytest.fixture
def documents(server: Callable[[str], Any]) -> Iterator[Any]:
    facts: MongoDB = server("mongodb")
    with pymongo.MongoClient(facts.url) as client:
        yield client["tests"][f"c{uuid.uuid4().hex}"]


@pytest.fixture
def store(server: Callable[[str], Any], documents: Any) -> Iterator[MongoDBStore]:
    with MongoDBStore("tests", documents.name, url=server("mongodb").url) as store:
        yield store


def deep(levels: int) -> dict[str, Any]:
    document: dict[str, Any] = {}
    for _ in range(levels):
        document = {"a": document}
    return document


@pytest.mark.parametrize(
    "fields",
    [
        {},
        {"value": None},
        {"value": "text"},
        {"value": 7},
        {"value": 1.5},
        {"value": True},
        {"value": []},
        {"value": [b"1"]},
        {"value": {"$binary": "00"}},
        {"value": deep(90)},
        {"value": bson.Binary(b"\0" * 16, 4)},
        {"value": bson.Code("function () { while (true) {} }")},
        {"value": bson.Regex("(a+)+$")},
        {"value": bson.DatetimeMS(1 << 60)},
        {"value": bson.ObjectId()},
        {"value": bson.MinKey()},
        {"Value": b"1"},
    ],
    ids=lambda fields: "-".join(f"{name} {type(fields[name]).__name__}" for name in fields),
)
def test_values_of_another_type(documents: Any, store: MongoDBStore, fields: Any) -> None:
    documents.insert_many([{"key": "a", **fields}, {"key": "b", "value": b"good"}])
    calls: list[Callable[[], Any]] = [
        lambda: store.get("a"),
        lambda: store.get("a", ByteRange(0, 1)),
        lambda: store.get_many([("b", None), ("a", None)]),
        lambda: store.get_versioned("a"),
        lambda: store.size("a"),
    ]
    uuid_of_16_bytes = isinstance(fields.get("value"), bson.Binary)
    for call in calls:
        if uuid_of_16_bytes:  # bytes all the same, whatever they stand for
            assert call() is not None
            continue
        with pytest.raises(StoreError):
            call()
    assert store.exists("a") and list(store.list()) == ["a", "b"]
    assert store.get("b") == b"good"
    store.set("a", b"mended")
    assert store.get("a") == b"mended"
    store.delete("a")
    assert list(store.list()) == ["b"]


def test_keys_of_other_types(documents: Any, store: MongoDBStore) -> None:
    odd = [5, None, 1.5, b"a", {"a": 1}, bson.ObjectId(), True, bson.Code("a"), [1, 2]]
    documents.insert_many([{"key": key, "value": b"1"} for key in odd])
    documents.insert_one({"value": b"1"})
    assert list(store.list()) == [] and store.list_dir("") == ([], [])
    assert store.get_many([("a", None), ("5", None)]) == [None, None]


def test_two_documents_of_one_key(documents: Any, store: MongoDBStore) -> None:
    documents.insert_many([{"key": "a", "value": b"1"}, {"key": "a", "value": b"2"}])
    documents.insert_many([{"key": "b", "value": b"1"}, {"key": "b", "value": b"1"}])
    with pytest.raises(StoreError, match="same key"):
        store.get_many([("a", None)])
    assert store.get_many([("b", None)]) == [b"1"]


@pytest.mark.parametrize("subtype", [0, 4, 128])
def test_bytes_of_every_subtype_can_be_updated(
    documents: Any, store: MongoDBStore, subtype: int
) -> None:
    """The value that was read is still the one that is there."""
    value = bytes(range(16))
    documents.insert_one({"key": "a", "value": bson.Binary(value, subtype)})
    seen = store.get_versioned("a", ByteRange(0, 3))
    assert seen is not None and seen.value == value[:3] and type(seen.value) is bytes
    assert type(store.get("a")) is bytes and store.get_many([("a", None)]) == [value]
    assert not store.set_if_version("a", b"new", b"another")
    assert store.set_if_version("a", b"new", seen.version)
    assert store.get("a") == b"new"


def test_what_others_put_beside_a_value_is_not_read(documents: Any, store: MongoDBStore) -> None:
    """Nor does it matter that Python cannot express it."""
    documents.insert_one({"key": "a", "value": b"1", "when": bson.DatetimeMS(1 << 60)})
    with pytest.raises(bson.errors.InvalidBSON):
        documents.find_one({"key": "a"})
    assert store.get("a") == b"1" and store.get_many([("a", None)]) == [b"1"]
    assert list(store.list()) == ["a"]


@pytest.mark.parametrize(
    "error",
    [
        bson.errors.InvalidBSON("bad"),
        RecursionError("deep"),
        TypeError("odd"),
        UnicodeDecodeError("utf-8", b"\xff", 0, 1, "no"),
        KeyError("value"),
    ],
    ids=lambda error: type(error).__name__,
)
def test_what_the_client_cannot_decode(
    store: MongoDBStore, error: Exception, monkeypatch: pytest.MonkeyPatch
) -> None:
    """pymongo raises these from documents that it cannot read."""

    def fail(*arguments: object) -> None:
        raise error

    monkeypatch.setattr(pymongo.collection.Collection, "find_one", fail)
    monkeypatch.setattr(pymongo.collection.Collection, "find", fail)
    for call in (
        lambda: store.get("a"),
        lambda: store.exists("a"),
        lambda: store.get_many([("a", None)]),
        lambda: list(store.list()),
    ):
        with pytest.raises(StoreError, match="cannot") as caught:
            call()
        assert caught.value.__cause__ is error
