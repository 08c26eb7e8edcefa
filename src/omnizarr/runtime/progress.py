"""How far long work is: facts, and whom they are told to.

A callable is told of every step. ``progress=True`` draws a line in a notebook or on a terminal;
where there is neither (a batch job, a service) it logs one every ten seconds, by the logger
``"omnizarr"``.

This module knows counts and clocks. It must not know what is counted.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TextIO

DRAW_SECONDS = 0.1
"""A bar is drawn no more often than this."""
LOG_SECONDS = 10.0
"""A line is logged no more often than this."""
_WIDTH = 24
_UNITS = ("B", "KiB", "MiB", "GiB", "TiB")


@dataclass(frozen=True)
class Progress:
    """The state of running work, as ``progress=`` of `convert`, `verify`, `copy_store` … gets it.

    Examples
    --------
    >>> import omnizarr
    >>> done = []
    >>> a = omnizarr.array([1, 2, 3, 4], chunks=4)
    >>> result = omnizarr.verify(a, progress=lambda progress: done.append(progress.fraction))
    >>> done
    [1.0]
    """

    done: int
    """Units of work that are finished, those of an earlier run included."""
    total: int
    """Units of work of the whole job; 0 if that is not known."""
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
        """How much of the work is done, from 0 to 1."""
        return 1.0 if self.total <= 0 else min(1.0, self.done / self.total)


Listener = Callable[[Progress], object]
ProgressLike = Listener | bool | None
"""What ``progress=`` takes."""


class Reporter:
    """Counts, and tells a listener.

    `progress`: None is silent; True draws a line in a notebook or on a terminal, and logs one where
    there is neither; a callable gets a `Progress` after every task."""

    def __init__(self, progress: ProgressLike, total: int, resumed: int = 0) -> None:
        self._listener: Listener | None
        if progress is True:
            self._listener = _display()
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
        """Leave the terminal as it was found, and say how it ended elsewhere."""
        if isinstance(self._listener, Bar | NotebookLine | LogLines):
            self._listener.close()


def announce(progress: ProgressLike, lines: list[str]) -> None:
    """Show what is about to be done, where `progress=True` will show how far it is."""
    if progress is True and lines:
        _display().say([_printable(line) for line in lines])


def _display() -> Bar | NotebookLine | LogLines:
    """What shows progress to whoever looks at this process."""
    kernel = _notebook()
    if kernel is not None:
        return NotebookLine(kernel)
    return Bar(sys.stderr) if _is_terminal(sys.stderr) else LogLines()


class Bar:
    """A line on a terminal: how much is done, how fast, and how long it will take. It is no wider
    than the terminal, holds no control character of a node's name, and is wiped out at the end."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self._drawn = 0.0
        self._encoding = getattr(stream, "encoding", None) or "ascii"
        try:
            "━─".encode(self._encoding)
            self._signs = "━", "─"
        except (UnicodeEncodeError, LookupError):
            self._signs = "#", "-"

    def __call__(self, progress: Progress) -> None:
        now = time.monotonic()
        if now - self._drawn >= DRAW_SECONDS:
            self._drawn = now
            text = _printable(line_of(progress, self._signs)[: _width(self._stream) - 1])
            self._write(text.encode(self._encoding, "replace").decode(self._encoding))

    def say(self, lines: list[str]) -> None:
        text = "".join(f"{line}\n" for line in lines)
        self._stream.write(text.encode(self._encoding, "replace").decode(self._encoding))
        self._stream.flush()

    def close(self) -> None:
        if self._drawn:
            self._write("")

    def _write(self, text: str) -> None:
        self._stream.write(f"\r\x1b[K{text}")
        self._stream.flush()


class NotebookLine:
    """The same line as the output of a notebook's cell. It stays when the work has ended."""

    def __init__(self, display: Any) -> None:
        self._display = display
        self._handle: Any = None
        self._drawn = 0.0
        self._last: Progress | None = None

    def __call__(self, progress: Progress) -> None:
        self._last = progress
        now = time.monotonic()
        if now - self._drawn >= DRAW_SECONDS:
            self._drawn = now
            self._draw(progress)

    def say(self, lines: list[str]) -> None:
        self._display({"text/plain": "\n".join(lines)}, raw=True)

    def close(self) -> None:
        if self._last is not None:
            self._draw(self._last)

    def _draw(self, progress: Progress) -> None:
        data = {"text/plain": _printable(line_of(progress))}
        if self._handle is None:
            self._handle = self._display(data, raw=True, display_id=True)
        else:
            self._handle.update(data, raw=True)


class LogLines:
    """The same line in the log, without a bar, now and then and at the end."""

    def __init__(self) -> None:
        import logging  # not imported with the package

        self._logger = logging.getLogger("omnizarr")
        self._logged = time.monotonic()
        self._last: Progress | None = None

    def __call__(self, progress: Progress) -> None:
        self._last = progress
        now = time.monotonic()
        if now - self._logged >= LOG_SECONDS:
            self._logged = now
            self._log(progress)

    def say(self, lines: list[str]) -> None:
        for line in lines:
            self._logger.info("%s", line)

    def close(self) -> None:
        if self._last is not None:
            self._log(self._last)

    def _log(self, progress: Progress) -> None:
        self._logger.info("%s", _printable(line_of(progress, ("", "")).strip()))


def _notebook() -> Any:
    """The function that shows something in the notebook that runs this code; None outside of one.
    IPython is loaded there."""
    shell = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()
    if getattr(shell, "kernel", None) is None:
        return None
    from importlib import import_module

    return import_module("IPython.display").display


def _printable(text: str) -> str:
    return "".join(sign if sign.isprintable() else "?" for sign in text)


def line_of(progress: Progress, signs: tuple[str, str] = ("━", "─")) -> str:
    """One line: `━━━━━━───  45%  12 of 26  81.2 MiB/s  3 s left  temperature`."""
    filled = round(_WIDTH * progress.fraction)
    bar = signs[0] * filled + signs[1] * (_WIDTH - filled)
    if progress.done > progress.total:  # how much there is is not known
        return f"{progress.done:,} so far  {size(progress.rate)}/s  {progress.label}".rstrip()
    left = progress.remaining
    ends = "" if left is None else f"  {duration(left)} left"
    return (
        f"{bar} {progress.fraction:4.0%}  {progress.done:,} of {progress.total:,}"
        f"  {size(progress.rate)}/s{ends}  {progress.label}"
    ).rstrip()


def _width(stream: TextIO) -> int:
    told = os.environ.get("COLUMNS", "")
    try:
        return int(told) if told.isdigit() else os.get_terminal_size(stream.fileno()).columns or 80
    except (OSError, ValueError, AttributeError):  # no terminal after all
        return 80


def duration(seconds: float) -> str:
    """Seconds as a person reads them: `8 s`, `3:05`, `2:10:00`."""
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
