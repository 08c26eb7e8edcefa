"""Check the options that a user gave to a store.

Errors name options, and never show values: they may be secrets (`stores.secrets`).

This module knows names and plain values. It must not know what an option does.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from math import isfinite
from operator import index
from typing import Any, SupportsIndex

from omnizarr.keywords import nearest


def refuse_unknown(what: str, given: Iterable[object], known: Iterable[str]) -> None:
    """Raise a TypeError if any of the `given` names is not known.

    >>> refuse_unknown("storage_options", ["ano"], ["anon", "key"])
    Traceback (most recent call last):
    TypeError: unknown storage_options: 'ano'; known are anon, key; did you mean 'anon'?
    """
    known = tuple(known)
    unknown = sorted((name for name in given if name not in known), key=str)
    if unknown:
        raise TypeError(
            f"unknown {what}: {', '.join(map(repr, unknown))};"
            f" known are {', '.join(known)}{nearest(unknown[0], known)}"
        )


def mapping_of(name: str, value: object) -> dict[str, Any]:
    """An option whose value is a mapping, as a new dict; empty for None."""
    if value is None:
        return {}
    if not isinstance(value, Mapping):
        raise TypeError(f"{name} must be a mapping, found {type(value).__name__}")
    return dict(value)


def is_true(value: object) -> bool:
    """Whether an option is switched on; its value may be text, as from a command line."""
    if isinstance(value, str):
        return value.strip().lower() in ("1", "true", "yes", "on")
    return bool(value)


def switch(name: str, value: object) -> bool:
    """`value`, which must be True or False: a text such as "no" would count as true."""
    if not isinstance(value, bool):
        raise TypeError(f"{name} must be True or False; found {type(value).__name__}")
    return value


def count(name: str, value: object, least: int) -> int:
    """`value` as an integer from `least` on.

    >>> count("retries", 2, 0)
    2
    """
    expected = f"{name} must be an integer from {least} on"
    if isinstance(value, bool) or not isinstance(value, SupportsIndex):
        raise TypeError(f"{expected}; found {type(value).__name__}")
    number = index(value)
    if number < least:
        raise ValueError(f"{expected}; found {number}")
    return number


def seconds(name: str, value: object, *, zero: bool = False) -> float:
    """`value` as a number of seconds above 0, or from 0 on.

    >>> seconds("timeout", 5)
    5.0
    """
    least = "from 0 on" if zero else "above 0"
    expected = f"{name} must be a number of seconds {least}, such as {name}=30"
    if isinstance(value, bool | str | bytes) or not hasattr(value, "__float__"):
        raise TypeError(f"{expected}; found {type(value).__name__}")
    number = float(value)
    if not isfinite(number) or number < 0 or (number == 0 and not zero):
        raise ValueError(f"{expected}; found {number:g}")
    return number
