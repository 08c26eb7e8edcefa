"""Run one example with omnizarr served as zarr: `python runner.py EXAMPLE FOLDER`.

The example is a module with a function `main(folder)`. It fails too if any module of zarr-python,
which may be installed, was imported.
"""

from __future__ import annotations

import runpy
import sys
from pathlib import Path

import omnizarr.compat

omnizarr.compat.install()
example, folder = sys.argv[1:]
runpy.run_path(example)["main"](Path(folder))

import zarr  # noqa: E402

foreign = [
    name
    for name, module in sys.modules.items()
    if name.partition(".")[0] == "zarr" and not module.__name__.startswith("omnizarr.")
]
assert zarr.__name__ == "omnizarr.compat.zarr3"
assert foreign == [], foreign
print("passed")
