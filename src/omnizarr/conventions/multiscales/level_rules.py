"""Rules for the arrays that a pyramid names: they exist, fit each other, and become smaller."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING

from omnizarr.model import paths
from omnizarr.model.finding import At, Finding

if TYPE_CHECKING:
    from omnizarr.conventions.rules import NodeFacts, Nodes


def missing(node: NodeFacts, at: At, section: str, what: str, path: str) -> Finding:
    """A node that a group names and that is not there. A group without any members may be one
    whose store cannot be listed: then it is not known."""
    said = f"the {what} {path!r} is missing: no node of this format was found there"
    return at.error(section, said) if node.children else at.warning(section, said)


def check(
    node: NodeFacts,
    nodes: Nodes,
    at: At,
    section: str,
    levels: Sequence[str],
    *,
    groups: bool = False,
    ordered: bool = True,
) -> Iterator[Finding]:
    """Findings about the levels at these paths in the group.

    Parameters
    ----------
    node, nodes
        The group, and every node by its path.
    at, section
        What the findings are held against.
    levels
        Their paths, in the order of the description.
    groups
        Whether a level may be a group that holds the array.
    ordered
        Whether the largest level must come first.
    """
    arrays: list[tuple[str, NodeFacts]] = []
    for path in levels:
        found = nodes.get(paths.join(node.path, path))
        if found is None:
            yield missing(node, at, section, "level", path)
        elif found.shape is not None:
            arrays.append((path, found))
        elif not groups:
            yield at.error(section, f"the level {path!r} is a group, not an array")
    for path, count in Counter(levels).items():
        if count > 1:
            yield at.error(section, f"the level {path!r} is named {count} times")
    for (first, larger), (second, smaller) in pairwise(arrays):
        before, after = larger.shape or (), smaller.shape or ()
        if len(before) != len(after):
            yield at.error(
                section,
                f"the level {second!r} has {len(after)} dimensions and {first!r} has {len(before)}",
            )
        elif larger.dtype != smaller.dtype:
            yield at.warning(
                section,
                f"the level {second!r} has the data type {smaller.dtype} and {first!r} has"
                f" {larger.dtype}",
            )
        if ordered and any(more > less for less, more in zip(before, after, strict=False)):
            yield at.error(
                section,
                f"the level {second!r} with the shape {after} comes after the smaller {first!r}"
                f" with {before}: the largest is first",
            )
