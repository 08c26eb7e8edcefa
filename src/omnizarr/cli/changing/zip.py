"""`omnizarr zip`: a store as one archive, which appears whole or not at all."""

from __future__ import annotations

import os
from contextlib import suppress
from typing import Any

import omnizarr
from omnizarr.cli import urls
from omnizarr.cli.changing.cp import check_listable
from omnizarr.cli.output import Output, count, size
from omnizarr.cli.places import Problem, StoredAt, is_archive, locate
from omnizarr.stores import ZipStore

EXAMPLES = """\
examples:
  omnizarr zip data.zarr
  omnizarr zip data.zarr/stations stations.zip --overwrite
  omnizarr zip s3://bucket/data.zarr data.zip --storage-option region=eu-west-1

Chunks are stored in it as they are. The archive is written under another name beside its place and
renamed when it is complete.
"""
INTERRUPTED = "interrupted; there is no new archive: run the command again"


def add_arguments(parser: Any) -> None:
    parser.add_argument("source", metavar="SOURCE", help="a store or a group, in any place")
    parser.add_argument(
        "archive", metavar="ARCHIVE", nargs="?", help="the file to write (default: SOURCE.zip)"
    )
    urls.add_option(parser)
    add = parser.add_argument
    add("--overwrite", action="store_true", help="replace an archive that is there")
    add("--dry-run", action="store_true", help="show what would be done, and do nothing")
    add("--quiet", action="store_true", help="print nothing when all goes well")


def run(arguments: Any, out: Output) -> int:
    source = locate(arguments.source, options=arguments.storage_option)
    archive = arguments.archive or _name(source)
    if os.path.isdir(archive) or (os.path.lexists(archive) and not arguments.overwrite):
        hint = None if os.path.isdir(archive) else "--overwrite replaces it"
        raise Problem(f"{archive}: it is there already", hint)
    if os.path.lexists(archive) and not is_archive(archive):
        raise Problem(f"{archive}: it is a file, but no zip archive", "name a new place")
    if not os.path.isdir(os.path.dirname(archive) or os.curdir):
        raise Problem(f"{archive}: there is no such folder to write it into")
    with source.open() as store:
        check_listable(store, source)
        if arguments.dry_run:
            done = omnizarr.sync(store, omnizarr.MemoryStore(), source.path, dry_run=True)
            keys, nbytes = len(done.copied), done.nbytes
        else:
            keys, nbytes = _pack(store, source, archive, arguments)
    stored = os.path.getsize(archive) if not arguments.dry_run else nbytes
    if arguments.json:
        out.json({
            "source": str(source), "destination": archive, "keys": keys, "bytes": nbytes,
            "bytes_stored": stored, "dry_run": arguments.dry_run,
        })  # fmt: skip
    elif not arguments.quiet:
        would = "would be " if arguments.dry_run else ""
        out.line(f"{source} → {archive}: {count(keys, 'value')} ({size(nbytes)}) {would}packed")
    return 0


def _name(source: StoredAt) -> str:
    name = source.path.rpartition("/")[2] or os.path.basename(os.path.normpath(source.file))
    if urls.is_url(source.file) or source.path:
        return f"{name}.zip"
    return f"{os.path.normpath(source.file)}.zip"


def _pack(store: Any, source: StoredAt, archive: str, arguments: Any) -> tuple[int, int]:
    partial = beside(archive)
    try:
        with ZipStore(partial, mode="w") as packed:
            done = omnizarr.sync(
                store,
                packed,
                source.path,
                progress=not (arguments.quiet or arguments.json),
            )
        with open(partial, "r+b") as file:
            os.fsync(file.fileno())
        os.replace(partial, archive)
    except BaseException:
        with suppress(OSError):
            os.remove(partial)
        raise
    return len(done.copied), done.nbytes


def beside(path: str) -> str:
    """A name in the same folder that no other process uses."""
    folder, name = os.path.split(os.path.abspath(path))
    return os.path.join(folder, f".{name}.{os.getpid()}.partial")
