"""The rules of docs/design/001 as tests: who may import whom, and who may ask for a version.

Each rule is a function from source text to a list of complaints, so that every rule is first
shown to complain about a small sample that breaks it.
"""

from __future__ import annotations

import ast
import re
import statistics
from collections.abc import Iterator
from pathlib import Path

import pytest

PACKAGE = Path(__file__).resolve().parent.parent / "src" / "omnizarr"
FILES = sorted(PACKAGE.rglob("*.py"))
MODULES = {path.stem for path in PACKAGE.iterdir() if path.suffix == ".py" or path.is_dir()}

# Imports go down only. Names in one row are one layer: they may import each other, except for
# SIBLINGS. A new top-level module or folder gets its place here first.
LAYERS: tuple[tuple[str, ...], ...] = (
    ("errors",),
    ("keywords", "runtime"),
    ("limits", "config"),
    ("model",),
    ("formats", "codecs", "indexing", "stores", "conventions"),
    ("engine",),
    ("nodes",),
    ("api", "storage"),
    ("jobs",),
    ("__init__",),
    ("testing", "integrations", "compat", "cli", "server", "aio"),
    ("__main__",),
)
SIBLINGS = {"formats", "codecs", "indexing", "stores", "conventions"}
RANK = {name: rank for rank, layer in enumerate(LAYERS) for name in layer}

PUBLIC_MODULES = {"__init__", "errors", "limits", "config", "storage", "stores", "codecs"}
PUBLIC_ONLY: dict[str, set[str]] = {
    "cli": {"conventions", "runtime", "server"},
    "server": {"runtime"},
    "compat": {"aio", "keywords", "runtime", "testing"},
    "aio": {"keywords", "model", "runtime"},
    "integrations/jax": {"keywords", "runtime"},
    "integrations/learning": {"keywords", "runtime"},
    "integrations/tensorflow": {"keywords", "runtime"},
    "integrations/torch": {"keywords", "runtime"},
    "integrations/xarray": {"aio", "keywords", "runtime"},
    # Its codec pipeline gets single chunks to read and write, below the selections of the API.
    "integrations/zarr_python": {
        *("aio", "engine", "formats", "indexing", "keywords", "model", "runtime"),
    },
}
"""Folders that import public names alone, and what else each may import."""

MOST_LINES = 500
TYPICAL_LINES = 300
LONG = {
    "aio/nodes.py": "50 awaited methods and properties, each with an example",
    "codecs/sharding.py": "the codec, the shard and its index, each method with an example",
    "errors.py": "50 errors, and the tree of them",
    "nodes/array_facts.py": "zarr-python's Array has 50 properties, each with an example",
    "nodes/group.py": "zarr-python's Group has 50 methods, each with an example",
}
"""Files that may be longer because of public docstrings. Their code alone must stay short."""

PUBLIC = [
    "Array",
    "ByteRange",
    "DictStore",
    "DirectoryStore",
    "Group",
    "KVStore",
    "LocalStore",
    "MemoryStore",
    "Multiscale",
    "NestedDirectoryStore",
    "PrefixStore",
    "ProcessSynchronizer",
    "ReadOnlyStore",
    "Store",
    "TempStore",
    "ThreadSynchronizer",
    "ZipStore",
    "__version__",
    "append",
    "array",
    "as_format",
    "check",
    "checksum",
    "codecs",
    "config",
    "consolidate_metadata",
    "convert",
    "copy",
    "copy_all",
    "copy_store",
    "create",
    "create_array",
    "create_group",
    "create_hierarchy",
    "delete",
    "diff",
    "empty",
    "empty_like",
    "errors",
    "export",
    "file_formats",
    "from_array",
    "from_dask",
    "full",
    "full_like",
    "group",
    "limits",
    "load",
    "ones",
    "ones_like",
    "open",
    "open_array",
    "open_consolidated",
    "open_group",
    "open_like",
    "pyramid",
    "reencode",
    "rechunk",
    "save",
    "save_array",
    "save_group",
    "storage",
    "stores",
    "sweep",
    "sync",
    "tree",
    "unconsolidate_metadata",
    "verify",
    "virtualize",
    "zeros",
    "zeros_like",
]


# -- who imports whom ------------------------------------------------------------------------


def module_parts(file: Path) -> tuple[str, ...]:
    """('codecs', 'chains') for src/omnizarr/codecs/chains.py; ('__init__',) for the package."""
    parts = file.relative_to(PACKAGE).with_suffix("").parts
    return parts[:-1] if len(parts) > 1 and parts[-1] == "__init__" else parts


def imported(tree: ast.AST, package: tuple[str, ...]) -> Iterator[tuple[int, tuple[str, ...]]]:
    """(line, module path inside omnizarr) of every import, wherever in the code it stands.

    `package` is the folder that a relative import starts from. A name imported from the package
    itself is given as ('__init__',) unless it is a module.
    """
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield from _inside(node.lineno, alias.name.split("."))
        elif isinstance(node, ast.ImportFrom):
            base = node.module.split(".") if node.module else []
            if node.level:
                base = ["omnizarr", *package[: len(package) - node.level + 1], *base]
            for alias in node.names:
                yield from _inside(node.lineno, [*base, alias.name])
        elif isinstance(node, ast.Call) and _last_name(node.func) in {
            "import_module",
            "__import__",
        }:
            name = node.args[0] if node.args else None
            if isinstance(name, ast.Constant) and isinstance(name.value, str):
                yield from _inside(node.lineno, name.value.split("."))


def _inside(line: int, path: list[str]) -> Iterator[tuple[int, tuple[str, ...]]]:
    if path[0] == "omnizarr":
        below = tuple(path[1:])
        known = below and (below[0] in RANK or below[0] in MODULES)
        yield line, below if known else ("__init__",)


def _is_public(target: tuple[str, ...]) -> bool:
    """Whether ('stores', 'as_store') is a name that its module lists as public."""
    module, *names = target
    if module not in PUBLIC_MODULES or len(names) > 1:
        return False
    source = PACKAGE / module / "__init__.py"
    listed = literal_all(source.read_text(encoding="utf-8")) if source.exists() else None
    return listed is None or not names or names[0] in listed


def _last_name(node: ast.expr) -> str:
    if isinstance(node, ast.Attribute):
        return node.attr
    return node.id if isinstance(node, ast.Name) else ""


def upward_imports(source: str, parts: tuple[str, ...], *, is_package: bool = False) -> list[str]:
    own = parts[0]
    if own not in RANK:
        return [f"{own} has no layer: give it one in LAYERS"]
    package = parts if is_package else parts[:-1]
    allowed = PUBLIC_ONLY.get("/".join(parts[:2]), PUBLIC_ONLY.get(own))
    complaints = []
    for line, target in imported(ast.parse(source), package):
        other = target[0]
        if other == own:
            continue
        if other not in RANK:
            complaints.append(f"line {line}: {other} has no layer: give it one in LAYERS")
        elif RANK[other] > RANK[own]:
            complaints.append(f"line {line}: {own} imports {other}, which is above it")
        elif own in SIBLINGS and other in SIBLINGS:
            complaints.append(f"line {line}: {own} imports its sibling {other}")
        elif RANK[own] > RANK["__init__"] > RANK[other] > RANK["engine"]:
            complaints.append(f"line {line}: {own} imports {other} instead of the public API")
        elif allowed is not None and other not in allowed and not _is_public(target):
            complaints.append(f"line {line}: {own} imports {'.'.join(target)}, which is not public")
    return complaints


def test_imports_go_down_only() -> None:
    complaints = {}
    for file in FILES:
        is_package = file.name == "__init__.py" and file.parent != PACKAGE
        complaints[file] = upward_imports(
            file.read_text(encoding="utf-8"), module_parts(file), is_package=is_package
        )
    assert {file: found for file, found in complaints.items() if found} == {}


@pytest.mark.parametrize(
    ("parts", "source"),
    [
        (("errors",), "from omnizarr import limits"),
        (("model", "array"), "import omnizarr.codecs"),
        (("model", "array"), "from omnizarr.api import open"),
        (("codecs", "zstd"), "def f():\n    from omnizarr.engine import execute"),
        (("codecs", "zstd"), "from omnizarr.stores.local.store import LocalStore"),
        (("formats", "v2"), "from ..codecs import chain"),
        (("indexing", "plan"), "import importlib\nimportlib.import_module('omnizarr.stores')"),
        (("stores", "zip"), "import omnizarr"),
        (("engine", "execute"), "from ..nodes.array import Array"),
        (("nodes", "group"), "if TYPE_CHECKING:\n    from omnizarr.api.opening import open"),
        (("api", "opening"), "from omnizarr import __version__"),
        (("cli", "main"), "from omnizarr.nodes.array import Array"),
        (("cli", "main"), "from omnizarr.model import json"),
        (("cli", "main"), "from omnizarr.stores import kinds"),
        (("aio", "nodes"), "from omnizarr.engine import reading"),
        (("cli", "main"), "from omnizarr.stores.kinds import store_kind"),
        (("surprise",), "import numpy"),
    ],
)
def test_an_upward_import_is_found(parts: tuple[str, ...], source: str) -> None:
    assert len(upward_imports(source, parts)) == 1


@pytest.mark.parametrize(
    ("parts", "source"),
    [
        (("errors",), "import os"),
        (("limits",), "from omnizarr import errors"),
        (("codecs", "zstd"), "from .base import Codec\nfrom ..model import codec"),
        (("formats", "v2"), "from omnizarr.model.array import ArrayModel"),
        (("nodes", "group"), "from omnizarr.nodes.array import Array"),
        (("__init__",), "from omnizarr.api import open"),
        (("cli", "main"), "import omnizarr\nfrom omnizarr.errors import ZarrError"),
        (("cli", "main"), "from omnizarr.stores import as_store\nfrom omnizarr.cli import output"),
    ],
)
def test_a_downward_import_is_allowed(parts: tuple[str, ...], source: str) -> None:
    assert upward_imports(source, parts) == []


def test_a_package_resolves_relative_imports_from_itself() -> None:
    assert upward_imports("from .chain import Chain", ("codecs",), is_package=True) == []
    assert upward_imports("from ..stores import local", ("codecs",), is_package=True) != []


# -- who asks for a version ------------------------------------------------------------------

VERSION_NAMES = {"zarr_format", "zarr_version", "format_version", "default_zarr_format"}
VERSION_MODULE = re.compile(r"v\d")


def is_version(node: ast.expr) -> bool:
    """Whether the value of this expression is a format's version."""
    match node:
        case ast.Name(id=name):
            return name in VERSION_NAMES
        case ast.Attribute(value=owner, attr="name"):
            return _last_name(owner).lstrip("_").endswith("format")
        case ast.Attribute(attr=name):
            return name in VERSION_NAMES
        case ast.Subscript(slice=ast.Constant(value=name)):
            return name in VERSION_NAMES
        case ast.Call(func=function, args=arguments):
            if _last_name(function) in {"int", "str", "repr"}:
                return any(is_version(argument) for argument in arguments)
            return _last_name(function) in {"get", "pop", "getattr"} and any(
                isinstance(argument, ast.Constant) and argument.value in VERSION_NAMES
                for argument in arguments
            )
        case ast.Tuple(elts=items) | ast.List(elts=items):
            return any(is_version(item) for item in items)
        case ast.NamedExpr(value=value):
            return is_version(value)
        case ast.BoolOp(values=values):
            return any(is_version(value) for value in values)
    return False


def version_questions(source: str) -> list[str]:
    """Where the code compares or branches on a version. Asking whether one was given
    (`zarr_format is None`) is no question about the version."""
    complaints = []
    tree = ast.parse(source)
    for node in ast.walk(tree):
        match node:
            case ast.Compare(left=left, ops=operators, comparators=others):
                presence = all(isinstance(o, ast.Is | ast.IsNot) for o in operators) and all(
                    isinstance(other, ast.Constant) and other.value is None for other in others
                )
                if not presence and any(is_version(operand) for operand in (left, *others)):
                    complaints.append(f"line {node.lineno}: compares a format version")
            case ast.Match(subject=subject) if is_version(subject):
                complaints.append(f"line {node.lineno}: matches on a format version")
            case ast.Subscript(slice=key) if is_version(key):
                complaints.append(f"line {node.lineno}: looks a format version up in a table")
    for line, target in imported(tree, ("engine",)):
        if target[0] == "formats" and any(VERSION_MODULE.match(part) for part in target[1:]):
            complaints.append(f"line {line}: imports one format's own module")
    return complaints


DOCUMENTS = [("compat", "zarr2", name) for name in ("meta", "meta_v1")]
"""zarr-python's functions on documents of one format, which refuse those of another."""


def test_only_formats_ask_for_a_version() -> None:
    rest = (file for file in FILES if module_parts(file)[0] != "formats")
    others = (file for file in rest if module_parts(file) not in DOCUMENTS)
    asked = {file: version_questions(file.read_text(encoding="utf-8")) for file in others}
    assert {file: found for file, found in asked.items() if found} == {}


@pytest.mark.parametrize(
    "source",
    [
        "if zarr_format == 2: pass",
        "x = 3 != self.zarr_format",
        "while array.metadata.zarr_format < 3: pass",
        "ok = zarr_format in (2, 3)",
        "ok = 2 in [zarr_format]",
        "if node.format.name == 3: pass",
        "if self._format.name is not THREE: pass",
        "if document['zarr_format'] == 2: pass",
        "if document.get('zarr_format') > 2: pass",
        "if config.get('default_zarr_format') == 2: pass",
        "if int(zarr_format) == 2: pass",
        "if (zarr_format or 3) == 2: pass",
        "if (v := array.zarr_format) == 2: pass",
        "match zarr_format:\n    case 2: pass",
        "match node.zarr_format, mode:\n    case (2, 'r'): pass",
        "make = {2: old, 3: new}[zarr_format]",
        "def f():\n    from omnizarr.formats.v2.document import Format2",
        "from omnizarr.formats import v3",
    ],
)
def test_a_question_about_a_version_is_found(source: str) -> None:
    assert len(version_questions(source)) == 1


@pytest.mark.parametrize(
    "source",
    [
        "node = create(zarr_format=zarr_format)",
        "if zarr_format is None: zarr_format = default",
        "zarr_format = arguments['zarr_format']",
        "found = formats.by_name(zarr_format)",
        "if array.name == 'x': pass",
        "from omnizarr.formats import find",
    ],
)
def test_passing_a_version_on_is_allowed(source: str) -> None:
    assert version_questions(source) == []


# -- forks -----------------------------------------------------------------------------------

OF_ONE_CALL = {
    "compat/zarr3/experimental/cache_store": "a child makes a new one",
    "runtime/parallel": "the threads of one call, which a child does not continue",
    "stores/http/snapshot": "a snapshot, which belongs to one call",
    "stores/zip/file": "where there is no pread, there is no fork",
    "jobs/conversion/byte_counter": "each thread has stores of its own",
    "engine/reading": "the threads of one call",
    "stores/databases/sqlite": "a snapshot, which a child refuses",
}
"""Modules with locks that no forked child can find locked, and why."""


def fork_hazards(source: str, name: str) -> list[str]:
    """What a thread may hold when another one forks, and that nothing sets free in the child."""
    complaints = []
    tree = ast.parse(source)
    for node in ast.walk(tree):
        match node:
            case ast.ImportFrom(module="functools", names=names) if name != "runtime/properties":
                if any(alias.name == "cached_property" for alias in names):
                    complaints.append(f"line {node.lineno}: use omnizarr.runtime.properties")
            case ast.Attribute(attr="cached_property"):
                complaints.append(f"line {node.lineno}: use omnizarr.runtime.properties")
            case ast.Call(func=ast.Attribute(value=ast.Name(id="os"), attr="register_at_fork")):
                if name not in ("runtime/forks", "stores/databases/forks"):
                    complaints.append(f"line {node.lineno}: use omnizarr.runtime.forks")
            case ast.Call(
                func=ast.Attribute(value=ast.Name(id="threading"), attr=kind) | ast.Name(id=kind)
            ) if kind in {"Lock", "RLock", "Condition", "Semaphore", "BoundedSemaphore"}:
                known = any(target == ("runtime", "forks") for _, target in imported(tree, ()))
                if name != "runtime/forks" and not known and name not in OF_ONE_CALL:
                    complaints.append(
                        f"line {node.lineno}: a lock unknown to omnizarr.runtime.forks"
                    )
    return complaints


def test_no_lock_is_left_locked_in_a_forked_child() -> None:
    hazards = {}
    for file in FILES:
        name = "/".join(module_parts(file))
        if not name.startswith("testing/store_"):  # tests, which end what they start
            hazards[name] = fork_hazards(file.read_text(encoding="utf-8"), name)
    assert {name: found for name, found in hazards.items() if found} == {}


@pytest.mark.parametrize(
    "source",
    [
        "from functools import cache, cached_property",
        "import functools\nclass A:\n    @functools.cached_property\n    def b(self): ...",
        "import os\nos.register_at_fork(after_in_child=f)",
        "import threading\n_guard = threading.Lock()",
        "from threading import RLock\nclass A:\n    def __init__(self): self.guard = RLock()",
    ],
)
def test_what_a_fork_could_leave_locked_is_found(source: str) -> None:
    assert len(fork_hazards(source, "stores/sample")) == 1
    assert fork_hazards("from omnizarr.runtime import forks\n_guard = threading.Lock()", "a") == []


# -- size and surface ------------------------------------------------------------------------


def lines_of(source: str, *, docstrings: bool = True) -> int:
    """How many lines a file has; without its docstrings if they do not count."""
    count = len(source.splitlines())
    if docstrings:
        return count
    documented = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, documented) and ast.get_docstring(node) is not None:
            text = node.body[0]
            count -= (text.end_lineno or text.lineno) - text.lineno + 1
    return count


def test_lines_are_counted_with_and_without_docstrings() -> None:
    source = 'def f():\n    """One.\n\n    Two.\n    """\n    return 1\n'
    assert (lines_of(source), lines_of(source, docstrings=False)) == (6, 2)


def test_files_stay_small() -> None:
    names = {file.relative_to(PACKAGE).as_posix(): file for file in FILES}
    lines = {
        name: lines_of(file.read_text(encoding="utf-8"), docstrings=name not in LONG)
        for name, file in names.items()
    }
    assert LONG.keys() <= names.keys()
    assert {name: count for name, count in lines.items() if count > MOST_LINES} == {}
    assert statistics.median(lines.values()) <= TYPICAL_LINES


def literal_all(source: str) -> list[str] | None:
    """The value of a literal `__all__ = [...]`; None if there is none that can be read so."""
    for node in ast.parse(source).body:
        if isinstance(node, ast.Assign | ast.AnnAssign):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            if any(_last_name(target) == "__all__" for target in targets):
                try:
                    return list(ast.literal_eval(node.value)) if node.value else None
                except ValueError:
                    return None
    return None


def test_public_surface_is_literal_and_known() -> None:
    import omnizarr

    written = literal_all((PACKAGE / "__init__.py").read_text(encoding="utf-8"))
    assert written is not None, "__all__ must be a literal list"
    assert written == omnizarr.__all__, "__all__ must not be changed at run time"
    assert len(written) == len(set(written))
    assert sorted(written) == sorted(PUBLIC)
    assert [name for name in written if not hasattr(omnizarr, name)] == []


def test_a_computed_surface_is_found() -> None:
    assert literal_all("__all__ = ['a', 'b']") == ["a", "b"]
    assert literal_all("__all__ = [n for n in dir()]") is None
    assert literal_all("x = 1") is None


def test_types_are_shipped() -> None:
    assert (PACKAGE / "py.typed").exists()
