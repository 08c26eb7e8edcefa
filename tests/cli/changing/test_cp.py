"""`omnizarr cp`: nodes and stores, byte for byte; nothing half-copied opens."""

from __future__ import annotations

import zipfile
from pathlib import Path

import pytest

import omnizarr as zarr
from tests.cli.conftest import Run, write


@pytest.mark.parametrize("zarr_format", [2, 3, "n5", "3-draft2020-10"])
def test_a_whole_store(run: Run, tmp_path: Path, zarr_format: int | str) -> None:
    source = zarr.create_group(tmp_path / "a.zarr", zarr_format=zarr_format)
    source.create_group("g").create_array("x", data=[[1, 2], [3, 4]])
    done = run("cp", tmp_path / "a.zarr", tmp_path / "b.zarr")
    assert done.status == 0 and done.err == "" and "copied" in done.out, done.err
    assert zarr.checksum(tmp_path / "a.zarr").digest == zarr.checksum(tmp_path / "b.zarr").digest


@pytest.mark.parametrize("zarr_format", [2, 3, "n5", "3-draft2020-10"])
def test_a_node_into_another_store(run: Run, tmp_path: Path, zarr_format: int | str) -> None:
    for name in ("a", "b"):
        root = zarr.create_group(tmp_path / f"{name}.zarr", zarr_format=zarr_format)
        root.create_group("g").create_array("x", data=[[1, 2], [3, 4]])
    done = run("cp", tmp_path / "a.zarr" / "g", tmp_path / "b.zarr" / "new" / "h", "--quiet")
    assert (done.status, done.out, done.err) == (0, "", "")
    assert zarr.open(tmp_path / "b.zarr")["new/h/x"][1, 1] == 4


def test_json_and_dry_run(run: Run, store: Path, tmp_path: Path) -> None:
    document = run("cp", store, tmp_path / "b.zarr", "--dry-run", "--json").document
    assert document["dry_run"] and document["keys"] == len(list(zarr.LocalStore(store)))
    assert document["source"] == str(store) and document["destination"] == str(tmp_path / "b.zarr")
    assert not (tmp_path / "b.zarr").exists()
    document = run("cp", store, tmp_path / "b.zarr", "--json").document
    assert document["keys"] and not document["dry_run"] and document["stale_consolidated"] == []


def test_a_slash_keeps_the_name(run: Run, store: Path, tmp_path: Path) -> None:
    other = write(tmp_path / "other.zarr")
    assert run("cp", store / "sparse", f"{other / 'deep'}/").status == 0
    assert zarr.open(other)["deep/sparse"].shape == (40, 60)
    assert run("cp", store, f"{other}/").status == 2


def test_what_is_there_is_not_replaced(run: Run, store: Path, tmp_path: Path) -> None:
    other = write(tmp_path / "other.zarr")
    done = run("cp", store / "deep", other / "sparse")
    assert done.status == 2 and "there is a node already" in done.err and "--overwrite" in done.err
    assert run("cp", store / "deep", other / "sparse", "--overwrite").status == 0
    assert list(zarr.open_group(other / "sparse")) == ["z"]
    assert not (other / "sparse" / "c").exists()
    (tmp_path / "photos").mkdir()
    (tmp_path / "photos" / "a.jpg").touch()
    done = run("cp", store, tmp_path / "photos")
    assert done.status == 2 and "other things are stored there" in done.err


@pytest.mark.parametrize("options", [(), ("--dry-run",)])
def test_only_nodes_are_replaced(
    run: Run, store: Path, tmp_path: Path, options: tuple[str, ...]
) -> None:
    folder = tmp_path / "h"
    (folder / "docs").mkdir(parents=True)
    (folder / "docs" / "thesis.txt").write_text("x")
    (tmp_path / "link").symlink_to(folder)
    above = tmp_path / "above"
    write(above / "one.zarr")
    with zipfile.ZipFile(tmp_path / "photos.zip", "w") as archive:
        archive.writestr("docs/a.jpg", b"x")
    photos = (tmp_path / "photos.zip").read_bytes()
    for there in (folder, tmp_path / "link", above, tmp_path / "photos.zip"):
        done = run("cp", store, there, "--overwrite", *options)
        assert done.status == 2 and "other things are stored there" in done.err, there
    assert [path.name for path in folder.rglob("*")] == ["docs", "thesis.txt"]
    assert [path.name for path in above.iterdir()] == ["one.zarr"]
    assert run("diff", store, above / "one.zarr").status == 0
    assert (tmp_path / "photos.zip").read_bytes() == photos


def test_an_unfinished_copy_is_replaced(run: Run, store: Path, tmp_path: Path) -> None:
    copy = tmp_path / "b.zarr"
    assert run("cp", store, copy).status == 0
    (copy / ".omnizarr-copy.json").write_text("{}")
    (copy / "zarr.json").unlink()
    (copy / "notes.txt").write_text("of somebody")
    refused = run("cp", store, copy, "--overwrite")
    assert refused.status == 2 and "notes.txt" in refused.err
    (copy / "notes.txt").unlink()
    old = copy / "sparse" / "c" / "3" / "99"
    old.parent.mkdir(parents=True, exist_ok=True)
    old.write_text("of the node that is replaced")
    assert run("cp", store, copy, "--overwrite", "--json").document["deleted"] == 1
    assert run("diff", store, copy).status == 0 and not old.exists()


def test_a_refused_copy_leaves_nothing(run: Run, store: Path) -> None:
    before = sorted(store.rglob("*"))
    done = run("cp", store, store / "deep" / "new")
    assert done.status == 2 and "overlap" in done.err
    done = run("cp", store, store / "deep", "--overwrite")
    assert done.status == 2 and "overlap" in done.err
    assert sorted(store.rglob("*")) == before


def test_another_format(run: Run, store: Path, tmp_path: Path) -> None:
    old = write(tmp_path / "old.zarr", 2)
    done = run("cp", store / "deep", old / "new")
    assert done.status == 2 and f"omnizarr convert SOURCE {old}/new --to 2" in done.err
    assert not (old / "new").exists()


def test_going_on(run: Run, store: Path, tmp_path: Path) -> None:
    """A copy that was interrupted does not open, and the same command finishes it."""
    copy = tmp_path / "b.zarr"
    assert run("cp", store, copy).status == 0
    (copy / ".omnizarr-copy.json").write_text("{}")
    (copy / "zarr.json").unlink()
    done = run("cp", store, copy, "--json")
    assert done.document["keys"] == 1 and not (copy / ".omnizarr-copy.json").exists()
    assert run("diff", store, copy).status == 0


def test_consolidated_metadata_are_told(run: Run, store: Path) -> None:
    zarr.consolidate_metadata(store)
    done = run("cp", store / "sparse", store / "deep" / "new")
    assert f"out of date: omnizarr consolidate {store}" in done.out
    assert run("cp", store / "text", store / "deep" / "t", "--json").document[
        "stale_consolidated"
    ] == [""]


def test_archives(run: Run, store: Path, tmp_path: Path) -> None:
    assert run("cp", store, tmp_path / "a.zip").status == 0
    assert run("cp", tmp_path / "a.zip" / "deep", tmp_path / "deep.zarr").status == 0
    assert zarr.open(tmp_path / "deep.zarr")["z"][1, 2] == 5
    assert run("cp", tmp_path / "a.zip", store).status == 2
