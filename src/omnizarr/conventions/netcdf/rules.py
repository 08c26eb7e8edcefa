"""The linter's rules for NetCDF and CF: dimensions that differ, names that lead nowhere, times and
packing that cannot be meant so, and NCZarr's markers that contradict what is stored.

References are to the CF conventions. They are conventions: what departs from them is a warning.
A rule sees attributes that a stranger wrote, so nothing here trusts a type.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from omnizarr.conventions.netcdf.dimensions import SCALAR
from omnizarr.conventions.netcdf.packing import packing
from omnizarr.conventions.netcdf.references import named
from omnizarr.errors import MetadataError
from omnizarr.model.finding import Finding
from omnizarr.model.json import show
from omnizarr.model.paths import join, name_of, parent

if TYPE_CHECKING:
    from omnizarr.conventions.rules import NodeFacts, Nodes

CF, NCZARR = "CF conventions", "NCZarr"
NAMING = {
    "coordinates": "5",
    "bounds": "7.1",
    "climatology": "7.4",
    "grid_mapping": "5.6",
    "ancillary_variables": "3.4",
    "cell_measures": "7.2",
    "formula_terms": "4.3.3",
}
"""Attributes that name variables, and the section about each."""
CALENDARS = frozenset(
    (
        *("standard", "gregorian", "proleptic_gregorian", "julian", "noleap", "365_day"),
        *("all_leap", "366_day", "360_day", "utc", "tai", "none"),
    )
)
_UNIT = (
    r"(?:(?:milli|micro|nano)?sec(?:ond)?s?|m(?:illi)?s(?:ecs?)?|[un]s|s|min(?:ute)?s?|h(?:ou)?rs?|h"
    r"|days?|d|weeks?|fortnights?|(?:common_|tropical_)?years?|yrs?|months?)"
)
_TIME = re.compile(
    rf"\s*{_UNIT}\s+since\s+-?\d{{1,9}}(?:-\d{{1,2}}(?:-\d{{1,2}})?)?"
    r"(?:[T\s]\s*\d{1,2}(?::\d{1,2}(?::\d{1,2}(?:\.\d*)?)?)?)?"
    r"\s*(?:Z|UTC|GMT|[+-]?\d{1,2}(?::?\d{2})?)?\s*",
    re.IGNORECASE,
)
_LONGEST = 1000


def rule(node: NodeFacts, nodes: Nodes) -> Iterator[Finding]:
    """What departs from the conventions at one node."""
    if node.is_group:
        yield from _shared_dimensions(node, nodes)
        yield from _markers(node, nodes)
    else:
        yield from _coordinate(node, nodes)
        yield from _time(node)
        yield from _packing(node)
    yield from _references(node, nodes)


def _members(node: NodeFacts, nodes: Nodes) -> dict[str, NodeFacts]:
    return {name_of(path): nodes[path] for path in node.children if path in nodes}


def _sizes(node: NodeFacts) -> Iterator[tuple[str, int]]:
    """Dimensions of an array, by name."""
    for name, length in zip(node.dimension_names or (), node.shape or (), strict=False):
        if name is not None and name != SCALAR:
            yield name, length


def _shared_dimensions(group: NodeFacts, nodes: Nodes) -> Iterator[Finding]:
    """Arrays of one group that differ in the length of a dimension. The levels of a pyramid do."""
    if not group.attributes.keys().isdisjoint(("multiscales", "ome")):
        return
    found: dict[str, tuple[int, str]] = {}
    for name, member in _members(group, nodes).items():
        for dimension, length in _sizes(member):
            size, first = found.setdefault(dimension, (length, name))
            if size != length:
                yield member.at(CF).warning(
                    "2.4",
                    f"the dimension {show(dimension)} has size {length} here, and {size} in"
                    f" {show(first)}; variables that share a dimension have the same length along"
                    " it",
                )


def _coordinate(node: NodeFacts, nodes: Nodes) -> Iterator[Finding]:
    """A variable that has the name of a dimension of its group."""
    name, group = name_of(node.path), nodes.get(parent(node.path))
    if group is None or not node.path or node.dimension_names == (name,):
        return
    if node.dtype is not None and node.dtype.kind in "SUTO":
        return  # labels: characters have a dimension of their own
    used = {dimension for each in _members(group, nodes).values() for dimension, _ in _sizes(each)}
    if name in used:
        yield node.at(CF).warning(
            "5",
            f"a variable with the name of a dimension is its coordinate, with that dimension alone;"
            f" this one has {show(node.dimension_names)}",
        )


# -- names of other variables -----------------------------------------------------------------
def _references(node: NodeFacts, nodes: Nodes) -> Iterator[Finding]:
    for attribute, section in NAMING.items():
        value = node.attributes.get(attribute)
        if value is None or (node.is_group and attribute != "coordinates"):
            continue
        if not isinstance(value, str):
            if not isinstance(value, list | dict):
                yield node.at(CF).warning(
                    section, f"{attribute} must be names of variables, found {show(value)}"
                )
            continue
        elsewhere = _external(node, nodes) if attribute == "cell_measures" else ()
        for name in named(attribute, value[: _LONGEST * 10]):
            if name not in elsewhere and not _may_exist(name, node, nodes):
                yield node.at(CF).warning(
                    section, f"{attribute} names {show(name)}, and there is no such variable"
                )


def _external(node: NodeFacts, nodes: Nodes) -> tuple[str, ...]:
    """Variables that the file says are in another one."""
    root = nodes.get("")
    return () if root is None else named("", root.attributes.get("external_variables"))


def _may_exist(name: str, node: NodeFacts, nodes: Nodes) -> bool:
    """Whether a variable of this name is in the group or in one above, or may be where the check
    did not look."""
    here = node.path if node.is_group else parent(node.path)
    if "/" in name:
        path = _path(name, here)
        return path is None or _known(path, nodes)
    while True:
        if _known(join(here, name), nodes):
            return True
        if not here:
            return False
        here = parent(here)


def _path(name: str, here: str) -> str | None:
    """The path that a name with slashes means; None if it leads out of the hierarchy."""
    parts = [] if name.startswith("/") else here.split("/") if here else []
    for part in name.split("/"):
        if part == "..":
            if not parts:
                return None
            parts.pop()
        elif part not in ("", "."):
            parts.append(part)
    return "/".join(parts)


def _known(path: str, nodes: Nodes) -> bool:
    above = nodes.get(parent(path))
    return path in nodes or above is None or path in above.children


# -- values -----------------------------------------------------------------------------------
def _time(node: NodeFacts) -> Iterator[Finding]:
    units, calendar = node.attributes.get("units"), node.attributes.get("calendar")
    if node.dtype is None or node.dtype.kind not in "iuf" or not isinstance(units, str):
        return
    if " since " not in f" {units[:_LONGEST]} ":
        return
    if not _TIME.fullmatch(units[:_LONGEST]):
        yield node.at(CF).warning(
            "4.4", f"units must be such as 'hours since 2000-01-01 00:00:00', found {show(units)}"
        )
    if "month_lengths" in node.attributes:
        return  # a calendar of the writer's own
    if calendar is not None and (
        not isinstance(calendar, str) or calendar.lower() not in CALENDARS
    ):
        known = ", ".join(sorted(CALENDARS))
        yield node.at(CF).warning(
            "4.4.1", f"calendar must be one of {known}, found {show(calendar)}"
        )


def _packing(node: NodeFacts) -> Iterator[Finding]:
    at, attributes, dtype = node.at(CF), node.attributes, node.dtype
    if dtype is None or dtype.kind not in "iuf":
        return
    for name in ("scale_factor", "add_offset"):
        if name in attributes:
            yield from _meant(node, "8.1", {name: attributes[name]})
    for name in ("_FillValue", "missing_value", "valid_min", "valid_max", "valid_range"):
        if name not in attributes:
            continue
        wrong = list(_meant(node, "2.5.1", {name: attributes[name]}))
        yield from wrong
        if not wrong and dtype.kind in "iu" and not _all_fit(attributes[name], node):
            yield at.warning(
                "2.5.1",
                f"{name} has the type of the stored values, {dtype}, which cannot be"
                f" {show(attributes[name])}",
            )
    if "valid_range" in attributes and not attributes.keys().isdisjoint(("valid_min", "valid_max")):
        yield at.warning("2.5.1", "valid_range excludes valid_min and valid_max")
    if "_Unsigned" in attributes:
        yield from _meant(node, "2.5.1", {"_Unsigned": attributes["_Unsigned"]})


def _meant(node: NodeFacts, section: str, attributes: Mapping[str, Any]) -> Iterator[Finding]:
    assert node.dtype is not None
    try:
        packing(attributes, node.dtype)
    except MetadataError as error:
        yield node.at(CF).warning(section, str(error))


def _all_fit(value: Any, node: NodeFacts) -> bool:
    """Whether integers of the stored type, or of the type that `_Unsigned` makes of it, can have
    the values of an attribute."""
    assert node.dtype is not None
    items = value if isinstance(value, list) else [value]
    kinds: list[np.dtype[Any]] = [node.dtype]
    if "_Unsigned" in node.attributes:
        kinds = [np.dtype(f"{kind}{node.dtype.itemsize}") for kind in "iu"]
    return all(
        isinstance(item, int | float)
        and item == item
        and any(np.iinfo(kind).min <= item <= np.iinfo(kind).max for kind in kinds)
        and int(item) == item
        for item in items
    )


# -- NCZarr -----------------------------------------------------------------------------------
def _markers(group: NodeFacts, nodes: Nodes) -> Iterator[Finding]:
    """What a group's marker says, against what is stored. netCDF-C opens nothing at all where the
    two disagree."""
    marker = group.attributes.get("_nczarr_group")
    if not isinstance(marker, dict):
        return
    at = group.at(NCZARR)
    members = _members(group, nodes)
    present = {name_of(path) for path in group.children}
    listed: set[str] = set()
    for word in ("arrays", "groups"):
        names = marker.get(word, [])
        if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
            yield at.warning("_nczarr_group", f"{word} must be names, found {show(names)}")
            return
        listed |= set(names)
    for name in sorted(listed - present):
        yield at.warning("_nczarr_group", f"it lists {show(name)}, which is not there")
    for name in sorted(members.keys() - listed):
        yield at.warning(
            "_nczarr_group", f"it does not list {show(name)}, so that netCDF-C does not see it"
        )
    declared = marker.get("dimensions", {})
    if not isinstance(declared, dict):
        yield at.warning("_nczarr_group", f"dimensions must be an object, found {show(declared)}")
        return
    for name, value in declared.items():
        size = value.get("size") if isinstance(value, dict) else value
        if type(size) is not int or not 0 <= size < 1 << 63:
            yield at.warning("_nczarr_group", f"the size of {show(name)} is {show(value)}")
            continue
        for member in members.values():
            for dimension, length in _sizes(member):
                if dimension == name and length != size:
                    yield member.at(NCZARR).warning(
                        "_nczarr_group",
                        f"the dimension {show(name)} is declared with size {size}, and has"
                        f" {length} here",
                    )
