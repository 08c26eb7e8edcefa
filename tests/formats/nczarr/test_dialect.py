"""NCZarr as it is written: markers that follow every change, and what netCDF-C cannot hold."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import omnizarr
from omnizarr import Group, MemoryStore
from omnizarr.errors import MetadataError, UnsupportedError


def nczarr(**attributes: Any) -> Group:
    return omnizarr.create_group(
        MemoryStore(), zarr_format=2, dialect="nczarr", attributes=attributes
    )


def stored(group: Group, key: str) -> Any:
    data = group.store.get(key)
    assert data is not None
    return json.loads(bytes(data))


def marker(group: Group, path: str = "") -> Any:
    return stored(group, f"{path}/.zattrs".lstrip("/"))["_nczarr_group"]


def test_the_markers_of_a_hierarchy() -> None:
    root = nczarr(title="sea")
    root.create_array("a/t", shape=(2, 3), dtype="i2", dimension_names=("y", "x"))
    root.create_array("a/b/u", shape=(3, 4), dtype="f4", dimension_names=("x", "z"))
    assert stored(root, ".zgroup") == {"zarr_format": 2}
    assert stored(root, ".zattrs") == {
        "title": "sea",
        "_nczarr_superblock": {"version": "2.0.0"},
        "_nczarr_group": {"dimensions": {}, "arrays": [], "groups": ["a"]},
        "_nczarr_attr": {
            "types": {
                "title": ">S1",
                **dict.fromkeys(("_nczarr_superblock", "_nczarr_group", "_nczarr_attr"), "|J0"),
            }
        },
    }
    assert marker(root, "a") == {
        "dimensions": {"y": 2, "x": 3}, "arrays": ["t"], "groups": ["b"],
    }  # fmt: skip
    assert marker(root, "a/b") == {"dimensions": {"z": 4}, "arrays": ["u"], "groups": []}
    found = stored(root, "a/b/u/.zattrs")
    assert found["_ARRAY_DIMENSIONS"] == ["x", "z"]
    assert found["_nczarr_array"] == {
        "dimension_references": ["/a/x", "/a/b/z"], "storage": "chunked",
    }  # fmt: skip
    assert "_nczarr_superblock" not in stored(root, "a/.zattrs")
    assert b" " not in root.store["a/t/.zarray"]  # not longer than what netCDF-C writes


def test_what_is_created_below_is_of_the_same_dialect() -> None:
    root = nczarr()
    store = root.store
    omnizarr.create_group(store, path="a", zarr_format=2)
    omnizarr.create_array(store, path="a/v", shape=2, dtype="i4", dimension_names=["x"])
    omnizarr.save_array(store, np.arange(3), path="b")
    omnizarr.open_group(store)["c"] = [1, 2]
    assert marker(root)["groups"] == ["a"] and marker(root)["arrays"] == ["b", "c"]
    assert marker(root, "a")["arrays"] == ["v"]
    assert marker(root)["dimensions"] == {"_Anonymous_Dim_3": 3, "_Anonymous_Dim_2": 2}
    assert omnizarr.check(store).counts["warning"] == 0


def test_a_root_in_a_plain_hierarchy() -> None:
    store = MemoryStore()
    omnizarr.create_group(store, zarr_format=2)
    inner = omnizarr.create_group(store, path="nc", zarr_format=2, dialect="nczarr")
    inner.create_array("v", shape=2, dtype="i4", dimension_names=["x"])
    assert stored(inner, "nc/v/.zattrs")["_nczarr_array"]["dimension_references"] == ["/x"]
    assert "_nczarr_superblock" in stored(inner, "nc/.zattrs")
    assert store.get(".zattrs") is None
    outer = omnizarr.open_group(store)
    outer.create_array("plain", shape=2, dtype="c8")
    for _, member in outer.groups():
        member.create_array("w", shape=2, dtype="i4", dimension_names=["x"])
    assert marker(inner, "nc")["arrays"] == ["v", "w"]


def test_deleting_replacing_and_moving() -> None:
    root = nczarr()
    for name in "abc":
        root.create_array(name, shape=(2,), dtype="i4", dimension_names=["x"])
    group = root.create_group("g")
    group.create_array("v", shape=(2, 5), dtype="i4", dimension_names=["x", "z"])
    del root["a"]
    root.create_array("b", shape=(3,), dtype="i4", dimension_names=["other"], overwrite=True)
    root.move("c", "g/c")
    root.move("g", "h")
    assert marker(root) == {
        "dimensions": {"x": 2, "other": 3}, "arrays": ["b"], "groups": ["h"],
    }  # fmt: skip
    assert sorted(marker(root, "h")["arrays"]) == ["c", "v"]
    assert stored(root, "h/v/.zattrs")["_nczarr_array"]["dimension_references"] == ["/x", "/h/z"]
    root.create_group("b", overwrite=True)
    assert marker(root)["arrays"] == [] and marker(root)["groups"] == ["h", "b"]
    root.clear()
    assert marker(root)["groups"] == []
    assert list(root) == []


def test_resizing_changes_the_declared_size() -> None:
    root = nczarr()
    a = root.create_array("a", shape=(2, 3), dtype="i4", dimension_names=["t", "x"])
    b = root.create_array("g/b", shape=(2,), dtype="i4", dimension_names=["t"])
    a.append(np.ones((2, 3), "i4"))
    assert marker(root)["dimensions"]["t"] == 4
    assert [found.message for found in omnizarr.check(root.store) if found.level == "warning"] == []
    b.append([5, 6])  # one after the other, as xarray does
    assert (b.shape, marker(root)["dimensions"]["t"]) == ((4,), 4)
    a.resize((3, 3))
    b.resize(3)
    assert marker(root)["dimensions"] == {"t": 3, "x": 3}


def test_attributes_and_their_types() -> None:
    root = nczarr()
    a = root.create_array(
        "a",
        shape=2,
        dtype="i2",
        attributes={"k": 1, "r": 1.5, "valid_range": [0, 9], "o": {}},
    )
    assert stored(root, "a/.zattrs")["_nczarr_attr"]["types"] == {
        "k": "<i4", "r": "<f8", "valid_range": "<i2", "_nczarr_array": "|J0", "_nczarr_attr": "|J0",
    }  # fmt: skip
    a.attrs["k"] = "text"
    a.attrs["name"] = "Größe"
    types = stored(root, "a/.zattrs")["_nczarr_attr"]["types"]
    assert (types["k"], types["name"]) == (">S1", "|S128")
    assert "Größe".encode() in bytes(root.store["a/.zattrs"])  # netCDF-C does not know \u00f6
    a.attrs.clear()
    assert set(a.attrs) == {"_nczarr_array", "_nczarr_attr", "_ARRAY_DIMENSIONS"}
    typed = {"a": np.float32(1.5), "b": np.array([1, 2], "i1"), "c": np.nan}
    variable = root.netcdf.create_variable("b", "f4", attributes=typed)
    again = omnizarr.open_group(root.store).netcdf.variables["b"].attributes
    assert again["a"] == np.float32(1.5) and again["a"].dtype == np.float32
    assert again["b"].dtype == np.int8 and np.isnan(again["c"])
    variable.array.attrs["a"] = 2.5  # still a number of that type
    assert variable.attributes["a"].dtype == np.float32


@pytest.mark.parametrize(
    ("arguments", "match"),
    [
        ({"dtype": "c8"}, "complex64"), ({"dtype": "f2"}, "float16"), ({"dtype": "?"}, "'i1'"),
        ({"dtype": "M8[s]"}, "units"), ({"dtype": str}, "S64"), ({"dtype": "U3"}, "S64"),
        ({"compressors": "gzip"}, "gzip"),
        ({"filters": [{"id": "delta", "dtype": "<f8"}]}, "delta"),
        ({"order": "F"}, "C order"), ({"dimension_names": ("x", "/y")}, "name in netCDF"),
        ({"dimension_names": ("x", "")}, "name in netCDF"),
        ({"dimension_names": ("x", "é" * 129)}, "name in netCDF"),
        ({"attributes": {"": 1}}, "its name has none"),
        ({"attributes": {"é" * 128: 1}}, "more than 255 bytes"),
        ({"dimension_names": ("x", "x")}, "has size 2, not 3"),
        ({"attributes": {"q": [1, "a"]}}, "text and numbers"),
        ({"attributes": {"q": 1 << 70}}, "64 bits"), ({"attributes": {"q": "\x01"}}, "control"),
        ({"attributes": {"q": "\ud800"}}, "surrogates"),
    ],
    ids=str,
)  # fmt: skip
def test_what_netcdf_c_cannot_hold_is_refused(arguments: dict[str, Any], match: str) -> None:
    root = nczarr()
    before = dict(root.store)
    with pytest.raises(MetadataError, match=match):
        root.create_array("a", shape=(2, 3), **{"dtype": "f8", **arguments})
    assert dict(root.store) == before


@pytest.mark.parametrize("name", ["-a", " a", "a ", "(a)"])
def test_names_that_netcdf_does_not_have(name: str) -> None:
    with pytest.raises(UnsupportedError, match="name in netCDF"):
        nczarr().create_array(name, shape=2, dtype="i4")


def test_the_dialect_is_of_format_2() -> None:
    with pytest.raises(MetadataError, match="dialect of format 2"):
        omnizarr.create_group({}, zarr_format=3, dialect="nczarr")
    with pytest.raises(MetadataError, match="unknown dialect"):
        omnizarr.open_group({}, "w", dialect="n5")  # type: ignore[arg-type]
    assert omnizarr.open_group({}, "w", dialect="nczarr").zarr_format == 2


MARKERS: list[Any] = [
    {"dimensions": 3}, {"dimensions": {"x": -1}}, {"dimensions": {"x": 1 << 70}},
    {"dimensions": {"x": {"size": "3"}}}, {"dimensions": {"x": {"size": 3, "unlimited": "yes"}}},
    {"dimensions": {"../x": 3}}, {"dimensions": {"a/b": 3}}, {"dimensions": {"": 3}},
    {"dimensions": {"x": None}}, {"dimensions": {"x": True}}, {"dimensions": {"x": 1.5}},
    {"dimensions": {}, "arrays": 3}, {"dimensions": {}, "arrays": ["a/b"]},
    {"dimensions": {}, "groups": [".."]}, {"dimensions": {}, "groups": [["a"]]},
]  # fmt: skip


@pytest.mark.parametrize("broken", MARKERS, ids=str)
def test_hostile_markers_of_groups(broken: Any) -> None:
    root = nczarr()
    root.create_array("a", shape=2, dtype="i4", dimension_names=["x"])[:] = [1, 2]
    document = stored(root, ".zattrs") | {"_nczarr_group": broken}
    root.store.set(".zattrs", json.dumps(document).encode())
    found = omnizarr.open_group(root.store, "r+")
    assert found["a"][:].tolist() == [1, 2] and list(found) == ["a"]
    for change in (
        lambda: found.netcdf.dimensions,
        lambda: found.create_array("b", shape=2, dtype="i4"),
        lambda: found["a"].append([3]),
        lambda: found.netcdf.create_dimension("y", 3),
    ):
        with pytest.raises(MetadataError, match="_nczarr_group"):
            change()
    omnizarr.check(root.store)


@pytest.mark.parametrize(
    "references",
    [None, 3, ["/../../x"], ["x", "y"], [3], ["/" * 1000], ["/gone/x"], []],
    ids=lambda value: str(value)[:20],
)
def test_hostile_markers_of_arrays(references: Any) -> None:
    root = nczarr()
    a = root.create_array("a", shape=2, dtype="i4", dimension_names=["x"])
    document = stored(root, "a/.zattrs")
    document["_nczarr_array"]["dimension_references"] = references
    document["_nczarr_attr"] = {"types": references}
    root.store.set("a/.zattrs", json.dumps(document).encode())
    found = omnizarr.open_array(a.store, path="a")
    found.attrs["k"] = 1
    found.append([3])
    assert found.shape == (3,) and set(root.store) == {*root.store}
    assert omnizarr.open_group(root.store).netcdf.variables["a"].attributes["k"] == 1


@pytest.mark.parametrize("value", [[{}], [[]], {"a": 1}, "x", None, [None, "a", 1e400]], ids=str)
@pytest.mark.parametrize("text", ["<f8", "|i1", ">S1", "|S9", "|J0", "odd", "", 3, None], ids=str)
def test_hostile_types_of_attributes(value: Any, text: Any) -> None:
    root = nczarr()
    root.create_array("a", shape=2, dtype="i4")
    document = stored(root, "a/.zattrs") | {"q": value, "_nczarr_attr": {"types": {"q": text}}}
    root.store.set("a/.zattrs", json.dumps(document).encode())
    found = omnizarr.open_group(root.store)
    assert repr(found.netcdf.variables["a"].attributes["q"]) == repr(json.loads(json.dumps(value)))
    assert "q" in found.netcdf.cdl()
    try:
        found["a"].attrs["k"] = 1
    except UnsupportedError as error:
        assert "netCDF-C reads no attribute" in str(error)


def test_a_broken_parent_is_healed() -> None:
    """A group whose creator was stopped before it stored the marker."""
    root = nczarr()
    root.store.set("g/.zgroup", b'{"zarr_format": 2}')
    root.create_array("g/v", shape=2, dtype="i4", dimension_names=["x"])
    assert marker(root, "g") == {"dimensions": {"x": 2}, "arrays": ["v"], "groups": []}


VALUES = st.one_of(
    st.text(st.characters(exclude_categories=("Cs", "Cc")), max_size=8),
    st.integers(-(1 << 63), (1 << 64) - 1),
    st.floats(),
    st.booleans(),
    st.none(),
    st.lists(st.integers(-5, 5), max_size=3),
    st.lists(st.floats(allow_nan=False), max_size=3),
    st.lists(st.text("ab", max_size=2), max_size=3),
    st.dictionaries(st.text("ab", max_size=2), st.integers(), max_size=2),
)


@given(st.dictionaries(st.text("abc_", min_size=1, max_size=3), VALUES, max_size=4))
def test_attributes_come_back(attributes: dict[str, Any]) -> None:
    root = nczarr(**attributes)
    array = root.create_array("a", shape=2, dtype="i4", attributes=attributes)
    for held in (omnizarr.open_group(root.store), omnizarr.open_array(array.store, path="a")):
        found = {name: held.attrs[name] for name in attributes}
        assert repr(found) == repr(attributes)
    types = stored(root, "a/.zattrs")["_nczarr_attr"]["types"]
    for name, value in attributes.items():
        is_json = value is None or isinstance(value, dict)
        assert (name in types) is not is_json


def test_markers_leave_with_the_dialect_and_types_stay() -> None:
    source, there, back = MemoryStore(), MemoryStore(), MemoryStore()
    nc = omnizarr.create_group(source, zarr_format=2, dialect="nczarr").netcdf
    nc.create_dimension("time", None)
    nc.create_variable(
        "v", "i2", {"time": None, "x": 3}, fill_value=-1, attributes={"k": np.float32(0.5)}
    )
    nc.grow("time", 2)
    nc["v"].write(np.ma.array([[1, 2, 3], [4, 5, 6]], mask=[[0, 1, 0], [0, 0, 0]]))
    result = omnizarr.convert(source, there, zarr_format=3)
    assert "not declared as unlimited any more: time" in str(result.nodes[0].notes)
    omnizarr.convert(source, zarr_format=3)  # in place
    inside = omnizarr.open_group(source, zarr_format=3)
    assert inside.attrs.asdict() == {} and "_nczarr_array" not in inside["v"].attrs
    assert omnizarr.open_group(source, zarr_format=2).netcdf.dimensions["time"].unlimited
    found = omnizarr.open_group(there)
    assert found.attrs.asdict() == {}
    assert found["v"].attrs["_nczarr_attr"] == {"types": {"_FillValue": "<i2", "k": "<f4"}}
    assert "_nczarr_array" not in found["v"].attrs
    found.netcdf.grow("time", 4)
    assert found.netcdf.dimensions["time"].size == 4  # which a marker would deny
    omnizarr.convert(there, back, zarr_format=2, dialect="nczarr")
    again = omnizarr.open_group(back).netcdf
    assert again["v"].attributes["k"].dtype == np.float32
    assert again["v"].attributes["_FillValue"] == -1
    assert np.ma.getmaskarray(again["v"].read(masked=True)).sum() == 7
    assert omnizarr.check(back).counts["warning"] == 0


def test_markers_stay_where_the_dialect_does() -> None:
    source = MemoryStore()
    nc = omnizarr.create_group(source, zarr_format=2, dialect="nczarr").netcdf
    nc.create_variable("v", "i2", {"x": 4}, fill_value=-1, chunks=(4,))
    for dialect in (None, "nczarr"):
        there = MemoryStore()
        omnizarr.convert(source, there, zarr_format=2, dialect=dialect, chunks=(2,))  # type: ignore[arg-type]
        found = omnizarr.open_group(there)
        assert marker(found) == {"dimensions": {"x": 4}, "arrays": ["v"], "groups": []}
        assert found["v"].attrs["_nczarr_array"]["dimension_references"] == ["/x"]


def test_markers_of_another_format_do_not_hinder() -> None:
    """As earlier versions of omnizarr left them in format 3."""
    there = omnizarr.group()
    array = there.create_array(
        "v", shape=3, dtype="i2", fill_value=-1, dimension_names=["x"],
        attributes={
            "_nczarr_array": {"dimension_references": ["/gone"], "storage": "chunked"},
            "_nczarr_attr": {"types": {"_FillValue": "<i2", "_nczarr_array": "|J0"}},
            "_FillValue": -1,
        },
    )  # fmt: skip
    back = MemoryStore()
    omnizarr.convert(array.store, back, zarr_format=2, dialect="nczarr")
    assert omnizarr.open_group(back).netcdf["v"].dimensions == ("x",)


def test_convert_both_ways() -> None:
    source = omnizarr.group(attributes={"title": "sea"})
    nc = source.netcdf
    nc.create_variable("t", "i2", {"y": 2, "x": 3}, fill_value=-1).write([[1, 2, 3], [4, 5, 6]])
    nc.create_variable("crs", "i4").write(7)
    nc.create_group("sub").create_variable("v", "f4", ["x"]).write([1, 2, 3])
    there = MemoryStore()
    result = omnizarr.convert(source, there, zarr_format=2, dialect="nczarr")
    assert [row.format_to for row in result.nodes if hasattr(row, "format_to")] in ([], [2] * 5)
    found = omnizarr.open_group(there)
    assert marker(found) == {
        "dimensions": {"y": 2, "x": 3}, "arrays": ["crs", "t"], "groups": ["sub"],
    }  # fmt: skip
    assert stored(found, "crs/.zarray")["shape"] == [1]
    assert found.netcdf.variables["crs"].read() == 7
    assert found.netcdf.variables["t"].attributes["_FillValue"] == -1
    assert omnizarr.check(there).counts["warning"] == 0
    less = MemoryStore()
    omnizarr.convert(there, less, zarr_format=2, dialect="nczarr", exclude="sub")
    assert marker(omnizarr.open_group(less))["groups"] == []
    back = MemoryStore()
    omnizarr.convert(there, back, zarr_format=3)
    assert "_nczarr_group" not in omnizarr.open_group(back).attrs
    assert omnizarr.open_group(back)["t"][:].tolist() == [[1, 2, 3], [4, 5, 6]]
    with pytest.raises(ValueError, match="give a destination"):
        omnizarr.convert(there, zarr_format=2, dialect="nczarr")
    with pytest.raises(UnsupportedError, match="member of a group"):
        omnizarr.convert(omnizarr.zeros(3), {}, zarr_format=2, dialect="nczarr")
