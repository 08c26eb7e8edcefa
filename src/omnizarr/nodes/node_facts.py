"""What is known of a node, array or group, without looking inside it.

A node is an address (store, path, format), the facts stored there, and how it was opened. This
module knows those three. It must not know chunks or members.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Generic, Self

from omnizarr.errors import StaleHandleError
from omnizarr.formats import Node
from omnizarr.model import paths
from omnizarr.model.store import Store
from omnizarr.nodes import node
from omnizarr.nodes.attributes import Attributes
from omnizarr.nodes.freshness import Freshness
from omnizarr.nodes.metadata import Metadata
from omnizarr.nodes.node import N, Options, Place, StorePath


class NodeFacts(Generic[N]):
    """The base of `Array` and `Group`; not of use by itself."""

    _place: Place
    _stored: N
    _options: Options
    _freshness: Freshness

    @classmethod
    def _of(cls, place: Place, model: N, options: Options) -> Self:
        """The node of facts that are known already."""
        made = cls.__new__(cls)
        made._set(place, model, options)
        return made

    def _set(self, place: Place, model: N, options: Options) -> None:
        self._place = place
        self._options = options
        self._freshness = Freshness()
        self._replace(model)

    def _replace(self, model: N) -> None:
        """Take over facts that were stored or read just now."""
        self._stored = model

    def refresh(self) -> None:
        """Read the metadata again; another process may have changed it."""
        model = node.reread(self._place)
        NodeFacts._require_same(self, model)
        self._replace(model)  # type: ignore[arg-type]

    def _require_same(self, found: Node) -> None:
        """StaleHandleError unless this handle can go on with the node that is stored now."""
        if type(found) is not type(self._stored):
            raise StaleHandleError(
                f"{self._place}: was replaced by a node of the other kind; open it again"
            )

    def _look(self) -> None:
        """Before a change: take over what others have changed, if this handle can go on with it."""
        if not self._options.cache_metadata:
            self.refresh()
            return
        found = self._stored_anew()
        if found is not None:
            self._take_over(found)

    def _stored_anew(self) -> Node | None:
        """The node as it is stored, if it may have changed since the last look."""
        return (
            None
            if self._options.documents_last
            else self._freshness.look(self._place, self._stored)
        )

    def _take_over(self, found: Node) -> None:
        try:
            self._require_same(found)
        except StaleHandleError:
            self._freshness.forget()  # the next call must see it again
            raise
        self._replace(found)  # type: ignore[arg-type]

    @property
    def store(self) -> Store:
        return self._place.store

    @property
    def chunk_store(self) -> Store:
        """Where chunks lie: the store itself, unless `chunk_store=` named another one."""
        return self._options.chunk_store or self.store

    @property
    def path(self) -> str:
        return self._place.path

    @property
    def name(self) -> str:
        """The path with a leading slash, as h5py names things."""
        return "/" + self.path

    @property
    def basename(self) -> str:
        return paths.name_of(self.path)

    @property
    def store_path(self) -> StorePath:
        return StorePath(self.store, self.path)

    @property
    def read_only(self) -> bool:
        return self._options.read_only or self.store.read_only

    def _check_writable(self) -> None:
        if self.read_only:
            raise node.read_only(self._place)

    @property
    def synchronizer(self) -> Any:
        return self._options.synchronizer

    @property
    def zarr_format(self) -> int | str:
        return self._place.format.name

    @property
    def metadata(self) -> Metadata:
        """The stored document, with its members as attributes."""
        return Metadata(self._place, self._stored)

    # -- attributes ---------------------------------------------------------------------------
    @property
    def attrs(self) -> Attributes:
        return Attributes(self._read_attributes, self._change_attributes)

    def _read_attributes(self) -> Mapping[str, Any]:
        if not (self._options.cache_attrs and self._options.cache_metadata):
            self.refresh()
        return self._stored.attributes

    def _change_attributes(self, function: Any) -> None:
        changed = node.change_attributes(
            self._place, self._options, function, check=self._require_same
        )
        self._take_over(changed)

    def update_attributes(self, new_attributes: Any) -> Self:
        """Set several attributes and give the node back."""
        self.attrs.update(new_attributes)
        return self

    # -- identity -----------------------------------------------------------------------------
    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, type(self))
            and self.store.identity == other.store.identity
            and self.path == other.path
        )

    def __hash__(self) -> int:
        return hash((self.store.identity, self.path))

    def __reduce__(self) -> Any:
        return _reopen, (type(self), self.store, self.path, self.zarr_format, self._options)


def _reopen(kind: Any, store: Store, path: str, zarr_format: int | str, options: Options) -> Any:
    return kind(store, path, zarr_format=zarr_format, options=options)
