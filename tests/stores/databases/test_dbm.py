"""DBMStore: every flavour that this machine has, the files of dbm.dumb, damage, flags."""

from __future__ import annotations

import dbm
import dbm.dumb
import os
import pickle
import random
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from omnizarr import limits
from omnizarr.errors import LimitError, NodeNotFoundError, ReadOnlyError, StoreError
from omnizarr.stores import ByteRange, DBMStore, Store, as_store
from omnizarr.testing import StoreSuite
from tests.stores.databases.dbm_flavours import FLAVOURS, load

pytestmark = pytest.mark.slow


class TestDumb(StoreSuite):
    refuses_after_close = True

    def make_store(self, folder: Path) -> Store:
        return DBMStore(folder / "x.dbm", open=dbm.dumb.open)

    def reopen(self, store: Store) -> Store:
        assert isinstance(store, DBMStore)
        store.close()
        with closing(dbm.dumb.open(store.path)) as db:  # the standard library finds no fault
            assert all(len(db[key]) >= 0 for key in db.keys())  # noqa: SIM118
        return DBMStore(store.path, "w")


class Flavour(StoreSuite):
    refuses_after_close = True
    many_keys = 300
    name = ""

    @pytest.fixture(autouse=True)
    def _flavour(self) -> Iterator[None]:
        with load(self.name) as module:
            self.function: Callable[..., Any] = module.open
            yield

    def make_store(self, folder: Path) -> Store:
        return DBMStore(folder / "x", open=self.function)

    def reopen(self, store: Store) -> Store:
        assert isinstance(store, DBMStore)
        store.close()
        return DBMStore(store.path, open=self.function)


# A flavour that this Python lacks has no class; the acceptance tests say which were there.
if "dbm.gnu" in FLAVOURS:

    class TestGNU(Flavour):
        name = "dbm.gnu"


if "dbm.ndbm" in FLAVOURS:

    class TestNDBM(Flavour):
        name = "dbm.ndbm"


if "dbm.sqlite3" in FLAVOURS:

    class TestSQLite(Flavour):
        name = "dbm.sqlite3"


@pytest.fixture
def path(tmp_path: Path) -> str:
    return str(tmp_path / "x")


def dumb(path: str) -> DBMStore:
    return DBMStore(path, open=dbm.dumb.open)


# -- the files of dbm.dumb --------------------------------------------------------------------


def test_the_standard_library_reads_ours_and_we_read_its(path: str) -> None:
    chance = random.Random(3)
    model: dict[bytes, bytes] = {}
    keys = [f"k/{i}" for i in range(12)] + ["grüße/'\"", 'q"', "back'slash"]
    for turn in range(200):
        key, value = chance.choice(keys), chance.randbytes(chance.choice([0, 1, 500, 513, 3000]))
        if turn % 20 < 10:
            with dumb(path) as store:
                if chance.random() < 0.2:
                    store.delete(key)
                    model.pop(key.encode(), None)
                else:
                    store.set(key, value)
                    model[key.encode()] = value
                assert {k.encode(): store.get(k) for k in store.list()} == model
        else:
            with closing(dbm.dumb.open(path)) as db:
                db[key.encode()] = value
                model[key.encode()] = value
                assert {k: db[k] for k in db.keys()} == model  # noqa: SIM118
    assert not [name for name in os.listdir(os.path.dirname(path)) if name.startswith(".~")]


def test_space_is_used_again(path: str) -> None:
    with dumb(path) as store:
        for turn in range(3000):
            store.set(f"{turn % 3}", bytes([turn % 256]) * 10_000)
        assert store.get("2") == bytes([2999 % 256]) * 10_000
        assert os.path.getsize(path + ".dat") < 60_000
        assert os.path.getsize(path + ".dir") < 40_000


def test_two_stores_see_each_other(path: str) -> None:
    with dumb(path) as first, dumb(path) as second:
        for turn in range(30):
            first.set("a", b"1" * turn)
            second.set(f"b/{turn}", b"2" * 600)
            first.set(f"c/{turn}", b"3" * 600)
            if turn % 7 == 6:
                second.delete(f"c/{turn - 1}")
            assert second.get("a") == b"1" * turn
            assert first.get(f"b/{turn}") == b"2" * 600
            assert list(first.list()) == list(second.list())
        assert all(first.get(f"b/{turn}") == b"2" * 600 for turn in range(30))


def test_a_torn_line_is_dropped(path: str) -> None:
    with dumb(path) as store:
        store.set("a", b"1")
        store.set("b", b"2")
        with open(path + ".dir", "ab") as file:
            file.write(b"'c', (102")  # killed in the middle of it
        assert list(store.list()) == ["a", "b"]
        store.set("d", b"4")
    with closing(dbm.dumb.open(path, "r")) as db:
        assert {key: db[key] for key in db.keys()} == {b"a": b"1", b"b": b"2", b"d": b"4"}  # noqa: SIM118


@pytest.mark.parametrize(
    "line",
    [
        "__import__('os').system('touch evil')",
        "'a', (0, 1), 2",
        "'a', (-1, 1)",
        "'a', (0, 1e9)",
        "'a', [0, 1]",
        "('a', (0, 1))",
        "(" * 3000,
        "'a" + "a" * 100_000,
        "'\\N{no such name}', (0, 1)",
        "'\\u1234', (0, 1)",
        "a\0b",
    ],
)
def test_a_hostile_index(path: str, line: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(os.path.dirname(path))
    Path(path + ".dat").write_bytes(b"x" * 600)
    Path(path + ".dir").write_bytes(f"'good', (0, 1)\n{line}\n".encode("latin-1"))
    with dumb(path) as store:
        for call in (
            lambda: store.get("good"),
            lambda: list(store.list()),
            lambda: store.set("a", b"1"),
        ):
            with pytest.raises(StoreError, match="damaged"):
                call()
    assert not os.path.exists("evil")


def test_places_outside_the_file(path: str) -> None:
    Path(path + ".dat").write_bytes(b"x" * 600)
    far = 10**17
    Path(path + ".dir").write_text(
        f"'good', (0, 3)\n'far', ({far}, 5)\n'long', (0, {far})\n'../up', (0, 1)\n'd:', (0, 1)\n"
    )
    with dumb(path) as store:
        assert list(store.list()) == ["far", "good", "long"]
        assert store.get("good") == b"xxx"
        for key in ("far", "long"):
            for part in (None, ByteRange(0, 1), ByteRange(-1)):
                with pytest.raises(StoreError, match="damaged"):
                    store.get(key, part)
        with pytest.raises(StoreError, match="damaged"):
            store.set("new", b"1")
    assert os.path.getsize(path + ".dat") == 600


def test_a_sparse_giant(path: str) -> None:
    with open(path + ".dat", "wb") as file:
        file.truncate(1 << 40)
    Path(path + ".dir").write_text(f"'giant', (0, {1 << 40})\n")
    with dumb(path) as store:
        assert store.get("giant", ByteRange(-2)) == b"\0\0"
        with pytest.raises(LimitError):
            store.get("giant")
        with limits.override(max_document_bytes=10), dumb(path) as other, pytest.raises(LimitError):
            other.get("giant")


def test_kill_during_writes(path: str) -> None:
    """A killed writer leaves the old value or the new one, for us and the standard library."""
    program = (
        "import sys, dbm.dumb, itertools; from omnizarr.stores import DBMStore;"
        "store = DBMStore(sys.argv[1], open=dbm.dumb.open); print('go', flush=True)\n"
        "for i in itertools.count(): store.set(f'k/{i % 3}', bytes([i % 251]) * (9000 + i % 5000))"
    )
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    chance = random.Random(0)
    for _ in range(4):
        process = subprocess.Popen(
            [sys.executable, "-c", program, path], env=environment, stdout=subprocess.PIPE
        )
        assert process.stdout is not None
        process.stdout.readline()
        try:
            process.wait(chance.uniform(0.02, 0.1))
        except subprocess.TimeoutExpired:
            process.kill()
        process.wait()
        process.stdout.close()
        with dumb(path) as store:
            for key in store.list():
                assert len(set(bytes(store[key]))) == 1
        with closing(dbm.dumb.open(path, "r")) as db:
            assert all(len(set(db[key])) == 1 for key in db.keys())  # noqa: SIM118


# -- flavours, flags, modes -------------------------------------------------------------------


@pytest.mark.parametrize("name", FLAVOURS)
def test_a_flavour_is_recognised(name: str, path: str) -> None:
    with load(name) as module:
        with closing(module.open(path, "c")) as db:
            db[b"a/b"] = b"1"
        if name == "dbm.ndbm":
            with (
                DBMStore(path) as store,
                pytest.raises(StoreError, match="if you trust this one"),
            ):
                store.get("a/b")
        with DBMStore(path, open=module.open if name == "dbm.ndbm" else None) as store:
            assert store.flavour == (name if name != "dbm.ndbm" else None)
            assert store.get("a/b") == b"1"
            store.set("c", b"2" * 5000)
        with closing(module.open(path, "r")) as db:
            assert (bytes(db[b"a/b"]), bytes(db[b"c"])) == (b"1", b"2" * 5000)


def test_unknown_files(path: str) -> None:
    Path(path).write_bytes(b"nothing of the kind" * 100)
    with DBMStore(path) as store, pytest.raises(StoreError, match="no database of any flavour"):
        store.get("a")


def test_another_program_has_it_open(path: str) -> None:
    if "dbm.gnu" not in FLAVOURS:
        pytest.skip("this Python has no dbm.gnu, the flavour that refuses a second program")
    with load("dbm.gnu") as module, closing(module.open(path, "c")) as db:
        db[b"a"] = b"1"
        with (
            DBMStore(path, timeout=0.2) as store,
            pytest.raises(StoreError, match="another program"),
        ):
            store.set("a", b"2")


def test_flags(path: str) -> None:
    for flag in ("r", "w"):
        with pytest.raises(NodeNotFoundError):
            DBMStore(path, flag)
    with pytest.raises(ValueError, match="flag"):
        DBMStore(path, "x")
    with DBMStore(path) as store:
        assert store.get("a") is None and list(store.list()) == []
        store.delete("a")
        store.delete_prefix("")
        assert os.listdir(os.path.dirname(path)) == []
        store.set("a", b"1")
    with DBMStore(path, "r") as store:
        assert store.read_only and store.get("a") == b"1"
        with pytest.raises(ReadOnlyError):
            store.set("a", b"2")
    with DBMStore(path, "n") as store:
        assert list(store.list()) == []
        store.set("b", b"2")
        with pickle.loads(pickle.dumps(store)) as again:
            assert again.get("b") == b"2"


def test_urls_and_modes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for mode in ("r", "r+"):
        with pytest.raises(NodeNotFoundError):
            as_store("x.dbm", mode=mode)
    assert os.listdir(tmp_path) == []
    for name in ("x.dbm", f"dbm://{tmp_path}/a%20b", "dbm://rel"):
        with as_store(name) as store:
            assert isinstance(store, DBMStore)
            store.set("a", b"1")
        with as_store(name, mode="r") as store:
            assert store.read_only and store.get("a") == b"1"
    with pytest.raises(TypeError, match="nonsense"):
        as_store("x.dbm", storage_options={"nonsense": "secret"})


def test_a_flavour_of_your_own(path: str) -> None:
    """Any function like `dbm.open`; what it raises becomes ours."""
    calls: list[str] = []

    def opening(path: str, flag: str, mode: int, extra: int = 0) -> Any:
        calls.append(f"{flag} {extra}")
        if extra == 2:
            raise RuntimeError("no")
        return dbm.dumb.open(path, flag, mode)

    with DBMStore(path, open=opening, extra=1) as store:
        store.set("a", b"1")
        assert store.get("a") == b"1"
    assert calls == ["c 1", "r 1"]
    with DBMStore(path, open=opening, extra=2) as store, pytest.raises(StoreError, match="no"):
        store.get("a")
