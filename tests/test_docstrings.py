"""The public surface explains itself: docstrings, their parameters, types, and examples that run.

`python tests/test_docstrings.py` prints what is missing, module by module.

Each rule is a function from a public name to the problems that it has, so that every rule is
first shown to find one. The rules:

* A public class, function, method or property has a docstring. An override without one inherits.
* Its "Parameters" section names every parameter; `**arguments` may refer to another function for
  the keywords of a TypedDict. An override inherits the names that a base documents. The fields of
  a dataclass or named tuple may have a docstring each instead.
* `Any` is in no public signature, unless `ANY_IS_MEANT` says why.
* It has an example: its own, one of a base that documents it, or one of its class that calls it (of
  a property: that names it). An error or warning that takes a message needs none. A method that
  another package defines and calls has the example of its class.
* Every example of a docstring in the package runs.

Dunder methods are left out, except for `__init__`, which the docstring of its class describes.
"""

from __future__ import annotations

import ast
import dataclasses
import doctest
import importlib
import inspect
import re
import sys
import textwrap
from collections import Counter
from collections.abc import Callable, Iterator
from enum import EnumType
from functools import cache
from itertools import pairwise
from pathlib import Path
from types import ModuleType
from typing import NamedTuple

import numpy as np
import pytest

import omnizarr
from omnizarr.errors import MissingPackageError
from omnizarr.runtime.properties import cached_property

PACKAGE = Path(omnizarr.__file__).resolve().parent
MODULES = (
    "omnizarr",
    "omnizarr.stores",
    "omnizarr.codecs",
    "omnizarr.aio",
    "omnizarr.testing",
    "omnizarr.errors",
    "omnizarr.limits",
    "omnizarr.config",
    "omnizarr.integrations.jax",
    "omnizarr.integrations.learning",
    "omnizarr.integrations.tensorflow",
    "omnizarr.integrations.torch",
    "omnizarr.integrations.xarray",
    "omnizarr.integrations.zarr_python",
)
ANY_IS_MEANT = {
    "omnizarr.aio.nodes.AsyncArray.fill_value": "a scalar of the type",
    "omnizarr.aio.nodes.AsyncArray.read": "selections are NumPy's",
    "omnizarr.aio.nodes.AsyncArray.write": "selections are NumPy's",
    "omnizarr.aio.nodes.AsyncArray.getitem": "selections are NumPy's",
    "omnizarr.aio.nodes.AsyncArray.setitem": "selections are NumPy's",
    "omnizarr.aio.nodes.AsyncIndex.read": "selections are NumPy's",
    "omnizarr.aio.nodes.AsyncIndex.write": "selections are NumPy's",
    "omnizarr.codecs.base.Step": "by the kind of codec, functions of arrays or of bytes",
    "omnizarr.codecs.base.Codec.prepare": "by the kind of codec, one class of stages or the other",
    "omnizarr.config.Config.config": "the type depends on the name",
    "omnizarr.config.Config.get": "the type depends on the name",
    "omnizarr.integrations.zarr_python.stores.OmnizarrStore.open": "zarr-python's signature",
    **{
        f"omnizarr.nodes.{name}": "an array or a scalar, as in NumPy, of a type that is stored"
        for name in (
            "array.Array.read",
            "array.Array.fill_value",
            "array_protocols.Protocols.islice",
            "array_selections.Selections.get_basic_selection",
            "array_selections.Selections.get_orthogonal_selection",
            "array_selections.Selections.get_coordinate_selection",
            "array_facts.ArrayFacts.fill_value",
        )
    },
}
"""Names whose signature has `Any` where no other type is right, and why."""

_GENERIC = re.compile(
    r"\b(NDArray|dtype|np\.generic)\[Any\]|\bndarray\[Any, [^\]]*\]+|\.\.\., Any\]"
)
"""`Any` as the argument of a type that cannot be narrowed: the type of an array's values."""

_PARSER = doctest.DocTestParser()

COMPLETED = ("stores", "codecs", "aio", "testing")
"""Packages of which `dir` shows the public names and nothing else."""


class Public(NamedTuple):
    """A public callable or property, and where it is defined."""

    name: str
    module: str
    value: object
    owner: type | None = None


# -- the public surface ----------------------------------------------------------------------


def names_of(module: ModuleType) -> list[str]:
    listed = getattr(module, "__all__", None)
    if listed is not None:
        return list(listed)
    return [
        name
        for name, value in vars(module).items()
        if not name.startswith("_") and getattr(value, "__module__", None) == module.__name__
    ]


def is_ours(value: object) -> bool:
    return (getattr(value, "__module__", None) or "").partition(".")[0] == "omnizarr"


@cache
def surface() -> tuple[Public, ...]:
    """Every public class and function, and the methods and properties of these classes."""
    found: dict[tuple[str, str], Public] = {}
    for module_name in MODULES:
        try:
            module = importlib.import_module(module_name)
        except MissingPackageError:
            continue
        for name in names_of(module):
            value = getattr(module, name)
            if isinstance(value, ModuleType) or not is_ours(value):
                continue
            if not (inspect.isclass(value) or inspect.isroutine(value)):
                value = type(value)  # an instance, such as `config`
            if not is_ours(value) or value.__qualname__.startswith("_"):
                continue
            for public in members(value):
                found.setdefault((public.module, public.name), public)
    return tuple(found.values())


def members(value: Callable[..., object]) -> Iterator[Public]:
    """A class or function; of a class also its methods and properties, inherited ones included."""
    yield Public(value.__qualname__, value.__module__, value)
    if not inspect.isclass(value):
        return
    for base in value.__mro__:
        for name, member in vars(base).items() if is_ours(base) else ():
            if name.startswith(("_", "test_")) or inspect.isclass(member):
                continue  # pytest calls the tests of a suite
            function = function_of(member)
            if function is not None:
                yield Public(f"{base.__qualname__}.{name}", base.__module__, member, value)


def function_of(member: object) -> Callable[..., object] | None:
    """The function behind a method, property, class method or static method."""
    if isinstance(member, staticmethod | classmethod):
        member = member.__func__
    if isinstance(member, property):
        member = member.fget
    elif not inspect.isfunction(member) and inspect.isfunction(getattr(member, "func", None)):
        member = member.func  # type: ignore[attr-defined]  # a cached property
    return member if inspect.isfunction(member) else None


# -- the rules -------------------------------------------------------------------------------


def docstrings(public: Public) -> list[str]:
    """The docstring of a name, then those that it inherits."""
    if inspect.isclass(public.value):
        mro = public.value.__mro__
        depth = next(n for n, base in enumerate(mro) if "__init__" in vars(base) or n == len(mro))
        found = [base.__doc__ for base in mro[: depth + 1] if is_ours(base) or base is mro[0]]
        if takes_fields(mro[0]) and (mro[0].__doc__ or "").startswith(f"{mro[0].__name__}("):
            found = []  # Python wrote it
    elif public.owner is None:
        found = [public.value.__doc__]
    else:
        name = public.name.rpartition(".")[2]
        same = [vars(base)[name] for base in public.owner.__mro__ if name in vars(base)]
        found = [getattr(member, "__doc__", None) for member in same[same.index(public.value) :]]
    return [inspect.cleandoc(text) for text in found if text]


def section(docstring: str, title: str) -> list[str]:
    """The lines of one section of a NumPy docstring."""
    lines = docstring.splitlines()
    for number, line in enumerate(lines[:-1]):
        if line == title and set(lines[number + 1]) == {"-"}:
            rest = lines[number + 2 :]
            ends = (n - 1 for n, text in enumerate(rest) if n and set(text) == {"-"})
            return rest[: next(ends, len(rest))]
    return []


def documented_parameters(docstring: str) -> set[str]:
    lines = section(docstring, "Parameters")
    heads = [line.partition(":")[0] for line in lines if line and not line[0].isspace()]
    return {name.strip().lstrip("*") for head in heads for name in head.split(",")}


def documented_fields(value: type) -> set[str]:
    """The fields of a dataclass or named tuple that a docstring of their own follows."""
    found: set[str] = set()
    for base in value.__mro__:
        if takes_fields(base):
            tree = ast.parse(textwrap.dedent(inspect.getsource(base))).body[0]
            body = tree.body if isinstance(tree, ast.ClassDef) else []
            for field, after in pairwise(body):
                if isinstance(field, ast.AnnAssign) and isinstance(after, ast.Expr):
                    found.add(ast.unparse(field.target))
    return found


def signature(public: Public) -> inspect.Signature | None:
    value = public.value if public.owner is None else function_of(public.value)
    if vars(value).get("_is_protocol"):
        return None
    if inspect.isclass(value) and value.__init__ is object.__init__ and not takes_fields(value):
        return None
    if (
        inspect.isclass(value)
        and issubclass(value, BaseException)
        and "__init__" not in vars(value)
    ):
        return None
    try:
        return inspect.signature(value)  # type: ignore[arg-type]  # a class or function
    except (TypeError, ValueError):
        return None


def takes_fields(value: type) -> bool:
    return dataclasses.is_dataclass(value) or hasattr(value, "_fields")


def parameters(public: Public) -> list[inspect.Parameter]:
    found = signature(public)
    if found is None:
        return []
    listed = list(found.parameters.values())
    bound = public.owner is not None and not isinstance(public.value, staticmethod)
    return [each for each in listed[bound:] if not each.name.startswith("_")]


def has_no_docstring(public: Public) -> list[str]:
    return [] if docstrings(public) else ["no docstring"]


def has_undocumented_parameters(public: Public) -> list[str]:
    if isinstance(public.value, property | EnumType):  # Enum's own call is no one's concern
        return []
    known: set[str] = set().union(*map(documented_parameters, docstrings(public)))
    if inspect.isclass(public.value):
        known |= documented_fields(public.value)
    missing = [
        each.name
        for each in parameters(public)
        if each.name not in known
        and not (is_spelt_out(each) and known & {"arguments", "create_kws"})
    ]
    return [f"parameters not documented: {', '.join(missing)}"] if missing else []


def is_spelt_out(parameter: inspect.Parameter) -> bool:
    """Whether a keyword stands for a part of ``**arguments``, as `keywords.suggests` shows it."""
    return parameter.kind is parameter.KEYWORD_ONLY and parameter.default is ...


def has_any(public: Public) -> list[str]:
    found = signature(public)
    if found is None or f"{public.module}.{public.name}" in ANY_IS_MEANT:
        return []
    annotations = {each.name: each.annotation for each in parameters(public)}
    if not inspect.isclass(public.value):
        annotations["return"] = found.return_annotation
    places = [
        name
        for name, annotation in annotations.items()
        if re.search(r"\bAny\b", _GENERIC.sub("", str(annotation)))
    ]
    return [f"Any: {', '.join(places)}"] if places else []


def has_no_example(public: Public) -> list[str]:
    if any(examples_in(text) for text in docstrings(public)) or takes_a_message(public.value):
        return []
    bases = () if public.owner is None else public.owner.__mro__
    ours = [base for base in bases if is_ours(base) or base is public.owner]
    shown = "".join(examples_in(base.__doc__ or "") for base in ours)
    name = public.name.rpartition(".")[2]
    if shown and any(name in vars(base) for base in bases[1:] if is_of_another_package(base)):
        return []
    is_method = not isinstance(public.value, property | cached_property)
    named = re.search(rf"\.{name}\b" + (r"\(" if is_method else ""), shown)
    return [] if named else ["no example"]


def examples_in(docstring: str) -> str:
    """The source of the examples in a docstring."""
    return "".join(each.source for each in _PARSER.get_examples(docstring))


def takes_a_message(value: object) -> bool:
    is_error = inspect.isclass(value) and issubclass(value, BaseException)
    return is_error and "__init__" not in vars(value)


def is_of_another_package(value: type) -> bool:
    package = value.__module__.partition(".")[0]
    return package != "omnizarr" and package not in sys.stdlib_module_names


RULES = (has_no_docstring, has_undocumented_parameters, has_any, has_no_example)


def problems(public: Public) -> list[str]:
    return [problem for rule in RULES for problem in rule(public)]


@pytest.mark.parametrize("rule", RULES)
def test_public_names_have_no_problem(rule: Callable[[Public], list[str]]) -> None:
    found = {f"{each.module}.{each.name}": rule(each) for each in surface()}
    assert {name: listed for name, listed in found.items() if listed} == {}


def test_the_surface_is_walked() -> None:
    names = {f"{each.module}.{each.name}" for each in surface()}
    assert {
        "omnizarr.nodes.array.Array",
        "omnizarr.nodes.array.Array.resize",
        "omnizarr.api.creating.create_array",
        "omnizarr.stores.zip.store.ZipStore",
        "omnizarr.model.store_basics.BasicStore.get",
        "omnizarr.config.Config.set",
        "omnizarr.errors.StoreError",
    } <= names
    assert len(names) > 400


@pytest.mark.parametrize("name", ["omnizarr", *(f"omnizarr.{n}" for n in COMPLETED)])
def test_completion_shows_public_names_only(name: str) -> None:
    module = importlib.import_module(name)
    assert dir(module) == sorted(module.__all__)
    assert all(hasattr(module, shown) for shown in dir(module))


def test_the_table_of_exceptions_names_public_names() -> None:
    names = {f"{each.module}.{each.name}" for each in surface()}
    assert ANY_IS_MEANT.keys() - names == set()


# -- samples of what the rules find ----------------------------------------------------------


class Base:
    """A class.

    Parameters
    ----------
    size, shape
        Two.
    **more
        The rest.

    Examples
    --------
    >>> Base(1, 2).act(3)
    3
    """

    def __init__(self, size: int, shape: int, **more: int) -> None: ...

    def act(self, what: int) -> int:
        """Act.

        Parameters
        ----------
        what : int
            What.

        Returns
        -------
        number
            A number.
        """
        return what

    def silent(self) -> None: ...

    @property
    def fact(self) -> None: ...


class Derived(Base):
    """Another one."""

    def act(self, what: int, how: Any = 1) -> int:  # type: ignore[name-defined]  # noqa: F821
        return what

    @classmethod
    def build(cls, values: NDArray[Any]) -> dict[str, Any]:  # type: ignore[name-defined]  # noqa: F821
        """Build."""
        return {}


class Plugged(Derived):
    """One that an example shows.

    >>> Plugged(1, 2).fact
    """

    fact = property(lambda self: None)

    def act(self, what: int, how: int = 1) -> int:
        return what

    def silent(self) -> None: ...

    def other(self) -> None:
        """Call `plugged.other()`, which is no example."""


class Fact(NamedTuple):
    """A fact."""

    one: int
    """The first."""
    two: int


def test_a_documented_class_has_no_problem() -> None:
    found = {each.name: problems(each) for each in _sample(Base)}
    assert found == {
        "Base": [],
        "Base.act": [],
        "Base.silent": ["no docstring", "no example"],
        "Base.fact": ["no docstring", "no example"],
    }


def test_what_is_missing_is_found() -> None:
    found = {each.name: problems(each) for each in _sample(Derived)}
    assert found == {
        "Derived": ["parameters not documented: size, shape, more", "no example"],
        "Derived.act": ["parameters not documented: how", "Any: how", "no example"],
        "Derived.build": ["parameters not documented: values", "Any: return", "no example"],
    }


def test_an_example_of_the_class_is_one_of_what_it_uses() -> None:
    found = {each.name: has_no_example(each) for each in _sample(Plugged)}
    assert found == {
        "Plugged": [],
        "Plugged.fact": [],
        "Plugged.act": [],  # another package's, as this module is none of omnizarr's
        "Plugged.silent": [],
        "Plugged.other": ["no example"],
    }


def test_an_error_needs_no_example_for_its_message() -> None:
    class Plain(ValueError):
        """An error."""

    class Rich(ValueError):
        """An error with a field."""

        def __init__(self, status: int) -> None: ...

    assert has_no_example(Public("Plain", __name__, Plain)) == []
    assert has_no_example(Public("Rich", __name__, Rich)) == ["no example"]


def test_keywords_of_a_typed_dict_are_documented_together() -> None:
    group = {each.name: each for each in members(omnizarr.Group)}
    create = group["Group.create_dataset"]
    assert [each.name for each in parameters(create) if is_spelt_out(each)][-1] == "write_data"
    assert problems(create) == []


def test_a_field_needs_a_docstring() -> None:
    public = Public("Fact", __name__, Fact)
    assert has_undocumented_parameters(public) == ["parameters not documented: two"]


def _sample(value: type) -> list[Public]:
    methods = [name for name in vars(value) if not name.startswith("_")]
    return [
        Public(value.__name__, __name__, value),
        *(Public(f"{value.__name__}.{n}", __name__, vars(value)[n], value) for n in methods),
    ]


# -- examples --------------------------------------------------------------------------------

EXAMPLES = sorted(
    file for file in PACKAGE.rglob("*.py") if ">>> " in file.read_text(encoding="utf-8")
)

SKIPPED = {
    "stores/databases/mongodb.py",
    "stores/databases/redis.py",
    "stores/http/store.py",
}
"""Modules with examples that need a server."""

PACKAGES = {
    "stores/cloud/azure.py": "obstore",
    "stores/cloud/store.py": "obstore",
    "stores/databases/lmdb.py": "lmdb",
    "stores/fsspec/constructors.py": "upath",
    "stores/fsspec/store.py": "fsspec",
    "stores/n5.py": "fsspec",
    "stores/zarr_python/store.py": "zarr",
}
"""Modules with examples that need an optional package."""


def run_examples(module: ModuleType) -> tuple[int, str]:
    """How many examples there are, and the report of those that fail."""
    report: list[str] = []
    count = 0
    runner = doctest.DocTestRunner(verbose=False, optionflags=doctest.ELLIPSIS)
    known = {**vars(module), "omnizarr": omnizarr, "np": np}
    for test in doctest.DocTestFinder().find(module, globs=known):
        count += len(test.examples)
        runner.run(test, out=report.append)
    return count, "".join(report)


@pytest.mark.parametrize("file", EXAMPLES, ids=lambda file: str(file.relative_to(PACKAGE)))
def test_examples_run(file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    parts = file.relative_to(PACKAGE.parent).with_suffix("").parts
    try:
        module = importlib.import_module(".".join(parts).removesuffix(".__init__"))
    except MissingPackageError as error:
        pytest.skip(str(error))
    name = file.relative_to(PACKAGE).as_posix()
    if name in PACKAGES:
        pytest.importorskip(PACKAGES[name])
    count, report = run_examples(module)
    assert report == ""
    assert count
    skips = "+SKIP" in file.read_text(encoding="utf-8")
    assert skips == (name in SKIPPED), "skip for servers alone"


def test_an_example_that_fails_is_found() -> None:
    module = ModuleType("sample")
    module.__doc__ = ">>> 1 + 1\n2\n>>> omnizarr.zeros(3).shape\n(4,)\n"
    count, report = run_examples(module)
    assert count == 2
    assert "Got:\n    (3,)" in report


def summary() -> str:
    """Problems of every module, worst first."""
    lines = []
    everything = surface()
    bad = [(each, problems(each)) for each in everything]
    counts = Counter(each.module for each, found in bad if found)
    for module, count in counts.most_common():
        lines.append(f"{module}: {count} of {sum(each.module == module for each in everything)}")
        lines += [f"    {e.name}: {'; '.join(f)}" for e, f in bad if f and e.module == module]
    total = sum(not found for _, found in bad)
    return "\n".join([*lines, f"{total} of {len(everything)} public names have no problem"])


if __name__ == "__main__":
    print(summary())
