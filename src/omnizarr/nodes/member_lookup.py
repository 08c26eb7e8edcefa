"""Find the members of a group: in its store, or in consolidated metadata where it has such.

This module gives models. It must not make the objects that a user holds.
"""

from __future__ import annotations

from dataclasses import replace

from omnizarr.errors import ArrayNotFoundError, GroupNotFoundError, NodeNotFoundError, ZarrError
from omnizarr.formats.base import Node
from omnizarr.model import paths
from omnizarr.model.array import GroupModel
from omnizarr.nodes import node
from omnizarr.nodes.missing_nodes import among, beside
from omnizarr.nodes.node import NodeAddress


def absolute(place: NodeAddress, path: str) -> str:
    """A path from the store's root; one without a leading "/" starts at the group."""
    normal = paths.normalize_path(path)
    return normal if str(path).startswith("/") else paths.join(place.path, normal)


def inside(place: NodeAddress, path: str) -> str | None:
    """An absolute path relative to the group; None if it is not below it."""
    start = place.path + "/" if place.path else ""
    return path[len(start) :] if path.startswith(start) else None


def children(place: NodeAddress, group: GroupModel) -> dict[str, Node]:
    """The direct members by name."""
    if group.consolidated is not None:
        return {name: model for name, model in group.consolidated.items() if "/" not in name}
    return place.format.children(place.store, place.path)


def some_names(place: NodeAddress, group: GroupModel, most: int) -> tuple[list[str], int] | None:
    """Some names of members and how many there are, from one listing at most; None if the store
    cannot be listed. Names of other files may be among them."""
    if group.consolidated is not None:
        names = sorted(name for name in group.consolidated if "/" not in name)
    elif place.store.capabilities.listable:
        names = sorted(place.format.names(place.store, place.path))
    else:
        return None
    return names[:most], len(names)


COMPLETED = 10_000
"""How many names the TAB key offers."""


def completions(place: NodeAddress, group: GroupModel) -> list[str]:
    """Names for the TAB key, from one listing at most; it must not fail."""
    try:
        found = some_names(place, group, COMPLETED)
    except ZarrError:
        return []
    return [] if found is None else found[0]


def locate(place: NodeAddress, group: GroupModel, path: str) -> tuple[NodeAddress, Node] | None:
    """The node at an absolute path, and its own address."""
    below = inside(place, path)
    if group.consolidated is not None and below is not None:
        model = group.consolidated.get(below)
        return None if model is None else (place.child(below), model)
    return node.find(place.store, path, place.format)


def with_consolidated(
    place: NodeAddress, group: GroupModel, path: str, member: GroupModel
) -> GroupModel:
    """A member, with the part of the group's consolidated metadata that is below it."""
    below = inside(place, path)
    if group.consolidated is None or below is None:
        return member
    start = below + "/"
    found = {
        name[len(start) :]: model
        for name, model in group.consolidated.items()
        if name.startswith(start)
    }
    return replace(member, consolidated=found)


def missing(place: NodeAddress, group: GroupModel, path: str, kind: str) -> NodeNotFoundError:
    """The error for a path without a node; it names the members beside it."""
    there = absolute(place, path)
    wanted = inside(place, there)
    hint = ""
    if group.consolidated is None or wanted is None:
        hint = beside(place.store, there)
    elif "/" not in wanted:
        hint = among(wanted, children(place, group), "/" + place.path)
    error = {"array": ArrayNotFoundError, "group": GroupNotFoundError}
    return error.get(kind, NodeNotFoundError)(f"{place}: no {kind} {path!r}").advise(hint)
