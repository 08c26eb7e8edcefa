"""The conformance data and the command that runs a library over it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from omnizarr.testing import conformance
from omnizarr.testing.conformance import ADAPTERS, find_data, load_rows, main, read_with_omnizarr
from omnizarr.testing.expectations import Row

ROOT = Path(__file__).resolve().parents[2]
DATA = ROOT / "conformance"
ROWS = load_rows(DATA)
FEW = ("gdal-3.10.3-rasterio-v2", "tensorstore-0.1.86-n5", "zarrita-scalableminds-2023-03-ae35fdc")
CHOSEN = [argument for writer in FEW for argument in ("--writer", writer)]


# -- the data ----------------------------------------------------------------------------------


def test_the_table_and_the_archives_agree() -> None:
    archives = {path.stem for path in DATA.glob("*.zip")}
    assert {row.source for row in ROWS} == archives
    assert len(ROWS) == len({row.path for row in ROWS}) == 1412
    readme = " ".join((ROOT / "README.md").read_text().split())
    assert "holds 1,412 arrays" in readme
    assert f"run over {sum(not row.fault for row in ROWS):,} of them" in readme
    for writer in archives:
        with zipfile.ZipFile(DATA / f"{writer}.zip") as archive:
            names = archive.namelist()
        assert all(name.startswith(f"{writer}/") for name in names)
        expected = {name for name in names if ".expected." in name}
        rows = [row for row in ROWS if row.source == writer]
        assert {row.sidecar for row in rows if not row.digest} == expected
        for store in {row.store for row in rows}:
            assert any(name == store or name.startswith(f"{store}/") for name in names), store


def test_every_archive_is_described() -> None:
    text = (DATA / "README.md").read_text(encoding="utf-8")
    for writer in {row.source for row in ROWS}:
        stem, _, last = writer.rpartition("-")
        first = "-".join(writer.split("-")[:2])
        assert f"`{writer}`" in text or (f"`{first}" in text and f"-{last}`" in text), stem


def test_the_data_is_found(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    assert find_data() == DATA
    monkeypatch.setattr(conformance, "__file__", str(tmp_path / "a" / "b" / "c" / "d.py"))
    monkeypatch.chdir(ROOT)
    assert find_data() == DATA
    monkeypatch.chdir(tmp_path)
    with pytest.raises(FileNotFoundError, match="name the folder as an argument"):
        find_data()


# -- the command -------------------------------------------------------------------------------


def test_omnizarr_reads_exactly(capsys: pytest.CaptureFixture[str]) -> None:
    """`tests/acceptance/test_fixtures.py` reads the rest."""
    assert main([str(DATA), "--json", *CHOSEN]) == 0
    report = json.loads(capsys.readouterr().out)
    assert list(report["writers"]) == [*FEW, "all"]
    judged = sum(row.source in FEW and not row.fault for row in ROWS)
    assert report["writers"]["all"] == {"exact": judged, "refused": 0, "wrong": 0}
    assert (report["library"], report["arrays"]) == ("omnizarr", [])


def test_wrong_values_are_found(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def changed(store: Path, row: Row) -> np.ndarray[Any, Any]:
        values = read_with_omnizarr(store, row).copy()
        if "comp_gzip" in row.path:
            values.flat[0] += 1
        elif "order_F" in row.path:
            values = values.astype("i8")
        elif "bands3" in row.path:
            values = values[:1]
        elif "dtype_u1" in row.path:
            raise OSError("no such array")
        return values

    monkeypatch.setitem(ADAPTERS, "omnizarr", changed)
    assert main(["--writer", FEW[0], "--verbose"]) == 1
    out = capsys.readouterr().out
    assert out.splitlines()[3].split() == [FEW[0], "9", "1", "3"]
    assert "comp_gzip: 1 of 260 elements differ, first at (0, 0)" in out
    assert "order_F: dtype int64, expected int32" in out
    assert "bands3: shape (1, 7, 5), expected (3, 7, 5)" in out
    assert "dtype_u1: OSError: no such array" in out


def test_a_refusal_is_no_wrong_value(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def refused(store: Path, row: Row) -> np.ndarray[Any, Any]:
        raise NotImplementedError(store)

    monkeypatch.setitem(ADAPTERS, "omnizarr", refused)
    assert main(["--writer", FEW[0]]) == 0
    assert "wrong:" not in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        (["--writer", "zarr-9"], "unknown writer ['zarr-9']"),
        (["no/such/folder"], "no/such/folder"),
        (["--library", "tensorstore"], "tensorstore cannot be imported"),
    ],
)
def test_mistakes_are_named(
    arguments: list[str],
    text: str,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(sys.modules, "tensorstore", None)
    with pytest.raises(SystemExit) as caught:
        main(arguments)
    assert caught.value.code == 2
    assert text in capsys.readouterr().err


# -- other libraries ---------------------------------------------------------------------------

WRONG = {
    "zarr": {f"netcdf-c-4.10.1-{mode}/fletcher32.file::v" for mode in ("nczarr", "xarray", "zarr")},
    "tensorstore": set(),
}
"""zarr-python takes elementsize 0 of the filter shuffle for 4."""
EXACT = {"zarr": 950, "tensorstore": 700}


@pytest.mark.peers
@pytest.mark.parametrize("library", WRONG)
def test_other_libraries(library: str) -> None:
    python = ROOT / ".peers" / "zarr3" / "bin" / "python"
    if not python.exists():
        pytest.fail(f"{python} does not exist: run `make peers`")
    command = [python, "-m", "omnizarr.testing.conformance", "--json", "--library", library]
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "src")}
    done = subprocess.run(command, capture_output=True, text=True, env=environment, timeout=600)
    assert done.returncode == bool(WRONG[library]), done.stderr[-4000:]
    report = json.loads(done.stdout)
    assert {one["path"] for one in report["arrays"] if one["result"] == "wrong"} == WRONG[library]
    assert report["writers"]["all"]["exact"] >= EXACT[library]
