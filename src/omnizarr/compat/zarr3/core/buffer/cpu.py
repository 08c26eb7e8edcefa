"""Buffers in ordinary memory, over NumPy."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, Literal, Self

import numpy as np
import numpy.typing as npt

from omnizarr.compat.zarr3.core.buffer import core
from omnizarr.compat.zarr3.core.buffer.core import BytesLike

__all__ = [
    "Buffer",
    "NDBuffer",
    "as_numpy_array_wrapper",
    "buffer_prototype",
    "numpy_buffer_prototype",
]


class Buffer(core.Buffer):
    """The bytes of a value, in a NumPy array.

    Parameters
    ----------
    array_like
        An array of uint8 with one dimension.
    """

    @classmethod
    def create_zero_length(cls) -> Self:
        return cls(np.array([], dtype="B"))

    @classmethod
    def from_buffer(cls, buffer: core.Buffer) -> Self:
        return cls.from_array_like(buffer.as_numpy_array())

    @classmethod
    def from_bytes(cls, bytes_like: BytesLike) -> Self:
        return cls.from_array_like(np.frombuffer(bytes_like, dtype="B"))

    def as_numpy_array(self) -> npt.NDArray[Any]:
        return np.asanyarray(self._data)

    def combine(self, others: Iterable[core.Buffer]) -> Self:
        parts = [self._data, *(other.as_array_like() for other in others)]
        return type(self)(np.concatenate([np.asanyarray(part) for part in parts]))


class NDBuffer(core.NDBuffer):
    """The elements of a chunk, in a NumPy array.

    Parameters
    ----------
    array
        The array.
    """

    @classmethod
    def create(
        cls,
        *,
        shape: Iterable[int],
        dtype: npt.DTypeLike,
        order: Literal["C", "F"] = "C",
        fill_value: Any | None = None,
    ) -> Self:
        data = np.zeros(tuple(shape), dtype=dtype, order=order)
        if not (fill_value is None or (isinstance(fill_value, int) and fill_value == 0)):
            data[...] = fill_value
        return cls(_typed(data, dtype))

    @classmethod
    def empty(
        cls, shape: tuple[int, ...], dtype: npt.DTypeLike, order: Literal["C", "F"] = "C"
    ) -> Self:
        return cls(_typed(np.empty(shape=shape, dtype=dtype, order=order), dtype))

    @classmethod
    def from_numpy_array(cls, array_like: npt.ArrayLike) -> Self:
        return cls.from_ndarray_like(np.asanyarray(array_like))

    def as_numpy_array(self) -> npt.NDArray[Any]:
        return np.asanyarray(self._data)

    def __getitem__(self, key: Any) -> Self:
        # An added Ellipsis keeps a single element a view.
        entries = key if isinstance(key, tuple) else (key,)
        viewed = any(entry is Ellipsis for entry in entries)
        return type(self)(np.asanyarray(self._data[key if viewed else (*entries, ...)]))

    def __setitem__(self, key: Any, value: Any) -> None:
        self._data[key] = value._data if isinstance(value, core.NDBuffer) else value


def _typed(data: npt.NDArray[Any], dtype: npt.DTypeLike) -> npt.NDArray[Any]:
    """The array with exactly this dtype: NumPy drops scale and byte order of a time without a
    unit."""
    wanted = np.dtype(dtype)
    if data.dtype == wanted:
        return data
    return data.view(np.int64).astype(f"{wanted.byteorder}i8").view(wanted)


def as_numpy_array_wrapper(
    func: Callable[[npt.NDArray[Any]], BytesLike],
    buf: core.Buffer,
    prototype: core.BufferPrototype,
) -> core.Buffer:
    """Apply a function from an array to bytes to a buffer."""
    return prototype.buffer.from_bytes(func(buf.as_numpy_array()))


buffer_prototype = core.BufferPrototype(buffer=Buffer, nd_buffer=NDBuffer)
"""The classes of this module."""


def numpy_buffer_prototype() -> core.BufferPrototype:
    """Return the classes of this module."""
    return buffer_prototype
