"""`HTTPStore` against servers that mean harm, and against versions that say too little."""

from __future__ import annotations

import io
import pickle
import time
import tracemalloc
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import omnizarr as zarr
from omnizarr.errors import NotListableError, StoreError
from omnizarr.model.store import ByteRange
from omnizarr.stores import CacheStore, HTTPStore, LocalStore
from omnizarr.stores.http.chunked import Broken, Chunked
from omnizarr.stores.http.listing import parse_bucket, parse_index
from omnizarr.stores.http.pages import read_page
from omnizarr.stores.http.ranges import Version
from omnizarr.stores.http.url import parse
from omnizarr.stores.secrets import Secret
from omnizarr.testing.store_cases import some
from tests.stores.http.test_answers import Request, Scripted, answer, asking, scripted

pytestmark = pytest.mark.slow

__all__ = ["scripted"]  # a fixture
HEAD = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"


# -- bodies in chunks -------------------------------------------------------------------------
@pytest.mark.parametrize("size", [b"-1", b"-5", b"+5", b"0x5", b"5_0", b"g", b"", b" 5", b"f" * 16])
def test_sizes_of_chunks_that_are_none(scripted: Scripted, size: bytes) -> None:
    def script(request: Request) -> Iterator[bytes]:
        yield HEAD + size + b"\r\n"
        while True:
            yield b"x" * (1 << 20)

    with asking(scripted, script, deadline=5, retries=0) as store:
        tracemalloc.start()
        try:
            begin = time.monotonic()
            with pytest.raises(StoreError, match="which is none"):
                store.get("k")
            assert time.monotonic() - begin < 20
            assert tracemalloc.get_traced_memory()[1] < 64 << 20
        finally:
            tracemalloc.stop()


@pytest.mark.parametrize(
    "body",
    [
        b"3\r\nabcX\r\n0\r\n\r\n",  # longer than it says
        b"3;" + b"x" * 10_000 + b"\r\nabc\r\n0\r\n\r\n",
        b"3\r\nabc\r\n0\r\n" + b"a: b\r\n" * 1000 + b"\r\n",
    ],
)
def test_chunks_that_cannot_be(scripted: Scripted, body: bytes) -> None:
    with asking(scripted, lambda request: iter([HEAD + body]), retries=0) as store:
        with pytest.raises(StoreError, match="the server sends"):
            store.get("k")
        assert len(scripted.asked) == 1


def test_connections_are_kept_after_chunks(scripted: Scripted) -> None:
    body = HEAD + b"3;name=value\r\nabc\r\n2 \r\nde\r\n0\r\nTrailer: x\r\n\r\n"
    with asking(scripted, lambda request: body) as store:
        for _ in range(3):
            assert some(store.get("k")) == b"abcde"
            assert some(store.get("k", ByteRange(1, 3))) == b"bc"
    assert scripted.connections == 1


@given(st.lists(st.binary(min_size=1, max_size=9)), st.integers(1, 7), st.binary(max_size=3))
def test_chunks(pieces: list[bytes], most: int, following: bytes) -> None:
    body = b"".join(b"%x\r\n%b\r\n" % (len(piece), piece) for piece in pieces) + b"0\r\n\r\n"
    file = io.BytesIO(body + following)
    chunked = Chunked(file)
    found = []
    while piece := chunked.read(most):
        found.append(piece)
    assert b"".join(found) == b"".join(pieces)
    assert all(len(piece) == most for piece in found[:-1])
    assert file.read() == following
    for cut in range(len(body)):
        with pytest.raises(Broken):
            Chunked(io.BytesIO(body[:cut])).read(1000)


# -- index pages ------------------------------------------------------------------------------
TITLE = b"<title>Index of /</title><a href=first>first</a>"
MANY = 200_000
HOSTILE = {
    "tags": b"<a<a" * MANY,
    "comments": b"<!--" * MANY,
    "sections": b"<![CDATA[" * MANY,
    "declarations": b"<![" * MANY,
    "instructions": b"<?" * MANY,
    "ends": b"</" * MANY,
    "angles": b"<" * MANY,
    "quotes": b"<a " + b"a='" * MANY + b'"',
    "open quotes": b"<a a=\"'" * MANY,
    "scripts": b"<script>" + b"</scrip" * MANY,
    "styles": b"<style></style " * MANY,
    "names": b"<a" + b" a" * MANY,
    "slashes": b"<a" + b"/" * MANY,
    "equals": b"<a" + b" =" * MANY,
    "spaces": b"<a a" + b" " * MANY + b"= " * MANY,
    "titles": b"<title>x</title>" * MANY,
    "headings": b"<h1>" + b"x<b>" * MANY,
    "references": b"<a href='" + b"&#9" * MANY + b"'>",
    "a number": b"<a href='&#" + b"9" * 10_000 + b";'>",
}


@pytest.mark.parametrize("body", HOSTILE.values(), ids=HOSTILE)
def test_pages_that_take_long(body: bytes) -> None:
    begin = time.monotonic()
    found = parse_index(TITLE + body, "text/html", parse("http://h/p").address, "")
    assert time.monotonic() - begin < 30  # quadratic time would be hours
    assert found is not None and "first" in found.keys


def test_pages_that_browsers_understand() -> None:
    def links(text: str) -> list[str]:
        return read_page(text, lambda: None).links

    assert links("<A HREF = 'a&amp;b' >x</A><a\nclass=x href=b/c>") == ["a&b", "b/c"]
    assert links('<a title="<a href=no>" href="yes"><!-- <a href=no> --><a href>') == ["yes"]
    assert links("<script>'<a href=no>'</script><style><a href=no></style><a href=yes>") == ["yes"]
    assert links("<!DOCTYPE html><?x?><a/href=yes><a href=1 href=2><b href=no>1 < 2") == [
        "yes",
        "1",
    ]
    assert links("<a href='open") == links("<a href=x") == links("<") == links("") == []
    headings = read_page("<h1>Index <i>of</i> &lt;</h1>x<title>a<b></title>", lambda: None).headings
    assert headings == ["Index of <", "a<b>"]


@given(st.text(alphabet="<>a h1/!-=\"'&#;title\n", max_size=60))
def test_any_page(text: str) -> None:
    page = read_page(text, lambda: None)
    assert all(link in text or "&" in text for link in page.links)


@pytest.mark.parametrize("body", [b"<a href=x>" * 3_000_000, b"<a a" + b" a" * 14_000_000])
def test_the_deadline_holds_while_a_page_is_read(scripted: Scripted, body: bytes) -> None:
    page = answer("200 OK", TITLE + body, "Content-Type: text/html")
    with asking(scripted, lambda request: page, deadline=1.0, retries=5) as store:
        begin = time.monotonic()
        with pytest.raises(StoreError):
            store.list_dir("")
        assert time.monotonic() - begin < 20


def test_pages_that_are_too_long(scripted: Scripted) -> None:
    page = answer("200 OK", TITLE, "Content-Type: text/html", length=33 << 20)
    with (
        asking(scripted, lambda request: page, retries=0) as store,
        pytest.raises(StoreError, match="at the most"),
    ):
        store.list_dir("")


# -- S3 ---------------------------------------------------------------------------------------
def test_elements_in_elements() -> None:
    body = b"<ListBucketResult>" + b"<a>" * 200_000 + b"</a>" * 200_000 + b"</ListBucketResult>"
    begin = time.monotonic()
    with pytest.raises(StoreError, match="elements in elements"):
        parse_bucket(body)
    assert time.monotonic() - begin < 20


@pytest.mark.parametrize("named", [b"data/k", b"elsewhere"])
def test_listings_that_never_end(scripted: Scripted, named: bytes) -> None:
    """With a new token on each page, and names that are known."""

    def script(request: Request) -> bytes:
        if "list-type" not in request.target:
            return answer("404 Not Found")
        first = b"" if "token" in request.target else b"<Contents><Key>data/k</Key></Contents>"
        return answer(
            "200 OK",
            b"<ListBucketResult>%b<Contents><Key>%b</Key></Contents><IsTruncated>true</IsTruncated>"
            b"<NextContinuationToken>%d</NextContinuationToken></ListBucketResult>"
            % (first, named, len(scripted.asked)),
        )

    with asking(scripted, script, deadline=10) as store:
        with pytest.raises(StoreError, match="no end"):
            store.list_dir("")
        with pytest.raises(StoreError, match="no end"):
            list(store.list())
        assert len(scripted.asked) < 500


def test_a_listing_keeps_to_the_deadline(scripted: Scripted) -> None:
    """With a new name on each page, which comes slowly."""

    def script(request: Request) -> bytes:
        if "list-type" not in request.target:
            return answer("404 Not Found")
        time.sleep(0.05)
        number = len(scripted.asked)
        return answer(
            "200 OK",
            b"<ListBucketResult><Contents><Key>data/%d</Key></Contents><IsTruncated>true"
            b"</IsTruncated><NextContinuationToken>%d</NextContinuationToken></ListBucketResult>"
            % (number, number),
        )

    with asking(scripted, script, deadline=1) as store:
        for call in (lambda: store.list_dir(""), lambda: list(store.list())):
            begin = time.monotonic()
            with pytest.raises(StoreError, match="deadline"):
                call()
            assert time.monotonic() - begin < 10


# -- versions ---------------------------------------------------------------------------------
NOON = "Sun, 15 Nov 2026 12:00:00 GMT"


@pytest.mark.parametrize(
    ("modified", "date", "settled"),
    [
        ("Sun, 15 Nov 2026 11:59:58 GMT", NOON, True),
        ("Sun, 15 Nov 2026 11:59:59 GMT", NOON, False),
        (NOON, NOON, False),
        ("Sun, 15 Nov 2026 12:00:09 GMT", NOON, False),
        (NOON, None, False),
        ("yesterday", NOON, False),
        ("Sun, 99 Nov 99999999999999999999 11:59:58 GMT", NOON, False),
        (None, NOON, True),
    ],
)
def test_versions_that_can_be_trusted(
    scripted: Scripted, modified: str | None, date: str | None, settled: bool
) -> None:
    assert Version('"e"', modified, 5, date).settled is settled
    lines = ['ETag: "e"']
    lines += [f"Last-Modified: {modified}"] if modified else []
    lines += [f"Date: {date}"] if date else []
    with asking(scripted, lambda request: answer("200 OK", b"value", *lines)) as store:
        versions = {store.version("k") for _ in range(3)}
        part = store.get_versioned("k")
        assert part is not None and some(part.value) == b"value"
        assert (len(versions | {part.version}) == 1) is settled


def test_a_cache_sees_what_is_replaced_within_a_second(server: Callable[[str], Any]) -> None:
    nginx = server("nginx")
    name = uuid.uuid4().hex
    source = LocalStore(nginx.root / name)
    with CacheStore(HTTPStore(f"{nginx.urls['plain']}/{name}")) as cache:
        for number in range(20):
            value = b"%04d" % number
            source.set("k", value)
            assert some(cache.get("k")) == value
            assert some(cache.get("k", ByteRange(0, 100))) == value


def test_a_new_shard_is_read_in_parts_through_a_cache(server: Callable[[str], Any]) -> None:
    nginx = server("nginx")
    for way in ("plain", "untold", "whole"):
        name = uuid.uuid4().hex
        values = np.arange(64, dtype="i4")
        array = zarr.create_array(nginx.root / name, shape=64, chunks=8, shards=64, dtype="i4")
        array[...] = values
        with CacheStore(HTTPStore(f"{nginx.urls[way]}/{name}")) as cache:
            for _ in range(2):
                np.testing.assert_array_equal(
                    zarr.open_array(cache, mode="r")[40:50], values[40:50]
                )


# -- secrets ----------------------------------------------------------------------------------
def test_pickles_do_not_show_secrets() -> None:
    store = HTTPStore(
        "https://someone:pass-word@host/x?sig=sig-nature", headers={"X-Token": "tok-en"}
    )
    for protocol in range(pickle.HIGHEST_PROTOCOL + 1):
        data = pickle.dumps(store, protocol)
        for secret in (b"someone", b"pass-word", b"sig-nature", b"tok-en", b"X-Token", b"Basic"):
            assert secret not in data
        again = pickle.loads(data)
        assert again == store and again._options == store._options


def test_a_secret() -> None:
    secret = Secret({"password": "sesame"})
    assert f"{secret} {secret!r} {secret:>5} {[secret]}" == "*** *** *** [***]"
    for protocol in range(pickle.HIGHEST_PROTOCOL + 1):
        data = pickle.dumps(secret, protocol)
        assert b"sesame" not in data and b"password" not in data
        assert pickle.loads(data) == secret and pickle.loads(data).value == {"password": "sesame"}
    assert Secret("a") != Secret("b") and Secret("a") != "a"
    assert len({Secret("a"), Secret("a")}) == 1


def test_headers_that_no_request_can_carry() -> None:
    with pytest.raises(ValueError, match="X-Token") as caught:
        HTTPStore("http://host", headers={"X-Token": "sesame\u20ac"})
    assert "sesame" not in str(caught.value)


# -- what is shown ----------------------------------------------------------------------------
def test_addresses_in_messages(scripted: Scripted, capsys: pytest.CaptureFixture[str]) -> None:
    from omnizarr.cli import main

    with asking(scripted, lambda request: answer("200 OK", b"{")) as store:
        assert "//" not in store.url.partition("://")[2]
        main(["check", store.url])
    with asking(scripted, lambda request: answer("400 Bad Request")) as store:
        assert main(["info", store.url]) != 0
    shown = capsys.readouterr()
    assert store.url in shown.err + shown.out
    assert "//" not in (shown.err + shown.out).replace("://", "")


# -- check ------------------------------------------------------------------------------------
@pytest.mark.parametrize("zarr_format", [2, 3])
@pytest.mark.parametrize("way", ["html", "json", "plain"])
@pytest.mark.parametrize("consolidated", [True, False])
def test_check(
    server: Callable[[str], Any], zarr_format: int, way: str, consolidated: bool
) -> None:
    nginx = server("nginx")
    folder: Path = nginx.root / uuid.uuid4().hex
    root = zarr.open_group(folder, mode="w", zarr_format=zarr_format)
    for name in ("x", "sub/a", "sub/b"):
        root.create_array(name, shape=4, chunks=2, dtype="i4")[...] = np.arange(4)
    if consolidated:
        zarr.consolidate_metadata(folder)
    url = f"{nginx.urls[way]}/{folder.name}"
    report = zarr.check(url)
    warnings = [found.message for found in report if found.level != "dialect"]
    if way == "plain":
        assert report.nodes == (5 if consolidated else 1)
        (warning,) = warnings
        assert "could not be listed" in warning
    else:
        assert (report.nodes, warnings) == (5, [])
    broken = folder / "sub" / "a" / ("zarr.json" if zarr_format == 3 else ".zarray")
    broken.write_bytes(broken.read_bytes()[:-10])
    report = zarr.check(url)
    assert report.ok is (way == "plain" and not consolidated)
    if not report.ok:
        assert {found.path for found in report if found.level == "error"} == {"sub/a"}


def test_what_to_do_without_a_listing(scripted: Scripted) -> None:
    with (
        asking(scripted, lambda request: answer("404 Not Found")) as store,
        pytest.raises(NotListableError, match="can be browsed when it is opened itself"),
    ):
        store.list_dir("")
