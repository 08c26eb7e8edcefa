"""zarr-python's ways to make a `FsspecStore`: from a URL, an `FSMap`, a `UPath`.

This module knows what those objects are. It must not know how a filesystem is called.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Protocol, Self

from omnizarr.keywords import suggests

if TYPE_CHECKING:
    from fsspec import AbstractFileSystem
    from fsspec.mapping import FSMap


class FilesystemPath(Protocol):
    """What a `upath.UPath` is here: a filesystem and a path in it."""

    @property
    def fs(self) -> AbstractFileSystem: ...

    @property
    def path(self) -> str: ...


class FsspecConstructors:
    """The base of `FsspecStore` that has these class methods."""

    if TYPE_CHECKING:

        def __init__(self, url_or_fs: Any, path: str = "", **options: Any) -> None: ...

    @classmethod
    @suggests
    def from_url(
        cls,
        url: str,
        storage_options: Mapping[str, object] | None = None,
        *,
        read_only: bool = False,
    ) -> Self:
        """Make the store of a URL; the same as the constructor.

        Parameters
        ----------
        url
            A URL, chained or not.
        storage_options
            Arguments for the filesystem of the URL.
        read_only
            Refuse every change.

        Returns
        -------
        FsspecStore
            The store.

        Examples
        --------
        >>> omnizarr.stores.FsspecStore.from_url("memory://example")
        FsspecStore('memory://example')
        """
        return cls(url, storage_options=storage_options, read_only=read_only)

    @classmethod
    @suggests
    def from_mapper(cls, fs_map: FSMap, *, read_only: bool = False) -> Self:
        """Make the store of a mapper of fsspec.

        Parameters
        ----------
        fs_map
            As `fsspec.get_mapper` gives it.
        read_only
            Refuse every change.

        Returns
        -------
        FsspecStore
            The store, on the mapper's filesystem.

        Examples
        --------
        >>> import fsspec
        >>> omnizarr.stores.FsspecStore.from_mapper(fsspec.get_mapper("memory://example"))
        FsspecStore('memory://example')
        """
        return cls(fs_map.fs, fs_map.root, read_only=read_only)

    @classmethod
    @suggests
    def from_upath(cls, upath: FilesystemPath, *, read_only: bool = False) -> Self:
        """Make the store of a path of `universal_pathlib`.

        Parameters
        ----------
        upath
            A `upath.UPath`.
        read_only
            Refuse every change.

        Returns
        -------
        FsspecStore
            The store, on the path's filesystem.

        Examples
        --------
        >>> from upath import UPath
        >>> omnizarr.stores.FsspecStore.from_upath(UPath("memory://example"))
        FsspecStore('memory://example')
        """
        return cls(upath.fs, upath.path, read_only=read_only)
