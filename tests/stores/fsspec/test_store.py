"""`FsspecStore` over ordinary, asynchronous, chained and caching filesystems."""

from __future__ import annotations

import asyncio
import importlib
import itertools
import os
import pickle
import subprocess
import sys
import threading
import time
import traceback
import zipfile
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any

import fsspec
import numpy as np
import pytest
from fsspec.implementations.dirfs import DirFileSystem
from fsspec.implementations.local import LocalFileSystem
from fsspec.implementations.memory import MemoryFileSystem

import omnizarr
from omnizarr.errors import (
    HTTPStatusError,
    MissingPackageError,
    ReadOnlyError,
    StoreAccessError,
    StoreError,
    StoreTimeoutError,
)
from omnizarr.stores import ByteRange, FsspecStore, FSStore, LocalStore, Store, ZipStore, as_store
from omnizarr.stores.fsspec.faults import cause, is_missing
from omnizarr.stores.secrets import masked_text
from omnizarr.testing import ReadingSuite, StoreSuite
from tests.stores.fsspec.latent_fs import LatentFileSystem

pytestmark = pytest.mark.slow

count = itertools.count()


@pytest.fixture(autouse=True)
def healthy() -> Iterator[None]:
    LatentFileSystem.most = 0
    yield
    LatentFileSystem.faults.clear()


# -- the suite over filesystems -----------------------------------------------------------------


class TestMemory(StoreSuite):
    picklable = False  # the values are this process's
    many_keys = 1000  # every question is put to all files of the process

    def make_store(self, folder: Path) -> Store:
        return FsspecStore(f"memory://suite{next(count)}", storage_options={})


class TestLocal(StoreSuite):
    def make_store(self, folder: Path) -> Store:
        return FsspecStore(LocalFileSystem(), str(folder / "x"))


class TestAsynchronous(StoreSuite):
    picklable = True

    def make_store(self, folder: Path) -> Store:
        return FsspecStore(LatentFileSystem(name=f"suite{next(count)}"), "bucket/x")

    def test_pickling_to_another_process(self, store: Store) -> None:
        # Its files live in this process.
        again = pickle.loads(pickle.dumps(store))
        assert again == store
        again.set("a", b"1")
        assert store.get("a") == b"1"

    def test_reading_in_another_process(self, filled: Store) -> None:
        assert pickle.loads(pickle.dumps(filled)).get("a/c/d") == b"abcdef"


class TestSimpleCache(StoreSuite):
    many_keys = 1000

    def make_store(self, folder: Path) -> Store:
        options = {"cache_storage": str(folder / "cache")}
        (folder / "x").mkdir()
        return FsspecStore(
            f"simplecache::file://{folder}/x", storage_options={"simplecache": options}
        )


class TestZip(ReadingSuite):
    """An archive inside another filesystem."""

    many_keys = 1000

    def store_with(self, folder: Path, values: Mapping[str, bytes]) -> Store:
        with zipfile.ZipFile(folder / "x.zip", "w") as archive:
            for key, value in values.items():
                archive.writestr(key, value)
        options = {"cache_storage": str(folder / "cache")}
        return as_store(
            f"zip::simplecache::file://{folder}/x.zip", storage_options={"simplecache": options}
        )


# -- who is asked ---------------------------------------------------------------------------------


def test_urls_and_objects(tmp_path: Path) -> None:
    LocalStore(tmp_path / "x").set("a", b"1")
    local = LocalFileSystem()
    for obj in (
        local.get_mapper(str(tmp_path / "x")),
        DirFileSystem(str(tmp_path / "x"), local),
        f"local://{tmp_path}/x",
    ):
        store = as_store(obj)
        assert isinstance(store, LocalStore)
        assert store.get("a") == b"1"
    memory = MemoryFileSystem()
    mapper = memory.get_mapper(f"/urls{next(count)}")
    mapper["a/b"] = b"2"
    store = as_store(mapper)
    assert isinstance(store, FsspecStore)
    assert dict(store.items()) == {"a/b": b"2"}
    assert as_store(mapper, mode="r").read_only
    same = as_store("memory:/" + store.root, storage_options={"skip_instance_cache": True})
    assert isinstance(same, FsspecStore)
    assert same == store
    with pytest.raises(TypeError, match="storage_options"):
        FsspecStore(memory, "x", storage_options={"a": 1})
    with pytest.raises(TypeError, match="found int"):
        FsspecStore(5)


def test_an_array_through_a_cached_chain(tmp_path: Path) -> None:
    data = np.arange(60).reshape(6, 10)
    place = f"memory://chain{next(count)}"
    array = omnizarr.create_array(
        place, shape=data.shape, chunks=(2, 5), dtype=data.dtype, storage_options={"global": 1}
    )
    array[...] = data
    options = {"simplecache": {"cache_storage": str(tmp_path)}}
    cached = omnizarr.open_array(f"simplecache::{place}", storage_options=options, mode="r+")
    np.testing.assert_array_equal(cached[...], data)
    assert len(list(tmp_path.iterdir())) >= 6
    cached[0, :3] = 99
    np.testing.assert_array_equal(array[0, :4], [99, 99, 99, 3])
    assert cached[0, 0] == 99, "a copy of what was replaced is not read again"


def test_archives(tmp_path: Path) -> None:
    with ZipStore(tmp_path / "x.zip", mode="w") as store:
        store.set("a/b", b"1")
    for url in (f"zip::{tmp_path}/x.zip", f"zip://::file://{tmp_path}/x.zip"):
        with as_store(url, mode="r") as opened:
            assert isinstance(opened, ZipStore)
            assert opened.get("a/b") == b"1"
    MemoryFileSystem().pipe_file("/archives/x.zip", (tmp_path / "x.zip").read_bytes())
    inside = as_store("zip://a::memory://archives/x.zip")
    assert isinstance(inside, FsspecStore)
    assert inside.read_only
    assert dict(inside.items()) == {"b": b"1"}
    with pytest.raises(ReadOnlyError):
        inside.set("c", b"")


def test_what_cannot_be_opened() -> None:
    with pytest.raises(StoreError, match="nonsense"):
        as_store("nonsense://x")
    try:
        import adlfs  # noqa: F401
    except ImportError:
        with pytest.raises(MissingPackageError):
            FsspecStore("abfs://x")
    program = (
        "import sys; sys.modules['fsspec'] = None\n"
        "import omnizarr\n"
        "try: omnizarr.open('sftp://x/y')\n"
        "except ImportError as error: print(error)"
    )
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(p for p in sys.path if p)}
    done = subprocess.run([sys.executable, "-c", program], env=environment, capture_output=True)
    assert b"pip install 'omnizarr[fsspec]'" in done.stdout, done.stderr


def test_zarr_2_signature(tmp_path: Path) -> None:
    store = FSStore(str(tmp_path / "x"), normalize_keys=True, dimension_separator="/", create=True)
    assert (tmp_path / "x").is_dir()
    store.set("A/B", b"1")
    assert list(store.list()) == ["a/b"]
    assert store.get("a/B") == b"1"
    assert store.dimension_separator == "/"
    reader = FSStore(str(tmp_path / "x"), mode="r", auto_mkdir=True)
    assert reader.get("a/b") == b"1"
    with pytest.raises(ReadOnlyError):
        reader.set("a", b"")
    given = FSStore("fsstore", fs=MemoryFileSystem(), check=True)
    given.set("a", b"2")
    assert MemoryFileSystem().cat_file("/fsstore/a") == b"2"
    assert list(given.list()) == ["a"]


# -- asynchronous filesystems ---------------------------------------------------------------------


def latent(**options: Any) -> FsspecStore:
    return FsspecStore(LatentFileSystem(name=f"own{next(count)}", **options), "b")


def test_many_requests_are_under_way_at_once() -> None:
    store = latent(seconds=0.02)
    data = np.arange(200 * 100).reshape(200, 100)
    array = omnizarr.create_array(store, shape=data.shape, chunks=(1, 100), dtype=data.dtype)
    array[...] = data
    LatentFileSystem.most = 0
    begin = time.perf_counter()
    np.testing.assert_array_equal(array[...], data)
    assert time.perf_counter() - begin < 2.0, "200 waits one after the other take 4 s"
    assert 16 < LatentFileSystem.most <= 64
    LatentFileSystem.most = 0
    keys = [f"c/{i}/0" for i in range(200)]
    assert all(value is not None for value in store.get_many([(key, None) for key in keys]))
    assert 16 < LatentFileSystem.most <= 64


def test_inside_a_running_loop_and_bound_to_it() -> None:
    name = f"own{next(count)}"

    async def work() -> bytes:
        fs = LatentFileSystem(name=name, asynchronous=True)
        await fs._pipe_file("b/a", b"theirs")  # binds it to this loop
        for held in (fs, DirFileSystem("b", fs, asynchronous=True)):
            store = FsspecStore(held, "b" if held is fs else "")
            assert store.get("a") == b"theirs"
            store.set("c/d", b"ours")
            assert list(store.list()) == ["a", "c/d"]
        return bytes(await fs._cat_file("b/c/d"))

    assert asyncio.run(work()) == b"ours"


def test_the_loop_of_fsspec_does_not_wait_for_itself() -> None:
    store = latent()
    store.set("a", b"1")

    async def inside() -> object:
        with pytest.raises(StoreError, match="event loop"):
            store.get("a")
        return 1

    assert fsspec.asyn.sync(fsspec.asyn.get_loop(), inside) == 1


@pytest.mark.parametrize("suffixes", [True, False])
@pytest.mark.parametrize("ignores_ranges", [True, False])
def test_ranges_of_careless_services(suffixes: bool, ignores_ranges: bool) -> None:
    store = latent(suffixes=suffixes, ignores_ranges=ignores_ranges)
    value = bytes(range(50))
    store.set("k", value)
    store.set("empty", b"")
    ranges = [
        *(ByteRange(-n) for n in (1, 49, 50, 51, 500)),
        *(ByteRange(start) for start in (0, 1, 49, 50, 60)),
        *(ByteRange(start, stop) for start in (0, 3, 50, 60) for stop in (0, 3, 5, 50, 51, 120)),
    ]
    for part in ranges:
        assert store.get("k", part) == value[part.start : part.stop], part
        assert store.get("empty", part) == b""
        assert store.get("missing", part) is None
    requests = [(key, part) for part in ranges for key in ("k", "empty", "missing")]
    assert store.get_many(requests) == [store.get(*request) for request in requests]


# -- faults ---------------------------------------------------------------------------------------


class Refused(Exception):
    def __init__(self, status: int) -> None:
        super().__init__(f"answer {status}")
        self.status = status


@pytest.mark.parametrize(
    ("fault", "expected"),
    [
        (PermissionError("no"), StoreAccessError),
        (Refused(403), StoreAccessError),
        (Refused(503), HTTPStatusError),
        (TimeoutError(), StoreTimeoutError),
        (OSError(5, "reset"), StoreError),
        (ConnectionResetError("reset"), StoreError),
        (ValueError("strange"), StoreError),
        (KeyError("strange"), StoreError),
    ],
)
def test_a_fault_is_no_missing_key(fault: Exception, expected: type[Exception]) -> None:
    store = latent()
    array = omnizarr.create_array(store, shape=(4,), chunks=(2,), dtype="i4", fill_value=7)
    array[...] = 1
    path = "b/c/0"
    causes = [fault]
    hidden = FileNotFoundError(path)
    hidden.__cause__ = fault
    if expected is not StoreError or isinstance(fault, OSError | ValueError):
        causes.append(hidden)
    for error in causes:
        LatentFileSystem.faults[path] = error
        with pytest.raises(expected if error is fault else StoreError) as raised:
            array[...]
        assert "c/0" in str(raised.value)
        for call in (store.get, store.size, store.exists):
            with pytest.raises(StoreError):
                call("c/0")
        with pytest.raises(StoreError):
            store.get_many([("c/1", None), ("c/0", None)])
        with pytest.raises(StoreError):
            store.set("c/0", b"")
    LatentFileSystem.faults.clear()
    LatentFileSystem.faults["b"] = causes[-1]
    with pytest.raises(StoreError):
        list(store.list())
    with pytest.raises(StoreError):
        store.list_dir("")


def test_what_counts_as_missing() -> None:
    def caused(cause: BaseException | None) -> FileNotFoundError:
        error = FileNotFoundError("x")
        error.__cause__ = cause
        return error

    for known in (None, KeyError("x"), FileNotFoundError("x"), Refused(404), Refused(410)):
        assert is_missing(caused(known))
    for other in (Refused(500), Refused(403), TimeoutError(), OSError("x")):
        assert not is_missing(caused(other))
    assert not is_missing(PermissionError("x"))


def test_the_deadline(tmp_path: Path) -> None:
    slow = latent(seconds=30.0)
    slow.deadline = 0.3
    slow._use(slow.fs)
    calls: list[Callable[[], object]] = [
        lambda: slow.get("a"),
        lambda: slow.get_many([("a", None), ("b", None)]),
        lambda: slow.set("a", b"1"),
        lambda: slow.size("a"),
        lambda: list(slow.list()),
        lambda: slow.delete("a"),
    ]

    class Stuck(LocalFileSystem):  # type: ignore[misc]
        protocol = "stuck"

        def _open(self, *args: Any, **kwargs: Any) -> Any:
            time.sleep(1.5)
            return super()._open(*args, **kwargs)

    stuck = FsspecStore(Stuck(), str(tmp_path), deadline=0.3)
    calls.append(lambda: stuck.get("a"))
    for call in calls:
        begin = time.monotonic()
        with pytest.raises(StoreTimeoutError, match="deadline"):
            call()
        assert time.monotonic() - begin < 3


def test_values_on_a_file_system_are_replaced_at_once(tmp_path: Path) -> None:
    store = FsspecStore(LocalFileSystem(), str(tmp_path))
    store.set("k", b"old")
    seen: list[list[str]] = []

    def write(self: Any, path: str, value: bytes, **kwargs: Any) -> None:
        (tmp_path / Path(path).name).write_bytes(value[:1])
        seen.append(list(store.list()))
        raise OSError(28, "No space left on device")

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(LocalFileSystem, "pipe_file", write)
        with pytest.raises(StoreError, match="space"):
            store.set("k", b"new")
    assert store.get("k") == b"old"
    assert seen == [["k"]], "a temporary is not listed"
    assert os.listdir(tmp_path) == ["k"]
    with pytest.raises(StoreError):
        store.set("k/below", b"1")
    store.set("p/q", b"1")
    with pytest.raises(StoreError):
        store.set("p", b"1")


def test_a_cache_forgets_half_a_file(tmp_path: Path) -> None:
    MemoryFileSystem().pipe_file("/half/k", b"whole")
    options = {"simplecache": {"cache_storage": str(tmp_path)}}
    store = FsspecStore("simplecache::memory://half", storage_options=options)

    def broken(self: Any, remote: str, local: str, **kwargs: Any) -> None:
        Path(local).write_bytes(b"wh")
        raise ConnectionResetError("reset")

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(MemoryFileSystem, "get_file", broken)
        with pytest.raises(StoreError, match="reset"):
            store.get("k")
    assert store.get("k") == b"whole"


# -- secrets --------------------------------------------------------------------------------------


def test_secrets_are_not_shown() -> None:
    fs = LatentFileSystem(name="secrets", secret="s3cr3t-value")
    store = FsspecStore(fs, "b")
    LatentFileSystem.faults["b/k"] = OSError(5, "cannot sign with s3cr3t-value for ?sig=abcdef&a=1")
    with pytest.raises(StoreError) as raised:
        store.get("k")
    for text in (repr(store), str(raised.value), str(store.identity)):
        assert "s3cr3t" not in text
        assert "abcdef" not in text
    assert "?sig=***&a=***" in str(raised.value), "any value may be a signature"
    web = FsspecStore("http://someone:pa55@127.0.0.1:9/x?token=abc&v=1")
    assert "pa55" not in repr(web) and "abc" not in repr(web)
    assert masked_text("sftp://u:p@h/x?X-Amz-Signature=1&b=2&TOKEN") == (
        "sftp://u:***@h/x?X-Amz-Signature=***&b=***&***"
    )
    assert masked_text("GET http://TOKEN@h/x failed, sftp://me@h/y") == (
        "GET http://***@h/x failed, sftp://me@h/y"
    )
    assert pickle.loads(pickle.dumps(store)).fs.storage_options["secret"] == "s3cr3t-value"


def test_threads_share_a_filesystem_that_is_not_made_for_it(tmp_path: Path) -> None:
    class Single(LocalFileSystem):  # type: ignore[misc]
        protocol = "single"
        busy = 0

        def _open(self, *args: Any, **kwargs: Any) -> Any:
            Single.busy += 1
            time.sleep(0.005)
            assert Single.busy == 1, "two threads at once"
            Single.busy -= 1
            return super()._open(*args, **kwargs)

    LocalStore(tmp_path).set("k", b"value")
    store = FsspecStore(Single(), str(tmp_path))
    wrong: list[object] = []

    def read() -> None:
        for _ in range(5):
            if store.get("k") != b"value":
                wrong.append(1)

    threads = [threading.Thread(target=read) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []


def refused(*answers: int) -> Any:
    """A web server that answers with these statuses."""
    from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

    class Refusing(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(answers[0])
            self.send_header("Content-Length", "0")
            self.end_headers()

        do_HEAD = do_GET

        def log_message(self, *args: Any) -> None:
            pass

    return ThreadingHTTPServer(("127.0.0.1", 0), Refusing)


@pytest.mark.parametrize("chain", ["", "simplecache::"])
def test_a_printed_traceback_shows_no_secret(chain: str) -> None:
    web = refused(401)
    thread = threading.Thread(target=web.serve_forever)
    thread.start()
    try:
        url = f"{chain}http://127.0.0.1:{web.server_port}/x?sig=HUSHHUSH"
        store = FsspecStore(url)
        assert "HUSHHUSH" not in repr(store.identity)
        with pytest.raises(StoreError) as raised:
            store.get("k")
        printed = "".join(traceback.format_exception(raised.value))
        assert "401" in printed
        assert "HUSHHUSH" not in printed
        assert b"HUSHHUSH" not in pickle.dumps(store, 0)
    finally:
        web.shutdown()
        web.server_close()
        thread.join()


def test_a_cause_is_copied_only_if_it_shows_a_secret() -> None:
    plain = ValueError("plain")
    assert cause(plain, ["HUSHHUSH"]) is plain
    try:
        try:
            raise OSError("url=https://h/x?sig=HUSHHUSH")
        except OSError as error:
            raise ValueError("outer") from error
    except ValueError as error:
        copied = cause(error)
    assert str(copied) == "ValueError: outer"
    assert str(copied.__cause__) == "OSError: url=https://h/x?sig=***"


@pytest.mark.parametrize("login", ["u:p@HUSHHUSH", "u:p/HUSHHUSH", "u:p HUSHHUSH", "u:p'HUSHHUSH"])
@pytest.mark.parametrize("scheme", ["simplecache::http", "zip://a::http", "ftp", "nonsense"])
def test_a_password_that_was_not_encoded_is_hidden_whole(scheme: str, login: str) -> None:
    with pytest.raises(StoreError) as raised:
        as_store(f"{scheme}://{login}@127.0.0.1:9/x?jwt=HUSHHUSH").get("k")
    printed = "".join(traceback.format_exception(raised.value))
    assert "HUSH" not in printed.replace("://{login}@127.0.0.1:9/x?jwt=HUSHHUSH", "")
    assert "u:***@127.0.0.1:9/x?jwt=***" in str(raised.value)


def test_a_secret_of_a_url_is_hidden_in_what_others_say(monkeypatch: pytest.MonkeyPatch) -> None:
    known = vars(importlib.import_module("fsspec.registry"))["_registry"]
    monkeypatch.setitem(known, "latent", LatentFileSystem)
    store = FsspecStore("latent://me:HUSH HUSH@b/x?jwt=HUSHHUSH")
    LatentFileSystem.faults[f"{store.root}/k"] = OSError(5, "no HUSH HUSH, no HUSHHUSH")
    with pytest.raises(StoreError) as raised:
        store.get("k")
    assert "HUSH" not in "".join(map(str, (raised.value, raised.value.__cause__, repr(store))))


def test_the_text_of_a_pickle_shows_no_secret() -> None:
    store = FsspecStore(LatentFileSystem(name="pickled", secret="HUSHHUSH"), "b")
    for protocol in range(pickle.HIGHEST_PROTOCOL + 1):
        text = pickle.dumps(store, protocol)
        assert b"HUSHHUSH" not in text
        assert pickle.loads(text).fs.storage_options["secret"] == "HUSHHUSH"


@pytest.mark.parametrize(
    ("url", "module", "distribution"),
    [
        ("sftp://h/x", "paramiko", "paramiko"),
        ("hf://datasets/x", "huggingface_hub", "huggingface_hub"),
        ("simplecache::s3://b/x", "s3fs", "s3fs"),
        ("smb://h/x", "smbclient", "smbprotocol"),
        ("simplecache::https://h/x", "aiohttp", "aiohttp"),
    ],
)
def test_a_missing_package_is_named(
    monkeypatch: pytest.MonkeyPatch, url: str, module: str, distribution: str
) -> None:
    for name in list(sys.modules):
        using = [f"fsspec.implementations.{kind}" for kind in ("sftp", "smb", "http")]
        if name.partition(".")[0] == module or name in using:
            monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, module, None)
    registered: dict[str, Any] = {}
    registry = sys.modules["fsspec.registry"]
    monkeypatch.setattr(registry, "_registry", registered)
    monkeypatch.setattr(registry, "registry", MappingProxyType(registered))
    with pytest.raises(MissingPackageError, match=f"pip install '{distribution}'"):
        as_store(url)


def test_errors_say_where_in_fields() -> None:
    store = latent()
    LatentFileSystem.faults[f"{store.root}/a/k"] = OSError(5, "broken")
    with pytest.raises(StoreError) as caught:
        store.get("a/k")
    where = caught.value.location
    assert where is not None
    assert (where.store, where.name, where.key) == (repr(store), store.url, "a/k")
    assert caught.value.reason == "cannot read its size: OSError: [Errno 5] broken"
