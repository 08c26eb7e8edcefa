"""The errors of zarr-python 3, which are omnizarr's."""

from collections.abc import Callable
from functools import wraps
from typing import Any

from omnizarr import errors
from omnizarr.errors import (
    ArrayNotFoundError,
    BoundsCheckError,
    ChunkNotFoundError,
    ContainsArrayAndGroupError,
    ContainsArrayError,
    ContainsGroupError,
    GroupNotFoundError,
    NegativeStepError,
    NodeNotFoundError,
    PickleCodecDisabledError,
    UnknownCodecError,
    UnstableSpecificationWarning,
    VindexInvalidSelectionError,
    ZarrDeprecationWarning,
    ZarrFutureWarning,
    ZarrRuntimeWarning,
    ZarrUserWarning,
)
from omnizarr.errors import MetadataError as MetadataValidationError
from omnizarr.errors import MetadataError as NodeTypeValidationError
from omnizarr.errors import SelectionError as ArrayIndexError
from omnizarr.errors import UnknownDataTypeError as DataTypeValidationError
from omnizarr.errors import ZarrError as BaseZarrError

__all__ = [
    "ArrayIndexError",
    "ArrayNotFoundError",
    "BaseZarrError",
    "BoundsCheckError",
    "ChunkNotFoundError",
    "ContainsArrayAndGroupError",
    "ContainsArrayError",
    "ContainsGroupError",
    "DataTypeValidationError",
    "GroupNotFoundError",
    "MetadataValidationError",
    "NegativeStepError",
    "NodeNotFoundError",
    "NodeTypeValidationError",
    "PickleCodecDisabledError",
    "UnknownCodecError",
    "UnstableSpecificationWarning",
    "VindexInvalidSelectionError",
    "ZarrDeprecationWarning",
    "ZarrFutureWarning",
    "ZarrRuntimeWarning",
    "ZarrUserWarning",
]

# zarr-python's errors may be made of their parts instead of a message.
ArrayNotFoundError.of_parts = "No array found in store {!r} at path {!r}"
GroupNotFoundError.of_parts = "No group found in store {!r} at path {!r}"
ContainsArrayError.of_parts = "An array exists in store {!r} at path {!r}."
ContainsGroupError.of_parts = "A group exists in store {!r} at path {!r}."
ContainsArrayAndGroupError.of_parts = (
    "Array and group metadata documents (.zarray and .zgroup) were both found in store {!r} at path"
    " {!r}. Only one of these files may be present in a given directory / prefix. Remove the"
    " .zarray file, or the .zgroup file, or both."
)
MetadataValidationError.of_parts = "Invalid value for {!r}. Expected {!r}. Got {!r}."


class DecodeError(errors.DecodeError, ValueError):
    """Stored bytes are not what the metadata promises: a ValueError, as in zarr-python."""


class ChecksumError(errors.ChecksumError, DecodeError):
    """A checksum does not match."""


def with_value_errors(method: Callable[..., Any]) -> Callable[..., Any]:
    """The method, whose errors of damaged data are ValueErrors too."""

    @wraps(method)
    def call(*args: Any, **kwargs: Any) -> Any:
        try:
            return method(*args, **kwargs)
        except errors.DecodeError as error:
            damage = ChecksumError if isinstance(error, errors.ChecksumError) else DecodeError
            error.__class__ = damage  # it keeps its place, its advice and its traceback
            raise

    return call
