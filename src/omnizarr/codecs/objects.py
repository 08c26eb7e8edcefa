"""The codecs of Python objects: lists of items, followed by a dtype and a shape."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from omnizarr import limits
from omnizarr.codecs.base import ArrayStage, LibraryErrors, Step, unknown
from omnizarr.errors import DecodeError, EncodeError, LimitError
from omnizarr.model.grids import NDArray
from omnizarr.model.json import show
from omnizarr.model.store import Buffer

ERRORS = (TypeError, ValueError, OverflowError, RecursionError)
"""Exceptions of encoders for items that they cannot store."""

GROWTH = 16
"""How much more memory objects may take than other data: one byte can be an object of 64."""


def objects_step(
    name: str,
    stage: ArrayStage,
    trailer: int,
    encode_one: Callable[[Any], bytes],
    decode_one: Callable[[Buffer], Any],
    failures: tuple[type[Exception], ...],
    holds: str,
) -> Step:
    """The step of a codec that stores a list of items.

    `failures` are the exceptions of `decode_one`; `holds` says which items can be stored.
    """

    def encode(array: NDArray) -> bytes:
        try:
            encoded = encode_one(_enclose(array, trailer))
        except ERRORS as error:
            raise _refusal(name, array, encode_one, holds, error) from error
        _check_objects(name, len(encoded))
        return encoded

    def decode(data: Buffer) -> NDArray:
        _check_objects(name, len(data))
        with LibraryErrors(DecodeError, name, *failures):
            items = decode_one(data)
        return _arrange(name, stage, items, trailer)

    return Step(unknown(), encode, decode)


def _check_objects(name: str, size: int) -> None:
    """Refuse to read, and to write, more bytes of objects than the limit."""
    if size > limits.current.max_expansion // GROWTH:
        raise LimitError(
            f"codec {name!r}: a chunk of {size} bytes of objects, which can take many times that in"
            f" memory; the limit is {limits.current.max_expansion // GROWTH}, a {GROWTH}th of"
            f" max_expansion: make chunks smaller, or omnizarr.limits.set(max_expansion="
            f"{size * GROWTH}) raises it"
        )


def _enclose(array: NDArray, trailer: int) -> list[Any]:
    """The list that is stored: nested lists of items, the dtype and, with two, the shape."""
    items = [*np.atleast_1d(array).tolist(), array.dtype.str]
    if trailer == 2:
        items.append(list(array.shape))
    return items


def _refusal(
    name: str, array: NDArray, encode: Callable[[Any], Any], holds: str, error: Exception
) -> EncodeError:
    """The error for the first item that cannot be encoded on its own. `holds`: what can be."""
    for index in np.ndindex(array.shape):
        item: Any = array[index]
        try:
            encode(item.item() if isinstance(item, np.void) else item)
        except ERRORS as reason:
            place = index[0] if len(index) == 1 else index
            hint = f"; it holds {holds}"
            if isinstance(item, np.ndarray | np.generic):
                hint += f": give .{'tolist' if isinstance(item, np.ndarray) else 'item'}()"
            return EncodeError(
                f"codec {name!r}: element {place} of the chunk is {show(item)}"
                f" ({type(item).__name__}), which it cannot hold: {reason}{hint}"
            )
    return EncodeError(f"codec {name!r}: {error}")


def _arrange(name: str, stage: ArrayStage, items: Any, trailer: int) -> NDArray:
    """A decoded list as an array of the stage; `trailer` items at its end describe the rest.

    With two of them the last is the shape of the nested lists before. Without it they are flat,
    or nested as the stage is. The dtype that is stored says nothing that the metadata does not.
    """
    if not isinstance(items, list) or len(items) < trailer:
        raise DecodeError(f"codec {name!r}: a list was expected")
    values: Any = items[: len(items) - trailer]
    depth = 1
    if trailer == 2:
        shape = items[-1]
        if not isinstance(shape, list) or not all(type(n) is int and n >= 0 for n in shape):
            raise DecodeError(f"codec {name!r}: the shape {show(shape)} is not valid")
        depth = max(1, len(shape))
    elif len(stage.shape) > 1 and len(values) == stage.shape[0] != stage.size:
        depth = len(stage.shape)
    for _ in range(depth - 1):
        if not all(isinstance(value, list) for value in values):
            raise DecodeError(f"codec {name!r}: lists nested {depth} deep were expected")
        values = [item for value in values for item in value]
    if len(values) != stage.size:
        raise DecodeError(
            f"codec {name!r}: expected {stage.size} items for a chunk of shape {stage.shape},"
            f" found {len(values)}"
        )
    flat: NDArray = np.empty(len(values), object)
    for place, value in enumerate(values):
        flat[place] = value  # one by one: NumPy would take lists apart
    if stage.dtype.kind == "O":
        return flat.reshape(stage.shape)
    try:
        if stage.dtype.names is not None:
            return np.array([tuple(value) for value in values], stage.dtype).reshape(stage.shape)
        return np.array(values, stage.dtype).reshape(stage.shape)
    except (TypeError, ValueError, OverflowError) as error:
        raise DecodeError(f"codec {name!r}: items are not {stage.dtype}: {error}") from error
