"""Make the environments of the libraries that omnizarr is compared with.

    .peers/zarr2    the last zarr-python of generation 2
    .peers/zarr3    zarr-python 3 and tensorstore, on the newest Python that can be found

Each is made from `requirements/<name>.txt` and stamped with that file's hash and its Python, so
that running this again costs nothing until one of them changes.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PREFERRED = {
    "zarr2": ((3, 11), (3, 12), (3, 13)),
    "zarr3": ((3, 13), (3, 12), (3, 14), (3, 11)),
}
PROBE = "import sys, venv, ensurepip; print(*sys.version_info[:2], sys.executable)"


def interpreters() -> dict[tuple[int, int], str]:
    """Every Python 3.11 or newer that can make environments, by version."""
    names = ["python3", *(f"python3.{minor}" for minor in range(11, 15))]
    candidates: list[str] = [sys.executable]
    candidates += [path for path in map(shutil.which, names) if path is not None]
    pyenv = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv"))
    candidates += [str(path) for path in sorted(pyenv.glob("versions/3.1[1-9]*/bin/python3"))]
    found: dict[tuple[int, int], str] = {}
    for candidate in candidates:
        probe = subprocess.run([candidate, "-c", PROBE], capture_output=True, text=True)
        if probe.returncode == 0:
            major, minor, executable = probe.stdout.split(maxsplit=2)
            found.setdefault((int(major), int(minor)), executable.strip())
    return found


def make(name: str, available: dict[tuple[int, int], str]) -> None:
    requirements = ROOT / "requirements" / f"{name}.txt"
    version = next((v for v in PREFERRED[name] if v in available), None)
    if version is None:
        known = ", ".join(f"{major}.{minor}" for major, minor in sorted(available))
        sys.exit(f"peer {name}: no suitable Python; found {known or 'none'}")
    label = f"python {version[0]}.{version[1]}"
    stamp_text = f"{label} {hashlib.sha256(requirements.read_bytes()).hexdigest()}\n"
    folder = ROOT / ".peers" / name
    stamp = folder / ".stamp"
    if stamp.exists() and stamp.read_text() == stamp_text:
        return
    print(f"peer {name}: installing {requirements.relative_to(ROOT)} with {label} …", flush=True)
    shutil.rmtree(folder, ignore_errors=True)
    subprocess.run([available[version], "-m", "venv", str(folder)], check=True)
    python = folder / "bin" / "python"
    pip = [str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    subprocess.run([*pip, "--requirement", str(requirements)], check=True)
    stamp.write_text(stamp_text)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("names", nargs="*", default=sorted(PREFERRED), help="zarr2, zarr3")
    names = parser.parse_args().names
    if unknown := sorted(set(names) - set(PREFERRED)):
        parser.error(f"unknown peer {unknown}; known are {sorted(PREFERRED)}")
    available = interpreters()
    for name in names:
        try:
            make(name, available)
        except subprocess.CalledProcessError as error:
            sys.exit(f"peer {name} could not be made: {error}")


if __name__ == "__main__":
    main()
