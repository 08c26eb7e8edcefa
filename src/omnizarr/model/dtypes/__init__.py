"""Data types: `from_json` finds one by its canonical name, `from_numpy` by its NumPy dtype."""

from __future__ import annotations

from typing import TYPE_CHECKING

from omnizarr.runtime.lazy import first_use

if TYPE_CHECKING:
    from omnizarr.model.dtypes.base import DataType, by_element
    from omnizarr.model.dtypes.numeric import Boolean, Complex, Float, Integer
    from omnizarr.model.dtypes.pairs import Pair
    from omnizarr.model.dtypes.raw import Raw
    from omnizarr.model.dtypes.registry import (
        from_json,
        from_numpy,
        numpy_determines,
        parse,
        register,
    )
    from omnizarr.model.dtypes.struct import Struct, StructField
    from omnizarr.model.dtypes.text import FixedBytes, FixedText
    from omnizarr.model.dtypes.time import Time
    from omnizarr.model.dtypes.variable import ArrowBinary, ArrowString, Bytes, Object, String

__all__ = [
    "ArrowBinary",
    "ArrowString",
    "Boolean",
    "Bytes",
    "Complex",
    "DataType",
    "FixedBytes",
    "FixedText",
    "Float",
    "Integer",
    "Object",
    "Pair",
    "Raw",
    "String",
    "Struct",
    "StructField",
    "Time",
    "by_element",
    "from_json",
    "from_numpy",
    "numpy_determines",
    "parse",
    "register",
]

_LAZY = {
    "base": ("DataType", "by_element"),
    "numeric": ("Boolean", "Complex", "Float", "Integer"),
    "pairs": ("Pair",),
    "raw": ("Raw",),
    "registry": ("from_json", "from_numpy", "numpy_determines", "parse", "register"),
    "struct": ("Struct", "StructField"),
    "text": ("FixedBytes", "FixedText"),
    "time": ("Time",),
    "variable": ("ArrowBinary", "ArrowString", "Bytes", "Object", "String"),
}
"""Modules that are imported when one of their names is first used: see `runtime.lazy`."""

if not TYPE_CHECKING:
    __getattr__ = first_use(__name__, _LAZY)
