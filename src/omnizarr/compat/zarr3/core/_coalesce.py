"""Merging byte ranges of one value that are close to each other into fewer requests."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from omnizarr.compat.zarr3.abc.store import RangeByteRequest

if TYPE_CHECKING:
    from omnizarr.compat.zarr3.abc.store import ByteRequest
    from omnizarr.compat.zarr3.core.buffer import Buffer

Indexed = tuple[int, "ByteRequest | None"]
Answers = Sequence[tuple[int, "Buffer | None"]]


def coalesce_ranges(
    byte_ranges: Sequence[ByteRequest | None],
    *,
    max_gap_bytes: int,
    max_coalesced_bytes: int,
) -> tuple[list[list[tuple[int, RangeByteRequest]]], list[Indexed]]:
    """Return groups of ranges, each to be read with one request, and what cannot be merged.

    Every range is named by its place in `byte_ranges`. A request for a whole value, or for its
    end, is never merged.
    """
    indexed = list(enumerate(byte_ranges))
    single: list[Indexed] = [
        (i, part) for i, part in indexed if not isinstance(part, RangeByteRequest)
    ]
    ranges = [(i, part) for i, part in indexed if isinstance(part, RangeByteRequest)]
    groups: list[list[tuple[int, RangeByteRequest]]] = []
    end = 0
    for index, part in sorted(ranges, key=lambda item: (item[1].start, item[1].end)):
        if groups:
            near = part.start - end <= max_gap_bytes
            small = max(end, part.end) - groups[-1][0][1].start <= max_coalesced_bytes
            if near and small:
                groups[-1].append((index, part))
                end = max(end, part.end)
                continue
        groups.append([(index, part)])
        end = part.end
    return groups, single


def request_of(group: Sequence[tuple[int, RangeByteRequest]]) -> RangeByteRequest:
    """The one range that covers a group."""
    return RangeByteRequest(group[0][1].start, max(part.end for _, part in group))


def answers(group: Sequence[tuple[int, RangeByteRequest]], found: Buffer) -> Answers:
    """What was read for a group, cut into its ranges."""
    if len(group) == 1:
        return [(group[0][0], found)]
    first = group[0][1].start
    return [(index, found[part.start - first : part.end - first]) for index, part in group]


def _alone(index: int, found: Buffer) -> Answers:
    return [(index, found)]


async def coalesced_get(
    fetch: Callable[[ByteRequest | None], Awaitable[Buffer | None]],
    byte_ranges: Sequence[ByteRequest | None],
    *,
    max_concurrency: int,
    max_gap_bytes: int,
    max_coalesced_bytes: int,
) -> AsyncIterator[Answers]:
    """Read ranges with few requests, `max_concurrency` at a time; each answer as it comes."""
    if max_concurrency < 1:
        raise ValueError(f"max_concurrency must be at least 1, got {max_concurrency}")
    groups, single = coalesce_ranges(
        byte_ranges, max_gap_bytes=max_gap_bytes, max_coalesced_bytes=max_coalesced_bytes
    )
    places = asyncio.Semaphore(max_concurrency)
    done: asyncio.Queue[Answers] = asyncio.Queue()

    async def read(part: ByteRequest | None, cut: Callable[[Buffer], Answers]) -> None:
        async with places:
            found = await fetch(part)
        if found is None:
            raise FileNotFoundError("the value is not there")
        await done.put(cut(found))

    work: list[tuple[Any, Callable[[Buffer], Answers]]] = []
    work += [(part, partial(_alone, index)) for index, part in single]
    work += [(request_of(group), partial(answers, group)) for group in groups]
    async with asyncio.TaskGroup() as tasks:
        for part, cut in work:
            tasks.create_task(read(part, cut))
        for _ in work:
            yield await done.get()
