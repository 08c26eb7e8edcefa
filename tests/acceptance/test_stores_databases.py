"""Databases: exchange with zarr-python 2's own stores, no update lost, no value torn, all modes.

zarr-python 3 has no store for any of these databases.
"""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
import time
import uuid
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import omnizarr as zarr
from omnizarr.errors import ContainsGroupError, NodeNotFoundError, ReadOnlyError, ZarrError
from omnizarr.stores import DBMStore, LMDBStore, MongoDBStore, RedisStore, SQLiteStore, Store
from tests.acceptance import database_peer_values as expected
from tests.acceptance import processes
from tests.stores.databases.dbm_flavours import FLAVOURS, OWN, load

pytestmark = pytest.mark.peers

REPOSITORY = Path(__file__).resolve().parent.parent.parent
PYTHON = REPOSITORY / ".peers" / "zarr2" / "bin" / "python"
Summary = Callable[[str], None]
Server = Callable[[str], Any]

KINDS = ("SQLite", "LMDB", "DBM", "Redis", "MongoDB")
LOCAL = {"SQLite": "x.sqlite", "LMDB": "x.lmdb", "DBM": "x.dbm"}


@pytest.fixture
def place(tmp_path: Path, server: Server) -> Callable[[str], str]:
    """A path or URL of a new, empty database of a kind."""

    def find(kind: str) -> str:
        if kind in LOCAL:
            return str(tmp_path / LOCAL[kind])
        name = f"t{uuid.uuid4().hex}"
        if kind == "Redis":
            return f"{server('redis').url}?prefix={name}"
        return f"{server('mongodb').url}tests.{name}"

    return find


# -- exchange with zarr-python 2 --------------------------------------------------------------


def ask_peer(command: str, kind: str, facts: dict[str, Any], path: str = "") -> str:
    if not PYTHON.exists():
        pytest.fail(f"{PYTHON} does not exist: run `make peers`")
    script = Path(__file__).with_name("database_peer.py")
    done = subprocess.run(
        [str(PYTHON), str(script), command, kind, json.dumps(facts)],
        capture_output=True,
        text=True,
        timeout=100,
        env={**os.environ, "PYTHONPATH": path},
    )
    assert done.returncode == 0, f"zarr-python 2 failed:\n{done.stderr[-3000:]}"
    version: str = json.loads(done.stdout.splitlines()[-1])["zarr"]
    return version


def exchange(kind: str, make: Callable[[], Store], facts: dict[str, Any], path: str = "") -> str:
    with make() as store:
        expected.write(store)
    version = ask_peer("read", kind, facts, path)
    with make() as store:
        expected.check_changed(store)
        store.delete_prefix("")
    ask_peer("write", kind, facts, path)
    with make() as store:
        expected.check(store)
    return version


def test_exchange_of_sqlite(tmp_path: Path, summary: Summary) -> None:
    path = str(tmp_path / "x.sqlite")
    version = exchange("SQLite", lambda: SQLiteStore(path), {"path": path})
    summary(f"databases: SQLiteStore <-> zarr-python {version}: equal both ways")


def test_exchange_of_lmdb(tmp_path: Path, summary: Summary) -> None:
    path = str(tmp_path / "x.lmdb")
    version = exchange("LMDB", lambda: LMDBStore(path), {"path": path})
    summary(f"databases: LMDBStore <-> zarr-python {version}: equal both ways")


def test_exchange_of_dbm(tmp_path: Path, summary: Summary) -> None:
    ran = []
    for name in FLAVOURS:
        if name == "dbm.sqlite3":
            continue  # not in the Python of zarr-python 2
        path = str(tmp_path / name)
        with load(name) as module:
            version = exchange(
                "DBM",
                lambda path=path, module=module: DBMStore(path, open=module.open),  # type: ignore[misc]
                {"path": path, "flavour": name},
                "" if name in OWN else sys.path[-1],
            )
        ran.append(name)
    missing = sorted({"dbm.dumb", "dbm.gnu", "dbm.ndbm", "dbm.sqlite3"} - set(FLAVOURS))
    absent = f"; not on this machine: {', '.join(missing)}" if missing else ""
    summary(
        f"databases: DBMStore ({', '.join(ran)}) <-> zarr-python {version}: equal both ways{absent}"
    )


def test_exchange_of_redis(server: Server, summary: Summary) -> None:
    server_facts = server("redis")
    facts = {"prefix": f"t{uuid.uuid4().hex}", "host": "127.0.0.1", "port": server_facts.port}
    version = exchange("Redis", lambda: RedisStore(**facts), facts)
    summary(
        f"databases: RedisStore <-> zarr-python {version} on {server_facts.name}: equal both ways"
    )


def test_exchange_of_mongodb(server: Server, summary: Summary) -> None:
    server_facts = server("mongodb")
    names = {"database": "tests", "collection": f"t{uuid.uuid4().hex}"}
    facts = {**names, "host": "127.0.0.1", "port": server_facts.port}
    version = exchange("MongoDB", lambda: MongoDBStore(**facts), facts)
    summary(
        f"databases: MongoDBStore <-> zarr-python {version} on {server_facts.name} (not MongoDB"
        " itself): equal both ways"
    )


# -- no update lost ---------------------------------------------------------------------------


@pytest.mark.parametrize("layout", ["chunk", "shard"])
@pytest.mark.parametrize("kind", KINDS)
def test_two_processes_update_halves(
    kind: str, layout: str, place: Callable[[str], str], tmp_path: Path, summary: Summary
) -> None:
    url = place(kind)
    shape: dict[str, Any] = {"chunks": (64,)}
    if layout == "shard":
        shape = {"chunks": (16,), "shards": (64,)}
    zarr.create_array(store=url, shape=(64,), dtype="i4", fill_value=0, **shape)
    times = 150
    jobs: list[tuple[object, ...]] = [("halves", url, side, times) for side in ("first", "last")]
    results = processes.together("concurrency_worker.py", jobs, tmp_path / "go")
    lost = sum(result["lost"] for result in results)
    summary(f"databases: {kind}Store, halves of one {layout}, {times} writes each: {lost} lost")
    assert [result["errors"] for result in results] == [0, 0]
    assert lost == 0
    assert zarr.open_array(url, mode="r")[:].tolist() == [times] * 64


@pytest.mark.parametrize("kind", KINDS)
def test_two_processes_set_attributes(
    kind: str, place: Callable[[str], str], tmp_path: Path
) -> None:
    url = place(kind)
    zarr.create_group(store=url)
    jobs: list[tuple[object, ...]] = [("attributes", url, side, 30) for side in "ab"]
    processes.together("concurrency_worker.py", jobs, tmp_path / "go")
    found = zarr.open(url, mode="r").attrs.asdict()
    assert found == {f"{side}-{number}": number for side in "ab" for number in range(30)}


# -- no value torn ----------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["SQLite", "LMDB", "DBM"])
def test_kill_during_writes(
    kind: str, place: Callable[[str], str], tmp_path: Path, summary: Summary
) -> None:
    url = place(kind)
    root = zarr.create_group(store=url)
    for name, chunks in (("whole", (50_000,)), ("partial", (100_000,))):
        root.create_array(name, shape=(100_000,), chunks=chunks, dtype="i4", compressors=None)
        root[name][:] = 1
    root.store.close()
    chance = random.Random(0)
    torn = wrote = 0
    kills = 12
    first = 1
    for _ in range(kills):
        process = processes.start("database_worker.py", url, first + 1)
        assert process.stdout is not None and process.stdout.readline() == "ready\n"
        time.sleep(chance.uniform(0.0, 0.08))
        process.kill()
        process.communicate()
        root = zarr.open_group(url, mode="r")
        whole, partial = root["whole"], root["partial"]
        parts = [whole[:50_000], whole[50_000:], partial[:50_000], partial[50_000:]]
        torn += sum(part.min() != part.max() for part in parts)
        last = int(max(part.max() for part in parts))
        wrote += last > first
        first = last
        root.store.close()
    summary(f"databases: {kind}Store, {kills} kill -9 during writes: {torn} torn")
    assert torn == 0
    assert wrote > kills // 3, "most writers were killed before they wrote"


# -- opening ----------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", KINDS)
def test_every_mode(kind: str, place: Callable[[str], str], tmp_path: Path) -> None:
    url = place(kind)
    for mode in ("r", "r+"):
        with pytest.raises((NodeNotFoundError, FileNotFoundError)):
            zarr.open(url, mode=mode)
    if kind in LOCAL:
        assert os.listdir(tmp_path) == [], "nothing was created"
    group = zarr.open(url, mode="w-")
    group.create_array("a", shape=(10,), dtype="i2")[:] = 3
    group.attrs["x"] = 1
    with pytest.raises((ContainsGroupError, ZarrError)):
        zarr.open(url, mode="w-")
    frozen = zarr.open(url, mode="r")
    assert frozen["a"][:].tolist() == [3] * 10
    with pytest.raises(ReadOnlyError):
        frozen["a"][0] = 1
    with pytest.raises(ReadOnlyError):
        frozen.attrs["x"] = 2
    zarr.open(url, mode="r+")["a"][5:] = 4
    assert zarr.open(url, mode="a")["a"][:].tolist() == [3] * 5 + [4] * 5
    assert zarr.open(url).attrs["x"] == 1
    emptied = zarr.open_group(url, mode="w")
    assert list(emptied) == [] and dict(emptied.attrs) == {}


@pytest.mark.parametrize("kind", KINDS)
def test_a_long_life(kind: str, place: Callable[[str], str]) -> None:
    """What users do with a hierarchy: nest, list, move, delete, consolidate, copy."""
    url = place(kind)
    root = zarr.open_group(url, mode="w")
    data = np.random.default_rng(0).random((60, 50))
    for name in ("a", "b/c", "b/d"):
        root.create_array(name, shape=data.shape, chunks=(20, 20), shards=(40, 40), dtype="f8")
        root[name][...] = data
    assert sorted(root) == ["a", "b"]
    np.testing.assert_array_equal(root["b/c"][13:44, 7], data[13:44, 7])
    np.testing.assert_array_equal(root["a"].oindex[[3, 59], ::-7], data[[3, 59], ::-7])
    root.move("b", "e/f")
    assert sorted(root["e/f"]) == ["c", "d"] and "b" not in root
    del root["a"]
    zarr.consolidate_metadata(url)
    again = zarr.open_consolidated(url, mode="r")
    np.testing.assert_array_equal(again["e/f/d"][...], data)
    copied = zarr.open_group(zarr.MemoryStore(), mode="w")
    zarr.copy_all(again, copied)
    np.testing.assert_array_equal(copied["e/f/c"][...], data)
