"""The distribution `omnizarr-as-zarr`: a variable turns `import zarr` into omnizarr."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tomllib
import venv
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import omnizarr

FOLDER = Path(__file__).resolve().parents[2] / "as_zarr"
SOURCE = Path(omnizarr.__file__).resolve().parents[1]
Run = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """An interpreter with the distribution's files, and its folder of packages."""
    folder = tmp_path_factory.mktemp("venv")
    venv.create(folder, symlinks=os.name != "nt")
    packages = next(folder.glob("lib/python*/site-packages"), folder / "Lib" / "site-packages")
    declared = tomllib.loads((FOLDER / "pyproject.toml").read_text())
    files = declared["tool"]["hatch"]["build"]["targets"]["wheel"]["force-include"]
    for name, target in files.items():
        shutil.copy(FOLDER / name, packages / target)
    # Behind the other file in the alphabet, as an editable installation may be.
    (packages / "zz.pth").write_text(f"{SOURCE}\n{Path(np.__file__).parents[1]}\n")
    binary = "Scripts" if os.name == "nt" else "bin"
    return folder / binary / Path(sys.executable).name, packages


@pytest.fixture
def run(site: tuple[Path, Path]) -> Run:
    def call(code: str, value: str | None = None) -> subprocess.CompletedProcess[str]:
        env = {key: text for key, text in os.environ.items() if key != "OMNIZARR_AS_ZARR"}
        env.pop("PYTHONPATH", None)
        if value is not None:
            env["OMNIZARR_AS_ZARR"] = value
        command = [str(site[0]), "-c", code]
        return subprocess.run(command, capture_output=True, text=True, env=env, check=False)

    return call


@pytest.mark.parametrize(("value", "version"), [("1", "3.4.2"), ("3", "3.4.2"), ("2", "2.18.7")])
def test_the_variable_serves_a_generation(run: Run, value: str, version: str) -> None:
    done = run("import zarr; print(zarr.__version__, zarr.__name__.partition('.')[0])", value)
    assert (done.stdout.split(), done.stderr) == ([version, "omnizarr"], "")


@pytest.mark.parametrize("value", [None, "", "0"])
def test_nothing_happens_without_it(run: Run, value: str | None) -> None:
    done = run("import sys; print([m for m in sys.modules if 'omnizarr' in m])", value)
    assert (done.stdout.strip(), done.stderr) == ("[]", "")


def test_a_start_imports_neither_omnizarr_nor_numpy(run: Run) -> None:
    done = run("import sys; print({'omnizarr', 'numpy'} & set(sys.modules))", "1")
    assert (done.stdout.strip(), done.stderr) == ("set()", "")


def test_a_wrong_value_is_an_error_of_the_import_alone(run: Run) -> None:
    done = run("print(1)\ntry:\n import zarr\nexcept ImportError as error: print(error)", "yes")
    assert done.stdout.startswith("1\nOMNIZARR_AS_ZARR='yes': expected 1 or 3")
    assert done.stderr == ""


def test_a_missing_omnizarr_is_an_error_of_the_import_alone(
    run: Run, site: tuple[Path, Path]
) -> None:
    shutil.move(site[1] / "zz.pth", site[1] / "zz.away")
    try:
        done = run("print(1)\ntry:\n import zarr\nexcept ImportError as error: print(error)", "1")
    finally:
        shutil.move(site[1] / "zz.away", site[1] / "zz.pth")
    assert done.stdout.startswith("1\nOMNIZARR_AS_ZARR is set, but omnizarr cannot be imported")
    assert done.stderr == ""
