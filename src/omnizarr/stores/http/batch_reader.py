"""Read many small values with one thread over many connections.

Answers are checked by `ranges` like any other. What is left aside is repeated by `Client.fetch`,
which handles it.

This module knows values that begin at their first byte. It must not know what a status means.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from omnizarr.model.store import Buffer, ByteRange
from omnizarr.runtime.parallel import Desk
from omnizarr.stores.http.batch import MOST_BODY, Batch, Unusual, Whole
from omnizarr.stores.http.client import Client
from omnizarr.stores.http.connection import Clock
from omnizarr.stores.http.ranges import Refused, header, take_bounded

Item = tuple[str, Any]


class Feeder:
    """Asks for values at one origin; see `model.store.Feeder`, and `feeder_of`."""

    def __init__(self, batch: Batch, ordinary: Callable[[str, Clock], Buffer | None]) -> None:
        self._batch = batch
        self._ordinary = ordinary

    @property
    def fits(self) -> bool:
        return self._batch.fits

    def get(self, key: str) -> Buffer | None:
        return self._ordinary(key, self._batch.clock_of(key))

    def feed(self, desk: Desk[Item, Buffer | None]) -> None:
        self._batch.run(desk)


def feeder_of(
    client: Client,
    target: Callable[[str], str],
    byte_range: ByteRange | None,
    requests: int,
    is_there: Callable[[str, Whole], bool],
    ordinary: Callable[[str, Clock], Buffer | None],
) -> Feeder | None:
    """Reads the beginning of many values; None for other or longer ranges, and behind a proxy.

    target: the target of the request line for a key.
    is_there: whether an answer holds the value of a key; False if it says that there is none. An
    answer that it raises for is left aside.
    ordinary: reads a key in the ordinary way, before the deadline of the clock.
    """
    if byte_range is None or byte_range.start != 0 or byte_range.stop is None:
        return None
    stop = byte_range.stop
    if not 0 < stop <= MOST_BODY or not client.is_direct:
        return None

    def judge(item: Item, answer: Whole) -> Buffer | None:
        if not is_there(item[0], answer):
            return None
        part = take_bounded(answer, 0, stop)
        if isinstance(part, Refused):
            raise Unusual
        return part.data

    ask = client.requester("GET", {"Range": header(byte_range)})

    def request(item: Item) -> bytes:
        return ask(target(item[0]))

    return Feeder(Batch(client, requests, lambda item: item[0], request, judge), ordinary)
