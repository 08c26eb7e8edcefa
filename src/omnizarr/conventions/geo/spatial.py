"""The conventions `proj:` and `spatial:` of 2026, which GeoZarr consists of.

`proj:code`, `proj:wkt2` or `proj:projjson` state the reference system, `spatial:*` the grid. A node
declares both in `zarr_conventions`; arrays and groups may have them. A group speaks for the arrays
directly in it: an array's own `proj:` replaces that of its group, and each of its `spatial:`
members the group's one.
"""

from __future__ import annotations

from collections.abc import Mapping

from omnizarr.conventions import declarations
from omnizarr.conventions.declarations import PROJ, SPATIAL
from omnizarr.conventions.geo import crs as systems
from omnizarr.conventions.geo.crs import Definition
from omnizarr.conventions.geo.facts import Geo, Registration, Stated
from omnizarr.conventions.geo.transform import Transform, transform_of
from omnizarr.errors import MetadataError
from omnizarr.model.codec import Json
from omnizarr.model.json import show

CODE, WKT2, PROJJSON = "proj:code", "proj:wkt2", "proj:projjson"
EPSG = "proj:epsg"
"""Of STAC's extension, from which the convention comes; GDAL reads it."""
SYSTEMS = (CODE, WKT2, PROJJSON, EPSG)
DIMENSIONS, SHAPE, BBOX = "spatial:dimensions", "spatial:shape", "spatial:bbox"
TRANSFORM, TYPE = "spatial:transform", "spatial:transform_type"
REGISTRATION = "spatial:registration"
GRID = (DIMENSIONS, SHAPE, TRANSFORM, TYPE, REGISTRATION)


def stated(
    attributes: Mapping[str, Json],
    shape: tuple[int, ...],
    names: tuple[str | None, ...] | None = None,
    parent: Mapping[str, Json] | None = None,
) -> Stated | None:
    """What the attributes of an array and of its group state; None if they do not follow these
    conventions."""
    above, names = parent or {}, names or ()
    said = definitions(attributes) or definitions(above)
    own = {name: attributes[name] for name in GRID if attributes.get(name) is not None}
    members = own
    dims = dimensions(own) or dimensions(above)
    if dims is not None and {*dims} <= {*names}:
        lengths = (shape[names.index(dims[0])], shape[names.index(dims[1])])
        if grid_shape(above) in (None, lengths):  # else the group speaks of another grid
            members = {name: above[name] for name in GRID if above.get(name) is not None} | own
    if not said and not members:
        return None
    inherited = not own and not definitions(attributes)
    dims = dimensions(members)
    return Stated(
        "spatial",
        said,
        transform(members),
        dims,
        grid_shape(members),
        registered(members),
        inherited,
    )


def definitions(attributes: Mapping[str, Json]) -> tuple[Definition, ...]:
    """The definitions that one node has, the one that counts first."""
    made = [
        systems.text(attributes[name], name)
        for name in (CODE, WKT2)
        if attributes.get(name) is not None
    ]
    if attributes.get(PROJJSON) is not None:
        made.append(systems.members(attributes[PROJJSON], PROJJSON, "projjson"))
    number = attributes.get(EPSG)
    if type(number) is int and 0 < number < 1 << 31:
        made.append(Definition("text", f"EPSG:{number}"))
    return tuple(made)


def dimensions(members: Mapping[str, Json]) -> tuple[str, str] | None:
    """The names of the dimensions of y and x."""
    found = members.get(DIMENSIONS)
    if found is None:
        return None
    if (
        not isinstance(found, list)
        or not 2 <= len(found) <= 3
        or not all(isinstance(name, str) for name in found)
        or len({*found}) != len(found)
    ):
        raise MetadataError(
            f"{DIMENSIONS} must be the names of the dimensions of y and x, found {show(found)}"
        )
    return found[-2], found[-1]


def grid_shape(members: Mapping[str, Json]) -> tuple[int, int] | None:
    """The number of rows and columns."""
    found = members.get(SHAPE)
    if found is None:
        return None
    if (
        not isinstance(found, list)
        or not 2 <= len(found) <= 3
        or not all(type(length) is int and length > 0 for length in found)
    ):
        raise MetadataError(f"{SHAPE} must be two positive integers, found {show(found)}")
    return found[-2], found[-1]


def registered(members: Mapping[str, Json]) -> Registration | None:
    """Whether coordinates are those of the corners of cells ("pixel") or of their centres."""
    found = members.get(REGISTRATION)
    if found not in (None, "pixel", "node"):
        raise MetadataError(f'{REGISTRATION} must be "pixel" or "node", found {show(found)}')
    return found


def transform(members: Mapping[str, Json]) -> Transform | None:
    """The transform from corners of cells, however it is registered; None if there is none."""
    found = members.get(TRANSFORM)
    if found is None or members.get(TYPE) not in (None, "affine"):
        return None  # readers are asked to pass over types that they do not know
    if not isinstance(found, list) or len(found) != 6:
        raise MetadataError(f"{TRANSFORM} must be 6 finite numbers, found {show(found)}")
    made = transform_of(found, TRANSFORM)
    return made.moved(-0.5, -0.5) if registered(members) == "node" else made


def attributes_for(geo: Geo, others: Mapping[str, Json] | None = None) -> dict[str, Json]:
    """The attributes of an array or group that state these facts, with their declaration; `others`
    are attributes that stay, and their declarations with them."""
    made = without(others or {})
    used = []
    if geo.crs is not None:
        used.append(PROJ)
        code = systems.code(geo.crs)
        if code is not None and is_code(code):
            made[CODE] = code
        else:  # never both: later revisions of the convention forbid it
            made[WKT2] = geo.crs.to_wkt()
    if None not in geo.dims:
        used.append(SPATIAL)
        made[DIMENSIONS] = list(geo.dims)
        if 0 not in geo.shape:
            made[SHAPE] = list(geo.shape)
        if geo.transform is not None:
            made |= _grid(geo, geo.transform)
    return declarations.declare(made, *used) if used else made


def is_code(code: str) -> bool:
    """Whether `proj:code` may hold a code: capital letters, a colon and digits."""
    authority, _, number = code.partition(":")
    return authority.isascii() and authority.isalpha() and authority.isupper() and number.isdigit()


def _grid(geo: Geo, corners: Transform) -> dict[str, Json]:
    rows, columns = geo.shape
    origin, shape = corners, (rows, columns)
    if geo.registration == "node":
        origin, shape = corners.moved(0.5, 0.5), (rows - 1, columns - 1)
    return {
        TRANSFORM: list(origin),
        TYPE: "affine",
        BBOX: list(origin.bounds(shape)),
        REGISTRATION: geo.registration,
    }


def without(attributes: Mapping[str, Json]) -> dict[str, Json]:
    """The attributes without these conventions."""
    owned = {*SYSTEMS, *GRID, BBOX}
    kept = {name: value for name, value in attributes.items() if name not in owned}
    return declarations.without(kept, PROJ, SPATIAL)
