"""`omnizarr plot`: a line or a heat map in the terminal, or a picture."""

from __future__ import annotations

import os
from typing import Any

import numpy as np

import omnizarr
from omnizarr.cli import places, selections, values
from omnizarr.cli.drawing import heat_map, line
from omnizarr.cli.output import Output, bold, dim, times
from omnizarr.cli.places import Problem, StoredAt, opened
from omnizarr.cli.selections import Chosen, as_index, fitted, flat, lengths, selection
from omnizarr.conventions.netcdf.packing import packing, unpack
from omnizarr.errors import MetadataError
from omnizarr.runtime.optional_packages import package

EXAMPLES = """\
examples:
  omnizarr plot data.zarr/temperature
  omnizarr plot data.zarr/temperature --at 0,:,:
  omnizarr plot data.zarr/series --at 0:1000
  omnizarr plot data.zarr/temperature --output picture.png

Of a large array every so many values are read and shown, as many as fit; --at chooses a part. Of
more than two dimensions the first index of the first ones is shown. Values are drawn as attributes
such as scale_factor and _FillValue mean them.
"""
_ROWS = 20
_PICTURE = 1000
"""Values along a dimension of a picture at most."""
_SERIES = 100_000


def add_arguments(parser: Any) -> None:
    places.add_arguments(parser, zarr_format=True)
    add = parser.add_argument
    add("--at", metavar="SELECTION", type=selection, help="what to show: 0,10:20,:")
    add("--stored", action="store_true", help="draw values as they are stored, not unpacked")
    add("--output", metavar="FILE", help="write a picture instead (.png, .svg, .pdf)")
    add("--overwrite", action="store_true", help="replace the picture that is there")


def run(arguments: Any, out: Output) -> int:
    found = opened(arguments.path, arguments.node, arguments.zarr_format, arguments.storage_option)
    with found as (place, array):
        if not isinstance(array, omnizarr.Array):
            raise Problem(f"{place}: a group cannot be drawn", "name one of its arrays")
        if not values.numeric(array.dtype):
            raise Problem(
                f"{place}: values of type {array.data_type} cannot be drawn",
                "omnizarr head shows them",
            )
        chosen = flat(fitted(arguments.at or (), array.shape, place), 2)
        if not lengths(chosen) or 0 in lengths(chosen):
            raise Problem(
                f"{place}: there is no line and no area to draw", "omnizarr head shows it"
            )
        if arguments.output:
            _check_output(arguments)
        read_as = coarse(chosen, _room(arguments, len(lengths(chosen)), out))
        read = np.asarray(array.read(as_index(read_as)))
        if not arguments.stored:
            read = _meant(array, read)
        numbers = values.numbers(read, array.dtype.kind)
        shown = selections.shown(read_as, array.shape)
        if arguments.output:
            _picture(place, array, read_as, numbers, arguments.output)
        if arguments.json:
            names = selections.names(array, chosen)
            file = arguments.output
            facts = {"store": place.shown, "path": place.path, "shape": array.shape}
            out.json(facts | {"selection": shown, "dimensions": names, "file": file,
                              "values": None if file else read})  # fmt: skip
        elif arguments.output:
            out.line(f"{arguments.output} shows {place} {shown}")
        else:
            out.line(
                bold(str(place)), dim(f" {shown}"), f"  {times(array.shape)}  {array.data_type}"
            )
            _draw(array, read_as, numbers, out)
    return 0


def _room(arguments: Any, dimensions: int, out: Output) -> tuple[int, ...]:
    """How many values along every dimension are shown at most."""
    if arguments.output:
        return (_SERIES,) if dimensions == 1 else (_PICTURE, _PICTURE)
    width = max(min(out.width - 14, 120), 10)
    if dimensions == 1:
        return (2 * width,)
    return (2 * _ROWS, width) if out.colour else (_ROWS, width)


def coarse(chosen: Chosen, room: tuple[int, ...]) -> Chosen:
    """The selection with steps so large that no more is read than there is room for."""
    most = iter(room)
    return tuple(
        each if isinstance(each, int) else each[:: max(-(-len(each) // next(most)), 1)]
        for each in chosen
    )


def _meant(array: Any, stored: Any) -> Any:
    """Values as the attributes mean them, missing ones NaN; as they are stored where the attributes
    make no sense."""
    try:
        with np.errstate(over="ignore", invalid="ignore"):
            return unpack(stored, packing(array.attrs.asdict(), array.dtype))
    except MetadataError:
        return stored


def _draw(array: Any, chosen: Chosen, numbers: Any, out: Output) -> None:
    names = selections.names(array, chosen)
    ranges = [each for each in chosen if isinstance(each, range)]
    finite = numbers[np.isfinite(numbers)]
    if not finite.size:
        out.line("no finite value")
        return
    low, high = float(finite.min()), float(finite.max())
    ends = _label(low, array), _label(high, array)
    out.line()
    if len(ranges) == 1:
        margin = max(map(len, ends))
        rows = line(numbers, low, high, 8, out)
        for number, text in enumerate(rows):
            label = ends[1] if number == 0 else ends[0] if number == len(rows) - 1 else ""
            out.line(dim(f"{label:>{margin}} │"), text)
        out.line(" " * margin, dim(f" └ {names[0]}: {ranges[0][0]:,} to {ranges[0][-1]:,}"))
        return
    for text in heat_map(numbers, low, high, out):
        out.own(f"  {text}\n")
    out.line()
    down, right = (
        f"{n} {way} {r[0]:,} to {r[-1]:,}" for n, way, r in zip(names, "↓→", ranges, strict=True)
    )
    out.line("  ", dim(f"{down}, {right}"))
    out.line(
        "  ",
        dim(f"from {ends[0]} to {ends[1]}{'' if out.colour else ': ░▒▓█'}; blank: no finite value"),
    )


def _label(number: float, array: Any) -> str:
    if array.dtype.kind in "mM":
        return str(np.asarray(round(number), "i8").view(array.dtype.newbyteorder("="))[()])
    return f"{number:.6g}"


# -- a picture ---------------------------------------------------------------------------------


def _check_output(arguments: Any) -> None:
    if os.path.lexists(arguments.output) and not arguments.overwrite:
        raise Problem(f"{arguments.output}: it exists already", "--overwrite replaces it")
    package("matplotlib", "plot", "omnizarr plot --output")


def _picture(place: StoredAt, array: Any, chosen: Chosen, numbers: Any, file: str) -> None:
    figure_of = package("matplotlib.figure", "plot", "omnizarr plot --output")
    figure = figure_of.Figure(figsize=(8, 5), layout="constrained")
    axes = figure.add_subplot()
    names = [_plain(name) for name in selections.names(array, chosen)]
    ranges = [each for each in chosen if isinstance(each, range)]
    unit = array.attrs.get("units")
    label = _plain(
        f"{array.basename or 'values'} ({unit})" if isinstance(unit, str) else array.basename
    )
    if len(ranges) == 1:
        axes.plot(np.asarray(ranges[0]), numbers)
        axes.set(xlabel=names[0], ylabel=label)
    else:
        rows, columns = ranges
        extent = (columns[0] - 0.5, columns[-1] + 0.5, rows[-1] + 0.5, rows[0] - 0.5)
        image = axes.imshow(numbers, aspect="auto", interpolation="nearest", extent=extent)
        figure.colorbar(image, label=label)
        axes.set(xlabel=names[1], ylabel=names[0])
    axes.set_title(_plain(f"{place} {selections.shown(chosen, array.shape)}"))
    try:
        figure.savefig(file)
    except ValueError as error:  # a suffix that is none of a picture
        raise Problem(
            f"{file}: {' '.join(str(error).split())}", "name it .png, .svg or .pdf"
        ) from error


def _plain(text: str) -> str:
    """Text that matplotlib takes for no formula."""
    return "".join(c for c in text if c.isprintable()).replace("$", r"\$")
