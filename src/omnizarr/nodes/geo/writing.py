"""Store the map of an array: the grid mapping and coordinates beside it, then its attributes.

Variables are written before the attributes that name them, so that a killed process leaves no name
without a variable. A variable that other arrays use is never changed for one of them alone. What is
written, `conventions.geo` knows.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from itertools import count
from typing import TYPE_CHECKING, Any, TypeAlias

from omnizarr.conventions.geo import cf, coordinates, crs, gdal, spatial
from omnizarr.conventions.geo.coordinates import Axis
from omnizarr.conventions.geo.facts import ORDER, Geo, Name, Registration
from omnizarr.conventions.geo.transform import Transform, between, transform_of
from omnizarr.errors import MetadataError
from omnizarr.keywords import nearest
from omnizarr.model import paths
from omnizarr.model.array import ArrayModel
from omnizarr.model.codec import Json
from omnizarr.nodes.geo.reading import Surroundings, centres_line

if TYPE_CHECKING:
    from omnizarr.nodes.array import Array

ConventionLike: TypeAlias = str | Iterable[str] | None
DEFAULT: tuple[Name, ...] = ("cf", "spatial")
_ALIASES: Mapping[str, Name] = {**{name: name for name in ORDER}, "geozarr": "spatial"}
_BLOCK = 1 << 20
"""How many coordinates are written at a time, and the longest chunk of them."""


def chosen(convention: ConventionLike, present: Iterable[str], in_group: bool) -> tuple[Name, ...]:
    """The conventions that a user names; without any, those that are there, else the usual ones."""
    if convention is None:
        convention = tuple(present) or tuple(name for name in DEFAULT if in_group or name != "cf")
    names = (convention,) if isinstance(convention, str) else tuple(convention)
    if not names:
        raise ValueError(f"convention must be of {', '.join(map(repr, _ALIASES))}, found none")
    for name in names:
        if name not in _ALIASES:
            raise ValueError(
                f"convention must be of {', '.join(map(repr, _ALIASES))}, found {name!r}"
                f"{nearest(name, _ALIASES)}"
            )
    return tuple(dict.fromkeys(_ALIASES[name] for name in names))


def changed(
    geo: Geo,
    system: object,
    transform: Iterable[float] | None,
    bounds: Iterable[float] | None,
    registration: Registration | None,
) -> Geo:
    """Facts with those replaced that a user gives."""
    if transform is not None and bounds is not None:
        raise TypeError("give transform or bounds, not both")
    if registration not in (None, "pixel", "node"):
        raise ValueError(f"registration must be 'pixel' or 'node', found {registration!r}")
    if system is not None:
        geo = replace(geo, definitions=(crs.given(system),))
    if transform is not None:
        geo = replace(geo, transform=transform_of(tuple(transform)))
    if bounds is not None:
        geo = replace(geo, transform=between(bounds, geo.shape))
    return replace(geo, registration=registration or geo.registration)


def store(
    around: Surroundings, geo: Geo, conventions: tuple[Name, ...], together: Iterable[str] = ()
) -> str | None:
    """State facts about an array in these conventions and in no other. `together` are the paths of
    all arrays that get the same facts. Returns the name of the grid mapping; the one before it is
    left for `remove_unused`."""
    array = around.array
    array._check_writable()
    peers = frozenset((array.path, *together))
    try:
        _check(around, geo, conventions)
        mapping = _grid_mapping(around, geo, peers) if "cf" in conventions else None
        _write_coordinates(around, geo, peers)
    except MetadataError as error:
        raise error.at(array.store, path=array.path) from error

    def stated(attributes: dict[str, Any]) -> Mapping[str, Any]:
        made = spatial.without(gdal.without(cf.without(attributes)))
        if "gdal" in conventions:
            made |= gdal.attributes_for(geo)
        elif gdal.POINT in attributes or geo.registration == "node":
            made |= gdal.point(geo)  # of which CF says nothing
        if mapping is not None:
            named = attributes.get(cf.ATTRIBUTE)
            kept = around.named == mapping and named is not None
            made[cf.ATTRIBUTE] = named if kept else mapping
        return spatial.attributes_for(geo, made) if "spatial" in conventions else made

    array._change_attributes(stated)
    return mapping


def _check(around: Surroundings, geo: Geo, conventions: tuple[Name, ...]) -> None:
    """Refuse facts that would not be found again."""
    if around.grid is None:
        raise MetadataError(
            f"the array has no dimensions of y and x; its dimensions are {around.array.dims}"
        ).advise("create it with dimension_names=('y', 'x')")
    if geo.transform is not None and None in geo.dims:
        raise MetadataError("a transform belongs to named dimensions; the array has none").advise(
            "create it with dimension_names=('y', 'x')"
        )
    if "cf" in conventions and not around.array.path:
        raise MetadataError(
            "CF's convention needs a variable beside the array, which is the root of the store"
        ).advise("use the convention 'spatial', or put the array into a group")
    beside = geo.transform is None or (around.array.path and geo.transform.is_aligned)
    if conventions == ("gdal",) and not beside:
        raise MetadataError(
            "GDAL's convention keeps the transform in coordinates beside the array; a rotated grid,"
            " or an array that is the root of the store, has none"
        ).advise("add the convention 'spatial'")
    if conventions == ("gdal",) and geo.transform is not None and min(geo.shape) < 2:
        raise MetadataError(
            "GDAL's convention keeps the transform in coordinates beside the array, and that of one"
            " cell, or of none, says nothing about its width"
        ).advise("add the convention 'spatial'")


# -- the grid mapping ---------------------------------------------------------------------------
def _grid_mapping(around: Surroundings, geo: Geo, peers: frozenset[str]) -> str:
    """The name of a variable beside the array that states the facts, made if there is none."""
    for name in _names(around):
        path = paths.join(around.group, name)
        found = around.at(path)
        if found is not None and not cf.is_grid_mapping(found.attrs) and name != around.named:
            continue
        if found is not None and cf.same_grid(found.attrs.asdict(), geo):
            return name
        if found is None or not _named_by_others(around, name, peers):
            # Old parameters must go, so that the variable is replaced and not changed.
            _make(around, path, (), (), cf.variable_for(geo), found is not None)
            return name
    raise AssertionError("names do not end")


def _names(around: Surroundings) -> Iterator[str]:
    if around.named is not None and "/" not in around.named:
        yield around.named
    yield cf.USUAL_NAME
    yield from (f"{cf.USUAL_NAME}_{number}" for number in count(2))


def _siblings(around: Surroundings) -> Iterator[tuple[str, ArrayModel]]:
    place = around.array._place
    for name, model in place.format.children(place.store, around.group).items():
        if isinstance(model, ArrayModel):
            yield paths.join(around.group, name), model


def _named_by_others(around: Surroundings, name: str, peers: frozenset[str]) -> bool:
    return any(
        name in [each.name for each in cf.grid_mappings(model.attributes)]
        for path, model in _siblings(around)
        if path not in peers
    )


def remove_unused(around: Surroundings, mapping: str | None) -> None:
    """Delete the grid mapping that the array named before, if no array names it any more."""
    place, name = around.array._place, around.named
    if name is None or name == mapping or "/" in name:
        return
    path = paths.join(around.group, name)
    found = around.at(path)
    if found is not None and found.ndim == 0 and not _named_by_others(around, name, frozenset()):
        from omnizarr.nodes.creation import storing

        storing.remove(place.store, path)


# -- coordinates --------------------------------------------------------------------------------
def _write_coordinates(around: Surroundings, geo: Geo, peers: frozenset[str]) -> None:
    transform, grid = geo.transform, around.grid
    if transform is None or not transform.is_aligned or grid is None or not around.array.path:
        return
    kinds: tuple[Axis, Axis] = ("y", "x")
    for axis, kind in enumerate(kinds):
        name = geo.dims[axis]
        found = around.coordinate(grid.axes[axis])
        if found is not None and _agrees(found, transform, axis):
            continue
        path = paths.join(around.group, str(name)) if found is None else found.path
        if found is None and (not paths.is_key(path) or "/" in str(name) or around.at(path)):
            continue  # another array has this name
        if found is not None:
            _check_unshared(around, found, str(name), peers)
        attributes = {} if found is None else found.attrs.asdict()
        for packing in ("scale_factor", "add_offset"):
            attributes.pop(packing, None)
        attributes |= coordinates.attributes_for(geo, kind)
        length = geo.shape[axis]
        made = _make(around, path, (length,), (name,), attributes, found is not None)
        for start in range(0, length, _BLOCK):
            stop = min(start + _BLOCK, length)
            made[start:stop] = transform.centres(axis, start, stop)


def _agrees(variable: Array, transform: Transform, axis: int) -> bool:
    line = centres_line(variable, True)
    if line is None:
        return False
    first, step = line
    count = len(variable)
    start, stop = transform.centres(axis, 0, 1)[0], transform.centres(axis, count - 1, count)[0]
    off = max(abs(start - first), abs(stop - first - step * (count - 1)))
    return bool(off < 0.01 * abs(step))


def _check_unshared(around: Surroundings, found: Array, name: str, peers: frozenset[str]) -> None:
    """Coordinates place every array on their dimension."""
    others = [
        path
        for path, model in _siblings(around)
        if name in (model.dimension_names or ()) and path not in peers and path != found.path
    ]
    if others or paths.parent(found.path) != around.group:
        raise MetadataError(
            f"the coordinates {found.name!r} say otherwise, and belong to other arrays too"
            f" ({', '.join(others) or 'of other groups'})"
        ).advise("state it for all of them with group.geo.set(…)")


def _make(
    around: Surroundings,
    path: str,
    shape: tuple[int, ...],
    names: tuple[str | None, ...],
    attributes: Mapping[str, Json],
    overwrite: bool,
) -> Array:
    from omnizarr.nodes.creation.arrays import make_array

    array = around.array
    arguments = {
        "shape": shape,
        "dtype": "f8" if shape else "i4",
        "fill_value": math.nan if shape else 0,  # xarray takes that of format 2 for missing data
        "chunks": tuple(max(1, min(length, _BLOCK)) for length in shape),
        "dimension_names": names,
        "attributes": attributes,
    }
    chosen_format = array._place.format
    options = array._options.changed(view=None)
    made = make_array(
        array._place.store, path, arguments,
        chosen=chosen_format, overwrite=overwrite, options=options,
    )  # fmt: skip
    around.forget(path)
    return made
