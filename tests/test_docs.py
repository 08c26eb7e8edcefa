"""Every ```python block of README.md and docs/*.md runs, in order, with one namespace per file."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parent.parent
PAGES = [
    ROOT / "README.md",
    *sorted((ROOT / "docs").glob("*.md")),
    *sorted((ROOT / "docs" / "stores").glob("*.md")),
]
BLOCK = re.compile(r"^```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"\]\(([^)#:]+?)(?:#[^)]*)?\)")


def blocks(text: str) -> list[tuple[int, str]]:
    """(line before the block's first one, code) of every block."""
    return [(text.count("\n", 0, m.start(1)), m.group(1)) for m in BLOCK.finditer(text)]


def run(text: str, name: str) -> int:
    """Run all blocks of a page; a traceback points at the page's own lines."""
    namespace: dict[str, Any] = {"__name__": "__main__"}
    found = blocks(text)
    for line, code in found:
        exec(compile("\n" * line + code, name, "exec"), namespace)
    return len(found)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_code_runs(
    page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    text = page.read_text(encoding="utf-8")
    assert run(text, str(page)) == text.count("```python")


def test_the_tour_is_not_empty() -> None:
    assert len(blocks((ROOT / "README.md").read_text(encoding="utf-8"))) >= 5


def test_a_failing_block_is_found() -> None:
    page = "text\n\n```python\nx = 1\n```\n\n```sh\nfalse\n```\n\n```python\nassert x == 2\n```\n"
    with pytest.raises(AssertionError) as caught:
        run(page, "page.md")
    assert caught.traceback[-1].lineno + 1 == 12


@pytest.mark.parametrize(
    "page", [*PAGES, *sorted(ROOT.glob("*.md"))], ids=lambda page: str(page.relative_to(ROOT))
)
def test_links_lead_somewhere(page: Path) -> None:
    targets = LINK.findall(page.read_text(encoding="utf-8"))
    assert [target for target in targets if not (page.parent / target).exists()] == []


FILE = re.compile(
    r"`((?:src|tests|docs|examples|benchmarks|scripts|native|[a-z]+)/[\w/]+\.(?:py|rs|md))`"
)


@pytest.mark.parametrize(
    "page",
    [*PAGES, *sorted(ROOT.glob("*.md")), *sorted((ROOT / "docs" / "design").glob("*.md"))],
    ids=lambda page: str(page.relative_to(ROOT)),
)
def test_files_that_are_named_exist(page: Path) -> None:
    named = FILE.findall(page.read_text(encoding="utf-8"))
    roots = (ROOT, ROOT / "src" / "omnizarr")
    assert [name for name in named if not any((root / name).exists() for root in roots)] == []
