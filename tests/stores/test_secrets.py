"""URLs and texts as they may be shown."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from omnizarr.errors import StoreError
from omnizarr.stores import as_store
from omnizarr.stores.secrets import masked_text, masked_url, secrets_in_url

PASSWORD = "HUSHHUSH"


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("http://u:p@w@h/x", "http://u:***@h/x"),
        ("http://u:p/w@h/x", "http://u:***@h/x"),
        ("http://u:p w@h/x", "http://u:***@h/x"),
        ("http://u:p?w@h/x", "http://u:***"),
        ("http://u:p#w@h/x", "http://u:***@h/x"),
        ("http://:p@h/x", "http://:***@h/x"),
        ("http://someone@example.org:p@h/x", "http://***@h/x"),
        ("http://TOKEN@h/x", "http://***@h/x"),
        ("http://TOK/EN@h/x", "http://***@h/x"),
        ("http://h/x?jwt=a&b=c&TOKEN", "http://h/x?jwt=***&b=***&***"),
        ("http://h/x?TOKEN", "http://h/x?***"),
        ("http://u:1?w@h/x=y", "http://u:***"),
        ("http://u:p@w?w@h/x", "http://u:***"),
        ("http://h/x?mail=a@b", "http://h/x?***"),
        ("abfs://container@account/x?sig=a@b", "abfs://***"),
        ("zip://a::http://u:p@[::1]:9/x?a=b", "zip://a::http://u:***@[::1]:9/x?a=***"),
        ("reference://::http://u:p@h", "reference://::http://u:***@h"),
        ("sftp://u%3Ap@h/x", "sftp://***@h/x"),
        ("http://h/a;jsession=TOKEN/b", "http://h/a;jsession=***/b"),
        ("http://h/a;TOKEN/b;v=1;w=2?x=y", "http://h/a;***/b;v=***;w=***?x=***"),
        ("https://h/a%3Bjsession%3DTOKEN/b", "https://h/a%3Bjsession%3D***/b"),
        ("http://h/a;T%20KEN/b", "http://h/a;***/b"),
        ("http://h/a#token=TOKEN", "http://h/a#***"),
        ("zip://a;b::http://h/a;s=TOKEN", "zip://a;b::http://h/a;s=***"),
        # Nothing is secret in these.
        ("s3://bucket/a;b=c/d#e", "s3://bucket/a;b=c/d#e"),
        ("file:///a;b=c#d", "file:///a;b=c#d"),
        ("http://h:80/x", "http://h:80/x"),
        ("http://[::1]:80/x", "http://[::1]:80/x"),
        ("http://example.org/x@2/y", "http://example.org/x@2/y"),
        ("s3://bucket/x@2/y", "s3://bucket/x@2/y"),
        ("s3://arn:aws:s3:eu:1:accesspoint/p/x", "s3://arn:aws:s3:eu:1:accesspoint/p/x"),
        ("mongodb://h:1,i:2/d.c", "mongodb://h:1,i:2/d.c"),
        ("abfs://container@account/x@2", "abfs://container@account/x@2"),
        ("sftp://me@h/x", "sftp://me@h/x"),
        ("file:///a@b/c:d@e", "file:///a@b/c:d@e"),
        ("C:/a@b", "C:/a@b"),
    ],
)
def test_a_url_as_it_is_shown(url: str, shown: str) -> None:
    assert masked_url(url) == shown
    assert masked_url(shown) == shown


@given(
    st.sampled_from(["http", "simplecache::ftp", "zip://a::https", "unknown", "s3", "sftp"]),
    st.text("ab1@/ :?#&=[]%.,'\\\\", max_size=6).filter(lambda text: "::" not in text),
    st.text("ab1@/ :?#&=[]%.,'\\\\", max_size=6).filter(lambda text: "::" not in text),
)
def test_no_part_of_a_password_is_shown(scheme: str, before: str, behind: str) -> None:
    password = f"x{before}{PASSWORD}{behind}"
    url = f"{scheme}://user:{password}@host.org/path"
    assert PASSWORD not in masked_url(url)
    assert any(PASSWORD in secret for secret in secrets_in_url(url))


def test_what_others_may_repeat_of_a_url() -> None:
    found = set(secrets_in_url("zip://a::ftp://me:one@two/three%21@h/x?jwt=a-long-value&a=short"))
    assert found == {"one@two/three%21", "one@two/three!", "three%21", "a-long-value"}
    assert set(secrets_in_url("https://token-token@h/x?another-token")) == {
        "token-token",
        "another-token",
    }
    assert set(secrets_in_url("https://h/a;session=a-token/b;v=1")) == {"a-token"}
    for plain in ("sftp://someone@h/x", "http://host:8080/data@2/x", "s3://bucket/data"):
        assert list(secrets_in_url(plain)) == []


def test_a_text_with_urls_in_it() -> None:
    text = "cannot GET 'http://u:p@w@h/x?sig=1' (see sftp://me@h/y, or ask a@b) // c:d@e"
    shown = "cannot GET 'http://u:***@h/x?sig=***' (see sftp://me@h/y, or ask a@b) // c:d@e"
    assert masked_text(text) == shown


def test_a_web_store_does_not_show_parameters_of_its_path() -> None:
    store = as_store("http://127.0.0.1:9/a;jsession=HUSHHUSH/b")
    assert PASSWORD not in repr(store)
    with pytest.raises(StoreError) as failed:
        store.get("zarr.json")
    assert PASSWORD not in str(failed.value)
