"""Indexes of shards are kept, and never used for another version of a shard."""

from __future__ import annotations

import itertools
import os
import threading
import time
import uuid
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import omnizarr
from omnizarr import engine, limits
from omnizarr.engine import native_plans, shard_indexes
from omnizarr.errors import DecodeError, ZarrError
from omnizarr.model.store import ByteRange, Store
from omnizarr.stores import HTTPStore, LocalStore, MemoryStore, ObjectStore, as_store
from omnizarr.stores.local import files

LENGTH, SHARD, CHUNK = 48, 16, 2
# Not compressed and without checksums: a wrong offset would give wrong values, not an error.
LAYOUT: dict[str, Any] = {
    "shape": LENGTH,
    "shards": SHARD,
    "chunks": CHUNK,
    "dtype": "i4",
    "compressors": None,
    "fill_value": 0,
}
_numbers = itertools.count()


class Place(NamedTuple):
    """One folder as writers and readers see it."""

    writer: Store
    reader: Store
    settle: Callable[[], None]
    """Let what was written become old enough that its version can be trusted."""


@pytest.fixture(autouse=True)
def _nothing_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    shard_indexes._kept.__init__()  # type: ignore[misc]
    # The native core reads whole plans of files, indexes included.
    monkeypatch.setattr(native_plans, "read", lambda *_: None)
    monkeypatch.setattr(engine, "read_single", lambda *_: None)


def kept() -> int:
    return len(shard_indexes._kept._entries)


@pytest.fixture
def local(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[], Place]:
    monkeypatch.setattr(files, "SETTLED", 0.02)  # still above the grain of the clock

    def make() -> Place:
        path = tmp_path / str(next(_numbers))
        return Place(LocalStore(path), LocalStore(path), lambda: time.sleep(0.04))

    return make


@pytest.fixture
def memory() -> Callable[[], Place]:
    def make() -> Place:
        store = MemoryStore()
        return Place(store, store, lambda: None)

    return make


@pytest.fixture
def s3(server: Callable[[str], Any]) -> Callable[[], Place]:
    facts = server("s3")

    def make() -> Place:
        url = facts.url(f"indexes/{uuid.uuid4().hex}")
        one, other = (as_store(url, storage_options=facts.options) for _ in range(2))
        return Place(one, other, lambda: None)

    return make


@pytest.fixture
def web(server: Callable[[str], Any]) -> Callable[[], Place]:
    nginx = server("nginx")

    def make() -> Place:
        folder = nginx.root / uuid.uuid4().hex
        times = itertools.count(1_000_000_000)

        def settle() -> None:
            # nginx makes an ETag of the time in seconds and the length.
            for file in folder.rglob("*"):
                if file.is_file() and file.stat().st_mtime > 1_500_000_000:
                    moment = next(times)
                    os.utime(file, (moment, moment))

        return Place(LocalStore(folder), HTTPStore(f"{nginx.urls['plain']}/{folder.name}"), settle)

    return make


SERVERS = [pytest.param(name, marks=pytest.mark.peers) for name in ("s3", "web")]
places = pytest.mark.parametrize("name", ["local", "memory", *SERVERS])
versioned = pytest.mark.parametrize("name", ["local", *SERVERS])


@pytest.fixture
def place(name: str, request: pytest.FixtureRequest) -> Callable[[], Place]:
    make: Callable[[], Place] = request.getfixturevalue(name)
    return make


regions = st.tuples(st.integers(0, LENGTH - 1), st.sampled_from([1, 1, 2, 3, 7, 20])).map(
    lambda pair: slice(pair[0], min(LENGTH, sum(pair)))
)
steps = st.one_of(
    st.tuples(st.just("write"), regions, st.integers(-1, 3)),
    st.tuples(st.just("read"), regions, st.none()),
    st.tuples(st.just("read"), regions, st.none()),
    st.tuples(st.just("delete"), st.integers(0, 2), st.none()),
    st.tuples(st.just("restore"), st.integers(0, 2), st.integers(0, 9)),
    st.tuples(st.just("settle"), st.none(), st.none()),
)


@places
@settings(max_examples=30, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(script=st.lists(steps, max_size=24))
def test_readers_and_writers_in_turns(
    place: Callable[[], Place], script: list[tuple[str, Any, Any]]
) -> None:
    """Shards are changed, deleted and put back; every read is of what is stored."""
    writer, reader, settle = place()
    expected = np.zeros(LENGTH, "i4")
    array = omnizarr.create_array(writer, **LAYOUT)
    settle()
    other = omnizarr.open_array(reader, "r")
    earlier: list[list[tuple[bytes, Any]]] = [[], [], []]
    for number, (kind, where, value) in enumerate(script):
        if kind == "write":
            # Fill values leave inner chunks out, so that others move.
            expected[where] = value and value * 1000 + number
            array[where] = expected[where]
            for shard in range(3):
                part = slice(shard * SHARD, (shard + 1) * SHARD)
                stored = writer.get(f"c/{shard}")
                if stored is not None:
                    earlier[shard].append((bytes(stored), expected[part].copy()))
        elif kind == "delete":
            writer.delete(f"c/{where}")
            expected[where * SHARD : (where + 1) * SHARD] = 0
        elif kind == "restore" and earlier[where]:
            data, values = earlier[where][value % len(earlier[where])]
            writer.set(f"c/{where}", data)
            expected[where * SHARD : (where + 1) * SHARD] = values
        elif kind == "settle":
            settle()
        elif kind == "read":
            np.testing.assert_array_equal(other[where], expected[where])
    np.testing.assert_array_equal(other[3:45], expected[3:45])


def filled(place: Place, **more: Any) -> tuple[Any, Any]:
    """An array with values, and the same array for its readers, of which indexes can be kept."""
    array = omnizarr.create_array(place.writer, **(LAYOUT | more))
    array[...] = np.arange(1, LENGTH + 1)
    place.settle()
    return array, omnizarr.open_array(place.reader, "r")


@versioned
def test_the_second_chunk_needs_one_read(
    place: Callable[[], Place], monkeypatch: pytest.MonkeyPatch
) -> None:
    here = place()
    reader = filled(here)[1]
    asked: list[object] = []
    name, owner = {
        LocalStore: ("read_fully", files),
        ObjectStore: ("_fetch", ObjectStore),
        HTTPStore: ("_fetch", HTTPStore),
    }[type(here.reader)]  # type: ignore[index]
    inside = getattr(owner, name)
    monkeypatch.setattr(owner, name, lambda *a, **k: asked.append(a) or inside(*a, **k))
    for index, requests in ((3, 2), (7, 1), (9, 1), (20, 2), (22, 1), (14, 1)):
        asked.clear()
        assert reader[index] == index + 1
        assert len(asked) == requests, index
    assert kept() == 2


def test_a_store_without_versions_keeps_none(memory: Callable[[], Place]) -> None:
    reader = filled(memory())[1]
    assert reader[3] == 4 and reader[5] == 6
    assert kept() == 0


def test_what_changed_just_now_is_not_kept(tmp_path: Path) -> None:
    """Its next version may look the same."""
    array = omnizarr.create_array(LocalStore(tmp_path), **LAYOUT)
    for value in range(1, 50):
        array[...] = value
        array[4:6] = value % 2
        assert array[9] == value and kept() == 0


@versioned
def test_a_missing_chunk_is_asked_for(place: Callable[[], Place]) -> None:
    """An outdated index may say that it is missing, and then nothing would be read."""
    here = place()
    array, reader = filled(here)
    array[4:6] = 0
    here.settle()
    assert reader[4] == 0 and reader[5] == 0
    assert kept() == 1
    array[4:6] = 7
    here.settle()
    assert reader[4] == 7
    here.writer.delete("c/0")
    assert reader[4] == 0 and reader[9] == 0


@versioned
def test_a_truncated_shard_raises(place: Callable[[], Place]) -> None:
    here = place()
    reader = filled(here)[1]
    assert reader[3] == 4
    stored = bytes(here.writer.get("c/0") or b"")
    for length in (len(stored) - 1, len(stored) // 2, 8, 0):
        here.writer.set("c/0", stored[:length])
        here.settle()
        with pytest.raises(ZarrError, match=r"c/0"):
            reader[7]
        here.writer.set("c/0", stored)
        here.settle()
        assert reader[7] == 8


@versioned
def test_an_outdated_index_is_no_error(place: Callable[[], Place]) -> None:
    """Inner chunks of the shard before were larger than those of the array that replaced it."""
    here = place()
    reader = filled(here)[1]
    assert reader[3] == 4
    array = omnizarr.create_array(here.writer, **(LAYOUT | {"dtype": "i1"}), overwrite=True)
    array[...] = 5
    here.settle()
    assert omnizarr.open_array(here.reader, "r")[3] == 5


@versioned
def test_two_descriptions_of_one_shard(place: Callable[[], Place]) -> None:
    """An index is used only by those who would have decoded it alike."""
    here = place()
    array, reader = filled(here)
    document = bytes(here.writer.get("zarr.json") or b"")
    changed = omnizarr.create_array(
        here.writer, **(LAYOUT | {"chunks": 4, "dtype": "i2"}), overwrite=True
    )
    here.writer.set("c/0", b"")
    other = bytes(here.writer.get("zarr.json") or b"")
    here.writer.set("zarr.json", document)
    array[...] = np.arange(1, LENGTH + 1)
    here.writer.set("zarr.json", other)
    here.settle()
    assert reader[3] == 4 and kept() == 1
    found = []
    for most in (0, limits.current.shard_index_bytes):
        with limits.override(shard_index_bytes=most), pytest.raises(DecodeError) as raised:
            omnizarr.open_array(here.reader, "r")[3]
        found.append(str(raised.value))
    assert found[0] == found[1]
    assert changed.chunks == (4,)


def test_the_memory_is_bounded(local: Callable[[], Place]) -> None:
    here = local()
    reader = filled(here)[1]
    each = SHARD // CHUNK * 16 + shard_indexes.OVERHEAD
    for most, count in ((0, 0), (each - 1, 0), (each, 1), (2 * each + 1, 2), (10 * each, 3)):
        with limits.override(shard_index_bytes=most):
            for index in (3, 20, 40):
                assert reader[index] == index + 1
            assert kept() == count
            assert shard_indexes._kept._nbytes == count * each
    with limits.override(shard_index_bytes=2 * each):
        assert reader[40] == 41 and reader[3] == 4  # the second shard was used least recently
        assert kept() == 3  # it was not put anew
        reader[25:26]
    assert kept() == 3


def test_no_store_is_kept_alive(local: Callable[[], Place]) -> None:
    import gc
    import weakref

    here = local()
    reader = filled(here)[1]
    assert reader[3] == 4 and kept() == 1
    seen = weakref.ref(here.reader)
    del reader, here
    gc.collect()
    assert seen() is None and kept() == 1


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork on this system")
def test_a_forked_child_reads_with_what_was_kept(local: Callable[[], Place]) -> None:
    here = local()
    array, reader = filled(here)
    assert reader[3] == 4
    stop = threading.Event()

    def read() -> None:
        while not stop.is_set():
            reader[7]

    thread = threading.Thread(target=read)
    thread.start()
    try:
        for number in range(10):
            child = os.fork()
            if child == 0:
                array[5:7] = number + 100
                os._exit(int(reader[5] != number + 100 or reader[9] != 10 or kept() != 1))
            assert os.waitpid(child, 0)[1] == 0
    finally:
        stop.set()
        thread.join()
    assert reader[5] == 109


def test_threads_read_while_another_one_writes(local: Callable[[], Place]) -> None:
    """Values of one shard are always those of one write."""
    here = local()
    array, reader = filled(here)
    wrong: list[Any] = []
    stop = threading.Event()

    def read() -> None:
        while not stop.is_set():
            # Inner chunks apart from each other, of which one is missing at times.
            found = reader[1:15][[0, 6, 12]]
            if len(set(found.tolist()) - {0}) != 1:
                wrong.append(found)

    array[...] = 9
    threads = [threading.Thread(target=read) for _ in range(4)]
    for thread in threads:
        thread.start()
    try:
        for number in range(60):
            values = np.full(SHARD, number + 10)
            values[6:8] = 0 if number % 2 else number + 10
            array[:SHARD] = values
            if number % 10 == 0:
                here.settle()
    finally:
        stop.set()
        for thread in threads:
            thread.join()
    assert not wrong


@versioned
def test_an_expected_version(place: Callable[[], Place]) -> None:
    """What a snapshot promises about versions."""
    here = place()
    here.writer.set("k", b"first value")
    here.settle()
    with here.reader.snapshot("k") as read:
        assert read(ByteRange(0, 5)) == b"first"
        version = read.version  # type: ignore[attr-defined]
        assert version is not None
    with here.reader.snapshot("k") as read:
        assert read.expect(version)  # type: ignore[attr-defined]
        assert read(ByteRange(-5)) == b"value"
        assert read.version == version  # type: ignore[attr-defined]
    here.writer.set("k", b"other value")
    here.settle()
    for change in (lambda: None, lambda: here.writer.delete("k")):
        change()
        with here.reader.snapshot("k") as read:
            if read.expect(version):  # type: ignore[attr-defined]
                with pytest.raises(omnizarr.errors.ValueChangedError):
                    read(ByteRange(-5))
            else:
                assert read(ByteRange(0, 5)) in (b"other", None)
