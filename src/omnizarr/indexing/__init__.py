"""Coordinate algebra: what a key selects, and which part of which chunk that is.

NumPy's rules are the specification. A key applied to a `Transform` gives another; `partition`
cuts a transform at the chunks of a grid and gives a `Plan`, whose parts the engine executes;
`refine` cuts a part again inside a shard. `box` plans the commonest keys at once.

Nothing here reads, decodes or stores; it imports `model`, `errors` and `limits` only.
"""

from __future__ import annotations

from omnizarr.indexing.box import box
from omnizarr.indexing.fields import pop_fields
from omnizarr.indexing.plan import ChunkPart, Plan, partition, refine
from omnizarr.indexing.select import basic_and_advanced, blocks, coordinates, mask, orthogonal
from omnizarr.indexing.transform import (
    Constant,
    Indexed,
    Stride,
    Transform,
    compose,
    fitted,
    identity,
)

__all__ = [
    "ChunkPart",
    "Constant",
    "Indexed",
    "Plan",
    "Stride",
    "Transform",
    "basic_and_advanced",
    "blocks",
    "box",
    "compose",
    "coordinates",
    "fitted",
    "identity",
    "mask",
    "orthogonal",
    "partition",
    "pop_fields",
    "refine",
]
