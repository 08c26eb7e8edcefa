"""`omnizarr completion`: a real bash completes; zsh and fish where they are installed."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from omnizarr.cli.commands import COMMANDS
from omnizarr.cli.shells.nodes import nodes
from tests.cli.conftest import Run

ROOT = Path(__file__).resolve().parents[3]
TRY = """
try() {
    COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); COMPREPLY=()
    _omnizarr 2>/dev/null
    printf '%s\\n' "${COMPREPLY[@]}"
}
"""


@pytest.fixture
def complete(run: Run, tmp_path: Path) -> object:
    """What bash offers for the words."""
    bash = shutil.which("bash")
    if bash is None:
        pytest.skip("bash is not installed")
    binary = tmp_path / "bin" / "omnizarr"
    binary.parent.mkdir()
    binary.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m omnizarr "$@"\n')
    binary.chmod(0o755)
    script = run("completion", "bash").out

    def offered(*words: str) -> list[str]:
        quoted = " ".join(f"'{word}'" for word in words)
        path = f"{binary.parent}{os.pathsep}{os.environ['PATH']}"
        done = subprocess.run(
            [bash, "--norc", "-c", f"{script}{TRY}try omnizarr {quoted}"],
            capture_output=True, text=True, timeout=60, check=True, cwd=tmp_path,
            env={**os.environ, "PATH": path, "PYTHONPATH": str(ROOT / "src")},
        )  # fmt: skip
        return done.stdout.split("\n")[:-1]

    return offered


@pytest.mark.slow
def test_bash(complete, store: Path) -> None:  # type: ignore[no-untyped-def]
    assert store.name == "data.zarr"
    assert complete("ver") == ["verify"]
    assert set(complete("")) == {*COMMANDS, "--help", "--version"}
    assert complete("convert", "a", "b", "--remove") == ["--remove-source"]
    assert complete("convert", "a", "b", "--on-damage", "f") == ["fill"]
    assert complete("completion", "z") == ["zsh"]
    assert complete("tree", "data.z") == ["data.zarr"]
    assert complete("tree", "data.zarr/") == [
        "data.zarr/deep/", "data.zarr/sparse", "data.zarr/text",
    ]  # fmt: skip
    assert complete("info", "data.zarr/deep/") == ["data.zarr/deep/z"]


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_scripts_are_valid(run: Run, shell: str) -> None:
    script = run("completion", shell).out
    assert run("completion", shell, "--json").document == {"shell": shell, "script": script}
    for name in COMMANDS:
        assert name in script
    assert "on-damage" in script and "raise skip fill" in script and "_complete" in script
    program = shutil.which(shell)
    if program is not None:
        flag = "--no-execute" if shell == "fish" else "-n"
        done = subprocess.run([program, flag], input=script, text=True, capture_output=True)
        assert (done.returncode, done.stderr) == (0, "")


def test_nodes(run: Run, store: Path, tmp_path: Path) -> None:
    run("zip", store, tmp_path / "a.zip")
    assert list(nodes(f"{tmp_path}/a.zip/d")) == [f"{tmp_path}/a.zip/deep/"]
    assert list(nodes(f"{store}/deep/z/")) == []
    assert list(nodes("s3://bucket/")) == [] and list(nodes("data")) == []
    done = run("_complete", f"{tmp_path}/no/where/x")
    assert (done.status, done.out, done.err) == (0, "", "")
    assert run("_complete", f"{store}/de").out == f"{store}/deep/\n"
