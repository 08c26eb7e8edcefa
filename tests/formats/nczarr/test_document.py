"""NCZarr: every generation of netCDF-C gives its dimensions by name, and costs others nothing."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

import omnizarr as zarr
from omnizarr.errors import MetadataError
from omnizarr.formats import find
from omnizarr.model.array import ArrayModel
from omnizarr.model.store import Buffer, ByteRange
from omnizarr.stores import MemoryStore
from tests.acceptance import fixtures

ARRAY: dict[str, Any] = {
    "zarr_format": 2,
    "shape": [2, 3],
    "dtype": "<i4",
    "chunks": [2, 3],
    "fill_value": -1,
    "order": "C",
    "compressor": None,
    "filters": None,
}
GROUP = {"zarr_format": 2}


class Counting(MemoryStore):
    def __init__(self) -> None:
        super().__init__()
        self.batches: list[list[str]] = []

    def get_many(self, requests: Sequence[tuple[str, ByteRange | None]]) -> list[Buffer | None]:
        self.batches.append([key for key, _ in requests])
        return super().get_many(requests)


def store_with(**documents: Any) -> Counting:
    """A store of documents; in a name "__" stands for "/."."""
    store = Counting()
    for name, document in documents.items():
        key = name.replace("__", "/.").removeprefix("/")
        store.set(key, json.dumps(document).encode())
    return store


def generation(number: int, references: Any, **marker: Any) -> Counting:
    """One variable `g/v` as netCDF-C stored it."""
    if number == 1:  # 4.8.0
        return store_with(
            __zgroup=GROUP,
            __nczarr={"zarr_format": 2, "nczarr_version": "1.0.0"},
            __nczgroup={"dims": {"lat": 2, "lon": 3}, "vars": [], "groups": ["g"]},
            g__zgroup=GROUP,
            g__nczgroup={"dims": {}, "vars": ["v"], "groups": []},
            **{
                "g/v__zarray": {**ARRAY, "fill_value": [-1]},
                "g/v__zattrs": {"units": "K"},
                "g/v__nczvar": {"dimrefs": references, "storage": "chunked", **marker},
                "g/v__nczattr": {"types": {"units": "<U1"}},
            },
        )
    if number == 2:  # 4.8.1 to 4.9.2
        return store_with(
            __zgroup={**GROUP, "_NCZARR_SUPERBLOCK": {"version": "2.0.0"}},
            g__zgroup={**GROUP, "_NCZARR_GROUP": {"dims": {}, "vars": ["v"], "groups": []}},
            **{
                "g/v__zarray": {
                    **ARRAY,
                    "_NCZARR_ARRAY": {"dimrefs": references, "storage": "chunked", **marker},
                },
                "g/v__zattrs": {"units": "K", "_NCZARR_ATTR": {"types": {"units": "<U1"}}},
            },
        )
    return store_with(  # 4.9.3 and later
        __zgroup=GROUP,
        __zattrs={"_nczarr_superblock": {"version": "2.0.0"}},
        g__zgroup=GROUP,
        g__zattrs={"_nczarr_group": {"dimensions": {}, "arrays": ["v"], "groups": []}},
        **{
            "g/v__zarray": ARRAY,
            "g/v__zattrs": {
                "units": "K",
                "_nczarr_array": {
                    "dimension_references": references,
                    "storage": "chunked",
                    **marker,
                },
            },
        },
    )


GENERATIONS = pytest.mark.parametrize("number", [1, 2, 3])


@GENERATIONS
def test_dimensions_by_name(number: int) -> None:
    store = generation(number, ["/lat", "/g/lon"])
    array = zarr.open_array(store, path="g/v", mode="r")
    assert array.dims == ("lat", "lon")
    assert array.zarr_format == 2
    assert array.fill_value == -1
    assert array.attrs["units"] == "K"
    # … however the array is reached.
    assert zarr.open_group(store, mode="r")["g/v"].dims == ("lat", "lon")
    assert dict(zarr.open_group(store, path="g", mode="r").arrays())["v"].dims == ("lat", "lon")


@GENERATIONS
@pytest.mark.parametrize(
    "references", [None, [], ["/lat"], ["/lat", 5], ["/lat", "/"], "lat", {"lat": 1}, [["/lat"], 1]]
)
def test_references_that_do_not_fit_are_no_names(number: int, references: Any) -> None:
    array = zarr.open_array(generation(number, references), path="g/v", mode="r")
    assert array.dims is None


@GENERATIONS
def test_the_convention_of_xarray_comes_first(number: int) -> None:
    store = generation(number, ["/lat", "/lon"])
    attributes = json.loads(store["g/v/.zattrs"])
    store.set("g/v/.zattrs", json.dumps({**attributes, "_ARRAY_DIMENSIONS": ["y", "x"]}).encode())
    assert zarr.open_array(store, path="g/v", mode="r").dims == ("y", "x")
    store.set("g/v/.zattrs", json.dumps({**attributes, "_ARRAY_DIMENSIONS": ["y"]}).encode())
    assert zarr.open_array(store, path="g/v", mode="r").dims == ("lat", "lon")


@GENERATIONS
def test_markers_survive_a_change(number: int) -> None:
    store = generation(number, ["/lat", "/lon"])
    before = {key: bytes(store[key]) for key in store if ".ncz" in key}
    array = zarr.open_array(store, path="g/v", mode="r+")
    marked = {name for name in (*json.loads(store["g/v/.zarray"]), *array.attrs) if "ncz" in name}
    array.attrs["units"] = "C"
    array.resize((4, 3))
    again = zarr.open_array(store, path="g/v", mode="r")
    assert again.dims == ("lat", "lon")
    assert again.shape == (4, 3)
    assert again.attrs["units"] == "C"
    assert marked <= {
        name for name in (*json.loads(store["g/v/.zarray"]), *again.attrs) if "ncz" in name
    }
    assert {key: bytes(store[key]) for key in store if ".ncz" in key} == before


@pytest.mark.parametrize(
    ("number", "marker"),
    [
        (1, {"storage": "scalar"}),
        (2, {"storage": "scalar"}),
        (3, {"storage": "scalar"}),
        (3, {"scalar": 1}),
    ],
)
def test_scalars(number: int, marker: dict[str, Any]) -> None:
    """Stored with one dimension, and read so."""
    store = generation(number, [], **marker)
    document = {**json.loads(store["g/v/.zarray"]), "shape": [1], "chunks": [1]}
    store.set("g/v/.zarray", json.dumps(document).encode())
    store.set("g/v/0", np.array([7], "<i4").tobytes())
    array = zarr.open_array(store, path="g/v", mode="r")
    assert array.dims == ("_scalar_",)
    assert array[...].tolist() == [7]


def test_markers_in_the_other_place() -> None:
    """Some releases wrote the new names where the old ones were (ref_oldkeys)."""
    marker = {"dimrefs": ["/d0", "/d1"], "storage": "chunked"}
    store = store_with(v__zarray={**ARRAY, "_nczarr_array": marker})
    assert zarr.open_array(store, path="v", mode="r").dims == ("d0", "d1")


# -- what it costs ----------------------------------------------------------------------------
def asked(document: dict[str, Any], attributes: dict[str, Any] | None = None) -> list[list[str]]:
    extra = {} if attributes is None else {"v__zattrs": attributes}
    store = store_with(v__zarray=document, **extra)
    store.batches.clear()
    found = find(store, "v")
    assert found is not None
    assert isinstance(found[1], ArrayModel)
    return store.batches


def test_ordinary_arrays_need_no_batch_of_their_own() -> None:
    named = {"_ARRAY_DIMENSIONS": ["y", "x"]}
    compressor = {"id": "zlib", "level": 1}
    assert len(asked({**ARRAY, "compressor": compressor})) == 2
    assert len(asked({**ARRAY, "filters": [{"id": "shuffle", "elementsize": 4}]})) == 2
    assert len(asked({**ARRAY, "dimension_separator": "."})) == 2
    assert len(asked({**ARRAY, "shape": [], "chunks": []})) == 2
    assert len(asked(ARRAY, named)) == 2
    assert len(asked({**ARRAY, "_NCZARR_ARRAY": {"dimrefs": []}})) == 2
    # What 4.8.0 may have written: one batch more.
    assert asked(ARRAY)[2:] == [["v/.nczvar", "v/.nczarray"]]


def test_a_group_of_many_needs_one_more_batch() -> None:
    store = store_with(
        __zgroup=GROUP,
        **{f"v{n}__zarray": ARRAY for n in range(10)},
        **{f"v{n}__nczvar": {"dimrefs": ["/a", f"/b{n}"]} for n in range(0, 10, 2)},
        v1__nczarray={"dimrefs": ["/c", "/d"]},
    )
    group = zarr.open_group(store, mode="r")
    store.batches.clear()
    found = {name: array.dims for name, array in group.arrays()}
    assert len(store.batches) == 2
    assert found["v4"] == ("a", "b4")
    assert found["v1"] == ("c", "d")
    assert found["v3"] is None


def test_broken_objects_are_named() -> None:
    store = generation(1, ["/lat", "/lon"])
    store.set("g/v/.nczvar", b"{")
    with pytest.raises(MetadataError, match=r"key 'g/v/\.nczvar': invalid JSON") as caught:
        zarr.open_array(store, path="g/v", mode="r")
    assert str(caught.value).count("ReadOnlyStore") == 1
    with pytest.raises(MetadataError, match=r"key 'g/v/\.nczvar': invalid JSON"):
        list(zarr.open_group(store, path="g", mode="r").arrays())


@pytest.mark.parametrize("document", [None, 5, "x", [], {}, {"dimrefs": 5}, [{"dimrefs": ["/a"]}]])
def test_objects_of_another_form_are_ignored(document: Any) -> None:
    store = generation(1, [])
    store.set("g/v/.nczvar", json.dumps(document).encode())
    assert zarr.open_array(store, path="g/v", mode="r").dims is None


# -- its types and codecs ---------------------------------------------------------------------
@pytest.mark.parametrize("size", [0, "0", None])
def test_shuffle_of_the_element_size(size: Any) -> None:
    """netCDF-C shuffles by the size of the elements, whatever number it writes."""
    codec = {"id": "shuffle"} if size is None else {"id": "shuffle", "elementsize": size}
    store = store_with(v__zarray={**ARRAY, "filters": [codec]})
    values = np.arange(6, dtype="<i4").reshape(2, 3) * 0x01020304
    store.set("v/0.0", values.view("u1").reshape(6, 4).T.tobytes())
    assert np.array_equal(zarr.open_array(store, path="v", mode="r")[...], values)


@pytest.mark.parametrize(
    ("dtype", "fill", "stored", "expected"),
    [
        ("<U1", "", np.array(list("abcdef"), "<U1"), "abcdef"),
        (">S1", "", np.array(list("abcdef"), "S1"), "abcdef"),
        ("|S128", "", np.array(["a", "b", "c", "d", "e", "f"], "S128"), "abcdef"),
        ("|S128", "0", np.array(["a", "b", "c", "d", "e", "f"], "S128"), "abcdef"),
    ],
)
def test_characters_and_strings(dtype: str, fill: str, stored: Any, expected: str) -> None:
    store = store_with(v__zarray={**ARRAY, "dtype": dtype, "fill_value": fill})
    store.set("v/0.0", stored.tobytes())
    found = zarr.open_array(store, path="v", mode="r")[...].ravel().tolist()
    texts = [item.decode() if isinstance(item, bytes) else item for item in found]
    assert "".join(texts) == expected


@pytest.mark.parametrize(
    ("dtype", "fill", "expected"),
    [
        ("<i2", [-32767], -32767),
        ("<f4", [9.96921e36], np.float32(9.96921e36)),
        ("<f8", 9.96921e36, 9.96921e36),
        ("<i8", -9223372036854775806, -9223372036854775806),
        ("<u8", 18446744073709551614, 18446744073709551614),
    ],
)
def test_fill_values(dtype: str, fill: Any, expected: Any) -> None:
    store = store_with(v__zarray={**ARRAY, "dtype": dtype, "fill_value": fill})
    assert (zarr.open_array(store, path="v", mode="r")[...] == expected).all()


# -- stores of others -------------------------------------------------------------------------
EXPECTED = {
    "gdal/zarr/nczarr_v2.zarr::MyGroup/Group_A/dset2": ("lat", "lon"),
    "gdal/zarr/nczarr_v2.zarr::MyGroup/Group_A/dset3": ("lat", "lon"),
    "gdal/zarr/nczarr_v2.zarr::MyGroup/dset1": ("lat", "lon"),
    "gdal/zarr/nczarr_v2.zarr::MyGroup/lat": ("lat",),
    "netcdf-c/nczarr_test/ref_oldformat.zip::ref_oldformat/g1/pos": (
        "_Anonymous_Dim_8",
        "_Anonymous_Dim_10",
    ),
    "netcdf-c/nczarr_test/ref_oldformat.zip::ref_oldformat/lat": ("_Anonymous_Dim_8",),
    "netcdf-c/nczarr_test/ref_oldkeys.file.zip::ref_oldkeys.file/v": ("d0", "d1", "d2"),
    "netcdf-c-4.10.1-nczarr/ndim3.file::v": ("d0", "d1", "d2"),
    "netcdf-c-4.10.1-nczarr/unlimited.file::v": ("d0", "d1"),
    "netcdf-c-4.10.1-nczarr/scalar.file::v": ("_scalar_",),
}


def test_every_row_of_the_fixtures() -> None:
    wrong, named, count = [], set(), 0
    for row in fixtures.rows():
        if "nczarr" not in row.format and "nczarr" not in row.path:
            continue
        count += 1
        array = zarr.open_array(fixtures.unpacked(row.source) / row.store, mode="r", path=row.node)
        found = fixtures.difference(row, np.asarray(array[...]))
        if found:
            wrong.append(f"{row.path}: {found}")
        if row.path in EXPECTED:
            named.add(row.path)
            assert array.dims == EXPECTED[row.path], row.path
        if row.format.startswith("nczarr"):
            assert array.dims is not None
            assert len(array.dims) == array.ndim
    assert count >= (26 if fixtures.third_party() else 18)
    here = {path for path in EXPECTED if fixtures.present(path.split("/")[0])}
    assert named == here
    assert not wrong, "\n".join(wrong)
