"""The documents of arrays, as objects that libraries build and take apart."""

from dataclasses import replace
from typing import Any, TypeAlias

from omnizarr.compat.zarr3.core.common import for_format
from omnizarr.compat.zarr3.core.metadata.v2 import ArrayV2Metadata
from omnizarr.compat.zarr3.core.metadata.v3 import ArrayV3Metadata

__all__ = ["ArrayMetadata", "ArrayMetadataDict", "ArrayV2Metadata", "ArrayV3Metadata"]

ArrayMetadata: TypeAlias = ArrayV2Metadata | ArrayV3Metadata
ArrayMetadataDict: TypeAlias = dict[str, Any]


def shown(metadata: Any) -> Any:
    """The document of a node of omnizarr as zarr-python shows it.

    omnizarr's own, which has the same members, is shown of a node whose format, data type or codec
    zarr-python does not have.
    """
    from omnizarr.compat.zarr3.core.group import ConsolidatedMetadata, GroupMetadata

    document = metadata.to_dict()
    try:
        if metadata.node_type == "group":
            document.pop("consolidated_metadata", None)
            members = metadata.consolidated_members()
            below = {path: shown(member) for path, member in (members or {}).items()}
            copy = None if members is None else ConsolidatedMetadata.of(below)
            return replace(GroupMetadata.from_dict(document), consolidated_metadata=copy)
        return for_format(
            metadata.zarr_format,
            lambda: ArrayV2Metadata.from_dict(document),
            lambda: ArrayV3Metadata.from_dict(document),
        )
    except (TypeError, ValueError, KeyError, NotImplementedError):
        return metadata
