"""The command line: `omnizarr tree|info|convert|check|verify`, also as `python -m omnizarr`.

One file per command. A command knows the public API (`import omnizarr`) alone: whatever it can
do, a program can do.
"""

from __future__ import annotations

from omnizarr.cli.main import main

__all__ = ["main"]
