"""Data types: `from_json` finds one by its canonical name, `from_numpy` by its NumPy dtype."""

from omnizarr.model.dtypes.base import DataType, by_element
from omnizarr.model.dtypes.numeric import Boolean, Complex, Float, Integer
from omnizarr.model.dtypes.pairs import Pair
from omnizarr.model.dtypes.raw import Raw
from omnizarr.model.dtypes.registry import from_json, from_numpy, numpy_determines, parse, register
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
