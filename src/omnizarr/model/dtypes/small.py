"""Floats of 16 bits and less, integers of 2 and 4 bits: the types of the `ml_dtypes` package.

They are the numeric types over a NumPy dtype that `ml_dtypes` provides; the package is imported
when such a type is met, and an error says how to get it if it is not there.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np

from omnizarr.errors import UnsupportedError
from omnizarr.model.dtypes.base import DataType
from omnizarr.model.dtypes.numeric import Float, Integer

INTEGERS = ("int2", "int4", "uint2", "uint4")
FLOATS = (
    "bfloat16",
    "float8_e3m4",
    "float8_e4m3",
    "float8_e4m3b11fnuz",
    "float8_e4m3fn",
    "float8_e4m3fnuz",
    "float8_e5m2",
    "float8_e5m2fnuz",
    "float8_e8m0fnu",
    "float6_e2m3fn",
    "float6_e3m2fn",
    "float4_e2m1fn",
)
NAMES = frozenset(INTEGERS + FLOATS)


@cache
def small(name: str) -> DataType:
    """The type of this name, one of `NAMES`."""
    try:
        import ml_dtypes
    except ImportError as error:
        raise UnsupportedError(
            f"the data type {name!r} needs the ml_dtypes package: pip install ml_dtypes"
        ) from error
    scalar_type = getattr(ml_dtypes, name, None)
    if scalar_type is None:
        raise UnsupportedError(
            f"the installed ml_dtypes {ml_dtypes.__version__} has no {name!r}:"
            " pip install --upgrade ml_dtypes"
        )
    dtype: np.dtype[Any] = np.dtype(scalar_type)
    return Integer(dtype) if name in INTEGERS else Float(dtype)
