"""Executes plans: bytes from a store through codecs into an array, and back.

The engine knows stores, codecs and plans; it knows no format version and no node. What it
offers upward is `Source` (where an array's chunks are stored), `read` and `write` (execute a whole
plan), `read_single` (what the native core reads of one chunk without a plan), `encode` (what
`write` would store), `trim` (delete what a chunk holds outside of the array), `update` (read,
change and write back a stored value without losing a concurrent change), and `exclusive` (exclude
other writers).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from omnizarr.runtime.lazy import first_use

if TYPE_CHECKING:
    from omnizarr.engine.chunk_source import Source, has_chain
    from omnizarr.engine.gathering import Gathered
    from omnizarr.engine.locks import Optimistic, exclusive, update
    from omnizarr.engine.native_plans import read_single
    from omnizarr.engine.reading import read
    from omnizarr.engine.writing import encode, trim, write

__all__ = [
    "Gathered",
    "Optimistic",
    "Source",
    "encode",
    "exclusive",
    "has_chain",
    "read",
    "read_single",
    "trim",
    "update",
    "write",
]

_LAZY = {
    "chunk_source": ("Source", "has_chain"),
    "gathering": ("Gathered",),
    "locks": ("Optimistic", "exclusive", "update"),
    "native_plans": ("read_single",),
    "reading": ("read",),
    "writing": ("encode", "trim", "write"),
}
"""Modules that are imported when one of their names is first used: see `runtime.lazy`."""

if not TYPE_CHECKING:
    __getattr__ = first_use(__name__, _LAZY)
