"""`virtualize`: what becomes of references, in whose hands; a thousand files; other processes."""

from __future__ import annotations

import json
import os
import pickle
import subprocess
import time
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from importlib import import_module
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest

import omnizarr
from omnizarr.api.virtual.files import Place
from omnizarr.errors import (
    NodeExistsError,
    NodeNotFoundError,
    ReadOnlyError,
    StoreAccessError,
    UnsupportedError,
)
from omnizarr.jobs import Progress
from omnizarr.stores import ReferenceStore, as_store

RANDOM = np.random.default_rng(8)
PEER = Path(__file__).resolve().parents[2] / ".peers" / "zarr3" / "bin" / "python"


def files(folder: Path, count: int = 3) -> tuple[list[Path], Any]:
    """NetCDF-like files, a day each, compressed."""
    folder.mkdir(exist_ok=True)
    paths, parts = [], []
    for day in range(count):
        paths.append(folder / f"{day:04}.h5")
        parts.append(RANDOM.integers(0, 999, (1, 6, 8)).astype("i2"))
        with h5py.File(paths[-1], "w") as file:
            rain = file.create_dataset(
                "rain", data=parts[-1], chunks=(1, 3, 8), compression="gzip", shuffle=True
            )
            rain.attrs["_FillValue"], rain.attrs["scale_factor"] = np.int16(-1), 0.1
            for axis, (name, values) in enumerate(
                {"time": [day], "y": np.arange(6.0), "x": np.arange(8.0)}.items()
            ):
                scale = file.create_dataset(name, data=np.asarray(values))
                scale.make_scale(name)
                rain.dims[axis].attach_scale(scale)
            file["time"].attrs["units"] = "days since 2000-01-01"
    return paths, np.concatenate(parts)


def test_the_group_works_at_once(tmp_path: Path) -> None:
    paths, values = files(tmp_path / "data")
    root = omnizarr.virtualize(str(tmp_path / "data" / "*.h5"), join="time")
    np.testing.assert_array_equal(root["rain"][...], values)
    assert root.read_only and isinstance(root.store, ReferenceStore)
    with pytest.raises(ReadOnlyError):
        root.create_group("new")
    again = pickle.loads(pickle.dumps(root))
    np.testing.assert_array_equal(again["rain"][...], values)
    references = root.store
    total = sum(len(references.get(key) or b"") for key in references.list() if "rain/0" in key)
    assert total < sum(path.stat().st_size for path in paths)


def test_a_place_hides_secrets() -> None:
    """An error about a lost worker shows the task, which has the place."""
    place = Place("https://me:hidden@example.org/a.nc?token=hidden", {"token": "hidden"})
    assert "example.org/a.nc" in repr(place) and "hidden" not in repr(place)


@pytest.mark.parametrize(
    "there", ["refs.json", "refs.parquet", "refs.parquet/part.0.parquet", "refs.parquet/a/b.parq"]
)
def test_other_files_are_not_replaced(there: str, tmp_path: Path) -> None:
    files(tmp_path / "data")
    other = tmp_path / there
    other.parent.mkdir(parents=True, exist_ok=True)
    other.write_bytes(b"{}")
    with pytest.raises(NodeExistsError, match="what is there is none"):
        omnizarr.virtualize(
            tmp_path / "data" / "*.h5", join="time", output=tmp_path / there.partition("/")[0]
        )
    assert other.read_bytes() == b"{}"


@pytest.mark.parametrize("name", ["refs.json", "refs.parquet"])
def test_reference_files_are_read_again(name: str, tmp_path: Path) -> None:
    _, values = files(tmp_path / "data")
    beside, elsewhere = tmp_path / name, tmp_path / "other" / name
    for output in (beside, elsewhere, elsewhere):  # an old one is replaced
        root = omnizarr.virtualize(tmp_path / "data" / "*.h5", join="time", output=output)
        np.testing.assert_array_equal(root["rain"][...], values)
    np.testing.assert_array_equal(omnizarr.open(str(beside), mode="r")["rain"][...], values)
    with pytest.raises(StoreAccessError, match="allow="):
        omnizarr.open(str(elsewhere), mode="r")["rain"][...]
    options = {"allow": [str(tmp_path / "data")]}
    allowed = omnizarr.open(str(elsewhere), storage_options=options, mode="r")
    np.testing.assert_array_equal(allowed["rain"][...], values)
    assert allowed["rain"].attrs["scale_factor"] == 0.1
    assert allowed["time"][...].tolist() == [0, 1, 2]


def test_links_are_resolved(tmp_path: Path) -> None:
    paths, values = files(tmp_path / "data", 1)
    (tmp_path / "link.h5").symlink_to(paths[0])
    np.testing.assert_array_equal(omnizarr.virtualize(tmp_path / "link.h5")["rain"][...], values)


def test_no_other_file_may_be_read(tmp_path: Path) -> None:
    """The group may read the folders of its files, and nothing else."""
    files(tmp_path / "data", 1)
    (tmp_path / "secret").write_bytes(b"secret")
    root = omnizarr.virtualize(tmp_path / "data" / "*.h5")
    store = root.store
    with pytest.raises(StoreAccessError):
        store._targets.find(str(tmp_path / "secret"))


def test_files_in_a_store(tmp_path: Path) -> None:
    paths, values = files(tmp_path / "data")
    with as_store("memory://virtual-test") as store:
        for path in paths:
            store.set(f"days/{path.name}", path.read_bytes())
        root = omnizarr.virtualize("memory://virtual-test/days/*.h5", join="time")
        np.testing.assert_array_equal(root["rain"][...], values)
        with pytest.raises(NodeNotFoundError):
            omnizarr.virtualize("memory://virtual-test/days/none.h5")


@pytest.mark.peers
def test_files_behind_a_web_server(server: Callable[[str], Any], tmp_path: Path) -> None:
    nginx = server("nginx")
    paths, values = files(tmp_path / "data")
    for path in paths:
        (nginx.root / path.name).write_bytes(path.read_bytes())
    urls = [f"{nginx.urls['plain']}/{path.name}" for path in paths]
    root = omnizarr.virtualize(urls, join="time", output=tmp_path / "refs.json")
    np.testing.assert_array_equal(root["rain"][...], values)
    np.testing.assert_array_equal(omnizarr.open(tmp_path / "refs.json")["rain"][...], values)


@pytest.mark.slow
def test_progress_and_processes(tmp_path: Path) -> None:
    _, values = files(tmp_path / "data", 5)
    seen: list[Progress] = []
    with ProcessPoolExecutor(2, mp_context=get_context("spawn")) as pool:
        root = omnizarr.virtualize(
            tmp_path / "data" / "*.h5", join="time", progress=seen.append, executor=pool
        )
    np.testing.assert_array_equal(root["rain"][...], values)
    assert [progress.done for progress in seen] == [1, 2, 3, 4, 5]
    assert {progress.label for progress in seen} == {f"{day:04}.h5" for day in range(5)}


def test_arguments_are_checked_before_the_scan(tmp_path: Path) -> None:
    for given, error in (
        ({"kind": "png"}, ValueError), ({"output": "refs.txt"}, ValueError),
        ({"output": 5}, TypeError), ({"skip": "rain"}, TypeError),
        ({"new_dim": {"a": [1], "b": [2]}}, ValueError), ({"joins": "time"}, TypeError),
    ):  # fmt: skip
        with pytest.raises(error):
            omnizarr.virtualize(tmp_path / "none.h5", **given)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="list of files is empty"):
        omnizarr.virtualize([])
    with pytest.raises(TypeError, match="expected a path"):
        omnizarr.virtualize(5)  # type: ignore[arg-type]


# -- in the hands of others -----------------------------------------------------------------------


@pytest.mark.slow
def test_xarray_reads_the_references(tmp_path: Path) -> None:
    xarray = import_module("xarray")
    paths, _ = files(tmp_path / "data")
    omnizarr.virtualize(paths, join="time", output=tmp_path / "refs.json")
    parts = [xarray.open_dataset(path, engine="netcdf4") for path in paths]
    expected = xarray.concat(parts, "time").load()
    for engine in ("kerchunk", "omnizarr"):
        with xarray.open_dataset(str(tmp_path / "refs.json"), engine=engine) as found:
            xarray.testing.assert_equal(expected, found.load())
    for part in parts:
        part.close()


@pytest.mark.peers
@pytest.mark.parametrize("name", ["refs.json", "refs.parquet"])
def test_zarr_python_reads_the_references(name: str, tmp_path: Path) -> None:
    """Through fsspec, which reads parquet with fastparquet."""
    if not PEER.exists():
        pytest.fail(f"{PEER} does not exist: run `make peers`")
    paths, values = files(tmp_path / "data")
    omnizarr.virtualize(paths, join="time", output=tmp_path / name)
    script = f"""
import fsspec, numpy, zarr
files = fsspec.filesystem(
    "reference", fo={str(tmp_path / name)!r}, remote_protocol="file", asynchronous=True
)
root = zarr.open_group(zarr.storage.FsspecStore(files, read_only=True), mode="r", zarr_format=2)
for name in ("rain", "time", "x"):
    numpy.save(f"{tmp_path}/{{name}}.npy", root[name][...])
"""
    done = subprocess.run([PEER, "-c", script], capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr[-3000:]
    np.testing.assert_array_equal(np.load(tmp_path / "rain.npy"), values)
    np.testing.assert_array_equal(np.load(tmp_path / "time.npy"), [0, 1, 2])
    np.testing.assert_array_equal(np.load(tmp_path / "x.npy"), np.arange(8.0))


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:Numcodecs codecs are not in the Zarr version 3")
@pytest.mark.filterwarnings("ignore:Passing `None` in:DeprecationWarning")
def test_icechunk(tmp_path: Path) -> None:
    icechunk = import_module("icechunk")
    paths, values = files(tmp_path / "data")
    config = icechunk.RepositoryConfig.default()
    place = f"file://{tmp_path}/data/"
    store = icechunk.local_filesystem_store(f"{tmp_path}/data")
    config.set_virtual_chunk_container(icechunk.VirtualChunkContainer(place, store))
    repository = icechunk.Repository.create(
        icechunk.local_filesystem_storage(str(tmp_path / "repo")), config,
        authorize_virtual_chunk_access={place: None},
    )  # fmt: skip
    session = repository.writable_session("main")
    root = omnizarr.virtualize(paths, join=0, output=session)
    np.testing.assert_array_equal(root["rain"][...], values)
    session.commit("virtual")
    reading = repository.readonly_session("main")
    ours = omnizarr.open_group(reading, mode="r")
    np.testing.assert_array_equal(ours["rain"][...], values)
    zarr = import_module("zarr")
    theirs = zarr.open_group(reading.store, mode="r")
    np.testing.assert_array_equal(theirs["rain"][...], values)
    xarray = import_module("xarray")
    with xarray.open_zarr(reading.store, consolidated=False) as found:
        np.testing.assert_allclose(found["rain"].values, values * 0.1)
    later = time.time() + 60  # a file that changed since is refused
    os.utime(paths[0], (later, later))
    with pytest.raises(omnizarr.errors.StoreError):
        omnizarr.open_group(repository.readonly_session("main"), mode="r")["rain"][...]


@pytest.mark.slow
def test_what_icechunk_does_not_take(tmp_path: Path) -> None:
    icechunk = import_module("icechunk")
    paths, _ = files(tmp_path / "data")
    repository = icechunk.Repository.create(
        icechunk.local_filesystem_storage(str(tmp_path / "repo"))
    )
    with pytest.raises(UnsupportedError, match="virtual chunk container"):
        omnizarr.virtualize(paths, join="time", output=repository.writable_session("main"))
    for path, length in zip(paths, (2, 3, 2), strict=True):
        with h5py.File(path, "w") as file:
            file.create_dataset(
                "rain", data=np.ones((length, 6)), chunks=(length, 6), compression=1
            )
    with pytest.raises(UnsupportedError, match="'rectilinear'"):
        omnizarr.virtualize(paths, join=0, output=repository.writable_session("main"))


@pytest.mark.slow
def test_a_thousand_files(tmp_path: Path, record_property: Callable[[str, object], None]) -> None:
    netcdf = import_module("netCDF4")
    days = RANDOM.integers(0, 99, (1000, 20, 30)).astype("i2")
    for day, values in enumerate(days):
        with netcdf.Dataset(tmp_path / f"{day:04}.nc", "w") as file:
            for name, length in (("time", None), ("y", 20), ("x", 30)):
                file.createDimension(name, length)
            moment = file.createVariable("time", "f8", ("time",))
            moment.units = "days since 2000-01-01"
            moment[:] = day
            for name, length in (("y", 20), ("x", 30)):
                file.createVariable(name, "f4", (name,))[:] = np.arange(length)
            rain = file.createVariable("rain", "i2", ("time", "y", "x"), zlib=True)
            rain[:] = values[None]
    begin = time.monotonic()
    root = omnizarr.virtualize(tmp_path / "*.nc", join="time", output=tmp_path / "refs.json")
    scanned = time.monotonic() - begin
    assert root["rain"].shape == days.shape
    np.testing.assert_array_equal(root["rain"][...], days)
    np.testing.assert_array_equal(root["time"][...], np.arange(1000))
    read = time.monotonic() - begin - scanned
    size = len(json.dumps(json.loads((tmp_path / "refs.json").read_text())))
    assert scanned < 120
    record_property(
        "acceptance-line",
        f"virtual       1,000 NetCDF files: {scanned:.1f} s to scan, join and write {size:,} bytes"
        f" of references, {read:.1f} s to read all",
    )
