"""`group.netcdf` in every format that has groups."""

from __future__ import annotations

import multiprocessing
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import omnizarr
from omnizarr import Group
from omnizarr.errors import MetadataError, ReadOnlyError, UnsupportedError
from omnizarr.model.dimensions import Dimension
from tests.acceptance import fixtures

PLACES: dict[str, dict[str, Any]] = {
    "2": {"zarr_format": 2},
    "3": {"zarr_format": 3},
    "3-draft2019": {"zarr_format": "3-draft2019"},
    "n5": {"zarr_format": "n5"},
    "nczarr": {"zarr_format": 2, "dialect": "nczarr"},
}


def group(kind: str) -> Group:
    options = dict(PLACES[kind])
    dialect = options.pop("dialect", None)
    return omnizarr.create_group({}, dialect=dialect, **options)


EVERY = pytest.mark.parametrize("kind", PLACES)


@EVERY
def test_the_model(kind: str) -> None:
    root = group(kind)
    nc = root.netcdf
    nc.create_variable("x", "f8", {"x": 3}, attributes={"units": "m"}).write([1, 2, 3])
    nc.create_variable("t", "i2", {"time": 2, "x": 3}, attributes={"coordinates": "lat"})
    nc.create_variable("lat", "f4", ["x"])
    below = nc.create_group("sub", attributes={"title": "below"})
    below.create_variable("v", "f4", {"x": 3, "y": 4})
    assert set(nc.variables) == {"x", "t", "lat"}
    assert list(nc.coordinates) == ["x", "lat"]
    assert nc.variables["t"].dimensions == ("time", "x")
    assert nc.variables["x"].attributes == {"units": "m"}
    assert nc.dimensions["x"] == Dimension("x", 3, False, "/")
    assert below.attributes == {"title": "below"}
    seen = root["sub"].netcdf.dimensions
    assert {name: (each.size, each.group) for name, each in seen.items()} == {
        "x": (3, "/"), "time": (2, "/"), "y": (4, "/sub"),
    }  # fmt: skip
    assert "float v(x, y) ;" in nc.cdl() and nc.cdl() == root.netcdf.cdl()
    assert list(nc.groups) == ["sub"] and repr(nc).startswith("<omnizarr.netcdf.Group '/'")


@EVERY
def test_growing_a_dimension_grows_every_variable(kind: str) -> None:
    root = group(kind)
    nc = root.netcdf
    if kind == "nczarr":
        nc.create_dimension("time", None)
        nc.grow("time", 2)
    a = nc.create_variable("a", "i4", {"time": 2, "x": 3}, chunks=(1, 3))
    a.write(np.arange(6).reshape(2, 3))
    below = nc.create_group("sub")
    below.create_variable("b", "i4", ["time"])
    hidden = below.create_group("own")
    hidden.create_variable("c", "i4", {"time": 5})
    below.grow("time", 4)
    below.grow("time", 3)  # as long already
    shapes = {name: each.shape for name, each in root.arrays(recurse=True)}
    assert shapes == {"a": (4, 3), "b": (4,), "c": (5,)}
    assert root["a"][:2].tolist() == [[0, 1, 2], [3, 4, 5]]
    assert root.netcdf.dimensions["time"].size == 4
    with pytest.raises(MetadataError, match="no dimension"):
        nc.grow("gone", 3)


@EVERY
@pytest.mark.parametrize("size", [7.5, True, -3, "7", None, 1 << 63])
def test_a_size_that_is_no_length_changes_nothing(kind: str, size: Any) -> None:
    nc = group(kind).netcdf
    if kind == "nczarr":
        nc.create_dimension("time", None)
    nc.create_variable("a", "f4", {"time": 0})
    before = nc.dimensions
    with pytest.raises(MetadataError, match="the size of a dimension"):
        nc.grow("time", size)
    assert nc.dimensions == before
    nc.grow("time", np.int64(2))
    assert nc.dimensions["time"].size == nc["a"].shape[0] == 2


@pytest.mark.parametrize("kind", [kind for kind in PLACES if kind != "n5"])  # has no fill value
@pytest.mark.parametrize("dtype", ["i2", "f4", "f8"])
def test_missing_values(kind: str, dtype: str) -> None:
    nc = group(kind).netcdf
    fill: Any = -1 if dtype == "i2" else np.nan if dtype == "f4" else -999.9
    variable = nc.create_variable("a", dtype, {"x": 4}, fill_value=fill)
    variable.write(np.ma.array([1, 2, 3], mask=[0, 1, 0]), slice(0, 3))
    found = nc.variables["a"]
    np.testing.assert_array_equal(found.read(), [1, np.nan, 3, np.nan])
    assert np.ma.getmaskarray(found.read(masked=True)).tolist() == [False, True, False, True]
    np.testing.assert_array_equal(found.read(decode=False)[1], np.array(fill, dtype))


@pytest.mark.parametrize("kind", ["2", "3", "nczarr"])
def test_xarray_sees_the_same(kind: str) -> None:
    pytest.importorskip("xarray")
    root = group(kind)
    nc = root.netcdf
    values = np.array([1.5, np.nan, 3.0])
    for name, dtype, fill, scale in (("p", "i2", -1, 0.5), ("f", "f8", -999.9, None)):
        attributes = {} if scale is None else {"scale_factor": scale}
        nc.create_variable(name, dtype, {"x": 3}, fill_value=fill, attributes=attributes).write(
            values
        )
    dataset = nc.to_xarray()
    for name in ("p", "f"):
        np.testing.assert_array_equal(dataset[name], values)
        np.testing.assert_array_equal(nc.variables[name].read(), values)
        assert not any(key.startswith("_nc") for key in dataset[name].attrs)


@EVERY
def test_attributes_of_a_group_below(kind: str) -> None:
    """NumPy's values, whose types NCZarr keeps, as those of variables."""
    given = {"a": np.float32(0.5), "b": np.array([1, 2], "i2"), "c": "text"}
    nc = group(kind).netcdf
    nc.create_group("below", attributes=given)
    found = nc.groups["below"].attributes
    assert found["c"] == "text" and found["a"] == 0.5 and np.array_equal(found["b"], [1, 2])
    if kind == "nczarr":
        assert (found["a"].dtype, found["b"].dtype) == ("f4", "i2")


def test_scalars() -> None:
    for kind in PLACES:
        nc = group(kind).netcdf
        variable = nc.create_variable("crs", "i4", attributes={"crs_wkt": "x"})
        variable.write(7)
        found = nc.variables["crs"]
        assert (found.dimensions, found.shape, found.read().shape) == ((), (), ())
        assert found.read() == 7


@pytest.mark.parametrize("kind", ["2", "3", "nczarr"])
def test_scalars_of_text(kind: str) -> None:
    text = group(kind).netcdf.create_variable("note", "S4")
    text.write(b"abc")
    for found in (text.read(), text.read(masked=True)):
        assert (found.shape, found[()]) == ((), b"abc")


def test_dimensions_are_declared_in_nczarr_alone() -> None:
    with pytest.raises(UnsupportedError, match="only a group of NCZarr"):
        group("3").netcdf.create_dimension("x", 3)
    nc = group("nczarr").netcdf
    assert nc.create_dimension("t", None) == Dimension("t", 0, True, "/")
    with pytest.raises(MetadataError, match="there already"):
        nc.create_dimension("t", 3)
    for name, size in (("a/b", 1), ("", 1), ("x", -1), ("x", 1 << 63), ("x", True), ("x", 1.0)):
        with pytest.raises(MetadataError):
            nc.create_dimension(name, size)  # type: ignore[arg-type]
    assert list(nc.dimensions) == ["t"]


def test_what_a_variable_cannot_have() -> None:
    nc = group("nczarr").netcdf
    nc.create_variable("a", "f4", {"x": 3})
    with pytest.raises(MetadataError, match="no dimension 'y'; known are 'x'"):
        nc.create_variable("b", "f4", ["y"])
    with pytest.raises(MetadataError, match="has size 3, not 4"):
        nc.create_variable("b", "f4", {"x": 4})
    with pytest.raises(MetadataError, match="fixed size 3"):
        nc.grow("x", 4)
    with pytest.raises(MetadataError, match="fill_value 70000 does not fit"):
        nc.create_variable("b", "i2", ["x"], fill_value=70000)
    with pytest.raises(TypeError, match="object is not expressible in JSON"):
        nc.create_variable("b", "i2", ["x"], attributes={"a": object()})
    with pytest.raises(TypeError, match="did you mean 'chunks'"):
        nc.create_variable("b", "f4", ["x"], cunks=(1,))  # type: ignore[call-arg]
    frozen = omnizarr.open_group(nc.group.store, "r").netcdf
    with pytest.raises(ReadOnlyError):
        frozen.create_dimension("z", 1)
    with pytest.raises(ReadOnlyError):
        frozen.grow("x", 3)


def test_variables_that_disagree_are_named() -> None:
    root = group("3")
    root.create_array("a", shape=3, dtype="f4", dimension_names=["x"])
    root.create_array("b", shape=4, dtype="f4", dimension_names=["x"])
    with pytest.raises(MetadataError, match="'x' has size 3 in 'a', and 4 in 'b'"):
        _ = root.netcdf.dimensions


NAMES = st.sampled_from(["x", "y", "t", "é"])


@settings(max_examples=25)
@given(st.lists(st.tuples(NAMES, NAMES), min_size=1, max_size=5), st.sampled_from(["nczarr", "3"]))
def test_sizes_agree_whatever_is_created(pairs: list[tuple[str, str]], kind: str) -> None:
    """The dimensions of the model are those of the arrays."""
    nc = group(kind).netcdf
    sizes = {"x": 2, "y": 3, "t": 4, "é": 5}
    for number, names in enumerate(pairs):
        nc.create_variable(f"v{number}", "i1", {name: sizes[name] for name in dict.fromkeys(names)})
    found = omnizarr.open_group(nc.group.store).netcdf
    used = {name for pair in pairs for name in pair}
    assert {name: each.size for name, each in found.dimensions.items()} == {
        name: sizes[name] for name in used
    }
    for variable in found.variables.values():
        assert variable.shape == tuple(sizes[name] for name in variable.dimensions)
    assert omnizarr.check(nc.group.store).counts["warning"] == 0


def _create(folder: str, worker: int) -> None:
    root = omnizarr.open_group(folder, "r+")
    for number in range(6):
        root.create_array(
            f"v{worker}_{number}", shape=(2, number + 1), dtype="i1",
            dimension_names=("shared", f"d{number}"),
        )  # fmt: skip
    root.create_group(f"g{worker}")


def _check(folder: str) -> None:
    marker = omnizarr.open_group(folder).attrs["_nczarr_group"]
    assert sorted(marker["arrays"]) == [f"v{w}_{n}" for w in range(3) for n in range(6)]
    assert sorted(marker["groups"]) == ["g0", "g1", "g2"]
    assert marker["dimensions"] == {"shared": 2, **{f"d{n}": n + 1 for n in range(6)}}
    assert omnizarr.check(folder).counts["warning"] == 0


def test_threads_that_create_members_at_once_lose_none(tmp_path: Path) -> None:
    folder = str(tmp_path / "a.zarr")
    omnizarr.create_group(folder, zarr_format=2, dialect="nczarr")
    with ThreadPoolExecutor(3) as pool:
        list(pool.map(_create, [folder] * 3, range(3)))
    _check(folder)


@pytest.mark.slow
def test_processes_that_create_members_at_once_lose_none(tmp_path: Path) -> None:
    store = tmp_path / "a.zarr"
    omnizarr.create_group(store, zarr_format=2, dialect="nczarr")
    context = multiprocessing.get_context("spawn")
    workers = [context.Process(target=_create, args=(str(store), each)) for each in range(3)]
    for each in workers:
        each.start()
    for each in workers:
        each.join(60)
        assert each.exitcode == 0
    _check(str(store))


def test_stores_that_netcdf_c_wrote() -> None:
    """Sizes that groups declare are those of their arrays, in every generation."""
    seen = 0
    for row in fixtures.rows():
        if not row.format.startswith("nczarr"):
            continue
        root = omnizarr.open_group(fixtures.unpacked(row.source) / row.store, mode="r")
        nc = root.netcdf
        sizes = {name: each.size for name, each in nc.dimensions.items()}
        for variable in nc.variables.values():
            assert variable.shape == tuple(sizes[name] for name in variable.dimensions), row.path
            assert variable.read(decode=False).shape == variable.shape
        assert nc.attributes["title"] == "t" and ':title = "t" ;' in nc.cdl()
        seen += 1
    assert seen >= 18


def test_lines_of_cdl_with_values() -> None:
    root = omnizarr.create_group({}, attributes={"title": "sea"})
    nc = root.netcdf
    nc.create_variable("x", "f4", {"x": 2})
    nc.create_group("sub").create_variable("t", "i2", {"x": 2, "y": 3})
    asked = []

    def data(variable: Any) -> Any:
        asked.append(variable.name)
        return iter(["= first,", "    second ;"])

    text = "\n".join(nc.cdl_lines(data))
    assert text.count("data:") == 2 and "\n x = first,\n    second ;\n" in text
    assert "\n     t = first,\n        second ;\n" in text and asked == ["x", "t"]
    assert "\n".join(nc.cdl_lines()) == nc.cdl() and "data:" not in nc.cdl()
    alone = "\n".join(root["sub"].netcdf.cdl_lines(variable="t"))
    assert "x = 2 ;" in alone and "y = 3 ;" in alone and "title" not in alone


def test_one_variable() -> None:
    root = omnizarr.group()
    root.create_array("g/t", data=[1, 2], attributes={"scale_factor": 0.5})
    assert root["g"].netcdf["t"].read().tolist() == [0.5, 1.0]
    with pytest.raises(omnizarr.errors.NodeNotFoundError):
        root.netcdf["t"]
