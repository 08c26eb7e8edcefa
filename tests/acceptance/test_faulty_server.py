"""A server that fails in many ways, asked 5,000 times: right values or an error, never fill values,
and never beyond the deadline.

The chunks are stored without compression and without checksums: whatever a store lets through
would be read as data.
"""

from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest

import omnizarr
from omnizarr.errors import StoreError, ZarrError
from omnizarr.model.store import Buffer, ByteRange, Feeder, Read, Store, Versioned
from omnizarr.stores import WrapperStore
from tests.servers.faulty import READING, WRITING, Faulty

DEADLINE = 2.0
LATE = 0.75
"""What a busy machine may add to a deadline."""
READERS = 8
WRITERS = 16
FILL = -7
SLOW = {"stall", "drip"}


class TimedDesk:
    """Measures from the moment at which an item is taken until its value is there."""

    def __init__(self, desk: Any, longest: list[float]) -> None:
        self._desk = desk
        self._longest = longest
        self.begun: dict[str, float] = {}

    def __getattr__(self, name: str) -> Any:
        return getattr(self._desk, name)

    def take(self, **how: bool) -> Any:
        item = self._desk.take(**how)
        if item is not None:
            self.begun[item[0]] = time.monotonic()
        return item

    def put(self, item: Any, value: Any) -> None:
        self._longest.append(time.monotonic() - self.begun[item[0]])
        self._desk.put(item, value)


class TimedFeeder:
    def __init__(self, feeder: Feeder, longest: list[float]) -> None:
        self._feeder = feeder
        self._longest = longest
        self._desk: TimedDesk | None = None

    def feed(self, desk: Any, /) -> None:
        self._desk = TimedDesk(desk, self._longest)
        self._feeder.feed(self._desk)  # type: ignore[arg-type]

    def get(self, key: str, /) -> Buffer | None:
        assert self._desk is not None
        begun = self._desk.begun.get(key, time.monotonic())
        try:
            return self._feeder.get(key)
        finally:
            self._longest.append(time.monotonic() - begun)


class Timed(WrapperStore):
    """Measures every call that reads or writes."""

    def __init__(self, store: Store, longest: list[float]) -> None:
        super().__init__(store)
        self._longest = longest

    def _timed(self, function: Callable[[], Any]) -> Any:
        begun = time.monotonic()
        try:
            return function()
        finally:
            self._longest.append(time.monotonic() - begun)

    def get(self, key: str, byte_range: ByteRange | None = None) -> Buffer | None:
        return self._timed(lambda: self.store.get(key, byte_range))

    def get_many(self, requests: Sequence[tuple[str, ByteRange | None]]) -> list[Buffer | None]:
        return [self.get(*request) for request in requests]

    def feeder(self, byte_range: ByteRange | None, requests: int) -> Feeder | None:
        found = self.store.feeder(byte_range, requests)
        return None if found is None else TimedFeeder(found, self._longest)

    def get_versioned(self, key: str, byte_range: ByteRange | None = None) -> Versioned | None:
        return self._timed(lambda: self.store.get_versioned(key, byte_range))

    def set(self, key: str, value: Buffer) -> None:
        self._timed(lambda: self.store.set(key, value))

    def set_if_version(self, key: str, value: Buffer, version: Any) -> bool:
        return self._timed(lambda: self.store.set_if_version(key, value, version))

    def set_if_absent(self, key: str, value: Buffer) -> bool:
        return self._timed(lambda: self.store.set_if_absent(key, value))

    @contextmanager
    def snapshot(self, key: str) -> Iterator[Read]:
        inner: AbstractContextManager[Read] = self.store.snapshot(key)
        with inner as read:
            yield lambda byte_range: self._timed(lambda: read(byte_range))


@dataclass
class Outcome:
    requests: int = 0
    faults: int = 0
    right: int = 0
    raised: Counter[str] = field(default_factory=Counter)
    wrong: list[str] = field(default_factory=list)
    longest: list[float] = field(default_factory=lambda: [0.0])

    def line(self, store: str, fault: str) -> str:
        raised = sum(self.raised.values())
        return (
            f"faulty server, {store:5} {fault:21} {self.requests:6,} requests"
            f" {self.faults:5,} faults {self.right:5,} right {raised:5,} raised"
            f" {len(self.wrong):3} wrong,"
            f" longest call {max(self.longest):.2f} s of {DEADLINE:g} s"
        )


def hierarchy() -> tuple[dict[str, bytes], dict[str, Any]]:
    """What the server holds, and what must be read from it."""
    values: dict[str, bytes] = {}
    root = omnizarr.create_group(omnizarr.MemoryStore(values))
    expected: dict[str, Any] = {}
    plain = np.arange(24 * 64, dtype="i4").reshape(24, 64)
    plain[5] = plain[17] = FILL  # two chunks that are not stored: missing means missing
    array = root.create_array(
        "plain", shape=plain.shape, dtype="i4", chunks=(1, 64), compressors=None, fill_value=FILL
    )
    array[...] = plain
    expected["plain"] = plain
    sharded = np.arange(64 * 64, dtype="i4").reshape(64, 64)
    array = root.create_array(
        "sharded",
        shape=sharded.shape,
        dtype="i4",
        chunks=(8, 8),
        shards=(32, 32),
        compressors=None,
        fill_value=FILL,
    )
    array[...] = sharded
    expected["sharded"] = sharded
    assert sum(key.startswith("plain/c/") for key in values) == 22
    return values, expected


def read_all(faulty: Faulty, make: Callable[[], Store], fault: str, enough: int) -> Outcome:
    """Read the arrays again and again, by several threads, until the server was asked enough."""
    outcome = Outcome()
    guard = threading.Lock()
    before, injected = faulty.requests, sum(faulty.injected.values())
    _, expected = hierarchy()
    selections = (np.s_[...], np.s_[1:-1, 3:50], np.s_[20:23, ::3])

    def reader(number: int) -> None:
        with make() as store:
            timed = Timed(store, outcome.longest)
            turn = number
            while faulty.requests - before < enough:
                turn += 1
                name = "plain" if turn % 3 else "sharded"
                chosen = selections[turn % len(selections)]
                try:
                    found = omnizarr.open_array(timed, "r", path=name)[chosen]
                except ZarrError as error:
                    with guard:
                        outcome.raised[type(error).__name__] += 1
                    continue
                except Exception as error:  # anything else is a finding
                    with guard:
                        outcome.wrong.append(f"{fault}: {name}: {type(error).__name__}: {error}")
                    continue
                with guard:
                    if np.array_equal(found, expected[name][chosen]):
                        outcome.right += 1
                    else:
                        places = np.argwhere(found != expected[name][chosen])[:3].tolist()
                        outcome.wrong.append(f"{fault}: {name}: wrong values at {places}")

    threads = [threading.Thread(target=reader, args=(number,)) for number in range(READERS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    outcome.requests = faulty.requests - before
    outcome.faults = sum(faulty.injected.values()) - injected
    return outcome


def http_store(faulty: Faulty) -> Store:
    from omnizarr.stores import HTTPStore

    return HTTPStore(f"{faulty.url}/bucket/data.zarr", deadline=DEADLINE, requests=8)


def s3_store(faulty: Faulty) -> Store:
    return omnizarr.stores.as_store(
        "s3://bucket/data.zarr",
        storage_options={
            "endpoint": faulty.url,
            "access_key_id": "someone",
            "secret_access_key": "secret",
            "region": "us-east-1",
            "client_options": {"allow_http": True},
            "deadline": DEADLINE,
        },
    )


@pytest.mark.parametrize(
    ("name", "make", "requests"), [("HTTP", http_store, 260), ("S3", s3_store, 140)]
)
def test_reading_from_a_faulty_server(
    server: Callable[[str], Any],
    summary: Callable[[str], None],
    name: str,
    make: Callable[[Faulty], Store],
    requests: int,
) -> None:
    faulty: Faulty = server("faulty")
    values, _ = hierarchy()
    faulty.visitors.clear()
    faulty.values.clear()
    faulty.values.update({f"bucket/data.zarr/{key}": value for key, value in values.items()})
    make(faulty).close()
    outcomes: dict[str, Outcome] = {}
    with omnizarr.config.set({"requests": 8}):
        for number, fault in enumerate(READING):
            faulty.plan(fault, rate=0.15 if fault in SLOW else 0.25, seed=number)
            outcomes[fault] = read_all(faulty, lambda: make(faulty), fault, requests)
        faulty.plan(*READING, rate=0.3, seed=99)
        outcomes["all of them"] = read_all(faulty, lambda: make(faulty), "all of them", requests)
        faulty.heal()
        healed = read_all(faulty, lambda: make(faulty), "none", 60)
    for fault, outcome in outcomes.items():
        summary(outcome.line(name, fault))
    whole = sum(outcome.requests for outcome in outcomes.values())
    summary(
        f"faulty server, {name:5} in all: {whole:,} requests,"
        f" {sum(o.faults for o in outcomes.values()):,} faults of {len(READING)} kinds,"
        f" {sum(len(o.wrong) for o in outcomes.values())} wrong values or fill values for faults,"
        f" longest call {max(max(o.longest) for o in outcomes.values()):.2f} s of {DEADLINE:g} s"
    )
    assert [wrong for outcome in outcomes.values() for wrong in outcome.wrong] == []
    if name == "HTTP":
        assert faulty.visitors == []  # no request went to another origin
    assert whole >= len(READING) * requests
    for fault, outcome in outcomes.items():
        assert outcome.faults > 10, fault
        assert max(outcome.longest) < DEADLINE + LATE, fault
    assert healed.wrong == [] and not healed.raised and healed.right > 0


# -- writing through S3 -----------------------------------------------------------------------


def test_conditional_writes_with_lost_answers(
    server: Callable[[str], Any], summary: Callable[[str], None]
) -> None:
    """What a conditional write says must be what the server shows: True, and it is there; False,
    and it is not."""
    faulty: Faulty = server("faulty")
    faulty.values.clear()
    longest = [0.0]
    said: Counter[str] = Counter()
    wrong: list[str] = []
    before = faulty.requests
    injected = Counter(faulty.injected)
    often = ("lost acknowledgement", "lost before") * 5
    faulty.plan(*WRITING, *often, "short", "wrong range", rate=0.4, seed=5)

    def writer(number: int) -> None:
        """The only one that writes this key."""
        key = f"counter/{number}"
        place = f"bucket/data.zarr/{key}"
        version: Any = None
        with s3_store(faulty) as inner:
            store = Timed(inner, longest)
            for turn in range(25):
                value = f"{number} {turn}".encode()
                try:
                    done = store.set_if_version(key, value, version)
                    said["written" if done else "refused"] += 1
                    if done != (faulty.values.get(place) == value):
                        wrong.append(f"{key}: said {done}, found {faulty.values.get(place)!r}")
                except StoreError:
                    said["raised"] += 1
                try:
                    found = store.get_versioned(key)
                except StoreError:
                    continue
                version = None if found is None else found.version
                if (None if found is None else bytes(found.value)) != faulty.values.get(place):
                    wrong.append(f"{key}: read {found!r}, stored {faulty.values.get(place)!r}")

    failures: list[BaseException] = []

    def guarded(number: int) -> None:
        try:
            writer(number)
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=guarded, args=(number,)) for number in range(WRITERS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []
    faulty.heal()
    lost = faulty.injected["lost acknowledgement"] - injected["lost acknowledgement"]
    summary(
        f"faulty server, S3 conditional writes: {faulty.requests - before:,} requests, {lost} lost"
        f" acknowledgements, {said['written']} written, {said['refused']} refused,"
        f" {said['raised']} raised, {len(wrong)} told wrongly, longest call {max(longest):.2f} s"
        f" of {DEADLINE:g} s"
    )
    assert wrong == []
    assert lost > 10
    assert max(longest) < DEADLINE + LATE


def test_updates_with_lost_answers(
    server: Callable[[str], Any], summary: Callable[[str], None]
) -> None:
    """Two writers change their own elements of one chunk: what succeeded is there, whatever answer
    was lost, and what raised is either there whole or not at all."""
    faulty: Faulty = server("faulty")
    faulty.values.clear()
    faulty.heal()
    count = 60
    with s3_store(faulty) as store:
        omnizarr.create_array(
            store, name="a", shape=(2, count), dtype="i4", chunks=(2, count), fill_value=FILL
        )
    before, injected = faulty.requests, Counter(faulty.injected)
    faulty.plan("lost acknowledgement", "lost before", "503", "reset", rate=0.15, seed=3)
    done: list[list[bool]] = [[], []]

    def writer(row: int) -> None:
        with s3_store(faulty) as store:
            array = None
            for column in range(count):
                try:
                    array = array or omnizarr.open_array(store, "r+", path="a")
                    array[row, column] = column
                    done[row].append(True)
                except ZarrError:
                    done[row].append(False)

    threads = [threading.Thread(target=writer, args=(row,)) for row in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    faulty.heal()
    with s3_store(faulty) as store:
        found = np.asarray(omnizarr.open_array(store, "r", path="a")[...])
    succeeded = np.array(done)
    expected = np.broadcast_to(np.arange(count), (2, count))
    lost = int((found[succeeded] != expected[succeeded]).sum())
    strange = int(((found != expected) & (found != FILL)).sum())
    answers = faulty.injected["lost acknowledgement"] - injected["lost acknowledgement"]
    summary(
        f"faulty server, S3 updates of one chunk by two writers: {2 * count} updates in"
        f" {faulty.requests - before:,} requests, {answers} lost acknowledgements,"
        f" {int((~succeeded).sum())} raised, {lost} lost"
    )
    assert (lost, strange) == (0, 0)
    assert succeeded.sum() > count
    assert answers > 5
