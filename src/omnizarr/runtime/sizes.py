"""Numbers of bytes that a person writes: "512 MiB", "2 GB"."""

from __future__ import annotations

import re

_PREFIXES = "kmgtpe"
_TEXT = re.compile(r"\s*(\d+(?:\.\d+)?)\s*(?:([kmgtpe])(i?))?b?\s*", re.IGNORECASE)


def as_bytes(given: int | str, name: str = "max_memory") -> int:
    """Bytes from a number, or from text such as "512 MiB" (2²⁰) or "2 GB" (10⁹).

    >>> as_bytes("1.5 MiB"), as_bytes("2GB"), as_bytes(4096)
    (1572864, 2000000000, 4096)
    """
    nbytes: int | None = None
    if isinstance(given, str):
        found = _TEXT.fullmatch(given)
        if found is not None:
            number, prefix, binary = found.groups()
            step = 1024 if binary else 1000
            power = 0 if prefix is None else 1 + _PREFIXES.index(prefix.lower())
            nbytes = round(float(number) * step**power)
    elif type(given) is int:
        nbytes = given
    if nbytes is None or nbytes < 1:
        raise ValueError(
            f"{name} must be a number of bytes, or text such as '512 MiB'; found {given!r}"
        )
    return nbytes
