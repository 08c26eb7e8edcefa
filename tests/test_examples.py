"""The scripts of docs/examples run with the one line that makes them use omnizarr, and print what
they print with zarr-python.

A line that ends with ``# was: …`` replaces that statement of the original, and one that ends with
``# new: …`` is not in it. Each script runs in an interpreter and a folder of its own. Scripts
without such a line show what omnizarr alone does, and draw the picture in docs/images that has
their name.
"""

from __future__ import annotations

import ast
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parent.parent
CHANGED = re.compile(r"^.*  # (?:was: (?P<was>.*)$|new: .*\n)", re.MULTILINE)
ALL = sorted((ROOT / "docs" / "examples").glob("*.py"))
SCRIPTS = [script for script in ALL if CHANGED.search(script.read_text(encoding="utf-8"))]
OWN = [script for script in ALL if script not in SCRIPTS]
PEERS = {"anndata": "downstream", "kerchunk": "downstream", "ome": "downstream"}
"""First word of a script's name: the environment that has its packages; else that of the tests."""
ORIGINALS = {"zarr2": "zarr2"}
"""The same for the script on zarr-python, where it is not the newest."""


def family(script: Path) -> str:
    return script.stem.partition("_")[0]


def original(text: str) -> str:
    """The script as it is written for zarr-python."""
    return CHANGED.sub(lambda match: match["was"] or "", text)


def run(python: Path, text: str, folder: Path, *, ours: bool) -> str:
    """What a script prints."""
    folder.mkdir()
    (folder / "script.py").write_text(text, encoding="utf-8")
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    if ours:
        environment["PYTHONPATH"] = str(ROOT / "src")
    done = subprocess.run(
        [python, "script.py"],
        cwd=folder, env=environment, capture_output=True, text=True, timeout=600,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return done.stdout


def peer(name: str) -> Path:
    python = ROOT / ".peers" / name / "bin" / "python"
    assert python.exists(), "run `make peers` first"
    return python


def marked(script: Path) -> Any:
    """Only those that start quickly are not marked."""
    marks = [pytest.mark.slow] if family(script) not in ("zarr2", "zarr3") else []
    marks += [pytest.mark.peers] if family(script) in PEERS else []
    return pytest.param(script, marks=marks, id=script.stem)


@pytest.mark.parametrize("script", [*map(marked, SCRIPTS)])
def test_scripts_run_on_omnizarr(script: Path, tmp_path: Path) -> None:
    python = peer(PEERS[family(script)]) if family(script) in PEERS else Path(sys.executable)
    assert run(python, script.read_text(encoding="utf-8"), tmp_path / "ours", ours=True)


@pytest.mark.peers
@pytest.mark.slow
@pytest.mark.parametrize("script", SCRIPTS, ids=lambda script: script.stem)
def test_scripts_print_what_they_print_on_zarr_python(script: Path, tmp_path: Path) -> None:
    text = script.read_text(encoding="utf-8")
    python = peer(ORIGINALS.get(family(script), "downstream"))
    theirs = run(python, original(text), tmp_path / "theirs", ours=False)
    own = python if family(script) in PEERS else Path(sys.executable)
    assert run(own, text, tmp_path / "ours", ours=True) == theirs


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda script: script.stem)
def test_one_line_is_changed(script: Path) -> None:
    text = script.read_text(encoding="utf-8")
    assert ast.get_docstring(ast.parse(text))
    assert len(CHANGED.findall(text)) == 1
    assert "omnizarr" not in original(text)
    assert 15 <= len(text.splitlines()) <= 50


@pytest.mark.slow
@pytest.mark.parametrize("script", OWN, ids=lambda script: script.stem)
def test_own_scripts_draw_their_picture(script: Path, tmp_path: Path) -> None:
    text = script.read_text(encoding="utf-8")
    assert ast.get_docstring(ast.parse(text))
    assert run(Path(sys.executable), text, tmp_path / "ours", ours=True)
    (drawn,) = [*(tmp_path / "ours").glob("*.svg"), *(tmp_path / "ours").glob("*.png")]
    assert drawn.stem == script.stem
    stored = ROOT / "docs" / "images" / drawn.name
    assert f"images/{drawn.name})" in (ROOT / "docs" / "gallery.md").read_text(encoding="utf-8")
    if drawn.suffix == ".svg":
        assert drawn.read_text(encoding="utf-8") == stored.read_text(encoding="utf-8")
    else:  # Matplotlib's pixels differ between its versions
        assert drawn.stat().st_size > 5_000 and stored.exists()


def test_every_library_has_a_script() -> None:
    assert {family(script) for script in SCRIPTS} == {
        "anndata", "dask", "kerchunk", "ome", "virtualizarr", "xarray", "zarr2", "zarr3",
    }  # fmt: skip
    assert len(SCRIPTS) >= 10


def test_the_original_is_found() -> None:
    assert original("a\nimport b as c  # was: import c\nd\n") == "a\nimport c\nd\n"
    assert original("a\nimport b; b.e()  # new: serves\nd\n") == "a\nd\n"
