"""Every command that shows, on documents that nobody wrote by mistake: one line, or a result, and
nothing that a terminal would obey."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from omnizarr.cli.commands import COMMANDS
from tests.cli.conftest import Run

pytestmark = pytest.mark.slow

ARRAY: dict[str, Any] = {
    "zarr_format": 3,
    "node_type": "array",
    "shape": [4, 6],
    "data_type": "int32",
    "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": [2, 3]}},
    "chunk_key_encoding": {"name": "default", "configuration": {"separator": "/"}},
    "fill_value": 0,
    "codecs": [{"name": "bytes", "configuration": {"endian": "little"}}],
    "attributes": {},
}
HUGE = 2**62


def chunks(*lengths: Any) -> dict[str, Any]:
    return {"name": "regular", "configuration": {"chunk_shape": list(lengths)}}


DOCUMENTS: dict[str, dict[str, Any]] = {
    "huge and sparse": {"shape": [HUGE, HUGE], "chunk_grid": chunks(1, 1)},
    "a huge chunk": {"shape": [HUGE, 2], "chunk_grid": chunks(HUGE, 2)},
    "empty": {"shape": [0, 6]},
    "many dimensions": {"shape": [1] * 40, "chunk_grid": chunks(*[1] * 40)},
    "an unknown codec": {"codecs": [{"name": "\x1b[31mzzz"}]},
    "an unknown type": {"data_type": "\x1b[31mzzz"},
    "a negative shape": {"shape": [-1, 6]},
    "chunks of nothing": {"chunk_grid": chunks(0, 3)},
    "names": {"dimension_names": ["\x1b]0;x\x07", "\u202e\n"]},
    "attributes": {
        "attributes": {
            "units": "\x1b[2J",
            "\u202ex": {"\x1b": ["\x07"]},
            "_FillValue": {"a": 1},
            "missing_value": "\x1b",
        }
    },
    "a long name": {"attributes": {"n" * 5000: "v" * 5000}},
    "a deep one": {"attributes": {"a": json.loads("[" * 100 + "]" * 100)}},
    "no grid": {"chunk_grid": None},
    "a fill value": {"fill_value": {"a": 1}},
    "lengths that are true": {"shape": [True, 6]},
}
WORDS: dict[str, list[list[str]]] = {
    "ls": [["-l", "-r"], ["--keys", "-r"]],
    "meta": [[], ["--normalised"]],
    "attrs": [[]],
    "head": [[], ["-n", "2"]],
    "dump": [["--header"]],
    "stats": [["--sample", "2"], []],
    "chunks": [[], ["--list", "--missing"]],
    "plot": [[]],
}


def harmless(text: str) -> bool:
    return not set("\x1b\x07\u202e") & set(text) and "unexpected" not in text


@pytest.mark.filterwarnings("ignore::omnizarr.errors.ZarrUserWarning")
@pytest.mark.parametrize("name", DOCUMENTS)
@pytest.mark.parametrize("command", WORDS)
@pytest.mark.parametrize("where", ["array", "group"])
def test_documents(run: Run, tmp_path: Path, command: str, name: str, where: str) -> None:
    folder = tmp_path / "data.zarr"
    (folder / "a" / "c" / "0").mkdir(parents=True)
    (folder / "zarr.json").write_text('{"zarr_format": 3, "node_type": "group"}')
    (folder / "a" / "zarr.json").write_text(json.dumps(ARRAY | DOCUMENTS[name]))
    (folder / "a" / "c" / "0" / "0").write_bytes(bytes(24))
    path = folder / "a" if where == "array" else folder
    for words in WORDS[command]:
        for more in ([], ["--json"]):
            action = ["get"] if command == "attrs" else []
            done = run(command, *action, path, *words, *more)
            assert done.status in (0, 1, 2) and len(done.err.splitlines()) <= 2, done.err
            assert harmless(done.out + done.err), done.out + done.err
            assert done.status != 2 or done.err.startswith("omnizarr: ")
            if more and done.status != 2:
                assert done.document


def test_every_command_that_shows_is_tried() -> None:
    shown = {name for name, command in COMMANDS.items() if command.folder == "showing"}
    assert shown - {"tree", "info", "formats", "codecs"} == set(WORDS)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs pipes")
@pytest.mark.parametrize("name", ["x.zarr", "x.zip"])
@pytest.mark.parametrize("command", ["tree", "info", "cp"])
def test_a_pipe(tmp_path: Path, command: str, name: str) -> None:
    """In a process of its own: it must not wait for a writer."""
    os.mkfifo(tmp_path / name)
    more = [str(tmp_path / "new.zarr")] if command == "cp" else []
    done = subprocess.run(
        [sys.executable, "-m", "omnizarr", command, str(tmp_path / name), *more],
        capture_output=True, text=True, timeout=60,
    )  # fmt: skip
    assert done.returncode == 2
    assert done.stderr.count("\n") == 1 and "neither a regular file nor a folder" in done.stderr
