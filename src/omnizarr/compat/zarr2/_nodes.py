"""zarr-python 2's `Array` and `Group`: omnizarr's, with the defaults and names of zarr-python 2.

An array at the root of a store has no name, a 0-d array has one chunk along one axis, and text
reads as Python objects. The data are read and written by `omnizarr.Array`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import omnizarr
from omnizarr.compat.zarr2._defaults import array_arguments, clear_above, settings
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
        super().__init__(store, path, read_only, **_settings(opened, chunk_store, synchronizer))

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
        given = _settings(opened, chunk_store, synchronizer)
        if "options" not in given:
            given["cache_attrs"] = cache_attrs
        super().__init__(store, path, read_only, **given)

    def _create(self, name: str, arguments: Mapping[str, Any]) -> omnizarr.Array:
        if arguments.get("overwrite"):
            clear_above(self.store, self._absolute(name))
        return super()._create(name, arguments)

    def _completed(self, arguments: dict[str, Any]) -> dict[str, Any]:
        given = array_arguments(arguments, self.store)
        for name in ("zarr_format", "write_empty_chunks", "text"):
            if name not in arguments:
                given.pop(name, None)  # the group has them already
        return given


def _settings(opened: dict[str, Any], chunk_store: StoreLike, synchronizer: Any) -> dict[str, Any]:
    if "options" in opened:  # of another node
        return opened
    given = settings(opened)
    given["chunk_store"], given["synchronizer"] = chunk_store, synchronizer
    return {name: value for name, value in given.items() if value is not None}


def made(node: Any) -> Any:
    """A node of omnizarr as one of this module's; anything else as it is."""
    if isinstance(node, omnizarr.Array):
        return node.as_type(Array)
    return node.as_type(Group) if isinstance(node, omnizarr.Group) else node
