"""The page that is committed is the one that its source makes."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path

import pytest

from omnizarr.server.browse.app import STATIC

PAGE = Path(__file__).resolve().parents[3] / "page"


def test_it_is_small_and_names_no_other_host() -> None:
    files = {file.name: file.read_bytes() for file in STATIC.iterdir()}
    assert set(files) == {"index.html", "icon.svg", "page.js", "style.css"}
    assert sum(map(len, files.values())) < 150_000
    text = b"".join(files.values()).replace(b"http://www.w3.org/2000/svg", b"")
    assert b"://" not in text.replace(b"https?:", b"") and b"sourceMappingURL" not in text
    assert b"innerHTML" not in text and b"eval(" not in text


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The page's source with the packages that build it."""
    if shutil.which("node") is None or shutil.which("npm") is None:
        pytest.skip("Node.js with npm is absent")
    work = tmp_path_factory.mktemp("work") / "page"
    shutil.copytree(PAGE, work, ignore=shutil.ignore_patterns("node_modules"))
    _run(work, "npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund")
    return work


def _run(work: Path, *command: str) -> str:
    done = subprocess.run(command, cwd=work, capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.mark.slow
def test_it_is_what_the_source_makes(page: Path, tmp_path: Path) -> None:
    _run(page, "npm", "run", "check")
    _run(page, "node", "build.mjs", str(tmp_path / "built"))
    for file in STATIC.iterdir():
        assert (tmp_path / "built" / file.name).read_bytes() == file.read_bytes(), "run `make page`"


@pytest.mark.slow
def test_what_it_shows_of_values(page: Path) -> None:
    found = json.loads(_run(page, "node", str(Path(__file__).with_name("units.mjs")), str(page)))
    doubles = ["123456789.12345679", "4512345.67", "0.1", "1e-7", "1e+300", "-0", "NaN", "∞"]
    assert found["doubles"] == [*doubles, "0.30000000000000004"]
    assert found["singles"] == ["0.1", "16777216", "123456.79", "1e-7", "3.4e+38", "-0"]
    assert found["integer"] == "9007199254740993"
    assert found["complex"] == "4512345.67−0.1i"
    assert found["pointer"] == "4512345.67"
    range_ends = ["4512345.67", "1000000", "1000000.001", "0.1", "0.1", "4512345.67", "265.7064"]
    assert found["among"] == [*range_ends, "0", "NaN", "9.2234e+18"]
    assert found["flat"] == [0, 0.5, 1, 1]
    assert found["map"] == ["4599795", ["4600000 0", "4599500 50", "4599000 100"]]
    assert found["falling"] == ["3 0.5", "2 1.5", "1 2.5"]
    assert found["marks"][0] == ["4600000", "4600010", "4600020"]
    assert found["marks"][1] == ["0", "-0.25", "50000000", "1e21", "1e-7", "4550000"]
    assert found["sizes"] == ["51 B", "1023 B", "1.95 KiB"]
    assert found["powers"] == [[1, 100, 10000], [240, 260, 280, 300], [1e-5, 1, 1e5]]
    assert found["stats"] == [5, 1, 2, 1, 3]
    assert found["turned"] == r"a\u202eb\u2066c" and found["label"] == r"\u202ex"
    assert found["kept"] == "é\u200dمرحبا"
