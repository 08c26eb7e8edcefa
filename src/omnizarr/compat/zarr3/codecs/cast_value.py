"""The cast-value codec, where libraries import it from."""

from collections.abc import Mapping
from typing import Any

from omnizarr import codecs
from omnizarr.compat.zarr3.codecs._refined import Refined
from omnizarr.compat.zarr3.core.dtype import ZDType, get_data_type_from_json

__all__ = ["CastValue"]


class CastValue(Refined, codecs.CastValue):
    """Values of another number type.

    Parameters
    ----------
    data_type
        The type that is stored: its name, or a data type of `zarr.dtype`.
    rounding
        How to round.
    out_of_range
        What to do with a value that the type does not hold: "clamp", "wrap"; None is an error.
    scalar_map
        Values with an exact counterpart, under "encode" and "decode": pairs, or a mapping.
    """

    refines = codecs.CastValue

    def __init__(
        self,
        data_type: Any,
        rounding: str = "nearest-even",
        out_of_range: str | None = None,
        scalar_map: Mapping[str, Any] | None = None,
    ) -> None:
        if isinstance(data_type, ZDType):
            data_type = data_type.to_json(zarr_format=3)
        if not isinstance(scalar_map, Mapping | None):
            raise TypeError(f"scalar_map must be a mapping, found {scalar_map!r}")
        pairs = {key: _pairs(entries) for key, entries in (scalar_map or {}).items()}
        super().__init__(data_type, rounding, out_of_range, pairs)

    @property
    def dtype(self) -> ZDType[Any, Any]:
        """The type that is stored, as a data type of `zarr.dtype`."""
        return get_data_type_from_json(self.data_type, zarr_format=3)

    def to_dict(self) -> dict[str, Any]:
        """Give the codec's metadata; as in zarr-python, pairs are tuples."""
        document = super().to_dict()
        inner: Any = document["configuration"]
        if "scalar_map" in inner:
            listed = inner["scalar_map"].items()
            inner["scalar_map"] = {key: _pairs(entries) for key, entries in listed}
        return document


def _pairs(entries: Any) -> list[tuple[Any, Any]]:
    given = entries.items() if isinstance(entries, Mapping) else entries
    return [(source, target) for source, target in given]
