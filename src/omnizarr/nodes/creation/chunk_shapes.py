"""Chunk and shard shapes from what a user says.

`chunks` may be a shape, one int for all dimensions, a shape with -1 or None for "all of this
dimension", a shorter shape (the rest is taken whole), False for one chunk, True, None or
"auto" for a shape chosen here, a size such as "10 MB" for one of about that many bytes, or lists of
lengths per dimension for a rectilinear grid. `shards` may be such lists too.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from math import ceil, prod
from numbers import Integral
from typing import Any

from omnizarr import limits
from omnizarr.config import config
from omnizarr.errors import MetadataError
from omnizarr.keywords import refuse_unknown
from omnizarr.model.grids import Shape

TARGET_BYTES = 1 << 20
"""Automatic chunks stay near this size: large enough to compress and transfer well, small
enough that a point read stays cheap."""
LARGEST_BYTES = 16 << 20
_LONGEST = (1 << 63) - 1
"""Longer dimensions are refused where a document is read."""

Chunks = tuple[int | tuple[int, ...], ...]
_SIZE = re.compile(r"\s*(\d{1,15}(?:\.\d{1,15})?)\s*([kmgt]?)(i?)b?\s*", re.IGNORECASE)
_FORMS = "ints, True, False, 'auto' or a size such as '10 MB'"


def parse_bytes(text: str) -> int | None:
    """The number of bytes that a text such as "10 MB", "256kB" or "1 MiB" means; None if it is no
    size. A number alone is none: it might be meant as a length.

    >>> parse_bytes("10 MB"), parse_bytes("1MiB"), parse_bytes("100")
    (10000000, 1048576, None)
    """
    match = _SIZE.fullmatch(text)
    if match is None or text.strip()[-1].isdigit():
        return None
    power = " kmgt".index(match[2].lower() or " ")
    if match[3] and not power:
        return None
    return int(float(match[1]) * (1024 if match[3] else 1000) ** power)


def normalize_shape(shape: Any) -> Shape:
    """A shape as a tuple of ints; one int makes a 1-d array."""
    if isinstance(shape, Integral):
        shape = (shape,)
    try:
        lengths = tuple(int(n) if isinstance(n, Integral) else _index(n) for n in shape)
    except TypeError as error:
        raise TypeError(f"shape must be an int or a sequence of ints, found {shape!r}") from error
    if any(n < 0 for n in lengths):
        raise MetadataError(f"shape {lengths} has a negative length")
    if len(lengths) > limits.current.max_dimensions:
        raise MetadataError(
            f"shape has {len(lengths)} dimensions; limits.max_dimensions allows"
            f" {limits.current.max_dimensions}"
        )
    if any(n > _LONGEST for n in lengths):
        raise MetadataError(f"shape {lengths} has a length above 2**63 - 1, which cannot be opened")
    return lengths


def resized_shape(given: Any, old: tuple[int, ...], where: str) -> tuple[int, ...]:
    """The shape that is asked for; None leaves a dimension as it is."""
    if isinstance(given, tuple | list) and len(given) == len(old):
        given = [length if n is None else n for n, length in zip(given, old, strict=True)]
    new = normalize_shape(given)
    if len(new) != len(old):
        raise MetadataError(
            f"{where}: cannot resize {old} to {new}: the new shape must have the same number of"
            " dimensions"
        )
    return new


def _index(value: Any) -> int:
    if hasattr(value, "__index__"):
        return int(value.__index__())
    if isinstance(value, float) and value.is_integer():
        return int(value)
    raise TypeError(f"expected an int, found {value!r}")


def _edges(value: Any) -> int | tuple[int, ...]:
    """One length, or the lengths that a sequence or NumPy array lists."""
    is_list = isinstance(value, Sequence) and not isinstance(value, str)
    if is_list or getattr(value, "ndim", 0) > 0:
        return tuple(map(_index, value))
    return _index(value)


def normalize_chunks(chunks: Any, shape: Shape, itemsize: int) -> Chunks:
    """A chunk length, or a tuple of them, for every dimension."""
    if chunks is True or chunks is None or (isinstance(chunks, str) and chunks == "auto"):
        return guess_chunks(shape, itemsize)
    if chunks is False:
        return tuple(max(1, n) for n in shape)
    if isinstance(chunks, str | bytes):
        return _cut(shape, itemsize, _size(chunks, "chunks"))
    if isinstance(chunks, Integral) or getattr(chunks, "shape", None) == ():
        chunks = (_index(chunks),) * len(shape)
    if not isinstance(chunks, Sequence | tuple):
        try:
            chunks = tuple(chunks)
        except TypeError as error:
            raise TypeError(f"chunks must be {_FORMS}, found {chunks!r}") from error
    if len(chunks) > len(shape):
        raise MetadataError(f"chunks {tuple(chunks)} has more dimensions than shape {shape}")
    lengths: list[int | tuple[int, ...]] = []
    for length, chunk in zip(
        shape, tuple(chunks) + (None,) * (len(shape) - len(chunks)), strict=True
    ):
        if chunk is None or (isinstance(chunk, Integral) and chunk == -1):
            lengths.append(max(1, length))
        else:
            lengths.append(_edges(chunk))
    for edge in lengths:
        if isinstance(edge, int) and edge < 1:
            raise MetadataError(
                f"Chunk size must be positive or -1, got {edge} in chunks {tuple(lengths)}"
            )
    if any(isinstance(edge, tuple) for edge in lengths):
        return _simplified(tuple(lengths), shape)
    return tuple(lengths)


def _simplified(chunks: Chunks, shape: Shape) -> Chunks:
    """Equal lengths, as Dask lists them, are a regular axis (its last chunk may be shorter)."""
    out: list[int | tuple[int, ...]] = []
    for dimension, (length, edges) in enumerate(zip(shape, chunks, strict=True)):
        if isinstance(edges, tuple) and sum(edges) < length:
            raise MetadataError(
                f"dimension {dimension}: chunk lengths sum to {sum(edges)}, the array has"
                f" {length}; list all of them, or give one number for chunks of equal lengths"
            )
        if (
            isinstance(edges, tuple)
            and edges
            and len(set(edges[:-1])) <= 1
            and edges[-1] <= edges[0]
        ):
            out.append(edges[0])
        else:
            out.append(edges)
    return tuple(out)


def guess_chunks(shape: Shape, itemsize: int) -> Shape:
    """A chunk shape near the target size, cut along the longest dimensions first."""
    chunks = [max(1, n) for n in shape]
    itemsize = max(1, itemsize)
    total = prod(chunks) * itemsize
    # Larger arrays get larger chunks, up to a bound, so that their number grows more slowly.
    target = min(
        LARGEST_BYTES, max(TARGET_BYTES, int((total / TARGET_BYTES) ** 0.25 * TARGET_BYTES))
    )
    while chunks and prod(chunks) * itemsize > target:
        longest = max(range(len(chunks)), key=lambda dimension: chunks[dimension])
        if chunks[longest] == 1:
            break
        chunks[longest] = ceil(chunks[longest] / 2)
    return tuple(chunks)


def _size(text: str | bytes, what: str) -> int:
    size = parse_bytes(text) if isinstance(text, str) else None
    if not size:
        raise MetadataError(f"{what} must be {_FORMS}, found {text!r}")
    return size


def _cut(shape: Shape, itemsize: int, target: int) -> Shape:
    """The largest chunk shape that stays below a size, cut along the longest dimensions first."""
    chunks = [max(1, n) for n in shape]
    itemsize = max(1, itemsize)
    while chunks and prod(chunks) * itemsize > target:
        longest = max(range(len(chunks)), key=lambda dimension: chunks[dimension])
        if chunks[longest] == 1:
            break
        fitting = max(1, target // (prod(chunks) // chunks[longest] * itemsize))
        chunks[longest] = max(fitting, ceil(chunks[longest] / 2))
    return tuple(chunks)


def normalize_shards(shards: Any, shape: Shape, chunks: Chunks, itemsize: int = 1) -> Chunks | None:
    """A shard length, or a tuple of them, for every dimension; chunks divide each. None for no
    sharding."""
    if shards is None or shards is False:
        return None
    if any(isinstance(edge, tuple) for edge in chunks):
        raise MetadataError(
            "Rectilinear chunks with sharding is not supported: shards need chunks of equal lengths"
        )
    inner = tuple(int(edge) for edge in chunks)  # type: ignore[arg-type]  # checked above
    automatic = shards is True or (isinstance(shards, str) and shards == "auto")
    target = config.get("array.target_shard_size_bytes") if automatic else None
    if isinstance(shards, str | bytes) and not automatic:
        target = _size(shards, "shards")
    if target is not None:
        size = prod(inner) * max(1, itemsize)
        if size > target and not automatic:
            raise MetadataError(
                f"shards {shards!r} are smaller than one chunk {inner} of {size:,} bytes"
            )
        counts = tuple(ceil(n / c) for n, c in zip(shape, inner, strict=True))
        return tuple(c * n for c, n in zip(inner, _cut(counts, size, target), strict=True))
    if automatic:
        # Up to 16 chunks along each dimension, without reaching far beyond the array.
        return tuple(c * max(1, min(16, ceil(n / c))) for n, c in zip(shape, inner, strict=True))
    if isinstance(shards, dict):  # zarr-python's {"shape": …, "index_location": …}
        refuse_unknown(shards, ("shape", "index_location"), "shards")
        shards = shards["shape"]
    if isinstance(shards, Integral):
        shards = (int(shards),) * len(shape)
    lengths = tuple(map(_edges, shards))
    if len(lengths) != len(shape):
        raise MetadataError(f"shards {lengths} must have as many dimensions as shape {shape}")
    lengths = tuple(map(_one_shard, lengths, shape, inner))
    for shard, chunk in zip(lengths, inner, strict=True):
        if any(n < 1 or n % chunk for n in (shard if isinstance(shard, tuple) else (shard,))):
            raise MetadataError(f"shards {lengths} must be divisible by chunks {inner}")
    return lengths


def _one_shard(shard: int | tuple[int, ...], length: int, chunk: int) -> int | tuple[int, ...]:
    """The length of shards along a dimension: -1 holds all of it, and equal ones are one length.

    A last shard that is shorter stays so: it has an index of its own size."""
    if isinstance(shard, tuple):
        equal = len(set(shard)) == 1 and sum(shard) >= length
        return shard[0] if equal else shard
    return chunk * max(1, ceil(length / chunk)) if shard == -1 else shard
