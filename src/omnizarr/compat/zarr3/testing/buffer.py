"""Buffers and a store that tell whether a configured class of buffers is used."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Literal, Self

import numpy as np
import numpy.typing as npt

from omnizarr.compat.zarr3.abc.store import ByteRequest
from omnizarr.compat.zarr3.core.buffer import Buffer, BufferPrototype, cpu
from omnizarr.compat.zarr3.storage import MemoryStore

__all__ = ["NDBufferUsingTestNDArrayLike", "StoreExpectingTestBuffer", "TestBuffer"]


class TestNDArrayLike(np.ndarray[Any, Any]):
    """An array of a class of its own."""

    __test__ = False


class TestBuffer(cpu.Buffer):
    """Bytes in a class of their own."""

    __test__ = False


class NDBufferUsingTestNDArrayLike(cpu.NDBuffer):
    """Elements in arrays of the class `TestNDArrayLike`."""

    @classmethod
    def create(
        cls,
        *,
        shape: Iterable[int],
        dtype: npt.DTypeLike,
        order: Literal["C", "F"] = "C",
        fill_value: Any | None = None,
    ) -> Self:
        array = TestNDArrayLike(shape=tuple(shape), dtype=dtype, order=order)
        array[...] = np.zeros((), dtype=dtype) if fill_value is None else fill_value
        return cls(array)

    @classmethod
    def empty(
        cls, shape: tuple[int, ...], dtype: npt.DTypeLike, order: Literal["C", "F"] = "C"
    ) -> Self:
        return cls.create(shape=shape, dtype=dtype, order=order)


class StoreExpectingTestBuffer(MemoryStore):
    """A store that asserts that all values but metadata (keys with "json") are `TestBuffer`s."""

    async def set(self, key: str, value: Buffer) -> None:
        assert "json" in key or isinstance(value, TestBuffer)
        await super().set(key, value)

    async def get(
        self,
        key: str,
        prototype: BufferPrototype | None = None,
        byte_range: ByteRequest | None = None,
    ) -> Buffer | None:
        assert "json" in key or (prototype is not None and prototype.buffer is TestBuffer)
        return await super().get(key, prototype, byte_range)
