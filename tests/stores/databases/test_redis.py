"""RedisStore against a real server: layout, ranges of nothing, patterns, refusals, secrets."""

from __future__ import annotations

import pickle
import socket
import threading
import time
import uuid
from collections.abc import Callable, Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
import redis

from omnizarr.errors import StoreAccessError, StoreError, StoreTimeoutError, UncertainWriteError
from omnizarr.stores import ByteRange, RedisStore, Store, as_store
from omnizarr.testing import StoreSuite
from tests.servers.process import free_port, program, running
from tests.servers.redis import Redis


@pytest.fixture
def facts(server: Callable[[str], Any]) -> Redis:
    found: Redis = server("redis")
    return found


@pytest.fixture
def client(facts: Redis) -> Iterator[Any]:
    with redis.Redis(port=facts.port) as client:
        client.flushdb()
        yield client


class TestRedisStore(StoreSuite):
    refuses_after_close = True

    @pytest.fixture(autouse=True)
    def _server(self, facts: Redis, client: Any) -> None:
        self.url = facts.url

    def make_store(self, folder: Path) -> Store:
        # Every character of the prefix that a pattern would take for something else.
        return RedisStore(f"t*?[a-z]^\\{uuid.uuid4().hex}", url=self.url)

    def reopen(self, store: Store) -> Store:
        assert isinstance(store, RedisStore)
        store.close()
        return RedisStore(store.prefix, url=self.url)


def test_keys_and_values_are_those_of_zarr_python_2(facts: Redis, client: Any) -> None:
    with RedisStore(port=facts.port) as store:
        store.set("a/0.0", b"\0\1")
        assert client.keys() == [b"zarr:a/0.0"]
        assert client.get("zarr:a/0.0") == b"\0\1"
        client.set("zarr:b", b"x")
        client.set("zarr:../up", b"x")
        client.set(b"zarr:\xff", b"x")
        client.set("zarr2:c", b"x")
        assert list(store.list()) == ["a/0.0", "b"]
        store.delete_prefix("")
        assert len(client.keys()) == 3, "what is no key of ours stays"


def test_missing_is_not_empty(facts: Redis, client: Any) -> None:
    with RedisStore(url=facts.url) as store:
        store.set("empty", b"")
        store.set("short", b"abc")
        parts = [ByteRange(0, 9), ByteRange(-9), ByteRange(5), ByteRange(2, 2), ByteRange(3, 1)]
        for part in parts:
            assert store.get("missing", part) is None
            assert store.get("empty", part) == b""
            assert store.get("short", part) == b"abc"[part.start : part.stop]
        keys = ["missing", "empty", "short"] * 200
        found = store.get_many([(key, ByteRange(0, 9)) for key in keys])
        assert found == [None, b"", b"abc"] * 200


def test_one_round_trip_for_many(facts: Redis, client: Any) -> None:
    with RedisStore(url=facts.url) as store:
        store.update({f"k/{i}": b"x" * i for i in range(1, 500)})
        before = client.info("commandstats")
        requests = [(f"k/{i}", ByteRange(0, 1000)) for i in range(1, 500)]
        assert [len(value or b"") for value in store.get_many(requests)] == list(range(1, 500))
        after = client.info("commandstats")
        calls = {
            name: after[name]["calls"] - before.get(name, {"calls": 0})["calls"] for name in after
        }
        assert calls["cmdstat_getrange"] == 499
        assert calls.get("cmdstat_get", 0) == 0, "what is not empty is not asked for twice"


def test_another_type(facts: Redis, client: Any) -> None:
    client.rpush("zarr:list", b"1")
    with RedisStore(url=facts.url) as store:
        for call in (store.get, store.size, store.get_versioned):
            with pytest.raises(StoreError, match="WRONGTYPE"):
                call("list")


def test_versions_see_what_others_write(facts: Redis, client: Any) -> None:
    with RedisStore(url=facts.url) as store:
        store.set("k", b"1")
        seen = store.get_versioned("k")
        assert seen is not None
        client.set("zarr:k", b"2")
        assert not store.set_if_version("k", b"3", seen.version)
        client.script_flush()  # as after a restart
        seen = store.get_versioned("k")
        assert seen is not None and store.set_if_version("k", b"3", seen.version)


# -- clients, URLs, secrets -------------------------------------------------------------------


def test_adopting(facts: Redis, client: Any) -> None:
    store = as_store(client)
    assert isinstance(store, RedisStore)
    store.set("a", b"1")
    with pytest.raises(TypeError, match="pickle"):
        pickle.dumps(store)
    store.close()
    assert client.get("zarr:a") == b"1", "the client is still open"
    other = redis.Redis(port=facts.port, decode_responses=True)
    with other, pytest.raises(TypeError, match="decode_responses"):
        as_store(other)
    with pytest.raises(TypeError, match="asyncio"):
        as_store(redis.asyncio.Redis(port=facts.port))
    with pytest.raises(TypeError, match="not both"):
        RedisStore(client=client, url=facts.url)


def test_a_client_of_valkey(facts: Redis) -> None:
    valkey = import_module("valkey")
    with valkey.Valkey(port=facts.port) as client:
        client.flushdb()
        store = as_store(client)
        assert isinstance(store, RedisStore)
        store.set("a/b", b"1")
        assert store.get_many([("a/b", ByteRange(-1)), ("c", ByteRange(-1))]) == [b"1", None]
        assert list(store.list()) == ["a/b"]
        client.rpush("zarr:list", b"1")
        with pytest.raises(StoreError):
            store.get("list")
        store.close()


def test_urls(facts: Redis, client: Any) -> None:
    host = f"127.0.0.1:{facts.port}"
    with as_store(f"redis://{host}/3?prefix=some%20name&socket_timeout=5") as store:
        assert isinstance(store, RedisStore)
        assert repr(store) == f"RedisStore('redis://{host}/3', prefix='some name')"
        store.set("a", b"1")
        with as_store(f"valkey://{host}/3", storage_options={"prefix": "some name"}) as same:
            assert same == store and same.get("a") == b"1"
        for other in (f"redis://{host}/3?prefix=b", f"redis://{host}/2?prefix=some%20name"):
            with as_store(other) as different:
                assert different != store and different.get("a") is None
        store.delete("a")
    with as_store(f"redis://{host}/0", mode="r") as store:
        assert store.read_only
    for url in (f"redis://{host}/0?socket_timeout=soon", f"redis://{host}/0?db=x"):
        with pytest.raises(StoreError):
            as_store(url).get("a")


def test_users_and_passwords(facts: Redis, client: Any) -> None:
    client.set("zarr:a", b"1")
    with as_store(facts.url_of_user) as store:
        assert isinstance(store, RedisStore)
        assert store.get("a") == b"1" and store.get("a", ByteRange(5)) == b""
        for call in (lambda: store.set("a", b"2"), lambda: store.get_versioned("a")):
            with pytest.raises(StoreAccessError) as refused:
                call()
            assert facts.password not in str(refused.value)
        assert facts.password not in repr(store)
        again = pickle.loads(pickle.dumps(store))
        assert again.get("a") == b"1"
        again.close()
    wrong = facts.url_of_user.replace(facts.password, "wr0ng-secret")
    with as_store(wrong) as store, pytest.raises(StoreAccessError) as refused:
        store.get("a")
    shown: BaseException | None = refused.value
    while shown is not None:
        assert "wr0ng-secret" not in f"{shown} {shown!r}"
        shown = shown.__cause__
    with pytest.raises(StoreError) as broken:
        as_store("redis://me:hush@host:not-a-port/0")
    assert "hush" not in str(broken.value) and broken.value.__cause__ is None


# -- failures ---------------------------------------------------------------------------------


def test_a_server_that_does_not_answer() -> None:
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        listening.listen()
        port = listening.getsockname()[1]
        calls: list[Callable[[RedisStore], object]] = [
            lambda store: store.get("a"),
            lambda store: store.get_many([("a", None), ("b", None)]),
            lambda store: store.set("a", b"1"),
            lambda store: store.set_if_absent("a", b"1"),
            lambda store: list(store.list()),
        ]
        for call in calls:
            with RedisStore(host="127.0.0.1", port=port, timeout=0.3) as store:
                begin = time.monotonic()
                with pytest.raises(StoreTimeoutError):
                    call(store)
                assert time.monotonic() - begin < 30


def test_no_server() -> None:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    with RedisStore(host="127.0.0.1", port=port) as store, pytest.raises(StoreError):
        store.get("a")


def test_a_connection_that_breaks(facts: Redis, client: Any) -> None:
    """Reads and plain writes are repeated; what must not be done twice is not."""
    with RedisStore(url=facts.url) as store:
        store.set("a", b"1")
        client.client_kill_filter(_type="normal", skipme=True)
        assert store.get("a") == b"1"
        client.client_kill_filter(_type="normal", skipme=True)
        store.set("a", b"2")
        assert store.get("a") == b"2"


def test_a_lost_acknowledgement_is_an_error(facts: Redis, client: Any) -> None:
    """A proxy that passes the command on and then hangs up."""
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        listening.listen()
        commands: list[bytes] = []

        def serve() -> None:
            connection, _ = listening.accept()
            with connection, socket.create_connection(("127.0.0.1", facts.port)) as inner:
                while True:
                    data = connection.recv(65536)
                    if not data:
                        return
                    inner.sendall(data)
                    answer = inner.recv(65536)
                    commands.append(data)
                    if b"NX" in data:
                        return
                    connection.sendall(answer)

        thread = threading.Thread(target=serve)
        thread.start()
        port = listening.getsockname()[1]
        store = RedisStore(host="127.0.0.1", port=port, timeout=0.5)
        with store, pytest.raises(UncertainWriteError):
            store.set_if_absent("a", b"1")
        thread.join()
    assert client.get("zarr:a") == b"1"
    assert sum(b"NX" in command for command in commands) == 1


def test_values_that_no_server_takes(facts: Redis, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("omnizarr.stores.databases.redis.MOST_BYTES", 1000)
    with RedisStore(url=facts.url) as store:
        store.set("a", b"x" * 1000)
        with pytest.raises(StoreError, match="smaller chunks"):
            store.set("a", b"x" * 1001)
        store.delete("a")


@pytest.mark.parametrize("library", ["redis", "valkey"])
def test_a_cluster(facts: Redis, tmp_path: Path, library: str) -> None:
    port = free_port()
    command = [
        *(program(facts.name), "--port", str(port), "--bind", "127.0.0.1", "--save", ""),
        *("--dir", str(tmp_path), "--cluster-enabled", "yes", "--cluster-port", str(free_port())),
    ]
    module = import_module(f"{library}.cluster")
    kind = module.RedisCluster if library == "redis" else module.ValkeyCluster
    with running(command, port), redis.Redis(port=port) as plain:
        plain.execute_command("CLUSTER ADDSLOTSRANGE", 0, 16383)
        late = time.monotonic() + 30
        while plain.execute_command("CLUSTER INFO")["cluster_state"] != "ok":
            assert time.monotonic() < late, "the cluster does not start"
            time.sleep(0.05)
        with pytest.raises(TypeError, match="decode_responses"):
            RedisStore(client=kind(host="127.0.0.1", port=port, decode_responses=True))
        client = kind(host="127.0.0.1", port=port)
        store = RedisStore(client=client)
        assert f":{port}/" in repr(store)
        store.update({"a": b"1", "b": b"2"})
        assert store.get_many([("a", None), ("b", None)]) == [b"1", b"2"]
        assert store.set_if_absent("c", b"3") and not store.set_if_absent("c", b"4")
        found = store.get_versioned("c")
        assert found is not None
        assert store.set_if_version("c", b"5", found.version)
        assert not store.set_if_version("c", b"6", found.version)
        assert list(store.list()) == ["a", "b", "c"]
        store.delete_prefix("")
        assert list(store.list()) == []
        client.close()
