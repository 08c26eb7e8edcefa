"""Datasets of HDF5 that hold the values of arrays: created, filled chunk by chunk, compared.

Chunks whose stored bytes are what HDF5's filters give (deflate, shuffle, Fletcher's checksum) are
copied. Others are decoded, and compressed with deflate if they were compressed at all. What holds
nothing but the fill value takes no room.

This module knows arrays and datasets. It must not know dimensions and groups.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import accumulate, product
from math import prod
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from omnizarr import limits
from omnizarr.codecs.conforming import conforms
from omnizarr.errors import UnsupportedError
from omnizarr.jobs.exporting.hdf5_values import Stored
from omnizarr.model.codec import CodecSpec
from omnizarr.model.grids import Shape
from omnizarr.nodes.array import Array

Advance = Callable[[int, int, str], object]
Region = tuple[slice, ...]
NDArray = npt.NDArray[Any]

MOST_AT_ONCE = 64 * limits.MIB
"""Shards up to this size are read whole, larger ones by their inner chunks."""
_MOST_CHUNK = (1 << 32) - 1
_LEVEL = 4
_COMPRESSORS = {"zlib", "gzip", "zstd", "blosc", "lz4", "lzma", "bz2", "zfpy", "pcodec", "zfp"}
_PLAIN = {"bytes", "endian"}


class Filters(NamedTuple):
    """The filters of a dataset, and whether stored chunks have been through them already."""

    level: int | None = None
    shuffle: bool = False
    fletcher32: bool = False
    same: bool = False


def filters_of(array: Array, stored: Stored) -> Filters:
    """The filters that correspond to the codecs of an array."""
    specs = list(_specs(array._source.model.codecs))
    names = [spec.name.removeprefix("numcodecs.") for spec in specs]
    packed = any(name in _COMPRESSORS for name in names)
    other = Filters(_LEVEL, array.dtype.itemsize > 1) if packed else Filters()
    found = Filters(same=stored.same_bytes)
    for name, spec in zip(names, specs, strict=True):
        given = spec.configuration
        if name == "shuffle" and found == Filters(same=True):
            if given.get("elementsize", 0) not in (0, array.dtype.itemsize):
                return other
            found = found._replace(shuffle=array.dtype.itemsize > 1)
        elif name == "zlib" and found.level is None and not found.fletcher32:
            level = given.get("level", 1)
            known = isinstance(level, int) and 0 <= level <= 9
            found = found._replace(level=int(str(level)) if known else _LEVEL)
        elif name == "fletcher32" and not found.fletcher32:
            found = found._replace(fletcher32=True)
        elif name not in _PLAIN:
            return other
    return found


def _specs(specs: Iterable[CodecSpec]) -> Iterator[CodecSpec]:
    """Codecs, and in place of shards those of their inner chunks behind a word for shards."""
    for spec in specs:
        yield spec
        inner = spec.configuration.get("codecs")
        if isinstance(inner, list):
            yield from _specs(
                each if isinstance(each, CodecSpec) else CodecSpec(str(dict(each)["name"]), {})
                for each in inner
                if isinstance(each, CodecSpec | Mapping)
            )


def chunks_for(array: Array, stored: Stored, unlimited: Sequence[bool]) -> Shape | None:
    """The chunks of the dataset; None for one without chunks."""
    if not array.shape:
        return None
    longest = tuple(max(axis, default=1) for axis in array.read_chunk_sizes)
    wanted: list[int] = []
    for length, chunk, grows in zip(array.shape, longest, unlimited, strict=True):
        whole = _nominal(array, len(wanted), chunk)
        wanted.append(max(1, whole if grows or not length else min(whole, length)))
    size = prod(wanted) * max(1, array.dtype.itemsize)
    while size > _MOST_CHUNK:
        longest_axis = wanted.index(max(wanted))
        wanted[longest_axis] = -(-wanted[longest_axis] // 2)
        size = prod(wanted) * max(1, array.dtype.itemsize)
    return (*wanted, stored.length) if stored.length else tuple(wanted)


def _nominal(array: Array, axis: int, longest: int) -> int:
    """The length of a regular chunk, which may be longer than the array."""
    chunk = array.chunks[axis]
    return chunk if isinstance(chunk, int) else longest


def create(
    group: Any, name: str, array: Array, stored: Stored, unlimited: Sequence[bool],
    **arguments: Any,
) -> Any:  # fmt: skip
    """A dataset without values."""
    shape = (*array.shape, stored.length) if stored.length else array.shape
    filters = filters_of(array, stored)
    chunks = chunks_for(array, stored, unlimited)
    if chunks is not None and (not any(unlimited) and not prod(shape)):
        chunks = None
    alone = chunks == shape and filters == Filters(same=filters.same)
    if chunks is not None and (any(unlimited) or not alone):
        maximum = tuple(None if grows else n for n, grows in zip(array.shape, unlimited,
                                                                 strict=True))  # fmt: skip
        arguments |= {
            "chunks": chunks,
            "compression": None if filters.level is None else "gzip",
            "compression_opts": filters.level,
            "shuffle": filters.shuffle,
            "fletcher32": filters.fletcher32,
        }
        if any(unlimited):
            arguments["maxshape"] = (*maximum, stored.length) if stored.length else maximum
    fill = _fill(array, stored)
    if fill is not None:
        arguments["fillvalue"] = fill
    return group.create_dataset(name, shape=shape, dtype=stored.dtype, **arguments)


def _fill(array: Array, stored: Stored) -> Any:
    """The fill value for the dataset."""
    if not stored.filled:
        return None
    return stored.convert(array._source.fill.reshape(1))[0]


# -- values ---------------------------------------------------------------------------------------


def regions(array: Array) -> Iterator[Region]:
    """The array in parts of whole shards, or of whole chunks where shards are large."""
    sizes = array.write_chunk_sizes
    largest = prod(max(axis, default=0) for axis in sizes) * array.dtype.itemsize
    if largest > MOST_AT_ONCE:
        sizes = array.read_chunk_sizes
    bounds = []
    for axis in sizes:
        stops = list(accumulate(axis))
        bounds.append([slice(stop - size, stop) for size, stop in zip(axis, stops, strict=True)])
    return product(*bounds)


def count(array: Array) -> int:
    """How many regions there are."""
    sizes = array.write_chunk_sizes
    largest = prod(max(axis, default=0) for axis in sizes) * array.dtype.itemsize
    return prod(map(len, array.read_chunk_sizes if largest > MOST_AT_ONCE else sizes))


def fill(dataset: Any, array: Array, stored: Stored, label: str, advance: Advance) -> None:
    """Write all values."""
    source = array._source
    copied = _is_copied(dataset, array, stored)
    standard = source.fill
    for region in regions(array):
        if copied and _copy(dataset, source, region):
            advance(1, _nbytes(array, region), label)
            continue
        values = read(array, region)
        if not stored.filled or not _is_all(values, standard):
            try:
                converted = stored.convert(values)
            except UnsupportedError as error:
                raise error.at(array.store, path=array.path) from error
            _write(dataset, region, converted, stored)
        advance(1, values.nbytes, label)


def read(array: Array, region: Region) -> NDArray:
    return np.asarray(array.read(region if region else Ellipsis)).reshape(
        tuple(part.stop - part.start for part in region)
    )


def _nbytes(array: Array, region: Region) -> int:
    return int(prod(part.stop - part.start for part in region) * array.dtype.itemsize)


def _write(dataset: Any, region: Region, values: NDArray, stored: Stored) -> None:
    if not region and not stored.length:
        dataset[()] = values[()]
    elif values.size:
        dataset[(*region, ...)] = values


def _is_all(values: NDArray, fill: NDArray) -> bool:
    """Whether all elements have the bytes of the fill value."""
    if not values.size or values.dtype.hasobject or not values.dtype.itemsize:
        return not values.size
    one = np.frombuffer(fill.astype(values.dtype).tobytes(), np.uint8)
    raw = np.ascontiguousarray(values).reshape(-1).view(np.uint8).reshape(-1, len(one))
    return bool((raw[0] == one).all() and (raw == one).all())


def _is_copied(dataset: Any, array: Array, stored: Stored) -> bool:
    """Whether chunks are copied without decoding them: same grid, same filters, same bytes."""
    if dataset.chunks is None or not filters_of(array, stored).same:
        return False
    return bool(array.shards is None and dataset.chunks == array.chunks and not array.is_view)


def _copy(dataset: Any, source: Any, region: Region) -> bool:
    """Copy a stored chunk. False if it must be decoded after all; one that is missing takes no
    room."""
    chunks = dataset.chunks
    place = tuple(part.start // size for part, size in zip(region, chunks, strict=True))
    value = source.fetch(source.key(place), place)
    if value is None:
        return bool(source.on_missing == "fill")
    if not conforms(source.chain_for(place), value):
        return False
    dataset.id.write_direct_chunk(tuple(part.start for part in region), bytes(value))
    return True


def differences(
    dataset: Any, array: Array, stored: Stored, label: str, advance: Advance
) -> Iterator[str]:
    """Regions that read back as something else."""
    shape = (*array.shape, stored.length) if stored.length else array.shape
    if dataset.shape != shape:
        yield f"{label}: its shape is {dataset.shape}, expected {shape}"
        return
    text = dataset.dtype.kind == "O"
    for region in regions(array):
        values = read(array, region)
        expected = stored.convert(values)
        key: Any = (*region, ...) if dataset.shape else ()
        found = np.asarray(dataset.asstr()[key] if text else dataset[key])
        if not _same(found, expected):
            where = ", ".join(f"{part.start}:{part.stop}" for part in region)
            yield f"{label}[{where}]: other values"
        advance(1, values.nbytes, label)


def _same(one: NDArray, other: NDArray) -> bool:
    if one.dtype.kind == "O" or other.dtype.kind == "O":
        return bool(np.array_equal(one.astype(object), other.astype(object)))
    same: Any = other.astype(one.dtype, copy=False)
    return bool(one.shape == same.shape and one.tobytes() == same.tobytes())
