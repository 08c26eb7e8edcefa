"""Check the options that only a web store has.

This module knows what may be given. It must not know what an option does.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from operator import index
from typing import SupportsIndex


def statuses(given: object) -> frozenset[int]:
    """The option `missing_statuses`."""
    expected = "missing_statuses must be statuses from 100 to 599, such as (403, 404)"
    if isinstance(given, str | bytes) or not isinstance(given, Iterable):
        raise TypeError(f"{expected}; found {type(given).__name__}")
    for status in (found := list(given)):
        if isinstance(status, bool) or not isinstance(status, SupportsIndex):
            raise TypeError(f"{expected}; found one of type {type(status).__name__}")
        if not 100 <= index(status) <= 599:
            raise ValueError(f"{expected}; found {status}")
    return frozenset(map(index, found))


def authorities(given: object) -> bool | str:
    """The option `verify`."""
    if isinstance(given, bool | str):
        return given
    if isinstance(given, os.PathLike):
        return os.fsdecode(given)
    raise TypeError(
        "verify must be True, False or the path of a file or folder of authorities;"
        f" found {type(given).__name__}"
    )


def certificate(given: object) -> str | tuple[str, str] | None:
    """The option `cert`."""
    if given is None or isinstance(given, str):
        return given
    if isinstance(given, os.PathLike):
        return os.fsdecode(given)
    match given:
        case [str() | os.PathLike() as file, str() | os.PathLike() as key]:
            return os.fsdecode(file), os.fsdecode(key)
    raise TypeError(
        "cert must be the path of a client certificate, or a pair of it and its key;"
        f" found {type(given).__name__}"
    )
