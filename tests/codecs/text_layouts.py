"""The two layouts of text and byte strings, written once more in plain Python: the oracle.

It must not know the library. Wrong chunks raise ValueError.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Any, Literal

Order = Literal["little", "big"]

# -- document 004: offsets, zeros up to a multiple of 64 bytes, data ------------------------------


def data_start(count: int, width: int) -> int:
    """Where the data begin: behind count + 1 offsets, at the next multiple of 64."""
    start = (count + 1) * width
    while start % 64:
        start += 1
    return start


def write_offsets(items: list[bytes], width: int, order: Order = "little") -> bytes:
    chunk = bytearray()
    reached = 0
    for item in [b"", *items]:
        reached += len(item)
        chunk += reached.to_bytes(width, order, signed=True)
    chunk += bytes(data_start(len(items), width) - len(chunk))
    return bytes(chunk) + b"".join(items)


def offsets_of(chunk: bytes, count: int, width: int, order: Order = "little") -> list[int]:
    return [
        int.from_bytes(chunk[place * width : (place + 1) * width], order, signed=True)
        for place in range(count + 1)
    ]


def read_offsets(
    chunk: bytes, count: int, width: int, text: bool, order: Order = "little"
) -> list[Any]:
    """The elements; padding behind the data may be there or not, as Arrow has it."""
    start = data_start(count, width)
    if len(chunk) < start and len(chunk) != (count + 1) * width:
        raise ValueError("truncated")
    if any(chunk[(count + 1) * width : start]):
        raise ValueError("padding")
    offsets, data = offsets_of(chunk, count, width, order), chunk[start:]
    if offsets[0] < 0 or offsets[-1] > len(data) or any(a > b for a, b in pairwise(offsets)):
        raise ValueError("offsets")
    rest = data[offsets[-1] :]
    if len(rest) >= 64 or any(rest):
        raise ValueError("trailing bytes")
    return _elements([data[a:b] for a, b in pairwise(offsets)], text)


def _elements(items: list[bytes], text: bool) -> list[Any]:
    return [item.decode() for item in items] if text else items  # UnicodeDecodeError: a ValueError


# -- practice: each element behind its length -----------------------------------------------------


def write_frame(items: list[bytes]) -> bytes:
    return b"".join(
        [
            len(items).to_bytes(4, "little"),
            *(len(item).to_bytes(4, "little") + item for item in items),
        ]
    )


def read_frame(frame: bytes, count: int, text: bool) -> list[Any]:
    if len(frame) < 4 or int.from_bytes(frame[:4], "little") != count:
        raise ValueError("count")
    items, rest = [], frame[4:]
    for _ in range(count):
        size = int.from_bytes(rest[:4], "little")
        if len(rest) < 4 + size:
            raise ValueError("length")
        items.append(rest[4 : 4 + size])
        rest = rest[4 + size :]
    if rest:
        raise ValueError("trailing bytes")
    return _elements(items, text)
