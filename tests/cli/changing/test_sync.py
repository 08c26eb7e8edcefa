"""`omnizarr sync`: only what differs; the library's own tests have the order."""

from __future__ import annotations

from pathlib import Path

import omnizarr as zarr
from tests.cli.conftest import Run, write


def test_again_and_again(run: Run, store: Path, tmp_path: Path) -> None:
    copy = tmp_path / "copy.zarr"
    done = run("sync", store, copy, "--dry-run")
    assert done.status == 0 and "copy    deep/z/c/0/0" in done.out and not copy.exists()
    assert run("sync", store, copy).status == 0
    assert run("sync", store, copy).out.startswith("0 copied (0 B), ")
    zarr.open_array(store / "deep" / "z", mode="r+")[0] = 9
    done = run("sync", store, copy, "--json")
    assert done.document["copied"] == ["deep/z/c/0/0"] and done.document["deleted"] == []
    assert run("diff", store, copy).status == 0


def test_delete_and_checksum(run: Run, store: Path, tmp_path: Path) -> None:
    copy = tmp_path / "copy.zarr"
    run("sync", store, copy, "--quiet")
    run("rm", store / "deep")
    assert run("sync", store, copy, "--json").document["deleted"] == []
    done = run("sync", store, copy, "--delete", "--dry-run")
    assert "delete  deep/zarr.json" in done.out and (copy / "deep").exists()
    assert run("sync", store, copy, "--delete", "--checksum").status == 0
    assert sorted(zarr.open(copy)) == ["sparse", "text"]


def test_nodes_and_refusals(run: Run, store: Path, tmp_path: Path) -> None:
    assert run("sync", store / "deep", tmp_path / "z.zip").status == 0
    assert zarr.open(tmp_path / "z.zip", mode="r")["z"][1, 2] == 5
    done = run("sync", store, store / "deep")
    assert done.status == 2 and "overlap" in done.err
    assert run("sync", tmp_path / "no", tmp_path / "x").status == 2
    assert not (tmp_path / "x").exists()


def test_formats_are_not_mixed(run: Run, store: Path, tmp_path: Path) -> None:
    old = write(tmp_path / "old.zarr", 2)
    done = run("sync", store, old)
    assert done.status == 2 and "not of format 3" in done.err and "--delete" in done.err
    assert run("sync", store / "deep", old / "new").status == 2
    assert not (old / "zarr.json").exists() and not (old / "new").exists()
    assert run("sync", store, old, "--delete").status == 0
    assert zarr.checksum(store).digest == zarr.checksum(old).digest


def test_delete_empties_no_other_folder(run: Run, store: Path, tmp_path: Path) -> None:
    thesis = tmp_path / "h" / "docs" / "thesis.txt"
    thesis.parent.mkdir(parents=True)
    thesis.write_text("x")
    for options in ((), ("--dry-run",)):
        done = run("sync", store, tmp_path / "h", "--delete", *options)
        assert done.status == 2 and "other things" in done.err
    assert thesis.exists() and not (tmp_path / "h" / "zarr.json").exists()
