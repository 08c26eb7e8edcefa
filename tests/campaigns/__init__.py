"""Long commands that look for faults: `python -m tests.campaigns.<name>`. Each also runs briefly in
the ordinary test suite."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any


def report_of(name: str, *arguments: str) -> dict[str, Any]:
    """What a campaign reports with `--json`, run in a process of its own: threads and hooks of
    other tests (Hypothesis drops a Ctrl-C that comes while garbage is collected) stay out of it."""
    command = [sys.executable, "-m", f"tests.campaigns.{name}", *arguments, "--json"]
    root = Path(__file__).resolve().parents[2]
    done = subprocess.run(command, capture_output=True, text=True, cwd=root, timeout=300)
    assert done.stdout, done.stderr[-3000:]
    report: dict[str, Any] = json.loads(done.stdout)
    return report
