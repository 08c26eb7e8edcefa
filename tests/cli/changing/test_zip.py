"""`omnizarr zip` and `omnizarr unzip`: whole or not at all."""

from __future__ import annotations

import zipfile
from pathlib import Path

import pytest

import omnizarr as zarr
from tests.cli.conftest import Run, write


def test_there_and_back(run: Run, store: Path, tmp_path: Path) -> None:
    done = run("zip", store)
    assert done.status == 0 and "packed" in done.out, done.err
    archive = Path(f"{store}.zip")
    with zipfile.ZipFile(archive) as file:
        assert file.testzip() is None and "zarr.json" in file.namelist()
    assert "there already" in run("zip", store).err
    assert run("zip", store, "--overwrite", "--quiet").status == 0
    assert run("unzip", archive, tmp_path / "back.zarr", "--json").document["keys"]
    assert zarr.checksum(store).digest == zarr.checksum(tmp_path / "back.zarr").digest
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        "back.zarr", "data.zarr", "data.zarr.zip",
    ]  # fmt: skip


def test_parts_and_dry_runs(run: Run, store: Path, tmp_path: Path) -> None:
    done = run("zip", store / "deep", tmp_path / "d.zip", "--dry-run")
    assert "would be packed" in done.out and not (tmp_path / "d.zip").exists()
    assert run("zip", store / "deep", tmp_path / "d.zip", "--json").document["keys"] == 4
    done = run("unzip", tmp_path / "d.zip" / "z", tmp_path / "z.zarr", "--dry-run")
    assert "would be unpacked" in done.out and not (tmp_path / "z.zarr").exists()
    assert run("unzip", tmp_path / "d.zip" / "z", tmp_path / "z.zarr").status == 0
    assert zarr.open_array(tmp_path / "z.zarr")[1, 2] == 5


def test_a_failure_leaves_nothing(
    run: Run, store: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object, **__: object) -> object:
        raise zarr.errors.StoreError("the disk is gone")

    archive = tmp_path / "a.zip"
    assert run("zip", store, archive).status == 0
    before = archive.read_bytes()
    other = write(tmp_path / "other.zarr")
    monkeypatch.setattr(zarr, "sync", fail)
    assert run("zip", other, archive, "--overwrite").status == 2
    assert run("unzip", archive, tmp_path / "new.zarr").status == 2
    assert run("unzip", archive, other, "--overwrite").status == 2
    assert archive.read_bytes() == before and zarr.open(other)["deep/z"][1, 2] == 5
    names = sorted(path.name for path in tmp_path.iterdir())
    assert names == ["a.zip", "data.zarr", "other.zarr"]


def test_only_stores_are_replaced(run: Run, store: Path, tmp_path: Path) -> None:
    run("zip", store, tmp_path / "a.zip")
    (tmp_path / "photos").mkdir()
    (tmp_path / "photos" / "a.jpg").touch()
    assert run("unzip", tmp_path / "a.zip", tmp_path / "photos", "--overwrite").status == 2
    assert (tmp_path / "photos" / "a.jpg").exists()
    assert run("unzip", tmp_path / "a.zip", store, "--overwrite").status == 0
    assert run("unzip", store, tmp_path / "x").status == 2


def test_only_archives_are_replaced(run: Run, store: Path, tmp_path: Path) -> None:
    other = tmp_path / ".bashrc"
    other.write_text("alias ll='ls -l'")
    for options in ((), ("--dry-run",)):
        done = run("zip", store, other, "--overwrite", *options)
        assert done.status == 2 and "no zip archive" in done.err
    assert other.read_text() == "alias ll='ls -l'"


def test_a_store_that_is_one_file_is_replaced(run: Run, store: Path, tmp_path: Path) -> None:
    run("zip", store, tmp_path / "a.zip")
    run("zip", store / "deep", tmp_path / "v.zip")
    (tmp_path / "link").symlink_to(write(tmp_path / "linked.zarr"))
    for there in ("v.zip", "link"):
        done = run("unzip", tmp_path / "a.zip", tmp_path / there, "--overwrite")
        assert (done.status, done.err) == (0, ""), done.err
        assert run("diff", store, tmp_path / there).status == 0
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        "a.zip", "data.zarr", "link", "linked.zarr", "v.zip",
    ]  # fmt: skip
    assert zarr.open(tmp_path / "linked.zarr")["deep/z"][1, 2] == 5
