"""Make the environments of the libraries that omnizarr is compared with, and of moto.

    .peers/zarr0    zarr 0.4, which wrote format 0; built from source on an old Python
    .peers/zarr1    zarr 1.1, which wrote format 1; likewise
    .peers/z5py     z5 and zarr-python 2, for N5
    .peers/zarr2    the last zarr-python of generation 2
    .peers/zarr3    zarr-python 3, tensorstore and zarrs, on the newest Python that can be found
    .peers/zarrita  zarrita.js, with npm
    .peers/browser  a driver for Chromium, and axe-core, with npm
    .peers/viewers  ome-zarr.js and neuroglancer, with npm
    .peers/downstream  libraries on top of zarr-python 3: anndata, ome-zarr, kerchunk and others
    .peers/geo      GDAL (rasterio), rioxarray, odc-geo, and validators of GeoZarr
    .peers/torch    PyTorch, JAX and TensorFlow for CPUs; 3 GB to download
    .peers/netcdf   netCDF-C, in netCDF4's wheel, and a checker of the CF conventions
    .peers/pyramids    ndpyramid, with xarray and dask
    .peers/moto     moto, the S3 server of the tests
    .peers/ray      Ray, for jobs with executor="ray"
    .peers/proof2   zarr-python 2 with what its own tests need; only if named. What omnizarr needs
                    to run them is in .peers/proof2-omnizarr
    .peers/rechunker   the retired rechunker on zarr-python 2; only if named
    .peers/proof3   zarr-python 3, xarray and dask with what their own tests need; only if named

Each is made from `requirements/<name>.txt` (`.json` for npm) and stamped with that file's hash and
its Python, so that running this again costs nothing until one of them changes. The old releases
need an old Python and a C compiler, JavaScript needs Node.js; where one of them is missing this
says so and goes on without.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
Version = tuple[int, int]
PREFERRED: dict[str, tuple[Version, ...]] = {
    "zarr0": ((3, 6), (3, 7)),
    "zarr1": ((3, 6), (3, 7)),
    "z5py": ((3, 11), (3, 12)),
    "zarr2": ((3, 11), (3, 12), (3, 13)),
    "zarr3": ((3, 13), (3, 12), (3, 14), (3, 11)),
    "downstream": ((3, 13), (3, 12), (3, 14)),
    "ray": ((3, 11), (3, 12), (3, 13)),
    "geo": ((3, 13), (3, 12), (3, 14)),
    "torch": ((3, 13), (3, 12)),
    "netcdf": ((3, 13), (3, 12), (3, 14)),
    "pyramids": ((3, 13), (3, 12), (3, 11)),
    "moto": ((3, 13), (3, 12), (3, 14), (3, 11)),
    "proof2": ((3, 11), (3, 12), (3, 13)),
    "proof2-omnizarr": ((3, 11), (3, 12), (3, 13)),
    "proof3": ((3, 13), (3, 12), (3, 14)),
    "rechunker": ((3, 11), (3, 12)),
}
ONLY_IF_NAMED = ("proof2", "proof2-omnizarr", "proof3", "rechunker")
"""Peers that `make proof` or a benchmark alone needs."""
FROM_SOURCE = {"zarr0": "zarr.ext", "zarr1": "zarr.blosc"}
"""Peers that are compiled, each with the module that shows that it was."""
WITHOUT_DEPENDENCIES = ("torch",)
"""Peers whose requirements name every package; what else those ask for is left out."""
FROM_NPM = ("browser", "viewers", "zarrita")
"""Peers in JavaScript."""
PROBE = "import sys, venv, ensurepip; print(*sys.version_info[:2], sys.executable)"


def interpreters() -> dict[Version, str]:
    """Every Python that a peer could want and that can make environments, by version."""
    minors = sorted({minor for versions in PREFERRED.values() for _, minor in versions})
    names = ["python3", *(f"python3.{minor}" for minor in minors)]
    candidates: list[str] = [sys.executable]
    candidates += [path for path in map(shutil.which, names) if path is not None]
    pyenv = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv"))
    for minor in minors:
        candidates += map(str, sorted(pyenv.glob(f"versions/3.{minor}.*/bin/python3")))
    found: dict[Version, str] = {}
    for candidate in candidates:
        probe = subprocess.run([candidate, "-c", PROBE], capture_output=True, text=True)
        if probe.returncode == 0:
            major, minor, executable = probe.stdout.split(maxsplit=2)
            found.setdefault((int(major), int(minor)), executable.strip())
    return found


def make(name: str, available: dict[Version, str]) -> None:
    requirements = ROOT / "requirements" / f"{name}.txt"
    version = next((v for v in PREFERRED[name] if v in available), None)
    compiled = name in FROM_SOURCE
    if version is None or (compiled and not _has_compiler()):
        wanted = " or ".join(f"{major}.{minor}" for major, minor in PREFERRED[name])
        missing = f"no Python {wanted}" if version is None else "no C compiler"
        if not compiled:
            sys.exit(f"peer {name}: {missing} found")
        _say(f"peer {name}: {missing} found; tests use the stored bytes instead")
        return
    label = f"python {version[0]}.{version[1]}"
    stamp_text = f"{label} {hashlib.sha256(requirements.read_bytes()).hexdigest()}\n"
    folder = ROOT / ".peers" / name
    stamp = folder / ".stamp"
    if stamp.exists() and stamp.read_text() == stamp_text:
        return
    _say(f"peer {name}: installing {requirements.relative_to(ROOT)} with {label} …")
    shutil.rmtree(folder, ignore_errors=True)
    _run(name, [available[version], "-m", "venv", str(folder)])
    python = str(folder / "bin" / "python")
    pip = [python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    if name in WITHOUT_DEPENDENCIES:
        pip.append("--no-deps")
    if compiled:
        _install_from_source(name, python, pip, requirements)
    else:
        _run(name, [*pip, "--requirement", str(requirements)])
    stamp.write_text(stamp_text)


def make_with_npm(name: str) -> None:
    npm = shutil.which("npm")
    if npm is None or shutil.which("node") is None:
        _say(f"peer {name}: no Node.js with npm found; its tests are skipped")
        return
    package = ROOT / "requirements" / f"{name}.json"
    stamp_text = f"npm {hashlib.sha256(package.read_bytes()).hexdigest()}\n"
    folder = ROOT / ".peers" / name
    stamp = folder / ".stamp"
    if stamp.exists() and stamp.read_text() == stamp_text:
        return
    _say(f"peer {name}: installing {package.relative_to(ROOT)} with npm …")
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    shutil.copyfile(package, folder / "package.json")
    quiet = ["--no-audit", "--no-fund", "--no-package-lock", "--ignore-scripts"]
    _run(name, [npm, "install", f"--prefix={folder}", *quiet])
    stamp.write_text(stamp_text)


def _say(line: str) -> None:
    print(line + "\n", end="", flush=True)  # one write: other processes print too


def _has_compiler() -> bool:
    return any(shutil.which(name) for name in (os.environ.get("CC") or "cc", "gcc"))


def _install_from_source(name: str, python: str, pip: list[str], requirements: Path) -> None:
    """First what the build needs, then the release itself, unoptimised: it is built in seconds."""
    lines = [line for line in requirements.read_text().split("\n") if line and line[0] != "#"]
    tools = [line for line in lines if not line.startswith("zarr==")]
    release = [line for line in lines if line.startswith("zarr==")]
    _run(name, [*pip, *tools])
    flags = {"CFLAGS": "-O0 -w"}
    _run(name, [*pip, "--no-deps", "--no-build-isolation", "--no-binary=zarr", *release], flags)
    # zarr 1 installs itself without its C code where that does not compile.
    _run(name, [python, "-c", f"import {FROM_SOURCE[name]}"])


def _run(name: str, command: list[str], more: dict[str, str] | None = None) -> None:
    done = subprocess.run(
        command,
        env={**os.environ, **(more or {})},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    if done.returncode:
        raise SystemExit(f"{done.stdout}\npeer {name} could not be made: {' '.join(command)}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    known = sorted([*PREFERRED, *FROM_NPM])
    parser.add_argument("names", nargs="*", help=", ".join(known))
    names = parser.parse_args().names or [name for name in known if name not in ONLY_IF_NAMED]
    if unknown := sorted(set(names) - set(known)):
        parser.error(f"unknown peer {unknown}; known are {known}")
    available = interpreters()
    with ThreadPoolExecutor() as pool:
        jobs = [
            pool.submit(make_with_npm, name)
            if name in FROM_NPM
            else pool.submit(make, name, available)
            for name in names
        ]
        for made in jobs:
            made.result()


if __name__ == "__main__":
    main()
