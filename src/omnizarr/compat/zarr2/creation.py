"""zarr-python 2's `zarr.creation`: functions that make arrays."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any

import omnizarr
from omnizarr.compat.zarr2._defaults import array_arguments
from omnizarr.compat.zarr2._nodes import made
from omnizarr.compat.zarr2._wrapping import creates, opens

__all__ = [
    "array",
    "create",
    "empty",
    "empty_like",
    "full",
    "full_like",
    "ones",
    "ones_like",
    "open_array",
    "open_like",
    "zeros",
    "zeros_like",
]

create = creates(omnizarr.create)
array = creates(omnizarr.array)
empty = creates(omnizarr.empty)
zeros = creates(omnizarr.zeros)
ones = creates(omnizarr.ones)
full = creates(omnizarr.full)
open_array = opens(omnizarr.open_array, array_arguments)


def _like(function: Callable[..., Any]) -> Callable[..., Any]:
    """With the defaults of zarr-python 2, but the codecs of an `Array` that is the model."""

    @wraps(function)
    def create_like(a: object, *args: Any, **arguments: Any) -> Any:
        given = array_arguments(arguments, arguments.get("store"))
        if isinstance(a, omnizarr.Array) and "compressor" not in arguments:
            given.pop("compressor", None)
        return made(function(a, *args, **given))

    return create_like


empty_like = _like(omnizarr.empty_like)
zeros_like = _like(omnizarr.zeros_like)
ones_like = _like(omnizarr.ones_like)
full_like = _like(omnizarr.full_like)
open_like = _like(omnizarr.open_like)
