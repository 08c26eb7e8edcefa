"""The machine of a run: what it is, which cores may be used, where files are in memory."""

from __future__ import annotations

import os
import platform
from pathlib import Path
from typing import Any

import numpy as np

SETTABLE = hasattr(os, "sched_setaffinity")


def in_memory() -> Path | None:
    """A folder in memory, so that libraries are measured and not a disk; None if there is
    none here, and the system's temporary folder serves."""
    folder = Path("/dev/shm")
    return folder if os.access(folder, os.W_OK) else None


def cores() -> list[int]:
    """The processors that this process, and what it starts, may use."""
    return sorted(os.sched_getaffinity(0)) if SETTABLE else list(range(os.cpu_count() or 1))


def pin(processors: list[int]) -> None:
    """Use only these from now on; processes that are started afterwards inherit it."""
    if processors != cores():
        os.sched_setaffinity(0, processors)


def machine() -> dict[str, Any]:
    model = platform.processor() or platform.machine()
    info = Path("/proc/cpuinfo")
    if info.exists():
        lines = info.read_text().splitlines()
        model = next(
            (x.partition(":")[2].strip() for x in lines if x.startswith("model name")), model
        )
    return {
        "cpu": model,
        "cores": len(cores()),
        "system": f"{platform.system()} {platform.release()}",
        "python": platform.python_version(),
        "numpy": np.__version__,
        "load": [round(load, 2) for load in os.getloadavg()],
    }


# -- memory of this process (Linux) ---------------------------------------------------------------


def resident() -> int | None:
    """Bytes in memory now, after forgetting the peak until now; None where this cannot be done."""
    try:
        Path("/proc/self/clear_refs").write_text("5")
    except OSError:
        return None
    return _status("VmRSS")


def peak() -> int:
    """The most bytes in memory since `resident` was called."""
    return _status("VmHWM")


def _status(member: str) -> int:
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith(member + ":"):
            return int(line.split()[1]) * 1024
    raise KeyError(member)
