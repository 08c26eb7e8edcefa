"""Every command on a terminal of its own, as a person types it: text, `--json`, Ctrl-C."""

from __future__ import annotations

import fcntl
import json
import os
import pty
import re
import subprocess
import sys
import termios
import time
from pathlib import Path

import numpy as np
import pytest

import omnizarr as zarr
from omnizarr.cli.commands import COMMANDS
from tests.cli.conftest import write

pytestmark = pytest.mark.slow

ROOT = Path(__file__).resolve().parents[2]
STYLE = re.compile(r"\x1b\[[0-9;]*[mK]")
CASES = {
    "tree": ("data.zarr", "2 groups, 3 arrays"),
    "info": ("data.zarr/sparse --chunks", "data type       float32"),
    "ls": ("data.zarr -l", "deep/"),
    "meta": ("data.zarr/sparse", '"order": "C"'),
    "attrs": ("get data.zarr title", "trial"),
    "head": ("data.zarr/deep/z", "3  4  5"),
    "dump": ("data.zarr/deep", " z ="),
    "stats": ("data.zarr/deep/z", "max             5"),
    "chunks": ("data.zarr/sparse", "chunks stored   2 of 24"),
    "plot": ("data.zarr/deep/z", "from 0 to 5"),
    "check": ("data.zarr", "0 errors"),
    "verify": ("data.zarr", "no bad chunk"),
    "convert": ("data.zarr new.zarr --to 3", "copy chunks"),
    "rechunk": ("data.zarr/deep/z new.zarr --chunks 2,1", "1 array"),
    "pyramid": ("data.zarr/sparse new.zarr --levels 2", "20 x 30"),
    "formats": ("", "data.sqlite"),
    "codecs": ("zstd", "1 codec available"),
    "browse": ("data.zarr --no-open", "Ctrl-C ends it"),
    "diff": ("data.zarr data.zarr", "no difference"),
    "cp": ("data.zarr copy.zarr", "copied"),
    "mv": ("data.zarr/deep data.zarr/deeper", "renamed"),
    "rm": ("data.zarr/deep", "? [y/N]"),
    "sync": ("data.zarr copy.zarr", "0 unchanged"),
    "zip": ("data.zarr", "packed"),
    "unzip": ("packed.zip", "unpacked"),
    "consolidate": ("data.zarr", "metadata of 4 nodes"),
    "reencode": ("data.zarr/sparse --try", "ratio"),
    "migrate": ("data.zarr", "no chunk was touched"),
    "sweep": ("data.zarr", "0 would be removed"),
    "checksum": ("data.zarr", "sha256"),
    "repair": ("data.zarr", "nothing to mend"),
    "bench": ("data.zarr/deep/z --seconds 1", "MB/s"),
    "completion": ("bash", "complete -"),
    "serve": ("data.zarr", "Ctrl-C ends it"),
}  # fmt: skip
"""What is typed after the command, and what is shown then."""
ANSWERS = {"? [y/N]": "y\n", "Ctrl-C ends it": "\x03", '"url"': "\x03"}
"""What is typed when something is shown."""


def on_terminal(folder: Path, *words: str) -> tuple[int, str]:
    """Run a command whose three streams are one terminal: exit status, and what it showed."""
    ours, theirs = pty.openpty()
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "src"), "TERM": "xterm", "COLUMNS": "90"}
    environment.pop("NO_COLOR", None)
    child = subprocess.Popen(
        [sys.executable, "-m", "omnizarr", *words],
        stdin=theirs, stdout=theirs, stderr=theirs, env=environment, cwd=folder,
        start_new_session=True, preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0),
    )  # fmt: skip
    os.close(theirs)
    seen, answers = b"", dict(ANSWERS)
    deadline = time.monotonic() + 120
    while time.monotonic() < deadline:
        try:
            piece = os.read(ours, 4096)
        except OSError:  # the child has closed the terminal
            break
        seen += piece
        for shown in [each for each in answers if each.encode() in seen]:
            os.write(ours, answers.pop(shown).encode())
    os.close(ours)
    return child.wait(timeout=60), seen.decode()


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    write(tmp_path / "data.zarr", 2)
    with zarr.ZipStore(tmp_path / "packed.zip", mode="w") as store:
        zarr.create_group(store)["a"] = np.arange(3)
    return tmp_path


def test_every_command_is_here() -> None:
    assert list(CASES) == list(COMMANDS)


@pytest.mark.parametrize("name", CASES)
def test_text(folder: Path, name: str) -> None:
    words, expected = CASES[name]
    status, seen = on_terminal(folder, name, *words.split())
    assert status == 0, seen
    assert expected in STYLE.sub("", seen)


@pytest.mark.parametrize("name", CASES)
def test_json(folder: Path, name: str) -> None:
    """One document, without a style; `rm` asks nobody then."""
    words = [name, *CASES[name][0].split(), "--json", *(["--yes"] if name == "rm" else [])]
    status, seen = on_terminal(folder, *words)
    assert status == 0, seen
    document, end = json.JSONDecoder().raw_decode(seen)
    assert document and "\x1b" not in seen[:end]
    assert name in ("browse", "serve") or not seen[end:].strip()
