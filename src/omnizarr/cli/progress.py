"""A bar on a terminal while something long runs: how much is done, how fast, how long it takes.

It is drawn on the standard error, no wider than the terminal, and wiped out at the end. Where no
one looks, nothing is written.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from omnizarr.cli.output import Output, harmless, shortened, size

_SECONDS = 0.1
"""The bar is drawn no more often than this."""
_BAR = 24

Listener = Callable[[Any], None]


@contextmanager
def bar(err: Output, *, wanted: bool) -> Iterator[Listener | None]:
    """What `progress=` takes; None where no bar is wanted or no one would see it."""
    if not (wanted and err.terminal):
        yield None
        return
    drawn = 0.0

    def draw(progress: Any) -> None:
        nonlocal drawn
        now = time.monotonic()
        if now - drawn >= _SECONDS:
            drawn = now
            text = harmless(shortened(line(progress, drawing=err.drawing), err.width - 1))
            encoding = getattr(err.stream, "encoding", None) or "ascii"
            err.stream.write("\r\x1b[K" + text.encode(encoding, "replace").decode(encoding))
            err.flush()

    try:
        yield draw
    finally:
        if drawn:
            err.stream.write("\r\x1b[K")
            err.flush()


def line(progress: Any, *, drawing: bool) -> str:
    """One line: `━━━━━━  45 %  12 of 26  81.2 MiB/s  3 s left  temperature`."""
    share = min(progress.done / progress.total, 1.0) if progress.total else 1.0
    filled = round(_BAR * share)
    full, empty = ("━", "─") if drawing else ("#", "-")
    left = "" if progress.remaining is None else f"  {duration(progress.remaining)} left"
    return (
        f"{full * filled}{empty * (_BAR - filled)} {share:4.0%}"
        f"  {progress.done:,} of {progress.total:,}  {size(progress.rate)}/s{left}"
        f"  {progress.label}"
    ).rstrip()


def duration(seconds: float) -> str:
    """
    >>> duration(8), duration(185), duration(7800)
    ('8 s', '3:05 min', '2:10 h')
    """
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    minutes, rest = divmod(whole, 60)
    if minutes < 60:
        return f"{minutes}:{rest:02} min"
    return f"{minutes // 60}:{minutes % 60:02} h"
