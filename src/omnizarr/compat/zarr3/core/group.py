"""Groups and their documents."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Self

from omnizarr.compat.zarr3._asynchronous import AsyncGroup
from omnizarr.compat.zarr3._nodes import Group
from omnizarr.compat.zarr3.abc.metadata import Metadata
from omnizarr.compat.zarr3.core.buffer.core import Buffer, BufferPrototype
from omnizarr.compat.zarr3.core.common import ZARR_JSON, ZATTRS_JSON, ZGROUP_JSON, for_format
from omnizarr.compat.zarr3.core.metadata import ArrayV2Metadata, ArrayV3Metadata
from omnizarr.compat.zarr3.core.metadata.documents import json_to_buffer

__all__ = ["AsyncGroup", "ConsolidatedMetadata", "Group", "GroupMetadata"]


@dataclass(frozen=True)
class ConsolidatedMetadata(Metadata):
    """The documents of the nodes below a group.

    Parameters
    ----------
    metadata
        Documents of the members by their names; that of a group has those of its own members.
    kind
        Where they are stored: with the document of the group.
    must_understand
        Whether a reader that does not know them must refuse the group.
    """

    metadata: dict[str, Any] = field(default_factory=dict)
    kind: str = "inline"
    must_understand: bool = False

    @classmethod
    def of(cls, flat: Mapping[str, Any]) -> Self:
        """Make it of the documents of all nodes below, by their paths."""
        below: dict[str, dict[str, Any]] = {}
        deepest_first = sorted(flat, key=lambda path: (-path.count("/"), path))
        for path in deepest_first:
            document = flat[path]
            if isinstance(document, GroupMetadata):
                document = replace(document, consolidated_metadata=cls(below.pop(path, {})))
            parent, _, name = path.rpartition("/")
            below.setdefault(parent, {})[name] = document
        return cls(below.get("", {}))

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Self:
        return cls.of({path: _parsed(document) for path, document in data["metadata"].items()})

    @property
    def flattened_metadata(self) -> dict[str, Any]:
        """Documents of all nodes below, by their paths; groups have no members of their own."""
        found: dict[str, Any] = {}
        for name, document in self.metadata.items():
            inner = getattr(document, "consolidated_metadata", None)
            empty = ConsolidatedMetadata()
            found[name] = (
                document if inner is None else replace(document, consolidated_metadata=empty)
            )
            nodes = {} if inner is None else inner.flattened_metadata
            found |= {f"{name}/{path}": node for path, node in nodes.items()}
        return found

    def to_dict(self) -> dict[str, Any]:
        flat = self.flattened_metadata
        return {
            "kind": self.kind,
            "must_understand": self.must_understand,
            "metadata": {path: flat[path].to_dict() for path in sorted(flat)},
        }


def _parsed(document: dict[str, Any]) -> Any:
    if "shape" not in document:
        return GroupMetadata.from_dict(document)
    kind: Any = for_format(
        document["zarr_format"], lambda: ArrayV2Metadata, lambda: ArrayV3Metadata
    )
    return kind.from_dict(document)


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
        Documents of the nodes below; None if the group was opened without them.
    extra_fields
        Further members of the document, in format 3.
    """

    attributes: dict[str, Any] = field(default_factory=dict)
    zarr_format: int = 3
    consolidated_metadata: ConsolidatedMetadata | None = None
    extra_fields: dict[str, Any] = field(default_factory=dict)
    node_type: str = field(default="group", init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "attributes", dict(self.attributes or {}))

    def to_dict(self) -> dict[str, Any]:
        document: dict[str, Any] = {"attributes": self.attributes, "zarr_format": self.zarr_format}
        if self.consolidated_metadata is not None:
            document["consolidated_metadata"] = self.consolidated_metadata.to_dict()
        document["node_type"] = self.node_type
        return document | self.extra_fields

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Self:
        given = {key: value for key, value in data.items() if key != "node_type"}
        known = {key: given.pop(key) for key in ("attributes", "zarr_format") if key in given}
        copy = given.pop("consolidated_metadata", None)
        return cls(
            **known,
            consolidated_metadata=ConsolidatedMetadata.from_dict(copy) if copy else None,
            extra_fields=for_format(known.get("zarr_format", 3), dict, lambda: given),
        )

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
