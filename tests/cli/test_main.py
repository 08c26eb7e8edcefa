"""The entry: usage, errors of one line with a hint, exit status, pipes and terminals."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest

import omnizarr as zarr
from omnizarr import errors
from omnizarr.cli.commands import COMMANDS
from omnizarr.cli.problems import explain
from omnizarr.cli.showing import tree
from omnizarr.stores import HTTPStore
from tests.cli.conftest import Done, Run, write

pytestmark = pytest.mark.slow

ROOT = Path(__file__).resolve().parents[2]


def process(*arguments: str, **environment: str) -> subprocess.CompletedProcess[bytes]:
    """`python -m omnizarr …` as a person runs it."""
    whole = {**os.environ, "PYTHONPATH": str(ROOT / "src"), **environment}
    command = [sys.executable, "-m", "omnizarr", *arguments]
    return subprocess.run(command, capture_output=True, env=whole, timeout=60)


def refused(done: Done, message: str, hint: str = "") -> None:
    """One line that begins with the program's name, a hint, nothing else."""
    lines = done.err.splitlines()
    assert done.status == 2 and done.out == ""
    assert lines[0].startswith("omnizarr: ") and message in lines[0], done.err
    assert len(lines) == (2 if hint else 1), done.err
    assert not hint or (lines[1].startswith("hint: ") and hint in lines[1]), done.err


# -- the program itself ------------------------------------------------------------------------


def test_the_module_runs(store: Path) -> None:
    done = process("tree", str(store))
    assert done.returncode == 0 and b"2 groups, 3 arrays" in done.stdout, done.stderr
    assert process("--version").stdout == f"omnizarr {zarr.__version__}\n".encode()


def test_the_script_is_declared() -> None:
    text = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    assert 'omnizarr = "omnizarr.cli.entry:command"' in text


def test_ascii_terminals(tmp_path: Path) -> None:
    store = zarr.create_group(tmp_path / "g.zarr", attributes={"stadt": "Zürich"})
    store.create_array("größe", shape=(4, 4), chunks=(2, 2), dtype="i4")
    for command in (["tree"], ["info"], ["info", "--chunks"]):
        path = str(tmp_path / "g.zarr") + ("/größe" if "--chunks" in command else "")
        done = process(*command, path, PYTHONIOENCODING="ascii")
        assert done.returncode == 0, done.stderr
        assert done.stdout.isascii() and done.stderr == b""
    done = process("tree", str(tmp_path / "fehlt-ü"), PYTHONIOENCODING="ascii")
    assert done.returncode == 2 and b"Traceback" not in done.stderr


def shell(command: str) -> subprocess.CompletedProcess[bytes]:
    """A line of the shell, in which `omnizarr` is the command."""
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "src")}
    line = f'omnizarr() {{ "{sys.executable}" -m omnizarr "$@"; }}; {command}'
    return subprocess.run(line, shell=True, capture_output=True, env=environment, timeout=60)


@pytest.mark.parametrize(
    ("command", "status", "told"),
    [
        ("tree {store} >&-", 2, "could not be written"),
        ("tree {store} > /dev/full", 2, "could not be written: no space left on device"),
        ("tree {store} --json > /dev/full", 2, "could not be written"),
        ("--help > /dev/full", 2, "could not be written"),
        ("tree {store}/nothing 2>&-", 2, ""),
        ("tree {store}/nothing 2> /dev/full", 2, ""),
        ("tree {store} >&- 2>&- <&-", 2, ""),
        ("2> /dev/full", 2, ""),
        ("check {store} 2>&-", 0, ""),
    ],
)
def test_closed_and_full_streams(store: Path, command: str, status: int, told: str) -> None:
    done = shell(f"omnizarr {command.format(store=store)}")
    text = done.stderr.decode()
    assert done.returncode == status and told in text, text
    assert len(text.splitlines()) == (1 if told else 0), text


def test_the_work_is_done_without_a_standard_error(store: Path, tmp_path: Path) -> None:
    done = shell(f"omnizarr convert {store} {tmp_path}/o.zarr --to 2 2>&-")
    assert done.returncode == 0 and b"3 arrays, 2 groups" in done.stdout
    assert (tmp_path / "o.zarr" / ".zgroup").exists()


def test_a_conversion_without_output_is_complete(store: Path, tmp_path: Path) -> None:
    done = shell(f"omnizarr convert {store} {tmp_path}/o.zarr --to 2 > /dev/full")
    assert done.returncode == 2
    told = done.stderr.decode().splitlines()
    assert told[0] == "omnizarr: the output could not be written: no space left on device"
    assert told[1:] == ["hint: the conversion itself is complete"]
    assert (tmp_path / "o.zarr" / ".zgroup").exists()


# In short naps: a signal that comes just before a long one would be heard only after it.
NAPS = """
def nap():
    for _ in range(600):
        time.sleep(0.1)
"""
CLEANING = f"""
import omnizarr.cli, sys, time
{NAPS}
def main():
    try:
        print("ready", flush=True)
        nap()
    finally:
        print("ready", flush=True)
        nap()
sys.modules["omnizarr.cli.main"].main = main
"""
ENDING = f"""
import atexit, omnizarr.cli, sys, time
{NAPS}
def main():
    atexit.register(nap)
    atexit.register(print, "ready", flush=True)
    return 0
sys.modules["omnizarr.cli.main"].main = main
"""


@pytest.mark.parametrize(("code", "times"), [(CLEANING, 2), (ENDING, 1)])
def test_a_second_ctrl_c_is_quiet(code: str, times: int) -> None:
    """While a first Ctrl-C is dealt with, and at the very end."""
    start = f"import sys\n{code}\nfrom omnizarr.cli.entry import command\nsys.exit(command())"
    with subprocess.Popen(
        [sys.executable, "-c", start], env={**os.environ, "PYTHONPATH": str(ROOT / "src")},
        stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
    ) as child:  # fmt: skip
        assert child.stdout is not None and child.stderr is not None
        for _ in range(times):
            assert child.stdout.readline() == b"ready\n"
            child.send_signal(signal.SIGINT)
        assert child.wait(timeout=20) == 130
        assert child.stderr.read() == b""


FINALIZER = """
import omnizarr.cli, os, signal, sys, time
class Held:
    def __del__(self):
        os.kill(os.getpid(), signal.SIGINT)
        time.sleep(0.01)
        print("dropped", flush=True)
def main():
    try:
        Held()
        time.sleep(30)
    except KeyboardInterrupt:
        return 130
sys.modules["omnizarr.cli.main"].main = main
"""


def test_a_ctrl_c_in_a_finalizer_is_not_lost() -> None:
    start = f"import sys\n{FINALIZER}\nfrom omnizarr.cli.entry import command\nsys.exit(command())"
    done = subprocess.run(
        [sys.executable, "-c", start], env={**os.environ, "PYTHONPATH": str(ROOT / "src")},
        capture_output=True, timeout=20,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
    )  # fmt: skip
    assert (done.returncode, done.stdout, done.stderr) == (130, b"", b"")


def test_a_closed_pipe_is_no_error(tmp_path: Path) -> None:
    group = zarr.create_group(tmp_path / "many.zarr")
    for number in range(200):
        group.create_group(f"group-{number:04}", attributes={"note": "x" * 2000})
    script = f"{sys.executable} -m omnizarr tree {tmp_path}/many.zarr --json | head -n 1"
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "src")}
    done = subprocess.run(script, shell=True, capture_output=True, env=environment, timeout=60)
    assert done.stdout == b"{\n" and done.stderr == b""


def test_nothing_at_all_shows_the_help(run: Run) -> None:
    done = run()
    assert done.status == 2 and done.err.startswith("usage: omnizarr")


@pytest.mark.parametrize("command", COMMANDS)
def test_help_is_accurate(run: Run, command: str) -> None:
    done = run(command, "--help")
    assert done.status == 0 and done.err == ""
    examples = [line.split() for line in done.out.splitlines() if line.startswith("  omnizarr ")]
    assert len(examples) >= 3
    for example in examples:
        # An example that does not parse ends with status 2 and the word "usage" or "hint".
        assert example[:2] == ["omnizarr", command]
        parsed = _parse(example[1:])
        assert parsed.command == command


def _parse(arguments: list[str]) -> object:
    from omnizarr.cli.main import make_parser
    from omnizarr.cli.output import standard_error, standard_output

    return make_parser(standard_output(), standard_error(), arguments).parse_args(arguments)


def test_every_command_is_in_the_help(run: Run) -> None:
    shown = " ".join(run("--help").out.split())
    for name, command in COMMANDS.items():
        assert f"{name} {command.help}" in shown


# -- usage -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "message", "hint"),
    [
        (["tre"], "invalid choice: 'tre'", "did you mean tree?"),
        (["tree", ".", "--sise"], "unrecognized arguments: --sise", "did you mean --sizes?"),
        (
            ["convert", "a", "b", "--too", "3"],
            "unrecognized arguments: --too",
            "did you mean --to?",
        ),
        (["tree"], "required: PATH", "omnizarr tree --help"),
        (["tree", ".", "--level", "-1"], "from 0 on, found '-1'", "omnizarr tree --help"),
        (["tree", ".", "--colour"], "unrecognized arguments: --colour", "omnizarr --help"),
        (["convert"], "required: SOURCE", "omnizarr convert --help"),
        (["convert", "a", "--to", "3"], "DESTINATION or --in-place", "omnizarr convert"),
        (["convert", "a", "b", "--to", "3", "--in-place"], "DESTINATION or --in-place", "convert"),
        (["convert", "a", "b", "--to", "3", "--chunks", "4,0"], "found '4,0'", "--help"),
        (["convert", "a", "b", "--to", "3", "--chunks", "x"], "10,20, found 'x'", "--help"),
        (["convert", "a", "b", "--to", "3", "--chunks", "1x"], "10,20, found '1x'", "--help"),
        (["convert", "a", "b", "--to", "3", "--chunks", "१"], "10,20, found '१'", "--help"),
        (["convert", "a", "b", "--to", "3", "--chunks", "1_0"], "10,20, found '1_0'", "--help"),
        (["convert", "a", "b", "--to", "3", "--chunks", "9" * 5000], "10,20, found '999", "--help"),
        (["tree", ".", "--level", "٣"], "from 0 on, found '٣'", "--help"),
        (["convert", "a", "b", "--to", "3", "--drop", "data"], "invalid choice: 'data'", "--help"),
        (["convert", "a", "b", "--to", "3", "--workers", "no"], "found 'no'", "--help"),
        (["convert", "a", "b", "--to", "3", "--remove-source"], "goes with --in-place", "remove"),
        (["convert", __file__, __file__, "--to", "3"], "test_main.py: it is a file", "new folder"),
        (
            ["convert", "a", "--to", "3", "--in-place", "--destination-path", "x"],
            "goes with a",
            "leave it out",
        ),
        (["check", ".", "--standard", "005"], "invalid choice: '005'", "omnizarr check --help"),
        (["check", ".", "--level", "all"], "invalid choice: 'all'", "omnizarr check --help"),
    ],
)
def test_usage(run: Run, arguments: list[str], message: str, hint: str) -> None:
    refused(run(*arguments), message, hint)


def test_a_name_that_begins_with_a_dash(
    run: Run, store: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(store.parent)
    store.rename(store.parent / "-x.zarr")
    refused(run("tree", "-x.zarr"), "PATH", "did you mean ./-x.zarr?")
    assert run("tree", "./-x.zarr").status == 0


# -- what is not there -------------------------------------------------------------------------

LOOKING = pytest.mark.parametrize("command", ["tree", "info", "check"])


@LOOKING
def test_nothing_there(run: Run, tmp_path: Path, command: str) -> None:
    refused(run(command, tmp_path / "no" / "such.zarr"), "no such file or folder")
    refused(run(command, ""), "the path is empty", "name a folder")


def test_a_near_folder_is_suggested(run: Run, store: Path) -> None:
    refused(run("tree", store.parent / "dta.zarr"), "no such file", f"did you mean {store}?")


@LOOKING
def test_a_file(run: Run, tmp_path: Path, command: str) -> None:
    file = tmp_path / "notes.txt"
    file.write_text("hello")
    refused(run(command, file), "a folder, a zip archive")
    refused(run(command, file / "x"), "a folder, a zip archive")


def test_a_file_of_a_store(run: Run, store: Path) -> None:
    refused(run("tree", store / "zarr.json"), "is a file", f"belongs to the store {store}")


@LOOKING
def test_an_empty_folder(run: Run, tmp_path: Path, command: str) -> None:
    (tmp_path / "empty").mkdir()
    done = run(command, tmp_path / "empty")
    refused(done, "looked for 'zarr.json', '.zarray'", "the folder is empty")


def test_a_folder_of_stores(run: Run, store: Path) -> None:
    done = run("tree", store.parent)
    refused(done, "found data.zarr/", f"it contains {store}")


@LOOKING
def test_a_missing_node(run: Run, store: Path, command: str) -> None:
    refused(run(command, store, "sprse"), "sprse: no array or group", "did you mean 'sparse'?")
    refused(run(command, store / "Sparse"), "Sparse: no array or group", "did you mean 'sparse'?")
    refused(
        run(command, store, "q"), f"{store}/q: no array or group", "'/' holds deep, sparse, text"
    )
    refused(
        run(command, store, "deep/zz"), f"{store}/deep/zz: no array or group", "'/deep' holds z"
    )
    refused(run(command, store / "sparse", "x"), "x: no array or group", "is an array")


def test_a_missing_node_of_an_archive(run: Run, store: Path) -> None:
    shutil.make_archive(str(store.parent / "a"), "zip", store)
    refused(run("tree", store.parent / "a.zip" / "dep"), "a.zip/dep: no array or group", "'deep'?")


def test_a_path_that_leaves_the_store(run: Run, store: Path) -> None:
    done = run("tree", store, "../data.zarr")
    assert done.status == 2 and "'..'" in done.err and "Traceback" not in done.err


def test_a_url(run: Run, store: Path) -> None:
    assert "2 groups" in run("tree", store.as_uri()).out


def test_broken_metadata(run: Run, tmp_path: Path) -> None:
    (tmp_path / "zarr.json").write_text("{")
    refused(run("tree", tmp_path), "zarr.json")


def test_what_may_not_be_read(run: Run, store: Path) -> None:
    """Also as root, who may read everything: for a moment it is another user."""
    file = store / "zarr.json"
    file.chmod(0)
    root = os.geteuid() == 0
    if root:
        for folder in (store, *store.parents):
            if folder.stat().st_uid == 0 and folder != Path("/"):
                folder.chmod(folder.stat().st_mode | 0o055)
        os.seteuid(65534)
    try:
        done = run("tree", store)
    finally:
        if root:
            os.seteuid(0)
    assert done.status == 2 and "Traceback" not in done.err
    assert "ermission denied" in done.err and "hint: " in done.err


# -- inside out --------------------------------------------------------------------------------


def test_debug_shows_where(run: Run, tmp_path: Path) -> None:
    done = run("tree", tmp_path / "no.zarr", "--debug")
    assert done.status == 2 and done.out == ""
    assert done.err.startswith("Traceback (most recent call last):\n")
    assert "no such file" in done.err.splitlines()[-1]


def test_debug_shows_no_secrets(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> int:
        raise RuntimeError("it is hush-hush\x1b[2J")

    monkeypatch.setattr(tree, "run", fail)
    done = run("tree", "s3://b/x", "--storage-option", "secret=hush-hush", "--debug")
    assert done.status == 2 and "RuntimeError: it is ***" in done.err
    assert "hush-hush" not in done.err and "\x1b" not in done.err


def test_an_unexpected_error_is_one_line_too(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> int:
        raise RuntimeError("one\ntwo")

    monkeypatch.setattr(tree, "run", fail)
    refused(run("tree", "."), "unexpected RuntimeError: one two", "--debug")


def test_interruption(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupt(*_: object) -> int:
        raise KeyboardInterrupt

    monkeypatch.setattr(tree, "run", interrupt)
    done = run("tree", ".")
    assert (done.status, done.err) == (130, "interrupted\n")


@pytest.mark.parametrize(
    ("error", "shown"),
    [
        (errors.MetadataError("no").at(key="a/zarr.json"), "x.zarr/a/zarr.json: no"),
        (errors.MetadataError("no").at("fill_value"), "x.zarr: fill_value: no"),
        (
            errors.DecodeError("one\ntwo").at(key="c/0", chunk=(0,)),
            "x.zarr/c/0, chunk (0,): one two",
        ),
        (errors.StoreError("no"), "x.zarr: no"),
    ],
)
def test_a_location_is_shown_as_a_path(error: errors.ZarrError, shown: str, tmp_path: Path) -> None:
    store = zarr.LocalStore(tmp_path / "x.zarr")
    assert explain(error.at(store))[0] == f"{tmp_path}/{shown}"


@pytest.mark.parametrize(
    ("error", "hint"),
    [
        (
            errors.UnsupportedError("x").advise("{} drops it", ("drop", ("groups", "attributes"))),
            "--drop groups --drop attributes drops it",
        ),
        (
            errors.UnsupportedError("x").advise("{} uses others", ("reencode", True)),
            "--reencode uses others",
        ),
        (
            errors.MetadataError("x").advise("{} or {}", ("resume", False), ("destination", None)),
            "--no-resume or --in-place",
        ),
        (
            errors.MetadataError("x").at("y").advise("{}", ("fill_values", "zarr")),
            "--fill-values z",
        ),
        (errors.StoreTimeoutError("x"), "--storage-option timeout=SECONDS"),
        (errors.StoreAccessError("x"), "anon=true"),
        (
            errors.StoreAccessError("x").at(HTTPStore("http://host/x"), key="k"),
            "--storage-option 'headers={",
        ),
        (errors.UnsupportedError("x", "data_type"), None),
        (errors.ContainsArrayError("x"), "--overwrite"),
        (errors.PickleCodecDisabledError("x"), "allow_pickle=True"),
        (errors.LimitError("x"), "omnizarr.limits"),
        (PermissionError(13, "Permission denied", "f"), "ls -l"),
        (OSError(28, "No space left on device", "f"), "disk is full"),
        (MemoryError(), None),
        (ValueError("chunks do not fit"), "--debug"),
    ],
)
def test_hints(error: Exception, hint: str | None) -> None:
    message, found = explain(error)
    assert message and "=" not in message and not message.endswith((".", ";"))
    assert (found is None) == (hint is None)
    assert hint is None or hint in str(found)


def test_a_walk_upwards_stops_at_the_root(run: Run, tmp_path: Path,
                                          monkeypatch: pytest.MonkeyPatch) -> None:  # fmt: skip
    write(tmp_path / "here.zarr")
    monkeypatch.chdir(tmp_path)
    assert run("tree", "./here.zarr/deep/../deep/z").status == 0
    assert run("tree", "/").status == 2


@pytest.mark.parametrize("damaged", ["no archive at all", "cut off"])
def test_a_damaged_archive_is_named_by_its_path(run: Run, store: Path, damaged: str) -> None:
    archive = Path(shutil.make_archive(str(store.parent / "a"), "zip", store))
    archive.write_bytes(archive.read_bytes()[:-40] if damaged == "cut off" else bytes(5000))
    refused(run("info", archive), f"omnizarr: {archive}: not a ZIP archive")
