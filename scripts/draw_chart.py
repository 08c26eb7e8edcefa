"""Draw docs/images/benchmarks.svg from the first table of docs/benchmarks.md.

Nothing is measured here. One line per row of the table: the time of each other library over that of
omnizarr, on a logarithmic scale. `tests/test_docs.py` checks that the drawing is up to date.
"""

from __future__ import annotations

import math
from html import escape
from pathlib import Path

DOCS = Path(__file__).resolve().parent.parent / "docs"
SERIES = {
    "vs zarr-python 3": ("zarr-python 3", "#c2410c"),
    "vs fused": ("zarr-python 3, fused pipeline", "#ca8a04"),
    "vs tensorstore": ("tensorstore", "#1d4ed8"),
}
LEFT, RIGHT, TOP, LINE = 290, 40, 78, 22
WIDTH = 860
LOW, HIGH = 1 / 4, 32
TICKS = (1 / 4, 1 / 2, 1, 2, 4, 8, 16, 32)


def table(page: str) -> tuple[list[str], list[list[str]]]:
    """Header and rows of the first table of a page."""
    lines = page.split("\n## Figures\n")[1].splitlines()
    begin = next(i for i, line in enumerate(lines) if line.startswith("|"))
    rows = []
    for line in lines[begin:]:
        if not line.startswith("|"):
            break
        rows.append([cell.strip() for cell in line.strip("|").split("|")])
    return rows[0], rows[2:]


def position(factor: float) -> float:
    share = math.log(factor / LOW) / math.log(HIGH / LOW)
    return LEFT + share * (WIDTH - LEFT - RIGHT)


def text(x: float, y: float, words: str, **attributes: str) -> str:
    given = "".join(f' {name.replace("_", "-")}="{value}"' for name, value in attributes.items())
    return f'<text x="{x:.1f}" y="{y:.1f}"{given}>{escape(words)}</text>'


def draw(page: str) -> str:
    header, rows = table(page)
    bottom = TOP + LINE * len(rows)
    height = bottom + 34
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" '
        'font-family="sans-serif" font-size="12" fill="#1f2937">',
        "<title>Time of other libraries over the time of omnizarr</title>",
        f'<rect width="{WIDTH}" height="{height}" rx="6" fill="#ffffff"/>',
        text(16, 26, "Time of other libraries ÷ time of omnizarr", font_size="15"),
    ]
    x = 16.0
    for label, colour in SERIES.values():
        parts.append(f'<circle cx="{x + 5:.1f}" cy="46" r="5" fill="{colour}"/>')
        parts.append(text(x + 16, 50, label))
        x += 34 + 6.6 * len(label)
    for tick in TICKS:
        at = position(tick)
        colour = "#6b7280" if tick == 1 else "#e5e7eb"
        parts.append(f'<path d="M{at:.1f} {TOP - 8}V{bottom}" stroke="{colour}"/>')
        label = f"{tick:g}×" if tick >= 1 else f"1/{1 / tick:g}×"
        parts.append(text(at, bottom + 18, label, text_anchor="middle", fill="#4b5563"))
    one = position(1)
    parts.append(text(one - 6, TOP - 12, "omnizarr slower", text_anchor="end", fill="#4b5563"))
    parts.append(text(one + 6, TOP - 12, "omnizarr faster", fill="#4b5563"))
    for number, row in enumerate(rows):
        y = TOP + LINE * number + LINE / 2
        parts.append(text(LEFT - 12, y + 4, row[0], text_anchor="end"))
        parts.append(f'<path d="M{LEFT} {y}H{WIDTH - RIGHT}" stroke="#f3f4f6"/>')
        for column, (label, colour) in SERIES.items():
            cell = row[header.index(column)]
            if not cell.endswith("×"):
                continue  # not measured
            at = position(float(cell[:-1]))
            parts.append(
                f'<circle cx="{at:.1f}" cy="{y}" r="5" fill="{colour}">'
                f"<title>{escape(f'{row[0]}: {label} {cell}')}</title></circle>"
            )
    return "\n".join([*parts, "</svg>", ""])


def main() -> None:
    chart = DOCS / "images" / "benchmarks.svg"
    chart.parent.mkdir(exist_ok=True)
    chart.write_text(draw((DOCS / "benchmarks.md").read_text(encoding="utf-8")), encoding="utf-8")
    print(f"{chart} is drawn")


if __name__ == "__main__":
    main()
