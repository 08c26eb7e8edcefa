"""Find the members of a group: in its store, or in consolidated metadata where it has such.

This module gives models. It must not make the objects that a user holds.
"""

from __future__ import annotations

from dataclasses import replace

from omnizarr.errors import ArrayNotFoundError, GroupNotFoundError, NodeNotFoundError
from omnizarr.formats.base import Node
from omnizarr.model import paths
from omnizarr.model.array import GroupModel
from omnizarr.nodes import node
from omnizarr.nodes.missing_nodes import among, beside
from omnizarr.nodes.node import NodeAddress


def relative(place: NodeAddress, path: str) -> str:
    """A path relative to the group; a leading "/" starts at the store's root."""
    if place.path and str(path).startswith("/"):
        absolute = paths.normalize_path(path)
        if absolute == place.path:
            return ""
        if not absolute.startswith(place.path + "/"):
            raise KeyError(f"{path!r} is not inside group {'/' + place.path!r}")
        return absolute[len(place.path) + 1 :]
    return paths.normalize_path(path)


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


def locate(place: NodeAddress, group: GroupModel, path: str) -> tuple[NodeAddress, Node] | None:
    """The node at a relative path, and its own address."""
    if group.consolidated is not None:
        model = group.consolidated.get(path)
        return None if model is None else (place.child(path), model)
    return node.find(place.store, paths.join(place.path, path), place.format)


def with_consolidated(group: GroupModel, path: str, member: GroupModel) -> GroupModel:
    """A member, with the part of the group's consolidated metadata that is below it."""
    if group.consolidated is None:
        return member
    start = path + "/"
    inside = {
        name[len(start) :]: model
        for name, model in group.consolidated.items()
        if name.startswith(start)
    }
    return replace(member, consolidated=inside)


def missing(place: NodeAddress, group: GroupModel, path: str, kind: str) -> NodeNotFoundError:
    """The error for a path without a node; it names the members beside it."""
    wanted = relative(place, path)
    hint = ""
    if group.consolidated is None:
        hint = beside(place.store, paths.join(place.path, wanted))
    elif "/" not in wanted:
        hint = among(wanted, children(place, group), "/" + place.path)
    error = {"array": ArrayNotFoundError, "group": GroupNotFoundError}
    return error.get(kind, NodeNotFoundError)(f"{place}: no {kind} {path!r}").advise(hint)
