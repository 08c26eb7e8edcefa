"""A pytest plugin for another project's tests: it records outcomes and sets private names aside.

It is loaded with `-p plugin` in the suite's own environment, so it imports nothing but the standard
library and pytest. `PROOF_RUN` names a JSON file with what `run.py` decided:

    reference  whether this is the run on zarr-python itself
    serve      2 or 3: serve omnizarr as zarr before anything is imported; null: do not
    package    the package whose private names are set aside ("zarr"), or null
    public     its public modules
    tests      the folder of the tests
    tests_package  their package, if they are inside `package`: it is not private
    tools      files, by module, of the package's test tools, which the run on omnizarr loads too
    names      file of "name<TAB>public name" lines for what the tests import, which the run on
               zarr-python itself writes and the run on omnizarr reads
    sample     how many cases of every test function run; null: all
    results    file that gets one JSON line for each test

A test file that imports a private name gets a `Stub`. Using it while a test runs ends that test as
"not applicable". A private path to an object that a public module has too is not private.
"""

from __future__ import annotations

import ast
import builtins
import importlib
import importlib.util
import json
import os
import sys
import unittest.mock
from collections import Counter
from collections.abc import Collection
from contextlib import suppress
from importlib.machinery import PathFinder
from pathlib import Path
from types import ModuleType
from typing import Any

import _pytest.assertion.rewrite
import _pytest.config
import _pytest.monkeypatch
import pytest
from _pytest.assertion.rewrite import AssertionRewritingHook

RUN: dict[str, Any] = json.loads(Path(os.environ["PROOF_RUN"]).read_text())
PACKAGE: str | None = RUN["package"]
PUBLIC: frozenset[str] = frozenset(RUN["public"])
TESTS = os.path.realpath(RUN["tests"]) + os.sep
TESTS_PACKAGE: str | None = RUN.get("tests_package")
LIBRARIES = ("zarr", "omnizarr")
IS_REFERENCE = RUN["reference"]

running = False
"""Whether a test, or a fixture for it, is running: outside, stubs are only passed around."""
used: list[str] = []
"""Private names that the running test has used."""


class NotApplicable(pytest.skip.Exception):
    """The test uses a private name."""


def set_aside(name: str) -> None:
    used.append(name)
    raise NotApplicable(f"uses the private name {name}", _use_item_location=True)


# -- stubs -----------------------------------------------------------------------------------


class StubBase:
    """What a class gets that inherits from a stub."""

    @pytest.fixture(autouse=True)
    def _inherits_from_a_private_class(self) -> None:
        set_aside("a private base class")


class Stub:
    """A private name."""

    def __init__(self, name: str) -> None:
        self.__dict__["proof_name"] = name

    def _use(self) -> Stub:
        if running:
            set_aside(self.__dict__["proof_name"])
        return self

    def __getattr__(self, name: str) -> Any:
        if name in ("__name__", "__qualname__"):
            return self.__dict__["proof_name"].rpartition(".")[2]
        if name.startswith(("__", "pytest", "_pytest")):
            raise AttributeError(name)
        if name == "mark":  # it stands for one of pytest's
            return pytest.mark.uses_a_private_name.mark
        self._use()
        return Stub(f"{self.__dict__['proof_name']}.{name}")

    def __setattr__(self, name: str, value: object) -> None:
        self._use()

    def __call__(self, *args: object, **kwargs: object) -> Any:
        # As a decorator outside a test it gives back what it decorates.
        only = args[0] if len(args) == 1 and not kwargs else None
        return (
            only if callable(only) and not isinstance(only, type) and not running else self._use()
        )

    def __mro_entries__(self, bases: object) -> tuple[type, ...]:
        return (type("StubBase", (StubBase,), {}),)  # a class may have several

    def __iter__(self) -> Any:
        yield self._use()

    def _binary(self, other: object = None) -> Any:
        return self._use()

    __getitem__ = __or__ = __ror__ = __add__ = __radd__ = __mul__ = __rmul__ = _binary
    __sub__ = __rsub__ = __floordiv__ = __lt__ = __gt__ = __le__ = __ge__ = __contains__ = _binary

    def __eq__(self, other: object) -> bool:
        self._use()
        return self is other

    def __hash__(self) -> int:
        return id(self)

    def __len__(self) -> int:
        self._use()
        return 1

    def __bool__(self) -> bool:
        self._use()
        return True

    def __int__(self) -> int:
        self._use()
        return 1

    __index__ = __int__

    def __instancecheck__(self, instance: object) -> bool:
        return isinstance(instance, self._class())

    def __subclasscheck__(self, kind: object) -> bool:
        of = self._class()
        return isinstance(kind, type) and issubclass(kind, of)  # it may be a stub itself

    def _class(self) -> type | tuple[()]:
        """The class that the name stands for outside a test, or () where there is none."""
        self._use()
        module, _, name = self.__dict__["proof_name"].rpartition(".")
        try:
            found = getattr(importlib.import_module(module), name)
        except (AttributeError, ImportError, ValueError):
            return ()
        return found if isinstance(found, type) else ()

    def __repr__(self) -> str:
        return f"<private {self.__dict__['proof_name']}>"


class MissingBase:
    """What a class gets that inherits from a public class that omnizarr does not have."""

    @pytest.fixture(autouse=True)
    def _inherits_from_a_missing_class(self) -> None:
        raise AttributeError("omnizarr does not have the base class")


class Missing(Stub):
    """A public name that omnizarr does not have. The tests that use it fail; others of the same
    file go on."""

    def _use(self) -> Stub:
        if running:
            raise AttributeError(f"omnizarr does not have {self.__dict__['proof_name']}")
        return self

    def __mro_entries__(self, bases: object) -> tuple[type, ...]:
        return (MissingBase,)


# -- what test files import ------------------------------------------------------------------

import_as_always = builtins.__import__
facades: dict[str, Any] = {}
names: dict[str, str] = {}
"""Public names by the names that test files use; "" for what zarr-python itself does not have."""


def is_public(module: str) -> bool:
    """Whether it is a public module or a package that one is in."""
    return module in PUBLIC or any(name.startswith(module + ".") for name in PUBLIC)


def facade(module: str) -> Any:
    """The module as a test file sees it."""
    if module not in facades:
        facades[module] = Facade(module)
    return facades[module]


class Facade(ModuleType):
    """A module whose private names are stubs."""

    def __getattr__(self, name: str) -> Any:
        module = self.__dict__["__name__"]
        if name in ("__path__", "__file__", "__all__", "__version__", "__dict__"):
            with suppress(ImportError):
                return getattr(importlib.import_module(module), name)
            whole = f"{module}.{name}"  # of a private module that omnizarr does not have
            return f"<{whole}>" if name == "__file__" else Stub(whole)
        if name.startswith("__") and name.endswith("__"):
            raise AttributeError(name)
        return lookup(module, name)

    def __setattr__(self, name: str, value: object) -> None:
        self._change(name)
        setattr(importlib.import_module(self.__name__), name, value)

    def __delattr__(self, name: str) -> None:
        self._change(name)
        delattr(importlib.import_module(self.__name__), name)

    def _change(self, name: str) -> None:
        if self.__name__ not in PUBLIC or name.startswith("_"):
            set_aside(f"{self.__name__}.{name}")

    def __dir__(self) -> list[str]:
        return dir(importlib.import_module(self.__name__))

    def __reduce__(self) -> Any:
        return importlib.import_module, (self.__name__,)


def lookup(module: str, name: str) -> Any:
    """What `module.name` is for a test file."""
    whole = f"{module}.{name}"
    if is_public(whole) or (not IS_REFERENCE and any(n.startswith(whole + ".") for n in names)):
        return facade(whole)
    if not IS_REFERENCE:
        public = names.get(whole)
        if public == "":
            raise AttributeError(f"module {module!r} has no attribute {name!r}")
        if public is None:
            return Stub(whole)
        owner, _, attribute = public.rpartition(".")
        return getattr(importlib.import_module(owner), attribute, Missing(public))
    try:
        found = getattr(importlib.import_module(module), name)
    except AttributeError:
        try:
            found = importlib.import_module(whole)
        except ImportError:
            remember(whole, "")
            raise AttributeError(f"module {module!r} has no attribute {name!r}") from None
    if isinstance(found, ModuleType):
        return facade(whole) if found.__name__ == whole else found
    public = whole if name in public_names(module) else public_name(found)
    if public is None:
        return Stub(whole)
    remember(whole, public)
    return found


def remember(name: str, public: str) -> None:
    if names.get(name) != public:
        names[name] = public
        with open(RUN["names"], "a") as lines:
            lines.write(f"{name}\t{public}\n")


def public_names(module: str) -> Collection[str]:
    """Those that `__all__` lists, and classes and functions of the module that it leaves out."""
    if module not in PUBLIC:
        return ()
    members = vars(importlib.import_module(module))
    plain = [name for name in members if name[0] != "_"]
    listed = members.get("__all__")
    if not listed:
        return plain
    own = [name for name in plain if getattr(members[name], "__module__", None) == module]
    return dict.fromkeys([*listed, *own])


def public_name(found: object) -> str | None:
    """Where the public modules have the same object, or None."""
    owner = getattr(found, "__module__", None) or type(found).__module__
    if not isinstance(owner, str) or owner.partition(".")[0] not in (*LIBRARIES, "numcodecs"):
        return None
    for module in sorted(PUBLIC):
        for name in public_names(module):
            if getattr(importlib.import_module(module), name, None) is found:
                return f"{module}.{name}"
    return None


def is_of_tests(module: str) -> bool:
    return TESTS_PACKAGE is not None and f"{module}.".startswith(f"{TESTS_PACKAGE}.")


class TestsFinder:
    """Finds tests and test tools that are inside the package which omnizarr is served as."""

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> Any:
        if name in RUN["tools"]:
            return importlib.util.spec_from_file_location(name, RUN["tools"][name])
        if not is_of_tests(name):
            return None
        folder = os.path.dirname(TESTS.rstrip(os.sep)) if name == TESTS_PACKAGE else TESTS
        rewriting = (f for f in sys.meta_path if isinstance(f, AssertionRewritingHook))
        found = [hook.find_spec(name, [folder]) for hook in rewriting]
        return next(filter(None, found), None) or PathFinder.find_spec(name, [folder])


def import_for_tests(
    name: str,
    globals: Any = None,
    locals: Any = None,
    fromlist: Any = (),
    level: int = 0,
) -> Any:
    whole = name
    if level and TESTS_PACKAGE is not None and globals is not None:
        whole = importlib.util.resolve_name("." * level + name, globals.get("__package__") or "")
    if whole.partition(".")[0] == PACKAGE and globals is not None and not is_of_tests(whole):
        file = globals.get("__file__")
        if isinstance(file, str) and os.path.realpath(file).startswith(TESTS):
            return facade(whole) if fromlist else facade(PACKAGE)
    return import_as_always(name, globals, locals, fromlist, level)


def importorskip_for_tests(modname: str, *args: Any, **kwargs: Any) -> Any:
    if modname.partition(".")[0] == PACKAGE and not is_public(modname):
        return facade(modname)
    return importorskip_as_always(modname, *args, **kwargs)


importorskip_as_always = pytest.importorskip
pytest.importorskip = importorskip_for_tests


# -- private attributes, and private names in strings ------------------------------------------


def attribute_for_tests(owner: Any, name: str) -> Any:
    refuse_private_attribute(owner, name)
    return getattr(owner, name) if running else getattr(owner, name, Stub(name))


def set_attribute_for_tests(owner: Any, name: str, value: Any) -> None:
    refuse_private_attribute(owner, name)
    setattr(owner, name, value)


def refuse_private_attribute(owner: Any, name: str) -> None:
    kind = owner if isinstance(owner, type) else type(owner)
    module = getattr(kind, "__module__", None)
    if running and isinstance(module, str) and module.partition(".")[0] in LIBRARIES:
        set_aside(f"{kind.__name__}.{name}")


class PrivateAttributes(ast.NodeTransformer):
    """`x._name` becomes a call of `attribute_for_tests`, and `x._name = value` one of
    `set_attribute_for_tests`."""

    def visit_Attribute(self, node: ast.Attribute) -> ast.AST:
        self.generic_visit(node)
        if not self._is_private(node) or not isinstance(node.ctx, ast.Load):
            return node
        return self._call(node, "__proof_attribute__", node.value, ast.Constant(node.attr))

    def visit_Assign(self, node: ast.Assign) -> ast.AST:
        self.generic_visit(node)
        match node.targets:
            case [ast.Attribute() as target] if self._is_private(target):
                name = ast.Constant(target.attr)
                called = self._call(node, "__proof_set_attribute__", target.value, name, node.value)
                return ast.copy_location(ast.Expr(called), node)
        return node

    @staticmethod
    def _is_private(node: ast.Attribute) -> bool:
        return node.attr.startswith("_") and not node.attr.startswith("__")

    @staticmethod
    def _call(node: ast.AST, function: str, *args: ast.expr) -> ast.Call:
        called = ast.Call(func=ast.Name(id=function, ctx=ast.Load()), args=list(args), keywords=[])
        return ast.copy_location(called, node)


def rewrite_tests(tree: ast.Module, source: bytes, *args: Any, **kwargs: Any) -> None:
    path = args[0] if args else kwargs.get("module_path")
    if path is not None and os.path.realpath(path).startswith(TESTS):
        ast.fix_missing_locations(PrivateAttributes().visit(tree))
    rewrite_as_always(tree, source, *args, **kwargs)


def refuse_private_strings(function: Any) -> Any:
    """For functions that take the dotted name of what they replace."""

    def checked(target: Any, *args: Any, **kwargs: Any) -> Any:
        if isinstance(target, str) and target.partition(".")[0] == PACKAGE and running:
            module = target.rpartition(".")[0]
            if not is_public(module) and not is_public(module.rpartition(".")[0]):
                set_aside(target)
        return function(target, *args, **kwargs)

    return checked


if not IS_REFERENCE:
    if RUN["serve"] is not None:
        import omnizarr.compat

        omnizarr.compat.install(RUN["serve"])
        sys.meta_path.insert(0, TestsFinder())  # type: ignore[arg-type]  # has find_spec alone
    if PACKAGE is not None and os.path.exists(RUN["names"]):
        names.update(line.split("\t") for line in Path(RUN["names"]).read_text().splitlines())

if PACKAGE is not None:
    rewrite_as_always = _pytest.assertion.rewrite.rewrite_asserts
    _pytest.assertion.rewrite.rewrite_asserts = rewrite_tests
    sys.dont_write_bytecode = True
    builtins.__proof_attribute__ = attribute_for_tests  # type: ignore[attr-defined]
    builtins.__proof_set_attribute__ = set_attribute_for_tests  # type: ignore[attr-defined]
    builtins.__import__ = import_for_tests
    unittest.mock._get_target = refuse_private_strings(  # type: ignore[attr-defined]
        unittest.mock._get_target  # type: ignore[attr-defined]
    )
    _pytest.monkeypatch.derive_importpath = refuse_private_strings(
        _pytest.monkeypatch.derive_importpath
    )


def category_for_tests(category: str) -> type[Warning]:
    """The class that a filter of warnings names; one that is never used for a private name."""
    try:
        return category_as_always(category)
    except (AttributeError, ImportError, pytest.UsageError):
        if category.partition(".")[0] != PACKAGE:
            raise
        return type("PrivateWarning", (Warning,), {})


category_as_always = _pytest.config._resolve_warning_category
_pytest.config._resolve_warning_category = category_for_tests


# -- Hypothesis --------------------------------------------------------------------------------

with suppress(ImportError):  # few examples, always the same ones; `run.py` asks for this profile
    from hypothesis import HealthCheck, settings

    settings.register_profile(
        "proof",
        max_examples=10,
        derandomize=True,
        database=None,
        deadline=None,
        suppress_health_check=list(HealthCheck),
    )
    settings.load_profile("proof")


def pytest_collection_modifyitems(items: list[Any]) -> None:
    """Keep some cases of every test function alone, if `run.py` was told to."""
    if RUN["sample"]:
        seen: Counter[str] = Counter()
        kept = []
        for item in items:
            function = item.nodeid.partition("[")[0]
            seen[function] += 1
            if seen[function] <= RUN["sample"]:
                kept.append(item)
        items[:] = kept


# -- outcomes ----------------------------------------------------------------------------------


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: Any, nextitem: Any) -> Any:
    used.clear()
    return (yield)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: Any, call: Any) -> Any:
    global running
    running = False
    report = yield
    if used:  # also where the test caught it
        report.outcome = "skipped"
        report.private = used[0]
        report.longrepr = (str(item.path), 0, f"uses the private name {used[0]}")
    return report


def _starts(item: Any) -> None:
    global running
    running = True


pytest_runtest_setup = pytest.hookimpl(tryfirst=True)(_starts)
pytest_runtest_call = pytest.hookimpl(tryfirst=True)(_starts)


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_teardown(item: Any, nextitem: Any) -> None:
    global running
    running = False


outcomes: dict[str, tuple[str, str]] = {}


def pytest_runtest_logreport(report: Any) -> None:
    """One outcome for a test: the worst of its phases."""
    if os.environ.get("PYTEST_XDIST_WORKER"):
        return  # the controller gets every report
    before, why = outcomes.get(report.nodeid, ("", ""))
    if getattr(report, "private", None):
        outcome, why = "private", report.private
    elif report.failed:
        outcome, why = "failed", _reason(report)
    elif hasattr(report, "wasxfail"):
        outcome, why = "xfailed", str(report.wasxfail)
    elif report.skipped:
        outcome, why = "skipped", str(report.longrepr[-1] if report.longrepr else "")
    else:
        outcome = before or "passed"
    if before in ("private", "failed") and outcome != "private":
        outcome = before
    outcomes[report.nodeid] = (outcome, why)


def pytest_collectreport(report: Any) -> None:
    if report.failed and not os.environ.get("PYTEST_XDIST_WORKER"):
        outcomes[report.nodeid] = ("uncollected", str(report.longrepr)[-3000:])


def _reason(report: Any) -> str:
    crash = getattr(report.longrepr, "reprcrash", None)
    return str(crash.message if crash is not None else report.longrepr)[:3000]


def pytest_sessionfinish(session: Any) -> None:
    if os.environ.get("PYTEST_XDIST_WORKER"):
        return
    served = f"omnizarr.compat.zarr{RUN['serve']}."  # in ids, where classes are parameters
    with open(RUN["results"], "w") as lines:
        for test, (outcome, why) in sorted(outcomes.items()):
            test = test.replace(served, f"{PACKAGE}.")
            lines.write(json.dumps({"test": test, "outcome": outcome, "why": why}) + "\n")
