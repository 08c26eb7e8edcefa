"""`omnizarr stats`: extremes, moments, counts and a histogram of the values."""

from __future__ import annotations

from typing import Any

import numpy as np

import omnizarr
from omnizarr.cli import places
from omnizarr.cli.arguments import integer, positive
from omnizarr.cli.facts import Facts
from omnizarr.cli.output import Output, bold, count, dim, red, times
from omnizarr.cli.places import StoredAt, opened
from omnizarr.cli.problems import told
from omnizarr.cli.showing.head import arrays
from omnizarr.cli.statistics import Statistics, Work, passes, planned, statistics
from omnizarr.cli.stored import Grid
from omnizarr.errors import ZarrError
from omnizarr.runtime.progress import Reporter

EXAMPLES = """\
examples:
  omnizarr stats data.zarr/temperature
  omnizarr stats data.zarr --bins 0
  omnizarr stats data.zarr/temperature --sample 20
  omnizarr stats data.zarr/temperature --skip-fill --json

Every stored chunk is read, one after another; a chunk that is not stored counts as fill values.
Values are taken as they are stored, packed ones too.
With --sample N chunks are read, spread over those that are stored, and the numbers are theirs. The
exit status is 1 if an array of a group cannot be read (the others are shown), 0 otherwise.
"""
_LABEL = 16
_BAR = 40
_EIGHTHS = " ▏▎▍▌▋▊▉█"


def add_arguments(parser: Any) -> None:
    places.add_arguments(parser, zarr_format=True)
    add = parser.add_argument
    add("--sample", metavar="N", type=positive, help="read N chunks that are spread over the array")
    add("--bins", metavar="N", type=_bins, default=10, help="bars of the histogram (10); 0: none")
    add("--skip-fill", action="store_true", help="count fill values, and leave them out else")
    add("--quiet", action="store_true", help="show no progress")


def _bins(text: str) -> int:
    number = integer(text, least=0)
    if number > 1000:
        from argparse import ArgumentTypeError

        raise ArgumentTypeError(f"expected 1000 at most, found {text!r}")
    return number


def run(arguments: Any, out: Output) -> int:
    looked_up = opened(
        arguments.path, arguments.node, arguments.zarr_format, arguments.storage_option
    )
    with looked_up as (place, node):
        single = isinstance(node, omnizarr.Array)
        found = [("", node)] if single else list(arrays(node))
        rows = _rows(found, place, arguments, single)
        where = {"store": place.shown, "path": place.path}
        if arguments.json:
            plain = [{name: row[name] for name in row if name != "statistics"} for row in rows]
            out.json({**where, **plain[0]} if single else {**where, "arrays": plain})
        else:
            for number, row in enumerate(rows):
                if number:
                    out.line()
                _show(row, place, out)
            if not rows:
                out.line("no arrays")
    return 1 if any("problem" in row for row in rows) else 0


def _rows(found: list[Any], place: StoredAt, arguments: Any, single: bool) -> list[Facts]:
    """The facts about every array; an error of an array alone is raised."""
    rows: list[Facts] = []
    plans: list[tuple[str, Any, Work | None]] = []
    for name, array in found:
        try:
            if isinstance(array, Exception):
                raise array
            plans.append((name, array, planned(array, arguments.sample)))
        except ZarrError as error:
            if single:
                raise
            plans.append((name, error, None))
    total = sum(
        work.count(Grid(array)) * passes(array, arguments.bins)
        for _, array, work in plans
        if work is not None
    )
    reporter = Reporter(not (arguments.quiet or arguments.json), total)
    try:
        for name, array, work in plans:
            row: Facts = {} if single else {"path": name}
            try:
                if work is None:
                    raise array
                counted = statistics(
                    array, work, arguments.bins, arguments.skip_fill, reporter.advance
                )
                rows.append(row | of_array(array, counted, arguments))
            except ZarrError as error:
                if single:
                    raise
                rows.append(row | {"problem": told(error)})
    finally:
        reporter.close()
    return rows


def of_array(array: Any, found: Statistics, arguments: Any) -> Facts:
    sampled = found.chunks_read if arguments.sample and _is_sample(found) else None
    low, high = _value(found.minimum, array), _value(found.maximum, array)
    return {
        "statistics": found,
        "shape": array.shape,
        "dtype": str(array.data_type),
        "sampled_chunks": sampled,
        "chunks_read": found.chunks_read,
        "chunks_stored": found.chunks_stored,
        "chunks_possible": found.chunks_possible,
        "values": found.values,
        "nan": found.nan,
        "infinite": found.infinite,
        "fill": found.fill,
        "of": "absolute values" if array.dtype.kind == "c" else "values",
        "min": low,
        "max": high,
        "mean": _mean(found, array),
        "std": _deviation(found, array),
        "histogram": None
        if found.histogram is None
        else {
            "edges": [_value(edge, array) for edge in found.edges.tolist()],
            "counts": found.histogram,
        },
    }


def _is_sample(found: Statistics) -> bool:
    known = found.chunks_possible if found.chunks_stored is None else found.chunks_stored
    return found.chunks_read < known


def _value(number: Any, array: Any) -> Any:
    """A number as a value of the array: a time where it holds times."""
    if number is None or array.dtype.kind not in "mM":
        return number
    return np.asarray(round(number), "i8").view(array.dtype.newbyteorder("="))[()]


def _mean(found: Statistics, array: Any) -> Any:
    return _value(found.moments.mean, array) if found.moments.count else None


def _deviation(found: Statistics, array: Any) -> Any:
    number = found.moments.deviation
    if number is None or array.dtype.kind not in "mM":
        return number
    times = np.dtype(array.dtype.str.replace("M", "m"))  # the distance of two points in time
    return np.asarray(round(number), "i8").view(times.newbyteorder("="))[()]


# -- for people --------------------------------------------------------------------------------


def _show(row: Facts, place: StoredAt, out: Output) -> None:
    name = "/".join(part for part in (str(place), row.get("path", "")) if part)
    if "problem" in row:
        out.line(bold(name), red(f"  ✗ {row['problem']}"))
        return
    found: Statistics = row["statistics"]
    out.line(bold(name), f"  {times(row['shape'])}  {row['dtype']}")
    share = f" ({_percent(found.fill, found.values)})" if found.fill else ""
    rows = [("values", f"{found.values:,}"), ("fill value", f"{found.fill:,}{share}")]
    if row["sampled_chunks"] is not None:
        known = found.chunks_possible if found.chunks_stored is None else found.chunks_stored
        rows.insert(0, ("sample", f"{found.chunks_read:,} of {count(known, 'chunk')}"))
    elif found.chunks_stored is not None:
        text = f"{found.chunks_stored:,} of {found.chunks_possible:,}"
        rows.insert(0, ("chunks stored", text))
    if found.nan:
        rows.append(("NaN", f"{found.nan:,} ({_percent(found.nan, found.values)})"))
    if found.infinite:
        rows.append(("infinite", f"{found.infinite:,}"))
    if not found.numeric:
        rows.append(("numbers", f"none of {row['dtype']}"))
    elif row["min"] is not None:
        suffix = "  (of absolute values)" if row["of"] != "values" else ""
        rows += [("min", f"{row['min']}{suffix}"), ("max", str(row["max"]))]
        if row["mean"] is not None:
            rows += [("mean", _number(row["mean"])), ("std", _number(row["std"]))]
    for label, text in rows:
        out.line("  ", dim(label.ljust(_LABEL)), text)
    if row["histogram"] is not None:
        out.line()
        _bars(row["histogram"], out)


def _number(value: Any) -> str:
    return f"{value:.6g}" if isinstance(value, float) else str(value)


def _percent(part: int, whole: int) -> str:
    return f"{part / whole:.1%}" if whole else "0%"


def _bars(histogram: Facts, out: Output) -> None:
    edges = [_number(edge) for edge in histogram["edges"]]
    counts = [int(number) for number in histogram["counts"]]
    left, right = (max(map(len, ends)) for ends in (edges[:-1], edges[1:]))
    most = max(max(counts), 1)
    for low, high, number in zip(edges, edges[1:], counts, strict=False):
        out.line(
            "  ", dim(f"{low:>{left}} to {high:>{right}}  "), bar(number / most, out), f"{number:,}"
        )


def bar(share: float, out: Output) -> str:
    """A bar of that length, with the gap behind it; whole characters where there are no others."""
    eighths = round(share * _BAR * 8)
    if not out.drawing:
        return "#" * (eighths // 8 or min(eighths, 1)) + (" " if eighths else "")
    full, rest = divmod(max(eighths, 1 if share else 0), 8)
    text = "█" * full + (_EIGHTHS[rest] if rest else "")
    return f"{text} " if text else ""
