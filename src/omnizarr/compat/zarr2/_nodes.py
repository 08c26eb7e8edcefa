"""zarr-python 2's `Array` and `Group`: omnizarr's, with the defaults and names of zarr-python 2.

An array at the root of a store has no name, a 0-d array has one chunk along one axis, and text
reads as Python objects. The data are read and written by `omnizarr.Array`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from types import EllipsisType
from typing import Any, SupportsIndex

from numcodecs.registry import get_codec

import omnizarr
from omnizarr.compat.zarr2._defaults import array_arguments, clear_above, settings
from omnizarr.compat.zarr2._reports import InfoReporter, TreeViewer, array_rows, group_rows
from omnizarr.compat.zarr2._stores import opened as opened_store
from omnizarr.stores import StoreLike

__all__ = ["Array", "Group", "made"]


class Array(omnizarr.Array):
    """A chunked, compressed N-dimensional array in a store.

    Parameters
    ----------
    store
        A store, a path, a URL or a mapping.
    path
        Path of the array in the store.
    read_only
        Whether writing is refused.
    chunk_store
        Another store for the chunks.
    synchronizer
        A lock to hold during writes.
    **opened
        All other keywords of `omnizarr.Array`.
    """

    def __init__(
        self,
        store: StoreLike,
        path: str | None = None,
        read_only: bool = False,
        chunk_store: StoreLike = None,
        synchronizer: Any = None,
        **opened: Any,
    ) -> None:
        store = opened_store(store)
        given = _settings(store, opened, chunk_store, synchronizer)
        super().__init__(store, path, read_only, **given)

    @property
    def name(self) -> str | None:  # type: ignore[override]  # as in zarr-python 2
        """Path with a leading slash; None at the root."""
        return "/" + self.path if self.path else None

    @property
    def basename(self) -> str | None:  # type: ignore[override]  # as in zarr-python 2
        """Last part of the path; None at the root."""
        return super().basename or None

    @property
    def cdata_shape(self) -> tuple[int, ...]:
        """Number of chunks along each dimension; (1,) of a 0-d array."""
        counts = super().cdata_shape
        return counts if counts else (1,)

    @property
    def compressor(self) -> Any:
        """The compressor, a codec of numcodecs; None if there is none."""
        found = super().compressor
        wrapped = getattr(self.store, "wrapped", None)
        return found if wrapped is None else wrapped(self, found)

    @property
    def filters(self) -> Any:
        """The filters as the document of format 2 lists them, codecs of numcodecs; None if there
        are none."""
        document = self.metadata.to_dict()
        if "filters" not in document:
            return super().filters or None
        return [get_codec(config) for config in document["filters"] or ()] or None

    def digest(self, hashname: str = "sha1") -> bytes:
        """Hash the array: chunks in grid order, then its documents.

        Parameters
        ----------
        hashname
            Any name that `hashlib.new` takes.

        Returns
        -------
        bytes
            The digest.
        """
        own = getattr(self.store, "digest", None)
        found: bytes = super().digest(hashname) if own is None else own(self, hashname)
        return found

    def info_items(self) -> list[tuple[str, str]]:
        """List what is known of the array, with what is stored. It lists the store.

        Returns
        -------
        list of tuple of str
            Name and value of every row.
        """
        return array_rows(self)

    @property
    def info(self) -> InfoReporter:  # type: ignore[override]  # as in zarr-python 2
        """Report of the array's facts, with what is stored. It lists the store."""
        return InfoReporter(self)

    def __setitem__(self, key: Any, value: Any) -> None:
        self._check_shape(key, value)
        super().__setitem__(key, value)

    def set_basic_selection(self, selection: Any, value: Any, **more: Any) -> None:
        """Write what ``array[selection] = value`` writes.

        Parameters
        ----------
        selection
            As between the brackets of ``array[…]``.
        value
            A scalar, or an array of the selection's shape.
        **more
            All other keywords of `omnizarr.Array.set_basic_selection`.

        Raises
        ------
        ValueError
            If the value is an array of another shape.
        """
        self._check_shape(selection, value)
        super().set_basic_selection(selection, value, **more)

    def _check_shape(self, selection: Any, value: Any) -> None:
        """Refuse an array that NumPy would broadcast: zarr-python 2 takes the shape of integers and
        slices, or a scalar."""
        shape = getattr(value, "shape", ())
        entries = selection if isinstance(selection, tuple) else (selection,)
        if not shape or self.dtype.hasobject or not all(map(_is_basic, entries)):
            return
        wanted = self.lazy[selection].shape
        if wanted and tuple(shape) != wanted:
            raise ValueError(f"expected a value of shape {wanted}, found {shape}")

    def islice(self, start: int | None = None, end: int | None = None) -> Iterator[Any]:
        """Iterate along the first dimension.

        Parameters
        ----------
        start, end
            First index, and the one after the last.

        Raises
        ------
        ValueError
            If one of them is negative or no integer.
        """
        for bound in (start, end):
            if bound is not None and (int(bound) != bound or bound < 0):
                raise ValueError("start and end must be integers from 0 on")
        return super().islice(start, end)


class Group(omnizarr.Group):
    """A group of arrays and groups in a store.

    Parameters
    ----------
    store
        A store, a path, a URL or a mapping.
    path
        Path of the group in the store.
    read_only
        Whether changes are refused.
    chunk_store
        Another store for chunks.
    cache_attrs
        Read the attributes once.
    synchronizer
        A lock to hold during changes.
    **opened
        All other keywords of `omnizarr.Group`.
    """

    _array_type = Array

    def __init__(
        self,
        store: StoreLike,
        path: str | None = None,
        read_only: bool = False,
        chunk_store: StoreLike = None,
        cache_attrs: bool = True,
        synchronizer: Any = None,
        **opened: Any,
    ) -> None:
        store = opened_store(store)
        given = _settings(store, opened, chunk_store, synchronizer)
        if "options" not in given:
            given["cache_attrs"] = cache_attrs
        super().__init__(store, path, read_only, **given)

    def _create(self, name: str, arguments: Mapping[str, Any]) -> omnizarr.Array:
        if arguments.get("overwrite"):
            clear_above(self.store, self._absolute(name))
        return super()._create(name, arguments)

    def _completed(self, arguments: dict[str, Any]) -> dict[str, Any]:
        given = array_arguments(arguments, self.store)
        for name in ("zarr_format", "write_empty_chunks", "text", "allow_pickle"):
            if name not in arguments:
                given.pop(name, None)  # the group has them already
        return given

    def info_items(self) -> list[tuple[str, str]]:
        """List what is known of the group and its members.

        Returns
        -------
        list of tuple of str
            Name and value of every row.
        """
        return group_rows(self)

    @property
    def info(self) -> InfoReporter:  # type: ignore[override]  # as in zarr-python 2
        """Report of the group's facts and its members."""
        return InfoReporter(self)

    def tree(  # type: ignore[override]  # as in zarr-python 2
        self, expand: bool | None = False, level: int | None = None, **more: Any
    ) -> TreeViewer:
        """Draw the group and everything below it.

        Parameters
        ----------
        expand
            Whether the HTML is unfolded.
        level
            How many levels to draw; None for all.
        **more
            All other keywords of `omnizarr.Group.tree`.

        Returns
        -------
        TreeViewer
            The drawing: text with `str`, ASCII with `bytes`, HTML in a notebook.
        """
        return TreeViewer(self, expand, level, **more)

    def empty_like(self, name: str, data: object, **arguments: Any) -> omnizarr.Array:
        """Create an array without a fill value, otherwise like another one.

        Parameters
        ----------
        name
            Path below this group.
        data
            An array that gives shape, type, chunks and codecs.
        **arguments
            Keywords of `create_dataset`; they replace what `data` gives.

        Returns
        -------
        Array
            The new array.
        """
        return super().empty_like(name, data, **{"fill_value": None, **arguments})


def _is_basic(entry: object) -> bool:
    return isinstance(entry, SupportsIndex | slice | EllipsisType) and not hasattr(entry, "shape")


def _settings(
    store: Any, opened: dict[str, Any], chunk_store: StoreLike, synchronizer: Any
) -> dict[str, Any]:
    if "options" in opened:  # of another node
        return opened
    given = settings(opened)
    if getattr(store, "preferred_format", None) is not None:
        given.pop("zarr_version", None)  # N5 is of version 2 there
    given["chunk_store"], given["synchronizer"] = chunk_store, synchronizer
    return {name: value for name, value in given.items() if value is not None}


def made(node: Any) -> Any:
    """A node of omnizarr as one of this module's; anything else as it is."""
    if isinstance(node, omnizarr.Array):
        return node.as_type(Array)
    return node.as_type(Group) if isinstance(node, omnizarr.Group) else node
