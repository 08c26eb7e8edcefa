"""The axes of a chunk on its way through the codecs: what a `transpose` does to them, and a shard's
chunks in the array's own axes.

This module knows the metadata of codecs. It must not know what they do to values.
"""

from __future__ import annotations

from collections.abc import Sequence

from omnizarr.errors import MetadataError
from omnizarr.model.codec import CodecSpec, Json
from omnizarr.model.grids import Shape
from omnizarr.model.json import show

TRANSPOSE = "transpose"
SHARDING = "sharding_indexed"
_KEEP_RANK = (TRANSPOSE, "bitround", "cast_value", "scale_offset")


def permutation(order: Json, ndim: int) -> Shape:
    """The axes that the `order` of a transpose names: a list or, until October 2023, "C" or "F".

    >>> permutation("F", 3)
    (2, 1, 0)
    """
    if order in ("C", "F"):
        return tuple(range(ndim) if order == "C" else reversed(range(ndim)))
    if isinstance(order, str) or not isinstance(order, Sequence):
        raise MetadataError(f"codec 'transpose': order must be a permutation, found {show(order)}")
    whole = all(isinstance(axis, int) and not isinstance(axis, bool) for axis in order)
    if not whole or sorted(order) != list(range(len(order))):
        raise MetadataError(
            f"codec 'transpose': order must be a permutation of 0 to {len(order) - 1},"
            f" found {show(list(order))}"
        )
    if len(order) != ndim:
        raise MetadataError(
            f"codec 'transpose': order {show(list(order))} is for {len(order)} dimensions,"
            f" there are {ndim}"
        )
    return tuple(order)


def rank_behind(spec: CodecSpec, ndim: int | None) -> int | None:
    """The number of dimensions behind a codec; None where metadata alone do not tell."""
    if spec.name == "reshape":
        shape = spec.configuration.get("shape")
        return len(shape) if isinstance(shape, list) else None
    return ndim if spec.name in _KEEP_RANK else None


def axes_before(specs: Sequence[CodecSpec], name: str, ndim: int) -> tuple[CodecSpec, Shape] | None:
    """The first codec of a name, and the array's own axes in the order in which they reach it; None
    without such a codec, and where one before it gives the chunk other axes."""
    axes = tuple(range(ndim))
    for spec in specs:
        if spec.name == name:
            return spec, axes
        if spec.name == "reshape":
            return None
        if spec.name == TRANSPOSE:
            order = spec.configuration.get("order")
            if not isinstance(order, str) and len(order or ()) != ndim:
                return None
            axes = tuple(axes[axis] for axis in permutation(order, ndim))
    return None


def inner_chunks(specs: Sequence[CodecSpec], ndim: int) -> Shape | None:
    """The shape of a chunk inside a shard, in the array's own axes; None without shards, and where
    a codec before them gives the chunk other axes."""
    found = axes_before(specs, SHARDING, ndim)
    if found is None or len(shape := found[0].configuration["chunk_shape"]) != ndim:
        return None
    lengths = dict(zip(found[1], shape, strict=True))
    return tuple(int(lengths[axis]) for axis in range(ndim))
