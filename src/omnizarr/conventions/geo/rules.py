"""The linter's rules for maps: `zarr_conventions`, `proj:`, `spatial:`, CF's grid mappings, `_CRS`.

The functions that read a convention refuse what is malformed, and a rule reports what they say.
What is left is what they tolerate: conventions that are not declared, WKT of the first version,
names of variables that are not there, and statements that contradict each other.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, TypeVar

from omnizarr.conventions import declarations
from omnizarr.conventions.declarations import PROJ, SPATIAL, Convention
from omnizarr.conventions.geo import cf, gdal, resolution, spatial
from omnizarr.conventions.geo import crs as systems
from omnizarr.conventions.geo.crs import Definition
from omnizarr.conventions.geo.facts import Stated
from omnizarr.conventions.geo.transform import numbers
from omnizarr.errors import MetadataError, MissingPackageError
from omnizarr.model import paths
from omnizarr.model.codec import Json
from omnizarr.model.finding import Finding
from omnizarr.model.json import show

if TYPE_CHECKING:
    from omnizarr.conventions.rules import NodeFacts, Nodes

CF = "CF conventions"
GDAL = "document 003"
DECLARATIONS = "Zarr conventions"
PREFIXES: Mapping[Convention, str] = {PROJ: "proj convention", SPATIAL: "spatial convention"}

T = TypeVar("T")


class _Reading:
    """Values that parse, and findings about those that do not."""

    def __init__(self, node: NodeFacts) -> None:
        self.node = node
        self.found: list[Finding] = []

    def read(self, document: str, section: str, parse: Callable[[], T]) -> T | None:
        try:
            return parse()
        except MissingPackageError:
            return None  # what only pyproj knows is not checked
        except MetadataError as error:
            self.found.append(self.node.at(document).error(section, str(error)))
            return None

    def system(self, document: str, section: str, definitions: tuple[Definition, ...]) -> None:
        for definition in definitions:
            self.read(document, section, lambda each=definition: systems.parsed(each))  # type: ignore[misc]


def rule(node: NodeFacts, nodes: Nodes) -> Iterator[Finding]:
    """Every finding about the map of one node."""
    reading = _Reading(node)
    yield from _declarations(node)
    for convention in PREFIXES:
        yield from _declared(node, nodes, convention)
    own = _spatial(reading, node)
    if node.shape is not None:
        said = (_gdal(reading, node), _grid_mapping(reading, node, nodes), own)
        yield from reading.found
        if not any(each.level == "error" for each in reading.found):
            yield from _together(node, nodes, said)
    else:
        yield from reading.found


# -- zarr_conventions -----------------------------------------------------------------------------
def _declarations(node: NodeFacts) -> Iterator[Finding]:
    found = node.attributes.get(declarations.ATTRIBUTE)
    at, section = node.at(DECLARATIONS), declarations.ATTRIBUTE
    if found is not None and not isinstance(found, list):
        yield at.error(section, f"zarr_conventions must be a list, found {show(found)}")
        return
    for entry in found or []:
        if not isinstance(entry, Mapping):
            yield at.error(section, f"an entry must be an object, found {show(entry)}")
            continue
        if not entry.keys() & {*declarations.IDENTIFIERS}:
            yield at.error(
                section, f"an entry needs uuid, schema_url or spec_url, found {show(entry)}"
            )
        for name in sorted(entry.keys() - {*declarations.MEMBERS}):
            yield at.error(section, f"an entry has no member {show(name)}")


def _declared(node: NodeFacts, nodes: Nodes, convention: Convention) -> Iterator[Finding]:
    at = node.at(PREFIXES[convention])
    used = [name for name in node.attributes if name.startswith(convention.name)]
    how = declarations.declared(node.attributes, convention)
    if convention is PROJ and how is not None and not node.attributes.keys() & {*spatial.SYSTEMS}:
        missing = "one of proj:code, proj:wkt2 and proj:projjson must be there"
        group = nodes.get(paths.parent(node.path)) if node.path else None
        if node.is_group:
            yield at.dialect("Properties", f"{missing}; GDAL's samples have it in members only")
        elif group is None or not group.attributes.keys() & {*spatial.SYSTEMS}:
            yield at.error("Properties", missing)
    if (
        convention is SPATIAL
        and how is not None
        and node.shape is not None
        and spatial.DIMENSIONS not in node.attributes
    ):
        yield at.error("spatial:dimensions", "an array must have spatial:dimensions")
    if not used or how is not None:
        return
    above = [nodes[path] for path in paths.ancestors(node.path) if path in nodes]
    if any(declarations.declared(each.attributes, convention) for each in above):
        yield at.dialect(
            "Convention Registration",
            f"{used[0]} is declared by a group above only, as GDAL's own samples do it",
        )
    else:
        yield at.warning(
            "Convention Registration",
            f"{used[0]} is not declared in zarr_conventions; some readers pass over it",
        )


# -- what each convention states ------------------------------------------------------------------
def _spatial(reading: _Reading, node: NodeFacts) -> Stated | None:
    attributes, proj, grid = node.attributes, PREFIXES[PROJ], PREFIXES[SPATIAL]
    definitions = reading.read(proj, "Properties", lambda: spatial.definitions(attributes))
    reading.system(proj, "Properties", definitions or ())
    at = node.at(proj)
    several = [name for name in spatial.SYSTEMS[:3] if attributes.get(name) is not None]
    if len(several) > 1:
        message = f"later revisions allow one definition, found {' and '.join(several)}"
        reading.found.append(at.warning("Properties", message))
    code, wkt = attributes.get(spatial.CODE), attributes.get(spatial.WKT2)
    if isinstance(code, str) and not spatial.is_code(code):
        message = f"proj:code must be capital letters, a colon and digits, found {show(code)}"
        reading.found.append(at.error(spatial.CODE, message))
    if isinstance(wkt, str) and systems.WKT1.match(wkt):
        message = "proj:wkt2 holds WKT of the first version; rioxarray 0.23 writes it"
        reading.found.append(at.dialect(spatial.WKT2, message))
    dims = reading.read(grid, spatial.DIMENSIONS, lambda: spatial.dimensions(attributes))
    if node.shape is not None and dims is not None and not {*dims} <= {*(_names(node))}:
        message = (
            f"spatial:dimensions must name dimensions of the array, which are"
            f" {show(node.dimension_names)}; found {show(dims)}"
        )
        reading.found.append(node.at(grid).error(spatial.DIMENSIONS, message))
    shape = reading.read(grid, spatial.SHAPE, lambda: spatial.grid_shape(attributes))
    registered = reading.read(grid, spatial.REGISTRATION, lambda: spatial.registered(attributes))
    if registered is None and attributes.get(spatial.REGISTRATION) is not None:
        return None
    transform = reading.read(grid, spatial.TRANSFORM, lambda: spatial.transform(attributes))
    kind = attributes.get(spatial.TYPE)
    if kind not in (None, "affine"):
        message = f'the transform type {show(kind)} is not known; "affine" is'
        reading.found.append(node.at(grid).warning(spatial.TYPE, message))
    said = Stated("spatial", definitions or (), transform, dims, shape, registered)
    reading.found.extend(_bbox(node, said))
    return said


def _bbox(node: NodeFacts, said: Stated) -> Iterator[Finding]:
    """`spatial:bbox` beside the transform and the shape that it follows from."""
    found, at = node.attributes.get(spatial.BBOX), node.at(PREFIXES[SPATIAL])
    if found is None:
        return
    try:
        box = numbers(found, (4, 6), spatial.BBOX)
    except MetadataError as error:
        yield at.error(spatial.BBOX, str(error))
        return
    if said.transform is None or said.shape is None or len(box) != 4:
        return
    transform, (rows, columns) = said.transform, said.shape
    if said.registration == "node":
        transform, rows, columns = transform.moved(0.5, 0.5), rows - 1, columns - 1
    wanted = transform.bounds((rows, columns))
    width = max(abs(number) for number in (*transform[:2], *transform[3:5]))
    if any(abs(one - other) > width / 2 for one, other in zip(box, wanted, strict=True)):
        yield at.warning(
            spatial.BBOX,
            f"spatial:bbox {box} is not what spatial:transform and spatial:shape give,"
            f" {tuple(wanted)}",
        )


def _gdal(reading: _Reading, node: NodeFacts) -> Stated | None:
    said = reading.read(GDAL, "4.4.2", lambda: gdal.stated(node.attributes))
    reading.system(GDAL, "4.4.2", () if said is None else said.definitions)
    return said


def _grid_mapping(reading: _Reading, node: NodeFacts, nodes: Nodes) -> Stated | None:
    mappings = reading.read(CF, "5.6", lambda: cf.grid_mappings(node.attributes)) or ()
    group = paths.parent(node.path)
    whole = "" in nodes and nodes[""].is_group
    """Else it may be above the node that the check began at, or the array is a store of its own."""
    said: dict[str, Stated | None] = {}
    for mapping in mappings:
        variable = _variable(mapping.name, group, nodes)
        if variable is None:
            if whole:
                message = f"grid_mapping names {show(mapping.name)}, which is no array"
                reading.found.append(node.at(CF).error("5.6", message))
            continue
        if not cf.is_grid_mapping(variable.attributes):
            message = f"{mapping.name} has neither grid_mapping_name nor crs_wkt"
            reading.found.append(node.at(CF).error("5.6", message))
            continue
        found = reading.read(CF, "5.6", lambda each=variable: cf.stated(each.attributes))  # type: ignore[misc]
        reading.system(CF, "5.6", () if found is None else found.definitions)
        said[mapping.name] = found
        if whole:
            for name in mapping.coordinates:
                if _variable(name, group, nodes) is None:
                    message = f"grid_mapping names the coordinate {show(name)}, which is no array"
                    reading.found.append(node.at(CF).error("5.6", message))
    chosen = cf.chosen(node.attributes, _names(node)) if mappings else None
    return None if chosen is None else said.get(chosen.name)


def _variable(name: str, group: str, nodes: Nodes) -> NodeFacts | None:
    found = (nodes.get(path) for path in cf.places(name, group))
    return next((each for each in found if each is not None and not each.is_group), None)


def _names(node: NodeFacts) -> tuple[str | None, ...]:
    return node.dimension_names or ()


# -- together -------------------------------------------------------------------------------------
def _together(node: NodeFacts, nodes: Nodes, said: tuple[Stated | None, ...]) -> Iterator[Finding]:
    """Conventions that contradict each other, or the array."""
    shape, names = node.shape or (), _names(node)
    group = nodes.get(paths.parent(node.path)) if node.path else None
    parent: Mapping[str, Json] = {} if group is None else group.attributes
    try:
        whole = spatial.stated(node.attributes, shape, names, parent)
        statements = resolution.ranked((*said[:2], whole))
        dims = resolution.first(each.dims for each in statements)
        axes = resolution.axes(names or (None,) * len(shape), dims, {}, bool(statements))
        if axes is None:
            return
        grid = (shape[axes[0]], shape[axes[1]])
        found = list(resolution.conflicts(statements, grid))
    except (MetadataError, MissingPackageError):
        return  # reported of the group; or what only pyproj knows
    for message in found:
        yield node.at("omnizarr").warning("docs/howto/maps.md", message)
