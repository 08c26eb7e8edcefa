"""ZipStore: what other tools see in our archives, and we in theirs; modes, writers, closing."""

from __future__ import annotations

import io
import os
import pickle
import struct
import subprocess
import sys
import threading
import zipfile
from pathlib import Path
from typing import Any

import pytest

from omnizarr.errors import (
    NodeNotFoundError,
    ReadOnlyError,
    StoreClosedError,
    StoreError,
    ZarrError,
)
from omnizarr.stores import ByteRange, LocalStore, Store, ZipStore
from omnizarr.stores.zip import archive as zip_archive
from omnizarr.stores.zip import file as zip_file
from omnizarr.stores.zip import records
from omnizarr.testing import StoreSuite

LARGE = 100_000  # appended at once; smaller values wait for the flush


class TestZipStore(StoreSuite):
    picklable = False
    refuses_after_close = True
    writes_in_a_forked_child = False

    def make_store(self, folder: Path) -> Store:
        return ZipStore(folder / "x.zip", mode="w")

    def reopen(self, store: Store) -> Store:
        assert isinstance(store, ZipStore)
        store.close()
        if os.path.exists(store.path or ""):  # not if nothing was ever written
            assert_sound(store.path)
        return ZipStore(store.path, mode="a")


@pytest.mark.slow
class TestDeflated(TestZipStore):
    many_keys = 200

    def make_store(self, folder: Path) -> Store:
        return ZipStore(str(folder / "x.zip"), mode="a", compression=zipfile.ZIP_DEFLATED)


@pytest.mark.slow
class TestFileObject(StoreSuite):
    picklable = False
    refuses_after_close = True
    writes_in_a_forked_child = False

    def make_store(self, folder: Path) -> Store:
        return ZipStore(io.BytesIO(), mode="w")

    def reopen(self, store: Store) -> Store:
        assert isinstance(store, ZipStore)
        store.close()
        assert_sound(store._file)
        return ZipStore(store._file, mode="a")


def assert_sound(path: Any) -> list[str]:
    """Python's own reader finds one member per name and no damage."""
    with zipfile.ZipFile(path) as archive:
        assert archive.testzip() is None
        names = archive.namelist()
    assert len(names) == len(set(names))
    return sorted(names)


def make(path: Any, members: list[tuple[str, bytes]], method: int = zipfile.ZIP_STORED) -> Any:
    with zipfile.ZipFile(path, "w", method) as archive:
        for name, value in members:
            archive.writestr(name, value)
    return path


# -- modes and arguments ---------------------------------------------------------------------


@pytest.mark.parametrize("links", [True, False])
def test_two_that_create_one_archive(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, links: bool
) -> None:
    def fail(*_: object) -> None:
        raise PermissionError("no links here")

    if not links:
        monkeypatch.setattr(os, "link", fail)
    path = tmp_path / "n.zip"
    one, other = ZipStore(path, mode="a"), ZipStore(path, mode="a")
    one.set("a", b"1")
    other.set("b", b"2")
    one.close()
    with pytest.raises(StoreError, match="by another store or process meanwhile"):
        other.close()
    with ZipStore(path, mode="a") as store:
        assert list(store) == ["a"]
        store.set("c", b"3")
    assert [file.name for file in tmp_path.iterdir()] == ["n.zip"]


def test_modes(tmp_path: Path) -> None:
    path = tmp_path / "sub" / "x.zip"
    with pytest.raises(NodeNotFoundError):
        ZipStore(path, mode="r")
    assert not path.parent.exists()
    with ZipStore(path, mode="x") as store:
        store.set("a", b"1")
    with pytest.raises(StoreError, match="exists"):
        ZipStore(path, mode="x")
    with ZipStore(path) as store:
        assert store.get("a") == b"1"
        store.set("b", b"2")
    with ZipStore(path, mode="r") as store:
        assert list(store.list()) == ["a", "b"]
        with pytest.raises(ReadOnlyError):
            store.set("a", b"")
    with ZipStore(path, mode="a", read_only=True) as store:
        assert store.read_only
    with ZipStore(path, mode="w") as store:
        assert list(store.list()) == []
        with ZipStore(path, mode="r") as other:
            assert list(other.list()) == ["a", "b"], "the old archive stays until the close"
    assert assert_sound(path) == []
    assert os.listdir(path.parent) == ["x.zip"]


def test_positional_arguments_are_those_of_zarr_2(tmp_path: Path) -> None:
    with ZipStore(tmp_path / "x.zip", zipfile.ZIP_DEFLATED, True, "w", "/") as store:
        assert store.dimension_separator == "/"
        store.set("a", b"0" * 1000)
    with zipfile.ZipFile(tmp_path / "x.zip") as archive:
        assert archive.getinfo("a").compress_type == zipfile.ZIP_DEFLATED


def test_a_failing_constructor_destroys_nothing(tmp_path: Path) -> None:
    path = make(tmp_path / "x.zip", [("a", b"1")])
    before = path.read_bytes()
    for options in ({"compression": 99}, {"compression": "w"}, {"mode": "rw"}, {"read_only": True}):
        with pytest.raises(ValueError):
            ZipStore(path, **{"mode": "w", **options})
    with pytest.raises(TypeError):
        ZipStore(5)
    (tmp_path / "folder.zip").mkdir()
    with pytest.raises(StoreError):
        ZipStore(tmp_path / "folder.zip", mode="r")
    assert path.read_bytes() == before
    assert sorted(os.listdir(tmp_path)) == ["folder.zip", "x.zip"]


def test_an_archive_that_is_only_looked_at_is_not_touched(tmp_path: Path) -> None:
    path = make(tmp_path / "x.zip", [("a", b"1"), ("../evil", b"2")])
    before = path.read_bytes(), path.stat().st_mtime_ns
    with ZipStore(path) as store:
        assert store.get("a") == b"1"
        store.delete("missing")
    assert (path.read_bytes(), path.stat().st_mtime_ns) == before
    with ZipStore(tmp_path / "new.zip", mode="a"):
        pass
    assert os.listdir(tmp_path) == ["x.zip"], "nothing was written, so nothing is created"


def test_the_mode_of_the_file_is_kept(tmp_path: Path) -> None:
    path = make(tmp_path / "x.zip", [("a", b"1")])
    path.chmod(0o640)
    with ZipStore(path, mode="w") as store:
        store.set("a", b"2")
    assert path.stat().st_mode & 0o777 == 0o640


def test_a_link_to_an_archive_stays_a_link(tmp_path: Path) -> None:
    make(tmp_path / "real.zip", [("a", b"1")])
    (tmp_path / "link.zip").symlink_to("real.zip")
    with ZipStore(tmp_path / "link.zip", mode="w") as store:
        store.set("b", b"2")
    assert (tmp_path / "link.zip").is_symlink()
    assert assert_sound(tmp_path / "real.zip") == ["b"]


def test_pickling_needs_a_path_and_mode_r(tmp_path: Path) -> None:
    path = make(tmp_path / "x.zip", [("a", b"1")])
    with ZipStore(path, mode="r") as store, pickle.loads(pickle.dumps(store)) as copy:
        assert copy.get("a") == b"1"
        assert copy == store
    with ZipStore(path) as store, pytest.raises(TypeError, match="mode='r'"):
        pickle.dumps(store)
    with ZipStore(io.BytesIO(path.read_bytes()), mode="r") as store, pytest.raises(TypeError):
        pickle.dumps(store)


def test_file_objects_stay_open() -> None:
    file = io.BytesIO()
    with ZipStore(file, mode="w") as store:
        store.set("a", b"1")
        store.set("big", b"x" * LARGE)
    assert not file.closed
    assert assert_sound(file) == ["a", "big"]
    with ZipStore(file) as store:
        store.delete("big")
        store.set("a", b"2")
    assert assert_sound(file) == ["a"]
    with ZipStore(file, mode="r") as store:
        assert store.get("a") == b"2"


# -- one member per key ----------------------------------------------------------------------


@pytest.mark.parametrize("size", [10, LARGE])
def test_replacing_and_deleting_leave_one_member(tmp_path: Path, size: int) -> None:
    path = tmp_path / "x.zip"
    with ZipStore(path, mode="w") as store:
        for turn in range(20):
            store.set("zarr.json", bytes([turn]) * size)
        store.set("gone", b"x" * size)
        store.delete("gone")
    assert assert_sound(path) == ["zarr.json"]
    assert path.stat().st_size < size + 300, "replaced values take no space"
    with ZipStore(path) as store:
        for turn in range(20):
            store.set("zarr.json", bytes([turn]) * size)
            store.flush()
            assert assert_sound(path) == ["zarr.json"]
    assert path.stat().st_size < size + 300
    with ZipStore(path, mode="r") as store:
        assert store.get("zarr.json") == bytes([19]) * size


def test_small_values_do_not_pile_up_in_memory(tmp_path: Path) -> None:
    with ZipStore(tmp_path / "x.zip", mode="w") as store:
        for i in range(600):
            store.set(f"{i % 400}", bytes([i % 251]) * 60_000)
            assert store._waiting_bytes < 9 << 20
        assert store.get("399") == bytes([399 % 251]) * 60_000
    assert len(assert_sound(tmp_path / "x.zip")) == 400


def test_appending_does_not_copy_the_archive(tmp_path: Path) -> None:
    path = make(tmp_path / "x.zip", [(f"c/{i}", os.urandom(LARGE)) for i in range(5)])
    inode, before = path.stat().st_ino, path.read_bytes()
    data_end = before.index(b"PK\1\2")
    with ZipStore(path) as store:
        store.set("c/5", b"x" * LARGE)
        store.set("zarr.json", b"{}")
    assert path.stat().st_ino == inode
    assert path.read_bytes()[:data_end] == before[:data_end]
    assert len(assert_sound(path)) == 7
    assert os.listdir(tmp_path) == ["x.zip"]


def test_a_large_archive_is_not_copied_for_a_few_unused_bytes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(zip_archive, "_CHEAP_TO_COPY", 1000)
    path = make(tmp_path / "x.zip", [("zarr.json", b"{}"), ("c", os.urandom(LARGE))])
    inode = path.stat().st_ino
    with ZipStore(path) as store:
        store.set("zarr.json", b"{1}")
    assert path.stat().st_ino == inode
    assert assert_sound(path) == ["c", "zarr.json"]
    with ZipStore(path) as store:
        store.set("c", b"y" * LARGE)  # now half of it would be unused
    assert path.stat().st_ino != inode
    assert path.stat().st_size < LARGE + 500
    assert assert_sound(path) == ["c", "zarr.json"]


def test_members_that_are_no_keys_survive_a_rewrite(tmp_path: Path) -> None:
    path = tmp_path / "x.zip"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("folder/", b"")
        archive.writestr("../evil", b"evil")
        archive.writestr("a", b"1" * LARGE)
        archive.comment = b"a comment"
    with ZipStore(path) as store:
        store.set("a", b"2" * LARGE)
    assert assert_sound(path) == ["../evil", "a", "folder/"]
    with zipfile.ZipFile(path) as archive:
        assert archive.read("../evil") == b"evil"
        assert archive.comment == b"a comment"


def test_threads_and_flushes(tmp_path: Path) -> None:
    path = tmp_path / "x.zip"
    store = ZipStore(path, mode="w")
    errors: list[BaseException] = []

    def work(worker: int) -> None:
        try:
            for i in range(30):
                value = bytes([worker]) * (LARGE if i % 3 == 0 else 100)
                store.set(f"{worker}/{i % 7}", value)
                assert store.get(f"{worker}/{i % 7}") == value
                if i % 10 == 9:
                    store.flush()
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=work, args=(worker,)) for worker in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    store.close()
    assert errors == []
    assert len(assert_sound(path)) == 28


# -- who else may write ----------------------------------------------------------------------


def test_one_writer_at_a_time(tmp_path: Path) -> None:
    path = make(tmp_path / "x.zip", [("a", b"1")])
    with ZipStore(path) as first, ZipStore(path) as second:
        first.set("b", b"2")
        with pytest.raises(StoreError, match="written by another store"):
            second.set("c", b"3")
        first.flush()
        with pytest.raises(StoreError, match="written by another store"):
            second.set("c", b"3")
        first.close()
        with pytest.raises(StoreError, match="changed since it was opened"):
            second.set("c", b"3")
    assert assert_sound(path) == ["a", "b"]


def test_a_reader_keeps_what_it_opened(tmp_path: Path) -> None:
    path = make(tmp_path / "x.zip", [("a", b"1" * LARGE)])
    with ZipStore(path, mode="r") as reader:
        with ZipStore(path, mode="w") as store:
            store.set("b", b"2" * LARGE)
        assert reader.get("a") == b"1" * LARGE


def test_a_forked_child_does_not_finish_the_parents_archive(tmp_path: Path) -> None:
    path = tmp_path / "x.zip"
    store = ZipStore(path, mode="w")
    store.set("a", b"1" * LARGE)
    child = os.fork()
    if child == 0:
        store.close()
        os._exit(0)
    os.waitpid(child, 0)
    assert not path.exists()
    store.set("b", b"2")
    store.close()
    assert assert_sound(path) == ["a", "b"]


# -- closing ---------------------------------------------------------------------------------


@pytest.mark.parametrize("how", ["del store", "pass", "raise ValueError"])
def test_a_forgotten_close_is_made_up_for(tmp_path: Path, how: str) -> None:
    program = (
        "import sys; from omnizarr.stores import ZipStore\n"
        "store = ZipStore(sys.argv[1], mode='w'); store.set('a', b'1'); keep = [store]\n"
        f"store.set('b', b'2' * 100_000)\n{how}\n"
    )
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(p for p in sys.path if p)}
    subprocess.run(
        [sys.executable, "-c", program, str(tmp_path / "x.zip")],
        env=environment,
        stderr=subprocess.DEVNULL,
    )
    assert assert_sound(tmp_path / "x.zip") == ["a", "b"]
    assert os.listdir(tmp_path) == ["x.zip"]


def test_a_failing_close_says_so_and_leaves_the_old_archive(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = make(tmp_path / "x.zip", [("a", b"1")])
    before = path.read_bytes()

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    for mode in ("w", "a"):
        store = ZipStore(path, mode=mode)
        store.set("a", b"2")
        store.set("b", b"2")
        with monkeypatch.context() as patch:
            patch.setattr(zip_file, "write_fully", full)
            with pytest.raises(StoreError, match="No space left"):
                store.close()
        store.close()
        with pytest.raises(StoreClosedError):
            store.get("a")
        assert path.read_bytes() == before
        assert os.listdir(tmp_path) == ["x.zip"]


# -- archives of others ----------------------------------------------------------------------


@pytest.mark.parametrize("method", [0, 8, 12, 14])
def test_every_method_reads_and_writes(tmp_path: Path, method: int) -> None:
    values = {"empty": b"", "small": b"abc", "flat": b"x" * 3_000_000, "noise": os.urandom(200_000)}
    make(tmp_path / "theirs.zip", list(values.items()), method)
    with ZipStore(tmp_path / "ours.zip", mode="w", compression=method) as store:
        for key, value in values.items():
            store.set(key, value)
    with zipfile.ZipFile(tmp_path / "ours.zip") as archive:
        assert archive.testzip() is None
        assert {info.compress_type for info in archive.infolist()} == {method}
        assert {name: archive.read(name) for name in archive.namelist()} == values
    for name in ("theirs.zip", "ours.zip"):
        with ZipStore(tmp_path / name, mode="r") as store:
            for key, value in values.items():
                assert bytes(store.get(key) or b"") == value
                for wanted in (ByteRange(5, 100), ByteRange(-7), ByteRange(1 << 20), ByteRange(2)):
                    expected = value[wanted.start : wanted.stop]
                    assert bytes(store.get(key, wanted) or b"") == expected
            ranges = [("flat", ByteRange(i, i + 3)) for i in range(5)]
            assert [bytes(part or b"") for part in store.get_many(ranges)] == [b"xxx"] * 5


def test_streamed_and_unicode_members(tmp_path: Path) -> None:
    class Unseekable(io.BytesIO):
        def seekable(self) -> bool:
            return False

        def seek(self, *_: object) -> int:
            raise io.UnsupportedOperation

        def tell(self) -> int:
            raise io.UnsupportedOperation

    file = Unseekable()  # sizes then follow the data
    make(file, [("größe/数据", b"1" * 500), ("b", b"2")], zipfile.ZIP_DEFLATED)
    (tmp_path / "x.zip").write_bytes(file.getvalue())
    with ZipStore(tmp_path / "x.zip") as store:
        assert list(store.list()) == ["b", "größe/数据"]
        assert store.get("größe/数据") == b"1" * 500
        store.set("b", b"3")
    assert assert_sound(tmp_path / "x.zip") == ["b", "größe/数据"]


@pytest.mark.filterwarnings("ignore:Duplicate name")
def test_the_last_of_several_members_counts(tmp_path: Path) -> None:
    path = make(tmp_path / "x.zip", [("a", b"1"), ("b", b"x"), ("a", b"2"), ("./a", b"3")])
    with ZipStore(path, mode="r") as store:
        assert list(store.list()) == ["a", "b"]
        assert store.get("a") == b"3"
    with ZipStore(path) as store:
        store.set("b", b"y")
    assert len(assert_sound(path)) == 2


def test_names_that_are_no_keys_cannot_be_reached(tmp_path: Path) -> None:
    hostile = ["../../evil", "/etc/passwd", "a/../../b", "C:/x", "C:\\x", "a//b", "new\nline", ".."]
    hostile += ["..\\..\\evil", "\\abs", "a/", "./", "x" * 2000]
    path = make(tmp_path / "x.zip", [("good", b"1"), *((name, b"evil") for name in hostile)])
    with ZipStore(path, mode="r") as store:
        assert list(store.list()) == ["good"]
        assert store.list_dir("") == (["good"], [])
        for name in hostile:
            with pytest.raises(ZarrError):
                store.get(name)
    target = LocalStore(tmp_path / "target")
    with ZipStore(path, mode="r") as store:
        for key in store.list():
            target.set(key, store.get(key) or b"")
    assert sorted(os.listdir(tmp_path)) == ["target", "x.zip"]


def test_something_before_and_after_the_archive(tmp_path: Path) -> None:
    archive = io.BytesIO()
    make(archive, [("a", b"1" * 500)])
    path = tmp_path / "x.zip"
    path.write_bytes(b"#!/bin/sh\n" * 50 + archive.getvalue() + b"\n\n")
    with ZipStore(path) as store:
        assert store.get("a") == b"1" * 500
        store.set("b", b"2" * LARGE)
    with ZipStore(path, mode="r") as store:
        assert store.get("a") == b"1" * 500
    assert assert_sound(path) == ["a", "b"]


@pytest.mark.parametrize(
    ("names", "root"),
    [
        (["x.zarr/.zgroup", "x.zarr/a/.zarray", "x.zarr/a/0"], "x.zarr/"),
        (["x/zarr.json", "x/c/0"], "x/"),
        (["x/", "x/.zarray", "x/0", "__MACOSX/x/._.zarray", ".DS_Store"], "x/"),
        (["x/attributes.json", "x/s0/0"], "x/"),
        (["x/meta", "x/attrs", "x/0"], "x/"),
        ([".zgroup", "x/.zgroup"], ""),
        (["x/.zgroup", "y/.zgroup"], ""),
        (["x/y/.zgroup"], ""),
        (["x/0.0", "x/0.1"], ""),
        (["readme", "x/.zgroup"], ""),
        ([], ""),
    ],
)
def test_a_store_one_folder_down(tmp_path: Path, names: list[str], root: str) -> None:
    path = make(tmp_path / "x.zip", [(name, name.encode()) for name in names])
    with ZipStore(path, mode="r") as store:
        expected = {
            name[len(root) :]: name.encode()
            for name in names
            if name.startswith(root) and not name.endswith("/")
        }
        assert {key: store.get(key) for key in store.list()} == expected
    with ZipStore(path, mode="r", root="") as store:
        assert len(list(store.list())) == len([name for name in names if name[-1] != "/"])
    with ZipStore(path) as store:
        store.set("new", b"1")
    assert root + "new" in assert_sound(path)


def test_a_store_of_ours_is_never_taken_for_one_a_folder_down(tmp_path: Path) -> None:
    path = tmp_path / "x.zip"
    with ZipStore(path, mode="w") as store:
        store.set("only/zarr.json", b"{}")
    for _ in range(2):
        with ZipStore(path) as store:
            assert list(store.list()) == ["only/zarr.json"]
            store.set("only/zarr.json", b"{1}")


# -- ZIP64 -----------------------------------------------------------------------------------


@pytest.mark.slow
def test_more_members_than_16_bits_count(tmp_path: Path) -> None:
    path = tmp_path / "x.zip"
    with ZipStore(path, mode="w") as store:
        for i in range(66_000):
            store.set(f"{i}", b"")
    with zipfile.ZipFile(path) as archive:
        assert len(archive.namelist()) == 66_000
    with ZipStore(path, mode="r") as store:
        assert len(list(store.list())) == 66_000
    with pytest.raises(StoreError, match="ZIP64"), ZipStore(path, allowZip64=False) as store:
        store.set("a", b"1")
    assert len(zipfile.ZipFile(path).namelist()) == 66_000


def test_positions_beyond_32_bits() -> None:
    """Records alone: an archive of 5 GiB is not written here."""
    large = 5 << 30
    entries = [
        records.new_entry("a", 0, 1, large, large, 0),
        records.new_entry("b", 0, 2, 10, 10, large + 100),
    ]
    start = large + 200
    tail = records.directory_bytes(entries, start, b"comment")

    def read(offset: int, length: int) -> bytes:
        missing = max(start - offset, 0)
        return b"\0" * missing + tail[max(offset - start, 0) : offset - start + length]

    found = records.read_directory(read, start + len(tail))
    assert found[:3] == (entries, start, b"comment")
    assert struct.pack("<2Q", large, large) in records.local_header(entries[0])


def test_a_store_one_folder_down_has_two_addresses(tmp_path: Path) -> None:
    path = tmp_path / "x.zip"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("top.zarr/zarr.json", "{}")
        archive.writestr("top.zarr/a/zarr.json", "{1}")
    with ZipStore(path, mode="r") as store:
        assert store.get("a/zarr.json") == store.get("top.zarr/a/zarr.json") == b"{1}"
        assert store.get_many([("top.zarr/zarr.json", None)]) == [b"{}"]
        assert store.size("top.zarr/a/zarr.json") == 3
        assert list(store.list()) == ["a/zarr.json", "zarr.json"]
        assert list(store.list_prefix("top.zarr/a/")) == ["top.zarr/a/zarr.json"]
        assert store.list_dir("top.zarr/") == (["top.zarr/zarr.json"], ["top.zarr/a/"])
    with ZipStore(path, mode="a") as store:  # one name for each value where values are written
        assert store.get("top.zarr/zarr.json") is None
