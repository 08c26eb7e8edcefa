"""zarr-python's name for `omnizarr.stores`, with what else its users look for there.

This module knows names. It must not know any store.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from omnizarr import stores
from omnizarr.nodes.node import StorePath

if TYPE_CHECKING:
    from omnizarr.stores import *  # noqa: F403

__all__ = [*stores.__all__, "StorePath"]


def __dir__() -> list[str]:
    return sorted(__all__)


def __getattr__(name: str) -> Any:
    try:
        return getattr(stores, name)
    except AttributeError:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}") from None
