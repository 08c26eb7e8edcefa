"""Errors and warnings of data types."""

from __future__ import annotations

import warnings

from omnizarr.errors import UnknownDataTypeError, UnstableSpecificationWarning, ZarrUserWarning

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
