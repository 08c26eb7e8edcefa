"""`omnizarr convert`: what the options do, refusals, the bar, and going on after Ctrl-C."""

from __future__ import annotations

import os
import pty
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

import omnizarr as zarr
from omnizarr.cli import main
from omnizarr.cli.changing import convert
from tests.cli.conftest import Run, write

ROOT = Path(__file__).resolve().parents[3]
ROW = ["path", "kind", "source_format", "zarr_format", "action", "chunks", "bytes_read",
       "bytes_written", "notes", "rechunking"]  # fmt: skip


def test_into_another_format(run: Run, store: Path, tmp_path: Path) -> None:
    done = run("convert", store, tmp_path / "two.zarr", "--to", 2)
    assert done.status == 0 and done.err == ""
    assert "copy chunks" in done.out and "3 arrays, 2 groups" in done.out
    assert "v2" in run("tree", tmp_path / "two.zarr").out
    before, after = (zarr.open(path, mode="r") for path in (store, tmp_path / "two.zarr"))
    assert np.array_equal(before["sparse"][:], after["sparse"][:], equal_nan=True)


def test_json(run: Run, store: Path, tmp_path: Path) -> None:
    document = run("convert", store, tmp_path / "o.zarr", "--to", "2", "--json").document
    assert list(document) == ["nodes", "dropped", "seconds", "dry_run", "source", "destination",
                              "resumed", "damaged", "bytes_read", "bytes_written",
                              "rate"]  # fmt: skip
    assert document["source"] == str(store)
    assert document["destination"] == str(tmp_path / "o.zarr")
    assert [list(row) for row in document["nodes"]] == [ROW] * 5


def test_dry_run_writes_nothing(run: Run, store: Path, tmp_path: Path) -> None:
    done = run("convert", store, tmp_path / "o.zarr", "--to", 2, "--dry-run")
    assert done.status == 0 and done.out.count("dry run") == 1
    assert not (tmp_path / "o.zarr").exists()
    document = run("convert", store, tmp_path / "o.zarr", "--to", 2, "--dry-run", "--json").document
    assert document["dry_run"] is True and len(document["nodes"]) == 5


def test_quiet(run: Run, store: Path, tmp_path: Path) -> None:
    done = run("convert", store, tmp_path / "o.zarr", "--to", 2, "--quiet")
    assert (done.status, done.out, done.err) == (0, "", "")
    assert (tmp_path / "o.zarr" / ".zgroup").exists()


def test_parts_and_paths(run: Run, store: Path, tmp_path: Path) -> None:
    done = run("convert", store / "deep", tmp_path / "o.zarr", "--to", 2, "--path", "z",
               "--destination-path", "a/b", "--chunks", "2,1", "--workers", 2)  # fmt: skip
    assert done.status == 0, done.err
    array = zarr.open_array(tmp_path / "o.zarr", path="a/b", mode="r")
    assert array.chunks == (2, 1) and array[:].tolist() == [[0, 1, 2], [3, 4, 5]]


def test_archives(run: Run, store: Path, tmp_path: Path) -> None:
    assert run("convert", store, tmp_path / "o.zip", "--to", 2).status == 0
    assert (
        run("convert", tmp_path / "o.zip" / "deep", tmp_path / "deep.zarr", "--to", 3).status == 0
    )
    assert zarr.open_array(tmp_path / "deep.zarr" / "z", mode="r")[1, 2] == 5


def test_in_place(run: Run, tmp_path: Path) -> None:
    store = write(tmp_path / "p.zarr", zarr_format=2)
    done = run("convert", store, "--in-place", "--to", 3)
    assert done.status == 0, done.err
    assert (store / "zarr.json").exists() and (store / ".zgroup").exists()
    assert run("convert", store, "--in-place", "--to", 3, "--remove-source").status == 0
    assert not list(store.rglob(".z*"))
    assert zarr.open_array(store / "deep" / "z", mode="r")[1, 2] == 5


def refused(done: object, message: str, hint: str) -> None:
    assert done.status == 2 and done.out == ""  # type: ignore[attr-defined]
    lines = done.err.splitlines()  # type: ignore[attr-defined]
    assert len(lines) == 2, lines
    assert lines[0].startswith("omnizarr: ") and message in lines[0], lines
    assert lines[1].startswith("hint: ") and hint in lines[1], lines
    assert "=True" not in lines[0] + lines[1] and "drop=" not in lines[0] + lines[1]


def test_refusals_name_the_option(run: Run, store: Path, tmp_path: Path) -> None:
    """Following the hints leads there."""
    wanted = ["convert", store / "sparse", tmp_path / "o.zarr", "--to", 0]
    done = run("convert", store, tmp_path / "o.zarr", "--to", 0)
    lines = done.err.splitlines()
    assert lines[0] == "omnizarr: 4 obstacles, and nothing was written"
    assert "no groups" in lines[1] and "--drop groups " in lines[2]
    assert {line.split("'")[1] for line in lines[1::2]} == {"/", "/sparse", "/text", "/deep/z"}
    assert not re.search(r"\w=['\w(]", done.err)
    refused(run(*wanted), "", "--reencode ")
    assert run(*wanted, "--reencode").status == 0
    refused(run(*wanted, "--reencode"), "already there", "--overwrite replaces")
    assert run(*wanted, "--reencode", "--overwrite").status == 0
    assert "v0" in run("tree", tmp_path / "o.zarr").out


def test_the_codecs_that_are_too_many_are_named(run: Run, tmp_path: Path) -> None:
    zarr.create_array(tmp_path / "s.zarr", shape=(4,), dtype="i4", compressors="fast")
    done = run("convert", tmp_path / "s.zarr", tmp_path / "o.zarr", "--to", "3-draft2019")
    refused(
        done, "cannot express 2 codecs ('blosc', 'crc32c'): it has one compressor", "--reencode"
    )


def test_refusals_in_place(run: Run, tmp_path: Path) -> None:
    """No hint names what is refused there too."""
    store = tmp_path / "s.zarr"
    zarr.create_array(store, shape=(4,), dtype="i4", zarr_format=2, compressors=[{"id": "lz4"}])
    refused(run("convert", store, "--in-place", "--to", 1), "", "give a destination")
    refused(run("convert", store, store, "--to", 3), "overlap", "--in-place")
    for option in (["--reencode"], ["--drop", "groups"], ["--chunks", "2"]):
        done = run("convert", store, "--in-place", "--to", 3, *option)
        refused(done, f"{option[0]} goes with a DESTINATION", "omnizarr convert old")


def test_parts_that_are_left_out(run: Run, store: Path, tmp_path: Path) -> None:
    done = run("convert", store, tmp_path / "o.zarr", "--to", 2, "--exclude", "deep/*",
               "--exclude", "text")  # fmt: skip
    assert done.status == 0, done.err
    assert sorted(zarr.open_group(tmp_path / "o.zarr", mode="r")) == ["deep", "sparse"]
    assert not list(zarr.open_group(tmp_path / "o.zarr" / "deep", mode="r"))


def test_an_unknown_format(run: Run, store: Path, tmp_path: Path) -> None:
    done = run("convert", store, tmp_path / "o.zarr", "--to", "4")
    assert done.status == 2 and done.err.startswith("omnizarr: --to takes 0, 1, 2, 3, 3-draft2019")
    assert not (tmp_path / "o.zarr").exists()


def test_no_source(run: Run, tmp_path: Path) -> None:
    done = run("convert", tmp_path / "no.zarr", tmp_path / "o.zarr", "--to", 3)
    assert done.status == 2 and "no such file or folder" in done.err
    assert not (tmp_path / "o.zarr").exists()


def test_damaged_chunks(run: Run, store: Path, tmp_path: Path) -> None:
    file = store / "sparse" / "c" / "0" / "0"
    file.write_bytes(file.read_bytes()[:-3])
    done = run("convert", store, tmp_path / "o.zarr", "--to", 1, "--path", "sparse", "--reencode")
    assert done.status == 2 and "sparse/c/0/0" in done.err and "damaged" in done.err


@pytest.mark.parametrize("text", ["10,20", "10x20"])
def test_chunk_shapes(text: str) -> None:
    assert convert.lengths(text) == (10, 20)


# -- on a terminal -----------------------------------------------------------------------------


def many_chunks(path: Path) -> Path:
    array = zarr.create_array(path, shape=(3000, 8), chunks=(1, 8), dtype="i4", zarr_format=2)
    array[:] = np.arange(24000).reshape(3000, 8)
    return path


def on_terminal(
    *arguments: object, interrupt: bool = False, encoding: str = "utf-8"
) -> tuple[int, str]:
    """Run a command whose standard error is a terminal: exit status and what the terminal got."""
    ours, theirs = pty.openpty()
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "src"), "PYTHONIOENCODING": encoding,
                   "TERM": "xterm", "COLUMNS": "70"}  # fmt: skip
    child = subprocess.Popen(
        [sys.executable, "-m", "omnizarr", *map(str, arguments)],
        stdout=subprocess.DEVNULL, stderr=theirs, env=environment,
        # In the background Ctrl-C is ignored, and a child inherits that.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )  # fmt: skip
    os.close(theirs)
    seen = b""
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        try:
            piece = os.read(ours, 4096)
        except OSError:  # the terminal is closed: the child has ended
            break
        if not piece:
            break
        seen += piece
        if interrupt and b"left" in seen:
            child.send_signal(signal.SIGINT)
            interrupt = False
    os.close(ours)
    return child.wait(timeout=30), seen.decode()


@pytest.mark.slow
def test_the_bar_is_drawn_and_wiped_out(tmp_path: Path) -> None:
    source = many_chunks(tmp_path / "many.zarr")
    status, seen = on_terminal("convert", source, tmp_path / "o.zarr", "--to", 3)
    assert status == 0
    assert re.search(r"━+─* +\d+%  [\d,]+ of 3,000  [\d.]+ (B|KiB|MiB)/s  \d+ s left", seen), seen
    assert all(len(line) < 70 for line in re.split(r"\r\x1b\[K", seen))
    assert seen.endswith("\r\x1b[K")
    for quiet in ("--quiet", "--json"):
        assert on_terminal("convert", source, tmp_path / quiet, "--to", 3, quiet) == (0, "")


@pytest.mark.slow
def test_ctrl_c_and_going_on(tmp_path: Path, run: Run) -> None:
    source = many_chunks(tmp_path / "many.zarr")
    command = ["convert", source, tmp_path / "o.zarr", "--to", 3, "--chunks", "1,4"]
    status, seen = on_terminal(*command, interrupt=True, encoding="ascii")
    assert status == 130, seen
    assert seen.endswith(f"{convert.INTERRUPTED}\r\n") and "Traceback" not in seen
    assert "#" in seen
    opened = run("tree", tmp_path / "o.zarr")
    assert opened.status == 2, "half a conversion must be no node"
    assert "a conversion into this place is unfinished" in opened.err
    assert "hint: run the same omnizarr convert again" in opened.err
    document = run(*command, "--json").document
    assert document["resumed"] is True
    assert np.array_equal(zarr.open_array(tmp_path / "o.zarr", mode="r")[:],
                          zarr.open_array(source, mode="r")[:])  # fmt: skip


def test_no_bar_where_no_one_looks(
    store: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["convert", str(store), str(tmp_path / "o.zarr"), "--to", "2"]) == 0
    assert capsys.readouterr().err == ""


def test_the_format_that_nobody_named(run: Run, tmp_path: Path) -> None:
    """That of the group at the destination, else of the source."""
    two, three = write(tmp_path / "two.zarr", 2), write(tmp_path / "three.zarr", 3)
    done = run("convert", two, tmp_path / "kept.zarr")
    assert done.status == 0 and done.out.startswith("format 2, which the source has; --to ")
    assert zarr.open(tmp_path / "kept.zarr", mode="r").zarr_format == 2
    done = run("convert", two / "sparse", three / "deep" / "new")
    assert done.out.startswith("format 3, which the destination has")
    assert zarr.open(three, mode="r")["deep/new"].zarr_format == 3
    done = run("convert", three, tmp_path / "explicit.zarr", "--to", "2")
    assert done.status == 0 and "--to" not in done.out
    assert run("convert", two, "--in-place").out.startswith("format 3, the newest")


def test_shards_and_compressors(run: Run, store: Path, tmp_path: Path) -> None:
    done = run("convert", store / "sparse", tmp_path / "o.zarr", "--chunks", "5,5", "--shards",
               "20,30", "--compressors", "blosc:lz4:7")  # fmt: skip
    assert done.status == 0, done.err
    array = zarr.open_array(tmp_path / "o.zarr", mode="r")
    assert (array.chunks, array.shards) == ((5, 5), (20, 30))
    [codec] = array.compressors
    assert (codec.cname, codec.clevel) == ("lz4", 7)
    done = run("convert", tmp_path / "o.zarr", tmp_path / "p.zarr", "--no-shards", "--compressors",
               "none")  # fmt: skip
    assert done.status == 0, done.err
    array = zarr.open_array(tmp_path / "p.zarr", mode="r")
    assert array.shards is None and array.compressors == () and array.chunks == (5, 5)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (["--compressors", "zstt"], "unknown codec 'zstt'"),
        (["--compressors", "zstd:5:6"], "name the option, as in zstd:OPTION=6"),
        (["--compressors", '{"name"'], "it is no JSON"),
        (["--compressors", "none", "--compressors", "zstd"], "--compressors none stands alone"),
    ],
)
def test_compressors_that_are_none(
    run: Run, store: Path, tmp_path: Path, given: list[str], message: str
) -> None:
    done = run("convert", store, tmp_path / "o.zarr", *given)
    assert done.status == 2 and message in done.err and not (tmp_path / "o.zarr").exists()


def test_usage_is_told_at_once(run: Run, store: Path) -> None:
    done = run("convert", store, "--in-place", "--reencode", "--chunks", "2", "--verify")
    lines = done.err.splitlines()
    assert done.status == 2 and lines[0].startswith("omnizarr: 3 obstacles")
    assert all(line.startswith("     hint: omnizarr convert ") for line in lines[2::2])


def test_nczarr(run: Run, store: Path, tmp_path: Path) -> None:
    done = run("convert", store / "deep", tmp_path / "n.zarr", "--to", "nczarr")
    assert done.status == 0, done.err
    assert "NCZarr" in run("info", tmp_path / "n.zarr").out
    assert zarr.check(tmp_path / "n.zarr").ok
