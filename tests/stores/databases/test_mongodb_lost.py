"""MongoDBStore when the answer to a write on condition is lost."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterator
from typing import Any

import pymongo
import pytest

import omnizarr
from omnizarr.errors import StoreAccessError, StoreError, UncertainWriteError
from omnizarr.stores import MongoDBStore, Store
from tests.servers.mongodb import MongoDB
from tests.stores.databases.losing import Way, way_to

INSERT = b"insert\0"
UPDATE = b"update\0"


@pytest.fixture
def facts(server: Callable[[str], Any]) -> MongoDB:
    found: MongoDB = server("mongodb")
    return found


@pytest.fixture
def way(facts: MongoDB) -> Iterator[Way]:
    with way_to(facts.port) as way:
        yield way


@pytest.fixture
def name() -> str:
    return f"c{uuid.uuid4().hex}"


@pytest.fixture(params=["url", "client"])
def store(request: pytest.FixtureRequest, way: Way, name: str) -> Iterator[MongoDBStore]:
    url = f"mongodb://127.0.0.1:{way.port}/"
    if request.param == "url":
        with MongoDBStore("tests", name, url=url, timeout=10) as store:
            yield store
        return
    client: Any = pymongo.MongoClient(url)
    with client, MongoDBStore("tests", name, client=client, timeout=10) as store:
        yield store


@pytest.fixture
def another(facts: MongoDB, name: str) -> Iterator[Store]:
    """The same values, by a way on which nothing is lost."""
    with MongoDBStore("tests", name, url=facts.url) as store:
        yield store


def version_of(store: Store, key: str) -> Any:
    found = store.get_versioned(key)
    assert found is not None
    return found.version


def test_a_new_document_is_known_by_its_name(store: Store, another: Store, way: Way) -> None:
    store.set("z", b"")  # and so the index is there
    way.lose(INSERT)
    assert store.set_if_absent("a", b"1")
    assert way.left == 0
    assert another.get("a") == b"1"
    assert not store.set_if_absent("a", b"1")


def test_another_writer_of_the_same_bytes(store: Store, another: Store, way: Way) -> None:
    """What we sent is stored, and we did not write it."""
    store.set("z", b"1")
    version = version_of(store, "z")
    way.lose(INSERT, before=lambda: another.set("a", b"2"))
    with pytest.raises(UncertainWriteError, match="whether 'a' was written is unknown"):
        store.set_if_absent("a", b"2")
    way.lose(UPDATE, before=lambda: another.set("z", b"2"))
    with pytest.raises(UncertainWriteError, match="whether 'z' was written is unknown"):
        store.set_if_version("z", b"2", version)
    assert way.left == 0


@pytest.mark.parametrize("done", [True, False])
def test_a_document_that_was_replaced(store: Store, another: Store, way: Way, done: bool) -> None:
    store.set("a", b"1")
    version = version_of(store, "a")
    way.lose(UPDATE, done=done)
    with pytest.raises(UncertainWriteError, match="whether 'a' was written is unknown"):
        store.set_if_version("a", b"2", version)
    assert another.get("a") == (b"2" if done else b"1")


def test_an_append_is_never_done_twice(store: Store, another: Store, way: Way) -> None:
    ours = omnizarr.create_array(store, shape=(4,), chunks=(4,), dtype="i4", fill_value=0)
    way.lose(UPDATE)
    with pytest.raises(UncertainWriteError, match=r"zarr\.json"):
        ours.append([5, 5, 5])
    assert way.left == 0
    assert omnizarr.open_array(another).shape == (4 + 3,)


def test_what_may_be_repeated_is_repeated(store: Store, another: Store, way: Way) -> None:
    ours = omnizarr.create_array(store, shape=(4,), chunks=(4,), dtype="i4", fill_value=0)
    way.lose(UPDATE)
    ours.attrs["b"] = 2
    assert way.left == 0
    assert dict(omnizarr.open_array(another).attrs) == {"b": 2}


@pytest.mark.parametrize(
    ("error", "expected"),
    [
        (pymongo.errors.NetworkTimeout("late"), UncertainWriteError),
        (pymongo.errors.NotPrimaryError("stepping down", {"code": 189}), UncertainWriteError),
        (pymongo.errors.WTimeoutError("not replicated", 64), UncertainWriteError),
        (pymongo.errors.NotPrimaryError("a secondary", {"code": 10107}), StoreError),
        (pymongo.errors.ServerSelectionTimeoutError("none"), StoreError),
        (pymongo.errors.OperationFailure("refused", 13), StoreAccessError),
    ],
)
def test_what_is_certain(
    another: MongoDBStore, error: Exception, expected: type[Exception]
) -> None:
    def fail() -> None:
        raise error

    with pytest.raises(StoreError) as raised:
        another._conditionally("a", fail)
    assert isinstance(raised.value, expected)
    assert isinstance(raised.value, UncertainWriteError) == (expected is UncertainWriteError)
    assert raised.value.__cause__ is error
