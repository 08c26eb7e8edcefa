"""`omnizarr tree`: a hierarchy as a drawing, one line per node."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import omnizarr
from omnizarr.cli import facts, places
from omnizarr.cli.arguments import integer
from omnizarr.cli.facts import Facts
from omnizarr.cli.output import (
    Output,
    blue,
    bold,
    columns,
    count,
    dim,
    padded,
    red,
    shortened,
    times,
)
from omnizarr.cli.output import size as human_size
from omnizarr.cli.places import StoredAt, opened
from omnizarr.cli.titles import short
from omnizarr.errors import ZarrError

EXAMPLES = """\
examples:
  omnizarr tree data.zarr
  omnizarr tree data.zarr/group --level 1
  omnizarr tree archive.zip --sizes
  omnizarr tree s3://bucket/data.zarr --storage-option region=eu-west-1
  omnizarr tree data.zarr --json

The exit status is 1 if a node cannot be read (the others are shown), 0 otherwise.
"""
_DTYPE_WIDTH = 30


def add_arguments(parser: Any) -> None:
    places.add_arguments(parser, zarr_format=True)
    parser.add_argument(
        "--level", metavar="N", type=level, help="how many levels to show (0: the node alone)"
    )
    parser.add_argument(
        "--sizes", action="store_true", help="add sizes and counts of stored chunks; lists them all"
    )


def level(text: str) -> int:
    return integer(text, least=0)


def run(arguments: Any, out: Output) -> int:
    found = opened(arguments.path, arguments.node, arguments.zarr_format, arguments.storage_option)
    with found as (place, node):
        rows = list(walk(node, arguments.level, sizes=arguments.sizes, path=place.path))
        if arguments.json:
            out.json(
                {
                    "store": place.shown,
                    "path": place.path,
                    "zarr_format": node.zarr_format,
                    "format": facts.format_of(node),
                    "nodes": rows,
                    "totals": totals(rows),
                }
            )
        else:
            show(place, node, rows, out)
    return 1 if totals(rows)["unreadable"] else 0


# -- walking -----------------------------------------------------------------------------------


def walk(node: Any, most: int | None, *, sizes: bool, path: str) -> Iterator[Facts]:
    """Every node from this one down, parents first; what cannot be read is a row of its own."""
    row = facts.of_node(path, node)
    if isinstance(node, omnizarr.Array):
        yield row | (facts.of_storage(node) if sizes else {})
        return
    yield row
    if most == 0:
        return
    below = None if most is None else most - 1
    for name, member in members(node):
        child = f"{path}/{name}" if path else name
        if isinstance(member, Exception):
            yield facts.of_broken(child, member)
        else:
            yield from walk(member, below, sizes=sizes, path=child)


def members(group: Any) -> Iterator[tuple[str, Any]]:
    """Names and nodes, sorted; an error in place of a node that cannot be read."""
    try:
        yield from group.members()
        return
    except ZarrError as error:
        if not group.store.capabilities.listable:
            yield "?", error
            return
        whole = error
    # One of the members is damaged, and the others are still worth showing.
    prefix = f"{group.path}/" if group.path else ""
    damaged = False
    for found in group.store.list_dir(prefix).prefixes:
        name = found[len(prefix) : -1]
        try:
            member = group.get(name)
        except ZarrError as error:
            damaged = True
            yield name, error
        else:
            if member is not None:
                yield name, member
    if not damaged:
        yield "?", whole


def totals(rows: list[Facts]) -> Facts:
    arrays = [row for row in rows if row["kind"] == "array"]
    found: Facts = {
        "groups": sum(row["kind"] == "group" for row in rows),
        "arrays": len(arrays),
        "unreadable": sum(row["kind"] == "unreadable" for row in rows),
    }
    if any("bytes_stored" in row for row in arrays):
        found["bytes"] = sum(row["bytes"] or 0 for row in arrays)
        found["bytes_stored"] = sum(row["bytes_stored"] or 0 for row in arrays)
    return found


# -- drawing -----------------------------------------------------------------------------------


def show(place: StoredAt, node: Any, rows: list[Facts], out: Output) -> None:
    labels = branches([row["path"][len(place.path) :].strip("/") for row in rows])
    labels[0] = place.path.rpartition("/")[2] or place.shown
    cells = [describe(row) for row in rows]
    widths = [
        max((columns(cell[i]) for cell in cells if len(cell) > 1), default=0) for i in range(6)
    ]
    first = max(columns(label) for label in labels)
    for row, label, cell in zip(rows, labels, cells, strict=True):
        name = bold(label) if row["kind"] == "group" else label
        gap = " " * (first - columns(label) + 2)
        if row["kind"] == "group" and row is rows[0]:
            shown = f"{place.kind}, as " if place.virtual else ""
            out.line(name, gap, dim(shown + facts.format_of(node)))
        elif row["kind"] == "group":
            before = " " * (sum(widths[:3]) + 6)
            out.line(name, gap, before, dim(short(row["zarr_format"])))
        elif row["kind"] == "unreadable":
            out.line(red(label), gap, red("✗ " + one_line(row["problem"])))
        else:
            text = [padded(part, width) for part, width in zip(cell, widths, strict=True)]
            rest = "  ".join(text[2:]).rstrip()
            out.line(name, gap, f"{text[0]}  ", blue(text[1]), f"  {rest}")
    out.line()
    out.line(summary(rows))


def branches(paths: list[str]) -> list[str]:
    """The drawing to the left of every node, with its name; the first path is the root's."""
    seen: set[str] = set()
    last: list[bool] = []
    for path in reversed(paths):
        parent = path.rpartition("/")[0]
        last.append(parent not in seen)
        seen.add(parent)
    last.reverse()
    labels = [""]
    above: list[str] = []
    for path, is_last in zip(paths[1:], last[1:], strict=True):
        del above[path.count("/") :]
        labels.append(f"{''.join(above)}{'└' if is_last else '├'}── {path.rpartition('/')[2]}")
        above.append("    " if is_last else "│   ")
    return labels


def describe(row: Facts) -> list[str]:
    """Shape, type, chunks, format, codecs and sizes of an array."""
    if row["kind"] != "array":
        return [""]
    chunks = "?" if row["chunks"] is None else times(row["chunks"])
    if row["shards"] is not None:
        chunks += f" in {times(row['shards'])}"
    codecs = facts.codecs_in_short(row["codecs"])
    return [
        times(row["shape"]),
        shortened(row["dtype"], _DTYPE_WIDTH),
        chunks,
        short(row["zarr_format"]),
        codecs if row.get("problem") is None else f"{codecs} ✗ {one_line(row['problem'])}",
        _sizes(row),
    ]


def _sizes(row: Facts) -> str:
    if "bytes_stored" not in row:
        return ""
    unit = "chunks" if row["shards"] is None else "shards"
    stored, possible = row[f"{unit}_stored"], row[f"{unit}_possible"]
    decoded = "?" if row["bytes"] is None else human_size(row["bytes"])
    kept = "?" if row["bytes_stored"] is None else human_size(row["bytes_stored"])
    return f"{decoded} → {kept}, {'?' if stored is None else f'{stored:,}'} of {possible:,} {unit}"


def one_line(text: str) -> str:
    return " ".join(text.split())


def summary(rows: list[Facts]) -> str:
    found = totals(rows)
    parts = [count(found[f"{kind}s"], kind) for kind in ("group", "array") if found[f"{kind}s"]]
    if found["unreadable"]:
        parts.append(f"{found['unreadable']:,} unreadable")
    if "bytes" in found:
        parts.append(f"{human_size(found['bytes'])} in {human_size(found['bytes_stored'])}")
    return ", ".join(parts)
