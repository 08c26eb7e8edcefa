"""`HTTPStore` against real servers: nginx in several moods, and Python's own."""

from __future__ import annotations

import os
import pickle
import threading
import uuid
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest

import omnizarr
from omnizarr.errors import (
    NotListableError,
    ReadOnlyError,
    StoreAccessError,
    StoreClosedError,
    StoreError,
    ValueChangedError,
)
from omnizarr.model.store import ByteRange, Store
from omnizarr.stores import CacheStore, HTTPStore
from omnizarr.testing import ReadingSuite
from omnizarr.testing.store_cases import VALID_KEYS, some
from tests.servers.nginx import PASSWORD, USER

pytestmark = pytest.mark.slow

# nginx shows no name that begins with a dot in an index.
VISIBLE = tuple(
    key for key in VALID_KEYS if not any(name.startswith(".") for name in key.split("/"))
)


def fill(folder: Path, values: Mapping[str, bytes]) -> None:
    for key, value in values.items():
        file = folder / key
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(value)


def settle(folder: Path) -> None:
    """Make all files older than what a server's versions need to be trusted."""
    for file in folder.rglob("*"):
        if file.is_file():
            os.utime(file, (1_000_000_000, 1_000_000_000))


class NginxSuite(ReadingSuite):
    way: ClassVar[str]

    @pytest.fixture(autouse=True)
    def _nginx(self, server: Callable[[str], Any]) -> None:
        self.nginx = server("nginx")

    def store_with(self, folder: Path, values: Mapping[str, bytes]) -> Store:
        name = uuid.uuid4().hex
        (self.nginx.root / name).mkdir()
        fill(self.nginx.root / name, values)
        settle(self.nginx.root / name)
        return HTTPStore(f"{self.nginx.urls[self.way]}/{name}", **self.options())

    def options(self) -> dict[str, Any]:
        return {}


class TestNginx(NginxSuite):
    way = "plain"
    listable = False


class TestNginxWithJson(NginxSuite):
    way = "json"
    valid_keys = VISIBLE
    many_keys = 1000


class TestNginxWithIndex(NginxSuite):
    way = "html"
    valid_keys = VISIBLE
    many_keys = 1000


class TestNginxWithoutRanges(NginxSuite):
    way = "whole"
    listable = False
    many_keys = 500


class TestNginxSecure(NginxSuite):
    way = "secure"
    listable = False
    many_keys = 500

    @pytest.fixture(autouse=True)
    def _certified(self, _nginx: None) -> None:
        if self.nginx.authority is None:
            pytest.skip("server nginx with TLS is absent: no program 'openssl'")

    def options(self) -> dict[str, Any]:
        return {"verify": str(self.nginx.authority)}


class TestBucket(ReadingSuite):
    """A server that lists as S3 does, a thousand keys at a time."""

    many_keys = 2500

    @pytest.fixture(autouse=True)
    def _server(self, server: Callable[[str], Any]) -> None:
        self.bucket = server("faulty")
        self.bucket.heal()

    def store_with(self, folder: Path, values: Mapping[str, bytes]) -> Store:
        name = f"bucket/{uuid.uuid4().hex}/x y"
        self.bucket.values.update({f"{name}/{key}": value for key, value in values.items()})
        return HTTPStore(f"{self.bucket.url}/{name}")


class _Quiet(SimpleHTTPRequestHandler):
    def log_message(self, *_: Any) -> None:
        pass


class _Server(ThreadingHTTPServer):
    request_queue_size = 256


@pytest.fixture
def python_server(tmp_path: Path) -> Iterator[tuple[Path, str]]:
    root = tmp_path / "served"
    root.mkdir()
    with _Server(("127.0.0.1", 0), partial(_Quiet, directory=str(root))) as running:
        thread = threading.Thread(target=running.serve_forever, daemon=True)
        thread.start()
        yield root, f"http://127.0.0.1:{running.server_port}"
        running.shutdown()


class TestPythonServer(ReadingSuite):
    """`python -m http.server`: HTTP/1.0, no ranges, an index of its own."""

    many_keys = 300

    @pytest.fixture(autouse=True)
    def _server(self, python_server: tuple[Path, str]) -> None:
        self.root, self.url = python_server

    def store_with(self, folder: Path, values: Mapping[str, bytes]) -> Store:
        fill(self.root / "data", values)
        settle(self.root / "data")
        return HTTPStore(f"{self.url}/data")


# -- what only this store has -----------------------------------------------------------------


@pytest.fixture
def shown(server: Callable[[str], Any]) -> Callable[..., HTTPStore]:
    """`shown(way, values, **options)`: a store on nginx, and `store.folder` for changes."""
    nginx = server("nginx")

    def make(way: str, values: Mapping[str, bytes], **options: Any) -> HTTPStore:
        folder = nginx.root / uuid.uuid4().hex
        folder.mkdir()
        fill(folder, values)
        settle(folder)
        url = f"{nginx.urls[way]}/{folder.name}"
        if "secret" in options:
            url = url.replace("://", f"://{options.pop('secret')}@")
        store = HTTPStore(url, **options)
        store.folder = folder  # type: ignore[attr-defined]
        return store

    return make


def test_there_is_no_second_part_of_what_is_quite_new(shown: Callable[..., HTTPStore]) -> None:
    """nginx makes ETags of seconds and lengths: the next version may have the same."""
    values: dict[str, bytes] = {}
    data = np.arange(400, dtype="i4")
    array = omnizarr.create_array(
        omnizarr.MemoryStore(values), shape=400, chunks=10, shards=200, dtype="i4"
    )
    array[...] = data
    with shown("plain", values) as store:
        for file in store.folder.rglob("*"):  # type: ignore[attr-defined]
            os.utime(file)
        with store.snapshot("c/0") as read:
            assert read(ByteRange(-4)) is not None
            with pytest.raises(ValueChangedError, match="so new"):
                read(ByteRange(0, 4))
        found = omnizarr.open_array(store, mode="r").oindex[[3, 150, 399]]
        np.testing.assert_array_equal(found, data[[3, 150, 399]])


def test_a_snapshot_notices_a_replaced_value(shown: Callable[..., HTTPStore]) -> None:
    for way in ("plain", "whole", "untold"):
        with shown(way, {"k": b"x" * 1000}) as store, store.snapshot("k") as read:
            assert some(read(ByteRange(-4))) == b"xxxx"
            assert some(read(ByteRange(0, 2))) == b"xx"
            file = store.folder / "k"  # type: ignore[attr-defined]
            file.write_bytes(b"y" * 1001)
            os.utime(file, (1, 1))
            with pytest.raises(ValueChangedError):
                read(ByteRange(0, 2))
            file.unlink()
            with pytest.raises(ValueChangedError):
                read(ByteRange(0, 2))


def test_versions(shown: Callable[..., HTTPStore]) -> None:
    with shown("plain", {"k": b"first"}) as store:
        first = store.get_versioned("k")
        part = store.get_versioned("k", ByteRange(-2))
        assert first is not None and part is not None
        assert (some(first.value), some(part.value)) == (b"first", b"st")
        assert first.version == part.version
        (store.folder / "k").write_bytes(b"second")  # type: ignore[attr-defined]
        settle(store.folder)  # type: ignore[attr-defined]
        second = store.get_versioned("k")
        assert second is not None and second.version != first.version
        assert store.get_versioned("missing") is None
        beyond = store.get_versioned("k", ByteRange(100, 200))
        assert beyond is not None and (some(beyond.value), beyond.version) == (b"", second.version)
        with store.snapshot("k") as read:
            assert some(read(ByteRange(100, 200))) == b""
            assert some(read(ByteRange(0, 3))) == b"sec"
            assert some(read(ByteRange(100, 200))) == b""
    with shown("untold", {"k": b"first"}) as store:
        whole = store.get_versioned("k")
        assert whole is not None and whole.version == b"first"
        parts = [store.get_versioned("k", ByteRange(0, 2)) for _ in range(2)]
        assert [some(part.value) for part in parts if part is not None] == [b"fi", b"fi"]
        assert len({part.version for part in parts if part is not None}) == 2


def test_a_cache_in_front(shown: Callable[..., HTTPStore]) -> None:
    for way, hits in (("plain", 1), ("untold", 0)):
        with CacheStore(shown(way, {"k": b"first", "empty": b""})) as cache:
            for _ in range(2):
                assert some(cache.get("k", ByteRange(0, 100))) == b"first"
            assert cache.hits == hits
            for _ in range(2):
                assert some(cache.get("empty", ByteRange(0, 100))) == b""
                assert cache.get("missing") is None
            file = cache.store.folder / "k"  # type: ignore[attr-defined]
            file.write_bytes(b"second one")
            assert some(cache.get("k", ByteRange(0, 100))) == b"second one"


def test_pages_instead_of_values(shown: Callable[..., HTTPStore]) -> None:
    with shown("page", {"a/b": b"value", "p.html": b"<html>"}) as store:
        assert some(store.get("a/b")) == b"value"
        assert some(store.get("p.html")) == b"<html>"
        for call in (
            lambda: store.get("missing"),
            lambda: store.get("missing", ByteRange(0, 10)),
            lambda: store.get("missing", ByteRange(-10)),
            lambda: store.exists("missing"),
            lambda: store.size("missing"),
        ):
            with pytest.raises(StoreError, match="HTML page instead of a value"):
                call()
        with pytest.raises(NotListableError):
            store.list_dir("")
    with shown("page", {}, allow_html=True) as store:
        assert some(store.get("missing")).startswith(b"<html>")


def test_passwords(shown: Callable[..., HTTPStore]) -> None:
    quoted = PASSWORD.replace(" ", "%20")
    stores = (
        shown("password", {"k": b"1"}, auth=(USER, PASSWORD)),
        shown("password", {"k": b"1"}, secret=f"{USER}:{quoted}"),
    )
    for store in stores:
        with store:
            assert some(store.get("k")) == b"1"
            assert some(pickle.loads(pickle.dumps(store)).get("k")) == b"1"
            for text in (repr(store), str(store), store.url, f"{store._options}"):
                assert PASSWORD not in text and quoted not in text
    for store in (
        shown("password", {"k": b"1"}),
        shown("password", {"k": b"1"}, secret=f"{USER}:wrong-secret"),
    ):
        with store, pytest.raises(StoreAccessError) as caught:
            store.get("k")
        assert "wrong-secret" not in str(caught.value)


def test_certificates(server: Callable[[str], Any], shown: Callable[..., HTTPStore]) -> None:
    authority = server("nginx").authority
    if authority is None:
        pytest.skip("server nginx with TLS is absent: no program 'openssl'")
    unknown = shown("secure", {"k": b"1"})
    with unknown, pytest.raises(StoreError, match="certificate is not trusted"):
        unknown.get("k")
    with shown("secure", {"k": b"1"}, verify=False) as store:
        assert some(store.get("k")) == b"1"
    with shown("secure", {"k": b"1"}, verify=str(authority)) as store:
        assert some(store.get("k")) == b"1"
    misled = shown("secure", {"k": b"1"}, verify="/no/such/file")
    with misled, pytest.raises(StoreError, match="verify or cert"):
        misled.get("k")


def test_a_server_that_compresses_is_asked_not_to(shown: Callable[..., HTTPStore]) -> None:
    with shown("compressed", {"k": b"a" * 10_000}) as store:
        assert some(store.get("k")) == b"a" * 10_000
        assert store.size("k") == 10_000
        assert some(store.get("k", ByteRange(-3))) == b"aaa"


def test_untrusted_urls_stay_outside(shown: Callable[..., HTTPStore]) -> None:
    store = shown("plain", {"k": b"1"}, untrusted=True)
    with store, pytest.raises(StoreError, match="not public"):
        store.get("k")


def test_closing(shown: Callable[..., HTTPStore]) -> None:
    store = shown("plain", {"k": b"1"})
    assert some(store.get("k")) == b"1"
    store.close()
    store.close()
    with pytest.raises(StoreClosedError):
        store.get("k")
    with pytest.raises(StoreClosedError):
        store.list_dir("")


def test_values_and_equality(shown: Callable[..., HTTPStore]) -> None:
    store = shown("plain", {"k": b"1"})
    same = HTTPStore(store.url.replace("http://", "HTTP://"), headers={"X-Other": "1"})
    assert store == same and hash(store) == hash(same)
    assert pickle.loads(pickle.dumps(store)) == store
    assert store != HTTPStore(store.url + "deeper")
    assert store.capabilities.listable is False and store.read_only
    with pytest.raises(ReadOnlyError):
        store.set_if_version("k", b"", None)
    store.close()


# -- groups and arrays ------------------------------------------------------------------------


def hierarchy(folder: Path, zarr_format: int, consolidated: bool) -> None:
    root = omnizarr.create_group(str(folder), overwrite=True, zarr_format=zarr_format)
    root.create_array("a", data=np.arange(12), chunks=(5,))
    deep = root.create_group("deep/er")
    deep.create_array("b", data=np.ones((4, 4)), chunks=(2, 2))
    if consolidated:
        omnizarr.consolidate_metadata(str(folder))


@pytest.mark.parametrize("zarr_format", [2, 3])
@pytest.mark.parametrize("way", ["plain", "json", "html"])
@pytest.mark.parametrize("consolidated", [True, False])
def test_groups(
    server: Callable[[str], Any], zarr_format: int, way: str, consolidated: bool
) -> None:
    nginx = server("nginx")
    folder = nginx.root / uuid.uuid4().hex
    hierarchy(folder, zarr_format, consolidated)
    group = omnizarr.open_group(f"{nginx.urls[way]}/{folder.name}")
    assert np.array_equal(group["a"][...], np.arange(12))
    assert np.array_equal(group["deep/er/b"][...], np.ones((4, 4)))
    assert "none" not in group and "deep" in group
    if consolidated or way != "plain":
        assert list(group) == ["a", "deep"]
        assert [name for name, _ in group.members(max_depth=None)] == [
            "a", "deep", "deep/er", "deep/er/b",
        ]  # fmt: skip
        assert "└── b (4, 4) float64" in str(group.tree())
        assert list(group["deep"]) == ["er"]
    else:
        calls: list[Callable[[], object]] = [
            lambda: list(group),
            lambda: len(group),
            lambda: group.members(),
            lambda: str(group.tree()),
            lambda: list(group["deep"]),
            lambda: list(group.arrays()),
        ]
        for call in calls:
            with pytest.raises(NotListableError, match="consolidate"):
                call()
        assert "cannot be listed" in str(group.info)
    with pytest.raises(ReadOnlyError):
        group.create_group("new")
    array = omnizarr.open(f"{nginx.urls[way]}/{folder.name}/a")
    assert np.array_equal(array[3:7], np.arange(3, 7))
    assert "HTTPStore" in str(array.info)
    with pytest.raises(ReadOnlyError):
        array[0] = 1
    array.store.close()
    group.store.close()


@pytest.mark.parametrize("zarr_format", ["n5", "3-draft2020-10"])
def test_groups_without_a_document(server: Callable[[str], Any], zarr_format: str) -> None:
    """In some formats a folder alone is a group, which only a listing shows."""
    nginx = server("nginx")
    folder = nginx.root / uuid.uuid4().hex
    root = omnizarr.create_group(str(folder), zarr_format=zarr_format)
    root.create_array("deep/er/b", shape=(4,), chunks=(2,), dtype="f8")[...] = 1
    for way in ("json", "html"):
        group = omnizarr.open_group(f"{nginx.urls[way]}/{folder.name}")
        assert [name for name, _ in group.members(max_depth=None)] == [
            "deep", "deep/er", "deep/er/b",
        ]  # fmt: skip
        group.store.close()
    group = omnizarr.open_group(f"{nginx.urls['plain']}/{folder.name}")
    assert np.array_equal(group["deep/er/b"][...], np.ones(4))
    with pytest.raises(NotListableError):
        list(group)
    group.store.close()


def test_copying(server: Callable[[str], Any]) -> None:
    nginx = server("nginx")
    folder = nginx.root / uuid.uuid4().hex
    hierarchy(folder, 2, consolidated=True)
    with HTTPStore(f"{nginx.urls['json']}/{folder.name}") as store:
        # The index leaves out .zarray and its like.
        assert ".zgroup" not in list(store.list()) and some(store.get(".zgroup"))
        with pytest.raises(NotListableError, match="incomplete"):
            omnizarr.copy_store(store, omnizarr.MemoryStore())
        target = omnizarr.create_group(omnizarr.MemoryStore())
        omnizarr.copy_all(omnizarr.open_group(store), target)
        assert np.array_equal(target["a"][...], np.arange(12))
        assert np.array_equal(target["deep/er/b"][...], np.ones((4, 4)))


def test_the_command_line(server: Callable[[str], Any], capsys: pytest.CaptureFixture[str]) -> None:
    from omnizarr.cli.main import main

    nginx = server("nginx")
    folder = nginx.root / uuid.uuid4().hex
    hierarchy(folder, 3, consolidated=False)
    assert main(["tree", f"{nginx.urls['json']}/{folder.name}"]) == 0
    assert "deep" in capsys.readouterr().out
    main(["tree", f"{nginx.urls['plain']}/{folder.name}"])
    said = capsys.readouterr()
    assert "offers no listing" in said.out + said.err
    assert main(["info", f"{nginx.urls['plain']}/{folder.name}/a"]) == 0
    assert "12" in capsys.readouterr().out
    main(["info", f"{nginx.urls['plain']}/{folder.name}", "deep/none"])
    said = capsys.readouterr()
    assert "named exactly" in said.out + said.err
    secret = nginx.urls["json"].replace("://", "://me:hidden@")
    assert main(["tree", f"{secret}/{folder.name}?sig=hidden"]) == 0
    assert main(["tree", "--json", f"{secret}/{folder.name}?sig=hidden"]) == 0
    assert main(["info", f"{secret}/{folder.name}/a?sig=hidden"]) == 0
    main(["tree", f"{secret}/none?sig=hidden"])
    said = capsys.readouterr()
    assert "me:***@" in said.out and "hidden" not in said.out + said.err
