"""The arrays of a group as an npz file of NumPy: a ZIP archive with an npy file for each.

Members are called by the paths of arrays: `group/array.npy`, which is `group/array` for
`numpy.load`. They are written as a stream, one array after the other. Attributes, names of
dimensions, fill values, chunks and empty groups have no place in it.

This module knows npz files. It must not know how they get their name.
"""

from __future__ import annotations

import zipfile
from collections.abc import Iterator, Mapping
from typing import IO, Any

import numpy as np

from omnizarr.jobs.exporting.npy import Advance, header, no_type, unlike, values_of
from omnizarr.jobs.exporting.regions import slabs
from omnizarr.nodes.array import Array
from omnizarr.nodes.group import Group

NAME = "npz"
SUFFIXES = (".npz",)
_PLAIN = "data"
"""The name of an array that has none."""


def obstacles(node: Array | Group, options: Mapping[str, Any]) -> list[str]:
    """What cannot be expressed, and what to do."""
    found = [(name, no_type(array)) for name, array in _arrays(node)]
    return [f"{name}: {reason}" for name, reason in found if reason]


def _arrays(node: Array | Group) -> list[tuple[str, Array]]:
    if isinstance(node, Array):
        return [(node.basename or _PLAIN, node)]
    members = node.members(max_depth=None)
    return [(name, member) for name, member in members if isinstance(member, Array)]


def units(node: Array | Group, options: Mapping[str, Any]) -> int:
    """How many steps there are."""
    return sum(1 for _, array in _arrays(node) for _ in slabs(array))


def write(node: Array | Group, file: str, advance: Advance, *, compressed: bool = False) -> None:
    """Write a new file. `compressed`: as `numpy.savez_compressed`."""
    method = zipfile.ZIP_DEFLATED if compressed else zipfile.ZIP_STORED
    with zipfile.ZipFile(file, "w", method) as archive:
        for name, array in _arrays(node):
            with archive.open(f"{name}.npy", "w", force_zip64=True) as member:
                member.write(header(array))
                for region in slabs(array):
                    values = np.ascontiguousarray(values_of(array, region))
                    member.write(values.reshape(-1).view(np.uint8).data if values.size else b"")
                    advance(1, values.nbytes, name)


def differences(
    node: Array | Group, file: str, advance: Advance, *, compressed: bool = False
) -> Iterator[str]:
    """What reads back as something else."""
    with zipfile.ZipFile(file) as archive:
        for name, array in _arrays(node):
            with archive.open(f"{name}.npy") as member:
                begin = header(array)
                if member.read(len(begin)) != begin:
                    yield f"{name}: the header is not what was written"
                    continue
                for region in slabs(array):
                    values = values_of(array, region)
                    yield from unlike(values, _read(member, values), region, name)
                    advance(1, values.nbytes, name)


def _read(member: IO[bytes], like: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    data = member.read(like.nbytes)
    if len(data) != like.nbytes:
        return np.zeros(like.shape, like.dtype)
    return np.frombuffer(data, like.dtype).reshape(like.shape)
