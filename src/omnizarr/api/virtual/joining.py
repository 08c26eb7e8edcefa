"""Many files as one: arrays joined along a dimension. Pure functions of facts.

* All files have the same arrays: of one data type, with the same codecs, chunks and packing
  (`scale_factor`, `_FillValue`, `units`, …). A difference is an error that names the files.
* Arrays that have the dimension are joined; those that do not must be equal.
* Chunks stay what they are, so they must fit: only the last file may end within a chunk. Where the
  files' chunks have other lengths, so have those of the joined array. Data without compression is
  cut into smaller chunks where that makes all alike.
* The coordinates of the dimension rise, or fall, from file to file.

This module knows facts. It must not read anything.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import reduce
from math import gcd, prod
from typing import Any, TypeVar

import numpy as np

from omnizarr.api.virtual.coordinates import check_order, in_units_of_first, same
from omnizarr.api.virtual.facts import (
    Codec,
    Lengths,
    VirtualArray,
    VirtualFile,
    held,
    is_coordinate,
    split,
)
from omnizarr.errors import MetadataError, UnsupportedError, ZarrError
from omnizarr.model.grids import NDArray, Shape

T = TypeVar("T")

MOST_CUT = 1 << 17
"""How many chunks a joined array is cut into at most, so that all are alike."""
_MEANING = (
    "scale_factor", "add_offset", "_FillValue", "missing_value", "_Unsigned", "units", "calendar",
    "valid_min", "valid_max", "valid_range", "flag_values", "flag_masks", "flag_meanings",
    "grid_mapping", "positive", "proj:code", "proj:wkt2", "proj:projjson", "spatial:transform",
)  # fmt: skip
"""Attributes that say what the stored numbers mean. Of others those of the first file are kept."""
_LEVELS = frozenset({"level", "clevel", "acceleration", "preset"})
"""Members of a codec that do not matter for decoding."""


def join(files: Sequence[VirtualFile], along: str | int) -> VirtualFile:
    """The files one after the other along a dimension that they have."""
    first = files[0]
    check_members(files)
    name = dimension_of(first, along)
    if not any(name in array.dimensions for array in first.arrays.values()):
        raise MetadataError(
            f"no array of {first.source!r} has the dimension {name!r}; there are"
            f" {', '.join(map(repr, known_dimensions(first))) or 'none'}"
        ).advise(f"make a new dimension of the files with new_dim={name!r}")
    arrays: dict[str, VirtualArray] = {}
    for path in first.arrays:
        found = [file.arrays[path] for file in files]
        sources = [file.source for file in files]
        try:
            if name in found[0].dimensions:
                arrays[path] = _joined(path, found, sources, name, first)
            else:
                arrays[path] = _equal(found, sources)
        except ZarrError as error:
            raise error.at(f"array {path!r}") from error
    return VirtualFile(f"{first.source} and {len(files) - 1} more", first.groups, arrays)


def stack(files: Sequence[VirtualFile], name: str, labels: NDArray | None = None) -> VirtualFile:
    """The files along a new dimension, one step each. Coordinates, and what is in no dimension and
    equal in all, stay without it; a scalar of its name becomes its coordinate."""
    check_members(files)
    first = files[0]
    if name in known_dimensions(first):
        raise MetadataError(f"{first.source!r} has a dimension {name!r} already").advise(
            f"join along it with join={name!r}"
        )
    kept = _coordinates(first)
    for path, array in first.arrays.items():
        others = [file.arrays[path] for file in files]
        if not array.shape and path != name and all(_same_values(array, each) for each in others):
            kept.add(path)
    expanded = [
        replace(file, arrays={path: array if path in kept else _expanded(array, name)
                              for path, array in file.arrays.items()})
        for file in files
    ]  # fmt: skip
    joined = join(expanded, name)
    if labels is None:
        return joined
    if labels.shape != (len(files),):
        raise ValueError(f"new_dim: {len(files)} files need as many values, found {labels.shape}")
    facts = VirtualArray(labels.shape, labels.shape, labels.dtype, (name,))
    return replace(joined, arrays={**joined.arrays, name: held(labels, facts)})


def known_dimensions(file: VirtualFile) -> list[str]:
    """The names of all dimensions, in the order in which they appear."""
    return list(dict.fromkeys(n for array in file.arrays.values() for n in array.dimensions))


def check_members(files: Sequence[VirtualFile]) -> None:
    """Raise unless all files have the same arrays."""
    first = files[0]
    for file in files[1:]:
        for one, other in ((first, file), (file, first)):
            missing = [path for path in one.arrays if path not in other.arrays]
            if missing:
                raise MetadataError(
                    f"{other.source!r} has no array {missing[0]!r}, which {one.source!r} has"
                ).advise(f"leave it out of all files with skip={missing!r}")


def wanted(file: VirtualFile, along: str | int | None) -> frozenset[str]:
    """The arrays whose values joining needs: those that must be equal in all files, and those whose
    only chunk is longer than they are, as netCDF makes it along unlimited dimensions. Along None
    is a new dimension."""
    if along is None:
        return frozenset(_coordinates(file))
    name = dimension_of(file, along)
    found: set[str] = set()
    for path, array in file.arrays.items():
        axis = array.dimensions.index(name) if name in array.dimensions else None
        chunk = 0 if axis is None else array.chunks[axis]
        if axis is None or (isinstance(chunk, int) and chunk > array.shape[axis]):
            found.add(path)
    return frozenset(found)


def dimension_of(file: VirtualFile, axis: str | int) -> str:
    """The name of an axis, in the arrays with the most dimensions."""
    if isinstance(axis, str):
        return axis
    most = max((len(array.shape) for array in file.arrays.values()), default=0)
    if not -most <= axis < most:
        raise MetadataError(f"{file.source!r} has arrays of {most} dimensions, no axis {axis}")
    names = {array.dimensions[axis] for array in file.arrays.values() if len(array.shape) == most}
    if len(names) > 1:
        raise MetadataError(f"axis {axis} is called {sorted(names)}; give one of the names")
    return names.pop()


def _coordinates(file: VirtualFile) -> set[str]:
    """Arrays that are coordinates of others, which files share along a new dimension."""
    found = {path for path, array in file.arrays.items() if is_coordinate(path, array.dimensions)}
    for path, array in file.arrays.items():
        parent = path.rpartition("/")[0]
        for attribute in ("coordinates", "bounds", "grid_mapping"):
            text = array.attributes.get(attribute)
            names = text.split() if isinstance(text, str) else []
            found.update(f"{parent}/{name}" if parent else name for name in names)
    return {path for path in found if path in file.arrays and file.arrays[path].shape}


def _expanded(array: VirtualArray, name: str) -> VirtualArray:
    """The array with a new first dimension of length 1."""
    values = None if array.values is None else array.values[np.newaxis]
    return replace(
        array, shape=(1, *array.shape), chunks=(1, *array.chunks), values=values,
        dimensions=(name, *array.dimensions),
        pieces={(0, *place): span for place, span in array.pieces.items()},
        inline={(0, *place): data for place, data in array.inline.items()},
    )  # fmt: skip


# -- arrays that must be equal --------------------------------------------------------------------


def _equal(arrays: Sequence[VirtualArray], sources: Sequence[str]) -> VirtualArray:
    first = arrays[0]
    for array, source in zip(arrays, sources, strict=True):
        _check_alike(first, array, sources[0], source, None)
        if not _same_values(first, array):
            raise MetadataError(
                f"it is not in the joined dimension, so all files must have the same values;"
                f" {sources[0]!r} and {source!r} differ"
            )
    return first


def _same_values(one: VirtualArray, other: VirtualArray) -> bool:
    """Whether values are equal, where both are held."""
    return one.values is None or other.values is None or same(one.values, other.values)


def _check_alike(
    first: VirtualArray, array: VirtualArray, one: str, other: str, axis: int | None,
    converted: tuple[str, ...] = (),
) -> None:  # fmt: skip
    """Raise if two arrays differ in anything but their length along the axis."""
    facts: list[tuple[str, Any, Any]] = [
        ("dimensions", first.dimensions, array.dimensions),
        ("the data type", first.dtype, array.dtype),
        ("the shape", _without(first.shape, axis), _without(array.shape, axis)),
    ]
    if first.values is None and array.values is None:
        facts.append(("chunks", _without(first.chunks, axis), _without(array.chunks, axis)))
        facts.append(("codecs", _decoding(first.codecs), _decoding(array.codecs)))
        facts.append(("the order of the elements", (first.order,), (array.order,)))
    facts += [(f"the attribute {name!r}", first.attributes.get(name), array.attributes.get(name))
              for name in _MEANING if name not in converted]  # fmt: skip
    if "units" not in converted:
        facts.append(("the fill value", first.fill_value, array.fill_value))
    for what, left, right in facts:
        equal = left == right if isinstance(left, tuple | np.dtype) else same(left, right)
        if not equal:
            raise MetadataError(f"{what}: {left} in {one!r}, {right} in {other!r}; they must agree")


def _without(items: tuple[Any, ...], axis: int | None) -> tuple[Any, ...]:
    return items if axis is None else (*items[:axis], *items[axis + 1 :])


def _decoding(codecs: Sequence[Codec]) -> tuple[Any, ...]:
    return tuple({name: value for name, value in codec.items() if name not in _LEVELS}
                 for codec in codecs)  # fmt: skip


# -- arrays that are joined -----------------------------------------------------------------------


def _joined(
    path: str, arrays: Sequence[VirtualArray], sources: Sequence[str], name: str, file: VirtualFile
) -> VirtualArray:
    first = arrays[0]
    axis = first.dimensions.index(name)
    coordinate = is_coordinate(path, first.dimensions) and all(
        array.values is not None for array in arrays
    )
    converted = ("units",) if coordinate else ()
    for array, source in zip(arrays, sources, strict=True):
        _check_alike(first, array, sources[0], source, axis, converted)
    if all(array.values is not None for array in arrays):
        values = [array.values for array in arrays if array.values is not None]
        if coordinate:
            values = _in_one_unit(first, arrays, values, file)
            check_order(values, sources, name)
        joined = np.concatenate(values, axis)
        fill = first.fill_value if joined.dtype == first.dtype else None
        return replace(held(joined, first), fill_value=fill)
    filled = [at for at, array in enumerate(arrays) if array.shape[axis]]
    if 0 < len(filled) < len(arrays):  # a file without records has no chunks to compare
        return _joined(
            path, [arrays[at] for at in filled], [sources[at] for at in filled], name, file
        )  # fmt: skip
    for array, source in zip(arrays, sources, strict=True):
        if array.values is not None:
            raise UnsupportedError(
                f"it is stored as one piece in {source!r}, and as chunks in other files"
            )
    fitting = _fitting(arrays, axis)
    chunks = _lengths(fitting, sources, axis)
    shape = (*first.shape[:axis], sum(a.shape[axis] for a in arrays), *first.shape[axis + 1 :])
    return replace(
        first, shape=shape, pieces=_placed(fitting, [array.pieces for array in fitting], axis),
        inline=_placed(fitting, [array.inline for array in fitting], axis),
        chunks=(*first.chunks[:axis], chunks, *first.chunks[axis + 1 :]),
        unwritten=_unwritten(arrays, sources),
    )  # fmt: skip


def _unwritten(arrays: Sequence[VirtualArray], sources: Sequence[str]) -> Any:
    """The value of chunks that are not there, in all files that lack some."""
    known = [(array.unwritten, source) for array, source in zip(arrays, sources, strict=True)
             if array.unwritten is not None]  # fmt: skip
    for value, source in known[1:]:
        if not same(value, known[0][0]):
            raise MetadataError(
                f"chunks that were never written hold {known[0][0]} in {known[0][1]!r}, and {value}"
                f" in {source!r}"
            )
    return known[0][0] if known else None


def _in_one_unit(
    first: VirtualArray, arrays: Sequence[VirtualArray], values: list[NDArray], file: VirtualFile
) -> list[NDArray]:
    units = [array.attributes.get("units") for array in arrays]
    calendars = [array.attributes.get("calendar") for array in arrays]
    converted = in_units_of_first(values, units, calendars)
    if all(unit == units[0] for unit in units):
        return converted
    bounds = first.attributes.get("bounds", first.attributes.get("climatology"))
    if isinstance(bounds, str) and bounds in file.arrays:
        raise UnsupportedError(
            f"its units differ ({units[0]!r}, …), and the values of {bounds!r} count in them too;"
            " these are not converted"
        ).advise(f"leave the bounds out with skip=[{bounds!r}]")
    if first.fill_value is not None and any((own == first.fill_value).any() for own in values):
        raise UnsupportedError("its units differ, and some of its values are missing")
    return converted


def _fitting(arrays: Sequence[VirtualArray], axis: int) -> Sequence[VirtualArray]:
    """The arrays with chunks of one length, if uncompressed ones can be cut so."""
    lengths = {array.chunks[axis] for array in arrays}
    ends = [array.shape[axis] for array in arrays[:-1]]
    whole = [length for length in lengths if isinstance(length, int)]
    if len(whole) < len(lengths):
        return arrays
    common = reduce(gcd, [*whole, *ends])
    if whole == [common] or not common:
        return arrays
    rest = prod(_without(arrays[0].counts(), axis))
    total = sum(array.shape[axis] for array in arrays)
    if total // common * rest > MOST_CUT:
        return arrays
    cut = [split(array, axis, common) for array in arrays]
    return arrays if any(array is None for array in cut) else [a for a in cut if a is not None]


def _lengths(arrays: Sequence[VirtualArray], sources: Sequence[str], axis: int) -> Lengths:
    """The lengths of all chunks along the axis; one number if all are alike."""
    found: list[int] = []
    for index, (array, source) in enumerate(zip(arrays, sources, strict=True)):
        chunk, length = array.chunks[axis], array.shape[axis]
        own = [chunk] * -(-length // chunk) if isinstance(chunk, int) else list(chunk)
        if sum(own) != length and index < len(arrays) - 1:
            raise UnsupportedError(
                f"{source!r} has {length} elements along the joined dimension in chunks of"
                f" {own[0]}: its last chunk is not full, and only that of the last file may be so"
            ).advise(f"rewrite the files with a chunk length that divides {length}")
        found += own
    same_length = len({*found[:-1]}) <= 1 and (not found[1:] or found[-1] == found[0])
    return found[0] if found and same_length else tuple(found) or 1


def _placed(
    arrays: Sequence[VirtualArray], found: Sequence[Mapping[Shape, T]], axis: int
) -> dict[Shape, T]:
    """What each array has for its chunks, by their coordinates in the joined array."""
    placed: dict[Shape, T] = {}
    start = 0
    for array, own in zip(arrays, found, strict=True):
        if start:
            placed.update(
                ((*place[:axis], place[axis] + start, *place[axis + 1 :]), item)
                for place, item in own.items()
            )
        else:
            placed.update(own)
        start += array.counts()[axis]
    return placed
