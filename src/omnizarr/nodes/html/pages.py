"""The displays: an array, a group, a tree, a report.

Each is one `div` with its own style sheet, so that any of them works alone and several on one page
do not disturb each other.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from math import prod
from typing import TYPE_CHECKING, Any

from omnizarr.model.array import ArrayModel
from omnizarr.model.axes import inner_chunks
from omnizarr.model.codec import CodecSpec
from omnizarr.model.grids import Grid
from omnizarr.nodes.html import known, picture
from omnizarr.nodes.html.style import CLASS, SHEET
from omnizarr.nodes.html.text import json_text, number, shown, size

if TYPE_CHECKING:
    from omnizarr.nodes.array import Array
    from omnizarr.nodes.group import Group

ATTRIBUTES = 50
"""Attributes of a node that are shown."""
VALUE = 240
"""Characters of an attribute that are shown."""
CODECS = 12


def array_page(array: Array) -> str:
    """An array: sizes, facts, the chunk grid, attributes."""
    found = known.stored(array)
    body = f'<div class="oz-body"><div class="oz-facts">{_facts(array, found)}</div>'
    return _page(
        _head(array, *(["view"] if array.is_view else [])),
        body + _grid(array, found) + "</div>",
        _attributes(array._stored.attributes),
    )


def group_page(group: Group) -> str:
    """A group: its members and attributes."""
    return _page(
        _head(group), _members(group, known.members(group)), _attributes(group._stored.attributes)
    )


def tree_page(inside: str) -> str:
    """A tree of `details` elements and lists."""
    return _page(f'<div class="oz-tree">{inside}</div>')


def report_page(rows: Iterable[tuple[str, str]]) -> str:
    """A table of names and values."""
    table = "".join(_row(name, shown(value, 600)) for name, value in rows)
    return _page(f'<div class="oz-body"><table><tbody>{table}</tbody></table></div>')


def _page(*parts: str) -> str:
    return f'<div class="{CLASS}">{SHEET}{"".join(parts)}</div>'


def _head(node: Array | Group, *tags: str) -> str:
    marks = [*tags, *(["read-only"] if node.read_only else []), f"format {node.zarr_format}"]
    shown_tags = "".join(f'<span class="oz-tag">{shown(tag)}</span>' for tag in marks)
    return (
        f'<div class="oz-head"><span class="oz-kind">omnizarr.{type(node).__name__}</span>'
        f'<span class="oz-name">{shown(node.name)}</span>{shown_tags}'
        f'<span class="oz-store oz-code">{shown(repr(node.store))}</span></div>'
    )


# -- arrays -----------------------------------------------------------------------------------
def _facts(array: Array, found: known.Stored | None) -> str:
    sharded = array.shards is not None
    columns = ["Array", "Chunk", *(["Shard"] if sharded else [])]
    table: list[tuple[str, list[str]]] = [
        ("Bytes", [_nbytes(array, array.shape), _nbytes(array, array.chunks)]),
        ("Shape", [shown(array.shape), shown(array.chunks)]),
        ("Count", ["", f"{array.nchunks:,}"]),
    ]
    if array.shards is not None:
        shards = array._stored.grid.nchunks
        for (_, cells), text in zip(
            table,
            (_nbytes(array, array.shards), shown(array.shards), f"{shards:,}"),
            strict=True,
        ):
            cells.append(text)
    head = "".join(f"<th>{name}</th>" for name in ["", *columns])
    rows = [
        f"<tr><th>{name}</th>{''.join(f'<td>{cell}</td>' for cell in cells)}</tr>"
        for name, cells in table
    ]
    rows += [_row(name, value, len(columns)) for name, value in _more_facts(array, found)]
    return f"<table><thead><tr>{head}</tr></thead><tbody>{''.join(rows)}</tbody></table>"


def _more_facts(array: Array, found: known.Stored | None) -> Iterable[tuple[str, str]]:
    """Name and HTML of the facts below the sizes."""
    if array.dims is not None:
        names = [shown("·" if name is None else name, 60) for name in array.dims[:32]]
        yield "Dimensions", ", ".join(names)
    yield "Data type", shown(array.data_type)
    yield "Fill value", shown(_fill(array), 80)
    if array.order != "C":
        yield "Order", shown(array.order)
    yield "Codecs", f'<span class="oz-code">{_codecs(array)}</span>'
    if found is not None:
        yield "Stored", _stored(array, found)


def _stored(array: Array, found: known.Stored) -> str:
    grid, unit = array._stored.grid, _unit(array)
    if not found.units:
        return f"none of {number(grid.nchunks, unit)}"
    text = f"{size(found.nbytes)} in {len(found.units):,} of {number(grid.nchunks, unit)}"
    if not found.nbytes or array.data_type.variable:
        return text
    elements = sum(prod(_clipped(grid, each)) for each in found.units)
    ratio = elements * array.itemsize / found.nbytes
    return f"{text}, ratio {ratio:.1f}" if ratio < 100 else f"{text}, ratio {ratio:,.0f}"


def _unit(array: Array) -> str:
    """What is stored as one value."""
    return "chunk" if array.shards is None else "shard"


def _clipped(grid: Grid, chunk: tuple[int, ...]) -> Iterator[int]:
    """Lengths of a chunk inside the array."""
    for axis, index in zip(grid.axes, chunk, strict=True):
        yield min(axis.size(index), axis.length - axis.start(index))


def _fill(array: Array) -> str:
    value = array.fill_value
    return repr(value.item() if hasattr(value, "item") else value)


def _codecs(array: Array) -> str:
    specs = array._pipeline.specs
    found = [shown(_codec(spec), 100) for spec in specs[:CODECS]]
    return " → ".join([*found, *(["…"] if len(specs) > CODECS else [])])


def _codec(spec: CodecSpec) -> str:
    """A codec in the words of the metadata."""
    options = [f"{name}={json_text(item, 60)}" for name, item in spec.configuration.items()]
    return f"{spec.name}({', '.join(options)})" if options else spec.name


def _nbytes(array: Array, shape: tuple[Any, ...]) -> str:
    """Bytes of a part of the array in memory; the largest, where parts differ in length."""
    if array.data_type.variable:
        return "varies"
    irregular = any(isinstance(length, tuple) for length in shape)
    lengths = [max(length, default=0) if isinstance(length, tuple) else length for length in shape]
    return ("up to " if irregular else "") + size(prod(lengths) * array.itemsize)


def _grid(array: Array, found: known.Stored | None) -> str:
    names = array.dims or (None,) * array.ndim
    grids = array._block_grid.axes, array._stored.grid.axes
    sides = [picture.Side(*facts) for facts in zip(names, *grids, strict=True)]
    drawn = picture.draw(sides, None if found is None else found.units, _title(array))
    if not drawn:
        return ""
    caption = ""
    if found is not None and array.ndim < 4 and array._stored.grid.nchunks > len(found.units):
        caption = f"<figcaption>stored {_unit(array)}s are filled</figcaption>"
    return f'<figure class="oz-picture">{drawn}{caption}</figure>'


def _title(array: Array) -> str:
    text = f"grid of {' × '.join(map(str, array.cdata_shape))} chunks"
    shards = "" if array.shards is None else f" in {array._stored.grid.nchunks:,} shards"
    return text + shards


# -- groups -----------------------------------------------------------------------------------
def _members(group: Group, found: known.Members | None) -> str:
    if found is None:
        listable = group._place.store.capabilities.listable
        why = (
            "members are not listed here, because the store is remote; see <b>group.tree()</b>"
            if listable
            else "the store cannot be listed"
        )
        return f'<p class="oz-none">{why}</p>'
    if not found.count:
        return '<p class="oz-none">no members</p>'
    rows = "".join(_member(name, model) for name, model in found.shown.items())
    if found.count > len(found.shown):
        rest = found.count - len(found.shown)
        rows += f'<tr><td colspan="4" class="oz-dim">… and {rest:,} more</td></tr>'
    head = "".join(f"<th>{name}</th>" for name in ("Member", "Shape", "Chunks", "Data type"))
    return (
        f'<div class="oz-members"><table><thead><tr>{head}</tr></thead>'
        f"<tbody>{rows}</tbody></table></div>"
    )


def _member(name: str, model: Any) -> str:
    if isinstance(model, ArrayModel):
        cells = [shown(model.shape), shown(chunks_of(model)), shown(model.data_type)]
    else:
        cells = ["" if model is None else "group", "", ""]
    label = f'<td class="oz-name">{shown(name)}</td>'
    return f"<tr>{label}{''.join(f'<td>{cell}</td>' for cell in cells)}</tr>"


def chunks_of(model: ArrayModel) -> Any:
    """Shape of a chunk; inside shards, of an inner one."""
    inner = inner_chunks(model.codecs, model.ndim)
    if inner is not None:
        return inner
    return model.grid.chunk_shape if model.grid.regular else "irregular"


# -- attributes -------------------------------------------------------------------------------
def _attributes(attributes: Mapping[str, Any]) -> str:
    if not attributes:
        return ""
    items = list(attributes.items())
    rows = [
        _row(name, f'<span class="oz-code">{shown(json_text(value, VALUE), VALUE + 1)}</span>')
        for name, value in items[:ATTRIBUTES]
    ]
    if len(items) > ATTRIBUTES:
        rest = len(items) - ATTRIBUTES
        rows.append(f'<tr><td colspan="2" class="oz-dim">… and {rest:,} more</td></tr>')
    return (
        '<details class="oz-more"><summary>Attributes'
        f' <span class="oz-count">({len(items):,})</span></summary>'
        f'<div class="oz-inside"><table><tbody>{"".join(rows)}</tbody></table></div></details>'
    )


def _row(name: str, value: str, columns: int = 1) -> str:
    span = f' colspan="{columns}"' if columns > 1 else ""
    return f"<tr><th>{shown(name, 80)}</th><td{span}>{value}</td></tr>"
