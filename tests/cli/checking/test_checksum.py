"""`omnizarr checksum`: manifests written, and held against a store."""

from __future__ import annotations

from pathlib import Path

import omnizarr as zarr
from tests.cli.conftest import Run, write


def test_manifests(run: Run, store: Path, tmp_path: Path) -> None:
    done = run("checksum", store, "--save", tmp_path / "m")
    assert done.status == 0 and done.out.startswith(zarr.checksum(store).digest)
    assert "there already" in run("checksum", store, "--save", tmp_path / "m").err
    assert run("checksum", store, "--against", tmp_path / "m").out == "no difference\n"
    copy = write(tmp_path / "copy.zarr")
    (copy / "deep" / "z" / "c" / "0" / "0").unlink()
    zarr.open_array(copy / "deep" / "z")[1] = 8
    done = run("checksum", copy, "--against", tmp_path / "m")
    assert done.status == 1 and "missing  deep/z/c/0/0" in done.out
    document = run("checksum", copy, "--against", tmp_path / "m", "--json").document
    assert document["difference"]["changed"] == ["deep/z/c/1/0"]
    assert document["difference"]["missing"] == ["deep/z/c/0/0"]


def test_algorithms(run: Run, store: Path, tmp_path: Path) -> None:
    run("checksum", store, "--algorithm", "md5", "--save", tmp_path / "m", "--quiet")
    document = run("checksum", store, "--against", tmp_path / "m", "--json").document
    assert document["algorithm"] == "md5" and not any(document["difference"].values())
    (tmp_path / "m").write_text("{}")
    assert "is no manifest" in run("checksum", store, "--against", tmp_path / "m").err
