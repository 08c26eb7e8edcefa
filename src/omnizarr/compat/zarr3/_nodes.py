"""zarr-python 3's `Array` and `Group`: omnizarr's, with zarr-python's texts.

Arrays and groups that omnizarr itself opened count as instances of these classes.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Self

import omnizarr
from omnizarr.compat.zarr3._grids import check_compressors, check_grid
from omnizarr.compat.zarr3._texts import Info, Tree, array_info, group_info
from omnizarr.compat.zarr3.abc.metadata import Metadata
from omnizarr.compat.zarr3.core.common import for_format
from omnizarr.compat.zarr3.errors import with_value_errors

__all__ = ["Array", "Group", "described", "made"]


class _OfNodes(type(omnizarr.Group)):  # type: ignore[misc]  # mypy wants a name
    """Counts the nodes of omnizarr's own class `_counts` among its instances."""

    def __instancecheck__(self, instance: Any) -> bool:
        own = vars(self).get("_counts")
        return super().__instancecheck__(instance) or (
            own is not None and isinstance(instance, own)
        )


class Array(omnizarr.Array, metaclass=_OfNodes):
    """A chunked, compressed N-dimensional array in a store."""

    _counts = omnizarr.Array

    @classmethod
    def from_dict(cls, store_path: Any, data: Mapping[str, object]) -> Self:
        """Make an array of its document, which is not written.

        Parameters
        ----------
        store_path
            A store, or a place in a store.
        data
            The document, of format 2 or 3.
        """

        def refuse() -> None:
            if data.get("storage_transformers"):
                raise ValueError(
                    "Arrays with storage transformers are not supported in zarr-python at this"
                    " time."
                )

        for_format(data.get("zarr_format"), lambda: None, refuse)
        return super().from_dict(store_path, data)

    @property
    def info(self) -> Info:  # type: ignore[override]  # as in zarr-python
        """Report of the array's facts. It does not read the store."""
        return array_info(self)

    def info_complete(self) -> Info:  # type: ignore[override]  # as in zarr-python
        """Report the array's facts and what is stored. It lists the store."""
        return array_info(self, counted=True)

    def __repr__(self) -> str:
        return f"<Array {self.store_path} shape={self.shape} dtype={self.dtype}>"


for _name in (
    "__getitem__",
    "__setitem__",
    "append",
    *(
        f"{way}_{kind}_selection"
        for way in ("get", "set")
        for kind in ("basic", "block", "coordinate", "mask", "orthogonal")
    ),
):
    setattr(Array, _name, with_value_errors(getattr(omnizarr.Array, _name)))


class Group(omnizarr.Group, metaclass=_OfNodes):
    """A group of arrays and groups in a store."""

    _counts = omnizarr.Group
    _array_type = Array

    def _completed(self, arguments: dict[str, Any]) -> dict[str, Any]:
        check_grid(arguments)
        check_compressors(arguments)
        return super()._completed(arguments)

    @property
    def info(self) -> Info:  # type: ignore[override]  # as in zarr-python
        """Report of the group's facts. It does not read the store."""
        return group_info(self)

    def info_complete(self) -> Info:  # type: ignore[override]  # as in zarr-python
        """Report the group's facts and its members. It lists the store."""
        return group_info(self, listed=True)

    def tree(  # type: ignore[override]  # as in zarr-python
        self,
        expand: bool | None = None,
        level: int | None = None,
        *,
        max_nodes: int = 500,
        plain: bool = False,
    ) -> Tree:
        """Draw the group and everything below it.

        Parameters
        ----------
        expand
            Refused, as zarr-python does.
        level
            How many levels below the members to show; None for all.
        max_nodes
            How many nodes to show.
        plain
            Leave out bold letters.
        """
        if expand is not None:
            raise NotImplementedError("'expand' is not implemented: a tree is shown as text")
        return Tree(self, level, max_nodes=max_nodes, plain=plain)

    def create_hierarchy(
        self, nodes: Mapping[str, Any], *, overwrite: bool = False
    ) -> Iterator[tuple[str, Any]]:
        """Create arrays and groups of their documents, by their paths below this group."""
        created = super().create_hierarchy(described(nodes), overwrite=overwrite)
        return ((name, made(node)) for name, node in created)

    def __repr__(self) -> str:
        return f"<Group {self.store_path}>"


def described(nodes: Mapping[str, Any]) -> dict[str, Any]:
    """New nodes by their paths, as omnizarr takes them; zarr-python takes their documents."""
    return {path: _described(node) for path, node in nodes.items()}


def _described(node: Any) -> Any:
    if not isinstance(node, Metadata):
        return node
    document = node.to_dict()
    if "shape" not in document:
        return {"attributes": document["attributes"]}
    return omnizarr.Array.from_dict({}, document).metadata


def made(node: Any) -> Any:
    """A node of omnizarr as one of this module's; anything else as it is."""
    if isinstance(node, omnizarr.Array):
        return node.as_type(Array)
    return node.as_type(Group) if isinstance(node, omnizarr.Group) else node
