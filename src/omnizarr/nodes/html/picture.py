"""The chunk grid of an array as a drawing.

One dimension is a bar, two are a rectangle, three a box: the last dimension runs to the right, the
one before it downwards, the one before that into the depth. More dimensions are drawn as several
such figures with a × between them: every point of the first figure holds all of the second.

Lengths are to scale, unless one would be too small to see. Thin lines are the borders of chunks,
bold ones those of shards. Where the lines would be too close together they become a hatching. Up to
three dimensions show which chunks (or shards) are stored, if that is known: these are filled. Of a
box, the faces show those at the surface.

This module knows grids and lengths. It must not know arrays.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import log

from omnizarr.model.grids import Axis
from omnizarr.nodes.html.text import shown

LONGEST = 168.0
"""Length of the longest side."""
SHORTEST = 0.16
"""Share of it that the shortest side has at least."""
BAR = 30.0
DEPTH = (0.42, 0.36)
"""How far a side that runs into the depth goes to the right and up."""
CLOSEST = 3.0
"""Distance of lines that are drawn one by one."""
HATCH = 4.5
FIGURES = 4
"""How many figures of three dimensions are drawn."""
LETTER = 6.4
"""About how wide a letter is."""
_Point = tuple[float, float]


@dataclass(frozen=True)
class Side:
    """One dimension: its name, its chunks, its shards if it has such, and what was stored."""

    name: str | None
    chunks: Axis
    units: Axis
    """What is stored as one value: shards, or the chunks themselves."""

    @property
    def label(self) -> str:
        length = f"{self.chunks.length:,}"
        return f"{self.name[:14]} {length}" if self.name else length


@dataclass(frozen=True)
class Figure:
    """A drawing with its size, from (0, 0) to the right and downwards."""

    drawing: str
    width: float
    height: float


def draw(sides: Sequence[Side], stored: frozenset[tuple[int, ...]] | None, title: str) -> str:
    """The grid as an SVG element; nothing for an array without dimensions."""
    if not sides:
        return ""
    lengths = _lengths([side.chunks.length for side in sides])
    first = len(sides) % 3 or 3
    starts = [0, *range(first, len(sides), 3)]
    figures = [
        _figure(sides[start:stop], lengths[start:stop], stored if len(sides) < 4 else None)
        for start, stop in zip(starts, [*starts[1:], len(sides)], strict=True)
    ]
    if len(figures) > FIGURES:
        figures = [
            *figures[: FIGURES // 2],
            Figure(_text(6, 4, "…"), 12, 8),
            *figures[-FIGURES // 2 :],
        ]
    height = max(figure.height for figure in figures)
    parts, x = [], 0.0
    for index, figure in enumerate(figures):
        if index:
            parts.append(_text(x + 15, height / 2 + 4, "×"))
            x += 30
        parts.append(f'<g transform="translate({_n(x)} {_n((height - figure.height) / 2)})">')
        parts.append(figure.drawing + "</g>")
        x += figure.width
    return (
        f'<svg role="img" aria-label="{shown(title)}" width="{_n(x)}" height="{_n(height)}"'
        f' viewBox="0 0 {_n(x)} {_n(height)}">{"".join(parts)}</svg>'
    )


def _lengths(shape: Sequence[int]) -> list[float]:
    """How long each dimension is drawn: to scale, or to a power that makes the shortest visible."""
    longest, shortest = max(*shape, 1), max(1, min(shape))
    ratio = shortest / longest
    power = 1.0 if ratio >= SHORTEST else log(SHORTEST) / log(ratio)
    return [LONGEST * (max(1, length) / longest) ** power for length in shape]


def _figure(
    sides: Sequence[Side], lengths: Sequence[float], stored: frozenset[tuple[int, ...]] | None
) -> Figure:
    match len(sides):
        case 1:
            return _bar(sides[0], lengths[0], stored)
        case 2:
            return _rectangle(sides, lengths, stored)
    return _box(sides, lengths, stored)


def _bar(side: Side, length: float, stored: frozenset[tuple[int, ...]] | None) -> Figure:
    margin = max(0.0, (len(side.label) * LETTER - length) / 2)
    face = _Face((margin + 1, 1), (length, 0), (0, BAR))
    drawing = face.surface([side.units], stored) + face.lines(side, None) + face.outline()
    drawing += _text(margin + 1 + length / 2, BAR + 15, side.label)
    return Figure(drawing, length + 2 * margin + 2, BAR + 20)


def _rectangle(
    sides: Sequence[Side], lengths: Sequence[float], stored: frozenset[tuple[int, ...]] | None
) -> Figure:
    (height, width), (down, right) = lengths, sides
    margin = max(0.0, (len(right.label) * LETTER - width) / 2)
    face = _Face((margin + 1, 1), (width, 0), (0, height))
    drawing = face.surface([down.units, right.units], stored) + face.lines(right, down)
    drawing += face.outline() + _text(margin + 1 + width / 2, height + 15, right.label)
    drawing += _text(margin + width + 7, height / 2 + 5, down.label, "start")
    label = 12 + len(down.label) * LETTER
    return Figure(drawing, margin + width + max(label, margin) + 2, height + 20)


def _box(
    sides: Sequence[Side], lengths: Sequence[float], stored: frozenset[tuple[int, ...]] | None
) -> Figure:
    (deep, down, right), (depth, height, width) = sides, lengths
    x, y = 10 + len(down.label) * LETTER, depth * DEPTH[1] + 1
    back = (depth * DEPTH[0], -depth * DEPTH[1])
    units = stored or frozenset()
    last = right.units.count - 1
    front = frozenset((j, k) for i, j, k in units if i == 0)
    top = frozenset((i, k) for i, j, k in units if j == 0)
    end = frozenset((j, i) for i, j, k in units if k == last)
    faces = (
        (_Face((x, y), (width, 0), (0, height)), right, down, front, 0.30),
        (_Face((x, y), (width, 0), back), right, deep, top, 0.17),
        (_Face((x + width, y), back, (0, height)), deep, down, end, 0.44),
    )
    drawing = "".join(
        face.surface([along.units, across.units], None if stored is None else seen, shade)
        + face.lines(across, along)
        + face.outline()
        for face, across, along, seen, shade in faces
    )
    drawing += _text(x - 6, y + height / 2 + 4, down.label, "end")
    drawing += _text(x + width / 2, y + height + 15, right.label)
    corner = x + width + back[0] / 2 + 5
    drawing += _text(corner, y + height + back[1] / 2 + 12, deep.label, "start")
    whole = max(x + width + back[0], corner + len(deep.label) * LETTER) + 2
    return Figure(drawing, whole, y + height + 20)


@dataclass(frozen=True)
class _Face:
    """A parallelogram: a corner and the two sides that begin there."""

    corner: _Point
    across: _Point
    along: _Point

    def at(self, u: float, v: float) -> str:
        x = self.corner[0] + u * self.across[0] + v * self.along[0]
        y = self.corner[1] + u * self.across[1] + v * self.along[1]
        return f"{_n(x)} {_n(y)}"

    def cell(self, u: tuple[float, float], v: tuple[float, float]) -> str:
        corners = [(u[0], v[0]), (u[1], v[0]), (u[1], v[1]), (u[0], v[1])]
        return "M" + "L".join(self.at(*corner) for corner in corners) + "Z"

    def outline(self) -> str:
        whole = self.cell((0, 1), (0, 1))
        return f'<path d="{whole}" fill="none" stroke="currentColor" stroke-opacity=".75"/>'

    def surface(
        self,
        axes: Sequence[Axis],
        stored: frozenset[tuple[int, ...]] | None,
        shade: float = 0.3,
    ) -> str:
        """All of it in one shade, or the cells that are stored in a strong one."""
        if stored is None:
            return _filled(self.cell((0, 1), (0, 1)), shade)
        spans = [_spans(axis) for axis in axes]
        cells = [
            self.cell(found[-1], found[0] if len(found) > 1 else (0, 1))
            for found in ([spans[i][n] for i, n in enumerate(unit)] for unit in sorted(stored))
        ]
        empty = _filled(self.cell((0, 1), (0, 1)), shade / 5)
        return empty + _filled("".join(cells), shade + 0.2) if cells else empty

    def lines(self, across: Side, along: Side | None) -> str:
        """The borders of chunks and of shards."""
        thin, bold = "", ""
        for side, vertical in ((across, True), (along, False)):
            if side is None:
                continue
            length = max(map(abs, self.across if vertical else self.along))
            for axis, is_bold in ((side.chunks, False), (side.units, True)):
                if is_bold and side.units == side.chunks:
                    continue
                drawn = "".join(
                    f"M{self.at(t, 0)}L{self.at(t, 1)}" if vertical
                    else f"M{self.at(0, t)}L{self.at(1, t)}"
                    for t in _cuts(axis, length)
                )  # fmt: skip
                thin, bold = (thin, bold + drawn) if is_bold else (thin + drawn, bold)
        return _stroked(thin, 0.6, 0.5) + _stroked(bold, 1.6, 0.75)


def _cuts(axis: Axis, length: float) -> list[float]:
    """Where borders cross a side of this length, as shares of it; a hatching if they are dense."""
    if axis.count < 2:
        return []
    if length / axis.count < CLOSEST:
        lines = int(length / HATCH)
        return [(line + 1) / (lines + 1) for line in range(lines)]
    return [axis.start(chunk) / axis.length for chunk in range(1, axis.count)]


def _spans(axis: Axis) -> list[tuple[float, float]]:
    """Where each chunk begins and ends, as shares of a side."""
    length = max(1, axis.length)
    return [
        (axis.start(i) / length, min(length, axis.start(i) + axis.size(i)) / length)
        for i in range(axis.count)
    ]


def _filled(path: str, opacity: float) -> str:
    return f'<path d="{path}" fill="var(--oz-accent,#2f81c7)" fill-opacity="{opacity:.2g}"/>'


def _stroked(path: str, width: float, opacity: float) -> str:
    if not path:
        return ""
    return (
        f'<path d="{path}" fill="none" stroke="currentColor" stroke-width="{width}"'
        f' stroke-opacity="{opacity}"/>'
    )


def _text(x: float, y: float, text: str, anchor: str = "middle") -> str:
    place = f'x="{_n(x)}" y="{_n(y)}" text-anchor="{anchor}"'
    return f'<text {place} fill="currentColor" font-size="11">{shown(text)}</text>'


def _n(value: float) -> str:
    return f"{value:.1f}".removesuffix(".0")


__all__ = ["Side", "draw"]
