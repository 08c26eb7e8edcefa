"""`ObjectStore` when answers are lost, and what it tells of itself: never a secret."""

from __future__ import annotations

import itertools
import os
import pickle
import socket
import subprocess
import sys
import threading
import time
import traceback
from collections.abc import Callable, Iterator
from importlib import import_module
from typing import Any

import numpy as np
import pytest

import omnizarr
from omnizarr.errors import (
    HTTPStatusError,
    StoreAccessError,
    StoreError,
    StoreTimeoutError,
    UncertainWriteError,
    ValueChangedError,
)
from omnizarr.model.store import ByteRange, Store
from omnizarr.stores import ObjectStore, as_store

pytestmark = pytest.mark.slow

obstore = import_module("obstore")
_numbers = itertools.count()


class Proxy:
    """Passes bytes to a server and back, and cuts answers to requests that begin as told."""

    def __init__(self, port: int) -> None:
        self.behind = port
        self.cut: list[bytes] = []
        """Beginnings of requests whose answer is swallowed, once each."""
        self.meanwhile: Callable[[], object] | None = None
        """What another writer does, once, as soon as an answer was swallowed."""
        self.seen: list[bytes] = []
        self._listening = socket.create_server(("127.0.0.1", 0))
        self.port = self._listening.getsockname()[1]
        self._open: list[socket.socket] = []
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self) -> None:
        while True:
            try:
                client = self._listening.accept()[0]
            except OSError:
                return
            threading.Thread(target=self._serve, args=(client,), daemon=True).start()

    def _serve(self, client: socket.socket) -> None:
        with client, socket.create_connection(("127.0.0.1", self.behind)) as server:
            self._open += [client, server]
            incoming = client.makefile("rb")
            outgoing = server.makefile("rb")
            while True:
                request = self._message(incoming)
                if not request:
                    return
                self.seen.append(request.split(b"\r\n", 1)[0])
                server.sendall(request)
                answer = self._message(outgoing, bodiless=request.startswith(b"HEAD"))
                cut = next((start for start in self.cut if request.startswith(start)), None)
                if cut is not None:
                    self.cut.remove(cut)
                    meanwhile, self.meanwhile = self.meanwhile, None
                    if meanwhile is not None:
                        meanwhile()
                    client.shutdown(socket.SHUT_RDWR)
                    return  # done by the server, but the client is not told
                client.sendall(answer)

    @staticmethod
    def _message(stream: Any, bodiless: bool = False) -> bytes:
        head, length = b"", 0
        while line := stream.readline():
            head += line
            name, _, value = line.partition(b":")
            if name.lower() == b"content-length":
                length = int(value)
            if line == b"\r\n":
                return head + (b"" if bodiless else stream.read(length))
        return b""

    def close(self) -> None:
        self._listening.close()
        for connection in self._open:
            connection.close()


@pytest.fixture
def proxy(server: Callable[[str], Any]) -> Iterator[Proxy]:
    proxy = Proxy(int(server("s3").endpoint.rpartition(":")[2]))
    yield proxy
    proxy.close()


@pytest.fixture
def store(server: Callable[[str], Any], proxy: Proxy) -> Store:
    s3 = server("s3")
    options = {**s3.options, "endpoint": f"http://127.0.0.1:{proxy.port}", "deadline": 20}
    return as_store(s3.url(f"faults/{next(_numbers)}"), storage_options=options)


# -- lost answers ---------------------------------------------------------------------------------
def test_a_lost_answer_to_a_first_write_is_success(store: Store, proxy: Proxy) -> None:
    proxy.cut = [b"PUT"]
    assert store.set_if_absent("k", b"ours")
    assert proxy.cut == []
    assert store["k"] == b"ours"
    assert not store.set_if_absent("k", b"other")


def test_a_lost_answer_to_an_update_is_success(store: Store, proxy: Proxy) -> None:
    store.set("k", b"0")
    found = store.get_versioned("k")
    assert found is not None
    proxy.cut = [b"PUT"]
    assert store.set_if_version("k", b"1", found.version)
    assert proxy.cut == []
    assert store["k"] == b"1"
    assert not store.set_if_version("k", b"2", found.version)


def test_equal_bytes_of_another_writer_are_a_conflict(store: Store, proxy: Proxy) -> None:
    """Two that count from 0 to 1 must end at 2: what is stored is no proof of who stored it."""
    store.set("n", b"0")
    found = store.get_versioned("n")
    assert found is not None
    other = as_store(store)
    assert other.set_if_version("n", b"1", found.version)
    assert not store.set_if_version("n", b"1", found.version)
    assert not store.set_if_absent("n", b"1")


@pytest.fixture
def another(server: Callable[[str], Any], store: ObjectStore) -> Store:
    """The same values, by a way on which nothing is lost."""
    s3 = server("s3")
    return as_store(s3.url(store.prefix), storage_options=s3.options)


@pytest.mark.parametrize("other", [b"1", b"2"])
def test_what_was_replaced_before_we_looked_is_unknown(
    store: Store, proxy: Proxy, another: Store, other: bytes
) -> None:
    store.set("k", b"0")
    found = store.get_versioned("k")
    assert found is not None
    proxy.cut, proxy.meanwhile = [b"PUT"], lambda: another.set("k", other)
    with pytest.raises(UncertainWriteError, match="key 'k': whether it was written is unknown"):
        store.set_if_version("k", b"1", found.version)
    proxy.cut, proxy.meanwhile = [b"PUT"], lambda: another.delete("new")
    assert store.set_if_absent("new", b"1")  # it is gone, so it is written again
    proxy.cut, proxy.meanwhile = [b"PUT"], lambda: another.set("newer", other)
    with pytest.raises(UncertainWriteError, match="key 'newer': whether it was written is unknown"):
        store.set_if_absent("newer", b"1")


def test_an_append_is_never_done_twice(store: Store, proxy: Proxy, another: Store) -> None:
    ours = omnizarr.create_array(store, shape=(4,), chunks=(4,), dtype="i4", fill_value=0)
    theirs = omnizarr.open_array(another)
    proxy.cut, proxy.meanwhile = [b"PUT"], lambda: theirs.append([7, 7])
    with pytest.raises(UncertainWriteError, match=r"zarr\.json"):
        ours.append([5, 5, 5])
    assert proxy.meanwhile is None
    assert omnizarr.open_array(another).shape == (4 + 3 + 2,)


def test_what_may_be_repeated_is_repeated(store: Store, proxy: Proxy, another: Store) -> None:
    ours = omnizarr.create_array(store, shape=(4,), chunks=(4,), dtype="i4", fill_value=0)
    theirs = omnizarr.open_array(another)
    proxy.cut, proxy.meanwhile = [b"PUT"], lambda: theirs.__setitem__(3, 7)
    ours[:2] = 5
    assert proxy.meanwhile is None
    assert theirs[:].tolist() == [5, 5, 0, 7]
    proxy.cut, proxy.meanwhile = [b"PUT"], lambda: theirs.attrs.__setitem__("theirs", 1)
    ours.attrs["ours"] = 2
    assert dict(omnizarr.open_array(another).attrs) == {"ours": 2, "theirs": 1}


@pytest.mark.parametrize("shards", [None, (8,)])
def test_shrinking_beside_an_append(
    store: Store, another: Store, shards: tuple[int] | None
) -> None:
    ours = omnizarr.create_array(
        store, shape=(32,), chunks=(4,), shards=shards, dtype="i4", fill_value=0
    )
    ours[:] = np.arange(1, 33)
    theirs = omnizarr.open_array(another)
    thread = threading.Thread(target=lambda: ours.resize((5,)))
    thread.start()
    while len(omnizarr.open_array(another)) != 5:
        pass
    theirs.append([-1] * 9)
    thread.join()
    found = omnizarr.open_array(another)
    assert found[:].tolist() == [1, 2, 3, 4, 5] + 9 * [-1]
    found.resize((32,))
    assert found[14:].tolist() == 18 * [0]


def test_an_ordinary_conflict_is_one_attempt(store: Store, proxy: Proxy) -> None:
    store.set("k", b"0")
    found = store.get_versioned("k")
    assert found is not None
    store.set("k", b"1")
    proxy.seen.clear()
    assert not store.set_if_version("k", b"2", found.version)
    assert [line.split()[0] for line in proxy.seen] == [b"PUT", b"HEAD"]


def test_counting_while_answers_are_lost(store: Store, proxy: Proxy) -> None:
    for turn in range(30):
        if turn % 3 == 0:
            proxy.cut.append(b"PUT")
        while True:
            found = store.get_versioned("n")
            count, version = (0, None) if found is None else (int(bytes(found[0])), found[1])
            if store.set_if_version("n", str(count + 1).encode(), version):
                break
    assert proxy.cut == []
    assert store["n"] == b"30"


def test_lost_answers_to_reads_are_asked_again(store: Store, proxy: Proxy) -> None:
    store.set("k", b"0123456789")
    for byte_range in (None, ByteRange(2, 5), ByteRange(-3)):
        proxy.cut = [b"GET"]
        start, stop = byte_range or (0, None)
        assert store.get("k", byte_range) == b"0123456789"[start:stop]
        assert proxy.cut == []
    assert store.get("missing") is None


def test_a_read_is_one_request(store: Store, proxy: Proxy) -> None:
    store.set("k", b"0123456789")
    proxy.seen.clear()
    for byte_range in (None, ByteRange(0, 1 << 30), ByteRange(2, 5), ByteRange(-3), ByteRange(4)):
        store.get("k", byte_range)
    store.get("missing")
    store.get_many([("k", None), ("k", ByteRange(1, 2))])
    assert len(proxy.seen) == 8
    assert all(line.startswith(b"GET ") for line in proxy.seen)


def test_a_silent_server_is_left_before_the_deadline() -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        store = as_store(
            "s3://bucket/x",
            storage_options={
                "endpoint": f"http://127.0.0.1:{silent.getsockname()[1]}",
                "anon": True,
                "deadline": 2,
            },
        )
        calls: list[Callable[[], object]] = [
            lambda: store.get("k"),
            lambda: store.get("k", ByteRange(-4)),
            lambda: store.set("k", b"1"),
            lambda: store.set_if_absent("k", b"1"),
            lambda: store.size("k"),
            lambda: list(store.list()),
        ]
        for call in calls:
            begun = time.monotonic()
            with pytest.raises(StoreTimeoutError, match="deadline"):
                call()
            assert time.monotonic() - begun < 2.5


def test_an_unreachable_server_is_an_error() -> None:
    with socket.create_server(("127.0.0.1", 0)) as closed:
        port = closed.getsockname()[1]
    options = {"endpoint": f"http://127.0.0.1:{port}", "anon": True, "deadline": 2}
    store = as_store("s3://bucket/x", storage_options=options)
    begun = time.monotonic()
    for call in (lambda: store.get("k"), lambda: store.exists("k"), lambda: store.set("k", b"")):
        with pytest.raises(StoreError):
            call()
    assert time.monotonic() - begun < 7


def test_a_missing_bucket_is_not_a_missing_key(server: Callable[[str], Any]) -> None:
    s3 = server("s3")
    for call in (
        lambda store: store.get("k"),
        lambda store: store.exists("k"),
        lambda store: store.get("k", ByteRange(-2)),
        lambda store: list(store.list()),
        lambda store: store.set("k", b"1"),
    ):
        with pytest.raises(StoreError, match="no such bucket"):
            call(as_store("s3://not-there/x", storage_options=s3.options))


@pytest.mark.parametrize(
    "fault", ["HTML", "redirect", "200 for 206", "lying length", "wrong range", "short", "403"]
)
def test_a_wrong_answer_is_never_taken_for_a_value(
    fault: str, server: Callable[[str], Any]
) -> None:
    faulty = server("faulty")
    value = os.urandom(3000)
    faulty.values.update({"bucket/x/k": value, "bucket/x/empty": b""})
    options = {"endpoint": faulty.url, "anon": True, "deadline": 2}
    store = as_store("s3://bucket/x", storage_options=options)
    wrong: list[object] = []
    right = failed = 0
    for seed in range(2):
        faulty.plan(fault, rate=1.0 if seed else 0.5, seed=seed)
        for byte_range in (
            None,
            ByteRange(10, 20),
            ByteRange(-9),
            ByteRange(5),
            ByteRange(0, 9999),
        ):
            start, stop = byte_range or (0, None)
            for key, expected in (("k", value[start:stop]), ("empty", b""), ("missing", None)):
                try:
                    found = store.get(key, byte_range)
                except StoreError:
                    failed += 1
                    continue
                right += 1
                if found != expected:
                    wrong.append((key, byte_range, found))
    if fault in ("HTML", "redirect", "403"):
        for call in (lambda: store.size("k"), lambda: store.exists("missing")):
            with pytest.raises(StoreError):
                call()
    faulty.heal()
    assert wrong == []
    assert right > 0 and failed > 0


# -- snapshots ------------------------------------------------------------------------------------
def test_a_snapshot_notices_a_new_value(store: Store) -> None:
    store.set("k", b"a" * 100)
    with store.snapshot("k") as read:
        assert read(ByteRange(-4)) == b"aaaa"
        assert read(ByteRange(0, 4)) == b"aaaa"
        store.set("k", b"b" * 100)
        with pytest.raises(ValueChangedError):
            read(ByteRange(0, 4))
        store.delete("k")
        with pytest.raises(ValueChangedError):
            read(ByteRange(0, 4))


# -- what others put there ------------------------------------------------------------------------
def test_folders_of_other_tools_are_not_listed(
    server: Callable[[str], Any], store: ObjectStore
) -> None:
    import urllib.request

    s3 = server("s3")
    store.set("a/b", b"1")
    store.set("a/empty", b"")
    for folder in ("a/", "lonely/"):
        url = f"{s3.endpoint}/{s3.bucket}/{store.prefix}/{folder}"
        urllib.request.urlopen(urllib.request.Request(url, method="PUT", data=b"")).close()
    assert list(store.list()) == ["a/b", "a/empty"]
    assert list(store.list_prefix("a/")) == ["a/b", "a/empty"]
    assert store.list_dir("a/") == (["a/b", "a/empty"], [])


# -- large values ---------------------------------------------------------------------------------
def test_large_values_are_sent_in_parts(store: Store, proxy: Proxy) -> None:
    value = os.urandom(20 << 20)
    store.set("large", value)
    assert sum(b"partNumber" in line for line in proxy.seen) == 3
    assert store.get("large") == value
    proxy.seen.clear()
    assert store.set_if_absent("large2", value)
    assert [line[:3] for line in proxy.seen] == [b"PUT"]


# -- secrets --------------------------------------------------------------------------------------
SECRET = "wJalrXUtnFEMI-a-very-secret-one"


def _everything_shown(call: Callable[[], object]) -> str:
    try:
        call()
    except Exception as error:
        chain: list[BaseException] = []
        following: BaseException | None = error
        while following is not None:
            chain.append(following)
            following = following.__cause__ or following.__context__
        shown = "".join(f"{one!r} {one}" for one in chain)
        return shown + "".join(traceback.format_exception(error))
    raise AssertionError("the call did not fail")


@pytest.mark.parametrize(
    ("url", "options"),
    [
        ("s3://bucket/x", {"key": SECRET + "1", "secret": SECRET, "token": SECRET + "2"}),
        (f"s3://{SECRET}:{SECRET}2@bucket/x", {}),
        ("gs://bucket/x", {"bearer_token": SECRET}),
        ("az://container/x", {"account_name": "me", "sas_token": f"sv=2023-11-03&sig={SECRET}"}),
        (f"az://container/x?sv=2023-11-03&sig={SECRET}", {"account_name": "me"}),
        ("s3://bucket/x", {"anon": True, "client_options": {"default_headers": {"x-t": SECRET}}}),
    ],
)
def test_secrets_are_never_shown(url: str, options: dict[str, Any]) -> None:
    with socket.create_server(("127.0.0.1", 0)) as closed:
        port = closed.getsockname()[1]
    endpoint = {"endpoint": f"http://127.0.0.1:{port}", "deadline": 1}
    store = as_store(url, storage_options={**options, **endpoint})
    shown = repr(store) + str(store) + repr(store.identity) + repr(store.__dict__)
    for call in (
        lambda: store.get("k"),
        lambda: store.set("k", b""),
        lambda: store.set_if_absent("k", b""),
        lambda: list(store.list()),
        lambda: store.move_prefix("a/", "b/"),
    ):
        shown += _everything_shown(call)
    pickled = pickle.dumps(store)
    again = pickle.loads(pickled)
    assert again == store
    shown += repr(again)
    assert SECRET not in shown
    assert SECRET.encode() not in pickled
    assert len(repr(store)) < 300


def test_wrong_options_are_named_without_their_values(server: Callable[[str], Any]) -> None:
    shown = _everything_shown(lambda: as_store("s3://b", storage_options={"secret_sauce": SECRET}))
    assert "secret_sauce" in shown and "access_key_id" in shown and SECRET not in shown
    for url in (f"s3://bucket/x?token={SECRET}", f"gs://u:{SECRET}@bucket/x"):
        assert SECRET not in _everything_shown(lambda url=url: as_store(url))


def test_wrong_credentials_are_told(server: Callable[[str], Any]) -> None:
    azure = server("azurite")
    options = {**azure.options, "account_key": "bm90IHRoZSBrZXkgb2YgdGhpcyBhY2NvdW50"}
    store = as_store(azure.url("x"), storage_options=options)
    for call in (lambda: store.get("k"), lambda: store.set("k", b""), lambda: list(store.list())):
        with pytest.raises(StoreAccessError, match="credentials"):
            call()


# -- forks ----------------------------------------------------------------------------------------
FORKS = """
import os, sys, pickle
store = pickle.load(sys.stdin.buffer)
store.set("k", b"root")
def child(depth):
    pid = os.fork()
    if pid == 0:
        code = 1
        try:
            assert bytes(store.get("k")) == b"root"
            store.set(f"deep/{depth}", b"x" * depth)
            assert store.get("missing") is None
            assert not store.set_if_absent("k", b"no")
            code = child(depth + 1) if depth < 3 else 0
        finally:
            os._exit(code)
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
code = child(1)
assert list(store.list_prefix("deep/")) == ["deep/1", "deep/2", "deep/3"], list(store.list())
sys.exit(code)
"""


@pytest.mark.skipif(not hasattr(os, "memfd_create"), reason="needs Linux")
def test_children_of_children(server: Callable[[str], Any]) -> None:
    s3 = server("s3")
    store = as_store(s3.url(f"forks/{next(_numbers)}"), storage_options=s3.options)
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(p for p in sys.path if p)}
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", FORKS],
        input=pickle.dumps(store),
        capture_output=True,
        env=environment,
        timeout=60,
    )
    assert (done.returncode, done.stderr) == (0, b"")


LEAVES = """
import asyncio.selector_events, pickle, sys, time
store = pickle.load(sys.stdin.buffer)
loop = asyncio.selector_events.BaseSelectorEventLoop
wake = loop._write_to_self
def slowly(self):
    wake(self)
    for _ in range(500):
        time.sleep(0.001)
loop._write_to_self = slowly
list(store.list())
"""


def test_python_may_end_right_after_a_listing(server: Callable[[str], Any]) -> None:
    s3 = server("s3")
    store = as_store(s3.url(f"leaves/{next(_numbers)}"), storage_options=s3.options)
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(p for p in sys.path if p)}
    done = subprocess.run(
        [sys.executable, "-c", LEAVES],
        input=pickle.dumps(store),
        capture_output=True,
        env=environment,
        timeout=60,
    )
    assert (done.returncode, done.stderr) == (0, b"")


def test_statuses_are_told() -> None:
    from omnizarr.stores.cloud.failures import classify, error_of

    text = "Generic S3 error: Error performing GET http://h/b?X=1 in 2ms - Server returned non-2xx"
    failure = classify(OSError(f"{text} status code: 429 Too Many: <Code>SlowDown</Code>"))
    error = error_of(failure, "read", 60)
    assert isinstance(error, HTTPStatusError) and error.status == 429
    assert "SlowDown" in str(error) and "X=1" not in str(error)
