"""Files of other formats, where a command only reads."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest

from tests.cli.conftest import Run


@pytest.fixture
def file(tmp_path: Path) -> Path:
    h5py = pytest.importorskip("h5py")
    with h5py.File(tmp_path / "sea.h5", "w") as made:
        values = made.create_dataset("deep/t", data=np.arange(6.0).reshape(2, 3), chunks=(1, 3))
        values.attrs["units"] = "K"
    return tmp_path / "sea.h5"


def test_every_command_that_shows_values(run: Run, file: Path) -> None:
    assert "file of another format" in run("tree", file).out.splitlines()[0]
    assert [row["path"] for row in run("ls", file / "deep", "--json").document["nodes"]] == ["t"]
    facts = run("info", file, "deep/t", "--json").document
    assert (facts["shape"], facts["attributes"]["units"]) == ([2, 3], "K")
    assert run("head", file / "deep" / "t", "--json").document["values"] == [[0, 1, 2], [3, 4, 5]]
    assert run("stats", file / "deep" / "t", "--json").document["max"] == 5
    assert run("attrs", "get", file / "deep" / "t", "units", "--json").document["attributes"] == {
        "units": "K"
    }
    assert "deep/t/.zarray" in run("meta", file / "deep" / "t", "--json").document["documents"]
    for command in ("dump", "chunks", "plot"):
        assert run(command, file / "deep" / "t").status == 0


def test_what_is_not_in_the_file(run: Run, file: Path) -> None:
    done = run("info", file / "deep" / "none")
    assert done.status == 2
    assert f"{file}/deep/none: no array or group" in done.err and "holds t" in done.err


@pytest.mark.parametrize(
    "command",
    [("rm", "--yes"), ("attrs", "set"), ("consolidate",), ("migrate",), ("bench", "--write")],
)
def test_what_would_write_is_refused(run: Run, file: Path, command: tuple[str, ...]) -> None:
    before = file.read_bytes()
    if command[0] == "attrs":
        done = run(*command, file, "a=1")
    else:
        done = run(command[0], file, *command[1:])
    assert done.status == 2 and "convert" in done.err
    assert file.read_bytes() == before


def test_a_file_that_cannot_be_read(run: Run, file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (file.parent / "cut.h5").write_bytes(file.read_bytes()[:100])
    assert "cannot be opened as HDF5" in run("tree", file.parent / "cut.h5").err
    (file.parent / "notes.txt").write_text("no array")
    assert "is no store" in run("tree", file.parent / "notes.txt").err
    monkeypatch.setitem(sys.modules, "h5py", None)
    assert "pip install 'omnizarr[virtual]'" in run("tree", file).err
