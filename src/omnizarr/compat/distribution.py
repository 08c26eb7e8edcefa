"""The distribution that `importlib.metadata` finds as ``zarr`` while omnizarr is served.

`compat.serving` imports this when it is asked for: `importlib.metadata` is slow to import.
"""

from __future__ import annotations

import os
from importlib.metadata import Distribution
from typing import NoReturn


class Served(Distribution):
    """A distribution with a name and a version, and no files."""

    def __init__(self, name: str, version: str) -> None:
        self._text = f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n"

    def read_text(self, filename: str) -> str | None:
        return self._text if filename == "METADATA" else None

    def locate_file(self, path: str | os.PathLike[str]) -> NoReturn:
        raise FileNotFoundError(f"{os.fspath(path)!r}: omnizarr is served as this distribution")
