"""Damages chunks of text and byte strings, and reads them in every way; prints counts as JSON.

    python -m tests.acceptance.text_worker COUNT SEED

Each damaged chunk is read with `[:]`, `to_arrow` and `to_awkward`, by the reference code and, if it
is installed, by the native core. Whatever happens must be the same everywhere: the same values, or
an error of ours with the same text. Where the layout in the chunk is known (it was not compressed,
or it was damaged before it was), a decoder in plain Python says what must come out. Where a
checksum stands, only what was stored may come out.

On Linux a chunk ends where memory ends, so that reading one byte too far is a crash.
"""

from __future__ import annotations

import json
import random
import sys
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import awkward as ak
import google_crc32c
import numcodecs
import numpy as np

import omnizarr as zarr
from omnizarr.errors import ZarrError
from omnizarr.runtime import native_core
from tests.codecs import text_layouts
from tests.codecs.mutation_worker import Cliff, mutate

COUNT = 16
"""Elements in a chunk."""
WORDS = ["", "a", "Zürich", "日本", "\0", "x" * 40, "é\0", "naïve", "𝒳", "plain", "b", "", "ß" * 9,
         "tail\0", "word", "ü"]  # fmt: skip


@dataclass(frozen=True)
class Layout:
    """How the elements of a chunk become bytes."""

    dtype: Any
    text: bool
    width: int
    """Bytes of an offset; 0 for elements behind their lengths."""
    order: text_layouts.Order = "little"

    def write(self, items: list[bytes]) -> bytes:
        if not self.width:
            return text_layouts.write_frame(items)
        return text_layouts.write_offsets(items, self.width, self.order)

    def read(self, chunk: bytes) -> list[Any]:
        if not self.width:
            return text_layouts.read_frame(chunk, COUNT, self.text)
        return text_layouts.read_offsets(chunk, COUNT, self.width, self.text, self.order)


LAYOUTS = {
    "arrow-string": Layout("arrow-string", True, 4),
    "arrow-large-string": Layout("arrow-large-string", True, 8),
    "arrow-binary": Layout("arrow-binary", False, 4),
    "arrow-large-binary": Layout("arrow-large-binary", False, 8),
    "big-endian": Layout("arrow-string", True, 4, "big"),
    "vlen-utf8": Layout(str, True, 0),
    "vlen-bytes": Layout(bytes, False, 0),
}


@dataclass(frozen=True)
class Wrapping:
    """What stands around the layout."""

    options: dict[str, Any]
    """Arguments of `create_array`."""
    wrap: Callable[[bytes], bytes]
    """The stored chunk, made without the library under test."""
    sound: bool
    """A checksum stands."""


def _crc32c(data: bytes) -> bytes:
    return data + google_crc32c.value(data).to_bytes(4, "little")


def _shard(compress: Callable[[bytes], bytes]) -> Callable[[bytes], bytes]:
    """A shard whose only inner chunk begins at an odd place."""

    def wrap(payload: bytes) -> bytes:
        inner = compress(payload)
        return b"?" * 7 + inner + _crc32c(np.array([7, len(inner)], "<u8").tobytes())

    return wrap


def _zstd(data: bytes) -> bytes:
    return bytes(numcodecs.Zstd(3, checksum=True).encode(data))


WRAPPINGS = {
    "plain": Wrapping({"compressors": None}, bytes, False),
    "edge": Wrapping({"compressors": None, "shape": 13}, bytes, False),
    "square": Wrapping({"compressors": None, "shape": (4, 4), "chunks": (4, 4)}, bytes, False),
    "default": Wrapping({}, _zstd, True),
    "gzip": Wrapping(
        {"compressors": [{"name": "gzip", "configuration": {"level": 5}}]},
        lambda data: bytes(numcodecs.GZip(5).encode(data)),
        True,
    ),
    "crc32c": Wrapping({"compressors": ["crc32c"]}, _crc32c, True),
    "blosc": Wrapping(
        {"compressors": [{"name": "blosc", "configuration": {"cname": "lz4", "clevel": 5,
         "shuffle": "noshuffle", "typesize": 1, "blocksize": 0}}]},
        lambda data: bytes(numcodecs.Blosc("lz4", shuffle=0).encode(data)),
        False,
    ),
    "shard": Wrapping({"shards": COUNT}, _shard(_zstd), True),
    "plain shard": Wrapping({"shards": COUNT, "compressors": None}, _shard(bytes), False),
}  # fmt: skip


@dataclass(frozen=True)
class Target:
    name: str
    layout: Layout
    wrapping: Wrapping
    items: list[bytes]
    values: list[Any]
    """What is read of the undamaged chunk, flat."""
    store: dict[str, Any]
    key: str
    array: Any


def make(layout_name: str, wrapping_name: str) -> Target:
    layout, wrapping = LAYOUTS[layout_name], WRAPPINGS[wrapping_name]
    items = [word.encode() for word in WORDS]
    store: dict[str, Any] = {}
    options = {"shape": COUNT, "chunks": COUNT, **wrapping.options}
    if layout.order == "big":
        options["serializer"] = {"name": "bytes", "configuration": {"endian": "big"}}
    array = zarr.create_array(store=store, dtype=layout.dtype, **options)
    values = [item.decode() if layout.text else item for item in items][: array.size]
    key = "c/0/0" if array.ndim == 2 else "c/0"
    flat = np.empty(len(values), object)
    flat[:] = values
    array[...] = flat.reshape(array.shape)
    target = Target(f"{layout_name}, {wrapping_name}", layout, wrapping, items, values, store, key,
                    zarr.open_array(store, mode="r"))  # fmt: skip
    if wrapping_name == "edge":  # beyond the edge is fill value; there should be something to hit
        store[key] = layout.write(items)
    if wrapping.wrap is bytes and wrapping_name != "plain shard":
        assert bytes(store[key]) == layout.write(items)
    store[key] = wrapping.wrap(layout.write(items))
    for core in CORES:
        assert outcomes(target, core)[0] == ("values", values), target.name
    return target


# -- damage -------------------------------------------------------------------------------------

EXTREMES = (
    -1,
    -2,
    -(2**31),
    2**31 - 1,
    2**31 - 64,
    -(2**63),
    2**63 - 1,
    2**32,
    2**32 + 5,
    -(2**32),
)
NO_TEXT = (
    b"\xff",
    b"\x80",
    b"\xc3",
    b"\xed\xa0\x80",
    b"\xf5\x80\x80\x80",
    b"\xc0\xaf",
    b"\xe6\x97",
)


def spliced(layout: Layout, good: bytes, rnd: random.Random) -> bytes:
    """A chunk with something wrong in its layout, as a hostile writer would make it."""
    data = bytearray(good)
    width, order = layout.width or 4, layout.order
    start = text_layouts.data_start(COUNT, width) if layout.width else 4
    places = COUNT + 1 if layout.width else 1

    def number(place: int) -> int:
        return int.from_bytes(data[place * width : (place + 1) * width], order, signed=True)

    def put(place: int, value: int) -> None:
        value = (value + (1 << (8 * width - 1))) % (1 << 8 * width) - (1 << (8 * width - 1))
        data[place * width : (place + 1) * width] = value.to_bytes(width, order, signed=True)

    if not layout.width:  # where the lengths stand
        lengths = [0]
        for item in (word.encode() for word in WORDS):
            lengths.append(lengths[-1] + 4 + len(item))

    match rnd.randrange(11):
        case 0 if layout.width:
            put(rnd.randrange(places), rnd.choice(EXTREMES))
        case 1 if layout.width:  # moved a little: falling, inside a character, or just elsewhere
            place = rnd.randrange(places)
            put(place, number(place) + rnd.choice((-3, -2, -1, 1, 2, 3)))
        case 2 if layout.width:
            first, second = rnd.randrange(places), rnd.randrange(places)
            one, other = number(first), number(second)
            put(first, other)
            put(second, one)
        case 3 if layout.width:  # beyond the data
            put(rnd.choice((COUNT, rnd.randrange(places))), len(data) - start + rnd.randint(0, 70))
        case 4 if layout.width:
            data[rnd.randrange(places * width, start)] = rnd.randrange(256)
        case 5 if layout.width:  # all of them shifted
            by = rnd.choice((-1, 1, 64, 2**31 - 1, 2**31))
            for place in range(places):
                put(place, number(place) + by)
        case 0 | 1 | 2 | 3 | 4 | 5:
            at = rnd.choice(lengths) + (4 if rnd.random() < 0.9 else 0)
            at = min(at, len(data) - 4)
            old = int.from_bytes(data[at : at + 4], "little")
            new = rnd.choice((old + 1, old - 1, old + 4, 0, 2**32 - 1, 2**31, rnd.randrange(2**32)))
            data[at : at + 4] = (new % 2**32).to_bytes(4, "little")
        case 6:
            wrong = rnd.choice(NO_TEXT)
            at = rnd.randrange(start, len(data) - len(wrong))
            data[at : at + len(wrong)] = wrong
        case 7:
            data += rnd.choice((b"\0", bytes(63), bytes(64), bytes(1000), b"x", b"\0\0\x01"))
        case 8:
            del data[rnd.randrange(len(data)) :]
        case 9:
            data[rnd.randrange(len(data))] ^= 1 << rnd.randrange(8)
        case _:
            for _ in range(rnd.randint(1, 6)):
                data[rnd.randrange(len(data))] = rnd.choice((0, 1, 127, 128, 255))
    return bytes(data)


def flipped(stored: bytes, rnd: random.Random) -> bytes:
    data = bytearray(stored)
    for _ in range(rnd.randint(1, 2)):
        data[rnd.randrange(len(data))] ^= 1 << rnd.randrange(8)
    return bytes(data)


def damaged(target: Target, rnd: random.Random) -> tuple[bytes, bytes | None]:
    """The chunk to store, and the layout in it where that is known."""
    good = target.layout.write(target.items)
    wrapping = target.wrapping
    choice = rnd.random()
    if choice < 0.6:
        payload = spliced(target.layout, good, rnd)
        return wrapping.wrap(payload), payload
    stored = wrapping.wrap(good)
    data = flipped(stored, rnd) if choice < 0.8 else bytes(mutate(stored, rnd, 16))
    return data, data if wrapping.wrap is bytes else None


# -- reading ------------------------------------------------------------------------------------

Outcome = tuple[str, Any]


def _arrow(array: Any) -> list[Any]:
    found = array.to_arrow()
    found.validate(full=True)
    return found.to_pylist()  # type: ignore[no-any-return]


def _awkward(array: Any) -> list[Any]:
    found = array.to_awkward()
    assert ak.validity_error(found) == ""
    rows = found.tolist()
    return [item for row in rows for item in row] if array.ndim == 2 else rows


READERS: list[Callable[[Any], list[Any]]] = [
    lambda array: array[:].reshape(-1).tolist(),
    _arrow,
    _awkward,
]


def outcomes(target: Target, core: Any) -> list[Outcome]:
    """What each way of reading gives; anything but values or an error of ours ends the process."""
    native_core.core = lambda: core  # type: ignore[assignment]
    found: list[Outcome] = []
    for read in READERS:
        try:
            found.append(("values", read(target.array)))
        except ZarrError as error:
            found.append((type(error).__name__, str(error)))
    return found


CORES: list[Any] = [None]
_core = native_core.core()
if _core is not None:
    CORES.append(_core)


def judged(target: Target, payload: bytes | None, found: list[list[Outcome]]) -> str:
    """What became of the damage; AssertionError if it is not what must be."""
    first = found[0][0]
    for outcome in found[1:]:
        assert outcome == found[0], "the native core and the reference code disagree"
    for outcome in found[0][1:]:
        assert (outcome[0] == "values") == (first[0] == "values"), "ways to read disagree"
        assert first[0] != "values" or outcome == first, "ways to read disagree"
    if payload is not None:
        try:
            expected = target.layout.read(payload)[: len(target.values)]
        except ValueError:
            assert first[0] != "values", "a wrong chunk was read"
            return "refused"
        assert first == ("values", expected), "a right chunk was not read as it is"
        return "as stored" if expected == target.values else "as spliced"
    if first[0] != "values":
        return "refused"
    if first[1] == target.values:
        return "as stored"
    return "silent" if target.wrapping.sound else "unprotected"


def main(count: int, seed: int) -> dict[str, int]:
    rnd = random.Random(seed)
    targets = [make(layout, wrapping) for layout in LAYOUTS for wrapping in WRAPPINGS]
    cliff = Cliff(1 << 16)
    counts = dict.fromkeys(
        ["mutations", "refused", "as stored", "as spliced", "unprotected", "silent"], 0
    )
    for number in range(count):
        target = targets[number % len(targets)]
        data, payload = damaged(target, rnd)
        target.store[target.key] = cliff.place(data)
        try:
            found = [outcomes(target, core) for core in CORES]
            verdict = judged(target, payload, found)
        except BaseException as error:
            error.add_note(f"seed {seed}, mutation {number}: {target.name}: {data!r}")
            raise
        counts["mutations"] += 1
        counts[verdict] += 1
    return {**counts, "modes": len(CORES)}


if __name__ == "__main__":
    print(json.dumps(main(int(sys.argv[1]), int(sys.argv[2]))))
