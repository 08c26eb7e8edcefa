"""What is printed of a group of NetCDF, and of a variable alone.

This module knows groups. It must not know CDL.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from contextlib import suppress
from typing import TYPE_CHECKING

from omnizarr.conventions.netcdf.cdl import PrintedGroup, PrintedVariable
from omnizarr.errors import NotListableError
from omnizarr.model import paths
from omnizarr.model.dimensions import Dimension
from omnizarr.nodes.netcdf.variable import Variable

if TYPE_CHECKING:
    from omnizarr.nodes.netcdf.group import NetCDFGroup

Data = Callable[[Variable], Iterable[str]] | None
"""Gives the lines of a variable's values."""


def described(nc: NetCDFGroup, data: Data = None, alone: str | None = None) -> PrintedGroup:
    """The group, and those below it; or one variable of it with the dimensions that it has."""
    name = paths.name_of(nc.group.path) or "root"
    if alone is not None:
        found = Variable(alone, nc.group.get_array(alone))
        return PrintedGroup(name, _dimensions(nc, found), (_variable(found, data),), {})
    dimensions = nc.dimensions
    variables = tuple(_variable(each, data) for each in nc.variables.values())
    own = tuple(each for each in dimensions.values() if each.group == nc.group.name)
    groups = tuple(described(group, data) for group in nc.groups.values())
    return PrintedGroup(name, own, variables, nc.attributes, groups)


def _variable(found: Variable, data: Data) -> PrintedVariable:
    values = data(found) if data else ()
    return PrintedVariable(found.name, found.dtype, found.dimensions, found.attributes, values)


def _dimensions(nc: NetCDFGroup, found: Variable) -> tuple[Dimension, ...]:
    """The dimensions of a variable; where the group cannot be listed, as its shape has them."""
    known: dict[str, Dimension] = {}
    with suppress(NotListableError):
        known = nc.dimensions
    shape = dict(zip(found.dimensions, found.shape, strict=True))
    return tuple(known.get(name, Dimension(name, size)) for name, size in shape.items())
