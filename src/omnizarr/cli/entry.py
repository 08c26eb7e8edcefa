"""The entry of the command `omnizarr`: the first Ctrl-C interrupts, the second ends at once."""

from __future__ import annotations

import _thread
import os
import signal
import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sys import UnraisableHookArgs

INTERRUPTED = 130


def _end(*_: object) -> None:
    os._exit(INTERRUPTED)


def _interrupt(*_: object) -> None:
    signal.signal(signal.SIGINT, _end)
    raise KeyboardInterrupt


def _dropped(ignored: UnraisableHookArgs) -> None:
    """Python prints an exception in a finalizer or the callback of a weak reference, and goes on.
    A Ctrl-C that is lost so comes again."""
    if not isinstance(ignored.exc_value, KeyboardInterrupt):
        sys.__unraisablehook__(ignored)
        return
    from threading import Timer

    signal.signal(signal.SIGINT, _interrupt)
    again = Timer(0.05, _interrupt_again)  # what is raised before this hook has returned is lost
    again.daemon = True
    again.start()


def _interrupt_again() -> None:
    if signal.getsignal(signal.SIGINT) is not _interrupt:
        return  # somebody has pressed it meanwhile
    if sys.platform == "win32":
        _thread.interrupt_main()
    else:  # which also ends what the main thread waits for
        os.kill(os.getpid(), signal.SIGINT)


def command() -> int:
    """Run one command; the exit status."""
    from omnizarr.cli.main import main

    # Where Ctrl-C is ignored, as in the background, it stays ignored.
    heard = signal.getsignal(signal.SIGINT) is signal.default_int_handler
    if heard:
        signal.signal(signal.SIGINT, _interrupt)
        sys.unraisablehook = _dropped
    status = main()
    if heard:
        signal.signal(signal.SIGINT, _end)
    return status
