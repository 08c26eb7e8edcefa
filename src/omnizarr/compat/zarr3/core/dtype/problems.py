"""Errors and warnings of data types."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

from omnizarr.errors import (
    UnknownDataTypeError,
    UnstableSpecificationWarning,
    ZarrDeprecationWarning,
    ZarrUserWarning,
)

DataTypeValidationError = UnknownDataTypeError
"""zarr-python's name: something does not describe the data type that was asked."""

__all__ = ["DataTypeValidationError", "UnstableSpecificationWarning", "ZarrUserWarning"]


def warn_unstable(dtype: object) -> None:
    """Warn that a data type has no specification of format 3."""
    warnings.warn(
        f"The data type ({dtype}) does not have a Zarr V3 specification: other libraries, and"
        " later releases, may not read arrays of it",
        UnstableSpecificationWarning,
        stacklevel=3,
    )


def moved_error(module: str) -> Callable[[str], Any]:
    """`__getattr__` of a module that had the error before `zarr.errors`: it warns."""
    name = "DataTypeValidationError"

    def find(asked: str) -> Any:
        if asked != name:
            raise AttributeError(f"module {module!r} has no attribute {asked!r}")
        warnings.warn(
            f"{name} of {module} is deprecated: import it from zarr.errors",
            ZarrDeprecationWarning,
            stacklevel=2,
        )
        return DataTypeValidationError

    return find
