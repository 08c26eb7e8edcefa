"""A group as conventions see it: on a map, as a pyramid, in the data model of NetCDF.

This module knows the names of these views. It must not know what they show.
"""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, cast

from omnizarr.errors import NodeNotFoundError
from omnizarr.model.array import GroupModel
from omnizarr.nodes.node_facts import NodeFacts

if TYPE_CHECKING:
    from omnizarr.nodes.geo.group import GroupGeo
    from omnizarr.nodes.group import Group
    from omnizarr.nodes.multiscale import Multiscale
    from omnizarr.nodes.netcdf.group import NetCDFGroup


class GroupConventions(NodeFacts[GroupModel]):
    """A base of `Group`; not of use by itself."""

    @property
    def geo(self) -> GroupGeo:
        """The group's arrays on a map: the grid that they share, and conversions of conventions.

        Examples
        --------
        >>> root = omnizarr.group()
        >>> array = root.create_array("a", shape=(4, 6), dtype="u1", dimension_names=("y", "x"))
        >>> root.geo.set(crs="EPSG:32631", bounds=(500000, 4599960, 500060, 4600000))
        >>> array.geo.resolution
        (10.0, 10.0)
        """
        from omnizarr.nodes.geo.group import GroupGeo

        return GroupGeo(cast("Group", self))

    @property
    def multiscale(self) -> Multiscale:
        """The pyramid that the attributes describe: OME-NGFF, or another convention.

        `omnizarr.Multiscale` takes one of several, and the variable where levels are groups.

        Raises
        ------
        MetadataError
            If they describe none.
        ArrayNotFoundError
            If a level is missing.

        Examples
        --------
        >>> group = omnizarr.group()
        >>> group["0"] = np.zeros((64, 96))
        >>> group.attrs["multiscales"] = [{"version": "0.1", "datasets": [{"path": "0"}]}]
        >>> group.multiscale.levels[0].shape
        (64, 96)
        """
        from omnizarr.nodes.multiscale import Multiscale

        with suppress(NodeNotFoundError):  # it may be in consolidated metadata alone
            self.refresh()  # a pyramid may have been made since the group was opened
        return Multiscale(cast("Group", self))

    @property
    def netcdf(self) -> NetCDFGroup:
        """The group in the data model of NetCDF: dimensions, coordinates, variables, attributes.

        Examples
        --------
        >>> root = omnizarr.group()
        >>> _ = root.create_array("t", data=[1.5, 2.5], dimension_names=["x"])
        >>> root.netcdf.variables["t"].dimensions
        ('x',)
        """
        from omnizarr.nodes.netcdf.group import NetCDFGroup

        return NetCDFGroup(cast("Group", self))
