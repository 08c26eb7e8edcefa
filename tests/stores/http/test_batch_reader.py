"""Many small values over many connections in one thread, from servers that do as they like."""

from __future__ import annotations

import itertools
import multiprocessing
import os
import re
import socket
import ssl
import threading
import time
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import numpy as np
import pytest

import omnizarr
from omnizarr.errors import StoreError, StoreTimeoutError, ZarrError
from omnizarr.model.store import ByteRange
from omnizarr.runtime import parallel
from omnizarr.stores import HTTPStore, MemoryStore, ObjectStore, Store, as_store
from omnizarr.stores.http.batch import Unusual, Whole, head_of
from omnizarr.stores.http.batch_reader import Feeder
from tests.stores.http.test_answers import Request, Scripted, answer, other, scripted

pytestmark = pytest.mark.slow

__all__ = ["other", "scripted"]

COUNT = 120
EXPECTED = np.arange(COUNT * 50, dtype="i4").reshape(COUNT, 50)
EXPECTED[7] = -1  # not stored
FACTS = ('ETag: "x"', "Last-Modified: Sun, 01 Nov 2026 10:00:00 GMT")


@pytest.fixture(scope="module")
def values() -> dict[str, bytes]:
    store = MemoryStore()
    array = omnizarr.create_array(
        store, shape=EXPECTED.shape, dtype="i4", chunks=(1, 50), fill_value=-1
    )
    array[...] = EXPECTED
    found = {key: bytes(store[key]) for key in store.list()}
    assert len(found) == COUNT  # the metadata, and all chunks but one
    return found


Tamper = Callable[[str, bytes, Request], "bytes | Iterator[bytes]"]


def honest(key: str, value: bytes, request: Request) -> bytes:
    found = re.fullmatch(r"bytes=0-(\d+)", request.range or "")
    if found is None:
        return answer("200 OK", value, *FACTS)
    part = value[: int(found[1]) + 1]
    described = f"Content-Range: bytes 0-{len(part) - 1}/{len(value)}"
    return answer("206 Partial Content", part, described, *FACTS)


def missing() -> bytes:
    return answer("404 Not Found", b"<Error><Code>NoSuchKey</Code></Error>")


def serve(server: Scripted, values: dict[str, bytes], tamper: Tamper = honest) -> None:
    """The values, with every answer about a chunk as `tamper` has it."""

    def script(request: Request) -> bytes | Iterator[bytes]:
        key = unquote(request.target.partition("?")[0]).removeprefix("/bucket").removeprefix("/")
        if key not in values:
            return missing()
        if not key.startswith("c/"):
            return honest(key, values[key], request)
        return tamper(key, values[key], request)

    server.script = script


def http(server: Scripted, **options: Any) -> Store:
    return HTTPStore(server.origin + "/", **options)


def s3(server: Scripted, **options: Any) -> Store:
    signed = {"access_key_id": "someone", "secret_access_key": "hidden"}
    endpoint = {"endpoint": server.origin, "region": "us-east-1"}
    return as_store("s3://bucket", storage_options={**endpoint, **(options or signed)})


def public(server: Scripted) -> Store:
    return s3(server, skip_signature=True)


def google(server: Scripted) -> Store:
    options = {"base_url": server.origin, "skip_signature": True}
    return as_store("gs://bucket", storage_options=options)


WAYS = [http, s3, public, google]


def read(store: Store) -> Any:
    return omnizarr.open_array(store, mode="r")[...]


def counts(store: Store) -> tuple[int, int]:
    """How many answers were taken by the feeder, and how many left aside."""
    if isinstance(store, HTTPStore):
        feeder = store._feeder
    else:
        assert isinstance(store, ObjectStore)
        assert store._place is not None
        feeder = store._place.last
    assert feeder is not None
    return feeder._batch._usual, feeder._batch._unusual


@pytest.mark.parametrize("way", WAYS)
def test_all_by_one_thread(
    way: Callable[[Scripted], Store], scripted: Scripted, values: dict[str, bytes]
) -> None:
    serve(scripted, values)
    with way(scripted) as store:
        np.testing.assert_array_equal(read(store), EXPECTED)
        assert counts(store) == (COUNT, 0)
        asked = [request.target.partition("?")[0] for request in scripted.asked]
        assert len(asked) == len(set(asked)) == COUNT + 1
        np.testing.assert_array_equal(read(store), EXPECTED)  # over the same connections


def test_signed_and_not(scripted: Scripted, values: dict[str, bytes]) -> None:
    serve(scripted, values)
    for way, signed in ((s3, True), (public, False), (google, False)):
        scripted.asked.clear()
        with way(scripted) as store:
            read(store)
        targets = [request.target for request in scripted.asked if "/c/" in request.target]
        assert all(("X-Amz-Signature=" in target) == signed for target in targets)
        assert len(targets) == COUNT


def test_credentials_of_the_store_are_sent(scripted: Scripted, values: dict[str, bytes]) -> None:
    serve(scripted, values)
    with http(scripted, headers={"X-Token": "hidden"}, auth=("a", "b")) as store:
        read(store)
    for request in scripted.asked:
        assert request.headers["x-token"] == "hidden"
        assert request.headers["authorization"].startswith("Basic ")
        assert request.headers["host"] == scripted.origin.partition("//")[2]
        assert request.headers["accept-encoding"] == "identity"


# -- answers that are not taken here ---------------------------------------------------------


def chunked(key: str, value: bytes, request: Request) -> bytes:
    body = b"%x\r\n%b\r\n0\r\n\r\n" % (len(value), value)
    return answer("200 OK", b"", "Transfer-Encoding: chunked", 'ETag: "x"', length=None) + body


def old(key: str, value: bytes, request: Request) -> Iterator[bytes]:
    yield honest(key, value, request).replace(b"HTTP/1.1", b"HTTP/1.0")


def closing(key: str, value: bytes, request: Request) -> Iterator[bytes]:
    yield honest(key, value, request).replace(b"\r\nETag", b"\r\nConnection: close\r\nETag")


def in_pieces(key: str, value: bytes, request: Request) -> Iterator[bytes]:
    data = honest(key, value, request)
    for at in range(0, len(data), 40):
        yield data[at : at + 40]
        time.sleep(0.001)


def twice(key: str, value: bytes, request: Request) -> bytes:
    data = honest(key, value, request)
    length = data[data.index(b"Content-Length") :].partition(b"\r\n")[0]
    return data.replace(length, length + b"\r\n" + length, 1)


RIGHT = {
    "chunked": (chunked, (http,)),
    "old": (old, WAYS),
    "closing": (closing, WAYS),
    "in pieces": (in_pieces, WAYS),
    "length twice": (twice, (http,)),
}


@pytest.mark.parametrize("name", RIGHT)
def test_unusual_answers_are_right_all_the_same(
    name: str, scripted: Scripted, values: dict[str, bytes]
) -> None:
    tamper, ways = RIGHT[name]
    for way in ways:
        serve(scripted, values, tamper)
        with way(scripted) as store:
            np.testing.assert_array_equal(read(store), EXPECTED)


def test_a_server_that_does_not_fit_is_not_tried_again(
    scripted: Scripted, values: dict[str, bytes]
) -> None:
    serve(scripted, values, chunked)
    with http(scripted, requests=4) as store:
        np.testing.assert_array_equal(read(store), EXPECTED)
        asked = len(scripted.asked)
        assert asked < COUNT + 20
        scripted.asked.clear()
        np.testing.assert_array_equal(read(store), EXPECTED)
        assert len(scripted.asked) == COUNT + 1


def broken_off(key: str, value: bytes, request: Request) -> Iterator[bytes]:
    yield honest(key, value, request)[:-5]


def too_much(key: str, value: bytes, request: Request) -> bytes:
    return honest(key, value, request) + b"more"


def other_range(key: str, value: bytes, request: Request) -> bytes:
    return honest(key, value, request).replace(b"bytes 0-", b"bytes 1-")


def page(key: str, value: bytes, request: Request) -> bytes:
    return answer("200 OK", b"<html>please log in</html>", "Content-Type: text/html")


def packed(key: str, value: bytes, request: Request) -> bytes:
    return honest(key, value, request).replace(b"\r\nETag", b"\r\nContent-Encoding: br\r\nETag")


def forbidden(key: str, value: bytes, request: Request) -> bytes:
    return answer("403 Forbidden", b"<Error><Code>AccessDenied</Code></Error>")


def endless_head(key: str, value: bytes, request: Request) -> Iterator[bytes]:
    yield b"HTTP/1.1 206 Partial Content\r\n"
    for number in range(3000):
        yield b"X-%d: %b\r\n" % (number, b"y" * 100)


def long_length(key: str, value: bytes, request: Request) -> bytes:
    return answer("206 Partial Content", value, 'ETag: "x"', length=10**17)


def garbage(key: str, value: bytes, request: Request) -> Iterator[bytes]:
    yield b"\x00\xff" * 100


def no_bucket(key: str, value: bytes, request: Request) -> bytes:
    return answer("404 Not Found", b"<Error><Code>NoSuchBucket</Code></Error>")


WRONG = (
    broken_off, other_range, page, packed, forbidden, endless_head, long_length, garbage,
)  # fmt: skip


@pytest.mark.parametrize("way", [http, s3])
@pytest.mark.parametrize("tamper", WRONG)
def test_wrong_answers_are_errors(
    way: Callable[..., Store], tamper: Tamper, scripted: Scripted, values: dict[str, bytes]
) -> None:
    def some(key: str, value: bytes, request: Request) -> bytes | Iterator[bytes]:
        return (tamper if key.endswith("33/0") else honest)(key, value, request)

    serve(scripted, values, some)
    sound = way is s3 and tamper is packed  # S3 stores it so
    options = {"deadline": 20.0 if sound else 1.0, **({} if way is http else KEYS)}
    with way(scripted, **options) as store:
        if sound:
            np.testing.assert_array_equal(read(store), EXPECTED)
            return
        with pytest.raises(StoreError, match="33/0") as caught:
            read(store)
        assert "hidden" not in str(caught.value)
        assert "Signature" not in str(caught.value)


KEYS = {"access_key_id": "someone", "secret_access_key": "hidden"}


def test_a_missing_bucket_is_no_missing_chunk(scripted: Scripted, values: dict[str, bytes]) -> None:
    serve(scripted, values, no_bucket)
    with s3(scripted, deadline=1.0, **KEYS) as store, pytest.raises(StoreError, match="bucket"):
        read(store)


@pytest.mark.parametrize(
    "body",
    [
        b"<Error><Code>NoSuchBucket</Code><m><![CDATA[<Code>NoSuchKey</Code>]]></m></Error>",
        b"<html><!-- <Code>NoSuchKey</Code> --><body>not here</body></html>",
        b"<Error><Code>NoSuchBucket</Code><Code>NoSuchKey</Code></Error>",
        b"<Code>NoSuchKey</Code>",
        b"",
    ],
)
def test_who_says_missing_must_say_it_clearly(
    body: bytes, scripted: Scripted, values: dict[str, bytes]
) -> None:
    serve(scripted, values, lambda key, value, request: answer("404 Not Found", body))
    with s3(scripted, deadline=1.0, **KEYS) as store:
        array = omnizarr.open_array(store, mode="r")
        feeder = store.feeder(ByteRange(0, 1000), 4)
        assert isinstance(feeder, Feeder)
        with pytest.raises(Unusual):
            feeder._batch._judge(("c/1/0", None), Whole(404, {}, body))
        if body.startswith((b"<Error><Code>NoSuchBucket", b"<html")):
            with pytest.raises(StoreError):
                array[...]


def test_a_second_answer_over_tls(server: Callable[[str], Any], values: dict[str, bytes]) -> None:
    """One that was not requested, in a record of its own, sent together with the right one."""
    nginx = server("nginx")
    if nginx.authority is None:
        pytest.skip("server nginx with TLS is absent: no program 'openssl'")
    secure = SecureScripted(nginx.authority, nginx.authority.parent / "key.pem")
    try:
        serve(secure, values, lambda key, value, request: iter([honest(key, value, request)] * 2))
        with HTTPStore(secure.origin + "/", verify=str(nginx.authority), requests=4) as store:
            for _ in range(3):
                np.testing.assert_array_equal(read(store), EXPECTED)
    finally:
        secure.close()


class SecureScripted(Scripted):
    """Sends all pieces of an answer at once, each in a TLS record of its own."""

    def __init__(self, certificate: Path, key: Path) -> None:
        self._context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self._context.load_cert_chain(certificate, key)
        super().__init__()
        self.origin = self.origin.replace("http://127.0.0.1", "https://localhost")

    def _serve(self, connection: socket.socket) -> None:
        incoming, outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
        secure = self._context.wrap_bio(incoming, outgoing, server_side=True)

        def until_it_works(function: Callable[[], Any]) -> Any:
            while True:
                try:
                    return function()
                except ssl.SSLWantReadError:
                    connection.sendall(outgoing.read())
                    data = connection.recv(65536)
                    if not data:
                        raise OSError("closed") from None
                    incoming.write(data)

        with connection:
            connection.settimeout(20)
            try:
                until_it_works(secure.do_handshake)
                while True:
                    head = b""
                    while not head.endswith(b"\r\n\r\n"):
                        head += until_it_works(lambda: secure.read(65536))
                    found = self.script(Request(head[:-4]))
                    for piece in [found] if isinstance(found, bytes) else found:
                        secure.write(piece)
                    connection.sendall(outgoing.read())
            except OSError:
                return


def test_what_is_said_unasked_spoils_nothing(scripted: Scripted, values: dict[str, bytes]) -> None:
    serve(scripted, values, too_much)
    with http(scripted) as store:
        for _ in range(3):
            np.testing.assert_array_equal(read(store), EXPECTED)


def test_answers_that_break_now_and_then(scripted: Scripted, values: dict[str, bytes]) -> None:
    seen: set[str] = set()

    def first_time(key: str, value: bytes, request: Request) -> bytes | Iterator[bytes]:
        if int(key.split("/")[1]) % 5 or key in seen:
            return honest(key, value, request)
        seen.add(key)
        return broken_off(key, value, request)

    for way in WAYS:
        seen.clear()
        serve(scripted, values, first_time)
        with way(scripted) as store:
            np.testing.assert_array_equal(read(store), EXPECTED)
            usual, unusual = counts(store)
            assert unusual == len(seen) == COUNT // 5
            assert usual == COUNT - unusual


def test_a_server_that_falls_silent(scripted: Scripted, values: dict[str, bytes]) -> None:
    over = threading.Event()

    def silent(key: str, value: bytes, request: Request) -> bytes | Iterator[bytes]:
        if key.endswith(end):
            over.wait(10)
        return honest(key, value, request)

    serve(scripted, values, silent)
    for way, end in itertools.product((http, s3), ("60/0", "/0")):
        options = {"deadline": 3.0} if way is http else {"deadline": 3.0, **KEYS}
        with way(scripted, **options) as store:
            array = omnizarr.open_array(store, mode="r")
            begun = time.monotonic()
            with pytest.raises(StoreTimeoutError, match=end):
                array[...]
            assert time.monotonic() - begun < 8  # the threads of the call end as well
    over.set()


def test_a_call_that_is_called_off(scripted: Scripted, values: dict[str, bytes]) -> None:
    asked = threading.Event()
    over = threading.Event()

    def slow(key: str, value: bytes, request: Request) -> bytes:
        asked.set()
        over.wait(10)
        return honest(key, value, request)

    serve(scripted, values, slow)
    with http(scripted) as store:
        array = omnizarr.open_array(store, mode="r")
        gone = threading.Event()
        outcome: list[BaseException] = []

        def work() -> None:
            try:
                with parallel.abandoned_by(gone):
                    array[...]
            except BaseException as error:
                outcome.append(error)

        thread = threading.Thread(target=work)
        thread.start()
        assert asked.wait(10)
        gone.set()
        thread.join(5)
        assert not thread.is_alive()
        assert isinstance(outcome[0], parallel.Abandoned)
        over.set()


def test_a_chunk_that_cannot_be_decoded_stops_all(
    scripted: Scripted, values: dict[str, bytes]
) -> None:
    def bad(key: str, value: bytes, request: Request) -> bytes:
        return honest(key, b"nonsense" if key.endswith("/5/0") else value, request)

    serve(scripted, values, bad)
    with http(scripted, requests=4) as store:
        with pytest.raises(ZarrError, match="c/5/0"):
            read(store)
        serve(scripted, values)
        np.testing.assert_array_equal(read(store), EXPECTED)


def test_several_addresses_of_a_host(scripted: Scripted, values: dict[str, bytes]) -> None:
    """A host that is reached by its second address only, as `localhost` often is."""
    serve(scripted, values)
    with HTTPStore(scripted.origin.replace("127.0.0.1", "localhost") + "/") as store:
        np.testing.assert_array_equal(read(store), EXPECTED)
        assert counts(store) == (COUNT, 0)


def test_the_server_is_gone(scripted: Scripted, values: dict[str, bytes]) -> None:
    serve(scripted, values)
    with http(scripted, deadline=1.0) as store:
        array = omnizarr.open_array(store, mode="r")
        scripted.close()
        assert isinstance(store, HTTPStore)
        store._client.lines().close()
        store._client.transport().close()
        with pytest.raises(StoreError, match=r"connection failed|no whole answer"):
            array[...]


def test_over_tls(server: Callable[[str], Any], values: dict[str, bytes]) -> None:
    nginx = server("nginx")
    if nginx.authority is None:
        pytest.skip("server nginx with TLS is absent: no program 'openssl'")
    for key, value in values.items():
        file = nginx.root / "feeder" / key
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(value)
    with HTTPStore(f"{nginx.urls['secure']}/feeder", verify=str(nginx.authority)) as store:
        np.testing.assert_array_equal(read(store), EXPECTED)
        np.testing.assert_array_equal(read(store), EXPECTED)
        assert counts(store) == (COUNT, 0)
    with HTTPStore(f"{nginx.urls['secure']}/feeder", verify=False) as store:
        np.testing.assert_array_equal(read(store), EXPECTED)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
@pytest.mark.parametrize("way", [http, s3])
def test_after_a_fork(
    way: Callable[[Scripted], Store], scripted: Scripted, values: dict[str, bytes]
) -> None:
    serve(scripted, values)
    with way(scripted) as store:
        np.testing.assert_array_equal(read(store), EXPECTED)
        process = multiprocessing.get_context("fork").Process(target=_again, args=(store,))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)  # the server has threads
            process.start()
        process.join(20)
        assert process.exitcode == 0
        np.testing.assert_array_equal(read(store), EXPECTED)


def _again(store: Store) -> None:
    np.testing.assert_array_equal(read(store), EXPECTED)
    assert counts(store) == (COUNT, 0)


# -- heads -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "head",
    [
        b"",
        b"HTTP/1.0 200 OK",
        b"HTTP/2 200 OK",
        b"HTTP/1.1 20 OK",
        b"HTTP/1.1 2000 OK",
        b"HTTP/1.1 200 OK\r\nno field",
        b"HTTP/1.1 200 OK\r\n: no name",
        b"HTTP/1.1 200 OK\r\nName : space before the colon",
        b"HTTP/1.1 200 OK\r\nA: b\r\n folded",
        b"HTTP/1.1 200 OK\r\nA: b\nContent-Length: 3",
        b"HTTP/1.1 200 OK\r\nA: \0",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked",
        b"HTTP/1.1 200 OK\r\nContent-Length: 1\r\ncontent-length: 1",
        b"HTTP/1.1 206 OK\r\nContent-Range: bytes 0-0/1\r\nContent-Range: bytes 0-0/2",
    ],
)
def test_heads_that_are_unusual(head: bytes) -> None:
    with pytest.raises(Unusual):
        head_of(head)


def test_heads() -> None:
    assert head_of(b"HTTP/1.1 200") == (200, {})
    head = b'HTTP/1.1 206 Partial Content\r\nETag:\t "\xe9" \r\nX-Empty:\r\nA: 1\r\na: 2'
    assert head_of(head) == (206, {"etag": '"\xe9"', "x-empty": "", "a": "2"})
