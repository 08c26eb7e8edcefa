"""`TempStore`: a `LocalStore` in a new temporary directory that goes away with the store.

This module knows when a directory ends. It must not know how values are kept in it.
"""

from __future__ import annotations

import os
import weakref
from typing import Any, Literal

from omnizarr.keywords import suggests
from omnizarr.runtime import forks
from omnizarr.stores.local.files import remove_tree
from omnizarr.stores.local.store import LocalStore


class TempStore(LocalStore):
    """Values below a new directory, removed when the store is closed, collected, or at exit.

    A pickled `TempStore` comes back as a `LocalStore` on the same directory: the original decides
    how long it exists.

    Parameters
    ----------
    suffix, prefix
        End and beginning of the directory's name.
    dir
        Directory to create it in; None: the system's directory for temporaries.
    dimension_separator
        What new arrays have between chunk coordinates; None: the default of the format.
    normalize_keys
        A keyword of zarr-python 2; only False, since the case of keys is kept.

    Examples
    --------
    >>> with omnizarr.TempStore() as store:
    ...     store.set("key", b"value")
    ...     list(store)
    ['key']
    """

    @suggests
    def __init__(
        self,
        suffix: str = "",
        prefix: str = "omnizarr",
        dir: str | os.PathLike[str] | None = None,  # noqa: A002 - the name that `tempfile` uses
        *,
        dimension_separator: Literal[".", "/"] | None = None,
        normalize_keys: bool = False,
    ) -> None:
        path = new_folder(suffix, prefix, dir)
        super().__init__(
            path, dimension_separator=dimension_separator, normalize_keys=normalize_keys
        )
        self._end = weakref.finalize(self, remove_own, path, os.getpid())

    def close(self) -> None:
        self._end()

    def __reduce__(self) -> tuple[Any, ...]:
        return LocalStore, (self.path,)


def new_folder(suffix: str, prefix: str, within: str | os.PathLike[str] | None = None) -> str:
    """The path of a new temporary directory."""
    import tempfile

    with forks.postponed:  # `tempfile` has a lock of its own, which a child could not take
        return tempfile.mkdtemp(suffix=suffix, prefix=prefix, dir=within)


def remove_own(path: str, process: int) -> None:
    """Remove a directory that this process has made."""
    if os.getpid() == process:  # a forked child must not take its parent's directory away
        remove_tree(path)
