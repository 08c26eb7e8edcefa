"""A page in a real browser without a window: Chromium, if it is installed."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

PROGRAMS = ("chromium", "chromium-browser", "google-chrome")
DARK = "--blink-settings=preferredColorScheme=0"


def browser() -> str:
    """The program; the test is skipped if there is none."""
    found = next(filter(None, map(shutil.which, PROGRAMS)), None)
    if found is None:
        pytest.skip("Chromium is absent: no program 'chromium' (root gets it by `make peers`)")
    return found


def run(page: Path, profile: Path, *options: str) -> str:
    """What Chromium prints about a page."""
    command = [
        browser(), "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage",
        "--hide-scrollbars", f"--user-data-dir={profile}", *options, page.as_uri(),
    ]  # fmt: skip
    done = subprocess.run(command, capture_output=True, text=True, timeout=180, check=True)
    return done.stdout
