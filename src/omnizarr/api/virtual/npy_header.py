"""The header of an npy file, which says shape, data type and order of the array behind it.

    magic version(2) length(2 or 4) {'descr': …, 'fortran_order': …, 'shape': …}

(NumPy Enhancement Proposal 1; `numpy.lib.format` has versions 1.0 to 3.0). The text is a literal of
Python. It is a stranger's: its length, its characters and the depth of its brackets are checked
before `ast.literal_eval` sees it, and everything in it after that. Objects are refused, as they
would be pickles, which run code.

This module knows the header. It must not know where files are.
"""

from __future__ import annotations

import ast
import re
from math import prod
from typing import Any, Literal, NamedTuple, Protocol

import numpy as np

from omnizarr import limits
from omnizarr.errors import MetadataError, UnsupportedError
from omnizarr.model.grids import Shape

MAGIC = b"\x93NUMPY"
MOST_HEADER = 1 << 16
"""Longest header that is parsed; NumPy itself reads 10,000 bytes unless told otherwise."""
_MOST_BRACKETS = 64
_TOKEN = re.compile(
    r"""\s+|'[^'\\\n]*'|"[^"\\\n]*"|'(?:[^'\\\n]|\\.)*'|True|False|\d+L?|[{}()\[\]:,]"""
)
_MEMBERS = {"descr", "fortran_order", "shape"}


class Readable(Protocol):
    def read(self, size: int, /) -> bytes: ...


class Header(NamedTuple):
    """What an npy file says of its array."""

    shape: Shape
    dtype: np.dtype[Any]
    order: Literal["C", "F"]
    size: int
    """Bytes of the header, so where the values begin."""

    @property
    def nbytes(self) -> int:
        """Bytes of all values."""
        return prod(self.shape) * self.dtype.itemsize


def read_header(file: Readable) -> Header:
    """The header at the position of a file, which is behind it then."""
    begin = file.read(8)
    if begin[:6] != MAGIC:
        raise MetadataError(f"an npy file begins with {MAGIC!r}; found {begin[:6]!r}")
    if begin[6:] not in (b"\1\0", b"\2\0", b"\3\0"):
        raise MetadataError(f"version {tuple(begin[6:])} of npy; known are (1, 0) to (3, 0)")
    width = 2 if begin[6] == 1 else 4
    length = int.from_bytes(_exactly(file, width), "little")
    if length > MOST_HEADER:
        raise MetadataError(f"a header of {length} bytes; the longest allowed is {MOST_HEADER}")
    try:
        text = _exactly(file, length).decode("utf-8" if begin[6] == 3 else "latin-1")
    except UnicodeDecodeError as error:
        raise MetadataError(f"the header is not UTF-8: {error}") from error
    descr, fortran, lengths = _members(text)
    shape = _shape(lengths)
    dtype = _dtype(descr)
    if not isinstance(fortran, bool):
        raise MetadataError(f"fortran_order is {_short(fortran)}, not True or False")
    if prod(max(1, length) for length in shape) * dtype.itemsize >= 1 << 63:
        raise MetadataError(f"the shape {shape} of {dtype} is larger than any array")
    # With one dimension, or none, both orders are one.
    order: Literal["C", "F"] = "F" if fortran and len(shape) > 1 else "C"
    return Header(shape, dtype, order, 8 + width + length)


def _exactly(file: Readable, count: int) -> bytes:
    data = file.read(count)
    if len(data) != count:
        raise MetadataError("the header is truncated")
    return data


def _members(text: str) -> tuple[Any, Any, Any]:
    plain, depth, at = [], 0, 0
    while at < len(text):
        token = _TOKEN.match(text, at)
        if token is None:
            raise MetadataError(f"the header has {text[at : at + 20]!r}, which no header has")
        at = token.end()
        depth += token[0] in "{[("  # white space is none of them
        depth -= token[0] in "}])"
        if depth > _MOST_BRACKETS:
            raise MetadataError(f"the header has brackets in more than {_MOST_BRACKETS} levels")
        plain.append(token[0].removesuffix("L") if token[0][0].isdigit() else token[0])
    try:
        found = ast.literal_eval("".join(plain).strip())
    except (ValueError, SyntaxError, TypeError, MemoryError, RecursionError) as error:
        raise MetadataError(f"the header cannot be parsed: {error}") from error
    if not isinstance(found, dict) or found.keys() != _MEMBERS:
        raise MetadataError(f"the header must have {sorted(_MEMBERS)}; found {_short(found)}")
    return found["descr"], found["fortran_order"], found["shape"]


def _shape(found: Any) -> Shape:
    if not isinstance(found, tuple) or any(type(length) is not int for length in found):
        raise MetadataError(f"the shape must be a tuple of integers; found {_short(found)}")
    if len(found) > limits.current.max_dimensions:
        raise MetadataError(f"{len(found)} dimensions; NumPy has {limits.current.max_dimensions}")
    if any(length >= 1 << 63 for length in found):
        raise MetadataError(f"the shape {_short(found)} is larger than any array")
    return found


def _dtype(descr: Any) -> np.dtype[Any]:
    try:
        dtype = np.lib.format.descr_to_dtype(descr)
    except Exception as error:  # whatever NumPy makes of a stranger's description
        raise MetadataError(f"no data type is {_short(descr)}: {error}") from error
    if dtype.hasobject:
        raise UnsupportedError(
            "an array of Python objects, which npy stores as a pickle; omnizarr does not load"
            " pickles of files, as they can run code"
        ).advise("load it with NumPy if you trust it, and save it with another data type")
    if dtype.subdtype is not None or not dtype.itemsize:
        raise UnsupportedError(f"elements of {_short(descr)}, which Zarr does not have")
    return dtype


def _short(found: Any) -> str:
    text = repr(found)
    return text if len(text) <= 80 else f"{text[:77]}..."
