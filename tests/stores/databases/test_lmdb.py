"""LMDBStore: one environment per path, a map that grows, other files, forks, modes."""

from __future__ import annotations

import gc
import os
import pickle
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import lmdb
import pytest

from omnizarr.errors import InvalidKeyError, NodeNotFoundError, ReadOnlyError, StoreError
from omnizarr.stores import ByteRange, LMDBStore, Store, as_store
from omnizarr.stores.databases import lmdb_environment
from omnizarr.testing import StoreSuite
from tests.stores.databases import forking

pytestmark = pytest.mark.slow


class TestLMDBStore(StoreSuite):
    refuses_after_close = True

    def make_store(self, folder: Path) -> Store:
        return LMDBStore(folder / "x.lmdb")

    def reopen(self, store: Store) -> Store:
        assert isinstance(store, LMDBStore)
        store.close()
        return LMDBStore(store.path)


class TestASmallMap(TestLMDBStore):
    """The map grows again and again while the suite runs."""

    many_keys = 500

    def make_store(self, folder: Path) -> Store:
        return LMDBStore(folder / "x.lmdb", map_size=64 << 10, fsync=True)

    def reopen(self, store: Store) -> Store:
        assert isinstance(store, LMDBStore)
        store.close()
        return LMDBStore(store.path, map_size=64 << 10)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "x.lmdb"


# -- the environment that others see ----------------------------------------------------------


def test_keys_are_their_bytes(path: Path) -> None:
    with LMDBStore(path) as store:
        store.set("a/0.0", b"\0\1")
        store.set("grüße", b"{}")
    with lmdb.open(str(path)) as env, env.begin() as transaction:
        assert list(transaction.cursor()) == [(b"a/0.0", b"\0\1"), ("grüße".encode(), b"{}")]


def test_foreign_keys(path: Path) -> None:
    with lmdb.open(str(path)) as env, env.begin(write=True) as transaction:
        for key in (b"\xff", b"../x", b"a//b", b"a/\n", b"good", b"a/z"):
            transaction.put(key, b"1")
    with LMDBStore(path) as store:
        assert list(store.list()) == ["a/z", "good"]
        assert store.list_dir("") == (["good"], ["a/"])
        store.delete_prefix("")
        assert list(store.list()) == []


def test_long_keys_are_refused(path: Path) -> None:
    with LMDBStore(path) as store:
        store.set("é" * 255, b"1")  # 510 bytes
        for call in (store.get, store.size, store.delete, lambda key: store.set(key, b"2")):
            with pytest.raises(InvalidKeyError, match="511"):
                call("é" * 256)
        with pytest.raises(InvalidKeyError, match="511"):
            store.move_prefix("é" * 200 + "/", "x/") or store.set("x/" + "y" * 600, b"")
        assert list(store.list()) == ["é" * 255]


def test_two_stores_share_one_environment(path: Path, tmp_path: Path) -> None:
    link = tmp_path / "link.lmdb"
    link.symlink_to(path)
    reader = LMDBStore(path, read_only=True)
    assert reader.get("a") is None
    first, second = LMDBStore(path), LMDBStore(link)
    assert first == second and first.identity == reader.identity
    first.set("a", b"1")
    assert second.get("a") == reader.get("a") == b"1"
    first.close()
    second.set("a", b"2")
    second.close()
    assert reader.get("a") == b"2"
    with pytest.raises(ReadOnlyError):
        reader.set("a", b"3")
    del reader
    gc.collect()
    assert os.path.realpath(path) not in lmdb_environment._shared


def test_a_reader_becomes_a_neighbour_of_a_writer(path: Path) -> None:
    LMDBStore(path).set("a", b"1")
    gc.collect()
    with LMDBStore(path, read_only=True) as reader:
        assert reader.get("a") == b"1"
        with LMDBStore(path) as writer:
            writer.set("a", b"2")
            assert reader.get("a") == b"2"
        assert reader.get("a") == b"2"


def test_adopting(path: Path) -> None:
    with lmdb.open(str(path), map_size=1 << 20) as env:
        store = as_store(env)
        assert isinstance(store, LMDBStore)
        store.set("a", b"1" * (2 << 20))
        assert store.size("a") == 2 << 20
        with pytest.raises(TypeError, match="pickle"):
            pickle.dumps(store)
        store.close()
        with env.begin() as transaction:
            assert len(transaction.get(b"a")) == 2 << 20


def test_a_single_file(tmp_path: Path) -> None:
    name = str(tmp_path / "one.lmdb")
    with lmdb.open(name, subdir=False) as env, env.begin(write=True) as transaction:
        transaction.put(b"a", b"1")
    with as_store(str(tmp_path / "one.lmdb"), mode="r") as store:
        assert isinstance(store, LMDBStore) and store.get("a") == b"1"


# -- the map ----------------------------------------------------------------------------------


def test_the_map_grows_while_threads_read(path: Path) -> None:
    with LMDBStore(path, map_size=64 << 10) as store:
        store.set("k", b"0" * 1000)
        stop = threading.Event()
        wrong: list[Any] = []

        def read() -> None:
            while not stop.is_set():
                value = store.get("k")
                with store.snapshot("k") as part:
                    if value is None or part(ByteRange(0, 1)) != b"0":
                        wrong.append(value)

        threads = [threading.Thread(target=read) for _ in range(3)]
        for thread in threads:
            thread.start()
        try:
            for i in range(40):
                store.set(f"v/{i}", b"x" * 100_000)
        finally:
            stop.set()
            for thread in threads:
                thread.join()
        assert wrong == []
        assert store.get("v/39") == b"x" * 100_000


def test_another_process_lets_the_map_grow(path: Path) -> None:
    program = (
        "import sys; from omnizarr.stores import LMDBStore; store = LMDBStore(sys.argv[1]);"
        "store.set('large', b'x' * (3 << 20)); print(len(store.get('small')))"
    )
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    with LMDBStore(path, map_size=256 << 10) as store:
        store.set("small", b"1")
        for _ in range(2):
            done = subprocess.run(
                [sys.executable, "-c", program, str(path)], env=environment, capture_output=True
            )
            assert (done.stdout, done.stderr) == (b"1\n", b"")
        assert store.get("large", ByteRange(-2)) == b"xx"
        store.set("more", b"y" * (9 << 20))
        assert store.size("more") == 9 << 20


def test_no_growth_inside_a_snapshot(path: Path) -> None:
    with LMDBStore(path, map_size=64 << 10) as store:
        store.set("k", b"0")
        with store.snapshot("k") as read:
            with pytest.raises(StoreError, match="snapshot"):
                store.set("large", b"x" * (1 << 20))
            assert read(None) == b"0"
        store.set("large", b"x" * (1 << 20))


def test_a_snapshot_is_of_one_version(path: Path) -> None:
    with LMDBStore(path) as store:
        store.set("k", b"a" * 100_000)
        with store.snapshot("k") as read:
            for _ in range(5):
                store.set("k", b"b" * 100_000)
            assert read(ByteRange(-2)) == b"aa"
        assert store.get("k", ByteRange(0, 2)) == b"bb"


def test_versions_see_what_others_write(path: Path) -> None:
    with lmdb.open(str(path)) as env, LMDBStore(path, environment=env) as store:
        store.set("k", b"1")
        seen = store.get_versioned("k")
        assert seen is not None
        with env.begin(write=True) as transaction:
            transaction.put(b"k", b"2")
        assert not store.set_if_version("k", b"3", seen.version)
        assert store.get("k") == b"2"


# -- other files -----------------------------------------------------------------------------------


@pytest.mark.parametrize("content", [b"x" * 100, b"x" * 100_000, b"\0" * 8192])
def test_no_environment(path: Path, content: bytes) -> None:
    path.mkdir()
    (path / "data.mdb").write_bytes(content)
    for read_only in (True, False):
        with (
            LMDBStore(path, read_only=read_only) as store,
            pytest.raises(StoreError, match="cannot read 'a'"),
        ):
            store.get("a")
    assert (path / "data.mdb").read_bytes() == content


# -- forks and modes --------------------------------------------------------------------------


@forking.needs_fork
def test_forking_while_threads_write(path: Path) -> None:
    with LMDBStore(path, map_size=64 << 10) as store:
        forking.forking_while_threads_write(store)


@forking.needs_fork
def test_a_child_of_a_reading_thread_is_refused(path: Path) -> None:
    with LMDBStore(path) as store:
        forking.refusing_the_child_of_a_reading_thread(store, snapshot_too=False)


def test_urls_and_modes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for mode in ("r", "r+"):
        with pytest.raises(NodeNotFoundError):
            as_store("x.lmdb", mode=mode)
    with LMDBStore("x.lmdb", read_only=True) as store:
        assert store.get("a") is None and list(store.list()) == []
    with LMDBStore("x.lmdb") as store:
        store.delete("a")
        store.delete_prefix("")
    assert os.listdir(tmp_path) == []
    for name in ("x.lmdb", f"lmdb://{tmp_path}/a%20b", "lmdb://deep/rel"):
        with as_store(name, storage_options={"map_size": 1 << 20}) as store:
            assert isinstance(store, LMDBStore)
            store.set("a", b"1")
        with as_store(name, mode="r") as store:
            assert store.read_only and store.get("a") == b"1"
    with pytest.raises(TypeError, match="nonsense"):
        as_store("x.lmdb", storage_options={"nonsense": "secret"})
