"""`array.metadata` and `group.metadata`: the stored document, for those who want to see it."""

from __future__ import annotations

from typing import Any

from omnizarr.model import json
from omnizarr.model.array import ArrayModel, GroupModel
from omnizarr.nodes.node import Place


class Metadata:
    """A node's document. Members are attributes: `array.metadata.shape`."""

    def __init__(self, place: Place, model: ArrayModel | GroupModel) -> None:
        self._place = place
        self.model = model

    @property
    def zarr_format(self) -> int | str:
        return self._place.format.name

    @property
    def node_type(self) -> str:
        return "array" if isinstance(self.model, ArrayModel) else "group"

    def to_dict(self) -> dict[str, Any]:
        """The document as it is stored, with the attributes."""
        document: dict[str, Any] = json.plain(self.model.document)
        document.setdefault("attributes", json.plain(self.model.attributes))
        return document

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        if name in self.model.document:
            return json.plain(self.model.document[name])
        if hasattr(self.model, name):
            return getattr(self.model, name)
        raise AttributeError(f"the {self.node_type}'s metadata has no member {name!r}")

    def __repr__(self) -> str:
        return f"Metadata({self.to_dict()!r})"
