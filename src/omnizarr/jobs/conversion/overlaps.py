"""Whether a source and a destination of a conversion are in each other's way.

`omnizarr.nodes.creation.overlaps` knows where data are stored. This module must not know nodes.
"""

from __future__ import annotations

from collections.abc import Iterable

from omnizarr.errors import OverlapError
from omnizarr.nodes.creation.overlaps import Location, file_identity, overlap

__all__ = ["Location", "check_apart", "check_nodes_apart"]


def check_apart(sources: Iterable[Location], target: Location) -> None:
    """Refuse a destination that is in a source, around it, or the same."""
    for source in sources:
        if overlap(source, target):
            raise _in_the_way(source, target)


def check_nodes_apart(sources: Iterable[Location], targets: Iterable[Location]) -> None:
    """Refuse nodes whose folders are the same: links inside a hierarchy may lead to the other."""
    folders = {
        file_identity(file): source for source in sources if (file := source.file) is not None
    }
    folders.pop(None, None)
    for target in targets:
        found = folders.get(file_identity(target.file)) if target.file is not None else None
        if found is not None:
            raise _in_the_way(found, target)


def _in_the_way(source: Location, target: Location) -> OverlapError:
    return OverlapError(f"the destination ({target}) and the source ({source}) overlap").advise(
        "choose another place; convert with {} changes the format in place", ("destination", None)
    )
