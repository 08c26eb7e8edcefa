"""zarr-python 2's `zarr.context`: what a store may be told about a request."""

from __future__ import annotations

from typing import Any, TypedDict

__all__ = ["Context"]


class Context(TypedDict, total=False):
    """Hints for a store; omnizarr gives none."""

    meta_array: Any
