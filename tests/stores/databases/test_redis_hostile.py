"""RedisStore and a server that answers something else than it was asked for."""

from __future__ import annotations

import itertools
import time
import tracemalloc
from collections.abc import Callable
from typing import Any

import pytest
import redis

from omnizarr import limits
from omnizarr.errors import StoreError, StoreTimeoutError
from omnizarr.stores import ByteRange, RedisStore
from tests.stores.databases.fake_redis import Fake, fake_redis

pytestmark = pytest.mark.slow

TIMEOUT = 1.0
PATIENCE = 20 * TIMEOUT
"""What a call may take on a loaded machine; without a timeout it would wait for ever."""


def open_store(fake: Fake, protocol: int = 2) -> RedisStore:
    return RedisStore(host="127.0.0.1", port=fake.port, timeout=TIMEOUT, protocol=protocol)


Call = Callable[[RedisStore], object]
READS: list[Call] = [
    lambda store: store.get("a"),
    lambda store: store.get("a", ByteRange(2, 5)),
    lambda store: store.get("a", ByteRange(3, 3)),
    lambda store: store.get_many([("a", None), ("b", ByteRange(-3))]),
    lambda store: store.get_versioned("a"),
    lambda store: store.size("a"),
    lambda store: store.exists("a"),
    lambda store: list(store.list()),
    lambda store: store.list_dir(""),
]
WRITES: list[Call] = [
    lambda store: store.set("a", b"1"),
    lambda store: store.update({"a": b"1", "b": b"2"}),
    lambda store: store.set_if_absent("a", b"1"),
    lambda store: store.set_if_version("a", b"1", b"0" * 40),
    lambda store: store.delete("a"),
    lambda store: store.delete_prefix(""),
]


@pytest.mark.parametrize(
    "answer",
    [
        b"*1\r\n:1\r\n",
        b"*0\r\n",
        b"*3\r\n$1\r\na\r\n$1\r\nb\r\n$1\r\nc\r\n",
        b"*2\r\n:0\r\n:7\r\n",
        b"*2\r\n$1\r\n0\r\n*1\r\n:5\r\n",
        b"*2\r\n*0\r\n*0\r\n",
        b"*1\r\n" * 500 + b":1\r\n",
        b"*1\r\n" * 20_000 + b":1\r\n",
        b":-7\r\n",
        b":x\r\n",
        b":" + b"9" * 5000 + b"\r\n",
        b"$x\r\n",
        b"*-7\r\n",
        b"*x\r\n",
        b"nonsense\r\n",
        b"\r\n",
        b"-ERR no\r\n",
        b"-\xff\xfe\r\n",
        b"*1\r\n-ERR inner\r\n",
    ],
)
def test_answers_of_another_kind(answer: bytes) -> None:
    """Never a value, never another library's error, never longer than the time allows."""
    with fake_redis(answer) as fake, open_store(fake) as store:
        for call in READS + WRITES:
            begun = time.monotonic()
            try:
                found = call(store)
            except StoreError:
                assert time.monotonic() - begun < PATIENCE
            else:  # "no such value" is an answer that some of these mean; a value is none of them
                pytest.fail(f"{found!r} was made of {answer[:50]!r}")


@pytest.mark.parametrize(
    "answer",
    [
        b"%1\r\n*0\r\n:1\r\n",
        b"%1\r\n$1\r\na\r\n:1\r\n",
        b",1.5\r\n",
        b"~1\r\n:1\r\n",
        b"(123x\r\n",
        b">1\r\n:1\r\n>1\r\n:1\r\n" * 3000,
        b"%1\r\n:1\r\n" * 3000 + b":1\r\n",
        b"!7\r\nERR no\n\r\n",
    ],
)
def test_answers_of_another_kind_in_the_newer_protocol(answer: bytes) -> None:
    hello = b"%1\r\n$5\r\nproto\r\n:3\r\n"

    with fake_redis(answer) as fake:
        original = fake.answer
        fake.answer = lambda command: hello if command[0] == b"HELLO" else original(command)
        for call in READS + WRITES:
            with open_store(fake, protocol=3) as store:
                begun = time.monotonic()
                with pytest.raises(StoreError):
                    call(store)
                assert time.monotonic() - begun < PATIENCE


@pytest.mark.parametrize("answer", [b":5\r\n", b"+OK\r\n", b"$-1\r\n", b"$3\r\nabc\r\n"])
def test_each_answer_has_its_question(answer: bytes) -> None:
    """What is right for one command is refused for another."""
    values: dict[bytes, list[Any]] = {
        b":5\r\n": [None, None, b"", None, None, 5, True, None, None],
        b"+OK\r\n": [b"OK", b"OK", None, [b"OK", b"OK"], None, None, None, None, None],
        b"$-1\r\n": [None] * 9,
        b"$3\r\nabc\r\n": [b"abc", b"abc", None, [b"abc", b"abc"], None, None, None, None, None],
    }
    refused = {
        b":5\r\n": [0, 1, 3, 4, 7, 8],
        b"+OK\r\n": [2, 4, 5, 6, 7, 8],
        b"$-1\r\n": [1, 2, 3, 5, 6, 7, 8],
        b"$3\r\nabc\r\n": [2, 4, 5, 6, 7, 8],
    }[answer]
    with fake_redis(answer) as fake, open_store(fake) as store:
        for index, (call, value) in enumerate(zip(READS, values[answer], strict=True)):
            if index in refused:
                with pytest.raises(StoreError, match="answer"):
                    call(store)
            else:
                assert call(store) == value


def test_a_write_that_was_not_done() -> None:
    with fake_redis(b"$-1\r\n") as fake, open_store(fake) as store:
        assert not store.set_if_absent("a", b"1")
        for call in (WRITES[0], WRITES[1], WRITES[3], WRITES[4]):
            with pytest.raises(StoreError, match="expected"):
                call(store)


def test_an_answer_is_longer_than_its_range() -> None:
    with fake_redis(b"$9\r\n012345678\r\n") as fake, open_store(fake) as store:
        for part in (ByteRange(0, 8), ByteRange(-8), ByteRange(5, 6)):
            with pytest.raises(StoreError, match="9 bytes, expected at most"):
                store.get("a", part)
        assert store.get("a", ByteRange(0, 9)) == store.get("a", ByteRange(2)) == b"012345678"


def test_a_flood_instead_of_a_few_bytes() -> None:
    """What is not wanted is not kept."""
    flood = b"$900000000\r\n" + bytes(64 << 20)
    with fake_redis(flood) as fake, open_store(fake) as store:
        tracemalloc.start()
        try:
            with pytest.raises(StoreError, match="more than it was asked for"):
                store.get("a", ByteRange(0, 1000))
            assert tracemalloc.get_traced_memory()[1] < 8 << 20
        finally:
            tracemalloc.stop()


FLOOD = b"$900000000\r\n" + bytes(160 << 20)
TOLD = {b"GETRANGE": b"$0\r\n\r\n", b"EXISTS": b":1\r\n", b"STRLEN": b":0\r\n"}


@pytest.mark.parametrize(
    ("call", "most"),
    [
        *((call, 8) for call in READS[1:3] + READS[5:7] + WRITES[:5]),
        *((call, 130) for call in READS[7:]),  # a step of a listing may be long
        (lambda store: store.get_many([("a", ByteRange(-3)), ("b", ByteRange(9, 12))]), 8),
        (lambda store: store.get_versioned("a", ByteRange(0, 100)), 8),
    ],
)
@pytest.mark.parametrize("right", [[], [b"GETRANGE"], [b"GETRANGE", b"EXISTS"], list(TOLD)])
def test_no_answer_takes_more_than_what_was_asked_for(
    call: Call, most: int, right: list[bytes]
) -> None:
    """Whichever question of a call is answered with a flood."""
    answers = {name: TOLD[name] for name in right}
    with (
        fake_redis(lambda command: answers.get(command[0], FLOOD)) as fake,
        open_store(fake) as store,
    ):
        tracemalloc.start()
        try:
            try:
                found = call(store)
            except StoreError:
                found = None
            assert tracemalloc.get_traced_memory()[1] < most << 20
        finally:
            tracemalloc.stop()
        asked = {command[0] for command in fake.commands}
        assert b"GET" not in asked
        flooded = not asked - {b"HELLO", b"CLIENT", b"SELECT"} <= answers.keys()
        assert (found is None) == flooded


def test_a_whole_value_has_a_limit() -> None:
    with (
        fake_redis(lambda command: FLOOD) as fake,
        open_store(fake) as store,
        limits.override(max_chunk_bytes=1 << 20, max_document_bytes=1 << 20),
    ):
        for call in (READS[0], READS[3], READS[4], lambda store: store.get("a", ByteRange(3))):
            tracemalloc.start()
            try:
                with pytest.raises(StoreError, match="more than it was asked for"):
                    call(store)
                assert tracemalloc.get_traced_memory()[1] < 12 << 20
            finally:
                tracemalloc.stop()


def test_a_value_that_is_written_while_it_is_read() -> None:
    """The range of a value that was missing is read anew when there is one."""
    value = b"0123456789"
    parts = [b"$0\r\n\r\n", b"$3\r\n789\r\n"]
    there = {b"EXISTS": b":1\r\n", b"STRLEN": b":%d\r\n" % len(value)}
    with (
        fake_redis(lambda command: there.get(command[0]) or parts.pop(0)) as fake,
        open_store(fake) as store,
    ):
        assert store.get("a", ByteRange(-3)) == b"789"
        parts[:] = [b"$0\r\n\r\n"]
        assert store.get("a", ByteRange(10, 12)) == b"", "behind its end"
        parts[:] = [b"$0\r\n\r\n"] * 9
        with pytest.raises(StoreError, match="changes all the while"):
            store.get("a", ByteRange(-3))
        assert len(parts) == 6


@pytest.mark.parametrize(
    ("before", "length", "after", "size"),
    [(0, 0, 0, None), (1, 0, 1, 0), (1, 5, 1, 5), (0, 5, 1, 5), (0, 0, 1, None), (1, 0, 0, None)],
)
def test_a_size_while_a_value_comes_or_goes(
    before: int, length: int, after: int, size: int | None
) -> None:
    answers = [b":%d\r\n" % number for number in (before, length, after)]
    with fake_redis(lambda command: answers.pop(0)) as fake, open_store(fake) as store:
        assert store.size("a") == size


@pytest.mark.parametrize("length", [1 << 31, 10**18, 10**30, -7])
def test_an_announced_length_that_never_comes(length: int) -> None:
    with fake_redis(b"$%d\r\nabc" % length) as fake, open_store(fake) as store:
        begun = time.monotonic()
        with pytest.raises(StoreError):
            store.get("a")
        assert time.monotonic() - begun < PATIENCE


def _scan(cursor: int, *names: bytes) -> bytes:
    number = str(cursor).encode()
    text = b"*2\r\n$%d\r\n%s\r\n*%d\r\n" % (len(number), number, len(names))
    return text + b"".join(b"$%d\r\n%s\r\n" % (len(name), name) for name in names)


@pytest.mark.parametrize("given", [False, True])
@pytest.mark.parametrize("repeats", [False, True])
def test_a_scan_without_an_end(given: bool, repeats: bool) -> None:
    count = itertools.count(1)
    with fake_redis(lambda command: _scan(7 if repeats else next(count), b"zarr:a")) as fake:
        client = redis.Redis(port=fake.port, protocol=2) if given else None
        store = RedisStore(client=client, timeout=TIMEOUT) if client else open_store(fake)
        begun = time.monotonic()
        with store, pytest.raises(StoreTimeoutError):
            store.list_dir("")
        assert time.monotonic() - begun < PATIENCE
        if client is not None:
            client.close()


def test_a_scan_of_foreign_names() -> None:
    answers = [_scan(0, b"zarr:b/c", b"zarr:a"), _scan(0, b"other:a")]
    with fake_redis(lambda command: answers.pop(0)) as fake, open_store(fake) as store:
        assert list(store.list()) == ["a", "b/c"]
        with pytest.raises(StoreError, match="a name that begins with"):
            list(store.list())


def test_nothing_is_left_over_for_the_next_question() -> None:
    """After an answer that made no sense the connection is not used again."""
    answers: list[Any] = []
    with fake_redis(lambda command: answers.pop(0)) as fake, open_store(fake) as store:
        for broken in (
            b"*2\r\n$x\r\n$5\r\nwrong\r\n",
            b"*1\r\n" * 5000 + b"$5\r\nwrong\r\n",
            b"?\r\n$5\r\nwrong\r\n",
            b"$1\r\na\r\n$5\r\nwrong\r\n",  # one answer more than questions
        ):
            answers[:] = [broken, b"$5\r\nright\r\n"]
            try:
                assert store.get("a") == b"a"
            except StoreError:
                assert broken[:1] != b"$"
            assert store.get("a") == b"right"
