"""LocalStore: files, what is not a file, what leads out of the root, and several writers."""

from __future__ import annotations

import contextlib
import errno
import multiprocessing
import os
import pickle
import shutil
import socket
import stat
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from omnizarr import limits
from omnizarr.engine import update
from omnizarr.errors import ConflictError, InvalidKeyError, LimitError, ReadOnlyError, StoreError
from omnizarr.model.store import Buffer
from omnizarr.stores import (
    ByteRange,
    DirectoryStore,
    LocalStore,
    NestedDirectoryStore,
    Store,
    TempStore,
)
from omnizarr.stores.local import containment, files, several, temporary_names
from omnizarr.stores.local.containment import Beneath
from omnizarr.testing import StoreSuite

fork = multiprocessing.get_context("fork")


class TestLocalStore(StoreSuite):
    def make_store(self, folder: Path) -> Store:
        return LocalStore(folder / "x.zarr")

    def reopen(self, store: Store) -> Store:
        assert isinstance(store, LocalStore)
        return LocalStore(store.root)

    def as_read_only(self, store: Store) -> Store:
        assert isinstance(store, LocalStore)
        return LocalStore(store.root, read_only=True)


@pytest.mark.slow
class TestLocalStoreWithFsync(TestLocalStore):
    many_keys = 50

    def make_store(self, folder: Path) -> Store:
        return LocalStore(str(folder / "x.zarr"), fsync=True, follow_symlinks=True)


@pytest.mark.slow
class TestTempStore(StoreSuite):
    def make_store(self, folder: Path) -> Store:
        return TempStore(dir=folder)


@pytest.fixture
def store(tmp_path: Path) -> LocalStore:
    return LocalStore(tmp_path / "root")


def everything(folder: Path) -> list[str]:
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*"))


# -- what stands where -----------------------------------------------------------------------


def test_keys_are_paths(tmp_path: Path) -> None:
    store = LocalStore(tmp_path / "a" / "b")
    store.set("x/y", b"1")
    assert (tmp_path / "a/b/x/y").read_bytes() == b"1"
    assert everything(tmp_path) == ["a", "a/b", "a/b/x", "a/b/x/y"]
    store.delete("x/y")
    assert everything(tmp_path) == ["a", "a/b"], "emptied directories go, the root stays"


def test_nothing_is_created_by_looking(tmp_path: Path) -> None:
    store = LocalStore(tmp_path / "x")
    assert store.get("a/b") is None
    assert store.get_many([("a", None), ("b", ByteRange(1))]) == [None, None]
    assert (store.size("a"), store.exists("a")) == (None, False)
    assert list(store.list()) == []
    assert store.list_dir("a/") == ([], [])
    store.delete("a/b")
    store.delete_prefix("a/")
    store.delete_prefix("")
    assert everything(tmp_path) == []


def test_a_relative_root_stays_where_it_was(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    store = LocalStore("x")
    (tmp_path / "other").mkdir()
    monkeypatch.chdir(tmp_path / "other")
    store.set("a", b"1")
    assert everything(tmp_path) == ["other", "x", "x/a"]


def test_names_and_identity(tmp_path: Path) -> None:
    assert DirectoryStore is LocalStore
    assert NestedDirectoryStore(tmp_path).dimension_separator == "/"
    assert LocalStore(tmp_path).dimension_separator is None
    assert LocalStore(tmp_path, dimension_separator="/").dimension_separator == "/"
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to("real")
    one, two = LocalStore(tmp_path / "real"), LocalStore(f"{tmp_path}/link/")
    assert one == two and hash(one) == hash(two)
    assert one.identity == two.identity
    two.set("a", b"1")
    assert one.get("a") == b"1", "the root itself may be a link"
    assert pickle.loads(pickle.dumps(one)) == one
    for wrong in ("", "a\0b"):
        with pytest.raises(InvalidKeyError):
            LocalStore(wrong)
    with pytest.raises(TypeError):
        LocalStore(b"x")  # type: ignore[arg-type]


def test_the_root_of_the_file_system_can_be_read(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"1")
    store = LocalStore("/", read_only=True, follow_symlinks=True)
    assert store.get(str(tmp_path / "a")[1:]) == b"1"


def test_new_files_follow_the_umask(store: LocalStore) -> None:
    before = os.umask(0o027)
    try:
        store.set("a/b", b"1")
    finally:
        os.umask(before)
    assert stat.S_IMODE((store.root / "a/b").stat().st_mode) == 0o640
    assert stat.S_IMODE((store.root / "a").stat().st_mode) == 0o750


def test_a_temp_store_goes_away(tmp_path: Path) -> None:
    store = TempStore(suffix=".zarr", prefix="test", dir=tmp_path)
    store.set("a", b"1")
    copy = pickle.loads(pickle.dumps(store))
    assert type(copy) is LocalStore
    assert copy.get("a") == b"1"
    del copy
    assert store.get("a") == b"1", "a copy does not end it"
    if os.fork() == 0:
        store.close()
        os._exit(0)
    os.wait()
    assert store.get("a") == b"1", "a forked child does not end it"
    del store
    assert everything(tmp_path) == []


# -- keys that a directory cannot hold -------------------------------------------------------


def test_a_value_and_a_prefix_exclude_each_other(store: LocalStore) -> None:
    store.set("a/b", b"1")
    for key, reason in (("a", "there are keys below it"), ("a/b/c", "a value is stored above it")):
        for write in (store.set, store.set_if_absent):
            with pytest.raises(StoreError, match=reason):
                write(key, b"2")
    with pytest.raises(StoreError, match="a value is stored above it"), store.lock("a/b/c"):
        pass
    assert everything(store.root) == ["a", "a/b"]
    assert store.get("a") is None
    assert store.get("a", ByteRange(0, 1)) is None
    assert store.get("a/b/c") is None


def test_a_name_longer_than_the_file_system_allows(store: LocalStore) -> None:
    for key in ("x" * 300, "x" * 300 + "/y", "a/" + "ü" * 200):
        assert store.get(key) is None
        assert store.size(key) is None
        store.delete(key)
        with pytest.raises(StoreError, match="cannot write"):
            store.set(key, b"1")
    assert [path for path in store.root.rglob("*") if path.is_file()] == []


def test_a_name_as_long_as_the_file_system_allows(store: LocalStore) -> None:
    for key in ("x" * 255, "a/" + "ü" * 127):
        with store.lock(key):
            store.set(key, b"1")
        assert store.get(key) == b"1"
    assert len(list(store.list())) == 2
    assert len([path for path in store.root.rglob("*") if path.is_file()]) == 2


@pytest.mark.parametrize("key", [".~a", "a/.~b", ".~0-1-2.partial", "a/.~b.lock/c"])
def test_reserved_names_are_refused(store: LocalStore, key: str) -> None:
    for call in (
        lambda: store.get(key),
        lambda: store.size(key),
        lambda: store.set(key, b"1"),
        lambda: store.delete(key),
    ):
        with pytest.raises(InvalidKeyError, match="reserve"):
            call()


def test_names_that_are_no_keys_are_not_listed(store: LocalStore) -> None:
    store.set("a/b", b"1")
    for name in (b"back\\slash", b"line\nbreak", b".~tmp", b"\xff\xfe", b".~x.lock"):
        with open(os.path.join(os.fsencode(store.root), name), "wb"):
            pass
    os.mkdir(os.path.join(os.fsencode(store.root), b"bad\\dir"))
    assert list(store.list()) == ["a/b"]
    assert store.list_dir("") == ([], ["a/"])


# -- what is not a regular file --------------------------------------------------------------


def test_a_fifo_neither_hangs_nor_is_empty(store: LocalStore) -> None:
    store.set("a", b"1")
    os.mkfifo(store.root / "pipe")
    for call in (
        lambda: store.get("pipe"),
        lambda: store.get("pipe", ByteRange(0, 5)),
        lambda: store.get_many([("pipe", None)]),
        lambda: store.size("pipe"),
    ):
        with pytest.raises(StoreError, match=r"'pipe' is not a regular file"):
            call()


def test_a_socket_is_not_a_value(store: LocalStore, monkeypatch: pytest.MonkeyPatch) -> None:
    store.set("a", b"1")
    monkeypatch.chdir(store.root)  # the path of a socket must be short
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind("s")
        with pytest.raises(StoreError, match="not a regular file"):
            store.get("s")


def test_an_unreadable_file_is_a_failure(
    store: LocalStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    store.set("a", b"1")

    def refuse(*_: object) -> int:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Beneath, "read", lambda *_: -13)
    monkeypatch.setattr(Beneath, "open", refuse)
    with pytest.raises(StoreError, match=r"LocalStore\(.*cannot read 'a'") as raised:
        store.get("a")
    assert isinstance(raised.value.__cause__, PermissionError)


def test_a_huge_sparse_file_is_not_read_whole(store: LocalStore) -> None:
    store.set("a", b"1")
    with open(store.root / "a", "r+b") as file:
        file.truncate(1 << 40)
    assert store.size("a") == 1 << 40
    assert store.get("a", ByteRange(0, 2)) == b"1\0"
    assert store.get("a", ByteRange(-2)) == b"\0\0"
    with pytest.raises(LimitError, match="max_chunk_bytes"):
        store.get("a")
    with limits.override(max_chunk_bytes=10), pytest.raises(LimitError):
        store.get("a", ByteRange(0, 11))


# -- symbolic links --------------------------------------------------------------------------


@pytest.fixture
def secret(tmp_path: Path) -> Path:
    folder = tmp_path / "secret"
    (folder / "sub").mkdir(parents=True)
    (folder / "file").write_bytes(b"secret")
    (folder / "sub" / "file").write_bytes(b"secret")
    return folder


def test_a_link_to_a_file_is_not_followed(store: LocalStore, secret: Path) -> None:
    store.set("a/real", b"1")
    (store.root / "a/outside").symlink_to(secret / "file")
    (store.root / "a/inside").symlink_to("real")
    (store.root / "a/broken").symlink_to("nowhere")
    for name in ("outside", "inside", "broken"):
        for call in (store.get, store.size, store.exists):
            with pytest.raises(StoreError, match="follow_symlinks=True"):
                call(f"a/{name}")
        with pytest.raises(StoreError, match="follow_symlinks=True"):
            store.get(f"a/{name}", ByteRange(0, 1))
    trusting = LocalStore(store.root, follow_symlinks=True)
    assert trusting.get("a/outside") == b"secret"
    assert trusting.get("a/inside") == b"1"
    assert trusting.get("a/broken") is None
    assert list(trusting.list()) == ["a/inside", "a/outside", "a/real"]


def test_without_descriptors_a_link_to_a_file_is_not_followed(
    store: LocalStore, secret: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Windows: paths in place of descriptors, and no flag that stops at a link."""
    monkeypatch.setattr(containment, "HAS_DESCRIPTORS", False)
    monkeypatch.setattr(containment, "NOFOLLOW", 0)
    monkeypatch.setattr(containment, "opener", lambda: None)
    store.set("a/real", b"1")
    (store.root / "a/outside").symlink_to(secret / "file")
    fresh = LocalStore(store.root)
    fresh._read_flags &= ~os.O_NOFOLLOW
    with pytest.raises(StoreError, match="follow_symlinks=True"):
        fresh.get("a/outside")
    assert fresh.get("a/real") == b"1"
    assert fresh.get("a") is None and fresh.get("b") is None


@pytest.mark.parametrize("direct", [True, False])
def test_links_in_the_path_of_the_root_are_resolved_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, direct: bool
) -> None:
    if not direct:
        monkeypatch.setattr(containment, "opener", lambda: None)
    for name in ("one", "two"):
        LocalStore(tmp_path / name / "x").set("a/b", name.encode())
    (tmp_path / "way").symlink_to("one")
    store = LocalStore(tmp_path / "way" / "x")
    assert store.get("a/b") == store.get("a/b") == b"one"
    assert store.list_dir("a/").keys == ["a/b"]
    (tmp_path / "way").unlink()
    (tmp_path / "way").symlink_to("two")
    assert store.get("a/b") == b"one" and store.get("c") is None
    assert LocalStore(tmp_path / "way" / "x").get("a/b") == b"two"


def test_a_root_that_becomes_a_link_is_followed(tmp_path: Path) -> None:
    store = LocalStore(tmp_path / "here")
    store.set("a", b"1")
    assert store.get("a") == b"1"
    (tmp_path / "here").rename(tmp_path / "there")
    (tmp_path / "here").symlink_to("there")
    assert store.get("a") == store.get("a") == b"1"
    assert list(store.list()) == ["a"]


def test_a_directory_link_out_of_the_root_is_not_followed(store: LocalStore, secret: Path) -> None:
    store.set("a/real", b"1")
    (store.root / "a/out").symlink_to(secret)
    (store.root / "up").symlink_to("../secret")
    (store.root / "a/via").symlink_to("../up")
    for prefix in ("a/out", "up", "a/via"):
        for key in (f"{prefix}/file", f"{prefix}/sub/file", f"{prefix}/new", f"{prefix}/n/e/w"):
            for call in (
                lambda key=key: store.get(key),
                lambda key=key: store.get(key, ByteRange(0, 1)),
                lambda key=key: store.size(key),
                lambda key=key: store.set(key, b"x"),
                lambda key=key: store.set_if_absent(key, b"x"),
                lambda key=key: store.delete(key),
                lambda key=key: store.lock(key).__enter__(),
            ):
                with pytest.raises(StoreError, match="leads outside the store"):
                    call()
        with pytest.raises(StoreError, match="leads outside the store"):
            list(store.list_prefix(prefix + "/"))
        with pytest.raises(StoreError, match="leads outside the store"):
            store.list_dir(prefix + "/")
    with pytest.raises(StoreError, match="leads outside the store"):
        list(store.list())
    assert LocalStore(store.root, follow_symlinks=True).get("a/out/sub/file") == b"secret"
    assert everything(secret) == ["file", "sub", "sub/file"]


def test_many_values_of_one_directory_are_read_as_one_by_one(
    store: LocalStore, secret: Path
) -> None:
    for n in range(6):
        store.set(f"a/{n}", b"%d" % n)
    (store.root / "same").symlink_to("a")
    keys = [f"{folder}/{n}" for folder in ("a", "same", "missing") for n in range(20)]
    requests = [(key, None) for key in keys] + [("a/3", ByteRange(0, 1))] * 5
    assert store.get_many(requests) == [store.get(*request) for request in requests]
    trusting = LocalStore(store.root, follow_symlinks=True)
    assert trusting.get_many(requests) == store.get_many(requests)

    (store.root / "a/link").symlink_to(secret / "file")
    (store.root / "out").symlink_to(secret)
    for folder, match in (("a", "follow_symlinks=True"), ("out", "leads outside the store")):
        names = [("link", None), *((f"file{n}", None) for n in range(20))]
        with pytest.raises(StoreError, match=match):
            store.get_many([(f"{folder}/{name}", part) for name, part in names])
    for folder in ("..", "../secret", "a/../../secret", "a\0"):
        with pytest.raises(InvalidKeyError):
            store.get_many([(f"{folder}/file{n}", None) for n in range(20)])


@pytest.mark.parametrize("part", [None, ByteRange(0), ByteRange(0, 5), ByteRange(2), ByteRange(-3)])
def test_many_small_values_are_read_as_one_by_one(
    store: LocalStore, secret: Path, part: ByteRange | None
) -> None:
    """Of each kind one, also beyond what is read by one call."""
    large = several._SMALL_BYTES
    for n, size in enumerate([0, 1, 4, large - 1, large, large + 1, 5 * large]):
        store.set(f"a/{n}", bytes(range(256)) * (size // 256 + 1))
    (store.root / "same").symlink_to("a")
    keys = [f"{folder}/{n}" for folder in ("a", "same", "missing") for n in range(20)]
    keys += ["a", *(f"none/{n}" for n in range(several._MOST)), "a/1", "a/1/below"]
    for reading in (store, LocalStore(store.root, follow_symlinks=True)):
        found = reading.get_many([(key, part) for key in keys])
        assert found == [reading.get(key, part) for key in keys]
    assert found[0] is not None and found[8] is None
    empty = LocalStore(store.root / "nothing")
    assert empty.get_many([(key, part) for key in keys]) == [None] * len(keys)

    names = [(f"b/{n}", part) for n in range(20)]
    for key, match in (("a\0b", "invalid"), ("../a", "invalid"), (".~1", "reserves")):
        with pytest.raises(InvalidKeyError, match=match):
            store.get_many([*names, (key, part)])
    (store.root / "out").symlink_to(secret)
    with pytest.raises(StoreError, match="leads outside the store"):
        store.get_many([*names, ("out/file", part)])
    os.mkfifo(store.root / "pipe")
    with pytest.raises(StoreError, match="pipe"):
        store.get_many([*names, ("pipe", part)])


def test_a_directory_link_inside_the_root_is_followed(store: LocalStore) -> None:
    store.set("a/b", b"1")
    (store.root / "same").symlink_to("a")
    assert store.get("same/b") == b"1"
    store.set("same/c", b"2")
    assert store.get("a/c") == b"2"
    assert list(store.list()) == ["a/b", "a/c", "same/b", "same/c"]


def test_links_in_a_ring_end_the_listing(store: LocalStore) -> None:
    store.set("a/b/c", b"1")
    (store.root / "a/b/up").symlink_to("../..")
    with pytest.raises(StoreError, match="its own parent"):
        list(store.list())
    (store.root / "a/b/up").unlink()
    (store.root / "a/x").symlink_to("../d")
    (store.root / "d").mkdir()
    (store.root / "d/y").symlink_to("../a")
    with pytest.raises(StoreError, match="its own parent"):
        list(store.list())


def test_a_link_in_a_ring_hides_nothing_beside_it(store: LocalStore) -> None:
    store.set("a/b/c", b"1")
    (store.root / "a/up").symlink_to("..")
    assert store.list_dir("a/").prefixes == ["a/b/", "a/up/"]
    assert store.list_dir("a/b/").keys == ["a/b/c"]
    for prefix in ("a/up/", "a/up/a/"):
        with pytest.raises(StoreError, match="its own parent"):
            store.list_dir(prefix)


def test_removing_never_follows_a_link(store: LocalStore, secret: Path) -> None:
    store.set("a/b", b"1")
    (store.root / "a/out").symlink_to(secret)
    (store.root / "a/file").symlink_to(secret / "file")
    (store.root / "top").symlink_to(secret)
    store.delete("a/file")
    store.delete_prefix("a/")
    store.delete_prefix("top/")
    assert everything(store.root) == []
    store.set("a/b", b"1")
    (store.root / "top").symlink_to(secret)
    (store.root / "file").symlink_to(secret / "file")
    store.delete_prefix("")
    assert everything(store.root) == []
    assert everything(secret) == ["file", "sub", "sub/file"]


def test_writing_replaces_a_link_and_leaves_its_target(store: LocalStore, secret: Path) -> None:
    store.set("a", b"1")
    (store.root / "link").symlink_to(secret / "file")
    LocalStore(store.root, follow_symlinks=True).set("link", b"mine")
    assert (secret / "file").read_bytes() == b"secret"
    assert store.get("link") == b"mine"


def test_a_deep_tree_needs_no_recursion(store: LocalStore) -> None:
    key = "/".join(["a"] * 500)
    limit = sys.getrecursionlimit()
    store.set(key, b"1")
    sys.setrecursionlimit(250)
    try:
        fresh = LocalStore(store.root)
        assert list(fresh.list()) == [key]
        assert LocalStore(store.root).get(key) == b"1"
    finally:
        sys.setrecursionlimit(limit)
    store.delete(key)
    assert everything(store.root) == []


# -- replaced whole or not at all ------------------------------------------------------------


@pytest.mark.parametrize("call", ["open", "write", "fsync", "replace", "link", "close"])
@pytest.mark.parametrize("error", [OSError(28, "No space left"), KeyboardInterrupt()])
def test_a_failing_call_leaves_the_old_value_and_nothing_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, call: str, error: BaseException
) -> None:
    store = LocalStore(tmp_path, fsync=call != "close")
    store.set("a/b", b"old")
    real = getattr(os, call)

    def failing(*arguments: object, **options: object) -> object:
        if call == "open" and not (isinstance(arguments[1], int) and arguments[1] & os.O_CREAT):
            return real(*arguments, **options)
        if call == "close":
            real(*arguments, **options)
        raise error

    with monkeypatch.context() as patch:
        patch.setattr(os, call, failing)
        with pytest.raises(StoreError if isinstance(error, OSError) else KeyboardInterrupt):
            if call == "link":
                store.set_if_absent("a/c", b"new")
            store.set("a/b", b"new")
    assert {key: store.get(key) for key in store.list()} == {"a/b": b"old"}
    assert [name for name in everything(tmp_path) if ".~" in name] == []


def test_short_writes_are_continued(store: LocalStore, monkeypatch: pytest.MonkeyPatch) -> None:
    real = os.write
    monkeypatch.setattr(os, "write", lambda file, data: real(file, data[:7]))
    value = bytes(range(250))
    for kind in (bytes, bytearray, memoryview):
        store.set("a", kind(value))
        assert store.get("a") == value


def test_short_reads_are_continued(store: LocalStore, monkeypatch: pytest.MonkeyPatch) -> None:
    value = bytes(range(250))
    store.set("a", value)
    real = os.pread
    monkeypatch.setattr(files, "pread", lambda file, n, at: real(file, min(n, 7), at))
    assert store.get("a") == value
    assert store.get("a", ByteRange(3, 200)) == value[3:200]


def test_set_if_absent_without_hard_links(
    store: LocalStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise PermissionError(1, "Operation not permitted")

    monkeypatch.setattr(os, "link", refuse)
    assert store.set_if_absent("a/b", b"1")
    assert not store.set_if_absent("a/b", b"2")
    assert store.get("a/b") == b"1"
    assert everything(store.root) == ["a", "a/b"]


@pytest.mark.parametrize("links", [True, False])
def test_set_if_absent_waits_for_who_holds_the_lock(
    store: LocalStore, monkeypatch: pytest.MonkeyPatch, links: bool
) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise PermissionError(1, "Operation not permitted")

    if not links:
        monkeypatch.setattr(os, "link", refuse)
    inside = threading.Event()

    def hold() -> None:
        with store.lock("a/b"):
            assert store.get("a/b") is None
            inside.set()
            time.sleep(0.3)
            store.set("a/b", b"seen to be absent, then set")

    thread = threading.Thread(target=hold)
    thread.start()
    inside.wait(10)
    assert not LocalStore(store.root).set_if_absent("a/b", b"in between")
    thread.join()
    assert store.get("a/b") == b"seen to be absent, then set"
    with store.lock("c"):
        assert store.set_if_absent("c", b"ours")
        assert not store.set_if_absent("c", b"again")
    assert everything(store.root) == ["a", "a/b", "c"]


def test_deleting_inside_a_lock_leaves_no_directory(store: LocalStore) -> None:
    store.set("a/b/c", b"1")
    with store.lock("a/b/c"):
        store.delete("a/b/c")
    assert everything(store.root) == []


def test_set_if_absent_without_locks(store: LocalStore, monkeypatch: pytest.MonkeyPatch) -> None:
    import fcntl

    def refuse(*_: object) -> None:
        raise OSError(38, "Function not implemented")

    monkeypatch.setattr(fcntl, "flock", refuse)
    assert store.set_if_absent("a", b"1")
    assert not store.set_if_absent("a", b"2")
    assert store.get("a") == b"1"


@pytest.mark.slow
def test_directories_that_vanish_are_made_again(store: LocalStore) -> None:
    """One thread removes the directory all the time, others write and lock in it."""
    stop = threading.Event()
    errors: list[BaseException] = []

    def remove() -> None:
        while not stop.is_set():
            store.delete_prefix("a/")
            stop.wait(0.001)

    def write(worker: int) -> None:
        try:
            for i in range(100):
                store.set(f"a/b/{worker}", b"x")
                store.set_if_absent(f"a/c/{worker}-{i}", b"x")
                with store.lock(f"a/d/{worker}"):
                    store.delete(f"a/b/{worker}")
        except BaseException as error:
            errors.append(error)

    remover = threading.Thread(target=remove)
    writers = [threading.Thread(target=write, args=(worker,)) for worker in range(2)]
    for thread in (remover, *writers):
        thread.start()
    for thread in writers:
        thread.join()
    stop.set()
    remover.join()
    store.delete_prefix("a/")
    assert errors == []
    assert everything(store.root) == []


# -- several processes -----------------------------------------------------------------------


def _count(root: Path, times: int) -> None:
    store = LocalStore(root)
    for _ in range(times):
        with store.lock("deep/count"):
            value = store.get("deep/count")
            store.set("deep/count", str(int(value or b"0") + 1).encode())


def test_processes_and_threads_lose_no_update(store: LocalStore) -> None:
    processes = [fork.Process(target=_count, args=(store.root, 700)) for _ in range(3)]
    for process in processes:
        process.start()
    threads = [threading.Thread(target=_count, args=(store.root, 200)) for _ in range(2)]
    for thread in threads:
        thread.start()
    for task in (*threads, *processes):
        task.join()
    assert [process.exitcode for process in processes] == [0, 0, 0]
    assert store.get("deep/count") == b"2500"
    assert everything(store.root) == ["deep", "deep/count"], "locks leave nothing"


def test_a_lock_ends_with_its_process(store: LocalStore) -> None:
    program = (
        "import sys, time; from omnizarr.stores import LocalStore\n"
        "with LocalStore(sys.argv[1]).lock('a/b'):\n"
        "    print('held', flush=True); time.sleep(60)\n"
    )
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(p for p in sys.path if p)}
    holder = subprocess.Popen(
        [sys.executable, "-c", program, str(store.root)],
        stdout=subprocess.PIPE,
        text=True,
        env=environment,
    )
    assert holder.stdout is not None
    assert holder.stdout.readline() == "held\n"
    assert everything(store.root) == ["a", "a/.~b.lock"]
    taken = threading.Event()

    def take() -> None:
        with store.lock("a/b"):
            taken.set()

    thread = threading.Thread(target=take)
    thread.start()
    assert not taken.wait(0.1)
    assert store.sweep() == [], "a held lock is not swept"
    holder.kill()
    holder.wait()
    holder.stdout.close()
    assert taken.wait(10)
    thread.join()
    assert everything(store.root) == ["a"]


def test_a_forked_child_does_not_prolong_a_lock(store: LocalStore) -> None:
    with store.lock("a"):
        child = os.fork()
        if child == 0:
            time.sleep(20)
            os._exit(0)
    try:
        taken = threading.Event()

        def take() -> None:
            with store.lock("a"):
                taken.set()

        thread = threading.Thread(target=take, daemon=True)
        thread.start()
        assert taken.wait(5)
    finally:
        os.kill(child, 9)
        os.waitpid(child, 0)


def test_a_child_forked_inside_a_lock_leaves_it_to_the_parent(store: LocalStore) -> None:
    lock = store.lock("a")
    with lock:
        child = os.fork()
        if child == 0:
            lock.__exit__(None, None, None)
            os._exit(0)
        assert os.waitpid(child, 0)[1] == 0
        assert everything(store.root) == [".~a.lock"], "the parent still holds it"
    assert everything(store.root) == []


def test_set_if_absent_has_one_winner_among_processes(store: LocalStore) -> None:
    def race(number: int) -> None:
        won = [i for i in range(200) if store.set_if_absent(f"k/{i}", str(number).encode())]
        store.set(f"won/{number}", ",".join(map(str, won)).encode())

    processes = [fork.Process(target=race, args=(number,)) for number in range(3)]
    for process in processes:
        process.start()
    for process in processes:
        process.join()
    winners = [bytes(store.get(f"won/{number}") or b"").decode() for number in range(3)]
    won = [int(i) for line in winners if line for i in line.split(",")]
    assert sorted(won) == list(range(200))


@pytest.mark.skipif(sys.platform == "win32", reason="there are no lock files to look at")
@pytest.mark.parametrize("how", ["take", "lock"])
def test_an_interrupt_while_a_lock_is_taken_leaves_it_free(store: LocalStore, how: str) -> None:
    import fcntl

    store.set("a/b", b"1")
    for moment in range(1000):
        left = moment

        def interrupt(frame: object, event: str, argument: object) -> None:
            nonlocal left
            if event in ("call", "c_return"):  # where Python looks for signals
                left -= 1
                if left < 0:
                    sys.setprofile(None)
                    raise KeyboardInterrupt

        taken = store._locks.take("a/b", True) if how == "take" else store.lock("a/b")
        try:
            sys.setprofile(interrupt)
            with taken:
                sys.setprofile(None)
                break  # there were fewer moments
        except KeyboardInterrupt:
            del taken
        for name in (store.root / "a").iterdir():
            with name.open("rb") as file:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)  # raises if it is locked
    assert 10 < moment < 999


def test_a_file_system_without_locks_is_named(
    store: LocalStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    import fcntl

    def refuse(*_: object) -> None:
        raise OSError(38, "Function not implemented")

    monkeypatch.setattr(fcntl, "flock", refuse)
    with pytest.raises(StoreError, match="locking=False"), store.lock("a"):
        pass
    unlocked = LocalStore(store.root, locking=False)
    assert not unlocked.capabilities.locks
    with unlocked.lock("a"):
        unlocked.set("a", b"1")


# -- leftovers -------------------------------------------------------------------------------


def test_what_a_killed_writer_leaves_is_hidden_and_swept(store: LocalStore) -> None:
    store.set("a/b", b"1")
    child = os.fork()
    if child == 0:  # dies between writing the temporary and renaming it
        os.replace = lambda *_, **__: os._exit(9)  # type: ignore[assignment]
        store.set("a/c", b"2")
    os.waitpid(child, 0)
    dead = temporary_names.temporary_name().split("-")
    dead[1] = str(child)
    aside = store.root / "-".join(dead).replace(".partial", ".deleted")
    (aside / "sub").mkdir(parents=True)
    (store.root / "a" / ".~b.lock").touch()
    alive = store.root / temporary_names.temporary_name()
    alive.touch()
    foreign = store.root / ".~00000000-1-0.partial"
    foreign.touch()
    assert list(store.list()) == ["a/b"]
    assert store.list_dir("") == ([], ["a/"])
    removed = store.sweep()
    assert len(removed) == 3
    assert alive.exists() and foreign.exists()
    os.utime(foreign, (0, 0))
    os.utime(alive, (0, 0))
    assert store.sweep() == [foreign.name]
    alive.unlink()
    assert everything(store.root) == ["a", "a/b"]


def test_read_only_stores_write_nothing(store: LocalStore) -> None:
    store.set("a/b", b"1")
    frozen = LocalStore(store.root, read_only=True)
    for call in (lambda: frozen.lock("a/b"), frozen.sweep):
        with pytest.raises(ReadOnlyError):
            call()
    assert everything(store.root) == ["a", "a/b"]


def test_files_stay_few(store: LocalStore) -> None:
    """No descriptor is lost, also where reading fails."""
    store.set("a", b"1")
    (store.root / "link").symlink_to("a")
    os.mkfifo(store.root / "pipe")
    (store.root / "dir").mkdir()
    before = len(os.listdir("/proc/self/fd"))
    for _ in range(20):
        store.get("a")
        store.get("dir")
        store.get("missing")
        with store.lock("a"):
            store.set("a", b"1")
        for keys in (["pipe"], ["link"], ["a", "pipe"], ["a", "../x"]):
            with pytest.raises((StoreError, InvalidKeyError)):
                store.get_many([(key, None) for key in keys])
    assert len(os.listdir("/proc/self/fd")) == before


# -- locks and directories that others delete or move ----------------------------------------


def test_publishing_never_takes_the_lock_file_of_another_holder(store: LocalStore) -> None:
    other = LocalStore(store.root)
    with store.lock("c/1"):
        other.delete_prefix("c/")
        holder = other.lock("c/1")
        holder.__enter__()
        store.set("c/1", b"v")
        holder.__exit__(None, None, None)
    assert store.get("c/1") == b"v"
    assert everything(store.root) == ["c", "c/1"]


def test_a_set_that_lost_its_lock_waits_for_the_new_holder(store: LocalStore) -> None:
    other, held, done = LocalStore(store.root), threading.Event(), threading.Event()

    def hold() -> None:
        with other.lock("c/1"):
            before = other.get("c/1")
            held.set()
            done.wait(0.3)
            other.set("c/1", b"" if before is None else before)

    thread = threading.Thread(target=hold)
    with store.lock("c/1"):
        other.delete_prefix("c/")
        thread.start()
        held.wait(10)
        store.set("c/1", b"v")
        done.set()
    thread.join()
    assert store.get("c/1") == b"v"
    assert everything(store.root) == ["c", "c/1"]


@pytest.mark.parametrize("change", ["set", "delete", "set_if_absent"])
def test_what_was_read_before_the_lock_was_lost_is_not_written(
    store: LocalStore, change: str
) -> None:
    other = LocalStore(store.root)
    store.set("c/1", b"old")
    with store.lock("c/1"):
        assert store.get("c/1") == b"old"
        other.delete_prefix("c/")
        if change != "set_if_absent":
            other.set("c/1", b"new")
        with pytest.raises(ConflictError, match="read it again"):
            {
                "set": lambda: store.set("c/1", b"old and more"),
                "delete": lambda: store.delete("c/1"),
                "set_if_absent": lambda: store.set_if_absent("c/1", b"old and more"),
            }[change]()
    assert store.get("c/1") == (None if change == "set_if_absent" else b"new")


def another(path: Path, value: bytes) -> None:
    """What another writer stores without the lock, as the native core does."""
    new = path.with_name("new")
    new.write_bytes(value)
    new.replace(path)


def test_what_was_stored_without_a_lock_since_none_was_found_is_not_replaced(
    store: LocalStore,
) -> None:
    with store.lock("c/1"):
        assert store.get("c/1") is None
        another(store.root / "c/1", b"other")
        for change in (lambda: store.set("c/1", b"mine"), lambda: store.delete("c/1")):
            with pytest.raises(ConflictError, match="'c/1' was changed by another writer"):
                change()
        assert store.get("c/1") == b"other"
        store.set("c/1", b"other and mine")
    assert store.get("c/1") == b"other and mine"
    assert everything(store.root) == ["c", "c/1"]


def test_another_value_in_place_of_the_one_that_was_read_is_not_replaced(store: LocalStore) -> None:
    """A root is deleted file by file, without locks, and may then be written anew."""
    store.set("a", b"old")
    with store.lock("a"):
        assert store.get("a") == b"old"
        (store.root / "a").unlink()
        with pytest.raises(ConflictError):
            store.set("a", b"old and mine")
        assert store.get("a") is None
        another(store.root / "a", b"new")
        with pytest.raises(ConflictError):
            store.set("a", b"mine")
    assert store.get("a") == b"new"


def test_who_took_the_lock_does_not_matter_for_what_was_found(store: LocalStore) -> None:
    with LocalStore(store.root).lock("a"):
        assert store.get("a") is None
        another(store.root / "a", b"other")
        with pytest.raises(ConflictError):
            store.set("a", b"mine")
    assert store.get("a") == b"other"


def test_an_update_that_is_overtaken_begins_anew(store: LocalStore) -> None:
    for key, locked in (("c/1", False), ("c/2", True)):
        found: list[Buffer | None] = []

        def append(held: Store, key: str = key, found: list[Buffer | None] = found) -> None:
            found.append(old := held.get(key))
            if len(found) == 1:
                another(store.root / key, b"other")
            held.set(key, bytes(old or b"") + b" and mine")

        with store.lock(key) if locked else contextlib.nullcontext():
            update(store, key, append)
        assert found == [None, b"other"]
        assert store.get(key) == b"other and mine"


def test_a_new_value_is_replaced_by_who_has_not_looked_or_has_stored_it(store: LocalStore) -> None:
    with store.lock("unseen"):
        another(store.root / "unseen", b"other")
        store.set("unseen", b"mine")
    with store.lock("twice"):
        assert store.get("twice") is None
        store.set("twice", b"first")
        store.set("twice", b"second")
    with store.lock("if absent"):
        assert store.get("if absent") is None
        assert store.set_if_absent("if absent", b"first")
        store.set("if absent", b"second")
    with store.lock("there"):
        another(store.root / "there", b"other")
        assert not store.set_if_absent("there", b"mine")
        assert store.get("there") == b"other"
        store.set("there", b"second")
    store.set("again", b"old")
    with store.lock("again"):
        assert store.get("again") == b"old"
        store.delete("again")
        store.set("again", b"second")
    store.set("deleted", b"old")
    with store.lock("deleted"):
        assert store.get("deleted") == b"old"
        store.delete("deleted")
        another(store.root / "deleted", b"other")
        with pytest.raises(ConflictError):
            store.set("deleted", b"mine")
        assert store.get("deleted") == b"other"
        store.delete("deleted")
    second = dict.fromkeys(("again", "if absent", "there", "twice"), b"second")
    assert {key: store.get(key) for key in store.list()} == {"unseen": b"mine", **second}


def test_a_store_that_has_written_can_be_pickled(store: LocalStore) -> None:
    store.set("a/b", b"1")
    with store.lock("a/b"):
        text = pickle.dumps(store)
    assert b"key_locks" not in text
    again = pickle.loads(text)
    again.set("a/c", b"2")
    assert sorted(again.list()) == ["a/b", "a/c"]


def test_many_values_have_the_limit_of_one(store: LocalStore) -> None:
    keys = [f"k/{number}" for number in range(20)]
    for key in keys:
        store.set(key, bytes(200))
    with limits.override(max_chunk_bytes=100), pytest.raises(LimitError):
        store.get_many([(key, None) for key in keys])
    assert store.get_many([(key, None) for key in keys]) == [bytes(200)] * 20


def test_a_new_value_under_a_lock_without_hard_links(
    store: LocalStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_args: object, **_options: object) -> None:
        raise OSError(errno.EPERM, "no links here")

    monkeypatch.setattr(os, "link", refuse)
    with store.lock("a/b"):
        assert store.get("a/b") is None
        store.set("a/b", b"1")
    assert store.get("a/b") == b"1"
    assert everything(store.root) == ["a", "a/b"]


def test_a_lock_moves_with_its_directory_and_excludes_no_writer_at_the_old_path(
    store: LocalStore,
) -> None:
    store.set("c/1", b"old")
    with store.lock("c/1"):
        store.move_prefix("c/", "d/")
        store.set("c/1", b"new")
    assert {key: store.get(key) for key in store.list()} == {"c/1": b"new", "d/1": b"old"}
    assert everything(store.root) == ["c", "c/1", "d", "d/1"]


def test_a_second_set_after_one_that_failed_is_whole(
    store: LocalStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = os.write

    def half(file: int, data: bytes) -> int:
        real(file, data[:3])
        raise OSError(28, "No space left")

    with store.lock("a"):
        with monkeypatch.context() as patch:
            patch.setattr(os, "write", half)
            with pytest.raises(StoreError):
                store.set("a", b"first")
        store.set("a", b"2")
    assert store.get("a") == b"2"


def test_a_set_through_another_store_does_not_wait_for_its_own_thread(store: LocalStore) -> None:
    with store.lock("a"):
        LocalStore(store.root).set("a", b"1")
    assert store.get("a") == b"1"
    assert everything(store.root) == ["a"]


def test_a_descriptor_is_used_per_directory_where_the_system_call_is_missing(
    store: LocalStore, secret: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(containment, "opener", lambda: None)
    store.set("a/b/c", b"1")
    (store.root / "same").symlink_to("a")
    (store.root / "a/absolute").symlink_to(store.root / "a/b")
    (store.root / "a/out").symlink_to(secret)
    (store.root / "ring").symlink_to("ring")
    assert store.get("same/b/c") == b"1" == store.get("same/absolute/c")
    assert store.get("a/b/nothing") is None is store.get("a/b/c/d")
    assert store.get("a/b") is None
    with pytest.raises(StoreError, match="leads outside the store"):
        store.get("same/out/file")
    for call in (store.get, store.exists, lambda key: store.set(key, b"")):
        with pytest.raises(StoreError):
            call("ring/a")
    (store.root / "ring").unlink()
    (store.root / "a/b/up").symlink_to("..")
    with pytest.raises(StoreError, match="its own parent"):
        list(store.list())


@pytest.mark.parametrize("direct", [True, False])
def test_swapping_a_directory_for_a_link_leads_nowhere(
    store: LocalStore, secret: Path, monkeypatch: pytest.MonkeyPatch, direct: bool
) -> None:
    """A directory is swapped for a link to the outside and back, between any two calls."""
    if not direct:
        monkeypatch.setattr(containment, "opener", lambda: None)
    store.set("d/file", b"mine")
    aside, link = store.root / ".aside", store.root / ".link"
    (store.root / "d").rename(aside)
    link.symlink_to(secret)
    stop = threading.Event()

    def swap() -> None:
        place = store.root / "d"
        while not stop.is_set():
            for thing in (aside, link):
                try:
                    thing.rename(place)
                except OSError:  # a writer has created it
                    shutil.rmtree(place, ignore_errors=True)
                else:
                    place.rename(thing)

    thread = threading.Thread(target=swap)
    thread.start()
    try:
        for number in range(200):
            for call in (
                lambda: store.get("d/file"),
                lambda: store.size("d/file"),
                lambda: store.set(f"d/new{number % 5}", b"x"),  # noqa: B023 - called at once
                lambda: store.delete("d/file2"),
                lambda: [*store.list_prefix("d/")],
            ):
                with contextlib.suppress(StoreError):
                    found = call()
                    assert found in (None, b"mine", 4) or "d/sub/file" not in found
    finally:
        stop.set()
        thread.join()
    assert everything(secret) == ["file", "sub", "sub/file"]


def test_what_a_killed_deletion_left_is_removed_by_the_next_writer(store: LocalStore) -> None:
    def leave() -> None:
        store.set("x/0", b"1")
        child = os.fork()
        if child == 0:
            files.remove_tree = lambda *_, **__: os._exit(9)
            store.delete_prefix("x/")
        os.waitpid(child, 0)

    leave()
    assert store.leftovers() == (1, 1)
    assert store.get("x/0") is None
    fresh = LocalStore(store.root)
    fresh.set("y/0", b"1")
    assert everything(store.root) == ["y", "y/0"]
    leave()
    fresh.delete_prefix("y/")
    assert everything(store.root) == []
