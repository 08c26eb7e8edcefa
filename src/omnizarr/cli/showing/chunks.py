"""`omnizarr chunks`: where the bytes of an array are."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

import omnizarr
from omnizarr.cli import picture, places, stored
from omnizarr.cli.facts import Facts, decoded_bytes
from omnizarr.cli.output import Output, bold, count, dim, times
from omnizarr.cli.output import size as human_size
from omnizarr.cli.places import Problem, opened
from omnizarr.cli.stored import Grid, StoredChunk, stored_chunks
from omnizarr.errors import NotListableError

EXAMPLES = """\
examples:
  omnizarr chunks data.zarr/temperature
  omnizarr chunks data.zarr/temperature --by ratio
  omnizarr chunks data.zarr/temperature --list
  omnizarr chunks data.zarr/temperature --missing --json
"""
_LABEL = 16


def add_arguments(parser: Any) -> None:
    places.add_arguments(parser, zarr_format=True)
    add = parser.add_argument
    add(
        "--by", choices=("size", "ratio"), default="size",
        help="shade the map by stored bytes (default), or by how far they are compressed",
    )  # fmt: skip
    add("--list", action="store_true", help="list every stored chunk: key, place, bytes, ratio")
    add("--missing", action="store_true", help="list the chunks that are not stored")


def run(arguments: Any, out: Output) -> int:
    found = opened(arguments.path, arguments.node, arguments.zarr_format, arguments.storage_option)
    with found as (place, node):
        if not isinstance(node, omnizarr.Array):
            raise Problem(
                f"{place}: a group has no chunks",
                "name one of its arrays; omnizarr tree --sizes shows them all",
            )
        try:
            chunks = stored_chunks(node)
        except NotListableError as error:
            raise Problem(
                f"{place}: its store cannot be listed, so its chunks are unknown"
            ) from error
        grid = Grid(node)
        facts = of_chunks(node, grid, chunks)
        if arguments.json:
            facts = {"store": place.shown, "path": place.path, **facts}
            if arguments.missing:
                facts["missing"] = _missing(grid, chunks)
            if arguments.list or not arguments.missing:
                facts["stored"] = [_listed(node, grid, chunk) for chunk in chunks]
            out.json(facts)
        elif arguments.list or arguments.missing:
            _list(node, grid, chunks, arguments, out)
        else:
            out.line(bold(str(place)), f"  {times(node.shape)}  {node.data_type}")
            _map(node, grid, chunks, arguments.by, out)
            _totals(facts, out)
    return 0


def of_chunks(array: Any, grid: Grid, chunks: Sequence[StoredChunk]) -> Facts:
    """Totals. Ratios compare with the bytes that the stored chunks have in memory."""
    sizes = [chunk.nbytes for chunk in chunks]
    facts: Facts = {
        "unit": "chunk" if array.shards is None else "shard",
        "chunks": array.chunks,
        "shards": array.shards,
        "grid": grid.shape,
        "possible_count": grid.count,
        "stored_count": len(chunks),
        "missing_count": grid.count - len(chunks),
        "bytes_stored": sum(sizes),
        "smallest": min(sizes, default=None),
        "largest": max(sizes, default=None),
        "mean": sum(sizes) / len(sizes) if sizes else None,
        "bytes": None,
        "ratio": None,
    }
    if decoded_bytes(array) is not None:
        facts["bytes"] = sum(_decoded(array, grid, chunk) for chunk in chunks)
        facts["ratio"] = facts["bytes"] / sum(sizes) if sum(sizes) else None
    return facts


def _decoded(array: Any, grid: Grid, chunk: StoredChunk) -> int:
    """Bytes of a chunk in memory, as far as it is inside the array."""
    return stored.size(grid.region(chunk.coordinates)) * int(array.dtype.itemsize)


def _ratio(array: Any, grid: Grid, chunk: StoredChunk) -> float | None:
    if decoded_bytes(array) is None or not chunk.nbytes:
        return None
    return _decoded(array, grid, chunk) / chunk.nbytes


def _listed(array: Any, grid: Grid, chunk: StoredChunk) -> Facts:
    return {
        "key": chunk.key,
        "coordinates": chunk.coordinates,
        "bytes": chunk.nbytes,
        "ratio": _ratio(array, grid, chunk),
    }


def _missing(grid: Grid, chunks: Sequence[StoredChunk]) -> list[tuple[int, ...]]:
    """The coordinates of what is not stored; a Problem where they would be too many to list."""
    most = omnizarr.limits.current.max_requested_chunks
    if grid.count - len(chunks) > most:
        raise Problem(
            f"{count(grid.count - len(chunks), 'chunk')} are missing, too many to list",
            "omnizarr chunks without --missing draws them",
        )
    stored = {chunk.coordinates for chunk in chunks}
    return [each for each in grid.all() if each not in stored]


def _list(array: Any, grid: Grid, chunks: list[StoredChunk], arguments: Any, out: Output) -> None:
    if arguments.list:
        width = max((len(f"{chunk.nbytes:,}") for chunk in chunks), default=0)
        for chunk in chunks:
            ratio = _ratio(array, grid, chunk)
            shown = f"{ratio:8.1f}" if ratio is not None else "        "
            place = ",".join(map(str, chunk.coordinates)) or "-"
            out.line(f"{chunk.nbytes:>{width},} B {shown}  {place}  ", chunk.key)
    if arguments.missing:
        for coordinates in _missing(grid, chunks):
            out.line(f"missing  {','.join(map(str, coordinates)) or '-'}")


# -- the map -----------------------------------------------------------------------------------


def _map(array: Any, grid: Grid, chunks: list[StoredChunk], by: str, out: Output) -> None:
    weights = {}
    for chunk in chunks:
        ratio = _ratio(array, grid, chunk) if by == "ratio" else None
        weights[chunk.coordinates] = float(chunk.nbytes) if ratio is None else ratio
    drawn = picture.draw_weights(grid.shape, weights, max(min(out.width - 4, 72), 8))
    unit = "chunk" if array.shards is None else "shard"
    out.line()
    for line in drawn.lines:
        out.line(f"    {line}")
    out.line()
    names = array.dims or (None,) * array.ndim
    legend = []
    for axis, number in enumerate(grid.shape):
        way = " ↓" if axis == drawn.rows else " →" if axis == drawn.columns else ""
        legend.append(f"{names[axis] or f'dimension {axis}'}{way} {number:,}")
    out.line("  ", dim(f"{unit}s: {', '.join(legend) or 'one'}"))
    if weights:
        low, high = min(weights.values()), max(weights.values())
        ends = [human_size(n) if by == "size" else f"ratio {n:.1f}" for n in (low, high)]
        block = "×".join(map(str, drawn.per_block)) if prod(drawn.per_block) > 1 else ""
        mean = f"; a block is the mean of {block} {unit}s" if block else ""
        out.line("  ", dim(f"░ {ends[0]} to █ {ends[1]}; · is not stored{mean}"))
    else:
        out.line("  ", dim("· is not stored"))


def _totals(facts: Facts, out: Output) -> None:
    unit = facts["unit"]
    rows = [(f"{unit}s stored", f"{facts['stored_count']:,} of {facts['possible_count']:,}")]
    if facts["stored_count"]:
        rows.append(("stored", human_size(facts["bytes_stored"])))
        names = ("smallest", "mean", "largest")
        rows.append(("a " + unit, ", ".join(f"{n} {human_size(facts[n])}" for n in names)))
    if facts["ratio"] is not None:
        rows.append(("in memory", f"{human_size(facts['bytes'])}, ratio {facts['ratio']:.1f}"))
    out.line()
    for label, text in rows:
        out.line("  ", dim(label.ljust(_LABEL)), text)
