"""How long a caller lets a store wait, checked before anybody waits.

This module knows numbers of seconds. It must not know who waits for what.
"""

from __future__ import annotations

from math import isfinite


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
