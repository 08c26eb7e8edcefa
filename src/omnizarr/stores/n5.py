"""`N5Store`, `N5FSStore`: stores whose new arrays and groups are N5, as in zarr-python 2.

They are ordinary stores: keys and values are those of N5 on disk, and the format `n5` reads and
writes them. Any store can hold N5 with ``zarr_format="n5"``; these only make it the default.
"""

from __future__ import annotations

from omnizarr.stores.fsspec.store import FSStore
from omnizarr.stores.local.store import NestedDirectoryStore


class N5Store(NestedDirectoryStore):
    """A `LocalStore` for N5.

    The parameters are those of `LocalStore`.

    Examples
    --------
    >>> store = omnizarr.stores.N5Store("data.n5")
    >>> omnizarr.zeros((4, 6), chunks=(2, 3), store=store).zarr_format
    'n5'
    """

    preferred_format = "n5"


class N5FSStore(FSStore):
    """An `FSStore` for N5.

    The parameters are those of `FSStore`.

    Examples
    --------
    >>> store = omnizarr.stores.N5FSStore("memory://example/data.n5")
    >>> omnizarr.zeros((4, 6), chunks=(2, 3), store=store, overwrite=True).zarr_format
    'n5'
    """

    preferred_format = "n5"
    dimension_separator = "/"
