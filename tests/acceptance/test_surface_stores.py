"""Modes, stores, pickling and configuration as users of both generations know them."""

from __future__ import annotations

import copy
import json
import pickle
import subprocess
import sys
import warnings
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import omnizarr as zarr
from tests.acceptance.processes import environment, snapshot

VERSIONS = pytest.mark.parametrize("version", [2, 3])


@VERSIONS
@pytest.mark.parametrize("mode", ["r", "r+", "a", "w-", "x"])
def test_modes_that_change_nothing(mode: str, version: int, tmp_path: Path) -> None:
    """Any mode but "w" on anything that exists: every file is what it was."""
    store = tmp_path / "tree.zarr"
    root = zarr.open_group(str(store), mode="w", zarr_format=version)
    root.create_array("a", shape=(10,), chunks=(3,), dtype="i4")[:] = 5
    root.attrs["kept"] = True
    root.create_group("g")
    plain = tmp_path / "plain"
    plain.mkdir()
    (plain / "notes.txt").write_text("mine")
    before = snapshot(tmp_path)
    openers: list[Callable[[], Any]] = [
        lambda: zarr.open(str(store), mode=mode),
        lambda: zarr.open_group(str(store), mode=mode),
        lambda: zarr.open_group(str(store), mode=mode, path="g"),
        lambda: zarr.open_array(str(store), mode=mode, path="a", shape=(10,), dtype="i4"),
        lambda: zarr.open_array(str(store), mode=mode, path="a", shape=(99,), dtype="f8"),
        lambda: zarr.open(str(store), mode=mode, path="a"),
        lambda: zarr.open(str(plain), mode="r"),
    ]
    for opener in openers:
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", zarr.errors.IgnoredArgumentWarning)
                node = opener()
        except (zarr.errors.ZarrError, ValueError):
            if mode in ("r", "r+", "a") and opener is not openers[-1]:
                assert opener is openers[4], "an existing node must open"
        else:
            assert node is not None
        assert snapshot(tmp_path) == before
    if mode not in ("w-", "x"):
        assert zarr.load(str(store), path="a").tolist() == [5] * 10
        assert snapshot(tmp_path) == before


@VERSIONS
def test_mode_a_creates_beside_what_exists(version: int, tmp_path: Path) -> None:
    plain = tmp_path / "plain"
    plain.mkdir()
    (plain / "notes.txt").write_text("mine")
    zarr.open_group(str(plain), mode="a", zarr_format=version)
    assert (plain / "notes.txt").read_text() == "mine"
    zarr.open_array(str(tmp_path / "new"), mode="a", shape=(3,), dtype="i4", zarr_format=version)[
        :
    ] = 4
    assert zarr.open(str(tmp_path / "new"))[:].tolist() == [4, 4, 4]


@VERSIONS
def test_mode_w_replaces(version: int, tmp_path: Path) -> None:
    store = str(tmp_path / "a.zarr")
    zarr.open_array(store, mode="w", shape=(10,), chunks=(2,), dtype="i4", zarr_format=version)[
        :
    ] = 1
    array = zarr.open_array(
        store, mode="w", shape=(4,), dtype="i4", zarr_format=version, fill_value=9
    )
    assert array[:].tolist() == [9] * 4
    files = [path for path in (tmp_path / "a.zarr").rglob("*") if path.is_file()]
    assert {path.name for path in files} <= {".zarray", ".zattrs", "zarr.json"}


def test_formats_replace_each_other(tmp_path: Path) -> None:
    """No document of the old format is left behind to be found later."""
    store = str(tmp_path / "a.zarr")
    for version in (2, 3, 2):
        zarr.create_array(store=store, shape=(3,), dtype="i4", zarr_format=version, overwrite=True)
        assert zarr.open(store, mode="r").zarr_format == version


def test_pickling_and_copying(tmp_path: Path) -> None:
    array = zarr.create_array(store=str(tmp_path / "a.zarr"), shape=(4,), dtype="i4")
    array[:] = [1, 2, 3, 4]
    again = pickle.loads(pickle.dumps(array))
    assert again[:].tolist() == [1, 2, 3, 4]
    again[0] = 9
    assert array[0] == 9
    assert copy.copy(array)[0] == 9
    assert copy.deepcopy(array).shape == (4,)
    group = zarr.open_group(str(tmp_path / "g.zarr"), mode="w")
    group.create_array("x", shape=(2,), dtype="i4")
    assert sorted(pickle.loads(pickle.dumps(group))) == ["x"]
    frozen = pickle.loads(pickle.dumps(zarr.open_array(str(tmp_path / "a.zarr"), mode="r")))
    with pytest.raises(zarr.errors.ReadOnlyError):
        frozen[0] = 1


def test_pickled_memory_array_tells_the_truth_in_another_process() -> None:
    """Either the values travel, or pickling is refused; never silent zeros."""
    array = zarr.array(np.arange(5), store=zarr.storage.MemoryStore())
    try:
        data = pickle.dumps(array)
    except Exception:  # a refusal is fine
        return
    code = "import pickle, sys; print(pickle.loads(sys.stdin.buffer.read())[:].tolist())"
    done = subprocess.run(
        [sys.executable, "-c", code],
        input=data,
        capture_output=True,
        env=environment(),
        check=False,
    )
    assert done.returncode == 0, done.stderr.decode()
    assert json.loads(done.stdout) == [0, 1, 2, 3, 4]


@VERSIONS
def test_zip_files(version: int, tmp_path: Path) -> None:
    path = str(tmp_path / "x.zip")
    group = zarr.open(path, mode="w", zarr_format=version)
    array = group.create_array("a", shape=(6,), chunks=(2,), dtype="i4")
    array[:] = np.arange(6)
    for number in range(5):
        array.attrs["n"] = number
    array.resize((8,))
    group.store.close()
    assert zipfile.is_zipfile(path)
    with zipfile.ZipFile(path) as archive:
        listed = archive.namelist()
        assert len(listed) == len(set(listed)), "one entry per key"
        assert archive.testzip() is None
    again = zarr.open(path, mode="r")
    assert again["a"][:].tolist() == [0, 1, 2, 3, 4, 5, 0, 0]
    assert again["a"].attrs["n"] == 4
    again.store.close()
    with zarr.ZipStore(path, mode="a") as store:
        zarr.open_group(store, mode="a")["a"][0] = 77
    with zarr.ZipStore(path, mode="r") as store:
        assert zarr.open_group(store, mode="r")["a"][0] == 77


def test_stores_by_any_name(tmp_path: Path) -> None:
    stores: list[Any] = [
        None,
        {},
        zarr.MemoryStore(),
        zarr.DictStore(),
        zarr.KVStore({}),
        str(tmp_path / "a"),
        tmp_path / "b",
        zarr.DirectoryStore(str(tmp_path / "c")),
        zarr.NestedDirectoryStore(str(tmp_path / "d")),
        zarr.storage.LocalStore(tmp_path / "e"),
        zarr.TempStore(),
    ]
    for version in (2, 3):
        for store in stores:
            array = zarr.create(
                shape=(4, 4),
                chunks=(2, 2),
                store=store,
                dtype="i4",
                overwrite=True,
                zarr_format=version,
            )
            array[...] = 3
            assert array[0, 0] == 3
            if store is not None:
                assert zarr.open_array(store, mode="r")[3, 3] == 3
    zarr.create(
        shape=(4, 4), chunks=(2, 2), dtype="i4", zarr_format=2,
        store=zarr.NestedDirectoryStore(str(tmp_path / "nested")),
    )[...] = 1  # fmt: skip
    assert (tmp_path / "nested" / "1" / "1").is_file()


def test_caller_keeps_his_own_array() -> None:
    """A store does not alias what was written, nor what was read."""
    for store in ({}, zarr.MemoryStore()):
        array = zarr.create_array(
            store=store, shape=(8,), chunks=(4,), dtype="i4", compressors=None
        )
        data = np.arange(8, dtype="i4")
        array[:] = data
        data[:] = 99
        assert array[:].tolist() == list(range(8))
        read = array[:]
        read[:] = 77
        assert array[:].tolist() == list(range(8))


def test_config() -> None:
    assert zarr.config.get("default_zarr_format") == 3
    assert zarr.create_array(store={}, shape=(2,), dtype="i4").zarr_format == 3
    with zarr.config.set({"default_zarr_format": 2}):
        assert zarr.create_array(store={}, shape=(2,), dtype="i4").zarr_format == 2
        assert zarr.group({}).zarr_format == 2
    assert zarr.config.get("default_zarr_format") == 3


def test_missing_chunks_can_raise() -> None:
    store: dict[str, Any] = {}
    array = zarr.create_array(store=store, shape=(4,), chunks=(2,), dtype="i4", fill_value=5)
    array[:2] = 1
    assert array[:].tolist() == [1, 1, 5, 5]
    strict = zarr.open_array(store, mode="r", on_missing="raise")
    assert strict[:2].tolist() == [1, 1]
    with pytest.raises(zarr.errors.ChunkNotFoundError):
        strict[:]
