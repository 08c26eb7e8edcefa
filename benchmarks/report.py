"""Figures as text: times, ratios, tables in Markdown that can be read as they are."""

from __future__ import annotations

import math
from typing import Any

MIB = 1 << 20


def milliseconds(seconds: float | None) -> str:
    if seconds is None:
        return "–"
    value = seconds * 1e3
    return f"{value:.0f}" if value >= 100 else f"{value:.1f}" if value >= 10 else f"{value:.3f}"


def ratio(other: float | None, own: float | None) -> str:
    if other is None or own is None:
        return "–"
    value = other / own
    return f"{value:.0f}×" if value >= 100 else f"{value:.1f}×" if value >= 10 else f"{value:.2f}×"


def markdown(head: list[str], lines: list[list[str]]) -> str:
    """A table whose columns are aligned."""
    cells = [head, *lines]
    widths = [max(len(line[column]) for line in cells) for column in range(len(head))]
    rule = ["-" * width if column == 0 else "-" * (width - 1) + ":"
            for column, width in enumerate(widths)]  # fmt: skip
    text = [
        [line[0].ljust(widths[0]), *(c.rjust(w) for c, w in zip(line[1:], widths[1:], strict=True))]
        for line in (head, rule, *lines)
    ]
    return "\n".join("| " + " | ".join(line) + " |" for line in text)


def geometric_mean(found: list[float]) -> float | None:
    return math.exp(sum(map(math.log, found)) / len(found)) if found else None


def verdict(
    best: dict[str, float], own: str, peers: list[str]
) -> tuple[float | None, float | None]:
    """The time of the fastest peer over our own, and our own over the floor's."""
    others = [best[name] for name in peers if name in best]
    if own not in best:
        return None, None
    ahead = min(others) / best[own] if others else None
    return ahead, best[own] / best["floor"] if "floor" in best else None


def bench_table(
    results: list[dict[str, Any]], titles: dict[str, str], own: str, peers: list[str]
) -> str:
    """A row each: milliseconds (and MiB) of every library, and the two ratios."""
    lines, ahead, above = [], [], []
    for result in results:
        best, memory = result["best"], result["memory"]
        cells = []
        for name in titles:
            extra = memory.get(name)
            cell = milliseconds(best.get(name))
            cells.append(cell if extra is None else f"{cell} ({extra / MIB:.0f})")
        faster, slower = verdict(best, own, peers)
        ahead += [] if faster is None else [faster]
        above += [] if slower is None else [slower]
        lines.append([result["label"], *cells, ratio(faster, 1), ratio(slower, 1)])
    means = (ratio(geometric_mean(ahead), 1), ratio(geometric_mean(above), 1))
    lines.append(["geometric mean", *("" for _ in titles), *means])
    ratios = [f"best peer ÷ {titles[own]}", f"{titles[own]} ÷ floor"]
    head = ["milliseconds (MiB)", *titles.values(), *ratios]
    wanted = None if "floor" in titles else -1
    return markdown(head[:wanted], [line[:wanted] for line in lines])


def core_table(by_cores: dict[int, list[dict[str, Any]]], titles: dict[str, str], own: str) -> str:
    """Our own time on every number of cores, and how much faster the most make it, beside the
    floor and the library that gains most."""
    counts = sorted(by_cores)
    few, most = counts[0], counts[-1]
    lines = []
    for rows in zip(*(by_cores[count] for count in counts), strict=True):
        first, last = rows[0]["best"], rows[-1]["best"]
        gains = {name: first[name] / last[name] for name in titles if {name} <= first.keys() & last}
        others = [gain for name, gain in gains.items() if name not in (own, "floor")]
        cells = [milliseconds(row["best"].get(own)) for row in rows]
        gained = [gains.get(own), gains.get("floor"), max(others, default=None)]
        lines.append([rows[0]["label"], *cells, *(ratio(gain, 1) for gain in gained)])
    head = [f"{titles[own]}, milliseconds", *(f"{count} cores" for count in counts)]
    head += [f"{few} → {most}: {titles[own]}", "floor", "the most that a peer gains"]
    return markdown(head, lines)
