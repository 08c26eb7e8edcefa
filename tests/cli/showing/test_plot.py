"""`omnizarr plot`: lines and maps of characters, pictures."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import omnizarr as zarr
from omnizarr.cli.drawing import heat_map, line
from omnizarr.cli.output import Output
from tests.cli.conftest import Run
from tests.cli.showing.support import EVERY, one_array


@EVERY
def test_a_map(run: Run, tmp_path: Path, zarr_format: Any) -> None:
    one_array(tmp_path / "a.zarr", zarr_format)
    shown = run("plot", tmp_path / "a.zarr").out
    assert "\n  ░░▒▒\n  ▓▓██\n  ░░░░\n  ░░░░\n  ░░██\n  ░░██\n" in shown
    assert "from 0 to 9" in shown and "\x1b" not in shown
    found = run("plot", tmp_path / "a.zarr", "--at", "0", "--json").document
    assert found["values"] == [1, 2, 3, 4] and found["selection"] == "[0, :]"


def test_a_line(run: Run, tmp_path: Path) -> None:
    zarr.create_array(tmp_path / "a.zarr", data=np.arange(32), dimension_names=["t"])
    shown = run("plot", tmp_path / "a.zarr").out.splitlines()
    assert len(shown) == 11 and shown[2].startswith("31 │⠀") and shown[9].startswith(" 0 │")
    assert shown[2][-1] != "⠀"
    assert shown[9][4] != "⠀" and shown[10].strip() == "└ t: 0 to 31"


def test_packed_values(run: Run, tmp_path: Path) -> None:
    """They are drawn as they are meant, and missing ones not at all."""
    packed = {"scale_factor": 0.5, "add_offset": 100.0, "_FillValue": -999, "units": "K"}
    array = zarr.create_array(tmp_path / "a.zarr", data=np.array([0, 10, -999, 4], "i2"))
    array.attrs.update(packed)
    found = run("plot", tmp_path / "a.zarr", "--json").document
    assert found["values"] == [100, 105, "NaN", 102]
    assert run("plot", tmp_path / "a.zarr").out.splitlines()[2].startswith("105 │")
    stored = run("plot", tmp_path / "a.zarr", "--stored", "--json").document
    assert stored["values"] == [0, 10, -999, 4]
    array.attrs["scale_factor"] = 1e308  # beyond all numbers
    assert run("plot", tmp_path / "a.zarr", "--json").document["values"][1] == "Infinity"
    array.attrs["scale_factor"] = "half"
    assert run("plot", tmp_path / "a.zarr", "--json").document["values"] == [0, 10, -999, 4]


def test_little_is_read_of_a_large_array(run: Run, tmp_path: Path) -> None:
    array = zarr.create_array(
        tmp_path / "h.zarr", shape=(3, 10**6, 10**6), chunks=(1, 100, 100), dtype="f4"
    )
    array[0, 0, 0] = 1
    found = run("plot", tmp_path / "h.zarr", "--json").document
    assert found["selection"] == "[0, 0:1000000:50000, 0:1000000:15152]"
    assert np.shape(found["values"]) == (20, 66)
    assert found["values"][0][0] == 1


def test_colours(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    one_array(tmp_path / "a.zarr", 3)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setattr(sys.stdout.__class__, "isatty", lambda self: True)
    shown = run("plot", tmp_path / "a.zarr").out
    assert "\x1b[38;2;253;231;37m" in shown and "▀" in shown and shown.count("\x1b[0m\n") >= 3


def output(**changes: Any) -> Output:
    return Output(**{"stream": None, "colour": False, "drawing": True, "terminal": False,
                     "width": 80, **changes})  # fmt: skip


def test_drawings() -> None:
    ramp = np.array([0.0, 1, 2, 3, 4, 5, 6, 7])
    assert line(ramp, 0, 7, 2, output()) == ["⠀⠀⡠⠊", "⡠⠊⠀⠀"]
    assert line(ramp, 0, 7, 4, output(drawing=False)) == ["   *", "  *", " *", "*"]
    assert line(np.array([np.nan, 1.0, np.inf]), 1, 1, 1, output()) == ["⠐⠀"]
    grid = np.array([[0.0, np.nan], [4.0, 8.0], [np.inf, 8.0]])
    assert heat_map(grid, 0, 8, output()) == ["░", "▓█", " █"]
    [first, second] = heat_map(grid, 0, 8, output(colour=True))
    assert first.count("▀") == 1 and first.count("▄") == 1 and second.count("▀") == 1
    assert heat_map(np.array([[-1.7e308, 1.7e308]]), -1.7e308, 1.7e308, output()) == ["░█"]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["."], "a group cannot be drawn"),
        (["text"], "cannot be drawn"),
        (["sparse", "--at", "0,0"], "no line and no area"),
        (["sparse", "--at", "0:0,:"], "no line and no area"),
        (["sparse", "--at", "40"], "no index 40"),
    ],
)
def test_refusals(run: Run, store: Path, words: list[str], message: str) -> None:
    done = run("plot", store / words[0], *words[1:])
    assert done.status == 2 and message in done.err and len(done.err.splitlines()) == 2


def test_what_has_no_finite_value(run: Run, tmp_path: Path) -> None:
    zarr.create_array(tmp_path / "n.zarr", data=np.full(4, np.nan))
    assert "no finite value" in run("plot", tmp_path / "n.zarr").out
    zarr.create_array(tmp_path / "d.zarr", data=np.array(["2020-01-01", "2020-02-01"], "M8[D]"),
                      zarr_format=2)  # fmt: skip
    assert "2020-02-01 │" in run("plot", tmp_path / "d.zarr").out


def test_pictures(run: Run, store: Path, tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    file = tmp_path / "a.png"
    for path in ("sparse", "deep/z"):
        done = run("plot", store / path, "--output", file, "--overwrite")
        assert done.status == 0 and file.read_bytes().startswith(b"\x89PNG"), done.err
    assert run("plot", store / "deep/z", "--at", "0", "--output", tmp_path / "b.svg").status == 0
    done = run("plot", store / "sparse", "--output", file)
    assert done.status == 2 and "--overwrite" in done.err
    done = run("plot", store / "sparse", "--output", tmp_path / "a.zzz")
    assert done.status == 2 and "hint: name it .png" in done.err


def test_without_matplotlib(
    run: Run, store: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    done = run("plot", store / "sparse", "--output", tmp_path / "a.png")
    assert done.status == 2 and "pip install 'omnizarr[plot]'" in done.err
