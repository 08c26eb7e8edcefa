"""A dimension that arrays share, as NetCDF has them."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Dimension:
    """A dimension of a NetCDF group: a name and a size that variables share.

    Examples
    --------
    >>> group = omnizarr.group()
    >>> _ = group.create_array("t", data=[1.5, 2.5], dimension_names=["x"])
    >>> group.netcdf.dimensions["x"]
    Dimension(name='x', size=2, unlimited=False, group='/')
    """

    name: str
    """The name, without the group's."""
    size: int
    """The length that every variable has along it."""
    unlimited: bool = False
    """Whether it was declared to grow."""
    group: str = "/"
    """The group that declares it."""
