"""The page in Chromium: every view draws, nothing is asked of another host, axe-core is content."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

HERE = Path(__file__).parent
ROOT = HERE.parents[2]
ENVIRONMENT = ROOT / ".peers" / "browser"
PROGRAMS = ("chromium", "chromium-browser", "google-chrome")
SCRIPT = "<img src=x onerror=\"document.title='taken'\"><script>document.title='taken'</script>"

pytestmark = pytest.mark.peers


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory, stores: Any) -> dict[str, Any]:
    """What the browser found."""
    node = shutil.which("node")
    program = next(filter(None, map(shutil.which, PROGRAMS)), None)
    if node is None or program is None:
        pytest.skip("Node.js or Chromium is absent (root gets Chromium by `make peers`)")
    if not ENVIRONMENT.exists():
        pytest.fail(f"{ENVIRONMENT} does not exist: run `make peers`")
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
    with served(folder / "data.zarr") as url:
        command = [node, str(HERE / "browser.mjs"), str(ENVIRONMENT), program, url, str(shots)]
        done = subprocess.run(command, capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stderr[-4000:]
    answer: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return answer


class served:
    """The page of a store in a process of its own, as long as a block takes."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __enter__(self) -> str:
        command = [sys.executable, str(HERE / "serve.py"), str(self.path)]
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        assert self.process.stdout is not None
        return self.process.stdout.readline().strip()

    def __exit__(self, *_: object) -> None:
        self.process.kill()
        self.process.communicate()


def test_every_view_draws(found: dict[str, Any]) -> None:
    assert found["problems"] == []
    assert found["texts"]["scalar"].strip() == "42"
    assert "<script>alert(1)</script>" in found["texts"]["words"]


def test_nothing_is_asked_of_another_host(found: dict[str, Any]) -> None:
    assert found["elsewhere"] == []


def test_no_serious_problem_of_accessibility(found: dict[str, Any]) -> None:
    assert found["accessibility"] == []


def test_pointer_keyboard_and_address(found: dict[str, Any]) -> None:
    texts = found["texts"]
    assert texts["readout"].startswith("lat ") and "lon " in texts["readout"]
    assert texts["readout"].rstrip().endswith("K")
    assert texts["slider"] == "2024-02-28 06:00"
    assert texts["file"] == "temperature.csv"
    assert "no member" in texts["missing"]
    assert "1.0 : 1" in texts["chunk"] or "100 × 150" in texts["chunk"]
    assert texts["python"].startswith("import omnizarr\nvalues = omnizarr.open(")
    assert '["air/temperature"][1, :, :]' in texts["python"]
    compile(texts["python"], "page", "exec", dont_inherit=True)


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
