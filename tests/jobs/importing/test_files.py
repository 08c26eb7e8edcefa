"""Files of other formats as sources of `convert`."""

from __future__ import annotations

import os
import pickle
from pathlib import Path

import h5py
import numpy as np
import pytest
import xarray

import omnizarr
from omnizarr.errors import (
    MetadataError,
    NodeExistsError,
    NodeNotFoundError,
    UnsupportedError,
    ValueChangedError,
)
from omnizarr.jobs.importing.files import is_foreign, opened

RAMP = np.arange(60.0).reshape(6, 10)


def written(file: Path, values: np.ndarray = RAMP) -> Path:
    with h5py.File(file, "w") as root:
        rain = root.create_dataset("g/rain", data=values, chunks=(4, 5), compression="gzip")
        rain.attrs["units"] = "mm"
        root.create_dataset("plain", data=values[:, 0])
    return file


def test_files_are_known_by_their_first_bytes(tmp_path: Path) -> None:
    assert is_foreign(written(tmp_path / "x.dat"))
    assert is_foreign("https://example.org/x.nc?key=1") and is_foreign("s3://bucket/x.TIF")
    assert not is_foreign("s3://bucket/x.zarr") and not is_foreign(tmp_path)
    omnizarr.save_array(str(tmp_path / "a.zip"), RAMP)
    assert not is_foreign(tmp_path / "a.zip") and not is_foreign(None)
    assert not is_foreign(tmp_path / "none.nc")
    (tmp_path / "b.nc").write_bytes(b"no such thing")
    with pytest.raises(UnsupportedError, match="neither HDF5"):
        omnizarr.convert(tmp_path / "b.nc", {})


def test_chunks_are_copied_as_they_are(tmp_path: Path) -> None:
    file = written(tmp_path / "x.nc")
    done = omnizarr.convert(file, tmp_path / "x.zarr")
    assert {row.path: row.action for row in done.nodes}["g/rain"] == "copy chunks"
    root = omnizarr.open(tmp_path / "x.zarr", mode="r")
    np.testing.assert_array_equal(root["g/rain"], RAMP)
    assert root["g/rain"].chunks == (4, 5) and root["g/rain"].attrs["units"] == "mm"
    with h5py.File(file) as source:
        stored = source["g/rain"].id.read_direct_chunk((4, 5))[1]
    files = [each for each in (tmp_path / "x.zarr/g/rain").rglob("*") if each.is_file()]
    assert stored in [each.read_bytes() for each in files]


def test_what_was_never_written_is_not_missing(tmp_path: Path) -> None:
    """HDF5's fill value is no `_FillValue`, and may be another one."""
    with h5py.File(tmp_path / "x.h5", "w") as root:
        for name in ("plain", "marked"):
            made = root.create_dataset(name, (6,), "f8", chunks=(2,), fillvalue=7, compression=1)
            made[:2] = [1, -9]
        root["marked"].attrs["_FillValue"] = -9.0
    omnizarr.convert(tmp_path / "x.h5", tmp_path / "x.zarr")
    root = omnizarr.open(tmp_path / "x.zarr", mode="r")
    for name in ("plain", "marked"):
        assert root[name][:].tolist() == [1, -9, 7, 7, 7, 7]
        assert root[name].nchunks_initialized == 1
    assert "_FillValue" not in root["plain"].attrs
    with xarray.open_dataset(tmp_path / "x.zarr", engine="omnizarr") as found:
        np.testing.assert_array_equal(found["marked"], [1, np.nan, 7, 7, 7, 7])
        np.testing.assert_array_equal(found["plain"], [1, -9, 7, 7, 7, 7])


def test_options_of_convert_apply(tmp_path: Path) -> None:
    file = written(tmp_path / "x.h5")
    omnizarr.convert(file, tmp_path / "g.zarr", path="g", zarr_format=2, chunks=(3, 10))
    root = omnizarr.open(tmp_path / "g.zarr", mode="r")
    assert list(root) == ["rain"] and root["rain"].chunks == (3, 10)
    np.testing.assert_array_equal(root["rain"], RAMP)
    done = omnizarr.convert(file, tmp_path / "p.zarr", exclude="g")
    assert [row.path for row in done.nodes] == ["", "plain"]
    with pytest.raises(NodeNotFoundError, match="no node matches the excluded pattern 'none'"):
        omnizarr.convert(file, tmp_path / "q.zarr", exclude="none")
    with pytest.raises(UnsupportedError, match="in place"):
        omnizarr.convert(file)


def test_other_processes_read_the_file_too(tmp_path: Path) -> None:
    file = written(tmp_path / "x.h5")
    omnizarr.convert(file, tmp_path / "x.zarr", executor="processes", workers=1)
    np.testing.assert_array_equal(omnizarr.open(tmp_path / "x.zarr", mode="r")["g/rain"], RAMP)
    with opened(file, None) as group:
        assert group is not None
        store = group.store
        again = pickle.loads(pickle.dumps(store))
        assert again.identity == store.identity and again.get("g/rain/zarr.json")


def test_into_nczarr(tmp_path: Path) -> None:
    file = written(tmp_path / "x.h5")
    omnizarr.convert(file, tmp_path / "x.zarr", zarr_format=2, dialect="nczarr")
    root = omnizarr.open(tmp_path / "x.zarr", mode="r")
    np.testing.assert_array_equal(root["g/rain"], RAMP)
    omnizarr.export(root, tmp_path / "y.nc", verify=True)


def test_an_interrupted_conversion_goes_on(tmp_path: Path) -> None:
    class Stop(Exception):
        pass

    def stop(progress: omnizarr.Progress) -> None:  # type: ignore[name-defined]
        if progress.done:
            raise Stop

    file = tmp_path / "x.h5"
    with h5py.File(file, "w") as root:
        root.create_dataset("a", data=np.arange(4000), chunks=(10,), compression="gzip")
        root.create_dataset("b", data=np.arange(4000), chunks=(10,), compression="gzip")
    with pytest.raises(Stop):
        omnizarr.convert(file, tmp_path / "x.zarr", progress=stop, workers=1)
    resumed = omnizarr.convert(file, tmp_path / "x.zarr")
    assert resumed.resumed
    np.testing.assert_array_equal(omnizarr.open(tmp_path / "x.zarr", mode="r")["b"], range(4000))


def test_another_file_does_not_go_on_where_the_first_one_stopped(tmp_path: Path) -> None:
    def stop(progress: object) -> None:
        raise KeyboardInterrupt

    file = written(tmp_path / "x.h5")
    with pytest.raises(KeyboardInterrupt):
        omnizarr.convert(file, tmp_path / "x.zarr", progress=stop, workers=1)
    os.utime(file, ns=(1, 1))
    with pytest.raises(NodeExistsError, match="interrupted"):
        omnizarr.convert(file, tmp_path / "x.zarr")
    omnizarr.convert(file, tmp_path / "x.zarr", resume=False)
    np.testing.assert_array_equal(omnizarr.open(tmp_path / "x.zarr", mode="r")["g/rain"], RAMP)


def test_a_file_that_changes_meanwhile_is_noticed(tmp_path: Path) -> None:
    file = written(tmp_path / "x.h5")
    with opened(file, None) as group:
        assert group is not None
        np.testing.assert_array_equal(group["g/rain"], RAMP)
        os.utime(file, ns=(1, 1))
        with pytest.raises(ValueChangedError, match="changed while it was read"):
            group["g/rain"][...]


def test_all_that_cannot_be_converted_is_told_with_what_leaves_it_out(tmp_path: Path) -> None:
    with h5py.File(tmp_path / "x.h5", "w") as root:
        for name in ("a", "g/b"):
            root.create_dataset(name, data=RAMP, chunks=(4, 5), compression="lzf")
        root["c"] = RAMP
    with pytest.raises(MetadataError, match="2 obstacles") as info:
        omnizarr.convert(tmp_path / "x.h5", tmp_path / "x.zarr")
    assert "exclude='g/b'" in str(info.value) and not (tmp_path / "x.zarr").exists()
    omnizarr.convert(tmp_path / "x.h5", tmp_path / "x.zarr", exclude=["a", "g/*"])
    np.testing.assert_array_equal(omnizarr.open(tmp_path / "x.zarr", mode="r")["c"], RAMP)


@pytest.mark.parametrize("shape", [(4_999_999,), (3, 1_300_000), (1, 2, 2_000_003), (70_001, 60)])
def test_contiguous_data_gets_chunks_of_some_mebibytes(
    shape: tuple[int, ...], tmp_path: Path
) -> None:
    values = np.arange(np.prod(shape), dtype="f8").reshape(shape)
    with h5py.File(tmp_path / "x.h5", "w") as root:
        root["a"] = values
    done = omnizarr.convert(tmp_path / "x.h5", tmp_path / "x.zarr")
    array = omnizarr.open(tmp_path / "x.zarr", mode="r")["a"]
    np.testing.assert_array_equal(array, values)
    assert (1 << 18) <= np.prod(array.chunks) * 8 <= (32 << 20)
    omnizarr.convert(tmp_path / "x.h5", tmp_path / "a.zarr", path="a")
    assert omnizarr.open(tmp_path / "a.zarr", mode="r").chunks == array.chunks
    assert len(done.nodes) == 2
