"""RedisStore: values that come or go between two commands, and a scan that takes too long."""

from __future__ import annotations

import itertools
import time

import pytest
import redis

from omnizarr.errors import StoreError, StoreTimeoutError
from omnizarr.stores import ByteRange, RedisStore
from tests.stores.databases.fake_redis import Fake, fake_redis

pytestmark = pytest.mark.slow

TIMEOUT = 1.0


def open_store(fake: Fake) -> RedisStore:
    return RedisStore(host="127.0.0.1", port=fake.port, timeout=TIMEOUT, protocol=2)


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
        assert time.monotonic() - begun < 1.5 * TIMEOUT
        if client is not None:
            client.close()
