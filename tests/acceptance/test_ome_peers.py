"""OME-NGFF with others: ome-zarr-py, ome-zarr-models, ome-zarr.js and neuroglancer's reader.

Ours and what `convert` makes is opened by them, theirs is read here, and `check` and
ome-zarr-models say the same about good and broken documents.
"""

from __future__ import annotations

import copy
import json
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import omnizarr
from tests.acceptance.fixtures import REPOSITORY, needs_third_party, shared
from tests.conventions.multiscales import test_rules

HERE = Path(__file__).parent
VALUES = np.arange(2 * 64 * 96, dtype="u2").reshape(2, 64, 96)
SCALE = {"y": 0.5, "x": 0.25}
OURS = ("ours04.zarr", "ours05.zarr")
THEIRS = ("old.zarr", "new.zarr")
CONVERTED = (
    "old3.zarr",
    "old32.zarr",
    "new2.zarr",
    "new23.zarr",
    "ours04to3.zarr",
    "ours05to2.zarr",
)


def peer(*arguments: Any) -> Any:
    python = REPOSITORY / ".peers" / "downstream" / "bin" / "python"
    if not python.exists():
        pytest.fail(f"{python} does not exist: run `make peers`")
    return answer([python, HERE / "ome_peer.py", *arguments])


def answer(command: list[Any]) -> Any:
    done = subprocess.run(list(map(str, command)), capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr[-4000:]
    return json.loads(done.stdout.splitlines()[-1])


def ours(path: Path, zarr_format: int) -> None:
    group = omnizarr.open_group(path, mode="w", zarr_format=zarr_format)
    for level, step in enumerate((1, 2, 4)):
        names = ["c", "y", "x"]
        group.create_array(f"s{level}", data=VALUES[:, ::step, ::step], dimension_names=names)
    paths, unit = ["s0", "s1", "s2"], {"y": "micrometer", "x": "micrometer"}
    omnizarr.Multiscale.describe(group, paths, scale=SCALE, unit=unit, name="ours")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Images of ours and of ome-zarr-py, and what `convert` makes of them."""
    made = tmp_path_factory.mktemp("ome")
    peer("write", made)
    ours(made / "ours04.zarr", 2)
    ours(made / "ours05.zarr", 3)
    for source, target, zarr_format in (
        ("old", "old3", 3),
        ("old3", "old32", 2),
        ("new", "new2", 2),
        ("new2", "new23", 3),
        ("ours04", "ours04to3", 3),
        ("ours05", "ours05to2", 2),
    ):
        report = omnizarr.convert(
            made / f"{source}.zarr", made / f"{target}.zarr", zarr_format=zarr_format
        )
        assert {row.action for row in report.nodes} <= {"group", "copy chunks"}, str(report)
    return made


def image(path: Path) -> omnizarr.Multiscale:
    return omnizarr.open_group(path, mode="r").multiscale


@pytest.mark.peers
def test_theirs_read_here(folder: Path, summary: Callable[[str], None]) -> None:
    told = peer("read", folder, *THEIRS)
    for name in THEIRS:
        found = image(folder / name)
        assert found.convention == {"old.zarr": "ome-0.4", "new.zarr": "ome-0.5"}[name]
        assert [list(array.shape) for array in found.levels] == told[name]["shapes"]
        assert [axis.name for axis in found.axes] == ["c", "y", "x"]
        assert [axis.unit for axis in found.axes][1:] == ["micrometer"] * 2
        for level, transformations in enumerate(told[name]["transformations"]):
            assert list(found.scales[level]) == transformations[0]["scale"]
            assert list(found.translations[level]) == transformations[1]["translation"]
        assert found.scales[2] == (1, 2, 1) and found.translations[1] == (0, 0.25, 0.125)
        assert [int(np.sum(array[:], dtype=int)) for array in found.levels] == told[name]["sums"]
        np.testing.assert_array_equal(found.levels[0][:], VALUES)
        assert omnizarr.check(folder / name).ok
    summary("OME-NGFF 0.4 and 0.5 of ome-zarr-py: levels, axes, units, scales equal here")


@pytest.mark.peers
def test_ours_and_converted_read_by_ome_zarr_py(folder: Path) -> None:
    told = peer("read", folder, *THEIRS, *OURS, *CONVERTED)
    for name, found in told.items():
        read = image(folder / name)
        assert [axis["name"] for axis in found["axes"]] == ["c", "y", "x"], name
        assert [list(array.shape) for array in read.levels] == found["shapes"], name
        scales = [item[0]["scale"] for item in found["transformations"]]
        assert [list(scale) for scale in read.scales] == scales, name
        assert [int(np.sum(array[:], dtype=int)) for array in read.levels] == found["sums"], name
    for name in CONVERTED:
        origin = "ours04.zarr" if name.startswith("ours") else name[:3] + ".zarr"
        assert told[name] == told[origin], name  # labels and colours too
    assert told["old.zarr"]["nodes"] > 1 and told["old.zarr"]["colors"]


@pytest.mark.peers
def test_attributes_come_back(folder: Path) -> None:
    for first, second in (("old", "old32"), ("new", "new23")):
        for path in ("", "labels", "labels/cells"):
            one, two = (
                omnizarr.open_group(folder / f"{name}.zarr", mode="r", path=path).attrs.asdict()
                for name in (first, second)
            )
            if (first, path) == ("new", "labels"):
                one["ome"]["version"] = "0.5"  # which ome-zarr-py leaves out here
            assert one == two


@pytest.mark.peers
def test_viewers(folder: Path, summary: Callable[[str], None]) -> None:
    environment = REPOSITORY / ".peers" / "viewers"
    node = shutil.which("node")
    if node is None or not environment.exists():
        pytest.skip("ome-zarr.js and neuroglancer are absent: no Node.js when `make peers` ran")
    names = [*THEIRS, *OURS, *CONVERTED]
    found = answer([node, HERE / "ome_viewers.mjs", environment, folder, *names])
    for name in names:
        read, seen = image(folder / name), found[name]["omeZarrJs"]
        assert seen["axes"] == ["c", "y", "x"], name
        assert seen["scales"] == [list(scale) for scale in read.scales], name
        assert tuple(seen["shape"]) == read.levels[1].shape
        assert seen["sum"] == int(np.sum(read.levels[1][:], dtype=int))
        assert seen["channels"] == 2  # it makes some up where there are none
        voxels = found[name]["neuroglancer"]
        assert voxels["axes"] == ["c", "y", "x"] and voxels["units"] == ["", "m", "m"]
        assert tuple(voxels["shape"]) == read.levels[1].shape
        for level, scale, translation in zip(
            voxels["levels"], read.scales, read.translations, strict=True
        ):
            metres = np.array([1, 1e-6, 1e-6])
            assert level["scale"] == pytest.approx(scale * metres)
            corner = (np.array(translation) - np.array(scale) / 2) * metres
            assert level["corner"] == pytest.approx(corner, abs=1e-12)
    summary(f"OME-NGFF: {len(names)} images read by ome-zarr.js and by neuroglancer's reader")


# -- check and ome-zarr-models --------------------------------------------------------------------
@pytest.mark.peers
def test_models_accept_what_is_written(folder: Path) -> None:
    judged = peer("judge", folder, *OURS, *CONVERTED, "old3.zarr/labels/cells", "new2.zarr/labels",
                  "old3.zarr/labels", "new23.zarr/labels")  # fmt: skip
    assert judged == dict.fromkeys(judged)
    for name in (*OURS, *CONVERTED):
        report = omnizarr.check(folder / name)
        assert report.ok, str(report)


@pytest.mark.peers
def test_a_plate_is_converted(tmp_path: Path) -> None:
    group = omnizarr.open_group(tmp_path / "plate.zarr", mode="w", zarr_format=2)
    group.attrs["plate"] = {
        "version": "0.4",
        "rows": [{"name": "A"}],
        "columns": [{"name": "1"}, {"name": "2"}],
        "wells": [{"path": "A/2", "rowIndex": 0, "columnIndex": 1}],
    }
    well = group.create_group("A/2")
    well.attrs["well"] = {"version": "0.4", "images": [{"path": "0"}]}
    field = well.create_group("0")
    field["s0"] = VALUES
    omnizarr.Multiscale.describe(field, ["s0"], axes="cyx")
    omnizarr.convert(tmp_path / "plate.zarr", tmp_path / "plate3.zarr", zarr_format=3)
    stores = "plate.zarr", "plate3.zarr", "plate.zarr/A/2", "plate3.zarr/A/2", "plate3.zarr/A/2/0"
    judged = peer("judge", tmp_path, *stores)
    assert judged == dict.fromkeys(judged)
    for name in stores:
        report = omnizarr.check(tmp_path / name)
        assert report.ok, str(report)


DIFFERENT = {
    "0.4 axes.0.name: name: expected a text": "models take any type: 0.4 does not say 'text'",
    "0.4 datasets.1.path: named 2 times": "models do not compare paths",
    "0.5 datasets.1.path: named 2 times": "models do not compare paths",
}
"""Documents about which `check` and ome-zarr-models differ, and why."""


@pytest.mark.peers
def test_check_and_models_agree(tmp_path: Path, summary: Callable[[str], None]) -> None:
    expected: dict[str, tuple[str, bool]] = {}

    def add(version: str, group: omnizarr.Group, label: str) -> None:
        name = f"{len(expected)}.zarr"
        target = omnizarr.LocalStore(tmp_path / name)
        omnizarr.copy_store(group.store, target)
        expected[name] = f"{version} {label}", omnizarr.check(target).ok

    documents = 0
    for version in ("0.4", "0.5"):
        add(version, test_rules.group_of(version, omero=test_rules.OMERO), "sound")
        for path, value, message in test_rules.BROKEN:
            broken = copy.deepcopy(test_rules.IMAGE)
            test_rules.change(path, value)(broken)
            add(version, test_rules.group_of(version, broken), f"{path}: {message}")
            documents += 1
    judged = peer("judge", tmp_path, *expected)
    different = {label for name, (label, ok) in expected.items() if ok != (judged[name] is None)}
    assert different == set(DIFFERENT)
    agreed = f"{documents - len(DIFFERENT)} of {documents}"
    summary(f"check and ome-zarr-models agree on {agreed} broken documents of OME-NGFF")


@pytest.mark.peers
def test_zarr_cm_and_check_agree_about_the_convention_of_2026(tmp_path: Path) -> None:
    python = REPOSITORY / ".peers" / "geo" / "bin" / "python"
    if not python.exists():
        pytest.fail(f"{python} does not exist: run `make peers`")
    group = omnizarr.open_group(tmp_path, mode="w")
    for path, step in (("0", 1), ("1", 2)):
        names = ["c", "y", "x"]
        group.create_array(path, data=VALUES[:, ::step, ::step], dimension_names=names)
    omnizarr.Multiscale.describe(group, ["0", "1"], convention="multiscales", method="nearest")
    written = group.attrs.asdict()
    without_layout = {**written, "multiscales": {}}
    undeclared = {"multiscales": written["multiscales"]}
    pathless = {**written, "multiscales": {"layout": [{"asset": 3}]}}
    for attributes, sound in (
        (written, True), (without_layout, False), (undeclared, False), (pathless, False),
    ):  # fmt: skip
        group.attrs.put(attributes)
        script = (
            "import json, sys, zarr_cm.multiscales as m\n"
            "document = json.load(open(sys.argv[1]))\n"
            "try:\n    m.validate_node_metadata(document)\n"
            "except Exception as error:\n    print(json.dumps(str(error)))\n"
            "else:\n    print('null')"
        )
        refused = answer([python, "-c", script, tmp_path / "zarr.json"])
        assert (refused is None) == sound == omnizarr.check(tmp_path).ok, refused


# -- files of third parties -----------------------------------------------------------------------
@needs_third_party
@pytest.mark.parametrize(
    ("archive", "path", "convention", "shapes", "scale"),
    [
        ("ome-zarr-py", "data/v1", "0.1", 1, None),
        ("ome-zarr-py", "data/v2", "ome-0.2", 1, None),
        ("neuroglancer", "datasource/zarr/ome_zarr/simple_0.4", "ome-0.4", 3, (8, 60)),
        ("neuroglancer", "datasource/zarr/ome_zarr/simple_0.5", "ome-0.5", 3, (8, 60)),
        *(
            ("neuroglancer", f"datasource/zarr/ome_zarr/all_0.6/{name}.zarr", "ome-0.6", 1, None)
            for name in ("basic/identity", "basic/scale", "basic/translation",
                         "basic/sequenceScaleTranslation", "simple/affine")
        ),
    ],
)  # fmt: skip
def test_third_parties(
    archive: str, path: str, convention: str, shapes: int, scale: Any, tmp_path: Path
) -> None:
    shutil.unpack_archive(shared() / "fixtures" / f"{archive}.zip", tmp_path)
    found = image(tmp_path / archive / path)
    assert found.convention == convention and len(found.levels) == shapes
    assert scale is None or found.scales[1] == scale
    assert found.levels[-1][:].size
