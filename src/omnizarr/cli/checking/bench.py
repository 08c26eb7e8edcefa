"""`omnizarr bench`: how fast this store is read, and written if asked, on this machine."""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

import omnizarr
from omnizarr.cli import places
from omnizarr.cli.arguments import positive
from omnizarr.cli.changing import trying
from omnizarr.cli.output import Output, bold, padded
from omnizarr.cli.places import Problem
from omnizarr.runtime import native_core

EXAMPLES = """\
examples:
  omnizarr bench data.zarr
  omnizarr bench data.zarr/height --seconds 5
  omnizarr bench s3://bucket/data.zarr --json --storage-option region=eu-west-1
  omnizarr bench data.zarr --write

Values are read whole, in order, and chunk by chunk in any order, --seconds each. What the system
keeps in memory counts as fast. --write stores the same chunks once more beside the data, under a
name of its own, and removes them again.
"""
INTERRUPTED = "interrupted; omnizarr tree shows whether a node _omnizarr_bench is left: remove it"
NAME = "_omnizarr_bench"


@dataclass(frozen=True)
class Measured:
    """One way to go through the values."""

    what: str
    bytes: int
    """Of decoded values."""
    reads: int
    seconds: float
    rate: float
    """Decoded bytes per second."""


def add_arguments(parser: Any) -> None:
    places.add_arguments(parser)
    add = parser.add_argument
    add(
        "--seconds", metavar="N", type=positive, default=2,
        help="how long each kind of access is measured (default: 2)",
    )  # fmt: skip
    add("--write", action="store_true", help="measure writing, too")


def run(arguments: Any, out: Output) -> int:
    given = arguments.storage_option
    with places.opened(arguments.path, arguments.node, options=given) as (place, node):
        arrays = [one for _, one in trying.arrays(node) if one.size and one.shape]
        if not arrays:
            raise Problem(f"{place}: there is no array with values to read")
        array = max(arrays, key=lambda one: int(one.nbytes))
        rows = [
            _measured("read, in order", _in_order(array), array, arguments.seconds),
            _measured("read, random chunks", _at_random(array), array, arguments.seconds),
        ]
    if arguments.write:
        rows.append(_written(place, array, arguments.seconds))
    path, native = array.path, native_core.core() is not None
    if arguments.json:
        measured = [asdict(row) for row in rows]
        out.json({"store": place.shown, "path": path, "native": native, "measured": measured})
    else:
        how = "with" if native else "without"
        out.line(bold(f"/{path}"), f"  {place.shown}  {how} the native core")
        for row in rows:
            amount = f"{row.rate / 1e6:,.1f} MB/s".rjust(16)
            times = f"{row.reads:,} in {row.seconds:.1f} s"
            out.line("  ", padded(row.what, 20), amount, f"  {times}")
    return 0


def _grid(array: Any) -> list[tuple[int, ...]]:
    from omnizarr.cli.facts import stored_grid

    grid = stored_grid(array)
    total = int(np.prod(grid, dtype=object))
    numbers = trying.spread(range(total), 4096)
    return [tuple(int(at) for at in np.unravel_index(number, grid)) for number in numbers]


def _in_order(array: Any) -> Iterator[tuple[slice, ...]]:
    """Rows of chunks from the beginning, at most some 64 MiB at once."""
    first = array.shards or array.chunks
    length = max(first[0]) if isinstance(first[0], tuple) else first[0]
    row = max(1, int(array.nbytes) // array.shape[0])
    step = max(1, min(array.shape[0], max(length, (64 << 20) // row // length * length)))
    if row * step > 512 << 20:  # one row of chunks is too much: chunk by chunk
        yield from (trying.region_of(array, place) for place in _grid(array))
        return
    for start in range(0, array.shape[0], step):
        yield (slice(start, start + step), *(slice(None) for _ in array.shape[1:]))


def _at_random(array: Any) -> Iterator[tuple[slice, ...]]:
    chosen = _grid(array)
    random.Random(0).shuffle(chosen)
    yield from (trying.region_of(array, place) for place in chosen)


def _measured(
    what: str, regions: Iterator[tuple[slice, ...]], array: Any, most: int
) -> Measured:  # fmt: skip
    return _timed(what, regions, lambda region: int(np.asarray(array[region]).nbytes), most)


def _timed(
    what: str, items: Iterator[Any], work: Callable[[Any], int], most: float
) -> Measured:  # fmt: skip
    begin = time.perf_counter()
    nbytes = reads = 0
    for item in items:
        nbytes += work(item)
        reads += 1
        if time.perf_counter() - begin > most:
            break
    seconds = max(time.perf_counter() - begin, 1e-9)
    return Measured(what, nbytes, reads, seconds, nbytes / seconds)


def _written(place: Any, array: Any, most: int) -> Measured:
    """Write chunks of the array into a new one beside it, which is removed again."""
    blocks = trying.sample(array, 16 << 20)
    if not blocks:
        raise Problem(f"{place}: there is no chunk to write again")
    block = blocks[0]
    with place.open("r+") as store:
        above = array.path.rpartition("/")[0]
        path = f"{above}/{NAME}" if above else NAME
        rows = max(1, min(64, (256 << 20) // max(1, block.nbytes)))
        made = omnizarr.create_array(
            store, name=path, shape=(rows * block.shape[0], *block.shape[1:]), chunks=block.shape,
            dtype=array.dtype, zarr_format=array.zarr_format, compressors=list(array.compressors),
        )  # fmt: skip
        try:

            def write(number: int) -> int:
                start = number * block.shape[0]
                made[start : start + block.shape[0]] = block
                return int(block.nbytes)

            return _timed("write, chunks", iter(range(rows)), write, most)
        finally:
            omnizarr.delete(store, path)
