"""The native core for tests that need it."""

from __future__ import annotations

import os
import shutil
from typing import Any

import pytest

try:
    import omnizarr_native as core
except ModuleNotFoundError:
    core = None


def needed() -> Any:
    """The core; what could have been built and was not is a failure."""
    if os.environ.get("OMNIZARR_NATIVE") == "0":
        pytest.skip("OMNIZARR_NATIVE=0 switches the native core off", allow_module_level=True)
    if core is None and shutil.which("cargo"):
        pytest.fail("omnizarr_native is not installed, but cargo is here: pip install ./native")
    if core is None:
        pytest.skip(
            "omnizarr_native is not installed, and there is no cargo to build it with",
            allow_module_level=True,
        )
    return core
