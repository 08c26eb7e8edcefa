"""Missing values: what counts as one, and the words for refusing it.

Zarr has no missing values. None and pandas.NA never are a value; NaN and NaT are one in an array of
floats or of times, and nowhere else.
"""

from __future__ import annotations

from typing import Any

import numpy as np

REMEDY = "Zarr has no missing values: put a value of your own in their place"


def place_of(index: int, shape: tuple[int, ...]) -> str:
    """The words for an element, counted in C order."""
    if not shape:
        return "the value"
    if len(shape) == 1:
        return f"element {index}"
    return f"element {tuple(int(n) for n in np.unravel_index(index, shape))}"


def missing(place: str, found: str, example: str = "") -> ValueError:
    """The error for the first value that is missing."""
    return ValueError(f"{place} is {found}. {REMEDY}{f', as in {example}' if example else ''}")


def is_missing(item: Any, kind: str) -> bool:
    """Whether an object stands for no value in an array of this kind, as NumPy names kinds."""
    if item is None:
        return True
    if isinstance(item, float | np.floating):
        return bool(item != item) and kind not in "fcV"
    if isinstance(item, tuple):
        return any(is_missing(part, "V") for part in item)
    if isinstance(item, np.datetime64 | np.timedelta64):
        return bool(np.isnat(item)) and kind not in "mMV"
    name = type(item).__name__
    return name == "NAType" or (name == "NaTType" and kind not in "mMV")


def named(item: Any) -> str:
    """The words for what was found."""
    match type(item).__name__:
        case "NAType":
            return "pandas.NA"
        case "tuple":
            return repr(item)
    return str(item)
