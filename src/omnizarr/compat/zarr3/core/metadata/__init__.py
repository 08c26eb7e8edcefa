"""The documents of arrays, as objects that libraries build and take apart."""

from typing import Any, TypeAlias

from omnizarr.compat.zarr3.core.common import for_format
from omnizarr.compat.zarr3.core.metadata.v2 import ArrayV2Metadata
from omnizarr.compat.zarr3.core.metadata.v3 import ArrayV3Metadata

__all__ = ["ArrayMetadata", "ArrayMetadataDict", "ArrayV2Metadata", "ArrayV3Metadata"]

ArrayMetadata: TypeAlias = ArrayV2Metadata | ArrayV3Metadata
ArrayMetadataDict: TypeAlias = dict[str, Any]


def shown(metadata: Any) -> Any:
    """The document of an array of omnizarr as zarr-python shows it.

    omnizarr's own, which has the same members, is shown of a group, and of an array whose format,
    data type or codec zarr-python does not have.
    """
    if metadata.node_type == "group":
        return metadata
    document = metadata.to_dict()
    try:
        return for_format(
            metadata.zarr_format,
            lambda: ArrayV2Metadata.from_dict(document),
            lambda: ArrayV3Metadata.from_dict(document),
        )
    except (TypeError, ValueError, KeyError, NotImplementedError):
        return metadata
