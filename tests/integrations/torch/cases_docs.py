"""The page about training runs, and its reference names what exists."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.test_docs import DIRECTIVE, DOCS, ELSEWHERE, resolve, run


@pytest.mark.parametrize("name", ELSEWHERE)
def test_code_runs(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    text = (DOCS / name).read_text(encoding="utf-8")
    assert run(text, name) == text.count("```python")


def test_the_reference_names_what_exists() -> None:
    names = DIRECTIVE.findall((DOCS / "reference" / "learning.md").read_text(encoding="utf-8"))
    assert [name for name in names if resolve(name) is None] == []
    assert len(names) == 8
