"""`HTTPStore` against a server that says what each test tells it to say, byte for byte."""

from __future__ import annotations

import logging
import socket
import threading
import time
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from omnizarr.errors import (
    HTTPStatusError,
    NotListableError,
    StoreAccessError,
    StoreError,
    StoreTimeoutError,
    ValueChangedError,
)
from omnizarr.model.store import ByteRange
from omnizarr.stores import HTTPStore, as_store
from omnizarr.testing.store_cases import some

pytestmark = pytest.mark.slow

VALUE = bytes(range(256)) * 1024  # 256 KiB


class Request:
    def __init__(self, head: bytes) -> None:
        lines = head.decode("latin-1").split("\r\n")
        self.method, self.target, _ = lines[0].split(" ")
        self.headers = {
            name.lower(): value for name, _, value in (line.partition(": ") for line in lines[1:])
        }

    @property
    def range(self) -> str | None:
        return self.headers.get("range")


def answer(status: str, body: bytes = b"", *lines: str, length: int | None = -1) -> bytes:
    head = [f"HTTP/1.1 {status}", *lines]
    if length is not None:
        head.append(f"Content-Length: {len(body) if length < 0 else length}")
    return "\r\n".join([*head, "", ""]).encode() + body


Script = Callable[[Request], bytes | Iterator[bytes]]


class Scripted:
    """Answers every request with what `script` gives, and remembers what was asked."""

    def __init__(self) -> None:
        self.script: Script = lambda request: answer("404 Not Found")
        self.asked: list[Request] = []
        self.sent = 0
        self.connections = 0
        self._socket = socket.create_server(("127.0.0.1", 0), backlog=64)
        self.origin = f"http://127.0.0.1:{self._socket.getsockname()[1]}"
        self._over = False
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self) -> None:
        while True:
            try:
                connection, _ = self._socket.accept()
            except OSError:
                return
            self.connections += 1
            threading.Thread(target=self._serve, args=(connection,), daemon=True).start()

    def _serve(self, connection: socket.socket) -> None:
        with connection, connection.makefile("rb") as file:
            connection.settimeout(20)
            try:
                while True:
                    head = b""
                    while not head.endswith(b"\r\n\r\n"):
                        line = file.readline()
                        if not line:
                            return
                        head += line
                    request = Request(head[:-4])
                    self.asked.append(request)
                    found = self.script(request)
                    if isinstance(found, bytes):
                        if request.method == "HEAD":
                            found = found.partition(b"\r\n\r\n")[0] + b"\r\n\r\n"
                        connection.sendall(found)
                        continue
                    for piece in found:
                        if self._over:
                            return
                        connection.sendall(piece)
                        self.sent += len(piece)
                    return
            except OSError:
                return

    def close(self) -> None:
        if self._over:
            return
        self._over = True
        # Waking the thread that waits for a connection takes more than closing.
        self._socket.shutdown(socket.SHUT_RDWR)
        self._socket.close()


@pytest.fixture
def scripted() -> Iterator[Scripted]:
    server = Scripted()
    yield server
    server.close()


@pytest.fixture
def other() -> Iterator[Scripted]:
    server = Scripted()
    yield server
    server.close()


@contextmanager
def asking(server: Scripted, script: Script, **options: Any) -> Iterator[HTTPStore]:
    server.script = script
    path = options.pop("path", "/data")
    with HTTPStore(server.origin + path, **{"deadline": 10.0, "retries": 2, **options}) as store:
        yield store


def well(request: Request, value: bytes = VALUE, *lines: str) -> bytes:
    """What a good server says."""
    wanted = request.range
    if wanted is None:
        return answer("200 OK", value, *lines)
    first, _, last = wanted.removeprefix("bytes=").partition("-")
    start = int(first) if first else max(0, len(value) - int(last))
    stop = min(int(last) + 1, len(value)) if first and last else len(value)
    if start >= stop:
        return answer("416 Range Not Satisfiable", b"", f"Content-Range: bytes */{len(value)}")
    said = f"Content-Range: bytes {start}-{stop - 1}/{len(value)}"
    return answer("206 Partial Content", value[start:stop], said, *lines)


# -- ranges -----------------------------------------------------------------------------------


def test_a_suffix_that_is_ignored(scripted: Scripted) -> None:
    def script(request: Request) -> bytes:
        suffix = (request.range or "").startswith("bytes=-")
        return answer("200 OK", VALUE) if suffix else well(request)

    with asking(scripted, script) as store:
        assert some(store.get("k", ByteRange(-16))) == VALUE[-16:]
        first = len(scripted.asked)
        assert some(store.get("k", ByteRange(-16))) == VALUE[-16:]
        ranges = [request.range for request in scripted.asked[first:]]
        assert ranges == [None, f"bytes={len(VALUE) - 16}-{len(VALUE) - 1}"]
        assert [request.method for request in scripted.asked[first:]] == ["HEAD", "GET"]


@pytest.mark.parametrize("status", ["400 Bad Request", "416 No", "501 Not Implemented"])
@pytest.mark.parametrize("head", [True, False])
def test_a_suffix_that_is_refused(scripted: Scripted, status: str, head: bool) -> None:
    def script(request: Request) -> bytes:
        if request.method == "HEAD" and not head:
            return answer("405 Method Not Allowed")
        return answer(status) if (request.range or "").startswith("bytes=-") else well(request)

    with asking(scripted, script) as store:
        for _ in range(2):
            assert some(store.get("k", ByteRange(-16))) == VALUE[-16:]
            assert store.size("k") == len(VALUE)
        suffixes = [r for r in scripted.asked if (r.range or "").startswith("bytes=-")]
        assert len(suffixes) == 1  # remembered


def test_a_suffix_that_is_taken_for_something_else(scripted: Scripted) -> None:
    def script(request: Request) -> bytes:
        if (request.range or "").startswith("bytes=-"):
            said = f"Content-Range: bytes 0-16/{len(VALUE)}"
            return answer("206 Partial Content", VALUE[:17], said)
        return well(request)

    with asking(scripted, script) as store:
        assert some(store.get("k", ByteRange(-16))) == VALUE[-16:]


def test_an_empty_value(scripted: Scripted) -> None:
    def silent(request: Request) -> bytes:
        if request.range is not None:
            return answer("416 Range Not Satisfiable")
        return answer("200 OK", b"")

    for script in (lambda request: well(request, b""), silent):
        with asking(scripted, script) as store:
            for part in (None, ByteRange(0, 10), ByteRange(-4), ByteRange(5), ByteRange(3, 3)):
                assert some(store.get("k", part)) == b""
            assert store.size("k") == 0


def test_a_range_that_is_refused_though_it_exists(scripted: Scripted) -> None:
    def script(request: Request) -> bytes:
        if request.range is not None:
            return answer("416 No", b"", f"Content-Range: bytes */{len(VALUE)}")
        return answer("200 OK", VALUE)

    with asking(scripted, script) as store, pytest.raises(HTTPStatusError) as caught:
        store.get("k", ByteRange(5, 10))
    assert caught.value.status == 416


@pytest.mark.parametrize(
    "said",
    [
        "bytes 1-10/1000",  # shifted
        "bytes 0-8/1000",  # too short, and not the end
        "bytes 0-10/1000",  # too long
        "bytes 0-9/5",  # beyond its own end
        "bytes 9-0/1000",
        "bytes */1000",
        "bytes 0-8/*",
        "items 0-9/1000",
        "",
    ],
)
def test_wrong_ranges(scripted: Scripted, said: str) -> None:
    def script(request: Request) -> bytes:
        return answer("206 Partial Content", VALUE[:10], f"Content-Range: {said}")

    with asking(scripted, script) as store:
        with pytest.raises(StoreError):
            store.get("k", ByteRange(0, 10))
        with pytest.raises(StoreError):
            store.get("k", ByteRange(-10))


def test_a_part_of_a_huge_value(scripted: Scripted) -> None:
    """Without ranges, as much is read as is needed, and no more."""

    def script(request: Request) -> Iterator[bytes]:
        yield answer("200 OK", b"", length=10 << 30)
        while True:
            yield VALUE

    with asking(scripted, script) as store:
        assert some(store.get("k", ByteRange(0, 100))) == VALUE[:100]
        assert some(store.get("k", ByteRange(256, 300))) == VALUE[:44]
        with pytest.raises(StoreError, match="ignores ranges"):
            store.get("k", ByteRange(5 << 30, (5 << 30) + 10))
        with pytest.raises(StoreError, match="ignores ranges"):
            store.get("k", ByteRange(-100))
    assert scripted.sent < 64 << 20


def test_bodies_in_chunks(scripted: Scripted) -> None:
    def chunked(*pieces: bytes) -> bytes:
        head = answer("200 OK", b"", "Transfer-Encoding: chunked", length=None)
        return head + b"".join(b"%x\r\n%s\r\n" % (len(piece), piece) for piece in pieces)

    end = b"0\r\n\r\n"
    with asking(scripted, lambda request: chunked(b"abc", b"defgh") + end) as store:
        assert some(store.get("k")) == b"abcdefgh"
        assert some(store.get("k", ByteRange(2, 5))) == b"cde"
        assert some(store.get("k", ByteRange(6, 100))) == b"gh"
        assert some(store.get("k", ByteRange(50, 100))) == b""
        assert len(scripted.asked) == 4

    def broken(request: Request) -> Iterator[bytes]:
        yield chunked(b"abc", b"defgh")

    with asking(scripted, broken, retries=0) as store:
        with pytest.raises(StoreError, match="broke off"):
            store.get("k")
        with pytest.raises(StoreError, match="broke off"):
            store.get("k", ByteRange(0, 100))


def test_a_length_that_is_not_said(scripted: Scripted) -> None:
    def script(request: Request) -> Iterator[bytes]:
        yield answer("200 OK", b"abc", "Connection: close", length=None)

    with asking(scripted, script) as store:
        for part in (None, ByteRange(0, 2), ByteRange(0, 100)):
            with pytest.raises(StoreError, match="how long"):
                store.get("k", part)


def test_an_encoding_that_was_not_requested(scripted: Scripted) -> None:
    def script(request: Request) -> bytes:
        assert request.headers["accept-encoding"] == "identity"
        return well(request, VALUE, "Content-Encoding: gzip")

    with asking(scripted, script) as store:
        for part in (None, ByteRange(0, 5), ByteRange(-5)):
            with pytest.raises(StoreError, match="encoded"):
                store.get("k", part)


def test_a_value_that_changes_between_size_and_range(scripted: Scripted) -> None:
    values = iter([b"a" * 10, b"b" * 20, b"b" * 20, b"b" * 20])

    def script(request: Request) -> bytes:
        if (request.range or "").startswith("bytes=-"):
            return answer("400 Bad Request")
        return well(request, next(values))

    with asking(scripted, script) as store:
        assert some(store.get("k", ByteRange(-5))) == b"b" * 5


def test_a_snapshot_sends_the_etag(scripted: Scripted) -> None:
    etag = '"one"'

    def script(request: Request) -> bytes:
        if request.headers.get("if-match") not in (None, etag):
            return answer("412 Precondition Failed")
        return well(request, VALUE, f"ETag: {etag}")

    with asking(scripted, script) as store, store.snapshot("k") as read:
        assert some(read(ByteRange(-4))) == VALUE[-4:]
        assert some(read(ByteRange(4, 8))) == VALUE[4:8]
        assert scripted.asked[-1].headers["if-match"] == etag
        etag = '"two"'
        with pytest.raises(ValueChangedError):
            read(ByteRange(4, 8))


# -- statuses ---------------------------------------------------------------------------------


@pytest.mark.parametrize("status", [204, 300, 304, 400, 402, 405, 409, 410, 418, 451, 501, 505])
def test_statuses_that_say_no(scripted: Scripted, status: int) -> None:
    with asking(scripted, lambda request: answer(f"{status} No")) as store:
        for part in (None, ByteRange(0, 5)):
            with pytest.raises(HTTPStatusError) as caught:
                store.get("k", part)
            assert caught.value.status == status
        assert len(scripted.asked) == 2  # not repeated


@pytest.mark.parametrize("status", [401, 403, 407])
def test_statuses_that_say_who_are_you(scripted: Scripted, status: int) -> None:
    with asking(scripted, lambda request: answer(f"{status} No")) as store:
        for call in (lambda: store.get("k"), lambda: store.size("k"), lambda: store.exists("k")):
            with pytest.raises(StoreAccessError):
                call()
    with asking(
        scripted, lambda request: answer(f"{status} No"), missing_statuses=(status, 404)
    ) as store:
        assert store.get("k") is None and not store.exists("k")


@pytest.mark.parametrize("status", [408, 425, 429, 500, 502, 503, 504, 599])
def test_statuses_that_say_later(scripted: Scripted, status: int) -> None:
    times = 2

    def script(request: Request) -> bytes:
        if len(scripted.asked) <= times:
            return answer(f"{status} Later", b"", "Retry-After: 0")
        return well(request)

    with asking(scripted, script) as store:
        assert some(store.get("k", ByteRange(0, 5))) == VALUE[:5]
        assert len(scripted.asked) == 3
    times = 100
    with asking(scripted, script) as store:
        with pytest.raises(HTTPStatusError, match="attempt 3") as caught:
            store.get("k")
        assert caught.value.status == status


def test_a_pause_that_is_asked_for(scripted: Scripted) -> None:
    waits = ["1"]

    def script(request: Request) -> bytes:
        if len(scripted.asked) % 2 == 1:
            return answer("503 Busy", b"", f"Retry-After: {waits[-1]}")
        return well(request)

    with asking(scripted, script, deadline=20) as store:
        begun = time.monotonic()
        assert some(store.get("k")) == VALUE
        assert 1 <= time.monotonic() - begun < 10
        for wait in ("1000", "Fri, 31 Dec 9999 23:59:59 GMT"):
            waits.append(wait)
            begun = time.monotonic()
            with pytest.raises(HTTPStatusError):  # beyond the deadline: there is no use in waiting
                store.get("k")
            assert time.monotonic() - begun < 10
            scripted.asked.clear()


# -- time -------------------------------------------------------------------------------------


def dripping(begin: bytes, piece: bytes) -> Iterator[bytes]:
    yield begin
    while True:
        time.sleep(0.05)
        yield piece


@pytest.mark.parametrize(
    ("begin", "piece"),
    [
        (b"HTTP/1.1 200 OK\r\nX-Long: ", b"x"),
        (b"HTTP/1.1 200 OK\r\n", b"X: y\r\n"),
        (b"HTTP/1.1 100 Continue\r\n\r\n", b"HTTP/1.1 100 Continue\r\n\r\n"),
        (answer("200 OK", length=1 << 20), b"x"),
        (answer("200 OK", b"", "Transfer-Encoding: chunked", length=None), b"1\r\nx\r\n"),
        (b"", b""),
    ],
    ids=["a header", "headers", "continue", "a body", "chunks", "silence"],
)
def test_slow_servers_and_the_deadline(scripted: Scripted, begin: bytes, piece: bytes) -> None:
    with asking(scripted, lambda request: dripping(begin, piece), deadline=0.7) as store:
        for call in (lambda: store.get("k"), lambda: store.get("k", ByteRange(-5))):
            begun = time.monotonic()
            with pytest.raises(StoreError) as caught:
                call()
            assert time.monotonic() - begun < 5
            assert isinstance(caught.value, StoreTimeoutError) or begin.endswith(b"\n")


def test_a_stalled_attempt_is_repeated(scripted: Scripted) -> None:
    def script(request: Request) -> bytes | Iterator[bytes]:
        return dripping(b"", b"") if len(scripted.asked) == 1 else well(request)

    with asking(scripted, script, timeout=0.3) as store:
        assert some(store.get("k")) == VALUE


def test_no_server_answers() -> None:
    with socket.create_server(("127.0.0.1", 0)) as probe:
        port = probe.getsockname()[1]
    store = HTTPStore(f"http://127.0.0.1:{port}/", deadline=1, retries=1)
    with store, pytest.raises(StoreError, match="Connection refused"):
        store.get("k")
    store = HTTPStore("http://no-such-host.invalid/", deadline=2)
    with store, pytest.raises(StoreError, match=r"no address|not resolved"):
        store.get("k")


# -- redirects --------------------------------------------------------------------------------


def test_redirects_within_the_origin(scripted: Scripted) -> None:
    def script(request: Request) -> bytes:
        if request.target.startswith("/data/"):
            return answer("302 Found", b"", f"Location: /moved{request.target}")
        return answer("404 No") if request.target.endswith("missing") else well(request)

    with asking(scripted, script, headers={"X-Token": "t"}) as store:
        assert some(store.get("k", ByteRange(1, 4))) == VALUE[1:4]
        assert [r.headers["x-token"] for r in scripted.asked] == ["t", "t"]
        assert store.get("missing") is None
        assert store.size("k") == len(VALUE)
    never = asking(scripted, script, allow_redirects=False)
    with never as store, pytest.raises(HTTPStatusError, match="not followed"):
        store.get("k")


def test_redirects_to_another_origin(scripted: Scripted, other: Scripted) -> None:
    def script(request: Request) -> bytes:
        return answer("307 Temporary", b"", f"Location: {other.origin}/there?signature=abcdef")

    other.script = well
    secrets = {"headers": {"X-Token": "t"}, "auth": ("me", "hidden")}
    with asking(scripted, script, **secrets) as store:
        with pytest.raises(HTTPStatusError, match="another origin") as caught:
            store.get("k")
        assert other.asked == [] and "abcdef" not in str(caught.value)
    with asking(scripted, script, allow_redirects=True, **secrets) as store:
        assert some(store.get("k", ByteRange(1, 4))) == VALUE[1:4]
        assert {"x-token", "authorization"} & other.asked[-1].headers.keys() == set()
        assert other.asked[-1].target == "/there?signature=abcdef"
        assert {"x-token", "authorization"} <= scripted.asked[-1].headers.keys()


def test_redirects_that_lead_nowhere(scripted: Scripted) -> None:
    def turning(request: Request) -> bytes:
        return answer("301 Moved", b"", f"Location: /data/{len(scripted.asked)}")

    with asking(scripted, turning) as store, pytest.raises(StoreError, match="more than 5"):
        store.get("k")
    for location in ("", "/data/k", "ftp://host/x", "http://[broken", "javascript:1", "//"):
        with (
            asking(
                scripted, lambda request, to=location: answer("302 Found", b"", f"Location: {to}")
            ) as store,
            pytest.raises(StoreError),
        ):
            store.get("k")


def test_a_folder_is_no_value(scripted: Scripted) -> None:
    def script(request: Request) -> bytes:
        return answer("301 Moved", b"", f"Location: {request.target}/")

    with asking(scripted, script) as store:
        assert store.get("k") is None and store.get("k", ByteRange(-1)) is None
        assert not store.exists("k")


# -- secrets and addresses --------------------------------------------------------------------


def test_secrets_stay_secret(scripted: Scripted, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    scripts: list[Script] = [
        lambda request: answer("403 No"),
        lambda request: answer("500 No"),
        lambda request: b"nonsense\r\n\r\n",
        lambda request: answer("302 Found", b"", f"Location: http://127.0.0.1:1{request.target}"),
        lambda request: iter([answer("200 OK", b"ab", length=10)]),
        lambda request: answer("206 Partial", b"abc", "Content-Range: bytes 5-7/10"),
    ]
    for script in scripts:
        scripted.script = script
        url = scripted.origin.replace("://", "://me:pass-word@") + "/d?sig=sig-nature&token-only"
        with HTTPStore(
            url, headers={"X-Key": "head-secret"}, retries=1, deadline=2
        ) as store, pytest.raises(StoreError) as caught:  # fmt: skip
            store.get("k", ByteRange(0, 3))
        whole = "".join(traceback.format_exception(caught.value)) + repr(store) + caplog.text
        for secret in ("pass-word", "sig-nature", "token-only", "head-secret", "bWU6cGFzcy13b3Jk"):
            assert secret not in whole
        assert "me:***@" in repr(store) and "sig=***" in repr(store)
        assert "sig-nature" not in str(store.identity)
    asked = scripted.asked[-1]
    assert asked.target == "/d/k?sig=sig-nature&token-only"
    assert asked.headers["authorization"] == "Basic bWU6cGFzcy13b3Jk"


def test_keys_in_requests(scripted: Scripted) -> None:
    with asking(scripted, well, path="/a b/%20c/ü") as store:
        for key, target in {
            "x?y#z": "x%3Fy%23z",
            "50%": "50%25",
            "per%20cent": "per%2520cent",
            "a+b": "a%2Bb",
            "grüße/0.0": "gr%C3%BC%C3%9Fe/0.0",
            "c/0/1": "c/0/1",
        }.items():
            store.get(key)
            assert scripted.asked[-1].target == f"/a%20b/%20c/%C3%BC/{target}"


def test_options() -> None:
    store = as_store(
        "http://host/x",
        storage_options={
            "client_kwargs": {"headers": {"A": "1"}, "auth": ("u", "p")},
            "headers": {"B": "2"},
            "deadline": 5,
        },
    )
    assert isinstance(store, HTTPStore)
    assert {*store._options.policy.headers} == {"A", "B", "Authorization"}
    with pytest.raises(TypeError, match=r"dead_line.*known are headers") as caught:
        as_store("http://host/x", storage_options={"dead_line": "hidden"})
    assert "hidden" not in str(caught.value)
    with pytest.raises(TypeError, match="client_kwargs"):
        as_store("http://host/x", storage_options={"client_kwargs": {"proxy": "hidden"}})
    for wrong in (
        {"deadline": 0},
        {"retries": -1},
        {"timeout": 0.0},
        {"allow_redirects": "yes"},
        {"headers": {"A": "x\r\nB: y"}},
    ):
        with pytest.raises(ValueError):
            HTTPStore("http://host/", **wrong)
    for wrong in ({"auth": "u:p"}, {"headers": {"A": 1}}):
        with pytest.raises(TypeError):
            HTTPStore("http://host/", **wrong)
    for name, value, expected in (
        ("deadline", "abc", "deadline must be a number of seconds"),
        ("timeout", "abc", "timeout must be a number of seconds"),
        ("retries", "x", "retries must be an integer from 0 on; found str"),
        ("retries", 1.5, "retries must be an integer from 0 on; found float"),
        ("requests", "a", "requests must be an integer from 1 on; found str"),
        ("requests", 0, "requests must be an integer from 1 on; found 0"),
        ("requests", -1, "requests must be an integer from 1 on; found -1"),
        ("headers", "hidden", "headers must be a mapping, found str"),
        ("auth", 5, "auth must be a pair of user and password; found int"),
        ("missing_statuses", 403, r"missing_statuses must be statuses .* found int"),
        ("missing_statuses", "403", r"missing_statuses must be statuses .* found str"),
        ("missing_statuses", ["403"], r"missing_statuses must be statuses .* type str"),
        ("missing_statuses", [4], r"missing_statuses must be statuses .* found 4"),
        ("verify", 3, r"verify must be True, False or the path .* found int"),
        ("cert", 3, r"cert must be the path .* found int"),
        ("untrusted", "no", "untrusted must be True or False; found str"),
        ("allow_html", "no", "allow_html must be True or False; found str"),
    ):
        with pytest.raises((TypeError, ValueError), match=expected) as caught:
            as_store("http://host/", storage_options={name: value})
        assert "hidden" not in str(caught.value)
    with pytest.raises(TypeError, match="twice"):
        HTTPStore("http://u:p@host/", headers={"authorization": "x"})
    for url, expected in (
        ("http://", "no host"),
        ("http:///path", "no host"),
        ("http://host:x/", "its port must be a number from 0 to 65535"),
        ("http://127.0.0.1:99999/x", "its port must be a number from 0 to 65535"),
        ("http://u:hidden@host:-1/x", "its port must be a number from 0 to 65535"),
        ("http://[::1/", "its host is malformed"),
        ("ftp://host/", "the scheme 'ftp'"),
    ):
        with pytest.raises(StoreError, match=expected) as caught:
            HTTPStore(url)
        assert "hidden" not in str(caught.value)


# -- listing ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "script",
    [
        lambda request: answer("404 Not Found"),
        lambda request: answer("403 Forbidden"),
        lambda request: answer("405 Method Not Allowed"),
        lambda request: answer("200 OK", b"<title>Welcome</title>", "Content-Type: text/html"),
        lambda request: answer("200 OK", b"{}", "Content-Type: application/json"),
        lambda request: answer("200 OK", b"", "Content-Type: text/html"),
        lambda request: answer("200 OK", b"<ListBucketResult></ListBucketResult>"),
    ],
    ids=["404", "403", "405", "welcome", "an object", "nothing", "another bucket"],
)
def test_servers_that_list_nothing(scripted: Scripted, script: Script) -> None:
    with asking(scripted, script) as store:
        for prefix in ("", "a/", "a/b/"):
            with pytest.raises(NotListableError, match="offers no listing"):
                store.list_dir(prefix)
            with pytest.raises(NotListableError):
                list(store.list_prefix(prefix))


def test_faults_while_listing(scripted: Scripted) -> None:
    with asking(scripted, lambda request: answer("500 No")) as store:
        with pytest.raises(HTTPStatusError) as caught:
            store.list_dir("")
        assert caught.value.status == 500
    page = answer("200 OK", b"<title>Index of /</title>", "Content-Type: text/html", length=100)
    with asking(scripted, lambda request: iter([page])) as store, pytest.raises(StoreError):
        store.list_dir("")


def test_a_listing_without_an_end(scripted: Scripted) -> None:
    body = (
        b"<ListBucketResult><IsTruncated>true</IsTruncated><NextContinuationToken>t"
        b"</NextContinuationToken><Contents><Key>data/k</Key></Contents></ListBucketResult>"
    )
    with asking(scripted, lambda request: answer("200 OK", body)) as store:
        with pytest.raises(StoreError, match="no end"):
            store.list_dir("")
        with pytest.raises(StoreError, match="no end"):
            list(store.list())
