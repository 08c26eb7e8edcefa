"""`python -m omnizarr.compat [--zarr 2|3] script.py …`: run a script with omnizarr as ``zarr``."""

from __future__ import annotations

import argparse
import runpy
import sys
from pathlib import Path

from omnizarr.compat.serving import install


def main() -> None:
    parser = argparse.ArgumentParser(
        prog="python -m omnizarr.compat",
        description="Run a script whose `import zarr` gets omnizarr.",
    )
    parser.add_argument("--zarr", type=int, choices=(2, 3), default=3, help="generation to serve")
    parser.add_argument("-m", action="store_true", help="SCRIPT is the name of a module")
    parser.add_argument("script", help="a Python file, or with -m a module")
    parser.add_argument("arguments", nargs=argparse.REMAINDER, help="its arguments")
    given = parser.parse_args()
    install(given.zarr)
    sys.argv = [given.script, *given.arguments]
    if given.m:
        sys.path.insert(0, "")
        runpy.run_module(given.script, run_name="__main__", alter_sys=True)
        return
    if not Path(given.script).exists():
        parser.error(f"there is no file {given.script!r}")
    sys.path.insert(0, str(Path(given.script).resolve().parent))
    runpy.run_path(given.script, run_name="__main__")


if __name__ == "__main__":
    main()
