"""The linter's rules for conventions: what attributes claim to be, and are not.

A rule is a generator of findings about one node, a function `rule(node, nodes)` in `RULES`; `nodes`
has every node that is checked by its path, so that a rule can look at a member, a parent or a
variable that an attribute names. Where the check begins below the root, what is above or beside its
start is missing from `nodes`: that is no finding. A rule reads attributes, names and shapes alone.
It must never fail, whatever a stranger wrote into them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

import numpy as np

from omnizarr.conventions.geo import rules as geo
from omnizarr.conventions.multiscales import rules as multiscales
from omnizarr.conventions.netcdf import rules as netcdf
from omnizarr.model.codec import Json
from omnizarr.model.finding import At, Finding


@dataclass(frozen=True)
class NodeFacts:
    """One node as a rule sees it."""

    path: str
    """The node's path, "" for the root."""
    key: str
    """The stored document that holds the attributes."""
    attributes: Mapping[str, Json]
    shape: tuple[int, ...] | None = None
    """None: the node is a group."""
    dtype: np.dtype[np.generic] | None = None
    dimension_names: tuple[str | None, ...] | None = None
    children: tuple[str, ...] = ()
    """The paths at which members of a group may be; those that could not be read are missing from
    `nodes`."""
    ome_version: str | None = None
    """The version of OME-NGFF for images in the format of the node; None if there is none."""

    @property
    def is_group(self) -> bool:
        return self.shape is None

    def at(self, document: str) -> At:
        """Where findings about this node's attributes are, held against a document."""
        return At(self.path, self.key, document)


Nodes = Mapping[str, NodeFacts]
Rule = Callable[[NodeFacts, Nodes], Iterator[Finding]]

RULES: tuple[Rule, ...] = (geo.rule, multiscales.check, netcdf.rule)
"""Every convention's rules. A convention adds its own function here."""


def findings(nodes: Nodes) -> Iterator[Finding]:
    """What the rules of all conventions say about a hierarchy."""
    for node in nodes.values():
        for rule in RULES:
            yield from rule(node, nodes)
