"""Groups and their documents."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Self

from omnizarr.compat.zarr3._asynchronous import AsyncGroup
from omnizarr.compat.zarr3._nodes import Group
from omnizarr.compat.zarr3.abc.metadata import Metadata
from omnizarr.compat.zarr3.core.buffer.core import Buffer, BufferPrototype
from omnizarr.compat.zarr3.core.common import ZARR_JSON, ZATTRS_JSON, ZGROUP_JSON, for_format
from omnizarr.compat.zarr3.core.metadata.documents import json_to_buffer

__all__ = ["AsyncGroup", "Group", "GroupMetadata"]


@dataclass(frozen=True)
class GroupMetadata(Metadata):
    """The document of a group.

    Parameters
    ----------
    attributes
        The attributes.
    zarr_format
        The format: 2 or 3.
    consolidated_metadata
        Documents of the members, by their paths.
    """

    attributes: dict[str, Any] = field(default_factory=dict)
    zarr_format: int = 3
    consolidated_metadata: Any = None
    node_type: str = field(default="group", init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "attributes", dict(self.attributes or {}))

    def to_dict(self) -> dict[str, Any]:
        document: dict[str, Any] = {"attributes": self.attributes, "zarr_format": self.zarr_format}
        if self.consolidated_metadata is not None:
            document["consolidated_metadata"] = self.consolidated_metadata
        document["node_type"] = self.node_type
        return document

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Self:
        return cls(**{key: value for key, value in data.items() if key != "node_type"})

    def to_buffer_dict(self, prototype: BufferPrototype) -> dict[str, Buffer]:
        """Return the documents as bytes, by their keys."""

        def written(document: Any) -> Buffer:
            return json_to_buffer(document, prototype=prototype)

        return for_format(
            self.zarr_format,
            lambda: {
                ZGROUP_JSON: written({"zarr_format": self.zarr_format}),
                ZATTRS_JSON: written(self.attributes),
            },
            lambda: {ZARR_JSON: written(self.to_dict())},
        )
