"""Threads may enter the package through any name or module: no imports of modules form a cycle.

What counts is what a module imports when it is imported itself, not what its functions import. A
module also needs the packages that it is in: one whose `__init__` imports its own modules is in a
cycle with them, and a thread that comes in by such a module finds half of the package.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path

import pytest

PACKAGE = Path(__file__).resolve().parent.parent / "src" / "omnizarr"

FRONT_ENDS = ("aio", "cli", "compat", "integrations", "server", "testing")
"""Each is entered through one name, which programs import at their top."""
ALWAYS = {"omnizarr", "omnizarr.config", "omnizarr.runtime"} | {
    f"omnizarr.runtime.{name}" for name in ("forks", "lazy")
}
"""What `import omnizarr` loads: nobody has a name of the package before."""


def module_name(file: Path) -> str:
    parts = ("omnizarr", *file.relative_to(PACKAGE).with_suffix("").parts)
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


SOURCES = {module_name(file): file.read_text(encoding="utf-8") for file in PACKAGE.rglob("*.py")}


def statements(body: list[ast.stmt]) -> Iterator[ast.stmt]:
    """What runs when a module is imported."""
    for statement in body:
        match statement:
            case ast.FunctionDef() | ast.AsyncFunctionDef():
                continue
            case ast.If(test=ast.Name(id="TYPE_CHECKING")):
                yield from statements(statement.orelse)
                continue
        yield statement
        for name in ("body", "orelse", "finalbody"):
            yield from statements(getattr(statement, name, []))
        for handler in getattr(statement, "handlers", []):
            yield from statements(handler.body)


def needed_by(source: str, modules: set[str]) -> set[str]:
    """The modules that are imported with this one."""
    found = set()
    for statement in statements(ast.parse(source).body):
        match statement:
            case ast.Import(names=names):
                found |= {alias.name for alias in names}
            case ast.ImportFrom(module=str(base), names=names):
                inner = {f"{base}.{alias.name}" for alias in names} & modules
                # `from omnizarr import limits` takes nothing from the package itself.
                found |= inner if len(inner) == len(names) else inner | {base}
    return found & modules


def packages_of(module: str) -> set[str]:
    parts = module.split(".")
    return {".".join(parts[:count]) for count in range(1, len(parts))}


def cycles(sources: dict[str, str]) -> list[set[str]]:
    """Groups of modules each of which needs all others of its group."""
    names = set(sources)
    needs = {name: needed_by(source, names) for name, source in sources.items()}
    needs = {
        name: set().union(packages_of(name), found, *map(packages_of, found)) & names - {name}
        for name, found in needs.items()
    }
    while leaves := {name for name, found in needs.items() if not found}:
        needs = {name: found - leaves for name, found in needs.items() if name not in leaves}

    def reached(start: str) -> set[str]:
        seen: set[str] = set()
        ahead = [start]
        while ahead:
            new = needs[ahead.pop()] - seen
            seen |= new
            ahead += new
        return seen

    all_reached = {name: reached(name) for name in needs}
    groups = {
        frozenset(other for other in found if name in all_reached[other])
        for name, found in all_reached.items()
        if name in found
    }
    return [set(group) for group in groups]


def test_no_imports_form_a_cycle() -> None:
    checked = {
        name: source
        for name, source in SOURCES.items()
        if name.split(".")[1:2] not in [[front] for front in FRONT_ENDS]
    }
    assert len(checked) > 300
    assert [group for group in cycles(checked) if not group <= ALWAYS] == []


@pytest.mark.parametrize(
    "sources",
    [
        {"p.a": "import p.b", "p.b": "from p import a"},
        {"p.a": "import p.b", "p.b": "import p.c", "p.c": "try:\n  import p.a\nfinally: 0"},
        {"p": "from p.a import x", "p.a": "", "other": "import p.a"},
        {"p": "", "p.q": "import p.q.a", "p.q.a": "import p"},
    ],
)
def test_a_cycle_is_found(sources: dict[str, str]) -> None:
    assert len(cycles(sources)) == 1


@pytest.mark.parametrize(
    "sources",
    [
        {"p.a": "import p.b", "p.b": "import p.c", "p.c": ""},
        {"p.a": "import p.b", "p.b": "def f():\n    import p.a"},
        {"p.a": "import p.b", "p.b": "if TYPE_CHECKING:\n    import p.a"},
        {"p": "import q", "p.a": "import p.b", "p.b": "", "q": ""},
    ],
)
def test_what_is_no_cycle(sources: dict[str, str]) -> None:
    assert cycles(sources) == []


LAZY = sorted(name for name, source in SOURCES.items() if "\n_LAZY = {" in source)


@pytest.mark.parametrize("package", LAZY)
def test_tables_name_modules_and_nothing_that_a_module_would_replace(package: str) -> None:
    table = import_module(package)._LAZY
    assert {f"{package}.{module}" for module in table} <= set(SOURCES)
    names = [name for names in table.values() for name in names]
    assert all(hasattr(import_module(package), name) for name in names)
    assert len(names) == len(set(names))
    assert {name for name in names if f"{package}.{name}" in SOURCES} == set()


def test_parts_of_numpy_are_imported_after_it() -> None:
    """Its modules import each other, so that of two threads that import different ones one finds
    half of them."""
    early = []
    for name, source in SOURCES.items():
        found = [
            [alias.name for alias in statement.names]
            if isinstance(statement, ast.Import)
            else [str(statement.module)]
            for statement in statements(ast.parse(source).body)
            if isinstance(statement, ast.Import | ast.ImportFrom)
        ]
        first = next((each for names in found for each in names if each[:5] == "numpy"), "numpy")
        early += [name] if first != "numpy" else []
    assert early == []
