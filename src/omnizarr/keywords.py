"""Unknown names that a user typed: the error for them, with the nearest name that is known.

This module knows text. It must not know whose names they are.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable
from functools import wraps
from typing import ParamSpec, TypeVar

P = ParamSpec("P")
R = TypeVar("R")


def nearest(name: object, known: Iterable[object]) -> str:
    """A hint for the end of an error's sentence; empty if no known name is like this one.

    >>> nearest("cunks", ("chunks", "shape"))
    "; did you mean 'chunks'?"
    """
    from difflib import get_close_matches  # only for errors

    text = str(name)
    found = get_close_matches(text, map(str, known), n=1) if len(text) <= 200 else []
    return f"; did you mean {found[0]!r}?" if found else ""


def refuse_unknown(names: Iterable[str], known: Iterable[str], function: str) -> None:
    """Raise a TypeError for the first name that is not known."""
    known = sorted(known)
    for name in names:
        if name not in known:
            hint = nearest(name, known)
            raise TypeError(f"{function}() got an unexpected keyword argument {name!r}{hint}")


def suggests(function: Callable[P, R]) -> Callable[P, R]:
    """Make the TypeError for an unknown keyword name the nearest known one."""
    parameters = inspect.signature(function).parameters.values()
    known = frozenset(each.name for each in parameters if each.kind is not each.POSITIONAL_ONLY)

    @wraps(function)
    def checked(*args: P.args, **kwargs: P.kwargs) -> R:
        if not known.issuperset(kwargs):
            refuse_unknown(kwargs, known - {"self"}, function.__name__)
        return function(*args, **kwargs)

    return checked
