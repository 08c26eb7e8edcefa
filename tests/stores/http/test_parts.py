"""The parts of `HTTPStore` that need no server: URLs, addresses, index pages."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from omnizarr.errors import StoreError
from omnizarr.model.paths import is_key
from omnizarr.model.store import Listing
from omnizarr.stores.http import url as http_url
from omnizarr.stores.http.connection import refuse_private
from omnizarr.stores.http.listing import parse_bucket, parse_index

HERE = http_url.parse("http://host:8080/data/x").address
HTML = "text/html"


# -- URLs -------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("http://Host", "http://host"),
        ("HTTP://host:80/a", "http://host/a"),
        ("https://host:443/a/", "https://host/a"),
        ("https://host:444/a/", "https://host:444/a"),
        ("http://host/a/../b/./c", "http://host/b/c"),
        ("http://host/../../b", "http://host/b"),
        ("http://host/a b/ü%20%zz", "http://host/a%20b/%C3%BC%20%25zz"),
        ("http://[::1]:8000/a", "http://[::1]:8000/a"),
        ("http://bücher.example/", "http://xn--bcher-kva.example"),
        ("http://host/a?sig=b&c", "http://host/a?sig=***&***"),
        ("http://me:you@host/a#mode=zarr", "http://me:***@host/a"),
        ("http://TOKEN@host/a", "http://***@host/a"),
        ("http://TOKEN:@host/a", "http://***@host/a"),
    ],
)
def test_urls(url: str, shown: str) -> None:
    assert http_url.parse(url).shown == shown


@given(st.text(max_size=40))
def test_any_text_as_a_url(text: str) -> None:
    try:
        base = http_url.parse("http://" + text)
    except StoreError:
        return
    path = base.address.path
    assert path.startswith("/") and path.endswith("/") and path.isascii()
    assert not {"..", "."} & set(path.split("/"))
    target = base.address.below("k").target
    assert not any(character in target for character in " \r\n#")


@given(st.text(min_size=1, max_size=20).filter(is_key))
def test_any_key_in_an_address(key: str) -> None:
    from urllib.parse import unquote

    target = HERE.below(key).target
    assert "?" not in target and "#" not in target and target.isascii()
    assert unquote(target) == "/data/x/" + key


# -- addresses --------------------------------------------------------------------------------
@pytest.mark.parametrize(
    "address",
    [
        "127.0.0.1", "10.1.2.3", "172.16.0.1", "192.168.1.1", "169.254.169.254", "100.64.0.1",
        "0.0.0.0", "224.0.0.1", "255.255.255.255", "::1", "::", "fe80::1%eth0", "fd00::1",
        "::ffff:127.0.0.1", "::ffff:10.0.0.1", "64:ff9b::7f00:1", "2002:7f00:1::", "ff02::1",
        "64:ff9b:1::7f00:1", "64:ff9b:1::8.8.8.8", "::127.0.0.1", "::8.8.8.8", "fec0::1", "4000::1",
        "5f00::1", "3fff::1", "3fff:fff:ffff::1", "100::1", "2001:db8::1", "192.0.0.8",
        "2a00::5efe:10.0.0.1", "2a00::200:5efe:127.0.0.1", "2001:0:7f00:1::f7f7:f7f7",
    ],
)  # fmt: skip
def test_private_addresses(address: str) -> None:
    with pytest.raises(StoreError, match="not public"):
        refuse_private("host", address)


@pytest.mark.parametrize(
    "address", ["8.8.8.8", "2606:4700::1111", "::ffff:8.8.8.8", "64:ff9b::8.8.8.8"]
)
def test_public_addresses(address: str) -> None:
    refuse_private("host", address)


# -- pages ------------------------------------------------------------------------------------
def page(title: str, *links: str) -> bytes:
    anchors = "".join(f'<a href="{link}">x</a>\n' for link in links)
    return f"<html><head><title>{title}</title></head><body>{anchors}</body></html>".encode()


def listed(title: str, *links: str) -> Listing | None:
    return parse_index(page(title, *links), HTML, HERE, "p/")


@pytest.mark.parametrize(
    "title",
    ["Index of /data/x/", "Index of /", "Directory listing for /data/x/", "Directory: /data/x/",
     "Files within data/x/"],
)  # fmt: skip
def test_index_pages(title: str) -> None:
    found = listed(title, "../", "a", "b/", "zarr.json", "with%20space", "%C3%BC/", "a")
    assert found == Listing(["p/a", "p/with space", "p/zarr.json"], ["p/b/", "p/ü/"])
    assert listed(title, "../") == Listing([], [])


def test_links_that_lead_elsewhere() -> None:
    away = (
        "?C=N;O=D", "#top", "/", "/data/", "..", "../other", "./", ".", "a/b", "a/b/", "a%2Fb",
        "%2e%2e/", "%2e%2e", "http://elsewhere/data/x/a", "//elsewhere/data/x/a",
        "https://host:8080/data/x/a", "http://host/data/x/a", "javascript:alert(1)",
        "mailto:me@host", "a?download", "http://[broken", "a%5Cb", "a%00b", "/data/xy", "",
    )  # fmt: skip
    assert listed("Index of /", *away, "kept") == Listing(["p/kept"], [])


def test_links_that_are_spelled_otherwise() -> None:
    same = ("./a", "/data/x/b", "http://host:8080/data/x/c/", "//host:8080/data/x/d", "&#101;")
    assert listed("Index of /", *same) == Listing(["p/a", "p/b", "p/d", "p/e"], ["p/c/"])


def test_pages_that_are_no_index() -> None:
    assert listed("Welcome", "a", "b/") is None
    assert listed("My index of things", "a") is None
    assert parse_index(b"", HTML, HERE, "") is None
    assert parse_index(b"\xff\xfe\x00", HTML, HERE, "") is None
    assert parse_index(page("Index of /", "a"), "application/octet-stream", HERE, "") is None


@given(st.binary(max_size=200))
def test_any_bytes_as_a_page(body: bytes) -> None:
    for kind in (HTML, "application/json", ""):
        found = parse_index(b"<title>Index of /</title>" + body, kind, HERE, "p/")
        assert found is None or all(is_key(key) and key.startswith("p/") for key in found.keys)


def test_json_pages() -> None:
    def found(entries: object) -> Listing | None:
        return parse_index(json.dumps(entries).encode(), "application/json", HERE, "p/")

    nginx = [
        {"name": "b", "type": "directory", "mtime": "x"},
        {"name": "a", "type": "file", "size": 1},
        {"name": "..", "type": "directory"},
    ]
    assert found(nginx) == Listing(["p/a"], ["p/b/"])
    caddy = [
        {"name": "b/", "size": 1, "url": "./b/", "is_dir": True},
        {"name": "a", "size": 1, "url": "./a", "is_dir": False},
    ]
    assert found(caddy) == Listing(["p/a"], ["p/b/"])
    assert found([]) == Listing([], [])
    for other in ({}, {"name": "a"}, ["a"], [{"name": 1}], [{"name": "a"}], 5, None,
                  [{"name": "a/b", "type": "file"}]):  # fmt: skip
        assert found(other) is None
    assert parse_index(b"[" * 100_000, "application/json", HERE, "") is None


# -- S3 ---------------------------------------------------------------------------------------
def bucket(inner: str, head: str = "") -> bytes:
    body = f'<ListBucketResult xmlns="x">{inner}</ListBucketResult>'
    return f'<?xml version="1.0"?>{head}{body}'.encode()


def test_bucket_pages() -> None:
    found = parse_bucket(
        bucket(
            "<Prefix>not this</Prefix><IsTruncated>true</IsTruncated>"
            "<NextContinuationToken>t&amp;1</NextContinuationToken>"
            "<Contents><Key>a &lt;b&gt;</Key><Owner><Key>no</Key></Owner></Contents>"
            "<CommonPrefixes><Prefix>c/</Prefix></CommonPrefixes>"
        )
    )
    assert found == (["a <b>"], ["c/"], "t&1")
    assert parse_bucket(b"<html></html>") is None
    assert parse_bucket(b"<ListAllMyBucketsResult></ListAllMyBucketsResult>") is None


def test_bucket_pages_that_cannot_be() -> None:
    with pytest.raises(StoreError, match="how to go on"):
        parse_bucket(bucket("<IsTruncated>true</IsTruncated>"))
    with pytest.raises(StoreError, match="well-formed"):
        parse_bucket(bucket("<Contents>"))
    entities = '<!DOCTYPE x [<!ENTITY a "aaaa">]>'
    with pytest.raises(StoreError, match="entities"):
        parse_bucket(bucket("<Contents><Key>&a;</Key></Contents>", entities))
