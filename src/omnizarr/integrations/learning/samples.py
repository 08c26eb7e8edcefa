"""Samples of one array or of several aligned ones: what they are, and reading many at once.

A sample is one index along an axis, or a patch: a box of a given size. All reading goes through
`Samples.read`, which takes any samples in any order and reads each chunk that they need once; for
patches, once for each unit (see `windows`) that needs it.

This module knows arrays of omnizarr and NumPy. It must not know the order of an epoch, nor
frameworks.
"""

from __future__ import annotations

from collections import ChainMap, UserDict
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from math import prod
from typing import Any, Literal, NamedTuple, TypeAlias, cast

import numpy as np
import numpy.typing as npt

import omnizarr
from omnizarr import Array, Group
from omnizarr.errors import StoreError
from omnizarr.integrations.learning.windows import Integers, Shape, Units, Windows, units_of
from omnizarr.keywords import suggests
from omnizarr.stores import MappingStore, MemoryStore, StoreLike, WrapperStore

NDArray = npt.NDArray[Any]
Axis: TypeAlias = int | str
Sizes: TypeAlias = Sequence[int] | Mapping[int, int] | Mapping[str, int]
Arrays: TypeAlias = Array | Group | Mapping[str, Array] | StoreLike
ALIGNMENT = 64
"""JAX and TensorFlow take memory without a copy from such addresses only."""
THREADS = 8
"""Boxes of one batch that are read at once."""


class Member(NamedTuple):
    """One of the aligned arrays."""

    array: Array | NDArray
    """In the store, or in memory if it is small."""
    axes: Shape
    """Which of its axes are sampled, in the order of the windows."""
    shape: Shape
    """Shape of a sample."""

    @property
    def dtype(self) -> np.dtype[Any]:
        dtype = self.array.dtype
        return dtype if dtype.kind == "T" else dtype.newbyteorder("=")

    @property
    def sample_bytes(self) -> int:
        return prod(self.shape) * self.dtype.itemsize


class Samples:
    """Samples of one or several arrays.

    Parameters
    ----------
    arrays
        An array; a mapping of names to arrays, or a group, whose arrays are aligned; or the path
        or URL of an array or group.
    axis
        The axis that is sampled, by number or dimension name: each index is a sample. The first
        axis if neither this nor `patch` is given.
    patch
        Size of a patch along the axes that are sampled: a mapping of axes to lengths, or a sequence
        for the first axes. Other axes are whole. Patches that would reach beyond the array are left
        out.
    stride
        Distance of patches, in the same form; the size if left out.

    Examples
    --------
    >>> image = omnizarr.array(np.arange(24).reshape(4, 6), dimension_names=("y", "x"))
    >>> samples = Samples({"image": image}, axis="x")
    >>> len(samples), samples.read([5, 0])["image"].tolist()
    (6, [[5, 11, 17, 23], [0, 6, 12, 18]])
    >>> samples = Samples({"image": image}, patch={"y": 2, "x": 2})
    >>> len(samples), samples.read([1])["image"].tolist()
    (6, [[[2, 3], [8, 9]]])
    """

    @suggests
    def __init__(
        self,
        arrays: Arrays,
        *,
        axis: Axis | None = None,
        patch: Sizes | None = None,
        stride: Sizes | None = None,
    ) -> None:
        if axis is not None and patch is not None:
            raise ValueError(
                f"axis={axis!r} and patch={patch!r}: give one of them; a patch of length 1 along"
                " an axis takes single indices of it"
            )
        found = _arrays(arrays)
        self.single = isinstance(found, Array)
        """Whether there is one array, without a name."""
        named: Mapping[str, Array] = {"": found} if isinstance(found, Array) else found
        if not named:
            raise ValueError("no arrays to take samples of")
        sizes = {axis or 0: 1} if patch is None else _by_axis(patch)
        strides = {**sizes, **_by_axis(stride or {})}
        if min(*sizes.values(), *strides.values()) < 1 or strides.keys() != sizes.keys():
            raise ValueError(f"patch={patch!r}, stride={stride!r}: positive, of the same axes")
        drop = patch is None
        self._members = {
            name: _member(name, array, sizes, drop=drop) for name, array in named.items()
        }
        self._along = drop
        lengths = {
            name: tuple(member.array.shape[axis] for axis in member.axes)
            for name, member in self._members.items()
        }
        if len({*lengths.values()}) > 1:
            raise ValueError(f"arrays are not aligned: lengths along {[*sizes]} are {lengths}")
        length = next(iter(lengths.values()))
        if any(0 < whole < size for whole, size in zip(length, sizes.values(), strict=True)):
            raise ValueError(f"patch={patch!r} is larger than the array: {length} along its axes")
        self.windows = Windows(length, tuple(sizes.values()), tuple(strides.values()))
        self._units = self.units()

    def __len__(self) -> int:
        return len(self.windows)

    def __getstate__(self) -> dict[str, Any]:
        for member in self._members.values():
            if isinstance(member.array, Array) and _in_memory(member.array.chunk_store):
                raise StoreError(
                    f"{member.array!r} is in memory: every worker would get a copy of it"
                ).advise("save it in a folder, a database or an object store, or use no workers")
        return self.__dict__

    @property
    def specification(self) -> dict[str, tuple[Shape, np.dtype[Any]]]:
        """Shape and type of a sample of each array.

        Examples
        --------
        >>> Samples({"x": omnizarr.zeros((5, 2), dtype=">f4")}).specification
        {'x': ((2,), dtype('float32'))}
        """
        return {name: (each.shape, each.dtype) for name, each in self._members.items()}

    def units(self, by: Literal["chunk", "shard"] = "chunk") -> Units:
        """Samples by the chunk or shard of the largest array that they begin in.

        Parameters
        ----------
        by
            Which of the two.

        Examples
        --------
        >>> Samples(omnizarr.zeros(10, chunks=2, shards=4)).units("shard").sizes.tolist()
        [4, 4, 2]
        """
        if by not in ("chunk", "shard"):
            raise ValueError(f"expected 'chunk' or 'shard', found {by!r}")
        leading = max(self._members.values(), key=lambda member: member.sample_bytes)
        return units_of(self.windows, _chunk_lengths(leading, by))

    def unit_bytes(self, units: Units) -> int:
        """Memory that the largest unit takes.

        Parameters
        ----------
        units
            What `units` gave.

        Examples
        --------
        >>> samples = Samples(omnizarr.zeros((10, 3), chunks=(4, 3), dtype="f4"))
        >>> samples.unit_bytes(samples.units())
        48
        """
        most = int(units.sizes.max(initial=0))
        return most * sum(member.sample_bytes for member in self._members.values())

    def held(self, room: int) -> Samples:
        """The same, with arrays in memory that would be read again and again otherwise.

        Those are the ones whose chunks are not those of the largest array: labels, say.

        Parameters
        ----------
        room
            Bytes that each of them may take.

        Examples
        --------
        >>> samples = Samples({"x": omnizarr.zeros((6, 9), chunks=2), "y": omnizarr.ones(6)})
        >>> samples.held(1000).read([3])["y"].tolist()
        [1.0]
        """
        leading = max(self._members.values(), key=lambda member: member.sample_bytes)
        chunks = _chunk_lengths(leading, "chunk")
        copy = object.__new__(Samples)
        copy.__dict__.update(self.__dict__)
        copy._members = {
            name: member._replace(array=member.array[...])
            if member.array.nbytes <= room and _chunk_lengths(member, "chunk") != chunks
            else member
            for name, member in self._members.items()
        }
        return copy

    def read(self, samples: npt.ArrayLike) -> dict[str, NDArray]:
        """These samples of every array, one after the other along a new first axis.

        Parameters
        ----------
        samples
            Their numbers, in any order; one may come twice.

        Returns
        -------
        dict
            New arrays, in native byte order.

        Raises
        ------
        IndexError
            If there is no such sample.

        Examples
        --------
        >>> Samples(omnizarr.array([10, 20, 30])).read([2, 0])[""]
        array([30, 10])
        """
        found = np.asarray(samples)
        if found.size and found.dtype.kind not in "iu":
            raise TypeError(f"samples are whole numbers, found {samples!r}")
        wanted = found.astype(np.int64)
        if wanted.size and not (wanted.min() >= 0 and wanted.max() < len(self)):
            raise IndexError(f"no such sample: found {wanted}, there are {len(self)}")
        read = self._read_along if self._along else self._read_patches
        return {name: read(member, wanted) for name, member in self._members.items()}

    def _read_along(self, member: Member, samples: Integers) -> NDArray:
        rows = empty((len(samples), *member.shape), member.dtype)
        axis = member.axes[0]
        key = (*[slice(None)] * axis, _run(samples))
        target = np.moveaxis(rows, 0, axis)
        if isinstance(member.array, Array):
            member.array.get_orthogonal_selection(key, out=target)
        else:
            target[...] = member.array[key]
        return rows

    def _read_patches(self, member: Member, samples: Integers) -> NDArray:
        rows = empty((len(samples), *member.shape), member.dtype)
        size = np.asarray(self.windows.size)
        origins = self.windows.origins(samples)

        def fill(group: Integers) -> None:
            first = origins[group].min(axis=0)
            key = _box(member, first, origins[group].max(axis=0) + size)
            if len(group) == 1 and isinstance(member.array, Array):
                member.array.read(key, out=rows[group[0]])
                return
            box = member.array[key]
            for row in group:
                start = origins[row] - first
                rows[row] = box[_box(member, start, start + size)]

        units = self._units.holding(samples)
        order = np.argsort(units, kind="stable")
        groups = np.split(order, np.flatnonzero(np.diff(units[order])) + 1) if len(order) else []
        if len(groups) < 2:
            [*map(fill, groups)]
        else:
            with ThreadPoolExecutor(min(THREADS, len(groups))) as pool:
                [*pool.map(fill, groups)]
        return rows


def empty(shape: Shape, dtype: np.dtype[Any]) -> NDArray:
    """A new array that begins at a multiple of `ALIGNMENT` bytes.

    >>> empty((3, 2), np.dtype("f4")).ctypes.data % ALIGNMENT
    0
    """
    if dtype.hasobject:
        return np.empty(shape, dtype)
    size = prod(shape) * dtype.itemsize
    memory = np.empty(size + ALIGNMENT, np.uint8)
    start = -memory.ctypes.data % ALIGNMENT
    return memory[start : start + size].view(dtype).reshape(shape)


def _arrays(arrays: Arrays) -> Array | Mapping[str, Array]:
    if isinstance(arrays, Mapping) and not isinstance(arrays, Group):
        return cast(Mapping[str, Array], arrays)  # never a store, which may be a mapping too
    node = arrays if isinstance(arrays, Array | Group) else omnizarr.open(arrays, mode="r")
    return node if isinstance(node, Array) else dict(node.arrays())


def _by_axis(sizes: Sizes) -> dict[Axis, int]:
    return dict(sizes.items() if isinstance(sizes, Mapping) else enumerate(sizes))


def _member(name: str, array: Array, sizes: Mapping[Axis, int], *, drop: bool) -> Member:
    if not isinstance(array, Array):
        raise TypeError(f"{name!r}: expected an omnizarr.Array, found {type(array).__name__}")
    axes = tuple(_axis(name, array, axis) for axis in sizes)
    if len({*axes}) < len(axes):
        raise ValueError(f"{name!r}: axes {[*sizes]} name one axis twice")
    shape = [*array.shape]
    for axis, size in zip(axes, sizes.values(), strict=True):
        shape[axis] = size
    if drop:
        del shape[axes[0]]
    return Member(array, axes, tuple(shape))


def _axis(name: str, array: Array, axis: Axis) -> int:
    if isinstance(axis, str):
        dims = array.dims or ()
        if axis in dims:
            return dims.index(axis)
    elif -array.ndim <= axis < array.ndim:
        return axis % array.ndim
    raise ValueError(
        f"{name!r} has no axis {axis!r}: its shape is {array.shape}, its"
        f" dimension names are {array.dims}"
    )


def _chunk_lengths(member: Member, by: Literal["chunk", "shard"]) -> list[tuple[int, ...]]:
    array = member.array
    assert isinstance(array, Array)
    lengths = array.read_chunk_sizes if by == "chunk" else array.write_chunk_sizes
    return [lengths[axis] for axis in member.axes]


def _box(member: Member, first: Integers, end: Integers) -> tuple[slice, ...]:
    key = [slice(None)] * member.array.ndim
    for axis, start, stop in zip(member.axes, first.tolist(), end.tolist(), strict=True):
        key[axis] = slice(start, stop)
    return tuple(key)


def _run(samples: Integers) -> slice | Integers:
    """A slice where that selects the same: it is quicker."""
    if len(samples) and np.all(np.diff(samples) == 1):
        return slice(int(samples[0]), int(samples[-1]) + 1)
    return samples


def _in_memory(store: object) -> bool:
    while isinstance(store, WrapperStore):
        store = store.store
    if isinstance(store, MappingStore):  # another kind of mapping may reach a service
        return isinstance(store.mapping, dict | UserDict | ChainMap)
    return isinstance(store, MemoryStore)
