"""Asking before something is lost."""

from __future__ import annotations

import sys

from omnizarr.cli.output import Output, harmless
from omnizarr.cli.places import Problem


def agreed(question: str, out: Output) -> None:
    """Ask on a terminal, where there is one; raise unless the answer is yes."""
    if not (out.terminal and sys.stdin is not None and sys.stdin.isatty()):
        return
    out.own(f"{harmless(question)} [y/N] ")
    out.flush()
    answer = sys.stdin.readline().strip().lower()
    if answer not in ("y", "yes"):
        raise Problem("nothing was changed", "--yes does not ask")
