"""`ObjectStore` over objects of obstore and obspec, and what URLs and options mean."""

from __future__ import annotations

import json
import os
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

from omnizarr.errors import InvalidKeyError, StoreError
from omnizarr.model.store import ByteRange, Store
from omnizarr.stores import ObjectStore, as_store
from omnizarr.stores.cloud.urls import location_of
from omnizarr.testing import StoreSuite

obstore: Any = import_module("obstore")


class TestObstoreMemory(StoreSuite):
    picklable = False
    writes_in_a_forked_child = False
    many_keys = 2_000

    def make_store(self, folder: Path) -> Store:
        return as_store(obstore.store.MemoryStore())

    # The values live in the parent's memory, behind threads that a child does not have.
    def test_a_forked_child(self, store: Store) -> None:
        self.test_reading_in_a_forked_child(store)

    def test_reading_in_a_forked_child(self, filled: Store) -> None:
        filled.set("a/b", b"1")
        child = os.fork()
        if child == 0:
            code = 1
            try:
                filled.get("a/b")
            except StoreError as error:
                code = 0 if "spawn" in str(error) else 2
            finally:
                os._exit(code)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


class Protocols:
    """obspec's synchronous methods, over a dict; without suffixes, stamps or conditions."""

    class Result:
        def __init__(self, value: bytes, start: int, stop: int) -> None:
            self.meta = {"size": len(value), "e_tag": None, "version": None, "last_modified": None}
            self.range = (start, stop)
            self._value = value[start:stop]

        def buffer(self) -> bytes:
            return self._value

    def __init__(self) -> None:
        self.values: dict[str, bytes] = {}

    def _value(self, path: str) -> bytes:
        try:
            return self.values[path]
        except KeyError:
            raise FileNotFoundError(path) from None

    def get(self, path: str, *, options: Any = None) -> Result:
        value = self._value(path)
        wanted = (options or {}).get("range", (0, len(value)))
        if isinstance(wanted, dict):
            if "suffix" in wanted:
                raise NotImplementedError("no suffixes here")
            wanted = (wanted["offset"], len(value))
        start, stop = wanted[0], min(wanted[1], len(value))
        if start >= len(value) > 0 or (start >= stop and options):
            raise OSError("StartTooLarge")
        return self.Result(value, start, stop)

    def head(self, path: str) -> dict[str, Any]:
        return {"path": path, "size": len(self._value(path)), "e_tag": None, "version": None}

    def put(self, path: str, file: Any) -> None:
        self.values[path] = bytes(file)

    def delete(self, paths: Any) -> None:
        for path in [paths] if isinstance(paths, str) else paths:
            self._value(path)
            del self.values[path]

    def copy(self, from_: str, to: str) -> None:
        self.values[to] = self._value(from_)

    def list(self, prefix: str | None = None, *, chunk_size: int = 50) -> Any:
        start = f"{prefix}/" if prefix else ""
        found = [path for path in list(self.values) if path.startswith(start)]
        yield [{"path": path, "size": len(self.values[path])} for path in found]

    def list_with_delimiter(self, prefix: str | None = None) -> Any:
        start = f"{prefix}/" if prefix else ""
        below = [path[len(start) :] for path in self.values if path.startswith(start)]
        return {
            "objects": [{"path": start + name} for name in below if "/" not in name],
            "common_prefixes": sorted(
                {start + name.partition("/")[0] for name in below if "/" in name}
            ),
        }


@pytest.mark.slow
class TestObspec(StoreSuite):
    writes_in_a_forked_child = True
    many_keys = 2_000

    def make_store(self, folder: Path) -> Store:
        return ObjectStore(Protocols(), prefix="below/this")


def test_what_is_no_store_is_refused() -> None:
    with pytest.raises(TypeError, match="obspec"):
        ObjectStore(object())
    with pytest.raises(ValueError, match="deadline"):
        ObjectStore(obstore.store.MemoryStore(), deadline=0)


def test_a_local_store_of_obstore(tmp_path: Path) -> None:
    store = as_store(obstore.store.LocalStore(str(tmp_path)))
    store.set("a/b", b"0123")
    assert store.get("a/b", ByteRange(-2)) == b"23"
    assert store.get("a/b", ByteRange(9)) == b""
    assert store.get("a/c") is None
    assert store.set_if_absent("n", b"1") and not store.set_if_absent("n", b"2")
    assert list(store.list()) == ["a/b", "n"]
    assert not store.capabilities.versions


def test_a_store_of_obstore_keeps_what_it_was_given() -> None:
    given = obstore.store.S3Store(
        "bucket",
        prefix="one",
        endpoint="http://127.0.0.1:1",
        access_key_id="a",
        secret_access_key="bbbbbbbb",
        client_options={"timeout": "7s"},
    )
    store = as_store(given)
    assert isinstance(store, ObjectStore)
    assert repr(store) == "ObjectStore('s3://bucket/one', endpoint='127.0.0.1:1')"
    by_url = as_store("s3://bucket/one", storage_options={"endpoint": "http://127.0.0.1:1"})
    assert store == by_url
    assert store.locate("k") == ObjectStore(given, prefix="").locate("k")
    inner = ObjectStore(given, prefix="two")
    assert inner.prefix == "one/two" and inner != store
    assert inner.locate("k") == store.locate("two/k")


def test_a_service_without_conditions() -> None:
    store = as_store("s3://bucket", storage_options={"conditional": False, "anon": True})
    assert not store.capabilities.conditional and not store.capabilities.versions
    with pytest.raises(StoreError, match="versions"):
        store.get_versioned("k")


# -- URLs and options -----------------------------------------------------------------------------
KEY = "bm90IGEga2V5"
OPTIONS: list[tuple[str, dict[str, Any], dict[str, Any], str]] = [
    ("s3://b/p/q/", {}, {"bucket": "b"}, "p/q"),
    (
        "s3a://b",
        {"key": "k", "secret": "s", "token": "t", "anon": False, "endpoint_url": "http://h"},
        {
            "bucket": "b",
            "access_key_id": "k",
            "secret_access_key": "s",
            "session_token": "t",
            "endpoint": "http://h",
        },
        "",
    ),
    (
        "s3://b",
        {"anon": True, "client_kwargs": {"endpoint_url": "http://h", "region_name": "eu-west-1"}},
        {"bucket": "b", "skip_signature": True, "endpoint": "http://h", "region": "eu-west-1"},
        "",
    ),
    (
        "s3://u:p%2Fw@b/x",
        {"config_kwargs": {"s3": {"addressing_style": "virtual"}}, "skip_instance_cache": True},
        {
            "bucket": "b",
            "access_key_id": "u",
            "secret_access_key": "p/w",
            "virtual_hosted_style_request": True,
        },
        "x",
    ),
    ("s3://b", {"AWS_REGION": "r", "aws_access_key_id": "k"}, {"region": "r"}, ""),
    ("gs://b/x", {"token": "anon"}, {"bucket": "b", "skip_signature": True}, "x"),
    ("gcs://b", {"token": {"a": 1}}, {"service_account_key": json.dumps({"a": 1})}, ""),
    ("gs://b", {"token": "google_default", "project": "p"}, {"bucket": "b"}, ""),
    (
        "gs://b",
        {"endpoint_url": "http://h", "google_bearer_token": "t"},
        {"base_url": "http://h"},
        "",
    ),
    ("az://c/x", {"account_name": "a", "account_key": KEY}, {"container_name": "c"}, "x"),
    ("abfs://c@acc.dfs.core.windows.net/x", {"anon": "true"}, {"account_name": "acc"}, "x"),
    (
        "abfss://c@acc.dfs.core.chinacloudapi.cn/x",
        {},
        {"endpoint": "https://acc.blob.core.chinacloudapi.cn"},
        "x",
    ),
    ("az://c/x?sv=1&sig=2", {}, {"sas_key": "sv=1&sig=2"}, "x"),
    (
        "az://c",
        {"connection_string": f"AccountName=a;AccountKey={KEY}==;BlobEndpoint=http://h/a/;"},
        {"account_name": "a", "account_key": f"{KEY}==", "endpoint": "http://h/a"},
        "",
    ),
    ("az://c", {"connection_string": "UseDevelopmentStorage=true"}, {"use_emulator": True}, ""),
]


@pytest.mark.parametrize(("url", "options", "expected", "prefix"), OPTIONS)
def test_options(url: str, options: dict[str, Any], expected: dict[str, Any], prefix: str) -> None:
    place = location_of(url, options)
    config = dict(place.recipe.config)
    assert config.items() >= expected.items()
    assert place.prefix == prefix
    as_store(url, storage_options=options)


@pytest.mark.parametrize(
    ("url", "options", "error"),
    [
        ("s3://b", {"colour": "blue"}, TypeError),
        ("s3://b", {"client_kwargs": {"colour": "blue"}}, TypeError),
        ("s3://b", {"client_kwargs": 3}, TypeError),
        ("s3://b", {"config_kwargs": {"colour": "blue"}}, TypeError),
        ("s3://b", {"deadline": -1}, ValueError),
        ("gs://b", {"token": "neither a file nor known"}, TypeError),
        ("az://c", {"connection_string": "nothing of use"}, TypeError),
        ("s3://", {}, StoreError),
        ("s3:///x", {}, StoreError),
        ("s3://b/../x", {}, InvalidKeyError),
        ("s3://b/x?versionId=1", {}, StoreError),
        ("gs://user:sesame@b/x", {}, StoreError),
    ],
)
def test_wrong_options(url: str, options: dict[str, Any], error: type[Exception]) -> None:
    with pytest.raises(error) as caught:
        as_store(url, storage_options=options)
    assert "blue" not in str(caught.value) and "sesame" not in str(caught.value)


def test_http_is_allowed_for_an_endpoint_that_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    from omnizarr.stores.cloud.clients import SHARES, client_options, retry_config

    plain = location_of("s3://b", {"endpoint": "http://h"}).recipe
    safe = location_of("s3://b", {"endpoint": "https://h"}).recipe
    assert client_options(plain, 60)["allow_http"] is True
    assert "allow_http" not in client_options(safe, 60)
    monkeypatch.setenv("AWS_ENDPOINT_URL", "http://h")
    assert client_options(location_of("s3://b", {}).recipe, 60)["allow_http"] is True
    given = location_of("s3://b", {"client_options": {"timeout": "1s"}, "retry_config": {}}).recipe
    assert client_options(given, 60)["timeout"] == "1s"
    assert retry_config(given, 60)["retry_timeout"].total_seconds() < 60
    assert all(share.worst < 1 for share in SHARES)


def test_errors_say_where_in_fields() -> None:
    class Broken(Protocols):
        def get(self, path: str, *, options: Any = None) -> Any:
            raise OSError("broken")

        def list(self, prefix: str | None = None, **options: Any) -> Any:
            raise OSError("broken")

    store = ObjectStore(Broken(), prefix="x")
    with pytest.raises(StoreError) as read:
        store.get("a/zarr.json")
    where = read.value.location
    assert where is not None and (where.store, where.key) == (repr(store), "a/zarr.json")
    assert read.value.reason == "cannot read: broken"
    with pytest.raises(StoreError) as listed:
        list(store.list_prefix("a/"))
    where = listed.value.location
    assert where is not None and (where.store, where.path) == (repr(store), "a")


def test_the_url_shows_no_login() -> None:
    store = as_store("s3://user:hushhush@bucket/x.zarr")
    assert isinstance(store, ObjectStore) and store.url == "s3://bucket/x.zarr"
    assert ObjectStore(Protocols()).url is None
