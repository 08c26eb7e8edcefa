"""`omnizarr ls`: the names in a group, or the keys in a store."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import omnizarr
from omnizarr.cli import facts, places
from omnizarr.cli.facts import Facts
from omnizarr.cli.output import Output, bold, columns, dim, padded, red, shortened, times
from omnizarr.cli.output import size as human_size
from omnizarr.cli.places import Problem, StoredAt, opened
from omnizarr.cli.showing.tree import members, one_line

EXAMPLES = """\
examples:
  omnizarr ls data.zarr
  omnizarr ls data.zarr/group -l
  omnizarr ls archive.zip --recursive
  omnizarr ls data.zarr/temperature --keys

The exit status is 1 if a node cannot be read (the others are shown), 0 otherwise.
"""
_TYPE_WIDTH = 30
_HEADER = ["name", "shape", "type", "chunks", "size"]


def add_arguments(parser: Any) -> None:
    places.add_arguments(parser, zarr_format=True)
    add = parser.add_argument
    add("-l", "--long", action="store_true", help="add shape, type, chunks and size in memory")
    add("-r", "--recursive", action="store_true", help="show what is in groups too")
    add(
        "--keys", action="store_true",
        help="show keys of the store and their sizes instead; also where there is no node",
    )  # fmt: skip


def run(arguments: Any, out: Output) -> int:
    if arguments.keys:
        return _keys(arguments, out)
    found = opened(arguments.path, arguments.node, arguments.zarr_format, arguments.storage_option)
    with found as (place, node):
        rows = list(walk(node, recursive=arguments.recursive))
        if arguments.json:
            out.json({"store": place.shown, "path": place.path, "nodes": rows})
        elif arguments.long:
            _table(rows, out)
        else:
            for row in rows:
                out.line(*_name(row))
    return 1 if any(row["kind"] == "unreadable" for row in rows) else 0


def walk(node: Any, *, recursive: bool, above: str = "") -> Iterator[Facts]:
    """The members of a group, or an array itself; paths are those below the node."""
    if isinstance(node, omnizarr.Array):
        yield _row(node.basename, node)
        return
    for name, member in members(node):
        path = f"{above}{name}"
        if isinstance(member, Exception):
            yield facts.of_broken(path, member)
            continue
        yield _row(path, member)
        if recursive and not isinstance(member, omnizarr.Array):
            yield from walk(member, recursive=True, above=f"{path}/")


def _row(path: str, node: Any) -> Facts:
    row = facts.of_node(path, node)
    return row | {"bytes": facts.decoded_bytes(node)} if row["kind"] == "array" else row


def _name(row: Facts) -> list[Any]:
    match row["kind"]:
        case "group":
            return [bold(f"{row['path']}/")]
        case "unreadable":
            return [red(f"{row['path']}  ✗ {one_line(row['problem'])}")]
        case _:
            return [row["path"] or "/"]


def _table(rows: list[Facts], out: Output) -> None:
    cells = [_cells(row) for row in rows]
    widths = [max(map(columns, column)) for column in zip(_HEADER, *cells, strict=True)]
    if rows:
        out.line(dim("  ".join(map(padded, _HEADER, widths)).rstrip()))
    for row, cell in zip(rows, cells, strict=True):
        if row["kind"] == "unreadable":
            out.line(*_name(row))
            continue
        rest = "  ".join(map(padded, cell[1:], widths[1:])).rstrip()
        name = bold(cell[0]) if row["kind"] == "group" else cell[0]
        gap = " " * (widths[0] - columns(cell[0]) + 2)
        out.line(name, f"{gap}{rest}" if rest else "")


def _cells(row: Facts) -> list[str]:
    if row["kind"] != "array":
        return [f"{row['path']}/" if row["kind"] == "group" else "", "", "", "", ""]
    chunks = "?" if row["chunks"] is None else times(row["chunks"])
    return [
        row["path"] or "/",
        times(row["shape"]),
        shortened(row["dtype"], _TYPE_WIDTH),
        chunks if row["shards"] is None else f"{chunks} in {times(row['shards'])}",
        "?" if row["bytes"] is None else human_size(row["bytes"]),
    ]


# -- keys --------------------------------------------------------------------------------------


def _keys(arguments: Any, out: Output) -> int:
    place = places.nearest(arguments.path, arguments.node, arguments.storage_option)
    prefix = f"{place.path}/" if place.path else ""
    with place.open() as store:
        if arguments.recursive:
            keys, prefixes = store.list_prefix(prefix), []
        else:
            listing = store.list_dir(prefix)
            keys, prefixes = iter(listing.keys), listing.prefixes
        found = ((key, store.size(key)) for key in keys)
        if arguments.json:
            rows = [{"key": key, "bytes": size} for key, size in found]
            _some(rows or prefixes, place)
            where = {"store": place.shown, "path": place.path}
            out.json({**where, "keys": rows, "prefixes": prefixes})
            return 0
        shown = bool(prefixes)
        for each in prefixes:
            out.line(" " * 12, bold(each))
        for key, size in found:  # one after another: there may be millions
            shown = True
            out.line(f"{'?' if size is None else human_size(size):>10}  ", key)
        _some(shown, place)
    return 0


def _some(found: object, place: StoredAt) -> None:
    if not found:
        raise Problem(f"{place}: no key is stored there")
