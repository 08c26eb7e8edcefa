"""HDF5 files as groups: every value, attribute and dimension as h5py has it."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest

import omnizarr
from omnizarr.errors import MetadataError, NodeNotFoundError, UnsupportedError

RANDOM = np.random.default_rng(3)
DTYPES = [
    "i1", "u1", "<i2", ">i2", "<u4", ">i8", "<u8", "<f2", ">f4", "<f8", ">f8", "<c8", ">c16",
    "bool", "S7", "V5", [("a", "<i4"), ("b", "<f8")], [("t", "S3"), ("x", "<u2")],
]  # fmt: skip


def values(dtype: Any, shape: tuple[int, ...] = (23, 17)) -> np.ndarray[Any, Any]:
    dtype = np.dtype(dtype)
    if dtype.kind in "iubfc":
        return RANDOM.integers(0, 2 if dtype.kind == "b" else 100, shape).astype(dtype)
    if dtype.kind == "S":
        return RANDOM.integers(0, 10**6, shape).astype(dtype)
    data = RANDOM.integers(97, 120, (*shape, dtype.itemsize), dtype="u1")
    return data.view(dtype)[..., 0]


def equal(path: Path, **options: Any) -> Any:
    """The group, whose arrays are all equal to h5py's datasets."""
    root = omnizarr.virtualize(path, **options)
    with h5py.File(path) as file:
        compared = 0

        def visit(name: str, node: Any) -> None:
            nonlocal compared
            if isinstance(node, h5py.Dataset):
                own = root[name][...]
                text = h5py.check_string_dtype(node.dtype)
                theirs = node.asstr()[...] if text and text.length is None else node[...]
                np.testing.assert_array_equal(own, theirs, err_msg=name)
                compared += 1

        file.visititems(visit)
    assert compared
    return root


LAYOUTS: dict[str, dict[str, Any]] = {
    "contiguous": {},
    "chunked": {"chunks": (5, 6)},
    "gzip": {"chunks": (5, 6), "compression": "gzip"},
    "shuffle": {"chunks": (5, 6), "compression": "gzip", "shuffle": True},
    "checksum": {"chunks": (5, 6), "fletcher32": True, "compression": 9, "shuffle": True},
    "only checksum": {"chunks": (23, 17), "fletcher32": True},
}


@pytest.mark.parametrize("layout", LAYOUTS)
def test_every_type_in_every_layout(layout: str, tmp_path: Path) -> None:
    path = tmp_path / "data.h5"
    with h5py.File(path, "w") as file:
        for number, dtype in enumerate(DTYPES):
            file.create_dataset(f"d{number}", data=values(dtype), **LAYOUTS[layout])
    root = equal(path)
    for number, dtype in enumerate(DTYPES):
        assert root[f"d{number}"].dtype == np.dtype(dtype)
        assert root[f"d{number}"].chunks == LAYOUTS[layout].get("chunks", (23, 17))


def test_groups_scalars_and_what_is_empty(tmp_path: Path) -> None:
    path = tmp_path / "data.h5"
    with h5py.File(path, "w", userblock_size=512) as file:
        file.attrs["title"] = "all sorts"
        file.attrs["numbers"] = np.array([1, 2, 3], "i2")
        file.attrs["one"] = np.array([2.5])
        file.attrs["names"] = ["a", "ü"]
        deep = file.create_group("a/b")
        deep.attrs["level"] = 2
        deep["scalar"] = 7.5
        deep["text"] = "one"
        deep["texts"] = ["one", "zwei", "drei€", ""]
        file["empty"] = np.zeros((0, 3), "i4")
        file.create_dataset("unwritten", (4, 4), "i2", fillvalue=-7)
        sparse = file.create_dataset("sparse", (9, 9), "f4", chunks=(3, 3), fillvalue=1.5)
        sparse[4, 4] = 2
        enum = h5py.enum_dtype({"RED": 0, "GREEN": 1}, basetype="i1")
        file.create_dataset("colours", data=[0, 1, 1], dtype=enum)
        file["large"] = values("f8", (300, 5000))
        compact = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
        compact.set_layout(h5py.h5d.COMPACT)
        space = h5py.h5s.create_simple((40,))
        made = h5py.h5d.create(file.id, b"compact", h5py.h5t.NATIVE_INT32, space, compact)
        made.write(h5py.h5s.ALL, h5py.h5s.ALL, np.arange(40, dtype="i4"))
    root = equal(path)
    assert dict(root.attrs) == {
        "title": "all sorts", "numbers": [1, 2, 3], "one": 2.5, "names": ["a", "ü"]
    }  # fmt: skip
    assert root["a/b"].attrs["level"] == 2
    assert root["sparse"].nchunks_initialized == 1 and root["sparse"].fill_value == 1.5
    assert root["large"].nchunks > 1, "a large array is cut, so that parts can be read"
    assert sorted(omnizarr.virtualize(path, group="a/b")) == ["scalar", "text", "texts"]
    with pytest.raises(UnsupportedError, match="no group 'c'"):
        omnizarr.virtualize(path, group="c")


def test_text_that_spaces_fill_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As Fortran writes it: h5py has none of these spaces."""
    kind = h5py.h5t.C_S1.copy()
    kind.set_size(5)
    kind.set_strpad(h5py.h5t.STR_SPACEPAD)
    with h5py.File(tmp_path / "x.h5", "w") as file:
        for name, chunks in (("plain", None), ("chunks", (2,))):
            plist = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
            if chunks:
                plist.set_chunk(chunks)
                plist.set_deflate(4)
            space = h5py.h5s.create_simple((3,))
            made = h5py.h5d.create(file.id, name.encode(), kind, space, plist)
            text = np.array([b"ab   ", b"c", b"defgh"], "S5")
            made.write(h5py.h5s.ALL, h5py.h5s.ALL, text, kind)
    root = equal(tmp_path / "x.h5")
    assert root["plain"][...].tolist() == root["chunks"][...].tolist() == [b"ab", b"c", b"defgh"]
    monkeypatch.setattr("omnizarr.api.virtual.hdf5.MOST_TEXT", 2)
    with pytest.raises(UnsupportedError, match="padded with spaces"):
        omnizarr.virtualize(tmp_path / "x.h5")


def test_fill_values_are_those_of_the_attribute(tmp_path: Path) -> None:
    path = tmp_path / "data.h5"
    with h5py.File(path, "w") as file:
        for name, fill in (("a", np.float32(-9)), ("b", np.array([np.nan], "f4"))):
            file.create_dataset(name, data=values("f4"), chunks=(9, 9)).attrs["_FillValue"] = fill
        file.create_dataset("c", data=values("f4"), chunks=(9, 9))
    root = equal(path)
    assert root["a"].fill_value == -9 and np.isnan(root["b"].fill_value)
    assert root["c"].fill_value is None
    assert "_FillValue" not in root["a"].attrs


def test_dimensions(tmp_path: Path) -> None:
    path = tmp_path / "data.h5"
    with h5py.File(path, "w") as file:
        data = file.create_dataset("t", data=values("f4", (3, 4, 4)), chunks=(1, 4, 4))
        file["time"] = np.arange(3)
        file["time"].make_scale("time")
        data.dims[0].attach_scale(file["time"])
        file["other"] = values("i4", (4, 4))
    root = equal(path)
    assert root["t"].dimension_names == ("time", "phony_dim_0", "phony_dim_1")
    assert root["other"].dimension_names == ("phony_dim_0", "phony_dim_1")
    assert root["time"].dimension_names == ("time",)


def make_lzf(file: Any) -> None:
    file.create_dataset("x", data=values("f4"), chunks=(5, 5), compression="lzf")


def make_szip(file: Any) -> None:
    plist = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
    plist.set_chunk((8, 8))
    plist.set_szip(4, 8)
    space = h5py.h5s.create_simple((16, 16))
    h5py.h5d.create(file.id, b"x", h5py.h5t.NATIVE_INT32, space, plist)


def make_scaleoffset(file: Any) -> None:
    file.create_dataset("x", data=values("i4"), chunks=(5, 5), scaleoffset=0)


def make_ragged(file: Any) -> None:
    file.create_dataset("x", (3,), h5py.vlen_dtype("i4"))


def make_reference(file: Any) -> None:
    file.create_dataset("x", (3,), h5py.ref_dtype)


def make_padded(file: Any) -> None:
    file.create_dataset("x", (3,), np.dtype([("a", "i1"), ("b", "f8")], align=True))


def make_external(file: Any) -> None:
    file.create_dataset("x", (300,), "f8", external=[("/etc/passwd", 0, 2400)])


def make_virtual(file: Any) -> None:
    layout = h5py.VirtualLayout((300, 200), "f8")
    layout[:] = h5py.VirtualSource("other.h5", "y", (300, 200))
    file.create_virtual_dataset("x", layout)


@pytest.mark.parametrize(
    ("make", "found"),
    [
        (make_lzf, "lzf"), (make_szip, "szip"), (make_scaleoffset, "scaleoffset"),
        (make_ragged, "variable length"), (make_reference, "references"), (make_padded, "gaps"),
        (make_external, "external storage"), (make_virtual, "virtual dataset"),
    ],
)  # fmt: skip
def test_what_has_no_form_in_zarr_is_named(make: Any, found: str, tmp_path: Path) -> None:
    path = tmp_path / "data.h5"
    with h5py.File(path, "w") as file:
        file["fine"] = np.arange(3)
        make(file)
    with pytest.raises(UnsupportedError, match=found) as caught:
        omnizarr.virtualize(path)
    assert "data.h5" in str(caught.value) and "skip=['x']" in str(caught.value)
    assert sorted(omnizarr.virtualize(path, skip=["x"])) == ["fine"]


def test_other_files_are_not_followed(tmp_path: Path) -> None:
    with h5py.File(tmp_path / "other.h5", "w") as file:
        file["secret"] = [1, 2, 3]
    with h5py.File(tmp_path / "data.h5", "w") as file:
        file["own"] = [1, 2]
        file["link"] = h5py.ExternalLink("other.h5", "secret")
        file["soft"] = h5py.SoftLink("/own")
        file["loop"] = file["/"]
    assert sorted(omnizarr.virtualize(tmp_path / "data.h5")) == ["own"]


def test_files_that_are_none(tmp_path: Path) -> None:
    with pytest.raises(NodeNotFoundError, match=r"missing\.h5"):
        omnizarr.virtualize(tmp_path / "missing.h5")
    with pytest.raises(NodeNotFoundError, match="no file matches"):
        omnizarr.virtualize(tmp_path / "*.h5")
    (tmp_path / "text.txt").write_text("hello")
    with pytest.raises(UnsupportedError, match="begins with b'hello'"):
        omnizarr.virtualize(tmp_path / "text.txt")
    (tmp_path / "cut.h5").write_bytes(b"\x89HDF\r\n\x1a\n" + bytes(100))
    with pytest.raises(MetadataError, match="cannot be opened as HDF5"):
        omnizarr.virtualize(tmp_path / "cut.h5")


def test_a_changed_file_is_an_error(tmp_path: Path) -> None:
    path = tmp_path / "data.h5"
    with h5py.File(path, "w") as file:
        file.create_dataset("x", data=values("f8", (100, 100)), chunks=(50, 50))
    root = omnizarr.virtualize(path)
    path.write_bytes(path.read_bytes()[:5000])
    with pytest.raises(omnizarr.errors.StoreError, match="promises"):
        root["x"][...]


@pytest.mark.slow
def test_netcdf4_as_xarray_reads_it(tmp_path: Path) -> None:
    netcdf, xarray = import_module("netCDF4"), import_module("xarray")
    path, references = tmp_path / "data.nc", tmp_path / "refs.json"
    with netcdf.Dataset(path, "w") as file:
        file.title = "test"
        for name, length in (("time", None), ("y", 6), ("x", 8), ("nv", 2), ("letters", 4)):
            file.createDimension(name, length)
        time = file.createVariable("time", "f8", ("time",))
        time.units = "hours since 2001-01-01"
        time.bounds = "time_bnds"
        time[:] = np.arange(5)
        file.createVariable("time_bnds", "f8", ("time", "nv"))[:] = np.arange(10).reshape(5, 2)
        for name, count in (("y", 6), ("x", 8)):
            file.createVariable(name, "f4", (name,))[:] = np.arange(count) / 2
        packed = file.createVariable(
            "packed", "i2", ("time", "y", "x"), zlib=True, fill_value=-999, chunksizes=(2, 6, 4)
        )
        packed.scale_factor, packed.add_offset, packed.units = 0.01, 273.15, "K"
        packed[:] = 270 + RANDOM.random((5, 6, 8)) * 20
        packed[0, 0, 0] = np.ma.masked
        lat = file.createVariable("lat", "f8", ("y", "x"))
        lat[:] = RANDOM.random((6, 8))
        packed.coordinates = "lat"
        letters = file.createVariable("code", "S1", ("y", "letters"))
        letters[:] = netcdf.stringtochar(np.array(["ab", "cde", "", "f", "g", "h"], "S4"))
        names = file.createVariable("name", str, ("y",))
        names[:] = np.array(["a", "bß", "", "d", "e", "f"], object)
        file.createVariable("crs", "i4", ()).grid_mapping_name = "latitude_longitude"
    omnizarr.virtualize(path, output=references)
    with (
        xarray.open_dataset(path, engine="netcdf4") as expected,
        xarray.open_dataset(str(references), engine="kerchunk") as theirs,
        xarray.open_dataset(references, engine="omnizarr") as ours,
    ):
        xarray.testing.assert_identical(expected.load(), theirs.load())
        xarray.testing.assert_identical(expected.load(), ours.load())


def test_unwritten_chunks_and_missing_values_that_differ(tmp_path: Path) -> None:
    path = tmp_path / "data.h5"
    with h5py.File(path, "w") as file:
        array = file.create_dataset("x", (9, 9), "f4", chunks=(3, 3), fillvalue=0)
        array.attrs["_FillValue"] = np.float32(-9)
    with pytest.raises(UnsupportedError, match=r"never written hold 0\.0, but _FillValue is -9"):
        omnizarr.virtualize(path)
