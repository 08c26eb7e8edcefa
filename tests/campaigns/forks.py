"""Forks under load: threads read and write arrays while the process forks children that do so too.

    python -m tests.campaigns.forks --steps 5000 --seed 1

Every step is one forked child. It uses arrays that it inherits or opens anew, and ends; one that
has not ended after `--deadline` seconds has hung, and its stack is shown. A child that is told by
an error that it cannot use a store is counted as refused. At the end the parent reads back what the
last child wrote into each slot of each store.

Kinds of steps: a child of the main thread, of a second thread that forks at the same time, of a
thread that holds the lock of a chunk, and a process of a `multiprocessing` pool.
"""

from __future__ import annotations

import argparse
import faulthandler
import importlib
import json
import multiprocessing
import os
import random
import signal
import sys
import tempfile
import threading
import time
import traceback
import warnings
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

import omnizarr
from omnizarr.errors import StoreError, ZarrError
from omnizarr.stores import MappingStore, Store, as_store
from tests.servers.process import Absent

SLOTS, PARENTS = 24, 8
"""Elements of each array, of which the last few belong to threads of the parent."""
FINE, WRONG, FAILED, REFUSED, HUNG = 0, 10, 11, 12, 1
PAUSE = 0.002


@dataclass
class Kind:
    """One kind of store."""

    name: str
    make: Callable[[Path], Store]
    shared: bool = True
    """Whether the parent sees what a child writes."""
    child_writes: bool = True
    apart: bool = True
    """Whether no process can overwrite what another one changes in the same value."""


def _dbm(flavour: str) -> Callable[[Path], Store]:
    def make(folder: Path) -> Store:
        function = importlib.import_module(flavour).open
        return omnizarr.stores.DBMStore(folder / "db", open=function)

    return make


def _cache(folder: Path) -> Store:
    return omnizarr.stores.CacheStore(omnizarr.stores.LocalStore(folder / "a"))


def _cache_in_folder(folder: Path) -> Store:
    inner = omnizarr.stores.SQLiteStore(folder / "a.sqlite")
    return omnizarr.stores.CacheStore(inner, folder=folder / "cache")


def _overlay(folder: Path) -> Store:
    local = omnizarr.stores.LocalStore
    return omnizarr.stores.OverlayStore(local(folder / "a"), local(folder / "b"))


def _prefix(folder: Path) -> Store:
    return omnizarr.stores.PrefixStore(omnizarr.stores.LocalStore(folder / "a"), "x/y")


def kinds() -> list[Kind]:
    stores = omnizarr.stores
    found = [
        Kind("local", lambda folder: stores.LocalStore(folder / "a")),
        Kind("nested", lambda folder: stores.NestedDirectoryStore(folder / "a")),
        Kind("temp", lambda folder: stores.TempStore(dir=str(folder))),
        Kind("memory", lambda folder: stores.MemoryStore(), shared=False),
        Kind("mapping", lambda folder: MappingStore({}), shared=False),
        Kind(
            "zip",
            lambda folder: stores.ZipStore(folder / "a.zip", mode="a"),
            shared=False,
            child_writes=False,
        ),
        Kind("sqlite", lambda folder: stores.SQLiteStore(folder / "a.sqlite")),
        Kind("prefix", _prefix),
        Kind("cache", _cache),
        Kind("cache-in-folder", _cache_in_folder),
        Kind("overlay", _overlay),
    ]
    for flavour in ("dbm.dumb", "dbm.gnu", "dbm.sqlite3"):
        with suppress(ImportError):
            importlib.import_module(flavour)
            found.append(Kind(flavour, _dbm(flavour)))
    with suppress(ImportError):
        importlib.import_module("lmdb")
        found.append(Kind("lmdb", lambda folder: stores.LMDBStore(folder / "a.lmdb")))
    with suppress(ImportError):
        importlib.import_module("fsspec")
        # Two processes may overwrite each other's part of a chunk there: it has no locks.
        make = lambda folder: stores.FsspecStore(f"file://{folder / 'a'}")  # noqa: E731
        found.append(Kind("fsspec", make, shared=False, apart=False))
    return found


SERVERS: dict[str, Callable[[Any, str], Store]] = {
    "redis": lambda server, name: omnizarr.stores.RedisStore(name, url=server.url),
    "mongodb": lambda server, name: omnizarr.stores.MongoDBStore(url=server.url, collection=name),
    "s3": lambda server, name: as_store(server.url(name), storage_options=server.options),
}

PACKAGES = {"redis": "redis", "mongodb": "pymongo", "s3": "obstore"}


@contextmanager
def serving(name: str) -> Iterator[Kind | None]:
    """The kind of store that a server on this machine gives; None if it is not installed."""
    with ExitStack() as stack:
        try:
            importlib.import_module(PACKAGES[name])
            server = stack.enter_context(importlib.import_module(f"tests.servers.{name}").serve())
        except (Absent, ImportError):
            yield None
            return
        yield Kind(name, lambda folder: SERVERS[name](server, folder.name))


@dataclass
class Place:
    """A store with its arrays."""

    kind: Kind
    folder: Path
    store: Store
    whole: Any
    part: Any
    shard: Any
    grow: Any
    last: dict[int, int] = field(default_factory=dict)
    """What the last child that ended well left in each slot."""

    @classmethod
    def made(cls, kind: Kind, folder: Path) -> Place:
        folder.mkdir()
        store = kind.make(folder)
        create = omnizarr.create_array
        options = {"dtype": "i8", "fill_value": -1}
        arrays = [
            create(store, name="whole", shape=(SLOTS,), chunks=(1,), **options),
            create(store, name="part", shape=(SLOTS,), chunks=(6,), zarr_format=3, **options),
            create(store, name="shard", shape=(SLOTS,), chunks=(2,), shards=(12,), **options),
            create(store, name="grow", shape=(4,), chunks=(3,), **options),
        ]
        return cls(kind, folder, store, *arrays)

    def use(self, chance: random.Random, slot: int, value: int, *, write: bool = True) -> None:
        """Some reads and writes, of which each must see its own."""
        for array in (self.whole, self.part, self.shard):
            if not write:
                array[:]
                continue
            array[slot] = value
            if array[slot] != value:
                raise AssertionError(f"slot {slot} of {array!r} is {array[slot]}, not {value}")
        if write:
            for _ in range(3):
                with self.store.lock("contended"):
                    pass
        what = chance.randrange(6)
        if what == 0 and write and self.kind.apart:
            self.part.attrs[f"by-{slot}"] = value
            if self.part.attrs[f"by-{slot}"] != value:
                raise AssertionError(f"attribute by-{slot} of {self.part!r} is lost")
        elif what == 1 and write:
            with suppress(ZarrError):  # another process changed the shape
                self.grow.append(np.full(2, value))
                if self.grow.shape[0] > 60:
                    self.grow.resize((4,))
        elif what == 2:
            self.shard[2:7]
        elif what == 3:
            sorted(self.store.list_prefix("part/"))


class Findings:
    def __init__(self) -> None:
        self.guard = threading.Lock()
        self.steps: Counter[str] = Counter()
        self.outcomes: Counter[str] = Counter()
        self.texts: list[str] = []
        self.slowest = 0.0

    def add(self, place: Place, outcome: str, seconds: float, text: str = "") -> None:
        with self.guard:
            self.steps[place.kind.name] += 1
            self.outcomes[outcome] += 1
            self.slowest = max(self.slowest, seconds)
            if outcome not in ("fine", "refused"):
                self.texts.append(f"{place.kind.name}: {outcome}\n{text}")
                print(self.texts[-1], file=sys.stderr, flush=True)

    @property
    def total(self) -> int:
        return self.steps.total()


def child_work(place: Place, seed: int, slot: int, value: int, anew: bool) -> int:
    """What a child does; its exit code."""
    chance = random.Random(seed)
    write = place.kind.child_writes
    if anew and place.kind.shared:
        path = place.store
        arrays = [omnizarr.open_array(path, path=name) for name in ("whole", "part", "shard")]
        place = Place(place.kind, place.folder, path, *arrays, place.grow)
    try:
        place.use(chance, slot, value, write=write)
        if not write:
            with suppress(StoreError):
                place.store.set("child", b"")
                return WRONG
    except StoreError as error:
        if "forked" in str(error):
            return REFUSED
        raise
    if chance.random() < 0.5:
        place.store.close()
    return FINE


def in_child(log: int, deadline: float, work: Callable[[], int]) -> None:
    """Run in the child: never returns."""
    code = FAILED
    try:
        faulthandler.dump_traceback_later(deadline, exit=True, file=log)
        code = work()
    except BaseException:
        os.write(log, traceback.format_exc().encode())
    finally:
        os._exit(code)


def exit_code(child: int, deadline: float) -> int:
    """Wait for a child; one that does not even end itself at its own deadline is killed."""
    end = time.monotonic() + deadline
    while time.monotonic() < end:
        ended, status = os.waitpid(child, os.WNOHANG)
        if ended:
            return os.waitstatus_to_exitcode(status)
        time.sleep(0.001)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    return HUNG


OUTCOMES = {FINE: "fine", WRONG: "wrong", FAILED: "failed", REFUSED: "refused", HUNG: "hung"}


def fork(
    place: Place, findings: Findings, seed: int, slot: int, value: int, deadline: float, how: str
) -> None:
    """One step: fork a child, wait for it, and judge how it ended."""
    begin = time.monotonic()
    anew = seed % 2 == 0
    with tempfile.TemporaryFile() as log:
        work = lambda: child_work(place, seed, slot, value, anew)  # noqa: E731
        if how == "locked":
            with place.store.lock("part/c/0"):
                child = os.fork()
                if child == 0:
                    in_child(log.fileno(), deadline, work)
        else:
            child = os.fork()
            if child == 0:
                in_child(log.fileno(), deadline, work)
        code = exit_code(child, 2 * deadline)
        log.seek(0)
        text = log.read().decode(errors="replace")
    outcome = OUTCOMES.get(code, f"ended with {code}")
    if outcome == "fine" and place.kind.child_writes:
        place.last[slot] = value
    findings.add(place, outcome, time.monotonic() - begin, text)


_pooled: list[Place] = []


def pooled(task: tuple[int, int, int, int, float, str]) -> int:
    """One task of a pool's process."""
    number, seed, slot, value, deadline, path = task
    with open(path, "ab") as log:
        faulthandler.dump_traceback_later(deadline, exit=True, file=log)
        try:
            return child_work(_pooled[number], seed | 1, slot, value, False)
        except BaseException:
            log.write(traceback.format_exc().encode())
            return FAILED
        finally:
            faulthandler.cancel_dump_traceback_later()


def pool(places: list[Place], findings: Findings, seed: int, value: int, deadline: float) -> None:
    """Two steps: a pool of two forked processes."""
    _pooled[:] = places
    begin = time.monotonic()
    chosen = [seed % len(places), (seed + 1) % len(places)]
    with tempfile.TemporaryDirectory() as folder:
        paths = [os.path.join(folder, str(n)) for n in chosen]
        tasks = [
            (number, seed, 14 + turn, value, deadline, path)
            for turn, (number, path) in enumerate(zip(chosen, paths, strict=True))
        ]
        with multiprocessing.get_context("fork").Pool(2) as workers:
            try:
                codes = workers.map_async(pooled, tasks, chunksize=1).get(2 * deadline)
            except multiprocessing.TimeoutError:
                codes = [HUNG, HUNG]
        for number, path, code in zip(chosen, paths, codes, strict=True):
            text = Path(path).read_text(errors="replace") if os.path.exists(path) else ""
            findings.add(places[number], OUTCOMES[code], time.monotonic() - begin, text)


def load(places: list[Place], worker: int, seed: int, stop: threading.Event) -> list[str]:
    """What a thread of the parent does all the time; returns what went wrong."""
    chance = random.Random(f"{seed}-{worker}")
    slot = SLOTS - PARENTS + worker
    wrong: list[str] = []
    turn = 0
    while not stop.is_set() and len(wrong) < 5:
        turn += 1
        place = chance.choice(places)
        try:
            place.use(chance, slot, turn)
        except Exception:
            wrong.append(f"{place.kind.name}, in the parent:\n{traceback.format_exc()}")
        stop.wait(PAUSE * chance.random())
    return wrong


def campaign(
    steps: int,
    seed: int,
    *,
    threads: int = 3,
    deadline: float = 20.0,
    names: list[str] | None = None,
    show: Callable[[str], None] = lambda line: None,
) -> Findings:
    """Fork `steps` children under load."""
    findings = Findings()
    stop = threading.Event()
    wrong: list[str] = []
    with ExitStack() as stack:
        top = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="forks-")))
        found: list[Kind | None] = [*kinds()]
        for name in SERVERS:
            if names is None or name in names:
                found.append(stack.enter_context(serving(name)))
        places = [
            Place.made(kind, top / kind.name)
            for kind in found
            if kind is not None and (names is None or kind.name in names)
        ]
        for place in places:
            stack.callback(place.store.close)

        def work(worker: int) -> None:
            wrong.extend(load(places, worker, seed, stop))

        def fork_too() -> None:
            chance = random.Random(f"{seed}-second")
            while not stop.is_set() and findings.total < steps:
                number = chance.randrange(1 << 30)
                slot = 8 + number % 6
                place = chance.choice(places)
                fork(place, findings, number, slot, number, deadline, "second")
                stop.wait(4 * PAUSE)

        started = [threading.Thread(target=work, args=(n,)) for n in range(threads)]
        started.append(threading.Thread(target=fork_too))
        for thread in started:
            thread.start()
        chance = random.Random(seed)
        turn, shown = 0, time.monotonic()
        try:
            while findings.total < steps:
                place = places[turn % len(places)]
                turn += 1
                number = chance.randrange(1 << 30)
                if turn % 40 == 0:
                    pool(places, findings, turn, number, deadline)
                else:
                    how = "locked" if turn % 10 == 0 else "main"
                    fork(place, findings, number, turn % 8, number, deadline, how)
                if time.monotonic() - shown > 20:
                    shown = time.monotonic()
                    show(f"{findings.total} of {steps} forks: {dict(findings.outcomes)}")
                if len(findings.texts) > 20:
                    break
        finally:
            stop.set()
            for thread in started:
                thread.join()
        for place in places:
            if not place.kind.shared:
                continue
            for array in (place.whole, place.part, place.shard):
                values = array[:]
                for slot, value in place.last.items():
                    if values[slot] != value:
                        wrong.append(
                            f"{place.kind.name}: slot {slot} of {array!r} is {values[slot]},"
                            f" not {value}: what a child wrote is lost"
                        )
    findings.texts += wrong
    for text in wrong:
        print(text, file=sys.stderr, flush=True)
    findings.outcomes["wrong in the parent"] += len(wrong)
    return findings


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.campaigns.forks")
    parser.add_argument("--steps", type=int, default=500, help="how many children to fork")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--threads", type=int, default=3, help="threads that write all the time")
    parser.add_argument("--deadline", type=float, default=20.0, help="seconds for one child")
    parser.add_argument("--stores", nargs="*", help="only these kinds of stores")
    parser.add_argument("--json", action="store_true")
    given = parser.parse_args(arguments)
    warnings.filterwarnings("ignore", "This process .* is multi-threaded", DeprecationWarning)
    begin = time.monotonic()
    found = campaign(
        given.steps,
        given.seed,
        threads=given.threads,
        deadline=given.deadline,
        names=given.stores,
        show=lambda line: print(line, file=sys.stderr, flush=True),
    )
    summary = {
        "steps": found.total,
        "findings": len(found.texts),
        "hung": found.outcomes["hung"],
        "outcomes": dict(found.outcomes),
        "stores": dict(found.steps),
        "slowest_seconds": round(found.slowest, 1),
        "seconds": round(time.monotonic() - begin, 1),
        "python": sys.version.split()[0],
    }
    if given.json:
        print(json.dumps(summary))
    else:
        print(
            f"{found.total} steps, {len(found.texts)} findings, {found.outcomes['hung']} hung,"
            f" {found.outcomes['refused']} refused, slowest {found.slowest:.1f} s,"
            f" {len(found.steps)} kinds of stores, Python {summary['python']}"
        )
    return 1 if found.texts else 0


if __name__ == "__main__":
    sys.exit(main())
