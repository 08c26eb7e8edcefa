"""How the acceptance tests start Python processes that import the library under test."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import omnizarr

HERE = Path(__file__).parent


def environment() -> dict[str, str]:
    """The library from where this process has it; no configuration of the tests' own."""
    source = str(Path(omnizarr.__file__).parents[1])
    kept = {key: value for key, value in os.environ.items() if not key.startswith("OMNIZARR_")}
    return {**kept, "PYTHONPATH": os.pathsep.join([source, os.environ.get("PYTHONPATH", "")])}


def start(script: str, *arguments: object) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, str(HERE / script), *map(str, arguments)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=environment(),
        # Tests that run in the background have Ctrl-C ignored, and a child inherits that.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
    )


def finish(process: subprocess.Popen[str], timeout: float = 120) -> dict[str, Any]:
    """The JSON on the last line that the process prints."""
    try:
        out, err = process.communicate(timeout=timeout)
    except subprocess.TimeoutExpired:
        process.kill()
        out, err = process.communicate()
        raise AssertionError(
            f"no end after {timeout} s; it said:\n{out[-500:]}{err[-3000:]}"
        ) from None
    assert process.returncode == 0, f"exit status {process.returncode}:\n{err[-4000:]}"
    result: dict[str, Any] = json.loads(out.splitlines()[-1])
    return result


def run(script: str, *arguments: object, timeout: float = 120) -> dict[str, Any]:
    return finish(start(script, *arguments), timeout)


def together(script: str, jobs: list[tuple[object, ...]], go: Path) -> list[dict[str, Any]]:
    """Start several, let them go at the same time, wait for all."""
    processes = [start(script, *job, go) for job in jobs]
    try:
        for process in processes:
            assert process.stdout is not None
            line = process.stdout.readline()
            if line.strip() != "ready":
                finish(process)
                raise AssertionError(f"expected 'ready', got {line!r}")
        go.touch()
        return [finish(process) for process in processes]
    finally:
        for process in processes:
            if process.poll() is None:
                process.kill()
                process.communicate()


def snapshot(folder: Path) -> dict[str, bytes | None]:
    """Every file (with its content) and folder below."""
    return {
        str(path.relative_to(folder)): path.read_bytes() if path.is_file() else None
        for path in sorted(folder.rglob("*"))
    }
