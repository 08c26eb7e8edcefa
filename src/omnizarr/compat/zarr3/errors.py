"""The errors of zarr-python 3, which are omnizarr's."""

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
