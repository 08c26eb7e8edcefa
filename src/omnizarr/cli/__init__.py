"""The command line: `omnizarr COMMAND`, or `python -m omnizarr COMMAND`.

`commands` lists the commands; `showing`, `checking` and `changing` hold them, one file each. A
command knows the public API (`import omnizarr`) alone: whatever it can do, a program can do.
"""

from __future__ import annotations

from omnizarr.cli.main import main

__all__ = ["main"]
