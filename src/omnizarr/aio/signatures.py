"""Awaited calls that take the arguments of plain ones.

The plain function says what its arguments mean and which types they have. An editor completes the
same keywords for the awaited one, and `help` shows them.

This module knows signatures. It must not know arrays.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Coroutine
from typing import Any, Concatenate, ParamSpec, TypeVar

P = ParamSpec("P")
R = TypeVar("R")
Awaited = Callable[P, Coroutine[Any, Any, R]]
_PARAMETERS = re.compile(r"\n *Parameters\n *---.*?(?=\n *\w+\n *---|\Z)", re.DOTALL)


def like(function: Callable[P, object]) -> Callable[[Awaited[..., R]], Awaited[P, R]]:
    """Give a coroutine function the arguments of `function`, and their description."""
    return lambda call: _described(call, function, _returns(call))


def awaits(function: Callable[P, R]) -> Callable[[Awaited[..., Any]], Awaited[P, R]]:
    """`like`, for a coroutine function that also returns what `function` returns."""
    return lambda call: _described(call, function, inspect.signature(function).return_annotation)


def like_method(
    function: Callable[Concatenate[Any, P], object],
) -> Callable[[Awaited[..., R]], Awaited[Concatenate[Any, P], R]]:
    """`like`, for methods."""
    return lambda call: _described(call, function, _returns(call))


def _returns(call: Callable[..., object]) -> object:
    return inspect.signature(call).return_annotation


def _described(call: Any, function: Callable[..., object], returns: object) -> Any:
    call.__signature__ = inspect.signature(function).replace(return_annotation=returns)
    call.__wrapped__ = function
    found = _PARAMETERS.search(inspect.getdoc(function) or "")
    call.__doc__ = inspect.cleandoc(call.__doc__) + ("\n" + found[0] if found else "")
    return call
