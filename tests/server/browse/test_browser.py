"""The page in Chromium: every view draws, nothing is asked of another host, axe-core is content."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import omnizarr as zarr

HERE = Path(__file__).parent
ROOT = HERE.parents[2]
ENVIRONMENT = ROOT / ".peers" / "browser"
PROGRAMS = ("chromium", "chromium-browser", "google-chrome")
SCRIPT = "<img src=x onerror=\"document.title='taken'\"><script>document.title='taken'</script>"

pytestmark = pytest.mark.peers


FORMATS = (0, 1, 2, 3, "3-draft2019", "3-draft2020-09", "3-draft2020-10", "n5", "nczarr")


def asked(script: str, *arguments: str) -> dict[str, Any]:
    """What a script found with the browser."""
    node = shutil.which("node")
    program = next(filter(None, map(shutil.which, PROGRAMS)), None)
    if node is None or program is None:
        pytest.skip("Node.js or Chromium is absent (root gets Chromium by `make peers`)")
    if not ENVIRONMENT.exists():
        pytest.fail(f"{ENVIRONMENT} does not exist: run `make peers`")
    command = [node, str(HERE / script), str(ENVIRONMENT), program, *arguments]
    done = subprocess.run(command, capture_output=True, text=True, timeout=1200)
    assert done.returncode == 0, done.stderr[-4000:]
    answer: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return answer


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory, stores: Any) -> dict[str, Any]:
    """What the browser found."""
    folder = tmp_path_factory.mktemp("page")
    root = stores.write(folder / "data.zarr")
    stores.write_more(root)
    hostile = root.create_group("hostile", attributes={SCRIPT: SCRIPT, "link": "javascript:1"})
    hostile.create_array("<b>x</b>", data=[1], dimension_names=[SCRIPT])
    long = {"long_name": "\u202e" + "x" * 3000, "units": "u" * 500}
    hostile.create_array("long", shape=(4, 4), dtype="f4", attributes=long)
    many = root.create_group("many")
    for number in range(1000):
        many.create_array(f"a{number}", shape=3, dtype="i1")
    shots = folder / "shots"
    shots.mkdir()
    with served(folder / "data.zarr") as [url]:
        return asked("browser.mjs", url, str(shots))


class served:
    """The pages of stores in a process of its own, as long as a block takes."""

    def __init__(self, *paths: Path) -> None:
        self.paths = paths

    def __enter__(self) -> list[str]:
        command = [sys.executable, str(HERE / "serve.py"), *map(str, self.paths)]
        self.process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        assert self.process.stdout is not None
        return [self.process.stdout.readline().strip() for _ in self.paths]

    def __exit__(self, *_: object) -> None:
        self.process.kill()
        self.process.communicate()


def test_every_view_draws(found: dict[str, Any]) -> None:
    assert found["problems"] == []
    assert found["texts"]["scalar"].strip() == "42"
    assert "<script>alert(1)</script>" in found["texts"]["words"]


def of_every_format(folder: Path, stores: Any) -> list[Path]:
    """A store of every format, an archive, and files of others."""
    paths = [folder / f"{zarr_format}.zarr" for zarr_format in FORMATS]
    for zarr_format, path in zip(FORMATS, paths, strict=True):
        if zarr_format in (0, 1):  # arrays alone
            data = np.arange(240.0).reshape(12, 20)
            zarr.create_array(path, data=data, chunks=(5, 7), zarr_format=zarr_format)
        else:
            stores.write(path, zarr_format)
    stores.write_more(zarr.open_group(folder / "3.zarr"))
    archive = folder / "archive.zip"
    zarr.convert(folder / "2.zarr", archive)
    h5py, tifffile = pytest.importorskip("h5py"), pytest.importorskip("tifffile")
    with h5py.File(folder / "file.h5", "w") as file:
        chunked = {"chunks": (2, 5, 10), "compression": "gzip", "shuffle": True}
        file.create_dataset("group/values", data=np.arange(1200.0).reshape(6, 10, 20), **chunked)
        file["names"] = ["a", "ü"]
        file["number"] = 3
    image = np.arange(64 * 96 * 3, dtype="u1").reshape(64, 96, 3)
    tifffile.imwrite(folder / "image.tif", image, photometric="rgb", tile=(16, 32))
    return [*paths, archive, folder / "file.h5", folder / "image.tif"]


def test_every_view_of_every_node_of_every_format(tmp_path: Path, stores: Any) -> None:
    paths = of_every_format(tmp_path, stores)
    with served(*paths) as urls:
        walked = asked("walk.mjs", *urls)
    of = {path.name: walked[url] for path, url in zip(paths, urls, strict=True)}
    assert {name: each["problems"] for name, each in of.items() if each["problems"]} == {}
    tabs = ["Chunks", "chunk", "Attributes", "Metadata"]
    drawn = ["first", "Picture", "Line", "Table", "point", *tabs]
    for name in ("0.zarr", "1.zarr"):
        assert of[name]["seen"] == {"/": drawn}
    for name in ("2.zarr", "3.zarr", "n5.zarr", "nczarr.zarr", "archive.zip"):
        assert of[name]["seen"]["air/temperature"] == drawn
        assert of[name]["seen"]["rgb"][:3] == ["first", "Colours", "Picture"]
    assert of["file.h5"]["seen"]["names"] == ["first", *tabs]
    assert of["3.zarr"]["seen"]["empty"] == ["first", "Line", "Table", "Chunks", *tabs[2:]]


def test_nothing_is_asked_of_another_host(found: dict[str, Any]) -> None:
    assert found["elsewhere"] == []


def test_no_serious_problem_of_accessibility(found: dict[str, Any]) -> None:
    assert found["accessibility"] == []


def test_pointer_keyboard_and_address(found: dict[str, Any]) -> None:
    texts = found["texts"]
    assert texts["readout"].startswith("lat ") and "lon " in texts["readout"]
    assert texts["readout"].rstrip().endswith("K")
    assert texts["slider"] == "2024-02-28 06:00"
    assert texts["file"] == "temperature.csv" and texts["png"] == "packed.png"
    assert texts["words_file"] == "words.csv"
    assert "no member" in texts["missing"]
    assert "1.0 : 1" in texts["chunk"] or "100 × 150" in texts["chunk"]
    assert texts["python"].startswith("import omnizarr\nvalues = omnizarr.open(")
    assert "[3:6, 0:2, 0:5]" in texts["uneven"] and texts["theme"] == "dark"
    assert '["air/temperature"][1, :, :]' in texts["python"]
    compile(texts["python"], "page", "exec", dont_inherit=True)


def test_the_focus_stays(found: dict[str, Any]) -> None:
    assert found["texts"]["focus"] == ["Colours", "Log", "lon after"]
    assert found["texts"]["log"], "the line at the point has other axes now"


def test_the_legend_has_the_colours_of_the_picture(found: dict[str, Any]) -> None:
    histogram = "Histogram of 18,432 values"
    assert found["texts"]["colours legend"] == [histogram, "Colours from 0 to 255"]
    assert found["texts"]["line legend"] == ["Histogram of 40 values"]


def test_the_line_of_python_reads_what_is_shown(found: dict[str, Any]) -> None:
    names: dict[str, Any] = {}
    exec(found["texts"]["packed"], names)
    values = names["values"]
    assert values.shape == (90, 180) and np.isnan(values[0, 0])
    assert -50 < np.nanmin(values) < np.nanmax(values) < 40


def test_text_of_a_store_never_runs(found: dict[str, Any]) -> None:
    assert found["texts"]["title"] == "data.zarr – omnizarr"
    assert found["texts"]["images"] == 0


def test_long_and_turned_text_stays_in_its_place(found: dict[str, Any]) -> None:
    assert found["texts"]["wider"] == 0
    assert found["texts"]["long"].startswith(r"\u202exxx")


def test_a_phone(found: dict[str, Any]) -> None:
    assert found["texts"]["phone width"] <= 390
    assert found["texts"]["phone tree"] is False


def test_a_thousand_arrays_are_painted_soon(found: dict[str, Any]) -> None:
    assert found["texts"]["paint"] < 1000 * 5  # it is about 200 ms on a quiet machine
    assert 200 <= found["texts"]["rows"] < 300
