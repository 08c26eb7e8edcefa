"""ZipStore after crashes, and with archives that were damaged or made to do harm."""

from __future__ import annotations

import io
import os
import random
import signal
import struct
import time
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from omnizarr import limits
from omnizarr.errors import LimitError, StoreError
from omnizarr.stores import ByteRange, LocalStore, ZipStore
from omnizarr.stores.zip.archive import Archive

pytestmark = pytest.mark.slow

LARGE = 100_000  # appended at once; smaller values wait for the flush


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


# -- crashes ---------------------------------------------------------------------------------


def crash(path: Path, work: Callable[[ZipStore], None], mode: str = "a") -> None:
    """Let a child process open the archive, do `work`, and die without closing."""
    child = os.fork()
    if child == 0:
        try:
            store = ZipStore(path, mode=mode)  # type: ignore[arg-type]
            work(store)
        finally:
            os._exit(9)
    os.waitpid(child, 0)


def test_a_crash_while_appending_loses_only_what_was_not_flushed(tmp_path: Path) -> None:
    path = make(tmp_path / "x.zip", [(f"c/{i}", bytes([i]) * LARGE) for i in range(3)])
    before = path.read_bytes()

    def work(store: ZipStore) -> None:
        store.set("flushed", b"1" * LARGE)
        store.flush()
        store.set("lost", b"2" * (3 * LARGE))
        store.delete("c/1")

    crash(path, work)
    for _ in range(2):  # reading repairs nothing and needs no repair
        with ZipStore(path, mode="r") as store:
            assert list(store.list()) == ["c/0", "c/1", "c/2", "flushed"]
            assert store.get("c/1") == b"\1" * LARGE
            assert store.get("flushed", ByteRange(-2)) == b"11"
    with ZipStore(path) as store:
        store.set("next", b"3")
        store.delete("flushed")
    assert assert_sound(path) == ["c/0", "c/1", "c/2", "next"]
    assert os.listdir(tmp_path) == ["x.zip"]
    crash(path, lambda store: store.set("lost", b"2" * LARGE))
    with ZipStore(path) as store:  # a writer that only looks leaves the repair to the next
        assert "lost" not in list(store.list())
    with ZipStore(path) as store:
        store.delete("next")
    assert assert_sound(path) == ["c/0", "c/1", "c/2"]
    assert len(before) - 200 < path.stat().st_size < len(before) + 200


def test_a_reader_beside_a_writer_sees_the_last_flush(tmp_path: Path) -> None:
    path = make(tmp_path / "x.zip", [("a", b"1" * LARGE)])
    with ZipStore(path) as writer:
        writer.set("b", b"2" * LARGE)
        with ZipStore(path, mode="r") as reader:
            assert list(reader.list()) == ["a"]
            assert reader.get("a") == b"1" * LARGE
        writer.flush()
        writer.set("c", b"3" * LARGE)
        with ZipStore(path, mode="r") as reader:
            assert list(reader.list()) == ["a", "b"]
            assert reader.get("b") == b"2" * LARGE


def test_a_crash_of_a_new_archive_leaves_the_old_one(tmp_path: Path) -> None:
    path = make(tmp_path / "x.zip", [("a", b"1")])
    crash(path, lambda store: store.set("b", b"2" * LARGE), mode="w")
    assert assert_sound(path) == ["a"]
    assert len(os.listdir(tmp_path)) == 2
    LocalStore(tmp_path).sweep()
    assert os.listdir(tmp_path) == ["x.zip"]


def die_at_change(fatal: int, work: Callable[[], None]) -> int:
    """Do `work` in a child that dies at the given change to the disk; its exit code."""
    child = os.fork()
    if child != 0:
        return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    changes = 0

    def counted(real: Callable[..., Any]) -> Callable[..., Any]:
        def change(*arguments: Any, **options: Any) -> Any:
            nonlocal changes
            if changes == fatal:
                if real.__name__ == "write":  # torn in the middle
                    real(arguments[0], arguments[1][: len(arguments[1]) // 2])
                os._exit(9)
            changes += 1
            return real(*arguments, **options)

        return change

    code = 1
    try:
        for name in ("write", "ftruncate", "fsync", "replace", "unlink", "link", "chmod"):
            setattr(os, name, counted(getattr(os, name)))
        work()
        code = 0
    finally:
        os._exit(code)


def test_every_interruption_of_an_append_is_survived(tmp_path: Path) -> None:
    """Die at the Nth change to the disk, for every N, until the work is done."""
    path = tmp_path / "x.zip"
    original = io.BytesIO()
    make(original, [("a", b"1" * LARGE), ("b", b"2")])
    old = {"a": b"1" * LARGE, "b": b"2"}
    middle = {**old, "b": b"4", "c": b"3" * LARGE}
    new = {"b": b"4", "c": b"3" * LARGE, "d": b"5" * LARGE}

    def work() -> None:
        store = ZipStore(path)
        store.set("c", b"3" * LARGE)
        store.set("b", b"4")
        store.flush()
        store.delete("a")
        store.set("d", b"5" * LARGE)
        store.close()

    seen: list[int] = []
    code = 9
    while code == 9:
        for name in os.listdir(tmp_path):
            os.unlink(tmp_path / name)
        path.write_bytes(original.getvalue())
        code = die_at_change(len(seen), work)
        for mode in ("r", "a"):
            with ZipStore(path, mode=mode) as store:
                found = {key: store.get(key) for key in store.list()}
                assert found in (old, middle, new)
                if mode == "r":
                    seen.append((old, middle, new).index(found))
                else:
                    store.set("more", b"6")
        assert set(assert_sound(path)) == {*found, "more"}
    assert code == 0
    assert seen == sorted(seen)
    assert set(seen) == {0, 1, 2}


def test_a_copied_archive_can_be_repaired_too(tmp_path: Path) -> None:
    path = make(tmp_path / "x.zip", [("a", b"1" * LARGE)])
    crash(path, lambda store: store.set("b", b"2" * LARGE))
    copy = tmp_path / "copy"
    copy.mkdir()
    for name in os.listdir(tmp_path):
        if name != "copy":
            (copy / name).write_bytes((tmp_path / name).read_bytes())
    with ZipStore(copy / "x.zip", mode="r") as store:
        assert {key: store.get(key) for key in store.list()} == {"a": b"1" * LARGE}


def test_a_stale_rollback_file_is_ignored(tmp_path: Path) -> None:
    path = make(tmp_path / "x.zip", [("a", b"1" * LARGE)])
    crash(path, lambda store: store.set("b", b"2" * LARGE))
    path.unlink()
    make(path, [("new", b"3" * LARGE)])
    for mode in ("r", "a"):
        with ZipStore(path, mode=mode) as store:
            assert list(store.list()) == ["new"]
            if mode == "a":
                store.set("more", b"4")
    assert assert_sound(path) == ["more", "new"]
    assert os.listdir(tmp_path) == ["x.zip"]
    (tmp_path / ".~x.zip.rollback").write_bytes(b"garbage")
    with ZipStore(path, mode="r") as store:
        assert list(store.list()) == ["more", "new"]


# -- hostile archives ------------------------------------------------------------------------


def central(path: Path) -> int:
    return path.read_bytes().rindex(b"PK\1\2")


def patch(path: Path, at: int, layout: str, *values: int) -> None:
    data = bytearray(path.read_bytes())
    struct.pack_into(layout, data, at, *values)
    path.write_bytes(data)


def test_a_bomb_is_not_inflated(tmp_path: Path) -> None:
    path = make(tmp_path / "x.zip", [("bomb", b"\0" * (300 << 20))], zipfile.ZIP_DEFLATED)
    with ZipStore(path, mode="r") as store:
        with pytest.raises(LimitError, match="max_expansion"):
            store.get("bomb")
        assert store.get("bomb", ByteRange(0, 16)) == b"\0" * 16
        assert store.size("bomb") == 300 << 20


@pytest.mark.parametrize("method", [8, 12, 14])
def test_a_member_that_lies_about_its_size(tmp_path: Path, method: int) -> None:
    path = make(tmp_path / "x.zip", [("a", b"\0" * 10_000_000)], method)
    for declared in (1000, 9_999_999, 10_000_001, 200_000_000):
        patch(path, central(path) + 24, "<L", declared)
        patch(path, 22, "<L", declared)
        with ZipStore(path, mode="r") as store:
            with pytest.raises(StoreError, match=r"key 'a'.*(declared|checksum)"):
                store.get("a")
            if declared > 1 << 20:  # less is seen through before ten bytes are returned
                assert store.get("a", ByteRange(0, 10)) == b"\0" * 10


def test_a_stored_member_that_lies(tmp_path: Path) -> None:
    path = make(tmp_path / "x.zip", [("a", b"0123456789")])
    at = central(path)
    original = path.read_bytes()
    for offset, layout, value in (
        (24, "<L", 1 << 30),  # the size
        (20, "<L", 1 << 30),  # the compressed size
        (42, "<L", 5),  # the position of the member
        (42, "<L", 1 << 30),
        (16, "<L", 12345),  # the checksum
        (10, "<H", 77),  # the method
        (8, "<H", 1),  # encrypted
    ):
        path.write_bytes(original)
        patch(path, at + offset, layout, value)
        with ZipStore(path, mode="r") as store, pytest.raises(StoreError, match="key 'a'"):
            store.get("a")


def test_a_damaged_name_shows_no_other_members_values(tmp_path: Path) -> None:
    members = [(f"a/c/{i}", bytes([i]) * 50) for i in range(4)]
    original = make(io.BytesIO(), members).getvalue()
    directory = original.index(b"PK\1\2")
    for at in (original.index(b"a/c/3"), original.index(b"a/c/3", directory)):
        data = bytearray(original)
        data[at + 4] ^= 2  # "3" becomes "1"
        store = ZipStore(io.BytesIO(data), mode="r")
        for i, (key, value) in enumerate(members):
            # In the directory, two members are called "a/c/1" now and none "a/c/3".
            if i == 3 or (i == 1 and at > directory):
                with pytest.raises(StoreError, match=r"key 'a/c/[13]'.*(differ|directory has)"):
                    store.get(key)
            else:
                assert store.get(key) == value


def test_a_member_with_a_damaged_name_is_not_missing(tmp_path: Path) -> None:
    members = [("a/zarr.json", b"{}"), ("a/c/0", b"0" * 20), ("b/zarr.json", b"{}")]
    original = make(io.BytesIO(), members).getvalue()
    at = original.index(b"a/c/0", original.index(b"PK\1\2"))
    data = bytearray(original)
    data[at + 2] ^= 4
    for _ in range(2):
        with ZipStore(io.BytesIO(data), mode="r") as store:
            assert store.get("a/c/1") is None
            assert store.get("a/c/12") is None
            for asked in (lambda: store.get("a/c/0"), lambda: store.exists("a/c/0")):
                with pytest.raises(StoreError, match=r"a/g/0"):
                    asked()
            assert {"a/c/0", "a/g/0"} < set(store.list())
        data[at - 1] ^= 1  # the offset too: what the name was cannot be known
        data[at - 4] ^= 1
        with ZipStore(io.BytesIO(data), mode="r") as store:
            with pytest.raises(StoreError, match="may be its damaged name"):
                store.get("a/c/0")
            assert store.get("a/c/12") is None
            with pytest.raises(StoreError, match=r"cannot be listed.*'a/g/0'"):
                list(store.list())
        data[at - 1] ^= 1
        data[at - 4] ^= 1
    original_path = tmp_path / "x.zip"
    original_path.write_bytes(data)
    with ZipStore(original_path) as store:  # writing does not make the damage permanent
        store.set("b/zarr.json", b"[]")
    with ZipStore(original_path) as store:
        assert store.get("b/zarr.json") == b"[]"
        with pytest.raises(StoreError, match=r"a/g/0"):
            store.get("a/c/0")


@pytest.mark.parametrize("sealed", [True, False], ids=["omnizarr", "others"])
def test_a_listing_of_many_members_has_those_with_damaged_names(
    tmp_path: Path, sealed: bool
) -> None:
    """A copy of the listed keys would lack the member, and read as fill values."""
    path = tmp_path / "x.zip"
    members = [(f"a/c/{i}", b"1") for i in range(10_500)]
    if sealed:
        with ZipStore(path, mode="w", compression=zipfile.ZIP_STORED) as store:
            store.update(dict(members))
    else:
        make(path, members)
    data = bytearray(path.read_bytes())
    data[data.rindex(b"a/c/5000") + 7] ^= 0x40
    path.write_bytes(data)
    with ZipStore(path, mode="r") as store:
        assert set(dict(members)) < set(store.list())
        with pytest.raises(StoreError, match="a/c/500p"):
            store.get("a/c/5000")


def test_a_checksum_of_the_directory_saves_comparing_names(tmp_path: Path) -> None:
    path = tmp_path / "x.zip"
    with ZipStore(path) as store:
        store.set("a/c/0", b"0")
    data = path.read_bytes()
    with ZipStore(path, mode="r") as store:
        assert store._archive._unchecked == {}
    at = data.index(b"a/c/0", data.index(b"PK\1\2"))
    damaged = data[:at] + b"x" + data[at + 1 :]
    with (
        ZipStore(io.BytesIO(damaged), mode="r") as store,
        pytest.raises(StoreError, match="x/c/0"),
    ):
        store.get("a/c/0")
    with zipfile.ZipFile(path, "a") as archive:  # keeps the comment, which no longer holds
        archive.writestr("b", b"1")
    with ZipStore(path) as store:
        assert list(store.list()) == ["a/c/0", "b"]
        store.set("c", b"2")
    with ZipStore(path, mode="r") as store:
        assert store._archive._unchecked == {}
        assert store.get("b") == b"1"


def test_a_directory_with_one_member_twice_is_refused(tmp_path: Path) -> None:
    path = make(tmp_path / "x.zip", [("a", b"1"), ("b", b"2")])
    data = path.read_bytes()
    second = data.rindex(b"PK\1\2")
    first = data.index(b"PK\1\2")
    path.write_bytes(data[:second] + data[first:second] + data[second + second - first :])
    with pytest.raises(StoreError, match="one byte"):
        ZipStore(path, mode="r")


def test_a_flipped_bit_is_found(tmp_path: Path) -> None:
    path = make(tmp_path / "x.zip", [("a", os.urandom(2000))])
    data = bytearray(path.read_bytes())
    data[1000] ^= 4
    path.write_bytes(data)
    with ZipStore(path, mode="r") as store, pytest.raises(StoreError, match="checksum"):
        store.get("a")


def test_lzma_with_a_huge_dictionary(tmp_path: Path) -> None:
    path = make(tmp_path / "x.zip", [("a", b"abc" * 1000)], zipfile.ZIP_LZMA)
    data = path.read_bytes()
    at = data.index(b"\x09\x04\x05\x00\x5d") + 5
    patch(path, at, "<L", 0xFFFFFFFF)
    with ZipStore(path, mode="r") as store:
        assert store.get("a") == b"abc" * 1000


@pytest.mark.parametrize("method", [0, 8, 12, 14])
def test_damaged_archives_raise_or_answer_but_never_lie(tmp_path: Path, method: int) -> None:
    values = {"a": b"value of a" * 30, "b/c": b"", "d": bytes(range(256))}
    sound = io.BytesIO()
    make(sound, list(values.items()), method)
    original = sound.getvalue()
    generator = random.Random(method)
    for _ in range(400):
        data = bytearray(original)
        kind = generator.randrange(3)
        if kind == 0:
            for _ in range(generator.randint(1, 3)):
                data[generator.randrange(len(data))] = generator.randrange(256)
        elif kind == 1:
            del data[generator.randrange(len(data)) :]
        else:
            at = generator.randrange(len(data))
            data[at : at + generator.randrange(8)] = generator.randbytes(generator.randrange(8))
        try:
            with ZipStore(io.BytesIO(data), mode="r") as store:
                for key in list(store.list()):
                    value = store.get(key)
                    if value is not None:
                        assert len(value) == store.size(key)
                        assert bytes(value) in values.values()
        except (StoreError, LimitError):
            continue


def test_what_is_no_archive_is_named(tmp_path: Path) -> None:
    for content in (b"", b"PK\5\6", b"x" * 100, b"PK\5\6" + b"\xff" * 18, b"\0" * 70_000):
        (tmp_path / "x.zip").write_bytes(content)
        with pytest.raises(StoreError, match=r"ZipStore\(.*x\.zip"):
            ZipStore(tmp_path / "x.zip", mode="r")
    with limits.override(max_document_bytes=10), pytest.raises(LimitError):
        ZipStore(make(tmp_path / "x.zip", [("a", b"1")]), mode="r")


# -- Ctrl-C ----------------------------------------------------------------------------------


def test_ctrl_c_while_a_store_is_collected_is_not_lost(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Python drops an exception in `__del__`, so it is raised again afterwards."""

    def interrupted(archive: Archive) -> None:
        raise KeyboardInterrupt

    store = ZipStore(tmp_path / "x.zip")
    store.set("a", b"1")
    monkeypatch.setattr(Archive, "commit", interrupted)
    handler = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        with pytest.raises(KeyboardInterrupt):
            del store
            time.sleep(60)  # ends at once
    finally:
        signal.signal(signal.SIGINT, handler)
    assert os.listdir(tmp_path) == []


def test_a_failure_to_close_does_not_replace_ctrl_c(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def failing(archive: Archive) -> None:
        raise StoreError("no")

    monkeypatch.setattr(Archive, "commit", failing)
    for raised, seen in ((KeyboardInterrupt, KeyboardInterrupt), (ValueError, StoreError)):
        with pytest.raises(seen), ZipStore(tmp_path / "x.zip") as store:
            store.set("a", b"2")
            raise raised
