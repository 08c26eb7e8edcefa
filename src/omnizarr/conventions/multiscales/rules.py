"""Rules for pyramids: does a description fit its convention, the format, and the arrays below it?

`check` is a rule of `conventions.rules`. It looks at one group and at the nodes that it names.
OME-NGFF has rules of its own in `ome_rules` and `ome_collections`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from omnizarr.conventions.declarations import ATTRIBUTE, MULTISCALES, declared
from omnizarr.conventions.multiscales import (
    level_rules,
    members,
    ome,
    ome_rules,
    read_all,
)
from omnizarr.errors import MetadataError
from omnizarr.model.codec import Json
from omnizarr.model.finding import At, Finding

if TYPE_CHECKING:
    from omnizarr.conventions.rules import NodeFacts, Nodes

_LAYOUT, _DATASETS = "layout", "datasets"


def check(node: NodeFacts, nodes: Nodes) -> Iterator[Finding]:
    """Findings about the pyramids, plates and labels that a group describes."""
    if not node.is_group:
        return
    yield from ome_rules.check(node, nodes)
    value = node.attributes.get("multiscales")
    if isinstance(value, Mapping):
        yield from _convention(node, nodes, value)
    elif isinstance(value, list) and any(map(ome_rules.is_plain, value)):
        yield from _arrays(node, nodes, value)


def _arrays(node: NodeFacts, nodes: Nodes, value: list[Json]) -> Iterator[Finding]:
    at = node.at("Multiscale Arrays 0.1 (document 003, 4.5)")
    if any(isinstance(entry, Mapping) and "version" not in entry for entry in value):
        yield at.dialect(_DATASETS, "multiscales has no version; ndpyramid writes none")
    yield from _levels(node, nodes, at, _DATASETS, ordered=True)


def _convention(node: NodeFacts, nodes: Nodes, value: Mapping[str, Json]) -> Iterator[Finding]:
    at = node.at("multiscales convention")
    if declared(node.attributes, MULTISCALES) in (None, "name"):  # which identifies nothing
        yield at.error(
            ATTRIBUTE,
            f"multiscales is an object, but {ATTRIBUTE} does not declare the convention (uuid"
            f" {MULTISCALES.uuid})",
        )
    layout = value.get(_LAYOUT)
    for item in map(members.mapping, layout if isinstance(layout, list) else []):
        if "derived_from" in item and "transform" not in item:
            yield at.error(
                _LAYOUT, f"the level {item.get('asset')!r} has derived_from, but no transform"
            )
    # Levels may be in any order here, and be finer than the ones that they are derived from.
    yield from _levels(node, nodes, at, _LAYOUT, ordered=False)


def _levels(
    node: NodeFacts, nodes: Nodes, at: At, section: str, *, ordered: bool
) -> Iterator[Finding]:
    """What is wrong with the description, or with the levels that it names."""
    plain = {key: value for key, value in node.attributes.items() if key != ome.KEY}
    try:
        pyramids = read_all(plain)
    except MetadataError as error:
        yield at.error(section, str(error))
        return
    for pyramid in pyramids:
        named = [level.path for level in pyramid.levels]
        yield from level_rules.check(node, nodes, at, section, named, groups=True, ordered=ordered)
