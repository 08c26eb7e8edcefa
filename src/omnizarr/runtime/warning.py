"""Warnings that name the line of the user's code, however many calls are in between."""

from __future__ import annotations

import sys
import warnings


def warn(message: str, category: type[Warning] = UserWarning) -> None:
    """Warn at the nearest calling line outside omnizarr."""
    level = 2
    frame = sys._getframe(1)
    while frame.f_back and str(frame.f_globals.get("__name__")).partition(".")[0] == "omnizarr":
        frame = frame.f_back
        level += 1
    warnings.warn(message, category, stacklevel=level)
