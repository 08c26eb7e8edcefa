"""Starting, awaiting and stopping a server process on a port of its own."""

from __future__ import annotations

import ctypes
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
PEERS = ROOT / ".peers"
"""Where `scripts/make_servers.py` puts servers that are not installed on the machine."""
START_SECONDS = 60.0


class Absent(Exception):
    """A server that cannot be had here; the message says what was looked for."""


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def answers(port: int) -> bool:
    with socket.socket() as probe:
        probe.settimeout(1)
        return probe.connect_ex(("127.0.0.1", port)) == 0


def program(name: str, *folders: Path) -> str:
    """The path of a program: of this machine, or below .peers."""
    found = shutil.which(name)
    for folder in (*folders, PEERS / "bin"):
        found = found or shutil.which(name, path=str(folder))
    for folder in ("/usr/sbin", "/usr/local/sbin"):
        found = found or shutil.which(name, path=folder)
    if found is None:
        raise Absent(f"no program {name!r} (scripts/make_servers.py installs it where it can)")
    return found


def _die_with_parent() -> None:
    """A server must not outlive tests that were killed (where the system can see to it)."""
    if sys.platform == "linux":
        set_death_signal = 1
        ctypes.CDLL(None).prctl(set_death_signal, signal.SIGKILL)


@contextmanager
def running(
    command: Sequence[str],
    port: int,
    *,
    ready: Callable[[], bool] | None = None,
    environment: dict[str, str] | None = None,
    folder: Path | None = None,
) -> Iterator[subprocess.Popen[bytes]]:
    """The process, once it answers; killed with all its children at the end."""
    with tempfile.TemporaryFile() as output:
        process = subprocess.Popen(
            list(command),
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            env={**os.environ, **(environment or {})},
            cwd=folder,
            start_new_session=True,
            preexec_fn=_die_with_parent,
        )

        def said() -> str:
            output.seek(0)
            return output.read().decode(errors="replace")[-4000:]

        try:
            deadline = time.monotonic() + START_SECONDS
            while not (answers(port) and (ready is None or ready())):
                if process.poll() is not None:
                    raise RuntimeError(f"{command[0]} ended at once:\n{said()}")
                if time.monotonic() > deadline:
                    raise RuntimeError(f"{command[0]} does not answer:\n{said()}")
                time.sleep(0.05)
            yield process
        finally:
            stop(process)


def stop(process: subprocess.Popen[bytes]) -> None:
    for kind in (signal.SIGTERM, signal.SIGKILL):
        try:
            os.killpg(process.pid, kind)
        except ProcessLookupError:
            break
        try:
            process.wait(10)
            break
        except subprocess.TimeoutExpired:
            continue
    process.wait()
