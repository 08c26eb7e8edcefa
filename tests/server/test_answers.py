"""What HTTP says about a value: ranges, ETags, conditions, compression, CORS."""

from __future__ import annotations

import email
import http.client
import os
import time
from collections.abc import Callable
from contextlib import nullcontext
from typing import Any

import pytest

import omnizarr as zarr
from omnizarr.server.answers import BLOCK
from omnizarr.stores import LocalStore, WrapperStore
from tests.server.conftest import Place, Serve


def test_a_value(serve: Serve, any_store: zarr.Store, values: dict[str, bytes]) -> None:
    client = serve(any_store)
    for key, value in values.items():
        answer = client.get(f"/{key}", headers={"accept-encoding": "identity"})
        assert (answer.status_code, answer.content) == (200, value)
        assert answer.headers["accept-ranges"] == "bytes"
        assert answer.headers["etag"].startswith('"')
        head = client.head(f"/{key}", headers={"accept-encoding": "identity"})
        assert (head.status_code, head.content) == (200, b"")
        assert dict(head.headers) == dict(answer.headers)
        assert head.headers["content-length"] == str(len(value))
    assert client.get("/a/zarr.json").headers["content-type"] == "application/json"
    assert client.get("/a/c/0").headers["content-type"] == "application/octet-stream"
    assert client.get("/a/c/1").status_code == client.head("/a/c/1").status_code == 404


@pytest.mark.parametrize("kind", ["memory", "local", "sqlite", "lmdb", "zip"])
def test_large_values(listen: Callable[..., Place], tmp_path: Any, kind: str) -> None:
    """They are sent some at a time, by several threads."""
    value = os.urandom(3_000_000)
    if kind == "lmdb":
        pytest.importorskip("lmdb")
    places = {
        "memory": {}, "local": tmp_path / "x", "sqlite": tmp_path / "x.sqlite",
        "lmdb": tmp_path / "x.lmdb", "zip": tmp_path / "x.zip",
    }  # fmt: skip
    with zarr.stores.as_store(places[kind], mode="w") as store:
        store.set("key", value)
        if kind == "memory":
            place = listen(store)
    if kind != "memory":
        place = listen(places[kind])
    for _ in range(5):
        assert place.get("/key") == (200, value)
    assert place.get("/key", range="bytes=1000000-2999998") == (206, value[1_000_000:-1])
    several = place.get("/key", range="bytes=0-999999,1000001-2000000")
    assert several[0] == 206 and value[:1_000_000] in several[1]


@pytest.mark.parametrize(
    ("header", "start", "stop"), [("0-3", 0, 4), ("190-", 190, 200), ("-7", 193, 200),
                                  ("198-900", 198, 200), ("-900", 0, 200)])  # fmt: skip
def test_one_range(
    serve: Serve,
    any_store: zarr.Store,
    values: dict[str, bytes],
    header: str,
    start: int,
    stop: int,
) -> None:
    answer = serve(any_store).get("/a/c/0", headers={"range": f"bytes={header}"})
    assert answer.status_code == 206 and answer.content == values["a/c/0"][start:stop]
    assert answer.headers["content-range"] == f"bytes {start}-{stop - 1}/200"


def test_several_ranges(serve: Serve, any_store: zarr.Store, values: dict[str, bytes]) -> None:
    answer = serve(any_store).get("/a/c/0", headers={"range": "bytes=0-3,100-149,-2"})
    assert answer.status_code == 206
    kind = answer.headers["content-type"]
    assert kind.startswith("multipart/byteranges; boundary=")
    assert answer.headers["content-length"] == str(len(answer.content))
    message = email.message_from_bytes(f"Content-Type: {kind}\r\n\r\n".encode() + answer.content)
    parts: Any = message.get_payload()
    found = {part["content-range"]: part.get_payload(decode=True) for part in parts}
    value = values["a/c/0"]
    assert found == {
        "bytes 0-3/200": value[:4],
        "bytes 100-149/200": value[100:150],
        "bytes 198-199/200": value[-2:],
    }


def test_refused_ranges(serve: Serve, any_store: zarr.Store) -> None:
    client = serve(any_store)
    answer = client.get("/a/c/0", headers={"range": "bytes=200-"})
    assert answer.status_code == 416 and answer.headers["content-range"] == "bytes */200"
    assert answer.json()["error"] == "the value has 200 bytes"
    many = ",".join(f"{n}-{n}" for n in range(100))
    assert client.get("/a/c/0", headers={"range": f"bytes={many}"}).status_code == 416
    assert client.get("/a/c/0", headers={"range": "bytes=0-150,50-199"}).status_code == 416
    assert client.get("/a/c/0", headers={"range": "bytes=x"}).status_code == 400
    assert client.get("/a/c/0", headers={"range": "lines=1-2"}).status_code == 200
    assert client.head("/a/c/0", headers={"range": "bytes=0-1"}).status_code == 200


def test_conditions(serve: Serve, any_store: zarr.Store) -> None:
    client = serve(any_store)
    etag = client.get("/a/c/0").headers["etag"]
    same = [etag, f"W/{etag}", f'"other", {etag}', "*"]
    for condition in same:
        answer = client.get("/a/c/0", headers={"if-none-match": condition})
        assert (answer.status_code, answer.content) == (304, b"")
        assert answer.headers["etag"] == etag and "content-length" not in answer.headers
    assert client.get("/a/c/0", headers={"if-none-match": '"other"'}).status_code == 200
    assert client.get("/a/c/0", headers={"if-match": etag}).status_code == 200
    assert client.get("/a/c/0", headers={"if-match": "*"}).status_code == 200
    for condition in ('"other"', f"W/{etag}", "nonsense"):
        assert client.get("/a/c/0", headers={"if-match": condition}).status_code == 412
    part = {"range": "bytes=0-1"}
    assert client.get("/a/c/0", headers={**part, "if-range": etag}).status_code == 206
    for condition in ('"other"', f"W/{etag}", "Wed, 21 Oct 2015 07:28:00 GMT"):
        assert client.get("/a/c/0", headers={**part, "if-range": condition}).status_code == 200


def test_another_value_has_another_etag(serve: Serve, tmp_path: Any) -> None:
    for store in (zarr.MemoryStore(), LocalStore(tmp_path)):
        client, seen = serve(store), set()
        for content in (b"one", b"two", b"six"):
            store.set("key", content)
            answer = client.get("/key", headers={"if-none-match": ", ".join(seen) or '"none"'})
            assert answer.content == content
            seen.add(answer.headers["etag"])
        assert len(seen) == 3


def test_settled_files_have_the_etag_of_their_status(serve: Serve, tmp_path: Any) -> None:
    store = LocalStore(tmp_path)
    store.set("key", b"x" * 3_000_000)
    assert "etag" not in serve(store).head("/key").headers  # another write might not show
    store.set("small", b"x")
    by_content = serve(store).head("/small").headers["etag"]
    os.utime(tmp_path / "small", (1e9, 1e9))
    os.utime(tmp_path / "key", (1e9, 1e9))
    # The time of the change of the status cannot be set back, so what reads it is told another now.
    real = time.time_ns
    try:
        time.time_ns = lambda: real() + 3600 * 10**9
        assert serve(store).head("/key").headers["etag"].startswith('"')
        assert serve(store).head("/small").headers["etag"] != by_content
    finally:
        time.time_ns = real


def test_documents_are_compressed(
    serve: Serve, any_store: zarr.Store, values: dict[str, bytes]
) -> None:
    client, value = serve(any_store), values["a/zarr.json"]
    plain = client.get("/a/zarr.json", headers={"accept-encoding": "identity"})
    packed = client.get("/a/zarr.json", headers={"accept-encoding": "br, gzip;q=0.5"})
    assert packed.headers["content-encoding"] == "gzip" and packed.content == value
    assert int(packed.headers["content-length"]) < len(value)
    assert plain.headers["vary"] == packed.headers["vary"] == "accept-encoding"
    assert plain.headers["etag"] != packed.headers["etag"]
    told = {"if-none-match": packed.headers["etag"]}
    assert (
        client.get("/a/zarr.json", headers={**told, "accept-encoding": "gzip"}).status_code == 304
    )
    assert client.get("/a/zarr.json", headers={**told, "accept-encoding": "x"}).status_code == 200
    for refused in ("gzip;q=0", "gzip; q=0.000", "", "br"):
        answer = client.get("/a/zarr.json", headers={"accept-encoding": refused})
        assert "content-encoding" not in answer.headers
    part = client.get("/a/zarr.json", headers={"accept-encoding": "gzip", "range": "bytes=0-3"})
    assert part.status_code == 206 and part.content == value[:4]
    assert "content-encoding" not in client.get("/a/c/0").headers


def test_methods_and_cors(serve: Serve, any_store: zarr.Store) -> None:
    client = serve(any_store)
    for method in ("POST", "PUT", "DELETE", "PATCH", "MOVE"):
        answer = client.request(method, "/a/c/0", content=b"other")
        assert answer.status_code == 405 and "GET" in answer.headers["allow"]
        assert "read" in answer.json()["error"]
    preflight = client.options("/a/c/0", headers={"access-control-request-method": "GET"})
    assert preflight.status_code == 204
    assert "range" in preflight.headers["access-control-allow-headers"]
    for answer in (preflight, client.get("/a/c/0"), client.get("/missing")):
        assert answer.headers["access-control-allow-origin"] == "*"
        assert "content-range" in answer.headers["access-control-expose-headers"]
        assert answer.headers["x-content-type-options"] == "nosniff"
    assert "access-control-allow-origin" not in serve(any_store, cors=None).get("/a/c/0").headers
    origin = serve(any_store, cors="https://example.org").get("/a/c/0")
    assert origin.headers["access-control-allow-origin"] == "https://example.org"


class Failing(WrapperStore):
    """A store that fails in some way."""

    error: Exception = OSError(5, "Input/output error", "/srv/secret/place")

    def get(self, key: str, byte_range: Any = None) -> Any:
        raise self.error

    def snapshot(self, key: str) -> Any:
        raise self.error

    def get_many(self, requests: Any) -> Any:
        raise self.error


@pytest.mark.parametrize(
    ("error", "status"),
    [
        (OSError(5, "Input/output error", "/srv/secret/place"), 502),
        (zarr.errors.StoreError("/srv/secret/place failed"), 502),
        (zarr.errors.StoreTimeoutError("/srv/secret/place"), 504),
        (zarr.errors.StoreAccessError("/srv/secret/place"), 502),
        (zarr.errors.DecodeError("found /srv/secret/place"), 500),
        (zarr.errors.UnsupportedError("no s3://secret/place"), 501),
        (zarr.errors.LimitError("/srv/secret/place"), 500),
        (RuntimeError("/srv/secret/place"), 500),
        (MemoryError("/srv/secret/place"), 500),
    ],
)
def test_a_fault_is_never_missing(serve: Serve, error: Exception, status: int) -> None:
    """A missing chunk reads as fill values, so a fault must not look like one."""
    good = zarr.MemoryStore()
    zarr.save_group(good, a=[1, 2, 3])
    store = Failing(good)
    client = serve(good)
    endpoint = client.app.routes[-1].app  # type: ignore[attr-defined]
    endpoint._store = store
    store.error = error
    for key in ("/a/c/0", "/zarr.json", "/missing"):
        answer = client.get(key)
        assert answer.status_code == status
        assert "secret" not in answer.text and answer.json()["status"] == status


def test_a_value_that_changes_while_it_is_sent_is_not_complete(
    listen: Callable[..., Place],
) -> None:
    class Shrinking(zarr.MemoryStore):
        capabilities = zarr.stores.Capabilities()

        def snapshot(self, key: str) -> Any:
            def read(part: Any) -> bytes:
                return b"x" * (part.stop - part.start if part.start < BLOCK else 3)

            return nullcontext(read)

        def size(self, key: str) -> int:
            return 16 * BLOCK

    place = listen(Shrinking())
    with pytest.raises(http.client.IncompleteRead):
        place.get("/key")
    assert place.get("/key", range="bytes=0-9") == (206, b"x" * 10)


@pytest.mark.parametrize("rewrite", ["in place", "replaced", "times restored"])
def test_a_file_that_is_rewritten_in_place_is_not_sent_as_one(
    listen: Callable[..., Place], tmp_path: Any, rewrite: str
) -> None:
    file, size = tmp_path / "key", 64 << 20
    file.write_bytes(b"a" * size)
    status = file.stat()
    place = listen(zarr.stores.LocalStore(tmp_path))
    with place.connect() as client:
        client.sendall(b"GET /key HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n")
        body = client.recv(1000).partition(b"\r\n\r\n")[2]
        if rewrite == "replaced":
            (tmp_path / "new").write_bytes(b"b" * size)
            (tmp_path / "new").replace(file)
        else:
            with file.open("r+b") as writer:
                writer.write(b"b" * size)
            if rewrite == "times restored":
                os.utime(file, ns=(status.st_atime_ns, status.st_mtime_ns))
        found = body + b"".join(iter(lambda: client.recv(1 << 20), b""))
    if rewrite == "replaced":
        assert len(found) >= size and b"b" not in found[-size:]
    else:
        assert len(found) < size


def test_the_last_slash_may_be_left_out(serve: Serve) -> None:
    store = zarr.MemoryStore()
    zarr.save_group(store, a=[1, 2, 3])
    client = serve(store)
    for path in ("/v2", "/v3"):
        answer = client.get(path)
        assert (answer.status_code, answer.headers["location"]) == (307, f"{path[1:]}/")
    assert serve(store, as_format=3).get("/v3").status_code == 404
