"""zarr-python's class methods that open and make nodes: `Array.open`, `Group.from_store`, …

This module knows where a node is. It must not know what is in it.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import GenericAlias
from typing import TYPE_CHECKING, Any, Self

from omnizarr import formats
from omnizarr.config import config
from omnizarr.keywords import suggests
from omnizarr.model import json, paths
from omnizarr.model.store import Store
from omnizarr.nodes import node
from omnizarr.nodes.node import NodeAddress, Options
from omnizarr.stores import StoreLike, as_store


def place_of(store: Any) -> tuple[Store, str]:
    """The store that an object means, and the path in it: `array.store_path` has both."""
    inner, path = getattr(store, "store", None), getattr(store, "path", None)
    if inner is None or not isinstance(path, str) or isinstance(store, Store):
        return as_store(store), ""
    return as_store(inner), paths.normalize_path(path)


class Constructors:
    """The base of `Array` and `Group` that has these class methods."""

    if TYPE_CHECKING:

        def __init__(self, store: Any, path: Any = None, read_only: bool = False) -> None: ...

    @classmethod
    def __class_getitem__(cls, item: Any) -> GenericAlias:
        # `Array[AnyArray]` in annotations that were written for zarr-python.
        return GenericAlias(cls, item)

    @classmethod
    @suggests
    def open(cls, store: StoreLike, zarr_format: int | str | None = None) -> Self:
        """Open a node that exists; the same as the constructor.

        Parameters
        ----------
        store
            A store, a path, a URL, a mapping, or a place in a store (`array.store_path`).
        zarr_format
            The format to look for; without it, the format is detected.

        Returns
        -------
        Array or Group
            The node.

        Raises
        ------
        NodeNotFoundError
            If there is none of this kind.

        Examples
        --------
        >>> root = omnizarr.create_group({})
        >>> omnizarr.Group.open(root.store_path) == root
        True
        """
        backing, path = place_of(store)
        make: Any = cls
        opened: Self = make(backing, path, zarr_format=zarr_format)
        return opened


class ArrayConstructors(Constructors):
    """Those of arrays alone."""

    if TYPE_CHECKING:

        def with_config(self, config: Mapping[str, object] | object) -> Self: ...

    @classmethod
    @suggests
    def open(
        cls,
        store: StoreLike,
        zarr_format: int | str | None = None,
        config: Mapping[str, object] | None = None,
    ) -> Self:
        """Open an array that exists; the same as the constructor.

        Parameters
        ----------
        store, zarr_format
            As in `Group.open`.
        config
            Settings of the handle, as in `with_config`.

        Returns
        -------
        Array
            The array.

        Raises
        ------
        NodeNotFoundError
            If there is none.

        Examples
        --------
        >>> a = omnizarr.create_array({}, shape=3, dtype="i4")
        >>> omnizarr.Array.open(a.store_path) == a
        True
        """
        opened = super().open(store, zarr_format)
        return opened if config is None else opened.with_config(config)

    @classmethod
    @suggests
    def from_dict(cls, store_path: StoreLike, data: Mapping[str, object]) -> Self:
        """Make an array of its stored document, which is not written.

        Parameters
        ----------
        store_path
            A store, or a place in a store (`array.store_path`).
        data
            The document, as `array.metadata.to_dict()` gives it.

        Returns
        -------
        Array
            The array; reading it finds the chunks that are in the store.

        Raises
        ------
        MetadataError
            If the document is not that of an array.

        Examples
        --------
        >>> a = omnizarr.array([1, 2, 3])
        >>> omnizarr.Array.from_dict(a.store_path, a.metadata.to_dict())[:]
        array([1, 2, 3])
        """
        backing, path = place_of(store_path)
        chosen, model = formats.array_from_document(path, json.plain(dict(data)))
        make: Any = cls
        made: Self = make._of(NodeAddress(backing, path, chosen), model, Options())
        return made


class GroupConstructors(Constructors):
    """Those of groups alone."""

    @classmethod
    @suggests
    def from_store(
        cls,
        store: StoreLike,
        *,
        attributes: Mapping[str, object] | None = None,
        zarr_format: int | str | None = None,
        overwrite: bool = False,
    ) -> Self:
        """Create a group: `omnizarr.create_group`.

        Parameters
        ----------
        store
            A store, a path, a URL, a mapping, or a place in a store (`array.store_path`).
        attributes
            Attributes of the group.
        zarr_format
            Format of the group; None: `config["default_zarr_format"]`.
        overwrite
            Replace the node that is there, and everything below it.

        Returns
        -------
        Group
            The group.

        Raises
        ------
        NodeExistsError
            If a node is there, without `overwrite`.

        Examples
        --------
        >>> omnizarr.Group.from_store({}, attributes={"title": "example"}).attrs
        {'title': 'example'}
        """
        from omnizarr.nodes.creation import storing

        backing, path = place_of(store)
        default = config.get("default_zarr_format")
        chosen = node.choose_format(backing, path, zarr_format, default)
        place = NodeAddress(backing, path, chosen)
        model = chosen.new_group(json.plain(dict(attributes or {})))
        model = storing.create(place, model, overwrite=overwrite)
        make: Any = cls
        made: Self = make._of(place, model, Options())
        return made
