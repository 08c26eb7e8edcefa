"""A place in its hierarchy."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

import omnizarr as zarr
from omnizarr.cli import spots
from omnizarr.cli.places import Problem


def test_the_outermost_group(store: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    place = spots.existing(str(store / "deep" / "z"), None, ())
    assert (place.file, place.path) == (str(store), "deep/z")
    assert spots.existing(str(store), None, ()).path == ""
    monkeypatch.chdir(store / "deep")
    assert os.path.samefile(spots.existing("z", None, ()).file, store)


@pytest.mark.parametrize(
    ("typed", "file", "path"),
    [
        ("data.zarr/deep/new", "data.zarr", "deep/new"),
        ("data.zarr/a/b", "data.zarr", "a/b"),
        ("data.zarr/deep", "data.zarr", "deep"),
        ("new.zarr", "new.zarr", ""),
        ("folder/new.zarr", "folder/new.zarr", ""),
        ("a.zip/x/y", "a.zip", "x/y"),
        ("a.sqlite/x", "a.sqlite", "x"),
    ],
)
def test_targets(
    store: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, typed: str, file: str, path: str
) -> None:
    monkeypatch.chdir(tmp_path)
    place = spots.target(typed)
    assert (place.file, place.path) == (file, path)


def test_what_cannot_be_written_into(store: Path, tmp_path: Path) -> None:
    (tmp_path / "letter.txt").touch()
    for path in (tmp_path / "letter.txt", tmp_path / "letter.txt" / "x", store / "sparse" / "x"):
        with pytest.raises(Problem):
            spots.target(str(path))


def test_stale_consolidated_metadata(store: Path) -> None:
    with zarr.LocalStore(store) as opened:
        assert spots.stale(opened, "deep/z") == []
        zarr.consolidate_metadata(opened, "deep")
        assert spots.stale(opened, "deep/z") == ["deep"] and spots.stale(opened, "deep") == []
