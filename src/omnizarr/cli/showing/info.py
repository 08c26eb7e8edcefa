"""`omnizarr info`: everything about one array or group."""

from __future__ import annotations

import json
from typing import Any

import omnizarr
from omnizarr.cli import facts, picture, places
from omnizarr.cli.facts import Facts
from omnizarr.cli.output import (
    Output,
    bold,
    columns,
    count,
    dim,
    padded,
    plain,
    red,
    shortened,
    times,
)
from omnizarr.cli.output import size as human_size
from omnizarr.cli.places import StoredAt, opened
from omnizarr.cli.problems import told
from omnizarr.errors import ZarrError

EXAMPLES = """\
examples:
  omnizarr info data.zarr/temperature
  omnizarr info data.zarr temperature --chunks
  omnizarr info archive.zip group/array --json
  omnizarr info https://example.org/data.zarr/temperature
"""
_LABEL = 16
_LONGEST = 28
"""How long the name of an attribute may be that shares a line with its value."""


def add_arguments(parser: Any) -> None:
    places.add_arguments(parser, zarr_format=True)
    parser.add_argument(
        "--chunks",
        action="store_true",
        help="count and draw the chunks (or shards) that are stored, which lists them all",
    )


def run(arguments: Any, out: Output) -> int:
    looked_up = opened(
        arguments.path, arguments.node, arguments.zarr_format, arguments.storage_option
    )
    with looked_up as (place, node):
        found = of_node(place, node, counted=arguments.chunks)
        map_wanted = arguments.chunks and isinstance(node, omnizarr.Array)
        if arguments.json:
            if map_wanted:
                found["stored_chunks"] = list(node.stored_chunks())
            out.json(found)
            return 0
        show(found, out, counted=arguments.chunks)
        if map_wanted:
            show_chunks(node, out)
    return 0


def of_node(place: StoredAt, node: Any, counted: bool = False) -> Facts:
    """All that is told about a node, as programs get it; what is stored of an array only if its
    chunks are counted."""
    found: Facts = {
        "store": place.shown,
        "store_kind": place.kind,
        "format": facts.format_of(node),
        **facts.of_node(place.path, node),
    }
    if isinstance(node, omnizarr.Array):
        found |= {
            "dimension_names": node.dims,
            "fill_value": facts.fill_value(node),
            "order": node.order,
            **facts.of_storage(node, counted),
        }
        decoded, stored = found["bytes"], found["bytes_stored"]
        found["ratio"] = decoded / stored if decoded and stored else None
    else:
        found |= {"arrays": None, "groups": None}
        try:
            members = dict(node.members())
        except ZarrError as error:
            found["problem"] = told(error)
        else:
            arrays = {n for n, member in members.items() if isinstance(member, omnizarr.Array)}
            found |= {"arrays": sorted(arrays), "groups": sorted(set(members) - arrays)}
    found["attributes"] = dict(node.attrs)
    return found


# -- for people --------------------------------------------------------------------------------


def show(found: Facts, out: Output, counted: bool = False) -> None:
    kind = found["kind"]
    out.line(bold(_where(found)), f"  {kind}")
    rows = [("format", found["format"]), ("store", f"{found['store']} ({found['store_kind']})")]
    rows += _array_rows(found, counted) if kind == "array" else _group_rows(found)
    for label, text in rows:
        out.line("  ", dim(label.ljust(_LABEL)), text)
    if found.get("problem"):
        out.line("  ", red("problem".ljust(_LABEL)), " ".join(found["problem"].split()))
    if not found["attributes"]:
        out.line("  ", dim("attributes".ljust(_LABEL)), "none")
        return
    out.line("  ", dim("attributes"))
    _show_attributes(found["attributes"], out)


def _show_attributes(attributes: Facts, out: Output) -> None:
    """Names in one column, values in another; below its name where a name is too long for that."""
    fitting = [columns(name) for name in attributes if columns(name) <= _LONGEST]
    label = max([_LABEL, *(width + 2 for width in fitting)])
    room = max(out.width - label - 4, 40)
    for name, value in attributes.items():
        text = shortened(json.dumps(plain(value), ensure_ascii=False), room)
        if columns(name) <= _LONGEST:
            out.line("    ", dim(padded(name, label)), text)
        else:
            out.line("    ", dim(name))
            out.line(" " * (label + 4), text)


def _where(found: Facts) -> str:
    return f"{found['store']}/{found['path']}" if found["path"] else str(found["store"])


def _scalar(value: Any) -> str:
    if value is None:
        return "none"
    return json.dumps(value, ensure_ascii=False) if isinstance(value, str) else str(value)


def _array_rows(found: Facts, counted: bool) -> list[tuple[str, str]]:
    shape = times(found["shape"])
    names = found["dimension_names"]
    if names:
        shape += f"  ({', '.join('?' if name is None else name for name in names)})"
    rows = [("shape", shape), ("data type", found["dtype"])]
    if found["chunks"] is not None:
        rows.append(("chunks", times(found["chunks"])))
    if found["shards"] is not None:
        rows.append(("shards", times(found["shards"])))
    rows += [
        ("fill value", _scalar(found["fill_value"])),
        ("order", found["order"]),
        ("codecs", facts.codecs_at_length(found["codecs"])),
    ]
    unit = "chunks" if found["shards"] is None else "shards"
    stored, possible = found[f"{unit}_stored"], found[f"{unit}_possible"]
    if possible is not None:
        text = f"{'?' if stored is None else f'{stored:,}'} of {possible:,}"
        text += "" if counted or stored is not None else "; --chunks counts them"
        if unit == "shards":
            text += f" (the array has {count(found['chunks_possible'], 'chunk')})"
        rows.append((f"{unit} stored", text))
    sizes = []
    if found["bytes"] is not None:
        sizes.append(f"{human_size(found['bytes'])} decoded")
    if found["bytes_stored"] is not None:
        sizes.append(f"{human_size(found['bytes_stored'])} stored with metadata")
    if found["ratio"] is not None:
        sizes.append(f"ratio {found['ratio']:.1f}")
    if sizes:
        rows.append(("size", ", ".join(sizes)))
    return rows


def _group_rows(found: Facts) -> list[tuple[str, str]]:
    rows = []
    for kind in ("arrays", "groups"):
        names = found[kind]
        if names is not None:
            listed = f": {', '.join(names[:12])}{', …' if len(names) > 12 else ''}" if names else ""
            rows.append((kind, f"{len(names):,}{listed}"))
    return rows


def show_chunks(array: Any, out: Output) -> None:
    grid = facts.stored_grid(array)
    unit = "chunk" if array.shards is None else "shard"
    drawn = picture.draw(grid, array.stored_chunks(), max(min(out.width - 4, 72), 8))
    names = array.dims or [None] * len(grid)
    out.line()
    for line in drawn.lines:
        out.line(f"    {line}")
    out.line()
    legend = []
    for axis, number in enumerate(grid):
        name = names[axis] or f"dimension {axis}"
        way = " ↓" if axis == drawn.rows else " →" if axis == drawn.columns else ""
        legend.append(f"{name}{way} {number:,}")
    out.line("  ", dim(f"{unit}s: {', '.join(legend) or 'one'}"))
    block = "×".join(map(str, drawn.per_block)) if drawn.per_block else "1"
    out.line("  ", dim(f"a block is {block} {unit}s; · none is stored, ░▒▓ some are, █ all are"))
