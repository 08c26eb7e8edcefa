"""How far a job is: facts, and a bar on a terminal that draws them.

This module knows counts and clocks. It must not know what is counted.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TextIO

DRAW_SECONDS = 0.1
"""A bar is drawn no more often than this."""
_WIDTH = 24
_UNITS = ("B", "KiB", "MiB", "GiB", "TiB")


@dataclass(frozen=True)
class Progress:
    """One look at a running job."""

    done: int
    """Units of work that are finished, those of an earlier run included."""
    total: int
    nbytes: int
    """Bytes that this run has read and written."""
    seconds: float
    """Since this run began."""
    label: str = ""
    """What was finished last."""
    resumed: int = 0
    """Units that an earlier run had finished."""

    @property
    def rate(self) -> float:
        """Bytes per second."""
        return self.nbytes / self.seconds if self.seconds > 0 else 0.0

    @property
    def remaining(self) -> float | None:
        """Seconds that are left at the pace of this run; None before anything is known."""
        fresh = self.done - self.resumed
        if self.done >= self.total:
            return 0.0
        if fresh <= 0:
            return None
        return self.seconds / fresh * (self.total - self.done)

    @property
    def fraction(self) -> float:
        return 1.0 if self.total <= 0 else min(1.0, self.done / self.total)


Listener = Callable[[Progress], object]


class Reporter:
    """Counts, and tells a listener. `progress`: None is silent, True draws a bar if standard error
    is a terminal, a callable gets a `Progress` after every task."""

    def __init__(self, progress: Listener | bool | None, total: int, resumed: int = 0) -> None:
        self._listener: Listener | None
        if progress is True:
            self._listener = Bar(sys.stderr) if _is_terminal(sys.stderr) else None
        elif progress is None or progress is False:
            self._listener = None
        elif callable(progress):
            self._listener = progress
        else:
            raise TypeError(f"progress must be None, True or a callable, found {progress!r}")
        self._start = time.monotonic()
        self._total, self._done, self._resumed = total, resumed, resumed
        self._nbytes = 0
        self._label = ""
        if resumed:
            self._tell()

    def advance(self, units: int, nbytes: int, label: str) -> None:
        self._done += units
        self._nbytes += nbytes
        self._label = label
        self._tell()

    def _tell(self) -> None:
        if self._listener is not None:
            self._listener(self.now())

    def now(self) -> Progress:
        seconds = time.monotonic() - self._start
        return Progress(self._done, self._total, self._nbytes, seconds, self._label, self._resumed)

    def close(self) -> None:
        """Leave the terminal as it was found."""
        if isinstance(self._listener, Bar):
            self._listener.close(self.now())


class Bar:
    """A line on a terminal: how much is done, how fast, and how long it will take."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self._drawn = 0.0
        self._length = 0

    def __call__(self, progress: Progress) -> None:
        now = time.monotonic()
        if now - self._drawn >= DRAW_SECONDS:
            self._drawn = now
            self._draw(progress)

    def _draw(self, progress: Progress) -> None:
        line = line_of(progress)
        padding = " " * max(0, self._length - len(line))
        self._length = len(line)
        self._stream.write(f"\r{line}{padding}")
        self._stream.flush()

    def close(self, progress: Progress) -> None:
        self._draw(progress)
        self._stream.write("\n")
        self._stream.flush()


def line_of(progress: Progress) -> str:
    filled = round(_WIDTH * progress.fraction)
    bar = "#" * filled + "-" * (_WIDTH - filled)
    left = progress.remaining
    ends = f"{duration(progress.seconds)} in all" if left == 0 else f"{duration(left)} left"
    label = progress.label if len(progress.label) <= 24 else "…" + progress.label[-23:]
    return (
        f"[{bar}] {progress.fraction:4.0%} {progress.done}/{progress.total}"
        f" {size(progress.rate)}/s {ends} {label}".rstrip()
    )


def duration(seconds: float | None) -> str:
    """Seconds as a person reads them: `8 s`, `3:05`, `2:10:00`."""
    if seconds is None:
        return "?"
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    minutes, rest = divmod(whole, 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"


def size(nbytes: float) -> str:
    """Bytes as a person reads them: `3.5 MiB`."""
    for unit in _UNITS[:-1]:
        if nbytes < 1024:
            return f"{nbytes:.0f} {unit}" if unit == "B" else f"{nbytes:.1f} {unit}"
        nbytes /= 1024
    return f"{nbytes:.1f} {_UNITS[-1]}"


def _is_terminal(stream: Any) -> bool:
    try:
        return bool(stream.isatty())
    except (AttributeError, ValueError):  # no stream at all, or a closed one
        return False
