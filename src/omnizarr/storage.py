"""zarr-python's name for `omnizarr.stores`, with what else its users look for there.

This module knows names. It must not know any store.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from omnizarr import stores
from omnizarr.keywords import suggests
from omnizarr.nodes.creation import overlaps
from omnizarr.nodes.node import StorePath

if TYPE_CHECKING:
    from omnizarr.stores import *  # noqa: F403

__all__ = [*stores.__all__, "StorePath", "check_apart"]


@suggests
def check_apart(data: object, store: stores.StoreLike, path: str = "") -> None:
    """Refuse to replace a node that data are still to be read from.

    Parameters
    ----------
    data
        An array, a group, or a Dask array. Values in memory are always accepted.
    store
        A path, a URL, a mapping or a store.
    path
        The node that is to be replaced, with everything below it.

    Raises
    ------
    omnizarr.errors.OverlapError
        If replacing it would delete what `data` is read from.

    Examples
    --------
    >>> group = omnizarr.group()
    >>> array = group.create_array("a", data=[1, 2, 3])
    >>> omnizarr.storage.check_apart(array, group.store, "b")
    >>> omnizarr.storage.check_apart(array, group.store)
    Traceback (most recent call last):
        ...
    omnizarr.errors.OverlapError: ...
    """
    overlaps.check_apart(data, [overlaps.Location(stores.as_store(store), path)])


def __dir__() -> list[str]:
    return sorted(__all__)


def __getattr__(name: str) -> Any:
    try:
        return getattr(stores, name)
    except AttributeError:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}") from None
