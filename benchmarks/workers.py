"""Processes that stay alive and are asked over a pipe, one at a time: JSON lines both ways.

Libraries that do not fit into one environment are measured so, and none of them meets the threads,
the memory or the settings of another.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any


class Worker:
    """One process: `python script arguments…`, whose `serve` answers."""

    def __init__(
        self,
        python: str,
        script: Path,
        *arguments: str,
        environment: dict[str, str] | None = None,
    ) -> None:
        self._process = subprocess.Popen(
            [python, str(script), *arguments],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            encoding="utf-8",
            env={**os.environ, "PYTHONWARNINGS": "ignore", **(environment or {})},
        )

    def ask(self, question: Any) -> Any:
        """The answer; EOFError if the process has ended instead."""
        assert self._process.stdin is not None and self._process.stdout is not None
        try:
            print(json.dumps(question), file=self._process.stdin, flush=True)
            line = self._process.stdout.readline()
        except BrokenPipeError:
            line = ""
        if not line:
            raise EOFError(f"its process ended with status {self._process.wait()}")
        return json.loads(line)

    def stop(self) -> None:
        """End of input ends it; one that is in the middle of something is killed."""
        try:
            self._process.communicate(timeout=3)
        except (subprocess.TimeoutExpired, BrokenPipeError):
            self._process.kill()
            self._process.communicate()


def serve(answer: Callable[[Any], Any]) -> None:
    """Answer every question until there is no more. What a library prints goes to stderr."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the one that asks
    channel = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    for line in sys.stdin:
        print(json.dumps(answer(json.loads(line))), file=channel, flush=True)


def turns(names: list[str], round_: int) -> list[str]:
    """The order of a round: each round begins with another one."""
    first = round_ % len(names) if names else 0
    return names[first:] + names[:first]
