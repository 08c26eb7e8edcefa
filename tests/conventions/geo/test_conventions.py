"""Every convention: facts become attributes and the same facts again; strangers' attributes are
read or refused."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from omnizarr.conventions import declarations
from omnizarr.conventions.declarations import PROJ, SPATIAL
from omnizarr.conventions.geo import cf, gdal, rules, spatial
from omnizarr.conventions.geo import crs as systems
from omnizarr.conventions.geo.cf import GridMapping
from omnizarr.conventions.geo.crs import Definition
from omnizarr.conventions.geo.facts import Geo
from omnizarr.conventions.geo.transform import Transform
from omnizarr.conventions.rules import NodeFacts
from omnizarr.errors import MetadataError
from omnizarr.model import json

LAEA = "+proj=laea +lat_0=45.5 +lon_0=-114.125 +x_0=0 +y_0=0 +ellps=GRS80 +units=m +no_defs"
CODES = ["EPSG:32631", "EPSG:4326", "EPSG:3857", "EPSG:26711", "OGC:CRS84", "EPSG:2154", LAEA]
SIZES = st.floats(0.001, 1e4) | st.floats(-1e4, -0.001)


@st.composite
def grids(draw: st.DrawFn) -> Geo:
    rotated = draw(st.booleans())
    transform = Transform(
        draw(SIZES), 0.125 if rotated else 0.0, draw(st.floats(-1e6, 1e6)), 0.0, draw(SIZES),
        draw(st.floats(-1e6, 1e6)),
    )  # fmt: skip
    return Geo(
        draw(st.tuples(st.integers(1, 99), st.integers(1, 99))),
        draw(st.sampled_from([("y", "x"), ("lat", "lon")])),
        (systems.given(draw(st.sampled_from(CODES))),),
        draw(st.none() | st.just(transform)),
        draw(st.sampled_from(["pixel", "node"])),
    )


def stored(attributes: dict[str, Any]) -> dict[str, Any]:
    """Attributes as a document gives them back."""
    return dict(json.loads(json.dumps(attributes)))


def same_system(found: tuple[Definition, ...], geo: Geo) -> bool:
    one = systems.first(found)
    assert one is not None and geo.crs is not None
    return one == geo.crs or one.equals(geo.crs, ignore_axis_order=True)


@settings(max_examples=25, deadline=None)
@given(grids())
def test_gdal_round_trip(geo: Geo) -> None:
    found = gdal.stated(stored(gdal.attributes_for(geo)))
    assert found is not None and found.registration == geo.registration
    for definition in found.definitions:  # each alone
        assert same_system((definition,), geo)
    epsg = geo.definitions[0].value.startswith("EPSG:")
    assert [each.kind for each in found.definitions] == ["text"] * (1 + epsg) + ["projjson"]


@settings(max_examples=25, deadline=None)
@given(grids())
def test_cf_round_trip(geo: Geo) -> None:
    variable = stored(cf.variable_for(geo))
    found = cf.stated(variable)
    assert same_system(found.definitions, geo)
    assert found.transform == geo.transform
    assert cf.same_grid(variable, geo)
    other = Geo(geo.shape, definitions=(Definition("text", "EPSG:3031"),))
    assert not cf.same_grid(variable, other)


@settings(max_examples=25, deadline=None)
@given(grids())
def test_spatial_round_trip(geo: Geo) -> None:
    attributes = stored(spatial.attributes_for(geo))
    found = spatial.stated(attributes, geo.shape, geo.dims)
    assert found is not None and not found.inherited
    assert same_system(found.definitions, geo) and len(found.definitions) == 1
    assert (found.dims, found.shape) == (geo.dims, geo.shape)
    if geo.transform is not None:
        assert found.registration == geo.registration
        assert found.transform == pytest.approx(geo.transform)
    # A group says the same of the arrays in it.
    above = spatial.stated({}, (3, *geo.shape), ("time", *geo.dims), attributes)
    assert above is not None and above.inherited
    assert (above.transform, above.definitions) == (found.transform, found.definitions)
    node = NodeFacts("a", "a/zarr.json", attributes, geo.shape, None, geo.dims)
    assert list(rules.rule(node, {"a": node})) == []


@given(grids())
@settings(max_examples=10, deadline=None)
def test_conventions_are_removed_whole(geo: Geo) -> None:
    kept = {"units": "m", "zarr_conventions": [{"uuid": "another", "name": "license"}]}
    made = declarations.declare({**kept, **spatial.attributes_for(geo)}, PROJ, SPATIAL)
    made |= {"zarr_conventions": [*kept["zarr_conventions"], *made["zarr_conventions"]]}
    made |= {**gdal.attributes_for(geo), "grid_mapping": "spatial_ref"}
    assert cf.without(gdal.without(spatial.without(made))) == {
        **kept,
        "zarr_conventions": kept["zarr_conventions"],
    }


# -- what is found in the field -------------------------------------------------------------------
@pytest.mark.parametrize(
    ("entry", "how"),
    [
        ({"uuid": PROJ.uuid, "name": "whatever"}, "uuid"),
        ({"schema_url": "https://raw.githubusercontent.com/zarr-experimental/geo-proj/x"}, "url"),
        ({"spec_url": "https://github.com/zarr-conventions/proj/blob/v0.1/README.md"}, "url"),
        ({"name": "proj:"}, "name"),
        ({"name": "proj"}, "name"),
        ({"uuid": SPATIAL.uuid, "name": "proj:"}, None),
        ({"name": 5, "schema_url": []}, None),
        ({}, None),
    ],
)
def test_how_a_convention_is_declared(entry: dict[str, Any], how: str | None) -> None:
    assert declarations.declared({"zarr_conventions": ["?", entry]}, PROJ) == how


def test_the_declaration_that_all_readers_take() -> None:
    entry = PROJ.declaration()
    assert entry["name"] == "proj:"  # rioxarray
    assert entry["uuid"] == "f17cb550-5864-4468-aeb7-f3180cfb622f"  # GDAL, OpenLayers
    assert str(entry["schema_url"]).endswith("/geo-proj/refs/tags/v1/schema.json")  # zarr-cm
    assert entry.keys() == {"uuid", "name", "schema_url", "spec_url", "description"}


def test_wkt_of_the_first_version_is_read() -> None:
    wkt = systems.parsed(Definition("text", "EPSG:32631")).to_wkt("WKT1_GDAL")
    found = spatial.definitions({"proj:wkt2": wkt})
    assert systems.parsed(found[0]).to_epsg() == 32631


def test_a_group_does_not_speak_of_another_grid() -> None:
    group = {
        "proj:code": "EPSG:32631",
        "spatial:dimensions": ["y", "x"],
        "spatial:shape": [4, 6],
        "spatial:transform": [10, 0, 0, 0, -10, 0],
    }
    same = spatial.stated({}, (4, 6), ("y", "x"), group)
    assert same is not None and same.transform is not None
    for shape, names in (((2, 3), ("y", "x")), ((4, 6), ("time", "station")), ((4, 6), None)):
        other = spatial.stated({}, shape, names, group)
        assert other is not None and other.transform is None
        assert other.definitions == (Definition("text", "EPSG:32631"),)


def test_an_array_replaces_what_its_group_says() -> None:
    group = {"proj:wkt2": "EPSG:4326", "spatial:dimensions": ["y", "x"],
             "spatial:transform": [1, 0, 0, 0, 1, 0], "spatial:registration": "node"}  # fmt: skip
    found = spatial.stated(
        {"proj:code": "EPSG:32631", "spatial:transform": [2, 0, 0, 0, 2, 0]},
        (4, 6),
        ("y", "x"),
        group,
    )
    assert found is not None
    assert found.definitions == (Definition("text", "EPSG:32631"),)
    assert found.transform == (2, 0, -1, 0, 2, -1)  # half a cell from the node
    assert found.registration == "node"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("crs", (GridMapping("crs"),)),
        ("crs: x y", (GridMapping("crs", ("x", "y")),)),
        ("a: x y b: lat lon", (GridMapping("a", ("x", "y")), GridMapping("b", ("lat", "lon")))),
        ("a:", (GridMapping("a"),)),
    ],
)
def test_grid_mapping_syntax(text: str, expected: tuple[GridMapping, ...]) -> None:
    assert cf.grid_mappings({"grid_mapping": text}) == expected


@pytest.mark.parametrize("value", ["", "two names", ":", 5, [], {"a": 1}, "x y: z"])
def test_what_is_no_grid_mapping(value: Any) -> None:
    with pytest.raises(MetadataError, match="grid_mapping"):
        cf.grid_mappings({"grid_mapping": value})


def test_the_mapping_of_the_own_dimensions() -> None:
    attributes = {"grid_mapping": "wgs84: lat lon osgb: x y"}
    assert cf.chosen(attributes, ("time", "y", "x")) == GridMapping("osgb", ("x", "y"))
    assert cf.chosen(attributes, ("a", "b")) == GridMapping("wgs84", ("lat", "lon"))


@pytest.mark.parametrize(
    ("name", "group", "expected"),
    [
        ("crs", "", ["crs"]),
        ("crs", "a/b", ["a/b/crs", "a/crs", "crs"]),
        ("/grids/crs", "a/b", ["grids/crs"]),
        ("../crs", "a/b", ["a/crs"]),
        ("../../../../etc/passwd", "a", ["etc/passwd"]),
        ("..", "a", []),
        (".", "a", []),
        ("/", "a", []),
        ("x" * 300, "a", []),
    ],
)
def test_where_a_variable_is_looked_for(name: str, group: str, expected: list[str]) -> None:
    assert list(cf.places(name, group)) == expected


# -- hostile attributes ---------------------------------------------------------------------------
NAMES = st.sampled_from(
    [*spatial.SYSTEMS, *spatial.GRID, spatial.BBOX, "_CRS", "AREA_OR_POINT", "grid_mapping",
     "zarr_conventions", "crs_wkt", "spatial_ref", "GeoTransform", "grid_mapping_name", "url",
     "wkt", "projjson", "uuid", "name", "semi_major_axis", "false_easting"]
)  # fmt: skip
SCALARS = (
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8)
    | st.sampled_from(["EPSG:4326", "EPSG:0", "PROJCRS[", "+proj=x", "spatial_ref", "affine",
                       "node", "1 2 3 4 5 6", "nan 1 1 1 1 1", "../..", "a: x y", 10**400])
)  # fmt: skip
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=9) | st.dictionaries(NAMES, inner, max_size=4),
    max_leaves=12,
)


@settings(max_examples=100, deadline=None)
@given(
    st.dictionaries(NAMES, VALUES, max_size=6),
    st.dictionaries(NAMES, VALUES, max_size=4),
    st.sampled_from([None, ("y", "x"), ("time", "y"), (None, "x")]),
)
def test_strangers_attributes_are_read_or_refused(
    attributes: dict[str, Any], parent: dict[str, Any], names: tuple[str | None, ...] | None
) -> None:
    readers = (
        lambda: gdal.stated(attributes),
        lambda: cf.stated(attributes),
        lambda: cf.grid_mappings(attributes),
        lambda: spatial.stated(attributes, (4, 6), names, parent),
        lambda: systems.first(cf.stated(attributes).definitions),
        lambda: systems.first(spatial.definitions(attributes)),
    )
    for reader in readers:
        with suppress(MetadataError):
            reader()
    group = NodeFacts("", "zarr.json", parent, children=("a", "spatial_ref"))
    node = NodeFacts("a", "a/zarr.json", attributes, (4, 6), None, names)
    variable = NodeFacts("spatial_ref", "spatial_ref/zarr.json", attributes, ())
    nodes = {each.path: each for each in (group, node, variable)}
    for each in nodes.values():
        for found in rules.rule(each, nodes):
            assert found.message and found.path == each.path
    spatial.without(attributes)


@pytest.mark.parametrize(
    "value", ["/etc/passwd", "+init=/etc/passwd:x", "WGS 84", "", "http://example.org/x"]
)
def test_only_texts_that_describe_a_system_reach_pyproj(value: str) -> None:
    with pytest.raises(MetadataError, match="must be WKT"):
        systems.text(value, "proj:wkt2")
