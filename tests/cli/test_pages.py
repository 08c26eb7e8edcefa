"""Every ```console block of README.md and docs/cli.md runs and prints what it says.

A line that begins with `$ ` is a command; the lines up to the next one are its output. `…` alone on
a line stands for any lines. The ```python blocks run first, as tests/test_docs.py runs them.
"""

from __future__ import annotations

import re
import shlex
from pathlib import Path
from typing import Any

import pytest

from tests.cli.conftest import Run

ROOT = Path(__file__).resolve().parents[2]
BLOCK = re.compile(r"^```(python|console)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def commands(text: str) -> list[tuple[list[str], str]]:
    """Arguments and expected output of every command of a block."""
    found: list[tuple[list[str], str]] = []
    for line in text.splitlines(keepends=True):
        if line.startswith("$ "):
            words = shlex.split(line[2:])
            assert words[0] == "omnizarr", line
            found.append((words[1:], ""))
        else:
            arguments, output = found.pop()
            found.append((arguments, output + line))
    return found


def agrees(expected: str, actual: str) -> bool:
    parts = [re.escape(part) for part in re.split(r"^…\n", expected, flags=re.MULTILINE)]
    return re.fullmatch("(?:.*\n)*".join(parts), actual) is not None


@pytest.mark.parametrize(("page", "least"), [("README.md", 2), ("docs/cli.md", 8)])
def test_console_blocks(
    page: str, least: int, run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    namespace: dict[str, Any] = {"__name__": "__main__"}
    number = 0
    for kind, text in BLOCK.findall((ROOT / page).read_text(encoding="utf-8")):
        if kind == "python":
            exec(compile(text, page, "exec"), namespace)
            continue
        for arguments, expected in commands(text):
            done = run(*arguments)
            assert agrees(expected, done.out + done.err), f"{arguments}\n{done.out}{done.err}"
            number += 1
    assert number >= least


def test_a_wrong_line_is_found() -> None:
    [(arguments, expected)] = commands("$ omnizarr tree 'a b'\none\n…\nfour\n")
    assert arguments == ["tree", "a b"]
    assert agrees(expected, "one\ntwo\nthree\nfour\n") and agrees(expected, "one\nfour\n")
    assert not agrees(expected, "one\ntwo\nfive\n") and not agrees(expected, "one four\n")
