"""Creating several nodes at once."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from omnizarr.keywords import refuse_unknown
from omnizarr.model import paths
from omnizarr.model.array import ArrayModel
from omnizarr.nodes.array import Array
from omnizarr.nodes.creation import storing
from omnizarr.nodes.creation.arguments import KNOWN, with_values
from omnizarr.nodes.creation.arrays import make_array
from omnizarr.nodes.creation.overlaps import Location
from omnizarr.nodes.creation.source_data import secured
from omnizarr.nodes.group import Group
from omnizarr.nodes.metadata import Metadata
from omnizarr.nodes.node import NodeAddress, Options


def create_nodes(
    place: NodeAddress, options: Options, nodes: Mapping[str, Any], *, overwrite: bool
) -> Iterator[tuple[str, Array | Group]]:
    """Create several nodes below a place, parents first.

    A node is described by the arguments that create it (with a shape or data: an array) or by the
    `metadata` of another node.
    """
    made: list[tuple[str, Array | Group]] = []
    nodes = dict(nodes)
    places = {path: place.child(paths.normalize_path(path)) for path in nodes}
    for path, given in nodes.items():
        if overwrite and isinstance(given, Mapping) and given.get("data") is not None:
            values = with_values(given)
            replaced = (Location(each.store, each.path) for each in places.values())
            nodes[path] = {**values, "data": secured(values["data"], replaced)}
    for path in sorted(nodes, key=lambda path: path.count("/")):
        given, where = nodes[path], places[path]
        if isinstance(given, Metadata):
            model: Any = given.model
        elif "shape" in given or "data" in given:
            refuse_unknown(given, KNOWN, f"create_hierarchy: the array {path!r}")
            array = make_array(
                where.store,
                where.path,
                given,
                chosen=place.format,
                overwrite=overwrite,
                options=options,
            )
            made.append((path, array))
            continue
        else:
            refuse_unknown(given, ("attributes",), f"create_hierarchy: the group {path!r}")
            model = place.format.new_group(dict(given.get("attributes") or {}))
        model = storing.create(where, model, overwrite=overwrite)
        kind = Array if isinstance(model, ArrayModel) else Group
        made.append((path, kind._of(where, model, options)))
    return iter(made)
