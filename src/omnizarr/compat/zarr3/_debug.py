"""`print_debug_info` and zarr-python's switches for its log."""

from __future__ import annotations

import logging
import platform
import sys
from importlib.metadata import PackageNotFoundError, version

_PACKAGES = ("numpy", "numcodecs", "fsspec", "obstore", "xarray", "dask", "s3fs", "gcsfs", "rich")


def print_debug_info() -> None:
    """Print the versions that a report of a problem needs.

    Examples
    --------
    >>> from omnizarr.compat import zarr3
    >>> zarr3.print_debug_info()  # doctest: +ELLIPSIS
    platform: ...
    """
    print(f"platform: {platform.platform()}")  # noqa: T201
    print(f"python: {platform.python_version()}")  # noqa: T201
    print(f"zarr: 3.4.2 (omnizarr {_version('omnizarr')})\n")  # noqa: T201
    print("**Packages:**")  # noqa: T201
    for name in _PACKAGES:
        print(f"{name}: {_version(name)}")  # noqa: T201


def _version(name: str) -> str:
    try:
        return version(name)
    except PackageNotFoundError:
        return "not installed"


def set_log_level(level: int | str) -> None:
    """Set the level of the logger ``zarr``.

    Parameters
    ----------
    level
        A level of `logging`.
    """
    logging.getLogger("zarr").setLevel(level)


def set_format(log_format: str) -> None:
    """Set the format of messages of the logger ``zarr``.

    Parameters
    ----------
    log_format
        A format of `logging`.
    """
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(logging.Formatter(fmt=log_format))
    logging.getLogger("zarr").addHandler(handler)
