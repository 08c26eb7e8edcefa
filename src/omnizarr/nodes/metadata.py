"""`array.metadata` and `group.metadata`: the stored document."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from omnizarr.model import json
from omnizarr.model.array import ArrayModel, GroupModel
from omnizarr.nodes.node import NodeAddress

if TYPE_CHECKING:  # jedi fails on a property that is a Literal, so that the TAB key offers nothing
    NodeType: TypeAlias = Literal["array", "group"]

_TUPLES = ("shape", "chunks")


class Metadata:
    """The document of a node, as it is stored; its members are attributes.

    `dimension_names` is a tuple or None in a format that has this member, and an AttributeError in
    others.

    Examples
    --------
    >>> omnizarr.zeros(3).metadata.chunk_key_encoding
    {'name': 'default', 'configuration': {'separator': '/'}}
    """

    def __init__(self, place: NodeAddress, model: ArrayModel | GroupModel) -> None:
        self._place = place
        self.model = model

    @property
    def zarr_format(self) -> int | str:
        """Format of the document."""
        return self._place.format.name

    @property
    def node_type(self) -> NodeType:
        """Kind of the node, in every format."""
        return "array" if isinstance(self.model, ArrayModel) else "group"

    @property
    def document_keys(self) -> tuple[str, ...]:
        """Keys of the documents that may describe the node; not all of them need to be stored.

        Examples
        --------
        >>> omnizarr.zeros(3, zarr_format=2, path="a").metadata.document_keys
        ('a/.zarray', 'a/.zgroup', 'a/.zattrs')
        """
        return self._place.format.keys(self._place.path)

    def to_dict(self) -> dict[str, Any]:
        """Return the document as it is stored, with the attributes.

        Returns
        -------
        dict
            A copy of the document.

        Examples
        --------
        >>> omnizarr.zeros(3).metadata.to_dict()["shape"]
        [3]
        """
        document: dict[str, Any] = json.plain(self.model.document)
        document.setdefault("attributes", json.plain(self.model.attributes))
        return document

    def consolidated_members(self) -> dict[str, Metadata] | None:
        """Documents of the nodes below a group that was opened through consolidated metadata.

        Returns
        -------
        dict or None
            The documents by their paths below the group; None if it was opened without.

        Examples
        --------
        >>> root = omnizarr.group({})
        >>> root["a"] = [1, 2, 3]
        >>> list(omnizarr.consolidate_metadata(root.store).metadata.consolidated_members())
        ['a']
        """
        found = self.model.consolidated if isinstance(self.model, GroupModel) else None
        if found is None:
            return None
        return {path: Metadata(self._place.child(path), node) for path, node in found.items()}

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        has_names = self.node_type == "array" and self._place.format.names_dimensions
        if name != "dimension_names" and name in self.model.document:
            value = json.plain(self.model.document[name])
            return tuple(value) if name in _TUPLES and isinstance(value, list) else value
        # Elsewhere dimension names are an attribute, and libraries ask for the member to find out.
        if hasattr(self.model, name) and (name != "dimension_names" or has_names):
            found = getattr(self.model, name)
            return json.plain(found) if name == "attributes" else found
        if name == "consolidated_metadata" and isinstance(self.model, GroupModel):
            return self.model.consolidated
        raise AttributeError(f"the {self.node_type}'s metadata has no member {name!r}")

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, Metadata)
            and self._place.format is other._place.format
            and self.to_dict() == other.to_dict()
        )

    __hash__ = None  # type: ignore[assignment]  # a document can change

    def __repr__(self) -> str:
        return f"Metadata({self.to_dict()!r})"
