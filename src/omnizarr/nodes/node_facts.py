"""What is known of a node, an array or a group, without looking inside it.

A node is an address (store, path, format), the facts stored there, and how it was opened. This
module knows those three. It must not know chunks or members.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Generic, Protocol, Self, TypeVar

import numpy as np
import numpy.typing as npt

from omnizarr.errors import StaleHandleError
from omnizarr.formats import Node
from omnizarr.keywords import suggests
from omnizarr.model import paths
from omnizarr.model.store import Store
from omnizarr.nodes import node
from omnizarr.nodes.freshness import Freshness
from omnizarr.nodes.node import N, NodeAddress, Options, StorePath

if TYPE_CHECKING:
    from omnizarr.nodes.attributes import Attributes
    from omnizarr.nodes.creation.arguments import Synchronizer
    from omnizarr.nodes.metadata import Metadata

T = TypeVar("T")


class Page(Protocol):
    """A page that shows a node in the browser."""

    url: str
    stop: Callable[[], None]
    """Ends its server."""


class NodeFacts(Generic[N]):
    """The base of `Array` and `Group`; not of use by itself."""

    _place: NodeAddress
    _stored: N
    _options: Options
    _freshness: Freshness

    @classmethod
    def _of(cls, place: NodeAddress, model: N, options: Options) -> Self:
        """Make a node of facts that are known already."""
        made = cls.__new__(cls)
        made._set(place, model, options)
        return made

    def as_type(self, kind: type[T]) -> T:
        """Give the same node as an object of a subclass of its class.

        Parameters
        ----------
        kind
            The subclass.

        Returns
        -------
        Array or Group
            An object of that class; the node itself if it is one already.

        Examples
        --------
        >>> class Temperatures(omnizarr.Array):
        ...     unit = "K"
        >>> omnizarr.zeros(3).as_type(Temperatures).unit
        'K'
        """
        if issubclass(type(self), kind):  # `isinstance` may count other classes too
            return self  # type: ignore[return-value]
        return kind._of(self._place, self._stored, self._options)  # type: ignore[attr-defined,no-any-return]

    def _set(self, place: NodeAddress, model: N, options: Options) -> None:
        self._place = place
        self._options = options
        self._freshness = Freshness()
        self._stored = self._viewed(model)

    def _replace(self, model: N) -> None:
        """Take over facts that were stored or read just now."""
        self._stored = self._viewed(model)

    def _viewed(self, found: Node) -> Any:
        """A stored node as this handle shows it."""
        return found

    def refresh(self) -> None:
        """Read the metadata again; another process may have changed it.

        Raises
        ------
        NodeNotFoundError
            If the node was deleted.
        StaleHandleError
            If it was replaced by a node of the other kind.

        Examples
        --------
        >>> a = omnizarr.zeros(3)
        >>> omnizarr.open_array(a.store).resize(5)
        >>> a.refresh()
        >>> a.shape
        (5,)
        """
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
        """Store that holds the node's metadata, and its chunks unless `chunk_store` differs.

        Examples
        --------
        >>> omnizarr.create_group(omnizarr.MemoryStore()).store
        MemoryStore(<1 keys>)
        """
        store = self._place.store
        shown: Any = store if store.face is None else store.face
        return shown  # type: ignore[no-any-return]  # what `compat` serves behaves like one

    @property
    def chunk_store(self) -> Store:
        """Store that holds chunks: `store`, unless `chunk_store=` named another one.

        Examples
        --------
        >>> a = omnizarr.zeros(3)
        >>> a.chunk_store is a.store
        True
        """
        return self._options.chunk_store or self.store

    @property
    def path(self) -> str:
        """Path in the store, without a leading slash; empty at the root.

        Examples
        --------
        >>> omnizarr.group({}).create_group("a/b").path
        'a/b'
        """
        return self._place.path

    @property
    def name(self) -> str:
        """Path in the store with a leading slash, as in h5py.

        Examples
        --------
        >>> g = omnizarr.group().create_group("a/b")
        >>> g.path, g.name, g.basename
        ('a/b', '/a/b', 'b')
        """
        return "/" + self.path

    @property
    def basename(self) -> str:
        """Last part of the path.

        Examples
        --------
        >>> omnizarr.group({}).create_group("a/b").basename
        'b'
        """
        return paths.name_of(self.path)

    @property
    def store_path(self) -> StorePath:
        """Store and path together, as zarr-python 3 has them.

        Examples
        --------
        >>> omnizarr.group(omnizarr.MemoryStore()).create_group("a/b").store_path
        StorePath(store=MemoryStore(<3 keys>), path='a/b')
        """
        return node.store_path(self._place)

    @property
    def read_only(self) -> bool:
        """Whether writing is refused, by this handle or by the store.

        Examples
        --------
        >>> group = omnizarr.group({})
        >>> group.read_only, omnizarr.open_group(group.store, "r").read_only
        (False, True)
        """
        return self._options.read_only or self._place.store.read_only

    def _check_writable(self) -> None:
        if self.read_only:
            raise node.read_only(self._place, self._options)

    @property
    def synchronizer(self) -> Synchronizer | None:
        """The synchronizer that was given with `synchronizer=`; None if there is none.

        Examples
        --------
        >>> omnizarr.zeros(3).synchronizer is None
        True
        """
        return self._options.synchronizer

    @property
    def meta_array(self) -> npt.NDArray[Any]:
        """A 0-d array of the kind that values are read as: NumPy's, or a subclass of it that was
        given with `meta_array=`.

        Examples
        --------
        >>> omnizarr.zeros(3).meta_array
        array(0.)
        """
        kind = self._options.array_type
        return np.zeros(()) if kind is None else np.zeros(()).view(kind)

    @property
    def zarr_format(self) -> int | str:
        """Format that the node is stored in: 0, 1, 2, 3 or a name such as ``"n5"``.

        Examples
        --------
        >>> omnizarr.zeros(3, zarr_format=2).zarr_format
        2
        """
        return self._place.format.name

    @property
    def metadata(self) -> Metadata:
        """The stored document, with its members as attributes.

        Examples
        --------
        >>> omnizarr.zeros(3).metadata.node_type
        'array'
        """
        from omnizarr.nodes.metadata import Metadata

        found: Any = Metadata(self._place, self._stored)
        face = self._place.store.face
        return found if face is None else face.__omnizarr_metadata__(found)  # type: ignore[no-any-return]

    @property
    def _async_array(self) -> Any:
        """The awaited form of the node, where xarray looks for it in zarr-python's arrays."""
        face = self._place.store.face
        if face is None:
            raise AttributeError(f"{type(self).__name__!r} object has no attribute '_async_array'")
        return face.__omnizarr_awaited__(self)

    @suggests
    def browse(self, *, height: int = 600) -> Page:
        """Show the node, with all that is below it, in a frame of the notebook.

        It is the page of the command ``omnizarr browse``, which needs ``omnizarr[serve]``.

        Parameters
        ----------
        height
            Height of the frame, in pixels.

        Returns
        -------
        Page
            What the notebook displays. Its server, which other machines do not reach, runs until
            ``stop()`` is called.

        Examples
        --------
        >>> page = omnizarr.zeros((4, 6)).browse()
        >>> page
        <omnizarr page at http://127.0.0.1:...>
        >>> page.stop()
        """
        from omnizarr.runtime.optional_packages import package

        # The server is above this layer: it is looked up like a package that may be absent.
        page: Page = package("omnizarr.server.browse", "serve", "browse").show(self, height=height)
        return page

    # -- attributes ---------------------------------------------------------------------------
    @property
    def attrs(self) -> Attributes:
        """Attributes of the node: a mapping that is stored as JSON.

        Examples
        --------
        >>> a = omnizarr.zeros(3)
        >>> a.attrs["units"] = "m"
        >>> a.attrs
        {'units': 'm'}
        """
        from omnizarr.nodes.attributes import Attributes

        return Attributes(
            self._read_attributes, self._change_attributes, self.refresh, self._attributes_key
        )

    def _attributes_key(self) -> str:
        return node.attributes_key(self._place, self._stored)

    def _read_attributes(self) -> Mapping[str, Any]:
        if not (self._options.cache_attrs and self._options.cache_metadata):
            self.refresh()
        return self._stored.attributes

    def _change_attributes(self, function: Callable[[dict[str, Any]], Mapping[str, Any]]) -> None:
        changed = node.change_attributes(
            self._place, self._options, function, check=self._require_same
        )
        self._take_over(changed)

    @suggests
    def update_attributes(self, new_attributes: Mapping[str, object]) -> Self:
        """Set several attributes with one write.

        Parameters
        ----------
        new_attributes
            Names and values; other attributes stay as they are.

        Returns
        -------
        Array or Group
            The node itself.

        Examples
        --------
        >>> omnizarr.zeros(3).update_attributes({"units": "m"}).attrs
        {'units': 'm'}
        """
        self.attrs.update(new_attributes)
        return self

    # -- identity -----------------------------------------------------------------------------
    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, type(self))
            and self._place.store.identity == other._place.store.identity
            and self.path == other.path
        )

    def __hash__(self) -> int:
        return hash((self._place.store.identity, self.path))

    def __reduce__(self) -> Any:
        return _reopen, (type(self), self.store, self.path, self.zarr_format, self._options)


def _reopen(kind: Any, store: Store, path: str, zarr_format: int | str, options: Options) -> Any:
    return kind(store, path, zarr_format=zarr_format, options=options)
