"""What people call the formats, for listings and help.

This module knows names only. It must not know how a format is stored.
"""

from __future__ import annotations

FormatName = int | str

_TITLES: dict[FormatName, str] = {
    0: "format 0 (persistence, zarr 0.4)",
    1: "format 1 (zarr 1)",
    2: "format 2 (zarr 2)",
    3: "format 3",
    "3-draft2019": "3-draft2019 (format 3 as drafted in 2019)",
    "3-draft2020-09": "3-draft2020-09 (format 3 as drafted in September 2020)",
    "3-draft2020-10": "3-draft2020-10 (format 3 as drafted from October 2020 to 2022)",
    "n5": "N5",
}


_NCZARR: dict[FormatName, str] = {2: "format 2 (zarr 2, NCZarr)"}
"""Those that netCDF-C writes with marks of its own."""


def title(name: FormatName, *, nczarr: bool = False) -> str:
    """A format's name with what it is known for."""
    found = _TITLES.get(name, f"format {name}")
    return _NCZARR.get(name, found) if nczarr else found


def short(name: FormatName) -> str:
    """A format's name for a narrow column."""
    return f"v{name}" if isinstance(name, int) else name


def every() -> tuple[FormatName, ...]:
    """Every format."""
    return tuple(_TITLES)


def names() -> tuple[str, ...]:
    """Every name that `zarr_format=` takes."""
    return tuple(str(name) for name in _TITLES)
