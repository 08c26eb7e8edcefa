"""An array as an npy file of NumPy, which holds values and nothing else.

Attributes, names of dimensions, the fill value and chunks have no place in it. The file is written
in C order, a few chunks at a time, wherever they are in it.

This module knows npy files. It must not know how they get their name.
"""

from __future__ import annotations

import io
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np

from omnizarr.jobs.exporting.regions import Region, tiles
from omnizarr.nodes.array import Array
from omnizarr.nodes.group import Group

NAME = "npy"
SUFFIXES = (".npy",)
Advance = Callable[[int, int, str], object]
Values = np.ndarray[Any, Any]


def obstacles(node: Array | Group, options: Mapping[str, Any]) -> list[str]:
    """What cannot be expressed, and what to do."""
    array = only_array(node)
    if array is None:
        return ["an npy file holds one array, and this is a group: export one of its arrays with"
                " path=, or the group as .npz"]  # fmt: skip
    reason = no_type(array)
    return [f"{array.path or '/'}: {reason}"] if reason else []


def only_array(node: Array | Group) -> Array | None:
    """An array; also that of a group that has this one member."""
    if isinstance(node, Array):
        return node
    members = node.members()
    if len(members) == 1 and isinstance(members[0][1], Array):
        return members[0][1]
    return None


def no_type(array: Array) -> str:
    """Why npy has no type for an array; "" if it has."""
    dtype = array.dtype
    if dtype.kind == "T":
        return ("npy has text of a fixed length only, as U20: copy the array with such a dtype"
                " (astype), or export it as .parquet or .csv")  # fmt: skip
    if dtype.hasobject:
        return "npy stores Python's objects and bytes of any length as pickles, which run code"
    if not _is_of_numpy(dtype):
        return f"npy has no type for elements of {dtype}: convert them, to float32 say"
    return ""


def _is_of_numpy(dtype: np.dtype[Any]) -> bool:
    if dtype.names is not None:
        return all(_is_of_numpy(dtype[name]) for name in dtype.names)
    if dtype.subdtype is not None:
        return _is_of_numpy(dtype.subdtype[0])
    try:
        return bool(np.lib.format.descr_to_dtype(np.lib.format.dtype_to_descr(dtype)) == dtype)
    except TypeError:  # float8_e5m2 calls itself '<f1', which NumPy has not
        return False


def units(node: Array | Group, options: Mapping[str, Any]) -> int:
    """How many steps there are."""
    array = only_array(node)
    return 0 if array is None else sum(1 for _ in tiles(array))


def header(array: Array) -> bytes:
    """The header of the file."""
    stream = io.BytesIO()
    facts = {"descr": np.lib.format.dtype_to_descr(array.dtype), "fortran_order": False,
             "shape": array.shape}  # fmt: skip
    try:
        np.lib.format.write_array_header_1_0(stream, facts)
    except (ValueError, UnicodeEncodeError):
        stream = io.BytesIO()
        text = f"{facts!r}\n".encode()
        text = b" " * (-(12 + len(text)) % 64) + text
        stream.write(b"\x93NUMPY\3\0" + len(text).to_bytes(4, "little") + text)
    return stream.getvalue()


def write(node: Array | Group, file: str, advance: Advance) -> None:
    """Write a new file."""
    array = only_array(node)
    assert array is not None
    begin = header(array)
    with open(file, "wb") as out:
        out.write(begin)
        out.truncate(len(begin) + array.nbytes)
    for region in tiles(array):
        values = values_of(array, region)
        _mapped(array, file, len(begin), "r+")[_places(region)] = values
        advance(1, values.nbytes, array.path)


def differences(node: Array | Group, file: str, advance: Advance) -> Iterator[str]:
    """What reads back as something else."""
    array = only_array(node)
    assert array is not None
    with open(file, "rb") as written:
        begin = header(array)
        if written.read(len(begin)) != begin:
            yield "the header is not what was written"
            return
    for region in tiles(array):
        values = values_of(array, region)
        found = _mapped(array, file, len(begin), "r")[_places(region)]
        yield from unlike(values, found, region, array.path)
        advance(1, values.nbytes, array.path)


def _places(region: Region) -> Any:
    """The region as an index that gives an array, of no dimension too."""
    return (*region, ...)


def _mapped(array: Array, file: str, begin: int, mode: Any) -> Values:
    """The values in the file. They are mapped anew for each region, so that what was written does
    not stay in memory."""
    found: Values = np.memmap(file, array.dtype, mode, begin, array.shape or (1,))
    return found.reshape(array.shape)


def values_of(array: Array, region: Region) -> Values:
    """A region as an array, of no dimension too."""
    found = np.asarray(array[region] if region else array[...])
    return found.astype(array.dtype, copy=False)


def unlike(values: Values, found: Values, region: Region, path: str) -> Iterator[str]:
    """The first element of a region that differs in any bit of its fields."""
    if same_bits(values, found):
        return
    for place in np.ndindex(values.shape):
        if not same_bits(values[place], found[place]):
            at = tuple(part.start + n for part, n in zip(region, place, strict=True))
            yield f"/{path} {at}: {values[place]!r} was read back as {found[place]!r}"
            return


def same_bits(one: Any, other: Any) -> bool:
    """Whether two values are equal, NaNs and signs of zero included. Padding does not count."""
    one, other = np.asarray(one), np.asarray(other)
    if one.dtype.names is not None:
        return all(same_bits(one[name], other[name]) for name in one.dtype.names)
    return bool(one.tobytes() == other.tobytes())
