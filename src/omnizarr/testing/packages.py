"""The packages that the suites of tests need, or an error that says how to install them."""

from __future__ import annotations

from omnizarr.errors import MissingPackageError

try:
    import pytest
    from hypothesis import HealthCheck, given, settings
    from hypothesis import strategies as st
except ImportError as error:
    raise MissingPackageError(
        "the test suites need the packages pytest and hypothesis: pip install pytest hypothesis"
    ) from error

__all__ = ["HealthCheck", "given", "pytest", "settings", "st"]
