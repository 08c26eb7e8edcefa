"""Coordinate algebra: what a key selects, and which part of which chunk that is.

NumPy's rules are the specification. A key applied to a `Transform` gives another; `partition`
cuts a transform at the chunks of a grid and gives a `Plan`, whose parts the engine executes;
`refine` cuts a part again inside a shard. `box` plans the commonest keys at once.

Nothing here reads, decodes or stores; it imports `model`, `errors`, `limits` and `runtime` only.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from omnizarr.runtime.lazy import first_use

if TYPE_CHECKING:
    from omnizarr.indexing.boxes import box
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

_LAZY = {
    "boxes": ("box",),
    "fields": ("pop_fields",),
    "plan": ("ChunkPart", "Plan", "partition", "refine"),
    "select": ("basic_and_advanced", "blocks", "coordinates", "mask", "orthogonal"),
    "transform": (
        *("Constant", "Indexed", "Stride", "Transform"),
        *("compose", "fitted", "identity"),
    ),
}
"""Modules that are imported when one of their names is first used: see `runtime.lazy`."""

if not TYPE_CHECKING:
    __getattr__ = first_use(__name__, _LAZY)
