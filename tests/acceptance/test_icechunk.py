"""Icechunk repositories through our arrays: commit, time travel, branch, tag, conflict, rebase; and
VirtualiZarr's manifests over HDF5. What zarr-python writes there we read, and the reverse."""

from __future__ import annotations

import os
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import zarr

import omnizarr
from omnizarr.errors import NodeNotFoundError, ReadOnlyError, StoreError
from omnizarr.stores import ZarrPythonStore, as_store

icechunk = import_module("icechunk")

# zarr-python warns of codecs that HDF5 uses and format 3 does not name, Icechunk 2 of the way in
# which release 1 is told that local files need no credentials.
pytestmark = [
    pytest.mark.filterwarnings("ignore:Numcodecs codecs are not in the Zarr version 3"),
    pytest.mark.filterwarnings("ignore:Passing `None` in:DeprecationWarning"),
]

SHAPE, CHUNKS = (40, 60), (16, 25)


@pytest.fixture
def repository(tmp_path: Path) -> Any:
    return icechunk.Repository.create(icechunk.local_filesystem_storage(str(tmp_path / "repo")))


def values() -> np.ndarray[Any, Any]:
    return np.random.default_rng(5).normal(size=SHAPE)


def begin(repository: Any) -> str:
    """A first snapshot: one group, a plain and a sharded array."""
    session = repository.writable_session("main")
    root = omnizarr.open_group(session, mode="a")
    root.attrs["title"] = "first"
    root.create_array("field", shape=SHAPE, chunks=CHUNKS, dtype="f8", dimension_names=["y", "x"])
    root.create_array("deep/shards", shape=SHAPE, chunks=(4, 5), shards=(16, 25), dtype="f8")
    root["field"][...] = values()
    root["deep/shards"][...] = values()
    return str(session.commit("first"))


def field(repository: Any, **where: Any) -> np.ndarray[Any, Any]:
    group = omnizarr.open_group(repository.readonly_session(**where), mode="r")
    return np.asarray(group["field"][...])


def test_commit_and_time_travel(repository: Any, summary: Callable[[str], None]) -> None:
    first = begin(repository)
    session = repository.writable_session("main")
    root = omnizarr.open_group(session.store, mode="r+")
    expected = values()
    for name in ("field", "deep/shards"):  # parts of chunks and of shards
        root[name][3:20, 7] = -1.0
        root[name][::7, 50:] *= 2
    expected[3:20, 7] = -1.0
    expected[::7, 50:] *= 2
    root.attrs["title"] = "second"
    root.create_array("new", data=np.arange(5))
    np.testing.assert_array_equal(field(repository, branch="main"), values())
    second = session.commit("second")
    for name in ("field", "deep/shards"):
        then = omnizarr.open_group(repository.readonly_session(snapshot_id=first), mode="r")
        now = omnizarr.open_group(repository.readonly_session(branch="main"), mode="r")
        np.testing.assert_array_equal(then[name][...], values())
        np.testing.assert_array_equal(now[name][...], expected)
        np.testing.assert_array_equal(now[name][2:30:3, ::-1], expected[2:30:3, ::-1])
    assert then.attrs["title"] == "first" and now.attrs["title"] == "second"
    assert sorted(then) == ["deep", "field"]
    assert sorted(now) == ["deep", "field", "new"]
    assert [entry.id for entry in repository.ancestry(branch="main")][:2] == [second, first]
    summary("icechunk      time travel: parts of chunks and shards, 2 snapshots, each as written")


def test_branch_and_tag(repository: Any) -> None:
    first = begin(repository)
    repository.create_tag("v1", snapshot_id=first)
    repository.create_branch("trial", snapshot_id=first)
    session = repository.writable_session("trial")
    array = omnizarr.open_array(session, path="field", mode="r+")
    array[...] = 0
    array.resize((50, 60))
    array[45] = 7
    session.commit("on a branch")
    trial = omnizarr.open_array(repository.readonly_session(branch="trial"), path="field", mode="r")
    assert trial.shape == (50, 60)
    assert trial[:40].sum() == 0 and trial[45, 0] == 7
    np.testing.assert_array_equal(field(repository, branch="main"), values())
    np.testing.assert_array_equal(field(repository, tag="v1"), values())


def test_conflict_and_rebase(repository: Any, summary: Callable[[str], None]) -> None:
    begin(repository)
    one, two = repository.writable_session("main"), repository.writable_session("main")
    omnizarr.open_array(one, path="field", mode="r+")[0, 0] = 1.0
    omnizarr.open_array(two, path="field", mode="r+")[0, 1] = 2.0  # the same chunk
    one.commit("one")
    with pytest.raises(icechunk.ConflictError):
        two.commit("two")
    with pytest.raises(icechunk.RebaseFailedError):
        two.rebase(icechunk.ConflictDetector())
    expected = values()
    expected[0, 0] = 1.0
    np.testing.assert_array_equal(field(repository, branch="main"), expected)
    # Other chunks are no conflict: after a rebase both changes are there.
    three, four = repository.writable_session("main"), repository.writable_session("main")
    omnizarr.open_array(three, path="field", mode="r+")[0, 0] = 3.0
    omnizarr.open_array(four, path="field", mode="r+")[39, 59] = 4.0
    three.commit("three")
    with pytest.raises(icechunk.ConflictError):
        four.commit("four")
    four.rebase(icechunk.ConflictDetector())
    four.commit("four")
    expected[0, 0], expected[39, 59] = 3.0, 4.0
    np.testing.assert_array_equal(field(repository, branch="main"), expected)
    summary(
        "icechunk      two sessions: a conflict is found at commit, a rebase keeps both changes"
    )


def test_sessions_end(repository: Any) -> None:
    begin(repository)
    session = repository.writable_session("main")
    array = omnizarr.open_array(session, path="field", mode="r+")
    array[0] = 0
    session.commit("done")
    with pytest.raises(ReadOnlyError, match="open a new one"):
        array[1] = 0
    with pytest.raises(ReadOnlyError):
        omnizarr.open_group(repository.readonly_session(branch="main"), mode="r+").create_group("x")
    session = repository.writable_session("main")
    root = omnizarr.open_group(session, mode="r+")
    del root["deep"]
    root["field"][...] = 0
    session.discard_changes()
    again = omnizarr.open_group(session, mode="r")
    assert sorted(again) == ["deep", "field"]
    assert again["field"][1, 0] == values()[1, 0]
    with pytest.raises(NodeNotFoundError):
        omnizarr.open_array(session, path="none")


def test_zarr_python_reads_and_writes_the_same(
    repository: Any, summary: Callable[[str], None]
) -> None:
    begin(repository)
    theirs = zarr.open_group(repository.readonly_session(branch="main").store, mode="r")
    for name in ("field", "deep/shards"):
        np.testing.assert_array_equal(theirs[name][...], values())
    assert theirs.attrs["title"] == "first"
    assert theirs["field"].metadata.dimension_names == ("y", "x")
    session = repository.writable_session("main")
    group = zarr.open_group(session.store, mode="r+")
    group.create_array("theirs", shape=SHAPE, chunks=(4, 5), shards=(20, 30), dtype="f4")
    group["theirs"][...] = values()
    group["field"][5, :] = 5
    ours = omnizarr.open_group(session, mode="r+")  # before the commit: both see the session
    np.testing.assert_array_equal(ours["theirs"][...], values().astype("f4"))
    ours["theirs"][0] = 1
    assert (group["theirs"][0] == 1).all()
    session.commit("theirs")
    expected = values()
    expected[5, :] = 5
    np.testing.assert_array_equal(field(repository, branch="main"), expected)
    summary(
        "icechunk      zarr-python reads what we wrote, and the reverse, before and after commit"
    )


def test_a_lost_chunk_is_no_fill_value(repository: Any, tmp_path: Path) -> None:
    begin(repository)
    for folder, _, names in os.walk(tmp_path / "repo" / "chunks"):
        for name in names:
            os.remove(os.path.join(folder, name))
    with pytest.raises(StoreError):
        field(icechunk.Repository.open(icechunk.local_filesystem_storage(str(tmp_path / "repo"))),
              branch="main")  # fmt: skip


# -- VirtualiZarr ---------------------------------------------------------------------------------


def manifest(file: Path) -> Any:
    parsers = import_module("virtualizarr.parsers")
    registry = import_module("obspec_utils.registry").ObjectStoreRegistry()
    store = import_module("obstore.store").LocalStore()
    registry.register("file://", store)
    return parsers.HDFParser()(url=f"file://{file}", registry=registry)


def hdf5(file: Path) -> dict[str, np.ndarray[Any, Any]]:
    h5py = import_module("h5py")
    data = np.arange(37 * 23, dtype="f4").reshape(37, 23)
    arrays = {
        "plain": data,
        "deflated": np.round(values(), 2),
        "group/inner": np.arange(100, dtype=">i2"),
        "holes": np.zeros((8, 8), "i4"),
    }
    with h5py.File(file, "w") as target:
        target.create_dataset("plain", data=data)
        target.create_dataset(
            "deflated", data=arrays["deflated"], chunks=(11, 13), compression="gzip", shuffle=True
        )
        target.create_dataset("group/inner", data=arrays["group/inner"], chunks=(30,))
        holes = target.create_dataset("holes", shape=(8, 8), chunks=(4, 4), dtype="i4", fillvalue=9)
        holes[:4, :4] = 1
        arrays["holes"][...] = holes[...]
        target["plain"].attrs["units"] = "K"
    return arrays


def test_virtual_chunks(tmp_path: Path, summary: Callable[[str], None]) -> None:
    arrays = hdf5(tmp_path / "x.h5")
    virtual = manifest(tmp_path / "x.h5")
    store = as_store(virtual)
    assert isinstance(store, ZarrPythonStore) and store.read_only
    root = omnizarr.open_group(virtual, mode="r")
    assert sorted(root) == ["deflated", "group", "holes", "plain"]
    for name, expected in arrays.items():
        np.testing.assert_array_equal(root[name][...], expected, strict=False)
        np.testing.assert_array_equal(root[name][2:7], expected[2:7])
        np.testing.assert_array_equal(
            root[name][...], zarr.open_group(virtual, mode="r")[name][...]
        )
    assert root["plain"].attrs["units"] == "K"
    assert "none" not in root and "none/deeper" not in root
    with pytest.raises(NodeNotFoundError):
        omnizarr.open_array(virtual, path="none")
    with pytest.raises(ReadOnlyError):
        store.set("zarr.json", b"{}")
    os.remove(tmp_path / "x.h5")
    with pytest.raises(StoreError):
        root["plain"][...]
    summary(f"virtualizarr  {len(arrays)} arrays of an HDF5 file through its manifest, as h5py")


def test_virtual_chunks_in_icechunk(tmp_path: Path) -> None:
    h5py = import_module("h5py")
    with h5py.File(tmp_path / "x.h5", "w") as target:
        target.create_dataset("field", data=values(), chunks=(11, 13), compression="gzip")
    virtual = manifest(tmp_path / "x.h5")
    place = f"file://{tmp_path}/"
    configuration = icechunk.RepositoryConfig.default()
    configuration.set_virtual_chunk_container(
        icechunk.VirtualChunkContainer(place, icechunk.local_filesystem_store(str(tmp_path)))
    )
    repository = icechunk.Repository.create(
        icechunk.local_filesystem_storage(str(tmp_path / "repo")),
        config=configuration,
        authorize_virtual_chunk_access={place: None},
    )
    session = repository.writable_session("main")
    virtual.to_virtual_dataset().vz.to_icechunk(session.store)
    session.commit("virtual")
    session = repository.writable_session("main")
    root = omnizarr.open_group(session, mode="r+")
    np.testing.assert_array_equal(root["field"][...], values())
    root["field"][0, :5] = 0.5  # one chunk becomes the repository's own
    session.commit("changed")
    expected = values()
    expected[0, :5] = 0.5
    np.testing.assert_array_equal(field(repository, branch="main"), expected)


def test_what_was_cut_off_does_not_come_back(repository: Any) -> None:
    """A session shows no chunk outside of the shape, and still has it."""
    begin(repository)
    session = repository.writable_session("main")
    for name in ("field", "deep/shards"):
        array = omnizarr.open_array(session, path=name, mode="r+")
        array.resize((20, 60))
        array.resize(SHAPE)
    session.commit("cut and grown")
    cut = values()
    cut[20:] = 0
    group = omnizarr.open_group(repository.readonly_session("main"), mode="r")
    for name in ("field", "deep/shards"):
        np.testing.assert_array_equal(group[name][...], cut)
        theirs = zarr.open_array(repository.readonly_session("main").store, path=name, mode="r")
        np.testing.assert_array_equal(np.asarray(theirs[...]), cut)
