"""RedisStore: values that are written between two commands of one call."""

from __future__ import annotations

from omnizarr.stores import ByteRange, RedisStore
from tests.stores.databases.fake_redis import Fake, fake_redis

MISSING, EMPTY, VALUE = b"$-1\r\n", b"$0\r\n\r\n", b"$10\r\n0123456789\r\n"


def open_store(fake: Fake) -> RedisStore:
    return RedisStore(host="127.0.0.1", port=fake.port, protocol=2)


def test_an_empty_part_is_decided_by_the_whole_value() -> None:
    """The value may have been written after the server answered that there is no such part."""
    answers = {b"GETRANGE": EMPTY}
    with fake_redis(lambda command: answers[command[0]]) as fake, open_store(fake) as store:
        for whole, part, expected in [
            (VALUE, ByteRange(-3), b"789"),
            (VALUE, ByteRange(10, 12), b""),
            (EMPTY, ByteRange(-3), b""),
            (MISSING, ByteRange(-3), None),
        ]:
            answers[b"GET"] = whole
            assert store.get("a", part) == expected


def test_a_length_of_zero_is_decided_by_the_whole_value() -> None:
    answers = {b"STRLEN": b":0\r\n"}
    with fake_redis(lambda command: answers[command[0]]) as fake, open_store(fake) as store:
        for whole, expected in [(VALUE, 10), (EMPTY, 0), (MISSING, None)]:
            answers[b"GET"] = whole
            assert store.size("a") == expected
