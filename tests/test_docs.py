"""Every ```python block of README.md and docs/ runs, in order, with one namespace per file; links
lead somewhere; the site's parts fit together."""

from __future__ import annotations

import importlib.util
import os
import re
import subprocess
import tomllib
from contextlib import suppress
from functools import reduce
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from omnizarr.errors import MissingPackageError

ROOT = Path(__file__).resolve().parent.parent
DOCS = ROOT / "docs"
DESIGN = sorted((DOCS / "design").glob("*.md"))
PAGES = [ROOT / "README.md", *sorted({*DOCS.rglob("*.md")} - {*DESIGN})]
BLOCK = re.compile(r"^```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"\]\(([^)#:]+?)(?:#[^)]*)?\)")
DIRECTIVE = re.compile(r"^::: ([\w.]+)$", re.MULTILINE)


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


ELSEWHERE = ("howto/machine-learning.md",)
"""Pages that tests/integrations/torch runs, with packages that are not here."""


@pytest.mark.parametrize(
    "page",
    [page for page in PAGES if page not in {DOCS / name for name in ELSEWHERE}],
    ids=lambda page: str(page.relative_to(ROOT)),
)
def test_code_runs(
    page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    text = page.read_text(encoding="utf-8")
    assert run(text, str(page)) == text.count("```python")


def test_the_tour_is_not_empty() -> None:
    assert len(blocks((DOCS / "tour.md").read_text(encoding="utf-8"))) >= 5


def test_every_optional_part_is_described() -> None:
    page = (DOCS / "install.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| (`.*?) \|", page, re.MULTILINE)
    told = {name for row in rows for name in re.findall(r"`([\w-]+)`", row)}
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert told == {*project["optional-dependencies"]} - {"test", "dev", "docs"}


def test_a_failing_block_is_found() -> None:
    page = "text\n\n```python\nx = 1\n```\n\n```sh\nfalse\n```\n\n```python\nassert x == 2\n```\n"
    with pytest.raises(AssertionError) as caught:
        run(page, "page.md")
    assert caught.traceback[-1].lineno + 1 == 12


@pytest.mark.parametrize(
    "page",
    [*PAGES, *sorted(ROOT.glob("*.md")), *DESIGN],
    ids=lambda page: str(page.relative_to(ROOT)),
)
def test_links_lead_somewhere(page: Path) -> None:
    targets = LINK.findall(page.read_text(encoding="utf-8"))
    assert [target for target in targets if not (page.parent / target).exists()] == []


FILE = re.compile(
    r"`((?:src|tests|docs|examples|benchmarks|scripts|native|[a-z]+)/[\w/]+\.(?:py|rs|md))`"
)


@pytest.mark.parametrize(
    "page",
    [*PAGES, *sorted(ROOT.glob("*.md")), *DESIGN],
    ids=lambda page: str(page.relative_to(ROOT)),
)
def test_files_that_are_named_exist(page: Path) -> None:
    named = FILE.findall(page.read_text(encoding="utf-8"))
    roots = (ROOT, ROOT / "src" / "omnizarr")
    assert [name for name in named if not any((root / name).exists() for root in roots)] == []


# -- the site -----------------------------------------------------------------------------------


def script(path: str) -> ModuleType:
    """A module that belongs to no package."""
    spec = importlib.util.spec_from_file_location(Path(path).stem, ROOT / path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_every_page_is_in_the_navigation() -> None:
    text = (ROOT / "mkdocs.yml").read_text(encoding="utf-8").split("\nnav:\n")[1]
    named = re.findall(r"([\w/-]+\.md)$", text, re.MULTILINE)
    assert sorted(named) == sorted({*named})
    pages = {path.relative_to(DOCS).as_posix() for path in DOCS.rglob("*.md")}
    roots = {name for name in named if name.startswith("project/")}
    assert {*named} - roots == pages
    stems = {path.stem for path in ROOT.glob("*.md")} | {"CONFORMANCE"}
    assert {name[8:-3].upper() for name in roots} == stems


def resolve(name: str) -> object:
    """The object of a dotted name, whose first parts are modules."""
    parts = name.split(".")
    for length in range(len(parts), 0, -1):
        try:
            module = import_module(".".join(parts[:length]))
        except ModuleNotFoundError:
            continue
        return reduce(getattr, parts[length:], module)
    raise AssertionError(f"no module of {name}")


@pytest.mark.parametrize("page", sorted((DOCS / "reference").glob("*.md")), ids=lambda p: p.stem)
def test_the_reference_names_what_exists(page: Path) -> None:
    for name in DIRECTIVE.findall(page.read_text(encoding="utf-8")):
        with suppress(MissingPackageError):  # tests/integrations/torch has those of frameworks
            assert resolve(name) is not None


def test_the_reference_is_complete() -> None:
    import omnizarr
    from omnizarr import aio, codecs, stores, testing

    text = "\n".join(page.read_text(encoding="utf-8") for page in DOCS.glob("reference/*.md"))
    named = {name.rpartition(".")[2] for name in DIRECTIVE.findall(text)}
    aliases = {"FSStore", "LRUStoreCache", "ConsolidatedMetadataStore", "StoreLike"}
    modules = {"numcodecs", "codecs", "config", "limits", "storage", "stores", "__version__"}
    internal = {"AsyncIndex", "Chain", "Scratch", "Shard", "ShardIndex", "chain", "chosen_spec"}
    public = {
        name for module in (omnizarr, aio, codecs, stores, testing) for name in module.__all__
    }
    assert public - named == aliases | modules | internal | {"kind_of"}


def test_the_chart_shows_the_figures() -> None:
    text = (DOCS / "benchmarks.md").read_text(encoding="utf-8")
    chart = (DOCS / "images" / "benchmarks.svg").read_text(encoding="utf-8")
    assert chart == script("benchmarks/chart.py").draw(text)


def test_the_commands_are_those_of_help() -> None:
    page = (DOCS / "reference" / "commands.md").read_text(encoding="utf-8")
    told = script("scripts/write_commands.py").page()
    assert page.split() == told.split(), "run scripts/write_commands.py"


@pytest.mark.slow
def test_the_site_builds(tmp_path: Path) -> None:
    """With the environment of `make docs`, which `make test-all` makes."""
    mkdocs = ROOT / ".venv-docs" / "bin" / "mkdocs"
    assert mkdocs.exists(), "run `make docs` first"
    command = [mkdocs, "build", "--strict", "--site-dir", tmp_path / "site"]
    done = subprocess.run(
        command,
        cwd=ROOT,
        env={**os.environ, "NO_MKDOCS_2_WARNING": "1"},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert (tmp_path / "site" / "reference" / "array.html").exists()


def test_the_migration_page_names_what_is_left_out() -> None:
    from tests.acceptance.surface_names import LEFT_OUT

    text = (DOCS / "migration.md").read_text(encoding="utf-8")
    assert [name for name in LEFT_OUT if f"`{name}`" not in text] == []


def test_versions_agree() -> None:
    import omnizarr

    found = re.compile(r'^version = "(.+)"$', re.MULTILINE)
    files = ("pyproject.toml", "native/pyproject.toml", "native/Cargo.toml")
    versions = [found.findall((ROOT / name).read_text(encoding="utf-8"))[0] for name in files]
    cargo = versions.pop()  # 0.1.0-dev.0, where Python says 0.1.0.dev0
    assert {*versions, cargo.replace("-dev.", ".dev")} == {omnizarr.__version__}
