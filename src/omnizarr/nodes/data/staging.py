"""Reading into the memory of a device, through buffers that the device copies from by itself.

A selection is read slab by slab, in turn into two buffers. While a slab is copied to the device,
the next one is read. Slabs end at the edges of chunks, so that no chunk is read twice.

`transfer` is all of that, for any device; `cuda_device` is the device for NVIDIA's GPUs, by CuPy.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from math import prod
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
import numpy.typing as npt

from omnizarr.errors import SelectionError
from omnizarr.indexing import Stride, Transform
from omnizarr.runtime.optional_packages import package

if TYPE_CHECKING:
    from omnizarr.model.grids import Grid

NDArray = npt.NDArray[Any]
Slab = tuple[slice, ...]
SLAB_BYTES = 64 << 20
"""Size of a buffer, unless a row of chunks is larger, or all threads are busy only with more."""
MOST_BYTES = 256 << 20
"""Size of a buffer, unless one row of chunks is larger."""


class Device(Protocol):
    """An array in the memory of a device, in C order."""

    shape: tuple[int, ...]
    dtype: np.dtype[Any]

    def buffer(self, size: int) -> NDArray:
        """Bytes of the host that the device copies from by itself."""

    def copy(self, values: NDArray, slab: Slab) -> Callable[[], object]:
        """Begin to copy to a slab of the array. The result waits until that is done."""


def transfer(read: Callable[[Slab, NDArray], object], device: Device, slabs: list[Slab]) -> None:
    """Fill the device's array with what `read(slab, into)` reads."""
    shapes = [_shape(device.shape, slab) for slab in slabs]
    most = max((prod(shape) for shape in shapes), default=0) * device.dtype.itemsize
    if not most:
        return
    buffers = [device.buffer(most) for _ in slabs[:2]]
    waiting: list[Callable[[], object]] = [lambda: None] * 2
    try:
        for number, (slab, shape) in enumerate(zip(slabs, shapes, strict=True)):
            turn = number % 2
            waiting[turn]()
            size = prod(shape) * device.dtype.itemsize
            values = buffers[turn][:size].view(device.dtype).reshape(shape)
            read(slab, values)
            waiting[turn] = device.copy(values, slab)
    finally:  # the buffers must outlive every copy
        for wait in waiting:
            wait()


def slabs_of(transform: Transform, grid: Grid, itemsize: int, threads: int = 1) -> Iterator[Slab]:
    """A selection in slabs that lie together in memory in C order, of two chunks for each thread
    where they fit."""
    shape = transform.shape
    dimension = next((d for d, length in enumerate(shape) if length != 1), None)
    if dimension is None:
        yield (slice(None),) * len(shape)
        return
    busy = 2 * threads * prod(grid.chunk_shape) * itemsize
    room = max(SLAB_BYTES, min(busy, MOST_BYTES))
    rows = max(1, room // max(1, prod(shape[dimension + 1 :]) * itemsize))
    start = 0
    for axis, chosen in enumerate(transform.axes):
        if isinstance(chosen, Stride) and chosen.dimension == dimension and chosen.step == 1:
            length = max(1, grid.chunk_shape[axis]) if grid.regular else 1
            rows = max(length, rows // length * length)
            start = -(chosen.start % length)
    before = (slice(None),) * dimension
    while start < shape[dimension]:
        yield (*before, slice(max(0, start), min(start + rows, shape[dimension])))
        start += rows


def check_shape(device: Device, transform: Transform, place: object) -> None:
    if device.shape != transform.shape:
        raise SelectionError(
            f"{place}: out has shape {device.shape}, the selection has {transform.shape}"
        )


def cuda_device(out: Any) -> Device:
    """The device of an array with `__cuda_array_interface__`: CuPy's, or a tensor on a GPU."""
    return _Cuda(out, package("cupy", "cuda", "reading into the memory of a GPU"))


class _Cuda:
    def __init__(self, out: Any, cupy: Any) -> None:
        if out.__cuda_array_interface__["data"][1]:
            raise ValueError("out is read-only")
        self._cupy = cupy
        self._target = cupy.asarray(out)  # shares the memory
        if not self._target.flags.c_contiguous:
            raise ValueError("out must be contiguous, in C order")
        self.shape = tuple(self._target.shape)
        self.dtype = np.dtype(self._target.dtype)
        with self._target.device:
            # It waits for what the default stream does with the memory.
            self._stream = cupy.cuda.Stream()

    def buffer(self, size: int) -> NDArray:
        return np.frombuffer(self._cupy.cuda.alloc_pinned_memory(size), np.uint8, size)

    def copy(self, values: NDArray, slab: Slab) -> Callable[[], object]:
        with self._target.device:
            self._target[slab].set(values, stream=self._stream)
            done: Callable[[], object] = self._stream.record().synchronize
        return done


def _shape(shape: tuple[int, ...], slab: Slab) -> tuple[int, ...]:
    cut = [len(range(*s.indices(n))) for s, n in zip(slab, shape[: len(slab)], strict=True)]
    return (*cut, *shape[len(slab) :])
