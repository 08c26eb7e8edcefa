"""A block of variable-size elements in two buffers, as Arrow and document 004 have them.

A column stands where an array of strings or byte strings could stand: it has a shape, it can be
indexed, and NumPy can convert it (`__array__`). No element is converted before that.

This module knows offsets and bytes. It must not know codecs, stores or Arrow.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np
import numpy.typing as npt

from omnizarr.model import packing
from omnizarr.model.casting import cast
from omnizarr.model.grids import NDArray
from omnizarr.model.packing import Octets, Offsets
from omnizarr.runtime.properties import cached_property

TEXT = np.dtypes.StringDType()
OBJECT = np.dtype(object)


@dataclass(frozen=True, eq=False)
class Column:
    """Text or byte strings of any length as Arrow has them: offsets and data."""

    offsets: Offsets
    """One more than there are elements; they never fall and never pass the end of `data`."""
    data: Octets
    shape: tuple[int, ...]
    """The elements are in C order."""
    text: bool
    """Every element is UTF-8; else any bytes."""

    @classmethod
    def of(cls, array: NDArray, text: bool) -> Column:
        """The elements of an array of strings or byte strings; TypeError, naming the place, for an
        element that is neither."""
        flat = np.asarray(array).reshape(-1)
        match array.dtype.kind:
            case "T":
                offsets, data = packing.from_text(flat)
            case "U" | "S":
                offsets, data = packing.from_fixed(flat)
                if text and array.dtype.kind == "S":
                    packing.check_text(offsets, data)
            case "O":
                offsets, data = packing.from_objects(flat, text)
            case _:
                wanted = "text" if text else "byte strings"
                raise TypeError(f"elements of type {array.dtype} are no {wanted}")
        return cls(offsets, data, array.shape, text)

    @classmethod
    def repeated(cls, value: str | bytes, shape: tuple[int, ...], text: bool) -> Column:
        """The same element everywhere."""
        data = value.encode() if isinstance(value, str) else value
        size = prod(shape)
        offsets = np.arange(size + 1, dtype=np.int64) * len(data)
        return cls(offsets, np.frombuffer(data * size, np.uint8), shape, text)

    @property
    def size(self) -> int:
        return self.offsets.size - 1

    @property
    def ndim(self) -> int:
        return len(self.shape)

    @property
    def dtype(self) -> np.dtype[Any]:
        """The NumPy dtype that the elements have when nothing else is asked for."""
        return TEXT if self.text else OBJECT

    @property
    def nbytes(self) -> int:
        """Bytes of all elements together."""
        return int(self.offsets[-1]) - int(self.offsets[0])

    def check(self) -> None:
        """ValueError, naming the place, unless the offsets fit and text is UTF-8."""
        if self.text:
            packing.check_text(self.offsets, self.data)
        else:
            packing.check_offsets(self.offsets, self.data.size)

    def __len__(self) -> int:
        return self.shape[0]

    def __getitem__(self, key: Any) -> Column:
        """What NumPy would select; no copy where that is all, or one piece of a flat column."""
        keys = key if isinstance(key, tuple) else (key,)
        if len(keys) == self.ndim and all(isinstance(one, slice) for one in keys):
            ranges = [one.indices(length) for one, length in zip(keys, self.shape, strict=True)]
            if ranges == [(0, length, 1) for length in self.shape]:
                return self
            if self.ndim == 1 and ranges[0][2] == 1:
                start, stop = ranges[0][0], max(ranges[0][:2])
                return Column(self.offsets[start : stop + 1], self.data, (stop - start,), self.text)
        return self.chosen(self._places[key])

    @cached_property
    def _places(self) -> npt.NDArray[np.intp]:
        """The index of every element, in the column's shape."""
        return np.arange(self.size).reshape(self.shape)

    def chosen(self, indices: NDArray) -> Column:
        """The elements at these places (counted in C order), in the shape of `indices`."""
        flat = np.ascontiguousarray(indices, dtype=np.int64).reshape(-1)
        offsets, data = packing.take(self.offsets, self.data, flat)
        return Column(offsets, data, np.shape(indices), self.text)

    def reshape(self, shape: tuple[int, ...]) -> Column:
        assert prod(shape) == self.size
        return Column(self.offsets, self.data, shape, self.text)

    def compact(self) -> Column:
        """The same, its offsets beginning at 0 and its data without anything else."""
        first, last = int(self.offsets[0]), int(self.offsets[-1])
        if first == 0 and last == self.data.size:
            return self
        offsets = self.offsets if first == 0 else self.offsets - self.offsets[0]
        return Column(offsets, self.data[first:last], self.shape, self.text)

    def is_all(self, value: str | bytes) -> bool:
        """Whether every element is this one."""
        data = value.encode() if isinstance(value, str) else value
        first = int(self.offsets[0])
        if self.nbytes != self.size * len(data):
            return False
        if not self.nbytes:
            return True
        if (np.diff(self.offsets) != len(data)).any():
            return False
        rows = self.data[first : first + self.nbytes].reshape(self.size, -1)
        return bool((rows == np.frombuffer(data, np.uint8)).all())

    def numpy(self, dtype: np.dtype[Any] | None = None) -> NDArray:
        """A new array: StringDType for text, objects for bytes, or the type that is asked for."""
        wanted = self.dtype if dtype is None else np.dtype(dtype)
        direct = wanted if wanted == self.dtype or wanted == OBJECT else self.dtype
        out = np.empty(self.size, direct)
        if direct.kind == "T":
            packing.fill_text(self.offsets, self.data, out)
        else:
            packing.fill_objects(self.offsets, self.data, self.text, out)
        result = out.reshape(self.shape)
        return result if direct == wanted else cast(result, wanted)

    def into(self, out: NDArray) -> None:
        """The elements into an array of the same shape, whatever its strides and type."""
        plain = np.asarray(out)  # a subclass could run code of its own
        if plain.flags.c_contiguous and plain.dtype == TEXT and self.text:
            packing.fill_text(self.offsets, self.data, plain.reshape(-1))
        else:
            out[...] = self.numpy(out.dtype)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray:
        if copy is False:
            raise ValueError("a column cannot become a NumPy array without a copy")
        return self.numpy(dtype)


def concatenated(columns: Sequence[Column], text: bool) -> Column:
    """One flat column of all elements, one column after the other."""
    parts = [column.compact() for column in columns]
    if len(parts) == 1:
        return parts[0].reshape((parts[0].size,))
    offsets, begin = [np.zeros(1, np.int64)], 0
    for part in parts:
        offsets.append(part.offsets[1:].astype(np.int64) + begin)
        begin += part.nbytes
    joined = np.concatenate(offsets)
    data = np.concatenate([np.zeros(0, np.uint8), *(part.data for part in parts)])
    return Column(joined, data, (joined.size - 1,), text)
