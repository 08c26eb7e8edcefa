"""An array as conventions see it: on a map.

This module knows the name of this view. It must not know what it shows.
"""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, cast

from omnizarr.errors import NodeNotFoundError
from omnizarr.nodes.array_facts import ArrayFacts

if TYPE_CHECKING:
    from omnizarr.nodes.array import Array
    from omnizarr.nodes.geo.array import ArrayGeo


class ArrayConventions(ArrayFacts):
    """A base of `Array`; not of use by itself."""

    @property
    def geo(self) -> ArrayGeo:
        """The array on a map: reference system, transform, selection by places of the world.

        Examples
        --------
        >>> array = omnizarr.zeros((4, 6), dimension_names=("y", "x"))
        >>> array.geo.set(crs="EPSG:32631", bounds=(500000, 4599960, 500060, 4600000))
        >>> array.geo.resolution
        (10.0, 10.0)
        """
        from omnizarr.nodes.geo.array import ArrayGeo

        with suppress(NodeNotFoundError):  # it may be in consolidated metadata alone
            self.refresh()  # the group may have stated facts for all of its arrays
        return ArrayGeo(cast("Array", self))
