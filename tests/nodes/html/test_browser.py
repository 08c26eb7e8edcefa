"""Displays in a real browser: no script of a store runs, nothing is loaded, every text is legible
in light and dark, and a narrow page holds them."""

from __future__ import annotations

import json
import re
from html import unescape
from pathlib import Path
from typing import Any

import pytest

from tests.nodes.html.browser import DARK, run
from tests.nodes.html.pages_for_tests import hostile_group, samples

pytestmark = [pytest.mark.peers, pytest.mark.slow]

PAGE = """<!doctype html><html><head><meta charset="utf-8"><style>
:root {{ color-scheme: light dark }} body {{ margin: 8px; background: Canvas; color: CanvasText }}
</style></head><body>{body}<pre id="report"></pre><script>
{script}
document.getElementById("report").textContent = JSON.stringify(report());
</script></body></html>"""

MEASURE = (Path(__file__).parent / "measure.js").read_text("utf-8")


def looked_at(folder: Path, nodes: list[Any], *options: str) -> dict[str, Any]:
    """What the browser measures on a page with these displays."""
    body = "\n".join(node._repr_html_().replace("<details", "<details open") for node in nodes)
    page = folder / "page.html"
    page.write_text(PAGE.format(body=body.replace("open open", "open"), script=MEASURE), "utf-8")
    found = run(page, folder / "profile", *options, "--dump-dom")
    report = re.search(r'<pre id="report">(.*?)</pre>', found)
    assert report is not None, found[-400:]
    return dict(json.loads(unescape(report[1])))


@pytest.mark.parametrize("options", [("--window-size=1000,800",), ("--window-size=500,800", DARK)])
def test_displays_in_a_browser(tmp_path: Path, options: tuple[str, ...]) -> None:
    nodes = [*samples().values()]
    found = looked_at(tmp_path, nodes, *options)
    assert found["boxes"] == len(nodes) and found["drawings"] >= 13
    assert found["dark"] == (DARK in options)
    assert found["worst"][0] >= 4.5, "WCAG's contrast of text"
    assert found["wide"] == 0 and found["page"] <= 0, "nothing sticks out"
    assert found["flat"] == 0 and found["loaded"] == 0 and not found["hacked"]


def test_no_script_of_a_store_runs(tmp_path: Path) -> None:
    root = hostile_group()
    nodes = [root, root.tree(), root.info_complete(), *(array for _, array in root.arrays())]
    found = looked_at(tmp_path, nodes)
    assert found["boxes"] == len(nodes) and found["foreign"] == 0
    assert not found["hacked"] and found["loaded"] == 0


def test_the_measure_finds_what_is_wrong(tmp_path: Path) -> None:
    class Bad:
        def _repr_html_(self) -> str:
            return (
                '<div class="omnizarr" style="width:4000px"><p style="opacity:.2">faint</p>'
                '<img src="x:y" onerror="window.hacked = 1">'
                "<script>window.hacked = 1</script></div>"
            )

    found = looked_at(tmp_path, [Bad()])
    assert found["hacked"] and found["foreign"] == 2 and found["wide"] == 1
    assert found["worst"][0] < 4.5
