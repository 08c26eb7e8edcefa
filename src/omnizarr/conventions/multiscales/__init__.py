"""Pyramids: images at several resolutions, as five conventions describe them in attributes.

`read` finds out which convention a group follows: `multiscales` is a list in Multiscale Arrays 0.1,
in ndpyramid's attributes and in OME-NGFF, an object in the convention of 2026; OME-NGFF 0.5 has it
below `ome`. `attributes_for` writes. Neither knows arrays: `completed` adds what they say.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from omnizarr.runtime.lazy import first_use

if TYPE_CHECKING:
    from omnizarr.conventions.multiscales.attributes import (
        CONVENTIONS,
        Convention,
        attributes_for,
        read,
        read_all,
    )
    from omnizarr.conventions.multiscales.describing import described
    from omnizarr.conventions.multiscales.facts import Axis, Level, Pyramid, completed

__all__ = [
    "CONVENTIONS",
    "Axis",
    "Convention",
    "Level",
    "Pyramid",
    "attributes_for",
    "completed",
    "described",
    "read",
    "read_all",
]

_LAZY = {
    "attributes": ("CONVENTIONS", "Convention", "attributes_for", "read", "read_all"),
    "describing": ("described",),
    "facts": ("Axis", "Level", "Pyramid", "completed"),
}
"""Modules that are imported when one of their names is first used: see `runtime.lazy`."""

if not TYPE_CHECKING:
    __getattr__ = first_use(__name__, _LAZY)
