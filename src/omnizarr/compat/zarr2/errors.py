"""zarr-python 2's `zarr.errors`; the classes are omnizarr's own."""

from __future__ import annotations

from typing import NoReturn

from omnizarr.errors import (
    ArrayIndexError,
    ArrayNotFoundError,
    BadCompressorError,
    BoundsCheckError,
    ContainsArrayError,
    ContainsGroupError,
    CopyError,
    FSPathExistNotDir,
    GroupNotFoundError,
    MetadataError,
    NegativeStepError,
    PathNotFoundError,
    ReadOnlyError,
    SelectionError,
    VindexInvalidSelectionError,
)

__all__ = [
    "ArrayIndexError",
    "ArrayNotFoundError",
    "BadCompressorError",
    "BoundsCheckError",
    "ContainsArrayError",
    "ContainsGroupError",
    "CopyError",
    "FSPathExistNotDir",
    "GroupNotFoundError",
    "MetadataError",
    "NegativeStepError",
    "PathNotFoundError",
    "ReadOnlyError",
    "VindexInvalidSelectionError",
    "err_too_many_indices",
]


def err_too_many_indices(selection: object, shape: tuple[int, ...]) -> NoReturn:
    """Raise the error for a selection with more entries than the array has dimensions.

    Parameters
    ----------
    selection
        The selection.
    shape
        The shape of the array.
    """
    entries = len(selection) if isinstance(selection, tuple) else 1
    raise SelectionError(
        f"too many indices: expected at most {len(shape)} for shape {shape}, found {entries}"
    )
