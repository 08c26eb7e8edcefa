"""Two blocks of values: how many differ, by how much, and which are the first.

This module knows arrays of NumPy. It must not know where they come from.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from omnizarr.jobs.differences.report import ValuePair

_NUMBERS = "iufc"


class Found(NamedTuple):
    """What differs in a block."""

    number: int
    largest: float | None
    examples: tuple[ValuePair, ...]


def compare(
    one: np.ndarray[Any, Any],
    other: np.ndarray[Any, Any],
    offset: tuple[int, ...],
    rtol: float,
    atol: float,
    most: int,
) -> Found:
    """Compare two blocks of one shape that begin at `offset`. NaN equals NaN.

    >>> compare(np.array([1, 2]), np.array([1, 5]), (10,), 0, 0, 1)
    Found(number=1, largest=3.0, examples=(ValuePair(coordinates=(11,), first=2, second=5),))
    """
    unequal = _unequal(one, other, rtol, atol)
    count = int(np.count_nonzero(unequal))
    if not count:
        return Found(0, None, ())
    places = np.argwhere(unequal)[:most] if unequal.ndim else np.zeros((1, 0), dtype=int)
    examples = tuple(
        ValuePair(
            tuple(int(at) + start for at, start in zip(place, offset, strict=True)),
            _plain(one[tuple(place)]),
            _plain(other[tuple(place)]),
        )
        for place in places
    )
    return Found(count, _largest(one[unequal], other[unequal]), examples)


def _unequal(
    one: np.ndarray[Any, Any], other: np.ndarray[Any, Any], rtol: float, atol: float
) -> np.ndarray[Any, Any]:
    numbers = one.dtype.kind in _NUMBERS and other.dtype.kind in _NUMBERS
    if numbers and (rtol or atol):
        with np.errstate(all="ignore"):
            return np.asarray(~np.isclose(one, other, rtol=rtol, atol=atol, equal_nan=True))
    if one.dtype.names and one.dtype.names == other.dtype.names:
        fields = [_unequal(one[name], other[name], rtol, atol) for name in one.dtype.names]
        # A field may have dimensions of its own.
        parts = [field.reshape(*one.shape, -1).any(axis=-1) for field in fields]
        return np.asarray(np.logical_or.reduce(parts))
    if one.dtype.kind == "O" or other.dtype.kind == "O":
        pairs = zip(one.ravel(), other.ravel(), strict=True)
        return np.fromiter((not _same(*pair) for pair in pairs), bool, one.size).reshape(one.shape)
    try:
        unequal = np.asarray(one != other)
    except (TypeError, np.exceptions.DTypePromotionError):
        return np.ones(one.shape, dtype=bool)
    if unequal.shape != one.shape:
        return np.ones(one.shape, dtype=bool)
    if one.dtype.kind in "fcmM" and other.dtype.kind == one.dtype.kind:
        unequal &= ~((one != one) & (other != other))
    return unequal


def _same(one: Any, other: Any) -> bool:
    if isinstance(one, np.ndarray) or isinstance(other, np.ndarray):
        return np.array_equal(one, other)
    return bool(one == other) or (one != one and other != other)


def _largest(one: np.ndarray[Any, Any], other: np.ndarray[Any, Any]) -> float | None:
    """The largest absolute difference, exact for integers of one kind."""
    kinds = one.dtype.kind + other.dtype.kind
    if any(kind not in _NUMBERS for kind in kinds):
        return None
    if kinds in ("ii", "uu"):
        low, high = np.minimum(one, other), np.maximum(one, other)
        return float((high.astype("u8") - low.astype("u8")).max())  # modulo 2⁶⁴, which is right
    with np.errstate(all="ignore"):
        wide = "c16" if "c" in kinds else "f8"
        distance = np.abs(one.astype(wide) - other.astype(wide))
    finite = distance[~np.isnan(distance)]
    return float(finite.max()) if finite.size else None


def _plain(value: Any) -> Any:
    """A value of Python that can be printed and given as JSON."""
    if isinstance(value, np.datetime64 | np.timedelta64):
        return str(value)
    found = value.item() if isinstance(value, np.generic) else value
    return found if isinstance(found, bool | int | float | str) else str(found)
