"""RedisStore when the answer to a write on condition is lost: nothing is done twice unnoticed."""

from __future__ import annotations

import hashlib
import time
import uuid
from collections.abc import Callable, Iterator
from importlib import import_module
from typing import Any

import pytest
import redis
from redis.backoff import NoBackoff
from redis.retry import Retry

import omnizarr
from omnizarr.errors import UncertainWriteError
from omnizarr.stores import RedisStore, Store
from omnizarr.stores.databases.redis import _REPLACE
from tests.servers.redis import Redis
from tests.stores.databases import stalling
from tests.stores.databases.losing import Way, way_to

ABSENT = b"NX"
VERSION = hashlib.sha1(_REPLACE.encode()).hexdigest().encode()
"""The name of the script, once the server knows it."""


@pytest.fixture
def facts(server: Callable[[str], Any]) -> Redis:
    found: Redis = server("redis")
    return found


@pytest.fixture
def way(facts: Redis) -> Iterator[Way]:
    with way_to(facts.port) as way:
        yield way


@pytest.fixture
def prefix() -> str:
    return uuid.uuid4().hex


@pytest.fixture(params=["url", "client", "eager client", "single connection", "valkey"])
def store(request: pytest.FixtureRequest, way: Way, prefix: str) -> Iterator[Store]:
    """By the way on which answers are lost. Most clients repeat commands by themselves."""
    if request.param == "url":
        with RedisStore(prefix, url=f"redis://127.0.0.1:{way.port}/0", timeout=5) as store:
            yield store
        return
    place: dict[str, Any] = {"host": "127.0.0.1", "port": way.port, "socket_timeout": 5}
    if request.param == "valkey":
        client = import_module("valkey").Valkey(**place)
    elif request.param == "eager client":
        client = redis.Redis(**place, retry=Retry(NoBackoff(), 20))
    else:
        client = redis.Redis(**place, single_connection_client=request.param != "client")
    with client, RedisStore(prefix, client=client) as store:
        yield store


@pytest.fixture
def another(facts: Redis, prefix: str) -> Iterator[Store]:
    """The same values, by a way on which nothing is lost."""
    with RedisStore(prefix, url=facts.url) as store:
        yield store


def version_of(store: Store, key: str) -> Any:
    found = store.get_versioned(key)
    assert found is not None
    return found.version


def test_it_was_written(store: Store, another: Store, way: Way) -> None:
    way.lose(ABSENT)
    with pytest.raises(UncertainWriteError, match="whether 'a' was written is unknown"):
        store.set_if_absent("a", b"1")
    assert way.left == 0
    assert another.get("a") == b"1"
    version = version_of(store, "a")
    assert not store.set_if_absent("a", b"1")
    assert store.set_if_version("a", b"2", version)  # the server knows the script from here on
    version = version_of(store, "a")
    way.lose(VERSION)
    with pytest.raises(UncertainWriteError, match="whether 'a' was written is unknown"):
        store.set_if_version("a", b"3", version)
    assert way.left == 0
    assert another.get("a") == b"3"
    assert not store.set_if_version("a", b"4", version)


def test_it_was_not_written(store: Store, another: Store, way: Way) -> None:
    way.lose(ABSENT, done=False)
    assert store.set_if_absent("a", b"1")
    assert way.count(ABSENT) == 2
    version = version_of(store, "a")
    way.lose(VERSION, done=False)
    assert store.set_if_version("a", b"2", version)
    assert way.left == 0
    assert another.get("a") == b"2"


def test_another_writer_of_the_same_bytes(store: Store, another: Store, way: Way) -> None:
    """What we sent is stored, and we did not write it."""
    store.set("a", b"1")
    version = version_of(store, "a")
    assert store.set_if_version("a", b"1", version)
    way.lose(VERSION, before=lambda: another.set("a", b"2"))
    with pytest.raises(UncertainWriteError):
        store.set_if_version("a", b"2", version)
    way.lose(ABSENT, before=lambda: another.set("b", b"2"))
    with pytest.raises(UncertainWriteError):
        store.set_if_absent("b", b"2")


def test_no_server_afterwards(store: Store, another: Store, way: Way) -> None:
    way.lose(ABSENT, before=way._listening.close)
    with pytest.raises(UncertainWriteError):
        store.set_if_absent("a", b"1")
    assert another.get("a") == b"1"


def test_an_append_is_never_done_twice(store: Store, another: Store, way: Way) -> None:
    ours = omnizarr.create_array(store, shape=(4,), chunks=(4,), dtype="i4", fill_value=0)
    ours.append([1, 1])
    way.lose(VERSION)
    with pytest.raises(UncertainWriteError, match=r"zarr\.json"):
        ours.append([5, 5, 5])
    assert way.left == 0
    assert omnizarr.open_array(another).shape == (4 + 2 + 3,)


def test_what_may_be_repeated_is_repeated(store: Store, another: Store, way: Way) -> None:
    ours = omnizarr.create_array(store, shape=(4,), chunks=(4,), dtype="i4", fill_value=0)
    ours.attrs["a"] = 1
    way.lose(VERSION, times=3)
    ours.attrs["b"] = 2
    assert way.left == 0
    assert dict(omnizarr.open_array(another).attrs) == {"a": 1, "b": 2}


@pytest.mark.parametrize("given", [False, True])
def test_a_connection_that_broke_before(facts: Redis, prefix: str, given: bool) -> None:
    with redis.Redis(port=facts.port) as client, redis.Redis(port=facts.port) as own:
        options: dict[str, Any] = {"client": own} if given else {"url": facts.url}
        with RedisStore(prefix, **options) as store:
            for key in "abc":
                client.client_kill_filter(_type="normal", skipme=True)
                assert store.set_if_absent(key, b"1")


def test_a_script_that_the_server_has_forgotten(store: Store, facts: Redis) -> None:
    store.set("a", b"1")
    with redis.Redis(port=facts.port) as client:
        for value in b"2", b"3":
            version = version_of(store, "a")
            client.script_flush()
            assert store.set_if_version("a", value, version)
            assert store.get("a") == value


@pytest.mark.parametrize("given", [False, True])
def test_no_answer_in_time(facts: Redis, prefix: str, given: bool) -> None:
    with stalling.way_to(facts.port) as way, redis.Redis(port=way.port, socket_timeout=0.3) as own:
        options: dict[str, Any] = (
            {"client": own} if given else {"host": "127.0.0.1", "port": way.port, "timeout": 0.3}
        )
        with RedisStore(prefix, **options) as store:
            assert store.set_if_absent("a", b"1")
            way.stalled = True
            begin = time.monotonic()
            with pytest.raises(UncertainWriteError):
                store.set_if_absent("b", b"1")
            assert time.monotonic() - begin < 30
