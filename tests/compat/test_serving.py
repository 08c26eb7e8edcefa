"""`install` serves omnizarr as zarr, each time in an interpreter of its own."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest


def run(code: str, *arguments: str) -> str:
    done = subprocess.run(
        [sys.executable, *arguments, "-c", code], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


@pytest.mark.parametrize(("version", "served"), [(3, "3.4.2"), (2, "2.18.7")])
def test_install_serves_a_generation(version: int, served: str) -> None:
    code = f"""
import omnizarr.compat
omnizarr.compat.install({version})
import zarr
print(zarr.__version__, issubclass(zarr.Array, omnizarr.Array), zarr.__name__, zarr.__spec__.name)
"""
    module = f"omnizarr.compat.zarr{version}"
    assert run(code) == f"{served} True {module} {module}"


def test_zarr_python_is_found_again_after_uninstall() -> None:
    code = """
import omnizarr.compat
omnizarr.compat.install()
import zarr
omnizarr.compat.uninstall()
import zarr
print(zarr.__name__)
"""
    assert run(code) == "zarr"


def test_the_version_of_the_distribution_is_that_of_the_generation() -> None:
    code = """
from importlib.metadata import version
import omnizarr.compat
installed = version("zarr")
omnizarr.compat.install(2)
assert version("zarr") == "2.18.7"
omnizarr.compat.install(3)
assert version("zarr") == "3.4.2"
omnizarr.compat.uninstall()
print(version("zarr") == installed)
"""
    assert run(code) == "True"


def test_install_after_zarr_python_was_imported_is_an_error() -> None:
    code = """
import zarr, omnizarr.compat
try:
    omnizarr.compat.install()
except RuntimeError as error:
    print(error)
"""
    assert "was imported as 'zarr' before install(3)" in run(code)


def test_a_module_that_is_not_served_is_not_taken_from_zarr_python() -> None:
    code = """
import omnizarr.compat
omnizarr.compat.install()
try:
    import zarr.no_such_module
except ModuleNotFoundError as error:
    print(error.name)
"""
    assert run(code) == "zarr.no_such_module"


def test_an_unknown_generation_is_an_error() -> None:
    from omnizarr.compat import install

    with pytest.raises(ValueError, match="generations 2 and 3"):
        install(4)


def test_a_script_runs_as_it_is(tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text("import sys, zarr\nprint(zarr.__version__, sys.argv[1:], __name__)\n")
    command = [sys.executable, "-m", "omnizarr.compat", "--zarr", "2", str(script), "--mode", "x"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "2.18.7 ['--mode', 'x'] __main__"
