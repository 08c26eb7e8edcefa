"""The documents of arrays, as objects that libraries build and take apart."""

from typing import Any, TypeAlias

from omnizarr.compat.zarr3.core.metadata.v2 import ArrayV2Metadata
from omnizarr.compat.zarr3.core.metadata.v3 import ArrayV3Metadata

__all__ = ["ArrayMetadata", "ArrayMetadataDict", "ArrayV2Metadata", "ArrayV3Metadata"]

ArrayMetadata: TypeAlias = ArrayV2Metadata | ArrayV3Metadata
ArrayMetadataDict: TypeAlias = dict[str, Any]
