"""`omnizarr unzip`: the store in an archive as a folder, which appears whole or not at all."""

from __future__ import annotations

import os
import shutil
from typing import Any

import omnizarr
from omnizarr.cli.changing.zip import beside
from omnizarr.cli.output import Output, count, size
from omnizarr.cli.places import Problem, StoredAt, locate

EXAMPLES = """\
examples:
  omnizarr unzip data.zip
  omnizarr unzip data.zip data.zarr
  omnizarr unzip archive.zip/stations stations.zarr --dry-run

The folder is written under another name beside its place and renamed when it is complete. Names
that would lead out of it are refused.
"""
INTERRUPTED = "interrupted; there is no new folder: run the command again"


def add_arguments(parser: Any) -> None:
    parser.set_defaults(storage_option=[])
    parser.add_argument("archive", metavar="ARCHIVE", help="a .zip archive, or a path into one")
    parser.add_argument(
        "destination", metavar="FOLDER", nargs="?",
        help="the folder to write (default: the archive's name without .zip)",
    )  # fmt: skip
    add = parser.add_argument
    add("--overwrite", action="store_true", help="replace a store that is there")
    add("--dry-run", action="store_true", help="show what would be done, and do nothing")
    add("--quiet", action="store_true", help="print nothing when all goes well")


def run(arguments: Any, out: Output) -> int:
    source = locate(arguments.archive)
    if not source.archive:
        raise Problem(f"{source}: it is no .zip archive", f"omnizarr cp {source} NEW")
    folder = os.path.normpath(arguments.destination or _name(source))
    _check_free(folder, arguments.overwrite)
    with source.open() as store:
        if arguments.dry_run:
            done = omnizarr.sync(store, omnizarr.MemoryStore(), source.path, dry_run=True)
        else:
            done = _unpack(store, source, folder, arguments)
    if arguments.json:
        out.json({
            "source": str(source), "destination": folder, "keys": len(done.copied),
            "bytes": done.nbytes, "dry_run": arguments.dry_run,
        })  # fmt: skip
    elif not arguments.quiet:
        would = "would be " if arguments.dry_run else ""
        amount = f"{count(len(done.copied), 'value')} ({size(done.nbytes)})"
        out.line(f"{source} → {folder}: {amount} {would}unpacked")
    return 0


def _name(source: StoredAt) -> str:
    if source.path:
        return f"{source.path.rpartition('/')[2]}.zarr"
    name = source.file[: -len(".zip")] if source.file.lower().endswith(".zip") else source.file
    return name if os.path.basename(name).endswith(".zarr") else f"{name}.zarr"


def _check_free(folder: str, overwrite: bool) -> None:
    if not os.path.lexists(folder):
        return
    if not overwrite:
        raise Problem(f"{folder}: it is there already", "--overwrite replaces a store")
    if os.listdir(folder) if os.path.isdir(folder) else True:
        locate(folder)  # raises if it is no store: nothing else is ever replaced


def _unpack(store: Any, source: StoredAt, folder: str, arguments: Any) -> Any:
    partial = beside(folder)
    try:
        with omnizarr.LocalStore(partial) as unpacked:
            done = omnizarr.sync(
                store,
                unpacked,
                source.path,
                progress=not (arguments.quiet or arguments.json),
            )
        aside = None
        if os.path.lexists(folder):
            aside = f"{partial}.old"
            os.rename(folder, aside)
        os.rename(partial, folder)
        if aside is not None:
            _remove(aside)
    except BaseException:
        shutil.rmtree(partial, ignore_errors=True)
        raise
    return done


def _remove(path: str) -> None:
    """Remove a folder, or a store that is one file."""
    if os.path.isdir(path) and not os.path.islink(path):
        shutil.rmtree(path)
    else:
        os.remove(path)
