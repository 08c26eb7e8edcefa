"""An array's facts as if it had been created with other arguments. Nothing is stored.

`Array.view` shows the same chunks with such facts, and a new fill value is checked by them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from omnizarr.errors import MetadataError
from omnizarr.model.array import ArrayModel
from omnizarr.nodes.array import Array
from omnizarr.nodes.creation.arguments import request_from
from omnizarr.nodes.creation.arrays import like
from omnizarr.nodes.node import NodeAddress, Options


def altered(place: NodeAddress, model: ArrayModel, changes: Mapping[str, Any]) -> ArrayModel:
    """The model with other values of `shape`, `chunks`, `dtype`, `fill_value` or `filters`."""
    if not changes:
        return model
    arguments = {**like(Array._of(place, model, Options()), filled=True), **changes}
    try:
        new = place.format.new_array(request_from(arguments))
    except MetadataError:
        if "dtype" not in changes or "fill_value" in changes:
            raise
        del arguments["fill_value"]  # the new type has no such value
        new = place.format.new_array(request_from(arguments))
    if new.ndim != model.ndim:
        raise MetadataError(
            f"{place}: a view has as many dimensions as the array, {model.ndim}, because their"
            f" number is part of the chunks' keys; found shape {new.shape}"
        )
    return replace(new, keys=model.keys, attributes=model.attributes, repair=model.repair)
