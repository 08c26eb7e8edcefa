"""What a buffer is: `Buffer` holds bytes, `NDBuffer` elements; `cpu` has those in plain memory.

This module knows arrays that behave like NumPy's. It must not know stores or codecs.
"""

from __future__ import annotations

import sys
from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from typing import (
    Any,
    Literal,
    NamedTuple,
    Protocol,
    Self,
    SupportsIndex,
    TypeAlias,
    cast,
    runtime_checkable,
)

import numpy as np
import numpy.typing as npt

BytesLike: TypeAlias = bytes | bytearray | memoryview
ScalarType: TypeAlias = int | float | complex | bytes | str | bool | np.generic
_COMPARED_AS = {1: "u1", 2: "u2", 4: "u4", 8: "u8"}
"""Unsigned integers in which floating-point zeros of both signs differ, by size."""
_NEVER_NAN = "USTOV"


@runtime_checkable
class ArrayLike(Protocol):
    """A sequence of bytes that can be sliced, such as a NumPy array of uint8."""

    @property
    def dtype(self) -> np.dtype[Any]: ...

    @property
    def ndim(self) -> int: ...

    @property
    def size(self) -> int: ...

    def __getitem__(self, key: slice) -> Self: ...

    def __setitem__(self, key: slice, value: Any) -> None: ...

    def copy(self) -> Self: ...


@runtime_checkable
class NDArrayLike(Protocol):
    """An array that behaves like NumPy's."""

    @property
    def dtype(self) -> np.dtype[Any]: ...

    @property
    def ndim(self) -> int: ...

    @property
    def size(self) -> int: ...

    @property
    def shape(self) -> tuple[int, ...]: ...

    def __len__(self) -> int: ...

    def __getitem__(self, key: Any) -> Any: ...

    def __setitem__(self, key: Any, value: Any) -> None: ...

    def __array__(self) -> npt.NDArray[Any]: ...

    def reshape(self, shape: Any, /) -> Any: ...

    def view(self, dtype: Any) -> Any: ...

    def astype(self, dtype: Any, order: Any = ..., *, copy: bool = ...) -> Any: ...

    def fill(self, value: Any) -> None: ...

    def copy(self) -> Self: ...

    def transpose(self, axes: Any) -> Any: ...

    def ravel(self, order: Any = ...) -> Any: ...

    def all(self) -> Any: ...

    def __eq__(self, other: object) -> Any: ...


NDArrayLikeOrScalar: TypeAlias = ScalarType | NDArrayLike


def check_item_key_is_1d_contiguous(key: Any) -> None:
    """Raise unless `key` is a slice without a step."""
    if not isinstance(key, slice):
        raise TypeError(f"Item key has incorrect type (expected slice, got {type(key).__name__})")
    if key.step not in (None, 1):
        raise ValueError("slice must be contiguous")


class Buffer(ABC):
    """The bytes of a value, as a one-dimensional array.

    Parameters
    ----------
    array_like
        An array of uint8 with one dimension.
    """

    def __init__(self, array_like: ArrayLike) -> None:
        if array_like.ndim != 1:
            raise ValueError("array_like: only 1-dim allowed")
        if array_like.dtype != np.dtype("B"):
            raise ValueError("array_like: only byte dtype allowed")
        self._data = array_like

    @classmethod
    @abstractmethod
    def create_zero_length(cls) -> Self:
        """Make an empty buffer."""
        raise NotImplementedError("Cannot call abstract method on the abstract class 'Buffer'")

    @classmethod
    def from_array_like(cls, array_like: ArrayLike) -> Self:
        """Wrap an array of bytes, without a copy."""
        return cls(array_like)

    @classmethod
    @abstractmethod
    def from_buffer(cls, buffer: Buffer) -> Self:
        """Make a buffer of this class from another one."""
        raise NotImplementedError("Cannot call abstract method on the abstract class 'Buffer'")

    @classmethod
    @abstractmethod
    def from_bytes(cls, bytes_like: BytesLike) -> Self:
        """Make a buffer of bytes."""
        raise NotImplementedError("Cannot call abstract method on the abstract class 'Buffer'")

    def as_array_like(self) -> ArrayLike:
        """Return the array inside."""
        return self._data

    @abstractmethod
    def as_numpy_array(self) -> npt.NDArray[Any]:
        """Return the bytes as a NumPy array."""

    def as_buffer_like(self) -> BytesLike:
        """Return the bytes as an object with Python's buffer protocol."""
        return memoryview(cast(Any, self.as_numpy_array()))

    def to_bytes(self) -> bytes:
        """Return a copy of the bytes."""
        return bytes(self.as_numpy_array())

    def __getitem__(self, key: slice) -> Self:
        check_item_key_is_1d_contiguous(key)
        return type(self)(self._data[key])

    def __setitem__(self, key: slice, value: Any) -> None:
        check_item_key_is_1d_contiguous(key)
        self._data[key] = value

    def __len__(self) -> int:
        return self._data.size

    @abstractmethod
    def combine(self, others: Iterable[Buffer]) -> Self:
        """Append other buffers to this one's bytes."""

    def __add__(self, other: Buffer) -> Self:
        return self.combine([other])

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Buffer) and np.array_equal(
            self.as_numpy_array(), other.as_numpy_array()
        )

    __hash__ = None  # type: ignore[assignment]  # its bytes can change


class NDBuffer:
    """The elements of a chunk, as an array that behaves like NumPy's.

    Parameters
    ----------
    array
        The array.
    """

    def __init__(self, array: NDArrayLike) -> None:
        self._data: Any = array

    @classmethod
    def create(
        cls,
        *,
        shape: Iterable[int],
        dtype: npt.DTypeLike,
        order: Literal["C", "F"] = "C",
        fill_value: Any | None = None,
    ) -> Self:
        """Make a filled buffer."""
        raise NotImplementedError("Cannot call abstract method on the abstract class 'NDBuffer'")

    @classmethod
    def empty(
        cls, shape: tuple[int, ...], dtype: npt.DTypeLike, order: Literal["C", "F"] = "C"
    ) -> Self:
        """Make a buffer whose elements are not set."""
        return cls.create(shape=shape, dtype=dtype, order=order)

    @classmethod
    def from_ndarray_like(cls, ndarray_like: NDArrayLike) -> Self:
        """Wrap an array, without a copy."""
        return cls(ndarray_like)

    @classmethod
    def from_numpy_array(cls, array_like: npt.ArrayLike) -> Self:
        """Make a buffer of what NumPy takes for an array."""
        raise NotImplementedError("Cannot call abstract method on the abstract class 'NDBuffer'")

    def as_ndarray_like(self) -> NDArrayLike:
        """Return the array inside."""
        return cast(NDArrayLike, self._data)

    def as_numpy_array(self) -> npt.NDArray[Any]:
        """Return the elements as a NumPy array."""
        raise NotImplementedError

    def as_scalar(self) -> ScalarType:
        """Return the only element."""
        if self._data.size != 1:
            raise ValueError("Buffer does not contain a single scalar value")
        return cast(ScalarType, self.as_numpy_array()[()])

    @property
    def dtype(self) -> np.dtype[Any]:
        """Type of the elements."""
        return cast("np.dtype[Any]", self._data.dtype)

    @property
    def shape(self) -> tuple[int, ...]:
        """Shape of the array."""
        return cast("tuple[int, ...]", self._data.shape)

    @property
    def byteorder(self) -> Literal["little", "big"]:
        """Byte order of the elements."""
        order = {"<": "little", ">": "big"}.get(self.dtype.byteorder, sys.byteorder)
        return cast(Literal["little", "big"], order)

    def reshape(self, newshape: tuple[int, ...] | Literal[-1]) -> Self:
        """Return the elements in another shape."""
        return type(self)(self._data.reshape((-1,) if newshape == -1 else newshape))

    def squeeze(self, axis: tuple[int, ...]) -> Self:
        """Return the elements without some axes of length 1."""
        kept = tuple(length for index, length in enumerate(self.shape) if index not in axis)
        return type(self)(self._data.reshape(kept))

    def astype(self, dtype: npt.DTypeLike, order: Literal["K", "A", "C", "F"] = "K") -> Self:
        """Return the elements converted to another type."""
        return type(self)(self._data.astype(dtype=dtype, order=order))

    def __getitem__(self, key: Any) -> Self:
        raise NotImplementedError

    def __setitem__(self, key: Any, value: Any) -> None:
        raise NotImplementedError

    def __len__(self) -> int:
        return len(self._data)

    def __repr__(self) -> str:
        return f"<NDBuffer shape={self.shape} dtype={self.dtype} {self._data!r}>"

    def all_equal(self, other: Any, equal_nan: bool = True) -> bool:
        """Tell whether every element equals `other`, bit for bit if that is a floating zero."""
        return other is not None and _all_equal(self._data, other, equal_nan)

    def fill(self, value: Any) -> None:
        """Set every element."""
        self._data.fill(value)

    def copy(self) -> Self:
        """Return a copy."""
        return type(self)(self._data.copy())

    def transpose(self, axes: SupportsIndex | Sequence[SupportsIndex] | None) -> Self:
        """Return the elements with permuted axes."""
        return type(self)(self._data.transpose(axes))


def _all_equal(data: Any, other: Any, equal_nan: bool) -> bool:
    plain = data.dtype.kind not in _NEVER_NAN
    if plain and np.asarray(other).dtype.kind == "f" and np.all(np.equal(other, 0.0)):
        ours, theirs = np.broadcast_arrays(data, np.asarray(other, data.dtype))
        bits = _COMPARED_AS.get(ours.dtype.itemsize, f"V{ours.dtype.itemsize}")
        return bool(np.array_equal(ours.view(bits), theirs.view(bits)))
    ours, theirs = np.broadcast_arrays(data, other)
    return bool(np.array_equal(ours, theirs, equal_nan=equal_nan and plain))


class BufferPrototype(NamedTuple):
    """The classes of buffers that a call makes."""

    buffer: type[Buffer]
    nd_buffer: type[NDBuffer]


def default_buffer_prototype() -> BufferPrototype:
    """Return the classes that are used where no prototype is given."""
    from omnizarr.compat.zarr3.registry import get_buffer_class, get_ndbuffer_class

    return BufferPrototype(buffer=get_buffer_class(), nd_buffer=get_ndbuffer_class())
