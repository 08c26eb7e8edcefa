"""`ObjectStore` and what people get wrong, and how long it waits for one slow answer."""

from __future__ import annotations

import asyncio
import subprocess
import sys
import threading
import time
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib import import_module
from typing import Any

import pytest

from omnizarr.errors import StoreError, StoreTimeoutError
from omnizarr.model.store import ByteRange
from omnizarr.runtime import parallel
from omnizarr.stores import ObjectStore, as_store
from omnizarr.stores.cloud import listing

pytestmark = pytest.mark.slow

obstore = import_module("obstore")
SECRET = "c2VjcmV0LXNlY3JldA!"


# -- what cannot be opened ----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("url", "options", "error", "told"),
    [
        ("s3://b/x", {"endpoint": "127.0.0.1:9000"}, StoreError, "http://host:port"),
        ("s3://b/x", {"endpoint_url": "localhost"}, StoreError, "http://host:port"),
        ("s3://b/x", {"endpoint": "http://"}, StoreError, "http://host:port"),
        ("s3://b/x", {"endpoint": "http://a b"}, StoreError, "http://host:port"),
        ("s3://b/x", {"endpoint": "http://h:99999"}, StoreError, "http://host:port"),
        ("gs://b/x", {"endpoint": "h:1"}, StoreError, "http://host:port"),
        ("az://c/x", {"account_name": "a", "endpoint": "h:1"}, StoreError, "http://host:port"),
        ("abfss://c@127.0.0.1:1.x/f", {}, StoreError, "not a host of Azure"),
        ("abfss://c@acc.evilcore.windows.net/f", {}, StoreError, "not a host of Azure"),
        ("az://c/x", {}, StoreError, "account_name"),
        ("az://c/x", {"account_name": "a", "account_key": SECRET}, StoreError, "base64"),
        ("gs://b/x", {"service_account": "/nowhere.json"}, StoreError, "service_account"),
        ("gs://b/x", {"service_account_key": SECRET}, StoreError, "JSON"),
        ("s3://b/x", {"secret_access_key": SECRET}, StoreError, "access_key_id"),
        ("s3://b/x", {"access_key_id": SECRET}, StoreError, "secret_access_key"),
        ("s3://b/x", {"client_options": {"timeot": "5s"}}, TypeError, "client_options"),
        ("s3://b/x", {"retry_config": {"max_retries": "x"}}, TypeError, "retry_config"),
        ("s3://b/x", {"retry_config": {"max_retrys": 1}}, TypeError, "'max_retrys'; known are"),
        ("s3://b/x", {"retry_config": {"backoff": {"init": 1}}}, TypeError, "'init'; known are"),
        ("s3://b/x", {"retry_config": {"backoff": 1}}, TypeError, "must be a mapping"),
        ("s3://b/x", {"deadline": "soon"}, TypeError, "number of seconds"),
        ("s3://b/x", {"deadline": True}, TypeError, "number of seconds"),
        ("s3://b/x", {"deadline": float("nan")}, ValueError, "number of seconds"),
        (f"s3://AKIA:{SECRET}/more@b/x", {}, StoreError, "%2F"),
        (f"gs://{SECRET}@b/x", {}, StoreError, "user name"),
    ],
)
def test_a_mistake_is_told_in_one_line(
    url: str,
    options: dict[str, Any],
    error: type[Exception],
    told: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AZURE_STORAGE_ACCOUNT_NAME"):
        monkeypatch.delenv(name, raising=False)
    with pytest.raises(error) as caught:
        as_store(url, storage_options=options).get("a")
    text = str(caught.value)
    assert told in text
    assert "\n" not in text and "Debug source" not in text
    assert SECRET not in "".join(traceback.format_exception(caught.value))


def test_no_panic_of_rust_reaches_the_caller() -> None:
    """Neither as an exception nor on the standard error."""
    code = (
        "from omnizarr.stores import as_store\n"
        "try:\n"
        "    as_store('s3://b/x', storage_options={'access_key_id': 'a', 'region': 'x',"
        " 'secret_access_key': 'b'}).get('a')\n"
        "except OSError as error:\n"
        "    print(error)\n"
    )
    found = subprocess.run(
        [sys.executable, "-c", code],
        env={"AWS_ENDPOINT_URL": "127.0.0.1:9000", "PYTHONPATH": ":".join(sys.path)},
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert (found.returncode, found.stderr) == (0, "")
    assert "http://host:port" in found.stdout


class PanicException(BaseException):
    """As obstore's is called, which is no `Exception` either."""


class Panicking:
    def __init__(self, error: BaseException) -> None:
        self._error = error

    def get(self, path: str, *, options: Any = None) -> Any:
        raise self._error

    head = list = list_with_delimiter = put = get


def test_a_panic_is_an_error_of_the_store_and_an_interruption_is_not() -> None:
    with pytest.raises(StoreError, match="called `Option::unwrap"):
        ObjectStore(Panicking(PanicException("called `Option::unwrap()` on None"))).get("a")
    for leaving in (KeyboardInterrupt, SystemExit, parallel.Abandoned):
        with pytest.raises(leaving):
            ObjectStore(Panicking(leaving())).get("a")


def test_accounts_are_told_apart_and_keys_are_not_shown() -> None:
    key = "c2VjcmV0"
    shown = [
        repr(as_store("az://c/x", storage_options={"account_name": name, "account_key": key}))
        for name in ("one", "two")
    ]
    assert "'one'" in shown[0] and "'two'" in shown[1]
    assert key not in "".join(shown)
    assert "'three'" in repr(as_store("abfss://c@three.dfs.core.windows.net/x"))


# -- how long a slow answer is waited for --------------------------------------------------------


@contextmanager
def slow_server(seconds: Callable[[int], float], status: Callable[[int], int]) -> Iterator[Any]:
    """Answers every request after a while, with a value of five bytes."""
    asked: list[str] = []

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def _answer(self) -> None:
            number = len(asked)
            asked.append(self.command)
            body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
            assert body is not None
            time.sleep(seconds(number))
            code = status(number)
            data = b"01234" if self.command == "GET" and code == 200 else b""
            try:
                self.send_response(206 if data else code)
                self.send_header("ETag", '"a"')
                if data:
                    self.send_header("Content-Range", "bytes 0-4/5")
                    self.send_header("Last-Modified", "Mon, 01 Jan 2024 00:00:00 GMT")
                self.send_header("Content-Length", str(len(data)))
                self.end_headers()
                self.wfile.write(data)
            except OSError:
                pass  # the client has gone

        do_GET = do_PUT = _answer

        def log_message(self, *arguments: Any) -> None:
            return

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    options = {
        "endpoint": f"http://127.0.0.1:{server.server_address[1]}",
        "access_key_id": "someone",
        "secret_access_key": "secret",
        "region": "us-east-1",
        "deadline": 3,
    }
    try:
        with as_store("s3://bucket/x", storage_options=options) as store:
            yield store, asked
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


@pytest.mark.parametrize("share", [0.3, 0.8])
def test_a_slow_answer_is_taken(share: float) -> None:
    with slow_server(lambda number: 3 * share, lambda number: 200) as (store, asked):
        assert bytes(store.get("a", ByteRange(0, 5))) == b"01234"
        store.set("a", b"1")
    assert asked == ["GET", "PUT"]


def test_a_call_ends_before_its_deadline() -> None:
    with slow_server(lambda number: 4, lambda number: 200) as (store, _):
        for call in (
            lambda: store.get("a"),
            lambda: store.set("a", b"1"),
            lambda: store.set_if_absent("a", b"1"),
        ):
            begun = time.monotonic()
            with pytest.raises(StoreTimeoutError, match="deadline of 3 s"):
                call()
            assert 2 < time.monotonic() - begun < 3.4


def test_what_fails_at_once_is_repeated_and_then_waited_for() -> None:
    with slow_server(
        lambda number: 0 if number < 3 else 1.2, lambda number: 503 if number < 3 else 200
    ) as (store, asked):
        begun = time.monotonic()
        assert bytes(store.get("a")) == b"01234"
        assert time.monotonic() - begun < 3
    assert len(asked) == 4


def test_lasting_failures_are_told_long_before_the_deadline() -> None:
    with slow_server(lambda number: 0, lambda number: 503) as (store, asked):
        begun = time.monotonic()
        with pytest.raises(StoreError, match="503"):
            store.get("a")
        assert time.monotonic() - begun < 2
    assert len(asked) > 3


@pytest.mark.parametrize("left", [1.0, 0.9, 0.67, 0.5, 0.37, 0.2])
def test_the_shares_of_a_deadline(left: float) -> None:
    from omnizarr.stores.cloud.clients import LEAST, SHARES, share_of

    assert LEAST <= share_of(left).worst <= left + 0.01
    assert [share.worst for share in SHARES] == sorted({share.worst for share in SHARES})[::-1]
    assert SHARES[0].attempt >= 0.9 and SHARES[0].worst < 1


# -- listings that never end ----------------------------------------------------------------------
@contextmanager
def endless_server(names: int) -> Iterator[Any]:
    """A service whose listing has always another page, with so many names on each."""
    asked: list[int] = []

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            asked.append(number := len(asked))
            contents = "".join(
                f"<Contents><Key>x/{number:06d}-{name}</Key><Size>1</Size><ETag>&quot;1&quot;</ETag>"
                "<LastModified>2020-01-01T00:00:00.000Z</LastModified></Contents>"
                for name in range(names)
            )
            body = (
                "<?xml version='1.0'?><ListBucketResult><Name>b</Name><IsTruncated>true"
                f"</IsTruncated><NextContinuationToken>t{number}</NextContinuationToken>{contents}"
                "</ListBucketResult>"
            ).encode()
            try:
                self.send_response(200)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)
            except OSError:
                pass  # the client has gone

        def log_message(self, *arguments: Any) -> None:
            return

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    options = {"endpoint": f"http://127.0.0.1:{server.server_port}", "anon": True, "deadline": 1}
    try:
        with as_store("s3://b/x", storage_options=options) as store:
            yield store, asked
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


@pytest.mark.parametrize("names", [0, 50])
def test_a_listing_without_end_is_left_at_the_deadline(names: int) -> None:
    with endless_server(names) as (store, asked):
        calls = [lambda: store.list_dir("")] + [lambda: store.list_prefix("")] * (names == 0)
        for call in calls:
            begun = time.monotonic()
            with pytest.raises(StoreTimeoutError, match="deadline of 1 s"):
                call()
            assert time.monotonic() - begun < 2
        time.sleep(0.2)
        before = len(asked)
        time.sleep(0.5)
        assert len(asked) == before, "no further request is sent"


def test_a_listing_without_end_has_too_many_names(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(listing, "MOST_NAMES", 5000)
    with endless_server(500) as (store, _), pytest.raises(StoreError, match="it has no end"):
        store.list_prefix("")


def test_listing_where_a_loop_is_running() -> None:
    async def main() -> None:
        with endless_server(0) as (store, _), pytest.raises(StoreTimeoutError):
            store.list_dir("")

    asyncio.run(main())


# -- what not every service has -----------------------------------------------------------------


@contextmanager
def poor_server(status: int) -> Iterator[Any]:
    """A server that lists three objects, deletes one at a time, and answers all writes and the
    deletion of many with `status`."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def _answer(self, status: int, body: bytes = b"") -> None:
            self.rfile.read(int(self.headers.get("Content-Length") or 0))
            server.seen.append(self.command)
            self.send_response(status)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def do_GET(self) -> None:
            names = "".join(
                f"<Contents><Key>x/{name}</Key><Size>1</Size><ETag>e</ETag>"
                "<LastModified>2024-01-01T00:00:00.000Z</LastModified></Contents>"
                for name in ("a", "b", "c")
            )
            more = "<IsTruncated>false</IsTruncated>"
            self._answer(200, f"<ListBucketResult>{more}{names}</ListBucketResult>".encode())

        def do_DELETE(self) -> None:
            self._answer(204)

        def do_POST(self) -> None:
            self._answer(status)

        do_PUT = do_POST

        def log_message(self, *arguments: Any) -> None:
            pass

    server: Any = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    server.seen = []
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        options = {"endpoint": f"http://127.0.0.1:{server.server_port}", "anon": True}
        yield as_store("s3://bucket/x", storage_options=options), server.seen
    finally:
        server.shutdown()
        server.server_close()


def test_a_service_that_cannot_delete_many_is_asked_to_once() -> None:
    with poor_server(501) as (store, seen):
        begun = time.monotonic()
        store.delete_prefix("")
        assert time.monotonic() - begun < 4
        assert 1 <= seen.count("POST") <= 3 and seen.count("DELETE") == 3
        seen.clear()
        store.delete_prefix("")
        assert seen.count("POST") == 0 and seen.count("DELETE") == 3


def test_a_fault_does_not_mean_that_many_cannot_be_deleted() -> None:
    with poor_server(403) as (store, seen):
        for count in (1, 2):
            store.delete_prefix("")
            assert seen.count("POST") == count and seen.count("DELETE") == 3 * count


@pytest.mark.parametrize("status", [400, 501])
def test_a_service_without_conditional_writes(status: int) -> None:
    with poor_server(status) as (store, seen):
        for call in (
            lambda: store.set_if_absent("k", b"1"),
            lambda: store.set_if_version("k", b"1", '"e"'),
        ):
            with pytest.raises(StoreError, match=r"\{'conditional': False\}") as caught:
                call()
            assert (getattr(caught.value, "status", None) == 400) == (status == 400)
        assert seen == ["PUT"] * 2
