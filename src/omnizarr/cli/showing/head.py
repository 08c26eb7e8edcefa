"""`omnizarr head`: the first values of an array as a small table."""

from __future__ import annotations

from typing import Any

import numpy as np

import omnizarr
from omnizarr.cli import places, selections, values
from omnizarr.cli.arguments import integer
from omnizarr.cli.facts import Facts
from omnizarr.cli.output import Output, blue, bold, columns, count, dim, red, shortened, times
from omnizarr.cli.places import Problem, StoredAt, opened
from omnizarr.cli.problems import told
from omnizarr.cli.selections import Chosen, as_index, fitted, flat, lengths, selection
from omnizarr.cli.showing.tree import members, one_line
from omnizarr.errors import ZarrError

EXAMPLES = """\
examples:
  omnizarr head data.zarr/temperature
  omnizarr head data.zarr/temperature -n 3 --at 0,10:20,:
  omnizarr head data.zarr/temperature --at=-1,...
  omnizarr head data.zarr

A selection has an index or start:stop:step for every dimension. A group shows each of its arrays
in a line.
"""
_CELL = 24
"""Columns of a cell at most."""
_MOST = 10_000
"""Values along a dimension at most."""
_BESIDE = 5
"""How many values of an array its line in a group shows."""


def add_arguments(parser: Any) -> None:
    places.add_arguments(parser, zarr_format=True)
    add = parser.add_argument
    add("-n", metavar="N", type=positive, default=10, help="values along a dimension (10)")
    add("--at", metavar="SELECTION", type=selection, help="where: 0,10:20,: (an array only)")


def positive(text: str) -> int:
    number = integer(text, least=1)
    if number > _MOST:
        from argparse import ArgumentTypeError

        raise ArgumentTypeError(f"expected {_MOST:,} at most, found {text!r}")
    return number


def run(arguments: Any, out: Output) -> int:
    found = opened(arguments.path, arguments.node, arguments.zarr_format, arguments.storage_option)
    with found as (place, node):
        if not isinstance(node, omnizarr.Array):
            return _group(node, place, arguments, out)
        chosen = flat(fitted(arguments.at or (), node.shape, place), 2)
        room = arguments.n if arguments.json else out.width // 3 + 1  # columns that fit
        chosen = _first(chosen, arguments.n, min(arguments.n, room))
        read = np.asarray(node.read(as_index(chosen)))
        if arguments.json:
            out.json({**_facts(place, node, chosen), "values": read})
        else:
            _show(place, node, chosen, read, out)
    return 0


def _first(chosen: Chosen, rows: int, columns: int = 0) -> Chosen:
    """The first indices of the dimension that is kept, or of the two."""
    most = iter((rows, columns))
    return tuple(each if isinstance(each, int) else each[: next(most, None)] for each in chosen)


def _facts(place: StoredAt, array: Any, chosen: Chosen) -> Facts:
    return {
        "store": place.shown,
        "path": place.path,
        "shape": array.shape,
        "dtype": str(array.data_type),
        "dimension_names": array.dims,
        "selection": selections.shown(chosen, array.shape),
    }


# -- an array ----------------------------------------------------------------------------------


def _show(place: StoredAt, array: Any, chosen: Chosen, read: Any, out: Output) -> None:
    where = selections.shown(chosen, array.shape) if array.ndim else ""
    title = f"  {times(array.shape)}  {array.data_type}"
    out.line(bold(str(place)), dim(f" {where}"), title)
    if not read.size:
        out.line("no values")
        return
    ranges = [each for each in chosen if isinstance(each, range)]
    if not ranges:
        out.line(_cell(values.single(read)))
        return
    fields = read.dtype.names if len(ranges) == 1 else None
    if fields is not None:
        head, rows = list(fields), [[row[name] for name in fields] for row in read]
    elif len(ranges) == 1:
        head, rows = [""], [[value] for value in read]
    else:
        head, rows = [str(index) for index in ranges[1]], list(read)
    names = selections.names(array, chosen)
    _table(names, ranges[0], head, rows, out)


def _table(names: list[str], index: range, head: list[str], rows: list[Any], out: Output) -> None:
    """Rows of values with the index of each, as many columns as fit."""
    cells = [[_cell(value) for value in row] for row in rows]
    label = max(len(str(index[-1])), columns(names[0]))
    widths: list[int] = []
    used = label
    for number, title in enumerate(head):
        width = max(columns(title), *(columns(row[number]) for row in cells))
        if widths and used + width + 2 > out.width - 2:
            break
        widths.append(width)
        used += width + 2
    cut = len(widths) < len(head)
    if any(head):
        if len(names) > 1:
            out.line(" " * label, dim(f"  {names[1]}"))
        titles = "".join(f"  {_right(title, w)}" for title, w in zip(head, widths, strict=False))
        out.line(dim(names[0].ljust(label)), dim(f"{titles}{'  …' if cut else ''}"))
    else:
        out.line(dim(names[0]))
    for number, row in zip(index, cells, strict=True):
        text = "".join(f"  {_right(cell, w)}" for cell, w in zip(row, widths, strict=False))
        out.line(dim(f"{number:>{label}}"), f"{text}{'  …' if cut else ''}")


def _right(text: str, width: int) -> str:
    return " " * (width - columns(text)) + text


def _cell(value: Any) -> str:
    return shortened(values.text(value), _CELL)


# -- a group -----------------------------------------------------------------------------------


def _group(group: Any, place: StoredAt, arguments: Any, out: Output) -> int:
    if arguments.at is not None:
        raise Problem(f"{place}: a group has no values to select", "name one of its arrays")
    rows = [_row(name, array, place, arguments.n) for name, array in arrays(group)]
    if arguments.json:
        out.json({"store": place.shown, "path": place.path, "arrays": rows})
    elif not rows:
        out.line("no arrays")
    else:
        widths = [
            max(columns(cell) for cell in column) for column in zip(*map(_cells, rows), strict=True)
        ]
        for row in rows:
            cells = _cells(row)
            gap = [" " * (w - columns(cell) + 2) for w, cell in zip(widths, cells, strict=True)]
            rest = [red(f"✗ {one_line(row['problem'])}")] if "problem" in row else [_beside(row)]
            out.line(cells[0], gap[0], cells[1], gap[1], blue(cells[2]), gap[2], *rest)
        out.line()
        out.line(count(len(rows), "array"))
    return 1 if any("problem" in row for row in rows) else 0


def arrays(group: Any, above: str = "") -> Any:
    """Paths and arrays below a group, in order; an error where one cannot be read."""
    for name, member in members(group):
        if isinstance(member, Exception | omnizarr.Array):
            yield f"{above}{name}", member
        else:
            yield from arrays(member, f"{above}{name}/")


def _row(name: str, array: Any, place: StoredAt, most: int) -> Facts:
    if isinstance(array, Exception):
        return {"path": name, "shape": None, "dtype": "", "problem": told(array)}
    row = {"path": name, "shape": array.shape, "dtype": str(array.data_type)}
    try:
        chosen = _first(flat(fitted((), array.shape, place), 1), min(most, _BESIDE))
        read = np.asarray(array.read(as_index(chosen)))
    except ZarrError as error:
        return row | {"problem": told(error)}
    more = read.size < array.size
    return row | {"values": read.reshape(-1), "more": more, "length": lengths(chosen)}


def _cells(row: Facts) -> list[str]:
    shape = "" if row["shape"] is None else times(row["shape"])
    return [row["path"], shape, shortened(row["dtype"], _CELL)]


def _beside(row: Facts) -> str:
    return "  ".join([*map(_cell, row["values"]), *(["…"] if row["more"] else [])])
