"""Unknown names that a user typed: the error for them, with the nearest name that is known.

This module knows text. It must not know whose names they are.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Mapping
from functools import cache, wraps
from types import MappingProxyType
from typing import ParamSpec, TypeVar

P = ParamSpec("P")
R = TypeVar("R")
T = TypeVar("T")
NONE: Mapping[str, str] = MappingProxyType({})
_WORD = 3
"""The beginning of a name is like it from this length on."""


def nearest(name: object, known: Iterable[object]) -> str:
    """A hint for the end of an error's sentence; empty if no known name is like this one.

    >>> nearest("cunks", ("chunks", "shape"))
    "; did you mean 'chunks'?"
    >>> nearest("fill", ("fill_value", "filters"))
    "; did you mean 'fill_value'?"
    """
    from difflib import get_close_matches  # only for errors

    text, names = str(name), sorted(map(str, known), key=len)
    found = get_close_matches(text, names, n=1) if len(text) <= 200 else []
    if not found and len(text) >= _WORD:
        found = [each for each in names if each.startswith(text)]
    return f"; did you mean {found[0]!r}?" if found else ""


def refuse_unknown(
    names: Iterable[str], known: Iterable[str], function: str, instead: Mapping[str, str] = NONE
) -> None:
    """Raise a TypeError for the first name that is not known.

    `instead` says what to do instead of giving a name that users expect.
    """
    known = sorted(known)
    for name in names:
        if name not in known:
            hint = f"; {instead[name]}" if name in instead else nearest(name, known)
            raise TypeError(f"{function}() got an unexpected keyword argument {name!r}{hint}")


def suggests(function: Callable[P, R], instead: Mapping[str, str] = NONE) -> Callable[P, R]:
    """Make the TypeError for an unknown keyword name the nearest known one.

    ``**arguments: Unpack[Some]`` takes the keywords of the TypedDict `Some`. They are spelt out in
    the signature that `help` and interactive completion show; ``...`` is the default of each.
    """
    code = function.__code__
    named = code.co_argcount + code.co_kwonlyargcount
    known = frozenset(code.co_varnames[code.co_posonlyargcount : named])
    signature = None
    if code.co_flags & inspect.CO_VARKEYWORDS:
        signature = inspect.signature(function)
        *plain, last = signature.parameters.values()
        spelt_out = _spelt_out(last, function)
        known |= {each.name for each in spelt_out}
        signature = signature.replace(parameters=[*plain, *spelt_out])
    name = function.__name__
    if name in ("__init__", "__new__"):  # a call of the class
        name = function.__qualname__.rpartition(".")[0]

    @wraps(function)
    def checked(*args: P.args, **kwargs: P.kwargs) -> R:
        if not known.issuperset(kwargs):
            refuse_unknown(kwargs, known - {"self", "_cls"}, name, instead)
        return function(*args, **kwargs)

    if signature is not None:
        checked.__signature__ = signature  # type: ignore[attr-defined]
    return checked


def suggests_instead(**instead: str) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """`suggests`, with what to do instead of giving some keywords."""
    return lambda function: suggests(function, instead)


def suggesting(cls: type[T]) -> type[T]:
    """`suggests` for the constructor of a dataclass or of a named tuple."""
    if issubclass(cls, tuple):
        setattr(cls, "__new__", staticmethod(suggests(cls.__new__)))  # noqa: B010
    else:
        setattr(cls, "__init__", suggests(cls.__init__))  # noqa: B010 - mypy refuses the assignment
    return cls


def _spelt_out(
    parameter: inspect.Parameter, function: Callable[..., object]
) -> tuple[inspect.Parameter, ...]:
    """The parameters that ``**arguments: Unpack[…]`` stands for."""
    name = str(parameter.annotation).removeprefix("Unpack[").removesuffix("]")
    return _keyword_parameters(function.__globals__[name])


@cache
def _keyword_parameters(keywords: type) -> tuple[inspect.Parameter, ...]:
    return tuple(
        inspect.Parameter(
            name, inspect.Parameter.KEYWORD_ONLY, default=...,
            annotation=getattr(annotation, "__forward_arg__", annotation),
        )
        for name, annotation in keywords.__annotations__.items()
    )  # fmt: skip
