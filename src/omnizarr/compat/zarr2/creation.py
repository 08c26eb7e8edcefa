"""zarr-python 2's `zarr.creation`: functions that make arrays."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any, ParamSpec

import omnizarr
from omnizarr import Array
from omnizarr.compat.zarr2._defaults import array_arguments, creates, opens

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

P = ParamSpec("P")

create = creates(omnizarr.create)
array = creates(omnizarr.array)
empty = creates(omnizarr.empty)
zeros = creates(omnizarr.zeros)
ones = creates(omnizarr.ones)
full = creates(omnizarr.full)
open_array = opens(omnizarr.open_array, array_arguments)


def _like(function: Callable[P, Array]) -> Callable[P, Array]:
    """With the defaults of zarr-python 2, but the codecs of an `Array` that is the model."""

    @wraps(function)
    def create_like(*args: P.args, **kwargs: P.kwargs) -> Array:
        given: dict[str, Any] = kwargs
        model = args[0] if args else given.get("a")
        named = array_arguments(given, given.get("store"))
        if isinstance(model, Array) and "compressor" not in given:
            named.pop("compressor", None)
        return function(*args, **named)  # type: ignore[arg-type]

    return create_like


empty_like = _like(omnizarr.empty_like)
zeros_like = _like(omnizarr.zeros_like)
ones_like = _like(omnizarr.ones_like)
full_like = _like(omnizarr.full_like)
open_like = _like(omnizarr.open_like)
