"""The entry of the command `omnizarr`: the first Ctrl-C interrupts, the second ends at once."""

from __future__ import annotations

import os
import signal

INTERRUPTED = 130


def _end(*_: object) -> None:
    os._exit(INTERRUPTED)


def _interrupt(*_: object) -> None:
    signal.signal(signal.SIGINT, _end)
    raise KeyboardInterrupt


def command() -> int:
    """Run one command; the exit status."""
    from omnizarr.cli.main import main

    # Where Ctrl-C is ignored, as in the background, it stays ignored.
    heard = signal.getsignal(signal.SIGINT) is signal.default_int_handler
    if heard:
        signal.signal(signal.SIGINT, _interrupt)
    status = main()
    if heard:
        signal.signal(signal.SIGINT, _end)
    return status
