"""`omnizarr formats`: formats and stores, and what is missing."""

from __future__ import annotations

import pytest

import omnizarr as zarr
from omnizarr.cli import installed
from omnizarr.cli.showing import formats
from tests.cli.conftest import Run


def test_what_can_be_written_is_written(run: Run) -> None:
    found = run("formats", "--json").document
    for row in found["formats"]:
        assert row["read"] and row["write"]
        if row["name"] != "nczarr":
            array = zarr.create_array({}, shape=(2,), dtype="i4", zarr_format=row["name"])
            assert str(array.zarr_format) == row["name"]
    assert {row["name"] for row in found["stores"]} >= {"folder", "zip", "http", "cloud"}
    assert all(row["read"] or row["write"] for part in found.values() for row in part)
    assert {row["name"] for row in found["foreign"]} >= set(zarr.file_formats())


def test_what_is_missing(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    there = installed.is_there
    monkeypatch.setattr(installed, "is_there", lambda name: name != "lmdb" and there(name))
    found = run("formats", "--missing", "--json").document
    assert {"name": "lmdb", "install": "pip install 'omnizarr[lmdb]'"}.items() <= next(
        row for row in found["stores"] if row["name"] == "lmdb"
    ).items()
    done = run("formats")
    assert done.status == 0 and "pip install 'omnizarr[lmdb]'" in done.out
    assert "folder" not in run("formats", "--missing").out
    monkeypatch.setattr(installed, "is_there", lambda name: True)
    assert run("formats", "--missing").out == "nothing is missing\n"


def test_the_extras_exist() -> None:
    from importlib.metadata import metadata

    extras = set(metadata("omnizarr").get_all("Provides-Extra") or ())
    if not extras:
        pytest.skip("omnizarr is not installed here")
    for kind in (*formats._files(), *formats._FOREIGN, *formats._STORES):
        if kind.need.install.startswith("'omnizarr["):
            assert kind.need.install[len("'omnizarr[") : -2] in extras
