"""Draw the table of a benchmark: docs/images/benchmarks.svg from docs/benchmarks.md.

Nothing is measured here. One line per row of the table: the time of each other library over that of
the first one, on a logarithmic scale. `tests/test_docs.py` checks that the drawing is up to date.
"""

from __future__ import annotations

import math
from html import escape
from pathlib import Path

DOCS = Path(__file__).resolve().parent.parent / "docs"
COLOURS = {
    "zarr-python 3": "#c2410c",
    "fused": "#ca8a04",
    "tensorstore": "#1d4ed8",
    "floor": "#9ca3af",
}
MORE = ("#15803d", "#7c3aed", "#0e7490", "#be185d", "#78350f")
LINE, LETTER, SCALE, RIGHT = 22, 6.6, 530, 40


def table(page: str) -> tuple[list[str], list[list[str]]]:
    """Header and rows of the first table of a page, or of its part with the figures."""
    lines = (page.partition("\n## Figures\n")[2] or page).splitlines()
    begin = next(i for i, line in enumerate(lines) if line.startswith("|"))
    rows = []
    for line in lines[begin:]:
        if not line.startswith("|"):
            break
        rows.append([cell.strip() for cell in line.strip("|").split("|")])
    return rows[0], rows[2:]


def number(cell: str) -> float | None:
    """What a cell begins with: milliseconds, before the memory in brackets."""
    try:
        return float(cell.split()[0].replace(",", ""))
    except (IndexError, ValueError):
        return None  # not measured


def factors(row: list[str], series: list[str]) -> dict[str, float]:
    own = number(row[1])
    times = {name: number(cell) for name, cell in zip(series, row[2:], strict=False)}
    return {name: time / own for name, time in times.items() if time is not None and own}


def text(x: float, y: float, words: str, **attributes: str) -> str:
    given = "".join(f' {name.replace("_", "-")}="{value}"' for name, value in attributes.items())
    return f'<text x="{x:.1f}" y="{y:.1f}"{given}>{escape(words)}</text>'


def draw(page: str) -> str:
    header, rows = table(page)
    own = header[1]
    # What stands behind the libraries is derived from their times.
    series = [name for name in header[2:] if not name.startswith("vs ") and "÷" not in name]
    more = iter(MORE)
    colours = {name: COLOURS.get(name) or next(more, "#6b7280") for name in series}
    found = {row[0]: factors(row, series) for row in rows}
    found = {label: dots for label, dots in found.items() if dots}
    every = [factor for dots in found.values() for factor in dots.values()]
    low = math.floor(math.log2(min([0.5, *every])))
    high = math.ceil(math.log2(max([2.0, *every])))

    left = round(28 + LETTER * max(map(len, found), default=0))
    wide = left + SCALE + RIGHT

    def position(factor: float) -> float:
        return left + (math.log2(factor) - low) / (high - low) * SCALE

    legend, x, y = [], 16.0, 46
    for label, colour in colours.items():
        width = 34 + LETTER * len(label)
        if x + width > wide:
            x, y = 16.0, y + 18
        legend.append(f'<circle cx="{x + 5:.1f}" cy="{y}" r="5" fill="{colour}"/>')
        legend.append(text(x + 16, y + 4, label))
        x += width
    top = y + 32
    bottom = top + LINE * len(found)
    height = bottom + 34
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {wide} {height}" '
        'font-family="sans-serif" font-size="12" fill="#1f2937">',
        f"<title>Time of other libraries over the time of {escape(own)}</title>",
        f'<rect width="{wide}" height="{height}" rx="6" fill="#ffffff"/>',
        text(16, 26, f"Time of other libraries ÷ time of {own}", font_size="15"),
    ]
    parts += legend
    for power in range(low, high + 1):
        at = position(2.0**power)
        colour = "#6b7280" if power == 0 else "#e5e7eb"
        parts.append(f'<path d="M{at:.1f} {top - 8}V{bottom}" stroke="{colour}"/>')
        label = f"{2**power}×" if power >= 0 else f"1/{2**-power}×"
        parts.append(text(at, bottom + 18, label, text_anchor="middle", fill="#4b5563"))
    one = position(1)
    parts.append(text(one - 6, top - 12, f"{own} slower", text_anchor="end", fill="#4b5563"))
    parts.append(text(one + 6, top - 12, f"{own} faster", fill="#4b5563"))
    for line, (label, dots) in enumerate(found.items()):
        middle = top + LINE * line + LINE / 2
        parts.append(text(left - 12, middle + 4, label, text_anchor="end"))
        parts.append(f'<path d="M{left} {middle}H{wide - RIGHT}" stroke="#f3f4f6"/>')
        for name, factor in dots.items():
            parts.append(
                f'<circle cx="{position(factor):.1f}" cy="{middle}" r="5" fill="{colours[name]}">'
                f"<title>{escape(f'{label}: {name} {factor:.3g}×')}</title></circle>"
            )
    return "\n".join([*parts, "</svg>", ""])


def main() -> None:
    chart = DOCS / "images" / "benchmarks.svg"
    chart.parent.mkdir(exist_ok=True)
    chart.write_text(draw((DOCS / "benchmarks.md").read_text(encoding="utf-8")), encoding="utf-8")
    print(f"{chart} is drawn")


if __name__ == "__main__":
    main()
