"""`FsspecStore` against real servers: S3 through s3fs, the web through fsspec's own client."""

from __future__ import annotations

import asyncio
import itertools
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import fsspec
import pytest

from omnizarr.errors import NotListableError, ReadOnlyError, StoreAccessError, StoreError
from omnizarr.model.store import listing_of
from omnizarr.stores import ByteRange, FsspecStore, LocalStore, Store
from omnizarr.testing import ReadingSuite, StoreSuite
from omnizarr.testing.store_cases import VALID_KEYS

count = itertools.count()


class TestHTTP(ReadingSuite):
    """A web server that lists its folders, except for names that begin with a dot."""

    many_keys = 1000
    valid_keys = tuple(key for key in VALID_KEYS if not key.startswith("."))

    @pytest.fixture(autouse=True)
    def find(self, server: Callable[[str], Any]) -> None:
        self.nginx = server("nginx")

    def store_with(self, folder: Path, values: Mapping[str, bytes]) -> Store:
        name = f"fsspec{next(count)}"
        LocalStore(self.nginx.root / name).update(values)
        return FsspecStore(f"{self.nginx.urls['html']}/{name}")


class TestS3(StoreSuite):
    many_keys = 200
    large_bytes = 2 << 20

    @pytest.fixture(autouse=True)
    def find(self, server: Callable[[str], Any]) -> None:
        self.s3 = server("s3")

    def make_store(self, folder: Path) -> Store:
        return FsspecStore(self.s3.url(f"fsspec{next(count)}"), storage_options=s3_options(self.s3))

    # The server takes some 5 ms for a request. What thousands of them would find, the suite over
    # `LatentFileSystem` finds.
    def test_a_dict_is_the_model(self, tmp_path: Path) -> None:  # type: ignore[override]
        store = self.make_store(tmp_path)
        model: dict[str, bytes] = {}
        for key, value in (("a/x", b"1"), ("a/y", b""), ("ab", b"2"), ("a/x", b"3")):
            store.set(key, value)
            model[key] = value
            assert dict(store.items()) == model
        assert not store.set_if_absent("ab", b"4")
        store.delete_prefix("a/")
        assert dict(store.items()) == {"ab": b"2"}

    def test_listings_are_those_of_a_dict(self, store: Store) -> None:  # type: ignore[override]
        keys = ["a", "a-b/0", "a.b", "ab/c/d", "b/.0", "b/0", "b/0-/b"]
        for key in keys:
            store.set(key, b"")
        for prefix in ("", "a/", "ab/", "ab/c/", "b/", "b/0/"):
            below = sorted(key for key in keys if key.startswith(prefix))
            assert list(store.list_prefix(prefix)) == below
            assert store.list_dir(prefix) == listing_of(below, prefix)

    def test_a_batch_is_its_requests(self, store: Store) -> None:  # type: ignore[override]
        store.set("a", b"0123456789")
        parts = (None, ByteRange(-3), ByteRange(2, 4), ByteRange(8, 99), ByteRange(50))
        requests = [(key, part) for key in ("a", "no") for part in parts]
        assert store.get_many(requests) == [store.get(*request) for request in requests]


def s3_options(s3: Any) -> dict[str, Any]:
    """What `server("s3")` says, in the words of s3fs."""
    return {
        "key": s3.options["access_key_id"],
        "secret": s3.options["secret_access_key"],
        "endpoint_url": s3.endpoint,
        "client_kwargs": {"region_name": s3.options["region"]},
    }


# -- S3 through s3fs ------------------------------------------------------------------------------


def test_s3(server: Callable[[str], Any]) -> None:
    s3 = server("s3")
    options = s3_options(s3)
    store = FsspecStore(s3.url(f"fsspec{next(count)}"), storage_options=options)
    assert store.capabilities.conditional
    store.set("a/b", b"1")
    assert list(store.list()) == ["a/b"]
    other = fsspec.filesystem("s3", **options)
    other.pipe_file(f"{store.root}/c", b"2")
    assert list(store.list()) == ["a/b", "c"], "listings are not taken from a cache"
    assert store.size("c") == 1
    other.pipe_file(f"{store.root}/c", b"345")
    assert store.size("c") == 3
    assert store.list_dir("") == (["c"], ["a/"])
    assert "wJalr" not in repr(store)
    wrong = FsspecStore("s3://no-such-bucket-here/x", storage_options=options)
    with pytest.raises(StoreError):
        wrong.get("a")
    with pytest.raises(StoreError):
        wrong.set("a", b"1")
    unreachable = {**options, "endpoint_url": "http://127.0.0.1:9", "config_kwargs": {}}
    unreached = FsspecStore(s3.url("x"), storage_options=unreachable, deadline=3)
    begin = time.monotonic()
    with pytest.raises(StoreError):
        unreached.get("a")
    assert time.monotonic() - begin < 8


def test_s3_asynchronous_inside_a_loop(server: Callable[[str], Any]) -> None:
    s3 = server("s3")

    async def work() -> None:
        fs = fsspec.filesystem("s3", asynchronous=True, **s3_options(s3))
        session = await fs.set_session()
        path = f"{s3.bucket}/fsspec{next(count)}"
        await fs._pipe_file(f"{path}/a", b"theirs")
        store = FsspecStore(fs, path)
        assert store.get("a") == b"theirs"
        store.set("b", b"ours")
        assert await fs._cat_file(f"{path}/b") == b"ours"
        await session.close()

    asyncio.run(work())


# -- the web --------------------------------------------------------------------------------------


def test_http_statuses(server: Callable[[str], Any]) -> None:
    nginx = server("nginx")
    name = f"fsspec{next(count)}"
    LocalStore(nginx.root / name).update({"a/b": b"0123456789", "zarr.json": b"{}"})
    plain = FsspecStore(f"{nginx.urls['plain']}/{name}")
    assert plain.get("a/b", ByteRange(-3)) == b"789"
    assert plain.get("a") is None
    with pytest.raises(StoreError):
        list(plain.list())  # the server refuses (403)
    with pytest.raises(NotListableError):
        FsspecStore(f"{nginx.urls['html']}/none").list_dir("")
    listed = FsspecStore(f"{nginx.urls['html']}/{name}")
    assert list(listed.list_prefix("none/")) == []
    whole = FsspecStore(f"{nginx.urls['whole']}/{name}")
    assert whole.get("a/b", ByteRange(5, 100)) == b"56789"
    assert whole.get("a/b", ByteRange(5, 7)) == b"56"
    with pytest.raises(StoreAccessError):
        FsspecStore(f"{nginx.urls['password']}/{name}").get("a/b")
    with pytest.raises(ReadOnlyError):
        plain.set("x", b"")
