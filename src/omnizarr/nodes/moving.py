"""Rename a member of a group: everything that can be refused is refused before a key moves."""

from __future__ import annotations

from typing import TYPE_CHECKING

from omnizarr import formats
from omnizarr.errors import MetadataError
from omnizarr.formats.base import Node
from omnizarr.model import paths
from omnizarr.model.array import ArrayModel
from omnizarr.nodes.creation import registering, storing

if TYPE_CHECKING:
    from omnizarr.nodes.group import Group


def move(group: Group, source: str, dest: str) -> None:
    """Move a member to another path; see `Group.move`."""
    group._check_writable()
    origin, target = group._absolute(source), group._absolute(dest)
    found = group._locate(origin) if origin not in ("", group.path) else None
    if found is None:
        raise group._missing(source)
    taken = group._locate(target)
    if taken is not None:
        raise storing.exists(group._place._replace(path=target), taken[1])
    if (target + "/").startswith(origin + "/"):
        raise MetadataError(f"{group._place}: cannot move {source!r} into itself")
    chosen = found[0].format
    formats.check_outside_drafts(group._place.store, target)
    chosen.check_place(group._place.store, target, origin)
    for ancestor in paths.ancestors(target)[1:]:
        group.require_group("/" + ancestor)
    relocation = registering.Move(found[0], target, lambda: _nodes(group, origin, found[1]))
    relocation.begin()
    formats.move(chosen, group._place.store, origin, target)
    relocation.finish()
    if group._options.chunk_store is not None:
        formats.move(chosen, group._options.chunk_store, origin, target)


def _nodes(group: Group, path: str, found: Node) -> dict[str, Node]:
    """A node and all below it, by path, parents first."""
    if isinstance(found, ArrayModel):
        return {path: found}
    below = group.get_group("/" + path).members(max_depth=None)
    return {path: found} | {member.path: member._stored for _, member in below}
