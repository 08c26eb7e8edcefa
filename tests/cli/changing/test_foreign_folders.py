"""Commands that write a destination: a folder of other things stays as it is."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import omnizarr as zarr
from tests.cli.conftest import Run

WRITERS = {
    "convert": (),
    "rechunk": ("--chunks", "3"),
    "reencode": ("--compressors", "zstd:1"),
    "pyramid": ("--path", "a", "--levels", "2", "--axes", "x"),
    "sync": (),
    "cp": (),
}


@pytest.fixture
def numbers(tmp_path: Path) -> Path:
    zarr.create_group(tmp_path / "t.zarr").create_array("a", data=np.arange(9))
    return tmp_path / "t.zarr"


def foreign(tmp_path: Path) -> Path:
    (tmp_path / "h" / "docs").mkdir(parents=True)
    (tmp_path / "h" / "docs" / "thesis.txt").write_text("x")
    return tmp_path / "h"


@pytest.mark.parametrize("command", WRITERS)
@pytest.mark.parametrize("option", ["--quiet", "--dry-run", "--overwrite"])
def test_is_refused(run: Run, numbers: Path, tmp_path: Path, command: str, option: str) -> None:
    folder = foreign(tmp_path)
    option = "--delete" if (command, option) == ("sync", "--overwrite") else option
    done = run(command, numbers, folder, *WRITERS[command], option)
    assert (done.status, done.out) == (2, ""), done
    assert done.err.splitlines() == [
        f"omnizarr: {folder}: other things are stored there", "hint: name a new place",
    ]  # fmt: skip
    assert [path.name for path in folder.rglob("*")] == ["docs", "thesis.txt"]


@pytest.mark.parametrize("command", WRITERS)
def test_a_node_an_empty_folder_and_an_unfinished_job(
    run: Run, numbers: Path, tmp_path: Path, command: str
) -> None:
    (tmp_path / "empty").mkdir()
    zarr.create_group(tmp_path / "group.zarr").create_array("b", data=[1])
    (tmp_path / "group.zarr" / "notes.txt").write_text("x")
    more = WRITERS[command]
    for name in ("empty", "group.zarr/new"):
        done = run(command, numbers, tmp_path / name, *more)
        assert done.status == 0, done.err
    assert zarr.open(tmp_path / "group.zarr" / "new")


def test_a_file_of_another_format(run: Run, tmp_path: Path) -> None:
    np.save(tmp_path / "a.npy", np.arange(4))
    done = run("convert", tmp_path / "a.npy", foreign(tmp_path))
    assert done.status == 2 and "other things are stored there" in done.err
    assert run("convert", tmp_path / "a.npy", tmp_path / "a.zarr").status == 0


def test_an_unfinished_sync_goes_on(run: Run, numbers: Path, tmp_path: Path) -> None:
    copy = tmp_path / "copy.zarr"
    assert run("sync", numbers, copy).status == 0
    (copy / "zarr.json").unlink()
    assert run("sync", numbers, copy, "--json").document["copied"] == ["zarr.json"]


def test_an_unfinished_conversion_goes_on(
    run: Run, numbers: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    there, left = tmp_path / "b.zarr", [3]
    write = zarr.LocalStore.set

    def ends(store: zarr.LocalStore, key: str, value: bytes) -> None:
        left[0] -= 1
        if not left[0]:
            raise zarr.errors.StoreError("the disk is gone")
        write(store, key, value)

    monkeypatch.setattr(zarr.LocalStore, "set", ends)
    assert run("convert", numbers, there, "--chunks", "2").status == 2
    assert list(there.glob(".omnizarr-*")) and not (there / "zarr.json").exists()
    done = run("convert", numbers, there, "--chunks", "2")
    assert done.status == 0, done.err
    assert zarr.open(there)["a"][8] == 8
