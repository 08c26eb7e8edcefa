"""`OMNIZARR_AS_ZARR=1 python script.py`: the script's ``import zarr`` gets omnizarr.

The file `omnizarr_as_zarr.pth` calls `activate` when the interpreter starts and the variable is
set. Nothing else is imported then: a finder waits for the first import of ``zarr``, and calls
`omnizarr.compat.install`. So other programs start as fast as before, and an error is one of that
import, never one of the start.

    OMNIZARR_AS_ZARR   1 or 3: stand in for zarr-python 3; 2: for zarr-python 2; empty or 0: off
"""

from __future__ import annotations

import os
import sys

VARIABLE = "OMNIZARR_AS_ZARR"
GENERATIONS = {"1": 3, "3": 3, "2": 2}


def activate() -> None:
    """Wait for the first import of ``zarr``."""
    if not any(isinstance(finder, _Waiting) for finder in sys.meta_path):
        sys.meta_path.insert(0, _Waiting())


class _Waiting:
    """A finder that gives way to that of omnizarr when ``zarr`` is imported."""

    def find_spec(self, fullname: str, path: object = None, target: object = None) -> object:
        if fullname.partition(".")[0] != "zarr":
            return None
        value = os.environ.get(VARIABLE, "0")
        if value in ("", "0"):
            return None
        if value not in GENERATIONS:
            raise ImportError(
                f"{VARIABLE}={value!r}: expected 1 or 3 for zarr-python 3, 2 for zarr-python 2, or"
                " nothing",
                name=fullname,
            )
        try:
            from omnizarr.compat import install
        except ImportError as error:
            raise ImportError(
                f"{VARIABLE} is set, but omnizarr cannot be imported ({error}): install it, or"
                " unset the variable",
                name=fullname,
            ) from error
        if self in sys.meta_path:
            sys.meta_path.remove(self)
        install(GENERATIONS[value])
        return sys.meta_path[0].find_spec(fullname, None, None)
