"""The scale-offset codec, where libraries import it from."""

import math
from contextlib import suppress
from typing import Any

import numpy as np

from omnizarr import codecs
from omnizarr.compat.zarr3.codecs._refined import Refined

__all__ = ["ScaleOffset"]


class ScaleOffset(Refined, codecs.ScaleOffset):
    """Stores (x - offset) * scale.

    Parameters
    ----------
    offset
        What is subtracted first: a number, or a string as a fill value has it.
    scale
        What the difference is multiplied with; not 0.
    name
        Its name in metadata.

    Raises
    ------
    TypeError
        If the offset or the scale is neither a number nor a string.
    """

    refines = codecs.ScaleOffset
    is_fixed_size = True

    def __init__(self, offset: Any = 0, scale: Any = 1, name: str = "scale_offset") -> None:
        super().__init__(_scalar("offset", offset), _scalar("scale", scale), name)


def _scalar(name: str, value: Any) -> Any:
    """A number as it is, also where a string spells it; "NaN", "0x…" and their kin as strings."""
    if not isinstance(value, int | float | str | np.number):
        raise TypeError(f"{name} must be a number or string, got {value!r}")
    if not isinstance(value, str):
        return value
    for number in (int, float):
        with suppress(ValueError):
            found = number(value)
            return found if math.isfinite(found) else value
    return value
