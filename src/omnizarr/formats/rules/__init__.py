"""The linter: what a stored node has that its specification does not allow.

Each format has a file of rules beside its parser. `visiting.visit` checks one path of a store, in
every format that has a node there, and returns the paths to check next;
`omnizarr.api.checking` walks.

A rule never restates what a parser knows:

* What a member must be is a `members.Constraint`, data that the parser checks and the rules read
  (`rules.base.constraints`).
* Where a parser's function decides (a data type, a fill value, a codec, lengths), the rule calls it
  and reports its error under the section of the specification (`rules.base.refused`).
* What is left is what the parsers tolerate: dialects, with the software that wrote them, warnings,
  and errors that do not prevent reading.

An error that no rule reports is still reported once for the whole node, as `unusable`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from omnizarr.model.finding import LEVELS
from omnizarr.runtime.lazy import first_use

if TYPE_CHECKING:
    from omnizarr.formats.rules.base import Finding, Inside, Level, Standard, plural
    from omnizarr.formats.rules.visiting import (
        Visit,
        check_node,
        names_below,
        standard_named,
        unusable,
        visit,
    )

__all__ = [
    "LEVELS",
    "Finding",
    "Inside",
    "Level",
    "Standard",
    "Visit",
    "check_node",
    "names_below",
    "plural",
    "standard_named",
    "unusable",
    "visit",
]

_LAZY = {
    "base": ("Finding", "Inside", "Level", "Standard", "plural"),
    "visiting": ("Visit", "check_node", "names_below", "standard_named", "unusable", "visit"),
}
"""Modules that are imported when one of their names is first used: see `runtime.lazy`."""

if not TYPE_CHECKING:
    __getattr__ = first_use(__name__, _LAZY)
