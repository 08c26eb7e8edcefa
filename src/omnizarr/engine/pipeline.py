"""The executor: two steps for every chunk of a plan, with a bounded number of chunks under way.

Reading fetches, then decodes and scatters; writing gathers and encodes, then stores. Waiting for a
high-latency store needs many threads, computing only as many as there are cores, so each step has
threads of its own there. On a store that answers at once the same threads do both.

`Amounts` says how many of what there are; `engine.threads` chooses them. The native core executes
plans over local files by itself, and stands behind the computing step for all other stores
(`engine.native_plans`).

This module knows steps and threads. It must not know what a chunk is.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from itertools import islice
from typing import Any, NamedTuple, TypeVar

from omnizarr.codecs import Scratch
from omnizarr.model.store import Buffer, Feeder, Sender
from omnizarr.runtime import parallel

T = TypeVar("T")
V = TypeVar("V")


class Amounts(NamedTuple):
    """How much of what is at work at once."""

    waiting: int
    """Threads that wait for the store; 0 where those that compute do that too."""
    computing: int
    """Threads that decode or encode."""
    under_way: int
    """Chunks that are requested, or not yet finished, at the most."""
    together: int
    """Chunks that a step is given at once."""
    inside: int = 1
    """Threads that read parts of one shard."""


def read(
    items: Iterable[T],
    fetch: Callable[[list[T]], list[V]],
    place: Callable[[list[T], list[V], Scratch], None],
    amounts: Amounts,
    feeder: Feeder | None = None,
    key_of: Callable[[T], str] = str,
) -> None:
    """Fetch the values of all items, and place them. A feeder fetches most of them by their key."""
    if not amounts.waiting:

        def both(batch: list[T], scratch: Scratch) -> None:
            place(batch, fetch(batch), scratch)

        parallel.run(both, _batches(items, amounts.together), amounts.computing, Scratch)
        return

    def first(item: tuple[str, T]) -> Any:
        return fetch([item[1]])[0] if feeder is None else feeder.get(item[0])

    def second(batch: list[tuple[tuple[str, T], Any]], scratch: Scratch) -> None:
        wanted = [item for (_, item), _ in batch]
        values = [value for _, value in batch]
        batch.clear()
        place(wanted, values, scratch)

    parallel.relay(
        first,
        ((key_of(item), item) for item in items),
        amounts.waiting,
        second,
        amounts.computing,
        Scratch,
        amounts.under_way,
        None if feeder is None else feeder.feed,
        amounts.together,
    )


def write(
    items: Iterable[T],
    encode: Callable[[list[T]], list[V]],
    store: Callable[[T, V], None],
    amounts: Amounts,
    sender: Sender | None = None,
    value_of: Callable[[T, V], tuple[str, Buffer] | None] = lambda _item, _value: None,
) -> None:
    """Encode all items, and store them. A sender stores most of those that have a value."""
    if not amounts.waiting:

        def both(batch: list[T], _: None) -> None:
            for item, value in zip(batch, encode(batch), strict=True):
                parallel.check()
                store(item, value)

        parallel.run(both, _batches(items, amounts.together), amounts.computing, lambda: None)
        return

    def feed(desk: parallel.Desk[T, V]) -> None:
        while batch := _taken(desk, amounts.together):
            for item, value in zip(batch, encode(batch), strict=True):
                desk.put(item, value)

    def second(batch: list[tuple[T, V]], _: None) -> None:
        for item, value in batch:
            store(item, value)

    drain: Callable[[parallel.Outbox[T, V]], None] | None = None
    if sender is not None:
        drain = lambda outbox: sender.send(outbox, lambda pair: value_of(*pair))  # noqa: E731

    parallel.relay(
        lambda item: encode([item])[0],
        items,
        amounts.computing,
        second,
        amounts.waiting,
        lambda: None,
        amounts.under_way,
        feed if amounts.together > 1 else None,
        drain=drain,
    )


def _batches(items: Iterable[T], size: int) -> Iterator[list[T]]:
    iterator = iter(items)
    while batch := list(islice(iterator, size)):
        yield batch


def _taken(desk: parallel.Desk[T, V], most: int) -> list[T]:
    """The next items: at least one, unless there are no more, and those that may be begun now."""
    found: list[T] = []
    while len(found) < most and not desk.ended:
        item = desk.take(wait=not found)
        if item is None:
            break
        found.append(item)
    return found
