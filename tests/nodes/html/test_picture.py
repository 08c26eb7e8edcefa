"""The drawing of a chunk grid: its lines are the borders of the chunks."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from omnizarr.model.grids import RectilinearAxis, RegularAxis
from omnizarr.nodes.html.picture import FIGURES, LONGEST, SHORTEST, Side, draw


def _side(length: int, chunk: int, shard: int = 0, name: str | None = None) -> Side:
    chunks = RegularAxis(length, chunk)
    return Side(name, chunks, RegularAxis(length, shard) if shard else chunks)


def _lines(svg: str, width: float) -> list[tuple[float, float, float, float]]:
    """The lines of one width: x and y of both ends."""
    found = re.search(rf'd="([^"]*)" fill="none" stroke="currentColor" stroke-width="{width}"', svg)
    path = found[1] if found else ""
    ends = re.findall(r"M([\d.-]+) ([\d.-]+)L([\d.-]+) ([\d.-]+)", path)
    return [tuple(float(part) for part in end) for end in ends]  # type: ignore[misc]


@given(st.integers(1, 500), st.integers(1, 500))
def test_a_bar_has_a_line_at_every_border(length: int, chunk: int) -> None:
    side = _side(length, chunk)
    count = side.chunks.count
    lines = _lines(draw([side], None, "t"), 0.6)
    if LONGEST / count >= 3:
        assert len(lines) == count - 1
        start = 1 + max(0.0, (len(f"{length:,}") * 6.4 - LONGEST) / 2)
        for number, (x, _, end, _) in enumerate(lines, 1):
            assert x == end
            assert abs(x - start - LONGEST * number * chunk / length) < 0.11
    else:
        assert 2 < len(lines) < LONGEST / 3, "a hatching"


def test_shards_have_bold_lines() -> None:
    svg = draw([_side(100, 10, 50), _side(60, 10, 30)], None, "t")
    assert len(_lines(svg, 1.6)) == 1 + 1
    assert len(_lines(svg, 0.6)) == 9 + 5
    assert _lines(draw([_side(100, 10)], None, "t"), 1.6) == []


def test_irregular_chunks_are_to_scale() -> None:
    axis = RectilinearAxis(100, (10, 30, 60))
    lines = _lines(draw([Side(None, axis, axis)], None, "t"), 0.6)
    assert [round((x - 1) / LONGEST, 2) for x, *_ in lines] == [0.1, 0.4]


def test_stored_chunks_are_filled() -> None:
    sides = [_side(20, 10), _side(40, 10)]
    svg = draw(sides, frozenset({(0, 1), (1, 3)}), "t")
    cells = re.findall(r'd="([^"]*)" fill="var\(--oz-accent,#2f81c7\)" fill-opacity="0.5"', svg)
    assert len(cells) == 1 and cells[0].count("M") == 2
    x, y = 1 + LONGEST / 4, 1.0
    assert cells[0].startswith(f"M{x:g} {y:g}L")
    assert 'fill-opacity="0.5"' not in draw(sides, frozenset(), "t")


def test_the_faces_of_a_box_show_what_is_stored_there() -> None:
    sides = [_side(20, 10), _side(30, 10), _side(40, 10)]
    shades = {"front": "0.5", "top": "0.37", "end": "0.64"}

    def cells(*stored: tuple[int, int, int]) -> dict[str, int]:
        svg = draw(sides, frozenset(stored), "t")
        found = {
            name: re.search(rf'd="([^"]*)" fill="[^"]*" fill-opacity="{shade}"', svg)
            for name, shade in shades.items()
        }
        return {name: match[1].count("M") for name, match in found.items() if match}

    assert cells((0, 0, 3)) == {"front": 1, "top": 1, "end": 1}
    assert cells((0, 2, 0), (0, 1, 1)) == {"front": 2}
    assert cells((1, 0, 2)) == {"top": 1}
    assert cells((1, 2, 3)) == {"end": 1}
    assert cells((1, 1, 1)) == {}, "inside"
    assert cells(*((i, j, k) for i in range(2) for j in range(3) for k in range(4))) == {
        "front": 12, "top": 8, "end": 6,
    }  # fmt: skip


@given(st.lists(st.tuples(st.integers(0, 10**9), st.integers(1, 10**6)), max_size=32))
def test_any_grid_can_be_drawn(grid: list[tuple[int, int]]) -> None:
    svg = draw([_side(*lengths) for lengths in grid], None, "t")
    assert (svg == "") == (not grid)
    assert len(svg) < 40_000
    assert svg.count("×") == min(max(0, -(-len(grid) // 3) - 1), FIGURES)
    assert not re.search(r"nan|inf|e[+-]\d", svg)
    size = re.search(r'width="([\d.]+)" height="([\d.]+)"', svg)
    assert not grid or (size is not None and float(size[1]) < 2000 and float(size[2]) < 400)


@pytest.mark.parametrize(
    ("shape", "ratio"), [((10, 10), 1), ((10, 20), 0.5), ((1, 10**9), SHORTEST)]
)
def test_lengths_are_to_scale_or_visible(shape: tuple[int, int], ratio: float) -> None:
    svg = draw([_side(shape[0], shape[0]), _side(shape[1], shape[1])], None, "t")
    outline = re.search(r'd="M([\d.]+) 1L([\d.]+) 1L[\d.]+ ([\d.]+)L', svg)
    assert outline is not None
    width, height = float(outline[2]) - float(outline[1]), float(outline[3]) - 1
    assert abs(width - LONGEST) < 0.2 and abs(height / width - ratio) < 0.01


def test_labels_are_escaped() -> None:
    svg = draw([_side(3, 1, name="<script>")], None, '"><b>')
    assert "<script" not in svg and "&lt;script&gt; 3" in svg and "<b>" not in svg
