"""What a user writes, as an array that broadcasts the way NumPy assigns."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt


def as_source_array(
    value: Any, dtype: np.dtype[Any], shape: tuple[int, ...] | None
) -> npt.NDArray[Any]:
    """`value` ready to be written, broadcast to `shape` if one is given.

    An array keeps its own type and is cast chunk by chunk, as NumPy's assignment does; anything
    else is converted to `dtype` at once, so that a value out of range is an error.
    """
    if dtype.hasobject and dtype.names is None:
        source = _objects(value, shape)
    elif isinstance(value, np.ndarray | np.generic) or hasattr(value, "__array__"):
        source = np.asanyarray(value)
    else:
        source = np.asarray(value, dtype=dtype)
    if dtype.kind == "T":
        _check_text(value, source)
    if isinstance(source, np.ma.MaskedArray):
        source = source.filled()
    if shape is None:
        return source
    while source.ndim > len(shape) and source.shape[0] == 1:
        source = source[0]  # NumPy ignores leading dimensions of length 1
    try:
        return np.broadcast_to(source, shape)
    except ValueError as error:
        raise ValueError(
            f"could not broadcast a value of shape {source.shape} into a selection of shape {shape}"
        ) from error


def _check_text(value: Any, source: npt.NDArray[Any]) -> None:
    """NumPy would turn None into the text 'None' and NaN into 'nan': nobody wants that stored."""
    if isinstance(value, str) or source.dtype.kind in "US":
        return
    items: Any = source.flat if source.dtype.hasobject else np.asarray(value, dtype=object).flat
    if source.dtype.kind == "T" and isinstance(value, np.ndarray):
        return
    for index, item in enumerate(items):
        if not isinstance(item, str):
            raise TypeError(
                f"an array of text takes str, found {type(item).__name__} {item!r} at element"
                f" {index}; convert it, or put a text of your own in its place"
            )


def _objects(value: Any, shape: tuple[int, ...] | None) -> npt.NDArray[Any]:
    """Objects, whatever they are: an element may itself be a list or an array."""
    array = isinstance(value, np.ndarray) and (value.dtype.hasobject or shape != ())
    if array and (shape is None or _fits(value.shape, shape)):
        return value.astype(object, copy=False)  # type: ignore[no-any-return]
    if shape == () or isinstance(value, str | bytes | dict) or not hasattr(value, "__len__"):
        single = np.empty(1, object)
        single[0] = value
        return single.reshape(())
    # A nested list may be an array of lists or a list of elements: take what fits the target.
    full = np.asarray(value, dtype=object)
    if shape is not None and full.ndim <= len(shape) and _fits(full.shape, shape):
        return full
    flat = np.empty(len(value), object)
    for index, item in enumerate(value):
        flat[index] = item
    return flat


def _fits(given: tuple[int, ...], shape: tuple[int, ...]) -> bool:
    try:
        return np.broadcast_shapes(given, shape) == shape
    except ValueError:
        return False
