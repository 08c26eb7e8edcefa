"""A bar chart as SVG text: how many times faster than the reference each library is, per row."""

from __future__ import annotations

import math
from typing import Any
from xml.sax.saxutils import escape

COLOURS = ("#0b7a75", "#b8b8b8", "#8d99ae", "#d98e04", "#7b2d26")
LEFT, WIDTH, BAR, GAP, TOP = 270, 560, 13, 12, 84


def bar_chart(
    results: list[dict[str, Any]], names: list[str], *, reference: str, facts: dict[str, Any]
) -> str:
    """Rows without the reference are left out: there is nothing to relate them to."""
    rows = [row for row in results if reference in row["best"]]
    shown = [name for name in names if name != reference]
    ratios = [
        row["best"][reference] / row["best"][name]
        for row in rows
        for name in shown
        if name in row["best"]
    ]
    low = min([1.0, *ratios]) / 1.3
    high = max([10.0, *ratios]) * 1.6

    def x(value: float) -> float:
        return LEFT + WIDTH * math.log(value / low) / math.log(high / low)

    height = TOP + sum(len(shown) * BAR + GAP for _ in rows) + 44
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{LEFT + WIDTH + 60}" height="{height}" '
        'font-family="system-ui, sans-serif" font-size="12">',
        '<rect width="100%" height="100%" fill="white"/>',
        f'<text x="16" y="26" font-size="16" font-weight="600">Times faster than '
        f"{escape(reference)} (longer is better, logarithmic)</text>",
        f'<text x="16" y="46" fill="#555">{escape(facts["cpu"])}, {facts["cores"]} cores, '
        f"Python {facts['python']}</text>",
    ]
    for index, name in enumerate(shown):
        left = 16 + 170 * index
        parts.append(f'<rect x="{left}" y="57" width="11" height="11" fill="{COLOURS[index]}"/>')
        parts.append(f'<text x="{left + 17}" y="67">{escape(name)}</text>')
    bottom = height - 36
    for value in (0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 50, 100, 200, 500, 1000):
        if low < value < high:
            stroke = "#222" if value == 1 else "#ddd"
            parts.append(f'<path d="M{x(value):.1f} {TOP - 6}V{bottom}" stroke="{stroke}"/>')
            parts.append(
                f'<text x="{x(value):.1f}" y="{bottom + 16}" text-anchor="middle" fill="#555">'
                f"{value:g}×</text>"
            )
    y = TOP
    for row in rows:
        middle = y + len(shown) * BAR / 2 + 4
        label = escape(row["label"])
        parts.append(f'<text x="{LEFT - 10}" y="{middle:.1f}" text-anchor="end">{label}</text>')
        for index, name in enumerate(shown):
            if name in row["best"]:
                value = row["best"][reference] / row["best"][name]
                left, right = sorted((x(1), x(value)))
                label = f"{value:.1f}×" if value < 100 else f"{value:.0f}×"
                parts.append(
                    f'<rect x="{left:.1f}" y="{y}" width="{max(right - left, 1):.1f}" '
                    f'height="{BAR - 2}" fill="{COLOURS[index]}"/>'
                    f'<text x="{right + 4:.1f}" y="{y + 9}" font-size="10">{label}</text>'
                )
            y += BAR
        y += GAP
    parts.append("</svg>\n")
    return "\n".join(parts)
